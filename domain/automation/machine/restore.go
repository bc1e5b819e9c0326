package machine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

var errState = errors.New("machine: the saved tree does not fit")

// Restore returns the tree that Save wrote, and what it waits for, to be asked
// again under the same ids. Find returns the program of a Ref.
func Restore(state []byte, o Options, find func(ref string) (*Program, error)) (*Machine, []Request, error) {
	decoded, err := variable.DecodeShared(state)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errState, err)
	}
	root := kept{decoded}
	if root.number("version") != stateVersion {
		return nil, nil, fmt.Errorf("%w: version %d", errState, root.number("version"))
	}
	r := &restorer{Machine: New(o), find: find, paths: map[*Program]map[string]*automation.Instruction{}}
	r.lastID, r.lastName, r.credit = uint64(root.number("request")), uint64(root.number("branch")), root.number("credit")
	r.told = root.number("told")
	r.stopping, r.aborting, r.done = root.flag("stopping"), root.flag("aborting"), root.flag("done")
	if err := r.all(root); err != nil {
		return nil, nil, err
	}
	if n := root.number("root"); n >= 0 && n < len(r.executions) {
		r.root = r.executions[n]
	} else {
		return nil, nil, errState
	}
	return r.Machine, r.asked(), nil
}

// restorer makes a machine of what was saved.
type restorer struct {
	*Machine

	find       func(ref string) (*Program, error)
	paths      map[*Program]map[string]*automation.Instruction
	executions []*Execution
	iterations []*iteration
}

func (r *restorer) all(root kept) error {
	for _, saved := range root.list("executions") {
		if err := r.execution(kept{saved}); err != nil {
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
		if err := r.branch(kept{saved}); err != nil {
			return err
		}
	}
	return nil
}

func (r *restorer) execution(o kept) error {
	p, err := r.find(o.text("ref"))
	if err != nil {
		return err
	}
	x := &Execution{ID: o.text("id"), At: o.place("at"), Program: p, Depth: o.number("depth"), Output: value.Undefined}
	x.answerIgnored = o.flag("answerIgnored")
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
func (r *restorer) branch(o kept) error {
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
		return r.waiting(b, kept{waiting})
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
		f, err := r.frame(kept{saved[i]}, x)
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

func (r *restorer) frame(o kept, x *Execution) (frame, error) {
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
		f.list = listOf(f.in, f.block)
	}
	for _, saved := range o.list("results") {
		f.results = append(f.results, restoredOutcome(saved))
	}
	switch f.kind {
	case loopFrame:
		f.loop = r.loop(o.within("loop"))
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

func (r *restorer) loop(o kept) *loop {
	l := &loop{
		outer: r.iteration(o.number("outer")), next: o.only("next"), closed: o.flag("closed"), index: o.number("index"),
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

func (r *restorer) waiting(b *branch, o kept) error {
	w := &waiting{to: o.result("to"), Request: Request{
		Place: o.place("at"), ID: uint64(o.number("id")), Kind: Kind(o.text("kind")), Execution: b.x, Name: o.text("name"),
		Slug: o.text("slug"), Duration: time.Duration(o.number("duration")), N: o.number("n"), Value: o.only("value"),
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

// asked returns what has to be asked again. The next item of a stream is not: the
// stream is lost.
func (r *restorer) asked() []Request {
	return slices.DeleteFunc(r.Pending(), func(asked Request) bool {
		if asked.Kind == Next {
			r.Answer(asked.ID, Answer{Err: streamLost()})
		}
		return asked.Kind == Next
	})
}
