package sandbox

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the child has no files

	"github.com/grafana/sobek"
)

// dateFields are the options of Intl.DateTimeFormat that name a part of a date or a time.
var dateFields = []struct {
	key   string
	time  bool
	known []string
}{
	{"weekday", false, []string{"long", "short", "narrow"}},
	{"year", false, []string{"numeric", "2-digit"}},
	{"month", false, []string{"numeric", "2-digit", "long", "short", "narrow"}},
	{"day", false, []string{"numeric", "2-digit"}},
	{"hour", true, []string{"numeric", "2-digit"}},
	{"minute", true, []string{"numeric", "2-digit"}},
	{"second", true, []string{"numeric", "2-digit"}},
}

// dateOptions checks and completes the options of Intl.DateTimeFormat. Wanted is which parts
// may be asked for (date, time or any); defaults (date, time or all) are there when none is.
func (b *builtins) dateOptions(call sobek.FunctionCall) sobek.Value {
	o := options{call.Argument(1).ToObject(b.vm), b}
	wanted, defaults := call.Argument(2).String(), call.Argument(3).String()
	l := localeNamed(call.Argument(0).String())
	resolved := b.object("locale", call.Argument(0).String(), "calendar", "gregory", "numberingSystem", "latn")
	set := func(key string, v any) { _ = resolved.Set(key, v) } // a plain object takes everything
	zone := o.text("timeZone", "UTC")
	at, err := loadZone(zone)
	if err != nil {
		b.throw(b.rangeError, "Invalid time zone specified: %s", zone)
	}
	set("timeZone", at.String())
	for _, key := range []string{"era", "dayPeriod"} {
		if v := o.Get(key); v != nil && !sobek.IsUndefined(v) {
			b.throw(b.rangeError, "%s is not offered here", key)
		}
	}
	styles := [2]string{o.text("dateStyle", "", "full", "long", "medium", "short"), o.text("timeStyle", "", "full", "long", "medium", "short")}
	asked, hours := false, styles[1] != ""
	for _, field := range dateFields {
		given := o.text(field.key, "", field.known...)
		if given == "" {
			continue
		}
		if styles != [2]string{} {
			panic(b.vm.NewTypeError("%s cannot be given together with dateStyle or timeStyle", field.key))
		}
		set(field.key, given)
		asked = asked || wanted == "any" || field.time == (wanted == "time")
		hours = hours || field.key == "hour"
	}
	if digits, ok := o.number("fractionalSecondDigits", 1, 3); ok {
		set("fractionalSecondDigits", digits)
		asked = asked || wanted != "date"
	}
	if name := o.text("timeZoneName", "", "short", "long", "shortOffset", "longOffset", "shortGeneric", "longGeneric"); name != "" {
		set("timeZoneName", name)
	}
	switch {
	case styles != [2]string{}:
		for i, key := range []string{"dateStyle", "timeStyle"} {
			if styles[i] != "" {
				set(key, styles[i])
			}
		}
	case !asked:
		for _, field := range dateFields[1:] {
			if defaults == "all" || field.time == (defaults == "time") {
				set(field.key, "numeric")
				hours = hours || field.time
			}
		}
	}
	if hours {
		b.setHours(o, l, set)
	}
	return resolved
}

// setHours decides whether hours are of 12 or of 24.
func (b *builtins) setHours(o options, l locale, set func(string, any)) {
	twelve := l.hour12
	switch o.text("hourCycle", "", "h11", "h12", "h23", "h24") {
	case "h11", "h12":
		twelve = true
	case "h23", "h24":
		twelve = false
	}
	if v := o.Get("hour12"); v != nil && !sobek.IsUndefined(v) {
		twelve = v.ToBoolean()
	}
	set("hour12", twelve)
	set("hourCycle", map[bool]string{true: "h12", false: "h23"}[twelve])
}

// loadZone returns a time zone by its name, or by its offset such as +02:00.
func loadZone(name string) (*time.Location, error) {
	if t, err := time.Parse("-07:00", name); err == nil {
		_, offset := t.Zone()
		return time.FixedZone(name, offset), nil
	}
	switch strings.ToLower(name) {
	case "utc", "gmt", "etc/utc", "etc/gmt":
		return time.UTC, nil
	case "", "local":
		return nil, fmt.Errorf("no time zone is called %q", name)
	}
	return time.LoadLocation(name)
}

