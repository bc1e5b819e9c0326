package search

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
)

// histogram makes buckets of equal width.
type histogram struct {
	field field
	least int // documents of a bucket that is shown
	inner []named
	scale
}

// scale is where buckets begin. A bucket is known by the number of its beginning.
type scale struct {
	keys  func(d Doc) []float64 // the buckets that a document is in
	next  func(key float64) float64
	shown func(key float64) map[string]any
}

func (p *parser) histogram(v any, at string, inner []named) agg {
	m, _ := p.options(v, at, "field", "interval", "min_doc_count")
	f, width := p.field(m["field"], at+".field"), p.number(m["interval"], at+".interval")
	if width <= 0 {
		p.fault(at+".interval", "must be more than 0")
		width = 1
	}
	return histogram{field: f, least: p.whole(m, "min_doc_count", at, 0, 0, math.MaxInt32), inner: inner, scale: scale{
		keys: func(d Doc) []float64 {
			keys := f.numbers(d)
			for i, n := range keys {
				keys[i] = math.Floor(n/width)*width + 0 // there is no -0
			}
			return keys
		},
		next:  func(key float64) float64 { return math.Round(key/width+1) * width },
		shown: func(key float64) map[string]any { return map[string]any{"key": key} },
	}}
}

func (p *parser) dateHistogram(v any, at string, inner []named) agg {
	m, _ := p.options(v, at, "field", "calendar_interval", "fixed_interval", "min_doc_count", "time_zone")
	f, unit, zone := p.field(m["field"], at+".field"), p.interval(m, at), p.zone(m, at)
	return histogram{field: f, least: p.whole(m, "min_doc_count", at, 0, 0, math.MaxInt32), inner: inner, scale: scale{
		keys: func(d Doc) (keys []float64) {
			for _, t := range f.times(d) {
				keys = append(keys, float64(unit.floor(t.In(zone)).UnixMilli()))
			}
			return keys
		},
		next: func(key float64) float64 { return float64(unit.next(time.UnixMilli(int64(key)).In(zone)).UnixMilli()) },
		shown: func(key float64) map[string]any {
			return map[string]any{"key": int64(key), "key_as_string": dateText(time.UnixMilli(int64(key)).In(zone))}
		},
	}}
}

// dateText is a time as buckets show it, in its own zone.
func dateText(at time.Time) string {
	if _, offset := at.Zone(); offset == 0 {
		return at.UTC().Format(domain.Timestamp)
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
	return different(s.keys(d), func(key float64) error {
		if isOdd(key) {
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

// show adds a bucket to those that are shown.
func (s *histogramState) show(list []any, key float64, k *bucket) ([]any, error) {
	if k.count < s.least {
		return list, nil
	}
	if err := s.budget.count(1); err != nil {
		return nil, err
	}
	one, err := k.result(s.inner, s.shown(key))
	return append(list, one), err
}
