package node_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A node that stops lets what events started come to its end, and nobody begins it a
// second time meanwhile.
func TestANodeThatStopsDoublesNothing(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-time.After(3500 * time.Millisecond):
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	c, _, _ := newUneasy(t)
	here, there := c.ours(t)
	here.has(t, `t: {when: {events: [go]}, do: [{fetch: {url: '`+slow.URL+`'}}, {emit: {event: done}}]}`)
	here.emits(t, many(4, `{"type":"go"}`))
	require.Eventually(t, func() bool { return asked.Load() == 4 }, 20*time.Second, 10*time.Millisecond)
	there.awaitsTrees(t, 4)
	c.one.stop(t)
	there.awaits(t, 4, "done", "")
	require.Equal(t, "other", there.probed(t))
	there.awaits(t, 4, "done", "")
	require.EqualValues(t, 4, asked.Load())
}
