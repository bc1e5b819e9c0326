package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/domain"
	"svc/http/gateway"
	"svc/projections/livetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2025, 3, 1, 12, 0, 10, 0, time.UTC)

// world is a gateway behind a real server.
type world struct {
	t       *testing.T
	gateway *gateway.Gateway
	server  *httptest.Server
	log     *livetest.Lines
	metrics *prometheus.Registry
}

// start serves opts with a clock at noon, a log to look into and the users of
// fixture unless opts say otherwise.
func start(t *testing.T, opts gateway.Options) *world {
	t.Helper()
	w := &world{t: t, log: &livetest.Lines{}, metrics: prometheus.NewRegistry()}
	opts.Log = slog.New(slog.NewJSONHandler(w.log, nil))
	opts.Metrics = w.metrics
	if opts.Now == nil {
		opts.Now = func() time.Time { return noon }
	}
	if opts.Authenticator == nil {
		opts.Authenticator = fixture{}
	}
	if opts.Authorizer == nil {
		opts.Authorizer = fixture{}
	}
	g, err := gateway.New(opts)
	require.NoError(t, err)
	w.gateway = g
	w.server = httptest.NewServer(g)
	t.Cleanup(func() {
		g.EndStreams()
		w.server.Close()
		require.NoError(t, g.Close(context.Background()))
	})
	return w
}

// serve is start for a table alone.
func serve(t *testing.T, routes ...gateway.Route) *world {
	t.Helper()
	return start(t, gateway.Options{Routes: routes})
}

type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request; headers come in pairs.
func (w *world) do(method, path, body string, headers ...string) answer {
	w.t.Helper()
	return w.send(w.request(method, path, body, headers...))
}

func (w *world) request(method, path, body string, headers ...string) *http.Request {
	w.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, w.server.URL+path, reader)
	require.NoError(w.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	if _, named := r.Header["Authorization"]; r.Header.Get("Idempotency-Key") != "" && !named {
		r.Header.Set("Authorization", "Bearer eve") // keys belong to callers
	}
	if r.Header.Get("Authorization") == "" {
		r.Header.Del("Authorization")
	}
	return r
}

func (w *world) send(r *http.Request) answer {
	w.t.Helper()
	client := *w.server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(r)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// failure is the flat error shape.
type failure struct {
	Error     string         `json:"error"`
	Message   string         `json:"message"`
	Details   map[string]any `json:"details"`
	RequestID string         `json:"requestId"`
}

// requireFailure asserts an error answer and returns it.
func (a answer) requireFailure(t *testing.T, status int, code domain.Code) failure {
	t.Helper()
	var f failure
	require.Equal(t, status, a.status, a.body)
	require.NoError(t, json.Unmarshal([]byte(a.body), &f), a.body)
	require.Equal(t, string(code), f.Error, a.body)
	require.NotEmpty(t, f.Message)
	require.Equal(t, a.header.Get("X-Correlation-Id"), f.RequestID)
	return f
}

// fixture knows a few people and lets them do what their name says.
type fixture struct{}

var people = map[string]gateway.Caller{
	"ann":     {Kind: gateway.KindUser, UserID: "u1", SessionID: "s1", Role: "user"},
	"token":   {Kind: gateway.KindUser, UserID: "u1", SessionID: "at:tok_1"},
	"root":    {Kind: gateway.KindUser, UserID: "u0", SessionID: "s0", Role: "superAdmin", Super: true},
	"scoped":  {Kind: gateway.KindUser, UserID: "u2", SessionID: "s2", Scopes: []string{"events:read"}},
	"halfway": {Kind: gateway.KindUser, UserID: "u3", SessionID: "s3", MFAPending: true},
	"eve":     {Kind: gateway.KindUser, UserID: "u5", SessionID: "s5"},
	"guest":   {Kind: gateway.KindUser, UserID: "u6", SessionID: "s6", Anonymous: true},
	"runtime": {Kind: gateway.KindUser, UserID: "u4", SessionID: "s4", WorkspaceID: "w9", AuthData: `{"a":1}`},
}

// Authenticate implements gateway.Authenticator.
func (fixture) Authenticate(_ context.Context, c gateway.Credentials) (gateway.Caller, error) {
	var caller gateway.Caller
	if token := c.Bearer + c.Cookie; token == "broken" {
		return caller, errors.New("session store is down")
	} else if token != "" {
		known, ok := people[token]
		if !ok {
			return caller, domain.Refuse(domain.CodeInvalidToken, "unknown token")
		}
		caller = known
	}
	if c.APIKey != "" {
		if c.APIKey != "key" {
			return gateway.Caller{}, domain.Refuse(domain.CodeInvalidCredentials, "unknown API key")
		}
		caller.KeyID = "key_1"
		if caller.Kind == gateway.KindNone {
			caller.Kind = gateway.KindAPIKey
		}
	}
	return caller, nil
}

// Authorize implements gateway.Authorizer: everything is allowed but deletion,
// and in the workspace other nothing is.
func (fixture) Authorize(_ context.Context, c gateway.Caller, p gateway.Permission, workspaceID string) (gateway.Grant, error) {
	action := p.(gateway.Action)
	if workspaceID == "other" {
		return gateway.Grant{}, domain.Refuse(domain.CodeWorkspaceDenied, "no right in this workspace")
	}
	grant := gateway.Grant{InWorkspace: c.Kind != gateway.KindNone, WorkspaceID: strings.TrimPrefix(workspaceID, "slug:")}
	if action.Action == "delete" {
		return grant, domain.Refuse(domain.CodePermissionDenied, "not allowed").
			With("action", action.Action).With("subject", action.Subject)
	}
	return grant, nil
}

// get is a public route that answers with a value.
func get(path string, value any) gateway.Route {
	return gateway.Route{Method: "GET", Path: path, Permission: gateway.Public, Handler: returns(value, nil)}
}

// post is a public route that decides by itself.
func post(path string, h gateway.HandlerFunc) gateway.Route {
	return gateway.Route{Method: "POST", Path: path, Permission: gateway.Public, Handler: h}
}

func returns(value any, err error) gateway.HandlerFunc {
	return func(*http.Request) (any, error) { return value, err }
}
