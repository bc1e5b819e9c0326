package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// stateVersion is the first thing that a saved tree says.
const stateVersion = 1

var errRunning = errors.New("machine: a tree can be saved only while all of it waits")

// Save writes the state of the tree: the position of every branch, the variables, the
// loops and the pending requests. It can be called when Run has returned and nothing is
// left to run. Streams are lost. A tree that is too large to be stored is a
// ContextSizeError.
func (m *Machine) Save() ([]byte, error) {
	if len(m.queue)+len(m.inbox) > 0 || m.root == nil {
		return nil, errRunning
	}
	limit := m.savedLimit()
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
		"version", float64(stateVersion), "request", float64(m.lastID), "branch", float64(m.lastName), "credit", float64(m.credit), "told", float64(m.noticeCount),
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
		"id", x.ID, "parent", float64(parent), "at", savedLocation(x.At), "ref", x.Program.Ref, "depth", float64(x.Depth),
		"vars", names,
	)
	if x.responseIgnored {
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
		"id", float64(w.ID), "kind", string(w.Kind), "name", w.Name, "at", savedLocation(w.Location), "slug", w.Slug, "duration", float64(w.Duration),
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

func savedLocation(p Location) any {
	numbers := make([]any, len(p.Iteration))
	for i, n := range p.Iteration {
		numbers[i] = float64(n)
	}
	return []any{p.Path, numbers, float64(p.Ordinal)}
}

func savedResult(to result) any { return []any{variable.Op{Path: to.steps}.Encoded(), to.bad} }

func savedOutcome(out *outcome) any {
	if out == nil || out.err == nil && out.scope == "" {
		return nil
	}
	o := value.NewObject("scope", out.scope, "payload", out.payload, "paid", out.hasPayload, "origin", out.origin)
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

var errState = errors.New("machine: the saved tree does not fit")

// Restore returns the tree that Save wrote, and what it waits for, to be asked
// again under the same ids. Find returns the program of a Ref.
func Restore(state []byte, o Options, find func(ref string) (*Program, error)) (*Machine, []Request, error) {
	decoded, err := variable.DecodeShared(state)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errState, err)
	}
	root := savedPart{decoded}
	if root.number("version") != stateVersion {
		return nil, nil, fmt.Errorf("%w: version %d", errState, root.number("version"))
	}
	r := &restorer{Machine: New(o), find: find, paths: map[*Program]map[string]*automation.Instruction{}}
	r.lastID, r.lastName, r.credit = uint64(root.number("request")), uint64(root.number("branch")), root.number("credit")
	r.noticeCount = root.number("told")
	r.stopping, r.aborting, r.done = root.flag("stopping"), root.flag("aborting"), root.flag("done")
	if err := r.restoreAll(root); err != nil {
		return nil, nil, err
	}
	if n := root.number("root"); n >= 0 && n < len(r.executions) {
		r.root = r.executions[n]
	} else {
		return nil, nil, errState
	}
	return r.Machine, r.pendingRequests(), nil
}

// restorer makes a machine of what was saved.
type restorer struct {
	*Machine

	find       func(ref string) (*Program, error)
	paths      map[*Program]map[string]*automation.Instruction
	executions []*Execution
	iterations []*iteration
}

func (r *restorer) restoreAll(root savedPart) error {
	for _, saved := range root.list("executions") {
		if err := r.execution(savedPart{saved}); err != nil {
			return err
		}
	}
	for _, saved := range root.list("iterations") {
		parts, _ := saved.([]any)
		if len(parts) != 3 {
			return errState
		}
		outer, _ := parts[0].(float64)
		r.iterations = append(r.iterations, &iteration{outer: r.iteration(int(outer)), item: parts[1], index: parts[2]})
	}
	for _, saved := range root.list("branches") {
		if err := r.branch(savedPart{saved}); err != nil {
			return err
		}
	}
	return nil
}

func (r *restorer) execution(o savedPart) error {
	p, err := r.find(o.text("ref"))
	if err != nil {
		return err
	}
	x := &Execution{ID: o.text("id"), At: o.location("at"), Program: p, Depth: o.number("depth"), Output: value.Undefined}
	x.responseIgnored = o.flag("answerIgnored")
	x.Input, _ = o.at("input").(*value.Object)
	vars, _ := o.at("vars").(*value.Object)
	x.local = newLocals(vars)
	if n := o.number("parent"); n >= 0 && n < len(r.executions) {
		x.Parent = r.executions[n]
	}
	r.executions = append(r.executions, x)
	return nil
}

func (r *restorer) iteration(n int) *iteration {
	if n < 0 || n >= len(r.iterations) {
		return nil
	}
	return r.iterations[n]
}

