package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// ErrGoesOn says that what a request began goes on, and that nobody here will know
// its answer: a repeat with the same Idempotency-Key must not begin it again.
var ErrGoesOn = errors.New("gateway: what was begun goes on")

// hold keeps a claim in force for as long as somebody works on it, which may be
// longer than its lease.
type hold struct {
	mu    sync.Mutex
	timer *time.Timer // nil: it has ended
}

// holdOn holds on to a claim until the hold ends.
func (o *onceOnly) holdOn(ctx context.Context, c claim) *hold {
	h := &hold{}
	h.mu.Lock()
	defer h.mu.Unlock()
	often := max((c.lease-storeWait)/2, time.Millisecond)
	h.timer = time.AfterFunc(often, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.timer == nil {
			return
		}
		if err := o.renew(ctx, c); err != nil {
			o.log.WarnContext(ctx, "idempotency key not held", "correlationId", CorrelationID(ctx), "err", err)
		}
		h.timer.Reset(often)
	})
	return h
}

// end lets go, before an answer takes the place of the claim.
func (h *hold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}

// renew begins the lease of a claim anew, unless somebody else has taken it over.
func (o *onceOnly) renew(ctx context.Context, c claim) error {
	mine, err := o.mine(c)
	if err != nil {
		return err
	}
	ctx, cancel := storeContext(ctx)
	defer cancel()
	existing, err := o.store.Claim(ctx, c.key, mine, c.lease)
	if err != nil || !bytes.Equal(existing, mine) {
		return err
	}
	return o.store.Put(ctx, c.key, mine, c.lease)
}

// mine is a claim as the store keeps it.
func (o *onceOnly) mine(c claim) ([]byte, error) {
	return json.Marshal(record{Print: c.print, Holder: o.self})
}

// settle returns what is to be done when a stream is over, or will never be served:
// its last frame is kept, or what it comes to later. Until then its key is held.
func (o *onceOnly) settle(r *http.Request, c claim, s *Stream, leave func()) func(last any, failure error) {
	return func(last any, failure error) {
		if s.Later == nil {
			defer leave()
			o.keepLast(r, c, last, failure)
			return
		}
		o.aside(r, func(r *http.Request) (*reply, error) {
			defer leave()
			return o.first(r, c, func(r *http.Request) (*reply, error) { return respond(s.Later, r) })
		})
	}
}
