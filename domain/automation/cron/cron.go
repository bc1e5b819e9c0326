// Package cron reads five-field schedules and tells when they fire.
//
// Fields are minute, hour, day, month and weekday: *, lists, ranges, steps and
// English names. A schedule that restricts both day and weekday fires when
// either fits. A local time that a clock change skips fires at the next
// instant; one that comes twice fires the first time only.
package cron

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Schedule is a set of local times.
type Schedule struct {
	src                               string
	minute, hour, day, month, weekday uint64 // bit n is set when n fits
	anyDay, anyWeekday                bool
}

// span is what a field may hold.
type span struct {
	name      string
	low, high int
	names     string // of the values from low on, three letters each
}

var spans = [5]span{
	{"minute", 0, 59, ""},
	{"hour", 0, 23, ""},
	{"day", 1, 31, ""},
	{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
	{"weekday", 0, 7, "sunmontuewedthufrisat"},
}

var shorthands = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
}

// Parse reads a schedule.
func Parse(src string) (*Schedule, error) {
	text := strings.TrimSpace(src)
	if strings.HasPrefix(text, "@") {
		long, ok := shorthands[text]
		if !ok {
			return nil, errors.New("unknown schedule: use @hourly, @daily, @weekly, @monthly or @yearly")
		}
		text = long
	}
	fields := strings.Fields(text)
	if len(fields) != len(spans) {
		return nil, fmt.Errorf("a schedule has 5 fields (minute hour day month weekday), not %d", len(fields))
	}
	s := &Schedule{src: src}
	for i, into := range []*uint64{&s.minute, &s.hour, &s.day, &s.month, &s.weekday} {
		bits, err := spans[i].parse(fields[i])
		if err != nil {
			return nil, err
		}
		*into = bits
	}
	if s.weekday&(1<<7) != 0 {
		s.weekday |= 1 // 7 is Sunday too
	}
	s.anyDay, s.anyWeekday = fields[2] == "*", fields[4] == "*"
	if s.anyWeekday && !s.hasDay() {
		return nil, fmt.Errorf("it never fires: no month %s has a day %s", fields[3], fields[2])
	}
	return s, nil
}

// hasDay reports whether one of its days is in one of its months, in a leap year.
func (s *Schedule) hasDay() bool {
	for month := time.January; month <= time.December; month++ {
		last := time.Date(2000, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if s.month&(1<<month) != 0 && s.day&(1<<(last+1)-1) != 0 {
			return true
		}
	}
	return false
}

// String returns the schedule as written.
func (s *Schedule) String() string { return s.src }

func (f span) parse(text string) (uint64, error) {
	var bits uint64
	for item := range strings.SplitSeq(text, ",") {
		more, err := f.item(item)
		if err != nil {
			return 0, fmt.Errorf("%s %q: %w", f.name, item, err)
		}
		bits |= more
	}
	return bits, nil
}

var errStep = errors.New("a step is a number from 1 on")

// item reads *, n, a-b, and those with /step.
func (f span) item(text string) (uint64, error) {
	values, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		var ok bool
		if step, ok = digits(stepText); !ok || step < 1 {
			return 0, errStep
		}
	}
	low, high, err := f.bounds(values, stepped)
	if err != nil {
		return 0, err
	}
	var bits uint64
	for n := low; n <= high; n += step {
		bits |= 1 << n
	}
	return bits, nil
}

// bounds returns the first and last value; a single one with a step goes up to
// the end.
func (f span) bounds(text string, stepped bool) (low, high int, err error) {
	if text == "*" {
		return f.low, f.last(), nil
	}
	first, last, ranged := strings.Cut(text, "-")
	if low, err = f.value(first); err != nil {
		return 0, 0, err
	}
	switch {
	case ranged:
		if high, err = f.value(last); err == nil && high < low {
			err = errors.New("a range ends after it begins")
		}
	case stepped:
		high = f.last()
	default:
		high = low
	}
	return low, high, err
}

