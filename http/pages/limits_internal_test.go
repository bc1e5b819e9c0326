package pages

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

func TestEventsOfASessionAreLimited(t *testing.T) {
	t.Parallel()
	var l eventLimit
	now := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	for range eventBurst {
		require.NoError(t, l.take("s1", now))
	}
	require.Equal(t, domain.CodeRateLimit, domain.CodeOf(l.take("s1", now)))
	require.NoError(t, l.take("s2", now))
	now = now.Add(time.Second)
	for range eventsPerSecond {
		require.NoError(t, l.take("s1", now))
	}
	require.Error(t, l.take("s1", now))
}

// Who sends no cookie would have a session for each event.
func TestEventsWithoutASessionAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := New(Options{PagesHost: func() string { return "" }, Now: func() time.Time { return now }})
	g, err := gateway.New(gateway.Options{Routes: []gateway.Route{{Method: http.MethodGet, Path: "/x", Permission: gateway.Public, OwnAuth: true, Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) {
		return 1, (&visit{Pages: p, request: r}).limitEvents()
	})}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close(context.Background())) })
	send := func(address string) int {
		r, rec := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x", nil), httptest.NewRecorder()
		r.RemoteAddr = address
		g.ServeHTTP(rec, r)
		return rec.Code
	}
	for range eventBurst {
		require.Equal(t, http.StatusOK, send("203.0.113.7:1"))
	}
	require.Equal(t, http.StatusTooManyRequests, send("203.0.113.7:2"))
	require.Equal(t, http.StatusOK, send("203.0.113.8:1"))
}
