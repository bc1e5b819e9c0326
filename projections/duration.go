package projections

import (
	"strconv"
	"time"
)

// Duration is a time.Duration that JSON shows in milliseconds, as the API does.
type Duration time.Duration

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, time.Duration(d).Milliseconds(), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(text []byte) error {
	ms, err := strconv.ParseInt(string(text), 10, 64)
	*d = Duration(time.Duration(ms) * time.Millisecond)
	return err
}

// String implements fmt.Stringer.
func (d Duration) String() string { return time.Duration(d).Round(time.Millisecond).String() }
