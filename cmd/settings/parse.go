package settings

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

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
