package machine

import (
	"slices"

	"svc/domain/automation"
	"svc/domain/automation/expr"
)

// branch is a line of execution: the tree has one, and all and batches open more.
// It waits for a request, for the branches that it opened, or for its turn.
type branch struct {
	name   uint64 // ascending in the tree
	parent *branch
	slot   int // place among those that its parent opened
	number int // of the iteration it runs, -1 when it runs none

	x      *Execution
	iter   *iteration // the innermost around it
	frames []frame
	ended  bool

	open    int // branches that it opened and that have not ended
	waiting *waiting
	raised  *outcome // to be raised when it goes on

	in      *automation.Instruction // being executed; nil: the output of the automation
	ordinal int                     // effects of it so far
}

// waiting is what a branch waits for, and what becomes of the answer.
type waiting struct {
	Request

	to result
}

// result says where the result of an instruction goes.
type result struct {
	steps []expr.Step // nil: nowhere
	bad   bool        // an error event says that there is no such place
}

// The kinds of frames.
type frameKind uint8

const (
	blockFrame frameKind = iota // a list of instructions
	bodyFrame                   // the instructions of an execution
	loopFrame                   // repeat
	tryFrame
	allFrame
)

// frame is a list of instructions that is being executed.
type frame struct {
	kind  frameKind
	in    *automation.Instruction // whose list it is; nil for a body
	block int                     // which of its lists, see blockOf
	list  []*automation.Instruction
	next  int // the instruction to come

	loop    *loop
	try     *try
	call    *call
	results []*outcome // how the branches that it opened ended
}

// The lists of an instruction. Branch n of conditions is firstBranch+n; what all
// holds at n is alone in the list -1-n.
const (
	doBlock = iota
	catchBlock
	finallyBlock
	defaultBlock
	firstBranch
)

func blockOf(in *automation.Instruction, block int) []*automation.Instruction {
	switch {
	case block < 0 && -1-block < len(in.Do):
		return in.Do[-1-block : -block]
	case block == doBlock:
		return in.Do
	case block == catchBlock:
		return in.Catch
	case block == finallyBlock:
		return in.Finally
	case block == defaultBlock:
		return in.Default
	case block >= firstBranch && block-firstBranch < len(in.Branches):
		return in.Branches[block-firstBranch].Do
	}
	return nil
}

func (b *branch) runnable() bool { return !b.ended && b.waiting == nil && b.open == 0 }

func (b *branch) topFrame() *frame { return &b.frames[len(b.frames)-1] }

func (b *branch) push(f frame) { b.frames = append(b.frames, f) }

func (b *branch) pop() {
	b.frames[len(b.frames)-1] = frame{}
	b.frames = b.frames[:len(b.frames)-1]
}

// pushBlock begins one of the lists of an instruction.
func (b *branch) pushBlock(in *automation.Instruction, block int) {
	if list := blockOf(in, block); len(list) > 0 {
		b.push(frame{kind: blockFrame, in: in, block: block, list: list})
	}
}

func (m *Machine) branch(parent *branch, slot int) *branch {
	m.lastName++
	b := &branch{name: m.lastName, parent: parent, slot: slot, number: -1}
	if parent != nil {
		b.x, b.iter, b.in = parent.x, parent.iter, parent.in
	}
	m.branches = append(m.branches, b)
	return b
}

// end closes a branch. The last of its siblings lets the parent go on.
func (m *Machine) end(b *branch, out *outcome) {
	b.ended = true
	m.branches = slices.DeleteFunc(m.branches, func(other *branch) bool { return other == b })
	parent := b.parent
	if parent == nil {
		m.done = true
		return
	}
	parent.topFrame().results[b.slot] = out
	parent.open--
	m.enqueueIfRunnable(parent)
}

// firstOutcome returns the outcome of the lowest branch that failed or broke.
func firstOutcome(results []*outcome) *outcome {
	for _, out := range results {
		if out != nil {
			return out
		}
	}
	return nil
}

func (b *branch) path() string {
	if b.in == nil {
		return "output"
	}
	return b.in.Path
}

func (b *branch) location() Location {
	return Location{Path: b.path(), Iteration: b.iterations(), Ordinal: b.ordinal}
}

// visitFrames visits the frames around what a branch executes, the innermost first,
// to the body of the execution, until visit is false. Number is that of the
// iteration that a frame is in, -1 when it is in none.
func (b *branch) visitFrames(visit func(f *frame, number int) bool) {
	for at, number := b, -1; at != nil; at = at.parent {
		for i := len(at.frames) - 1; i >= 0; i-- {
			f := &at.frames[i]
			if number < 0 && f.kind == loopFrame {
				number = f.loop.index - 1
			}
			if !visit(f, number) || f.kind == bodyFrame {
				return
			}
			number = -1
		}
		number = at.number
	}
}

// iterations returns the numbers of the iterations around what is executed.
func (b *branch) iterations() []int {
	var all []int
	own := b.topFrame()
	b.visitFrames(func(f *frame, number int) bool {
		if f.kind == loopFrame && (f != own || f.in != b.in) {
			all = append(all, number)
		}
		return true
	})
	slices.Reverse(all)
	return all
}

// inLoop reports whether there is a loop around in the same execution.
func (b *branch) inLoop() bool {
	found := false
	b.visitFrames(func(f *frame, _ int) bool {
		found = f.kind == loopFrame
		return !found
	})
	return found
}

// activeFinally returns the innermost try whose finally block is being executed, in any
// enclosing execution.
func (b *branch) activeFinally() *try {
	for at := b; at != nil; at = at.parent {
		for i := len(at.frames) - 1; i >= 0; i-- {
			if t := at.frames[i].try; t != nil && t.block == finallyBlock {
				return t
			}
		}
	}
	return nil
}
