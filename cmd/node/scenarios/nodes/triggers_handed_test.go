package nodes_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
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
	c, _, _ := newFragileCluster(t)
	here, there := c.newWorkspaceOfFirst(t)
	here.AddAutomations(t, `t: {when: {events: [go]}, do: [{fetch: {url: '`+slow.URL+`'}}, {emit: {event: done}}]}`)
	here.Emit(t, nodetest.RepeatText(4, `{"type":"go"}`))
	require.Eventually(t, func() bool { return asked.Load() == 4 }, time.Minute, 10*time.Millisecond)
	there.AwaitTrees(t, 4)
	c.one.Stop(t)
	there.AwaitEvents(t, 4, "done", "")
	require.Equal(t, "other", findReader(t, there))
	there.AwaitEvents(t, 4, "done", "")
	require.EqualValues(t, 4, asked.Load())
}
