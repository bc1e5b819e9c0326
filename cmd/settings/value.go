package settings

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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
