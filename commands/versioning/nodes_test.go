//go:build fault

package versioning_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

const masterKey = "8f1c27d05be94a63c2e7706d1ab84f95e03d6b7a9c5812f44e6093bd7a21c8f6"

// startTwoServices starts two services on one broker.
func startTwoServices(t *testing.T, env ...string) (one, two *fixture) {
	t.Helper()
	nodes := cluster(t, 2, env...)
	return nodes[0], nodes[1]
}

// cluster starts services on one broker, at once.
func cluster(t *testing.T, count int, env ...string) []*fixture {
	t.Helper()
	broker, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, SyncAlways: true})
	require.NoError(t, err)
	broker.Start()
	require.True(t, broker.ReadyForConnections(time.Minute))
	t.Cleanup(func() { broker.Shutdown(); broker.WaitForShutdown() })
	shared := append([]string{
		"NATS_URL=" + broker.ClientURL(), "STREAM_REPLICAS=1",
		fmt.Sprintf(`SECRETS_MASTER_KEYS=[{"kid":"k1","key":%q,"active":true}]`, masterKey),
	}, env...)
	nodes, failed := make([]*fixture, count), make([]error, count)
	var starting sync.WaitGroup
	for i := range nodes {
		nodes[i] = prepare(t.TempDir(), append(slices.Clone(shared), fmt.Sprintf("NODE_NAME=n%d", i))...)
		starting.Go(func() { failed[i] = nodes[i].start() })
	}
	starting.Wait()
	for i, h := range nodes {
		require.NoError(t, failed[i])
		t.Cleanup(func() { h.end(t) })
	}
	return nodes
}

// on is the same place as another node shows it.
func (p *gitWorkspace) on(h *fixture) *gitWorkspace {
	q := *p
	q.fixture = h
	return &q
}

// Two nodes are asked to push the same workspace at once: one does, the other
// answers 423. The one that does is held at the remote until both have been asked.
func TestFaultTwoNodesPushAtOnce(t *testing.T) {
	t.Parallel()
	one, two := startTwoServices(t)
	p, start := newGitWorkspace(t, one), time.Now()
	g := holdHook(p, "pre-receive")
	g.remove("hold")
	rounds, winners := nodetest.Cycles(10, 100), map[string]int{}
	for i := range rounds {
		event := fmt.Sprintf("charged-%d", i)
		p.automation("charge", event)
		g.put("hold")
		answers := make(chan answer, 2)
		nodes := []*fixture{one, two}
		for n := range nodes {
			go func() {
				h := nodes[(i+n)%2]
				got, err := h.ask("POST", p.path+"/versions?timeout=60", toVersion(fmt.Sprintf("v%d", i)))
				if err != nil {
					got = answer{Response: &http.Response{Status: err.Error()}}
				}
				answers <- got
			}()
		}
		lost := <-answers
		require.Equal(t, http.StatusLocked, lost.StatusCode, "%s %s", lost.Status, lost.body)
		details := lost.json(t)["details"].(map[string]any)
		require.Equal(t, "push_in_progress", details["reason"])
		require.Equal(t, "push", details["operation"].(map[string]any)["kind"])
		g.reached()
		g.open()
		won := <-answers
		require.Equal(t, http.StatusCreated, won.StatusCode, "%s %s", won.Status, won.body)
		winners[won.Request.URL.Port()]++
		require.NoError(t, os.Remove(filepath.Join(g.dir, "at")))
		require.NoError(t, os.Remove(filepath.Join(g.dir, "left")))
		for _, h := range nodes {
			require.Eventually(t, func() bool { return !p.on(h).isDirty() }, time.Minute, 20*time.Millisecond)
			require.Nil(t, p.on(h).workspace()["writeLock"])
		}
		p.consistent(event)
	}
	require.Equal(t, rounds, p.requireVersionsPushed())
	nodetest.Report(t, "git-two-nodes", map[string]any{"rounds": rounds, "nodesThatWon": len(winners), "seconds": int(time.Since(start).Seconds())})
}

// A node that is killed in mid-push leaves it to the other, which settles it
// within 30 seconds: the remote has it, and it is recorded once.
func TestFaultAnotherNodeTakesOver(t *testing.T) {
	t.Parallel()
	one, two := startTwoServices(t)
	held := []*caught{
		{gate: holdHook(ready(t, one, false), "post-receive"), name: "accepted", path: "/versions", done: true},
		{gate: holdHook(ready(t, one, false), "pre-receive"), name: "accepted later", path: "/versions", done: true},
		{gate: fetching(ready(t, one, false)), name: "not sent", path: "/versions"},
	}
	for _, c := range held {
		c.ok(202, "POST", c.path+"?timeout=0", c.body())
		c.reached()
	}
	one.kill()
	killed := time.Now()
	for _, c := range held {
		c.open()
		c.gitWorkspace = c.on(two)
	}
	for _, c := range held {
		c.awaitIdle(recovery - time.Since(killed))
	}
	took := time.Since(killed)
	for _, c := range held {
		t.Run(c.name, func(t *testing.T) { c.verifyOutcome(t) })
	}
	nodetest.Report(t, "git-take-over", map[string]any{"operations": len(held), "settledAfterMs": took.Milliseconds()})
}
