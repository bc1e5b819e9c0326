package search

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/distinct"
)

// agg is an aggregation as a request describes it.
type agg interface {
	// begin returns its initial state.
	begin(b *budget) state
}

// state is the state of an aggregation while documents are added.
type state interface {
	add(d Doc) error
	result() (map[string]any, error)
}

// named is an aggregation with its name.
type named struct {
	name string
	agg
}

// Approximate memory of collected values, in bytes.
const (
	stateCost  = 128
	bucketCost = 128
	valueCost  = 8
)

// beginAll begins all aggregations of one level.
func beginAll(aggs []named, b *budget) []state {
	states := make([]state, len(aggs))
	for i, a := range aggs {
		states[i] = a.begin(b)
	}
	return states
}

// addResults adds the results of all aggregations of one level to an object.
func addResults(to map[string]any, aggs []named, states []state) error {
	for i, a := range aggs {
		result, err := states[i].result()
		if err != nil {
			return err
		}
		to[a.name] = result
	}
	return nil
}

// reserved are names that buckets have already.
var reserved = strings.Fields("key key_as_string doc_count from from_as_string to to_as_string buckets")

// subAggs reads the aggregations of one level, which are under one of two names.
func (p *parser) subAggs(m map[string]any, at string, depth int) (all []named) {
	key := "aggs"
	if _, long := m["aggregations"]; long {
		key = "aggregations"
	}
	v, given := m[key]
	if !given {
		return nil
	}
	at = join(at, key)
	if _, both := m["aggs"]; both && key != "aggs" {
		p.fault(at, "does not go with aggs")
	}
	if depth > maxAggDepth {
		p.fault(at, "is nested deeper than %d", maxAggDepth)
		return nil
	}
	inner, _ := p.object(v, at)
	for _, name := range slices.Sorted(maps.Keys(inner)) {
		if p.aggs++; p.aggs > maxAggs {
			p.fault(at, "makes more than %d aggregations", maxAggs)
			return nil
		}
		if where := at + "." + name; name == "" || utf8.RuneCountInString(name) > 200 || strings.ContainsAny(name, "[]>") || slices.Contains(reserved, name) {
			p.fault(where, "is not a valid name of an aggregation")
		} else if a := p.agg(inner[name], where, depth); a != nil {
			all = append(all, named{name, a})
		}
	}
	return all
}

// agg reads one aggregation; nil when it is none.
func (p *parser) agg(v any, at string, depth int) agg {
	m, ok := p.object(v, at)
	if !ok {
		return nil
	}
	inner := p.subAggs(m, at, depth+1)
	kind := ""
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch {
		case name == "aggs" || name == "aggregations":
		case kind != "":
			p.fault(at, "must have exactly one kind of aggregation")
			return nil
		default:
			kind = name
		}
	}
	if kind == "" {
		p.fault(at, "must have a kind of aggregation")
		return nil
	}
	at += "." + kind
	if a := p.bucketAgg(kind, m[kind], at, inner); a != nil {
		return a
	}
	a := p.metricAgg(kind, m[kind], at)
	switch {
	case a == nil:
		p.fault(at, "is not supported")
	case inner != nil:
		p.fault(at, "has no buckets that aggregations could be made of")
	}
	return a
}

// bucketAgg reads an aggregation that makes buckets; nil when the kind is none such.
func (p *parser) bucketAgg(kind string, v any, at string, inner []named) agg {
	switch kind {
	case "terms":
		return p.termsAgg(v, at, inner)
	case "date_histogram":
		return p.dateHistogram(v, at, inner)
	case "histogram":
		return p.histogram(v, at, inner)
	case "range":
		return p.ranges(v, at, inner, false)
	case "date_range":
		return p.ranges(v, at, inner, true)
	case "filter":
		return filterAgg{p.query(v, at, 1), inner}
	case "filters":
		return p.filters(v, at, inner)
	case "missing":
		m, _ := p.options(v, at, "field")
		return filterAgg{boolean{mustNot: []query{exists{p.field(m["field"], at+".field")}}}, inner}
	}
	return nil
}

