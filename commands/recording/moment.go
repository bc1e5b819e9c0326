package recording

import (
	"time"

	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// moment returns what was recorded where the machine is, nil when nothing is left.
func (p *player) moment(x *machine.Execution, kind entryKind, name string) *entry {
	_, at := p.machine.CurrentPlace()
	key := position(string(kind)+"\x00"+name, x.ID, at.Path, at.Iteration)
	known, n := p.record.moments[key], p.cursor[key]
	if n >= len(known) {
		return nil
	}
	p.cursor[key]++
	return known[n]
}

// Now implements machine.World.
func (p *player) Now() time.Time {
	x, _ := p.machine.CurrentPlace()
	e := p.moment(x, entryClock, "")
	if e == nil {
		p.missed = p.lacks(x, string(entryClock), value.Undefined)
		return p.record.At
	}
	return time.Unix(0, e.number).UTC()
}

func (p *player) date(x *machine.Execution) (any, error) {
	if e := p.moment(x, entryDate, ""); e != nil {
		return e.value, nil
	}
	return value.Undefined, p.lacks(x, string(entryClock), value.Undefined)
}

// Random implements machine.World.
func (p *player) Random(n int) []byte {
	x, _ := p.machine.CurrentPlace()
	drawn := make([]byte, n)
	if e := p.moment(x, entryRandom, ""); e != nil {
		bytes, _ := e.value.(value.Bytes)
		copy(drawn, bytes)
	} else {
		p.missed = p.lacks(x, string(entryRandom), float64(n))
	}
	return drawn
}
