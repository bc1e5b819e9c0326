package textdiff

import (
	"bytes"
	"strings"
)

// LineTable numbers lines: two lines are equal when their numbers are. A line includes
// its line end, so a last line without one is a different line.
type LineTable struct {
	numbers map[string]int32
	lines   []string // by number
}

// Number returns the numbers of the lines of a text.
func (t *LineTable) Number(text []byte) []int32 {
	size := bytes.Count(text, []byte("\n")) + 1
	if t.numbers == nil {
		t.numbers, t.lines = make(map[string]int32, size), make([]string, 0, size)
	}
	numbers := make([]int32, 0, size)
	for line := range strings.Lines(string(text)) {
		n, known := t.numbers[line]
		if !known {
			n = int32(len(t.lines)) //nolint:gosec // a text of so many lines is refused long before
			t.numbers[line] = n
			t.lines = append(t.lines, line)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// Line returns the line with number n.
func (t *LineTable) Line(n int32) string { return t.lines[n] }

// Hunk replaces the lines A0 to A1 of one text by the lines B0 to B1 of another.
type Hunk struct{ A0, A1, B0, B1 int }

// GitHunks returns the hunks that turn a into b, in order, with at least one line between
// two of them. They are those of git: where several differences are shortest, the order
// of git's search decides, and so do its heuristics. work is decreased by the steps
// taken; when it runs out, the hunks are correct but not those of git.
func GitHunks(a, b []int32, work *int) []Hunk {
	left, right := newSide(a), newSide(b)
	compare(left, right, work, false)
	left.slideRuns(right, work)
	right.slideRuns(left, work)
	return hunksOf(left, right)
}

// shortestHunks returns the fewest changed lines that turn a into b, unless work runs out.
func shortestHunks(a, b []int32, work int) []Hunk {
	left, right := newSide(a), newSide(b)
	compare(left, right, &work, true)
	return hunksOf(left, right)
}

// hunksOf reads the hunks off the changed lines of both texts.
func hunksOf(left, right *side) []Hunk {
	var hunks []Hunk
	for i, j := 0, 0; i < len(left.lines) || j < len(right.lines); i, j = i+1, j+1 {
		h := Hunk{i, i, j, j}
		for left.isChanged(h.A1) {
			h.A1++
		}
		for right.isChanged(h.B1) {
			h.B1++
		}
		if h.A0 < h.A1 || h.B0 < h.B1 {
			hunks = append(hunks, h)
		}
		i, j = h.A1, h.B1
	}
	return hunks
}

// side is one of two texts that are compared.
type side struct {
	lines   []int32
	changed []bool // by line: it has no partner in the other text
}

func newSide(lines []int32) *side { return &side{lines, make([]bool, len(lines))} }

// isChanged accepts any line number, also one outside of the text.
func (s *side) isChanged(line int) bool {
	return line >= 0 && line < len(s.changed) && s.changed[line]
}

// frequencies returns how often each line occurs, by its number.
func (s *side) frequencies() []int32 {
	n := make([]int32, len(s.lines))
	for _, line := range s.lines {
		if int(line) >= len(n) {
			n = append(n, make([]int32, int(line)+1)...)
		}
		n[line]++
	}
	return n
}

// run is a sequence of changed lines, possibly empty, between two unchanged ones. Both
// texts have the same number of unchanged lines, so each run has a partner in the other.
type run struct {
	*side
	start, end int
}

// next moves to the run after the next unchanged line; false if there is none.
func (r *run) next() bool {
	if r.end == len(r.lines) {
		return false
	}
	r.start, r.end = r.end+1, r.end+1
	r.extend()
	return true
}

// previous moves to the run before the last unchanged line, which must exist.
func (r *run) previous() {
	r.end = r.start - 1
	r.start = r.end
	r.extend()
}

// extend includes the changed lines next to r.
func (r *run) extend() {
	for r.isChanged(r.start - 1) {
		r.start--
	}
	for r.isChanged(r.end) {
		r.end++
	}
}

// slideUp moves r up by a line if the difference stays the same.
func (r *run) slideUp() bool {
	if r.start == 0 || r.lines[r.start-1] != r.lines[r.end-1] {
		return false
	}
	r.start, r.end = r.start-1, r.end-1
	r.changed[r.start], r.changed[r.end] = true, false
	r.extend()
	return true
}

// slideDown moves r down by a line if the difference stays the same.
func (r *run) slideDown() bool {
	if r.end == len(r.lines) || r.lines[r.start] != r.lines[r.end] {
		return false
	}
	r.changed[r.start], r.changed[r.end] = false, true
	r.start, r.end = r.start+1, r.end+1
	r.extend()
	return true
}

func (r *run) isEmpty() bool { return r.start == r.end }

// slideRuns moves each run of changed lines, among the equivalent positions, to the last
// one that is next to a change of the other text, so that lines are replaced instead of
// removed here and added there; without such a position, to the last one. Runs that touch
// are joined.
func (s *side) slideRuns(other *side, work *int) {
	r, partner := run{side: s}, run{side: other}
	r.extend()
	partner.extend()
	for more := true; more && *work > 0; more = r.next() && partner.next() {
		if !r.isEmpty() {
			r.slide(&partner, work)
		}
	}
}

// slide moves one run to its final position.
func (r *run) slide(partner *run, work *int) {
	paired, moved := false, true // seen next to a change; moved by at least a line since
	for size := 0; size != r.end-r.start && *work > 0; {
		size = r.end - r.start
		for r.slideUp() {
			partner.previous()
			*work--
		}
		paired, moved = !partner.isEmpty(), false
		for r.slideDown() {
			partner.next()
			moved = true
			paired = paired || !partner.isEmpty()
			*work--
		}
	}
	for moved && paired && partner.isEmpty() {
		r.slideUp()
		partner.previous()
		*work--
	}
}
