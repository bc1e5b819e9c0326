package runtime_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/runtime"
	"svc/domain/activity"
	"svc/domain/value"
	"svc/eventstore"
)

// small lets executions have little, so that what is too much is made quickly.
func small(h *testRuntime, _ *runtime.Options) { h.settings.Sizes["local"] = 1_000_000 }

// heavy is a tree that is given almost half of what one execution may have.
func (h *testRuntime) heavy() runtime.Start {
	s := h.eventStart()
	s.Input = value.NewObject("s", strings.Repeat("x", 450_000))
	return s
}

func (h *testRuntime) countWaitEvents() (begun, over int) {
	for _, fact := range h.events() {
		switch fact.Event.(type) {
		case activity.WaitPending:
			begun++
		case activity.WaitExpired, activity.WaitFulfilled:
			over++
		}
	}
	return begun, over
}

func TestAWaitOfATreeThatIsTooLargeToBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[
		{"repeat":{"until":3,"batch":{"size":3},"do":[
			{"set":{"name":"item","value":"{{s}}{{$index}}"}},
			{"try":{"do":[{"wait":{"timeout":600}}],"catch":[{"set":{"name":"global.r[]","value":"{{$error.error}} {{$error.details.limit}}"}},{"set":{"name":"item","value":0}}]}}]}},
		{"wait":{"timeout":0.1}},
		{"set":{"name":"global.on","value":true}}]`}, small)
	h.mustRun(h.heavy())
	refused := `"ContextSizeError 1200000"`
	require.JSONEq(t, `{"r":[`+refused+`,`+refused+`,`+refused+`],"on":true}`, h.contextJSON("global"))
	begun, over := h.countWaitEvents()
	require.Equal(t, 1, begun, "of those that were refused nobody heard")
	require.Equal(t, 1, over)
}

func TestWaitsOfATreeThatBecomesTooLargeBesideThemEnd(t *testing.T) {
	t.Parallel()
	h := open(t, documents{
		"a": `[{"child":{"s":"{{s}}x"}}]`,
		"child": `[{"all":[
			{"try":{"do":[{"wait":{"timeout":600}}],"catch":[{"set":{"name":"global.r","value":"{{$error.error}}"}}]}},
			{"repeat":{"until":1,"do":[{"wait":{"timeout":0.1}},{"set":{"name":"l","value":"{{s}}y"}}]}}]}]`,
	}, small)
	h.mustRun(h.heavy())
	require.JSONEq(t, `{"r":"ContextSizeError"}`, h.contextJSON("global"))
	begun, over := h.countWaitEvents()
	require.Equal(t, 2, begun)
	require.Equal(t, 2, over)
}

func TestErrorsThatEndNothingDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	bad := `{"emit":{"event":"e","payload":1}},{"run":{"module":"crypto","function":"randomUUID","output":{}}}`
	h := open(t, documents{"a": `[{"repeat":{"until":200,"do":[` + bad + `]}}]`})
	h.mustRun(h.eventStart())
	var told []activity.Failure
	for _, ev := range h.events() {
		if failure, is := ev.Event.(activity.Failure); is {
			told = append(told, failure)
		}
	}
	require.Len(t, told, 100)
	require.NotContains(t, told[98].Message, "no more")
	require.Contains(t, told[99].Message, "no more")
}

// What it has gathered then is more than the log takes at once.
func TestATreeWaitsForTheLogOnceMuchIsGathered(t *testing.T) {
	t.Parallel()
	var ids atomic.Int64
	h := open(t, documents{"a": `[{"repeat":{"until":3000,"do":[{"c":{}}]}}]`, "c": `[]`}, func(_ *testRuntime, o *runtime.Options) {
		newID := o.NewID
		o.NewID = func() string { ids.Add(1); return newID() }
	})
	gate := make(chan struct{})
	h.store.refuse(func([]eventstore.Commit) bool { <-gate; return false })
	run := h.Launch(h.eventStart())
	require.Eventually(t, func() bool { return ids.Load() > 1000 }, patience, tick)
	require.Never(t, func() bool { return ids.Load() > 3000 }, 200*time.Millisecond, tick, "each execution and its event have one")
	close(gate)
	_, err := h.waitEnd(run)
	require.NoError(t, err)
	require.Equal(t, 3000, executed(h, "c"))
}

func TestTheRegistryIsReadOnceInATurn(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	many := strings.Repeat(`"{{global.workspacesRegistry.x}}",`, 50)
	h := open(t, documents{"a": `[{"set":{"name":"r","value":[` + many + `"{{global}}"]}},{"wait":{"timeout":0.01}},{"set":{"name":"r","value":"{{global.workspacesRegistry}}"}}]`},
		func(_ *testRuntime, o *runtime.Options) { o.Registry = noSecrets{known: func() { asked.Add(1) }} })
	h.mustRun(h.start())
	require.EqualValues(t, 2, asked.Load(), "and again after a wait")
}
