// Package merge merges two changes of one file: line by line, as git does (Text), and
// where lines conflict key by key (Keys), as contract/versioning.md 10 says. Every
// conflict is reported.
package merge

import (
	"slices"
	"strings"

	"svc/domain/textdiff"
)

// maxWork bounds one merge, in steps of a few nanoseconds each. It is more than
// any files that were not made to be slow can take.
const maxWork = 200_000_000

// Text merges two changes of a text by lines, as `git merge-file` does: a change of one
// side is taken, the same change of both sides counts once, changes that overlap or touch
// conflict. clean is false if there is a conflict; merged then has both sides between
// markers. clean is also false when comparing the texts would take too long.
func Text(base, ours, theirs []byte) (merged []byte, clean bool) {
	work := maxWork
	m := &textMerge{work: &work}
	m.ours, m.theirs = m.Number(ours), m.Number(theirs)
	baseLines := m.Number(base)
	ourHunks, theirHunks := textdiff.GitHunks(baseLines, m.ours, &work), textdiff.GitHunks(baseLines, m.theirs, &work)
	switch {
	case len(ourHunks) == 0:
		return slices.Clone(theirs), true
	case len(theirHunks) == 0:
		return slices.Clone(ours), true
	}
	sections := m.joinConflicts(m.refineConflicts(m.align(ourHunks, theirHunks, len(baseLines))))
	clean = work > 0 && !slices.ContainsFunc(sections, func(s section) bool { return s.source == conflict })
	return m.write(sections), clean
}

// source says whose lines a section of the merged text has.
type source uint8

const (
	conflict source = iota
	ourLines
	theirLines
	sameLines // both sides have the same lines
)

// section is a part of the merged text that is not simply ours: lines of ours, and the
// lines of theirs in their place.
type section struct {
	source         source
	o0, o1, t0, t1 int
}

// textMerge is one merge of two texts, whose lines are numbered.
type textMerge struct {
	textdiff.LineTable
	ours, theirs []int32
	work         *int
}

// align puts the changes of both sides next to each other, in order. Hunks that are the
// same on both sides are left out: ours has them.
func (m *textMerge) align(ourHunks, theirHunks []textdiff.Hunk, base int) []section {
	var sections []section
	// A last hunk that changes nothing ends both lists.
	o := append(ourHunks, textdiff.Hunk{A0: base, A1: base, B0: len(m.ours), B1: len(m.ours)})
	t := append(theirHunks, textdiff.Hunk{A0: base, A1: base, B0: len(m.theirs), B1: len(m.theirs)})
	for len(o) > 1 || len(t) > 1 {
		h, g := o[0], t[0]
		switch {
		case len(t) == 1 || len(o) > 1 && h.A1 < g.A0:
			offset := g.B0 - g.A0 // theirs equals the base here, but moved
			sections = addSection(sections, section{ourLines, h.B0, h.B1, h.A0 + offset, h.A1 + offset})
			o = o[1:]
			continue
		case len(o) == 1 || g.A1 < h.A0:
			offset := h.B0 - h.A0
			sections = addSection(sections, section{theirLines, g.A0 + offset, g.A1 + offset, g.B0, g.B1})
			t = t[1:]
			continue
		case h.A0 != g.A0 || h.A1 != g.A1 || !slices.Equal(m.ours[h.B0:h.B1], m.theirs[g.B0:g.B1]):
			from, to := min(h.A0, g.A0), max(h.A1, g.A1)
			sections = addSection(sections, section{conflict, h.B0 - (h.A0 - from), h.B1 + to - h.A1, g.B0 - (g.A0 - from), g.B1 + to - g.A1})
		}
		if h.A1 >= g.A1 {
			t = t[1:]
		}
		if g.A1 >= h.A1 {
			o = o[1:]
		}
	}
	return sections
}

