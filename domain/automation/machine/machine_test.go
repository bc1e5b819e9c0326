package machine_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/variable"
	"svc/domain/domaintest"
	"svc/domain/value"
)

func (c testCase) input() *value.Object {
	made := c.Input()
	for _, key := range made.Keys() {
		if made.At(key) == "handle" {
			made.Set(key, machine.HTTP{})
		}
	}
	return made
}

func (c testCase) answers() *value.Object {
	o, _ := c.At("answers").(*value.Object)
	return o
}

func TestCases(t *testing.T) {
	t.Parallel()
	for _, c := range readCases(t) {
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			programs := c.programs(t)
			whole := run(t, programs, c.input(), c.answers(), manner{budget: 1 << 20})
			c.check(t, whole)
			slowly := run(t, programs, c.input(), c.answers(), manner{budget: 1})
			require.Equal(t, same(whole), same(slowly), "how much is run at a time decides nothing")
			if !strings.Contains(value.JSON(c.Object, ""), "$stream") {
				saved := run(t, programs, c.input(), c.answers(), manner{budget: 1 << 20, saves: true})
				require.Equal(t, same(whole), same(saved), "a tree goes on from what was saved")
			}
		})
	}
}

// same is what of two runs must be the same.
func same(r ran) ran {
	r.Root = nil
	return r
}

// check compares what came with what the case expects.
func (c testCase) check(t *testing.T, got ran) {
	t.Helper()
	want := c.Expect(t)
	output, _ := value.ParseJSON(got.Output)
	if got.Root.Err != nil {
		require.Equal(t, want.At("error"), got.Error, "%s at %s", got.Root.Err, got.Root.Err.Instruction)
		require.NotEmpty(t, got.Root.Err.Document)
		require.NotEmpty(t, got.Root.Err.Instruction)
	}
	events := []any{}
	for _, key := range want.Keys() {
		v := want.At(key)
		switch key {
		case "r":
			require.Equal(t, value.JSON(v, ""), value.JSON(value.At(output, "r"), ""))
		case "absent":
			require.Equal(t, "{}", got.Output)
		case "output":
			require.Equal(t, value.JSON(v, ""), got.Output)
		case "error":
			require.Equal(t, v, got.Error)
		case "instruction":
			require.Equal(t, v, got.Root.Err.Instruction)
		case "details":
			require.Equal(t, value.JSON(v, ""), value.JSON(got.Root.Err.Details, ""))
		case "events":
			events, _ = v.([]any)
		case "emitted":
			require.Equal(t, v, append([]any{}, got.Emitted...))
		case "http":
			require.Equal(t, v, append([]any{}, got.HTTP...))
		case "executed":
			require.Len(t, got.Ended, int(value.ToNumber(v)))
		case "broke":
			require.Equal(t, v, got.Root.Broke)
		case "anyOrder": // of what completes at the same time: the script has one
		case "seconds":
			require.InDelta(t, v, got.Seconds, 0.001)
		default:
			require.Fail(t, "unknown expectation", key)
		}
	}
	require.Equal(t, value.JSON(events, ""), value.JSON(append([]any{}, got.Events...), ""), "error events")
	if want.At("error") == value.Undefined {
		require.Empty(t, got.Error)
	}
}

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

// manner is how a case is run.
type manner struct {
	budget int
	saves  bool // at every wait, and goes on from what was saved
	most   int  // answers after which it is stopped; 0: it comes to its end
	limit  int  // of local variables
}

