package contexts

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"svc/commands/vault"
	"svc/domain"
)

// Contexts that expire are listed by when they do, in periods: who moves the
// expiry of a context into another period adds it to the list of that one. A list
// is looked at once, when its period is long over, and what has moved on since is
// in another.
const (
	expiryKind = "context-expiry"
	period     = 15 * time.Minute
	// grace is how long an expired context is kept. No node trusts for so long what
	// it remembers of one.
	grace = 2 * trusted
)

// expiryList is where the contexts are listed that expire in the same period.
func expiryList(period string) domain.StreamID {
	return domain.StreamID{Scope: domain.Platform, Kind: expiryKind, ID: period}
}

// periodOf numbers the period of a time by its end.
func periodOf(at time.Time) int64 { return at.UnixMilli()/period.Milliseconds() + 1 }

// announce lists a context that is about to expire at a time, unless the entry
// shows that it is listed already. The returned function waits for it.
func (c *Contexts) announce(ctx context.Context, e *entry, expires time.Time) (wait func() error) {
	listed := e.loaded && !e.state.expires.IsZero() && periodOf(e.state.expires) == periodOf(expires)
	if expires.IsZero() || listed {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() {
		id := expiryList(strconv.FormatInt(periodOf(expires), 10))
		name := hex.EncodeToString(mark(string(e.key.encode())))
		done <- c.opts.Store.Put(ctx, id, name, e.key.encode(), func(uint64, string) {})
	}()
	return func() error { return <-done }
}

// Sweep erases what contexts have left that expired a while before now, and
// returns how many. It is for one node at a time.
func (c *Contexts) Sweep(ctx context.Context, now time.Time) (swept int, err error) {
	lists, err := c.opts.Store.IDs(ctx, domain.Platform, expiryKind)
	if err != nil {
		return 0, fmt.Errorf("list the contexts that expire: %w", err)
	}
	var faults []error
	for _, list := range lists {
		number, err := strconv.ParseInt(list, 10, 64)
		if end := time.UnixMilli(number * period.Milliseconds()); err != nil || now.Before(end.Add(grace)) {
			continue
		}
		n, err := c.sweepList(ctx, expiryList(list), now)
		swept += n
		if err != nil {
			faults = append(faults, err)
		}
	}
	return swept, errors.Join(faults...)
}

// sweepList sweeps the contexts of one list, and then the list. When one of them
// could not be swept the list stays for the next time.
func (c *Contexts) sweepList(ctx context.Context, list domain.StreamID, now time.Time) (swept int, err error) {
	var last uint64
	keys := map[Key]bool{}
	err = c.opts.Store.Since(ctx, list, 0, func(seq uint64, _ bool, _ string, body []byte) error {
		key, err := decodeKey(body)
		keys[key], last = true, seq
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read the contexts that expire: %w", err)
	}
	var faults []error
	for key := range keys {
		gone, err := c.sweep(ctx, key, now)
		if err != nil {
			faults = append(faults, fmt.Errorf("sweep the context %s of workspace %s: %w", key.Kind, key.WorkspaceID, err))
		}
		if gone {
			swept++
		}
	}
	if len(faults) > 0 {
		return swept, errors.Join(faults...)
	}
	return swept, c.opts.Store.Drop(ctx, list, last+1)
}

// sweep erases a context that has expired. What is written to it meanwhile stays.
func (c *Contexts) sweep(ctx context.Context, key Key, now time.Time) (gone bool, err error) {
	e := c.cache.use(key)
	defer c.cache.done(e, 0)
	if err := e.acquire(ctx); err != nil {
		return false, err
	}
	defer e.release()
	err = c.refresh(ctx, e, e.asked.Load())
	if errors.Is(err, vault.ErrNoKey) {
		return true, c.opts.Store.Drop(ctx, key.stream(), 0) // its workspace is erased
	}
	if errors.Is(err, vault.ErrDamaged) {
		return true, c.deleteExpired(ctx, key)
	}
	if err != nil || e.seq == 0 || !isExpired(e.state.expires, now.Add(-grace)) {
		return false, err
	}
	defer e.reset()
	return true, c.opts.Store.Drop(ctx, key.stream(), e.seq+1)
}

// deleteExpired erases what the key of a workspace does not open, with all that is older, and says
// so: its own key was destroyed, and never comes back.
func (c *Contexts) deleteExpired(ctx context.Context, key Key) error {
	var last uint64
	err := c.opts.Store.Since(ctx, key.stream(), 0, func(seq uint64, _ bool, _ string, body []byte) error {
		_, err := c.opts.Vault.Open(ctx, key.WorkspaceID, body, key.purpose())
		if errors.Is(err, vault.ErrDamaged) {
			last, err = seq, nil
		}
		return err
	})
	if err == nil {
		err = c.opts.Store.Drop(ctx, key.stream(), last+1)
	}
	if err == nil {
		c.opts.Log.WarnContext(ctx, "a context was forgotten: the key that it was sealed with is destroyed", "workspace", key.WorkspaceID, "context", key.Kind)
	}
	return err
}
