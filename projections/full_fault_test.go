//go:build fault

package projections_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/projections"
)

// diskVar names the disk to the process that is to fill it.
const diskVar = "PROJECTIONS_FAULT_DISK"

// A write to a mapped page that finds no room is a SIGBUS, which nothing can
// recover from: so each round is a process of its own.
func TestAFullDiskStopsNeitherTheProcessNorReads(t *testing.T) { inRounds(t, fullDiskRound) }

// The same for what Badger does in the background, where the log is no limit to
// how much is written.
func TestAFullDiskHoldsTheBackgroundUp(t *testing.T) { inRounds(t, fullDiskStress) }

// inRounds runs the same test again in processes that have a disk, where it is
// one round.
func inRounds(t *testing.T, round func(t *testing.T, disk string)) {
	t.Helper()
	if disk := os.Getenv(diskVar); disk != "" {
		round(t, disk)
		return
	}
	rounds := 4
	if os.Getenv("FAULT_PROFILE") == "full" {
		rounds = 20
	}
	failed := 0
	for i := range rounds {
		out, err := fullRound(t, t.Name(), 128+64*(i%2))
		if err != nil {
			failed++
		}
		if err != nil || testing.Verbose() {
			t.Logf("round %d: %v\n%s", i, err, out)
		}
	}
	require.Zero(t, failed, "of %d rounds", rounds)
}

func fullRound(t *testing.T, name string, megabytes int) (tail string, err error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "full")
	require.NoError(t, err)
	defer os.Remove(dir)
	require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)), "this test mounts a small disk and needs the right to")
	defer func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+name+"$", "-test.v")
	child.Env = append(os.Environ(), diskVar+"="+dir)
	out, err := child.CombinedOutput()
	if i := bytes.Index(out, []byte("SIGBUS")); i >= 0 {
		out = out[max(0, i-200):]
	}
	return string(out[:min(len(out), 5000)]), err
}

// fullDiskRound is the process of one round.
func fullDiskRound(t *testing.T, disk string) {
	h := openFixture(t, filepath.Join(disk, "log"), filepath.Join(disk, "models"))
	create(t, h.log.Log, "first", "first")
	require.NoError(t, h.Fresh(bounded(t)))
	var slowest atomic.Int64
	stopReaders := many(2, func(context.Context) { readOnce(t, h.Models, &slowest) })
	for range 2 {
		var left allowance
		left.Store(perSpell)
		stopWriters := many(6, func(ctx context.Context) { left.spend(func() error { return writeOnce(ctx, h.log.Log) }) })
		pass(time.Duration(rand.IntN(400)) * time.Millisecond)
		whileFull(t, disk, func() { t.Logf("full: %+v", h.Health()); left.Store(perSpell) })
		stopWriters()
		require.NoError(t, h.Reach(bounded(t), h.log.Log.Known()), "%+v", h.Health())
	}
	stopReaders()
	require.Less(t, time.Duration(slowest.Load()), 5*time.Second, "the slowest read")
	requireEventuallyOK(t, h, disk)
	t.Logf("slowest read %s, %d workspaces", time.Duration(slowest.Load()), listKey(t, h.Models))
}

// perSpell is how many events may be written before the disk is full, and again
// after: a fast machine must not fill the small disk with what it was asked to
// keep, which no freeing would heal.
const perSpell = 25

// allowance is how many writes may still succeed.
type allowance struct{ atomic.Int64 }

// spend writes unless the allowance is used up; a write that was refused costs
// nothing.
func (a *allowance) spend(write func() error) {
	switch {
	case a.Add(-1) < 0:
		pass(10 * time.Millisecond)
	case write() == nil:
		return
	}
	a.Add(1)
}

// pass lets time pass: disks fill and free while others write.
func pass(d time.Duration) { <-time.After(d) }

// whileFull fills the disk, calls fn half a second later, and frees it.
func whileFull(t *testing.T, disk string, fn func()) {
	t.Helper()
	ballast := filepath.Join(disk, "ballast")
	_ = exec.Command("dd", "if=/dev/zero", "of="+ballast, "bs=64k").Run() // until there is no room
	pass(500 * time.Millisecond)
	fn()
	require.NoError(t, os.Remove(ballast))
	pass(100 * time.Millisecond)
}

// eventually tries again until well holds, or patience is at its end.
func eventually(well func() bool, patience time.Duration) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); pass(10 * time.Millisecond) {
		if well() {
			return true
		}
	}
	return false
}

func requireEventuallyOK(t *testing.T, h *fixture, disk string) {
	t.Helper()
	var refusal error
	well := func() bool { refusal = writeOnce(t.Context(), h.log.Log); return refusal == nil && h.Health().OK() }
	if !eventually(well, patience) {
		var room syscall.Statfs_t
		_ = syscall.Statfs(disk, &room)
		t.Fatalf("not writing again: %v; health %+v; %d of %d MB free", refusal, h.Health(), room.Bavail*uint64(room.Bsize)>>20, room.Blocks*uint64(room.Bsize)>>20)
	}
	var v projections.VerifyReport
	var err error
	require.Eventually(t, func() bool { // the store takes its room back, and refuses until it has
		v, err = h.Verify(bounded(t), nil)
		return !errors.Is(err, projections.ErrNoSpace)
	}, patience, 50*time.Millisecond)
	require.NoError(t, err)
	require.True(t, v.OK, "%+v", v)
}

