//go:build fault

package versioning_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/gitsync/gittest"
)

// line is a place behind a network that fails.
type line struct {
	*gitWorkspace
	proxy  *gittest.Proxy
	clone  *gittest.Clone
	rng    *rand.Rand
	rounds int
	failed int    // pushes and pulls
	event  string // that was edited last
}

// traffic is how many bytes an undisturbed push or pull sends each way.
type traffic [2]int

func newLine(t *testing.T, h *fixture, seed, n uint64) *line {
	t.Helper()
	p := newGitWorkspace(t, h)
	l := &line{gitWorkspace: p, proxy: gittest.NewProxy(t, p.server.Address()), rng: rand.New(rand.NewPCG(seed, n))}
	p.repo.URL = strings.Replace(p.repo.URL, p.server.Address(), l.proxy.Address, 1)
	p.configure("")
	l.change()
	p.push("first")
	l.clone = p.repo.Clone()
	return l
}

// change edits what is here.
func (l *line) change() {
	l.rounds++
	l.event = fmt.Sprintf("charged-%d", l.rounds)
	l.edit(l.rng, l.event)
}

// measured returns the traffic of something that succeeds.
func (l *line) measured(do func()) traffic {
	l.proxy.Arm(gittest.Up, -1)
	do()
	return traffic{l.proxy.Passed(gittest.Up), l.proxy.Passed(gittest.Down)}
}

// cut lets the network fail once so and so many bytes have passed: for a moment,
// a little longer, or until further notice.
func (l *line) cut(of traffic, outage bool) {
	d := gittest.Direction(l.rng.IntN(2))
	after, times := l.rng.IntN(of[d]), 1+l.rng.IntN(5)/4
	if outage {
		times = 0
	}
	l.proxy.Disturb(d, after, times)
}

// restore ends the failure and reports whether there was one.
func (l *line) restore() bool {
	cuts := l.proxy.Cuts()
	l.proxy.Arm(gittest.Up, -1)
	return cuts > 0
}

// requireConsistent asserts what must hold after a push or a pull, cut off or not.
func (l *line) requireConsistent(status int) {
	l.t.Helper()
	require.Nil(l.t, l.workspace()["writeLock"], "the lock was not released")
	require.Contains(l.t, []int{200, 201, 202, 503}, status)
	if status == 503 {
		l.failed++
	}
	l.consistent(l.event)
}

// pushCut pushes over a network that fails, and then over one that does not.
func (l *line) pushCut(of traffic, outage bool) (failed bool) {
	l.t.Helper()
	l.change()
	l.cut(of, outage)
	status := l.attempt("/versions", toVersion(fmt.Sprintf("cut-%d", l.rounds)))
	failed = l.restore()
	l.requireConsistent(status)
	if status == 201 {
		require.False(l.t, l.isDirty())
	}
	l.push(fmt.Sprintf("later-%d", l.rounds))
	require.False(l.t, l.isDirty())
	l.consistent(l.event)
	return failed
}

// pullCut pulls what another developer pushed, with a change here.
func (l *line) pullCut(of traffic, outage bool) (failed bool) {
	l.t.Helper()
	l.change()
	theirs := fmt.Sprintf("refunded-%d", l.rounds)
	other(l.clone, theirs)
	before := l.emittedEvent("refund")
	l.cut(of, outage)
	status := l.attempt("/pull", toOrigin)
	failed = l.restore()
	l.requireConsistent(status)
	if now := l.emittedEvent("refund"); status == 200 {
		require.Equal(l.t, theirs, now)
	} else if status == 503 {
		require.Equal(l.t, before, now, "a pull that failed changed something")
	}
	l.pull()
	require.Equal(l.t, theirs, l.emittedEvent("refund"))
	l.consistent(l.event)
	return failed
}

// Wherever the connection to the repository is cut during a push or a pull:
// dirty is never false without the change being there, no push commits twice,
// nothing that was edited is lost, the lock is released, and it can be done again.
func TestFaultCutsDuringPushAndPull(t *testing.T) {
	t.Parallel()
	const lines = 6
	h, seed, start := newFixture(t), nodetest.Seed(), time.Now()
	t.Logf("FAULT_SEED=%d", seed)
	each := (nodetest.Cycles(102, 2000) + lines - 1) / lines
	var cuts, outages, failed, versions atomic.Int64
	t.Run("lines", func(t *testing.T) {
		for n := range lines {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				l := newLine(t, h, seed, uint64(n))
				l.change()
				push := l.measured(func() { l.push("measured") })
				l.change()
				other(l.clone, "measured")
				pull := l.measured(func() { l.pull() })
				for done := 0; done < each; {
					outage := done == n%each // one in each line does not pass by itself
					one, of := l.pushCut, push
					if l.rounds%2 == 0 {
						one, of = l.pullCut, pull
					}
					if one(of, outage) {
						done++
						cuts.Add(1)
						if outage {
							outages.Add(1)
						}
					}
				}
				failed.Add(int64(l.failed))
				versions.Add(int64(l.requireVersionsPushed()))
			})
		}
	})
	nodetest.Report(t, "git-cuts", map[string]any{
		"seed": seed, "cuts": cuts.Load(), "outages": outages.Load(), "failed": failed.Load(), "versions": versions.Load(), "seconds": int(time.Since(start).Seconds()),
	})
}
