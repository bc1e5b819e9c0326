package workspaces_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/workspace"
)

// A hundred people change one workspace at once. What was acknowledged is there,
// and the history has each change once, in order, without a gap.
func TestAHundredWritersLoseNothing(t *testing.T) {
	t.Parallel()
	const writers, changes, amenders = 100, 2, 10
	p := newHistoryScenario(t, "MAX_CONCURRENT_REQUESTS=1000")
	p.write("POST", "/automations", automation("shared", "0"))
	var mu sync.Mutex
	acknowledged := map[string]int{} // by what was written
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			own := fmt.Sprintf("a%03d", w)
			texts := []string{sendUntil(t, p, "POST", "/automations", own, own+"-made")}
			for n := range changes {
				texts = append(texts, sendUntil(t, p, "PATCH", "/automations/"+own, own, fmt.Sprintf("%s-%d", own, n)))
			}
			if w < amenders {
				texts = append(texts, amend(t, p, own))
			}
			mu.Lock()
			defer mu.Unlock()
			for _, text := range texts {
				acknowledged[text]++
			}
		})
	}
	all.Wait()
	const written = writers*(changes+1) + amenders
	require.Len(t, acknowledged, written)

	now := p.getObject("")
	require.Len(t, now["automations"], writers+1)
	for w := range writers {
		own := fmt.Sprintf("a%03d", w)
		require.Contains(t, string(mustJSON(t, p.getObject("/automations/" + own)["do"])), fmt.Sprintf("%s-%d", own, changes-1))
	}
	shared := string(mustJSON(t, p.getObject("/automations/shared")["do"]))
	for w := range amenders {
		require.Contains(t, shared, fmt.Sprintf("a%03d-shared", w), "no change of the one that all change is lost")
	}

	entries := p.history("limit=1000&types=workspaces.automations.*")
	require.Len(t, entries, 1+written, "each acknowledged write once")
	seqs := nodetest.Fields(entries, "contentRevision")
	require.True(t, slices.IsSortedFunc(seqs, func(a, b any) int { return int(b.(float64) - a.(float64)) }))
	require.Len(t, slices.Compact(seqs), len(entries))

	p.Stop(t)
	var state workspace.State
	for _, ev := range nodetest.StoredEvents(t, p.Dir, domain.State) {
		if ev.Stream == workspace.Stream(p.id) {
			state = workspace.Decider.Evolve(state, ev.Data)
		}
	}
	require.Equal(t, writers+1, state.Items.Len())
	require.Equal(t, uint64(1+written), state.Changes, "contiguous")
}

// sendUntil writes an automation until it is taken, and returns what it wrote.
func sendUntil(t *testing.T, p *historyScenario, method, path, slug, event string) string {
	for {
		got, err := p.Request(context.Background(), method, p.path+path, p.owner, automation(slug, event))
		if err == nil && got.StatusCode == http.StatusConflict && strings.Contains(string(got.Body), "stale") {
			continue
		}
		if err != nil || got.StatusCode >= 300 {
			t.Errorf("%s %s: %v %s", method, path, err, got.Body)
		}
		return event
	}
}

// amend adds an instruction to the automation that everybody amends, on what was
// there when it was read.
func amend(t *testing.T, p *historyScenario, own string) string {
	for {
		read, err := p.Request(context.Background(), "GET", p.path+"/automations/shared", p.owner, "")
		if err != nil || read.StatusCode != http.StatusOK {
			t.Errorf("read: %v %s", err, read.Body)
			return own
		}
		var doc map[string]any
		_ = json.Unmarshal(read.Body, &doc) // what is not read is not written either
		doc["do"] = append(doc["do"].([]any), map[string]any{"emit": map[string]any{"event": own + "-shared"}})
		body, _ := json.Marshal(map[string]any{"slug": "shared", "name": "shared", "do": doc["do"]})
		h := p.owner.Clone()
		h.Set("If-Match", read.Header.Get("ETag"))
		got, err := p.Request(context.Background(), "PATCH", p.path+"/automations/shared", h, string(body))
		switch {
		case err == nil && got.StatusCode == http.StatusConflict:
			continue
		case err != nil || got.StatusCode >= 300:
			t.Errorf("amend: %v %s", err, got.Body)
		}
		return own + "-shared"
	}
}

