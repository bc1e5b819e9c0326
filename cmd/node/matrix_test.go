package node_test

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/access"
	"svc/http/gateway"
)

var update = flag.Bool("update", false, "rewrite docs/authz-matrix.md")

const matrixFile = "../../docs/authz-matrix.md"

// caller is one kind of caller: a column of the matrix.
type caller struct {
	name   string
	header http.Header
	// What the model knows of them.
	refused  domain.Code // their credential does not hold at all
	user     bool        // a user stands behind it
	session  bool        // a session does
	visitor  bool
	super    bool
	internal bool
	scopes   []string            // nil: all
	actions  []string            // on workspaces, in "own", besides those of the role
	places   map[string][]string // rights elsewhere
}

// The places of a workspace route.
var places = []string{"own", "other", "platform", "deleted", "unknown"}

// isMissingWorkspace tells that there is no workspace in a place: one that was deleted can
// be told from one that never was by its owners, who bring it back, and nobody else.
func isMissingWorkspace(place string) bool { return place == "deleted" || place == "unknown" }

// TestAuthorizationMatrix asks every route of the table as every kind of caller
// in every place, holds each answer against a model of the contract, and the
// whole against the page that is read by people. A route that the model does not
// know fails.
func TestAuthorizationMatrix(t *testing.T) {
	t.Parallel()
	s := nodetest.NewService(t, "DISABLE_RATE_LIMIT=yes", "ADMIN_PASSWORD="+nodetest.AdminPassword, "ACCOUNT_VALIDATION_METHOD=auto", "MAX_CONCURRENT_REQUESTS=1000", "PAGES_HOST=.pages.test")
	s.Authenticator = nil
	s.Start(t)
	m := newMatrix(t, s)
	page := m.page(t)
	if *update {
		require.NoError(t, os.WriteFile(matrixFile, []byte(page), 0o644))
	}
	want, err := os.ReadFile(matrixFile)
	require.NoError(t, err, "run: make authz-matrix")
	require.Equal(t, string(want), page, "docs/authz-matrix.md is out of date; run: make authz-matrix")
}

// matrix is what the requests need.
type matrix struct {
	service *nodetest.Service
	callers []caller
	ids     map[string]string // of the workspaces, by place
}

