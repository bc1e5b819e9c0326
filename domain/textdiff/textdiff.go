// Package textdiff says how one text became another, line by line, in the form
// that git and patch read. The work is bounded whatever the texts are: where
// finding the shortest answer would take too long, a longer one is given.
package textdiff

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// context is how many unchanged lines are shown around a change.
const context = 3

// Unified returns the difference of a file as `git diff` prints it, from the
// line that begins with --- on; "" when there is none. A nil text is a file that
// is not there, which is another thing than an empty one.
func Unified(path string, before, after []byte) string {
	a, b := lines(before), lines(after)
	edits := settled(a, b)
	if len(edits) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("--- " + header("a/"+path, before == nil) + "\n")
	out.WriteString("+++ " + header("b/"+path, after == nil) + "\n")
	title := titles{lines: a}
	for len(edits) > 0 {
		n := together(edits)
		writeHunk(&out, a, b, edits[:n], &title)
		edits = edits[n:]
	}
	return out.String()
}

// Stats returns how many lines came and how many went.
func Stats(before, after []byte) (insertions, deletions int) {
	for _, e := range compare(lines(before), lines(after)) {
		insertions += e.b1 - e.b0
		deletions += e.a1 - e.a0
	}
	return insertions, deletions
}

// lines cuts a text into lines, each with its end.
func lines(text []byte) []string {
	all := make([]string, 0, bytes.Count(text, []byte("\n"))+1)
	for line := range strings.Lines(string(text)) {
		all = append(all, line)
	}
	return all
}

// header is the name of a file as git writes it: quoted when it would break the
// line, with a tab at its end when a reader could take part of it for a date.
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

// together returns how many edits, from the first on, share one hunk: those with
// so little between them that their contexts would touch.
func together(edits []edit) int {
	n := 1
	for n < len(edits) && edits[n].a0-edits[n-1].a1 <= 2*context {
		n++
	}
	return n
}

func writeHunk(out *strings.Builder, a, b []string, edits []edit, title *titles) {
	first, last := edits[0], edits[len(edits)-1]
	lead, trail := min(context, first.a0), min(context, len(a)-last.a1)
	from, to := first.a0-lead, last.a1+trail
	fmt.Fprintf(out, "@@ -%s +%s @@%s\n", span(from, to), span(first.b0-lead, last.b1+trail), title.above(from))
	at := from
	for _, e := range edits {
		writeLines(out, ' ', a[at:e.a0])
		writeLines(out, '-', a[e.a0:e.a1])
		writeLines(out, '+', b[e.b0:e.b1])
		at = e.a1
	}
	writeLines(out, ' ', a[at:to])
}

// span names lines as a hunk does: its first and how many, or the one before
// where there are none.
func span(from, to int) string {
	switch to - from {
	case 0:
		return strconv.Itoa(from) + ",0"
	case 1:
		return strconv.Itoa(from + 1)
	}
	return strconv.Itoa(from+1) + "," + strconv.Itoa(to-from)
}

func writeLines(out *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// titles finds what stands beside a hunk to tell the reader where it is: the
// nearest line above that is not indented.
type titles struct {
	lines []string
	seen  int // lines looked at; each is once
	last  string
}

// maxTitle is how much of such a line git shows, in bytes.
const maxTitle = 80

// above returns the title of the hunk that begins at a line, with a blank before
// it, or "". Hunks are asked for in order.
func (t *titles) above(line int) string {
	for i := line - 1; i >= t.seen; i-- {
		if c := t.lines[i][0]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' {
			text := t.lines[i][:min(maxTitle, len(t.lines[i]))]
			t.last = " " + strings.TrimRight(strings.ToValidUTF8(text, ""), " \t\r\n\v\f")
			break
		}
	}
	t.seen = max(t.seen, line)
	return t.last
}
