//go:build !linux

package domaintest

import (
	"testing"
	"time"
)

// MeasureEffort returns how long do took: only Linux tells what a processor worked on it.
func MeasureEffort(tb testing.TB, do func()) time.Duration {
	tb.Helper()
	began := time.Now()
	do()
	return time.Since(began)
}
