package textdiff

import "strings"

// settled returns the edits that make b of a, each where a reader expects it.
// Lines that came or went among equal ones may be told in several places: of a
// list with one item more, either of two neighbours is new.
func settled(a, b []string) []edit {
	edits := compare(a, b)
	var all []edit
	for i, e := range edits {
		top, bottom := 0, len(a) // between its neighbours
		if len(all) > 0 {
			top = all[len(all)-1].a1
		}
		if i+1 < len(edits) {
			bottom = edits[i+1].a0
		}
		e = e.moved(a, b, top, bottom)
		if last := len(all) - 1; last >= 0 && all[last].a1 == e.a0 {
			all[last].a1, all[last].b1 = e.a1, e.b1
			continue
		}
		all = append(all, e)
	}
	return all
}

// moved returns e at the place, of those where it says the same, that begins
// with the line indented least; of several, at the last one. What replaces lines
// stays where it is.
func (e edit) moved(a, b []string, top, bottom int) edit {
	lines, from, to := b, e.b0, e.b1
	switch {
	case e.a0 == e.a1:
	case e.b0 == e.b1:
		lines, from, to = a, e.a0, e.a1
	default:
		return e
	}
	up := 0
	for e.a0-up > top && lines[from-up-1] == lines[to-up-1] {
		up++
	}
	best, depth := -up, indent(lines[from-up])
	for by := 1 - up; e.a1+by <= bottom && (by <= 0 || lines[from+by-1] == lines[to+by-1]); by++ {
		if d := indent(lines[from+by]); d <= depth {
			best, depth = by, d
		}
	}
	return edit{e.a0 + best, e.a1 + best, e.b0 + best, e.b1 + best}
}

// unindented is more than the indent of any line: a blank line begins nothing.
const unindented = 1 << 30

func indent(line string) int {
	rest := strings.TrimLeft(line, " \t")
	if strings.TrimSpace(rest) == "" {
		return unindented
	}
	return len(line) - len(rest)
}