// branch restores a branch. Parents are older than what they opened: they are
// there already.
func (r *restorer) branch(o savedPart) error {
	b := &branch{name: uint64(o.number("name")), slot: o.number("slot"), number: o.number("number"), open: o.number("open")}
	n := o.number("execution")
	if n < 0 || n >= len(r.executions) {
		return errState
	}
	b.x, b.iter = r.executions[n], r.iteration(o.number("iteration"))
	if _, ok := o.at("parent").(float64); ok {
		if n := o.number("parent"); n >= 0 && n < len(r.branches) {
			b.parent = r.branches[n]
		} else {
			return errState
		}
	}
	r.branches = append(r.branches, b)
	if err := r.frames(b, o.list("frames")); err != nil {
		return err
	}
	if waiting, ok := o.at("waiting").(*value.Object); ok {
		return r.waiting(b, savedPart{waiting})
	}
	return nil
}

// frames restores the stack of a branch. The execution that a frame belongs to
// changes where one was called.
func (r *restorer) frames(b *branch, saved []any) error {
	b.frames = make([]frame, len(saved))
	x := b.x
	for i := len(saved) - 1; i >= 0; i-- {
		if x == nil {
			return errState
		}
		f, err := r.frame(savedPart{saved[i]}, x)
		if err != nil {
			return err
		}
		b.frames[i] = f
		if f.kind == bodyFrame {
			x = x.Parent
		}
	}
	return nil
}

func (r *restorer) frame(o savedPart, x *Execution) (frame, error) {
	f := frame{kind: frameKind(o.number("kind")), block: o.number("block"), next: o.number("next")}
	var err error
	if path := o.text("in"); path != "" {
		if f.in, err = r.instruction(x, path); err != nil {
			return f, err
		}
	}
	switch {
	case !o.flag("listed"):
	case f.in == nil:
		f.list = x.Program.Do
	default:
		f.list = blockOf(f.in, f.block)
	}
	for _, saved := range o.list("results") {
		f.results = append(f.results, restoredOutcome(saved))
	}
	switch f.kind {
	case loopFrame:
		f.loop = r.loop(o.member("loop"))
	case tryFrame:
		f.try = &try{block: o.number("try"), pending: restoredOutcome(o.at("pending"))}
	case bodyFrame:
		f.call = &call{iter: r.iteration(o.number("iteration")), ordinal: o.number("ordinal")}
		if path := o.text("caller"); path != "" && x.Parent != nil {
			f.call.to = o.result("to")
			f.call.in, err = r.instruction(x.Parent, path)
		}
	}
	return f, err
}

func (r *restorer) loop(o savedPart) *loop {
	l := &loop{
		outer: r.iteration(o.number("outer")), next: o.onlyItem("next"), closed: o.flag("closed"), index: o.number("index"),
		limited: o.flag("limited"), asks: o.flag("asks"), ordinal: o.number("ordinal"), size: o.number("size"),
		interval: time.Duration(o.number("interval")), slept: o.flag("slept"),
	}
	l.limit, _ = o.at("limit").(float64)
	l.count, l.counted = o.at("count").(float64)
	l.list, _ = o.at("list").([]any)
	l.object, _ = o.at("object").(*value.Object)
	l.stream, _ = o.at("stream").(value.Stream)
	for _, n := range o.list("batch") {
		n, _ := n.(float64)
		if iter := r.iteration(int(n)); iter != nil {
			l.batch = append(l.batch, iter)
		}
	}
	return l
}

// instruction finds the instruction of a path in the program of an execution.
func (r *restorer) instruction(x *Execution, path string) (*automation.Instruction, error) {
	known, ok := r.paths[x.Program]
	if !ok {
		known = map[string]*automation.Instruction{}
		x.Program.Walk(func(in *automation.Instruction) { known[in.Path] = in })
		r.paths[x.Program] = known
	}
	in, ok := known[path]
	if !ok {
		return nil, fmt.Errorf("%w: %s has no instruction %s", errState, x.Program.Slug, path)
	}
	return in, nil
}

func (r *restorer) waiting(b *branch, o savedPart) error {
	w := &waiting{to: o.result("to"), Request: Request{
		Location: o.location("at"), ID: uint64(o.number("id")), Kind: Kind(o.text("kind")), Execution: b.x, Name: o.text("name"),
		Slug: o.text("slug"), Duration: time.Duration(o.number("duration")), N: o.number("n"), Value: o.onlyItem("value"),
	}}
	w.Params, _ = o.at("params").(*value.Object)
	if parts := o.list("write"); len(parts) == 4 {
		op, err := variable.DecodeOp(parts[1])
		if err != nil {
			return err
		}
		w.Write = &Write{Op: op}
		w.Write.Context, _ = parts[0].(string)
		ttl, _ := parts[2].(float64)
		w.Write.TTL = time.Duration(ttl)
		w.Write.Switch, _ = parts[3].(bool)
	}
	var err error
	if path := o.text("in"); path != "" {
		w.in, err = r.instruction(b.x, path)
	}
	b.waiting, b.in, b.ordinal = w, w.in, w.Ordinal
	r.pending[w.ID] = b
	return err
}

