package expr

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"svc/domain/value"
)

// isoTime is the text form of an instant.
const isoTime = "2006-01-02T15:04:05.000Z"

// maxInstant is the last epoch millisecond that counts as a date.
const maxInstant = 8.64e15

var isoDate = regexp.MustCompile(`^(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?` +
	`(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d{2}(?::?\d{2})?)?)?$`)

// parseInstant reads an ISO 8601 string or epoch milliseconds.
func parseInstant(v any) (time.Time, bool) {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.Abs(v) > maxInstant {
			return time.Time{}, false
		}
		return time.UnixMilli(int64(v)).UTC(), true
	case string:
		return parseISO(strings.TrimSpace(v))
	}
	return time.Time{}, false
}

// instant reads v as an instant and charges the budget.
func (e *evaluation) instant(v any) (time.Time, bool) {
	if !e.spend(lengthOf(v)) {
		return time.Time{}, false
	}
	return parseInstant(v)
}

func parseISO(s string) (time.Time, bool) {
	m := isoDate.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, false
	}
	n := func(i, otherwise int) int {
		if m[i] == "" {
			return otherwise
		}
		n, _ := strconv.Atoi(m[i])
		return n
	}
	nanos, _ := strconv.Atoi((m[7] + "000000000")[:9])
	year, month, day := n(1, 0), n(2, 1), n(3, 1)
	hour, minute, second := n(4, 0), n(5, 0), n(6, 0)
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	if t.Month() != time.Month(month) || t.Day() != day || t.Hour() != hour || t.Minute() != minute || t.Second() != second {
		return time.Time{}, false // the 30th of February
	}
	shift, ok := parseOffset(m[8])
	return t.Add(-shift), ok
}

// parseOffset reads Z, ±hh, ±hhmm or ±hh:mm.
func parseOffset(zone string) (time.Duration, bool) {
	if zone == "" || strings.EqualFold(zone, "z") {
		return 0, true
	}
	digits := strings.ReplaceAll(zone[1:], ":", "") + "00"
	hours, _ := strconv.Atoi(digits[:2])
	minutes, _ := strconv.Atoi(digits[2:4])
	shift := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if zone[0] == '-' {
		shift = -shift
	}
	return shift, hours < 24 && minutes < 60
}

func millis(t time.Time) float64 { return float64(t.UnixMilli()) }

// costOfFormat is what a character of a format costs: a token may become a long text.
const costOfFormat = 500

// date returns epoch milliseconds, or text when there is a format.
func date(c *callArgs) any {
	t, ok := c.instant(c.arg(0))
	if len(c.args) == 1 {
		if !ok {
			return value.Undefined
		}
		return millis(t)
	}
	zone := c.zone(c.arg(3))
	format := c.stringArg(1)
	locale := c.Locale
	if s, ok := c.arg(2).(string); ok && s != "" {
		locale = s
	}
	if !c.spend(costOfFormat*(len(format)+len(locale))) || !ok {
		return value.Undefined
	}
	return formatDate(t.In(zone), format, locale)
}

// ParseInstant reads an ISO 8601 string or epoch milliseconds.
func ParseInstant(v any) (time.Time, bool) { return parseInstant(v) }

// FormatDate writes an ISO 8601 string or epoch milliseconds by the tokens of a format, in UTC. ok is false when v is
// no date.
func FormatDate(v any, format, locale string) (text string, ok bool) {
	t, ok := parseInstant(v)
	if !ok {
		return "", false
	}
	return formatDate(t, format, locale), true
}

func (c *callArgs) zone(v any) *time.Location {
	zone := c.Zone
	if zone == nil {
		zone = time.UTC
	}
	name, ok := v.(string)
	switch {
	case value.IsNothing(v):
		return zone
	case ok && name == "UTC":
		return time.UTC
	case ok && c.Zones != nil && name != "" && name != "Local":
		if found, err := c.Zones(name); err == nil {
			return found
		}
	}
	c.refuse("unknown zone " + shorten(c.evaluation.text(v)))
	return zone
}

// dateParts is a call that yields an instant, with a key behind it.
type dateParts struct{ node }

