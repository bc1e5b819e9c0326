package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"svc/commands/signing"
	"svc/domain/access"
	"svc/http/gateway"
)

// shops are two workspaces, each with its owner, and with the same rules: the role
// agent, which automations may take, reads the workspace.
type shops struct {
	*identityService
	ada, bob person
	w, v     string // ada's and bob's
}

func openShops(t *testing.T) *shops {
	t.Helper()
	h := openIdentity(t)
	s := &shops{identityService: h, ada: h.newAccount("ada@example.org"), bob: h.newAccount("bob@example.org")}
	open := func(p person) string {
		id := h.do("POST", "/v2/workspaces", p.bearer(), body(`{"name":"Shop"}`)).fields(t)["id"].(string)
		got := h.do("PUT", "/v2/workspaces/"+id+"/security", p.bearer(), body(`{"authorizations":{
			"roles":{"agent":{"auth":{"apiKey":{}}},"clerk":{}},
			"rules":[{"role":["agent","clerk"],"action":"read","subject":"workspaces"}]}}`))
		require.Equal(t, http.StatusOK, got.status, got.body)
		return id
	}
	s.w, s.v = open(s.ada), open(s.bob)
	return s
}

// session is a token of a session for an automation of ada's workspace.
func (s *shops) session(a signing.Acting) string {
	s.t.Helper()
	a.WorkspaceID, a.CorrelationID, a.Depth = s.w, "c1", 2
	token, err := s.keys.SessionToken(s.t.Context(), a, 10*time.Second)
	require.NoError(s.t, err)
	return s.hide(token)
}

func (s *shops) workspace() string {
	s.t.Helper()
	token, err := s.keys.WorkspaceToken(s.t.Context(), signing.Acting{WorkspaceID: s.w, CorrelationID: "c1", Depth: 2}, time.Minute)
	require.NoError(s.t, err)
	return s.hide(token)
}

func (s *shops) role(name string) string {
	s.t.Helper()
	token, err := s.keys.RoleToken(s.t.Context(), s.w, name, "c1", 2, time.Minute)
	require.NoError(s.t, err)
	return s.hide(token)
}

// The requests of the matrix, and what they are answered: a status, or the code of a
// refusal.
var runtimeRequests = []string{"GET w", "PATCH w", "GET w/security/apikeys", "GET v", "PATCH v", "GET me", "GET workspaces", "PATCH user", "GET jwks"}

func (s *shops) answers(credentials ...option) (all []string) {
	s.t.Helper()
	paths := strings.NewReplacer(" workspaces", " /v2/workspaces", " w", " /v2/workspaces/"+s.w, " v", " /v2/workspaces/"+s.v,
		" me", " /v2/me", " user", " /v2/user", " jwks", " /sys/jwks")
	for _, request := range runtimeRequests {
		method, path, _ := strings.Cut(paths.Replace(request), " ")
		options := credentials
		if method == http.MethodPatch {
			options = append(options[:len(options):len(options)], body(`{}`))
		}
		got := s.do(method, path, options...)
		said := http.StatusText(got.status)
		if got.status >= http.StatusBadRequest {
			said = got.fields(s.t)["error"].(string)
		}
		all = append(all, said)
	}
	return all
}

