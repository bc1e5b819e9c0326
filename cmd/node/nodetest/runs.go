package nodetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/domaintest"
	"svc/domain/value"
)

// Publishes makes an app of a place.
func (p Place) Publishes(t *testing.T, slug string) {
	t.Helper()
	p.Does(t, 200, "PATCH", p.Path, `{"description":"An app","photo":"/a.png"}`)
	p.Does(t, http.StatusCreated, "POST", "/v2/apps", fmt.Sprintf(`{"workspaceId":%q,"slug":%q}`, p.ID, slug))
}

// Installs adds an app to a place, with more members of the instance.
func (p Place) Installs(t *testing.T, app, slug, more string) Place {
	t.Helper()
	p.Does(t, http.StatusCreated, "POST", p.Path+"/apps", fmt.Sprintf(`{"appSlug":%q,"slug":%q%s}`, app, slug, more))
	return p
}

// Background calls an endpoint whose answer takes a while, and returns where it comes.
func (p Place) Background(t *testing.T, ctx context.Context, path string) <-chan Run { //nolint:revive // the test is first everywhere
	t.Helper()
	answered := make(chan Run, 1)
	go func() { // ends with the answer, at the latest when the service stops
		got, err := p.Service.Request(ctx, http.MethodPost, p.Path+"/webhooks/"+path, p.Me, "")
		if err == nil {
			answered <- Run{got, p}
		}
		close(answered)
	}()
	return answered
}

// PlaceOf makes a workspace of somebody.
func (w *Workshop) PlaceOf(t *testing.T, who http.Header) Place {
	t.Helper()
	id := w.Must(t, "POST", "/v2/workspaces", who, `{"name":"Theirs"}`)["id"].(string)
	return Place{w.Service, "/v2/workspaces/" + id, id, who}
}

// Anyone calls without a credential.
func (p Place) Anyone() Place { return p.As(http.Header{}) }

// Secure replaces the security document.
func (p Place) Secure(t *testing.T, authorizations string) {
	t.Helper()
	p.Does(t, 200, "PUT", p.Path+"/security", `{"authorizations":`+authorizations+`}`)
}

// Workshop is a service on which automations are tried, each in a workspace of its own.
type Workshop struct {
	*Service
	Owner http.Header

	mu     sync.Mutex
	places []Place // that were made
}

// NewWorkshop starts a service whose automations may call this machine.
func NewWorkshop(t *testing.T, env ...string) *Workshop {
	t.Helper()
	return OpenWorkshop(t, NewIdentified(t, append([]string{"EGRESS_ALLOW_PRIVATE=yes"}, env...)...))
}

// OpenWorkshop starts a service. When everything was tried, nothing may tell what its owner
// showed.
func OpenWorkshop(t *testing.T, s *Service) *Workshop {
	t.Helper()
	w := &Workshop{Service: s}
	w.Start(t)
	w.Owner = w.Person(t, "owner")
	t.Cleanup(func() { w.RequireNoCredential(t) })
	return w
}

// Place makes a workspace of the owner.
func (w *Workshop) Place(t *testing.T) Place {
	t.Helper()
	made := w.Must(t, "POST", "/v2/workspaces", w.Owner, `{"name":"Workshop"}`)
	id := made["id"].(string)
	return w.Made(Place{w.Service, "/v2/workspaces/" + id, id, w.Owner})
}

// Made notes that a place was made.
func (w *Workshop) Made(p Place) Place {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places = append(w.places, p)
	return p
}

// Has saves automations: YAML by slug, as domaintest abbreviates it.
func (p Place) Has(t *testing.T, automations string) Place {
	t.Helper()
	all, ok := domaintest.ParseYAML(t, automations).(*value.Object)
	require.True(t, ok)
	for _, slug := range all.Keys() {
		p.Does(t, http.StatusCreated, "POST", p.Path+"/automations", value.JSON(domaintest.AutomationOf(slug, all.At(slug)), ""))
	}
	return p
}