// many runs do over and over on n goroutines until the returned function is
// called.
func many(n int, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for range n {
		running.Go(func() {
			for ctx.Err() == nil {
				do(ctx)
			}
		})
	}
	return func() { cancel(); running.Wait() }
}

// writeOnce appends an event of 20 to 60 KB; a full disk refuses it.
func writeOnce(ctx context.Context, s eventstore.Store) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	id := ulid.Make().String()
	name := strings.Repeat("x", 20<<10+rand.IntN(40<<10))
	_, err := s.Append(ctx, eventstore.Commit{
		Stream: workspace.Stream(id), Meta: domain.Meta{UserID: "u1"},
		Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: workspace.Created{Workspace: snapshot(id, name)}}},
	})
	if err != nil {
		pass(10 * time.Millisecond)
	}
	return err
}

func readOnce(t *testing.T, m *projections.Models, slowest *atomic.Int64) {
	started := time.Now()
	if name := nameOf(t, m, "first"); name != "first" {
		t.Errorf("read %q", name)
	}
	if took := int64(time.Since(started)); took > slowest.Load() {
		slowest.Store(took)
	}
	pass(time.Millisecond)
}

// fullDiskStress is the process of one round without a log: six writers
// that replace values over and over, and check at the end that each key has the
// last one that was taken.
func fullDiskStress(t *testing.T, disk string) {
	waits := &waitCounter{}
	db, err := projections.OpenDB(projections.DBOptions{Dir: filepath.Join(disk, "models"), Log: slog.New(waits)})
	require.NoError(t, err)
	var taken [6][60]uint64
	var refused, slowest atomic.Int64
	for range 4 {
		var slot atomic.Int32
		stop := many(1, func(context.Context) { readKey(t, db, &slowest) })
		stopWriters := many(len(taken), func(ctx context.Context) {
			w := int(slot.Add(1)) - 1
			for ctx.Err() == nil {
				if !replaceOne(db, w, &taken[w]) {
					refused.Add(1)
					pass(time.Millisecond)
				}
			}
		})
		pass(time.Duration(rand.IntN(300)) * time.Millisecond)
		whileFull(t, disk, func() {})
		stopWriters()
		stop()
	}
	requireWritten(t, db, &taken)
	require.NoError(t, db.Close())
	db, err = projections.OpenDB(projections.DBOptions{Dir: filepath.Join(disk, "models"), Log: quiet})
	require.NoError(t, err)
	require.Empty(t, db.Moved())
	requireWritten(t, db, &taken)
	require.NoError(t, db.Close())
	require.Less(t, time.Duration(slowest.Load()), 5*time.Second, "the slowest read")
	t.Logf("refused %d writes, waited %d times for room, slowest read %s", refused.Load(), waits.n.Load(), time.Duration(slowest.Load()))
}

func stressKey(w, i int) []byte { return fmt.Appendf(nil, "stress/%d/%d", w, i) }

// replaceOne writes the next value of some key, and takes note if it was taken.
func replaceOne(db *projections.DB, w int, taken *[60]uint64) bool {
	i := rand.IntN(len(taken))
	value := binary.BigEndian.AppendUint64(nil, taken[i]+1)
	value = append(value, make([]byte, 8<<10+rand.IntN(40<<10))...)
	if db.Update(func(txn *badger.Txn) error { return txn.Set(stressKey(w, i), value) }) != nil {
		return false
	}
	taken[i]++
	return true
}

func requireWritten(t *testing.T, db *projections.DB, taken *[6][60]uint64) {
	t.Helper()
	for w := range taken {
		for i, want := range taken[w] {
			require.Equal(t, want, stressValue(t, db, w, i), "key %d of writer %d", i, w)
		}
	}
}

func stressValue(t *testing.T, db *projections.DB, w, i int) (n uint64) {
	t.Helper()
	require.NoError(t, db.Badger().View(func(txn *badger.Txn) error {
		item, err := txn.Get(stressKey(w, i))
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return item.Value(func(b []byte) error { n = binary.BigEndian.Uint64(b); return nil })
	}))
	return n
}

func readKey(t *testing.T, db *projections.DB, slowest *atomic.Int64) {
	started := time.Now()
	stressValue(t, db, 0, 0)
	slowest.Store(max(slowest.Load(), int64(time.Since(started))))
	pass(time.Millisecond)
}

// waitCounter counts the waits for room.
type waitCounter struct {
	slog.Handler
	n atomic.Int64
}

func (c *waitCounter) Enabled(context.Context, slog.Level) bool { return true }

func (c *waitCounter) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "wait for room") {
		c.n.Add(1)

	}
	return nil
}
