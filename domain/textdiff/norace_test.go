//go:build !race

package textdiff_test

// slowdown is what the race detector costs: it is off.
const (
	slowdown = 1
	size     = 1 << 20
)
