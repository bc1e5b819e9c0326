package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/value"
)

// TestBadValuesThatGrowAreRefused builds values that are far larger than what holds
// them: the same list stands in them many times.
func TestBadValuesThatGrowAreRefused(t *testing.T) {
	t.Parallel()
	twice := strings.Repeat(", '{{l}}'", 40)[2:]
	for name, do := range map[string]string{
		"a variable":      `[{repeat: {until: 60, do: [{'set l[]': '{{l}}'}]}}]`,
		"a literal":       `[{repeat: {until: 9, do: [{set l: [` + twice + `]}]}}]`,
		"an item":         `[{repeat: {on: [[x]], do: [` + strings.Repeat(`{'set item[]': '{{item}}'}, `, 60) + `]}}]`,
		"arguments":       `[{repeat: {until: 4, do: [{'set l[]': '{{l}}'}]}}, {nope: {a: [` + strings.Repeat(", '{{l}}'", 900)[2:] + `]}}]`,
		"parameters":      `[{emit: {event: e, payload: {a: [` + strings.Repeat(", '{{l}}'", 9000)[2:] + `]}}}]`,
		"a payload":       `[{break: {payload: [` + strings.Repeat(", '{{l}}'", 9000)[2:] + `]}}]`,
		"a context":       `[{set session.a: [` + strings.Repeat(", '{{l}}'", 9000)[2:] + `]}]`,
		"in place":        `[{set r.a: 1}, {set r.b: [` + strings.Repeat(", '{{l}}'", 700)[2:] + `]}, {set r.c: '{{l}}'}, {repeat: {until: 999, do: [{'set r[{{item}}]': '{{l}}'}]}}]`,
		"in place a list": `[{'set r[]': 1}, {repeat: {until: 9999, do: [{'set r[{% {{$index}} + 1 %}]': '{{l}}'}]}}]`,
		"in place a push": `[{'set r[]': 1}, {repeat: {until: 9999, do: [{'set r[]': '{{l}}'}]}}]`,
		"in place anew":   `[{'set r[]': 1}, {'set r[]': 1}, {'set r[0]': x}, {'set r[0]': ` + strings.Repeat("x", 10_001) + `}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t, "t", parseYAML(t, do))
			m := machine.New(machine.Options{World: newScript(nil, nil), LocalLimit: 10_000})
			m.Start(p, "x0", 1, value.NewObject("l", []any{"xxxx", "yyyy"}))
			for !m.Done() {
				for _, r := range m.Run(10_000).Requests {
					require.Equal(t, machine.Throttle, r.Kind)
					m.Answer(r.ID, machine.Answer{})
				}
			}
			require.NotNil(t, m.Root().Err)
			require.Equal(t, automation.ContextTooLarge, m.Root().Err.Name, m.Root().Err.Message)
			require.Equal(t, 10_000.0, m.Root().Err.Details.At("limit"))
		})
	}
}

func TestAnOutputThatGrowsIsRefused(t *testing.T) {
	t.Parallel()
	p := program(t, "t", parseYAML(t, `{do: [], output: ['{{l}}', '{{l}}', '{{l}}']}`))
	m := machine.New(machine.Options{World: newScript(nil, nil), LocalLimit: 100})
	m.Start(p, "x0", 1, value.NewObject("l", strings.Repeat("x", 60)))
	m.Run(10)
	require.True(t, m.Done())
	require.Equal(t, automation.ContextTooLarge, m.Root().Err.Name)
}

func TestATreeHasOnlySoManyBranches(t *testing.T) {
	t.Parallel()
	p := program(t, "t", parseYAML(t, `[{repeat: {until: 200, batch: {size: 200}, do: [{repeat: {until: 200, batch: {size: 200}, do: [{wait: {}}]}}]}}]`))
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x0", 1, nil)
	waits := 0
	for {
		turn := m.Run(1_000_000)
		for _, r := range turn.Requests {
			switch r.Kind {
			case machine.Wait:
				waits++
			case machine.Throttle:
				m.Answer(r.ID, machine.Answer{})
			}
		}
		if len(turn.Requests) == 0 && !turn.Yielded {
			break
		}
	}
	require.Greater(t, waits, 9_000)
	require.Less(t, waits, 10_500)
	require.Len(t, m.Pending(), waits)
	require.True(t, strings.HasPrefix(fmt.Sprint(m.Pending()[0].Iteration), "[0 "))
}

func TestInstructionsThatAreNestedTooDeeplyRaiseTheirFault(t *testing.T) {
	t.Parallel()
	for name, around := range map[string][2]string{
		"all":        {`[{all: `, `}]`},
		"conditions": {`[{conditions: {'true': `, `}}]`},
		"default":    {`[{conditions: {default: `, `}}]`},
		"repeat":     {`[{repeat: {until: 1, do: `, `}}]`},
		"finally":    {`[{try: {do: [], finally: `, `}}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deep := func(levels int) string {
				return strings.Repeat(around[0], levels-1) + `[{T: reached}]` + strings.Repeat(around[1], levels-1)
			}
			for levels, want := range map[int]string{automation.MaxNesting: "", automation.MaxNesting + 1: automation.InvalidInstruction} {
				programs := map[string]*machine.Program{"t": program(t, "t", parseYAML(t, deep(levels)))}
				got := run(t, programs, nil, nil, manner{budget: 1 << 20})
				require.Equal(t, want, got.Error, "%d levels", levels)
				if want != "" {
					require.Contains(t, got.Root.Err.Message, "nested more than 50 deep")
				}
			}
		})
	}
}

