package jetstream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/catalog"
	"svc/domain/workspace"
	"svc/eventstore"
)

// storeFixture is a data directory in which stores come and go.
type storeFixture struct {
	dir   string
	log   lines
	store *Store // nil between a stop and a start
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String returns what was written, since the last Reset.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Reset forgets what was written.
func (l *lines) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

func newStoreFixture(t *testing.T) *storeFixture {
	t.Helper()
	h := &storeFixture{dir: filepath.Join(t.TempDir(), "log")}
	t.Cleanup(func() { h.stop(t) })
	h.start(t)
	return h
}

func (h *storeFixture) start(t *testing.T) {
	t.Helper()
	var err error
	h.store, err = Open(t.Context(), Options{Dir: h.dir, Events: catalog.Events(), Log: slog.New(slog.NewTextHandler(&h.log, nil))})
	require.NoError(t, err)
}

func (h *storeFixture) stop(t *testing.T) {
	t.Helper()
	if h.store != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, h.store.Close(ctx))
		h.store = nil
	}
}

// crash leaves the files as a process that was killed: complete, and without
// the mark of a clean stop.
func (h *storeFixture) crash(t *testing.T) {
	t.Helper()
	h.stop(t)
	require.NoError(t, os.Remove(filepath.Join(h.dir, cleanMark)))
}

// block is the first and, in these tests, only block file of STATE.
func (h *storeFixture) block() string { return filepath.Join(h.msgs(), "1.blk") }

func (h *storeFixture) msgs() string {
	return filepath.Join(h.dir, "jetstream", "$G", "streams", string(domain.State), "msgs")
}

func (h *storeFixture) blockSize(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(h.block())
	require.NoError(t, err)
	return info.Size()
}

// recordEnd returns where the record that begins at offset ends: its length is
// its first word, without the bit that says it has headers.
func (h *storeFixture) recordEnd(t *testing.T, offset int64) int64 {
	t.Helper()
	f, err := os.Open(h.block())
	require.NoError(t, err)
	defer f.Close()
	word := make([]byte, 4)
	_, err = f.ReadAt(word, offset)
	require.NoError(t, err)
	return offset + int64(binary.LittleEndian.Uint32(word)&^(1<<31))
}

// created is a commit that makes the workspace id.
func created(id string, expected uint64) eventstore.Commit {
	return eventstore.Commit{Stream: workspace.Stream(id), Expected: expected, Facts: []eventstore.Fact{{
		ID: ulid.Make().String(), Event: workspace.Created{Workspace: workspace.Snapshot{ID: id}},
	}}}
}

func (h *storeFixture) append(t *testing.T, commits ...eventstore.Commit) eventstore.Receipt {
	t.Helper()
	r, err := h.store.Log.Append(t.Context(), commits...)
	require.NoError(t, err)
	return r
}

func (h *storeFixture) load(t *testing.T, id string) []domain.Recorded {
	t.Helper()
	events, err := h.store.Log.Load(t.Context(), workspace.Stream(id), 0)
	require.NoError(t, err)
	return events
}

// all returns the log as a reader sees it.
func (h *storeFixture) all(t *testing.T) (events []domain.Recorded) {
	t.Helper()
	done := errors.New("done")
	err := h.store.Log.Subscribe(t.Context(), domain.State, 1, func(b eventstore.Batch) error {
		events = append(events, b.Events...)
		if b.Pending == 0 {
			return done
		}
		return nil
	})
	require.ErrorIs(t, err, done)
	return events
}

func (h *storeFixture) info(t *testing.T) eventstore.Info {
	t.Helper()
	info, err := h.store.Log.Info(t.Context(), domain.State)
	require.NoError(t, err)
	return info
}

