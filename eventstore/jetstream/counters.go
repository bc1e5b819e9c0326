package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"svc/eventstore"
)

const (
	// maxDurableWindow is the longest window of a durable counter.
	maxDurableWindow = 366 * 24 * time.Hour
	// durableMaxAge is when the broker deletes a durable counter: Sweep looks back no further.
	durableMaxAge = maxDurableWindow + 24*time.Hour
	// clockSlack is by how much the clocks of nodes may differ: another node may still count in a
	// window that is over here.
	clockSlack = 10 * time.Minute
)

// Counters count over all nodes, in windows of time.
type Counters struct {
	conn      *connection
	sweptHour atomic.Int64 // the hour before which durable counters are erased
}

// errNoWindow says that the window of a counter is missing or too long.
var errNoWindow = errors.New("jetstream: a counter needs a window, and one that is kept one of at most 366 days")

// Add adds n to the counter of key in the current window and returns the total of all nodes. The broker
// keeps these counters in memory, for a while after their window.
func (c *Counters) Add(ctx context.Context, key string, window time.Duration, n int64) (int64, error) {
	if window <= 0 {
		return 0, errNoWindow
	}
	slot := c.conn.opts.Now().UnixNano() / int64(window)
	total, _, err := c.count(ctx, ratesRoot+counterTokens(key, window, slot), n)
	return total, err
}

// AddDurable is Add for counters that survive a restart of the broker: a positive n is durable when it
// returns nil. It does not wait for others: a lost decrement leaves the counter too high, which is
// safe. Sweep erases counters whose windows are over.
func (c *Counters) AddDurable(ctx context.Context, key string, window time.Duration, n int64) (total int64, err error) {
	if window <= 0 || window > maxDurableWindow {
		return 0, errNoWindow
	}
	if err := c.conn.Writable(); err != nil {
		return 0, err
	}
	slot := c.conn.opts.Now().UnixNano() / int64(window)
	last := time.Duration((slot+1)*int64(window) - 1) // the last moment of the window, since 1970
	subject := hourPrefix(int64(last/time.Hour)) + counterTokens(key, window, slot)
	write := func() (seq uint64, err error) {
		total, seq, err = c.count(ctx, subject, n)
		return seq, err
	}
	if n > 0 {
		err = c.conn.writeDurably(ctx, streamLimits, write)
	} else {
		_, err = write()
	}
	return total, err
}

// count adds n to the counter at a subject. It does not retry: after a lost answer it is unknown whether
// n was counted.
func (c *Counters) count(ctx context.Context, subject string, n int64) (total int64, seq uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.conn.opts.MaxWait)
	defer cancel()
	ack, err := c.conn.request(ctx, &nats.Msg{Subject: subject, Header: nats.Header{"Nats-Incr": {strconv.FormatInt(n, 10)}}})
	switch errorCode(err) {
	case codeStoreFailed, codeInsufficientResources, codeStorageExceeded:
		return 0, 0, c.conn.storageError(err)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	total, err = strconv.ParseInt(ack.Value, 10, 64)
	return total, ack.Sequence, err
}

// counterTokens name a counter and its window.
func counterTokens(key string, window time.Duration, slot int64) string {
	return token(key) + "." + strconv.FormatInt(int64(window), 36) + "-" + strconv.FormatInt(slot, 36)
}

// hourPrefix is the subject prefix of the durable counters whose windows end in an hour, counted since
// 1970. Sweep erases by it.
func hourPrefix(hour int64) string { return limitsRoot + strconv.FormatInt(hour, 36) + "." }

// Sweep erases the durable counters whose windows ended before now. It purges each hour once and does
// not list the counters, of which there may be very many.
func (c *Counters) Sweep(ctx context.Context, now time.Time) error {
	hours := func(t time.Time) int64 { return t.UnixNano() / int64(time.Hour) }
	end := hours(now.Add(-clockSlack)) // this hour is not over
	from := c.sweptHour.Load()
	if oldest := hours(now.Add(-durableMaxAge)); from < oldest || from > end { // the first call, or the clock was set back
		from = oldest
	}
	for hour := from; hour < end; hour++ {
		if err := c.conn.purge(ctx, streamLimits, hourPrefix(hour)+">", ^uint64(0)); err != nil {
			return fmt.Errorf("erase the counters of an hour: %w", err)
		}
		c.sweptHour.Store(hour + 1)
	}
	return nil
}
