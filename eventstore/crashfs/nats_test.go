//go:build fault

package crashfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"svc/eventstore/crashfs"
)

const (
	natsMessages = 2000
	natsSize     = 6000 // enough for a second 8 MiB block
)

// openNATS starts a server with its store in dir and returns a connection
// inside of the process.
func openNATS(dir string, syncAlways bool) (jetstream.JetStream, error) {
	ns, err := server.NewServer(&server.Options{
		DontListen: true, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true, SyncAlways: syncAlways,
	})
	if err != nil {
		return nil, err
	}
	ns.Start()
	if !ns.ReadyForConnections(10 * time.Second) {
		return nil, errors.New("server is not ready")
	}
	nc, err := nats.Connect("", nats.InProcessServer(ns))
	if err != nil {
		return nil, err
	}
	return jetstream.New(nc)
}

// natsPublish publishes, prints a line for each acknowledgement, and waits to
// be killed. CRASHFS_SYNC is "default", "always" or "dirs": always, and syncs
// the directories that the server leaves out.
func natsPublish(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	mode := os.Getenv("CRASHFS_SYNC")
	js, err := openNATS(dir, mode != "default")
	if err != nil {
		return err
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		return err
	}
	if mode == "dirs" {
		if err := syncDirs(dir); err != nil {
			return err
		}
	}
	fmt.Println("created")
	payload := bytes.Repeat([]byte("x"), natsSize)
	for i := range natsMessages {
		ack, err := js.Publish(ctx, fmt.Sprintf("s.%d", i%10), payload)
		if err != nil {
			return err
		}
		if mode == "dirs" {
			if err := syncDir("jetstream/$G/streams/S/msgs")(dir); err != nil {
				return err
			}
		}
		fmt.Println("ack", ack.Sequence)
	}
	fmt.Println("done")
	<-ctx.Done()
	return ctx.Err()
}

// syncDirs syncs dir and every directory below it.
func syncDirs(dir string) error {
	return filepath.WalkDir(dir, func(name string, entry iofs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncDir(".")(name)
	})
}

// natsCount opens a store and prints how many messages the stream still has.
func natsCount(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	js, err := openNATS(dir, false)
	if err != nil {
		return err
	}
	stream, err := js.Stream(ctx, "S")
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		fmt.Println("no stream")
		return nil
	}
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return err
	}
	state := info.State
	if state.Msgs != state.LastSeq {
		return fmt.Errorf("%d messages up to %d", state.Msgs, state.LastSeq)
	}
	if state.LastSeq > 0 {
		if _, err := stream.GetMsg(ctx, state.LastSeq); err != nil {
			return fmt.Errorf("read message %d: %w", state.LastSeq, err)
		}
	}
	fmt.Println(state.Msgs)
	return nil
}

// publish runs the publisher to its last acknowledgement and kills it. Marks
// holds the mark of "created" first, then one for each message.
func publish(t *testing.T, syncMode string) (f *crashfs.FS, marks []int) {
	f, _, dir := mount(t, nil)
	c := start(t, "nats-publish", dir, "CRASHFS_SYNC="+syncMode)
	for c.lines.Scan() && c.lines.Text() != "done" {
		marks = append(marks, f.Mark())
	}
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	require.Len(t, marks, 1+natsMessages)
	if name := os.Getenv("CRASHFS_DUMP"); name != "" {
		dump(t, f, marks, name+"."+syncMode)
	}
	return f, marks
}

// dump writes the log with the acknowledgements in their places.
func dump(t *testing.T, f *crashfs.FS, marks []int, name string) {
	var out bytes.Buffer
	next := 0
	for i, op := range f.Ops(0, f.Mark()) {
		for ; next < len(marks) && marks[next] <= i; next++ {
			fmt.Fprintf(&out, "---- ack %d\n", next)
		}
		fmt.Fprintf(&out, "%6d %s\n", i, op)
	}
	require.NoError(t, os.WriteFile(name, out.Bytes(), 0o644))
}

// count recovers an image and returns "no stream" or the number of messages.
func count(t *testing.T, f *crashfs.FS, cut crashfs.Cut) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, f.Image(cut, dir))
	c := start(t, "nats-count", dir)
	require.True(t, c.lines.Scan(), "%s: nothing recovered", cut)
	answer := c.lines.Text()
	require.NoError(t, c.Wait(), "%s", cut)
	return answer
}

func TestNATSWithoutSyncLosesWhatItAcknowledged(t *testing.T) {
	f, marks := publish(t, "default")
	all := fmt.Sprint(natsMessages)
	at := marks[natsMessages]
	require.Equal(t, all, count(t, f, crashfs.Cut{At: at, Data: crashfs.Kept, Names: crashfs.NamesKept}), "kill -9 alone loses nothing")
	for _, names := range []crashfs.NameLoss{crashfs.NamesStrict, crashfs.NamesOrdered, crashfs.NamesJournaled, crashfs.NamesKept} {
		cut := crashfs.Cut{At: at, Names: names}
		got := count(t, f, cut)
		t.Logf("%s: %s of %s", cut, got, all)
		require.NotEqual(t, all, got, "%s", cut)
	}
}

// checkNothingLost cuts the power n times while the publisher was at work, half
// of the time right after an acknowledgement.
func checkNothingLost(t *testing.T, f *crashfs.FS, marks []int, names crashfs.NameLoss, n int) {
	t.Helper()
	for seed := range uint64(n) {
		random := rand.New(rand.NewPCG(seed, 0))
		cut := crashfs.Cut{Data: crashfs.DataLoss(seed % 3), Names: names, Seed: seed}
		cut.At = marks[random.IntN(len(marks))]
		if seed%2 == 1 {
			cut.At = marks[0] + random.IntN(f.Mark()-marks[0])
		}
		acked, _ := slices.BinarySearch(marks, cut.At+1)
		acked-- // the first mark is the stream itself
		got, err := strconv.Atoi(count(t, f, cut))
		require.NoError(t, err, "%s", cut)
		require.GreaterOrEqual(t, got, acked, "%s", cut)
	}
}

func TestNATSWithSyncAlwaysKeepsAllOnAJournal(t *testing.T) {
	f, marks := publish(t, "always")
	checkNothingLost(t, f, marks, crashfs.NamesJournaled, 12)
	for _, names := range []crashfs.NameLoss{crashfs.NamesStrict, crashfs.NamesOrdered} {
		cut := crashfs.Cut{At: marks[natsMessages], Names: names}
		t.Logf("%s: %s of %d", cut, count(t, f, cut), natsMessages)
	}
}

func TestNATSWithSyncAlwaysAndSyncedDirectoriesKeepsAll(t *testing.T) {
	f, marks := publish(t, "dirs")
	checkNothingLost(t, f, marks, crashfs.NamesStrict, 12)
}
