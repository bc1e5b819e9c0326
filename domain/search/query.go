package search

import (
	"strconv"
	"strings"

	"svc/domain/feed"
)

// query is a question that a document answers with yes or no.
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
		return none{}
	}
	kind, body, ok := p.single(v, at, "kind of query")
	if !ok {
		return none{}
	}
	at += "." + kind
	switch kind {
	case "match_all":
		p.options(body, at)
		return everything{}
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
	return none{}
}

// fieldQuery reads a query about one field.
func (p *parser) fieldQuery(kind string, body any, at string) query {
	name, v, ok := p.single(body, at, "field")
	if !ok {
		return none{}
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

// long returns what is asked for in the long form of a query, {"value": "x"}, and
// where it stands; of the short form, "x", that itself.
func (p *parser) long(v any, at, name string) (value any, where string) {
	if _, isLong := v.(map[string]any); !isLong {
		return v, at
	}
	m, _ := p.options(v, at, name)
	return m[name], at + "." + name
}

// everything matches all, none nothing.
type (
	everything struct{}
	none       struct{}
)

func (everything) match(Doc) bool     { return true }
func (everything) needs(*feed.Filter) {}
func (none) match(Doc) bool           { return false }
func (none) needs(*feed.Filter)       {}

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
		return none{}
	}
	all := func(name string) (queries []query) {
		v, given := m[name]
		if !given {
			return nil
		}
		_, many := v.([]any)
		for i, item := range several(v) {
			where := at + "." + name
			if many {
				where = place(where, i)
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
		b.least, ok = leastOf(v, len(b.should))
		if !ok {
			p.fault(at+".minimum_should_match", "must be a whole number or a percentage")
		}
	}
	return b
}

// leastOf reads how many of n queries must match: 2, -1 (all but one), "75%",
// "-25%".
func leastOf(v any, n int) (least int, ok bool) {
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
