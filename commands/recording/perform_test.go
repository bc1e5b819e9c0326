package recording_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/recording"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/variable"
	"svc/domain/domaintest"
	"svc/domain/value"
)

var (
	errTooLate  = automation.Invalid("too late")
	errNoObject = automation.Invalid("no object")
	errTooLarge = automation.Raise(automation.ContextTooLarge, "too large")
	errStopped  = automation.Raise(automation.ExecutionTimeout, "time is up")
)

// scriptedTree is a tree with the programs and the answers it has.
type scriptedTree struct {
	programs    map[string]*machine.Program
	input       *value.Object
	answers     *value.Object // by kind of request, in order
	chances     bool          // it may be stopped, and interrupted
	most        int           // answers after which it is stopped; 0: any number
	replayBytes int           // bytes that a replay keeps; 0: as many as it does
}

func program(t testing.TB, slug string, v any) *machine.Program {
	t.Helper()
	a, _ := automation.Parse(domaintest.AutomationOf(slug, v), automation.Rules{})
	require.NotNil(t, a)
	return &machine.Program{Automation: a, Slug: slug, Ref: slug}
}

func (p *scriptedTree) find(ref string) (*machine.Program, error) {
	if found := p.programs[ref]; found != nil {
		return found, nil
	}
	return nil, automation.NotFound(ref, nil)
}

func (p *scriptedTree) findProgram(_ context.Context, ref string) (*machine.Program, error) {
	return p.find(ref)
}

// perform runs a tree on a stage to its end, and returns its record.
func (p *scriptedTree) perform(t testing.TB, seed uint64) (*machine.Execution, []byte) {
	t.Helper()
	s := newSimulatedWorld(seed)
	s.chances = p.chances
	o := machine.Options{World: s, Zones: time.LoadLocation, Zone: time.UTC}
	s.machine = machine.New(o)
	s.machine.Start(p.programs["t"], "x0", 1, p.input)
	s.Start(s.start(p.programs["t"], p.input))
	s.Scope("", func() *value.Object { return &value.Object{} })
	root, given := s.machine.Root(), map[machine.Kind]int{}
	var waiting []machine.Request
	names, count := 0, 0
	stop := func() {
		s.Stop(errStopped)
		s.machine.Stop(errStopped)
	}
	for turns := 0; !s.machine.Done(); turns++ {
		require.Less(t, turns, 100_000, "the tree runs away")
		s.Turn()
		turn := s.machine.Run(recording.TurnLength)
		for _, x := range turn.Ended {
			s.Ended(x)
			if x.Parent == nil {
				root = x
			}
		}
		for _, r := range turn.Requests {
			s.Ask(r, s.now)
			waiting = append(waiting, r)
		}
		if s.machine.Done() || turn.Yielded {
			continue
		}
		if p.chances && s.dice.IntN(6) == 0 {
			waiting = s.interrupt(t, o, p)
		}
		for n := 1 + s.dice.IntN(3); n > 0 && len(waiting) > 0; n-- {
			i := s.dice.IntN(len(waiting))
			r := waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
			s.now = s.now.Add(r.Duration)
			if r.Kind == machine.Wait {
				s.refresh()
			}
			names++
			a := p.answer(s, r, given, names)
			s.Answer(r.ID, a, s.now)
			s.machine.Answer(r.ID, a)
			count++
		}
		if p.most > 0 && count >= p.most || p.chances && s.dice.IntN(200) == 0 {
			stop()
		}
		waiting = slices.DeleteFunc(waiting, func(r machine.Request) bool {
			return s.machine.Stopping() && !slices.ContainsFunc(s.machine.Pending(), func(q machine.Request) bool { return q.ID == r.ID })
		})
	}
	return root, s.Save()
}

// interrupt lets the tree go on where it stands, as another node would.
func (s *simulatedWorld) interrupt(t testing.TB, o machine.Options, p *scriptedTree) []machine.Request {
	t.Helper()
	state, err := s.machine.Save()
	require.NoError(t, err)
	body := s.Save()
	var asked []machine.Request
	s.machine, asked, err = machine.Restore(state, o, p.find)
	require.NoError(t, err)
	s.Recorder = recording.NewRecorder(10_000_000)
	require.NoError(t, s.Load(body))
	s.config = nil
	clear(s.views)
	clear(s.written)
	return asked
}

// answer is what the outside says to a request.
func (p *scriptedTree) answer(s *simulatedWorld, r machine.Request, given map[machine.Kind]int, n int) machine.Answer {
	list, _ := p.answers.At(string(r.Kind)).([]any)
	scripted := value.Undefined
	if given[r.Kind] < len(list) {
		scripted = domaintest.WithStreams(list[given[r.Kind]])
	}
	given[r.Kind]++
	switch r.Kind {
	case machine.Call:
		found, err := p.find(r.Slug)
		if err != nil {
			return machine.Answer{Value: value.Undefined, Err: err}
		}
		return machine.Answer{Value: value.Undefined, Program: found, ExecutionID: "x" + value.Text(float64(n))}
	case machine.Emit:
		if value.IsUndefined(scripted) {
			scripted = value.NewObject("id", float64(n), "type", r.Params.At("event"), "payload", r.Params.At("payload"))
		}
	case machine.Next:
		if stream, ok := r.Stream.(*domaintest.Stream); ok {
			return machine.Answer{Value: stream.Next()}
		}
		return machine.Answer{Value: value.Undefined, Err: automation.Raise(automation.FetchFailed, "cut off")}
	case machine.Config:
		next, err := variable.Apply(s.settings(), r.Write.Op)
		if changed, ok := next.(*value.Object); err == nil && ok {
			s.config = changed
			s.Configured("", changed)
		}
		return machine.Answer{Value: value.Undefined, Err: err}
	}
	if name, ok := value.At(scripted, "$raise").(string); ok {
		details, _ := value.At(scripted, "details").(*value.Object)
		return machine.Answer{Value: value.Undefined, Err: &automation.Error{Name: name, Message: "as scripted", Details: details}}
	}
	return machine.Answer{Value: scripted}
}

// replay plays a record with these programs.
func (p *scriptedTree) replay(t testing.TB, body []byte, current *scriptedTree) recording.Report {
	t.Helper()
	r, err := recording.Parse(body)
	require.NoError(t, err)
	o := recording.Options{
		Document: recording.Recorded,
		Find:     p.findProgram,
		MaxBytes: p.replayBytes,
	}
	if current != nil {
		o.Document = recording.Current
		o.Current = current.findProgram
	}
	return recording.Replay(t.Context(), r, o)
}
