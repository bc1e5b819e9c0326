package textdiff

// Limits of git's heuristics.
const (
	maxFrequency = 1024 // a line that occurs so often is frequent, however long the text is
	neighbours   = 100  // lines examined on either side of a frequent one
	minRounds    = 256  // heuristics never end a search before so many rounds
	longRun      = 20   // equal lines in a row that make a path a good one
	goodPace     = 4    // lines per round that do
)

// box is the part of the two texts that is compared.
type box struct{ a0, a1, b0, b1 int }

// point is a position between lines of both texts.
type point struct{ a, b int }

// search finds the shortest difference of two texts (Myers 1986, linear space), from both
// ends of a box at once. A path follows a diagonal, a-b, where lines are equal.
type search struct {
	left, right       *side
	a, b              candidates
	forward, backward frontier
	maxRounds         int // after so many the best path so far is used
	work              *int
}

// compare marks the lines of two texts that have no partner in the other one. exact finds
// the shortest difference; otherwise git's heuristics apply.
func compare(left, right *side, work *int, exact bool) {
	from, endA, endB := 0, len(left.lines), len(right.lines)
	for from < endA && from < endB && left.lines[from] == right.lines[from] {
		from++
	}
	for endA > from && endB > from && left.lines[endA-1] == right.lines[endB-1] {
		endA, endB = endA-1, endB-1
	}
	s := &search{left: left, right: right, work: work}
	s.a = left.selectCandidates(from, endA, right.frequencies(), exact)
	s.b = right.selectCandidates(from, endB, left.frequencies(), exact)
	diagonals := len(s.a.lines) + len(s.b.lines) + 3
	s.maxRounds = max(powerOfTwoRoot(diagonals), minRounds)
	zero := len(s.b.lines) + 1
	s.forward = frontier{far: make([]int, diagonals), zero: zero, unreached: -1}
	s.backward = frontier{far: make([]int, diagonals), zero: zero, unreached: diagonals}
	s.solve(box{0, len(s.a.lines), 0, len(s.b.lines)}, exact)
}

// candidates are the lines of a text that are searched, and their positions in it.
type candidates struct {
	lines     []int32
	positions []int
}

// rarity says how useful a line is when two texts are compared.
type rarity uint8

const (
	unmatched rarity = iota // the other text does not have the line
	frequent                // the other text has it so often that a match says little
	rare
)

// selectCandidates returns the lines between from and to that are searched, and marks the
// others as changed: those that the other text lacks, and, unless exact, frequent ones
// among such.
func (s *side) selectCandidates(from, to int, other []int32, exact bool) candidates {
	limit := min(powerOfTwoRoot(len(s.lines)), maxFrequency)
	rarities := make([]rarity, to-from)
	for i := range rarities {
		n := 0
		if line := int(s.lines[from+i]); line < len(other) {
			n = int(other[line])
		}
		switch {
		case n == 0:
		case n >= limit && !exact:
			rarities[i] = frequent
		default:
			rarities[i] = rare
		}
	}
	c := candidates{make([]int32, 0, to-from), make([]int, 0, to-from)}
	for i, r := range rarities {
		if r == unmatched || r == frequent && isAmongUnmatched(rarities, i) {
			s.changed[from+i] = true
			continue
		}
		c.lines, c.positions = append(c.lines, s.lines[from+i]), append(c.positions, from+i)
	}
	return c
}

// isAmongUnmatched reports whether so many lines around a frequent one are unmatched, on
// both sides and up to the next rare one, that matching it would mean nothing.
func isAmongUnmatched(rarities []rarity, line int) bool {
	lost, vague := 0, 2 // the line itself, once for each side
	for _, direction := range []int{-1, 1} {
		before := lost
		for n := 1; n <= neighbours; n++ {
			i := line + n*direction
			if i < 0 || i >= len(rarities) || rarities[i] == rare {
				break
			}
			if rarities[i] == unmatched {
				lost++
			} else {
				vague++
			}
		}
		if lost == before {
			return false
		}
	}
	return 3*vague < lost
}

// powerOfTwoRoot returns about the square root of n: the power of two above it.
func powerOfTwoRoot(n int) int {
	r := 1
	for ; n > 0; n >>= 2 {
		r <<= 1
	}
	return r
}

// solve compares the lines of a box. Without exact, a good path ends the search.
func (s *search) solve(b box, exact bool) {
	for b.a0 < b.a1 && b.b0 < b.b1 && s.a.lines[b.a0] == s.b.lines[b.b0] {
		b.a0, b.b0 = b.a0+1, b.b0+1
	}
	for b.a0 < b.a1 && b.b0 < b.b1 && s.a.lines[b.a1-1] == s.b.lines[b.b1-1] {
		b.a1, b.b1 = b.a1-1, b.b1-1
	}
	if b.a0 == b.a1 || b.b0 == b.b1 || *s.work <= 0 {
		for _, line := range s.a.positions[b.a0:b.a1] {
			s.left.changed[line] = true
		}
		for _, line := range s.b.positions[b.b0:b.b1] {
			s.right.changed[line] = true
		}
		return
	}
	cut := s.split(b, exact)
	s.solve(box{b.a0, cut.a, b.b0, cut.b}, cut.exactBefore)
	s.solve(box{cut.a, b.a1, cut.b, b.b1}, cut.exactAfter)
}

// cut is where a box is cut in two, and how each half is solved: the half that the path
// to this point crossed is known to be short.
type cut struct {
	point
	exactBefore, exactAfter bool
}

