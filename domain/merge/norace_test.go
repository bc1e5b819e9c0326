//go:build !race

package merge_test

// slowdown is what the race detector costs: it is off.
const (
	slowdown = 1
	size     = 1 << 20
)
