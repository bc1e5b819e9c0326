// Package commands changes things: it loads an aggregate, lets the domain
// decide, and appends the facts that follow. It holds no rule of its own, and
// it reads no read model: what a command must look up arrives through a small
// interface that the command declares.
package commands

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/commands/cache"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// Snapshots keep folded states, so that a long history is not folded again
// after a restart. They may be lost at any time. Sequences are those of STATE.
type Snapshots interface {
	Get(id domain.StreamID, version int) (seq uint64, state []byte, ok bool)
	Put(id domain.StreamID, version int, seq uint64, state []byte) error
}

// Engine runs commands against the log.
type Engine struct {
	store     eventstore.Store
	snapshots Snapshots
	host      domain.Host
	log       *slog.Logger
	limit     func(eventType string) int
	cache     *cache.Cache[domain.StreamID, any] // of *folded[S]
	turns     Turns[domain.StreamID]
}

// EngineOptions configure an Engine; only Store is required.
type EngineOptions struct {
	Store     eventstore.Store
	Snapshots Snapshots // default none
	Host      domain.Host
	Log       *slog.Logger
	// Limit is how many characters the payload of an activity event may have; default
	// 100000 for all types.
	Limit func(eventType string) int
}

// defaultLimit is BROKER_EMIT_MAXLEN where nobody has set it.
const defaultLimit = 100_000

// NewEngine returns an Engine.
func NewEngine(o EngineOptions) (*Engine, error) {
	if o.Store == nil {
		return nil, errors.New("commands: EngineOptions.Store is required")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Limit == nil {
		o.Limit = func(string) int { return defaultLimit }
	}
	return &Engine{
		store: o.Store, snapshots: o.Snapshots, host: o.Host, log: o.Log, limit: o.Limit, cache: cache.New[domain.StreamID, any](cachedStates),
	}, nil
}

// Record appends an activity event to a workspace. One that is larger than events may
// be is cut, if it can be.
func (e *Engine) Record(ctx context.Context, workspaceID string, ev domain.Event) error {
	if bounded, ok := ev.(activity.Bounded); ok {
		ev = bounded.Within(e.limit(ev.EventType()))
	}
	receipt, err := e.store.Append(ctx, eventstore.Commit{
		Stream: domain.StreamID{Scope: workspaceID}, Meta: e.meta(ctx),
		Facts: []eventstore.Fact{{ID: drawIDs(ctx, "activity/"+workspaceID+"/"+ev.EventType()).at(0), Event: ev}},
	})
	if err != nil {
		return unavailable(err)
	}
	RequestFrom(ctx).Saw(receipt.Position)
	return nil
}

// meta is the source of the events that ctx causes.
func (e *Engine) meta(ctx context.Context) domain.Meta {
	m := RequestFrom(ctx).Meta
	if m.Host == (domain.Host{}) {
		m.Host = e.host
	}
	return m
}

// Unavailable is a refusal because the log takes no writes now.
type Unavailable struct{ cause error }

// Error implements error.
func (u *Unavailable) Error() string { return u.cause.Error() }

// Unwrap returns the store's own error.
func (u *Unavailable) Unwrap() error { return u.cause }

// Unavailable returns how long to wait before the next attempt.
func (u *Unavailable) Unavailable() time.Duration { return time.Second }

// Refused returns err as an Unavailable.
func Refused(err error) error { return &Unavailable{cause: err} }

func unavailable(err error) error {
	if errors.Is(err, eventstore.ErrUnavailable) {
		return &Unavailable{cause: fmt.Errorf("the log: %w", err)}
	}
	return err
}

// Request has what the commands know of a request: it is stored in the
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

// WithDepth returns a context whose events the platform causes by itself, but because of a run of automations at a
// depth: they carry it, so that runs that cause each other end. 0: no run is behind them.
func WithDepth(ctx context.Context, depth int) context.Context {
	if depth == 0 {
		return ctx
	}
	return WithRequest(ctx, &Request{Meta: domain.Meta{AutomationDepth: depth}})
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

// ids are the event ids of one command: the same for every attempt at it.
type ids struct{ base [16]byte }

// drawIDs returns the ids of the next command of the request in ctx for one
// purpose: an aggregate, or the activity of a workspace.
func drawIDs(ctx context.Context, purpose string) ids {
	return ids{base: RequestFrom(ctx).draw(purpose)}
}

// RepeatableIDs returns ids that a repetition of the request in ctx draws again; nil when
// the request cannot be recognised.
func RepeatableIDs(ctx context.Context, purpose string) func(i int) string {
	if RequestFrom(ctx).Seed == "" {
		return nil
	}
	return drawIDs(ctx, purpose).at
}

// at returns the id of the i-th event, in order.
func (d ids) at(i int) string {
	id := ulid.ULID(d.base)
	binary.BigEndian.PutUint64(id[8:], binary.BigEndian.Uint64(id[8:])+uint64(i))
	return id.String()
}

// again returns other ids for the same command, when these are burned.
func (d ids) again() ids { return ids{base: toULID(sha256.Sum256(d.base[:]))} }

// draw returns 16 new bytes for a ULID. With a seed they are a function of it, of the purpose, and of
// how often the request drew for that purpose, so that a repeated request gets the same again even
// when it does other things in between.
func (r *Request) draw(purpose string) [16]byte {
	if r.Seed == "" {
		return ulid.Make()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drawn == nil {
		r.drawn = map[string]int{}
	}
	r.drawn[purpose]++
	return toULID(sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", r.Seed, purpose, r.drawn[purpose])))
}

// toULID truncates a hash to the form of a ULID.
func toULID(h [sha256.Size]byte) [16]byte {
	h[0] &= 0x7f // the first character of a ULID has three bits
	h[8] &= 0x7f // leaves room for at
	return [16]byte(h[:16])
}

const idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewID returns an id of n URL-safe characters for something new.
func NewID(ctx context.Context, n int) string {
	r := RequestFrom(ctx)
	var source [32]byte
	if r.Seed == "" {
		_, _ = rand.Read(source[:]) // never fails: crypto/rand ends the process instead
	} else {
		b := r.draw("id")
		source = sha256.Sum256(b[:])
	}
	id := make([]byte, n)
	for i := range id {
		id[i] = idAlphabet[int(source[i])%len(idAlphabet)]
	}
	return string(id)
}

// NewULID returns an id for something new that sorts by time, unless the ids of the request follow from its
// Idempotency-Key.
func NewULID(ctx context.Context, purpose string) string {
	return ulid.ULID(RequestFrom(ctx).draw(purpose)).String()
}

// randomFor returns a source of numbers below n. With a seed they are a function
// of it.
func randomFor(ctx context.Context) func(n int) int {
	return func(n int) int {
		b := RequestFrom(ctx).draw("number")
		sum := sha256.Sum256(b[:])
		return int(binary.BigEndian.Uint64(sum[:8]) % uint64(n))
	}
}