// pendingRequests returns what has to be asked again. The next item of a stream is not: the
// stream is lost.
func (r *restorer) pendingRequests() []Request {
	return slices.DeleteFunc(r.Pending(), func(asked Request) bool {
		if asked.Kind == Next {
			r.Answer(asked.ID, Answer{Err: streamLostError()})
		}
		return asked.Kind == Next
	})
}

// savedPart is a part of a saved tree. What is not there reads as nothing.
type savedPart struct{ v any }

func (k savedPart) at(key string) any { return value.At(k.v, key) }

func (k savedPart) member(key string) savedPart { return savedPart{k.at(key)} }

func (k savedPart) text(key string) string {
	s, _ := k.at(key).(string)
	return s
}

func (k savedPart) number(key string) int {
	n, _ := k.at(key).(float64)
	return int(n)
}

func (k savedPart) flag(key string) bool { return k.at(key) == true }

func (k savedPart) list(key string) []any {
	list, _ := k.at(key).([]any)
	return list
}

// onlyItem returns the only item of a list, which can be undefined.
func (k savedPart) onlyItem(key string) any {
	if list := k.list(key); len(list) == 1 {
		return list[0]
	}
	return value.Undefined
}

func (k savedPart) location(key string) Location {
	parts := k.list(key)
	if len(parts) != 3 {
		return Location{}
	}
	var p Location
	p.Path, _ = parts[0].(string)
	numbers, _ := parts[1].([]any)
	for _, n := range numbers {
		n, _ := n.(float64)
		p.Iteration = append(p.Iteration, int(n))
	}
	ordinal, _ := parts[2].(float64)
	p.Ordinal = int(ordinal)
	return p
}

func (k savedPart) result(key string) result {
	parts := k.list(key)
	if len(parts) != 2 {
		return result{}
	}
	bad, _ := parts[1].(bool)
	return result{steps: restoredSteps(parts[0]), bad: bad}
}

func restoredSteps(v any) []expr.Step {
	op, err := variable.DecodeOp(v)
	if err != nil {
		return nil
	}
	return op.Path
}

func restoredOutcome(v any) *outcome {
	o, ok := v.(*value.Object)
	if !ok {
		return nil
	}
	k := savedPart{o}
	out := &outcome{scope: k.text("scope"), payload: k.at("payload"), hasPayload: k.flag("paid"), origin: k.text("origin")}
	if name := k.text("name"); name != "" {
		out.err = &automation.Error{
			Name: name, Message: k.text("message"), Document: k.text("document"), Instruction: k.text("instruction"),
		}
		out.err.Details, _ = k.at("details").(*value.Object)
	}
	return out
}

// leastLimit is the smallest bound of a tree. Each of its executions may have as many local
// variables as the limit says, and there may be thousands of them side by side.
const leastLimit = 1 << 20

// memoryLimit is how much memory all that a tree holds may take: what one execution may have
// as JSON takes several times as much.
func (m *Machine) memoryLimit() int { return max(8*m.LocalLimit, leastLimit) }

// savedLimit is how many bytes a tree may have when it is saved: a little more than one
// execution may.
func (m *Machine) savedLimit() int { return max(m.LocalLimit/5*6, leastLimit) }

// holdValue counts a value that the tree is about to hold, and refuses it when all that it holds
// becomes too large.
//
// To know that, everything is weighed, since most of it may be shared or gone: not each
// time, but whenever so much has been added that it could matter. So a tree may hold a
// quarter more than the limit before nothing can be added at all.
func (m *Machine) holdValue(v any) error {
	limit := m.memoryLimit()
	one := value.MemoryMeter{Limit: limit}
	if one.Add(v); value.IsUndefined(v) {
		return nil
	}
	m.env.Spent += one.Values
	if m.added += one.Weight; m.added <= limit/8 {
		return nil
	}
	all := value.NewSharedMeter(limit + limit/4)
	all.Add(m.state())
	if all.Weight <= all.Limit {
		m.added = 0
	}
	all.Add(v) // it may be part of that already
	m.env.Spent += all.Values
	if all.Weight > limit {
		return automation.Raise(automation.ContextTooLarge, "all that the automation holds becomes too large",
			"context", "local", "size", float64(all.Weight), "limit", float64(limit))
	}
	return nil
}

// copyCost is how much memory it takes to change what is at a path without changing v: the
// objects and lists on the way are copied.
func copyCost(v any, path []expr.Step) int {
	scale := value.MemoryMeter{}
	scale.Copy(v)
	for _, step := range path {
		v = value.At(v, step.Key)
		scale.Copy(v)
	}
	return scale.Weight
}
