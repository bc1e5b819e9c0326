//go:build race

package workspaces_test

// slowdown is what the race detector costs: what is large is smaller under it.
const slowdown = 10
