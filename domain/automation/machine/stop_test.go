package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// tree is a machine with its world, driven by hand.
type tree struct {
	*machine.Machine

	world    *script
	programs map[string]*machine.Program
}

func begun(t *testing.T, o machine.Options, documents map[string]any) *tree {
	t.Helper()
	programs := map[string]*machine.Program{}
	for slug, doc := range documents {
		programs[slug] = program(t, slug, doc)
	}
	world := newScript(programs, &value.Object{})
	o.World = world
	m := machine.New(o)
	m.Start(programs["t"], "x0", 1, &value.Object{})
	return &tree{m, world, programs}
}

func (tr *tree) answered(t *testing.T, r machine.Request) machine.Turn {
	t.Helper()
	tr.Answer(r.ID, tr.world.answer(r))
	return tr.Go(1000)
}

func names(requests []machine.Request) (all []string) {
	for _, r := range requests {
		all = append(all, string(r.Kind)+" "+r.Path)
	}
	return all
}

func TestACancelledTreeRunsItsFinallyBlocksAndCatchesNothing(t *testing.T) {
	t.Parallel()
	tr := begun(t, machine.Options{}, map[string]any{
		"t":     parseYAML(t, `[{try: {do: [{child: {}}], catch: [{emit: {event: caught}}], finally: [{emit: {event: outer}}]}}, {emit: {event: after}}]`),
		"child": parseYAML(t, `[{all: [{try: {do: [{wait: {}}], finally: [{emit: {event: one}}]}}, {repeat: {until: 9, do: [{wait: {}}]}}]}]`),
	})
	turn := tr.answered(t, tr.Go(1000).Requests[0])
	require.Equal(t, []string{"wait do[0].all[0].try.do[0].wait", "wait do[0].all[1].repeat.do[0].wait"}, names(turn.Requests))
	stale := turn.Requests[0]
	tr.Stop(automation.Raise(automation.ExecutionCancelled, "cancelled"))
	require.True(t, tr.Stopping())
	turn = tr.Go(1000)
	require.Equal(t, []string{"emit do[0].all[0].try.finally[0].emit"}, names(turn.Requests))
	tr.Answer(stale.ID, machine.Answer{Value: "late"})
	require.Empty(t, tr.Go(1000).Requests)
	turn = tr.answered(t, turn.Requests[0])
	require.Equal(t, []string{"emit do[0].try.finally[0].emit"}, names(turn.Requests))
	require.Len(t, turn.Ended, 1)
	child := turn.Ended[0]
	turn = tr.answered(t, turn.Requests[0])
	require.True(t, tr.Done())
	require.Equal(t, automation.ExecutionCancelled, tr.Root().Err.Name)
	require.Same(t, child.Err, turn.Ended[0].Err)
	require.Equal(t, "child", tr.Root().Err.Document)
	require.Equal(t, child.ID, tr.Root().Origin)
	require.Equal(t, []string{"one", "outer"}, tr.world.emitted)
}

func TestAFinallyBlockUnderWayIsLetGoOn(t *testing.T) {
	t.Parallel()
	tr := begun(t, machine.Options{}, map[string]any{
		"t": parseYAML(t, `[{try: {do: [], finally: [{all: [{wait: {}}]}, {emit: {event: f}}]}}, {emit: {event: after}}]`),
	})
	wait := tr.Go(1000).Requests[0]
	tr.Stop(automation.Raise(automation.ExecutionTimeout, "time is up"))
	require.Empty(t, tr.Go(1000).Requests)
	turn := tr.answered(t, wait)
	require.Equal(t, []string{"emit do[0].try.finally[1].emit"}, names(turn.Requests))
	tr.answered(t, turn.Requests[0])
	require.True(t, tr.Done())
	require.Equal(t, automation.ExecutionTimeout, tr.Root().Err.Name)
}

func TestASecondStopEndsEverything(t *testing.T) {
	t.Parallel()
	tr := begun(t, machine.Options{}, map[string]any{
		"t":     parseYAML(t, `[{try: {do: [{child: {}}], finally: [{emit: {event: f}}]}}]`),
		"child": parseYAML(t, `[{try: {do: [{wait: {}}], finally: [{repeat: {until: 'x{{', do: [{wait: {}}]}}, {wait: {}}]}}]`),
	})
	turn := tr.answered(t, tr.Go(1000).Requests[0])
	require.Len(t, turn.Requests, 1)
	tr.Stop(automation.Raise(automation.ExecutionTimeout, "time is up"))
	require.Equal(t, []string{"wait do[0].try.finally[1].wait"}, names(tr.Go(1000).Requests))
	tr.Stop(automation.Raise(automation.ExecutionTimeout, "time is up"))
	turn = tr.Go(1000)
	require.True(t, tr.Done())
	require.Empty(t, turn.Requests)
	require.Len(t, turn.Ended, 2)
}

func TestAnEndlessLoopIsCutAndStopped(t *testing.T) {
	t.Parallel()
	tr := begun(t, machine.Options{}, map[string]any{"t": parseYAML(t, `[{repeat: {until: '{{no}}', do: []}}]`)})
	turns := 0
	for range 100 {
		turn := tr.Go(100)
		for _, r := range turn.Requests {
			require.Equal(t, machine.Throttle, r.Kind)
			require.Equal(t, 500, r.N)
			tr.Answer(r.ID, machine.Answer{})
			turns++
		}
	}
	require.Equal(t, 16, turns, "one throttle for 500 iterations")
	tr.Stop(automation.Raise(automation.ExecutionTimeout, "time is up"))
	tr.Go(100)
	require.True(t, tr.Done())
}
