package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/operation"
	"svc/http/gateway"
)

// The rhythm of the stream of an operation.
const (
	operationPoll   = 250 * time.Millisecond // between looks at the log
	operationRights = 5 * time.Second        // between looks at the rights of the reader
	operationPulse  = 15 * time.Second       // between comments, so that nobody takes the connection for dead
)

// streamOperation handles GET …/operations/{opId}/events: what was recorded of an
// operation, from its start or from where the reader was, until it has ended.
func streamOperation(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		op, err := findOperation(d, r)
		if err != nil {
			return nil, err
		}
		after, err := lastEvent(r)
		if err != nil {
			return nil, err
		}
		return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
			f := &frames{w: w, flush: http.NewResponseController(w).Flush, after: after}
			if op.Kind == operation.BulkImport || op.Kind == operation.BulkPush {
				f.only = bulkEvent
			}
			return nil, f.follow(r, d, operation.Stream(op.WorkspaceID, op.ID))
		}}, nil
	}
}

// lastEvent is where a reader was that comes back.
func lastEvent(r *http.Request) (uint64, error) {
	token := r.Header.Get("Last-Event-ID")
	if token == "" {
		return 0, nil
	}
	at, err := domain.ParsePosition(token)
	if err != nil {
		return 0, domain.Refuse(domain.CodeInvalidParameter, "Last-Event-ID was not sent by this stream: leave it out to start now").With("parameter", "Last-Event-ID")
	}
	return at.State, nil
}

// frames writes events to one reader.
type frames struct {
	w     http.ResponseWriter
	flush func() error
	after uint64 // the reader has what was recorded up to there
	read  uint64 // what was recorded up to there was looked at
	ended bool

	revision func(workspaceID string, seq uint64) (uint64, error)

	only func(domain.Event) bool // what is told; nil: everything
	last json.RawMessage         // of what was told
}

// begin is follow for who has just started a run: one that is refused before it has
// a plan is refused here too.
func (f *frames) begin(r *http.Request, d Deps, id domain.StreamID) error {
	poll := time.NewTicker(operationPoll)
	defer poll.Stop()
	for {
		events, err := d.Operations.Events.Load(r.Context(), id, 0)
		if err != nil {
			return err
		}
		for _, ev := range events {
			if end, ok := ev.Data.(operation.Ended); ok && end.Failure != nil {
				return end.Failure.Error()
			}
			if f.only(ev.Data) {
				return f.follow(r, d, id)
			}
		}
		select {
		case <-r.Context().Done():
			return context.Cause(r.Context())
		case <-poll.C:
		}
	}
}

// follow tells what was recorded of an operation, and what is, until it has ended
// or the reader is gone, or may not read it any more. An error is told before the
// first word only.
func (f *frames) follow(r *http.Request, d Deps, id domain.StreamID) error {
	events, err := d.Operations.Events.Load(r.Context(), id, 0)
	if err != nil {
		return err
	}
	f.revision = d.revisionAt(r.Context())
	f.w.Header().Set("Content-Type", "text/event-stream")
	f.w.Header().Set("Cache-Control", "no-store")
	f.w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		f.w.WriteHeader(http.StatusOK)
		return nil
	}
	if err := f.write("retry: 2000\n\n"); err != nil {
		return nil // the reader is gone
	}
	poll, rights, pulse := time.NewTicker(operationPoll), time.NewTicker(operationRights), time.NewTicker(operationPulse)
	defer poll.Stop()
	defer rights.Stop()
	defer pulse.Stop()
	for err = f.tell(events); err == nil && !f.ended; {
		select {
		case <-r.Context().Done():
			return nil
		case <-pulse.C:
			err = f.write(": still running\n\n")
		case <-rights.C:
			if _, _, err := gateway.Recheck(r); err != nil {
				return nil
			}
		case <-poll.C:
			err = f.more(r.Context(), d, id)
		}
	}
	return nil
}

// more tells what is new. When the log does not answer the next look may.
func (f *frames) more(ctx context.Context, d Deps, id domain.StreamID) error {
	events, err := d.Operations.Events.Load(ctx, id, f.read)
	if err != nil {
		return nil
	}
	return f.tell(events)
}

// tell writes the events that the reader does not have.
func (f *frames) tell(events []domain.Recorded) error {
	for _, ev := range events {
		f.read = ev.Seq
		if _, void := ev.Data.(domain.Void); void {
			continue
		}
		if _, last := ev.Data.(operation.Ended); last {
			f.ended = true
		}
		if ev.Seq <= f.after || f.only != nil && !f.only(ev.Data) {
			continue
		}
		shown, err := domain.PayloadOf(ev, f.revision)
		if err != nil {
			return err
		}
		payload, err := json.Marshal(shown)
		if err != nil {
			return err
		}
		f.last = payload
		if err := f.write("id: %s\nevent: %s\ndata: %s\n\n", domain.At(domain.State, ev.Seq).Token(), ev.Data.EventType(), payload); err != nil {
			return err
		}
	}
	return nil
}

func (f *frames) write(format string, args ...any) error {
	if _, err := fmt.Fprintf(f.w, format, args...); err != nil {
		return err
	}
	return f.flush()
}
