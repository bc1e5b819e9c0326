package commands

import (
	"context"
	"sync"

	"svc/domain"
)

// Request is what the commands know of whoever asked: it travels in the
// context, from the gateway or the process manager down to the append.
type Request struct {
	// Meta becomes the source of every event the request causes.
	Meta domain.Meta
	// Address is the caller's, also one that events do not tell.
	Address string
	// Seed, when set, makes every id drawn for the request a function of it, so
	// that a repeated request meets its own earlier events instead of doubling
	// them. The gateway derives it from the caller and the Idempotency-Key.
	Seed string

	mu    sync.Mutex
	pos   domain.Position
	drawn map[string]int // how often each purpose drew bytes
}

type requestKey struct{}

// WithRequest returns a context that carries r.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestFrom returns the request of ctx, or a new empty one.
func RequestFrom(ctx context.Context) *Request {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		return r
	}
	return &Request{}
}

// Saw notes that the request wrote up to pos.
func (r *Request) Saw(pos domain.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pos = r.pos.Max(pos)
}

// Position returns how far the request has written: zero when it wrote nothing.
func (r *Request) Position() domain.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pos
}
