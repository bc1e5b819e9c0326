package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/workspace"
	"svc/eventstore"
)

func openHere(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Events, o.Log = catalog.Events(), slog.New(slog.DiscardHandler); o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, s.Close(ctx))
	})
	return s
}

func newAggregate() domain.StreamID {
	id := ulid.Make().String()
	return domain.StreamID{Scope: id, Kind: "workspace", ID: id}
}

func facts(n int) []eventstore.Fact {
	out := make([]eventstore.Fact, n)
	for i := range out {
		out[i] = eventstore.Fact{ID: ulid.Make().String(), Event: workspace.Created{Workspace: workspace.Snapshot{ID: "w", Settings: workspace.Settings{Name: fmt.Sprint(i)}}}}
	}
	return out
}

func activityFacts(n int) []eventstore.Fact {
	out := make([]eventstore.Fact, n)
	for i := range out {
		out[i] = eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: fmt.Sprintf("my.event%d", i), Body: []byte(`{}`)}}
	}
	return out
}

// readFrom returns what a reader that starts at from is handed up to last.
func readFrom(t *testing.T, s *Store, log domain.Log, from, last uint64) (got []domain.Recorded) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, s.Log.Subscribe(ctx, log, from, func(b eventstore.Batch) error {
		got = append(got, b.Events...)
		if len(got) > 0 && got[len(got)-1].Seq >= last {
			cancel()
		}
		return nil
	}))
	require.NotEmpty(t, got)
	return got
}

func requireReal(t *testing.T, events []domain.Recorded, n int) {
	t.Helper()
	require.Len(t, events, n)
	for _, ev := range events {
		require.False(t, isVoid(ev.Data), "%d", ev.Seq)
	}
}

func TestAReaderMayBeginInsideABatch(t *testing.T) {
	s := openHere(t, Options{})
	r, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: newAggregate(), Facts: facts(3)})
	require.NoError(t, err)
	for i := range 3 {
		requireReal(t, readFrom(t, s, domain.State, r.Seqs[i], r.Seqs[2]), 3-i)
	}
}

func TestABatchThatWasPurgedInPartStillCounts(t *testing.T) {
	s := openHere(t, Options{})
	c := eventstore.Commit{Stream: domain.StreamID{Scope: "w1"}, Facts: activityFacts(4)}
	msgs, err := s.Log.encodeCommits(domain.Activity, []eventstore.Commit{c})
	require.NoError(t, err)
	messages, _, err := s.Log.sendGroup(t.Context(), msgs) // as versions without packs did
	require.NoError(t, err)
	require.NoError(t, s.conn.purgeBelow(t.Context(), "ACTIVITY", activityRoot+">", messages[1]))
	seqs := s.Log.toSeqs(domain.Activity, messages)
	requireReal(t, readFrom(t, s, domain.Activity, 1, seqs[3]), 3)

	require.NoError(t, s.conn.purgeBelow(t.Context(), "ACTIVITY", activityRoot+"w1.my.event3", 0))
	ev, ok, err := s.Log.Read(t.Context(), domain.Activity, seqs[1])
	require.NoError(t, err)
	require.True(t, ok)
	require.False(t, isVoid(ev.Data))
	requireReal(t, readFrom(t, s, domain.Activity, 1, seqs[2]), 2)
	_, err = s.Log.Append(t.Context(), eventstore.Commit{Stream: c.Stream, Facts: activityFacts(1)})
	require.NoError(t, err)
	requireReal(t, readFrom(t, s, domain.Activity, 1, seqs[3]+1), 3)
}

func TestRepeatedActivityIsRecognisedAmongOthers(t *testing.T) {
	s := openHere(t, Options{})
	scope := domain.StreamID{Scope: "w1"}
	_, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: scope, Facts: activityFacts(1)})
	require.NoError(t, err)
	c := eventstore.Commit{Stream: scope, Facts: activityFacts(2)}
	first, err := s.Log.Append(t.Context(), c)
	require.NoError(t, err)
	again, err := s.Log.Append(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, first, again)
	requireReal(t, readFrom(t, s, domain.Activity, 1, s.Log.Known().Activity), 3)
}

func TestAnIDUsedTwiceIsRefused(t *testing.T) {
	s := openHere(t, Options{})
	same := facts(1)
	_, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: newAggregate(), Facts: same})
	require.NoError(t, err)
	other := newAggregate()
	_, err = s.Log.Append(t.Context(), eventstore.Commit{Stream: other, Facts: same})
	require.ErrorContains(t, err, "used twice")
	events, err := s.Log.Load(t.Context(), other, 0)
	require.NoError(t, err)
	require.Empty(t, events)
}