// newMatrix makes the people, their credentials and their workspaces.
func newMatrix(t *testing.T, s *nodetest.Service) *matrix {
	t.Helper()
	login := func(email, password string) (id, session, token string) {
		got := s.Call(t, "POST", "/v2/login", nil, fmt.Sprintf(`{"email":%q,"password":%q}`, email, password))
		require.Equal(t, 200, got.StatusCode, "%s", got.Body)
		f := got.JSON(t)
		return f["userId"].(string), f["sessionId"].(string), f["token"].(string)
	}
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	must := func(method, path string, h http.Header, body string) map[string]any {
		got := s.Call(t, method, path, h, body)
		require.Less(t, got.StatusCode, 300, "%s %s: %s", method, path, got.Body)
		return got.JSON(t)
	}
	tokens, users, sessions := map[string]string{}, map[string]string{}, map[string]string{}
	for _, name := range []string{"owner", "editor", "reader", "stranger"} {
		email := name + "@example.org"
		must("POST", "/v2/signup", nil, fmt.Sprintf(`{"email":%q,"password":"long enough","firstName":"F","lastName":"L"}`, email))
		users[name], sessions[name], tokens[name] = login(email, "long enough")
	}
	_, _, tokens["super"] = login("admin@localhost", nodetest.AdminPassword)
	own := must("POST", "/v2/workspaces", bearer(tokens["owner"]), `{"name":"own","slug":"own"}`)["id"].(string)
	other := must("POST", "/v2/workspaces", bearer(tokens["stranger"]), `{"name":"other"}`)["id"].(string)
	deleted := must("POST", "/v2/workspaces", bearer(tokens["owner"]), `{"name":"deleted"}`)["id"].(string)
	must("DELETE", "/v2/workspaces/"+deleted, bearer(tokens["owner"]), "")
	path := "/v2/workspaces/" + own
	must("POST", path+"/permissions", bearer(tokens["owner"]), fmt.Sprintf(`{"target":{"id":%q},"permissions":{"role":"editor"}}`, users["editor"]))
	must("POST", path+"/permissions", bearer(tokens["owner"]), fmt.Sprintf(`{"target":{"id":%q},"permissions":{"policies":{"read":true}}}`, users["reader"]))
	key := must("POST", path+"/security/apikeys", bearer(tokens["owner"]), `{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`)["apiKey"].(string)
	at := must("POST", "/v2/user/accessTokens", bearer(tokens["owner"]), `{"name":"t","expiresAt":"2099-01-01T00:00:00Z"}`)["token"].(string)
	visitor := must("POST", "/v2/login/anonymous", nil, `{}`)["token"].(string)
	sign := func(c signing.Claims) string {
		token, err := s.Node.Keys().Sign(t.Context(), c)
		require.NoError(t, err)
		return token
	}
	now := time.Now()
	narrow := sign(signing.Claims{Subject: users["owner"], SessionID: sessions["owner"], IssuedAt: now, ExpiresAt: now.Add(time.Hour), Scope: "events:read"})
	root := s.Login(t, "admin@localhost", nodetest.AdminPassword)
	narrowSuper := sign(signing.Claims{Subject: root["userId"].(string), SessionID: root["sessionId"].(string), IssuedAt: now, ExpiresAt: now.Add(time.Hour), Scope: "openid"})
	expired := sign(signing.Claims{Subject: users["owner"], SessionID: sessions["owner"], IssuedAt: now.Add(-2 * time.Hour), ExpiresAt: now.Add(-time.Hour)})
	ended := sign(signing.Claims{Subject: users["owner"], SessionID: "5e0c1a8e-0000-4000-8000-000000000000", IssuedAt: now, ExpiresAt: now.Add(time.Hour)})
	withoutSettings := []string{"workspaces:read", "workspaces:write", "events:read", "events:write", "webhooks", "pages:read", "files:read", "files:write", "knowledge:read", "knowledge:write", "agents"}
	wasTheirs := map[string][]string{"deleted": {"manage"}}
	return &matrix{service: s, ids: map[string]string{"own": own, "other": other, "platform": domain.Platform, "deleted": deleted, "unknown": "nowhere"}, callers: []caller{
		{name: "nobody"},
		{name: "visitor", header: bearer(visitor), user: true, session: true, visitor: true},
		{name: "stranger", header: bearer(tokens["stranger"]), user: true, session: true, places: map[string][]string{"other": {"manage"}}},
		{name: "reader", header: bearer(tokens["reader"]), user: true, session: true, actions: []string{"read"}},
		{name: "editor", header: bearer(tokens["editor"]), user: true, session: true, actions: []string{"read", "update", "get_usage", "aggregate_search"}},
		{name: "owner", header: bearer(tokens["owner"]), user: true, session: true, actions: []string{"manage"}, places: wasTheirs},
		{name: "owner, access token", header: bearer(at), user: true, scopes: withoutSettings, actions: []string{"manage"}, places: wasTheirs},
		{name: "owner, scope events:read", header: bearer(narrow), user: true, session: true, scopes: []string{"events:read"}, actions: []string{"manage"}, places: wasTheirs},
		{name: "super admin", header: bearer(tokens["super"]), user: true, session: true, super: true},
		{name: "super admin, scope openid", header: bearer(narrowSuper), user: true, session: true, super: true, scopes: []string{"openid"}},
		{name: "API key, read", header: http.Header{"X-Svc-Api-Key": {key}}, actions: []string{"read"}},
		{name: "internal key", header: nodetest.AsInternal, internal: true},
		{name: "expired token", header: bearer(expired), refused: domain.CodeTokenExpired},
		{name: "ended session", header: bearer(ended), refused: domain.CodeInvalidToken},
		{name: "forged token", header: bearer("eyJhbGciOiJub25lIn0.e30."), refused: domain.CodeInvalidToken},
		{name: "unknown API key", header: http.Header{"X-Svc-Api-Key": {"sk_unknown"}}, refused: domain.CodeInvalidCredentials},
	}}
}

const admitted domain.Code = "yes"

// notForVisitors are routes for users that are not anonymous.
var notForVisitors = []string{"/contacts"}

// model says what the contract wants: the code of the refusal, or admitted.
func model(rt gateway.Route, c caller, place string) domain.Code {
	action, inWorkspace := rt.Permission.(gateway.Action)
	scope := cmp.Or(rt.Scope, scopeOf(rt))
	switch {
	case rt.OwnAuth:
		return admitted
	case c.refused != domain.CodeNone:
		return c.refused
	case rt.Permission == gateway.Public:
		return refusalOfScope(c, scope)
	case c.internal:
		if rt.Permission == gateway.Internal || rt.Permission == gateway.SuperOrInternal {
			return admitted
		}
		return domain.CodePermissionDenied
	case c.header == nil && rt.LateAuth:
		return admitted // and waited for
	case c.header == nil && (!action.Anyone || !ofEveryone(action, place) && !mayBeShared(rt, place)):
		return domain.CodeMissingToken
	case rt.Permission == gateway.Session && !c.session:
		return domain.CodeInsufficientScope
	case rt.Permission == gateway.Auth && !c.user:
		return domain.CodeMissingToken
	case (rt.Permission == gateway.Super || rt.Permission == gateway.SuperOrInternal) && !c.super, rt.Permission == gateway.Internal:
		return domain.CodePermissionDenied
	}
	if code := refusalOfScope(c, scope); code != admitted || !inWorkspace {
		if code == admitted && c.visitor && slices.Contains(notForVisitors, rt.Path) {
			return domain.CodePermissionDenied
		}
		return code
	}
	if strings.Contains(rt.Path, "{pageId}") && !c.super {
		return domain.CodeWorkspaceDenied // nobody's page
	}
	if mayBeShared(rt, place) {
		return admitted
	}
	code := inside(c, action, place)
	if rt.NoScope && code == domain.CodePermissionDenied && !isMissingWorkspace(place) {
		return admitted // each tool decides; who is no stranger there is told that there is none for them
	}
	return code
}

