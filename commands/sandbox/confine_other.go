//go:build !linux

package sandbox

import "syscall"

// attributes are those of the child: a session of its own, so that it and all it
// started are ended at once.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// filterable returns nil: there is no filter to be missed.
func filterable() error { return nil }

// confine does nothing: elsewhere than on Linux the service is developed, not run,
// and the interpreter and the parent's clock stand alone.
func confine(order) error { return nil }