func TestWhatTokensOfTheRuntimeOpen(t *testing.T) {
	s := openShops(t)
	made := s.newAccessToken(s.ada).fields(t)
	token, tokenID := made["token"].(string), made["id"].(string)
	drawn := uuid.NewString()
	ada := signing.Acting{UserID: s.ada.id, SessionID: s.ada.session}
	scoped := ada
	scoped.Scopes = []string{"workspaces:read", "settings"}
	const (
		ok, denied, no  = "OK", "permission_denied", "workspace_access_denied"
		nobody, unscope = "missing_token", "insufficient_scope"
	)
	for name, tc := range map[string]struct {
		shown []option
		want  []string
	}{
		"a user in their own workspace": {[]option{as(s.session(ada))}, []string{ok, ok, ok, denied, denied, ok, denied, denied, denied}},
		"a user of a narrow token":      {[]option{as(s.session(scoped))}, []string{ok, unscope, ok, denied, unscope, ok, denied, denied, denied}},
		"a user by an access token": {
			[]option{as(s.session(signing.Acting{UserID: s.ada.id, SessionID: "at:" + tokenID}))}, []string{ok, ok, ok, denied, denied, ok, denied, unscope, denied},
		},
		"a stranger is no owner of what they call": {
			[]option{as(s.session(signing.Acting{UserID: s.bob.id, SessionID: s.bob.session}))}, []string{no, no, no, denied, denied, ok, denied, denied, denied},
		},
		"a user for an app": {
			[]option{as(s.session(signing.Acting{UserID: s.ada.id, SessionID: s.ada.session, Narrow: true}))},
			[]string{denied, denied, denied, denied, denied, ok, denied, denied, denied},
		},
		"a user for an app that has a key": {
			[]option{as(s.session(signing.Acting{UserID: s.ada.id, SessionID: s.ada.session, Narrow: true})), key(s.role("agent"))},
			[]string{denied, denied, denied, no, no, ok, denied, denied, denied},
		},
		"a visitor": {
			[]option{as(s.session(signing.Acting{UserID: drawn, SessionID: drawn, Visitor: true}))},
			[]string{nobody, nobody, nobody, nobody, nobody, nobody, nobody, nobody, nobody},
		},
		"a run for nobody":                {[]option{as(s.session(signing.Acting{}))}, []string{nobody, nobody, nobody, nobody, nobody, nobody, nobody, nobody, nobody}},
		"the workspace":                   {[]option{as(s.workspace())}, []string{denied, denied, denied, no, no, nobody, ok, unscope, denied}},
		"a role":                          {[]option{key(s.role("agent"))}, []string{ok, denied, denied, no, no, nobody, ok, unscope, denied}},
		"a role that is no key's":         {[]option{key(s.role("clerk"))}, []string{no, no, no, no, no, nobody, ok, unscope, denied}},
		"a role that is none":             {[]option{key(s.role("owner"))}, []string{no, no, no, no, no, nobody, ok, unscope, denied}},
		"a role with a zero byte":         {[]option{key(s.role("x\x00agent"))}, []string{no, no, no, no, no, nobody, ok, unscope, denied}},
		"a stranger who takes a role":     {[]option{as(s.bob.token), key(s.role("agent"))}, []string{ok, denied, denied, ok, ok, ok, ok, ok, denied}},
		"a visitor who takes a role":      {[]option{as(s.session(signing.Acting{})), key(s.role("agent"))}, []string{ok, denied, denied, no, no, nobody, ok, unscope, denied}},
		"the workspace beside its role":   {[]option{as(s.workspace()), key(s.role("agent"))}, []string{ok, denied, denied, no, no, nobody, ok, unscope, denied}},
		"the access token for comparison": {[]option{as(token)}, []string{ok, ok, ok, no, no, ok, ok, unscope, denied}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, s.answers(tc.shown...), "%v", runtimeRequests) })
	}
}

func TestTokensOfTheRuntimeThatDoNotHold(t *testing.T) {
	s := openShops(t)
	good := s.workspace()
	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	drawn := uuid.NewString()
	say := func(c signing.Claims) string {
		c.IssuedAt, c.ExpiresAt = s.now(), s.now().Add(time.Minute)
		return s.sign(c)
	}
	path := "GET /v2/workspaces/" + s.w
	s.requireRefusal(401, "invalid_credentials", "", path, key(good)) // it is no role
	for name, token := range map[string]string{
		"a foreign key":                      forge(t, good, jwt.SigningMethodES256, foreign, kidOf(t, good), nil),
		"a foreign workspace":                forge(t, good, jwt.SigningMethodES256, foreign, kidOf(t, good), jwt.MapClaims{"workspaceId": s.v}),
		"alg none":                           forge(t, good, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kidOf(t, good), nil),
		"a role as a caller":                 s.role("agent"),
		"a role of a user":                   say(signing.Claims{WorkspaceID: s.w, Role: "agent", Subject: s.ada.id, SessionID: s.ada.session}),
		"nobody from nowhere":                say(signing.Claims{}),
		"a visitor from nowhere":             say(signing.Claims{Subject: drawn, SessionID: drawn, Visitor: true}),
		"a visitor with a session of others": say(signing.Claims{WorkspaceID: s.w, Subject: drawn, SessionID: s.ada.session, Visitor: true}),
		"a visitor with an account":          say(signing.Claims{WorkspaceID: s.w, Subject: s.ada.id, SessionID: s.ada.id, Visitor: true}),
		"a visitor without an id":            say(signing.Claims{WorkspaceID: s.w, Visitor: true}),
		"a user without a session":           say(signing.Claims{WorkspaceID: s.w, Subject: s.ada.id}),
		"a session without a user":           say(signing.Claims{WorkspaceID: s.w, SessionID: s.ada.session}),
		"a session of somebody else":         say(signing.Claims{WorkspaceID: s.w, Subject: s.ada.id, SessionID: s.bob.session}),
		"an access token that never was":     say(signing.Claims{WorkspaceID: s.w, Subject: s.ada.id, SessionID: "at:tok_1"}),
		"an access token without a runtime":  say(signing.Claims{Subject: s.ada.id, SessionID: "at:tok_1"}),
	} {
		t.Run(name, func(t *testing.T) {
			s.requireRefusal(401, "invalid_token", "", path, as(token))
			s.requireRefusal(401, "invalid_token", "", "POST /v2/login/anonymous", as(token))
			if name != "a role as a caller" {
				s.requireRefusal(401, "invalid_credentials", "", path, key(token))
			}
		})
	}
}

