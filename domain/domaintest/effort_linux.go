package domaintest

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// MeasureEffort returns how long a processor worked on do, whatever else the machine had to
// do meanwhile. What do leaves to other goroutines is not counted.
func MeasureEffort(tb testing.TB, do func()) time.Duration {
	tb.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := readThreadTime(tb)
	do()
	return readThreadTime(tb) - before
}

func readThreadTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
