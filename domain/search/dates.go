package search

import (
	"strconv"
	"strings"
	"time"
)

// dateForms are the formats of dates, and the unit that each leaves open.
var dateForms = []struct{ form, unit string }{
	{time.RFC3339Nano, ""},
	{"2006-01-02T15:04:05.999999999", ""},
	{"2006-01-02T15:04Z07:00", "m"},
	{"2006-01-02T15:04", "m"},
	{time.DateOnly, "d"},
	{"2006-01", "M"},
	{"2006", "y"},
}

// parseDate reads a date, in UTC unless it has a zone. unit is what it leaves open: for a
// day, the time of day.
func parseDate(text string) (at time.Time, unit string, ok bool) {
	if len(text) < 4 || text[0] < '0' || text[0] > '9' {
		return at, "", false // most texts are none: do not try them all
	}
	for _, f := range dateForms {
		if at, err := time.Parse(f.form, text); err == nil {
			return at.UTC(), f.unit, true
		}
	}
	return at, "", false
}

// date is a point in time as a request writes it: a date, or now, with math such as
// now-1d/d or 2026-01-01||+1M. up asks for the end of what it leaves open and of
// what it rounds to, otherwise it is the beginning.
func (p *parser) date(text string, up bool) (at time.Time, ok bool) {
	math, isNow := strings.CutPrefix(text, "now")
	at = p.now.UTC()
	if !isNow {
		base, rest, _ := strings.Cut(text, "||")
		var unit string
		if at, unit, ok = parseDate(base); !ok {
			return at, false
		}
		if math = rest; math == "" && up && unit != "" {
			math = "/" + unit
		}
	}
	return calculate(at, math, up)
}

// maxSteps bounds how long date math may be.
const maxSteps = 20

// calculate carries out date math: +1h, -3d and /M, one after the other.
func calculate(at time.Time, math string, up bool) (time.Time, bool) {
	for range maxSteps {
		if math == "" {
			return at, true
		}
		sign, rest := math[0], math[1:]
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil {
			n = 1
		}
		if rest = rest[digits:]; rest == "" || digits > 6 || sign == '/' && digits > 0 {
			return at, false
		}
		unit := rest[:1]
		math = rest[1:]
		var ok bool
		switch sign {
		case '+':
			at, ok = shift(at, n, unit)
		case '-':
			at, ok = shift(at, -n, unit)
		case '/':
			at, ok = round(at, unit, up)
		}
		if !ok {
			return at, false
		}
	}
	return at, math == ""
}

func shift(at time.Time, n int, unit string) (time.Time, bool) {
	switch unit {
	case "y":
		return at.AddDate(n, 0, 0), true
	case "M":
		return at.AddDate(0, n, 0), true
	case "w":
		return at.AddDate(0, 0, 7*n), true
	case "d":
		return at.AddDate(0, 0, n), true
	case "h", "H":
		return at.Add(time.Duration(n) * time.Hour), true
	case "m":
		return at.Add(time.Duration(n) * time.Minute), true
	case "s":
		return at.Add(time.Duration(n) * time.Second), true
	}
	return at, false
}

func round(at time.Time, unit string, up bool) (time.Time, bool) {
	if unit == "H" {
		unit = "h"
	}
	c, ok := calendarUnits["1"+unit]
	if !ok || unit == "q" {
		return at, false
	}
	start := c.floor(at)
	if up {
		return c.next(start).Add(-time.Nanosecond), true
	}
	return start, true
}

// calendar is a unit of the calendar: not all of them are equally long.
type calendar struct {
	floor func(time.Time) time.Time // the beginning of the unit that a time is in
	next  func(time.Time) time.Time // the beginning of the unit after one
}

// calendarUnits are the units by their names.
var calendarUnits = func() map[string]calendar {
	day := func(at time.Time, months, days int) time.Time {
		return time.Date(at.Year(), at.Month()-time.Month(months), at.Day()-days, 0, 0, 0, 0, at.Location())
	}
	ahead := func(years, months, days int) func(time.Time) time.Time {
		return func(at time.Time) time.Time { return at.AddDate(years, months, days) }
	}
	units := map[string]calendar{
		"1s": clock(time.Second),
		"1m": clock(time.Minute),
		"1h": clock(time.Hour),
		"1d": {func(at time.Time) time.Time { return day(at, 0, 0) }, ahead(0, 0, 1)},
		"1w": {func(at time.Time) time.Time { return day(at, 0, (int(at.Weekday())+6)%7) }, ahead(0, 0, 7)},
		"1M": {func(at time.Time) time.Time { return day(at, 0, at.Day()-1) }, ahead(0, 1, 0)},
		"1q": {func(at time.Time) time.Time { return day(at, (int(at.Month())-1)%3, at.Day()-1) }, ahead(0, 3, 0)},
		"1y": {func(at time.Time) time.Time { return day(at, int(at.Month())-1, at.Day()-1) }, ahead(1, 0, 0)},
	}
	for long, short := range map[string]string{
		"second": "1s", "minute": "1m", "hour": "1h", "day": "1d", "week": "1w", "month": "1M", "quarter": "1q", "year": "1y",
	} {
		units[long] = units[short]
	}
	return units
}()

// clock is a unit of the same length everywhere, which begins with the hour of the time zone. One of more than an
// hour begins at the same times of every day, also when daylight saving time changes.
func clock(length time.Duration) calendar {
	step := length.Milliseconds()
	if length > time.Hour {
		return calendar{
			floor: func(at time.Time) time.Time { return fromWallMillis(floorTo(wallMillis(at), step), at.Location()) },
			next: func(at time.Time) time.Time {
				from, after := floorTo(wallMillis(at), step), at
				for !after.After(at) { // again where an hour is left out
					from += step
					after = fromWallMillis(from, at.Location())
				}
				return after
			},
		}
	}
	return calendar{
		floor: func(at time.Time) time.Time {
			local := wallMillis(at)
			return time.UnixMilli(at.UnixMilli() - local + floorTo(local, step)).In(at.Location())
		},
		next: func(at time.Time) time.Time { return at.Add(length) },
	}
}

// wallMillis returns the local time in milliseconds.
func wallMillis(at time.Time) int64 {
	_, offset := at.Zone()
	return at.UnixMilli() + int64(offset)*1000
}

// fromWallMillis returns the time for a local time in milliseconds.
func fromWallMillis(ms int64, zone *time.Location) time.Time {
	t := time.UnixMilli(ms).UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
}

// floorTo returns the greatest multiple of step that is not above n.
func floorTo(n, step int64) int64 {
	rest := n % step
	if rest < 0 {
		rest += step
	}
	return n - rest
}
