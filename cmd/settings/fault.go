package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// Fault is one setting that cannot be used.
type Fault struct {
	Name     string // the setting
	Given    string // what was given, masked when secret; "" when nothing was
	Expected string // what would be accepted
}

// Error implements error. It is one line.
func (f Fault) Error() string {
	if f.Given == "" {
		return fmt.Sprintf("%s: not set; expected %s", f.Name, f.Expected)
	}
	return fmt.Sprintf("%s: got %s; expected %s", f.Name, quote(f.Given), f.Expected)
}

// Faults is every fault of one set of settings.
type Faults []Fault

// Error implements error with one line per fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.Is and errors.As the single faults.
func (f Faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i, fault := range f {
		errs[i] = fault
	}
	return errs
}

// orNil returns f as an error, nil when there is none.
func (f Faults) orNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

const longestShown = 100

// quote keeps a given value on one line of bearable length.
func quote(text string) string {
	if runes := []rune(text); len(runes) > longestShown {
		text = string(runes[:longestShown]) + "…"
	}
	return strconv.Quote(text)
}
