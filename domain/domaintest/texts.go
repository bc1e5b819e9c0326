package domaintest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// LongTexts makes texts of one megabyte for tests of effort, the same ones in each test.
type LongTexts struct{ *rand.Rand }

// NewLongTexts returns LongTexts.
func NewLongTexts() LongTexts { return LongTexts{rand.New(rand.NewPCG(1, 2))} }

// Size is the length of the texts. With the race detector they are shorter, or the tests would take
// too long.
func (LongTexts) Size() int {
	if RaceEnabled {
		return 1 << 14
	}
	return 1 << 20
}

// Random returns random lines of so many kinds.
func (l LongTexts) Random(kinds int) string {
	var b strings.Builder
	for b.Len() < l.Size() {
		fmt.Fprintf(&b, "%x\n", l.IntN(kinds))
	}
	return b.String()
}

// Repeated returns one part again and again.
func (l LongTexts) Repeated(part string) string { return strings.Repeat(part, l.Size()/len(part)) }
