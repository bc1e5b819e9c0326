package page

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"svc/domain/automation/expr"
	"svc/domain/document"
	"svc/domain/value"
)

// applyFilter returns the value after a filter. An unknown filter leaves it, and is reported once.
func (e *expansion) applyFilter(f filterCall, v any, s *scope) any {
	args := make([]any, len(f.args))
	for i, arg := range f.args {
		if path, ok := arg.(argumentPath); ok {
			arg = e.lookup(path, s)
		}
		args[i] = arg
	}
	arg := func(i int) any {
		if i < len(args) {
			return args[i]
		}
		return value.Undefined
	}
	language := func(i int) string {
		if lang, ok := arg(i).(string); ok && lang != "" {
			return lang
		}
		return e.view.Language.Tag
	}
	switch f.name {
	case "date":
		format, _ := arg(0).(string)
		if format == "" {
			format = "LL"
		}
		if text, ok := expr.FormatDate(v, format, language(1)); ok {
			return text
		}
		return orEmpty(arg(2))
	case "from-now":
		at, ok := expr.ParseInstant(v)
		if !ok {
			return ""
		}
		return relativeTime(at.Sub(e.view.Now), language(0))
	case "if":
		if value.IsTruthy(v) {
			return arg(0)
		}
		return orEmpty(arg(1))
	case "formatNumber":
		n := value.ToNumber(v)
		if value.IsNothing(v) || math.IsNaN(n) || math.IsInf(n, 0) {
			return v
		}
		digits := -1
		if d, ok := arg(1).(float64); ok && d >= 0 && d <= 20 {
			digits = int(d)
		}
		return FormatNumber(n, language(0), digits)
	case "filter":
		return e.filterList(v, arg(0))
	case "replace":
		return e.replacePattern(e.textOf(v), e.textOf(arg(0)), e.textOf(arg(1)), e.textOf(arg(2)))
	}
	e.reportOnce("UnknownFilter", "the filter "+strconv.Quote(f.name)+" does not exist")
	return v
}

func orEmpty(v any) any {
	if value.IsNothing(v) {
		return ""
	}
	return v
}

// filterList returns the entries of a list that match a query object. Without a query all of them match.
func (e *expansion) filterList(v, query any) any {
	list, ok := v.([]any)
	cond, given := query.(*value.Object)
	if !ok || !given {
		return v
	}
	m, err := expr.CompileMatcher(cond, true)
	if err != nil {
		return v
	}
	kept := []any{}
	for _, item := range list {
		matches, spent, err := m.MatchWithin(item, expr.FilterSteps)
		if !e.spend(spent) {
			break
		}
		if err == nil && matches {
			kept = append(kept, item)
		}
	}
	return kept
}

// replacePattern replaces the matches of a regular expression: all of them with the flag g, else the first. A bad
// pattern leaves the text.
func (e *expansion) replacePattern(text, pattern, by, flags string) any {
	if expr.CheckPattern(pattern) != "" || !e.spend(len(text)+len(pattern)) {
		return text
	}
	prefix := ""
	for _, f := range []string{"i", "m", "s"} {
		if strings.Contains(flags, f) {
			prefix += f
		}
	}
	if prefix != "" {
		pattern = "(?" + prefix + ")" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return text
	}
	if strings.Contains(flags, "g") {
		return re.ReplaceAllString(text, by)
	}
	at := re.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	return text[:at[0]] + string(re.ExpandString(nil, by, text, at)) + text[at[1]:]
}

// numberFormats are the group and decimal separators of languages.
var numberFormats = map[string][2]string{
	"en": {",", "."}, "fr": {"\u202f", ","}, "de": {".", ","}, "es": {".", ","}, "it": {".", ","}, "nl": {".", ","}, "pt": {".", ","},
}

// FormatNumber writes a number as a language does, with a fixed number of decimal digits; at most three when digits is
// negative.
func FormatNumber(n float64, language string, digits int) string {
	marks, ok := numberFormats[document.BaseLanguage(language)]
	if !ok {
		marks = numberFormats["en"]
	}
	var text string
	if digits >= 0 {
		text = strconv.FormatFloat(n, 'f', digits, 64)
	} else {
		text = strconv.FormatFloat(math.Round(n*1000)/1000, 'f', -1, 64)
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, fraction, hasFraction := strings.Cut(text, ".")
	var b strings.Builder
	b.WriteString(sign)
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteString(marks[0])
		}
		b.WriteRune(c)
	}
	if hasFraction {
		b.WriteString(marks[1] + fraction)
	}
	return b.String()
}

// relativePhrases are how a language says how long ago something was or when it will be. Units are singular|plural.
type relativePhrases struct {
	past, future, now              string
	minute, hour, day, month, year string
}

var relativeTimes = map[string]relativePhrases{
	"en": {"% ago", "in %", "just now", "a minute|# minutes", "an hour|# hours", "a day|# days", "a month|# months", "a year|# years"},
	"fr": {"il y a %", "dans %", "à l’instant", "une minute|# minutes", "une heure|# heures", "un jour|# jours", "un mois|# mois", "un an|# ans"},
	"de": {"vor %", "in %", "gerade eben", "einer Minute|# Minuten", "einer Stunde|# Stunden", "einem Tag|# Tagen", "einem Monat|# Monaten", "einem Jahr|# Jahren"},
	"es": {"hace %", "en %", "ahora mismo", "un minuto|# minutos", "una hora|# horas", "un día|# días", "un mes|# meses", "un año|# años"},
	"it": {"% fa", "tra %", "adesso", "un minuto|# minuti", "un’ora|# ore", "un giorno|# giorni", "un mese|# mesi", "un anno|# anni"},
	"nl": {"% geleden", "over %", "zojuist", "een minuut|# minuten", "een uur|# uur", "een dag|# dagen", "een maand|# maanden", "een jaar|# jaar"},
	"pt": {"há %", "em %", "agora mesmo", "um minuto|# minutos", "uma hora|# horas", "um dia|# dias", "um mês|# meses", "um ano|# anos"},
}

// relativeTime says how far something is from now.
func relativeTime(d time.Duration, language string) string {
	phrases, ok := relativeTimes[document.BaseLanguage(language)]
	if !ok {
		phrases = relativeTimes["en"]
	}
	frame := phrases.future
	if d < 0 {
		frame, d = phrases.past, -d
	}
	const day = 24 * time.Hour
	var unit string
	var n int
	switch {
	case d < 45*time.Second:
		return phrases.now
	case d < 45*time.Minute:
		unit, n = phrases.minute, roundTo(d, time.Minute)
	case d < 22*time.Hour:
		unit, n = phrases.hour, roundTo(d, time.Hour)
	case d < 26*day:
		unit, n = phrases.day, roundTo(d, day)
	case d < 320*day:
		unit, n = phrases.month, roundTo(d, 30*day)
	default:
		unit, n = phrases.year, roundTo(d, 365*day)
	}
	one, many, _ := strings.Cut(unit, "|")
	if n == 1 {
		return strings.Replace(frame, "%", one, 1)
	}
	return strings.Replace(frame, "%", strings.Replace(many, "#", strconv.Itoa(n), 1), 1)
}

func roundTo(d, unit time.Duration) int { return max(1, int((d+unit/2)/unit)) }
