package gateway_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func TestV1RetiresByTheClock(t *testing.T) {
	routes := []gateway.Route{{Method: "GET", Path: "/me", Surface: gateway.Versioned, Permission: gateway.Public, Handler: returns("me", nil)}}
	last := time.Date(2025, 12, 30, 23, 59, 59, 0, time.UTC)

	before := start(t, gateway.Options{Routes: routes, Now: at(last)}).do("GET", "/v1/me", "")
	require.Equal(t, 200, before.status)
	require.Equal(t, "v1 retires on 2025-12-31; migrate to v2", before.header.Get("X-Svc-Api-Deprecation"))
	require.Equal(t, "Wed, 31 Dec 2025 00:00:00 GMT", before.header.Get("Sunset"))
	require.Equal(t, `</v2>; rel="successor-version"`, before.header.Get("Link"))
	require.Regexp(t, `^@\d+$`, before.header.Get("Deprecation"))

	w := start(t, gateway.Options{Routes: routes, Now: at(last.Add(time.Second))})
	for _, path := range []string{"/v1/me", "/v1/never/was", "/v1"} {
		after := w.do("GET", path, "")
		f := after.requireFailure(t, 410, domain.CodeInvalidRequest)
		require.Equal(t, map[string]any{"reason": "api_version_retired", "retiredOn": "2025-12-31", "migrateTo": "v2"}, f.Details)
		require.NotEmpty(t, after.header.Get("Sunset"))
		require.Empty(t, after.header.Get("X-Svc-Api-Deprecation"))
	}
	stable := w.do("GET", "/v2/me", "")
	require.Equal(t, 200, stable.status)
	require.Empty(t, stable.header.Get("Sunset"))
}

func TestRevisions(t *testing.T) {
	w := serve(t, get("/x", 1))
	for asked, status := range map[string]int{
		"": 200, "2025-01-01": 200, "2024-01-01": 200, "2030-05-05": 200,
		"yesterday": 400, "2025-13-01": 400, "2025-1-1": 400, "2025-01-01T00:00:00Z": 400,
	} {
		a := w.do("GET", "/x", "", "X-Svc-API-Version", asked)
		require.Equal(t, status, a.status, asked)
		require.Equal(t, "2025-01-01", a.header.Get("X-Svc-Api-Version-Used"))
		if status == 400 {
			a.requireFailure(t, 400, domain.CodeInvalidParameter)
		}
	}
	require.Equal(t, "2025-01-01", w.do("GET", "/unknown", "").header.Get("X-Svc-Api-Version-Used"))
}

func TestVersionsAt(t *testing.T) {
	require.Equal(t, []gateway.VersionInfo{
		{Version: "v1", State: gateway.Deprecated, Revisions: []string{"2025-01-01"}, RetiredOn: "2025-12-31"},
		{Version: "v2", State: gateway.Stable, Revisions: []string{"2025-01-01"}},
		{Version: "v3", State: gateway.Beta, Revisions: []string{"2025-01-01"}},
	}, gateway.VersionsAt(noon))
	require.Equal(t, gateway.Retired, gateway.VersionsAt(noon.AddDate(1, 0, 0))[0].State)
}