// split returns a point of a good path through a box.
func (s *search) split(b box, exact bool) cut {
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
		if exact {
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
		if round >= s.maxRounds {
			return s.farthest(b)
		}
	}
}

// frontier is how far the paths from one corner of a box have come: the line of the first
// text, by diagonal.
type frontier struct {
	far       []int
	zero      int // index of diagonal 0 in far
	unreached int // the value of a diagonal without a path
	middle    int // the diagonal of the corner
	low, high int // the outermost diagonals of the last round
}

func (f *frontier) at(diagonal int) int       { return f.far[f.zero+diagonal] }
func (f *frontier) set(diagonal, a int)       { f.far[f.zero+diagonal] = a }
func (f *frontier) reaches(diagonal int) bool { return f.low <= diagonal && diagonal <= f.high }
func (f *frontier) begin(diagonal, a int) {
	f.middle, f.low, f.high = diagonal, diagonal, diagonal
	f.set(diagonal, a)
}

// widen adds a diagonal on both sides; at the edge of the box it removes one, because of
// the parity.
func (f *frontier) widen(lowest, highest int) {
	if f.low > lowest {
		f.low--
		f.set(f.low-1, f.unreached)
	} else {
		f.low++
	}
	if f.high < highest {
		f.high++
		f.set(f.high+1, f.unreached)
	} else {
		f.high--
	}
}

// advance extends each path from the start of the box by one change and all equal lines
// after it. With check it ends where a path meets one from the end. long reports that a
// path found many equal lines.
func (s *search) advance(b box, check bool) (p point, met, long bool) {
	f, left, right := &s.forward, s.a.lines[:b.a1], s.b.lines[:b.b1]
	above := f.at(f.high + 1)
	for d := f.high; d >= f.low; d -= 2 {
		below := f.at(d - 1)
		from := max(below+1, above)
		above = below
		a := from
		for a < len(left) && a-d < len(right) && left[a] == right[a-d] {
			a++
		}
		*s.work -= a - from
		long = long || a-from > longRun
		f.set(d, a)
		if check && s.backward.reaches(d) && s.backward.at(d) <= a {
			return point{a, a - d}, true, long
		}
	}
	return point{}, false, long
}

// retreat is advance from the end of the box.
func (s *search) retreat(b box, check bool) (p point, met, long bool) {
	f, left, right := &s.backward, s.a.lines, s.b.lines
	above := f.at(f.high + 1)
	for d := f.high; d >= f.low; d -= 2 {
		below := f.at(d - 1)
		from := min(below, above-1)
		above = below
		a := from
		for a > b.a0 && a-d > b.b0 && left[a-1] == right[a-d-1] {
			a--
		}
		*s.work -= from - a
		long = long || from-a > longRun
		f.set(d, a)
		if check && s.forward.reaches(d) && a <= s.forward.at(d) {
			return point{a, a - d}, true, long
		}
	}
	return point{}, false, long
}

// goodStart returns the end of the longest path from the start, if it is longer than pace
// and ends in a long run of equal lines.
func (s *search) goodStart(b box, pace int) (best point, ok bool) {
	f := &s.forward
	for d := f.high; d >= f.low; d -= 2 {
		p := point{f.at(d), f.at(d) - d}
		length := p.a - b.a0 + p.b - b.b0 - distance(d, f.middle)
		if length > pace && b.a0+longRun <= p.a && p.a < b.a1 && b.b0+longRun <= p.b && p.b < b.b1 &&
			s.isRun(point{p.a - longRun, p.b - longRun}) {
			best, pace, ok = p, length, true
		}
	}
	return best, ok
}

// goodEnd is goodStart from the end of the box.
func (s *search) goodEnd(b box, pace int) (best point, ok bool) {
	f := &s.backward
	for d := f.high; d >= f.low; d -= 2 {
		p := point{f.at(d), f.at(d) - d}
		length := b.a1 - p.a + b.b1 - p.b - distance(d, f.middle)
		if length > pace && b.a0 < p.a && p.a <= b.a1-longRun && b.b0 < p.b && p.b <= b.b1-longRun && s.isRun(p) {
			best, pace, ok = p, length, true
		}
	}
	return best, ok
}

// isRun reports whether longRun lines from p on are equal.
func (s *search) isRun(p point) bool {
	for i := range longRun {
		if s.a.lines[p.a+i] != s.b.lines[p.b+i] {
			return false
		}
	}
	return true
}

// farthest returns the point that is farthest from the start or from the end.
func (s *search) farthest(b box) cut {
	ahead, back := point{-1, 0}, point{b.a1, b.b1 + 1}
	for d := s.forward.high; d >= s.forward.low; d -= 2 {
		a := min(s.forward.at(d), b.a1, b.b1+d)
		if p := (point{a, a - d}); p.a+p.b > ahead.a+ahead.b {
			ahead = p
		}
	}
	for d := s.backward.high; d >= s.backward.low; d -= 2 {
		a := max(s.backward.at(d), b.a0, b.b0+d)
		if p := (point{a, a - d}); p.a+p.b < back.a+back.b {
			back = p
		}
	}
	if b.a1+b.b1-back.a-back.b < ahead.a+ahead.b-b.a0-b.b0 {
		return cut{ahead, true, false}
	}
	return cut{back, false, true}
}

func distance(a, b int) int { return max(a-b, b-a) }
