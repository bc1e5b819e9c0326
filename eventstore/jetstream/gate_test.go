package jetstream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// gateFixture is a gate over a directory of the test, and what it told.
type gateFixture struct {
	*gate
	dir      string
	rounds   chan int   // how many each fsync served; the gate waits here
	failures chan error // what the gate reported
}

func newGateFixture(t *testing.T, mark *watermark) *gateFixture {
	t.Helper()
	top := t.TempDir()
	tr := &gateFixture{dir: filepath.Join(top, "STATE", "msgs"), rounds: make(chan int), failures: make(chan error, 8)}
	require.NoError(t, os.MkdirAll(tr.dir, 0o700))
	tr.write(t, 1, "first")
	var err error
	tr.gate, err = openGate(gateOptions{
		dir: tr.dir, top: top, watermark: mark, observeSize: func(n int) { tr.rounds <- n }, onError: func(err error) { tr.failures <- err },
	})
	require.NoError(t, err)
	return tr
}

// write adds bytes to a block file.
func (tr *gateFixture) write(t *testing.T, block int, text string) {
	t.Helper()
	f, err := os.OpenFile(tr.block(block), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, errors.Join(err, f.Close()))
}

func (tr *gateFixture) block(n int) string { return filepath.Join(tr.dir, strconv.Itoa(n)+".blk") }

// unsyncable puts a block in place whose fsync fails: a device takes none.
func (tr *gateFixture) unsyncable(t *testing.T, block int) {
	t.Helper()
	require.NoError(t, os.Symlink(os.DevNull, tr.block(block)))
}

// ask waits for seq in a goroutine of its own.
func (tr *gateFixture) ask(ctx context.Context, seq uint64) <-chan error {
	answer := make(chan error, 1)
	tr.announce()
	go func() { answer <- tr.wait(ctx, seq) }()
	return answer
}

// joined waits until n have joined the round that comes next.
func (tr *gateFixture) joined(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		return tr.next != nil && tr.next.n == n
	}, time.Minute, time.Millisecond)
}

func TestOneFsyncServesAllWhoWait(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	tr := newGateFixture(t, nil)
	first := tr.ask(t.Context(), 1)
	require.Eventually(t, func() bool { return tr.durable.Load() == 1 }, time.Minute, time.Millisecond)

	// The gate is held in its report of the first round, as by a slow disk.
	const waiters = 50
	var answers []<-chan error
	for seq := range uint64(waiters) {
		answers = append(answers, tr.ask(t.Context(), 2+seq))
	}
	tr.joined(t, waiters)
	require.Equal(t, 1, <-tr.rounds)
	require.NoError(t, <-first)
	require.Equal(t, waiters, <-tr.rounds, "one fsync for everyone")
	for _, answer := range answers {
		require.NoError(t, <-answer)
	}
	require.EqualValues(t, waiters+1, tr.durable.Load())

	require.NoError(t, <-tr.ask(t.Context(), waiters), "what is durable needs no fsync")
	tr.close()
	require.Zero(t, tr.announced.Load())
}

// However the writers take turns: nobody goes on before what they wrote is on disk, and
// those who came while an fsync ran share the next one.
func TestManyWritersShareFsyncs(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "1.blk"), nil, 0o600))
	const writers, each = 32, 50
	var fsyncs, served, seq atomic.Int64
	waiting := make(chan struct{}) // until everybody has joined the second round
	g, err := openGate(gateOptions{
		dir: dir, top: filepath.Dir(dir), dense: true,
		observeSize: func(n int) {
			if fsyncs.Add(1) == 1 {
				<-waiting
			}
			served.Add(int64(n))
		},
		onError: func(err error) { t.Error(err) },
	})
	require.NoError(t, err)
	write := func() {
		g.announce()
		mine := uint64(seq.Add(1))
		if err := g.wait(t.Context(), mine); err != nil {
			t.Error(err)
		}
		if durable := g.durable.Load(); durable < mine {
			t.Errorf("%d is durable and %d went on", durable, mine)
		}
	}
	var going sync.WaitGroup
	going.Go(write)
	require.Eventually(t, func() bool { return fsyncs.Load() == 1 }, time.Minute, time.Millisecond)
	for range writers {
		going.Go(func() {
			for range each {
				write()
			}
		})
	}
	(&gateFixture{gate: g}).joined(t, writers)
	close(waiting)
	going.Wait()
	g.close()
	require.EqualValues(t, writers*each+1, g.durable.Load())
	require.LessOrEqual(t, served.Load(), int64(writers*each+1))
	require.LessOrEqual(t, fsyncs.Load(), int64(1+1+writers*(each-1)), "all share the second round")
}

