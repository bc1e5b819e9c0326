package expr

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestEveryFunctionIsDescribed keeps what editors offer and what the language knows the same.
func TestEveryFunctionIsDescribed(t *testing.T) {
	var described []string
	for _, f := range Functions() {
		described = append(described, strings.ToLower(f.Name))
		if !strings.HasPrefix(f.Signature, f.Name+"(") || f.Text == "" {
			t.Errorf("%s: signature %q, text %q", f.Name, f.Signature, f.Text)
		}
	}
	slices.Sort(described)
	if known := slices.Sorted(maps.Keys(functions())); !slices.Equal(described, known) {
		t.Errorf("described %v\nknown %v", described, known)
	}
}
