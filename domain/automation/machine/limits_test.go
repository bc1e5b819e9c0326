package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
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
				for _, r := range m.Go(10_000).Requests {
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
	m.Go(10)
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
		turn := m.Go(1_000_000)
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
