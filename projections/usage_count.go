package projections

import (
	"slices"

	"svc/domain/distinct"
)

// maxExactIDs is up to how many ids of a kind are told apart one by one. Beyond, they
// are counted about, within a fixed amount of memory.
const maxExactIDs = 1 << 20

// idCount counts different ids. The nil idCount has none.
type idCount struct {
	ids    []uint64 // some of them several times
	sketch *distinct.Sketch
}

func (n *idCount) add(id uint64) {
	if n.sketch != nil {
		n.sketch.Add(id)
		return
	}
	if n.ids = append(n.ids, id); len(n.ids) < 2*maxExactIDs {
		return
	}
	if n.compact(); len(n.ids) <= maxExactIDs {
		return
	}
	n.sketch = &distinct.Sketch{}
	for _, id := range n.ids {
		n.sketch.Add(id)
	}
	n.ids = nil
}

// compact leaves each id once.
func (n *idCount) compact() {
	slices.Sort(n.ids)
	n.ids = slices.Compact(n.ids)
}

// total returns how many different ids there are.
func (n *idCount) total() int {
	switch {
	case n == nil:
		return 0
	case n.sketch != nil:
		return n.sketch.Count()
	}
	n.compact()
	return len(n.ids)
}
