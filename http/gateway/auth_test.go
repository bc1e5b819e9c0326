package gateway_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

const internalKey = "0123456789abcdef0123456789abcdef"

// credentials are headers that show who somebody is.
var credentials = map[string][]string{
	"nobody":        nil,
	"session":       {"Authorization", "Bearer ann"},
	"lower case":    {"Authorization", "bearer ann"},
	"access token":  {"Authorization", "Bearer token"},
	"super admin":   {"Authorization", "Bearer root"},
	"API key":       {"X-Svc-Api-Key", "key"},
	"user and key":  {"X-Svc-Api-Key", "key", "Authorization", "Bearer ann"},
	"internal":      {"X-Svc-Api-Key", internalKey},
	"wrong key":     {"X-Svc-Api-Key", internalKey + "x"},
	"wrong token":   {"Authorization", "Bearer nope"},
	"basic":         {"Authorization", "Basic YTpi"},
	"no token":      {"Authorization", "Bearer "},
	"two headers":   {"Authorization", "Bearer ann", "Authorization", "Bearer root"},
	"two keys":      {"X-Svc-Api-Key", "key", "X-Svc-Api-Key", internalKey},
	"cookie":        {"Cookie", "access-token=ann"},
	"wrong cookie":  {"Cookie", "access-token=nope"},
	"header wins":   {"Cookie", "access-token=nope", "Authorization", "Bearer ann"},
	"bearer as key": {"Authorization", "Bearer " + internalKey},
	"no second":     {"Authorization", "Bearer halfway"},
	"scoped":        {"Authorization", "Bearer scoped"},
	"store down":    {"Authorization", "Bearer broken"},
	"cookie, down":  {"Cookie", "access-token=broken"},
}

// permissions are the routes of the matrix, all GET /v2/{name}.
var permissions = map[string]gateway.Permission{
	"public": gateway.Public, "auth": gateway.Auth, "session": gateway.Session, "super": gateway.Super,
	"internal": gateway.Internal, "either": gateway.SuperOrInternal,
	"action": gateway.Action{Action: "read", Subject: "workspaces"},
	"anyone": gateway.Action{Action: "read", Subject: "events", Anyone: true},
}

func matrix(t *testing.T) *world {
	var routes []gateway.Route
	for name, p := range permissions {
		_, isAction := p.(gateway.Action)
		routes = append(routes, gateway.Route{Method: "GET", Path: "/" + name, Surface: gateway.Versioned, Permission: p, NoScope: !isAction,
			Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) { return gateway.CallerFrom(r.Context()).Actor(), nil })})
	}
	return start(t, gateway.Options{Routes: routes, Settings: func() gateway.Settings {
		return gateway.Settings{InternalKey: internalKey}
	}})
}

func TestWhoMayCallWhat(t *testing.T) {
	const (
		missing  = "401 missing_token"
		bad      = "401 invalid_token"
		wrong    = "401 invalid_credentials"
		denied   = "403 permission_denied"
		sessions = "403 insufficient_scope"
		down     = "500 internal_error"
	)
	// In this order: public auth session super internal either action anyone.
	order := []string{"public", "auth", "session", "super", "internal", "either", "action", "anyone"}
	tests := map[string][]string{
		"nobody":        {"", missing, missing, missing, missing, missing, missing, ""},
		"session":       {"", "", "", denied, denied, denied, "", ""},
		"lower case":    {"", "", "", denied, denied, denied, "", ""},
		"access token":  {"", "", sessions, denied, denied, denied, "", ""},
		"super admin":   {"", "", "", "", denied, "", "", ""},
		"API key":       {"", missing, sessions, denied, denied, denied, "", ""},
		"user and key":  {"", "", "", denied, denied, denied, "", ""},
		"internal":      {"", denied, denied, denied, "", "", denied, denied},
		"wrong key":     {wrong, wrong, wrong, wrong, wrong, wrong, wrong, wrong},
		"wrong token":   {bad, bad, bad, bad, bad, bad, bad, bad},
		"basic":         {bad, bad, bad, bad, bad, bad, bad, bad},
		"no token":      {bad, bad, bad, bad, bad, bad, bad, bad},
		"two headers":   {bad, bad, bad, bad, bad, bad, bad, bad},
		"two keys":      {wrong, wrong, wrong, wrong, wrong, wrong, wrong, wrong},
		"cookie":        {"", "", "", denied, denied, denied, "", ""},
		"wrong cookie":  {"", bad, bad, bad, bad, bad, bad, ""},
		"header wins":   {"", "", "", denied, denied, denied, "", ""},
		"bearer as key": {bad, bad, bad, bad, bad, bad, bad, bad},
		"no second":     {"", wrong, wrong, denied, denied, denied, wrong, wrong},
		"scoped":        {"", "", "", denied, denied, denied, sessions, ""},
		"store down":    {down, down, down, down, down, down, down, down},
		"cookie, down":  {down, down, down, down, down, down, down, down},
	}
	w := matrix(t)
	for who, wants := range tests {
		for i, want := range wants {
			t.Run(who+" on "+order[i], func(t *testing.T) {
				a := w.do("GET", "/v2/"+order[i], "", credentials[who]...)
				if want == "" {
					require.Equal(t, 200, a.status, a.body)
					return
				}
				require.Equal(t, want[4:], a.requireFailure(t, status(want), domain.Code(want[4:])).Error)
			})
		}
	}
}

