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
	if isContext(keys[0]) {
		found, err := v.m.World.Read(v.m.current.x, keys)
		v.m.env.Spent += costOfRead
		if whole, ok := found.(*value.Object); ok && len(keys) == 1 {
			v.m.env.Spent += costOfKey * whole.Len()
		}
		return found, err
	}
	found, effort := v.m.current.read(keys)
	v.m.env.Spent += effort
	return found, nil
}

// read returns a variable of the iteration or the execution, and what that took.
func (b *branch) read(keys []string) (v any, effort int) {
	if b.iter != nil {
		switch keys[0] {
		case "item":
			return value.Reach(b.iter.item, keys[1:]...)
		case "$index":
			return value.Reach(b.iter.index, keys[1:]...)
		}
	}
	return b.x.local.read(keys)
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
