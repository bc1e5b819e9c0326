package machine

import (
	"svc/domain/automation"
	"svc/domain/automation/value"
)

// call is what an execution returns to.
type call struct {
	in      *automation.Instruction // that called; nil for the first of the tree
	to      result
	iter    *iteration
	ordinal int
}

// call asks for an automation that an instruction names.
func (m *Machine) call(b *branch, in *automation.Instruction) *outcome {
	arguments, to, err := m.parameters(in)
	m.traceBegin(b, orUndefined(arguments))
	if err != nil {
		return m.raise(b, err)
	}
	return m.callSlug(b, Request{Kind: Call, Slug: in.Name, Params: arguments}, to)
}

// runWorkflow asks for an automation whose slug is computed.
func (m *Machine) runWorkflow(b *branch, in *automation.Instruction) *outcome {
	params, to, err := m.parameters(in)
	m.traceBegin(b, orUndefined(params))
	if err != nil {
		return m.raise(b, err)
	}
	arguments, ok := params.At("parameters").(*value.Object)
	if !ok {
		arguments = &value.Object{}
	}
	slug, _ := params.At("workflow").(string)
	kind := Call
	if params.At("wait") == false {
		kind = Spawn
	}
	return m.callSlug(b, Request{Kind: kind, Slug: slug, Params: arguments}, to)
}

func (m *Machine) callSlug(b *branch, r Request, to result) *outcome {
	if b.x.Depth > m.MaxDepth {
		return m.raise(b, automation.Raise(automation.TooManyCalls, "Too many successive calls", "limit", float64(m.MaxDepth)))
	}
	m.ask(b, r, to)
	return nil
}

// enter begins the execution that a call asked for.
func (m *Machine) enter(b *branch, w *waiting, a Answer) *outcome {
	if a.Program == nil {
		return m.raise(b, automation.NotFound(w.Slug, nil))
	}
	x := &Execution{
		ID: a.ExecutionID, Parent: b.x, At: w.Place, Program: a.Program, Depth: b.x.Depth + 1,
		Input: w.Params, Output: value.Undefined, local: newLocals(w.Params),
	}
	b.push(frame{kind: bodyFrame, list: a.Program.Do, call: &call{in: w.in, to: w.to, iter: b.iter, ordinal: b.ordinal}})
	b.x, b.iter = x, nil
	return nil
}

// finish ends the execution that a branch is in, and goes on in the one that
// called it.
func (m *Machine) finish(b *branch, out *outcome) *outcome {
	x, back := b.x, b.top().call
	if out == nil || out.err == nil {
		output, err := m.output(b, out)
		if err != nil {
			out = m.raise(b, err)
		} else {
			x.Output, x.Broke = output, out != nil
		}
	}
	if out != nil && out.err != nil {
		x.Err, x.Origin = out.err, out.origin
	}
	x.local = locals{}
	m.turn.Ended = append(m.turn.Ended, x)
	b.pop()
	if back.in == nil {
		m.end(b, out)
		return nil
	}
	b.x, b.iter, b.in, b.ordinal = x.Parent, back.iter, back.in, back.ordinal
	if out != nil && (out.err != nil || out.scope == scopeAll) {
		if out.err != nil {
			m.traceEnd(b, value.Undefined, out.err)
		}
		return out
	}
	m.traceEnd(b, x.Output, nil)
	return m.store(b, back.to, x.Output)
}

// output returns what an execution yields.
func (m *Machine) output(b *branch, out *outcome) (any, error) {
	if out != nil && out.paid {
		return out.payload, nil
	}
	output := b.x.Program.Output
	if output == nil {
		return &value.Object{}, nil
	}
	b.in, b.ordinal = nil, 0
	if fault := b.x.Program.OutputFault; fault != nil {
		return value.Undefined, fault.Raised()
	}
	v, err := output.Eval(&m.env)
	if err == nil {
		err = m.sized(v)
	}
	return v, err
}
