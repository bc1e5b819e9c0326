package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

type leaf struct{}

// ETag implements gateway.Tagged.
func (leaf) ETag() string { return "b" }

func TestHeadersThatAreSentTwice(t *testing.T) {
	read := gateway.Route{Method: "GET", Path: "/x", Surface: gateway.Versioned, Permission: gateway.Public, Handler: returns(leaf{}, nil)}
	w := serve(t, read)
	require.Equal(t, 304, w.do("GET", "/v2/x", "", "If-None-Match", `"a"`, "If-None-Match", `"b"`).status)
	for _, name := range []string{"Content-Type", "X-Svc-API-Version", "x-svc-min-seq"} {
		f := w.do("GET", "/v2/x", "", name, "2025-01-01", name, "2025-01-01").requireFailure(t, 400, domain.CodeInvalidParameter)
		require.Equal(t, name, f.Details["parameter"])
	}
}

func TestAQueryThatCannotBeRead(t *testing.T) {
	w := serve(t, get("/x", 1))
	for _, query := range []string{"%zz", "a=%", "a=1&b=%4"} {
		f := w.do("GET", "/x?"+query, "").requireFailure(t, 400, domain.CodeInvalidParameter)
		require.Equal(t, "query", f.Details["parameter"])
	}
	require.Equal(t, 200, w.do("GET", "/x?a=%41+b&c;d", "").status, "what a route makes of it is its own matter")
}