func status(want string) int {
	return int(want[0]-'0')*100 + int(want[1]-'0')*10 + int(want[2]-'0')
}

func TestReasonsOfRefusals(t *testing.T) {
	w := matrix(t)
	require.Equal(t, "session_required", w.do("GET", "/v2/session", "", credentials["API key"]...).requireFailure(t, 403, domain.CodeInsufficientScope).Details["reason"])
	require.Equal(t, "mfa_required", w.do("GET", "/v2/auth", "", credentials["no second"]...).requireFailure(t, 401, domain.CodeInvalidCredentials).Details["reason"])
	require.Equal(t, "workspaces:read", w.do("GET", "/v2/action", "", credentials["scoped"]...).requireFailure(t, 403, domain.CodeInsufficientScope).Details["scope"])
	require.Equal(t, "Bearer", w.do("GET", "/v2/auth", "").header.Get("WWW-Authenticate"))
}

func TestTheInternalKeyAsBearer(t *testing.T) {
	metrics := gateway.Route{Method: "GET", Path: "/metrics", Permission: gateway.Internal, BearerKey: true, Handler: returns(1, nil)}
	w := start(t, gateway.Options{Routes: []gateway.Route{metrics}, Settings: func() gateway.Settings {
		return gateway.Settings{InternalKey: internalKey}
	}})
	require.Equal(t, 200, w.do("GET", "/metrics", "", "Authorization", "Bearer "+internalKey).status)
	w.do("GET", "/metrics", "", "Authorization", "Bearer nope").requireFailure(t, 401, domain.CodeInvalidToken)

	keyless := serve(t, metrics)
	keyless.do("GET", "/metrics", "", "X-Svc-Api-Key", "").requireFailure(t, 401, domain.CodeMissingToken)
}

func TestRoutesWithTheirOwnAuth(t *testing.T) {
	w := serve(t, gateway.Route{Method: "GET", Path: "/token", Permission: gateway.Public, OwnAuth: true,
		Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) { return r.Header.Get("Authorization"), nil })})
	require.Equal(t, `"Basic YTpi"`, w.do("GET", "/token", "", "Authorization", "Basic YTpi").body)
}

func TestSecondFactorRoutesAreOpenBeforeIt(t *testing.T) {
	w := serve(t, gateway.Route{Method: "GET", Path: "/me", Permission: gateway.Auth, NoScope: true, BeforeMFA: true, Handler: returns(1, nil)})
	require.Equal(t, 200, w.do("GET", "/me", "", "Authorization", "Bearer halfway").status)
}

func TestAuthorizationNamesTheWorkspace(t *testing.T) {
	read := gateway.Action{Action: "read", Subject: "pages"}
	w := serve(t, gateway.Route{Method: "GET", Path: "/workspaces/{workspaceId}", Permission: read, Surface: gateway.Versioned,
		Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) { return gateway.GrantFrom(r.Context()).WorkspaceID, nil })})
	require.Equal(t, `"mine"`, w.do("GET", "/v2/workspaces/slug:mine", "", "Authorization", "Bearer ann").body)
	w.do("GET", "/v2/workspaces/other", "", "Authorization", "Bearer ann").requireFailure(t, 403, domain.CodeWorkspaceDenied)
}

