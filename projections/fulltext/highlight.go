package fulltext

import (
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain/knowledge"
)

const (
	maxFragments   = 3
	fragmentLength = 200 // code points
	fragmentLead   = 40  // code points before the first match
)

// marks are the terms that a query found, which are marked in what is shown.
type marks struct {
	words    map[string]bool
	prefixes []string                   // of words
	stems    map[string]map[string]bool // by language
}

func newMarks() *marks {
	return &marks{words: map[string]bool{}, stems: map[string]map[string]bool{}}
}

func (m *marks) add(field, term string) {
	_, language, isStem := strings.Cut(field, ".")
	if !isStem {
		m.words[term] = true
		return
	}
	if m.stems[language] == nil {
		m.stems[language] = map[string]bool{}
	}
	m.stems[language][term] = true
}

// find returns the words of a text that are marked. Stop words are, where they are searched for.
func (m *marks) find(a *analyser, text, language string) (found []knowledge.Word) {
	for w := range knowledge.Words(text) {
		t := a.term(w.Text, language)
		hasPrefix := func(prefix string) bool { return strings.HasPrefix(t.folded, prefix) }
		if m.words[t.folded] || !t.isStop && m.stems[language][t.stem] || slices.ContainsFunc(m.prefixes, hasPrefix) {
			found = append(found, w)
		}
	}
	return found
}

// title returns a title with its matches marked; "" without a match.
func (m *marks) title(a *analyser, title, language string) string {
	found := m.find(a, title, language)
	if len(found) == 0 {
		return ""
	}
	return marked(title, 0, len(title), found)
}

// fragments returns the parts of a text with the most matches, in order, as HTML. A text without a match is represented
// by its beginning.
func (m *marks) fragments(a *analyser, text, language string) string {
	type fragment struct{ from, to, matches int }
	found := m.find(a, text, language)
	var all []fragment
	for i := 0; i < len(found); {
		f := fragment{from: wordStart(text, backBy(text, found[i].From, fragmentLead))}
		if n := len(all); n > 0 {
			f.from = max(f.from, all[n-1].to)
		}
		f.to = max(wordEnd(text, forwardBy(text, f.from, fragmentLength)), found[i].To)
		for i < len(found) && found[i].To <= f.to {
			f.matches++
			i++
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		all = []fragment{{to: wordEnd(text, forwardBy(text, 0, fragmentLength))}}
	}
	slices.SortStableFunc(all, func(a, b fragment) int { return b.matches - a.matches })
	all = all[:min(len(all), maxFragments)]
	slices.SortFunc(all, func(a, b fragment) int { return a.from - b.from })
	var parts []string
	for _, f := range all {
		parts = append(parts, marked(text, f.from, f.to, found))
	}
	return strings.Join(parts, " … ")
}

// marked returns a part of a text, escaped, with marks around the words in it.
func marked(text string, from, to int, found []knowledge.Word) string {
	var b strings.Builder
	for _, w := range found {
		if w.From < from || w.To > to {
			continue
		}
		b.WriteString(html.EscapeString(text[from:w.From]))
		b.WriteString("<mark>" + html.EscapeString(text[w.From:w.To]) + "</mark>")
		from = w.To
	}
	b.WriteString(html.EscapeString(text[from:to]))
	return strings.TrimSpace(b.String())
}

// backBy returns the place so many code points before a place.
func backBy(text string, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return at
}

// forwardBy returns the place so many code points after a place.
func forwardBy(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// wordStart returns the first place from at on that follows white space, if there is one near.
func wordStart(text string, at int) int {
	if at == 0 {
		return 0
	}
	if i := strings.IndexAny(text[at:forwardBy(text, at, fragmentLead/2)], " \n\t"); i >= 0 {
		return at + i + 1
	}
	return at
}

// wordEnd returns the last place up to at that precedes white space, if there is one near.
func wordEnd(text string, at int) int {
	if at == len(text) {
		return at
	}
	start := backBy(text, at, fragmentLead/2)
	if i := strings.LastIndexAny(text[start:at], " \n\t"); i > 0 {
		return start + i
	}
	return at
}
