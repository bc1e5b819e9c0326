package machine

import (
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// batches reads how many iterations run at once.
func (m *Machine) batches(l *loop, in *automation.Instruction, batch *expr.Tree) error {
	v, err := batch.Eval(&m.env)
	if err != nil {
		return err
	}
	if err := automation.CheckParams(in.Path, in.Name, value.NewObject("batch", v)); err != nil {
		return err
	}
	size, _ := value.At(v, "size").(float64)
	interval, _ := value.At(v, "interval").(float64)
	if l.interval = milliseconds(interval); size > 1 || interval > 0 {
		l.size = int(max(min(size, maxBranches), 1))
	}
	return nil
}

// maxBranches is how many branches a tree has before batches become smaller than
// they should be: one iteration at a time in the end.
const maxBranches = 10_000

// room returns how many iterations may start at once.
func (m *Machine) room(l *loop) int {
	return max(1, min(l.size, maxBranches-len(m.branches)))
}

// openBatch lets the iterations that were prepared run side by side.
func (m *Machine) openBatch(b *branch) {
	f := b.top()
	l := f.loop
	f.results = make([]*outcome, len(l.batch))
	b.open = len(l.batch)
	for i, iter := range l.batch {
		child := m.branch(b, i)
		child.iter, child.number = iter, l.index-len(l.batch)+i
		child.push(frame{kind: blockFrame, in: f.in, block: doBlock, list: f.in.Do})
		m.ready(child)
	}
	l.batch = nil
}

// ofBatch returns what a batch ends its loop with: the lowest error, or else the lowest
// break.
func ofBatch(results []*outcome) *outcome {
	for _, out := range results {
		if out != nil && out.err != nil {
			return out
		}
	}
	return first(results)
}