func TestCSRF(t *testing.T) {
	do := returns(1, nil)
	routes := []gateway.Route{
		{Method: "POST", Path: "/act", Permission: gateway.Auth, NoScope: true, Handler: do},
		{Method: "GET", Path: "/act", Permission: gateway.Auth, NoScope: true, Handler: do},
		{Method: "POST", Path: "/login", Permission: gateway.Public, NoCSRF: true, Handler: do},
		{Method: "POST", Path: "/open", Permission: gateway.Public, Handler: do},
	}
	opts := gateway.Options{Routes: routes, CheckCSRF: func(c gateway.Caller, token string) bool { return token == "csrf-"+c.SessionID }}
	w := start(t, opts)
	cookie := []string{"Cookie", "access-token=ann"}
	with := func(more ...string) []string { return append(append([]string{}, cookie...), more...) }
	tests := map[string]struct {
		method, path string
		headers      []string
		status       int
	}{
		"a write without the token": {"POST", "/act", cookie, 401},
		"a wrong token":             {"POST", "/act", with("X-Svc-Csrf-Token", "csrf-s2"), 401},
		"the right token":           {"POST", "/act", with("X-Svc-Csrf-Token", "csrf-s1"), 200},
		"a read":                    {"GET", "/act", cookie, 200},
		"a bearer":                  {"POST", "/act", []string{"Authorization", "Bearer ann"}, 200},
		"a bearer beside a cookie":  {"POST", "/act", with("Authorization", "Bearer ann"), 200},
		"an API key beside it":      {"POST", "/act", with("X-Svc-Api-Key", "key"), 401},
		"a sign-in":                 {"POST", "/login", cookie, 200},
		"a public write":            {"POST", "/open", cookie, 401},
		"a public write, old one":   {"POST", "/open", []string{"Cookie", "access-token=nope"}, 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := w.do(tt.method, tt.path, "", tt.headers...)
			require.Equal(t, tt.status, a.status, a.body)
			if tt.status == 401 {
				require.Equal(t, "csrf", a.requireFailure(t, 401, domain.CodeInvalidToken).Details["reason"])
			}
		})
	}
	serve(t, routes...).do("POST", "/act", "", with("X-Svc-Csrf-Token", "csrf-s1")...).requireFailure(t, 401, domain.CodeInvalidToken)
}

func TestHeaderAuthIgnoresCookiesAndRefusesForeignOrigins(t *testing.T) {
	w := start(t, gateway.Options{
		Routes:   []gateway.Route{{Method: "POST", Path: "/rpc", Permission: gateway.Auth, NoScope: true, HeaderAuth: true, Handler: returns(1, nil)}},
		Settings: func() gateway.Settings { return gateway.Settings{Origins: []string{"https://console.example.com"}} },
	})
	bearer := []string{"Authorization", "Bearer ann"}
	w.do("POST", "/rpc", "", "Cookie", "access-token=ann").requireFailure(t, 401, domain.CodeMissingToken)
	require.Equal(t, 200, w.do("POST", "/rpc", "", bearer...).status)
	require.Equal(t, 200, w.do("POST", "/rpc", "", append(bearer, "Origin", "https://console.example.com")...).status)
	for _, origin := range []string{"https://evil.example", "null"} {
		refused := w.do("POST", "/rpc", "", append(bearer, "Origin", origin)...).requireFailure(t, 403, domain.CodePermissionDenied)
		require.Equal(t, "foreign_origin", refused.Details["reason"])
	}
}

func TestAWebSocketWithACookieNeedsAnOrigin(t *testing.T) {
	w := start(t, gateway.Options{
		Routes: []gateway.Route{{Method: "GET", Path: "/ws", Permission: gateway.Auth, NoScope: true, Streaming: true,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) })}},
		Settings: func() gateway.Settings { return gateway.Settings{Origins: []string{"https://console.test"}} },
	})
	ask := func(headers ...string) answer {
		return w.do("GET", "/ws", "", append([]string{"Cookie", "access-token=ann", "Upgrade", "websocket"}, headers...)...)
	}
	ask().requireFailure(t, 401, domain.CodeInvalidToken)
	ask("Origin", "https://evil.test").requireFailure(t, 401, domain.CodeInvalidToken)
	require.Equal(t, 200, ask("Origin", "https://console.test").status)
	require.Equal(t, 200, ask("Origin", w.server.URL).status)
}
