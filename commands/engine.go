package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

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
