package search

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/feed"
)

// query is a condition that a document matches or not.
type query interface {
	match(d Doc) bool
	// needs adds to f what every match has.
	needs(f *feed.Filter)
}

// query reads one query.
func (p *parser) query(v any, at string, depth int) query {
	p.clause(at)
	if depth > maxDepth {
		p.fault(at, "is nested deeper than %d", maxDepth)
	}
	if len(p.faults) >= maxFaults || depth > maxDepth || p.clauses > maxClauses {
		return matchNone{}
	}
	kind, body, ok := p.single(v, at, "kind of query")
	if !ok {
		return matchNone{}
	}
	at += "." + kind
	switch kind {
	case "match_all":
		p.options(body, at)
		return matchAll{}
	case "bool":
		return p.boolean(body, at, depth)
	case "exists":
		m, _ := p.options(body, at, "field")
		return exists{p.field(m["field"], at+".field")}
	case "ids":
		m, _ := p.options(body, at, "values")
		return p.terms("id", m["values"], at+".values")
	case "query_string":
		return p.queryString(body, at, depth)
	case "term", "terms", "prefix", "wildcard", "range", "match", "match_phrase":
		return p.fieldQuery(kind, body, at)
	}
	p.fault(at, "is not supported")
	return matchNone{}
}

// fieldQuery reads a query about one field.
func (p *parser) fieldQuery(kind string, body any, at string) query {
	name, v, ok := p.single(body, at, "field")
	if !ok {
		return matchNone{}
	}
	f, at := p.fieldAt(name, at), at+"."+name
	switch kind {
	case "term":
		v, at = p.long(v, at, "value")
		return p.terms(f, []any{v}, at)
	case "terms":
		return p.terms(f, v, at)
	case "prefix":
		v, at = p.long(v, at, "value")
		return prefix{f, p.text(v, at)}
	case "wildcard":
		if m, ok := v.(map[string]any); ok && m["wildcard"] != nil {
			v, at = p.long(v, at, "wildcard")
		} else {
			v, at = p.long(v, at, "value")
		}
		return p.wildcard(f, v, at)
	case "range":
		return p.span(f, v, at)
	}
	return p.matching(kind, f, v, at)
}

// long returns the value of the long form of a query, {"value": "x"}, and its path; of the
// short form, "x", the value itself.
func (p *parser) long(v any, at, name string) (value any, where string) {
	if _, isLong := v.(map[string]any); !isLong {
		return v, at
	}
	m, _ := p.options(v, at, name)
	return m[name], at + "." + name
}

// matchAll matches all, none nothing.
type (
	matchAll  struct{}
	matchNone struct{}
)

func (matchAll) match(Doc) bool      { return true }
func (matchAll) needs(*feed.Filter)  {}
func (matchNone) match(Doc) bool     { return false }
func (matchNone) needs(*feed.Filter) {}

// exists matches what has a value in the field.
type exists struct{ field field }

func (e exists) match(d Doc) bool {
	for _, v := range d.Values(string(e.field)) {
		if m, isObject := v.(map[string]any); !isObject || len(m) > 0 {
			return true
		}
	}
	return false
}

func (exists) needs(*feed.Filter) {}

// boolean joins queries.
type boolean struct {
	must, should, mustNot []query
	least                 int // of should
}

func (p *parser) boolean(v any, at string, depth int) query {
	m, ok := p.options(v, at, "must", "filter", "should", "must_not", "minimum_should_match")
	if !ok {
		return matchNone{}
	}
	all := func(name string) (queries []query) {
		v, given := m[name]
		if !given {
			return nil
		}
		_, many := v.([]any)
		for i, item := range asList(v) {
			where := at + "." + name
			if many {
				where = itemPath(where, i)
			}
			queries = append(queries, p.query(item, where, depth+1))
		}
		return queries
	}
	b := boolean{must: append(all("must"), all("filter")...), should: all("should"), mustNot: all("must_not")}
	if len(b.must) == 0 && len(b.should) > 0 {
		b.least = 1
	}
	if v, given := m["minimum_should_match"]; given {
		b.least, ok = minimumMatches(v, len(b.should))
		if !ok {
			p.fault(at+".minimum_should_match", "must be a whole number or a percentage")
		}
	}
	return b
}

// minimumMatches reads how many of n queries must match: 2, -1 (all but one), "75%",
// "-25%".
func minimumMatches(v any, n int) (least int, ok bool) {
	text := textOf(v)
	digits, percent := strings.CutSuffix(text, "%")
	least, err := strconv.Atoi(digits)
	if _, isText := v.(string); err != nil || percent && (!isText || least < -100 || least > 100) {
		return 0, false
	}
	if percent {
		least = n * least / 100
	}
	if strings.HasPrefix(digits, "-") {
		least += n
	}
	return max(least, 0), true
}