func TestACleanStopKeepsEverything(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), leaksOnClose)
	h := newStoreFixture(t)
	ctx := t.Context()
	for i := range 20 {
		h.append(t, created(fmt.Sprintf("w%d", i), 0))
	}
	h.append(t, created("pair1", 0), created("pair2", 0))
	apart := h.append(t, eventstore.Commit{Stream: domain.StreamID{Scope: "w1"}, Facts: []eventstore.Fact{{ID: "e1", Event: activity.Failure{Error: "x"}, Apart: []byte("payload")}}})
	blob, err := h.store.Blobs.Put(ctx, []byte("content"))
	require.NoError(t, err)
	data := domain.StreamID{Scope: "w1", Kind: "context", ID: "c"}
	require.NoError(t, h.store.Data.Put(ctx, data, "1", []byte("data"), func(uint64, string) {}))
	sessions, err := h.store.Buckets.Open(ctx, BucketConfig{Name: "SESSIONS"})
	require.NoError(t, err)
	_, err = sessions.Put(ctx, "s1", []byte("session"))
	require.NoError(t, err)
	before, was := h.all(t), h.info(t)
	known := h.store.Log.Known()

	h.stop(t)
	require.FileExists(t, filepath.Join(h.dir, cleanMark))
	h.start(t)
	require.NoFileExists(t, filepath.Join(h.dir, cleanMark), "only a clean stop makes it again")

	require.Equal(t, before, h.all(t))
	require.Equal(t, was, h.info(t))
	require.Equal(t, known, h.store.Log.Known())
	require.Equal(t, known.State, h.store.Log.Durable(domain.State))
	require.Equal(t, known.Activity, h.store.Log.Durable(domain.Activity))
	content, err := h.store.Blobs.Get(ctx, blob)
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
	payload, ok, err := h.store.Payloads.Get(ctx, "w1", "e1", apart.Seqs[0])
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "payload", string(payload))
	operations := 0
	require.NoError(t, h.store.Data.Since(ctx, data, 0, func(uint64, bool, string, []byte) error {
		operations++
		return nil
	}))
	require.Equal(t, 1, operations)
	sessions, err = h.store.Buckets.Open(ctx, BucketConfig{Name: "SESSIONS"})
	require.NoError(t, err)
	value, _, err := sessions.Get(ctx, "s1")
	require.NoError(t, err)
	require.Equal(t, "session", string(value))

	repeated := before[0]
	r, err := h.store.Log.Append(ctx, eventstore.Commit{Stream: repeated.Stream, Facts: []eventstore.Fact{{ID: repeated.ID, Event: repeated.Data}}})
	require.NoError(t, err, "its own event is known again after the restart")
	require.Equal(t, []uint64{repeated.Seq}, r.Seqs)
	h.append(t, created("after", 0))
	require.NotContains(t, h.log.String(), "level=ERROR")
	h.stop(t)
}

// The index saves the broker from reading every block. It is trusted only
// after a clean stop.
func TestTheIndexIsTrustedOnlyAfterACleanStop(t *testing.T) {
	h := newStoreFixture(t)
	h.append(t, created("w1", 0))
	h.stop(t)
	index := filepath.Join(h.msgs(), "index.db")
	was, err := os.Stat(index)
	require.NoError(t, err)
	b := &broker{opts: Options{Dir: h.dir}}

	require.NoError(t, b.removeStaleIndexes())
	is, err := os.Stat(index)
	require.NoError(t, err)
	require.True(t, os.SameFile(was, is))
	require.NoFileExists(t, filepath.Join(h.dir, cleanMark))

	require.NoError(t, b.removeStaleIndexes(), "a start that was not followed by a clean stop")
	require.NoFileExists(t, index)
	require.NoError(t, b.removeStaleIndexes(), "nothing is left to drop")
	h.start(t)
	require.Len(t, h.load(t, "w1"), 1)
}

// A power cut may take messages that the index tells of. Were it believed, the
// log would have a hole.
func TestTheBlocksAreBelievedAfterACrash(t *testing.T) {
	h := newStoreFixture(t)
	size := h.writeTen(t)
	h.crash(t)
	require.FileExists(t, filepath.Join(h.msgs(), "index.db"))
	require.NoError(t, os.Truncate(h.block(), size))
	require.NoError(t, os.Remove(watermarkPath(h.dir, domain.State))) // it was never synced

	h.start(t)
	info := h.info(t)
	require.EqualValues(t, 5, info.Last)
	require.True(t, info.Contiguous())
	require.EqualValues(t, 6, h.append(t, created("next", 0)).Seqs[0], "and the log goes on where it ends")
}

// writeTen appends ten events and returns the size of the block after five.
func (h *storeFixture) writeTen(t *testing.T) (half int64) {
	t.Helper()
	for i := range 10 {
		if i == 5 {
			half = h.blockSize(t)
		}
		h.append(t, created(fmt.Sprintf("w%d", i), 0))
	}
	return half
}

