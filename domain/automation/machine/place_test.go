package machine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

func TestARequestSaysWhereItWasMade(t *testing.T) {
	t.Parallel()
	tr := begun(t, machine.Options{}, map[string]any{
		"t": parseYAML(t, `
- repeat:
    on: [a, b]
    do:
      - repeat:
          until: 2
          batch: {size: 2}
          do:
            - all: [{repeat: {until: 1, do: [{child: {x: '{% uuid() %}', output: 'o[{% uuid() %}]'}}]}}]
`),
		"child": parseYAML(t, `[{repeat: {until: 2, do: [{wait: {}}]}}]`),
	})
	turn := tr.Go(1000)
	require.Len(t, turn.Requests, 2)
	const path = "do[0].repeat.do[0].repeat.do[0].all[0].repeat.do[0].child"
	require.Equal(t, machine.Place{Path: path, Iteration: []int{0, 0, 0}, Ordinal: 2}, turn.Requests[0].Place)
	require.Equal(t, machine.Place{Path: path, Iteration: []int{0, 1, 0}, Ordinal: 2}, turn.Requests[1].Place)
	second := turn.Requests[1]
	turn = tr.answered(t, turn.Requests[0])
	require.Equal(t, machine.Place{Path: "do[0].repeat.do[0].wait", Iteration: []int{0}}, turn.Requests[0].Place)
	child := turn.Requests[0].Execution
	require.Equal(t, path, child.At.Path)
	require.Equal(t, []int{0, 0, 0}, child.At.Iteration)
	require.Equal(t, 2, child.Depth)
	require.Equal(t, "x0", child.Parent.ID)
	turn = tr.answered(t, turn.Requests[0])
	require.Equal(t, []int{1}, turn.Requests[0].Iteration)
	require.Empty(t, tr.answered(t, turn.Requests[0]).Requests, "the other of the batch is awaited")
	turn = tr.answered(t, second)
	turn = tr.answered(t, turn.Requests[0])
	turn = tr.answered(t, turn.Requests[0])
	require.Equal(t, []int{1, 0, 0}, turn.Requests[0].Iteration)
}

// placing is a world that notes where it is asked.
type placing struct {
	*script

	m  *machine.Machine
	at []machine.Place
}

func (p *placing) Random(n int) []byte {
	_, at := p.m.Where()
	p.at = append(p.at, at)
	return p.script.Random(n)
}

func TestTheWorldCanAskWhereItIsAsked(t *testing.T) {
	t.Parallel()
	p := program(t, "t", value.NewObject("do", parseYAML(t, `
- set a: '{% uuid() + uuid() %}'
- repeat: {until: '{% uuid() == "x" or {{$index}} > 0 %}', do: [{set b: '{% uuid() %}'}]}
`), "output", "{% uuid() %}"))
	w := &placing{script: newScript(nil, nil)}
	w.m = machine.New(machine.Options{World: w})
	w.m.Start(p, "x0", 1, nil)
	w.m.Go(1000)
	require.True(t, w.m.Done())
	require.Equal(t, []machine.Place{
		{Path: "do[0].set"}, {Path: "do[0].set", Ordinal: 1},
		{Path: "do[1].repeat"}, {Path: "do[1].repeat.do[0].set", Iteration: []int{0}}, {Path: "do[1].repeat", Ordinal: 1},
		{Path: "output"},
	}, w.at)
}

func TestLocalVariablesHaveALimit(t *testing.T) {
	t.Parallel()
	tr := begun(t, machine.Options{LocalLimit: 1000}, map[string]any{"t": parseYAML(t, `
- repeat: {until: 50, do: [{'set l[]': 'xxxxxxxx'}]}
- try: {do: [{repeat: {until: 500, do: [{'set l[]': 'xxxxxxxx'}]}}], catch: [{set l: '{{$error}}'}]}
- set r: '{{l}}'
`)})
	tr.Go(10_000)
	require.True(t, tr.Done())
	require.Nil(t, tr.Root().Err)
	require.Equal(t, `{"error":"ContextSizeError","message":"the local variables become too large","details":{"context":"local","size":1009,"limit":1000}}`,
		value.JSON(value.At(tr.Root().Output, "r"), ""))
}

