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

// PublishApp publishes the workspace as an app.
func (p Workspace) PublishApp(t *testing.T, slug string) {
	t.Helper()
	p.Do(t, 200, "PATCH", p.Path, `{"description":"An app","photo":"/a.png"}`)
	p.Do(t, http.StatusCreated, "POST", "/v2/apps", fmt.Sprintf(`{"workspaceId":%q,"slug":%q}`, p.ID, slug))
}

// InstallApp installs an app in the workspace; more has further members of the instance.
func (p Workspace) InstallApp(t *testing.T, app, slug, more string) Workspace {
	t.Helper()
	p.Do(t, http.StatusCreated, "POST", p.Path+"/apps", fmt.Sprintf(`{"appSlug":%q,"slug":%q%s}`, app, slug, more))
	return p
}

// CallInBackground calls an endpoint, and returns a channel for the run.
func (p Workspace) CallInBackground(t *testing.T, ctx context.Context, path string) <-chan Run { //nolint:revive // the test is first everywhere
	t.Helper()
	answered := make(chan Run, 1)
	go func() { // ends with the answer, at the latest when the service stops
		got, err := p.Service.Request(ctx, http.MethodPost, p.Path+"/webhooks/"+path, p.Auth, "")
		if err == nil {
			answered <- Run{got, p}
		}
		close(answered)
	}()
	return answered
}

// NewWorkspaceOf creates a workspace of a user.
func (w *OwnedService) NewWorkspaceOf(t *testing.T, who http.Header) Workspace {
	t.Helper()
	id := w.Must(t, "POST", "/v2/workspaces", who, `{"name":"Theirs"}`)["id"].(string)
	return Workspace{w.Service, "/v2/workspaces/" + id, id, who}
}

// Anonymous is the same workspace without a credential.
func (p Workspace) Anonymous() Workspace { return p.As(http.Header{}) }

// SetSecurity replaces the security document.
func (p Workspace) SetSecurity(t *testing.T, authorizations string) {
	t.Helper()
	p.Do(t, 200, "PUT", p.Path+"/security", `{"authorizations":`+authorizations+`}`)
}

// OwnedService is a service with a user who owns the workspaces of a scenario.
type OwnedService struct {
	*Service
	Owner http.Header

	mu         sync.Mutex
	workspaces []Workspace // for the checks at the end of the test
}

// NewOwnedService starts a service whose automations may call this machine.
func NewOwnedService(t *testing.T, env ...string) *OwnedService {
	t.Helper()
	return StartOwnedService(t, NewServiceWithAccounts(t, append([]string{"EGRESS_ALLOW_PRIVATE=yes"}, env...)...))
}

// StartOwnedService starts a service. At the end of the test no event and no log may contain the
// credentials of the owner.
func StartOwnedService(t *testing.T, s *Service) *OwnedService {
	t.Helper()
	w := &OwnedService{Service: s}
	w.Start(t)
	w.Owner = w.NewUser(t, "owner")
	t.Cleanup(func() { w.RequireNoCredential(t) })
	return w
}

// NewWorkspace creates a workspace of the owner.
func (w *OwnedService) NewWorkspace(t *testing.T) Workspace {
	t.Helper()
	made := w.Must(t, "POST", "/v2/workspaces", w.Owner, `{"name":"Workshop"}`)
	id := made["id"].(string)
	return w.Track(Workspace{w.Service, "/v2/workspaces/" + id, id, w.Owner})
}

// Track registers a workspace for the checks at the end of the test.
func (w *OwnedService) Track(p Workspace) Workspace {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.workspaces = append(w.workspaces, p)
	return p
}

// AddAutomations saves automations: YAML by slug, as domaintest abbreviates it.
func (p Workspace) AddAutomations(t *testing.T, automations string) Workspace {
	t.Helper()
	all, ok := domaintest.ParseYAML(t, automations).(*value.Object)
	require.True(t, ok)
	for _, slug := range all.Keys() {
		p.Do(t, http.StatusCreated, "POST", p.Path+"/automations", value.JSON(domaintest.AutomationOf(slug, all.At(slug)), ""))
	}
	return p
}

// Run is the answer of a run, and the workspace that has its events.
type Run struct {
	Answer
	Workspace Workspace
}

// RunTest runs automation t with a payload, by the test route.
func (p Workspace) RunTest(t *testing.T, status int, payload string) Run {
	t.Helper()
	return Run{p.Do(t, status, "POST", p.Path+"/test/t", `{"payload":`+payload+`}`), p}
}

// CallEndpoint calls an endpoint.
func (p Workspace) CallEndpoint(t *testing.T, status int, method, path, body string, headers ...string) Run {
	t.Helper()
	return Run{p.Do(t, status, method, p.Path+"/webhooks/"+path, body, headers...), p}
}

