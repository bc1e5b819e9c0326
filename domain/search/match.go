package search

import (
	"slices"
	"strings"

	"svc/domain/feed"
)

// matching reads match and match_phrase, in their short and long forms.
func (p *parser) matching(kind string, f field, v any, at string) query {
	every := kind == "match_phrase"
	operator := "or"
	if _, isLong := v.(map[string]any); isLong {
		options := []string{"query", "operator"}
		if every {
			options = options[:1]
		}
		m, _ := p.options(v, at, options...)
		operator = p.choice(m, "operator", at, "or", "and", "or")
		v, at = m["query"], at+".query"
	}
	switch v.(type) {
	case string, float64, bool:
	default:
		p.fault(at, "must be a text, a number, true or false")
		return none{}
	}
	if !f.prose() {
		return p.terms(f, []any{v}, at)
	}
	said := p.wordsOf(textOf(v), at)
	if every {
		return phrase{&f, said}
	}
	return words{&f, plainly(said), operator == "and"}
}

// wordsOf returns the words of a text that is looked for. Each of them is a clause.
func (p *parser) wordsOf(text, at string) []string {
	words := wordsOf(text)
	for range words {
		p.clause(at)
	}
	return words
}

// said visits the texts of a field, or of everything when there is none, until visit
// returns false.
func said(f *field, d Doc, visit func(text string) (more bool)) {
	if f == nil {
		for _, v := range d.Values("") {
			texts(v, visit)
		}
		return
	}
	for _, v := range f.of(d) {
		if !visit(textOf(v)) {
			return
		}
	}
}

// needWords adds that there are words, where those of the field are words of the
// event: typed fields and what sums up a failure may say others.
func needWords(f *feed.Filter, at *field, words ...string) {
	if at == nil || strings.HasPrefix(string(*at), "payload.") {
		f.Words = append(f.Words, words...)
	}
}

// word is one that is looked for.
type word struct {
	text    string
	pattern glob // nil: the text itself
}

func (w word) is(text string) bool {
	if w.pattern != nil {
		return w.pattern.match(text)
	}
	return w.text == text
}

func plainly(texts []string) (all []word) {
	for _, text := range texts {
		all = append(all, word{text: text})
	}
	return all
}

// words matches what has all of the words, or one of them, in the field, or anywhere.
type words struct {
	field *field
	words []word
	all   bool
}

func (q words) match(d Doc) bool {
	missing := len(q.words)
	if missing == 0 {
		return false
	}
	found := make([]bool, missing)
	said(q.field, d, func(text string) bool {
		feed.Words(text, func(text string) bool {
			for i, w := range q.words {
				if !found[i] && w.is(text) {
					found[i] = true
					missing--
				}
			}
			return !q.enough(missing)
		})
		return !q.enough(missing)
	})
	return q.enough(missing)
}

func (q words) enough(missing int) bool {
	return missing == 0 || !q.all && missing < len(q.words)
}

func (q words) needs(f *feed.Filter) {
	if !q.all && len(q.words) > 1 {
		return
	}
	for _, w := range q.words {
		if w.pattern == nil {
			needWords(f, q.field, w.text)
		}
	}
}

// phrase matches what has the words one after the other.
type phrase struct {
	field *field
	words []string
}

func (q phrase) match(d Doc) (matches bool) {
	switch {
	case len(q.words) == 0, q.field == nil && !d.Says(q.words...):
		return false
	case q.field == nil && len(q.words) == 1:
		return true
	}
	said(q.field, d, func(text string) bool {
		all := wordsOf(text)
		for i := 0; i+len(q.words) <= len(all) && !matches; i++ {
			matches = slices.Equal(all[i:i+len(q.words)], q.words)
		}
		return !matches
	})
	return matches
}

func (q phrase) needs(f *feed.Filter) { needWords(f, q.field, q.words...) }