func TestHalfACommitAtTheEndIsVoid(t *testing.T) {
	h := newStoreFixture(t)
	h.append(t, created("w1", 0))
	mark, err := os.ReadFile(watermarkPath(h.dir, domain.State))
	require.NoError(t, err)
	size := h.blockSize(t)
	require.Equal(t, []uint64{2, 3}, h.append(t, created("half1", 0), created("half2", 0)).Seqs)
	end := h.recordEnd(t, size)
	require.Equal(t, h.blockSize(t), h.recordEnd(t, end), "the second record ends the block")
	h.crash(t)
	require.NoError(t, os.Truncate(h.block(), end))
	require.NoError(t, os.WriteFile(watermarkPath(h.dir, domain.State), mark, 0o600)) // nobody was told of the commit

	h.start(t)
	require.NoError(t, h.store.conn.Writable())
	require.Contains(t, h.log.String(), "incomplete commit")
	events := h.all(t)
	require.Len(t, events, 3)
	require.IsType(t, workspace.Created{}, events[0].Data)
	require.Equal(t, domain.Void{Name: "workspaces.created"}, events[1].Data)
	require.Equal(t, domain.Sealed{Last: 2}, events[2].Data)
	require.True(t, h.info(t).Contiguous())

	half := h.load(t, "half1")
	require.Len(t, half, 1)
	require.IsType(t, domain.Void{}, half[0].Data)
	require.Empty(t, h.load(t, "half2"))
	ev, ok, err := h.store.Log.Read(t.Context(), domain.State, 2)
	require.NoError(t, err)
	require.True(t, ok)
	require.IsType(t, domain.Void{}, ev.Data)

	_, err = h.store.Log.Append(t.Context(), created("half1", 0), created("half2", 0))
	require.ErrorIs(t, err, eventstore.ErrConflict)
	h.append(t, created("half1", 2), created("half2", 0))
	require.Len(t, h.load(t, "half2"), 1)

	h.log.Reset()
	h.stop(t)
	h.start(t)
	require.NotContains(t, h.log.String(), "incomplete commit", "sealed once is sealed")
	require.EqualValues(t, 5, h.info(t).Last)
}

func TestALogThatBecameShorterTakesNoWrites(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	h := newStoreFixture(t)
	h.append(t, created("w1", 0))
	size := h.blockSize(t)
	lost := created("w2", 0)
	h.append(t, lost)
	h.crash(t)
	require.NoError(t, os.Truncate(h.block(), size))

	for range 2 { // a restart does not make it good
		h.start(t)
		err := h.store.conn.Writable()
		require.ErrorIs(t, err, ErrDamaged)
		require.ErrorContains(t, err, "STATE ends at 1 and was on disk up to 2")
		require.ErrorContains(t, err, "remove "+filepath.Join(h.dir, "durable-STATE"))
		require.ErrorIs(t, h.store.Damage(), ErrDamaged)
		_, err = h.store.Log.Append(t.Context(), lost)
		require.ErrorIs(t, err, eventstore.ErrUnavailable)
		require.ErrorIs(t, err, ErrDamaged)
		require.ErrorIs(t, h.store.Probe(t.Context()), ErrDamaged)
		require.Len(t, h.load(t, "w1"), 1, "reads go on")
		h.stop(t)
		require.NoFileExists(t, filepath.Join(h.dir, cleanMark), "nobody vouches for these files")
	}

	require.NoError(t, os.Remove(watermarkPath(h.dir, domain.State)))
	h.start(t)
	require.NoError(t, h.store.conn.Writable())
	require.NoError(t, h.store.Damage())
	require.EqualValues(t, 2, h.append(t, lost).Seqs[0])
	h.stop(t)
}

func TestATornWatermarkSaysNothing(t *testing.T) {
	h := newStoreFixture(t)
	h.append(t, created("w1", 0))
	h.stop(t)
	require.NoError(t, os.WriteFile(watermarkPath(h.dir, domain.State), []byte("        99"), 0o600))
	h.start(t)
	require.NoError(t, h.store.conn.Writable())
	h.append(t, created("w2", 0))
	require.EqualValues(t, 2, readMark(t, watermarkPath(h.dir, domain.State)))
}

func TestAStoreThatDoesNotOpenLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	taken := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(taken, nil, 0o600))
	for name, o := range map[string]Options{
		"a file where the directory should be": {Dir: taken},
		"an address that is none":              {Dir: t.TempDir(), Cluster: Cluster{Name: "c", Listen: "nowhere"}},
		"no events":                            {},
	} {
		if name != "no events" {
			o.Events = catalog.Events()
		}
		o.Log = slog.New(slog.DiscardHandler)
		_, err := Open(t.Context(), o)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "\n", name)
	}
}

// leaksOnClose is a goroutine that the client keeps for ever once it has
// published asynchronously, as the object store does: one for each connection.
var leaksOnClose = goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect")
