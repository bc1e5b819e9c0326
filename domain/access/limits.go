package access

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what may be written. They keep the cost of a document, not only its
// length, in proportion.
const (
	maxRules   = 500
	maxRoles   = 100
	maxWords   = 100   // in one list of words
	maxName    = 60    // characters of a role or provider
	maxText    = 1000  // characters of a reason or description
	maxDepth   = 10    // of conditions within conditions
	maxValues  = 1000  // fields, operators and values of one rule
	maxPath    = 200   // characters of a dotted field
	maxRegex   = 256   // characters of a regular expression
	maxProgram = 1000  // instructions of one compiled expression
	maxTotal   = 10000 // instructions of all expressions of a document
	maxFaults  = 20    // listed in one refusal
)

// isName reports whether s may name a role, a provider or a field. Two names
// that look alike must be alike: nothing in them is invisible.
func isName(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= maxName && utf8.ValidString(s) && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, isHidden)
}

// isHidden reports whether a character has no shape of its own or begins a line.
func isHidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// isReserved reports whether a reader could take a name for that of a role which
// no document may define, whatever is around its letters.
func isReserved(name string) bool {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, name)
	return strings.EqualFold(letters, owner) || strings.EqualFold(letters, superadmin)
}

// cut shortens a text that somebody else chose.
func cut(s string, length int) string {
	if len(s) <= length {
		return s
	}
	return strings.ToValidUTF8(s[:length], "") + "…"
}