func TestTokensOfTheRuntimeEndSoon(t *testing.T) {
	s := openShops(t)
	path := "GET /v2/workspaces/" + s.w
	ada, place, role := s.session(signing.Acting{UserID: s.ada.id, SessionID: s.ada.session}), s.workspace(), s.role("agent")
	nobody := s.session(signing.Acting{})
	s.pass(39 * time.Second)
	require.Equal(t, http.StatusOK, s.do("GET", "/v2/workspaces/"+s.w, as(ada)).status, "clocks differ")
	s.requireRefusal(401, "missing_token", "", path, as(nobody))
	s.pass(2 * time.Second)
	s.requireRefusal(401, "token_expired", "", path, as(ada))
	s.requireRefusal(401, "token_expired", "", path, as(nobody))
	s.requireRefusal(403, "permission_denied", "", path, as(place))
	s.pass(50 * time.Second)
	s.requireRefusal(401, "token_expired", "", path, as(place))
	s.requireRefusal(401, "invalid_credentials", "", path, key(role))
}

func TestWhatEndsASessionEndsItsTokensOfTheRuntime(t *testing.T) {
	s := openShops(t)
	path := "GET /v2/workspaces/" + s.w
	token := s.session(signing.Acting{UserID: s.ada.id, SessionID: s.ada.session})
	require.Equal(t, http.StatusOK, s.do("GET", "/v2/workspaces/"+s.w, as(token)).status)
	require.Equal(t, http.StatusOK, s.do("POST", "/v2/logout", s.ada.bearer()).status)
	s.requireRefusal(401, "invalid_token", "", path, as(token))

	got := s.do("PUT", "/v2/workspaces/"+s.v+"/security", s.bob.bearer(), body(`{"authorizations":{"roles":{},"rules":[]}}`))
	require.Equal(t, http.StatusOK, got.status, got.body)
	taken, err := s.keys.RoleToken(t.Context(), s.v, "agent", "c1", 1, time.Minute)
	require.NoError(t, err)
	s.requireRefusal(403, "workspace_access_denied", "", "GET /v2/workspaces/"+s.v, key(taken))
	require.Equal(t, http.StatusOK, s.do("DELETE", "/v2/workspaces/"+s.v, s.bob.bearer()).status)
	gone, err := s.keys.WorkspaceToken(t.Context(), signing.Acting{WorkspaceID: s.v, CorrelationID: "c1", Depth: 1}, time.Minute)
	require.NoError(t, err)
	s.requireRefusal(403, "workspace_access_denied", "", "GET /v2/workspaces/"+s.v, as(gone))
}

func TestAWorkspaceMakesNoKeyThatOutlivesItsToken(t *testing.T) {
	s := openShops(t)
	got := s.do("POST", "/v2/workspaces/"+s.w+"/security/apikeys", as(s.workspace()), body(`{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`))
	require.Equal(t, http.StatusForbidden, got.status, got.body)
}

func TestWhoCallsWithATokenOfTheRuntime(t *testing.T) {
	s := openShops(t)
	who := s.access
	drawn := uuid.NewString()
	for name, tc := range map[string]struct {
		shown gateway.Credentials
		want  gateway.Caller
	}{
		"a user": {
			gateway.Credentials{Bearer: s.session(signing.Acting{UserID: s.bob.id, SessionID: s.bob.session})},
			gateway.Caller{Kind: gateway.KindUser, UserID: s.bob.id, SessionID: s.bob.session, Scopes: gateway.WholeScopes(), Lent: true, LentTo: s.w},
		},
		"a visitor": {
			gateway.Credentials{Bearer: s.session(signing.Acting{UserID: drawn, SessionID: drawn, Visitor: true})},
			gateway.Caller{UserID: drawn, SessionID: drawn, Anonymous: true},
		},
		"the workspace": {
			gateway.Credentials{Bearer: s.workspace()},
			gateway.Caller{Kind: gateway.KindAPIKey, WorkspaceID: s.w, KeyID: "workspace:" + s.w},
		},
		"a role": {
			gateway.Credentials{APIKey: s.role("agent")},
			gateway.Caller{Kind: gateway.KindAPIKey, KeyID: "role:agent"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := who.Authenticate(t.Context(), tc.shown)
			require.NoError(t, err)
			require.LessOrEqual(t, got.Expires.Sub(s.now()), signing.RuntimeAge)
			require.Positive(t, got.Expires.Sub(s.now()))
			tc.want.Principal, tc.want.Expires, tc.want.SourceWorkspaceID, tc.want.Depth = got.Principal, got.Expires, s.w, 2
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.want.WorkspaceID, got.Identity().Workspace, "whose automation calls gives no rights")
			require.Empty(t, access.OutsideRights(got.Identity()).Roles())
		})
	}
}

func TestRolesThatAutomationsMayTake(t *testing.T) {
	s := openShops(t)
	who := s.access
	for name, want := range map[string]bool{"agent": true, "clerk": false, "owner": false, "editor": false, "nobody": false, "": false} {
		has, err := who.HasKeyRole(s.w, name)
		require.NoError(t, err)
		require.Equal(t, want, has, name)
	}
	has, err := who.HasKeyRole("unknown", "agent")
	require.NoError(t, err)
	require.False(t, has)
}
