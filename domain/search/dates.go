package search

import (
	"strconv"
	"strings"
	"time"
)

// dateForms are how dates may be written, and what is left open then.
var dateForms = []struct{ form, unit string }{
	{time.RFC3339Nano, ""},
	{"2006-01-02T15:04:05.999999999", ""},
	{"2006-01-02T15:04Z07:00", "m"},
	{"2006-01-02T15:04", "m"},
	{time.DateOnly, "d"},
	{"2006-01", "M"},
	{"2006", "y"},
}

// parseDate reads a date, in UTC unless it says otherwise. unit is what it leaves
// open: that of a day is the time of day.
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
