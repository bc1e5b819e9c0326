//go:build race

package access_test

// slowdown is what the race detector costs.
const slowdown = 10
