//go:build !race

package access_test

// slowdown is what the race detector costs: it is off.
const slowdown = 1
