package node

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Garbage is collected when the heap has doubled. A small heap that is busy doubles many
// times a second, and a quarter of the work is collecting then: while that is so it may
// grow by roomToGrow first. GOGC says otherwise, and GOMEMLIMIT bounds it.
const (
	lookAtGarbage = time.Second
	busyCollector = 2 // collections between two looks
	quietLooks    = 5 // without any, after which it is as before
	usualGrowth   = 100
	roomToGrow    = 256 << 20
)

// paceCollections lets the heap grow further while there is much garbage, until ctx
// ends.
func paceCollections(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	defer debug.SetGCPercent(usualGrowth)
	tick := time.NewTicker(lookAtGarbage)
	defer tick.Stop()
	seen := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(seen)
	pace := pace{cycles: seen[0].Value.Uint64(), growth: usualGrowth}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		metrics.Read(seen)
		if growth, changed := pace.next(seen[0].Value.Uint64(), seen[1].Value.Uint64()); changed {
			debug.SetGCPercent(growth)
		}
	}
}

// pace is by how much the heap may grow, in percent, and what that was decided on.
type pace struct {
	cycles uint64 // of the last look
	growth int
	quiet  int // looks since the last collection
}

// next returns by how much the heap may grow after cycles, of which the last left so many
// bytes alive, and whether that is new.
func (p *pace) next(cycles, alive uint64) (growth int, changed bool) {
	since := cycles - p.cycles
	p.cycles, growth = cycles, p.growth
	if p.quiet++; since > 0 {
		p.quiet = 0
	}
	switch {
	case since >= busyCollector || since > 0 && growth > usualGrowth:
		growth = max(usualGrowth, int(roomToGrow*100/max(alive, 1<<20)))
	case p.quiet >= quietLooks:
		growth = usualGrowth
	}
	changed = growth != p.growth
	p.growth = growth
	return growth, changed
}