// addSection appends s, or extends the last section when they touch.
func addSection(all []section, s section) []section {
	if n := len(all); n > 0 {
		if last := &all[n-1]; s.o0 <= last.o1 || s.t0 <= last.t1 {
			if s.source != last.source {
				last.source = conflict
			}
			last.o1, last.t1 = s.o1, s.t1
			return all
		}
	}
	return append(all, s)
}

// refineConflicts removes from conflicts what is the same on both sides. That is all of
// it when different hunks of both sides have the same result.
func (m *textMerge) refineConflicts(all []section) []section {
	var refined []section
	for _, s := range all {
		if s.source != conflict || s.o0 == s.o1 || s.t0 == s.t1 {
			refined = append(refined, s)
			continue
		}
		hunks := textdiff.GitHunks(m.ours[s.o0:s.o1], m.theirs[s.t0:s.t1], m.work)
		if len(hunks) == 0 {
			s.source = sameLines
			refined = append(refined, s)
		}
		for _, h := range hunks {
			refined = append(refined, section{conflict, s.o0 + h.A0, s.o0 + h.A1, s.t0 + h.B0, s.t0 + h.B1})
		}
	}
	return refined
}

// minDistance is how many lines must be between two conflicts, at least one of them with
// a letter or a digit, for a reader to see them as two.
const minDistance = 4

// joinConflicts joins conflicts that are close to each other.
func (m *textMerge) joinConflicts(all []section) []section {
	var joined []section
	for _, s := range all {
		if n := len(joined); n > 0 && s.source == conflict && joined[n-1].source == conflict {
			last := &joined[n-1]
			if between := m.ours[last.o1:s.o0]; len(between) < minDistance || !slices.ContainsFunc(between, m.hasLetterOrDigit) {
				last.o1, last.t1 = s.o1, s.t1
				continue
			}
		}
		joined = append(joined, s)
	}
	return joined
}

func (m *textMerge) hasLetterOrDigit(line int32) bool {
	return strings.ContainsFunc(m.Line(line), func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	})
}

// The lines around both sides of a conflict.
const (
	startMarker  = "<<<<<<<"
	baseMarker   = "|||||||" // in git's diff3 style, before the base
	middleMarker = "======="
	endMarker    = ">>>>>>>"
)

// write returns the merged text.
func (m *textMerge) write(sections []section) []byte {
	var out []byte
	next := 0 // line of ours
	for _, s := range sections {
		switch s.source {
		case sameLines:
			continue
		case conflict:
			out = m.appendLines(out, m.ours[next:s.o0])
			out = append(out, startMarker+" ours\n"...)
			out = endLine(m.appendLines(out, m.ours[s.o0:s.o1]))
			out = append(out, middleMarker+"\n"...)
			out = endLine(m.appendLines(out, m.theirs[s.t0:s.t1]))
			out = append(out, endMarker+" theirs\n"...)
		case ourLines:
			out = m.appendLines(out, m.ours[next:s.o1])
		case theirLines:
			out = m.appendLines(out, m.ours[next:s.o0])
			out = m.appendLines(out, m.theirs[s.t0:s.t1])
		}
		next = s.o1
	}
	return m.appendLines(out, m.ours[next:])
}

func (m *textMerge) appendLines(out []byte, lines []int32) []byte {
	for _, line := range lines {
		out = append(out, m.Line(line)...)
	}
	return out
}

// endLine ends the last line of out if it has no line end.
func endLine(out []byte) []byte {
	if out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return out
}

// HasMarkers reports whether text has a line that marks a conflict, whatever its sides
// are called. No such line can be in a mapping of YAML or JSON, where all text is quoted
// or indented.
func HasMarkers(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		word, _, named := strings.Cut(line, " ")
		if named && word == middleMarker {
			continue // the middle marker has no name
		}
		if slices.Contains([]string{startMarker, baseMarker, middleMarker, endMarker}, word) {
			return true
		}
	}
	return false
}