// mayBeShared tells whether a route changes what may be shared with whoever has no other right: TestPages,
// TestSharedKnowledge and TestConversations ask as strangers.
func mayBeShared(rt gateway.Route, place string) bool {
	return isShareable.MatchString(rt.Path) && rt.Method != http.MethodGet && rt.Effect != gateway.Reads && !isMissingWorkspace(place)
}

// isShareable matches routes of single pages, knowledge bases and agents, and of documents of a base.
var isShareable = regexp.MustCompile(`/(pages|knowledgeBases|agents)/\{slug|/pages/preview$`)

// wholeScope stands for a token that is not narrowed.
const wholeScope = "all"

// refusalOfScope returns the code with which a scope refuses a caller.
func refusalOfScope(c caller, scope string) domain.Code {
	if scope == wholeScope && c.scopes != nil && !slices.Contains(c.scopes, "workspaces:write") {
		return domain.CodeInsufficientScope
	}
	if scope == "" || scope == wholeScope || c.scopes == nil || slices.Contains(c.scopes, scope) {
		return admitted
	}
	return domain.CodeInsufficientScope
}

// scopeOf is the scope that contract 3.2 names for a route of a workspace.
func scopeOf(rt gateway.Route) string {
	if rt.Permission == gateway.Super || rt.Permission == gateway.SuperOrInternal {
		return wholeScope
	}
	if rt.NoScope { // each tool needs its own
		return ""
	}
	action, ok := rt.Permission.(gateway.Action)
	if !ok {
		return ""
	}
	area := "workspaces"
	switch action.Subject {
	case "events", "files":
		area = action.Subject
	case "documents":
		area = "knowledge"
	}
	if rt.Method == http.MethodGet || rt.Effect == gateway.Reads {
		return area + ":read"
	}
	return area + ":write"
}

// inside is the word of the workspace's own rules.
func inside(c caller, action gateway.Action, place string) domain.Code {
	held := c.places[place]
	if place == "own" {
		held = append(held, c.actions...)
	}
	switch {
	case isMissingWorkspace(place) && (c.super || len(held) > 0) && !callsEndpoint(action):
		return domain.CodeNotFound
	case c.super, place == "", hasRight(held, action), ofEveryone(action, place): // without a place the handler decides, once it knows one
		return admitted
	case c.user && action.Action == "read" && action.Subject == "events": // those that they emitted, or none where nothing is
		return admitted
	case len(held) > 0:
		return domain.CodePermissionDenied
	}
	return domain.CodeWorkspaceDenied
}

// ofEveryone tells whether rules without a role give a right in a new workspace.
func ofEveryone(a gateway.Action, place string) bool {
	if place != "own" && place != "other" {
		return isMissingWorkspace(place) && callsEndpoint(a) // they find no endpoint there
	}
	return a.Action == "create" && a.Subject == "events" || callsEndpoint(a)
}

func callsEndpoint(a gateway.Action) bool { return a.Action == "execute" && a.Subject == "automations" }

// ofEditors are those of the role editor besides what it may do to the workspace.
var ofEditors = []string{"manage files", "read pages", "update pages", "read apps", "update apps", "read events", "create events", "execute automations", "test automations", "manage collections", "manage documents", "execute agents"}

// hasRight tells whether somebody with these rights on a workspace has a right in
// it, by contract 4.1 to 4.3.
func hasRight(held []string, action gateway.Action) bool {
	right := action.Action + " " + action.Subject
	editor := slices.Contains(held, "get_usage")
	switch {
	case slices.Contains(held, "manage"), action.Subject == "workspaces" && slices.Contains(held, action.Action):
		return true
	case editor && (slices.Contains(ofEditors, right) || slices.Contains(ofEditors, "manage "+action.Subject)):
		return true
	case action.Subject != "automations" && action.Subject != "pages" && action.Subject != "knowledgeBases" && action.Subject != "agents":
		return false
	case action.Action == "read":
		return slices.Contains(held, "read")
	}
	return slices.Contains([]string{"create", "update", "delete"}, action.Action) && slices.Contains(held, "update")
}

var pathVariable = regexp.MustCompile(`\{(\w+)(?::(?:[^{}]|\{[^}]*\})*)?\}`)

