package expr

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

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

// long returns the tokens that L, LT and their like stand for. The small ones
// are the large ones with short names and no zeros in front.
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
		return named(token, int(t.Month()), 3, l.shortMonths, l.months, int(t.Month())-1)
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

// named writes n as a number, or by its short or full name.
func named(token string, n, names int, short, full string, index int) string {
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
	return named(token, day, 3, l.shortWeekdays, l.weekdays, day)
}

func padded(token string, n int) string {
	return fmt.Sprintf("%0*d", len(token), n)
}
