package process

import (
	"context"
	"os"
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

// PaceCollections lets the heap grow further while there is much garbage, until ctx
// ends.
func PaceCollections(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	defer debug.SetGCPercent(defaultGrowth)
	seen := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(seen)
	pace := gcPace{cycles: seen[0].Value.Uint64(), growth: defaultGrowth}
	commands.Every(ctx, gcInterval, func() {
		metrics.Read(seen)
		if growth, changed := pace.next(seen[0].Value.Uint64(), seen[1].Value.Uint64()); changed {
			debug.SetGCPercent(growth)
		}
	})
	return nil
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
