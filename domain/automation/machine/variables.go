package machine

import (
	"time"

	"svc/domain/automation/value"
)

// variables is what expressions see: the variables of the execution that is being
// executed, the contexts behind them, and the rest of the world.
type variables struct{ m *Machine }

// Read implements expr.World.
func (v variables) Read(keys []string) (any, error) {
	b := v.m.current
	root := keys[0]
	if isContext(root) {
		return v.m.World.Read(b.x, keys)
	}
	if b.iter != nil {
		switch root {
		case "item":
			return value.Walk(b.iter.item, keys[1:]...), nil
		case "$index":
			return value.Walk(b.iter.index, keys[1:]...), nil
		}
	}
	return b.x.local.read(keys), nil
}

// Now implements expr.World.
func (v variables) Now() (time.Time, error) {
	now := v.m.World.Now()
	v.m.current.ordinal++
	return now, v.missed()
}

// Random implements expr.World.
func (v variables) Random(n int) ([]byte, error) {
	drawn := v.m.World.Random(n)
	v.m.current.ordinal++
	return drawn, v.missed()
}

func (v variables) missed() error {
	if v.m.Missed == nil {
		return nil
	}
	return v.m.Missed()
}
