package runtime_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/runtime"
	"svc/domain/activity"
	"svc/eventstore"
)

func TestErrorsThatEndNothingDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	bad := `{"emit":{"event":"e","payload":1}},{"run":{"module":"crypto","function":"randomUUID","output":{}}}`
	h := open(t, documents{"a": `[{"repeat":{"until":200,"do":[` + bad + `]}}]`})
	h.runs(h.evented())
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
	h := open(t, documents{"a": `[{"repeat":{"until":3000,"do":[{"c":{}}]}}]`, "c": `[]`}, func(_ *house, o *runtime.Options) {
		newID := o.NewID
		o.NewID = func() string { ids.Add(1); return newID() }
	})
	gate := make(chan struct{})
	h.store.refuse(func([]eventstore.Commit) bool { <-gate; return false })
	run := h.Launch(h.evented())
	require.Eventually(t, func() bool { return ids.Load() > 1000 }, patience, tick)
	require.Never(t, func() bool { return ids.Load() > 3000 }, 200*time.Millisecond, tick, "each execution and its event have one")
	close(gate)
	_, err := h.ends(run)
	require.NoError(t, err)
	require.Equal(t, 3000, executed(h, "c"))
}

func TestTheRegistryIsReadOnceInATurn(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	many := strings.Repeat(`"{{global.workspacesRegistry.x}}",`, 50)
	h := open(t, documents{"a": `[{"set":{"name":"r","value":[` + many + `"{{global}}"]}},{"wait":{"timeout":0.01}},{"set":{"name":"r","value":"{{global.workspacesRegistry}}"}}]`},
		func(_ *house, o *runtime.Options) { o.Registry = neighbours{known: func() { asked.Add(1) }} })
	h.runs(h.start())
	require.EqualValues(t, 2, asked.Load(), "and again after a wait")
}
