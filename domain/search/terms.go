package search

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain/feed"
)

// terms matches what has one of the values in the field, as a whole.
type terms struct {
	field field
	any   []string // in the order given
	set   map[string]bool
	times []time.Time // those of any that are times
}

// terms reads the values that a field may have.
func (p *parser) terms(f field, v any, at string) query {
	t := terms{field: f, set: map[string]bool{}}
	items, ok := v.([]any)
	if !ok {
		p.fault(at, "must be a list")
	}
	for i, item := range items {
		switch item.(type) {
		case string, float64, bool:
			t.add(textOf(item))
		default:
			where := at
			if len(items) > 1 {
				where = place(at, i)
			}
			p.fault(where, "must be a text, a number, true or false")
		}
	}
	return t
}

func (t *terms) add(text string) {
	if !t.set[text] {
		t.set[text] = true
		t.any = append(t.any, text)
	}
	if at, _, ok := parseDate(text); ok {
		t.times = append(t.times, at)
	}
}

func (t terms) match(d Doc) bool {
	for _, v := range t.field.of(d) {
		if at, ok := v.(time.Time); ok && slices.ContainsFunc(t.times, at.Equal) || t.set[textOf(v)] {
			return true
		}
	}
	return false
}

// maxNeeded is up to how many values an index is asked for one by one.
const maxNeeded = 100

func (t terms) needs(f *feed.Filter) {
	switch {
	case len(t.any) == 0 || len(t.any) > maxNeeded || t.set[""] || !t.field.indexed():
	case t.field == "type" && len(f.Types) == 0:
		f.Types = t.any
	default:
		f.Paths = append(f.Paths, feed.PathFilter{Path: string(t.field), Any: t.any})
	}
}

// prefix matches what begins so.
type prefix struct {
	field field
	start string
}

func (q prefix) match(d Doc) bool {
	return slices.ContainsFunc(q.field.of(d), func(v any) bool { return strings.HasPrefix(textOf(v), q.start) })
}

func (q prefix) needs(f *feed.Filter) { needLike(f, q.field, q.start+"*") }

// wildcard matches what is as the pattern says.
type wildcard struct {
	field   field
	pattern glob
	like    string // the pattern when it is a plain one
}

func (p *parser) wildcard(f field, v any, at string) query {
	pattern := p.text(v, at)
	if !p.patterned(utf8.RuneCountInString(pattern), at) {
		return none{}
	}
	q := wildcard{field: f, pattern: globOf(pattern)}
	if !strings.ContainsAny(pattern, `?\`) {
		q.like = pattern
	}
	return q
}

func (q wildcard) match(d Doc) bool {
	return slices.ContainsFunc(q.field.of(d), func(v any) bool { return q.pattern.match(textOf(v)) })
}

func (q wildcard) needs(f *feed.Filter) {
	if q.like != "" {
		needLike(f, q.field, q.like)
	}
}

// needLike adds that the text of a field is as a pattern says.
func needLike(f *feed.Filter, at field, pattern string) {
	if at == "type" && len(f.Types) == 0 {
		f.Types = []string{pattern}
	}
}
