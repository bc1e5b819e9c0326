package textdiff

import "math"

// maxWork bounds the search for the shortest difference: steps of it, of a few
// nanoseconds each. It finds some 6,000 changed lines that both texts have;
// lines that only one of them has cost nothing.
const maxWork = 20_000_000

// edit replaces the lines a0 to a1 of one text by the lines b0 to b1 of the
// other.
type edit struct{ a0, a1, b0, b1 int }

// compare returns the edits that make b of a, in order, with a line or more
// between each two.
func compare(a, b []string) []edit {
	s := newSearch(a, b)
	s.solve(box{0, len(s.a.ids), 0, len(s.b.ids)})
	var edits []edit
	for i, j := 0, 0; i < len(a) || j < len(b); {
		e := edit{i, i, j, j}
		for e.a1 < len(a) && !s.a.kept[e.a1] {
			e.a1++
		}
		for e.b1 < len(b) && !s.b.kept[e.b1] {
			e.b1++
		}
		if e.a0 < e.a1 || e.b0 < e.b1 {
			edits = append(edits, e)
		}
		i, j = e.a1, e.b1
		for i < len(a) && j < len(b) && s.a.kept[i] && s.b.kept[j] {
			i, j = i+1, j+1
		}
	}
	return edits
}

// side is one text as the search sees it: numbers for the lines that the other
// text has too, and where they are.
type side struct {
	ids   []int32
	place []int
	kept  []bool // by line: whether it stays
}

// search looks for the shortest difference (Myers 1986, in linear space).
type search struct {
	a, b side
	work int // steps left
	// By diagonal: how far a path with so many edits has come, from the start
	// and from the end.
	forward, backward []int
}

// box is the part of the two texts that is compared.
type box struct{ a0, a1, b0, b1 int }

func newSearch(a, b []string) *search {
	ids := make(map[string]int32, len(a))
	of := func(lines []string) []int32 {
		numbers := make([]int32, len(lines))
		for i, line := range lines {
			id, known := ids[line]
			if !known {
				id = int32(len(ids))
				ids[line] = id
			}
			numbers[i] = id
		}
		return numbers
	}
	inA, inB := of(a), of(b)
	s := &search{a: newSide(inA, inB, len(ids)), b: newSide(inB, inA, len(ids)), work: maxWork}
	// A path of d edits takes some d² / 2 steps to find, half of it from each end.
	deepest := min((len(s.a.ids)+len(s.b.ids)+1)/2, int(math.Sqrt(maxWork)))
	s.forward, s.backward = make([]int, 2*deepest+3), make([]int, 2*deepest+3)
	return s
}

// newSide leaves out the lines that the other text does not have: they are in no
// common part, and without them the search is short.
func newSide(own, other []int32, ids int) side {
	shared := make([]bool, ids)
	for _, id := range other {
		shared[id] = true
	}
	s := side{kept: make([]bool, len(own))}
	for i, id := range own {
		if shared[id] {
			s.ids, s.place = append(s.ids, id), append(s.place, i)
		}
	}
	return s
}

// solve marks what stays in a box. Where the search takes too long nothing does
// but the common beginning and end.
func (s *search) solve(b box) {
	for b.a0 < b.a1 && b.b0 < b.b1 && s.a.ids[b.a0] == s.b.ids[b.b0] {
		s.keep(b.a0, b.b0)
		b.a0, b.b0 = b.a0+1, b.b0+1
	}
	for b.a0 < b.a1 && b.b0 < b.b1 && s.a.ids[b.a1-1] == s.b.ids[b.b1-1] {
		b.a1, b.b1 = b.a1-1, b.b1-1
		s.keep(b.a1, b.b1)
	}
	if b.a0 == b.a1 || b.b0 == b.b1 {
		return
	}
	if x, y, ok := s.middle(b); ok {
		s.solve(box{b.a0, x, b.b0, y})
		s.solve(box{x, b.a1, y, b.b1})
	}
}

func (s *search) keep(i, j int) { s.a.kept[s.a.place[i]], s.b.kept[s.b.place[j]] = true, true }

// middle returns a point half way on a shortest path through a box: the place
// where paths from its start and from its end meet. ok is false when the work
// would be too much.
func (s *search) middle(b box) (x, y int, ok bool) {
	origin := len(s.forward) / 2
	own, other := s.a.ids[b.a0:b.a1], s.b.ids[b.b0:b.b1]
	ahead := walk{a: own, b: other, far: s.forward, origin: origin}
	back := walk{a: own, b: other, far: s.backward, origin: origin, reverse: true}
	odd := (len(own)-len(other))&1 != 0
	for d := 0; d < origin && s.work > 0; d++ {
		// Only paths of one parity can meet in a round.
		if k, met := ahead.round(d, &s.work, back.far, odd, d-1); met {
			x = s.forward[origin+k]
			return b.a0 + x, b.b0 + x - k, true
		}
		if k, met := back.round(d, &s.work, ahead.far, !odd, d); met {
			x = s.backward[origin+k]
			return b.a1 - x, b.b1 - x + k, true
		}
	}
	return 0, 0, false
}