// bucket is a number of documents and the states of their aggregations.
type bucket struct {
	count  int
	subs   []state
	budget *budget
}

func newBucket(inner []named, b *budget) (*bucket, error) {
	err := b.spend(bucketCost + len(inner)*stateCost)
	return &bucket{subs: beginAll(inner, b), budget: b}, err
}

// bucketOf returns the bucket of a key and creates it if needed; weigh, if set, returns
// the extra cost of the key.
func bucketOf[K comparable](buckets map[K]*bucket, key K, weigh func(K) int, inner []named, b *budget) (*bucket, error) {
	if k, ok := buckets[key]; ok {
		return k, nil
	}
	k, err := newBucket(inner, b)
	if err == nil && weigh != nil {
		err = b.spend(weigh(key))
	}
	if err != nil {
		return nil, err
	}
	buckets[key] = k
	return k, nil
}

func (k *bucket) add(d Doc) error {
	k.count++
	if err := k.budget.work(); err != nil {
		return err
	}
	for _, s := range k.subs {
		if err := s.add(d); err != nil {
			return err
		}
	}
	return nil
}

// result adds the content of the bucket to an object.
func (k *bucket) result(inner []named, of map[string]any) (map[string]any, error) {
	of["doc_count"] = k.count
	return of, addResults(of, inner, k.subs)
}

// termsAgg makes a bucket for each value of a field.
type termsAgg struct {
	field field
	size  int
	order []bucketOrder
	inner []named
}

// bucketOrder is what buckets are sorted by: _count, _key, or a number that an inner
// aggregation comes to.
type bucketOrder struct {
	by, property string
	at           int // of the inner aggregation
	down         bool
}

func (p *parser) termsAgg(v any, at string, inner []named) agg {
	m, _ := p.options(v, at, "field", "size", "order")
	t := termsAgg{field: p.field(m["field"], at+".field"), size: p.whole(m, "size", at, 10, 1, maxBuckets), inner: inner}
	if order, given := m["order"]; given {
		for _, item := range asList(order) {
			t.order = append(t.order, p.bucketOrder(item, at+".order", inner))
		}
		if len(t.order) > maxSorts {
			p.fault(at+".order", "has more than %d fields", maxSorts)
		}
	} else {
		t.order = []bucketOrder{{by: "_count", down: true}}
	}
	return t
}

func (p *parser) bucketOrder(v any, at string, inner []named) (o bucketOrder) {
	name, how, ok := p.single(v, at, "field")
	if !ok {
		return o
	}
	switch how {
	case "asc", "desc":
		o.down = how == "desc"
	default:
		p.fault(at+"."+name, "must be asc or desc")
	}
	if name == "_count" || name == "_key" {
		o.by = name
		return o
	}
	for i, a := range inner { // the names of aggregations may have dots in them
		if property, found := strings.CutPrefix(name, a.name); found && (property == "" || property[0] == '.') {
			if n, ok := a.agg.(numeric); ok && n.has(strings.TrimPrefix(property, ".")) {
				return bucketOrder{by: a.name, at: i, property: strings.TrimPrefix(property, "."), down: o.down}
			}
		}
	}
	p.fault(at+"."+name, "must be _count, _key, or a number that an inner aggregation comes to")
	return o
}

func (t termsAgg) begin(b *budget) state {
	return &termsState{termsAgg: t, budget: b, buckets: map[any]*bucket{}}
}

// termsState has a bucket for each value: which are the largest is known only at the end.
type termsState struct {
	termsAgg
	budget  *budget
	buckets map[any]*bucket
}

func (s *termsState) add(d Doc) error {
	return s.field.each(d, func(v any) error {
		k, err := bucketOf(s.buckets, v, lengthOf, s.inner, s.budget)
		if err != nil {
			return err
		}
		return k.add(d)
	})
}

// lengthOf returns the size of a value in bytes.
func lengthOf(v any) int { return len(textOf(v)) }

