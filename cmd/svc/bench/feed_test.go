//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
)

const aimFeed = 20 // ms at the 99th percentile, for a page

// How many pages are read; those by a path go through the whole index in the end.
const manyPages, slowPages = 300, 30

// benchFeed fills one workspace with a million events and ten thousand with few, and
// reads pages of both, in every way that the index serves, through the whole gateway.
func benchFeed(t *testing.T, _ *history) {
	others := watchOthers(t)
	dir := t.TempDir()
	big, small := scaled(1_000_000), scaled(10_000)
	port := freePort(t)
	service := launch(t, command(t, "serve", settingsOf(dir, port)...), port)
	service.awaitReady(t, "/readyz")
	a := api{fmt.Sprintf("http://127.0.0.1:%d", port), http.DefaultClient}
	id, other := a.makeWorkspace(t), a.makeWorkspace(t)
	service.stop(t)

	store := openStore(t, filepath.Join(dir, "log"), jetstream.SyncNever)
	filled := fillActivity(t, store, id, other, big, small)
	rebuild := rebuildActivity(t, store)
	closeStore(t, store)

	service = launch(t, command(t, "serve", append(settingsOf(dir, port), "RATE_LIMIT_REQUESTS=0", "RATE_LIMIT_SEARCH_EVENTS=0")...), port)
	began := time.Now()
	service.awaitReady(t, "/readyz")
	caught := time.Since(began)
	service.awaitIdle(t) // what listens to events has heard of those that were written behind its back
	out := line{
		"others_cores": others(), "events_big": big, "workspaces_small": small, "fill_per_s": filled, "rebuild_per_s": rebuild.rate(), "rebuild_cpu_us_each": rebuild.cpuEach(),
		"catch_up_s": caught.Seconds(), "catch_up_per_s": float64(big+5*small) / caught.Seconds(), "aim_ms": aimFeed,
		"readmodels_mb": megabytes(sizeOf(t, filepath.Join(dir, "readmodels"))), "log_mb": megabytes(sizeOf(t, filepath.Join(dir, "log"))),
	}
	rng := rand.New(rand.NewPCG(6, 6))
	worst := 0.0
	for name, query := range map[string]func() string{
		"page":        func() string { return "" },
		"type":        func() string { return "types=order.late" },
		"wildcard":    func() string { return "types=order.*" },
		"correlation": func() string { return "source.correlationId=" + fmt.Sprintf("c-%d", rng.IntN(big/10)) },
		"user":        func() string { return fmt.Sprintf("source.userId=u-%d", rng.IntN(50)) },
		"date": func() string {
			return "beforeDate=" + url.QueryEscape(time.Now().Add(-time.Duration(rng.IntN(30))*time.Second).UTC().Format(time.RFC3339))
		},
		"path": func() string { return fmt.Sprintf("payload.order=o-%07d", big-1-rng.IntN(1000)) + "&limit=1" },
	} {
		n := manyPages
		if name == "path" {
			n = slowPages
		}
		cpu := cpuOf(t, service.Process.Pid)
		p99 := pages(t, a, id, n, query)
		out["p99_ms_"+name] = p99
		out["cpu_us_each_"+name] = float64((cpuOf(t, service.Process.Pid) - cpu).Microseconds()) / float64(n)
		if name != "path" {
			worst = max(worst, p99)
		}
	}
	out["p99_ms_small"] = pages(t, a, other, manyPages, func() string { return "" })
	out["s_text_nowhere"] = slow(t, a, id, "text=nowhere")
	out["s_path_first"] = slow(t, a, id, "payload.order=o-0000000&limit=1")
	out["memory_mb"] = megabytes(procField(t, service.Process.Pid, "status", "VmRSS") << 10)
	out["ok"] = max(worst, out["p99_ms_small"].(float64)) < aimFeed
	service.stop(t)
	out.print(t, "feed")
}

// pages reads pages and those after them, and returns the 99th percentile.
func pages(t *testing.T, a api, id string, n int, query func() string) float64 {
	t.Helper()
	var all []time.Duration
	cursor := ""
	for range n {
		began := time.Now()
		status, _, body, err := a.ask("GET", "/v2/workspaces/"+id+"/events?"+query()+cursor, "")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, "%s", body)
		all = append(all, time.Since(began))
		var page struct{ Result struct{ Cursor string } }
		require.NoError(t, json.Unmarshal(body, &page))
		if cursor = ""; page.Result.Cursor != "" && len(all)%5 != 0 {
			cursor = "&cursor=" + page.Result.Cursor
		}
	}
	return percentile(all[n/15:], 99)
}

// slow is how long a question takes that the whole index must be looked at for.
func slow(t *testing.T, a api, id, query string) float64 {
	t.Helper()
	began := time.Now()
	status, _, body, err := a.ask("GET", "/v2/workspaces/"+id+"/events?"+query, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", body)
	return time.Since(began).Seconds()
}

// fillActivity emits events without fsync, and returns how many in a second.
func fillActivity(t *testing.T, store *jetstream.Store, big, other string, n, small int) float64 {
	t.Helper()
	start := time.Now()
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for from := w * 10; from < n; from += 80 {
				var facts []eventstore.Fact
				for i := from; i < min(n, from+10); i++ {
					facts = append(facts, order(i))
				}
				if _, err := store.Log.Append(t.Context(), eventstore.Commit{Stream: domain.StreamID{Scope: big}, Meta: emitMeta(from / 10), Facts: facts}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	for i := range small {
		scope := fmt.Sprintf("small%06d", i)
		if i == 0 {
			scope = other
		}
		_, err := store.Log.Append(t.Context(), eventstore.Commit{Stream: domain.StreamID{Scope: scope}, Meta: emitMeta(i), Facts: []eventstore.Fact{order(i), order(i), order(i), order(i), order(i)}})
		require.NoError(t, err)
	}
	return float64(n+5*small) / time.Since(start).Seconds()
}

func emitMeta(n int) domain.Meta {
	return domain.Meta{
		UserID: fmt.Sprintf("u-%d", n%50), SessionID: fmt.Sprintf("s-%d", n%500), CorrelationID: fmt.Sprintf("c-%d", n), ServiceTopic: "topic:runtime:emit",
		Host: domain.Host{Service: "gateway", Replica: "bench"},
	}
}

func order(i int) eventstore.Fact {
	name := []string{"order.paid", "order.shipped", "order.late"}[min(i%10, 2)]
	return eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: name, Body: fmt.Appendf(nil,
		`{"order":"o-%07d","amount":%d,"customer":{"name":"Customer %d","city":"Ghent"}}`, i, i*7, i%1000)}}
}

// rebuildActivity fills read models from nothing.
func rebuildActivity(t *testing.T, store *jetstream.Store) sample {
	t.Helper()
	db, err := projections.OpenDB(projections.DBOptions{Dir: t.TempDir() + "/readmodels", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	models, err := projections.New(projections.Options{DB: db, Store: store.Log, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	collectGarbage()
	stop, err := profile("feed")
	require.NoError(t, err)
	cpu, start := ownCPU(t), time.Now()
	report, err := models.Rebuild(t.Context(), nil)
	require.NoError(t, err)
	s := sample{took: time.Since(start), cpu: ownCPU(t) - cpu, count: int(report.Position.Activity)}
	stop()
	require.NoError(t, db.Close())
	return s
}
