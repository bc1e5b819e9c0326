package process

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"svc/commands"
)

// Go collects garbage when the heap has doubled. A small busy heap doubles many times a
// second, and then a quarter of the CPU time is spent on collections: as long as that is so,
// the heap may grow by maxGrowth first. GOGC switches this off, and GOMEMLIMIT limits it.
const (
	gcInterval    = time.Second
	busyCycles    = 2 // collections in an interval, from which on the heap may grow further
	quietPeriods  = 5 // intervals without a collection, after which the default applies again
	defaultGrowth = 100
	maxGrowth     = 256 << 20
)

// After a start or much work Go keeps memory that it does not use for minutes, and for as long as nothing is
// collected also the garbage. An idle process gives it back.
const (
	idlePeriods = 5       // intervals of little work, after which a process is idle
	idleAllocs  = 1 << 20 // bytes that are allocated in such an interval, at most
	unusedBytes = 4 << 20 // bytes that are worth a collection
)

// PaceCollections lets the heap grow further while there is much garbage, and gives memory
// back when there is nothing to do, until ctx ends.
func PaceCollections(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	defer debug.SetGCPercent(defaultGrowth)
	seen := []metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(seen)
	pace, idle := gcPace{cycles: seen[0].Value.Uint64(), growth: defaultGrowth}, idleHeap{}
	hugePages := true
	commands.Every(ctx, gcInterval, func() {
		metrics.Read(seen)
		cycles, alive, allocated := seen[0].Value.Uint64(), seen[1].Value.Uint64(), seen[2].Value.Uint64()
		objects, free, released := seen[3].Value.Uint64(), seen[4].Value.Uint64(), seen[5].Value.Uint64()
		growth, changed := pace.next(cycles, alive)
		if changed {
			debug.SetGCPercent(growth)
		}
		if hugePages && pace.quiet == 0 && gainsByHugePages(objects+free, released) {
			hugePages = collapseHeap() == nil
		}
		if idle.next(allocated, objects-min(objects, alive)+free) {
			runtime.GC() // pools keep what they have over one collection
			debug.FreeOSMemory()
		}
	})
	return nil
}

// gainsByHugePages reports whether a heap is to be put on huge pages that has so many bytes besides those that were
// released to the system. What was released comes back with them, so there must be little.
func gainsByHugePages(heap, released uint64) bool { return heap >= minHugeHeap && released <= heap/8 }

// minHugeHeap is the size of a heap from which on huge pages are worth that they are taken as a whole.
const minHugeHeap = 64 << 20

// idleHeap counts the intervals without much work.
type idleHeap struct {
	allocated uint64 // since the start, at the last interval
	periods   int
}

// next reports whether memory is to be given back when so much was allocated since the start, and so much is not used.
func (h *idleHeap) next(allocated, unused uint64) bool {
	if h.periods++; allocated-h.allocated > idleAllocs {
		h.periods = 0
	}
	h.allocated = allocated
	if h.periods < idlePeriods || unused < unusedBytes {
		return false
	}
	h.periods = 0
	return true
}

// gcPace is by how many percent the heap may grow, and the counts that it follows from.
type gcPace struct {
	cycles uint64 // at the last interval
	growth int
	quiet  int // intervals since the last collection
}

// next returns by how many percent the heap may grow after a number of cycles, of which the
// last one left so many bytes alive, and whether that has changed.
func (p *gcPace) next(cycles, alive uint64) (growth int, changed bool) {
	since := cycles - p.cycles
	p.cycles, growth = cycles, p.growth
	if p.quiet++; since > 0 {
		p.quiet = 0
	}
	switch {
	case since >= busyCycles || since > 0 && growth > defaultGrowth:
		growth = max(defaultGrowth, int(maxGrowth*100/max(alive, 1<<20)))
	case p.quiet >= quietPeriods:
		growth = defaultGrowth
	}
	changed = growth != p.growth
	p.growth = growth
	return growth, changed
}
