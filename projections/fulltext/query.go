package fulltext

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/domain/knowledge"
)

// maxWords is how many words of a query count.
const maxWords = 64

// minPrefix is how many letters a prefix has at least.
const minPrefix = 2

// clause is a part of a query: a word, the beginning of a word, or a phrase.
type clause struct {
	words    []string // one, or those of a phrase, as they are written
	isPrefix bool
	isPhrase bool
	occurs   occurrence
}

type occurrence uint8

const (
	should occurrence = iota
	must
	mustNot
)

// Parsed is a query that was read.
type Parsed struct {
	// All is a query for all documents.
	All bool
	// Cut is set when the query has more words than count.
	Cut     bool
	clauses []clause
}

// IsEmpty reports whether a query has no word to look for.
func (p Parsed) IsEmpty() bool { return !p.All && len(p.clauses) == 0 }

// OnlyExcludes reports whether a query has nothing but words that must not be there.
func (p Parsed) OnlyExcludes() bool {
	for _, c := range p.clauses {
		if c.occurs != mustNot {
			return false
		}
	}
	return len(p.clauses) > 0
}

// Binds reports whether a query has words that must be there, or must not.
func (p Parsed) Binds() bool {
	return slices.ContainsFunc(p.clauses, func(c clause) bool { return c.occurs != should })
}

// Parse reads a query: words, "a phrase", +must, -not, pre*, and * alone. Everything else is text: there is no syntax
// error.
func Parse(query string) (p Parsed) {
	if strings.TrimSpace(query) == "*" {
		return Parsed{All: true}
	}
	count := 0
	for len(query) > 0 {
		query = strings.TrimLeftFunc(query, unicode.IsSpace)
		occurs := should
		if len(query) > 1 && (query[0] == '+' || query[0] == '-') && !strings.ContainsRune(" \t\n+-", rune(query[1])) {
			if occurs = must; query[0] == '-' {
				occurs = mustNot
			}
			query = query[1:]
		}
		text := ""
		isQuoted := false
		if rest, ok := strings.CutPrefix(query, `"`); ok {
			text, query, isQuoted = strings.Cut(rest, `"`) // without an end it is text up to the end
		} else {
			end := strings.IndexFunc(query, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
			if end < 0 {
				end = len(query)
			}
			text, query = query[:end], query[end:]
		}
		var words []string
		for w := range knowledge.Words(text) {
			if count == maxWords {
				p.Cut = true
				break
			}
			count++
			words = append(words, w.Text)
		}
		p.add(words, text, occurs, isQuoted)
	}
	return p
}

// add adds the clauses of a part of a query.
func (p *Parsed) add(words []string, text string, occurs occurrence, isQuoted bool) {
	if len(words) > 1 && (isQuoted || strings.ContainsFunc(text, knowledge.IsDense)) { // characters without spaces belong together
		p.clauses = append(p.clauses, clause{words: words, isPhrase: true, occurs: occurs})
		return
	}
	for _, w := range words {
		isPrefix := !isQuoted && strings.HasSuffix(text, w+"*") && utf8.RuneCountInString(w) >= minPrefix
		p.clauses = append(p.clauses, clause{words: []string{w}, isPrefix: isPrefix, occurs: occurs})
	}
}

// maxEdits is how many letters of a word may differ in a fuzzy search.
func maxEdits(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n >= 8:
		return 2
	case n >= 4:
		return 1
	}
	return 0
}

// isWithin reports whether a word comes from another by at most so many edits: a letter more, less or other, or two
// letters exchanged.
func isWithin(a, b []rune, most int) bool {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return false
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			other := 1
			if a[i-1] == b[j-1] {
				other = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+other)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most {
			return false
		}
		before, last, row = last, row, before
	}
	return last[len(b)] <= most
}