// run runs a tree to its end.
func run(t testing.TB, programs map[string]*machine.Program, input, scripted *value.Object, how manner) ran {
	t.Helper()
	s := newScript(programs, scripted)
	if how.limit > 0 {
		s.limit = how.limit
	}
	var out ran
	options := machine.Options{World: s, LocalLimit: how.limit, Zones: time.LoadLocation, Observe: func(x *machine.Execution, at machine.Location, taken string) {
		out.Branches = append(out.Branches, fmt.Sprintf("%s %s %v %s", x.ID, at.Path, at.Iteration, taken))
	}}
	m := machine.New(options)
	m.Start(programs["t"], "x0", 1, input)
	root := m.Root()
	var waiting answerQueue
	answers := 0
	for turns := 0; !m.Done(); turns++ {
		require.Less(t, turns, 200_000, "the tree runs away")
		turn := m.Run(how.budget)
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
		next := waiting.popFirst()
		s.now = next.at
		m.Answer(next.id, s.answer(next.r))
		if answers++; how.most > 0 && answers >= how.most {
			m.Stop(automation.Raise(automation.ExecutionTimeout, "time is up"))
		}
		if m.Stopping() {
			waiting = slices.DeleteFunc(waiting, func(w pendingAnswer) bool { return indexOfRequest(m.Pending(), w.id) < 0 })
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
func again(t testing.TB, m *machine.Machine, o machine.Options, programs map[string]*machine.Program, waiting answerQueue) *machine.Machine {
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
		require.Equal(t, before.Location, r.Location)
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

func indexOf(a answerQueue, id uint64) int {
	return slices.IndexFunc(a, func(w pendingAnswer) bool { return w.id == id })
}

var noon = time.Date(2024, 3, 31, 12, 0, 0, 0, time.UTC)

// script is the outside of a case: contexts are plain objects, time is what the
// requests that were answered took, and effects are answered as the case says.
type script struct {
	programs map[string]*machine.Program
	answers  *value.Object // by kind of request, in order
	given    map[string]int
	now      time.Time
	contexts map[string]any
	user     string
	limit    int // bytes of a context
	drawn    uint64
	names    int

	expires map[string]time.Time // by context and path
	written []string             // $http
	emitted []string
}

func newScript(programs map[string]*machine.Program, answers *value.Object) *script {
	return &script{
		programs: programs, answers: answers, given: map[string]int{}, now: noon, user: "u1", limit: 100_000, expires: map[string]time.Time{},
		contexts: map[string]any{
			"secret": value.NewObject("k", "hidden"), "$workspace": value.NewObject("name", "W"), "config": value.NewObject("c", 1.0),
		},
	}
}

// context returns where a context is kept: that of users and sessions by identity.
func (s *script) context(root string) string {
	if root == "user" || root == "session" {
		return root + ":" + s.user
	}
	return root
}

func (s *script) Read(x *machine.Execution, keys []string) (any, error) {
	if keys[0] == "user" && len(keys) == 2 && keys[1] == "id" {
		return s.user, nil
	}
	if keys[0] == "run" && len(keys) == 2 {
		switch keys[1] {
		case "depth":
			return float64(x.Depth), nil
		case "executionId":
			return x.ID, nil
		case "date":
			return value.From(s.now), nil
		}
	}
	if keys[0] == "global" && len(keys) > 1 && keys[1] == "broken" {
		return nil, errors.New("the disk is on fire")
	}
	v, ok := s.contexts[s.context(keys[0])]
	if at, dies := s.expires[strings.Join(keys, " ")]; !ok || dies && !s.now.Before(at) {
		return value.Undefined, nil
	}
	return value.Walk(v, keys[1:]...), nil
}

func (s *script) Write(_ *machine.Execution, w machine.Write) error {
	if w.Switch {
		s.user, _ = w.Op.Value.(string)
		return nil
	}
	if w.Context == "$http" {
		s.written = append(s.written, w.Op.Path[0].Key+"="+value.JSON(w.Op.Value, ""))
		return nil
	}
	name := w.Context
	for _, step := range w.Op.Path {
		name += " " + step.Key
	}
	delete(s.expires, name)
	if w.TTL > 0 {
		s.expires[name] = s.now.Add(w.TTL)
	}
	at := s.context(w.Context)
	old, ok := s.contexts[at]
	if !ok {
		old = value.Undefined
	}
	made, err := variable.Apply(old, w.Op)
	if err == nil && !value.FitsWithin(made, s.limit) {
		return automation.Raise(automation.ContextTooLarge, "too large", "context", w.Context)
	}
	s.contexts[at] = made
	return err
}

func (s *script) Now() time.Time { return s.now }

func (s *script) Random(n int) []byte {
	s.drawn++
	return binary.BigEndian.AppendUint64(make([]byte, n), s.drawn)[8:]
}

// answer is what the outside says to a request.
func (s *script) answer(r machine.Request) machine.Answer {
	scripted := s.scripted(r)
	switch r.Kind {
	case machine.Call:
		p, ok := s.programs[r.Slug]
		if !ok {
			return machine.Answer{Err: automation.NotFound(r.Slug, nil)}
		}
		s.names++
		return machine.Answer{Program: p, ExecutionID: "x" + value.Text(float64(s.names))}
	case machine.Emit:
		s.emitted = append(s.emitted, value.Text(r.Params.At("event")))
		if value.IsUndefined(scripted) {
			scripted = value.NewObject("id", "e"+value.Text(float64(len(s.emitted))), "type", r.Params.At("event"), "payload", r.Params.At("payload"))
		}
	case machine.Next:
		if stream, ok := r.Stream.(*domaintest.Stream); ok {
			return machine.Answer{Value: stream.Next()}
		}
	case machine.Config:
		return machine.Answer{Value: value.Undefined, Err: s.Write(r.Execution, *r.Write)}
	case machine.Chunk:
		s.written = append(s.written, "chunk="+value.JSON(r.Value, ""))
	}
	if name, ok := value.At(scripted, "$raise").(string); ok {
		details, _ := value.At(scripted, "details").(*value.Object)
		return machine.Answer{Err: &automation.Error{Name: name, Message: "as scripted", Details: details}}
	}
	return machine.Answer{Value: scripted}
}

// scripted takes the next answer that the case has for a kind of request.
func (s *script) scripted(r machine.Request) any {
	list, _ := s.answers.At(string(r.Kind)).([]any)
	n := s.given[string(r.Kind)]
	s.given[string(r.Kind)]++
	if n >= len(list) {
		return value.Undefined
	}
	return domaintest.WithStreams(list[n])
}

// pendingAnswer is an answer on its way.
type pendingAnswer struct {
	at time.Time
	id uint64
	r  machine.Request
}

// answerQueue holds what was asked, by the time at which it is answered.
type answerQueue []pendingAnswer

func (a *answerQueue) add(now time.Time, requests []machine.Request) {
	for _, r := range requests {
		*a = append(*a, pendingAnswer{now.Add(r.Duration), r.ID, r})
	}
	slices.SortFunc(*a, func(x, y pendingAnswer) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.id, y.id))
	})
}

func (a *answerQueue) popFirst() pendingAnswer {
	first := (*a)[0]
	*a = (*a)[1:]
	return first
}

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
	return tr.Run(1000)
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
	turn := tr.answered(t, tr.Run(1000).Requests[0])
	require.Equal(t, []string{"wait do[0].all[0].try.do[0].wait", "wait do[0].all[1].repeat.do[0].wait"}, names(turn.Requests))
	stale := turn.Requests[0]
	tr.Stop(automation.Raise(automation.ExecutionCancelled, "cancelled"))
	require.True(t, tr.Stopping())
	turn = tr.Run(1000)
	require.Equal(t, []string{"emit do[0].all[0].try.finally[0].emit"}, names(turn.Requests))
	tr.Answer(stale.ID, machine.Answer{Value: "late"})
	require.Empty(t, tr.Run(1000).Requests)
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
	wait := tr.Run(1000).Requests[0]
	tr.Stop(automation.Raise(automation.ExecutionTimeout, "time is up"))
	require.Empty(t, tr.Run(1000).Requests)
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
	turn := tr.answered(t, tr.Run(1000).Requests[0])
	require.Len(t, turn.Requests, 1)
	tr.Stop(automation.Raise(automation.ExecutionTimeout, "time is up"))
	require.Equal(t, []string{"wait do[0].try.finally[1].wait"}, names(tr.Run(1000).Requests))
	tr.Stop(automation.Raise(automation.ExecutionTimeout, "time is up"))
	turn = tr.Run(1000)
	require.True(t, tr.Done())
	require.Empty(t, turn.Requests)
	require.Len(t, turn.Ended, 2)
}

