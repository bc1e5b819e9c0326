package feed

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Filter says which events somebody asks for. The zero Filter is all of them.
type Filter struct {
	Types  []string  // any of; with * for any text
	Words  []string  // all of, in small letters; one with a * at its end is the beginning of a word
	After  time.Time // later than
	Before time.Time // earlier than
	// Depth is the highest depth of app instances, plus one; 0: any.
	Depth int
	Paths []PathFilter // all of
	// Hints spare looks at events of which the caller would not read any: one that has
	// not all of one of them. They are asked of the index alone; none: nothing is spared.
	Hints [][]PathFilter
}

// PathFilter asks for a value at a dotted path.
type PathFilter struct {
	Path string
	Any  []string // one of; with * for any text; "" when nothing may be there
}

// Match reports whether an event is asked for.
func (f *Filter) Match(e *Event) bool {
	if f == nil {
		return true
	}
	at := e.Time()
	switch {
	case len(f.Types) > 0 && !likeAny(f.Types, e.Type),
		!f.After.IsZero() && !at.After(f.After),
		!f.Before.IsZero() && !at.Before(f.Before),
		f.Depth > 0 && e.Source.AppDepth >= f.Depth:
		return false
	}
	for i := range f.Paths {
		if !f.Paths[i].match(e) {
			return false
		}
	}
	return len(f.Words) == 0 || f.says(e)
}

func (p *PathFilter) match(e *Event) bool {
	values := e.Values(p.Path)
	if len(values) == 0 {
		return slices.Contains(p.Any, "") // * is any text, and here is none
	}
	for _, v := range values {
		text, ok := Text(v)
		for _, pattern := range p.Any {
			if ok && pattern != "" && Like(pattern, text) {
				return true
			}
		}
	}
	return false
}

// Text returns a plain value in the form that it is compared in; ok is false for an
// object or a list.
func Text(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// says reports whether the event has all the words.
func (f *Filter) says(e *Event) bool {
	missing := len(f.Words)
	found := make([]bool, missing)
	look := func(_, text []byte) {
		if missing == 0 {
			return
		}
		Words(string(text), func(word string) bool {
			for i, want := range f.Words {
				if !found[i] && sameWord(want, word) {
					found[i] = true
					missing--
				}
			}
			return missing > 0
		})
	}
	e.leaves(look)
	return missing == 0
}

// sameWord reports whether a word is the one that is wanted, or begins as it says.
func sameWord(want, word string) bool {
	if start, ok := strings.CutSuffix(want, "*"); ok {
		return strings.HasPrefix(word, start)
	}
	return want == word
}

// May reports whether an event with this signature may match. Where it says no
// nobody needs to look at the event.
func (f *Filter) May(s Signature) bool {
	if f == nil || len(s) == 0 {
		return true
	}
	for _, word := range f.Words {
		if !strings.HasSuffix(word, "*") && !s.may(hashStart.text(word)) {
			return false
		}
	}
	if !mayAll(f.Paths, s) {
		return false
	}
	return len(f.Hints) == 0 || slices.ContainsFunc(f.Hints, func(all []PathFilter) bool { return mayAll(all, s) })
}

func mayAll(paths []PathFilter, s Signature) bool {
	for i := range paths {
		if !paths[i].may(s) {
			return false
		}
	}
	return true
}

func (p *PathFilter) may(s Signature) bool {
	if !signed(p.Path) {
		return true
	}
	for _, text := range p.Any {
		if text == "" || strings.Contains(text, "*") || s.may(hashStart.text(p.Path).add('=').text(text)) {
			return true
		}
	}
	return false
}
