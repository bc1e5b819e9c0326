// Package nearest finds the known name that somebody most likely wanted to write.
package nearest

import (
	"iter"
	"strings"
)

// maxCompared bounds how many names are compared, and maxLength how long they are in
// characters: a message is not worth more work.
const (
	maxCompared = 2000
	maxLength   = 64
)

// Name returns the known name that is most like the wanted one, "" when none is like it.
// Upper and lower case count as the same letter. Of several the first wins, so that the
// same names in the same order always give the same answer.
func Name(wanted string, known iter.Seq[string]) string {
	want := []rune(strings.ToLower(wanted))
	if len(want) == 0 || len(want) > maxLength {
		return ""
	}
	best, limit, compared := "", maxDistance(len(want))+1, 0
	for name := range known {
		if compared++; compared > maxCompared || limit == 0 {
			break
		}
		if name == wanted || len(name) > 4*maxLength {
			continue
		}
		have := []rune(strings.ToLower(name))
		if max(len(have)-len(want), len(want)-len(have)) >= limit {
			continue
		}
		if d := distance(want, have); d < limit && d < max(len(want), len(have)) {
			best, limit = name, d
		}
	}
	return best
}

// DidYouMean returns the end of a message that names the nearest known name, "" when
// there is none.
func DidYouMean(wanted string, known iter.Seq[string]) string {
	if name := Name(wanted, known); name != "" {
		return `; did you mean "` + name + `"?`
	}
	return ""
}

// maxDistance is how many letters of a name of n letters may be wrong.
func maxDistance(n int) int {
	switch {
	case n <= 4:
		return 1
	case n <= 8:
		return 2
	}
	return 3
}

// Distance counts the letters that have to be added, left out, replaced or swapped with
// their neighbour to turn one name into the other.
func Distance(a, b string) int { return distance([]rune(a), []rune(b)) }

func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
