package collection

import "svc/domain/value"

// budget is the budget of one call. Queries are written by users, and a short one can take
// very long: every row, and every value made of it, is charged here.
type budget struct {
	left  int          // steps
	limit int          // what it began with
	alive func() error // fails when the caller is gone; nil: never
}

const (
	// defaultSteps is the budget of one call: about half a minute of one processor.
	defaultSteps = 2_000_000_000
	// rowSteps is the cost of passing on a row.
	rowSteps = 64
	// matchSteps is the budget for matching one row with a query.
	matchSteps = 500_000_000
	// stepSize is how many bytes of a value are made or read in one step.
	stepSize = 16
)

// spend takes steps from the budget. It fails when the budget is used up, or when the caller is gone.
func (e *budget) spend(steps int) error {
	if e.left -= steps; e.left < 0 {
		return withDetail(Refuse(TooLarge, "the call asks for more than %d steps of work", e.limit), "limit", float64(e.limit))
	}
	if e.alive == nil {
		return nil
	}
	return e.alive()
}

// weigh returns the size of a value that was made of rows. It refuses one that is larger than the memory that a call
// may use.
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

func tooMuchMemoryError(usedBytes int) error {
	if usedBytes > maxMemory {
		return withDetail(Refuse(TooLarge, "the rows of one call have more than %d MB", maxMemory>>20), "limit", float64(maxMemory))
	}
	return nil
}

// roughSize estimates the memory of a value. It stops at the memory that a call may use:
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
		for i := 0; i < len(v) && size <= maxMemory; i++ {
			size = sizeWith(size, v[i])
		}
	case *value.Object:
		for _, key := range v.Keys() {
			if size > maxMemory {
				break
			}
			size = sizeWith(size+len(key)+32, v.At(key))
		}
	}
	return size
}

// Weight estimates the memory of a row.
func Weight(row *value.Object) int { return roughSize(row) }
