package merge

import (
	"slices"
	"strings"
)

// maxWork bounds one merge, in steps of a few nanoseconds each. It is more than
// any files that were not made to be slow can take.
const maxWork = 200_000_000

// Text merges two changes of a text by lines, as `git merge-file` does: what
// only one side changed is as that side has it, what both changed the same way
// counts once, changes that overlap or touch conflict. clean is false when any
// did; merged then has markers around what each side says. It is also false when
// comparing the texts would take too long.
func Text(base, ours, theirs []byte) (merged []byte, clean bool) {
	work := maxWork
	r := &register{numbers: map[string]int32{}}
	m := &merger{r, r.read(ours), r.read(theirs), &work}
	origin := r.read(base)
	mine, yours := diff(origin, m.ours, &work), diff(origin, m.theirs, &work)
	switch {
	case len(mine) == 0:
		return slices.Clone(theirs), true
	case len(yours) == 0:
		return slices.Clone(ours), true
	}
	parts := simplified(m.refined(m.align(mine, yours, len(origin))), m)
	clean = work > 0 && !slices.ContainsFunc(parts, func(p part) bool { return p.from == neither })
	return m.write(parts), clean
}

// side is whose lines a part of the merged text has.
type side uint8

const (
	neither side = iota // they conflict
	ourSide
	theirSide
	either // they are the same
)

// part is where a merged text is not simply ours: lines of ours, and the lines of
// theirs in their place.
type part struct {
	from           side
	o0, o1, t0, t1 int
}

type merger struct {
	*register
	ours, theirs []int32
	work         *int
}

// align puts the changes of both sides beside each other, in order. Hunks that
// are the same on both sides are left out: ours has them.
func (m *merger) align(mine, yours []hunk, base int) []part {
	var parts parts
	o, t := ends(mine, base, len(m.ours)), ends(yours, base, len(m.theirs))
	for len(o) > 1 || len(t) > 1 {
		h, g := o[0], t[0]
		switch {
		case len(t) == 1 || len(o) > 1 && h.a1 < g.a0:
			at := g.b0 - g.a0 // theirs is as the base was, but moved
			parts.add(part{ourSide, h.b0, h.b1, h.a0 + at, h.a1 + at})
			o = o[1:]
			continue
		case len(o) == 1 || g.a1 < h.a0:
			at := h.b0 - h.a0
			parts.add(part{theirSide, g.a0 + at, g.a1 + at, g.b0, g.b1})
			t = t[1:]
			continue
		case h.a0 != g.a0 || h.a1 != g.a1 || !slices.Equal(m.ours[h.b0:h.b1], m.theirs[g.b0:g.b1]):
			from, to := min(h.a0, g.a0), max(h.a1, g.a1)
			parts.add(part{neither, h.b0 - (h.a0 - from), h.b1 + to - h.a1, g.b0 - (g.a0 - from), g.b1 + to - g.a1})
		}
		if h.a1 >= g.a1 {
			t = t[1:]
		}
		if g.a1 >= h.a1 {
			o = o[1:]
		}
	}
	return parts
}

// ends returns hunks with one more that changes nothing, at the end of the texts.
func ends(hunks []hunk, a, b int) []hunk { return append(hunks, hunk{a, a, b, b}) }

type parts []part

// add appends p, or makes one of it and the last when they touch.
func (all *parts) add(p part) {
	if n := len(*all); n > 0 {
		if last := &(*all)[n-1]; p.o0 <= last.o1 || p.t0 <= last.t1 {
			if p.from != last.from {
				last.from = neither
			}
			last.o1, last.t1 = p.o1, p.t1
			return
		}
	}
	*all = append(*all, p)
}

// refined takes out of conflicts what is the same on both sides. It is all of it
// when both made the same of different hunks.
func (m *merger) refined(all []part) []part {
	var fine []part
	for _, p := range all {
		if p.from != neither || p.o0 == p.o1 || p.t0 == p.t1 {
			fine = append(fine, p)
			continue
		}
		hunks := diff(m.ours[p.o0:p.o1], m.theirs[p.t0:p.t1], m.work)
		if len(hunks) == 0 {
			p.from = either
			fine = append(fine, p)
		}
		for _, h := range hunks {
			fine = append(fine, part{neither, p.o0 + h.a0, p.o0 + h.a1, p.t0 + h.b0, p.t0 + h.b1})
		}
	}
	return fine
}

// apart is how many lines must lie between two conflicts, and some of them with a
// letter or a digit, for a reader to see them as two.
const apart = 4

// simplified joins conflicts that are close to each other.
func simplified(all []part, m *merger) []part {
	var simple []part
	for _, p := range all {
		if n := len(simple); n > 0 && p.from == neither && simple[n-1].from == neither {
			last := &simple[n-1]
			if between := m.ours[last.o1:p.o0]; len(between) < apart || !slices.ContainsFunc(between, m.hasWords) {
				last.o1, last.t1 = p.o1, p.t1
				continue
			}
		}
		simple = append(simple, p)
	}
	return simple
}

func (m *merger) hasWords(line int32) bool {
	return strings.ContainsFunc(m.lines[line], func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	})
}

// write returns the merged text.
func (m *merger) write(parts []part) []byte {
	var out []byte
	at := 0
	for _, p := range parts {
		switch p.from {
		case either:
			continue
		case neither:
			out = m.append(out, m.ours[at:p.o0])
			out = m.conflict(out, p)
		case ourSide:
			out = m.append(out, m.ours[at:p.o1])
		case theirSide:
			out = m.append(out, m.ours[at:p.o0])
			out = m.append(out, m.theirs[p.t0:p.t1])
		}
		at = p.o1
	}
	return m.append(out, m.ours[at:])
}

func (m *merger) append(out []byte, lines []int32) []byte {
	for _, line := range lines {
		out = append(out, m.lines[line]...)
	}
	return out
}
