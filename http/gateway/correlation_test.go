package gateway_test

import (
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/http/gateway"
)

// seen is a route that shows what reached the handler.
func seen(look func(*http.Request) any) gateway.Route {
	return gateway.Route{Method: "GET", Path: "/seen", Surface: gateway.VersionedAndPlain, Permission: gateway.Public,
		Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) { return look(r), nil })}
}

func TestEveryAnswerHasAFreshCorrelationID(t *testing.T) {
	w := serve(t, seen(func(r *http.Request) any { return gateway.CorrelationID(r.Context()) }))
	uuid := regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	ids := map[string]bool{}
	for _, path := range []string{"/seen", "/seen", "/unknown", "/v9", "/seen?a=" + strings.Repeat("x", 9000)} {
		id := w.do("GET", path, "", "X-Correlation-Id", "mine").header.Get("X-Correlation-Id")
		require.Regexp(t, uuid, id)
		require.False(t, ids[id])
		ids[id] = true
	}
	a := w.do("GET", "/seen", "")
	require.Equal(t, `"`+a.header.Get("X-Correlation-Id")+`"`, a.body)
}

func TestTraceContext(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	w := serve(t, seen(func(r *http.Request) any {
		return []string{commands.RequestFrom(r.Context()).Meta.TraceID, gateway.Traceparent(r.Context())}
	}))
	tests := map[string]bool{
		"00-" + id + "-00f067aa0ba902b7-01":             true,
		"00-" + id + "-00f067aa0ba902b7-00":             true,
		"cc-" + id + "-00f067aa0ba902b7-01-what-is-new": true,
		"":                                  false,
		"ff-" + id + "-00f067aa0ba902b7-01": false,
		"00-" + id + "-00f067aa0ba902b7-01-extra":                false,
		"00-" + strings.ToUpper(id) + "-00f067aa0ba902b7-01":     false,
		"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01": false,
		"00-" + id + "-0000000000000000-01":                      false,
		"00-" + id + "-00f067aa0ba902b7-0x":                      false,
		"00-" + id + "-00f067aa0ba902b7":                         false,
		"hello":                                                  false,
	}
	for header, continued := range tests {
		t.Run(header, func(t *testing.T) {
			a := w.do("GET", "/seen", "", "Traceparent", header)
			parent := a.header.Get("Traceparent")
			require.Regexp(t, `^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$`, parent)
			require.Equal(t, continued, strings.Contains(parent, id))
			require.NotContains(t, parent, "00f067aa0ba902b7", "our span is not the client's")
			require.JSONEq(t, `["`+parent[3:35]+`","`+parent+`"]`, a.body)
		})
	}
	twice := w.do("GET", "/seen", "", "Traceparent", "00-"+id+"-00f067aa0ba902b7-01", "Traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	require.NotContains(t, twice.header.Get("Traceparent"), id)
}

func TestTheCauseOfEvents(t *testing.T) {
	opts := gateway.Options{
		Routes: []gateway.Route{seen(func(r *http.Request) any { return commands.RequestFrom(r.Context()).Meta })},
		Host:   domain.Host{Service: "svc", Replica: "node-1"},
		NewID:  func() string { return "c1" },
		Settings: func() gateway.Settings {
			return gateway.Settings{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
		},
	}
	w := start(t, opts)
	a := w.do("GET", "/v2/seen?x=1", "", "Authorization", "Bearer ann", "X-Forwarded-For", "8.8.8.8",
		"Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	require.JSONEq(t, `{"userId":"u1","sessionId":"s1","correlationId":"c1","traceId":"4bf92f3577b34da6a3ce929d0e0e4736",
		"ip":"8.8.8.8","host":{"service":"svc","replica":"node-1"},
		"http":{"method":"GET","path":"/v2/seen","hostname":"127.0.0.1"}}`, a.body)
	private := w.do("GET", "/seen", "", "X-Forwarded-For", "10.1.2.3", "X-Svc-Api-Key", "key")
	require.NotContains(t, private.body, "10.1.2.3")
	require.Contains(t, private.body, `"userId":"key:key_1"`)
}

func TestClientAddress(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
	look := seen(func(r *http.Request) any { return []any{gateway.ClientIP(r), gateway.Secure(r)} })
	behind := start(t, gateway.Options{Routes: []gateway.Route{look},
		Settings: func() gateway.Settings { return gateway.Settings{TrustedProxies: trusted} }})
	tests := []struct{ forwarded, proto, want string }{
		{"", "", `["127.0.0.1",false]`},
		{"8.8.8.8", "https", `["8.8.8.8",true]`},
		{"1.1.1.1, 8.8.8.8", "", `["8.8.8.8",false]`},
		{"1.1.1.1, 8.8.8.8, 10.0.0.1", "", `["8.8.8.8",false]`},
		{"10.0.0.2, 10.0.0.1", "", `["10.0.0.2",false]`},
		{"8.8.8.8, <script>", "", `["127.0.0.1",false]`},
		{"8.8.8.8, nonsense, 10.0.0.1", "", `["10.0.0.1",false]`},
		{"[2001:db8::1]:443", "", `["2001:db8::1",false]`},
		{"::ffff:8.8.8.8", "", `["8.8.8.8",false]`},
		{"8.8.8.8:1234", "", `["8.8.8.8",false]`},
	}
	for _, tt := range tests {
		a := behind.do("GET", "/seen", "", "X-Forwarded-For", tt.forwarded, "X-Forwarded-Proto", tt.proto)
		require.JSONEq(t, tt.want, a.body, tt.forwarded)
		require.Equal(t, tt.proto == "https", a.header.Get("Strict-Transport-Security") != "")
	}
	direct := serve(t, look).do("GET", "/seen", "", "X-Forwarded-For", "8.8.8.8", "X-Forwarded-Proto", "https")
	require.JSONEq(t, `["127.0.0.1",false]`, direct.body, "nobody is believed who is not trusted")
	require.Empty(t, direct.header.Get("Strict-Transport-Security"))
}

func TestHeadersAreCleaned(t *testing.T) {
	w := serve(t, seen(func(r *http.Request) any { return r.Header }))
	a := w.do("GET", "/seen", "", "x-svc-user-id", "admin", "X-SVC-ROLE", "superAdmin", "x-svc-session-id", "s", "x-svc-workspace-id", "w",
		"x-svc-auth-data", "{}", "x-svc-whatever", "1", "x_svc_user_id", "admin", "X-Custom", "stays", "X-Svc-Min-Seq", "7", "Cookie", "a=b")
	require.NotContains(t, a.body, "admin")
	require.NotContains(t, strings.ToLower(a.body), "x-svc-whatever")
	require.NotContains(t, a.body, "X-Svc-Session-Id")
	require.NotContains(t, a.body, "Cookie")
	require.Contains(t, a.body, "X-Custom")
	require.Contains(t, a.body, "X-Svc-Min-Seq")

	b := w.do("GET", "/seen", "", "Authorization", "Bearer runtime", "X-Svc-User-Id", "admin", "X-Svc-Api-Key", "key")
	for _, want := range []string{`"X-Svc-User-Id":["u4"]`, `"X-Svc-Session-Id":["s4"]`, `"X-Svc-Workspace-Id":["w9"]`, `"X-Svc-Auth-Data":["{\"a\":1}"]`} {
		require.Contains(t, b.body, want)
	}
	require.NotContains(t, b.body, "Authorization")
	require.NotContains(t, b.body, "X-Svc-Api-Key")
	require.Equal(t, "s4", b.header.Get("X-Svc-Session-Id"))
}

func TestOversizedURLAndHeaders(t *testing.T) {
	w := serve(t, get("/x", 1))
	long := w.do("GET", "/x?a="+strings.Repeat("a", 8<<10), "")
	require.Equal(t, "url_too_long", long.requireFailure(t, 414, domain.CodeInvalidRequest).Details["reason"])
	big := w.do("GET", "/x", "", "X-Big", strings.Repeat("a", 33<<10))
	require.Equal(t, "headers_too_large", big.requireFailure(t, 431, domain.CodeInvalidRequest).Details["reason"])
	require.Equal(t, 200, w.do("GET", "/x?a="+strings.Repeat("a", 7<<10), "", "X-Big", strings.Repeat("a", 30<<10)).status)
}
