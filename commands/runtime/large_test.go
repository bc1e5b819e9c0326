package runtime_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/runtime"
	"svc/domain/activity"
	"svc/domain/automation/value"
)

// small lets executions have little, so that what is too much is made quickly.
func small(h *house, _ *runtime.Options) { h.settings.Sizes["local"] = 1_000_000 }

// heavy is a tree that is given almost half of what one execution may have.
func (h *house) heavy() runtime.Start {
	s := h.evented()
	s.Input = value.NewObject("s", strings.Repeat("x", 450_000))
	return s
}

func (h *house) waitsTold() (begun, over int) {
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
	h.runs(h.heavy())
	refused := `"ContextSizeError 1200000"`
	require.JSONEq(t, `{"r":[`+refused+`,`+refused+`,`+refused+`],"on":true}`, h.holds("global"))
	begun, over := h.waitsTold()
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
	h.runs(h.heavy())
	require.JSONEq(t, `{"r":"ContextSizeError"}`, h.holds("global"))
	begun, over := h.waitsTold()
	require.Equal(t, 2, begun)
	require.Equal(t, 2, over)
}
