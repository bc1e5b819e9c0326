package recording

import (
	"crypto/sha256"
	"errors"

	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// maxKept is how many bytes a replay keeps until it is compared: what executions did on the
// way, what they came to, and what they wrote to contexts. A record says little of how much
// that is, a changed document nothing.
const maxKept = 64 << 20

// oneKept is what one of them takes besides its value.
const oneKept = 256

var errExcess = errors.New("the replay does more than can be compared")

// keep counts n bytes of what is kept. It is to end when there are too many.
func (p *player) keep(n int) {
	if p.notes += n; p.notes > p.most && p.excess == nil {
		p.excess = errExcess
	}
}

// forget lets go of the contexts, which are read again.
func (p *player) forget() {
	for _, view := range p.loaded {
		p.notes -= view.grown
	}
	clear(p.loaded)
}

// end notes what executions came to.
func (p *player) end(all []*machine.Execution) {
	for _, x := range all {
		spent, _ := value.SizeWithin(x.Output, p.most)
		p.keep(oneKept + spent)
		p.ended[x.ID] = outcome{x.Output, x.Err}
	}
}

// observed is something that an execution did.
type observed struct {
	execution string
	place     machine.Place
	did       any
	sum       [sha256.Size]byte // of a value that is too large to be kept
}

// observe notes which branch of conditions was taken.
func (p *player) observe(x *machine.Execution, at machine.Place, taken string) {
	if p.observes && p.excess == nil {
		p.keep(oneKept)
		p.branches = append(p.branches, observed{execution: x.ID, place: at, did: taken})
	}
}

// wrote notes a change of a context. Of a large value, that is whether it is the same.
func (p *player) wrote(x *machine.Execution, w machine.Write) {
	if !p.observes {
		return
	}
	_, at := p.machine.CurrentPlace()
	did := observed{execution: x.ID, place: at}
	spent, fits := value.SizeWithin(w.Op.Value, maxShown)
	if !fits {
		did.sum = sha256.Sum256(variable.Encode(w.Op.Value))
		w.Op.Value, spent = "(too large to be shown)", 0
	}
	did.did = shownWrite(w)
	p.keep(oneKept + spent)
	p.writes = append(p.writes, did)
}

// against compares what executions did on the way with what they did in another
// replay: which branches they took, and what they wrote.
func (p *player) against(expected *player) {
	p.contrast(otherBranch, expected.branches, p.branches, false)
	p.contrast(otherContext, expected.writes, p.writes, true)
}

// contrast compares two lists by position. Both ways: what only the first has counts,
// too.
func (p *player) contrast(kind string, expected, actual []observed, bothWays bool) {
	known, taken := map[string][]observed{}, map[string]int{}
	for _, o := range expected {
		key := position("", o.execution, o.place.Path, o.place.Iteration)
		known[key] = append(known[key], o)
	}
	for _, o := range actual {
		key := position("", o.execution, o.place.Path, o.place.Iteration)
		n := taken[key]
		taken[key]++
		if n < len(known[key]) {
			if was := known[key][n]; was.sum != o.sum || !equal(was.did, o.did) {
				p.note(difference{o.execution, o.place, kind, was.did, o.did})
			}
		} else if bothWays {
			p.note(difference{o.execution, o.place, kind, value.Undefined, o.did})
		}
	}
	if !bothWays {
		return
	}
	seen := map[string]int{}
	for _, o := range expected {
		key := position("", o.execution, o.place.Path, o.place.Iteration)
		if seen[key]++; seen[key] > taken[key] {
			p.note(difference{o.execution, o.place, kind, o.did, value.Undefined})
		}
	}
}