// Run is what a run left: its answer, and how to find its events.
type Run struct {
	Answer
	Place Place
}

// Tries runs automation t with a payload, by the test route.
func (p Place) Tries(t *testing.T, status int, payload string) Run {
	t.Helper()
	return Run{p.Does(t, status, "POST", p.Path+"/test/t", `{"payload":`+payload+`}`), p}
}

// Calls calls an endpoint.
func (p Place) Calls(t *testing.T, status int, method, path, body string, headers ...string) Run {
	t.Helper()
	return Run{p.Does(t, status, method, p.Path+"/webhooks/"+path, body, headers...), p}
}

// R is the r of the output, as JSON; "absent" when there is none.
func (r Run) R(t *testing.T) string {
	t.Helper()
	v, err := value.ParseJSON(string(r.Body))
	require.NoError(t, err, "%s", r.Body)
	if found := value.At(v, "r"); !value.IsUndefined(found) {
		return value.JSON(found, "")
	}
	return "absent"
}

// Correlation is the id of the run.
func (r Run) Correlation() string { return r.Header.Get("X-Correlation-Id") }

// Events are those of the run so far, in order. Types chooses among them.
func (r Run) Events(t *testing.T, types ...string) []ShownEvent {
	t.Helper()
	all, err := r.recorded(t.Context(), types)
	require.NoError(t, err)
	return all
}

func (r Run) recorded(ctx context.Context, types []string) ([]ShownEvent, error) {
	all, err := r.Place.Recorded(ctx, "source.correlationId="+r.Correlation())
	return slices.DeleteFunc(all, func(e ShownEvent) bool { return len(types) > 0 && !slices.Contains(types, e.Type) }), err
}

// Recorded are events of the workspace, oldest first.
func (p Place) Recorded(ctx context.Context, query string) ([]ShownEvent, error) {
	got, err := p.Service.Request(ctx, http.MethodGet, p.Path+"/events?sort=asc&limit=1000&appInstanceDepth=-1&"+query, p.Me, "")
	if err != nil {
		return nil, err
	}
	var page struct {
		Result struct{ Events []ShownEvent }
	}
	if got.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", got.Status, got.Body)
	}
	return page.Result.Events, json.Unmarshal(got.Body, &page)
}

// Awaits waits until events of the run are there, and returns them.
func (r Run) Awaits(t *testing.T, n int, types ...string) (found []ShownEvent) {
	t.Helper()
	return awaitEvents(t, n, fmt.Sprint(types), func() ([]ShownEvent, error) { return r.recorded(t.Context(), types) })
}

