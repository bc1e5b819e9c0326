package machine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// A case is an entry of testdata/*.yaml:
//
//	name         a sentence
//	T, E, do     what automation t does: set r to T, to {% E %}, or these instructions
//	automations  by slug: a list of instructions, or a document
//	input        of t
//	answers      by kind of request, what the outside says, in order
//	expect       r: value of output.r; absent; output: the whole; error: name of the error
//	             that t ends with; details: of it; events: names of error events; emitted: types of
//	             events; executed: how many executions ended; broke; seconds; http: what was
//	             set of $http
//
// In instructions, {T: v} and {E: e} stand for sets of r, and {set name: value} for a
// set. An automation without output has output {r: '{{r}}'}.
type testCase struct{ *value.Object }

func readCases(t testing.TB) []testCase {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	var all []testCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		list, ok := parseYAML(t, string(text)).([]any)
		require.True(t, ok, file)
		for _, item := range list {
			o, ok := item.(*value.Object)
			require.True(t, ok, file)
			all = append(all, testCase{o})
		}
	}
	return all
}

func parseYAML(t testing.TB, text string) any {
	t.Helper()
	var node yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(text), &node), text)
	return ordered(t, node.Content[0])
}

// ordered keeps the order of keys.
func ordered(t testing.TB, n *yaml.Node) any {
	t.Helper()
	switch n.Kind {
	case yaml.MappingNode:
		o := &value.Object{}
		for i := 0; i < len(n.Content); i += 2 {
			o.Set(n.Content[i].Value, ordered(t, n.Content[i+1]))
		}
		return o
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, ordered(t, item))
		}
		return list
	}
	var v any
	require.NoError(t, n.Decode(&v))
	return value.From(v)
}

// expand writes out what the cases abbreviate.
func expand(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = expand(item)
		}
		return list
	case *value.Object:
		if v.Len() == 1 {
			if short := expandInstruction(v.Keys()[0], v.At(v.Keys()[0])); short != nil {
				return short
			}
		}
		o := &value.Object{}
		for _, key := range v.Keys() {
			o.Set(key, expand(v.At(key)))
		}
		return o
	}
	return v
}

func expandInstruction(key string, v any) any {
	set := func(name string, v any) any {
		return value.NewObject("set", value.NewObject("name", name, "value", v))
	}
	switch key {
	case "T":
		return set("r", v)
	case "E":
		return set("r", "{% "+value.Text(v)+" %}")
	}
	if name, ok := strings.CutPrefix(key, "set "); ok {
		return set(name, v)
	}
	return nil
}

func (c testCase) programs(t testing.TB) map[string]*machine.Program {
	t.Helper()
	documents := &value.Object{}
	if given, ok := c.At("automations").(*value.Object); ok {
		documents = given.Copy()
	}
	for _, key := range []string{"T", "E"} {
		if v, ok := c.Get(key); ok {
			documents.Set("t", []any{value.NewObject(key, v)})
		}
	}
	if do, ok := c.Get("do"); ok {
		documents.Set("t", do)
	}
	all := map[string]*machine.Program{}
	for _, slug := range documents.Keys() {
		all[slug] = program(t, slug, documents.At(slug))
	}
	require.Contains(t, all, "t", "%s", c.At("name"))
	return all
}

func program(t testing.TB, slug string, v any) *machine.Program {
	t.Helper()
	doc, ok := expand(v).(*value.Object)
	if !ok {
		doc = value.NewObject("do", expand(v))
	}
	doc.Set("name", slug)
	if _, ok := doc.Get("output"); !ok {
		doc.Set("output", value.NewObject("r", "{{r}}"))
	}
	a, _ := automation.Parse(doc, automation.Rules{})
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
