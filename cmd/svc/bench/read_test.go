//go:build bench

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/stretchr/testify/require"

	"svc/eventstore/jetstream"
)

const (
	aimRead     = 0.5
	connections = 32
	turns       = 4 // of one run; the sides take turns, so that a busy moment of the machine falls on both
	sliceTime   = time.Second
)

// openBare opens a Badger as the read models have it.
func openBare(dir string) (*badger.DB, error) {
	return badger.Open(badger.DefaultOptions(dir).
		WithSyncWrites(false).WithDetectConflicts(false).WithMetricsEnabled(false).WithNumVersionsToKeep(1).
		WithMemTableSize(8 << 20).WithNumMemtables(2).WithNumCompactors(2).WithValueLogFileSize(32 << 20).WithValueThreshold(32 << 10).
		WithChecksumVerificationMode(options.OnBlockRead).WithVerifyValueChecksum(true).
		WithCompression(options.None).WithBlockCacheSize(0).WithIndexCacheSize(2 << 20).WithLogger(nil))
}

// serveBare is the control: a handler that does one get and writes what it got.
func serveBare() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := openBare(os.Getenv("BENCH_BARE"))
	if err != nil {
		return err
	}
	s := &http.Server{Addr: os.Getenv("BENCH_ADDR"), ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body []byte
		err := db.View(func(txn *badger.Txn) error {
			item, err := txn.Get([]byte(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]))
			if err == nil {
				body, err = item.ValueCopy(nil)
			}
			return err
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(body)
	})}
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, db.Close())
	}
	return db.Close()
}

// page is a request and the body that must answer it; nil: any that is no error.
type page struct {
	request []byte
	body    []byte
}

// benchRead compares a read of a workspace through the whole gateway with the
// least that could answer the same bytes.
func benchRead(t *testing.T, _ *history) {
	const workspaces = 1000
	others := watchOthers(t)
	dir := t.TempDir()
	store := openStore(t, filepath.Join(dir, "log"), jetstream.SyncGroup)
	require.NoError(t, write(t, store, workspaces, 5*workspaces))
	closeStore(t, store)

	port := freePort(t)
	service := launch(t, command(t, "serve", settingsOf(dir, port)...), port)
	service.awaitReady(t, "/readyz")
	pages := fetchPages(t, port, workspaces)
	bare := launchBare(t, pages)

	ours, control := readInTurns(t, service, bare, pages)
	service.stop(t)
	bare.stop(t)
	answered := ours.count() + control.count()
	out := line{
		"runs": runs, "others_cores": others(), "ratios": ours.ratios(control), "connections": connections, "workspaces": workspaces, "body_bytes": len(pages["w000000"].body),
		"aim": aimRead, "ratio": ours.ratio(control), "ok": ours.ratio(control) >= aimRead, "sent": answered, "answered": answered,
		"ratio_cpu": control.of(sample.cpuEach) / ours.of(sample.cpuEach), "durability": "none: a read",
	}
	ours.describe(out, "service")
	control.describe(out, "bare")
	out.print(t, "read")
}

func launchBare(t *testing.T, pages map[string]page) *server {
	t.Helper()
	dir, port := t.TempDir(), freePort(t)
	db, err := openBare(dir)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(txn *badger.Txn) error {
		for id, p := range pages {
			if err := txn.Set([]byte(id), p.body); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, db.Close())
	s := launch(t, command(t, "bare", "BENCH_BARE="+dir, fmt.Sprintf("BENCH_ADDR=127.0.0.1:%d", port)), port)
	s.awaitReady(t, "/v2/workspaces/w000000")
	return s
}

// fetchPages reads every workspace once, as it is to be answered.
func fetchPages(t *testing.T, port, workspaces int) map[string]page {
	t.Helper()
	pages := map[string]page{}
	for i := range workspaces {
		id := fmt.Sprintf("w%06d", i)
		req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/v2/workspaces/%s", port, id), http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer tester")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode, "%s", body)
		var shown struct{ ID, Description string }
		require.NoError(t, json.Unmarshal(body, &shown))
		require.Equal(t, id, shown.ID)
		request := fmt.Appendf(nil, "GET /v2/workspaces/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer tester\r\nAccept: application/json\r\n\r\n", id)
		pages[id] = page{request, body}
	}
	return pages
}

// readInTurns reads pages of two servers, one after the other in short slices, so that both meet the same machine.
func readInTurns(t *testing.T, service, bare *server, pages map[string]page) (ours, control series) {
	t.Helper()
	for _, s := range []*server{service, bare} {
		readOnce(t, s, pages, time.Second) // warm up
	}
	for range runs {
		var a, b sample
		for range turns {
			a = a.plus(readOnce(t, service, pages, sliceTime))
			b = b.plus(readOnce(t, bare, pages, sliceTime))
		}
		ours, control = append(ours, a), append(control, b)
	}
	return ours, control
}

// readOnce reads pages in random order for so long.
func readOnce(t *testing.T, s *server, pages map[string]page, d time.Duration) sample {
	t.Helper()
	all := slices.Collect(maps.Values(pages))
	return load(t, s, connections, d, func(connection int) func() page {
		rng := rand.New(rand.NewPCG(1, uint64(connection)))
		return func() page { return all[rng.IntN(len(all))] }
	})
}

// load sends requests for so long over kept connections, one after the other on each. requests returns
// the source of the requests of a connection. The client is as lean as it can be, because it shares the
// machine with what it measures. It fails unless every answer is the expected one.
func load(t *testing.T, s *server, connections int, d time.Duration, requests func(connection int) func() page) sample {
	t.Helper()
	collectGarbage()
	latency, failures := make([][]time.Duration, connections), make([]error, connections)
	var running sync.WaitGroup
	cpu, start := cpuOf(t, s.Process.Pid), time.Now()
	for i := range connections {
		running.Go(func() { latency[i], failures[i] = loadConnection(s.port, requests(i), start, d) })
	}
	running.Wait()
	out := sample{took: time.Since(start), cpu: cpuOf(t, s.Process.Pid) - cpu, latency: slices.Concat(latency...)}
	for _, err := range failures {
		require.NoError(t, err)
	}
	out.count = len(out.latency)
	return out
}

func loadConnection(port int, next func() page, start time.Time, d time.Duration) (latency []time.Duration, err error) {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	in, body := bufio.NewReader(conn), bytes.Buffer{}
	for began := time.Now(); began.Sub(start) < d; {
		p := next()
		if _, err := conn.Write(p.request); err != nil {
			return nil, err
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return nil, err
		}
		body.Reset()
		_, err = body.ReadFrom(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 != 2 || p.body != nil && !bytes.Equal(body.Bytes(), p.body) {
			return nil, fmt.Errorf("%d %s", resp.StatusCode, body.Bytes())
		}
		now := time.Now()
		latency = append(latency, now.Sub(began))
		began = now
	}
	return latency, nil
}