// last is the highest value that * stands for: Sunday counts once.
func (f span) last() int {
	if f.name == "weekday" {
		return f.high - 1
	}
	return f.high
}

func (f span) value(text string) (int, error) {
	if len(text) == 3 && f.names != "" {
		if i := strings.Index(f.names, strings.ToLower(text)); i >= 0 && i%3 == 0 {
			return f.low + i/3, nil
		}
	}
	n, ok := digits(text)
	if !ok || n < f.low || n > f.high {
		return 0, fmt.Errorf("expected a value from %d to %d", f.low, f.high)
	}
	return n, nil
}

func digits(text string) (int, bool) {
	if text == "" || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// fits reports whether the schedule fires on a day.
func (s *Schedule) fits(day time.Time) bool {
	if s.month&(1<<day.Month()) == 0 {
		return false
	}
	byDay, byWeekday := s.day&(1<<day.Day()) != 0, s.weekday&(1<<day.Weekday()) != 0
	if s.anyDay || s.anyWeekday {
		return byDay && byWeekday
	}
	return byDay || byWeekday
}

// horizon is how many days are searched: the 29th of February may be eight
// years away.
const horizon = 366 * 9

// Next returns the first firing after t in zone, false when there is none for
// years.
func (s *Schedule) Next(t time.Time, zone *time.Location) (time.Time, bool) {
	local := t.In(zone)
	// Days are counted in UTC, where each has its midnight.
	day := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	for range horizon {
		if s.fits(day) {
			if at, ok := s.onDay(day, t, zone); ok {
				return at, true
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}, false
}

// Upcoming returns the next n firings after t in zone.
func (s *Schedule) Upcoming(t time.Time, zone *time.Location, n int) []time.Time {
	var all []time.Time
	for len(all) < n {
		next, ok := s.Next(t, zone)
		if !ok {
			break
		}
		all = append(all, next)
		t = next
	}
	return all
}

// Period returns the shortest time between two firings, as far as they can be
// foreseen; false when there are no two.
func (s *Schedule) Period() (time.Duration, bool) {
	const samples = 1500 // more than a day of minutes
	var shortest time.Duration
	at, ok := s.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC)
	found := false
	for range samples {
		next, more := s.Next(at, time.UTC)
		if !ok || !more {
			break
		}
		if gap := next.Sub(at); !found || gap < shortest {
			shortest, found = gap, true
		}
		at = next
	}
	return shortest, found
}

// onDay returns the first firing of a day after t.
func (s *Schedule) onDay(day, t time.Time, zone *time.Location) (time.Time, bool) {
	for hour := range 24 {
		if s.hour&(1<<hour) == 0 || !instant(day, hour, 59, zone).After(t) {
			continue // an hour that is over has no minute after t
		}
		for minute := range 60 {
			if s.minute&(1<<minute) == 0 {
				continue
			}
			if at := instant(day, hour, minute, zone); at.After(t) {
				return at, true
			}
		}
	}
	return time.Time{}, false
}

// instant returns when the clocks of zone show a time of a day: the first time
// if they show it twice, the end of the gap if they skip it.
func instant(day time.Time, hour, minute int, zone *time.Location) time.Time {
	at := time.Date(day.Year(), day.Month(), day.Day(), hour, minute, 0, 0, zone)
	start, end := at.ZoneBounds()
	if at.Hour() != hour || at.Minute() != minute {
		// Go moved it out of the gap, to one of its sides.
		if moved := at.Hour()*60 + at.Minute(); at.Day() == day.Day() && moved > hour*60+minute {
			return start
		}
		return end
	}
	if start.IsZero() {
		return at
	}
	_, before := start.Add(-time.Second).Zone()
	_, now := at.Zone()
	if earlier := at.Add(time.Duration(now-before) * time.Second); before > now && earlier.Before(start) {
		return earlier
	}
	return at
}
