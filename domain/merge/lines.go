package merge

import "strings"

// register gives numbers to lines: two lines are equal when their numbers are.
// A line is told with its end, so that a last one without end is another line.
type register struct {
	numbers map[string]int32
	lines   []string // by number
}

// read returns the lines of a text.
func (r *register) read(text []byte) []int32 {
	var numbers []int32
	for line := range strings.Lines(string(text)) {
		n, known := r.numbers[line]
		if !known {
			n = int32(len(r.lines)) //nolint:gosec // a text of so many lines is refused long before
			r.numbers[line] = n
			r.lines = append(r.lines, line)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// sheet is one of two texts that are compared.
type sheet struct {
	lines   []int32
	changed []bool // by line: the other text has none for it
}

func newSheet(lines []int32) *sheet { return &sheet{lines, make([]bool, len(lines))} }

// isChanged is changed for a line that may be none.
func (s *sheet) isChanged(line int) bool {
	return line >= 0 && line < len(s.changed) && s.changed[line]
}

// times returns how often each number is in s.
func (s *sheet) times() map[int32]int {
	times := make(map[int32]int, len(s.lines))
	for _, n := range s.lines {
		times[n]++
	}
	return times
}

// hunk replaces the lines a0 to a1 of one text by the lines b0 to b1 of another.
type hunk struct{ a0, a1, b0, b1 int }

// diff returns what makes b of a, in order, with a line or more between each two
// hunks. When work runs out they are right, but not those of git.
func diff(a, b []int32, work *int) []hunk {
	var hunks []hunk
	left, right := newSheet(a), newSheet(b)
	compare(left, right, work)
	left.settle(right, work)
	right.settle(left, work)
	for i, j := 0, 0; i < len(a) || j < len(b); i, j = i+1, j+1 {
		h := hunk{i, i, j, j}
		for left.isChanged(h.a1) {
			h.a1++
		}
		for right.isChanged(h.b1) {
			h.b1++
		}
		if h.a0 < h.a1 || h.b0 < h.b1 {
			hunks = append(hunks, h)
		}
		i, j = h.a1, h.b1
	}
	return hunks
}