func TestAnEndlessLoopIsCutAndStopped(t *testing.T) {
	t.Parallel()
	tr := begun(t, machine.Options{}, map[string]any{"t": parseYAML(t, `[{repeat: {until: '{{no}}', do: []}}]`)})
	turns := 0
	for range 100 {
		turn := tr.Run(100)
		for _, r := range turn.Requests {
			require.Equal(t, machine.Throttle, r.Kind)
			require.Equal(t, 500, r.N)
			tr.Answer(r.ID, machine.Answer{})
			turns++
		}
	}
	require.Equal(t, 16, turns, "one throttle for 500 iterations")
	tr.Stop(automation.Raise(automation.ExecutionTimeout, "time is up"))
	tr.Run(100)
	require.True(t, tr.Done())
}

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
	turn := tr.Run(1000)
	require.Len(t, turn.Requests, 2)
	const path = "do[0].repeat.do[0].repeat.do[0].all[0].repeat.do[0].child"
	require.Equal(t, machine.Location{Path: path, Iteration: []int{0, 0, 0}, Ordinal: 2}, turn.Requests[0].Location)
	require.Equal(t, machine.Location{Path: path, Iteration: []int{0, 1, 0}, Ordinal: 2}, turn.Requests[1].Location)
	second := turn.Requests[1]
	turn = tr.answered(t, turn.Requests[0])
	require.Equal(t, machine.Location{Path: "do[0].repeat.do[0].wait", Iteration: []int{0}}, turn.Requests[0].Location)
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

