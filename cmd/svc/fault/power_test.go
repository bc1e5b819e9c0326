//go:build fault

package fault

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/crashfs"
	"svc/eventstore/jetstream"
)

// writeToStore appends to a store from several writers and notes every
// acknowledgement in the file acks beside it, so that the order of
// acknowledgements and fsyncs is that of one recorded log.
func writeToStore() error {
	dir := os.Getenv("FAULT_DIR")
	acks, err := os.OpenFile(filepath.Join(dir, "acks"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	store, err := jetstream.Open(context.Background(), storeOptions(filepath.Join(dir, "log"), jetstream.Sync(os.Getenv("FAULT_SYNC"))))
	if err != nil {
		return err
	}
	each, err := strconv.Atoi(os.Getenv("FAULT_APPENDS"))
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	failed := make(chan error, 8)
	for i := range 8 {
		wg.Go(func() { failed <- appendMany(store, acks, i, each) })
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return nil // without closing: the power goes before that
}

func storeOptions(dir string, sync jetstream.Sync) jetstream.Options {
	return jetstream.Options{Dir: dir, Sync: sync, Events: catalog.Events(), Log: slog.New(slog.DiscardHandler), MaxWait: 30 * time.Second}
}

// appendMany appends single facts, pairs over two aggregates, large events, and
// activity in runs.
func appendMany(store *jetstream.Store, acks io.Writer, writer, n int) error {
	rng := rand.New(rand.NewPCG(uint64(writer), 7))
	last := uint64(0)
	main := workspace.Stream(fmt.Sprintf("main%d", writer))
	for i := range n {
		size := 20
		if rng.IntN(10) == 0 {
			size = 150_000
		}
		commits := []eventstore.Commit{commitOf(main, last, size)}
		if rng.IntN(8) == 0 {
			commits = append(commits, commitOf(workspace.Stream(fmt.Sprintf("side%d-%d", writer, i)), 0, 20))
		}
		r, err := store.Log.Append(context.Background(), commits...)
		if err != nil {
			return err
		}
		last = r.Seqs[0]
		var line strings.Builder
		for j, c := range commits {
			fmt.Fprintf(&line, "%s:%d ", c.Facts[0].ID, r.Seqs[j])
		}
		if rng.IntN(4) == 0 {
			batch := runOf(fmt.Sprintf("%d-%d", writer, i), 2+rng.IntN(5))
			if r, err = store.Log.Append(context.Background(), batch); err != nil {
				return err
			}
			for j, f := range batch.Facts {
				fmt.Fprintf(&line, "%s:%d ", f.ID, r.Seqs[j])
			}
		}
		if _, err := io.WriteString(acks, line.String()+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func commitOf(id domain.StreamID, expected uint64, size int) eventstore.Commit {
	return eventstore.Commit{Stream: id, Expected: expected, Facts: []eventstore.Fact{{
		ID: ulid.Make().String(), Event: workspace.Created{Workspace: workspace.Snapshot{ID: id.ID, Settings: workspace.Settings{
			Name: "n", Description: document.InEveryLanguage(strings.Repeat("x", size)),
		}}},
	}}}
}

// recording is one run of the writer: every operation on its disk, and which
// of them told somebody that something is stored.
type recording struct {
	fs   *crashfs.FS
	ops  int
	acks []ack
}

type ack struct {
	op    int               // index of the write that told it
	facts map[string]uint64 // id to sequence
}

func record(t *testing.T, sync jetstream.Sync, appends int) *recording {
	t.Helper()
	r := recordRole(t, "store-writer", "FAULT_SYNC="+string(sync), fmt.Sprintf("FAULT_APPENDS=%d", appends))
	require.Len(t, r.acks, 8*appends, "every acknowledgement is on the record")
	return r
}

// recordRole runs a role of this binary on a recorded disk.
func recordRole(t *testing.T, role string, env ...string) *recording {
	t.Helper()
	mount := t.TempDir()
	fs, err := crashfs.Mount(t.TempDir(), mount)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role, "FAULT_DIR="+mount), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, errors.Join(err, fs.Close()), "%s", out)

	r := &recording{fs: fs, ops: fs.Mark()}
	for i, op := range fs.Ops(0, r.ops) {
		if op.Kind == crashfs.Write && filepath.Base(op.Path) == "acks" {
			r.acks = append(r.acks, ack{i, parseAck(t, op.Content())})
		}
	}
	return r
}

func parseAck(t *testing.T, line []byte) map[string]uint64 {
	t.Helper()
	facts := map[string]uint64{}
	words := bufio.NewScanner(bytes.NewReader(line))
	words.Split(bufio.ScanWords)
	for words.Scan() {
		id, seq, ok := strings.Cut(words.Text(), ":")
		require.True(t, ok)
		n, err := strconv.ParseUint(seq, 10, 64)
		require.NoError(t, err)
		facts[id] = n
	}
	return facts
}

// cut is a loss of power somewhere after the store was ready.
func (r *recording) cut(rng *rand.Rand) crashfs.Cut {
	at := r.acks[rng.IntN(len(r.acks))].op + 1 // the worst moment: right after an acknowledgement
	if rng.IntN(3) == 0 {
		at = r.acks[0].op + rng.IntN(r.ops-r.acks[0].op)
	}
	return crashfs.Cut{
		At: at, Seed: rng.Uint64(),
		Data:  []crashfs.DataLoss{crashfs.Strict, crashfs.Torn, crashfs.Shuffled}[rng.IntN(3)],
		Names: []crashfs.NameLoss{crashfs.NamesStrict, crashfs.NamesOrdered}[rng.IntN(2)],
	}
}

// findLost opens what the disk held after the cut and returns the acknowledged
// facts that are not in it as they were acknowledged.
func (r *recording) findLost(t *testing.T, cut crashfs.Cut) (lost []string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, r.fs.Image(cut, dir), "%v", cut)
	store, err := jetstream.Open(t.Context(), storeOptions(filepath.Join(dir, "log"), jetstream.SyncGroup))
	require.NoError(t, err, "%v", cut)
	defer func() { require.NoError(t, store.Close(context.Background())) }()

	found := readAll(t, store.Log)
	for _, a := range r.acks {
		if a.op >= cut.At {
			break
		}
		for id, seq := range a.facts {
			if found[id] != seq {
				lost = append(lost, id)
			}
		}
	}
	info, err := store.Log.Info(t.Context(), domain.State)
	require.NoError(t, err)
	require.True(t, info.Contiguous(), "no hole after %v: %+v", cut, info)
	_, err = store.Log.Append(t.Context(), commitOf(workspace.Stream("after"), 0, 20))
	require.NoError(t, err, "the store must go on after %v", cut)
	return lost
}

var errCaughtUp = errors.New("caught up")

// readAll returns the sequence of every event that counts, by id, and checks that what
// was appended together is whole.
func readAll(t *testing.T, store eventstore.Store) map[string]uint64 {
	t.Helper()
	found, missing := map[string]uint64{}, map[string]int{}
	for _, log := range domain.Logs() {
		info, err := store.Info(t.Context(), log)
		require.NoError(t, err)
		if info.Messages == 0 {
			continue
		}
		eachEvent(t, store, log, func(ev domain.Recorded) {
			if _, void := ev.Data.(domain.Void); void {
				return
			}
			require.NotContains(t, found, ev.ID, "stored twice")
			found[ev.ID] = ev.Seq
			countRun(t, missing, ev)
		})
	}
	for name, n := range missing {
		require.Zero(t, n, "run %s is not whole", name)
	}
	return found
}

func TestPowerLossLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	seed := nodetest.Seed()
	t.Logf("FAULT_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))

	gated, cuts := record(t, jetstream.SyncGroup, 60), nodetest.Cycles(120, 1000)
	acked := 0
	for range cuts {
		cut := gated.cut(rng)
		lost := gated.findLost(t, cut)
		require.Empty(t, lost[:min(len(lost), 3)], "%d acknowledged events are gone after %v", len(lost), cut)
		acked++
	}

	control, losses := record(t, jetstream.SyncNever, 60), 0
	for range 10 {
		cut := crashfs.Cut{At: control.acks[rng.IntN(len(control.acks))].op + 1}
		if len(control.findLost(t, cut)) > 0 {
			losses++
		}
	}
	require.NotZero(t, losses, "without the gate acknowledged events must be lost, or this test shows nothing")
	nodetest.Report(t, "power", map[string]any{
		"seed": seed, "cuts": cuts, "lost": 0, "acknowledged": len(gated.acks), "operations": gated.ops, "controlCuts": 10, "controlCutsWithLoss": losses,
	})
}
