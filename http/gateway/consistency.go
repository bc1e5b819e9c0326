package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/domain"
)

// ReadModel waits for positions of the read model of this node.
type ReadModel interface {
	// Reach waits until the read model has everything up to pos.
	Reach(ctx context.Context, pos domain.Position) error
	// Fresh waits until the read model has everything that was acknowledged
	// before the call, as far as this node knows.
	Fresh(ctx context.Context) error
}

// readWait bounds the wait of a read for the read model.
const readWait = 2 * time.Second

// catchUp is the step that lets a read see earlier writes, and a run what was saved.
func (g *Gateway) catchUp(_ http.ResponseWriter, r *http.Request) error {
	ex := exchangeOf(r)
	if ex.route.Surface == Plain || ex.writes(r) && !ex.route.Runs {
		return nil
	}
	pos, err := minPosition(r.Header.Get("X-Svc-Min-Seq"))
	if err != nil || g.opts.ReadModel == nil || ex.route.NoWait {
		return err
	}
	if !ex.route.Runs && g.opts.Known != nil {
		ex.readAt = g.opts.Known()
	}
	return waitBounded(r.Context(), func(ctx context.Context) error {
		if !pos.IsZero() {
			if err := g.opts.ReadModel.Reach(ctx, pos); err != nil {
				return err
			}
		}
		if ex.route.Runs && g.opts.Known != nil {
			return g.opts.ReadModel.Reach(ctx, domain.Position{State: g.opts.Known().State})
		}
		return g.opts.ReadModel.Fresh(ctx)
	})
}

// minPosition reads x-svc-min-seq. A contentRevision is accepted in place of a
// position: it is the sequence of the change in STATE.
func minPosition(token string) (domain.Position, error) {
	if token == "" {
		return domain.Position{}, nil
	}
	var pos domain.Position
	var err error
	if strings.Trim(token, "0123456789") == "" {
		pos.State, err = strconv.ParseUint(token, 10, 64)
	} else {
		pos, err = domain.ParsePosition(token)
	}
	if err != nil {
		return pos, domain.Refuse(domain.CodeInvalidParameter, "x-svc-min-seq is not a position").
			With("parameter", "x-svc-min-seq")
	}
	return pos, nil
}

// expiredContext is a cancelled context.
var expiredContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// waitBounded waits for the read model with a timeout. Mostly there is nothing to wait for, and then
// it creates no timer.
func waitBounded(ctx context.Context, wait func(context.Context) error) error {
	if wait(expiredContext) == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	err := wait(limited)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return domain.Refuse(domain.CodeUnavailable, "the read model is behind").
			Reason("read_model_behind").With("retryAfter", 1)
	}
	return err
}

// checkWriteGate refuses writes while the store does not accept them.
func (g *Gateway) checkWriteGate(_ http.ResponseWriter, r *http.Request) error {
	if g.opts.WriteGate == nil || !exchangeOf(r).writes(r) {
		return nil
	}
	err := g.opts.WriteGate()
	if err == nil || domain.CodeOf(err) == domain.CodeUnavailable {
		return err
	}
	if _, ok := errors.AsType[Unavailable](err); ok {
		return err
	}
	return &closedGate{err}
}

// closedGate says why writes are refused, for the log; the caller gets a Retry-After.
type closedGate struct{ error }

// Unavailable implements Unavailable.
func (*closedGate) Unavailable() time.Duration { return 5 * time.Second }

// Unwrap returns why the gate is closed.
func (e *closedGate) Unwrap() error { return e.error }
