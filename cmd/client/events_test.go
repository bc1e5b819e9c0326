package client_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/client"
)

// serveEvents answers with events and breaks off.
func serveEvents(events string) http.HandlerFunc {
	return streams("retry: 2000\n\n: here\n\n" + events)
}

func event(id int) string { return fmt.Sprintf("id: s%d\ndata: {\"n\":%d}\n\n", id, id) }

// tailIDs collects what a tail tells until there are n.
func tailIDs(t *testing.T, c *client.Client, n int) (ids []string, err error) {
	t.Helper()
	err = c.Tail(t.Context(), "/workspaces/w/events/stream?fromSeq=s0", func(f client.Frame) bool {
		ids = append(ids, f.ID)
		return len(ids) < n
	})
	return ids, err
}

func TestATailGoesOnAfterTheLastEvent(t *testing.T) {
	s, c := newScript(t, serveEvents("id: s0\n\n"), serveEvents(event(1)+event(2)+"id: s3\nda"), abortConnection, answers(503, busy), serveEvents(""), serveEvents(event(3)+event(4)+event(5)))
	ids, err := tailIDs(t, c, 4)
	require.NoError(t, err)
	require.Equal(t, []string{"s1", "s2", "s3", "s4"}, ids)
	asked := s.requests()
	require.Len(t, asked, 6)
	require.Empty(t, asked[0].Header.Get("Last-Event-ID"))
	require.Equal(t, "s0", asked[1].Header.Get("Last-Event-ID"), "told without an event")
	for _, r := range asked {
		require.Equal(t, "/v2/workspaces/w/events/stream?fromSeq=s0", r.URL.RequestURI())
		require.Equal(t, "text/event-stream", r.Header.Get("Accept"))
	}
	for _, r := range asked[2:] {
		require.Equal(t, "s2", r.Header.Get("Last-Event-ID"))
	}
}

func TestATailThatIsRefusedEnds(t *testing.T) {
	const expired = `{"error":"invalid_request","message":"too old","details":{"reason":"position_expired"},"requestId":"r1"}`
	for name, handlers := range map[string][]http.HandlerFunc{
		"at once":   {answers(410, expired)},
		"later":     {serveEvents(event(1)), answers(410, expired)},
		"by nobody": {abortConnection}, // a service that was never there is not waited for
		"no stream": {answers(200, `{}`)},
	} {
		_, c := newScript(t, handlers...)
		_, err := tailIDs(t, c, 10)
		require.Error(t, err, name)
	}
}

func TestATailEndsWithItsContext(t *testing.T) {
	_, c := newScript(t, serveEvents(event(1)))
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, c.Tail(ctx, "/events/stream", func(client.Frame) bool {
		cancel()
		return true
	}))
}

func TestWhatBelongsToTheSystemHasNoVersion(t *testing.T) {
	s, c := newScript(t, answers(200, `[]`))
	c.Key = "key"
	var all []any
	require.NoError(t, c.Get(t.Context(), "/sys/nats/users", &all))
	require.Equal(t, "/sys/nats/users", s.requests()[0].URL.Path)
	require.Equal(t, "key", s.requests()[0].Header.Get("X-Svc-Api-Key"))
}