func TestManyBatchesAtOnceAllCount(t *testing.T) {
	s := openHere(t, Options{MaxWait: 20 * time.Second})
	var writing sync.WaitGroup
	for range 200 {
		writing.Go(func() {
			if _, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: newAggregate(), Facts: facts(2)}); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	info, err := s.Log.Info(t.Context(), domain.State)
	require.NoError(t, err)
	require.EqualValues(t, 400, info.Messages)
}

// awaitWritable waits until the store has mended itself.
func awaitWritable(t *testing.T, s *Store) {
	t.Helper()
	require.Eventually(t, func() bool { return s.conn.Writable() == nil }, time.Minute, 10*time.Millisecond)
}

func TestABucketWorksAgainAfterItsGateFailed(t *testing.T) {
	s := openHere(t, Options{})
	b, err := s.Buckets.Open(t.Context(), BucketConfig{Name: "B"})
	require.NoError(t, err)
	s.conn.gate("KV_B").stop(errors.New("EIO"))
	require.ErrorIs(t, s.conn.Writable(), eventstore.ErrUnavailable)
	awaitWritable(t, s)
	_, err = b.Put(t.Context(), "k", []byte("v"))
	require.NoError(t, err)
	_, err = s.Log.Append(t.Context(), eventstore.Commit{Stream: newAggregate(), Facts: facts(1)})
	require.NoError(t, err)
}

func TestALowDiskDoesNotHideABrokenGate(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	least := int64(0)
	set := func(n int64) { mu.Lock(); defer mu.Unlock(); least = n }
	s := openHere(t, Options{MinFree: func() int64 { mu.Lock(); defer mu.Unlock(); return least }})
	set(1 << 60)
	require.Eventually(t, func() bool { return errors.Is(s.conn.Writable(), errDiskLow) }, time.Minute, 10*time.Millisecond)
	s.conn.gate("STATE").stop(errors.New("ENOSPC"))
	require.ErrorIs(t, s.conn.Writable(), errBroken)
	set(0)
	awaitWritable(t, s)
	_, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: newAggregate(), Facts: facts(1)})
	require.NoError(t, err)
}

func TestAReopenedLogThatIsShorterIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	s := openHere(t, Options{})
	for range 10 {
		_, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: newAggregate(), Facts: facts(1)})
		require.NoError(t, err)
	}
	block := filepath.Join(s.conn.opts.Dir, "jetstream", "$G", "streams", "STATE", "msgs", "1.blk")
	info, err := os.Stat(block)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(block, info.Size()*2/3))
	s.conn.reportWriteFailure(errors.New("EIO"))
	require.Eventually(t, func() bool { return s.Damage() != nil }, time.Minute, 10*time.Millisecond)
	_, err = s.Log.Append(t.Context(), eventstore.Commit{Stream: newAggregate(), Facts: facts(1)})
	require.ErrorIs(t, err, ErrDamaged)
	require.EqualValues(t, 10, s.conn.gate("STATE").watermark.read(), "the evidence stays")
}

func TestAFullStoreIsNotABrokenOne(t *testing.T) {
	s := openHere(t, Options{MaxSize: 4 << 20, MaxWait: time.Minute})
	id, last := newAggregate(), uint64(0)
	big := workspace.Created{Workspace: workspace.Snapshot{ID: "w", Settings: workspace.Settings{Photo: strings.Repeat("a", 100_000)}}}
	var err error
	for range 200 {
		var r eventstore.Receipt
		r, err = s.Log.Append(t.Context(), eventstore.Commit{Stream: id, Expected: last, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: big}}})
		if err != nil {
			break
		}
		last = r.Seqs[0]
	}
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.ErrorContains(t, err, "JETSTREAM_MAX_STORE")
	require.NoError(t, s.conn.Writable(), "the broker is not restarted for it")
	events, err := s.Log.Load(t.Context(), id, 0)
	require.NoError(t, err)
	require.NotEmpty(t, events)
}

func TestAnAppendDuringCloseIsNotAcknowledgedUnsynced(t *testing.T) {
	s := openHere(t, Options{})
	s.conn.closeGates()
	_, err := s.Log.Append(t.Context(), eventstore.Commit{Stream: newAggregate(), Facts: facts(1)})
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, s.Close(t.Context()), "closing twice does nothing more")
}

// Blocks of a stream that is purged have holes in their numbers, and compaction
// puts other files in their place.
func TestEveryBlockIsSyncedWhateverItsNumber(t *testing.T) {
	dir := t.TempDir()
	touch := func(n int, text string) {
		path := filepath.Join(dir, fmt.Sprintf("%d.blk", n))
		require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	b := blockFiles{dir: dir}
	defer b.close()
	touch(5, "x")
	require.NoError(t, b.sync())
	touch(7, "x")
	touch(9, "x")
	require.NoError(t, b.sync())
	require.EqualValues(t, 9, b.newest)
	require.Contains(t, b.synced, uint64(7))
	was := b.synced[7]
	touch(7, "rewritten")
	require.True(t, b.hasChanged())
	require.NoError(t, b.sync())
	require.NotEqual(t, was, b.synced[7])
}

func TestRewrittenBlocksAreSyncedAlsoWhenNothingIsAppended(t *testing.T) {
	t.Parallel()
	s := openHere(t, Options{})
	g := s.conn.gate(streamData)
	require.Eventually(t, func() bool { return !g.blocks.hasChanged() }, time.Minute, 10*time.Millisecond)
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(g.dir, long, long)) // as a compaction changes it
	require.Eventually(t, func() bool { return !g.blocks.hasChanged() }, time.Minute, 10*time.Millisecond)
}

func isVoid(ev domain.Event) bool {
	_, void := ev.(domain.Void)
	return void
}
