package api

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"svc/commands/runtime"
	"svc/domain/automation/value"
	"svc/http/gateway"
)

// trickle is the answer of a tree, which may be sent piece by piece.
type trickle struct {
	start  runtime.Start
	run    *runtime.Handle
	test   bool
	chunks chan []byte
	said   atomic.Pointer[[]byte] // the last chunk, whoever got it; nil: there was none
}

// sendUntil passes chunks on until nobody takes any more: from then on they go nowhere.
func (t *trickle) sendUntil(gone <-chan struct{}) func(context.Context, []byte) {
	return func(ctx context.Context, chunk []byte) {
		t.said.Store(&chunk)
		select {
		case t.chunks <- chunk:
		case <-gone:
		case <-ctx.Done():
		}
	}
}

// later waits for the end of the tree, and is what a repeated call is answered with: the
// last piece when there were some.
func (t *trickle) later(r *http.Request) (any, error) {
	select {
	case <-t.run.Done():
	case <-r.Context().Done():
	}
	if !t.run.HasEnded() {
		return nil, gateway.ErrGoesOn
	}
	said := t.said.Load()
	if said == nil {
		return t.told()
	}
	out, err := t.outcome()
	if err != nil {
		return nil, err
	}
	if last := lastPiece(out); last != nil {
		said = &last
	}
	return gateway.Content{Type: "application/json; charset=utf-8", Body: *said}, nil
}

// serve writes chunks as they come, and the output last. When the caller leaves the
// run goes on.
func (t *trickle) serve(w http.ResponseWriter, r *http.Request, first []byte) error {
	status, header := t.start.HTTP.Head()
	gateway.AddHeader(w.Header(), header)
	if t.start.Caller.Visitor {
		w.Header().Set("X-Svc-Session-Id", t.start.Caller.SessionID)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	putInSandbox(w.Header())
	if status != 0 {
		w.WriteHeader(status)
	}
	out := dropsTo(w, r)
	if err := out.piece(first); err != nil {
		return err
	}
	if err := t.pour(r, out.piece); err != nil {
		return err
	}
	return out.limit(time.Time{}) // the connection may serve more
}

// pour writes the rest.
func (t *trickle) pour(r *http.Request, write func([]byte) error) error {
	for {
		var alive <-chan time.Time
		timer := time.NewTimer(time.Hour)
		every, changed := t.start.HTTP.KeepAlive()
		if every > 0 {
			timer.Reset(every)
			alive = timer.C
		}
		var err error
		select {
		case chunk := <-t.chunks:
			err = write(chunk)
		case <-alive:
			err = write([]byte(`{"keepAlive": true}`))
		case <-changed:
		case <-r.Context().Done():
			err = context.Cause(r.Context())
		case <-t.run.Done():
			timer.Stop()
			return t.last(r, write)
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
}

// last writes the output, or the error that the run ended with.
func (t *trickle) last(r *http.Request, write func([]byte) error) error {
	out, err := t.outcome()
	if err != nil {
		return write(gateway.ErrorFrame(r, err))
	}
	if piece := lastPiece(out); piece != nil {
		return write(piece)
	}
	return nil
}

// lastPiece is an output after chunks; nil when it says nothing.
func lastPiece(out any) []byte {
	if o, ok := out.(*value.Object); value.IsUndefined(out) || ok && o.Len() == 0 {
		return nil
	}
	return []byte(value.JSON(out, ""))
}
