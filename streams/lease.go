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

// Bucket keeps leases. It is a *jetstream.Bucket.
type Bucket interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// Lease lets one of several nodes at a time do what needs doing once. Its holder
// renews it; who waits takes it when it was given back, or when it was not renewed
// for its whole time by the clock of the one who waits. So no node compares its
// clock with another's, and a holder that hears nothing of the bucket stops before
// anyone can take over.
//
// Even so a node that was suspended may act once more after another has taken
// over. What is done under a lease must bear that: through the log it does.
type Lease struct {
	Bucket Bucket
	Name   string
	Holder string        // unlike that of any other process; default a random one
	TTL    time.Duration // for how long it holds without being renewed; default three minutes. It is looked at three times in it
	Log    *slog.Logger  // default slog.Default
}

// holding is the value of a lease.
type holding struct {
	Holder string `json:"holder"` // "" when it was given back
}

// ErrLost is the cause that the context of Hold's work ends with when another
// node may take the lease.
var ErrLost = errors.New("streams: the lease is lost")

const (
	defaultTTL   = 3 * time.Minute
	releaseLimit = 2 * time.Second
)

// Hold runs work whenever it holds the lease, until ctx ends or work returns by
// itself, and then gives the lease back. It returns nil when ctx has ended, else
// what work returned. The context of work ends when the lease is lost; work is
// begun again when it is regained.
func (l Lease) Hold(ctx context.Context, work func(context.Context) error) error {
	l = l.withDefaults()
	for {
		held, err := l.acquire(ctx)
		if err != nil {
			return nil // ctx has ended
		}
		err = l.keep(ctx, held, work)
		switch {
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, ErrLost):
			return err
		}
		l.Log.WarnContext(ctx, "a lease was lost")
	}
}

// ErrHeld says that another one has the lease.
var ErrHeld = errors.New("streams: the lease is held by another")

// Attempt is Hold for one who does not wait: it runs work once, or fails with ErrHeld.
// Nobody watches the lease between two attempts, so that one that was not given back
// is free only when the bucket has dropped it: it must drop what is as old as TTL.
func (l Lease) Attempt(ctx context.Context, work func(context.Context) error) error {
	l = l.withDefaults()
	held, ok, err := l.try(ctx, &sighting{})
	if err != nil {
		return err
	}
	if !ok {
		return ErrHeld
	}
	return l.keep(ctx, held, work)
}

func (l Lease) withDefaults() Lease {
	l.Holder = cmp.Or(l.Holder, uuid.NewString())
	l.TTL = cmp.Or(l.TTL, defaultTTL)
	l.Log = cmp.Or(l.Log, slog.Default()).With("lease", l.Name)
	return l
}

// sighting is when a revision of the lease was first seen.
type sighting struct {
	revision uint64
	at       time.Time
}

// tenure is a lease in one's hands.
type tenure struct {
	revision uint64
	at       time.Time // no later than it was written
}

// acquire waits for the lease. It fails only when ctx ends.
func (l Lease) acquire(ctx context.Context) (tenure, error) {
	var seen sighting
	for {
		held, ok, err := l.try(ctx, &seen)
		if ok {
			return held, nil
		}
		if err != nil && ctx.Err() == nil {
			l.Log.WarnContext(ctx, "a lease could not be looked at", "err", err)
		}
		if err := commands.Sleep(ctx, l.TTL/3); err != nil {
			return tenure{}, err
		}
	}
}

// try takes the lease when it is free.
func (l Lease) try(ctx context.Context, seen *sighting) (held tenure, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.TTL/6)
	defer cancel()
	now := time.Now()
	value, revision, err := l.Bucket.Get(ctx, l.Name)
	switch {
	case errors.Is(err, eventstore.ErrNoKey):
		held.revision, err = l.Bucket.Create(ctx, l.Name, l.value())
	case err != nil:
		return held, false, err
	case !l.free(value, revision, seen):
		return held, false, nil
	default:
		held.revision, err = l.Bucket.Update(ctx, l.Name, l.value(), revision)
	}
	if errors.Is(err, eventstore.ErrConflict) {
		return held, false, nil // another one was faster
	}
	held.at = now
	return held, err == nil, err
}

// free reports whether the lease may be taken, and notes what was seen of it.
func (l Lease) free(value []byte, revision uint64, seen *sighting) bool {
	if seen.revision != revision {
		*seen = sighting{revision: revision, at: time.Now()}
	}
	return holderOf(value) == "" || time.Since(seen.at) >= l.TTL
}

// keep renews the lease while work runs, and gives it back after that.
func (l Lease) keep(ctx context.Context, held tenure, work func(context.Context) error) error {
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

// renew holds the lease for another time. An attempt that fails is made again
// while there is time for it.
func (l Lease) renew(ctx context.Context, held *tenure) error {
	now := time.Now()
	err := l.rewrite(ctx, held)
	switch {
	case err == nil:
		held.at = now
	case errors.Is(err, eventstore.ErrConflict), time.Since(held.at) >= l.TTL*2/3:
		return err
	}
	return nil
}

// rewrite writes the lease anew, also while work that was told to stop comes to its end;
// it then has no more time than a release, so that a node stops in time although the log
// does not answer. When the lease was changed meanwhile, that may have been an earlier
// attempt whose answer was lost.
func (l Lease) rewrite(ctx context.Context, held *tenure) error {
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

// release gives the lease back, also when ctx has ended. When that fails it
// expires by itself.
func (l Lease) release(ctx context.Context, held tenure) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(releaseLimit, l.TTL/6))
	defer cancel()
	l.Holder = ""
	if _, err := l.Bucket.Update(ctx, l.Name, l.value(), held.revision); err != nil {
		l.Log.DebugContext(ctx, "a lease was not given back", "err", err)
	}
}

func (l Lease) value() []byte {
	text, _ := json.Marshal(holding{Holder: l.Holder}) // a string always encodes
	return text
}

// holderOf returns who holds a lease; one that is damaged belongs to nobody we
// know, and expires.
func holderOf(value []byte) string {
	var h holding
	if json.Unmarshal(value, &h) != nil {
		return "?"
	}
	return h.Holder
}
