package streams

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"svc/commands"
	"svc/eventstore"
)

// Lease lets one node at a time do some work. The holder renews it. A waiting node acquires it when it was released,
// or when it was not renewed for a whole TTL, measured by the clock of the waiting node. So no node compares its
// clock with that of another one, and a holder that cannot reach the bucket stops before another node can take over.
//
// A node that was suspended may still act once after another one has taken over. Work under a lease must tolerate
// that; appends to the log do.
type Lease struct {
	Bucket eventstore.Bucket
	Name   string
	Holder string        // unique for each process; default a random id
	TTL    time.Duration // how long it is valid without a renewal; default three minutes. It is renewed three times in that time
	Log    *slog.Logger  // default slog.Default
}

// leaseValue is the stored value of a lease.
type leaseValue struct {
	Holder string `json:"holder"` // "" after a release
}

// ErrLost is the cause of the cancelled context of Hold's work when another node may acquire the lease.
var ErrLost = errors.New("streams: the lease is lost")

const (
	defaultTTL   = 3 * time.Minute
	releaseLimit = 2 * time.Second
)

// Hold runs work while it holds the lease, until ctx ends or work returns, and then releases the lease. It returns
// nil when ctx has ended, else the result of work. The context of work is cancelled when the lease is lost; work is
// started again when the lease is acquired again.
func (l Lease) Hold(ctx context.Context, work func(context.Context) error) error {
	l = l.withDefaults()
	for {
		held, err := l.acquire(ctx)
		if err != nil {
			return nil // ctx has ended
		}
		err = l.renewWhile(ctx, held, work)
		switch {
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, ErrLost):
			return err
		}
		l.Log.WarnContext(ctx, "a lease was lost")
	}
}

// ErrHeld says that another process holds the lease.
var ErrHeld = errors.New("streams: the lease is held by another")

// Attempt is Hold without waiting: it runs work once, or fails with ErrHeld. Nobody watches the lease between two
// attempts, so a lease that was not released is free only when the bucket has dropped it: the bucket must expire
// values after TTL.
func (l Lease) Attempt(ctx context.Context, work func(context.Context) error) error {
	l = l.withDefaults()
	held, ok, err := l.tryAcquire(ctx, &leaseObservation{})
	if err != nil {
		return err
	}
	if !ok {
		return ErrHeld
	}
	return l.renewWhile(ctx, held, work)
}

func (l Lease) withDefaults() Lease {
	l.Holder = cmp.Or(l.Holder, uuid.NewString())
	l.TTL = cmp.Or(l.TTL, defaultTTL)
	l.Log = cmp.Or(l.Log, slog.Default()).With("lease", l.Name)
	return l
}

// leaseObservation says when a revision of the lease was seen first.
type leaseObservation struct {
	revision uint64
	at       time.Time
}

// heldLease is a lease that this process holds.
type heldLease struct {
	revision  uint64
	writtenAt time.Time // taken before the write
}

// acquire waits for the lease. It fails only when ctx ends.
func (l Lease) acquire(ctx context.Context) (heldLease, error) {
	var seen leaseObservation
	for {
		held, ok, err := l.tryAcquire(ctx, &seen)
		if ok {
			return held, nil
		}
		if err != nil && ctx.Err() == nil {
			l.Log.WarnContext(ctx, "a lease could not be read", "err", err)
		}
		if err := commands.Sleep(ctx, l.TTL/3); err != nil {
			return heldLease{}, err
		}
	}
}

// tryAcquire acquires the lease when it is free.
func (l Lease) tryAcquire(ctx context.Context, seen *leaseObservation) (held heldLease, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.TTL/6)
	defer cancel()
	now := time.Now()
	value, revision, err := l.Bucket.Get(ctx, l.Name)
	switch {
	case errors.Is(err, eventstore.ErrNoKey):
		held.revision, err = l.Bucket.Create(ctx, l.Name, l.value())
	case err != nil:
		return held, false, err
	case !l.isFree(value, revision, seen):
		return held, false, nil
	default:
		held.revision, err = l.Bucket.Update(ctx, l.Name, l.value(), revision)
	}
	if errors.Is(err, eventstore.ErrConflict) {
		return held, false, nil // another one was faster
	}
	held.writtenAt = now
	return held, err == nil, err
}

// isFree reports whether the lease may be acquired, and records the revision that was seen.
func (l Lease) isFree(value []byte, revision uint64, seen *leaseObservation) bool {
	if seen.revision != revision {
		*seen = leaseObservation{revision: revision, at: time.Now()}
	}
	return holderOf(value) == "" || time.Since(seen.at) >= l.TTL
}

// renewWhile renews the lease while work runs, and releases it afterwards.
func (l Lease) renewWhile(ctx context.Context, held heldLease, work func(context.Context) error) error {
	working, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	done := make(chan error, 1)
	go func() { done <- work(working) }()
	tick := time.NewTicker(l.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			l.release(ctx, held)
			return err
		case <-tick.C:
		}
		if err := l.renew(ctx, &held); err != nil {
			lose(ErrLost)
			<-done
			return fmt.Errorf("%w: %w", ErrLost, err)
		}
	}
}

// renew renews the lease. A failed attempt is repeated as long as the lease is valid.
func (l Lease) renew(ctx context.Context, held *heldLease) error {
	now := time.Now()
	err := l.writeRenewal(ctx, held)
	switch {
	case err == nil:
		held.writtenAt = now
	case errors.Is(err, eventstore.ErrConflict), time.Since(held.writtenAt) >= l.TTL*2/3:
		return err
	}
	return nil
}

// writeRenewal updates the lease, also after ctx has ended, while work stops. It then has no more time than a
// release, so that a node stops in time although the log does not answer. A conflict may come from an earlier attempt
// whose answer was lost.
func (l Lease) writeRenewal(ctx context.Context, held *heldLease) error {
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL/6)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(releaseLimit, cancel) })()
	revision, err := l.Bucket.Update(writing, l.Name, l.value(), held.revision)
	if errors.Is(err, eventstore.ErrConflict) {
		value, latest, getErr := l.Bucket.Get(writing, l.Name)
		if getErr != nil || holderOf(value) != l.Holder {
			return err
		}
		revision, err = latest, nil
	}
	if err == nil {
		held.revision = revision
	}
	return err
}

// release releases the lease, also when ctx has ended. When that fails, the lease expires.
func (l Lease) release(ctx context.Context, held heldLease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(releaseLimit, l.TTL/6))
	defer cancel()
	l.Holder = ""
	if _, err := l.Bucket.Update(ctx, l.Name, l.value(), held.revision); err != nil {
		l.Log.DebugContext(ctx, "a lease was not released", "err", err)
	}
}

func (l Lease) value() []byte {
	text, _ := json.Marshal(leaseValue{Holder: l.Holder}) // a string always encodes
	return text
}

// holderOf returns the holder of a lease. A damaged value has an unknown holder, and expires.
func holderOf(value []byte) string {
	var h leaseValue
	if json.Unmarshal(value, &h) != nil {
		return "?"
	}
	return h.Holder
}
