// Package lastused remembers, to the minute, when access tokens and API keys
// were last used. It is a help for tidying up and no history: it lives in a
// bucket, and a use that is not noted is no fault.
package lastused

import (
	"context"
	"errors"
	"time"

	"svc/commands/cache"
	"svc/eventstore"
)

// Book is where uses are noted.
type Book struct {
	bucket eventstore.Bucket
	now    func() time.Time
	recent *cache.Cache[string, time.Time] // when it was last noted
	queue  chan use
}

type use struct {
	id string
	at time.Time
}

const (
	grain      = time.Minute
	queued     = 256
	remembered = 10_000
	writeLimit = 5 * time.Second
)

// New returns a Book that is kept in bucket.
func New(bucket eventstore.Bucket, now func() time.Time) *Book {
	return &Book{bucket: bucket, now: now, recent: cache.New[string, time.Time](remembered), queue: make(chan use, queued)}
}

// Note says that id is being used. It never waits.
func (b *Book) Note(id string) {
	now := b.now().UTC()
	if at, known := b.recent.Get(id); known && now.Sub(at) < grain {
		return
	}
	b.recent.Set(id, now)
	select {
	case b.queue <- use{id, now}:
	default:
	}
}

// Run writes down what was noted, until ctx ends.
func (b *Book) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case u := <-b.queue:
			writing, cancel := context.WithTimeout(ctx, writeLimit)
			_, _ = b.bucket.Put(writing, u.id, []byte(u.at.Format(time.RFC3339))) // the next use is noted again
			cancel()
		}
	}
}

// At returns when id was last used; the zero time when that is not known.
func (b *Book) At(ctx context.Context, id string) (time.Time, error) {
	value, _, err := b.bucket.Get(ctx, id)
	if errors.Is(err, eventstore.ErrNoKey) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339, string(value))
}
