//go:build bench

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

// aimPast is how long a read of a past moment may take, in milliseconds, at the
// 99th percentile.
const aimPast = 50

// benchPast reads a workspace with many items and a long history as it was at
// random moments, through the whole gateway.
func benchPast(t *testing.T, _ *history) {
	const items = 500
	changes := scaled(10_000)
	others := watchOthers(t)
	dir := t.TempDir()
	store := openStore(t, filepath.Join(dir, "log"), jetstream.SyncNever)
	seqs := newEditedWorkspace(t, store.Log, items, changes)
	closeStore(t, store)

	port := freePort(t)
	service := launch(t, command(t, "serve", settingsOf(dir, port)...), port)
	service.awaitReady(t, "/readyz")
	read := func(seq uint64) []byte {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/v2/workspaces/w000000?atSeq=%d", port, seq), http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer tester")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode, "%s", body)
		return body
	}
	checkPast(t, read(seqs[len(seqs)-1]), items, changes)
	rng := rand.New(rand.NewPCG(13, 13))
	var ours series
	for range runs {
		collectGarbage()
		s := sample{}
		cpu, start := cpuOf(t, service.Process.Pid), time.Now()
		for time.Since(start) < 3*time.Second {
			began := time.Now()
			read(seqs[rng.IntN(len(seqs))])
			s.latency = append(s.latency, time.Since(began))
		}
		s.count, s.took, s.cpu = len(s.latency), time.Since(start), cpuOf(t, service.Process.Pid)-cpu
		ours = append(ours, s)
	}
	service.stop(t)
	p99 := ours.of(func(s sample) float64 { return percentile(s.latency, 99) })
	out := line{
		"runs": runs, "others_cores": others(), "items": items, "changes": changes, "aim_p99_ms": aimPast, "ok": p99 < aimPast,
		"rates": ours.rates(), "answered": ours.count(), "sent": ours.count(), "durability": "none: a read",
	}
	ours.describe(out, "past")
	out.print(t, "past")
}

// checkPast says that a workspace was read as it was.
func checkPast(t *testing.T, body []byte, items, changes int) {
	t.Helper()
	var shown struct {
		Automations     map[string]any
		ContentRevision int
	}
	require.NoError(t, json.Unmarshal(body, &shown))
	require.Len(t, shown.Automations, items)
	require.Equal(t, changes+1, shown.ContentRevision)
}

// newEditedWorkspace makes a workspace and changes its automations, all of which there are
// after a while. It returns the sequences of the changes.
func newEditedWorkspace(t *testing.T, store eventstore.Store, items, changes int) (seqs []uint64) {
	t.Helper()
	s := subject{id: "w000000"}
	require.NoError(t, s.append(t.Context(), store))
	for i := range changes {
		slug := fmt.Sprintf("a%03d", i%items)
		body := fmt.Appendf(nil, `{"slug":%q,"name":"Change %d","do":[{"emit":{"event":"e%d"}},{"set":{"name":"x","value":%q}}]}`, slug, i, i, description)
		entry := workspace.Entry{Path: "automations/" + slug, Hash: workspace.HashOf(body), Checksum: "sha256:" + workspace.HashOf(body), Body: body}
		var ev domain.Event = workspace.AutomationUpdated{Entry: entry}
		if i < items {
			ev = workspace.AutomationCreated{Entry: entry}
		}
		receipt, err := store.Append(context.WithoutCancel(t.Context()), eventstore.Commit{
			Stream: workspace.Stream(s.id), Expected: s.expected, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: ev}},
			Meta: domain.Meta{UserID: "u-bench", SessionID: "s-bench", CorrelationID: fmt.Sprintf("c-%d", i)},
		})
		require.NoError(t, err)
		s.expected = receipt.Position.State
		seqs = append(seqs, s.expected)
	}
	return seqs
}