// Result is the r of the output, as JSON; "absent" when there is none.
func (r Run) Result(t *testing.T) string {
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
func (r Run) Events(t *testing.T, types ...string) []Event {
	t.Helper()
	all, err := r.findEvents(t.Context(), types)
	require.NoError(t, err)
	return all
}

func (r Run) findEvents(ctx context.Context, types []string) ([]Event, error) {
	all, err := r.Workspace.FindEvents(ctx, "source.correlationId="+r.Correlation())
	return slices.DeleteFunc(all, func(e Event) bool { return len(types) > 0 && !slices.Contains(types, e.Type) }), err
}

// FindEvents returns events of the workspace, oldest first.
func (p Workspace) FindEvents(ctx context.Context, query string) ([]Event, error) {
	got, err := p.Service.Request(ctx, http.MethodGet, p.Path+"/events?sort=asc&limit=1000&appInstanceDepth=-1&"+query, p.Auth, "")
	if err != nil {
		return nil, err
	}
	var page struct {
		Result struct{ Events []Event }
	}
	if got.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", got.Status, got.Body)
	}
	return page.Result.Events, json.Unmarshal(got.Body, &page)
}

// AwaitEvents waits until events of the run are there, and returns them.
func (r Run) AwaitEvents(t *testing.T, n int, types ...string) (found []Event) {
	t.Helper()
	return awaitEvents(t, n, fmt.Sprint(types), func() ([]Event, error) { return r.findEvents(t.Context(), types) })
}

// awaitEvents waits until so many events are found. A node that is late answers with an
// error meanwhile.
func awaitEvents(t *testing.T, n int, what string, find func() ([]Event, error)) (found []Event) {
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

// AwaitEvents waits until events of a kind are in the workspace, and returns them.
func (p Workspace) AwaitEvents(t *testing.T, n int, types, query string) (found []Event) {
	t.Helper()
	return awaitEvents(t, n, types+" "+query, func() ([]Event, error) {
		return p.FindEvents(t.Context(), "types="+url.QueryEscape(types)+"&"+query)
	})
}

// At is a value in the payload of an event, as JSON; "" when there is none.
func (e Event) At(path ...string) string {
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

// IsByRun reports whether a run recorded an event, and not the gateway.
func (e Event) IsByRun() bool {
	host, _ := e.Source["host"].(map[string]any)
	return host["service"] == "runtime"
}

// Failures are the error events that the run itself recorded.
func (r Run) Failures(t *testing.T) []Event {
	t.Helper()
	return slices.DeleteFunc(r.Events(t, "error"), func(e Event) bool { return !e.IsByRun() })
}

// Executed is the type of the event that an execution ends with.
const Executed = "runtime.automations.executed"

// Restart stops the service, lets something happen that starts nothing, and starts it again.
func (w *OwnedService) Restart(t *testing.T, meanwhile func()) {
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

// AwaitTrees waits until n starts of trees are recorded in the workspace.
func (p Workspace) AwaitTrees(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return CountOf(p.Service.ActivityTypes(t, p.ID), "runtime.trees.started") >= n }, time.Minute, 20*time.Millisecond)
}

// Replay is the result of replaying a run.
type Replay struct {
	CorrelationID, Document, Status string
	Executions                      []struct{ ExecutionID, Slug, Status, Output string }
	Differences                     []struct {
		ExecutionID, Instruction, Kind string
		Iteration                      []int
		Expected, Actual               json.RawMessage
	}
}

// Replay replays a run.
func (r Run) Replay(t *testing.T, body string) (got Replay) {
	t.Helper()
	a := r.Workspace.Do(t, http.StatusOK, "POST", r.Workspace.Path+"/runs/"+r.Correlation()+"/replay", body)
	require.NoError(t, json.Unmarshal(a.Body, &got))
	require.Equal(t, r.Correlation(), got.CorrelationID)
	return got
}

// AwaitEnd waits until a run has ended in the read models.
func (r Run) AwaitEnd(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, err := r.Workspace.Service.Request(t.Context(), http.MethodGet, r.Workspace.Path+"/runs/"+r.Correlation(), r.Workspace.Auth, "")
		return err == nil && got.StatusCode == http.StatusOK && !strings.Contains(string(got.Body), `"status":"running"`)
	}, time.Minute, 10*time.Millisecond)
}

// RunRecorded runs automation t with record=true.
func (p Workspace) RunRecorded(t *testing.T, status int, payload string) Run {
	t.Helper()
	r := Run{p.Do(t, status, "POST", p.Path+"/test/t?record=true", `{"payload":`+payload+`}`), p}
	r.AwaitEnd(t)
	return r
}

// ListRuns lists runs: their ids, and how many there are.
func (p Workspace) ListRuns(t *testing.T, query string) (ids []string, total string) {
	t.Helper()
	got := p.Do(t, http.StatusOK, "GET", p.Path+"/runs?"+query, "")
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

// ActivityTypes lists the types of the activity events of a workspace.
func (s *Service) ActivityTypes(t *testing.T, workspaceID string) (types []string) {
	t.Helper()
	for _, ev := range s.Activity(t, workspaceID) {
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