func TestAFailedFsyncShutsTheGate(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	mark, err := openWatermark(filepath.Join(t.TempDir(), "mark"))
	require.NoError(t, err)
	tr := newGateFixture(t, mark)
	first := tr.ask(t.Context(), 1)
	require.Eventually(t, func() bool { return tr.durable.Load() == 1 }, time.Minute, time.Millisecond)

	tr.unsyncable(t, 2)
	var answers []<-chan error
	for seq := range uint64(10) {
		answers = append(answers, tr.ask(t.Context(), 2+seq))
	}
	tr.joined(t, 10)
	require.Equal(t, 1, <-tr.rounds)
	require.NoError(t, <-first)
	for _, answer := range answers {
		require.ErrorIs(t, <-answer, unix.EINVAL, "everyone who waited is told")
	}
	require.ErrorContains(t, <-tr.failures, tr.dir)

	// The kernel would say yes now. It is not asked again.
	require.NoError(t, os.Remove(tr.block(2)))
	tr.write(t, 2, "second")
	for seq := range uint64(3) {
		require.ErrorIs(t, <-tr.ask(t.Context(), 2+seq), unix.EINVAL)
	}
	require.NoError(t, <-tr.ask(t.Context(), 1), "what was durable before still is")
	require.EqualValues(t, 1, tr.durable.Load())
	require.EqualValues(t, 1, readMark(t, mark.file.Name()))
	tr.close()
	require.Empty(t, tr.failures, "reported once")
	require.Empty(t, tr.rounds)
}

// Who gathered while the gate was being shut is told too, without an fsync.
func TestAGateIsShutOnceForAll(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	tr := newGateFixture(t, nil)
	first := tr.ask(t.Context(), 1)
	require.Eventually(t, func() bool { return tr.durable.Load() == 1 }, time.Minute, time.Millisecond)
	answers := []<-chan error{tr.ask(t.Context(), 2), tr.ask(t.Context(), 3)}
	tr.joined(t, 2)
	tr.stop(unix.EIO)
	require.ErrorIs(t, <-tr.ask(t.Context(), 4), unix.EIO, "nobody joins a gate that is shut")
	require.Equal(t, 1, <-tr.rounds)
	require.NoError(t, <-first)
	for _, answer := range answers {
		require.ErrorIs(t, <-answer, unix.EIO)
	}
	tr.close()
	require.ErrorIs(t, <-tr.failures, unix.EIO)
	require.Empty(t, tr.failures, "reported once")
	require.EqualValues(t, 1, tr.durable.Load())
}

func readMark(t *testing.T, path string) uint64 {
	t.Helper()
	w, err := openWatermark(path)
	require.NoError(t, err)
	defer w.file.Close()
	return w.read()
}

func TestTheWatermarkFollowsTheGate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mark")
	mark, err := openWatermark(path)
	require.NoError(t, err)
	require.Zero(t, mark.read(), "a new file says nothing")
	tr := newGateFixture(t, mark)
	answer := tr.ask(t.Context(), 41)
	require.Equal(t, 1, <-tr.rounds)
	require.NoError(t, <-answer)
	require.EqualValues(t, 41, readMark(t, path))
	tr.close()
	require.ErrorIs(t, mark.file.Close(), os.ErrClosed, "the gate closes it")

	for _, torn := range []string{"", "41", "                  41", "x\n", "99999999999999999999\n"} {
		require.NoError(t, os.WriteFile(path, []byte(torn), 0o600))
		require.Zero(t, readMark(t, path), "%q", torn)
	}
}

// Every block is fsynced that was written since the last round, not only the
// newest: each in turn is one whose fsync fails.
func TestBlocksThatAppearBetweenRoundsAreSynced(t *testing.T) {
	for bad := 2; bad <= 4; bad++ {
		t.Run(strconv.Itoa(bad), func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			tr := newGateFixture(t, nil)
			answer := tr.ask(t.Context(), 1)
			require.Equal(t, 1, <-tr.rounds)
			require.NoError(t, <-answer)
			for n := 2; n <= 4; n++ {
				if n == bad {
					tr.unsyncable(t, n)
				} else {
					tr.write(t, n, "more")
				}
			}
			require.ErrorIs(t, <-tr.ask(t.Context(), 2), unix.EINVAL)
			tr.close()
		})
	}
}

