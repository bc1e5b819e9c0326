//go:build fault

package versioning_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// asWorkspace is the estate as a place to be held at.
func (e *platformFixture) asWorkspace() *gitWorkspace {
	return &gitWorkspace{fixture: e.fixture, t: e.t, id: "platform", slug: "platform", repo: e.main, path: platformPath}
}

// awaitUnlocked waits until the lock of a run is gone, which is released after the end of the run is recorded.
func (e *platformFixture) awaitUnlocked() {
	e.t.Helper()
	require.Eventually(e.t, func() bool { return e.asWorkspace().workspace()["writeLock"] == nil }, recovery, 100*time.Millisecond, "the lock was not released")
}

// many makes workspaces of the group base.
func (e *platformFixture) many(count int) (all []*gitWorkspace) {
	e.t.Helper()
	for i := range count {
		p := e.workspace(fmt.Sprintf("w-%03d", i), "core")
		p.automation("charge", "charged by "+p.slug)
		all = append(all, p)
	}
	return all
}

// requireRecorded checks that a run was told well: a plan, one event for each workspace,
// one end.
func (e *platformFixture) requireRecorded(id string, total int) (statuses map[string]int) {
	e.t.Helper()
	frames := e.streamed(e.t, "GET", platformPath+"/operations/"+id+"/events", "", "")
	require.Len(e.t, frames, total+2)
	require.True(e.t, strings.HasSuffix(frames[0].event, ".started"))
	require.True(e.t, strings.HasSuffix(frames[total+1].event, ".completed"))
	seen, statuses := map[string]bool{}, map[string]int{}
	for i, f := range frames[1 : total+1] {
		slug := f.data["workspaceSlug"].(string)
		require.False(e.t, seen[slug], "%s was told twice", slug)
		seen[slug] = true
		require.Equal(e.t, float64(i+1), f.data["current"])
		statuses[f.data["status"].(string)]++
	}
	return statuses
}

