package commands

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a fault of ours that something panicked with.
type PanicError struct {
	Cause any
	Stack []byte
}

// Error implements error. It is for the log: it says where the fault is.
func (f *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", f.Cause, f.Stack) }

// Recover ends a panic and hands it to do: what one asks for never ends what others get. It
// is to be deferred.
func Recover(do func(*PanicError)) {
	if cause := recover(); cause != nil {
		do(&PanicError{cause, debug.Stack()})
	}
}
