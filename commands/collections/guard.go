package collections

import (
	"context"
	"errors"

	"svc/commands"
	"svc/domain"
)

// errFallen says that a call came upon a fault of ours. What that was is in the log.
var errFallen = errors.New("collections: a fault of the platform")

// guarded does what a call of a function asks for, and turns a panic into an error: queries
// are written by others, and one that we fall over must not end what others do.
func guarded[T any](ctx context.Context, c *Collections, id domain.StreamID, function string, work func() (T, error)) (v T, err error) {
	defer commands.Recover(func(fell *commands.PanicError) {
		c.opts.Logger.ErrorContext(ctx, "a call of collections fell over", "workspace", id.Scope, "function", function, "data", id.String(), "err", fell)
		err = errFallen
	})
	return work()
}
