//go:build bench

package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/llm/fakemodel"
)

// Aims of answers: how much longer they take than what they are made of, in milliseconds, at the 95th percentile.
const (
	aimAskMS   = 25
	aimAgentMS = 20
)

// answering is a service with a model server that answers at once.
type answering struct {
	api
	service   *server
	fake      *fakemodel.Server
	models    *httptest.Server
	workspace string
}

func newAnswering(t *testing.T) *answering {
	t.Helper()
	fake := fakemodel.New()
	models := httptest.NewServer(fake)
	t.Cleanup(models.Close)
	port := freePort(t)
	service := launch(t, command(t, "serve", append(settingsOf(t.TempDir(), port),
		"LLM_BASE_URL="+models.URL+"/v1", "LLM_API_KEY="+fakemodel.Key, "LLM_MODEL="+fakemodel.ChatModel)...), port)
	service.awaitReady(t, "/readyz")
	a := &answering{api: api{fmt.Sprintf("http://127.0.0.1:%d", port), &http.Client{Timeout: time.Minute}}, service: service, fake: fake, models: models}
	a.workspace = "/v2/workspaces/" + a.must(t, "POST", "/v2/workspaces", `{"name":"W"}`, http.StatusCreated)
	return a
}

// time returns how long a request of the service takes.
func (a *answering) time(t *testing.T, path, body string) time.Duration {
	t.Helper()
	start := time.Now()
	a.must(t, "POST", path, body, http.StatusOK)
	return time.Since(start)
}

// timeModel returns how long a request of the model server takes, straight to it.
func (a *answering) timeModel(t *testing.T, body []byte) time.Duration {
	t.Helper()
	start := time.Now()
	req, err := http.NewRequest(http.MethodPost, a.models.URL+"/v1/chat/completions", bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+fakemodel.Key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return time.Since(start)
}

// callsSince returns the requests that the model server got after the first n.
func (a *answering) callsSince(t *testing.T, n int) []fakemodel.Call {
	t.Helper()
	calls := a.fake.Calls()[n:]
	require.NotEmpty(t, calls)
	return calls
}

// stream asks a question and returns when the first piece of the answer came, and when all of it.
func (a *answering) stream(t *testing.T, path, body string) (first, all time.Duration) {
	t.Helper()
	start := time.Now()
	req, err := http.NewRequest(http.MethodPost, a.base+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer tester")
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := a.client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	done := false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if first == 0 && lines.Text() == "event: delta" {
			first = time.Since(start)
		}
		done = done || lines.Text() == "event: done"
	}
	require.True(t, done, "the answer is complete")
	return cmp.Or(first, time.Since(start)), time.Since(start)
}

// benchAsk asks questions of a base, beside the search alone and the same request straight to the model server.
func benchAsk(t *testing.T, _ *history) {
	others := watchOthers(t)
	a, c := newAnswering(t), newCorpus(scaled(2000))
	base := a.workspace + "/knowledgeBases/faq"
	a.must(t, "POST", a.workspace+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`, http.StatusCreated)
	for _, d := range c.documents {
		var text strings.Builder
		for _, chunk := range d.Chunks {
			text.WriteString(chunk.Text + "\n\n")
		}
		body, err := json.Marshal(map[string]string{"name": d.ID, "text": text.String()})
		require.NoError(t, err)
		a.must(t, "POST", base+"/documents", string(body), http.StatusCreated)
	}
	a.service.awaitIdle(t)
	var first, whole, control series
	for range runs {
		var f, w, o sample
		before := len(a.fake.Calls())
		collectGarbage()
		cpu := cpuOf(t, a.service.Process.Pid)
		for _, words := range c.queries {
			question := strings.Join(words, " ")
			one, all := a.stream(t, base+"/ask", fmt.Sprintf(`{"question":%q}`, question))
			f.latency, w.latency = append(f.latency, one), append(w.latency, all)
			f.count, w.count, f.took, w.took = f.count+1, w.count+1, f.took+one, w.took+all
		}
		w.cpu = cpuOf(t, a.service.Process.Pid) - cpu
		calls := a.callsSince(t, before) // none for a question that nothing fits
		for i, words := range c.queries {
			apart := a.time(t, base+"/search", fmt.Sprintf(`{"query":%q}`, strings.Join(words, " "))) + a.timeModel(t, calls[i%len(calls)].Body)
			o.latency, o.count, o.took = append(o.latency, apart), o.count+1, o.took+apart
		}
		first, whole, control = append(first, f), append(whole, w), append(control, o)
	}
	out := line{
		"runs": runs, "others_cores": others(), "seed": searchSeed, "chunks": len(c.documents) * chunksEach, "questions": len(c.queries),
		"control": "the search alone, and the same request straight to the model server",
		"aim_ms":  aimAskMS, "p95_ms_more_first": more(first, control), "p95_ms_more": more(whole, control), "ok": more(whole, control) <= aimAskMS,
	}
	first.describe(out, "first")
	whole.describe(out, "ask")
	control.describe(out, "control")
	a.service.stop(t)
	out.print(t, "ask")
}

// more returns how much longer a side takes than its control, at the 95th percentile, in milliseconds.
func more(ours, control series) float64 {
	p95 := func(s sample) float64 { return percentile(s.latency, 95) }
	return ours.of(p95) - control.of(p95)
}

// benchAgent sends an agent messages that it answers with one call of a function, beside one run of that automation and two
// requests of the model server.
func benchAgent(t *testing.T, _ *history) {
	others := watchOthers(t)
	a := newAnswering(t)
	a.must(t, "POST", a.workspace+"/automations", `{"slug":"refund","name":"Refund","when":{"endpoint":"refund"},"arguments":{"id":{"type":"number"}},"do":[],"output":{"paid":"yes"}}`, http.StatusCreated)
	a.must(t, "POST", a.workspace+"/agents", `{"name":"Helper","instructions":"You help.","tools":[{"automation":"refund"}]}`, http.StatusCreated)
	const message = `{"text":"call:refund {\"id\":1}"}`
	messages := scaled(200)
	var ours, control series
	for range runs {
		var s, o sample
		before := len(a.fake.Calls())
		collectGarbage()
		cpu := cpuOf(t, a.service.Process.Pid)
		for range messages {
			took := a.time(t, a.workspace+"/agents/helper/messages", message)
			s.latency, s.count, s.took = append(s.latency, took), s.count+1, s.took+took
		}
		s.cpu = cpuOf(t, a.service.Process.Pid) - cpu
		calls := a.callsSince(t, before)
		for range messages {
			apart := a.time(t, a.workspace+"/webhooks/refund", `{}`) + a.timeModel(t, calls[0].Body) + a.timeModel(t, calls[1].Body)
			o.latency, o.count, o.took = append(o.latency, apart), o.count+1, o.took+apart
		}
		ours, control = append(ours, s), append(control, o)
	}
	out := line{
		"runs": runs, "others_cores": others(), "messages": messages, "control": "one run of the automation, and two requests straight to the model server",
		"aim_ms": aimAgentMS, "p95_ms_more": more(ours, control), "ok": more(ours, control) <= aimAgentMS,
	}
	ours.describe(out, "agent")
	control.describe(out, "control")
	a.service.stop(t)
	out.print(t, "agent")
}
