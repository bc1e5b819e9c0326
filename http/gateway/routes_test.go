package gateway_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

func TestAnIncompleteTableIsRefused(t *testing.T) {
	ok := returns("ok", nil)
	tests := map[string]struct {
		routes []gateway.Route
		want   string
	}{
		"no permission":        {[]gateway.Route{{Method: "GET", Path: "/a", Handler: ok}}, "permission is required"},
		"no handler":           {[]gateway.Route{{Method: "GET", Path: "/a", Permission: gateway.Public}}, "handler is required"},
		"no method":            {[]gateway.Route{{Path: "/a", Permission: gateway.Public, Handler: ok}}, "method and absolute path"},
		"relative path":        {[]gateway.Route{{Method: "GET", Path: "a", Permission: gateway.Public, Handler: ok}}, "method and absolute path"},
		"an empty action":      {[]gateway.Route{{Method: "GET", Path: "/a", Permission: gateway.Action{}, Handler: ok}}, "action and subject"},
		"an unknown rate":      {[]gateway.Route{{Method: "GET", Path: "/a", Permission: gateway.Public, Handler: ok, Rate: "x"}}, "unknown rate class"},
		"twins":                {[]gateway.Route{get("/a", 1), get("/a", 2)}, "declared twice"},
		"twins but for a name": {[]gateway.Route{get("/a/{x}", 1), get("/a/{y}", 2)}, "declared twice"},
		"a written-out prefix": {[]gateway.Route{get("/v2/a", 1)}, "prefix comes from the surface"},
		"a bad pattern":        {[]gateway.Route{get("/a/{x:(}", 1)}, "route GET /a"},
		"a conditional versioned one": {[]gateway.Route{{Method: "GET", Path: "/a", Permission: gateway.Public, Handler: ok,
			Surface: gateway.Versioned, When: func(*http.Request) bool { return true }}}, "must be plain"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := gateway.New(gateway.Options{Routes: tt.routes, Authorizer: fixture{}})
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := gateway.New(gateway.Options{Routes: []gateway.Route{
		{Method: "GET", Path: "/a", Permission: gateway.Action{Action: "read", Subject: "files"}, Handler: ok}}})
	require.ErrorContains(t, err, "needs an Authorizer")
}

// table answers with the path of the row that matched.
func table(surface gateway.Surface, method string, paths ...string) []gateway.Route {
	var routes []gateway.Route
	for _, path := range paths {
		routes = append(routes, gateway.Route{
			Method: method, Path: path, Permission: gateway.Public, Surface: surface,
			Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) {
				return map[string]string{"row": path, "w": gateway.Var(r, "workspaceId"), "slug": gateway.Var(r, "slug")}, nil
			}),
		})
	}
	return routes
}

func TestTheMostSpecificRowAnswers(t *testing.T) {
	routes := table(gateway.Versioned, "GET",
		"/workspaces/{workspaceId}/pages/{slug:.+}", "/workspaces/{workspaceId}", "/workspaces/labels",
		"/workspaces/{workspaceId:platform}/versions", "/workspaces/{workspaceId}/versions",
		"/pages/{workspaceId}/{slug}", "/pages/{workspaceId}/permissions",
		"/files/{workspaceId}/{slug}.{name}", "/hex/{slug:[0-9a-f]{4}}", "/runs/{slug:.+}/cancel", "/runs/{slug:.+}",
		"/{word:(?i:apikeys)}/{slug}", "/{word}/{slug}")
	w := serve(t, routes...)
	tests := []struct{ path, row, workspace, slug string }{
		{"/workspaces/labels", "/workspaces/labels", "", ""},
		{"/workspaces/abc", "/workspaces/{workspaceId}", "abc", ""},
		{"/workspaces/abc/", "/workspaces/{workspaceId}", "abc", ""},
		{"/workspaces/slug:my-space", "/workspaces/{workspaceId}", "slug:my-space", ""},
		{"/workspaces/slug:a%2Fb", "/workspaces/{workspaceId}", "slug:a/b", ""},
		{"/workspaces/abc/pages/one", "/workspaces/{workspaceId}/pages/{slug:.+}", "abc", "one"},
		{"/workspaces/abc/pages/one/two", "/workspaces/{workspaceId}/pages/{slug:.+}", "abc", "one/two"},
		{"/workspaces/abc/pages/one%2Ftwo%20three", "/workspaces/{workspaceId}/pages/{slug:.+}", "abc", "one/two three"},
		{"/workspaces/platform/versions", "/workspaces/{workspaceId:platform}/versions", "platform", ""},
		{"/workspaces/abc/versions", "/workspaces/{workspaceId}/versions", "abc", ""},
		{"/pages/abc/permissions", "/pages/{workspaceId}/permissions", "abc", ""},
		{"/pages/abc/home", "/pages/{workspaceId}/{slug}", "abc", "home"},
		{"/files/abc/f1.photo.png", "/files/{workspaceId}/{slug}.{name}", "abc", "f1.photo"},
		{"/hex/00ff", "/hex/{slug:[0-9a-f]{4}}", "", "00ff"},
		{"/runs/a/b/cancel", "/runs/{slug:.+}/cancel", "", "a/b"},
		{"/runs/a/b", "/runs/{slug:.+}", "", "a/b"},
		{"/apiKeys/k", "/{word:(?i:apikeys)}/{slug}", "", "k"},
		{"/elsewhere/k", "/{word}/{slug}", "", "k"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			a := w.do("GET", "/v2"+tt.path, "")
			require.Equal(t, 200, a.status, a.body)
			require.JSONEq(t, `{"row":"`+tt.row+`","w":"`+tt.workspace+`","slug":"`+tt.slug+`"}`, a.body)
		})
	}
}