func TestTheNewestBlockIsFound(t *testing.T) {
	tr := newGateFixture(t, nil)
	pass := func(seq uint64) {
		t.Helper()
		answer := tr.ask(t.Context(), seq)
		require.Equal(t, 1, <-tr.rounds)
		require.NoError(t, <-answer)
	}
	tr.write(t, 2, "two")
	tr.write(t, 3, "three")
	pass(1)
	// Compaction replaced the newest block, and a purge took the older ones.
	require.NoError(t, os.WriteFile(tr.block(3)+".new", []byte("x"), 0o600))
	require.NoError(t, os.Rename(tr.block(3)+".new", tr.block(3)))
	require.NoError(t, os.Remove(tr.block(1)))
	require.NoError(t, os.Remove(tr.block(2)))
	pass(2)
	// A purge left a new first block with a gap before it.
	require.NoError(t, os.Remove(tr.block(3)))
	tr.write(t, 9, "nine")
	pass(3)
	// Nothing is left: there is nothing to sync.
	require.NoError(t, os.Remove(tr.block(9)))
	pass(4)
	tr.write(t, 10, "ten")
	pass(5)
	tr.close()
	require.EqualValues(t, 10, tr.blocks.newest)
	require.Nil(t, tr.blocks.file)
}

func TestAClosedGateServesThoseWhoWaitAndNobodyElse(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	tr := newGateFixture(t, nil)
	first := tr.ask(t.Context(), 1)
	require.Eventually(t, func() bool { return tr.durable.Load() == 1 }, time.Minute, time.Millisecond)
	second := tr.ask(t.Context(), 2)
	tr.joined(t, 1)
	closed := make(chan struct{})
	go func() { tr.close(); close(closed) }()
	require.Eventually(t, func() bool { tr.mu.Lock(); defer tr.mu.Unlock(); return tr.closed }, time.Minute, time.Millisecond)

	require.ErrorIs(t, <-tr.ask(t.Context(), 3), errGateClosed)
	require.Equal(t, 1, <-tr.rounds)
	require.Equal(t, 1, <-tr.rounds)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	<-closed
	tr.close()
	require.ErrorIs(t, <-tr.ask(t.Context(), 3), errGateClosed)
	require.NoError(t, <-tr.ask(t.Context(), 2))
}

func TestWhoIsCancelledLeavesTheOthersInPeace(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	tr := newGateFixture(t, nil)
	first := tr.ask(t.Context(), 1)
	require.Eventually(t, func() bool { return tr.durable.Load() == 1 }, time.Minute, time.Millisecond)

	ctx, cancel := context.WithCancel(t.Context())
	impatient, patient := tr.ask(ctx, 2), tr.ask(t.Context(), 3)
	tr.joined(t, 2)
	cancel()
	require.ErrorIs(t, <-impatient, context.Canceled)
	require.Equal(t, 1, <-tr.rounds)
	require.Equal(t, 2, <-tr.rounds)
	require.NoError(t, <-first)
	require.NoError(t, <-patient)
	tr.close()
	require.Zero(t, tr.announced.Load())
}

// Time stands still in the bubble unless someone waits for a timer.
func TestALoneWriterDoesNotWaitForOthers(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "1.blk"), nil, 0o600))
	synctest.Test(t, func(t *testing.T) {
		g, err := openGate(gateOptions{dir: dir, top: filepath.Dir(dir), dense: true, observeSize: func(int) {}, onError: func(err error) { t.Error(err) }})
		require.NoError(t, err)
		defer g.close()
		start := time.Now()
		for seq := range uint64(100) {
			g.announce()
			require.NoError(t, g.wait(t.Context(), seq+1))
		}
		require.Zero(t, time.Since(start))

		g.announce() // an append that takes its time
		g.announce()
		require.NoError(t, g.wait(t.Context(), 101))
		require.Equal(t, minAnnounceWait, time.Since(start), "one that is announced is waited for, a little")

		g.withdraw()
		start = time.Now()
		g.announce()
		require.NoError(t, g.wait(t.Context(), 102))
		require.Zero(t, time.Since(start), "one that was taken back is not")
	})
}

func TestAGateOverNothingIsRefused(t *testing.T) {
	_, err := openGate(gateOptions{dir: filepath.Join(t.TempDir(), "missing", "msgs"), top: t.TempDir()})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestATornWatermarkSaysNothingThatWasNeverTrue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "durable-TEST")
	mark, err := openWatermark(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mark.file.Close()) })
	nothing := 0
	for i := range uint64(160) {
		before := i
		if i >= 120 { // and where a fourth digit comes
			before = 860 + i
		}
		after := before + 1 + before%13
		older, later := encodeWatermark(before), encodeWatermark(after)
		for kept := range later {
			torn := append(append([]byte{}, later[:kept]...), older[kept:]...)
			require.NoError(t, os.WriteFile(path, torn, 0o600))
			got := mark.read()
			require.Contains(t, []uint64{0, before, after}, got, "%q", torn)
			if got == 0 {
				nothing++
			}
		}
	}
	require.NotZero(t, nothing, "some of these are mixtures")
	require.NoError(t, mark.write(485))
	require.EqualValues(t, 485, mark.read())
}
