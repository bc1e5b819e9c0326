package merge

import (
	"slices"
	"strings"
)

// The lines around what each side of a conflict says.
const (
	startMark  = "<<<<<<<"
	baseMark   = "|||||||" // in the other style of git, before what it was
	middleMark = "======="
	endMark    = ">>>>>>>"
)

// HasMarkers reports whether text has a line that marks a conflict, by whatever
// name its sides go. No such line can stand in a mapping of YAML or JSON, where
// whatever a text holds is quoted or indented.
func HasMarkers(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		word, _, named := strings.Cut(line, " ")
		if named && word == middleMark {
			continue // ours has no name
		}
		if slices.Contains([]string{startMark, baseMark, middleMark, endMark}, word) {
			return true
		}
	}
	return false
}

// conflict writes what each side says, between markers.
func (m *merger) conflict(out []byte, p part) []byte {
	out = append(out, startMark+" ours\n"...)
	out = m.appendEnded(out, m.ours[p.o0:p.o1])
	out = append(out, middleMark+"\n"...)
	out = m.appendEnded(out, m.theirs[p.t0:p.t1])
	return append(out, endMark+" theirs\n"...)
}

// appendEnded is append that ends the last line if it has no end.
func (m *merger) appendEnded(out []byte, lines []int32) []byte {
	out = m.append(out, lines)
	if len(lines) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	return out
}
