package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a zone must not depend on the host

	"svc/domain/automation/cron"
)

// value ties a setting to its field of a Config.
type value struct {
	kind   string
	expect string
	set    func(text string) error // its error says why, and never holds the text
	canon  func() string           // the field as text, equal for equal meanings
	show   func(text string) string
}

// bind ties parse to the field at p.
func bind[T any](p *T, kind, expect string, parse func(string) (T, error)) value {
	return value{
		kind: kind, expect: expect,
		canon: func() string { return fmt.Sprint(*p) },
		set: func(text string) error {
			v, err := parse(text)
			if err == nil {
				*p = v
			}
			return err
		},
	}
}

// check accepts a text for which ok holds.
func check(ok func(string) bool) func(string) (string, error) {
	return func(text string) (string, error) {
		if !ok(text) {
			return "", errBad
		}
		return text, nil
	}
}

func text(p *string) value {
	return bind(p, "text", "a text on one line", check(oneLine))
}

func oneLine(text string) bool { return !strings.ContainsAny(text, "\x00\r\n") }

func path(p *string) value {
	return bind(p, "path", "a path", check(oneLine))
}

// matching is a text that matches pattern from end to end.
func matching(p *string, pattern, expect string) value {
	return bind(p, "text", expect, check(func(text string) bool {
		return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(text)
	}))
}

func secretText(p *Secret) value {
	return bind(p, "text", "a text", func(text string) (Secret, error) { return Secret(text), nil })
}

func boolean(p *bool) value {
	return bind(p, "bool", "yes, no, true, false, 1 or 0", parseBool)
}

func number(p *int, lo, hi int) value {
	return bind(p, "number", fmt.Sprintf("a whole number from %d to %d", lo, hi), func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < lo || n > hi {
			return 0, errBad
		}
		return n, nil
	})
}

// numberOrOff is a number that -1 switches off.
func numberOrOff(p *int, lo, hi int) value { return orOff(p, number(p, lo, hi)) }

// rate is a limit that 0 switches off.
func rate(p *int) value { return number(p, 0, 1_000_000_000) }

// choice is one of a few numbers.
func choice(p *int, choices ...int) value {
	words := strings.Trim(strings.ReplaceAll(fmt.Sprint(choices), " ", ", "), "[]")
	return bind(p, "number", "one of "+words, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || !slices.Contains(choices, n) {
			return 0, errBad
		}
		return n, nil
	})
}

func fraction(p *float64) value {
	return bind(p, "number", "a number from 0 to 1", func(text string) (float64, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 0 && f <= 1) {
			return 0, errBad
		}
		return f, nil
	})
}

// duration is a number of units, or one with a suffix.
func duration(p *time.Duration, unit, lo, hi time.Duration) value {
	expect := fmt.Sprintf("a duration from %s to %s (suffix ms, s, m, h or d", showDuration(lo), showDuration(hi))
	if unit != 0 {
		expect += "; without one the unit is " + showDuration(unit)
	}
	return bind(p, "duration", expect+")", func(text string) (time.Duration, error) {
		d, err := parseDuration(text, unit)
		if err != nil || d < lo || d > hi {
			return 0, errBad
		}
		return d, nil
	})
}

func seconds(p *time.Duration, lo, hi time.Duration) value { return duration(p, time.Second, lo, hi) }
func millis(p *time.Duration, lo, hi time.Duration) value {
	return duration(p, time.Millisecond, lo, hi)
}

// days is a duration in days of at least one; at most ten years.
func days(p *time.Duration) value { return duration(p, day, day, 3650*day) }

func daysOrOff(p *time.Duration) value { return orOff(p, days(p)) }

// orOff lets -1 stand for Off besides what v accepts.
func orOff[T int | time.Duration](p *T, v value) value {
	set := v.set
	v.expect += ", or -1 for off"
	v.set = func(text string) error {
		if text == "-1" {
			*p = Off
			return nil
		}
		return set(text)
	}
	return v
}

// size is a number of bytes; unit is what a number without suffix counts.
func size(p *int64, unit, lo, hi int64) value {
	expect := fmt.Sprintf("a size from %s to %s (suffix kb, mb or gb)", showSize(lo), showSize(hi))
	return bind(p, "size", expect, func(text string) (int64, error) {
		n, err := parseSize(text, unit)
		if err != nil || n < lo || n > hi {
			return 0, errBad
		}
		return n, nil
	})
}

func byteSize(p *int64) value  { return size(p, 1, 1, 1024*gb) }
func megabytes(p *int64) value { return size(p, mb, mb, 1024*gb) }

func oneOf(p *string, words ...string) value {
	return bind(p, "word", "one of "+strings.Join(words, ", "),
		check(func(text string) bool { return slices.Contains(words, text) }))
}

