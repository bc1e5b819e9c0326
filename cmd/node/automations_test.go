package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/value"
	"svc/domain/domaintest"
)

// workshop is a service on which automations are tried, each in a workspace of its own.
type workshop struct {
	*service
	owner http.Header

	mu     sync.Mutex
	places []place // that were made
}

func newWorkshop(t *testing.T, env ...string) *workshop {
	t.Helper()
	return openWorkshop(t, identified(t, append([]string{"EGRESS_ALLOW_PRIVATE=yes"}, env...)...))
}

// openWorkshop starts a service. When everything was tried, nothing may tell what its owner
// showed.
func openWorkshop(t *testing.T, s *service) *workshop {
	t.Helper()
	w := &workshop{service: s}
	w.start(t)
	w.owner = w.person(t, "owner")
	t.Cleanup(func() { w.requireNoCredential(t) })
	return w
}

// place makes a workspace of the owner.
func (w *workshop) place(t *testing.T) place {
	t.Helper()
	made := w.must(t, "POST", "/v2/workspaces", w.owner, `{"name":"Workshop"}`)
	id := made["id"].(string)
	return w.made(place{w.service, "/v2/workspaces/" + id, id, w.owner})
}

// made notes that a place was made.
func (w *workshop) made(p place) place {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places = append(w.places, p)
	return p
}

// has saves automations: YAML by slug, as domaintest abbreviates it.
func (p place) has(t *testing.T, automations string) place {
	t.Helper()
	all, ok := domaintest.ParseYAML(t, automations).(*value.Object)
	require.True(t, ok)
	for _, slug := range all.Keys() {
		p.does(t, http.StatusCreated, "POST", p.path+"/automations", value.JSON(domaintest.AutomationOf(slug, all.At(slug)), ""))
	}
	return p
}

// run is what a run left: its answer, and how to find its events.
type run struct {
	answer
	p place
}

// tries runs automation t with a payload, by the test route.
func (p place) tries(t *testing.T, status int, payload string) run {
	t.Helper()
	return run{p.does(t, status, "POST", p.path+"/test/t", `{"payload":`+payload+`}`), p}
}

// calls calls an endpoint.
func (p place) calls(t *testing.T, status int, method, path, body string, headers ...string) run {
	t.Helper()
	return run{p.does(t, status, method, p.path+"/webhooks/"+path, body, headers...), p}
}

// r is the r of the output, as JSON; "absent" when there is none.
func (r run) r(t *testing.T) string {
	t.Helper()
	v, err := value.ParseJSON(string(r.body))
	require.NoError(t, err, "%s", r.body)
	if found := value.At(v, "r"); !value.IsUndefined(found) {
		return value.JSON(found, "")
	}
	return "absent"
}

func (r run) correlation() string { return r.Header.Get("X-Correlation-Id") }

// events are those of the run so far, in order. Types chooses among them.
func (r run) events(t *testing.T, types ...string) []shownEvent {
	t.Helper()
	all, err := r.p.recorded(t.Context(), "source.correlationId="+r.correlation())
	require.NoError(t, err)
	return slices.DeleteFunc(all, func(e shownEvent) bool { return len(types) > 0 && !slices.Contains(types, e.Type) })
}

// recorded are events of the workspace, oldest first.
func (p place) recorded(ctx context.Context, query string) ([]shownEvent, error) {
	got, err := p.s.request(ctx, http.MethodGet, p.path+"/events?sort=asc&limit=1000&appInstanceDepth=-1&"+query, p.me, "")
	if err != nil {
		return nil, err
	}
	var page struct {
		Result struct{ Events []shownEvent }
	}
	if got.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", got.Status, got.body)
	}
	return page.Result.Events, json.Unmarshal(got.body, &page)
}

// awaits waits until events of the run are there, and returns them.
func (r run) awaits(t *testing.T, n int, types ...string) (found []shownEvent) {
	t.Helper()
	require.Eventually(t, func() bool {
		found = r.events(t, types...)
		return len(found) >= n
	}, 20*time.Second, 10*time.Millisecond, "%d of %v", n, types)
	require.Len(t, found, n, "%v", typesOf(found))
	return found
}

// awaits waits until events of a kind are in the workspace, and returns them.
func (p place) awaits(t *testing.T, n int, types, query string) (found []shownEvent) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		found, err = p.recorded(t.Context(), "types="+url.QueryEscape(types)+"&"+query)
		require.NoError(t, err)
		return len(found) >= n
	}, 20*time.Second, 10*time.Millisecond, "%d of %s", n, types)
	require.Len(t, found, n)
	return found
}

// at is a value in the payload of an event, as JSON; "" when there is none.
func (e shownEvent) at(path ...string) string {
	var v any = e.Payload
	for _, key := range path {
		m, _ := v.(map[string]any)
		found, ok := m[key]
		if !ok {
			return ""
		}
		v = found
	}
	text, _ := json.Marshal(v) // JSON it was
	return string(text)
}