func (d dateParts) eval(e *evaluation) any {
	t, ok := e.instant(d.node.eval(e))
	if !ok {
		return value.Undefined
	}
	return value.NewObject(
		"hour", float64(t.Hour()), "minute", float64(t.Minute()), "second", float64(t.Second()),
		"date", float64(t.Day()), "month", float64(t.Month()), "year", float64(t.Year()),
		"day", float64(t.Weekday()), "ts", millis(t), "iso", t.Format(isoTime),
	)
}

// units are the lengths of those that are always the same.
var units = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
}

// readDuration reads a number of units: milliseconds when they are always as long, else months.
func (c *callArgs) readDuration(amount, unit int) (millis, months float64) {
	name := strings.TrimSuffix(strings.ToLower(c.stringArg(unit)), "s")
	n, ok := c.arg(amount).(float64)
	length, fixed := units[name]
	switch {
	case c.err != nil:
	case !ok || math.IsNaN(n):
		c.refuse("expected a number of units")
	case fixed:
		return n * float64(length.Milliseconds()), 0
	case name == "month":
		return 0, n
	case name == "year":
		return 0, 12 * n
	default:
		c.refuse("unknown unit " + shorten(c.textArg(unit)))
	}
	return 0, 0
}

// now returns the time, as date does.
func now(c *callArgs) any { return millis(c.now()) }

// dateAdd returns a date so many units later, or earlier when there are less than none.
func dateAdd(c *callArgs) any {
	passed, months := c.readDuration(1, 2)
	if c.err == nil && months != math.Trunc(months) {
		c.refuse("expected a whole number of months")
	}
	t, ok := c.instant(c.arg(0))
	if c.err != nil || !ok || math.Abs(months) > maxMonths {
		return value.Undefined
	}
	if months != 0 {
		t = addMonths(t, int(months))
	}
	if moved := millis(t) + math.Trunc(passed); math.Abs(moved) <= maxInstant {
		return moved
	}
	return value.Undefined
}

// maxMonths is more months than there are between two dates.
const maxMonths = 12 * 600_000

// elapsed reports whether so many units lie between a date and now.
func elapsed(c *callArgs) any {
	passed, months := c.readDuration(2, 1)
	if c.err != nil {
		return value.Undefined
	}
	t, ok := c.instant(c.arg(0))
	if !ok {
		return false
	}
	now := c.now()
	if months == 0 {
		return millis(now)-millis(t) >= passed
	}
	return math.Abs(months) < 12*10_000 && !now.Before(addMonths(t, int(months)))
}

// addMonths stays in the month it comes to: a month after the 31st of January
// is the last of February.
func addMonths(t time.Time, n int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

var (
	longTokens = regexp.MustCompile(`\[[^\]]*\]|LTS|LT|L{1,4}|l{1,4}`)
	dateTokens = regexp.MustCompile(`\[[^\]]*\]|YYYY|YY|M{1,4}|D{1,2}|d{1,4}|H{1,2}|h{1,2}|m{1,2}|s{1,2}|SSS|A|a|ZZ|Z`)
	shortening = regexp.MustCompile(`\[[^\]]*\]|MMMM|MM|DD|dddd`)
)

// formatDate writes t by the tokens of format; what is no token stays.
func formatDate(t time.Time, format, locale string) string {
	language, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(locale, "_", "-")), "-")
	l, ok := locales[language]
	if !ok {
		l = locales["en"]
	}
	format = longTokens.ReplaceAllStringFunc(format, l.long)
	return dateTokens.ReplaceAllStringFunc(format, func(token string) string { return l.token(t, token) })
}

// long returns the tokens that L, LT and the like are short for. The lower-case ones are
// the upper-case ones with short names and without leading zeros.
func (l locale) long(token string) string {
	switch {
	case token[0] == '[':
		return token
	case token == "LT":
		return l.time
	case token == "LTS":
		return strings.Replace(l.time, "mm", "mm:ss", 1)
	case token[0] == 'l':
		return shortening.ReplaceAllStringFunc(l.long(strings.ToUpper(token)), func(s string) string {
			if s[0] == '[' {
				return s
			}
			return s[1:]
		})
	}
	return [...]string{l.day, l.text, l.text + l.at + l.time, l.weekday + l.text + l.at + l.time}[len(token)-1]
}