// locatingWorld is a world that notes where it is asked.
type locatingWorld struct {
	*script

	m  *machine.Machine
	at []machine.Location
}

func (p *locatingWorld) Random(n int) []byte {
	_, at := p.m.CurrentLocation()
	p.at = append(p.at, at)
	return p.script.Random(n)
}

func TestTheWorldCanAskWhereItIsAsked(t *testing.T) {
	t.Parallel()
	p := program(t, "t", value.NewObject("do", parseYAML(t, `
- set a: '{% uuid() + uuid() %}'
- repeat: {until: '{% uuid() == "x" or {{$index}} > 0 %}', do: [{set b: '{% uuid() %}'}]}
`), "output", "{% uuid() %}"))
	w := &locatingWorld{script: newScript(nil, nil)}
	w.m = machine.New(machine.Options{World: w})
	w.m.Start(p, "x0", 1, nil)
	w.m.Run(1000)
	require.True(t, w.m.Done())
	require.Equal(t, []machine.Location{
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
	tr.Run(10_000)
	require.True(t, tr.Done())
	require.Nil(t, tr.Root().Err)
	require.Equal(t, `{"error":"ContextSizeError","message":"the local variables become too large","details":{"context":"local","size":1009,"limit":1000}}`,
		value.JSON(value.At(tr.Root().Output, "r"), ""))
}

func TestAFailedLoopClosesItsStream(t *testing.T) {
	t.Parallel()
	doc := map[string]any{"t": parseYAML(t, `[{fetch: {url: 'http://h', output: s}}, {repeat: {on: '{{s}}', do: [{nope: {}}]}}]`)}
	tr := begun(t, machine.Options{}, doc)
	stream := &domaintest.Stream{Items: []any{"a", "b"}}
	tr.Answer(tr.Run(1000).Requests[0].ID, machine.Answer{Value: stream})
	next := tr.Run(1000).Requests[0]
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
	tr.Answer(tr.Run(1000).Requests[0].ID, machine.Answer{Value: &domaintest.Stream{}})
	require.Len(t, tr.Run(1000).Requests, 2)
	state, err := tr.Save()
	require.NoError(t, err)
	m, asked, err := machine.Restore(state, machine.Options{World: tr.world}, func(ref string) (*machine.Program, error) { return tr.programs[ref], nil })
	require.NoError(t, err)
	require.Len(t, asked, 1, "the next item is not asked for")
	m.Run(1000)
	m.Answer(asked[0].ID, machine.Answer{Value: value.Undefined})
	m.Run(1000)
	require.True(t, m.Done())
	require.Equal(t, `{"r":["reset","reset"]}`, value.JSON(m.Root().Output, ""))
}

func TestATreeThatRunsIsNotSaved(t *testing.T) {
	t.Parallel()
	tr := begun(t, machine.Options{}, map[string]any{"t": parseYAML(t, `[{wait: {}}, {set a: 1}]`)})
	_, err := tr.Save()
	require.Error(t, err)
	r := tr.Run(1000).Requests[0]
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

// million is twice the limit of most trees here: four of them are that of all they hold.
const million = 1_000_000

// runUntilWaiting runs a tree until all of it waits for something outside, or has ended.
func runUntilWaiting(t *testing.T, limit int, input *value.Object, documents map[string]string) *machine.Machine {
	t.Helper()
	programs := map[string]*machine.Program{}
	for slug, doc := range documents {
		programs[slug] = program(t, slug, parseYAML(t, doc))
	}
	world := newScript(programs, &value.Object{})
	m := machine.New(machine.Options{World: world, LocalLimit: limit})
	m.Start(programs["t"], "x0", 1, input)
	for {
		turn := m.Run(10_000)
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
		m.Run(10_000)
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
			m := runUntilWaiting(t, million/2, value.NewObject("s", strings.Repeat("x", 200_000), "rows", make([]any, 40_000)), map[string]string{
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
			m := runUntilWaiting(t, million, value.NewObject("s", strings.Repeat("x", 200_000), "rows", make([]any, 30_000)), map[string]string{
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
	m := runUntilWaiting(t, million, input, map[string]string{"t": all, "idle": idle})
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
	m := runUntilWaiting(t, million, input, map[string]string{"t": `[{repeat: {until: 3, batch: {size: 3}, do: [{set item: '{{s}}{{item}}'}, {wait: {}}]}}]`})
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
	m := runUntilWaiting(t, million, value.NewObject("s", strings.Repeat("x", 5_000)), map[string]string{"t": `{do: [{wait: {}}], output: '{{s}}'}`})
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

// FuzzDocuments runs whatever documents the bytes make, at once, instruction by
// instruction, and from one saved state to the next: nothing panics, what is stopped
// ends, and all three come to the same.
func FuzzDocuments(f *testing.F) {
	f.Add([]byte("conditions repeat set try all break child wait 0123456789"))
	f.Add([]byte{3, 9, 5, 2, 7, 1, 8, 8, 2, 4, 6, 3, 3, 3, 3, 1, 0, 250, 17, 4, 9, 12, 40, 33, 21, 8, 7, 6})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dice{data: data}
		programs := map[string]*machine.Program{"t": program(t, "t", d.list(0)), "child": program(t, "child", d.list(0))}
		input := value.NewObject("l", []any{1.0, "a"}, "o", value.NewObject("k", 2.0), "$http", machine.HTTP{})
		const most, limit = 25, 2_000
		whole := run(t, programs, input, nil, manner{budget: 1 << 20, most: most, limit: limit})
		slowly := run(t, programs, input, nil, manner{budget: 7, most: most, limit: limit})
		require.Equal(t, same(whole), same(slowly))
		saved := run(t, programs, input, nil, manner{budget: 1 << 20, most: most, limit: limit, saves: true})
		require.Equal(t, same(whole), same(saved))
	})
}

// FuzzRestore reads states that are none.
func FuzzRestore(f *testing.F) {
	p := program(f, "t", parseYAML(f, `[{repeat: {until: 2, batch: {size: 2}, do: [{try: {do: [{all: [{wait: {}}, {t: {}}]}]}}]}}]`))
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x", 1, nil)
	m.Run(100)
	state, err := m.Save()
	require.NoError(f, err)
	f.Add(state)
	f.Fuzz(func(t *testing.T, data []byte) {
		restored, asked, err := machine.Restore(data, machine.Options{World: newScript(nil, nil)}, func(string) (*machine.Program, error) { return p, nil })
		if err != nil {
			return
		}
		require.NotNil(t, restored.Root())
		require.LessOrEqual(t, len(asked), len(data))
	})
}

// dice takes decisions from bytes; when these are used up it repeats the last
// ones no more and always says 0.
type dice struct {
	data []byte
}

func (d *dice) next() byte {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return b
}

func (d *dice) of(choices ...any) any { return choices[int(d.next())%len(choices)] }

func (d *dice) list(depth int) []any {
	var all []any
	for range int(d.next()) % 4 {
		all = append(all, d.instruction(depth+1))
	}
	return all
}

func (d *dice) value() any {
	return d.of(1.0, "a", nil, "{{l}}", "{{o}}", "{{r}}", "{% {{n}} + 1 %}", []any{"{{item}}", 2.0}, value.NewObject("k", "{{x}}"), "{{$http}}", "{% uuid() %}")
}

func (d *dice) name() any {
	return d.of("r", "n", "r[]", "r.k", "r[0]", "item", "$index", "l[]", "session.a", "config.b", "r[{{n}}]", "$http", "run.depth", "user.id")
}

func (d *dice) instruction(depth int) any {
	if depth > 5 {
		return value.NewObject("set", value.NewObject("name", d.name(), "value", d.value()))
	}
	switch d.next() % 12 {
	case 0:
		return value.NewObject("conditions", value.NewObject("{{n}} > 2", d.list(depth), "default", d.list(depth)))
	case 1:
		return value.NewObject("repeat", value.NewObject("until", d.of(2.0, "{{n}}", "{% {{r}} > 3 %}"), "do", d.list(depth)))
	case 2:
		return value.NewObject("repeat", value.NewObject("on", d.of("{{l}}", "{{o}}", "{{r}}"), "do", d.list(depth),
			"batch", value.NewObject("size", d.of(1.0, 2.0, 3.0), "interval", d.of(0.0, 5.0))))
	case 3:
		return value.NewObject("break", value.NewObject("scope", d.of("automation", "repeat", "all", "{{r}}"), "payload", d.value()))
	case 4:
		return value.NewObject("all", d.list(depth))
	case 5:
		return value.NewObject("try", value.NewObject("do", d.list(depth), "catch", d.list(depth), "finally", d.list(depth)))
	case 6:
		return value.NewObject("wait", value.NewObject("timeout", d.of(1.0, 2.0, "{{n}}"), "output", d.name()))
	case 7:
		return value.NewObject(d.of("child", "t", "nope").(string), value.NewObject("l", d.value(), "output", d.name()))
	case 8:
		return value.NewObject("delete", value.NewObject("name", d.name()))
	case 9:
		return value.NewObject("emit", value.NewObject("event", d.of("e", "{{n}}"), "payload", d.value(), "output", d.name()))
	}
	return value.NewObject("set", value.NewObject("name", d.name(), "value", d.value(), "type", d.of("replace", "merge", "push", nil)))
}

// benchmarkDo runs a loop of these instructions and tells the time of one
// iteration.
func benchmarkDo(b *testing.B, do string) {
	b.Helper()
	p := program(b, "t", value.NewObject(
		"do", []any{value.NewObject("repeat", value.NewObject("until", float64(b.N), "do", parseYAML(b, do)))}, "output", "{{r}}",
	))
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x", 1, value.NewObject("n", 5.0, "o", value.NewObject("a", value.NewObject("b", "text"))))
	b.ReportAllocs()
	b.ResetTimer()
	for !m.Done() {
		for _, r := range m.Run(100_000).Requests {
			m.Answer(r.ID, machine.Answer{})
		}
	}
	require.Nil(b, m.Root().Err)
}

func BenchmarkIteration(b *testing.B) { benchmarkDo(b, `[]`) }
func BenchmarkSet(b *testing.B)       { benchmarkDo(b, `[{set r: '{{o.a.b}}'}]`) }
func BenchmarkSetText(b *testing.B)   { benchmarkDo(b, `[{set r: 'number {{item}} of {{o.a.b}}'}]`) }
func BenchmarkSetExpression(b *testing.B) {
	benchmarkDo(b, `[{set r: '{% {{n}} * 2 + {{$index}} %}'}]`)
}
func BenchmarkSetObject(b *testing.B) {
	benchmarkDo(b, `[{set r: {a: '{{n}}', b: [1, '{{item}}'], c: {d: x}}}]`)
}
func BenchmarkSetPath(b *testing.B) { benchmarkDo(b, `[{set r.x.y: '{{$index}}'}]`) }
func BenchmarkPush(b *testing.B)    { benchmarkDo(b, `[{'set r[]': '{{item}}'}]`) }
func BenchmarkKeys(b *testing.B)    { benchmarkDo(b, `[{'set r[{{item}}]': 1}]`) }
func BenchmarkMerge(b *testing.B) {
	benchmarkDo(b, `[{set: {name: r, type: merge, value: {a: '{{n}}'}}}]`)
}

func BenchmarkConditions(b *testing.B) {
	benchmarkDo(b, `[{conditions: {'{{n}} > 80': [{set r: 1}], '{{o.a.b}} == "text"': [{set r: 2}]}}]`)
}

func BenchmarkTry(b *testing.B) { benchmarkDo(b, `[{try: {do: [{set r: 1}], catch: []}}]`) }

func BenchmarkCall(b *testing.B) {
	child := program(b, "child", value.NewObject("do", parseYAML(b, `[{set r: '{{a}}'}]`), "output", "{{r}}"))
	p := program(b, "t", []any{value.NewObject("repeat", value.NewObject("until", float64(b.N), "do", parseYAML(b, `[{child: {a: '{{item}}', output: r}}]`)))})
	m := machine.New(machine.Options{World: newScript(nil, nil)})
	m.Start(p, "x", 1, nil)
	b.ReportAllocs()
	b.ResetTimer()
	for !m.Done() {
		for _, r := range m.Run(100_000).Requests {
			m.Answer(r.ID, machine.Answer{Program: child, ExecutionID: "y"})
		}
	}
	require.Nil(b, m.Root().Err)
}

// BenchmarkSave is of a tree with 1000 rows of ten kilobytes in all.
func BenchmarkSave(b *testing.B) {
	p := program(b, "t", parseYAML(b, `[{repeat: {until: 1000, do: [{'set r[]': {a: '{{item}}', b: text}}]}}, {wait: {}}]`))
	options := machine.Options{World: newScript(nil, nil)}
	m := machine.New(options)
	m.Start(p, "x", 1, nil)
	for {
		turn := m.Run(100_000)
		if len(turn.Requests) == 1 && turn.Requests[0].Kind == machine.Wait {
			break
		}
		for _, r := range turn.Requests {
			m.Answer(r.ID, machine.Answer{})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		state, err := m.Save()
		require.NoError(b, err)
		_, _, err = machine.Restore(state, options, func(string) (*machine.Program, error) { return p, nil })
		require.NoError(b, err)
	}
}
