package gateway_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/http/gateway"
)

// revocableFixture is a fixture that can lose a token, a right, and its store.
type revocableFixture struct {
	fixture
	mu   sync.Mutex
	gone map[string]error // by token, or by what somebody may do
}

func (f *revocableFixture) revoke(what string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone[what] = err
}

func (f *revocableFixture) revoked(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gone[what]
}

// Authenticate implements gateway.Authenticator.
func (f *revocableFixture) Authenticate(ctx context.Context, c gateway.Credentials) (gateway.Caller, error) {
	if err := f.revoked(c.Bearer + c.Cookie + c.APIKey); err != nil {
		return gateway.Caller{}, err
	}
	return f.fixture.Authenticate(ctx, c)
}

// Authorize implements gateway.Authorizer: strangers may read nothing.
func (f *revocableFixture) Authorize(ctx context.Context, c gateway.Caller, p gateway.Permission, workspaceID string) (gateway.Grant, error) {
	if err := f.revoked(p.String()); err != nil {
		return gateway.Grant{InWorkspace: true}, err
	}
	if c.Kind == gateway.KindNone && workspaceID != "open" {
		return gateway.Grant{}, domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
	}
	return f.fixture.Authorize(ctx, c, p, workspaceID)
}

// held is a connection whose handler waits for the test.
type held struct {
	request *http.Request
	done    chan struct{}
	answer  chan answer
}

// live serves streams of a workspace, each of which is handed over to the test.
func live(t *testing.T, rt gateway.Route) (w *world, f *revocableFixture, open func(path string, headers ...string) held) {
	f = &revocableFixture{gone: map[string]error{}}
	came := make(chan held)
	rt.Method, rt.Path, rt.Streaming = "GET", "/workspaces/{workspaceId}/live", true
	rt.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		h := held{request: r, done: make(chan struct{})}
		came <- h
		<-h.done
	})
	w = start(t, gateway.Options{Routes: []gateway.Route{rt}, Authenticator: f, Authorizer: f, Settings: func() gateway.Settings {
		return gateway.Settings{InternalKey: internalKey}
	}})
	open = func(path string, headers ...string) held {
		t.Helper()
		answered := make(chan answer, 1)
		r := w.request("GET", "/workspaces/"+path+"/live", "", headers...)
		go func() { answered <- w.send(r) }()
		select {
		case h := <-came:
			t.Cleanup(func() { close(h.done) })
			h.answer = answered
			return h
		case a := <-answered:
			t.Fatalf("the stream was refused: %d %s", a.status, a.body)
			return held{}
		}
	}
	return w, f, open
}

var readsEvents = gateway.Action{Action: "read", Subject: "events", Anyone: true}

func TestAStreamAsksAgainWhoItsReaderIs(t *testing.T) {
	t.Parallel()
	_, f, open := live(t, gateway.Route{Permission: readsEvents})
	h := open("w1", "Authorization", "Bearer ann", "X-Svc-Api-Key", "key")
	require.Empty(t, h.request.Header.Get("Authorization"), "the credential itself goes no further than the gateway")

	caller, grant, err := gateway.Recheck(h.request)
	require.NoError(t, err)
	require.Equal(t, gateway.CallerFrom(h.request.Context()), caller)
	require.Equal(t, "key_1", caller.KeyID)
	require.Equal(t, "w1", grant.WorkspaceID)

	for name, refusal := range map[string]error{
		"annkey":      domain.Refuse(domain.CodeInvalidToken, "the session has ended"),
		"read events": domain.Refuse(domain.CodePermissionDenied, "not any more"),
	} {
		f.revoke(name, refusal)
		_, grant, err = gateway.Recheck(h.request)
		require.Equal(t, refusal, err, name)
		require.Zero(t, grant)
		f.revoke(name, nil)
	}
	f.revoke("annkey", context.DeadlineExceeded)
	_, _, err = gateway.Recheck(h.request)
	require.ErrorIs(t, err, context.DeadlineExceeded, "what cannot be found out is no yes")
}

// A cookie that held at first is no old cookie that a browser forgot: who came by it does
// not become nobody.
func TestACookieThatFadesEndsItsStream(t *testing.T) {
	t.Parallel()
	_, f, open := live(t, gateway.Route{Permission: readsEvents})
	h := open("open", "Cookie", "access-token=ann")
	caller, _, err := gateway.Recheck(h.request)
	require.NoError(t, err)
	require.True(t, caller.ByCookie)
	f.revoke("ann", domain.Refuse(domain.CodeInvalidToken, "the session has ended"))
	_, _, err = gateway.Recheck(h.request)
	require.Equal(t, domain.CodeInvalidToken, domain.CodeOf(err))

	old := open("open", "Cookie", "access-token=nope")
	caller, _, err = gateway.Recheck(old.request)
	require.NoError(t, err, "and one that never held is still ignored")
	require.Equal(t, gateway.KindNone, caller.Kind)
}

func TestWhoComesLateIsAskedForTheScopeAndTheSecondFactor(t *testing.T) {
	t.Parallel()
	closed := gateway.Action{Action: "read", Subject: "events"}
	_, _, open := live(t, gateway.Route{Permission: closed, Scope: "files:read", LateAuth: true})
	h := open("w1")
	for token, code := range map[string]domain.Code{
		"scoped": domain.CodeInsufficientScope, "halfway": domain.CodeInvalidCredentials, "ann": domain.CodeNone,
	} {
		_, err := gateway.Introduce(h.request, gateway.Credentials{Bearer: token})
		require.Equal(t, code, domain.CodeOf(err), token)
	}
}

