package machine

import (
	"errors"
	"maps"
	"slices"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// stateVersion is the first thing that a saved tree says.
const stateVersion = 1

var errRunning = errors.New("machine: a tree can be saved only while all of it waits")

// Save writes the tree down: where every branch stands, the variables, the loops
// and what was asked. It can be called when Go has returned and nothing is left to
// run. Streams are lost. A tree that is too large to be kept is a ContextSizeError.
func (m *Machine) Save() ([]byte, error) {
	if len(m.queue)+len(m.inbox) > 0 || m.root == nil {
		return nil, errRunning
	}
	limit := m.keptLimit()
	if state, ok := variable.EncodeShared(m.state(), limit); ok {
		return state, nil
	}
	return nil, automation.Raise(automation.ContextTooLarge, "the automation holds too much to wait",
		"context", "local", "size", float64(limit+1), "limit", float64(limit))
}

// state is the tree as it is saved.
func (m *Machine) state() *value.Object {
	s := saver{executions: map[*Execution]int{}, iterations: map[*iteration]int{}, branches: map[*branch]int{}}
	for i, b := range m.branches {
		s.branches[b] = i
	}
	branches := make([]any, len(m.branches))
	for i, b := range m.branches {
		branches[i] = s.branch(b)
	}
	root := s.execution(m.root)
	return value.NewObject(
		"version", float64(stateVersion), "request", float64(m.lastID), "branch", float64(m.lastName), "credit", float64(m.credit), "told", float64(m.told),
		"stopping", m.stopping, "aborting", m.aborting, "done", m.done, "root", float64(root),
		"branches", branches, "executions", s.saved, "iterations", s.around,
	)
}

// saver gives numbers to what is pointed at.
type saver struct {
	branches   map[*branch]int
	executions map[*Execution]int
	saved      []any
	iterations map[*iteration]int
	around     []any
}

// execution writes an execution once, its parents before it, and returns its
// number.
func (s *saver) execution(x *Execution) int {
	if n, ok := s.executions[x]; ok {
		return n
	}
	parent := -1
	if x.Parent != nil {
		parent = s.execution(x.Parent)
	}
	names := value.NewObjectSize(len(x.local.vars))
	for _, name := range slices.Sorted(maps.Keys(x.local.vars)) {
		names.Set(name, x.local.vars[name])
	}
	o := value.NewObject(
		"id", x.ID, "parent", float64(parent), "at", savedPlace(x.At), "ref", x.Program.Ref, "depth", float64(x.Depth),
		"vars", names,
	)
	if x.answerIgnored {
		o.Set("answerIgnored", true)
	}
	if x.Input != nil {
		o.Set("input", x.Input)
	}
	s.saved = append(s.saved, o)
	s.executions[x] = len(s.saved) - 1
	return len(s.saved) - 1
}

// iteration writes an iteration once, those around it before it, and returns its
// number, -1 for none.
func (s *saver) iteration(iter *iteration) float64 {
	if iter == nil {
		return -1
	}
	n, ok := s.iterations[iter]
	if !ok {
		outer := s.iteration(iter.outer)
		s.around = append(s.around, []any{outer, iter.item, iter.index})
		n = len(s.around) - 1
		s.iterations[iter] = n
	}
	return float64(n)
}

func (s *saver) branch(b *branch) any {
	frames := make([]any, len(b.frames))
	for i := range b.frames {
		frames[i] = s.frame(&b.frames[i])
	}
	o := value.NewObject(
		"name", float64(b.name), "slot", float64(b.slot), "number", float64(b.number), "open", float64(b.open),
		"execution", float64(s.execution(b.x)), "frames", frames, "iteration", s.iteration(b.iter),
	)
	if b.parent != nil {
		o.Set("parent", float64(s.branches[b.parent]))
	}
	if b.waiting != nil {
		o.Set("waiting", savedWaiting(b.waiting))
	}
	return o
}

func (s *saver) frame(f *frame) any {
	o := value.NewObject("kind", float64(f.kind), "block", float64(f.block), "next", float64(f.next), "listed", f.list != nil)
	if f.in != nil {
		o.Set("in", f.in.Path)
	}
	if f.results != nil {
		results := make([]any, len(f.results))
		for i, out := range f.results {
			results[i] = savedOutcome(out)
		}
		o.Set("results", results)
	}
	switch {
	case f.loop != nil:
		o.Set("loop", s.loop(f.loop))
	case f.try != nil:
		o.Set("try", float64(f.try.block))
		o.Set("pending", savedOutcome(f.try.pending))
	case f.call != nil && f.call.in != nil:
		o.Set("caller", f.call.in.Path)
		o.Set("to", savedResult(f.call.to))
		o.Set("iteration", s.iteration(f.call.iter))
		o.Set("ordinal", float64(f.call.ordinal))
	}
	return o
}

func (s *saver) loop(l *loop) any {
	batch := make([]any, len(l.batch))
	for i, iter := range l.batch {
		batch[i] = s.iteration(iter)
	}
	o := value.NewObject(
		"next", []any{l.next}, "closed", l.closed, "index", float64(l.index), "limit", l.limit, "limited", l.limited, "asks", l.asks,
		"ordinal", float64(l.ordinal), "size", float64(l.size), "interval", float64(l.interval), "slept", l.slept, "batch", batch,
		"outer", s.iteration(l.outer),
	)
	if l.counted {
		o.Set("count", l.count)
	}
	if l.list != nil {
		o.Set("list", l.list)
	}
	if l.object != nil {
		o.Set("object", l.object)
	}
	if l.stream != nil {
		o.Set("stream", l.stream)
	}
	return o
}

func savedWaiting(w *waiting) any {
	o := value.NewObject(
		"id", float64(w.ID), "kind", string(w.Kind), "name", w.Name, "at", savedPlace(w.Place), "slug", w.Slug, "duration", float64(w.Duration),
		"n", float64(w.N), "value", []any{w.Value}, "to", savedResult(w.to),
	)
	if w.in != nil {
		o.Set("in", w.in.Path)
	}
	if w.Params != nil {
		o.Set("params", w.Params)
	}
	if w.Write != nil {
		o.Set("write", []any{w.Write.Context, w.Write.Op.Encoded(), float64(w.Write.TTL), w.Write.Switch})
	}
	return o
}

func savedPlace(p Place) any {
	numbers := make([]any, len(p.Iteration))
	for i, n := range p.Iteration {
		numbers[i] = float64(n)
	}
	return []any{p.Path, numbers, float64(p.Ordinal)}
}

func savedResult(to result) any { return []any{savedSteps(to.steps), to.bad} }

func savedSteps(steps []expr.Step) any {
	return variable.Op{Path: steps}.Encoded()
}

func savedOutcome(out *outcome) any {
	if out == nil || out.err == nil && out.scope == "" {
		return nil
	}
	o := value.NewObject("scope", out.scope, "payload", out.payload, "paid", out.paid, "origin", out.origin)
	if out.err != nil {
		o.Set("name", out.err.Name)
		o.Set("message", out.err.Message)
		o.Set("document", out.err.Document)
		o.Set("instruction", out.err.Instruction)
		if out.err.Details != nil {
			o.Set("details", out.err.Details)
		}
	}
	return o
}
