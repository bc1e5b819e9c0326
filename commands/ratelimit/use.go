package ratelimit

import (
	"math"
	"time"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

// Use is one rateLimit instruction.
type Use struct {
	Name     string
	Limit    float64       // how much may be used in a window
	Window   time.Duration // how long that is
	Consumer any           // who uses it, as text; Undefined: one counter for all
	Consume  int64         // how much is used; 0: only look
	Break    bool          // whether too much is an error
}

const (
	maxCount  = int64(1) << 53    // beyond, numbers are no longer exact
	maxWindow = 366 * 24 * 3600.0 // seconds
	minWindow = 0.001
)

// Read reads the parameters of the instruction.
func Read(params *value.Object) (Use, error) {
	u := Use{Consume: 1, Consumer: value.Undefined}
	var ok bool
	if u.Name, ok = params.At("name").(string); !ok || u.Name == "" {
		return u, automation.Invalid("name is a string that is not empty")
	}
	if u.Limit, ok = params.At("limit").(float64); !ok || !(u.Limit >= 0) || u.Limit > float64(maxCount) {
		return u, automation.Invalid("limit is a number from 0 to %d", maxCount)
	}
	seconds, ok := params.At("window").(float64)
	if !ok || !(seconds >= minWindow) || seconds > maxWindow {
		return u, automation.Invalid("window is a number of seconds above 0 and up to %.0f", maxWindow)
	}
	u.Window = time.Duration(math.Round(seconds * float64(time.Second)))
	if given := params.At("consume"); !value.IsNothing(given) {
		if u.Consume, ok = whole(given); !ok {
			return u, automation.Invalid("consume is a whole number from 0 on")
		}
	}
	var err error
	if u.Consumer, err = consumer(params.At("consumer")); err != nil {
		return u, err
	}
	stop := params.At("break")
	if u.Break, ok = stop.(bool); !ok && !value.IsNothing(stop) {
		return u, automation.Invalid("break is true or false, not %s", value.TypeName(stop))
	}
	return u, nil
}

// exceeded reports whether so much is too much.
func (u Use) exceeded(used int64) bool { return float64(used) > u.Limit }

func whole(v any) (int64, bool) {
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < 0 || n > float64(maxCount) {
		return 0, false
	}
	return int64(n), true
}

// consumer is a scalar, as text.
func consumer(v any) (any, error) {
	switch v.(type) {
	case string, float64, bool:
		return value.Text(v), nil
	}
	if value.IsNothing(v) {
		return value.Undefined, nil
	}
	return nil, automation.Invalid("consumer is a string, not %s", value.TypeName(v))
}
