package feed

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
)

// Filter says which events are wanted. The zero Filter matches all events.
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
	return len(f.Words) == 0 || f.matchesPaths(e)
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

// matchesPaths reports whether the event has all the words.
func (f *Filter) matchesPaths(e *Event) bool {
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
	if !isSigned(p.Path) {
		return true
	}
	for _, text := range p.Any {
		if text == "" || strings.Contains(text, "*") || s.may(hashStart.text(p.Path).add('=').text(text)) {
			return true
		}
	}
	return false
}

// Like reports whether a text is as a pattern says, in which * stands for any text.
func Like(pattern, text string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	for ok {
		piece, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(text, piece)
		}
		at := strings.Index(text, piece)
		if at < 0 {
			return false
		}
		text, rest = text[at+len(piece):], more
	}
	return false
}

// likeAny reports whether a text is as one of several patterns says.
func likeAny(patterns []string, text string) bool {
	for _, p := range patterns {
		if Like(p, text) {
			return true
		}
	}
	return false
}

// Bounds of what one filter may ask for.
const (
	maxTypes = 50
	maxWords = 20
	maxPaths = 20
	maxPath  = 200
	maxText  = 1000
)

// The parameters that a filter is made of, besides paths.
const (
	paramTypes  = "types"
	paramText   = "text"
	paramAfter  = "afterDate"
	paramBefore = "beforeDate"
	paramDepth  = "appInstanceDepth"
)

// usualDepth is how deep the app instances of shown events are, unless told.
const usualDepth = 1

// ParseFilter reads a filter from parameters. Those that mean something else are to
// be taken out before: what is left must be dotted paths.
func ParseFilter(values map[string][]string) (Filter, error) {
	p := parser{filter: Filter{Depth: usualDepth + 1}}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p.read(name, values[name])
	}
	if len(p.filter.Paths) > maxPaths {
		p.fault(p.filter.Paths[maxPaths].Path, "more than %d paths", maxPaths)
	}
	return p.filter, p.err()
}

// FilterOf reads a filter from a JSON object: texts, numbers, true, false and lists
// of them.
func FilterOf(fields map[string]any) (Filter, error) {
	values, p := map[string][]string{}, parser{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		list, ok := fields[name].([]any)
		if !ok {
			list = []any{fields[name]}
		}
		for _, item := range list {
			text, plain := Text(item)
			if !plain && item != nil {
				p.fault(name, "must be a text, a number, true, false or a list of them")
			}
			values[name] = append(values[name], text)
		}
	}
	if err := p.err(); err != nil {
		return Filter{}, err
	}
	return ParseFilter(values)
}

// parser collects what is wrong.
type parser struct {
	filter Filter
	faults []domain.FieldError
}

func (p *parser) fault(name, format string, args ...any) {
	p.faults = append(p.faults, domain.FieldError{Field: domain.Shorten(name, 100), Message: fmt.Sprintf(format, args...)})
}

// err refuses everything that is wrong, at once.
func (p *parser) err() error {
	if len(p.faults) == 0 {
		return nil
	}
	first := p.faults[0]
	return domain.Refuse(domain.CodeInvalidParameter, "%s %s", first.Field, first.Message).
		With("parameter", first.Field).With("errors", p.faults)
}

func (p *parser) read(name string, texts []string) {
	switch name {
	case paramTypes:
		p.types(texts)
	case paramText:
		p.words(texts)
	case paramAfter:
		p.filter.After = p.time(name, texts)
	case paramBefore:
		p.filter.Before = p.time(name, texts)
	case paramDepth:
		p.depth(texts)
	default:
		p.path(name, texts)
	}
}

func (p *parser) types(texts []string) {
	for _, text := range texts {
		for pattern := range strings.SplitSeq(text, ",") {
			if pattern = strings.TrimSpace(pattern); pattern == "" {
				continue
			}
			if !IsPattern(pattern) {
				p.fault(paramTypes, "must be names of events, with * for any text")
				return
			}
			p.filter.Types = append(p.filter.Types, pattern)
		}
	}
	if len(p.filter.Types) > maxTypes {
		p.fault(paramTypes, "must not be more than %d", maxTypes)
	}
}

func (p *parser) words(texts []string) {
	for _, text := range texts {
		if len(text) > maxText {
			p.fault(paramText, "must be at most %d characters", maxText)
			return
		}
		for _, piece := range strings.Fields(text) {
			p.piece(piece)
		}
	}
	if len(p.filter.Words) > maxWords {
		p.fault(paramText, "must not be more than %d words", maxWords)
	}
}

// piece adds the words of a text without blanks. A * at its end belongs to the last
// of them.
func (p *parser) piece(piece string) {
	last := len(p.filter.Words)
	Words(piece, func(word string) bool {
		p.filter.Words = append(p.filter.Words, word)
		return true
	})
	if n := len(p.filter.Words); n > last && strings.HasSuffix(piece, "*") {
		p.filter.Words[n-1] += "*"
	}
}

func (p *parser) time(name string, texts []string) time.Time {
	at, err := time.Parse(time.RFC3339, texts[len(texts)-1])
	if err != nil || len(texts) > 1 {
		p.fault(name, "must be one time such as 2026-01-31T12:00:00Z")
	}
	return at
}

func (p *parser) depth(texts []string) {
	n, err := strconv.Atoi(texts[0])
	if err != nil || n < -1 || n > 100 || len(texts) > 1 {
		p.fault(paramDepth, "must be a whole number from -1 to 100")
		return
	}
	p.filter.Depth = n + 1
}

func (p *parser) path(name string, texts []string) {
	switch {
	case !IsPath(name):
		p.fault(name, "is not a parameter of this list; a field of the event is named by its path, such as payload.status")
	case len(texts) > maxTypes || slices.ContainsFunc(texts, func(s string) bool { return len(s) > maxText }):
		p.fault(name, "must be at most %d texts of %d characters", maxTypes, maxText)
	default:
		p.filter.Paths = append(p.filter.Paths, PathFilter{name, texts})
	}
}

// top are the fields of an event. What is in some of them is open.
var top = []string{"id", "type", "createdAt", "size", "stripped", "payload", "source", "target", "options", "error"}

// IsPath reports whether a text is the path of a field of an event.
func IsPath(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return len(path) <= maxPath && slices.Contains(top, first) && !strings.HasSuffix(path, ".") && !strings.Contains(path, "..")
}

// maxPattern is the length of the name of an event.
const maxPattern = 200

// IsPattern reports whether a text is the name of an event, or one with * in it.
func IsPattern(pattern string) bool {
	return pattern != "" && len(pattern) <= maxPattern && !strings.ContainsFunc(pattern, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(" ._-*", r)
	})
}