// ask sends the request that would do what the route does, with a key that no
// request may have: who is admitted gets as far as that, and changes nothing.
func (m *matrix) ask(t *testing.T, rt gateway.Route, c caller, place string) domain.Code {
	t.Helper()
	path := pathVariable.ReplaceAllStringFunc(rt.Path, func(v string) string {
		switch {
		case strings.HasPrefix(v, "{workspaceId"):
			return m.ids[place]
		case strings.HasPrefix(v, "{fileId"):
			return strings.Repeat("x", 21)
		}
		return "x"
	})
	if rt.Surface != gateway.Plain {
		path = "/v2" + path
	}
	switch {
	case strings.HasSuffix(path, "/events/stream"):
		path += "?fromSeq=nowhere" // it would not end
	case strings.HasPrefix(path, "/sys/cleanup/"):
		path += "?dryRun=true" // more than that is for the host alone
	}
	h := http.Header{"Idempotency-Key": {strings.Repeat("k", 300)}, "Accept": {"application/json"}}
	for name, values := range c.header {
		h[name] = values
	}
	got := m.send(t, rt, path, h)
	if got.StatusCode != http.StatusUnauthorized && got.StatusCode != http.StatusForbidden && got.StatusCode != http.StatusNotFound {
		return admitted
	}
	code := domain.Code(got.Code(t))
	details, _ := got.JSON(t)["details"].(map[string]any)
	within := details["resource"] == "event" || details["resource"] == "run" || details["endpoint"] != nil
	if code == domain.CodeNotFound && (!isMissingWorkspace(place) || rt.Permission == gateway.Public || within) {
		return admitted // what is not found had to be looked for
	}
	return code
}

// send sends a request: for routes of hosts of pages, to the host of the own workspace.
func (m *matrix) send(t *testing.T, rt gateway.Route, path string, h http.Header) nodetest.Answer {
	t.Helper()
	if rt.When == nil {
		got, err := m.service.Request(t.Context(), rt.Method, path, h, "")
		require.NoError(t, err)
		return got
	}
	method := rt.Method
	if method == gateway.AnyMethod {
		method = http.MethodPut
	}
	req, err := http.NewRequestWithContext(t.Context(), method, m.service.Base+path, nil)
	require.NoError(t, err)
	req.Host, req.Header = "own.pages.test", h
	res, err := m.service.Client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return nodetest.Answer{Response: res, Body: body}
}

// page asks everything, and shows it.
func (m *matrix) page(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Who may call what\n\nThis page is generated from the route table by `make authz-matrix`, which sends every request and compares the answers\nwith a model of the contract. A cell is `yes`, or the error code.\n")
	routes := m.service.Node.Routes()
	slices.SortStableFunc(routes, func(a, b gateway.Route) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	m.table(t, &b, "Routes outside of workspaces", "", slices.DeleteFunc(slices.Clone(routes), func(rt gateway.Route) bool { return ofWorkspace(rt) || rt.When != nil }))
	m.table(t, &b, "Routes on hosts of pages", "", slices.DeleteFunc(slices.Clone(routes), func(rt gateway.Route) bool { return rt.When == nil }))
	b.WriteString("\n## Routes of a workspace\n\n`own` belongs to the owner. The editor and the reader are members of it, and the API key belongs to it. `other` belongs to\nthe stranger. `deleted` belonged to the owner.\n")
	inside := slices.DeleteFunc(slices.Clone(routes), func(rt gateway.Route) bool { return !ofWorkspace(rt) })
	for _, place := range places {
		m.table(t, &b, "Workspace: "+place, place, inside)
	}
	return b.String()
}

func ofWorkspace(rt gateway.Route) bool { return strings.Contains(rt.Path, "{workspaceId}") }

func (m *matrix) table(t *testing.T, b *strings.Builder, title, place string, routes []gateway.Route) {
	fmt.Fprintf(b, "\n### %s\n\n| Route | Permission |", title)
	for _, c := range m.callers {
		fmt.Fprintf(b, " %s |", c.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(m.callers)) + "\n")
	for _, rt := range routes {
		if action, ok := rt.Permission.(gateway.Action); ok {
			require.Contains(t, access.Actions(action.Subject), action.Action, "%s %s: the model does not know the right", rt.Method, rt.Path)
		}
		fmt.Fprintf(b, "| %s `%s` | %s |", rt.Method, pathVariable.ReplaceAllString(rt.Path, "{$1}"), rt.Permission)
		for _, c := range m.callers {
			got, want := m.ask(t, rt, c, place), model(rt, c, place)
			if got != want {
				t.Errorf("%s %s as %s in %q: %s, the contract wants %s", rt.Method, rt.Path, c.name, place, got, want)
			}
			fmt.Fprintf(b, " %s |", got)
		}
		b.WriteString("\n")
	}
}
