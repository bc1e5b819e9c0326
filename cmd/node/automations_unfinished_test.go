package node_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// attempts are those with which the trees of a workspace began and went on, by automation.
func (p place) attempts(t *testing.T) map[string][]int {
	t.Helper()
	found := map[string][]int{}
	for _, ev := range p.s.activityOf(t, p.id) {
		if begun, is := ev.Data.(activity.TreeStarted); is {
			found[begun.Automation] = append(found[begun.Automation], begun.Attempt)
		}
	}
	return found
}

// awaitsAttempts waits until the trees of a workspace have begun and gone on like that.
func (p place) awaitsAttempts(t *testing.T, want map[string][]int) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { require.Equal(c, want, p.attempts(t)) }, 20*time.Second, 20*time.Millisecond)
}

// restarts stops the service, lets something happen that starts nothing, and starts it again.
func (w *workshop) restarts(t *testing.T, meanwhile func()) {
	t.Helper()
	w.stop(t)
	if meanwhile != nil {
		all := w.env
		w.env = append(slices.Clone(all), "ROLES=webhooks")
		w.start(t)
		meanwhile()
		w.stop(t)
		w.env = all
	}
	w.start(t)
}

// A tree that did more than wait when its node went is tried so often, whoever else of its
// run waits; one that only waited goes on however often nodes come and go.
func TestATreeIsTriedSoOftenAlthoughAnotherOfItsRunWaits(t *testing.T) {
	t.Parallel()
	far := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(far.Close)
	w := newWorkshop(t, "EXECUTION_MAX_ATTEMPTS=2")
	p := w.place(t).has(t, `
waits: {do: [{runWorkflow: {workflow: went, wait: false}}, {runWorkflow: {workflow: busy, wait: false}}, {wait: {timeout: 600}}]}
went: {do: [{wait: {timeout: 600}}]}
busy: {do: [{all: [{wait: {timeout: 600}}, {fetch: {url: '`+far.URL+`'}}]}]}`)
	p.does(t, http.StatusAccepted, "POST", p.path+"/test/waits?async=true", `{}`)
	require.Eventually(t, func() bool { return count(w.typesOf(t, p.id), "runtime.waits.pending") == 3 }, 10*time.Second, 10*time.Millisecond)
	w.restarts(t, func() { // as if the node had gone when the wait was just over
		for _, ev := range w.activityOf(t, p.id) {
			if wait, is := ev.Data.(activity.WaitPending); is && ev.Meta.AutomationSlug == "went" {
				_, err := w.node.Store().Append(t.Context(), eventstore.Commit{
					Stream: ev.Stream, Meta: ev.Meta, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: activity.WaitFulfilled{ID: wait.ID}}},
				})
				require.NoError(t, err)
			}
		}
	})
	p.awaitsAttempts(t, map[string][]int{"waits": {1, 1}, "went": {1, 2}, "busy": {1, 2}})
	w.restarts(t, nil)
	p.awaitsAttempts(t, map[string][]int{"waits": {1, 1, 1}, "went": {1, 2}, "busy": {1, 2}})
	require.Len(t, p.awaits(t, 2, "error", ""), 2)
	for _, e := range p.awaits(t, 2, executed, "") {
		require.NotEqual(t, "waits", e.at("slug"))
		body, err := json.Marshal(e)
		require.NoError(t, err)
		require.Contains(t, string(body), "ExecutionInterruptedError")
	}
}

// What one tree stood at is lost: the others go on.
func TestAStateThatCannotBeReadKeepsNoOtherTreeFromGoingOn(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `
one: {do: [{wait: {timeout: 600}}]}
two: {do: [{wait: {timeout: 600}}]}`)
	for _, slug := range []string{"one", "two"} {
		p.does(t, http.StatusAccepted, "POST", p.path+"/test/"+slug+"?async=true", `{}`)
		require.Eventually(t, func() bool { return len(p.attempts(t)[slug]) == 1 }, 10*time.Second, 10*time.Millisecond)
	}
	require.Eventually(t, func() bool { return count(w.typesOf(t, p.id), "runtime.waits.pending") == 2 }, 10*time.Second, 10*time.Millisecond)
	w.restarts(t, func() {
		for _, ev := range w.activityOf(t, p.id) {
			if begun, is := ev.Data.(activity.TreeStarted); is && begun.Automation == "one" { // who is looked at first
				at := domain.StreamID{Scope: p.id, Kind: "trees", ID: begun.ExecutionID}
				require.NoError(t, w.node.Store().ReplaceData(t.Context(), at, "broken", []byte(begun.ExecutionID+"\x00broken")))
			}
		}
	})
	p.awaitsAttempts(t, map[string][]int{"one": {1}, "two": {1, 1}})
}
