package merge

// frontier is how far the paths from one corner of a box have come: the line of
// the first text, by diagonal.
type frontier struct {
	far       []int
	zero      int // where diagonal 0 is in far
	nowhere   int // for a diagonal that no path has come to
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

// widen goes one diagonal further out on both sides; at the edge of the box one
// back, for those of the other parity.
func (f *frontier) widen(lowest, highest int) {
	if f.low > lowest {
		f.low--
		f.set(f.low-1, f.nowhere)
	} else {
		f.low++
	}
	if f.high < highest {
		f.high++
		f.set(f.high+1, f.nowhere)
	} else {
		f.high--
	}
}

// advance takes each path from the start of the box one change further, and from
// there along all that is equal. When check is set it ends where a path meets one
// from the end. long: one of them found many equal lines.
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

// goodStart returns the end of the path from the start that made the most way, if
// it made more than pace and ends in a long run of equal lines.
func (s *search) goodStart(b box, pace int) (best point, ok bool) {
	f := &s.forward
	for d := f.high; d >= f.low; d -= 2 {
		p := point{f.at(d), f.at(d) - d}
		way := p.a - b.a0 + p.b - b.b0 - distance(d, f.middle)
		if way > pace && b.a0+longRun <= p.a && p.a < b.a1 && b.b0+longRun <= p.b && p.b < b.b1 &&
			s.isRun(point{p.a - longRun, p.b - longRun}) {
			best, pace, ok = p, way, true
		}
	}
	return best, ok
}

// goodEnd is goodStart from the end of the box.
func (s *search) goodEnd(b box, pace int) (best point, ok bool) {
	f := &s.backward
	for d := f.high; d >= f.low; d -= 2 {
		p := point{f.at(d), f.at(d) - d}
		way := b.a1 - p.a + b.b1 - p.b - distance(d, f.middle)
		if way > pace && b.a0 < p.a && p.a <= b.a1-longRun && b.b0 < p.b && p.b <= b.b1-longRun && s.isRun(p) {
			best, pace, ok = p, way, true
		}
	}
	return best, ok
}

// isRun reports whether many lines from p on are equal.
func (s *search) isRun(p point) bool {
	for i := range longRun {
		if s.a.lines[p.a+i] != s.b.lines[p.b+i] {
			return false
		}
	}
	return true
}

// farthest returns the point that most lines lie behind, be it from the start or
// from the end.
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
