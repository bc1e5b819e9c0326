package ratelimit

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAFullWorkspaceHasRoomWhenAWindowIsOver(t *testing.T) {
	var l live
	start := time.UnixMilli(0)
	short, long := Use{Window: time.Second}, Use{Window: time.Hour}
	require.True(t, l.admit("w1", "short", short, start, 3))
	require.True(t, l.admit("w1", "long", long, start, 3))
	require.True(t, l.admit("w1", "longer", long, start, 3))
	require.False(t, l.admit("w1", "more", long, start, 3))
	require.True(t, l.admit("w1", "long", long, start, 3), "it is one of them")
	require.True(t, l.admit("w2", "more", long, start, 3))

	later := start.Add(2 * time.Second)
	require.True(t, l.admit("w1", "more", long, later, 3))
	require.False(t, l.admit("w1", "most", long, later.Add(time.Minute), 3))
	for i := range 3 {
		require.True(t, l.admit("w1", strconv.Itoa(i), long, start.Add(time.Hour), 3))
	}
}