// listOf is a list whose items satisfy ok; the words of none mean "no item".
func listOf(p *[]string, expect string, ok func(string) bool, none ...string) value {
	return bind(p, "list", "a comma-separated list of "+expect, func(text string) ([]string, error) {
		if slices.Contains(none, text) {
			return nil, nil
		}
		items := splitList(text)
		if slices.ContainsFunc(items, func(item string) bool { return !ok(item) }) {
			return nil, errBad
		}
		return items, nil
	})
}

// someOf is a list of known words; "all" stands for every one.
func someOf(p *[]string, words ...string) value {
	return bind(p, "list", "all, or a comma-separated list of "+strings.Join(words, ", "), func(text string) ([]string, error) {
		if text == "all" {
			return slices.Clone(words), nil
		}
		items := splitList(text)
		if slices.ContainsFunc(items, func(item string) bool { return !slices.Contains(words, item) }) {
			return nil, errBad
		}
		return items, nil
	})
}

func numbers(p *[]int, lo, hi int) value {
	return bind(p, "list", fmt.Sprintf("a comma-separated list of numbers from %d to %d", lo, hi), func(text string) ([]int, error) {
		var list []int
		for _, item := range splitList(text) {
			n, err := strconv.Atoi(item)
			if err != nil || n < lo || n > hi {
				return nil, errBad
			}
			list = append(list, n)
		}
		return list, nil
	})
}

func durations(p *[]time.Duration) value {
	return bind(p, "list", "a comma-separated list of durations with suffix ms, s, m, h or d", func(text string) ([]time.Duration, error) {
		var list []time.Duration
		for _, item := range splitList(text) {
			d, err := parseDuration(item, 0)
			if err != nil || d == 0 {
				return nil, errBad
			}
			list = append(list, d)
		}
		return list, nil
	})
}

func level(p *slog.Level) value {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	return bind(p, "level", "one of debug, info, warn, error", func(text string) (slog.Level, error) {
		l, ok := levels[text]
		if !ok {
			return 0, errBad
		}
		return l, nil
	})
}

// regexpOf is a regular expression, matched from end to end when whole is set.
func regexpOf(p **regexp.Regexp, whole bool) value {
	return bind(p, "regexp", "a regular expression (RE2)", func(text string) (*regexp.Regexp, error) {
		if _, err := regexp.Compile(text); err != nil {
			return nil, errBad
		}
		if whole {
			text = `^(?:` + text + `)$`
		}
		return regexp.Compile(text)
	})
}

// cronOf is a schedule of five fields, without seconds and without @words.
func cronOf(p *string) value {
	return bind(p, "cron", "a cron schedule of five fields: minute, hour, day, month, weekday", func(text string) (string, error) {
		fields := strings.Fields(text)
		if len(fields) != 5 || strings.ContainsAny(text, "@=") {
			return "", errBad
		}
		if _, err := cron.Parse(text); err != nil {
			return "", errBad
		}
		return strings.Join(fields, " "), nil
	})
}

func zone(p **time.Location) value {
	return bind(p, "zone", "a time zone such as UTC or Europe/Paris", func(text string) (*time.Location, error) {
		location, err := time.LoadLocation(text)
		if err != nil || text == "Local" {
			return nil, errBad
		}
		return location, nil
	})
}

// isAbsoluteURL reports whether text is a URL with one of the schemes and a host.
func isAbsoluteURL(text string, schemes []string) bool {
	u, err := url.Parse(text)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Hostname() != ""
}

// urlOf is an absolute URL.
func urlOf[T ~string](p *T, schemes ...string) value {
	expect := "an absolute URL (" + strings.Join(schemes, ", ") + ")"
	v := bind(p, "url", expect, func(text string) (T, error) {
		if !isAbsoluteURL(text, schemes) {
			return "", errBad
		}
		return T(text), nil
	})
	v.canon, v.show = func() string { return string(*p) }, redactURLs
	return v
}

// apiURL is the address of the API; /v2 ends it, so that cutting it off gives
// the issuer.
func apiURL(p *string) value {
	return bind(p, "url", "an absolute URL (http, https) that ends in /v2", func(text string) (string, error) {
		text = strings.TrimSuffix(text, "/")
		u, err := url.Parse(text)
		if err != nil || !isAbsoluteURL(text, web) || !strings.HasSuffix(u.Path, "/v2") || u.User != nil || u.RawQuery != "" {
			return "", errBad
		}
		return text, nil
	})
}

