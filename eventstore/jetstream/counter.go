package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"svc/eventstore"
)

// Add adds n to the counter of key in the current window of that length and
// returns its total, over all nodes. Counters live in memory and are forgotten
// when their window is long over.
func (s *Store) Add(ctx context.Context, key string, window time.Duration, n int64) (int64, error) {
	if window <= 0 {
		return 0, errors.New("jetstream: a counter needs a window")
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.MaxWait)
	defer cancel()
	slot := s.opts.Now().UnixNano() / int64(window)
	m := &nats.Msg{
		Subject: ratesRoot + token(key) + "." + strconv.FormatInt(int64(window), 36) + "-" + strconv.FormatInt(slot, 36),
		Header:  nats.Header{"Nats-Incr": {strconv.FormatInt(n, 10)}},
	}
	ack, err := s.request(ctx, m)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return strconv.ParseInt(ack.Value, 10, 64)
}