func (l locale) token(t time.Time, token string) string {
	switch token[0] {
	case '[':
		return token[1 : len(token)-1]
	case 'Y':
		return fmt.Sprintf("%04d", t.Year())[4-len(token):]
	case 'M':
		return nameOrNumber(token, int(t.Month()), 3, l.shortMonths, l.months, int(t.Month())-1)
	case 'D':
		return padded(token, t.Day())
	case 'd':
		return l.weekdayText(token, int(t.Weekday()))
	case 'H':
		return padded(token, t.Hour())
	case 'h':
		return padded(token, (t.Hour()+11)%12+1)
	case 'm':
		return padded(token, t.Minute())
	case 's':
		return padded(token, t.Second())
	case 'S':
		return fmt.Sprintf("%03d", t.Nanosecond()/int(time.Millisecond))
	case 'A':
		return t.Format("PM")
	case 'a':
		return t.Format("pm")
	}
	if token == "ZZ" {
		return t.Format("-0700")
	}
	return t.Format("-07:00")
}

// nameOrNumber writes n as a number, or by its short or full name.
func nameOrNumber(token string, n, names int, short, full string, index int) string {
	switch {
	case len(token) < names:
		return padded(token, n)
	case len(token) == names:
		return strings.Fields(short)[index]
	}
	return strings.Fields(full)[index]
}

func (l locale) weekdayText(token string, day int) string {
	switch len(token) {
	case 1:
		return strconv.Itoa(day)
	case 2:
		return strings.Fields(l.minWeekdays)[day]
	}
	return nameOrNumber(token, day, 3, l.shortWeekdays, l.weekdays, day)
}

func padded(token string, n int) string {
	return fmt.Sprintf("%0*d", len(token), n)
}

// locale is how a language writes dates. Names are in one string, in order, weeks from
// Sunday.
type locale struct {
	time    string // LT
	day     string // L
	text    string // LL
	at      string // between LL and LT
	weekday string // before LL in LLLL

	months, shortMonths                  string
	weekdays, shortWeekdays, minWeekdays string
}

var locales = map[string]locale{
	"en": {
		"h:mm A", "MM/DD/YYYY", "MMMM D, YYYY", " ", "dddd, ",
		"January February March April May June July August September October November December",
		"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
		"Sunday Monday Tuesday Wednesday Thursday Friday Saturday",
		"Sun Mon Tue Wed Thu Fri Sat", "Su Mo Tu We Th Fr Sa",
	},
	"fr": {
		"HH:mm", "DD/MM/YYYY", "D MMMM YYYY", " ", "dddd ",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
		"dimanche lundi mardi mercredi jeudi vendredi samedi",
		"dim. lun. mar. mer. jeu. ven. sam.", "di lu ma me je ve sa",
	},
	"de": {
		"HH:mm", "DD.MM.YYYY", "D. MMMM YYYY", " ", "dddd, ",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.",
		"Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag",
		"So. Mo. Di. Mi. Do. Fr. Sa.", "So Mo Di Mi Do Fr Sa",
	},
	"es": {
		"H:mm", "DD/MM/YYYY", "D [de] MMMM [de] YYYY", " ", "dddd, ",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"ene feb mar abr may jun jul ago sep oct nov dic",
		"domingo lunes martes miércoles jueves viernes sábado",
		"dom. lun. mar. mié. jue. vie. sáb.", "do lu ma mi ju vi sá",
	},
	"it": {
		"HH:mm", "DD/MM/YYYY", "D MMMM YYYY", " ", "dddd ",
		"gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		"gen feb mar apr mag giu lug ago set ott nov dic",
		"domenica lunedì martedì mercoledì giovedì venerdì sabato",
		"dom lun mar mer gio ven sab", "do lu ma me gi ve sa",
	},
	"nl": {
		"HH:mm", "DD-MM-YYYY", "D MMMM YYYY", " ", "dddd ",
		"januari februari maart april mei juni juli augustus september oktober november december",
		"jan feb mrt apr mei jun jul aug sep okt nov dec",
		"zondag maandag dinsdag woensdag donderdag vrijdag zaterdag",
		"zo. ma. di. wo. do. vr. za.", "zo ma di wo do vr za",
	},
	"pt": {
		"HH:mm", "DD/MM/YYYY", "D [de] MMMM [de] YYYY", " [às] ", "dddd, ",
		"janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
		"jan fev mar abr mai jun jul ago set out nov dez",
		"domingo segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado",
		"dom seg ter qua qui sex sab", "Do 2ª 3ª 4ª 5ª 6ª Sa",
	},
}
