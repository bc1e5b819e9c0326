package domain

import (
	"bytes"
	"encoding/json"
)

// Same reports whether a and b are stored as the same bytes: a command that
// would change nothing records nothing.
func Same(a, b any) bool {
	before, err := json.Marshal(a)
	after, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(before, after)
}