func (b boolean) match(d Doc) bool {
	for _, q := range b.must {
		if !q.match(d) {
			return false
		}
	}
	for _, q := range b.mustNot {
		if q.match(d) {
			return false
		}
	}
	found := 0
	for i := 0; i < len(b.should) && found < b.least; i++ {
		if b.should[i].match(d) {
			found++
		}
	}
	return found >= b.least
}

func (b boolean) needs(f *feed.Filter) {
	for _, q := range b.must {
		q.needs(f)
	}
	if b.least == 0 || len(f.Types) > 0 {
		return
	}
	var types []string
	for _, q := range b.should { // of alternatives, one of their types
		var alternative feed.Filter
		q.needs(&alternative)
		if len(alternative.Types) == 0 {
			return
		}
		types = append(types, alternative.Types...)
	}
	f.Types = types
}

// parser reads one request and collects its faults. Its methods return something usable
// for any input.
type parser struct {
	now     time.Time
	zones   func(string) (*time.Location, error)
	clauses int
	pattern int // characters of all patterns
	typed   bool
	deep    bool // an index does not have everything that is needed
	aside   bool // and whole events must be read
	aggs    int
	faults  []domain.FieldError
}

func (p *parser) fault(at, format string, args ...any) {
	if len(p.faults) < maxFaults {
		if runes := []rune(at); len(runes) > 2*maxField { // names come from the request
			at = string(runes[:2*maxField]) + "…"
		}
		p.faults = append(p.faults, domain.FieldError{Field: at, Message: fmt.Sprintf(format, args...)})
	}
}

// clause counts one more clause.
func (p *parser) clause(at string) {
	if p.clauses++; p.clauses == maxClauses+1 {
		p.fault(at, "makes more than %d clauses", maxClauses)
	}
}

// object returns v when it is an object.
func (p *parser) object(v any, at string) (m map[string]any, ok bool) {
	if m, ok = v.(map[string]any); !ok {
		p.fault(at, "must be an object")
	}
	return m, ok
}

// options returns v when it is an object of nothing but the named options.
func (p *parser) options(v any, at string, names ...string) (m map[string]any, ok bool) {
	m, ok = p.object(v, at)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(names, name) {
			p.fault(at+"."+name, "is not supported")
			ok = false
		}
	}
	return m, ok
}

// single returns the one entry of an object.
func (p *parser) single(v any, at, what string) (name string, value any, ok bool) {
	m, ok := p.object(v, at)
	if !ok {
		return "", nil, false
	}
	if len(m) != 1 {
		p.fault(at, "must have exactly one %s", what)
		return "", nil, false
	}
	for name, value = range m {
	}
	return name, value, true
}

// text returns v when it is a text that is not empty.
func (p *parser) text(v any, at string) string {
	s, _ := v.(string)
	if s == "" {
		p.fault(at, "must be a text that is not empty")
	}
	return s
}

// whole returns v when it is a whole number from least to most; missing when it is
// not there.
func (p *parser) whole(m map[string]any, name, at string, missing, least, most int) int {
	v, given := m[name]
	if !given {
		return missing
	}
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		p.fault(join(at, name), "must be a whole number from %d to %d", least, most)
		return missing
	}
	return int(n)
}

// number returns v when it is a number.
func (p *parser) number(v any, at string) float64 {
	n, ok := v.(float64)
	if !ok {
		p.fault(at, "must be a number")
	}
	return n
}

// choice returns the option when it is one of choices, of any case; missing when it
// is not there.
func (p *parser) choice(m map[string]any, name, at, missing string, choices ...string) string {
	v, given := m[name]
	if !given {
		return missing
	}
	s, _ := v.(string)
	if s = strings.ToLower(s); !slices.Contains(choices, s) {
		p.fault(join(at, name), "must be %s", strings.Join(choices, " or "))
		return missing
	}
	return s
}

// asList returns the elements of v; a single value is a list of one.
func asList(v any) []any {
	if items, ok := v.([]any); ok {
		return items
	}
	return []any{v}
}

// itemPath returns the path of an element of a list.
func itemPath(at string, i int) string { return at + "[" + strconv.Itoa(i) + "]" }

// field returns v when it is the name of a field.
func (p *parser) field(v any, at string) field { return p.fieldAt(p.text(v, at), at) }

// fieldAt returns the field with a name. Names are short: a long one would be split and looked up in every document.
func (p *parser) fieldAt(name, at string) field {
	if utf8.RuneCountInString(name) > maxField {
		p.fault(at, "has more than %d characters", maxField)
		return ""
	}
	f := fieldAt(name)
	p.typed = p.typed || f.isTyped()
	p.deep = p.deep || !f.isIndexed()
	p.aside = p.aside || !f.isLogged()
	return f
}

