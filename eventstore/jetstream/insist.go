package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bounds of one attempt: what has no leader yet does not answer, and is asked
// again soon; a slow broker is given more time.
const (
	firstTry  = 500 * time.Millisecond
	lastTry   = 8 * time.Second
	tryPeriod = 200 * time.Millisecond // between two attempts
)

// insist repeats an attempt to make or to find something while a broker starts,
// or its cluster gathers.
func (s *Store) insist(ctx context.Context, attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, brokerStartTimeout)
	defer cancel()
	for wait := firstTry; ; wait = min(2*wait, lastTry) {
		err := within(ctx, wait, attempt)
		if err == nil || !transient(err) && codeOf(err) != codeNoPeers {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the broker does not serve its streams: %w", err)
		case <-time.After(tryPeriod):
		}
	}
}

func within(ctx context.Context, wait time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return do(ctx)
}

// transient reports whether an error of the broker may pass by itself.
func transient(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code == 503
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrConnectionReconnecting) ||
		errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrDisconnected)
}
