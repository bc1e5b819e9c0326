package input

import (
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/domain/automation/expr"
)

// format is the keyword of the same name.
type format struct {
	name string
	form
}

// form is one of the known formats.
type form struct {
	expected string // what is expected
	is       func(string) bool
}

func (f *format) check(r *run, n *node, v any) bool {
	s, ok := v.(string)
	if !ok || r.spend(1+len(s)/16) && f.is(s) {
		return true
	}
	return r.fault(n, "format", "must be "+f.expected, "format", f.name)
}

// formats are those that are asserted.
var formats = map[string]form{
	"date":      {"a date such as 2024-02-29", isDate},
	"time":      {"a time with its zone such as 13:45:00Z", isTime},
	"date-time": {"a date and time with its zone such as 2024-02-29T13:45:00Z", isDateTime},
	"duration":  {"a duration such as P1DT12H", isDuration},
	"uri":       {"an absolute URI", isURI},
	"email":     {"an e-mail address", isEmail},
	"hostname":  {"a host name", isHostname},
	"ipv4":      {"an IPv4 address", isIPv4},
	"ipv6":      {"an IPv6 address", isIPv6},
	"uuid":      {"a UUID", uuid.MatchString},
	"regex":     {"a regular expression (RE2)", func(s string) bool { return expr.CheckPattern(s) == "" }},

	"workspaceId": {"the id of a workspace", workspaceID.MatchString},
	"objectId":    {"24 hexadecimal digits", objectID.MatchString},
	"identifier":  {"12 to 48 letters, digits, spaces, _ or -", identifier.MatchString},
	"name":        {"a name: 2 to 60 letters, spaces or ,.'-", isName},
}

var (
	uuid        = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	workspaceID = regexp.MustCompile(`^([A-Za-z0-9_-]{7}|platform)$`)
	objectID    = regexp.MustCompile(`^[0-9A-Fa-f]{24}$`)
	identifier  = regexp.MustCompile(`^[A-Za-z0-9_ -]{12,48}$`)
	dayTime     = regexp.MustCompile(`^([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(\.\d+)?([Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$`)
	duration    = regexp.MustCompile(`^P(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(\d+H)?(\d+M)?(\d+S)?)?)$`)
	label       = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
	mailbox     = regexp.MustCompile("^([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*|\"[^\"\\\\]*\")$")
)

// isName is not a regular expression, because one with all letters, up to 60 times, takes a megabyte.
func isName(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 2 && n <= 60 && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M) && !strings.ContainsRune(" ,.'-", r)
	})
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil && len(s) == len(time.DateOnly)
}

func isTime(s string) bool {
	m := dayTime.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	if m[3] != "60" {
		return true
	}
	// A leap second is the last of a day in Greenwich.
	minutes := minutesOf(m[1], m[2])
	switch m[6] {
	case "+":
		minutes -= minutesOf(m[7], m[8])
	case "-":
		minutes += minutesOf(m[7], m[8])
	}
	const day = 24 * 60
	return (minutes+day)%day == day-1
}

// minutesOf returns the minutes of two digits of hours and two of minutes.
func minutesOf(hours, minutes string) int {
	digits := func(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }
	return digits(hours)*60 + digits(minutes)
}

func isDateTime(s string) bool {
	const date = len(time.DateOnly)
	return len(s) > date && (s[date] == 'T' || s[date] == 't') && isDate(s[:date]) && isTime(s[date+1:])
}

func isDuration(s string) bool {
	return duration.MatchString(s) && !strings.HasSuffix(s, "P") && !strings.HasSuffix(s, "T")
}

func isURI(s string) bool {
	u, err := url.Parse(s)
	if err != nil || !u.IsAbs() || strings.ContainsAny(s, " \\\"<>^`{|}") {
		return false
	}
	if host := u.Hostname(); strings.Contains(host, ":") {
		return strings.Contains(u.Host, "[") && isIPv6(host)
	}
	return true
}

func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 || len(s) > 254 || !mailbox.MatchString(s[:at]) {
		return false
	}
	host := s[at+1:]
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
		inner = strings.TrimSuffix(inner, "]")
		if v6, ok := strings.CutPrefix(inner, "IPv6:"); ok {
			return isIPv6(v6)
		}
		return isIPv4(inner)
	}
	return isHostname(host)
}

func isHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > 253 {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if !label.MatchString(part) {
			return false
		}
	}
	return true
}

func isIPv4(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is4()
}

func isIPv6(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is6() && addr.Zone() == ""
}

// Format returns what a known format expects, in words, and its test.
func Format(name string) (expected string, is func(string) bool, ok bool) {
	f, ok := formats[name]
	return f.expected, f.is, ok
}

// Formats returns the names of the known formats.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }
