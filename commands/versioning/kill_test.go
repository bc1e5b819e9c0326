//go:build fault

package versioning_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// recovery is within what an operation of a process that is gone is settled.
const recovery = 30 * time.Second

// stop ends the process in good order.
func (h *fixture) stop() {
	if h.cmd != nil {
		_ = h.cmd.Process.Signal(syscall.SIGTERM)
		<-h.gone
		h.cmd = nil
	}
}

// caught is a workspace whose push or pull is held at some point when its process
// ends, and what must have become of it.
type caught struct {
	*gate
	name   string
	path   string // that was asked
	refuse bool   // the remote refuses what it was sent, once nobody listens
	done   bool   // it is carried out in the end; else nothing has happened
}

// ready makes a workspace that was pushed once and edited since. The other
// developer has changed something, if it is to be pulled.
func ready(t *testing.T, h *fixture, pulled bool) *gitWorkspace {
	t.Helper()
	p := newGitWorkspace(t, h)
	rng := rand.New(rand.NewPCG(1, 1))
	p.edit(rng, "charged")
	p.push("v1")
	if pulled {
		other(p.repo.Clone(), "refunded")
	}
	p.edit(rng, "charged again")
	return p
}

func catch(t *testing.T, h *fixture) []*caught {
	t.Helper()
	return []*caught{
		{gate: holdHook(ready(t, h, false), "post-receive"), name: "accepted", path: "/versions", done: true},
		{gate: holdHook(ready(t, h, false), "pre-receive"), name: "accepted later", path: "/versions", done: true},
		{gate: holdHook(ready(t, h, false), "pre-receive"), name: "refused later", path: "/versions", refuse: true, done: true},
		{gate: fetching(ready(t, h, false)), name: "not sent", path: "/versions"},
		{gate: fetching(ready(t, h, true)), name: "not pulled", path: "/pull"},
		{gate: holdHook(ready(t, h, true), "pre-receive"), name: "saved, not merged", path: "/pull"},
	}
}

func (c *caught) body() string {
	if c.path == "/pull" {
		return toOrigin
	}
	return toVersion("v2")
}

// latest is the operation that was caught.
func (c *caught) latest() ran {
	c.t.Helper()
	list := c.runs()
	require.NotEmpty(c.t, list)
	return list[0]
}

// verifyOutcome asserts what became of it.
func (c *caught) verifyOutcome(t *testing.T) {
	t.Helper()
	c.t = t
	last := c.latest()
	require.Nil(t, c.emitted("refund"), "a pull that was broken off changed something")
	require.Equal(t, "charged again", c.emittedEvent("charge"))
	c.oneCommitEach()
	if c.done {
		require.Equal(t, "succeeded", last.Status, "%v", last.Error)
		require.Equal(t, 2, c.requireVersionsPushed())
		require.False(t, c.isDirty())
		require.True(t, c.onTarget("charged again"))
		require.Equal(t, "v2", c.workspace()["lastPush"].(map[string]any)["version"])
	} else {
		require.Equal(t, "failed", last.Status)
		require.Equal(t, "interrupted", last.reason())
		require.Equal(t, 1, c.requireVersionsPushed())
		require.True(t, c.isDirty())
		require.False(t, c.onTarget("charged again"))
	}
	c.again()
}

// again does it once more, undisturbed.
func (c *caught) again() {
	c.t.Helper()
	if c.path == "/pull" {
		c.pull()
		require.Equal(c.t, "refunded", c.emittedEvent("refund"))
	}
	c.push("v3")
	require.False(c.t, c.isDirty())
	require.True(c.t, c.onTarget("charged again"))
	c.oneCommitEach()
}

// emitted is emits, nil when there is no such automation.
func (p *gitWorkspace) emitted(slug string) any {
	if event := p.emittedEvent(slug); event != "" {
		return event
	}
	return nil
}

// A process that ends in mid-push, or in mid-pull, whether it is killed or told to
// stop: what was sent is recorded once, what was not did not happen, and the lock
// is released within 30 seconds of the next start.
func TestFaultEndedInMidOperation(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*fixture){"killed": (*fixture).kill, "stopped": (*fixture).stop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, start := newFixture(t, "SHUTDOWN_GRACE_SECONDS=3"), time.Now()
			all := catch(t, h)
			for _, c := range all {
				c.ok(202, "POST", c.path+"?timeout=0", c.body())
			}
			for _, c := range all {
				c.reached()
			}
			end(h)
			for _, c := range all {
				if c.refuse {
					c.put("refuse")
				}
				c.open()
				if c.refuse {
					c.remove("refuse")
				}
			}
			require.NoError(t, h.start())
			started := time.Now()
			for _, c := range all {
				c.awaitIdle(recovery - time.Since(started))
			}
			took := time.Since(started)
			for _, c := range all {
				t.Run(c.name, func(t *testing.T) { c.verifyOutcome(t) })
			}
			nodetest.Report(t, "git-"+name, map[string]any{
				"operations": len(all), "settledAfterMs": took.Milliseconds(), "seconds": int(time.Since(start).Seconds()),
			})
		})
	}
}

// Whatever moment the process is killed at, also while it takes over what it left
// the last time: a push happened once or not at all, a pull wholly or not at all.
func TestFaultKillsAtRandomMoments(t *testing.T) {
	t.Parallel()
	h, seed, start := newFixture(t), nodetest.Seed(), time.Now()
	t.Logf("FAULT_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	var all []*caught
	kills := nodetest.Cycles(12, 120)
	for i := range kills {
		began := time.Now()
		c := &caught{gate: &gate{gitWorkspace: ready(t, h, i%2 == 1)}, name: fmt.Sprint(i), path: []string{"/versions", "/pull"}[i%2]}
		all = append(all, c)
		about := time.Since(began) // a little longer than what is killed takes, on a slow machine too
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = h.ask("POST", c.gitWorkspace.path+c.path, c.body()) // the kill is its answer
		}()
		moment := time.NewTimer(time.Duration(rng.Int64N(int64(about))))
		<-moment.C
		h.kill()
		<-gone
		require.NoError(t, h.start())
	}
	started := time.Now()
	counts := map[string]int{}
	for _, c := range all {
		c.awaitIdle(recovery - time.Since(started))
		counts[c.outcome()]++
		c.again()
	}
	nodetest.Report(t, "git-kills", map[string]any{
		"seed": seed, "kills": kills, "outcomes": counts, "seconds": int(time.Since(start).Seconds()),
	})
}

// outcome asserts that what was killed happened wholly or not at all, and says
// which.
func (c *caught) outcome() string {
	c.t.Helper()
	c.consistent("charged again")
	last, versions := c.latest(), c.requireVersionsPushed()
	switch {
	case last.Kind == "push" && versions == 2:
		require.False(c.t, c.isDirty())
		return "pushed"
	case last.Kind == "pull" && last.Status == "succeeded":
		require.Equal(c.t, "refunded", c.emittedEvent("refund"))
		return "pulled"
	case last.Status == "failed":
		require.Equal(c.t, "interrupted", last.reason())
	}
	require.True(c.t, c.isDirty())
	require.Equal(c.t, 1, versions)
	require.Nil(c.t, c.emitted("refund"))
	return "broken off"
}
