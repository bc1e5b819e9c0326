package gateway_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/gateway"
)

func TestCrossOrigin(t *testing.T) {
	hook := gateway.Route{Method: "POST", Path: "/hook", Permission: gateway.Public, AnyOrigin: true, Handler: returns(1, nil)}
	w := start(t, gateway.Options{Routes: []gateway.Route{get("/x", 1), hook}, Settings: func() gateway.Settings {
		return gateway.Settings{Origins: []string{"https://console.test", "https://*.pages.test", "http://localhost:3000", "not an origin"}}
	}})
	tests := []struct {
		method, path, origin string
		allowed, credentials string
	}{
		{"GET", "/x", "https://console.test", "https://console.test", "true"},
		{"GET", "/x", "https://site.pages.test", "https://site.pages.test", "true"},
		{"GET", "/x", "http://localhost:3000", "http://localhost:3000", "true"},
		{"GET", "/x", "https://evil.test", "", ""},
		{"GET", "/x", "null", "", ""},
		{"GET", "/x", "https://pages.test.evil.test", "", ""},
		{"GET", "/unknown", "https://console.test", "https://console.test", "true"},
		{"POST", "/hook", "https://evil.test", "*", ""},
		{"POST", "/hook", "https://console.test", "https://console.test", "true"},
	}
	for _, tt := range tests {
		a := w.do(tt.method, tt.path, "", "Origin", tt.origin)
		require.Equal(t, tt.allowed, a.header.Get("Access-Control-Allow-Origin"), "%s %s", tt.path, tt.origin)
		require.Equal(t, tt.credentials, a.header.Get("Access-Control-Allow-Credentials"))
		require.NotEmpty(t, a.header.Get("X-Correlation-Id"))
	}
	exposed := w.do("GET", "/x", "", "Origin", "https://console.test").header.Get("Access-Control-Expose-Headers")
	require.Contains(t, exposed, "x-svc-seq")
	require.Contains(t, w.log.String(), "CORS origin left out")
}

func TestPreflight(t *testing.T) {
	hook := gateway.Route{Method: "POST", Path: "/hook", Permission: gateway.Public, AnyOrigin: true, Handler: returns(1, nil)}
	secret := gateway.Route{Method: "PATCH", Path: "/x", Permission: gateway.Auth, NoScope: true, Handler: returns(1, nil)}
	w := start(t, gateway.Options{Routes: []gateway.Route{secret, hook}, Settings: func() gateway.Settings {
		return gateway.Settings{Origins: []string{"https://console.test"}}
	}})
	ask := func(path, origin, method string) answer {
		return w.do("OPTIONS", path, "", "Origin", origin, "Access-Control-Request-Method", method,
			"Access-Control-Request-Headers", "content-type,x-svc-csrf-token")
	}
	a := ask("/x", "https://console.test", "PATCH")
	require.Equal(t, 204, a.status)
	require.Equal(t, "600", a.header.Get("Access-Control-Max-Age"))
	require.Equal(t, "PATCH", a.header.Get("Access-Control-Allow-Methods"))
	require.NotEmpty(t, a.header.Get("Access-Control-Allow-Headers"))
	require.NotEmpty(t, a.header.Get("X-Correlation-Id"))

	stranger := ask("/x", "https://evil.test", "PATCH")
	require.Equal(t, 204, stranger.status)
	require.Empty(t, stranger.header.Get("Access-Control-Allow-Origin"))

	for _, vain := range []answer{ask("/x", "https://console.test", "DELETE"), ask("/x", "https://console.test", "BREW"), ask("/unknown", "https://console.test", "GET")} {
		require.Equal(t, 204, vain.status)
		require.Empty(t, vain.header.Get("Access-Control-Allow-Methods"))
	}

	require.Equal(t, "*", ask("/hook", "https://evil.test", "POST").header.Get("Access-Control-Allow-Origin"))
}

func TestOriginsAreLive(t *testing.T) {
	var origins atomic.Pointer[[]string]
	origins.Store(&[]string{})
	w := start(t, gateway.Options{Routes: []gateway.Route{get("/x", 1)}, Settings: func() gateway.Settings {
		return gateway.Settings{Origins: *origins.Load()}
	}})
	allowed := func() string {
		return w.do("GET", "/x", "", "Origin", "https://new.test").header.Get("Access-Control-Allow-Origin")
	}
	require.Empty(t, allowed())
	origins.Store(&[]string{"https://new.test"})
	require.Equal(t, "https://new.test", allowed())
	origins.Store(&[]string{"https://old.test"})
	require.Empty(t, allowed())
	origins.Store(&[]string{})
	require.Empty(t, allowed())
}
