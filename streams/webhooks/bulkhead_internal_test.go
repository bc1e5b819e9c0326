package webhooks

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// fillBulkhead takes as many places as a workspace gets for subscriptions, one after another.
func fillBulkhead(b *bulkhead, workspaceID string, subscriptions int, well bool) (taken int) {
	for range subscriptions {
		for have := 0; have < maxPerSubscription && b.acquire(workspaceID, have, well, make(chan struct{}, 1)); have++ {
			taken++
		}
	}
	return taken
}

func TestAWorkspaceWhoseReceiversAllHangLeavesPlacesToOthers(t *testing.T) {
	t.Parallel()
	b := newBulkhead()
	taken := fillBulkhead(b, "w1", 100, true)
	require.LessOrEqual(t, taken, maxPerNode/2, "although each of its receivers did well before")
	require.Equal(t, maxPerSubscription, fillBulkhead(b, "w2", 1, true))
	for range taken {
		b.release("w1", true)
	}
	require.Equal(t, map[string]int{"w2": maxPerSubscription}, b.used, "what is given back is forgotten")
}

func TestReceiversThatNobodyKnowsLeaveHalfToThoseThatDoWell(t *testing.T) {
	t.Parallel()
	b := newBulkhead()
	for i := range 10 {
		fillBulkhead(b, "new"+strconv.Itoa(i), 100, false)
	}
	require.Equal(t, maxPerNode-healthyReserve, b.free)
	require.Positive(t, fillBulkhead(b, "w", 1, true))
}
