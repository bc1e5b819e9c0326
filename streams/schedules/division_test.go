package schedules_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsLeftGoesOnWhenANodeIsNoLongerAlone(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, stuck("tick"))
	n := h.first
	n.paces.set(true)
	n.fire()
	h.registers("w1", 1)
	h.clock.set(at(5, 0))
	h.begins(1)
	n.shut()
	n.paces.set(false)

	h.clock.set(at(11, 0))
	n.hold = always
	n.restart()
	n.fire()
	require.Equal(t, fired{"tick", "*/5 * * * *", stamp(at(10, 0)), true}, h.fires("w1", 2)[1], "what was missed is made up for")
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 2 }, patience, tick, "what did not end is begun again")
	n.paces.set(true)
	h.clock.set(at(15, 0))
	h.begins(1)
	n.shut()
	n.paces.set(false)

	h.clock.set(at(21, 0))
	n.hold = nil
	n.restart()
	n.fire()
	require.Equal(t, fired{"tick", "*/5 * * * *", stamp(at(20, 0)), true}, h.fires("w1", 4)[3])
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 4 }, patience, tick)
	require.Len(t, h.firings("w1"), 4)
}
