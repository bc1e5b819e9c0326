// Package textdiff compares texts line by line (Myers 1986). The work is bounded for any
// texts: where the shortest difference would take too long to find, a longer one is used.
//
// Unified prints a difference in the format of git and patch. It is for readers, so it
// uses the shortest difference. GitHunks, for merges, makes the choices of git: the same
// lines left out, the same ties, the same moment to give up. Which of several shortest
// differences is used decides the result of a merge.
package textdiff

import (
	"fmt"
	"strconv"
	"strings"
)

// context is the number of unchanged lines around a change.
const context = 3

// Unified returns the difference of a file as `git diff` prints it, from the line that
// begins with --- on; "" when there is none. A nil text is a file that does not exist,
// which differs from an empty one.
func Unified(path string, before, after []byte) string {
	d := compareTexts(before, after)
	hunks := d.moveHunks()
	if len(hunks) == 0 {
		return ""
	}
	d.out.WriteString("--- " + header("a/"+path, before == nil) + "\n")
	d.out.WriteString("+++ " + header("b/"+path, after == nil) + "\n")
	for len(hunks) > 0 {
		n := 1 // hunks whose context lines would touch are printed as one
		for n < len(hunks) && hunks[n].A0-hunks[n-1].A1 <= 2*context {
			n++
		}
		d.writeHunks(hunks[:n])
		hunks = hunks[n:]
	}
	return d.out.String()
}

// Stats returns how many lines were added and how many were removed.
func Stats(before, after []byte) (insertions, deletions int) {
	for _, h := range compareTexts(before, after).hunks {
		insertions += h.B1 - h.B0
		deletions += h.A1 - h.A0
	}
	return insertions, deletions
}

// maxWork bounds the search for the shortest difference: steps of it, of a few
// nanoseconds each. It finds some 6,000 changed lines that both texts have; lines that
// only one of them has cost nothing.
const maxWork = 20_000_000

// difference is what is known of two texts.
type difference struct {
	LineTable
	a, b  []int32
	hunks []Hunk // turn a into b

	out strings.Builder

	titled int    // lines of a searched for a title; each is searched once
	title  string // of the last hunk
}

func compareTexts(before, after []byte) *difference {
	d := &difference{}
	d.a, d.b = d.Number(before), d.Number(after)
	d.hunks = shortestHunks(d.a, d.b, maxWork)
	return d
}

// moveHunks moves each hunk to where a reader expects it. Lines added to or removed from
// equal ones can be shown in several positions: of a list with one more item, either of
// two neighbours is new.
func (d *difference) moveHunks() []Hunk {
	var all []Hunk
	for i, h := range d.hunks {
		top, bottom := 0, len(d.a) // between its neighbours
		if len(all) > 0 {
			top = all[len(all)-1].A1
		}
		if i+1 < len(d.hunks) {
			bottom = d.hunks[i+1].A0
		}
		h = d.moveHunk(h, top, bottom)
		if last := len(all) - 1; last >= 0 && all[last].A1 == h.A0 {
			all[last].A1, all[last].B1 = h.A1, h.B1
			continue
		}
		all = append(all, h)
	}
	return all
}

// moveHunk returns h at the equivalent position that begins with the least indented line;
// of several, the last one. A hunk that replaces lines stays in its position.
func (d *difference) moveHunk(h Hunk, top, bottom int) Hunk {
	lines, from, to := d.b, h.B0, h.B1
	switch {
	case h.A0 == h.A1:
	case h.B0 == h.B1:
		lines, from, to = d.a, h.A0, h.A1
	default:
		return h
	}
	up := 0
	for h.A0-up > top && lines[from-up-1] == lines[to-up-1] {
		up++
	}
	best, depth := -up, d.indent(lines[from-up])
	for by := 1 - up; h.A1+by <= bottom && (by <= 0 || lines[from+by-1] == lines[to+by-1]); by++ {
		if n := d.indent(lines[from+by]); n <= depth {
			best, depth = by, n
		}
	}
	return Hunk{h.A0 + best, h.A1 + best, h.B0 + best, h.B1 + best}
}

// indent returns the indentation of a line. That of a blank line is very large: no hunk
// should begin with one.
func (d *difference) indent(n int32) int {
	line := d.Line(n)
	rest := strings.TrimLeft(line, " \t")
	if strings.TrimSpace(rest) == "" {
		return 1 << 30
	}
	return len(line) - len(rest)
}

// header is the name of a file as git writes it: quoted when it would break the line, with
// a tab at its end when a reader could take part of it for a date.
func header(name string, absent bool) string {
	switch {
	case absent:
		return "/dev/null"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }):
		return strconv.Quote(name)
	case strings.Contains(name, " "):
		return name + "\t"
	}
	return name
}

// writeHunks prints hunks that share their context lines.
func (d *difference) writeHunks(hunks []Hunk) {
	first, last := hunks[0], hunks[len(hunks)-1]
	lead, trail := min(context, first.A0), min(context, len(d.a)-last.A1)
	from, to := first.A0-lead, last.A1+trail
	fmt.Fprintf(&d.out, "@@ -%s +%s @@%s\n", lineRange(from, to), lineRange(first.B0-lead, last.B1+trail), d.titleAbove(from))
	next := from
	for _, h := range hunks {
		d.writeLines(' ', d.a[next:h.A0])
		d.writeLines('-', d.a[h.A0:h.A1])
		d.writeLines('+', d.b[h.B0:h.B1])
		next = h.A1
	}
	d.writeLines(' ', d.a[next:to])
}

// lineRange prints the first line and the number of lines; the line before when there are
// none.
func lineRange(from, to int) string {
	switch to - from {
	case 0:
		return strconv.Itoa(from) + ",0"
	case 1:
		return strconv.Itoa(from + 1)
	}
	return strconv.Itoa(from+1) + "," + strconv.Itoa(to-from)
}

func (d *difference) writeLines(mark byte, lines []int32) {
	for _, n := range lines {
		line := d.Line(n)
		d.out.WriteByte(mark)
		d.out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			d.out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// maxTitle is how many bytes of a title git shows.
const maxTitle = 80

// titleAbove returns the title of the hunk that begins at a line, with a blank before it,
// or "": the nearest line above that is not indented. Hunks are printed in order.
func (d *difference) titleAbove(line int) string {
	for i := line - 1; i >= d.titled; i-- {
		text := d.Line(d.a[i])
		if c := text[0]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' {
			text = text[:min(maxTitle, len(text))]
			d.title = " " + strings.TrimRight(strings.ToValidUTF8(text, ""), " \t\r\n\v\f")
			break
		}
	}
	d.titled = max(d.titled, line)
	return d.title
}