// What is too much for one event is put down first, and switched in one step.
func TestLargeContentIsRestoredAndCopiedWhole(t *testing.T) {
	t.Parallel()
	const documents = 4900 / slowdown
	p := newHistoryScenario(t, "BADGER_MEMTABLE_MB=16") // the default: one event is one transaction
	empty := p.history("types=workspaces.created")[0]["seq"].(string)
	var archive bytes.Buffer
	files := zip.NewWriter(&archive)
	add := func(name, text string) {
		w, err := files.Create("current/" + name)
		require.NoError(t, err)
		_, err = io.WriteString(w, text)
		require.NoError(t, err)
	}
	add("index.yml", "name: Shop\nslug: shop\n")
	for i := range documents {
		add(fmt.Sprintf("automations/a%04d.yml", i), fmt.Sprintf("slug: a%04d\nname: a%04d\ndo:\n  - emit:\n      event: e%d\n", i, i, i))
	}
	require.NoError(t, files.Close())
	h := p.owner.Clone()
	h.Set("Content-Type", "application/zip")
	imported, err := p.send(t, "/import?timeout=55", h, archive.Bytes())
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, imported.StatusCode, "%.500s", imported.Body)
	full := imported.Header.Get("X-Svc-Seq")

	done := p.back("/restore", nodetest.UndoBody(empty))
	require.Len(t, done["deleted"], documents)
	require.Empty(t, p.getObject("")["automations"])
	done = p.back("/undo", nodetest.UndoBody(p.history("types=workspaces.restored")[0]["seq"].(string)))
	require.Len(t, done["imported"], documents)
	require.Equal(t, fmt.Sprintf("Restored: %d changed, 0 deleted", documents), p.history("types=workspaces.restored")[0]["summary"])
	require.Empty(t, p.Get(t, p.path+"/diff?from=seq:"+full, p.owner).JSON(t)["changes"])
	require.NotContains(t, nodetest.Fields(p.history(""), "type"), "workspaces.staged")

	made := p.Must(t, "POST", p.path+"/versions/current/duplicate", p.owner, "")
	require.Eventually(t, func() bool { // on a busy machine the answer comes before the read model has all of it
		got, err := p.Request(t.Context(), "GET", "/v2/workspaces/"+made["id"].(string), p.owner, "")
		if err != nil || got.StatusCode != http.StatusOK {
			return false
		}
		all, _ := got.JSON(t)["automations"].(map[string]any)
		return len(all) == documents
	}, time.Minute, 100*time.Millisecond)
	entries, _ := p.list("/v2/workspaces/"+made["id"].(string)+"/history", p.owner)
	require.Equal(t, []any{"workspaces.duplicated", "workspaces.created"}, nodetest.Fields(entries, "type"))
	one, err := p.Request(t.Context(), "GET", "/v2/workspaces/"+made["id"].(string)+"/automations/a0042", p.owner, "")
	require.NoError(t, err)
	require.Contains(t, string(one.Body), "e42")
	p.requireRefusal("/undo", nodetest.UndoBody(full), p.owner, 409, "resource_conflict")
}

// send sends bytes that are no JSON.
func (p *historyScenario) send(t *testing.T, path string, h http.Header, body []byte) (nodetest.Answer, error) {
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.Base+p.path+path, bytes.NewReader(body))
	if err != nil {
		return nodetest.Answer{}, err
	}
	req.Header = h
	res, err := p.Client.Do(req)
	if err != nil {
		return nodetest.Answer{}, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return nodetest.Answer{Response: res, Body: got}, err
}