// urls is a list of absolute URLs; slash makes each end in one.
func urls[T ~string](p *[]T, slash bool, schemes ...string) value {
	expect := "a comma-separated list of absolute URLs (" + strings.Join(schemes, ", ") + ")"
	v := bind(p, "list", expect, func(text string) ([]T, error) {
		var list []T
		for _, item := range splitList(text) {
			if !isAbsoluteURL(item, schemes) {
				return nil, errBad
			}
			if slash && !strings.HasSuffix(item, "/") {
				item += "/"
			}
			list = append(list, T(item))
		}
		return list, nil
	})
	v.show = redactURLs
	v.canon = func() string {
		var list []string
		for _, u := range *p {
			list = append(list, string(u))
		}
		return strings.Join(list, ",")
	}
	return v
}

// isOrigin reports whether text is scheme, host and port, and nothing else.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && isAbsoluteURL(text, web) && text == u.Scheme+"://"+u.Host
}

func prefixes(p *[]netip.Prefix) value {
	return bind(p, "list", "a comma-separated list of addresses or CIDR ranges", func(text string) ([]netip.Prefix, error) {
		var list []netip.Prefix
		for _, item := range splitList(text) {
			prefix, err := parsePrefix(item)
			if err != nil {
				return nil, errBad
			}
			list = append(list, prefix)
		}
		return list, nil
	})
}

// parsePrefix takes a plain address for the range of that address alone.
func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

var hostPattern = regexp.MustCompile(`^(\*\.|\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?(:[0-9]{1,5})?$`)

// isHost reports whether text is a host name, perhaps with a leading dot or *.
// and a port, or an address.
func isHost(text string) bool {
	if _, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return true
	}
	return hostPattern.MatchString(text)
}

func isHostOrPrefix(text string) bool {
	_, err := parsePrefix(text)
	return err == nil || isHost(text)
}

func host(p *string) value {
	return bind(p, "host", "a host name or an address", check(isHost))
}

// listenHost is a host to listen on; empty: all interfaces.
func listenHost(p *string) value {
	return bind(p, "host", "a host name or an address; empty: all interfaces", check(func(text string) bool { return text == "" || isHost(text) }))
}

// hostPort is an address to listen on; the host may be empty.
func hostPort(p *string) value {
	return bind(p, "host:port", "host:port", check(func(text string) bool {
		h, port, err := net.SplitHostPort(text)
		n, portErr := strconv.Atoi(port)
		return err == nil && portErr == nil && n >= 0 && n <= 65535 && (h == "" || isHost(h))
	}))
}

// loopback is an address to listen on that only this machine reaches.
func loopback(p *string) value {
	return bind(p, "host:port", "host:port of this machine, such as 127.0.0.1:6060", check(func(text string) bool {
		h, port, err := net.SplitHostPort(text)
		n, portErr := strconv.Atoi(port)
		addr, addrErr := netip.ParseAddr(h)
		return err == nil && portErr == nil && n >= 0 && n <= 65535 && (h == "localhost" || addrErr == nil && addr.IsLoopback())
	}))
}

func mailAddress(p *string) value {
	return bind(p, "text", "a mail address, perhaps with a name: Svc <svc@example.com>", check(isMail))
}

func isMail(text string) bool {
	_, err := mail.ParseAddress(text)
	return err == nil && oneLine(text)
}

var mimePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]*/([a-z0-9][a-z0-9!#$&^_.+-]*|\*)$`)

func mimetypes(p *[]string, none string) value {
	return listOf(p, "media types such as image/png or image/*; or "+none, mimePattern.MatchString, none)
}

func isPair(text string) bool {
	key, _, ok := strings.Cut(text, "=")
	return ok && strings.TrimSpace(key) != ""
}

// secretPairs is a list of name=value that is kept as it was given.
func secretPairs(p *Secret) value {
	return bind(p, "list", "a comma-separated list of name=value", func(text string) (Secret, error) {
		if slices.ContainsFunc(splitList(text), func(item string) bool { return !isPair(item) }) {
			return "", errBad
		}
		return Secret(text), nil
	})
}

// jsonDocument is a JSON object, already read from its file.
func jsonDocument(p *Secret) value {
	return bind(p, "path or JSON", "the path of a JSON file, or a JSON object", func(text string) (Secret, error) {
		var object map[string]any
		if decodeJSON(text, &object) != nil {
			return "", errBad
		}
		return Secret(text), nil
	})
}

// decodeJSON reads exactly one JSON value without unknown fields.
func decodeJSON(text string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// errBad is a refusal that needs no more words than the expectation.
var errBad = errors.New("")

// Off is the value of a limit that was switched off with -1.
const Off = -1

const (
	kb int64 = 1 << 10
	mb int64 = 1 << 20
	gb int64 = 1 << 30
)

const day = 24 * time.Hour

type durationSuffix struct {
	suffix string
	unit   time.Duration
}

// durationSuffixes are tried in this order: ms ends in s.
var durationSuffixes = []durationSuffix{
	{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", day},
}

// ParseDuration reads a duration as settings are written: a number with a suffix, such
// as 90d or 15m.
func ParseDuration(text string) (time.Duration, error) { return parseDuration(text, 0) }

// parseDuration reads a number of units, or a number with a suffix. A zero unit
// makes the suffix necessary.
func parseDuration(text string, unit time.Duration) (time.Duration, error) {
	digits := text
	for _, s := range durationSuffixes {
		if cut, ok := strings.CutSuffix(text, s.suffix); ok {
			digits, unit = cut, s.unit
			break
		}
	}
	if unit == 0 {
		return 0, errBad
	}
	n, err := parseDecimal(digits, int64(unit))
	return time.Duration(n), err
}

// parseSize reads a number of units, or a number with kb, mb or gb.
func parseSize(text string, unit int64) (int64, error) {
	digits := strings.ToLower(text)
	for suffix, size := range map[string]int64{"kb": kb, "mb": mb, "gb": gb} {
		if cut, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = cut, size
			break
		}
	}
	return parseDecimal(digits, unit)
}

// parseDecimal returns digits, such as 12 or 0.5, times unit. It refuses signs,
// exponents and what does not fit.
func parseDecimal(digits string, unit int64) (int64, error) {
	whole, fraction, dotted := strings.Cut(digits, ".")
	if !isDigits(whole) || dotted && !isDigits(fraction) {
		return 0, errBad
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > (math.MaxInt64-unit)/unit {
		return 0, errBad
	}
	n *= unit
	if dotted {
		part, err := strconv.ParseFloat("0."+fraction, 64)
		if err != nil {
			return 0, errBad
		}
		n += int64(math.Round(part * float64(unit)))
	}
	return n, nil
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// splitList cuts a comma-separated list, trims blanks and drops empty items.
func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "yes", "true", "1":
		return true, nil
	case "no", "false", "0":
		return false, nil
	}
	return false, errBad
}

// showDuration writes d with the largest suffix that keeps it whole.
func showDuration(d time.Duration) string {
	for i := len(durationSuffixes) - 1; i >= 0; i-- {
		if s := durationSuffixes[i]; d != 0 && d%s.unit == 0 {
			return strconv.FormatInt(int64(d/s.unit), 10) + s.suffix
		}
	}
	text := fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "s"
}

// showSize writes n with the largest suffix that keeps it whole.
func showSize(n int64) string {
	for _, s := range []struct {
		suffix string
		unit   int64
	}{{"gb", gb}, {"mb", mb}, {"kb", kb}} {
		if n != 0 && n%s.unit == 0 {
			return strconv.FormatInt(n/s.unit, 10) + s.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

var (
	groupPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$`)
	labelPattern = regexp.MustCompile(`^[0-9A-Za-z._:-]{2,60}$`)
)

// groupsOf is WORKSPACE_GROUPS in either of its forms.
func groupsOf(p *map[string][]string) value {
	const expect = `JSON {"base":["core","shared"]} or text base=core+shared,extra=addon`
	return bind(p, "JSON or text", expect, parseGroups)
}

func parseGroups(text string) (map[string][]string, error) {
	given := map[string][]string{}
	if strings.HasPrefix(text, "{") {
		if decodeJSON(text, &given) != nil {
			return nil, errBad
		}
	} else {
		for _, item := range splitList(text) {
			group, labels, _ := strings.Cut(item, "=")
			group = strings.TrimSpace(group)
			given[group] = append(given[group], strings.Split(labels, "+")...)
		}
	}
	groups := map[string][]string{}
	for group, labels := range given {
		if err := addLabels(groups, group, labels); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// addLabels unites labels with those the group already has.
func addLabels(groups map[string][]string, group string, labels []string) error {
	if !groupPattern.MatchString(group) || len(labels) == 0 {
		return errBad
	}
	for _, label := range labels {
		label = strings.TrimSpace(label)
		if !labelPattern.MatchString(label) {
			return errBad
		}
		if !slices.Contains(groups[group], label) {
			groups[group] = append(groups[group], label)
		}
	}
	return nil
}

// groupLabels collects the labels of one group per setting.
func groupLabels(p *map[string][]string) *family {
	return &family{
		expect:       "a comma-separated list of labels (2-60 letters, digits, dots, colons, dashes, underscores)",
		isWellFormed: groupPattern.MatchString,
		set: func(rest, text string) error {
			if *p == nil {
				*p = map[string][]string{}
			}
			return addLabels(*p, rest, splitList(text))
		},
	}
}