// awaitEvents waits until so many events are found. A node that is late answers with an
// error meanwhile.
func awaitEvents(t *testing.T, n int, what string, find func() ([]ShownEvent, error)) (found []ShownEvent) {
	t.Helper()
	var err error
	enough := func() bool {
		found, err = find()
		return err == nil && len(found) >= n
	}
	for until := time.Now().Add(2 * time.Minute); !enough() && time.Now().Before(until); {
		select {
		case <-t.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	require.NoError(t, err, "%d of %s", n, what)
	require.Len(t, found, n, "%s: %v", what, TypesOf(found))
	return found
}

// Awaits waits until events of a kind are in the workspace, and returns them.
func (p Place) Awaits(t *testing.T, n int, types, query string) (found []ShownEvent) {
	t.Helper()
	return awaitEvents(t, n, types+" "+query, func() ([]ShownEvent, error) {
		return p.Recorded(t.Context(), "types="+url.QueryEscape(types)+"&"+query)
	})
}

// At is a value in the payload of an event, as JSON; "" when there is none.
func (e ShownEvent) At(path ...string) string {
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

// ByRun reports whether a run recorded an event, and not who answers requests.
func (e ShownEvent) ByRun() bool {
	host, _ := e.Source["host"].(map[string]any)
	return host["service"] == "runtime"
}

// Failures are the error events that the run itself recorded.
func (r Run) Failures(t *testing.T) []ShownEvent {
	t.Helper()
	return slices.DeleteFunc(r.Events(t, "error"), func(e ShownEvent) bool { return !e.ByRun() })
}

// Executed is the type of the event that an execution ends with.
const Executed = "runtime.automations.executed"

// Restarts stops the service, lets something happen that starts nothing, and starts it again.
func (w *Workshop) Restarts(t *testing.T, meanwhile func()) {
	t.Helper()
	w.Stop(t)
	if meanwhile != nil {
		all := w.Env
		w.Env = append(slices.Clone(all), "ROLES=webhooks")
		w.Start(t)
		meanwhile()
		w.Stop(t)
		w.Env = all
	}
	w.Start(t)
}

// Names of errors as their events have them, as JSON.
const (
	Interrupted = `"ExecutionInterruptedError"`
	Cancelled   = `"ExecutionCancelledError"`
)

// AwaitsTrees waits until trees of a workspace have begun so often.
func (p Place) AwaitsTrees(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return CountOf(p.Service.TypesOf(t, p.ID), "runtime.trees.started") >= n }, time.Minute, 20*time.Millisecond)
}

// Replay is what replaying a run came to.
type Replay struct {
	CorrelationID, Document, Status string
	Executions                      []struct{ ExecutionID, Slug, Status, Output string }
	Differences                     []struct {
		ExecutionID, Instruction, Kind string
		Iteration                      []int
		Expected, Actual               json.RawMessage
	}
}

// Replays replays a run.
func (r Run) Replays(t *testing.T, body string) (got Replay) {
	t.Helper()
	a := r.Place.Does(t, http.StatusOK, "POST", r.Place.Path+"/runs/"+r.Correlation()+"/replay", body)
	require.NoError(t, json.Unmarshal(a.Body, &got))
	require.Equal(t, r.Correlation(), got.CorrelationID)
	return got
}

// Ended waits until a run is over for the read models.
func (r Run) Ended(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, err := r.Place.Service.Request(t.Context(), http.MethodGet, r.Place.Path+"/runs/"+r.Correlation(), r.Place.Me, "")
		return err == nil && got.StatusCode == http.StatusOK && !strings.Contains(string(got.Body), `"status":"running"`)
	}, time.Minute, 10*time.Millisecond)
}

// Records runs automation t with record=true.
func (p Place) Records(t *testing.T, status int, payload string) Run {
	t.Helper()
	r := Run{p.Does(t, status, "POST", p.Path+"/test/t?record=true", `{"payload":`+payload+`}`), p}
	r.Ended(t)
	return r
}

// Runs lists runs: their ids, and how many there are.
func (p Place) Runs(t *testing.T, query string) (ids []string, total string) {
	t.Helper()
	got := p.Does(t, http.StatusOK, "GET", p.Path+"/runs?"+query, "")
	var list []struct{ CorrelationID string }
	require.NoError(t, json.Unmarshal(got.Body, &list), "%s", got.Body)
	for _, run := range list {
		ids = append(ids, run.CorrelationID)
	}
	return ids, got.Header.Get("X-Total-Count")
}

// RepeatText writes a text n times, with commas between.
func RepeatText(n int, event string) string {
	return strings.TrimSuffix(strings.Repeat(event+",", n), ",")
}

// TypesOf lists the types of what happened in a workspace.
func (s *Service) TypesOf(t *testing.T, workspaceID string) (types []string) {
	t.Helper()
	for _, ev := range s.ActivityOf(t, workspaceID) {
		types = append(types, ev.Data.EventType())
	}
	return types
}

// CountOf counts a type in a list of types.
func CountOf(types []string, wanted string) (n int) {
	for _, name := range types {
		if name == wanted {
			n++
		}
	}
	return n
}
