package merge

// What is left out of the search.
const (
	maxOften = 1024 // a line that a text has so often is frequent, however long the text is
	around   = 100  // lines looked at on either side of a frequent one
)

// worth is what a line is good for when two texts are compared.
type worth uint8

const (
	useless  worth = iota // the other text does not have it
	frequent              // the other text has it so often that it says little
	useful
)

// picked is the part of a text that is searched: numbers of lines, and where they
// are.
type picked struct {
	lines []int32
	place []int
}

// pick returns the lines between from and to that are worth a search, and marks
// the others as changed: those that the other text lacks, and frequent ones that
// stand among such.
func (s *sheet) pick(from, to int, other map[int32]int) picked {
	often := min(root(len(s.lines)), maxOften)
	worths := make([]worth, to-from)
	for i := range worths {
		switch n := other[s.lines[from+i]]; {
		case n == 0:
		case n >= often:
			worths[i] = frequent
		default:
			worths[i] = useful
		}
	}
	var p picked
	for i, w := range worths {
		if w == useless || w == frequent && isDrowned(worths, i) {
			s.changed[from+i] = true
			continue
		}
		p.lines, p.place = append(p.lines, s.lines[from+i]), append(p.place, from+i)
	}
	return p
}

// isDrowned reports whether so much around a frequent line is useless, on both
// sides and up to the next useful one, that finding it again would mean nothing.
func isDrowned(worths []worth, line int) bool {
	lost, vague := 0, 2 // the line itself, once for each side
	for _, direction := range []int{-1, 1} {
		before := lost
		for n := 1; n <= around; n++ {
			i := line + n*direction
			if i < 0 || i >= len(worths) || worths[i] == useful {
				break
			}
			if worths[i] == useless {
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

// root is about the square root of n: the power of two above it.
func root(n int) int {
	r := 1
	for ; n > 0; n >>= 2 {
		r <<= 1
	}
	return r
}
