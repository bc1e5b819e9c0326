package gateway_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/gateway"
)

// BenchmarkServe is the cost of the whole chain for a signed-in read, in a
// table of two hundred rows.
func BenchmarkServe(b *testing.B) {
	var routes []gateway.Route
	for i := range 200 {
		routes = append(routes, gateway.Route{Method: "GET", Path: fmt.Sprintf("/workspaces/{workspaceId}/kind%d/{slug:.+}", i), Surface: gateway.Versioned,
			Permission: gateway.Action{Action: "read", Subject: "pages"}, Handler: returns(map[string]int{"a": 1}, nil)})
	}
	g, err := gateway.New(gateway.Options{Routes: routes, Authenticator: fixture{}, Authorizer: fixture{},
		Settings: func() gateway.Settings {
			return gateway.Settings{DisableRateLimit: false, RateLimits: map[gateway.RateClass]int64{gateway.RateRequests: 1 << 40}}
		}})
	require.NoError(b, err)
	defer func() { require.NoError(b, g.Close(context.Background())) }()
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("GET", "/v2/workspaces/w1/kind150/home", nil)
		r.Header.Set("Authorization", "Bearer ann")
		w := httptest.NewRecorder()
		if g.ServeHTTP(w, r); w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}
