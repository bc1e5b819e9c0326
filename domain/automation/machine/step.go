package machine

import (
	"svc/domain/automation"
	"svc/domain/automation/value"
)

// step executes one instruction of a branch, or leaves a list that is at its end.
func (m *Machine) step(b *branch) {
	out := b.raised
	b.raised = nil
	if out == nil {
		if f := b.top(); f.next < len(f.list) {
			in := f.list[f.next]
			f.next++
			out = m.perform(b, in)
		} else {
			out = m.leave(b)
		}
	}
	if out != nil {
		m.unwind(b, out)
	}
}

// perform begins an instruction. What it returns ends it at once; else it has
// ended well, waits, or has put a list of its own on the stack.
func (m *Machine) perform(b *branch, in *automation.Instruction) *outcome {
	b.in, b.ordinal = in, 0
	if in.Fault != nil {
		m.traceBegin(b, value.Undefined)
		return m.raise(b, in.Fault.Raised())
	}
	if !in.Builtin {
		return m.call(b, in)
	}
	switch in.Name {
	case "set":
		return m.set(b, in)
	case "delete":
		return m.delete(b, in)
	case "conditions":
		return m.conditions(b, in)
	case "repeat":
		return m.repeat(b, in)
	case "break":
		return m.breakOff(b, in)
	case "all":
		return m.all(b, in)
	case "try":
		m.traceBegin(b, value.Undefined)
		m.try(b, in)
		return nil
	case "comment":
		return nil
	case "runWorkflow":
		return m.runWorkflow(b, in)
	}
	return m.effect(b, in)
}

// conditions takes the first branch whose condition holds.
func (m *Machine) conditions(b *branch, in *automation.Instruction) *outcome {
	m.traceBegin(b, value.Undefined)
	for i := range in.Branches {
		branch := &in.Branches[i]
		if branch.Fault != nil {
			return m.raise(b, branch.Fault.Raised())
		}
		holds, err := branch.Condition.Eval(&m.env)
		if err != nil {
			return m.raise(b, err)
		}
		if holds {
			m.observe(b, branch.Condition.String())
			b.pushBlock(in, firstBranch+i)
			return nil
		}
	}
	taken := ""
	if in.Default != nil {
		taken = "default"
	}
	m.observe(b, taken)
	b.pushBlock(in, defaultBlock)
	return nil
}

func (m *Machine) observe(b *branch, taken string) {
	if m.Observe != nil {
		m.Observe(b.x, b.place(), taken)
	}
	m.traceEnd(b, taken, nil)
}

// traceBegin tells who looks that the instruction of a branch begins.
func (m *Machine) traceBegin(b *branch, input any) {
	if m.Trace != nil && b.in != nil {
		m.Trace.Begin(b.x, b.place(), b.in.Name, input)
	}
}

// traceEnd tells who looks what came of the instruction of a branch.
func (m *Machine) traceEnd(b *branch, result any, err *automation.Error) {
	if m.Trace != nil && b.in != nil {
		m.Trace.End(b.x, b.place(), result, err)
	}
}

// mostBranches is how many branches a tree may have before an all is refused.
const mostBranches = 10 * maxBranches

// all opens a branch for each instruction.
func (m *Machine) all(b *branch, in *automation.Instruction) *outcome {
	if len(in.Do) == 0 {
		return nil
	}
	if len(m.branches) > mostBranches {
		return m.raise(b, automation.Invalid("more than %d instructions side by side", mostBranches))
	}
	m.traceBegin(b, value.Undefined)
	b.push(frame{kind: allFrame, in: in, results: make([]*outcome, len(in.Do))})
	b.open = len(in.Do)
	for i := range in.Do {
		child := m.branch(b, i)
		child.pushBlock(in, -1-i)
		m.ready(child)
	}
	return nil
}

// deliver gives a branch what it waits for.
func (m *Machine) deliver(d delivery) {
	b, ok := m.pending[d.id]
	if !ok {
		return
	}
	delete(m.pending, d.id)
	w := b.waiting
	b.waiting, b.in, b.ordinal = nil, w.in, w.Ordinal+1
	m.current = b
	if d.Err == nil && w.Kind != Call && w.Kind != Next && w.Kind != Throttle && w.Kind != Sleep {
		m.traceEnd(b, d.Value, nil)
	}
	if out := m.answered(b, w, d.Answer); out != nil {
		m.unwind(b, out)
	}
	m.ready(b)
}

func (m *Machine) answered(b *branch, w *waiting, a Answer) *outcome {
	if a.Err != nil {
		return m.refused(b, w, automation.ErrorOf(a.Err))
	}
	switch w.Kind {
	case Call:
		return m.enter(b, w, a)
	case Throttle:
		m.credit += w.N
	case Sleep:
		b.top().loop.slept = true
	case Next:
		b.top().loop.read(a.Value)
	case Spawn, Config, Chunk:
	case RateLimit:
		if value.At(a.Value, "ok") == false && w.Params.At("break") == true {
			details, _ := a.Value.(*value.Object)
			return m.raise(b, &automation.Error{Name: automation.RateLimitExceeded, Message: "Rate limit exceeded", Details: details})
		}
		return m.store(b, w.to, a.Value)
	default:
		return m.store(b, w.to, a.Value)
	}
	return nil
}

// refused raises the error of a request, unless the call of a module says what
// else to do with it.
func (m *Machine) refused(b *branch, w *waiting, err *automation.Error) *outcome {
	if w.Kind == Module && err.Catchable() {
		switch w.Params.At("onError") {
		case "emit":
			m.notice(b, err)
			return nil
		case "continue":
			return m.store(b, w.to, errorValue(err.Name, err.Message, err.Details))
		}
	}
	return m.raise(b, err)
}