func TestACredentialMayComeLate(t *testing.T) {
	t.Parallel()
	w, f, open := live(t, gateway.Route{Permission: readsEvents, LateAuth: true})
	h := open("slug:w1")
	require.Nil(t, gateway.GrantFrom(h.request.Context()).Rights)
	require.Empty(t, gateway.GrantFrom(h.request.Context()).WorkspaceID, "nothing was granted yet")

	for _, test := range []struct {
		shown gateway.Credentials
		code  domain.Code
	}{
		{gateway.Credentials{}, domain.CodeMissingToken},
		{gateway.Credentials{Bearer: "nope"}, domain.CodeInvalidToken},
		{gateway.Credentials{APIKey: "nope"}, domain.CodeInvalidCredentials},
		{gateway.Credentials{APIKey: internalKey}, domain.CodePermissionDenied},
		{gateway.Credentials{Bearer: "halfway"}, domain.CodeInvalidCredentials},
		{gateway.Credentials{Bearer: "broken"}, domain.CodeInternal},
	} {
		_, err := gateway.Introduce(h.request, test.shown)
		require.Equal(t, test.code, domain.CodeOf(err), "%v", err)
	}

	known, err := gateway.Introduce(h.request, gateway.Credentials{Bearer: "ann"})
	require.NoError(t, err)
	require.Equal(t, "u1", gateway.CallerFrom(known.Context()).UserID)
	require.Equal(t, "w1", gateway.GrantFrom(known.Context()).WorkspaceID)
	require.Equal(t, "w1", gateway.Var(known, "workspaceId")[len("slug:"):])
	require.Equal(t, "u1", known.Header.Get("X-Svc-User-Id"))
	require.Equal(t, gateway.CorrelationID(h.request.Context()), gateway.CorrelationID(known.Context()))
	meta := commands.RequestFrom(known.Context()).Meta
	require.Equal(t, []string{"u1", "s1", gateway.CorrelationID(known.Context())}, []string{meta.UserID, meta.SessionID, meta.CorrelationID})
	require.Empty(t, gateway.CallerFrom(h.request.Context()).UserID, "the request that came is as it was")
	require.Empty(t, h.request.Header.Get("X-Svc-User-Id"))

	caller, _, err := gateway.Recheck(known)
	require.NoError(t, err)
	require.Equal(t, "u1", caller.UserID)
	f.revoke("ann", domain.Refuse(domain.CodeTokenExpired, "over"))
	_, _, err = gateway.Recheck(known)
	require.Equal(t, domain.CodeTokenExpired, domain.CodeOf(err))
	require.NotContains(t, w.log.String(), "ann", "a credential is not logged")
}

// Waiting for a credential opens nothing to those who have shown one that does not do,
// and nothing is taken from those who need none.
func TestOnlyWhoShowsNothingIsWaitedFor(t *testing.T) {
	t.Parallel()
	w, f, open := live(t, gateway.Route{Permission: readsEvents, LateAuth: true})
	w.do("GET", "/workspaces/w1/live", "", "Authorization", "Bearer nope").requireFailure(t, 401, domain.CodeInvalidToken)
	w.do("GET", "/workspaces/other/live", "", "Authorization", "Bearer ann").requireFailure(t, 403, domain.CodeWorkspaceDenied)
	f.revoke("read events", domain.Refuse(domain.CodePermissionDenied, "no"))
	w.do("GET", "/workspaces/open/live", "").requireFailure(t, 403, domain.CodePermissionDenied)
	f.revoke("read events", nil)
	require.Equal(t, "open", gateway.GrantFrom(open("open").request.Context()).WorkspaceID)
}

// Guessing credentials on an open stream counts as guessing them anywhere else.
func TestGuessingOnAStreamIsLimited(t *testing.T) {
	t.Parallel()
	f := &revocableFixture{gone: map[string]error{}}
	refused := make(chan domain.Code, 10)
	rt := gateway.Route{Method: "GET", Path: "/workspaces/{workspaceId}/live", Permission: readsEvents, Streaming: true, LateAuth: true,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for range 10 {
				_, err := gateway.Introduce(r, gateway.Credentials{Bearer: "nope"})
				refused <- domain.CodeOf(err)
			}
		})}
	w := start(t, gateway.Options{Routes: []gateway.Route{rt}, Authenticator: f, Authorizer: f, Settings: func() gateway.Settings {
		return gateway.Settings{RateLimits: map[gateway.RateClass]int64{gateway.RateRequests: 5}}
	}})
	w.do("GET", "/workspaces/w1/live", "")
	var codes []domain.Code
	for range 10 {
		codes = append(codes, <-refused)
	}
	require.Equal(t, domain.CodeInvalidToken, codes[0])
	require.Equal(t, domain.CodeRateLimit, codes[9])
}

func TestOutsideAGatewayNobodyIsKnown(t *testing.T) {
	t.Parallel()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	require.NoError(t, err)
	_, _, err = gateway.Recheck(r)
	require.Error(t, err)
	_, err = gateway.Introduce(r, gateway.Credentials{Bearer: "ann"})
	require.Error(t, err)
}

func TestOnlyStreamsWaitForTheirCredential(t *testing.T) {
	t.Parallel()
	for _, rt := range []gateway.Route{
		{Method: "GET", Path: "/a", Permission: readsEvents, LateAuth: true, Handler: returns(1, nil)},
		{Method: "GET", Path: "/a", Permission: gateway.Super, LateAuth: true, Streaming: true, Handler: returns(1, nil)},
	} {
		_, err := gateway.New(gateway.Options{Routes: []gateway.Route{rt}, Authorizer: fixture{}})
		require.ErrorContains(t, err, "credential")
	}
}
