package merge

// run is changed lines that follow each other, none perhaps, between two that
// stay. Two texts have as many lines that stay, so each run of one has its partner
// in the other.
type run struct {
	*sheet
	start, end int
}

// next goes to the run behind the next line that stays; false: there is none.
func (r *run) next() bool {
	if r.end == len(r.lines) {
		return false
	}
	r.start, r.end = r.end+1, r.end+1
	r.grow()
	return true
}

// previous goes to the run before the last line that stays. There must be one.
func (r *run) previous() {
	r.end = r.start - 1
	r.start = r.end
	r.grow()
}

// grow takes in the changed lines that r touches.
func (r *run) grow() {
	for r.isChanged(r.start - 1) {
		r.start--
	}
	for r.isChanged(r.end) {
		r.end++
	}
}

// up moves r by a line towards the start, if it says the same there.
func (r *run) up() bool {
	if r.start == 0 || r.lines[r.start-1] != r.lines[r.end-1] {
		return false
	}
	r.start, r.end = r.start-1, r.end-1
	r.changed[r.start], r.changed[r.end] = true, false
	r.grow()
	return true
}

// down moves r by a line towards the end, if it says the same there.
func (r *run) down() bool {
	if r.end == len(r.lines) || r.lines[r.start] != r.lines[r.end] {
		return false
	}
	r.changed[r.start], r.changed[r.end] = false, true
	r.start, r.end = r.start+1, r.end+1
	r.grow()
	return true
}

func (r *run) isEmpty() bool { return r.start == r.end }

// settle moves each run of changed lines of s, of the places where it says the
// same, to the last one that is beside a change of the other text, so that lines
// are replaced rather than removed here and added there; else to the last one.
// Runs that touch on the way become one.
func (s *sheet) settle(other *sheet, work *int) {
	r, partner := run{sheet: s}, run{sheet: other}
	r.grow()
	partner.grow()
	for more := true; more && *work > 0; more = r.next() && partner.next() {
		if !r.isEmpty() {
			r.place(&partner, work)
		}
	}
}

// place moves one run.
func (r *run) place(partner *run, work *int) {
	paired, moved := false, true // seen beside a change; by a line at least since
	for size := 0; size != r.end-r.start && *work > 0; {
		size = r.end - r.start
		for r.up() {
			partner.previous()
			*work--
		}
		paired, moved = !partner.isEmpty(), false
		for r.down() {
			partner.next()
			moved = true
			paired = paired || !partner.isEmpty()
			*work--
		}
	}
	for moved && paired && partner.isEmpty() {
		r.up()
		partner.previous()
		*work--
	}
}
