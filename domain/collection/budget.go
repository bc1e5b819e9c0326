package collection

import "svc/domain/value"

// budget is the budget of one call. Queries are written by users, and a short one can take
// very long: every row, and every value made of it, is charged here.
type budget struct {
	left  int          // steps
	limit int          // what it began with
	alive func() error // fails when nobody waits for the call any more; nil: somebody does
}

const (
	// defaultSteps is what one call may cost: about half a minute of one processor.
	defaultSteps = 2_000_000_000
	// rowSteps is the cost of passing on a row.
	rowSteps = 64
	// matchSteps is what it may cost to hold one row against a query.
	matchSteps = 500_000_000
	// stepSize is how many bytes of a value are made or read in one step.
	stepSize = 16
)

// spend takes steps from the budget. It fails when they are not left, or when the caller
// is gone.
func (e *budget) spend(steps int) error {
	if e.left -= steps; e.left < 0 {
		return withDetail(Refuse(TooLarge, "the call asks for more than %d steps of work", e.limit), "limit", float64(e.limit))
	}
	if e.alive == nil {
		return nil
	}
	return e.alive()
}

// weigh returns the size of a value that was made of rows. It refuses one that is larger
// than all that a call may hold.
func (e *budget) weigh(v any) (size int, err error) {
	size = roughSize(v)
	if err := e.spend(size / stepSize); err != nil {
		return 0, err
	}
	return size, tooMuchMemoryError(size)
}

// reader is a view, with what reading it may cost.
type reader struct {
	View
	*budget
}

func tooMuchMemoryError(held int) error {
	if held > maxHeld {
		return withDetail(Refuse(TooLarge, "the rows of one call have more than %d MB", maxHeld>>20), "limit", float64(maxHeld))
	}
	return nil
}

// roughSize estimates the memory of a value. It reads no more of it than a call may hold:
// a value that contains the same list many times is far larger than its memory.
func roughSize(v any) int { return sizeWith(0, v) }

// sizeWith adds the size of a value to another.
func sizeWith(size int, v any) int {
	size += stepSize
	switch v := v.(type) {
	case string:
		size += len(v)
	case value.Bytes:
		size += len(v)
	case []any:
		for i := 0; i < len(v) && size <= maxHeld; i++ {
			size = sizeWith(size, v[i])
		}
	case *value.Object:
		for _, key := range v.Keys() {
			if size > maxHeld {
				break
			}
			size = sizeWith(size+len(key)+32, v.At(key))
		}
	}
	return size
}

// Weight estimates the memory of a row.
func Weight(row *value.Object) int { return roughSize(row) }
