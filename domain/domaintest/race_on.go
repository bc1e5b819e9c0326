//go:build race

package domaintest

// RaceEnabled reports whether the race detector is on.
const RaceEnabled = true

// RaceSlowdown is how many times slower code runs because of the race detector.
const RaceSlowdown = 10
