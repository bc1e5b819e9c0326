package webhooks

import (
	"fmt"
	"runtime/debug"
)

// guarded does work, and turns a panic into an error that says where it was: what one
// subscription asks for never ends what others get.
func guarded(work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("webhooks: a panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return work()
}
