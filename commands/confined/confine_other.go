//go:build !linux

package confined

import (
	"syscall"
	"time"
)

// attributes are those of the child: a session of its own, so that it and all it
// started are ended at once.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Unconfined returns nil: there is no filter to be missed.
func Unconfined() error { return nil }

// Confine does nothing: elsewhere than on Linux the service is developed, not run,
// and what the program checks itself and the clock of the parent stand alone.
func Confine(time.Duration, int64) error { return nil }