func (s *termsState) result() (map[string]any, error) {
	keys := slices.SortedFunc(maps.Keys(s.buckets), s.compare)
	largest := keys[:min(s.size, len(keys))]
	if err := s.budget.count(len(largest)); err != nil {
		return nil, err
	}
	others := 0
	for _, key := range keys[len(largest):] {
		others += s.buckets[key].count
	}
	list := make([]any, 0, len(largest))
	for _, key := range largest {
		one, err := s.buckets[key].result(s.inner, keyOf(key))
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return map[string]any{"doc_count_error_upper_bound": 0, "sum_other_doc_count": others, "buckets": list}, nil
}

// keyOf returns the key fields of a bucket for a value.
func keyOf(v any) map[string]any {
	switch v := v.(type) {
	case time.Time:
		return map[string]any{"key": v.UnixMilli(), "key_as_string": textOf(v)}
	case bool:
		key := 0
		if v {
			key = 1
		}
		return map[string]any{"key": key, "key_as_string": textOf(v)}
	}
	return map[string]any{"key": v}
}

// compare orders buckets by their keys; of equal ones the lower key is the first.
func (s *termsState) compare(a, b any) int {
	for _, o := range s.order {
		c := 0
		switch o.by {
		case "_key":
			c = compareValues(a, b)
		case "_count":
			c = cmp.Compare(s.buckets[a].count, s.buckets[b].count)
		default:
			c = compareNumbers(s.number(a, o), s.number(b, o), o.down)
		}
		if o.down && c != 0 {
			return -c
		}
		if c != 0 {
			return c
		}
	}
	return compareValues(a, b)
}

func (s *termsState) number(key any, o bucketOrder) *float64 {
	return s.buckets[key].subs[o.at].(numericState).number(o.property)
}

// compareNumbers orders numbers so that those that are not there come last, in both
// directions.
func compareNumbers(a, b *float64, down bool) int {
	last := 1
	if down {
		last = -1
	}
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return last
	case b == nil:
		return -last
	}
	return cmp.Compare(*a, *b)
}

// rangesAgg makes a bucket for each range of a field.
type rangesAgg struct {
	field  field
	dates  bool
	ranges []interval
	inner  []named
}

// interval is a range: from is inside, to is not.
type interval struct {
	key      string
	from, to *float64 // numbers, or milliseconds
}

func (p *parser) ranges(v any, at string, inner []named, dates bool) agg {
	m, _ := p.options(v, at, "field", "ranges")
	a := rangesAgg{field: p.field(m["field"], at+".field"), dates: dates, inner: inner}
	items, ok := m["ranges"].([]any)
	if !ok || len(items) == 0 || len(items) > maxClauses {
		p.fault(at+".ranges", "must be a list of 1 to %d ranges", maxClauses)
	}
	for i, item := range items {
		where := itemPath(at+".ranges", i)
		p.clause(where)
		m, ok := p.options(item, where, "key", "from", "to")
		if !ok {
			continue
		}
		r := interval{from: p.limit(m, "from", where, dates), to: p.limit(m, "to", where, dates)}
		r.key = a.rangeKey(r.from) + "-" + a.rangeKey(r.to)
		if key, given := m["key"]; given {
			r.key = p.text(key, where+".key")
		}
		a.ranges = append(a.ranges, r)
	}
	slices.SortStableFunc(a.ranges, func(x, y interval) int {
		return cmp.Or(compareNumbers(x.from, y.from, true), compareNumbers(x.to, y.to, false))
	})
	return a
}

// limit reads one end of a range; nil when it is open.
func (p *parser) limit(m map[string]any, name, at string, dates bool) *float64 {
	v, given := m[name]
	if !given {
		return nil
	}
	at += "." + name
	if text, ok := v.(string); ok && dates {
		t, ok := p.date(text, false)
		if !ok {
			p.fault(at, "must be a date, or date math such as now-1h/d")
		}
		ms := float64(t.UnixMilli())
		return &ms
	}
	n := p.number(v, at)
	return &n
}

// rangeKey is an end of a range as its key has it.
func (a rangesAgg) rangeKey(end *float64) string {
	switch {
	case end == nil:
		return "*"
	case a.dates:
		return textOf(time.UnixMilli(int64(*end)))
	}
	return decimal(*end)
}

