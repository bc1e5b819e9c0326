//go:build fault

package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

// smallDisk mounts a disk of so many megabytes.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)), "this test mounts a small disk and needs the right to")
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

// fill leaves so many bytes of the disk free and returns the file that takes
// the rest.
func fill(t *testing.T, dir string, leave int64) (ballast string) {
	t.Helper()
	var st syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &st))
	ballast = filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	require.NoError(t, err)
	_, err = f.Write(bytes.Repeat([]byte{1}, int(max(0, int64(st.Bavail)*st.Bsize-leave))))
	require.True(t, err == nil || errors.Is(err, syscall.ENOSPC), "%v", err)
	require.NoError(t, f.Close())
	return ballast
}

func TestALowDiskRefusesWritesAndHeals(t *testing.T) {
	s := newService(t, "DISK_MIN_FREE_MB=16")
	s.dir = smallDisk(t, 256)
	s.start(t)
	id, err := s.create("before")
	require.NoError(t, err)

	ballast := fill(t, s.dir, 4<<20)
	filledAt := time.Now()
	var refused time.Duration
	require.Eventually(t, func() bool {
		resp := s.rawCreate(t, "during")
		refused = time.Since(filledAt)
		if resp.StatusCode != http.StatusServiceUnavailable {
			return false
		}
		require.NotEmpty(t, resp.Header.Get("Retry-After"))
		return true
	}, time.Minute, 10*time.Millisecond)
	require.Less(t, refused, 30*time.Second)
	got, err := s.read(id)
	require.NoError(t, err, "reads go on")
	require.Equal(t, "before", got.Name)

	require.NoError(t, os.Remove(ballast))
	freedAt := time.Now()
	require.Eventually(t, func() bool { _, err := s.create("after"); return err == nil }, time.Minute, 20*time.Millisecond, "without a restart")
	nodetest.Report(t, "low-disk", map[string]any{"refusedAfterMs": refused.Milliseconds(), "healedAfterMs": time.Since(freedAt).Milliseconds()})
}

// rawCreate sends a create and returns the answer without its body.
func (s *service) rawCreate(t *testing.T, name string) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]string{"name": name})
	require.NoError(t, err)
	req, err := http.NewRequest(http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/v2/workspaces", s.port), bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer tester")
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp
}

// A disk that is full to the last byte wedges the broker's stream: the store
// must reopen it by itself once there is space.
func TestAFullDiskLosesNothingAndHeals(t *testing.T) {
	dir := smallDisk(t, 40)
	o := storeOptions(filepath.Join(dir, "log"), jetstream.SyncGroup)
	o.MaxWait = 2 * time.Second // PUBLISH_TIMEOUT_MS
	store, err := jetstream.Open(t.Context(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close(context.Background())) }()

	follower := followLog(t, store)
	acked, refused := map[string]uint64{}, time.Duration(0)
	id, last := workspace.Stream("full"), uint64(0)
	put := func(size int) error {
		c := commitOf(id, last, size)
		r, err := store.Log.Append(t.Context(), c)
		if err == nil {
			last, acked[c.Facts[0].ID] = r.Seqs[0], r.Seqs[0]
		}
		return err
	}
	require.NoError(t, put(20))
	ballast := fill(t, dir, 2<<20)
	for refused == 0 {
		start := time.Now()
		if err := put(200_000); err != nil {
			require.ErrorIs(t, err, eventstore.ErrUnavailable, "%v", err)
			refused = time.Since(start)
		}
	}
	require.Less(t, refused, 30*time.Second)
	require.ErrorIs(t, store.Writable(), eventstore.ErrUnavailable)

	require.NoError(t, os.Remove(ballast))
	freedAt := time.Now()
	require.Eventually(t, func() bool { return put(20) == nil || reloadLast(t, store, &last) }, time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool { return put(20) == nil }, time.Minute, 50*time.Millisecond)
	healed := time.Since(freedAt)
	found := readAll(t, store.Log)
	for id, seq := range acked {
		require.Equal(t, seq, found[id])
	}
	require.Eventually(t, func() bool { return follower.Load() == last }, time.Minute, 20*time.Millisecond, "a reader goes on after the broker was restarted")
	nodetest.Report(t, "full-disk", map[string]any{"refusedAfterMs": refused.Milliseconds(), "healedAfterMs": healed.Milliseconds(), "acknowledged": len(acked)})
}

// followLog reads the log until the test ends, and tells how far it has come. It
// fails the test when a sequence is left out or comes twice.
func followLog(t *testing.T, store *jetstream.Store) *atomic.Uint64 {
	t.Helper()
	var last atomic.Uint64
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	reading.Go(func() {
		err := store.Log.Subscribe(ctx, domain.State, 1, func(b eventstore.Batch) error {
			for _, ev := range b.Events {
				if ev.Seq != last.Load()+1 {
					return fmt.Errorf("event %d after %d", ev.Seq, last.Load())
				}
				last.Store(ev.Seq)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		reading.Wait()
	})
	return &last
}

// reloadLast takes over what is stored: an append without an answer may have
// been stored after all.
func reloadLast(t *testing.T, store *jetstream.Store, last *uint64) bool {
	t.Helper()
	events, err := store.Log.Load(t.Context(), workspace.Stream("full"), 0)
	if err == nil && len(events) > 0 {
		*last = events[len(events)-1].Seq
	}
	return false
}

func TestTheMessageOfALowDiskSaysWhatToDo(t *testing.T) {
	dir := smallDisk(t, 40)
	o := storeOptions(filepath.Join(dir, "log"), jetstream.SyncGroup)
	o.MinFree = func() int64 { return 1 << 40 }
	store, err := jetstream.Open(t.Context(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close(context.Background())) }()
	require.Eventually(t, func() bool { return store.Writable() != nil }, time.Minute, 10*time.Millisecond)
	require.ErrorContains(t, store.Writable(), "DISK_MIN_FREE_MB")
}
