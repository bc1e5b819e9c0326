package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/domain"
	"svc/eventstore"
	"svc/projections"
)

// Cursors keeps the places of subscriptions in the feed. It is a *jetstream.Bucket.
type Cursors interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Delete(ctx context.Context, key string) error
}

// cursors are places by the id of their subscription.
type cursors struct{ bucket Cursors }

// load returns the place of a subscription; zero when it has none.
func (c cursors) load(ctx context.Context, id string) (at domain.Position, err error) {
	value, _, err := c.bucket.Get(ctx, id)
	if errors.Is(err, eventstore.ErrNoKey) {
		return at, nil
	}
	if err == nil {
		err = at.UnmarshalText(value)
	}
	if err != nil {
		return at, fmt.Errorf("read the place of subscription %s: %w", id, err)
	}
	return at, nil
}

func (c cursors) save(ctx context.Context, id string, at domain.Position) error {
	_, err := c.bucket.Put(ctx, id, []byte(at.Token()))
	return err
}

// saveEvery is how often the places of subscriptions are saved while they move.
const saveEvery = 250 * time.Millisecond

// savePlaces saves places that moved until ctx ends.
func (p *partition) savePlaces(ctx context.Context) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.mu.Lock()
		list := make([]*worker, 0, len(p.workers))
		for _, w := range p.workers {
			list = append(list, w)
		}
		p.mu.Unlock()
		for _, w := range list {
			p.savePlace(w, false)
		}
	}
}

// saveWait bounds how long one place may take to be saved.
const saveWait = 5 * time.Second

// savePlace saves the place of a subscription if it moved. One that is not saved
// costs another look at what was delivered, and no more.
func (p *partition) savePlace(w *worker, ending bool) {
	w.mu.Lock()
	at, moved := w.ledger.Unsaved(p.now(), ending)
	w.mu.Unlock()
	if !moved {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveWait)
	defer cancel()
	if err := p.cursors.save(ctx, w.key.id, at); err != nil {
		w.log.WarnContext(ctx, "the place of a subscription could not be saved", "err", err)
		w.mu.Lock()
		w.ledger.Again()
		w.mu.Unlock()
	}
}

// leave saves the place of a subscription that is no longer served, or forgets it with
// the subscription.
func (p *partition) leave(w *worker) {
	there := true
	err := p.models.View(func(r projections.Reader) (err error) {
		_, there, err = projections.Subscriptions{}.Get(r, w.key.workspaceID, w.key.id)
		return err
	})
	if err != nil || there {
		p.savePlace(w, true)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveWait)
	defer cancel()
	if err := p.cursors.bucket.Delete(ctx, w.key.id); err != nil {
		w.log.WarnContext(ctx, "the place of a subscription that is deleted could not be forgotten", "err", err)
	}
}
