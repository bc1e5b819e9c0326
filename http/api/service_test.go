package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/commands"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
	"svc/eventstore/jetstream"
	"svc/http/api"
	"svc/http/api/accounts"
	"svc/http/api/apitest"
	"svc/http/api/documents"
	"svc/http/api/system"
	"svc/http/api/workspaces"
	"svc/http/console"
	"svc/http/gateway"
	"svc/http/pages"
	"svc/projections"
	"svc/projections/livetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// internalKey must never be seen in an answer.
const internalKey = "internal-4f1e9c7a6b2d8035-internal"

var (
	quiet = slog.New(slog.DiscardHandler)
	today = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
)

const patience = time.Minute

// testService is the API over a real log, real read models and real commands.
type testService struct {
	t      *testing.T
	url    string
	log    *jetstream.Store
	models *projections.Models
	client *http.Client
	level  slog.Level // the last one set
}

// open builds a testService; each change is made to its parts before they are wired.
func open(t *testing.T, changes ...func(*api.Handlers)) *testService {
	t.Helper()
	return openWithGateway(t, func(*gateway.Options) {}, changes...)
}

// noIndex is a search index of no documents.
func noIndex(t *testing.T, models *projections.Models) *projections.SearchIndex {
	t.Helper()
	index, err := projections.NewSearchIndex(projections.SearchIndexOptions{
		Models: models, Open: func() (*projections.DB, error) { return nil, errors.New("there is nothing to search") },
		Passages: func(context.Context, string) ([]byte, error) { return nil, projections.ErrNoPassages },
	})
	require.NoError(t, err)
	return index
}

// noPages are pages that no request reaches.
func noPages() *pages.Pages {
	return pages.New(pages.Options{PagesHost: func() string { return "" }})
}

// openWithGateway is open with another gateway.
func openWithGateway(t *testing.T, other func(*gateway.Options), changes ...func(*api.Handlers)) *testService {
	t.Helper()
	h := &testService{t: t, client: &http.Client{Transport: &http.Transport{}}}
	h.log, h.models = livetest.Open(t)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: h.log.Log, Log: quiet})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(nil)
	h.url = "http://" + server.Listener.Addr().String()
	transport := &http.Transport{}
	now := func() time.Time { return today }
	docs := &documents.Handlers{ReadModel: h.models, Access: fixedIdentity{}, Now: now}
	handlers := api.Handlers{
		System: &system.Handlers{
			ReadModel: h.models, Version: "1.2.3", Healthy: func() bool { return true }, Ready: func() bool { return true },
			Config:      func() any { return map[string]any{"settings": []any{}} },
			SetLevel:    func(l slog.Level) { h.level = l },
			Metrics:     http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") }),
			InternalURL: strings.Replace(h.url, "http://", "http://me:hunter2@", 1) + "/v2", InternalKey: func() string { return internalKey },
			Transport: transport, ReadModels: h.models, SearchIndex: noIndex(t, h.models), Now: now, Log: quiet,
		},
		Accounts:  &accounts.Handlers{ReadModel: h.models, Now: now},
		Documents: docs,
		Workspaces: &workspaces.Handlers{
			ReadModel: h.models, Access: fixedIdentity{}, Documents: docs, Workspaces: commands.Workspaces{Engine: engine}, Repositories: &repositories.Repositories{}, Now: now,
		},
		Console: console.New(console.Options{}),
		Pages:   noPages(),
	}
	for _, change := range changes {
		change(&handlers)
	}
	opts := gateway.Options{
		Routes: api.Routes(handlers), Authenticator: fixedIdentity{}, Authorizer: fixedIdentity{}, ReadModel: h.models, Known: h.log.Log.Known,
		Idempotency: &answers{records: map[string][]byte{}}, Failures: commands.Failures{Engine: engine, Log: quiet},
		Settings: func() gateway.Settings { return gateway.Settings{InternalKey: internalKey} },
		Now:      func() time.Time { return today }, Host: domain.Host{Service: "api-gateway"},
	}
	other(&opts)
	g, err := gateway.New(opts)
	require.NoError(t, err)
	server.Config.Handler = g
	server.Start()
	t.Cleanup(func() {
		h.client.CloseIdleConnections()
		transport.CloseIdleConnections()
		server.Close()
		require.NoError(t, g.Close(context.WithoutCancel(t.Context())))
	})
	return h
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// fields decodes a JSON object.
func (a answer) fields(t *testing.T) map[string]any {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.body), &fields), a.body)
	return fields
}

// as, key, with and body vary one request.
type option func(*http.Request)

func as(who string) option       { return with("Authorization", "Bearer "+who) }
func key(value string) option    { return with("x-svc-api-key", value) }
func with(name, v string) option { return func(r *http.Request) { r.Header.Add(name, v) } }

func body(text string) option {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Type", "application/json")
	}
}

