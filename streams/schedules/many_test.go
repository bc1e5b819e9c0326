package schedules_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/workspace"
)

// many opens a house with workspaces that have a thousand schedules each. The ones with
// a number below due are every five minutes, the others once a day, later.
func many(t testing.TB, workspaces, due int) (h *house, at func(minute, second int) time.Time) {
	t.Helper()
	h, at = clocked(t, 1)
	for w := range workspaces {
		entries := make([]workspace.Entry, 1000)
		for i := range entries {
			entries[i] = every(fmt.Sprintf("tick-%d", i), strconv.Itoa(i%60)+" "+strconv.Itoa(12+i%12)+" * * *")
			if i < due {
				entries[i] = every(fmt.Sprintf("tick-%d", i), "*/5 * * * *")
			}
		}
		id := fmt.Sprintf("many-%d", w)
		h.create(id, entries...)
	}
	h.first.fire()
	for w := range workspaces {
		h.registers(fmt.Sprintf("many-%d", w), 1000)
	}
	return h, at
}

// total is how many events of a type the workspaces have.
func (h *house) total(workspaces int, eventType string) (n int) {
	for w := range workspaces {
		n += len(h.sequences(fmt.Sprintf("many-%d", w), eventType))
	}
	return n
}

func TestThousandsOfSchedulesWaitForTheirTime(t *testing.T) {
	t.Parallel()
	began := time.Now()
	const workspaces, due = 10 / slowdown, 3
	h, at := many(t, workspaces, due)
	t.Logf("%d schedules were registered in %s", workspaces*1000, time.Since(began))
	h.clock.set(at(5, 0))
	began = time.Now()
	require.Eventually(t, func() bool { return h.total(workspaces, "runtime.schedules.triggered") == workspaces*due }, patience, tick)
	t.Logf("%d fired within %s", workspaces*due, time.Since(began))

	h.first.shut()
	h.clock.set(at(7, 0))
	h.first.restart()
	began = time.Now()
	h.first.fire()
	h.clock.set(at(10, 0))
	require.Eventually(t, func() bool { return h.total(workspaces, "runtime.schedules.triggered") == 2*workspaces*due }, patience, tick)
	t.Logf("a restart and %d firings took %s", workspaces*due, time.Since(began))
	require.Equal(t, 1000*workspaces, h.total(workspaces, "runtime.schedules.created"))
}

func BenchmarkManySchedulesAtOnce(b *testing.B) {
	const workspaces, due = 10, 1000
	h, at := many(b, workspaces, due)
	var firing time.Duration
	b.ResetTimer()
	for i := range b.N {
		began, wanted := time.Now(), (i+1)*workspaces*due
		h.clock.set(at(5*(i+1), 0))
		require.Eventually(b, func() bool { return h.total(workspaces, "runtime.schedules.triggered") == wanted }, time.Minute, 100*time.Millisecond)
		firing += time.Since(began)
		require.Eventually(b, func() bool { return h.total(workspaces, "runtime.automations.executed") == wanted }, time.Minute, 100*time.Millisecond)
	}
	b.ReportMetric(firing.Seconds()/float64(b.N), "s/10k-firings")
}