// Rows 65 of the conformance list: whatever moment the process is killed at, each
// workspace gets one status, and the run one end.
func TestFaultKillsOfBulkRuns(t *testing.T) {
	t.Parallel()
	e, seed, start := newPlatformFixture(t, "BULK_CONCURRENCY=3"), nodetest.Seed(), time.Now()
	t.Logf("FAULT_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 7))
	count := 20
	if os.Getenv("FAULT_PROFILE") == "full" {
		count = 200
	}
	all := e.many(count)
	rounds, kills := nodetest.Cycles(4, 40), 0
	for i := range rounds {
		body, path := fmt.Sprintf(`{"groups":["base"],"force":true,"name":"v%d","repository":%q}`, i, []string{"main", "disk"}[i/2%2]), "/versions"
		if i%2 == 1 {
			body, path = fmt.Sprintf(`{"groups":["base"],"forceReimport":true,"repository":%q}`, []string{"main", "disk"}[i/2%2]), "/versions/latest/pull"
		}
		id := e.bulk(202, path+"?timeout=0", body)["operationId"].(string)
		for range 3 {
			moment := time.NewTimer(time.Duration(rng.Int64N(int64(1500 * time.Millisecond))))
			<-moment.C
			e.kill()
			require.NoError(t, e.start())
			kills++
		}
		var op map[string]any
		require.Eventually(t, func() bool {
			op = e.do(t, 200, "GET", platformPath+"/operations/"+id, "").json(t)
			return op["endedAt"] != nil
		}, 90*time.Second, 100*time.Millisecond)
		require.Equal(t, "succeeded", op["status"], "%v", op)
		told := e.requireRecorded(id, count)
		require.Equal(t, map[string]int{[]string{"pushed", "imported"}[i%2]: count}, told, "%v", op["result"])
		e.awaitUnlocked()
	}
	for _, p := range all {
		require.Equal(t, "charged by "+p.slug, p.emittedEvent("charge"))
		require.False(t, p.isDirty())
		require.Nil(t, p.workspace()["writeLock"])
	}
	nodetest.Report(t, "bulk-kills", map[string]any{"seed": seed, "kills": kills, "runs": rounds, "workspaces": count, "seconds": int(time.Since(start).Seconds())})
}

// Cancelled, nothing new is begun, what was begun is waited for, and the rest is told.
func TestFaultABulkRunIsCancelled(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	e.many(3)
	g := holdHook(e.asWorkspace(), "pre-receive")
	id := e.bulk(202, "/versions?timeout=0", `{"groups":["base"],"name":"v1","repository":"main"}`)["operationId"].(string)
	g.reached()
	held := e.bulk(423, "/versions", `{"groups":["base"]}`)
	require.Equal(t, "bulk_push_in_progress", held["details"].(map[string]any)["reason"])
	e.do(t, 200, "POST", platformPath+"/operations/"+id+"/cancel", "")
	g.open()
	op := e.asWorkspace().ended(id)
	require.Equal(t, "cancelled", op["status"])
	result := op["result"].(map[string]any)
	require.Equal(t, []any{true, 1.0, 2.0}, []any{result["cancelled"], result["pushed"], result["errorsCount"]})
	require.Equal(t, map[string]string{"w-000": "pushed", "w-001": "error", "w-002": "error"}, statuses(result))
	require.Equal(t, map[string]int{"pushed": 1, "error": 2}, e.requireRecorded(id, 3))
	e.awaitUnlocked()
}

// A reader whose connection is cut again and again misses nothing and gets nothing
// twice.
func TestFaultTheStreamOfABulkRunIsCut(t *testing.T) {
	t.Parallel()
	e, rng := newPlatformFixture(t), rand.New(rand.NewPCG(nodetest.Seed(), 9))
	const count = 20
	e.many(count)
	id := e.bulk(202, "/versions?timeout=0", `{"groups":["base"],"name":"v1","repository":"main"}`)["operationId"].(string)
	last, cuts := "", 0
	var seen []string
	for !slices.Contains(seen, "workspaces.bulkPush.completed") {
		for _, f := range e.some(t, "GET", platformPath+"/operations/"+id+"/events", "", last, 1+rng.IntN(4)) {
			last = f.id
			seen = append(seen, f.event)
		}
		cuts++
	}
	require.Len(t, seen, count+2)
	require.Equal(t, seen[0], "workspaces.bulkPush.started")
	nodetest.Report(t, "bulk-stream-cuts", map[string]any{"cuts": cuts, "frames": len(seen)})
}

// attempt is one start of a run on one node: it takes the lock, or is refused.
type attempt struct{ won bool }

// platformLock is a lock that is taken, and given back when its run has ended.
var platformLock = porcupine.Model{
	Init: func() any { return false },
	Step: func(state, input, output any) (bool, any) {
		if input.(string) == "end" {
			return state.(bool), false
		}
		if output.(attempt).won {
			return !state.(bool), true
		}
		return state.(bool), state
	},
}

// Two nodes that are asked for runs at once: one runs, the other answers 423, and
// whoever looks at it afterwards finds one after the other.
func TestFaultTwoNodesStartBulkRunsAtOnce(t *testing.T) {
	t.Parallel()
	e, env := prepareEstate(t)
	one, two := startTwoServices(t, env...)
	e.fixture = one
	e.many(2)
	var mu sync.Mutex
	var history []porcupine.Operation
	began := time.Now()
	note := func(client int, input string, output attempt, call time.Duration, back time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		history = append(history, porcupine.Operation{ClientId: client, Input: input, Output: output, Call: int64(call), Return: int64(back)})
	}
	rounds, won := nodetest.Cycles(10, 100), 0
	for range rounds {
		var racing sync.WaitGroup
		results := make([]string, 2)
		for n, h := range []*fixture{one, two} {
			racing.Go(func() {
				call := time.Since(began)
				got, err := h.ask("POST", platformPath+"/versions?timeout=0", `{"groups":["base"],"force":true,"repository":"disk"}`)
				if err != nil || got.StatusCode != http.StatusAccepted && got.StatusCode != http.StatusLocked {
					t.Errorf("%v %s", err, got.body)
					return
				}
				note(n, "start", attempt{got.StatusCode == http.StatusAccepted}, call, time.Since(began))
				if got.StatusCode == http.StatusAccepted {
					results[n] = got.json(t)["operationId"].(string)
				}
			})
		}
		racing.Wait()
		for n, id := range results {
			if id == "" {
				continue
			}
			won++
			q := e.asWorkspace()
			call := time.Since(began)
			q.ended(id)
			require.Eventually(t, func() bool { return q.workspace()["writeLock"] == nil }, time.Minute, 10*time.Millisecond)
			require.Eventually(t, func() bool { return q.on(two).workspace()["writeLock"] == nil }, time.Minute, 10*time.Millisecond)
			note(n, "end", attempt{}, call, time.Since(began))
			require.Equal(t, map[string]int{"pushed": 2}, e.requireRecorded(id, 2))
		}
	}
	require.GreaterOrEqual(t, won, rounds)
	verdict := porcupine.CheckOperationsTimeout(platformLock, history, 30*time.Second)
	require.Equal(t, porcupine.Ok, verdict, "%v", history)
	nodetest.Report(t, "bulk-two-nodes", map[string]any{"rounds": rounds, "won": won, "history": len(history)})
}

// Row 73 of the conformance list.
func TestFaultThreeNodesImportAtStart(t *testing.T) {
	t.Parallel()
	e, env := prepareEstate(t)
	for i := range 10 {
		e.writeFiles(source(fmt.Sprintf("w-%d", i), groupOf("one"))...)
	}
	env = append(env, "STARTUP_IMPORT_REPOSITORY=disk", "STARTUP_IMPORT_GROUPS=one")
	nodes := cluster(t, 3, env...)
	e.fixture = nodes[0]
	created, skipped := 0.0, 0.0
	require.Eventually(t, func() bool {
		created, skipped = 0, 0
		for _, op := range e.listImports() {
			if op["endedAt"] == nil {
				return false
			}
			created += op["result"].(map[string]any)["created"].(float64)
			skipped += op["result"].(map[string]any)["skipped"].(float64)
		}
		return created > 0
	}, 60*time.Second, 100*time.Millisecond)
	require.Equal(t, 10.0, created, "one node imports; who comes later finds everything there")
	ran := len(e.listImports())
	nodes[1].kill()
	require.NoError(t, nodes[1].start())
	list := e.imported(ran + 1)
	require.Equal(t, 10.0, list[0]["result"].(map[string]any)["skipped"])
}