// do sends a request, whose answer the API document must allow, and must have no secret.
func (h *testService) do(method, path string, options ...option) answer {
	h.t.Helper()
	got := sendRequest(h.t, h.client, method, h.url+path, options)
	head, err := json.Marshal(got.header)
	require.NoError(h.t, err)
	for _, secret := range []string{internalKey, "hunter2"} {
		require.NotContains(h.t, got.body+string(head), secret)
	}
	return got
}

// sendRequest sends a request, and validates the answer against the API document.
func sendRequest(t *testing.T, client *http.Client, method, url string, options []option) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	require.NoError(t, err)
	for _, o := range options {
		o(r)
	}
	res, err := client.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	apitest.Validate(t, res, text)
	return answer{res.StatusCode, res.Header, string(text)}
}

// facts are the events recorded of a workspace.
func (h *testService) facts(id string) []domain.Recorded {
	h.t.Helper()
	events, err := h.log.Log.Load(h.t.Context(), workspace.Stream(id), 0)
	require.NoError(h.t, err)
	return events
}

// fixedIdentity knows four of them by their bearer tokens, and one key. Who may do
// what comes with identity; here alice may do everything, bob may read, carol
// may do nothing.
type fixedIdentity struct{}

func (fixedIdentity) Authenticate(_ context.Context, c gateway.Credentials) (gateway.Caller, error) {
	switch {
	case c.Bearer == "alice" || c.Bearer == "bob" || c.Bearer == "carol":
		return gateway.Caller{Kind: gateway.KindUser, UserID: c.Bearer, SessionID: "s-" + c.Bearer}, nil
	case c.Bearer == "root":
		return gateway.Caller{Kind: gateway.KindUser, UserID: "root", Super: true}, nil
	case c.Bearer == "narrow":
		return gateway.Caller{Kind: gateway.KindUser, UserID: "alice", Scopes: []string{"events:read"}}, nil
	case c.APIKey == "robot":
		return gateway.Caller{Kind: gateway.KindAPIKey, KeyID: "key_1"}, nil
	case c.APIKey != "":
		return gateway.Caller{}, domain.Refuse(domain.CodeInvalidCredentials, "unknown API key")
	}
	return gateway.Caller{}, domain.Refuse(domain.CodeInvalidToken, "unknown token")
}

func (fixedIdentity) Authorize(_ context.Context, c gateway.Caller, p gateway.Permission, id string) (gateway.Grant, error) {
	rights, _, err := fixedIdentity{}.RightsOf(access.Principal{UserID: c.UserID}, id)
	if err != nil {
		return gateway.Grant{}, err
	}
	grant := gateway.Grant{InWorkspace: true, WorkspaceID: id, Rights: rights}
	action := p.(gateway.Action)
	switch {
	case c.UserID == "carol":
		return gateway.Grant{}, domain.Refuse(domain.CodeWorkspaceDenied, "you have no access to this workspace")
	case c.UserID == "bob" && action.Action != "read":
		return grant, domain.Refuse(domain.CodePermissionDenied, "you may not %s this workspace", action.Action).
			With("action", action.Action).With("subject", action.Subject)
	}
	return grant, nil
}

// RightsOf lets bob read and everybody else do everything.
func (fixedIdentity) RightsOf(p access.Principal, id string) (*access.Rights, bool, error) {
	policy, err := access.Compile(id, access.Default(id))
	if err != nil {
		return nil, false, err
	}
	w := &access.Workspace{Policy: policy}
	if p.UserID == "bob" {
		w.Shares = []access.Share{{Target: access.Target{ID: "bob"}, Permissions: access.Permissions{Policies: map[string]bool{"read": true}}}}
		return w.For(p), true, nil
	}
	p.Super = true
	return w.For(p), true, nil
}

func (fixedIdentity) FormerRights(access.Principal, string) (*access.Rights, bool, error) {
	return nil, false, nil
}

func (fixedIdentity) PrincipalOf(id string) (access.Principal, bool, error) {
	return access.Principal{UserID: id}, true, nil
}

func (fixedIdentity) Readable(gateway.Caller, projections.Reader) func(string) (*access.Rights, bool, error) {
	return func(id string) (*access.Rights, bool, error) { return fixedIdentity{}.RightsOf(access.Principal{}, id) }
}

// answers is an IdempotencyStore in memory.
type answers struct {
	mu      sync.Mutex
	records map[string][]byte
}

func (a *answers) Claim(_ context.Context, key string, record []byte, _ time.Duration) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if existing, ok := a.records[key]; ok {
		return existing, nil
	}
	a.records[key] = record
	return nil, nil
}

func (a *answers) Put(_ context.Context, key string, record []byte, _ time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records[key] = record
	return nil
}

func (a *answers) Delete(_ context.Context, key string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.records, key)
	return nil
}
