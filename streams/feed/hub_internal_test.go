package feed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

func TestReadersBeginAgainAtOnceWhenTooMuchIsQueued(t *testing.T) {
	h := newHub(nil)
	reader, next, _ := h.joinTopic(topicOf("w1", Whole))
	items, more, lost := h.since(reader, next)
	require.Empty(t, items)
	require.False(t, lost)
	events := make([]domain.Recorded, hubQueue+1)
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	h.receive(domain.Activity, events[:hubQueue])
	select {
	case <-more:
		t.Fatal("nothing was given up yet")
	default:
	}
	h.receive(domain.Activity, events[hubQueue:])
	select {
	case <-more:
	default:
		t.Fatal("the reader sleeps until the next event comes")
	}
	_, _, lost = h.since(reader, next)
	require.True(t, lost, "what it waited for is in the index")
	require.Equal(t, domain.At(domain.Activity, hubQueue+1), h.position())
}
