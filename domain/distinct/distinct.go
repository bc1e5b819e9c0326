// Package distinct counts different things without keeping them.
package distinct

import (
	"math"
	"math/bits"
)

const (
	registers = 1 << 14
	longest   = 64 - 14 + 1 // run
)

// Size is how many bytes a Sketch takes.
const Size = registers

// Sketch counts different hashes, of which each bit must depend on all of what was
// hashed: about, within 3 % nearly always. It is a HyperLogLog.
type Sketch [registers]uint8

// Add takes a hash into account: a register knows the longest run of zeros.
func (s *Sketch) Add(hash uint64) {
	at := hash % registers
	run := uint8(bits.LeadingZeros64(hash|registers-1)) + 1
	s[at] = max(s[at], run)
}

// Count returns how many different hashes there were. It is the estimate of Ertl (New
// cardinality estimation algorithms for HyperLogLog sketches, 2017), which is as good
// for few as for many.
func (s *Sketch) Count() int {
	var with [longest + 1]float64 // registers, by their runs
	for _, run := range s {
		with[run]++
	}
	z := registers * tau(1-with[longest]/registers)
	for run := longest - 1; run > 0; run-- {
		z = (z + with[run]) / 2
	}
	z += registers * sigma(with[0]/registers)
	return int(math.Round(registers * registers / (2 * math.Ln2 * z)))
}

// sigma corrects for registers that saw nothing.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	z, last := x, 0.0
	for y := 1.0; z != last; y += y {
		x *= x
		last = z
		z += x * y
	}
	return z
}

// tau corrects for registers that cannot count further.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	z, last := 1-x, 0.0
	for y := 0.5; z != last; y /= 2 {
		x = math.Sqrt(x)
		last = z
		z -= (1 - x) * (1 - x) * y
	}
	return z / 3
}
