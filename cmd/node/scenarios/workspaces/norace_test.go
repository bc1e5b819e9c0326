//go:build !race

package workspaces_test

// slowdown is what the race detector costs: nothing here.
const slowdown = 1