func TestAFailedLoopClosesItsStream(t *testing.T) {
	t.Parallel()
	doc := map[string]any{"t": parseYAML(t, `[{fetch: {url: 'http://h', output: s}}, {repeat: {on: '{{s}}', do: [{nope: {}}]}}]`)}
	tr := begun(t, machine.Options{}, doc)
	stream := &chunks{[]any{"a", "b"}}
	tr.Answer(tr.Go(1000).Requests[0].ID, machine.Answer{Value: stream})
	next := tr.Go(1000).Requests[0]
	require.Equal(t, machine.Next, next.Kind)
	require.Same(t, stream, next.Stream)
	turn := tr.answered(t, tr.answered(t, next).Requests[0])
	require.Equal(t, []value.Stream{stream}, turn.Closed)
	require.Equal(t, automation.ObjectNotFound, tr.Root().Err.Name)
}

func TestAStreamThatWasOpenIsLost(t *testing.T) {
	t.Parallel()
	doc := map[string]any{"t": parseYAML(t, `
- fetch: {url: 'http://h', output: s}
- all:
    - try: {do: [{repeat: {on: '{{s}}', do: []}}], catch: [{set a: '{{$error}}'}]}
    - wait: {}
- try: {do: [{repeat: {on: '{{s}}', do: []}}], catch: [{set r: ['{{$error.details.reason}}', '{{a.details.reason}}']}]}
`)}
	tr := begun(t, machine.Options{}, doc)
	tr.Answer(tr.Go(1000).Requests[0].ID, machine.Answer{Value: &chunks{}})
	require.Len(t, tr.Go(1000).Requests, 2)
	state, err := tr.Save()
	require.NoError(t, err)
	m, asked, err := machine.Restore(state, machine.Options{World: tr.world}, func(ref string) (*machine.Program, error) { return tr.programs[ref], nil })
	require.NoError(t, err)
	require.Len(t, asked, 1, "the next item is not asked for")
	m.Go(1000)
	m.Answer(asked[0].ID, machine.Answer{Value: value.Undefined})
	m.Go(1000)
	require.True(t, m.Done())
	require.Equal(t, `{"r":["reset","reset"]}`, value.JSON(m.Root().Output, ""))
}

func TestATreeThatRunsIsNotSaved(t *testing.T) {
	t.Parallel()
	tr := begun(t, machine.Options{}, map[string]any{"t": parseYAML(t, `[{wait: {}}, {set a: 1}]`)})
	_, err := tr.Save()
	require.Error(t, err)
	r := tr.Go(1000).Requests[0]
	state, err := tr.Save()
	require.NoError(t, err)
	tr.Answer(r.ID, machine.Answer{})
	_, err = tr.Save()
	require.Error(t, err)
	find := func(string) (*machine.Program, error) { return tr.programs["t"], nil }
	other := func(string) (*machine.Program, error) { return program(t, "t", []any{}), nil }
	gone := func(string) (*machine.Program, error) { return nil, automation.NotFound("t", nil) }
	_, _, err = machine.Restore(state, machine.Options{World: tr.world}, other)
	require.ErrorContains(t, err, "has no instruction do[0].wait")
	_, _, err = machine.Restore(state, machine.Options{World: tr.world}, gone)
	require.ErrorContains(t, err, "not found")
	_, _, err = machine.Restore(state[:len(state)-1], machine.Options{World: tr.world}, find)
	require.Error(t, err)
	for _, odd := range []any{nil, &value.Object{}, value.NewObject("version", 1.0), value.NewObject("version", 1.0, "branches", []any{nil})} {
		_, _, err = machine.Restore(variable.Encode(odd), machine.Options{World: tr.world}, find)
		require.Error(t, err)
	}
}