// decimal is a number with at least one decimal.
func decimal(n float64) string {
	text := strconv.FormatFloat(n, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func (a rangesAgg) begin(b *budget) state {
	return &rangesState{rangesAgg: a, fixedBuckets: newFixedBuckets(len(a.ranges), a.inner, b)}
}

type rangesState struct {
	rangesAgg
	fixedBuckets
}

func (s *rangesState) add(d Doc) error {
	values := s.field.numbers(d)
	if s.dates {
		values = nil
		for _, t := range s.field.times(d) {
			values = append(values, float64(t.UnixMilli()))
		}
	}
	for i, r := range s.ranges {
		inside := func(n float64) bool { return (r.from == nil || n >= *r.from) && (r.to == nil || n < *r.to) }
		if slices.ContainsFunc(values, inside) {
			if err := s.buckets[i].add(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *rangesState) result() (map[string]any, error) {
	list, err := s.results(func(i int) map[string]any {
		r := s.ranges[i]
		known := map[string]any{"key": r.key}
		for name, end := range map[string]*float64{"from": r.from, "to": r.to} {
			if end != nil {
				known[name] = *end
			}
			if end != nil && s.dates {
				known[name+"_as_string"] = s.rangeKey(end)
			}
		}
		return known
	})
	return map[string]any{"buckets": list}, err
}

// fixedBuckets are buckets that exist even without documents.
type fixedBuckets struct {
	inner   []named
	buckets []*bucket
	budget  *budget
	err     error // the memory limit is exceeded
}

func newFixedBuckets(n int, inner []named, b *budget) fixedBuckets {
	f := fixedBuckets{inner: inner, budget: b}
	for range n {
		k, err := newBucket(inner, b)
		f.buckets, f.err = append(f.buckets, k), cmp.Or(f.err, err)
	}
	return f
}

// results returns the buckets, each with the fields of also.
func (f fixedBuckets) results(also func(i int) map[string]any) (list []any, err error) {
	if err := cmp.Or(f.err, f.budget.count(len(f.buckets))); err != nil {
		return nil, err
	}
	for i, k := range f.buckets {
		one, err := k.result(f.inner, also(i))
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// filterAgg is one bucket, of the documents that match.
type filterAgg struct {
	query query
	inner []named
}

func (a filterAgg) begin(b *budget) state {
	return &filterState{a, newFixedBuckets(1, a.inner, b)}
}

type filterState struct {
	filterAgg
	fixedBuckets
}

func (s *filterState) add(d Doc) error {
	if !s.query.match(d) {
		return nil
	}
	return s.buckets[0].add(d)
}

func (s *filterState) result() (map[string]any, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s.buckets[0].result(s.fixedBuckets.inner, map[string]any{})
}

// filtersAgg is a bucket for each query.
type filtersAgg struct {
	names   []string // of the queries; nil when they have none
	queries []query
	inner   []named
}

func (p *parser) filters(v any, at string, inner []named) agg {
	m, _ := p.options(v, at, "filters")
	at += ".filters"
	a := filtersAgg{inner: inner}
	switch filters := m["filters"].(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(filters)) {
			a.names = append(a.names, name)
			a.queries = append(a.queries, p.query(filters[name], at+"."+name, 1))
		}
	case []any:
		for i, filter := range filters {
			a.queries = append(a.queries, p.query(filter, itemPath(at, i), 1))
		}
	}
	if len(a.queries) == 0 {
		p.fault(at, "must be queries, by name or as a list")
	}
	return a
}

func (a filtersAgg) begin(b *budget) state {
	return &filtersState{a, newFixedBuckets(len(a.queries), a.inner, b)}
}

type filtersState struct {
	filtersAgg
	fixedBuckets
}

func (s *filtersState) add(d Doc) error {
	for i, q := range s.queries {
		if q.match(d) {
			if err := s.buckets[i].add(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *filtersState) result() (map[string]any, error) {
	list, err := s.results(func(int) map[string]any { return map[string]any{} })
	if err != nil || s.names == nil {
		return map[string]any{"buckets": list}, err
	}
	byName := map[string]any{}
	for i, name := range s.names {
		byName[name] = list[i]
	}
	return map[string]any{"buckets": byName}, nil
}

// histogram makes buckets of equal width.
type histogram struct {
	least int // the fewest documents of a bucket in the result
	inner []named
	scale
}

// scale is where buckets begin. A bucket is known by the number of its beginning.
type scale struct {
	keys      func(d Doc) []float64 // the buckets that a document is in
	next      func(key float64) float64
	keyFields func(key float64) map[string]any
}

func (p *parser) histogram(v any, at string, inner []named) agg {
	m, _ := p.options(v, at, "field", "interval", "min_doc_count")
	f, width := p.field(m["field"], at+".field"), p.number(m["interval"], at+".interval")
	if width <= 0 {
		p.fault(at+".interval", "must be more than 0")
		width = 1
	}
	return histogram{least: p.whole(m, "min_doc_count", at, 0, 0, math.MaxInt32), inner: inner, scale: scale{
		keys: func(d Doc) []float64 {
			keys := f.numbers(d)
			for i, n := range keys {
				keys[i] = math.Floor(n/width)*width + 0 // there is no -0
			}
			return keys
		},
		next:      func(key float64) float64 { return math.Round(key/width+1) * width },
		keyFields: func(key float64) map[string]any { return map[string]any{"key": key} },
	}}
}

func (p *parser) dateHistogram(v any, at string, inner []named) agg {
	m, _ := p.options(v, at, "field", "calendar_interval", "fixed_interval", "min_doc_count", "time_zone")
	f, unit, zone := p.field(m["field"], at+".field"), p.interval(m, at), p.zone(m, at)
	return histogram{least: p.whole(m, "min_doc_count", at, 0, 0, math.MaxInt32), inner: inner, scale: scale{
		keys: func(d Doc) (keys []float64) {
			for _, t := range f.times(d) {
				keys = append(keys, float64(unit.floor(t.In(zone)).UnixMilli()))
			}
			return keys
		},
		next: func(key float64) float64 { return float64(unit.next(time.UnixMilli(int64(key)).In(zone)).UnixMilli()) },
		keyFields: func(key float64) map[string]any {
			return map[string]any{"key": int64(key), "key_as_string": dateText(time.UnixMilli(int64(key)).In(zone))}
		},
	}}
}

// dateText is a time as buckets show it, in its own zone.
func dateText(at time.Time) string {
	if _, offset := at.Zone(); offset == 0 {
		return domain.FormatTime(at)
	}
	return at.Format("2006-01-02T15:04:05.000Z07:00")
}

// fixedUnits are the units of fixed intervals.
var fixedUnits = []struct {
	suffix string
	length time.Duration
}{{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}}

// interval reads calendar_interval or fixed_interval.
func (p *parser) interval(m map[string]any, at string) calendar {
	v, byCalendar := m["calendar_interval"]
	length, isFixed := m["fixed_interval"]
	if byCalendar == isFixed {
		p.fault(at, "must have calendar_interval or fixed_interval")
		return calendarUnits["day"]
	}
	if byCalendar {
		name, _ := v.(string)
		unit, known := calendarUnits[name]
		if !known {
			p.fault(at+".calendar_interval", "must be minute, hour, day, week, month, quarter or year")
			return calendarUnits["day"]
		}
		return unit
	}
	text, _ := length.(string)
	for _, unit := range fixedUnits {
		number, ok := strings.CutSuffix(text, unit.suffix)
		n, err := strconv.ParseUint(number, 10, 31)
		if ok && err == nil && n > 0 && time.Duration(n) <= math.MaxInt64/unit.length {
			return clock(time.Duration(n) * unit.length)
		}
	}
	p.fault(at+".fixed_interval", "must be a number of ms, s, m, h or d, such as 30m")
	return calendarUnits["day"]
}

// zone reads time_zone: a name, or an offset such as +02:00.
func (p *parser) zone(m map[string]any, at string) *time.Location {
	v, given := m["time_zone"]
	if !given {
		return time.UTC
	}
	name, _ := v.(string)
	if offset, err := time.Parse("Z07:00", name); err == nil {
		_, seconds := offset.Zone()
		return time.FixedZone(name, seconds)
	}
	if name != "" && name != "Local" && p.zones != nil {
		if zone, err := p.zones(name); err == nil {
			return zone
		}
	}
	p.fault(at+".time_zone", "must be the name of a time zone, or an offset such as +02:00")
	return time.UTC
}

func (h histogram) begin(b *budget) state {
	return &histogramState{histogram: h, budget: b, buckets: map[float64]*bucket{}}
}

type histogramState struct {
	histogram
	budget  *budget
	buckets map[float64]*bucket
}

func (s *histogramState) add(d Doc) error {
	return distinctValues(s.keys(d), func(key float64) error {
		if isNotFinite(key) {
			return nil
		}
		k, err := bucketOf(s.buckets, key, nil, s.inner, s.budget)
		if err != nil {
			return err
		}
		return k.add(d)
	})
}

func (s *histogramState) result() (map[string]any, error) {
	list := []any{}
	keys := slices.Sorted(maps.Keys(s.buckets))
	for i, key := range keys {
		k := s.buckets[key]
		for gap := s.before(keys, i); gap < key; gap = s.next(gap) { // the empty ones between
			empty, err := newBucket(s.inner, s.budget)
			if err != nil {
				return nil, err
			}
			if list, err = s.show(list, gap, empty); err != nil {
				return nil, err
			}
		}
		var err error
		if list, err = s.show(list, key, k); err != nil {
			return nil, err
		}
	}
	return map[string]any{"buckets": list}, nil
}

// before returns where the empty buckets before one begin: at the bucket itself when
// there are none, or none are wanted.
func (s *histogramState) before(keys []float64, i int) float64 {
	if i == 0 || s.least > 0 {
		return keys[i]
	}
	return s.next(keys[i-1])
}

// show adds a bucket to the result.
func (s *histogramState) show(list []any, key float64, k *bucket) ([]any, error) {
	if k.count < s.least {
		return list, nil
	}
	if err := s.budget.count(1); err != nil {
		return nil, err
	}
	one, err := k.result(s.inner, s.keyFields(key))
	return append(list, one), err
}

// numeric is an aggregation whose result is a number, or several named numbers.
type numeric interface{ has(property string) bool }

// numericState is its state. A missing number is nil.
type numericState interface {
	number(property string) *float64
}

// isNotFinite reports whether JSON cannot express n.
func isNotFinite(n float64) bool { return math.IsNaN(n) || math.IsInf(n, 0) }

// numberOrNull returns a number, or null when there is none.
func numberOrNull(n float64, ok bool) *float64 {
	if !ok || isNotFinite(n) {
		return nil
	}
	return &n
}

// metricAgg reads an aggregation that makes no buckets; nil when the kind is none
// such.
func (p *parser) metricAgg(kind string, v any, at string) agg {
	switch kind {
	case "min", "max", "avg", "sum", "stats", "value_count":
		m, _ := p.options(v, at, "field")
		return metric{kind, p.field(m["field"], at+".field")}
	case "cardinality":
		m, _ := p.options(v, at, "field")
		return cardinality{p.field(m["field"], at+".field")}
	case "percentiles":
		return p.percentiles(v, at)
	case "top_hits":
		m, _ := p.options(v, at, "size", "sort", "_source")
		p.deep, p.aside = true, true
		t := topHits{page{order: newestFirst, limit: p.whole(m, "size", at, 3, 0, 10)}}
		if sort, given := m["sort"]; given {
			t.order = p.sorting(sort, at+".sort")
		}
		if fields, given := m["_source"]; given {
			t.source = p.source(fields, at+"._source")
		}
		return t
	}
	return nil
}

// metric is an aggregation that is computed from a few sums.
type metric struct {
	kind  string
	field field
}

func (m metric) has(property string) bool {
	if m.kind == "stats" {
		return slices.Contains([]string{"count", "min", "max", "avg", "sum"}, property)
	}
	return property == "" || property == "value"
}

func (m metric) begin(*budget) state { return &metricState{metric: m} }

type metricState struct {
	metric
	count         int
	sum, min, max float64
	dates         bool // the numbers are those of times
}

func (s *metricState) add(d Doc) error {
	if s.kind == "value_count" {
		s.count += len(s.field.valuesOf(d))
		return nil
	}
	for _, n := range s.field.numbers(d) {
		if s.count++; s.count == 1 {
			s.min, s.max = n, n
			_, s.dates = s.field.valuesOf(d)[0].(time.Time)
		}
		s.sum, s.min, s.max = s.sum+n, min(s.min, n), max(s.max, n)
	}
	return nil
}

func (s *metricState) number(property string) *float64 {
	some := s.count > 0
	switch cmp.Or(property, s.kind) {
	case "min":
		return numberOrNull(s.min, some)
	case "max":
		return numberOrNull(s.max, some)
	case "avg":
		return numberOrNull(s.sum/float64(s.count), some)
	case "sum":
		return numberOrNull(s.sum, true)
	case "value":
		return s.number("")
	}
	return numberOrNull(float64(s.count), true)
}

func (s *metricState) result() (map[string]any, error) {
	if s.kind != "stats" {
		return s.dated("value", s.number(""), map[string]any{}), nil
	}
	all := map[string]any{"count": s.count}
	for _, property := range []string{"min", "max", "avg", "sum"} {
		s.dated(property, s.number(property), all)
	}
	return all, nil
}

// dated adds a number; for a time also its text.
func (s *metricState) dated(name string, n *float64, to map[string]any) map[string]any {
	to[name] = n
	if s.dates && n != nil && s.kind != "sum" && name != "sum" {
		to[name+"_as_string"] = textOf(time.UnixMilli(int64(*n)))
	}
	return to
}

// percentiles are values below which a part of all values is.
type percentiles struct {
	field    field
	percents []float64
}

func (p *parser) percentiles(v any, at string) agg {
	m, _ := p.options(v, at, "field", "percents")
	a := percentiles{field: p.field(m["field"], at+".field"), percents: []float64{1, 5, 25, 50, 75, 95, 99}}
	v, given := m["percents"]
	if !given {
		return a
	}
	items, ok := v.([]any)
	if !ok || len(items) == 0 || len(items) > maxAggs {
		p.fault(at+".percents", "must be a list of 1 to %d numbers", maxAggs)
	}
	a.percents = nil
	for i, item := range items {
		n := p.number(item, itemPath(at+".percents", i))
		if n < 0 || n > 100 {
			p.fault(itemPath(at+".percents", i), "must be from 0 to 100")
		}
		a.percents = append(a.percents, n)
	}
	return a
}

func (a percentiles) begin(b *budget) state { return &percentilesState{percentiles: a, budget: b} }

type percentilesState struct {
	percentiles
	budget *budget
	values []float64
}

func (s *percentilesState) add(d Doc) error {
	found := s.field.numbers(d)
	s.values = append(s.values, found...)
	return s.budget.spend(valueCost * len(found))
}

func (s *percentilesState) result() (map[string]any, error) {
	slices.Sort(s.values)
	values := map[string]any{}
	for _, percent := range s.percents {
		values[decimal(percent)] = s.at(percent)
	}
	return map[string]any{"values": values}, nil
}

// at returns the value at a percentage, between two values a part of each.
func (s *percentilesState) at(percent float64) *float64 {
	if len(s.values) == 0 {
		return nil
	}
	zone := percent / 100 * float64(len(s.values)-1)
	low := int(zone)
	high := min(low+1, len(s.values)-1)
	part := zone - float64(low)
	return numberOrNull(s.values[low]*(1-part)+s.values[high]*part, true)
}

// topHits are the first documents of a bucket.
type topHits struct{ page }

func (t topHits) begin(b *budget) state { return &topHitsState{hits{page: t.page, budget: b}} }

type topHitsState struct{ hits }

func (s *topHitsState) result() (map[string]any, error) {
	list := []any{}
	for _, body := range s.documents() {
		list = append(list, map[string]any{"_source": body})
	}
	total := map[string]any{"value": s.seen, "relation": "eq"}
	return map[string]any{"hits": map[string]any{"total": total, "hits": list}}, nil
}

// cardinality is how many different values there are: exactly up to maxExact, about
// (within 3 % nearly always) beyond.
type cardinality struct{ field field }

const maxExact = 4096

func (a cardinality) has(property string) bool { return property == "" || property == "value" }

func (a cardinality) begin(b *budget) state {
	return &cardinalityState{cardinality: a, budget: b, exact: map[uint64]struct{}{}}
}

// cardinalityState stores the hashes of the values, and a sketch of them when they are too many.
type cardinalityState struct {
	cardinality
	budget *budget
	exact  map[uint64]struct{} // nil: there were too many
	sketch *distinct.Sketch
}

func (s *cardinalityState) add(d Doc) error {
	for _, v := range s.field.valuesOf(d) {
		if err := s.addHash(hashOf(v)); err != nil {
			return err
		}
	}
	return nil
}

func (s *cardinalityState) addHash(h uint64) error {
	if s.exact == nil {
		s.sketch.Add(h)
		return nil
	}
	if _, known := s.exact[h]; known {
		return nil
	}
	if len(s.exact) < maxExact {
		s.exact[h] = struct{}{}
		return s.budget.spend(2 * valueCost)
	}
	s.sketch = &distinct.Sketch{}
	for known := range s.exact {
		s.sketch.Add(known)
	}
	s.sketch.Add(h)
	s.exact = nil
	return s.budget.spend(distinct.Size - 2*valueCost*maxExact)
}

func (s *cardinalityState) number(string) *float64 {
	if s.exact != nil {
		return numberOrNull(float64(len(s.exact)), true)
	}
	return numberOrNull(float64(s.sketch.Count()), true)
}

func (s *cardinalityState) result() (map[string]any, error) {
	return map[string]any{"value": s.number("")}, nil
}

// hashOf is FNV-1a, mixed so that each bit depends on all of them.
func hashOf(v any) uint64 {
	h := uint64(14695981039346656037) ^ uint64(rank(v))
	for _, c := range []byte(textOf(v)) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	for range 2 {
		h ^= h >> 33
		h *= 0xff51afd7ed558ccd
	}
	return h ^ h>>33
}

// Collector makes the answer to a request out of documents. It is used by one
// goroutine.
type Collector struct {
	request *Request
	budget  budget
	hits    hits
	aggs    []state
}

// Result is the answer to a request.
type Result struct {
	Size      int               `json:"size"` // how many match; of many, that there are that many
	Documents []json.RawMessage `json:"documents"`
	Aggs      map[string]any    `json:"aggs,omitempty"`
}

// NewCollector returns a collector for the answer to r. It calls halt from time to time
// and fails with its error; nil: it is never halted.
func NewCollector(r *Request, halt func() error) *Collector {
	c := &Collector{request: r, budget: budget{field: "limit", halt: halt}}
	if r.Aggregates() {
		c.budget.field = "aggs"
	}
	c.hits = hits{page: r.page, budget: &c.budget}
	c.aggs = beginAll(r.aggs, &c.budget)
	return c
}

// Add adds the next matching document, in the order of OldestFirst. It returns false when no more are needed.
func (c *Collector) Add(d Doc) (more bool, err error) {
	if err := c.hits.add(d); err != nil {
		return false, err
	}
	for _, s := range c.aggs {
		if err := s.add(d); err != nil {
			return false, err
		}
	}
	counted := c.hits.seen >= maxCounted && !c.request.total
	return !counted || !c.hits.isFull() || c.request.Aggregates(), nil
}

// Result returns the answer.
func (c *Collector) Result() (Result, error) {
	r := Result{Size: c.hits.seen, Documents: c.hits.documents()}
	if !c.request.total {
		r.Size = min(r.Size, maxCounted)
	}
	if !c.request.Aggregates() {
		return r, nil
	}
	r.Aggs = map[string]any{}
	return r, addResults(r.Aggs, c.request.aggs, c.aggs)
}