// formatDate returns the pieces of a moment, in milliseconds of the epoch.
func (b *builtins) formatDate(call sobek.FunctionCall) sobek.Value {
	o := options{call.Argument(1).ToObject(b.vm), b}
	at := call.Argument(0).ToFloat()
	if math.IsNaN(at) || math.Abs(at) > 8.64e15 {
		b.throw(b.rangeError, "Invalid time value")
	}
	zone, err := loadZone(o.text("timeZone", "UTC"))
	if err != nil {
		b.throw(b.rangeError, "Invalid time zone specified")
	}
	f := dateFormat{options: o, locale: localeNamed(o.text("locale", "en")), at: time.UnixMilli(int64(at)).In(zone)}
	return b.parts(f.parts())
}

// dateFormat writes one moment with options that were completed.
type dateFormat struct {
	options
	locale locale
	at     time.Time
}

func (f dateFormat) parts() []part {
	dateStyle, timeStyle := f.text("dateStyle", ""), f.text("timeStyle", "")
	var date, clock []part
	between := f.locale.at
	switch {
	case dateStyle != "" || timeStyle != "":
		date, clock = f.styledDate(dateStyle), f.styledTime(timeStyle)
		if dateStyle == "full" || dateStyle == "long" {
			between = f.locale.textAt
		}
	default:
		date, clock = f.date(), f.time()
		if name := f.text("timeZoneName", ""); name != "" {
			if len(clock) > 0 {
				clock = append(clock, part{"literal", " "})
			} else if len(date) > 0 {
				date = append(date, part{"literal", ", "})
			}
			clock = append(clock, part{"timeZoneName", f.zoneName()})
			if f.time() == nil {
				return append(date, clock...)
			}
		}
		if month := f.text("month", ""); (month == "long" || month == "short") && f.locale.hour12 {
			between = " at "
			if month == "short" {
				between = ", "
			}
		} else if month == "long" {
			between = f.locale.textAt
		}
	}
	if len(date) > 0 && len(clock) > 0 {
		date = append(date, part{"literal", between})
	}
	return append(date, clock...)
}

func (f dateFormat) styledDate(style string) []part {
	switch style {
	case "full":
		return f.pieces("W" + f.locale.textWeek + f.locale.text)
	case "long":
		return f.pieces(f.locale.text)
	case "medium":
		return f.pieces(f.locale.medium)
	case "short":
		return f.pieces(f.locale.short)
	}
	return nil
}

func (f dateFormat) styledTime(style string) []part {
	switch style {
	case "":
		return nil
	case "short":
		return f.clock("numeric", "2-digit", "")
	case "medium":
		return f.clock("numeric", "2-digit", "2-digit")
	}
	return append(f.clock("numeric", "2-digit", "2-digit"), part{"literal", " "}, part{"timeZoneName", f.zoneName()})
}

// date returns the pieces of the parts of a date that were asked for.
func (f dateFormat) date() []part {
	weekday, year, month, day := f.text("weekday", ""), f.text("year", ""), f.text("month", ""), f.text("day", "")
	name := month == "long" || month == "short" || month == "narrow"
	pattern := f.pattern(year != "", month != "", day != "", name)
	if f.locale.twoDigit && !name && (month != "" && (day != "" || year != "")) {
		pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, "D", "DD"), "M", "MM")
	}
	if day == "2-digit" && !strings.Contains(pattern, "DD") {
		pattern = strings.ReplaceAll(pattern, "D", "DD")
	}
	switch month {
	case "2-digit":
		if !strings.Contains(pattern, "MM") {
			pattern = strings.ReplaceAll(pattern, "M", "MM")
		}
	case "short":
		pattern = strings.ReplaceAll(pattern, "N", "n")
	case "narrow":
		pattern = strings.ReplaceAll(pattern, "N", "1")
	}
	if year == "2-digit" {
		pattern = strings.ReplaceAll(pattern, "Y", "YY")
	}
	list := f.pieces(pattern)
	if weekday == "" {
		return list
	}
	week := f.pieces(map[string]string{"long": "W", "short": "w", "narrow": "2"}[weekday])
	if len(list) == 0 {
		return week
	}
	between := f.locale.weekday
	if name {
		between = f.locale.textWeek
	}
	return append(append(week, part{"literal", between}), list...)
}

// pattern chooses how several parts of a date are put together.
func (f dateFormat) pattern(year, month, day, name bool) string {
	l := f.locale
	switch {
	case year && month && day && name:
		return l.text
	case year && month && day:
		return l.numeric
	case month && day && name:
		return l.textDay
	case month && day:
		return l.monthDay
	case year && month && name:
		return l.textYear
	case year && month:
		return l.yearMon
	case month && name:
		return "N"
	case month:
		return "M"
	case year && day:
		return "D Y"
	case day:
		return "D"
	case year:
		return "Y"
	}
	return ""
}

