package textdiff

import "math"

// nowhere is how far the paths on a diagonal have come where there are none.
const nowhere = math.MinInt32

// walk is the farthest paths from one corner of a box to the other. A path goes
// right for a line that leaves, down for one that comes, and along its diagonal,
// x-y, for free where the texts are equal.
type walk struct {
	a, b    []int32
	far     []int // x, by diagonal
	origin  int   // where diagonal 0 is in far
	reverse bool  // from the end to the start, x and y counted from the end
}

// round takes each path of d-1 edits one edit further, and from there along all
// that is equal. When check is set it ends at the first diagonal where a path
// meets one of other, which has gone reach edits from the opposite corner.
func (w *walk) round(d int, work *int, other []int, check bool, reach int) (k int, met bool) {
	n, m := len(w.a), len(w.b)
	w.far[w.origin-d-1], w.far[w.origin+d+1] = nowhere, nowhere
	if d == 0 {
		w.far[w.origin+1] = 0 // the first path begins as if it came from above
	}
	// Diagonals that have come to the edge of the box are left out.
	for k := -d + 2*max(0, d-m); k <= d-2*max(0, d-n); k += 2 {
		x := w.step(k)
		if x >= 0 {
			end := w.slide(x, x-k)
			*work -= end - x
			x = end
		}
		w.far[w.origin+k] = x
		opposite := n - m - k
		if check && x >= 0 && opposite >= -reach && opposite <= reach && x+other[w.origin+opposite] >= n {
			return k, true
		}
	}
	*work -= d + 1
	return 0, false
}

// step returns where the farthest path with one edit more enters diagonal k.
func (w *walk) step(k int) int {
	right, down := w.far[w.origin+k-1]+1, w.far[w.origin+k+1]
	if right < 0 || right > len(w.a) {
		right = nowhere
	}
	if down < 0 || down-k > len(w.b) {
		down = nowhere
	}
	return max(right, down)
}

// slide returns the x at which the texts differ again.
func (w *walk) slide(x, y int) int {
	a, b := w.a, w.b
	if w.reverse {
		for x < len(a) && y < len(b) && a[len(a)-1-x] == b[len(b)-1-y] {
			x, y = x+1, y+1
		}
		return x
	}
	for x < len(a) && y < len(b) && a[x] == b[y] {
		x, y = x+1, y+1
	}
	return x
}
