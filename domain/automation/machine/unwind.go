package machine

import (
	"svc/domain/automation"
	"svc/domain/value"
)

// The scopes of break.
const (
	scopeAutomation = "automation"
	scopeRepeat     = "repeat"
	scopeAll        = "all"
)

// outcome is how something ended other than by coming to its end: with an error or
// by a break.
type outcome struct {
	err    *automation.Error
	origin string // ID of the execution that raised err

	scope      string // of a break
	payload    any
	hasPayload bool // there is a payload
}

func (o *outcome) isBreakOf(scope string) bool { return o != nil && o.err == nil && o.scope == scope }

// raise returns the outcome of an instruction that failed.
func (m *Machine) raise(b *branch, err error) *outcome {
	raised := automation.ErrorOf(err)
	m.traceEnd(b, value.Undefined, raised)
	return m.raisedIn(b, raised)
}

// unwind leaves the frames of a branch until one of them takes the outcome.
func (m *Machine) unwind(b *branch, out *outcome) {
	for out != nil {
		if len(b.frames) == 0 {
			m.end(b, out)
			return
		}
		switch f := b.topFrame(); f.kind {
		case bodyFrame:
			out = m.endExecution(b, out)
			if b.ended {
				return
			}
		case loopFrame:
			out = m.leaveLoop(b, out)
		case tryFrame:
			out = m.catchOutcome(b, out)
		default:
			b.pop()
		}
	}
}

// endBlock continues after the end of a list of instructions.
func (m *Machine) endBlock(b *branch) *outcome {
	switch f := b.topFrame(); f.kind {
	case bodyFrame:
		return m.endExecution(b, nil)
	case loopFrame:
		return m.advance(b)
	case tryFrame:
		return m.continueTry(b)
	case allFrame:
		out := firstOutcome(f.results)
		b.pop()
		return out
	}
	b.pop()
	if len(b.frames) == 0 {
		m.end(b, nil)
	}
	return nil
}

// try is a try that is being executed.
type try struct {
	block   int      // the list that runs
	pending *outcome // what follows the finally block
}

func (m *Machine) beginTry(b *branch, in *automation.Instruction) *outcome {
	m.traceBegin(b, value.Undefined)
	b.push(frame{kind: tryFrame, in: in, block: doBlock, list: in.Do, try: &try{block: doBlock}})
	return nil
}

// beginBlock begins another list of a try.
func (f *frame) beginBlock(block int) {
	f.try.block, f.block, f.next = block, block, 0
	f.list = blockOf(f.in, block)
}

// continueTry continues after a list of a try.
func (m *Machine) continueTry(b *branch) *outcome {
	f := b.topFrame()
	if f.try.block != finallyBlock {
		f.beginBlock(finallyBlock)
		return nil
	}
	out := f.try.pending
	b.pop()
	return out
}

// catchOutcome applies a try to an outcome: nil when the try continues.
func (m *Machine) catchOutcome(b *branch, out *outcome) *outcome {
	f := b.topFrame()
	switch {
	case f.try.block == finallyBlock || m.aborting:
		b.pop()
		return out // it replaces what was pending
	case f.try.block == doBlock && out.err != nil && out.err.Catchable():
		b.x.local.setError(out.err.Name, out.err.Message, out.err.Details)
		f.beginBlock(catchBlock)
	case f.try.block == doBlock && out.isBreakOf(scopeAll):
		b.x.local.setError(breakError(out.payload))
		f.beginBlock(catchBlock)
	default:
		f.try.pending = out
		f.beginBlock(finallyBlock)
	}
	return nil
}

// breakError is what $error says of a break of the whole tree.
func breakError(payload any) (name, message string, details any) {
	name, _ = value.At(payload, "error").(string)
	if name == "" {
		name = automation.BreakCaught
	}
	message, _ = value.At(payload, "message").(string)
	return name, message, payload
}

func (m *Machine) performBreak(b *branch, in *automation.Instruction) *outcome {
	params, _, err := m.parameters(in)
	if err != nil {
		m.traceBegin(b, value.Undefined)
		return m.raise(b, err)
	}
	m.traceBegin(b, params)
	out := &outcome{scope: scopeAutomation}
	if scope, ok := params.At("scope").(string); ok {
		out.scope = scope
	}
	if out.scope == scopeRepeat {
		if !b.inLoop() {
			return m.raise(b, automation.Invalid("there is no repeat around this break"))
		}
		return out
	}
	out.payload = params.At("payload")
	out.hasPayload = !value.IsUndefined(out.payload)
	return out
}
