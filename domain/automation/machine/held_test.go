package machine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// million is twice the limit of most trees here: four of them are that of all they hold.
const million = 1_000_000

// stands runs a tree until all of it waits for something outside, or has ended.
func stands(t *testing.T, limit int, input *value.Object, documents map[string]string) *machine.Machine {
	t.Helper()
	programs := map[string]*machine.Program{}
	for slug, doc := range documents {
		programs[slug] = program(t, slug, parseYAML(t, doc))
	}
	world := newScript(programs, &value.Object{})
	m := machine.New(machine.Options{World: world, LocalLimit: limit})
	m.Start(programs["t"], "x0", 1, input)
	for {
		turn := m.Go(10_000)
		for _, r := range turn.Requests {
			if r.Kind == machine.Throttle || r.Kind == machine.Call {
				m.Answer(r.ID, world.answer(r))
				turn.Yielded = true
			}
		}
		if !turn.Yielded {
			return m
		}
	}
}

// end answers everything that a tree waits for with nothing, and returns how it ended.
func end(m *machine.Machine) *automation.Error {
	for !m.Done() {
		for _, r := range m.Pending() {
			m.Answer(r.ID, machine.Answer{Value: value.Undefined})
		}
		m.Go(10_000)
	}
	return m.Root().Err
}

func TestBadTreesThatHoldTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	const (
		each = `{repeat: {until: 60, batch: {size: 60}, do: [`
		nest = `{repeat: {on: ['{{s}}{{item}}'], do: [`
	)
	for name, do := range map[string]string{
		"items":                `[` + each + `{set item: '{{s}}{{$index}}'}, {wait: {}}]}}]`,
		"variables of others":  `[` + each + `{child: {a: 1}}]}}]`,
		"arguments":            `[` + each + `{idle: {a: '{{s}}{{item}}'}}]}}]`,
		"what is asked":        `[` + each + `{fetch: {url: 'http://h', body: '{{s}}{{item}}'}}]}}]`,
		"lists of loops":       `[` + each + strings.Repeat(nest, 3) + `{wait: {}}` + strings.Repeat(`]}}`, 3) + `]}}]`,
		"copies of an item":    `[{repeat: {on: ['{{rows}}', '{{rows}}', '{{rows}}', '{{rows}}', '{{rows}}', '{{rows}}'], batch: {size: 99}, do: [{'set item[0]': '{{$index}}'}, {wait: {}}]}}]`,
		"copies of a variable": `[` + each + `{copying: {rows: '{{rows}}'}}]}}]`,
		"many small values":    `[{delete: {name: rows}}, {set l: [{}]}, {repeat: {until: 60000, do: [{'set l[]': {}}]}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := stands(t, million/2, value.NewObject("s", strings.Repeat("x", 200_000), "rows", make([]any, 40_000)), map[string]string{
				"t": do, "idle": `[{wait: {}}]`, "child": `[{set v: '` + strings.Repeat("y", 90_000) + `{% uuid() %}'}, {set w: '{{v}}{{v}}'}, {wait: {}}]`,
				"copying": `[{'set rows[0]': 1}, {wait: {}}]`,
			})
			require.Less(t, len(m.Pending()), 30)
			err := end(m)
			require.NotNil(t, err)
			require.Equal(t, automation.ContextTooLarge, err.Name, err.Message)
			require.Equal(t, "all that the automation holds becomes too large", err.Message)
			require.Equal(t, 4.0*million, err.Details.At("limit"))
		})
	}
}

func TestWhatIsSharedOrGoneIsNotHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do      string
		pending int
	}{
		"one argument of all":    {`[{repeat: {until: 60, batch: {size: 60}, do: [{idle: {a: '{{s}}', b: '{{rows}}'}}]}}]`, 60},
		"the items of one list":  {`[{set l: ['{{s}}', '{{s}}', '{{s}}']}, {repeat: {on: '{{l}}', batch: {size: 9}, do: [{repeat: {on: '{{l}}', batch: {size: 9}, do: [{wait: {}}]}}]}}]`, 9},
		"a variable set anew":    {`[{repeat: {until: 60, do: [{set v: '{{s}}{{item}}'}]}}, {wait: {}}]`, 1},
		"those who ended":        {`[{repeat: {until: 60, do: [{ends: {a: '{{s}}{{item}}'}}]}}, {wait: {}}]`, 1},
		"caught, and goes on":    {`[{try: {do: [{repeat: {until: 60, batch: {size: 60}, do: [{set item: '{{s}}{{$index}}'}]}}], catch: [{set c: '{{$error.error}}'}]}}, {wait: {}}]`, 1},
		"large, and used again":  {`[{set l: [{}]}, {repeat: {until: 55000, do: [{'set l[]': {}}]}}, {set again: ['{{l}}', '{{l}}']}, {repeat: {on: '{{l}}', until: 1, do: [{idle: {a: '{{l}}'}}]}}]`, 1},
		"what was deleted again": {`[{repeat: {until: 60, do: [{set v: ['{{s}}{{item}}']}, {delete: {name: v}}]}}, {wait: {}}]`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := stands(t, million, value.NewObject("s", strings.Repeat("x", 200_000), "rows", make([]any, 30_000)), map[string]string{
				"t": c.do, "idle": `[{wait: {}}]`, "ends": `[{set b: '{{a}}x'}]`,
			})
			require.Len(t, m.Pending(), c.pending)
			require.Nil(t, end(m))
		})
	}
}

func TestATreeIsSavedAsLargeAsItIs(t *testing.T) {
	t.Parallel()
	const idle = `[{wait: {}}]`
	all := `[{repeat: {until: 60, batch: {size: 60}, do: [{idle: {a: '{{s}}', b: ['{{rows}}']}}]}}]`
	input := value.NewObject("s", strings.Repeat("x", million/4), "rows", make([]any, million/50))
	m := stands(t, million, input, map[string]string{"t": all, "idle": idle})
	require.Len(t, m.Pending(), 60)
	state, err := m.Save()
	require.NoError(t, err)
	require.Less(t, len(state), million/2)
	programs := map[string]*machine.Program{"t": program(t, "t", parseYAML(t, all)), "idle": program(t, "idle", parseYAML(t, idle))}
	restored, asked, err := machine.Restore(state, machine.Options{World: newScript(programs, nil), LocalLimit: million}, func(ref string) (*machine.Program, error) { return programs[ref], nil })
	require.NoError(t, err)
	require.Len(t, asked, 60)
	again, err := restored.Save()
	require.NoError(t, err)
	require.Equal(t, state, again, "what was shared is")
	require.Nil(t, end(restored))
}

func TestATreeThatIsTooLargeIsNotSaved(t *testing.T) {
	t.Parallel()
	input := value.NewObject("s", strings.Repeat("x", million/2))
	m := stands(t, million, input, map[string]string{"t": `[{repeat: {until: 3, batch: {size: 3}, do: [{set item: '{{s}}{{item}}'}, {wait: {}}]}}]`})
	require.Len(t, m.Pending(), 3)
	_, err := m.Save()
	raised := automation.ErrorOf(err)
	require.Equal(t, automation.ContextTooLarge, raised.Name)
	require.Equal(t, "the automation holds too much to wait", raised.Message)
	require.Equal(t, 1_200_000.0, raised.Details.At("limit"))
	require.Nil(t, end(m), "whoever is not interrupted goes on")
}

// TestStatesOfBeforeAreRead restores what was saved when nothing was shared.
func TestStatesOfBeforeAreRead(t *testing.T) {
	t.Parallel()
	m := stands(t, million, value.NewObject("s", strings.Repeat("x", 5_000)), map[string]string{"t": `{do: [{wait: {}}], output: '{{s}}'}`})
	state, err := m.Save()
	require.NoError(t, err)
	decoded, err := variable.DecodeShared(state)
	require.NoError(t, err)
	before := variable.Encode(decoded)
	require.Greater(t, len(before), len(state)+4_000)
	p := program(t, "t", parseYAML(t, `{do: [{wait: {}}], output: '{{s}}'}`))
	restored, _, err := machine.Restore(before, machine.Options{World: newScript(nil, nil)}, func(string) (*machine.Program, error) { return p, nil })
	require.NoError(t, err)
	require.Nil(t, end(restored))
	require.Len(t, restored.Root().Output, 5_000)
}
