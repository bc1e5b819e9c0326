package merge

// When the search takes a path that is good instead of looking for the best.
const (
	minRounds = 256 // never before so many rounds
	longRun   = 20  // lines in a row that make a path a good one
	goodPace  = 4   // lines per round that do
)

// box is the part of the two texts that is compared.
type box struct{ a0, a1, b0, b1 int }

// point is a place between lines of both texts.
type point struct{ a, b int }

// search looks for the shortest difference of two texts (Myers 1986), from both
// ends of a box at once. A path goes along a diagonal, a-b, where lines are equal.
type search struct {
	left, right       *sheet
	a, b              picked
	forward, backward frontier
	rounds            int // after so many the best path so far will do
	work              *int
}

// compare marks the lines of two texts that have no partner in the other one.
func compare(left, right *sheet, work *int) {
	from, endA, endB := 0, len(left.lines), len(right.lines)
	for from < endA && from < endB && left.lines[from] == right.lines[from] {
		from++
	}
	for endA > from && endB > from && left.lines[endA-1] == right.lines[endB-1] {
		endA, endB = endA-1, endB-1
	}
	s := &search{left: left, right: right, work: work}
	s.a = left.pick(from, endA, right.times())
	s.b = right.pick(from, endB, left.times())
	diagonals := len(s.a.lines) + len(s.b.lines) + 3
	s.rounds = max(root(diagonals), minRounds)
	zero := len(s.b.lines) + 1
	s.forward = frontier{far: make([]int, diagonals), zero: zero, nowhere: -1}
	s.backward = frontier{far: make([]int, diagonals), zero: zero, nowhere: diagonals}
	s.solve(box{0, len(s.a.lines), 0, len(s.b.lines)}, false)
}

// solve compares what is in a box. patient: until the best path is found.
func (s *search) solve(b box, patient bool) {
	for b.a0 < b.a1 && b.b0 < b.b1 && s.a.lines[b.a0] == s.b.lines[b.b0] {
		b.a0, b.b0 = b.a0+1, b.b0+1
	}
	for b.a0 < b.a1 && b.b0 < b.b1 && s.a.lines[b.a1-1] == s.b.lines[b.b1-1] {
		b.a1, b.b1 = b.a1-1, b.b1-1
	}
	if b.a0 == b.a1 || b.b0 == b.b1 || *s.work <= 0 {
		for _, line := range s.a.place[b.a0:b.a1] {
			s.left.changed[line] = true
		}
		for _, line := range s.b.place[b.b0:b.b1] {
			s.right.changed[line] = true
		}
		return
	}
	cut := s.split(b, patient)
	s.solve(box{b.a0, cut.a, b.b0, cut.b}, cut.patientBefore)
	s.solve(box{cut.a, b.a1, cut.b, b.b1}, cut.patientAfter)
}

// cut is where a box is cut in two, and how each half is to be solved: the one
// that the path to this point went through is known to be short.
type cut struct {
	point
	patientBefore, patientAfter bool
}

// split returns a point of a good path through a box.
func (s *search) split(b box, patient bool) cut {
	s.forward.begin(b.a0-b.b0, b.a0)
	s.backward.begin(b.a1-b.b1, b.a1)
	lowest, highest := b.a0-b.b1, b.a1-b.b0
	// Only paths of one parity can meet in a round.
	odd := (s.forward.middle-s.backward.middle)&1 != 0
	for round := 1; ; round++ {
		s.forward.widen(lowest, highest)
		p, met, long := s.advance(b, odd)
		if met {
			return cut{p, true, true}
		}
		s.backward.widen(lowest, highest)
		p, met, longBack := s.retreat(b, !odd)
		if met {
			return cut{p, true, true}
		}
		*s.work -= s.forward.high - s.forward.low + s.backward.high - s.backward.low + 2
		if *s.work <= 0 {
			return s.farthest(b)
		}
		if patient {
			continue
		}
		if (long || longBack) && round > minRounds {
			if p, ok := s.goodStart(b, goodPace*round); ok {
				return cut{p, true, false}
			}
			if p, ok := s.goodEnd(b, goodPace*round); ok {
				return cut{p, false, true}
			}
		}
		if round >= s.rounds {
			return s.farthest(b)
		}
	}
}
