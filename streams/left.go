package streams

import (
	"context"
	"errors"
	"fmt"

	"svc/eventstore"
)

// Shares is into how many shares workspaces are divided when there are several nodes. One
// that is alone has all of them as one.
const Shares = 16

// ShareKey is where it is kept how far one of so many shares was looked after.
func ShareKey(shares, number int) string { return fmt.Sprintf("share/%d/%d", shares, number) }

// place is how far shares were looked after: what is up to it is taken care of.
type place[T any] interface {
	Min(other T) T // as far as both
	Max(other T) T // as far as one of them
}

// Cursors keeps how far shares were looked after. It is a *jetstream.Bucket.
type Cursors interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
}

// Left finds out how far a share was looked after, if it ever was, and whether that is kept
// for this share itself. Who was alone before, or is not any more, has divided workspaces
// otherwise. What all shares of the other division have behind them is taken care of in
// this one too: so it is as far as either says.
func Left[T place[T]](ctx context.Context, c Cursors, shares, number int, read func([]byte) (T, error)) (at T, ever, kept bool, err error) {
	at, kept, err = leftAt(ctx, c, ShareKey(shares, number), read)
	if err != nil {
		return at, false, false, err
	}
	division := Shares
	if shares == Shares {
		division = 1
	}
	other, some, all, err := leftByAll(ctx, c, division, read)
	switch {
	case err != nil:
		return at, false, false, err
	case !kept:
		return other, some, false, nil
	case all:
		at = at.Max(other)
	}
	return at, true, true, nil
}

// leftByAll finds out how far each share of a division was looked after of those that ever
// were, and whether that is some of them, or all.
func leftByAll[T place[T]](ctx context.Context, c Cursors, shares int, read func([]byte) (T, error)) (at T, some, all bool, err error) {
	all = true
	for number := range shares {
		one, ok, err := leftAt(ctx, c, ShareKey(shares, number), read)
		switch {
		case err != nil:
			return at, false, false, err
		case !ok:
			all = false
		case some:
			at = at.Min(one)
		default:
			at, some = one, true
		}
	}
	return at, some, all, nil
}

func leftAt[T any](ctx context.Context, c Cursors, key string, read func([]byte) (T, error)) (at T, ok bool, err error) {
	value, _, err := c.Get(ctx, key)
	if errors.Is(err, eventstore.ErrNoKey) {
		return at, false, nil
	}
	if err == nil {
		at, err = read(value)
	}
	return at, err == nil, err
}
