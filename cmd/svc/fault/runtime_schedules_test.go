//go:build fault

package fault

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain/automation"
)

const ticking = `
tick: {when: {schedules: ['* * * * *']}, do: [{'set global.ticks[]': '{{run.trigger.id}}'}, {emit: {event: ticked}}]}
last: {when: {events: [last]}, do: []}`

// zone is a time zone whose clocks are so many seconds ahead, so that a test has a full
// minute when it needs one: the service is told of it as of any other.
type zone struct{ dir string }

// variables make a service reckon schedules in the zone.
func (z zone) variables() []string {
	return []string{"ZONEINFO=" + z.dir, "SCHEDULES_TIMEZONE=Fault/Soon"}
}

// setFullMinute lets a minute be full at a time, and every sixty seconds before and after it.
func (z zone) setFullMinute(t *testing.T, at time.Time) {
	t.Helper()
	ahead := (60 - at.Unix()%60) % 60
	file := append([]byte("TZif"), make([]byte, 16)...)
	for _, count := range []uint32{0, 0, 0, 0, 1, 4} { // one type of local time, and its name
		file = binary.BigEndian.AppendUint32(file, count)
	}
	file = binary.BigEndian.AppendUint32(file, uint32(ahead))
	file = append(file, 0, 0) // no summer time; the name begins at 0
	file = append(file, "FLT\x00"...)
	require.NoError(t, os.MkdirAll(filepath.Join(z.dir, "Fault"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(z.dir, "Fault", "Soon"), file, 0o600))
}

// nextFullSecond is a full second, at least so much from now.
func nextFullSecond(d time.Duration) time.Time {
	return time.Now().Add(d + time.Second).Truncate(time.Second)
}

// until waits for a time.
func until(at time.Time) { <-time.After(time.Until(at)) }

// awaitFirings waits until a schedule has fired so often, and returns the last event of it.
// Some time later it has not fired once more.
func (h *fixture) awaitFirings(t *testing.T, n int) seen {
	t.Helper()
	all := h.awaitEvents(t, n, "runtime.schedules.triggered", "")
	h.awaitEvents(t, n, executed, "payload.slug=tick")
	require.Never(t, func() bool { return len(h.recorded("runtime.schedules.triggered", "")) > n }, 700*time.Millisecond, 50*time.Millisecond)
	return all[n-1]
}

// What was missed while the service was down is made up for once, and a minute in which
// it is killed fires once all the same. With a clock of their own, streams/schedules
// tests what is missed for hours.
func TestSchedulesFireOnceOverKills(t *testing.T) {
	t.Parallel()
	seed := nodetest.Seed()
	rng := rand.New(rand.NewPCG(seed, 9))
	z := zone{t.TempDir()}
	s, start := newService(t, z.variables()...), time.Now()
	marks := nodetest.Cycles(1, 3)
	z.setFullMinute(t, nextFullSecond(40*time.Second))
	s.start(t)
	h := newFixture(t, s, ticking)
	h.awaitEvents(t, 1, "runtime.schedules.created", "")
	h.kill()
	missed := nextFullSecond(time.Second)
	z.setFullMinute(t, missed)
	until(missed.Add(time.Duration(marks-1)*time.Minute + 300*time.Millisecond))
	h.start(t)
	first := h.awaitFirings(t, 1)
	require.Equal(t, true, first.Payload["late"])
	require.Equal(t, missed.Add(time.Duration(marks-1)*time.Minute).UTC().Format(time.RFC3339), trimmed(first), "the last of those that were missed")
	kills := h.killAroundMinutes(t, z, rng, nodetest.Cycles(2, 30))
	h.awaitEvents(t, 1, "runtime.schedules.created", "") // it was registered once and stayed so
	h.awaitIdle(t)
	h.verify(t)
	s.stop(t)
	l := readLedger(t, h)
	for id, tree := range l.calls { // by the correlation id of the firing
		require.Equal(t, 1, tree.interactions, id)
		require.Len(t, tree.ends, 1, id)
		require.Contains(t, []string{"", automation.ExecutionInterrupt}, tree.fault(), id)
	}
	nodetest.Report(t, "runtime-schedules", map[string]any{
		"seed": seed, "missed": marks, "late": 1, "kills": kills + 1, "doubled": 0, "lost": 0, "seconds": int(time.Since(start).Seconds()),
	})
}

// killAroundMinutes kills the service at moments around full minutes: each fires once. It
// returns how often it was killed.
func (h *fixture) killAroundMinutes(t *testing.T, z zone, rng *rand.Rand, cycles int) (kills int) {
	t.Helper()
	for i := range cycles {
		h.stop(t) // so that it knows until when it looked: no minute of the new zone was missed
		at := nextFullSecond(1500 * time.Millisecond)
		z.setFullMinute(t, at)
		h.start(t)
		until(at.Add(time.Duration(rng.IntN(300)-20) * time.Millisecond))
		h.kill()
		h.start(t)
		kills++
		last := h.awaitFirings(t, i+2)
		require.Equal(t, at.UTC().Format(time.RFC3339), trimmed(last))
	}
	return kills
}

// trimmed is the time that a schedule fired for, to the second.
func trimmed(e seen) string {
	text, _ := e.Payload["scheduledAt"].(string)
	at, _ := time.Parse(time.RFC3339, text) // none is no time that is expected
	return at.UTC().Format(time.RFC3339)
}
