package machine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/domaintest"
)

// testCase is a case that the machine is held to.
type testCase struct{ domaintest.Case }

func readCases(t testing.TB) (all []testCase) {
	t.Helper()
	for _, c := range domaintest.ReadCases(t, "testdata/*.yaml") {
		all = append(all, testCase{c})
	}
	return all
}

func parseYAML(t testing.TB, text string) any {
	t.Helper()
	return domaintest.ParseYAML(t, text)
}

func (c testCase) programs(t testing.TB) map[string]*machine.Program {
	t.Helper()
	documents, all := c.Automations(t), map[string]*machine.Program{}
	for _, slug := range documents.Keys() {
		all[slug] = program(t, slug, documents.At(slug))
	}
	return all
}

func program(t testing.TB, slug string, v any) *machine.Program {
	t.Helper()
	a, _ := automation.Parse(domaintest.AutomationOf(slug, v), automation.Rules{})
	require.NotNil(t, a)
	return &machine.Program{Automation: a, Slug: slug, Ref: slug}
}

// ran is what came of a run.
type ran struct {
	Root     *machine.Execution
	Output   string
	Error    string
	Events   []any
	Emitted  []any
	HTTP     []any
	Ended    []string
	Trace    []string
	Seconds  float64
	Branches []string
}

// how a case is run.
type manner struct {
	budget int
	saves  bool // at every wait, and goes on from what was saved
	most   int  // answers after which it is stopped; 0: it comes to its end
	limit  int  // of local variables
}

// run carries a tree through to its end.
func run(t testing.TB, programs map[string]*machine.Program, input, scripted *value.Object, how manner) ran {
	t.Helper()
	s := newScript(programs, scripted)
	if how.limit > 0 {
		s.limit = how.limit
	}
	var out ran
	options := machine.Options{World: s, LocalLimit: how.limit, Zones: time.LoadLocation, Observe: func(x *machine.Execution, at machine.Place, taken string) {
		out.Branches = append(out.Branches, fmt.Sprintf("%s %s %v %s", x.ID, at.Path, at.Iteration, taken))
	}}
	m := machine.New(options)
	m.Start(programs["t"], "x0", 1, input)
	root := m.Root()
	var waiting agenda
	answers := 0
	for turns := 0; !m.Done(); turns++ {
		require.Less(t, turns, 200_000, "the tree runs away")
		turn := m.Go(how.budget)
		for _, x := range turn.Ended {
			out.Ended = append(out.Ended, x.Program.Slug)
			if x.Parent == nil {
				root = x
			}
		}
		for _, n := range turn.Notices {
			out.Events = append(out.Events, n.Err.Name)
		}
		for _, r := range turn.Requests {
			out.Trace = append(out.Trace, fmt.Sprintf("%d %s %s %s %v %d", r.ID, r.Kind, r.Execution.ID, r.Path, r.Iteration, r.Ordinal))
		}
		waiting.add(s.now, turn.Requests)
		if m.Done() || turn.Yielded {
			continue
		}
		require.NotEmpty(t, waiting, "nothing runs and nothing is awaited")
		if how.saves {
			m = again(t, m, options, programs, waiting)
		}
		next := waiting.take()
		s.now = next.at
		m.Answer(next.id, s.answer(next.r))
		if answers++; how.most > 0 && answers >= how.most {
			m.Stop(automation.Raise(automation.ExecutionTimeout, "time is up"))
		}
		if m.Stopping() {
			waiting = slices.DeleteFunc(waiting, func(w told) bool { return indexOfRequest(m.Pending(), w.id) < 0 })
		}
	}
	require.Empty(t, waiting, "a tree that ended waits for nothing")
	out.Root, out.Seconds = root, s.now.Sub(noon).Seconds()
	out.Output = value.JSON(root.Output, "")
	if root.Err != nil {
		out.Error = root.Err.Name
	}
	for _, e := range s.emitted {
		out.Emitted = append(out.Emitted, e)
	}
	for _, w := range s.written {
		out.HTTP = append(out.HTTP, w)
	}
	return out
}

// again returns the machine as another finds it.
func again(t testing.TB, m *machine.Machine, o machine.Options, programs map[string]*machine.Program, waiting agenda) *machine.Machine {
	t.Helper()
	state, err := m.Save()
	require.NoError(t, err)
	restored, asked, err := machine.Restore(state, o, func(ref string) (*machine.Program, error) { return programs[ref], nil })
	require.NoError(t, err)
	require.Len(t, asked, len(waiting))
	for _, r := range asked {
		i := indexOf(waiting, r.ID)
		require.GreaterOrEqual(t, i, 0)
		before := waiting[i].r
		require.Equal(t, before.Place, r.Place)
		require.Equal(t, value.JSON(before.Params, ""), value.JSON(r.Params, ""))
		waiting[i].r = r
	}
	second, err := restored.Save()
	require.NoError(t, err)
	require.Equal(t, state, second, "what is restored is saved the same")
	return restored
}

func indexOfRequest(all []machine.Request, id uint64) int {
	return slices.IndexFunc(all, func(r machine.Request) bool { return r.ID == id })
}

func indexOf(a agenda, id uint64) int {
	return slices.IndexFunc(a, func(w told) bool { return w.id == id })
}