// countPattern counts the characters of a pattern, and reports whether they are few
// enough: what a pattern takes grows with its length.
func (p *parser) countPattern(characters int, at string) bool {
	p.pattern += characters
	switch {
	case characters > maxPattern:
		p.fault(at, "has more than %d characters", maxPattern)
	case p.pattern > maxPatterns:
		p.fault(at, "makes more than %d characters of patterns", maxPatterns)
	default:
		return true
	}
	return false
}

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
		return matchNone{}
	}
	if !f.isProse() {
		return p.terms(f, []any{v}, at)
	}
	tokens := p.wordsOf(textOf(v), at)
	if every {
		return phrase{&f, tokens}
	}
	return words{&f, plainWords(tokens), operator == "and"}
}

// wordsOf returns the words of a text that is looked for. Each of them is a clause.
func (p *parser) wordsOf(text, at string) []string {
	words := wordsOf(text)
	for range words {
		p.clause(at)
	}
	return words
}

// eachText visits the texts of a field, or of everything when there is none, until visit
// returns false.
func eachText(f *field, d Doc, visit func(text string) (more bool)) {
	if f == nil {
		for _, v := range d.Values("") {
			texts(v, visit)
		}
		return
	}
	for _, v := range f.valuesOf(d) {
		if !visit(textOf(v)) {
			return
		}
	}
}

// requireWords adds that there are words, where those of the field are words of the
// event: typed fields and what sums up a failure may say others.
func requireWords(f *feed.Filter, at *field, words ...string) {
	if at == nil || strings.HasPrefix(string(*at), "payload.") {
		f.Words = append(f.Words, words...)
	}
}

// word is one that is looked for.
type word struct {
	text    string
	pattern glob // nil: the text itself
}

func (w word) matches(text string) bool {
	if w.pattern != nil {
		return w.pattern.match(text)
	}
	return w.text == text
}