func TestTheTemplatesOfAnInstructionShareABudget(t *testing.T) {
	t.Parallel()
	compared := `'{% {{s}} === {{s}} %}'`
	p := program(t, "t", parseYAML(t, `{do: [
		{try: {do: [{set r: [`+compared+strings.Repeat(", "+compared, 199)+`]}], catch: [{set e: '{{$error}}'}]}},
		{set one: `+compared+`}, {set other: `+compared+`}], output: ['{{e}}', '{{r}}', '{{one}}', '{{other}}']}`))
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x", 1, value.NewObject("s", strings.Repeat("x", 5_000_000)))
	for !m.Done() {
		m.Run(10_000)
	}
	require.Nil(t, m.Root().Err)
	out, _ := m.Root().Output.([]any)
	require.Len(t, out, 4)
	require.Equal(t, automation.InvalidExpression, value.At(out[0], "error"))
	require.Equal(t, "the expression takes too long to evaluate", value.At(out[0], "message"))
	require.True(t, value.IsNothing(out[1]))
	require.Equal(t, []any{true, true}, out[2:], "what follows has a budget of its own")
}

// heavy is the input of a tree that has much to go through.
func heavy() *value.Object {
	const n = 20_000
	list, object := make([]any, n), &value.Object{}
	for i := range n {
		list[i] = float64(i)
		object.Set(value.Text(float64(i)), 1.0)
	}
	return value.NewObject("s", strings.Repeat("é", n), "l", list, "o", object, "d", []any{list})
}