// pieces writes a pattern: D, M and Y are digits, two of them when they stand twice; N and n
// are the name of the month, W and w that of the weekday, long and short; 1 and 2 are their
// first letters. The rest is text.
func (f dateFormat) pieces(pattern string) []part {
	var list []part
	literal := ""
	add := func(kind, text string) {
		if literal != "" {
			list = append(list, part{"literal", literal})
			literal = ""
		}
		list = append(list, part{kind, text})
	}
	year, month, day := f.at.Date()
	for i := 0; i < len(pattern); i++ {
		twice := i+1 < len(pattern) && pattern[i+1] == pattern[i]
		switch c := pattern[i]; c {
		case 'D':
			add("day", padded(day, twice))
		case 'M':
			add("month", padded(int(month), twice))
		case 'Y':
			if twice {
				add("year", padded(year%100, true))
			} else {
				add("year", strconv.Itoa(year))
			}
		case 'N':
			add("month", strings.Fields(f.locale.months)[month-1])
		case 'n':
			add("month", strings.Fields(f.locale.shortMonths)[month-1])
		case 'W':
			add("weekday", strings.Fields(f.locale.weekdays)[f.at.Weekday()])
		case 'w':
			add("weekday", strings.Fields(f.locale.shortWeekdays)[f.at.Weekday()])
		case '1':
			add("month", firstLetter(strings.Fields(f.locale.months)[month-1]))
		case '2':
			add("weekday", firstLetter(strings.Fields(f.locale.weekdays)[f.at.Weekday()]))
		default:
			literal += string(c)
			twice = false
		}
		if twice {
			i++
		}
	}
	if literal != "" {
		list = append(list, part{"literal", literal})
	}
	return list
}

func firstLetter(name string) string { return strings.ToUpper(string([]rune(name)[:1])) }

func padded(n int, two bool) string {
	if two {
		return fmt.Sprintf("%02d", n)
	}
	return strconv.Itoa(n)
}

// time returns the pieces of the parts of a time that were asked for.
func (f dateFormat) time() []part {
	return f.clock(f.text("hour", ""), f.text("minute", ""), f.text("second", ""))
}

// clock writes a time. Minutes and seconds have two digits where something is before them.
func (f dateFormat) clock(hour, minute, second string) []part {
	var list []part
	twelve := f.Get("hour12") != nil && f.Get("hour12").ToBoolean()
	if hour != "" {
		n, two := f.at.Hour(), hour == "2-digit" || f.locale.hour == "HH"
		if twelve {
			n, two = (n+11)%12+1, hour == "2-digit"
		}
		list = append(list, part{"hour", padded(n, two)})
	}
	if minute != "" {
		if hour != "" {
			list = append(list, part{"literal", ":"})
		}
		list = append(list, part{"minute", padded(f.at.Minute(), hour != "" || second != "" || minute == "2-digit")})
	}
	if second != "" {
		if len(list) > 0 {
			list = append(list, part{"literal", ":"})
		}
		list = append(list, part{"second", padded(f.at.Second(), len(list) > 0 || second == "2-digit")})
	}
	if digits, ok := f.number("fractionalSecondDigits", 1, 3); ok {
		if second != "" {
			list = append(list, part{"literal", f.locale.decimal})
		}
		list = append(list, part{"fractionalSecond", fmt.Sprintf("%03d", f.at.Nanosecond()/1e6)[:digits]})
	}
	switch {
	case hour == "":
	case twelve:
		list = append(list, part{"literal", " "}, part{"dayPeriod", map[bool]string{true: "AM", false: "PM"}[f.at.Hour() < 12]})
	case minute == "" && f.locale.hourOf != "":
		list = append(list, part{"literal", f.locale.hourOf})
	}
	return list
}

// zoneName is UTC, or the distance to it: the names of zones in languages are not known here.
func (f dateFormat) zoneName() string {
	_, seconds := f.at.Zone()
	if seconds == 0 {
		if f.at.Location() == time.UTC {
			return "UTC"
		}
		return "GMT"
	}
	sign := "+"
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	text := fmt.Sprintf("GMT%s%d", sign, seconds/3600)
	if minutes := seconds / 60 % 60; minutes != 0 {
		text += fmt.Sprintf(":%02d", minutes)
	}
	return text
}