func plainWords(texts []string) (all []word) {
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
	eachText(q.field, d, func(text string) bool {
		feed.Words(text, func(text string) bool {
			for i, w := range q.words {
				if !found[i] && w.matches(text) {
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
			requireWords(f, q.field, w.text)
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
	case len(q.words) == 0, q.field == nil && !d.ContainsWords(q.words...):
		return false
	case q.field == nil && len(q.words) == 1:
		return true
	}
	eachText(q.field, d, func(text string) bool {
		all := wordsOf(text)
		for i := 0; i+len(q.words) <= len(all) && !matches; i++ {
			matches = slices.Equal(all[i:i+len(q.words)], q.words)
		}
		return !matches
	})
	return matches
}

func (q phrase) needs(f *feed.Filter) { requireWords(f, q.field, q.words...) }

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
				where = itemPath(at, i)
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
	for _, v := range t.field.valuesOf(d) {
		if at, ok := v.(time.Time); ok && slices.ContainsFunc(t.times, at.Equal) || t.set[textOf(v)] {
			return true
		}
	}
	return false
}

// maxNeeded is up to how many values are looked up in an index.
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
	return slices.ContainsFunc(q.field.valuesOf(d), func(v any) bool { return strings.HasPrefix(textOf(v), q.start) })
}

func (q prefix) needs(f *feed.Filter) { requirePattern(f, q.field, q.start+"*") }

// wildcard matches texts that match a pattern.
type wildcard struct {
	field   field
	pattern glob
	like    string // the pattern when it is a plain one
}

func (p *parser) wildcard(f field, v any, at string) query {
	pattern := p.text(v, at)
	if !p.countPattern(utf8.RuneCountInString(pattern), at) {
		return matchNone{}
	}
	q := wildcard{field: f, pattern: globOf(pattern)}
	if !strings.ContainsAny(pattern, `?\`) {
		q.like = pattern
	}
	return q
}

func (q wildcard) match(d Doc) bool {
	return slices.ContainsFunc(q.field.valuesOf(d), func(v any) bool { return q.pattern.match(textOf(v)) })
}

func (q wildcard) needs(f *feed.Filter) {
	if q.like != "" {
		requirePattern(f, q.field, q.like)
	}
}

// requirePattern adds that the text of a field matches a pattern.
func requirePattern(f *feed.Filter, at field, pattern string) {
	if at == "type" && len(f.Types) == 0 {
		f.Types = []string{pattern}
	}
}

// bound is one end of a range, as each sort of values is compared with it.
type bound struct {
	number *float64
	at     *time.Time
	text   *string // nil when it is a date: what is no date is not compared with it
	open   bool    // the bound itself is outside
}

// span matches values between two bounds.
type span struct {
	field     field
	low, high *bound
}

// span reads {gt, gte, lt, lte}.
func (p *parser) span(f field, v any, at string) query {
	m, ok := p.options(v, at, "gt", "gte", "lt", "lte")
	if !ok {
		return matchNone{}
	}
	if len(m) == 0 {
		p.fault(at, "must have one of gt, gte, lt, lte")
	}
	s := span{field: f}
	s.low = p.end(f, m, at, "gt", "gte")
	s.high = p.end(f, m, at, "lt", "lte")
	return s
}

// end reads one end of a range, in one of its two forms.
func (p *parser) end(f field, m map[string]any, at, without, with string) *bound {
	name := without
	if _, given := m[with]; given {
		name = with
	}
	v, given := m[name]
	if !given {
		return nil
	}
	if _, both := m[without]; both && name == with {
		p.fault(at+"."+without, "does not go with %s", with)
	}
	return p.bound(f, v, at+"."+name, name)
}

// maxMillis is later than any date that can be written, in milliseconds.
const maxMillis = 1e15

// bound reads one end. What a date leaves open belongs to the range when the range
// includes the date: lte 2026-01-01 ends with that day, gt begins after it.
func (p *parser) bound(f field, v any, at, name string) *bound {
	b := &bound{open: name == "gt" || name == "lt"}
	switch v := v.(type) {
	case float64:
		b.number = &v
		if ms := time.UnixMilli(int64(v)).UTC(); f == created && v >= -maxMillis && v <= maxMillis {
			b.at = &ms
		}
	case string:
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			b.number = &n
		}
		if day, ok := p.date(v, name == "gt" || name == "lte"); ok {
			b.at = &day
		} else {
			b.text = &v
		}
	}
	switch {
	case f == created && b.at == nil:
		p.fault(at, "must be a date, or date math such as now-1h/d")
	case b.text != nil && isMath(*b.text), b.text == nil && b.number == nil && b.at == nil:
		p.fault(at, "must be a number, a date, date math such as now-1h/d, or a text")
	}
	return b
}

// isMath reports whether a text looks like date math, which it is not then.
func isMath(text string) bool {
	math, isNow := strings.CutPrefix(text, "now")
	return isNow && strings.IndexAny(math, "+-/") == 0
}

func (s span) match(d Doc) bool { return slices.ContainsFunc(s.field.valuesOf(d), s.contains) }

func (s span) contains(v any) bool {
	return (s.low == nil || s.low.before(v, 1)) && (s.high == nil || s.high.before(v, -1))
}

// before reports whether v is on the side of the bound that a sign names.
func (b *bound) before(v any, sign int) bool {
	order, ok := b.compare(v)
	return ok && (order == sign || order == 0 && !b.open)
}

// compare returns on which side of the bound v is.
func (b *bound) compare(v any) (order int, ok bool) {
	if n, ok := v.(float64); ok && b.number != nil {
		return cmp.Compare(n, *b.number), true
	}
	if at, ok := timeOf(v); ok && b.at != nil {
		return at.Compare(*b.at), true
	}
	if text, ok := v.(string); ok && b.text != nil {
		return strings.Compare(text, *b.text), true
	}
	return 0, false
}

// needs widens the bounds by a millisecond: a filter leaves its own out.
func (s span) needs(f *feed.Filter) {
	if s.field != created {
		return
	}
	if s.low != nil {
		if after := s.low.at.Add(-time.Millisecond); after.After(f.After) {
			f.After = after
		}
	}
	if s.high != nil {
		if before := s.high.at.Add(time.Millisecond); f.Before.IsZero() || before.Before(f.Before) {
			f.Before = before
		}
	}
}

// glob is a pattern over texts, character by character.
type glob []rune

// What is no character in a pattern.
const (
	many rune = -1 // any text
	one  rune = -2 // any character
)

// globOf reads a pattern in which * is any text, ? any character, and \ escapes the next
// character.
func globOf(pattern string) (g glob) {
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			g, escaped = append(g, r), false
		case r == '\\':
			escaped = true
		case r == '*':
			g = append(g, many)
		case r == '?':
			g = append(g, one)
		default:
			g = append(g, r)
		}
	}
	return g
}

// lower returns the pattern in small letters.
func (g glob) lower() glob {
	small := make(glob, len(g))
	for i, r := range g {
		small[i] = r
		if r >= 0 {
			small[i] = unicode.ToLower(r)
		}
	}
	return small
}

// match reports whether the text matches the pattern. It backtracks to the last star only,
// so that the time is bounded by the length of the pattern times that of the text.
func (g glob) match(text string) bool {
	at, star, mark := 0, -1, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case at < len(g) && (g[at] == one || g[at] == r):
			at, i = at+1, i+size
		case at < len(g) && g[at] == many:
			star, mark = at, i
			at++
		case star >= 0:
			_, size = utf8.DecodeRuneInString(text[mark:])
			mark += size
			at, i = star+1, mark
		default:
			return false
		}
	}
	for at < len(g) && g[at] == many {
		at++
	}
	return at == len(g)
}
