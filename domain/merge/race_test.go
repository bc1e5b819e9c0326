//go:build race

package merge_test

// slowdown is what the race detector costs, and size what is worth waiting for
// with it.
const (
	slowdown = 10
	size     = 1 << 14
)