func TestATurnOfHeavyInstructionsHasFewerOfThem(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]string{
		"a large text":           `{set r: '{{s}}'}`,
		"a large list":           `{set r: '{{l}}'}`,
		"the length of a text":   `{set r: '{{s.length}}'}`,
		"a character":            `{set r: '{{s[19999]}}'}`,
		"no character":           `{set r: '{{s[30000]}}'}`,
		"of what is gone over":   `{repeat: {on: ['{{s}}'], do: [{set r: '{{item.length}}'}]}}`,
		"an item of a list":      `{'set l[7]': 1}`,
		"an item of a list goes": `{delete: {name: 'l[7]'}}`,
		"a push":                 `{'set l[]': 1}`,
		"a key of an object":     `{set o.k: 1}`,
		"a key goes":             `{delete: {name: o.7}}`,
		"keys over an object":    `{set: {name: o, type: merge, value: {k: 1}}}`,
		"a change of an item":    `{repeat: {on: '{{d}}', do: [{'set item[]': 1}]}}`,
		"a whole context":        `{conditions: {'{{session}} === 1': []}}`,
		"contexts that are read": `{set r: [` + strings.Repeat(`'{{session.x}}', `, 50) + `1]}`,
		"contexts, written":      `{set session.x: 1}, {set session.x: 2}, {set session.x: 3}, {set session.x: 4}, {set session.x: 5}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program(t, "t", parseYAML(t, `[`+do+`, {set end: 1}, {set end: 2}]`))
			world := newScript(nil, nil)
			world.contexts["session:u1"], world.limit = heavy().At("o"), 10_000_000
			m := machine.New(machine.Options{World: world})
			m.Start(p, "x", 1, heavy())
			require.True(t, m.Run(10).Yielded)
			for !m.Done() {
				m.Run(10)
			}
			require.Nil(t, m.Root().Err)
		})
	}
}

func TestAnItemThatIsChangedIsGoneThroughEachTime(t *testing.T) {
	t.Parallel()
	p := program(t, "t", parseYAML(t, `[{repeat: {on: ['{{d}}'], do: [`+strings.Repeat(`{'set item[{{item.length}}]': 1}, `, 10)+`]}}]`))
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x", 1, heavy())
	turns := 0
	for ; !m.Done(); turns++ {
		m.Run(10)
	}
	require.Greater(t, turns, 10)
}

func TestWhatIsChangedInPlaceCostsNoMoreThanItIs(t *testing.T) {
	t.Parallel()
	p := program(t, "t", parseYAML(t, `[{'set l[]': 1}`+strings.Repeat(`, {'set l[]': 1}, {'set l[3]': 2}, {set n: '{{l.length}}'}`, 10)+`]`))
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x", 1, heavy())
	m.Run(1) // the first makes a list of its own
	m.Run(1) // which grows once
	require.False(t, m.Run(100).Yielded)
	require.True(t, m.Done())
}

func TestAnAnswerThatIsLargeIsPaidForByItself(t *testing.T) {
	t.Parallel()
	p := program(t, "t", parseYAML(t, `[{rateLimit: {name: n, limit: 1, window: 1, output: r}}, {set end: 1}]`))
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x", 1, nil)
	asked := m.Run(10).Requests
	require.Len(t, asked, 1)
	m.Answer(asked[0].ID, machine.Answer{Value: heavy()})
	require.True(t, m.Run(10).Yielded)
	require.False(t, m.Done())
	m.Run(10)
	require.True(t, m.Done())
}

func TestATreeTellsOnlySoManyErrorsThatEndNothing(t *testing.T) {
	t.Parallel()
	p := program(t, "t", parseYAML(t, `[{repeat: {until: 60, do: [{emit: {event: e, payload: 1}}]}}, {wait: {timeout: 1}},
		{repeat: {until: 60, do: [{emit: {event: e, payload: 1}}]}}, {emit: {event: e}}]`))
	options := machine.Options{World: newScript(nil, nil)}
	m := machine.New(options)
	m.Start(p, "x", 1, nil)
	turn := m.Run(10_000)
	told := turn.Notices
	require.Len(t, told, 60)
	state, err := m.Save()
	require.NoError(t, err)
	m, asked, err := machine.Restore(state, options, func(string) (*machine.Program, error) { return p, nil })
	require.NoError(t, err)
	m.Answer(asked[0].ID, machine.Answer{Value: value.Undefined})
	turn = m.Run(10_000)
	told = append(told, turn.Notices...)
	require.Len(t, told, 100)
	require.Equal(t, told[0].Err.Message, told[98].Err.Message)
	require.Contains(t, told[99].Err.Message, told[0].Err.Message)
	require.Contains(t, told[99].Err.Message, "no more")
	require.Len(t, turn.Requests, 1, "the tree goes on")
}