// byRun reports whether a run recorded an event, and not who answers requests.
func (e shownEvent) byRun() bool {
	host, _ := e.Source["host"].(map[string]any)
	return host["service"] == "runtime"
}

// failures are the error events that the run itself recorded.
func (r run) failures(t *testing.T) []shownEvent {
	t.Helper()
	return slices.DeleteFunc(r.events(t, "error"), func(e shownEvent) bool { return !e.byRun() })
}

const executed = "runtime.automations.executed"

func TestWhatARunRecords(t *testing.T) {
	t.Parallel()
	p := newWorkshop(t).place(t).has(t, `
hello: {when: {endpoint: true}, do: [{'set global.count[]': 1}, {emit: {event: greeted, payload: {who: '{{body.who}}'}, output: ev}}, {child: {}}],
  output: {hello: '{{body.who}}', n: '{{global.count.length}}', type: '{{ev.type}}'}}
child: []
listen: {when: {events: [greeted]}, do: [], output: {depth: '{{run.depth}}', trigger: '{{run.trigger}}'}}`)
	got := p.calls(t, 200, "POST", "hello", `{"who":"you"}`)
	require.JSONEq(t, `{"hello":"you","n":1,"type":"greeted"}`, string(got.body))
	ended := got.awaits(t, 3, executed)
	require.Equal(t, []string{"runtime.interactions.triggered", "runtime.webhooks.triggered"}, typesOf(got.events(t))[:2])

	byName := map[string]shownEvent{}
	for _, e := range ended {
		byName[e.Payload["slug"].(string)] = e
	}
	hello, child, listen := byName["hello"], byName["child"], byName["listen"]
	require.JSONEq(t, `{"type":"endpoint","value":"hello"}`, hello.at("trigger"))
	require.JSONEq(t, `{"hello":"you","n":1,"type":"greeted"}`, hello.at("output"))
	require.JSONEq(t, `{"who":"you"}`, hello.at("payload", "body"))
	require.Empty(t, hello.at("payload", "rawBody"))
	require.Empty(t, hello.at("payload", "$http"))
	require.Empty(t, hello.at("payload", "headers", "authorization"))
	require.Equal(t, "false", hello.at("break"))
	require.NotEmpty(t, hello.at("startedAt"))
	require.Equal(t, "hello", hello.Source["automationSlug"])
	require.InDelta(t, 1, hello.Source["automationDepth"], 0)
	require.Equal(t, hello.at("executionId"), child.at("parentExecutionId"))
	require.JSONEq(t, `{"type":"automation","value":"hello"}`, child.at("trigger"))
	emitted := got.events(t, "greeted")[0]
	require.JSONEq(t, `{"depth":2,"trigger":{"type":"event","value":"greeted","id":"`+emitted.ID+`"}}`, listen.at("output"))
	require.NotContains(t, emitted.Source, "userId", "emits carry no user")
	require.NotEmpty(t, emitted.Source["sessionId"])
	require.Equal(t, "topic:runtime:emit", emitted.Source["serviceTopic"])
	called := got.events(t, "runtime.webhooks.triggered")[0]
	require.Equal(t, map[string]any{"automationSlug": "hello", "method": "POST", "endpoint": "hello"}, called.Payload)
}

// An error that nobody catches is told once, by what raised it, however many calls it
// goes through, and to whom called.
func TestAnErrorIsToldOnce(t *testing.T) {
	t.Parallel()
	p := newWorkshop(t).place(t).has(t, `
t: {when: {endpoint: true}, do: [{child: {}}]}
child: [{set x: 1}, {try: {do: [{nope: {}}]}}, {grandchild: {}}]
grandchild: [{fetch: {url: '{{x}}'}}]
after: {when: {endpoint: true}, do: []}`)
	for _, got := range []run{p.tries(t, 400, `{}`), p.calls(t, 400, "POST", "t", "")} {
		ended := got.awaits(t, 3, executed)
		require.Equal(t, []string{`"grandchild"`, `"child"`, `"t"`}, []string{ended[0].at("slug"), ended[1].at("slug"), ended[2].at("slug")})
		for _, e := range ended {
			require.Equal(t, `"InvalidInstructionError"`, e.at("error", "error"))
		}
		p.calls(t, 200, "GET", "after", "") // what is recorded late has its time
		told := got.awaits(t, 1, "error")[0]
		require.Equal(t, "grandchild", told.Source["automationSlug"])
		require.InDelta(t, 3, told.Source["automationDepth"], 0)
		require.Equal(t, ended[0].at("executionId"), `"`+told.Source["executionId"].(string)+`"`)
		require.Equal(t, `"do[0].fetch"`, told.at("details", "instruction"))
		require.Equal(t, got.correlation(), got.json(t)["requestId"])
	}
	whole := p.tries(t, 400, `{}`).json(t)["details"].(map[string]any)
	require.Equal(t, "do[0].fetch", whole["instruction"], "tests are told everything")
	short := p.calls(t, 400, "POST", "t", "").json(t)["details"].(map[string]any)
	require.Equal(t, map[string]any{"name": "InvalidInstructionError"}, short)
}