func TestSurfaces(t *testing.T) {
	routes := append(table(gateway.Plain, "GET", "/", "/healthz"), table(gateway.Versioned, "GET", "/me")...)
	w := serve(t, append(routes, table(gateway.VersionedAndPlain, "GET", "/workspaces/{workspaceId}/export")...)...)
	tests := map[string]int{
		"/": 200, "/healthz": 200, "/healthz/": 200, "/v2/healthz": 404, "/v2/me": 200, "/v3/me": 200, "/v1/me": 200,
		"/me": 404, "/v4/me": 404, "/v2": 404, "/v2/": 404, "/workspaces/w/export": 200, "/v2/workspaces/w/export": 200,
		"/v2//me": 404, "//": 200, "/v2/workspaces//export": 404, "/v2/me/..": 404, "/V2/me": 404,
	}
	for path, status := range tests {
		t.Run(path, func(t *testing.T) {
			a := w.do("GET", path, "")
			require.Equal(t, status, a.status, a.body)
			if status == 404 {
				a.requireFailure(t, 404, domain.CodeNotFound)
			}
		})
	}
}

func TestMethods(t *testing.T) {
	routes := append(table(gateway.Versioned, "GET", "/things/{slug}"), table(gateway.Versioned, "DELETE", "/things/{slug}")...)
	w := serve(t, append(routes, table(gateway.Plain, gateway.AnyMethod, "/any")...)...)

	head := w.do("HEAD", "/v2/things/x", "")
	require.Equal(t, 200, head.status)
	require.Empty(t, head.body)
	require.NotEmpty(t, head.header.Get("Content-Length"))

	a := w.do("POST", "/v2/things/x", "")
	require.Equal(t, "method_not_allowed", a.requireFailure(t, 405, domain.CodeInvalidRequest).Details["reason"])
	require.Equal(t, "GET, HEAD, DELETE, OPTIONS", a.header.Get("Allow"))

	options := w.do("OPTIONS", "/v2/things/x", "")
	require.Equal(t, 204, options.status)
	require.Equal(t, "GET, HEAD, DELETE, OPTIONS", options.header.Get("Allow"))
	w.do("OPTIONS", "/v2/nothing", "").requireFailure(t, 404, domain.CodeNotFound)
	w.do("BREW", "/v2/things/x", "").requireFailure(t, 405, domain.CodeInvalidRequest)
	require.Equal(t, 200, w.do("PROPFIND", "/any", "").status)
}

func TestPathVariablesAreText(t *testing.T) {
	w := serve(t, table(gateway.Versioned, "GET", "/things/{slug}")...)
	for _, path := range []string{"/v2/things/%ff", "/v2/things/a%00b", "/v2/things/a%0Ab", "/v2/things/%C0%AF"} {
		f := w.do("GET", path, "").requireFailure(t, 400, domain.CodeInvalidParameter)
		require.Equal(t, "slug", f.Details["parameter"])
	}
}

func TestAConditionalRowGoesFirst(t *testing.T) {
	onPages := func(r *http.Request) bool { return r.Host == "site.pages.test" }
	w := serve(t, get("/", "api"), gateway.Route{
		Method: "GET", Path: "/{path:.*}", Permission: gateway.Public, When: onPages, Handler: returns("page", nil)})
	for _, path := range []string{"/v2/anything", "/v1/anything", "/"} {
		r := w.request("GET", path, "")
		r.Host = "site.pages.test"
		a := w.send(r)
		require.Equal(t, `"page"`, a.body)
		require.Empty(t, a.header.Get("Sunset"))
	}
	require.Equal(t, `"api"`, w.do("GET", "/", "").body)
}
