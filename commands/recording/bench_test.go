package recording_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/recording"
	"svc/domain/automation/machine"
	"svc/domain/automation/variable"
	"svc/domain/domaintest"
	"svc/domain/value"
)

// An effect that is recorded: asked and answered with a response of some kilobytes.
func BenchmarkEffect(b *testing.B) {
	rows := make([]any, 50)
	for i := range rows {
		rows[i] = value.NewObject("id", float64(i), "name", "somebody", "tags", []any{"a", "b", "c"})
	}
	request := machine.Request{
		Kind: machine.Fetch, Execution: &machine.Execution{ID: "x0"}, Location: machine.Location{Path: "do[0].fetch"},
		Params: value.NewObject("url", "https://example.com/some/path", "method", "post", "body", value.NewObject("a", 1.0)),
	}
	answer := machine.Answer{Value: value.NewObject("status", 200.0, "body", rows)}
	now := time.Now()
	for name, recorder := range map[string]func() *recording.Recorder{
		"recorded": func() *recording.Recorder { return recording.NewRecorder(1 << 40) },
		"off":      func() *recording.Recorder { return nil },
	} {
		b.Run(name, func(b *testing.B) {
			r := recorder()
			b.ReportAllocs()
			for i := range b.N {
				request.ID = uint64(i + 1) //nolint:gosec // a count
				r.Ask(request, now)
				r.Answer(request.ID, answer, now)
			}
		})
	}
}

// contextWorld is a world that does nothing but keep contexts, and notes what it says as the
// runtime does, where there is something to note it.
type contextWorld struct {
	*recording.Recorder
	machine *machine.Machine
	views   map[string]*value.Object
}

func (l *contextWorld) view(root string) *value.Object {
	if l.views[root] == nil {
		l.views[root] = value.NewObject("name", "somebody", "count", 5.0)
		l.View(root, "c1", l.views[root])
	}
	return l.views[root]
}

// Read implements machine.World.
func (l *contextWorld) Read(x *machine.Execution, keys []string) (any, error) {
	if keys[0] == "run" && len(keys) == 2 && keys[1] == "date" {
		date := "2024-03-31T12:00:00.000Z"
		if l.Recorder != nil {
			_, at := l.machine.CurrentLocation()
			l.Date(x, at, date)
		}
		return date, nil
	}
	return value.Walk(l.view(keys[0]), keys[1:]...), nil
}

// Write implements machine.World.
func (l *contextWorld) Write(_ *machine.Execution, w machine.Write) error {
	next, err := variable.Apply(l.view(w.Context), w.Op)
	if changed, ok := next.(*value.Object); ok {
		l.views[w.Context] = changed
	}
	return err
}

// Now implements machine.World.
func (l *contextWorld) Now() time.Time {
	if l.Recorder != nil {
		x, at := l.machine.CurrentLocation()
		l.Clock(x, at, noon)
	}
	return noon
}

// Random implements machine.World.
func (l *contextWorld) Random(n int) []byte {
	drawn := make([]byte, n)
	if l.Recorder != nil {
		x, at := l.machine.CurrentLocation()
		l.Recorder.Random(x, at, drawn)
	}
	return drawn
}

// run runs a tree to its end, with answers that are always the same.
func (l *contextWorld) run(p *machine.Program, input *value.Object, start recording.Start, answer machine.Answer) *machine.Execution {
	l.views = map[string]*value.Object{}
	l.machine = machine.New(machine.Options{World: l})
	l.machine.Start(p, "x0", 1, input)
	l.Start(start)
	for !l.machine.Done() {
		l.Turn()
		turn := l.machine.Run(recording.TurnLength)
		for _, r := range turn.Requests {
			l.Ask(r, noon)
			l.Answer(r.ID, answer, noon)
			l.machine.Answer(r.ID, answer)
		}
		for _, x := range turn.Ended {
			l.Ended(x)
		}
	}
	return l.machine.Root()
}

// BenchmarkRun is of a small run: a request of 1 kB is looked at, a loop of ten, a
// fetch that brings 2 kB, an event. Its record is not made, made and thrown away since
// all went well, or made and written.
func BenchmarkRun(b *testing.B) {
	const small = `
do: [
  {conditions: {'{{body.kind}} == "order"': [{set session.last: '{{body.id}}'}], default: [{set session.last: none}]}},
  {set key: '{{run.date}}-{% rand(1, 100) %}'},
  {repeat: {on: '{{body.lines}}', do: [{set total: '{% {{total}} + {{item.price}} * {{item.count}} %}'}]}},
  {fetch: {url: 'https://example.com/orders/{{body.id}}', method: post, body: {total: '{{total}}', key: '{{key}}'}, output: r}},
  {emit: {event: ordered, payload: {id: '{{body.id}}', of: '{{session.name}}', status: '{{r.status}}'}}}]
output: '{{r}}'`
	list := func(n int, item *value.Object) (all []any) {
		for range n {
			all = append(all, item)
		}
		return all
	}
	p := program(b, "t", domaintest.ParseYAML(b, small))
	input := value.NewObject("body", value.NewObject(
		"kind", "order", "id", "o-1", "lines", list(10, value.NewObject("price", 5.0, "count", 2.0, "article", "something that has a long name, and more")),
	))
	answer := machine.Answer{Value: value.NewObject("status", "ok", "rows", list(25, value.NewObject("id", 1.0, "name", "somebody", "tags", []any{"a", "b"})))}
	start := newSimulatedWorld(1).start(p, input)
	for name, limit := range map[string]int{"off": 0, "noted": 10_000_000, "noted and written": 10_000_000} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var size int
			for range b.N {
				l := &contextWorld{}
				if limit > 0 {
					l.Recorder = recording.NewRecorder(limit)
				}
				require.Nil(b, l.run(p, input, start, answer).Err)
				if name == "noted and written" {
					size = len(l.Save())
				}
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
