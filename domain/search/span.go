package search

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain/feed"
)

// bound is one end of a range, as each sort of values is compared with it.
type bound struct {
	number *float64
	at     *time.Time
	text   *string // nil when it is a date: what is no date is not compared with it
	open   bool    // the bound itself is outside
}

// span matches what is between two bounds.
type span struct {
	field     field
	low, high *bound
}

// span reads {gt, gte, lt, lte}.
func (p *parser) span(f field, v any, at string) query {
	m, ok := p.options(v, at, "gt", "gte", "lt", "lte")
	if !ok {
		return none{}
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

func (s span) match(d Doc) bool { return slices.ContainsFunc(s.field.of(d), s.holds) }

func (s span) holds(v any) bool {
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
