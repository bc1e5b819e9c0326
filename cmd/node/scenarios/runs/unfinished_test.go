package runs_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// attempts are those with which the trees of a workspace began and went on, by automation.
func attempts(t *testing.T, p nodetest.Workspace) map[string][]int {
	t.Helper()
	found := map[string][]int{}
	for _, ev := range p.Service.Activity(t, p.ID) {
		if begun, is := ev.Data.(activity.TreeStarted); is {
			found[begun.Automation] = append(found[begun.Automation], begun.Attempt)
		}
	}
	return found
}

// awaitsAttempts waits until the trees of a workspace have begun and gone on like that.
func awaitsAttempts(t *testing.T, p nodetest.Workspace, want map[string][]int) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Equal(c, want, attempts(t, p)) }, time.Minute, 20*time.Millisecond)
}

// A tree that did more than wait when its node went is tried so often, whoever else of its
// run waits; one that only waited goes on however often nodes come and go.
func TestATreeIsTriedSoOftenAlthoughAnotherOfItsRunWaits(t *testing.T) {
	t.Parallel()
	far := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(far.Close)
	w := nodetest.NewOwnedService(t, "EXECUTION_MAX_ATTEMPTS=2")
	p := w.NewWorkspace(t).AddAutomations(t, `
waits: {do: [{runWorkflow: {workflow: went, wait: false}}, {runWorkflow: {workflow: busy, wait: false}}, {wait: {timeout: 600}}]}
went: {do: [{wait: {timeout: 600}}]}
busy: {do: [{all: [{wait: {timeout: 600}}, {fetch: {url: '`+far.URL+`'}}]}]}`)
	p.Do(t, http.StatusAccepted, "POST", p.Path+"/test/waits?async=true", `{}`)
	require.Eventually(t, func() bool { return nodetest.CountOf(w.ActivityTypes(t, p.ID), "runtime.waits.pending") == 3 }, time.Minute, 10*time.Millisecond)
	w.Restart(t, func() { // as if the node had gone when the wait was just over
		for _, ev := range w.Activity(t, p.ID) {
			if wait, is := ev.Data.(activity.WaitPending); is && ev.Meta.AutomationSlug == "went" {
				_, err := w.Node.Store().Log.Append(t.Context(), eventstore.Commit{
					Stream: ev.Stream, Meta: ev.Meta, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: activity.WaitFulfilled{ID: wait.ID}}},
				})
				require.NoError(t, err)
			}
		}
	})
	awaitsAttempts(t, p, map[string][]int{"waits": {1, 1}, "went": {1, 2}, "busy": {1, 2}})
	w.Restart(t, nil)
	awaitsAttempts(t, p, map[string][]int{"waits": {1, 1, 1}, "went": {1, 2}, "busy": {1, 2}})
	require.Len(t, p.AwaitEvents(t, 2, "error", ""), 2)
	for _, e := range p.AwaitEvents(t, 2, nodetest.Executed, "") {
		require.NotEqual(t, "waits", e.At("slug"))
		body, err := json.Marshal(e)
		require.NoError(t, err)
		require.Contains(t, string(body), "ExecutionInterruptedError")
	}
}

// What one tree stood at is lost: the others go on.
func TestAStateThatCannotBeReadKeepsNoOtherTreeFromGoingOn(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
one: {do: [{wait: {timeout: 600}}]}
two: {do: [{wait: {timeout: 600}}]}`)
	for _, slug := range []string{"one", "two"} {
		p.Do(t, http.StatusAccepted, "POST", p.Path+"/test/"+slug+"?async=true", `{}`)
		require.Eventually(t, func() bool { return len(attempts(t, p)[slug]) == 1 }, time.Minute, 10*time.Millisecond)
	}
	require.Eventually(t, func() bool { return nodetest.CountOf(w.ActivityTypes(t, p.ID), "runtime.waits.pending") == 2 }, time.Minute, 10*time.Millisecond)
	w.Restart(t, func() {
		for _, ev := range w.Activity(t, p.ID) {
			if begun, is := ev.Data.(activity.TreeStarted); is && begun.Automation == "one" { // who is looked at first
				at := domain.StreamID{Scope: p.ID, Kind: "trees", ID: begun.ExecutionID}
				require.NoError(t, w.Node.Store().Data.Replace(t.Context(), at, "broken", []byte(begun.ExecutionID+"\x00broken")))
			}
		}
	})
	awaitsAttempts(t, p, map[string][]int{"one": {1}, "two": {1, 1}})
}
