package events

import (
	"context"
	"errors"
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/streams/feed"
)

// The rhythm and the bounds of live streams.
const (
	tickPeriod    = handler.RightsPeriod / 8 // between looks at whether it is time for that
	livePace      = 20 * time.Millisecond    // between two deliveries to one reader
	liveMaxBehind = 1000
	liveMaxBytes  = 5 << 20
)

// StreamEvents handles GET …/events/stream: events as they come.
func (h *Handlers) StreamEvents(r *http.Request) (any, error) {
	w, ahead, err := h.following(r, handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	s := &eventStream{h: h, follow: w, ahead: ahead, newFilter: newWorkspaceFilter}
	return gateway.Stream{Serve: s.serve}, nil
}

// StreamAllEvents handles GET /v2/events/stream: the events of every workspace whose
// events the caller may read.
func (h *Handlers) StreamAllEvents(r *http.Request) (any, error) {
	w, ahead, err := h.following(r, "")
	if err != nil {
		return nil, err
	}
	s := &eventStream{h: h, follow: w, ahead: ahead, newFilter: h.newGlobalFilter, global: true}
	return gateway.Stream{Serve: s.serve}, nil
}

// following is what the reader of a stream wants; ahead tells that they came with a
// position that the log has not reached.
func (h *Handlers) following(r *http.Request, workspaceID string) (w feed.Following, ahead bool, err error) {
	query := gateway.NewQuery(r)
	from, name := query.Text("fromSeq"), "fromSeq"
	if err := query.Err(); err != nil {
		return w, false, err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		from, name = last, "Last-Event-ID"
	}
	filter, err := eventFilter(r.URL.Query(), "fromSeq", socketIDParam)
	if err != nil {
		return w, false, err
	}
	w = feed.Following{
		WorkspaceID: workspaceID, After: h.Feed.Now(), Filter: &filter,
		MaxBehind: liveMaxBehind, MaxBytes: liveMaxBytes, Pace: livePace,
	}
	if from != "" {
		w.After, ahead, err = h.readResumption(r, name, from)
	}
	return w, ahead, err
}

// readResumption reads a position that a reader goes on from. One that the log has not
// reached is of another log, or made up: ahead tells that it was taken for now.
func (h *Handlers) readResumption(r *http.Request, name, text string) (at domain.Position, ahead bool, err error) {
	if at, err = h.positionIn(r, name, text); err != nil {
		return at, false, err
	}
	newest, err := h.Feed.Newest(r.Context())
	if err != nil {
		return at, false, err
	}
	if at.Max(newest) != newest {
		return h.Feed.Now(), true, nil
	}
	return at, false, h.checkNotErased(r.Context(), at)
}

// checkNotErased refuses a position from which on some events are erased.
func (h *Handlers) checkNotErased(ctx context.Context, at domain.Position) error {
	first, err := h.Feed.Oldest(ctx)
	if err != nil || at.IsZero() || at.Activity+1 >= first {
		return err
	}
	refusal := gateway.RefuseStatus(http.StatusGone, "events after this position are erased: start again without it")
	refusal.Err.Reason("position_expired")
	return refusal
}

// eventFilterFunc tells which events the caller of a request may read, as their rights are now.
type eventFilterFunc func(r *http.Request, c gateway.Caller, g gateway.Grant) func(*feed.Event) bool

func newWorkspaceFilter(_ *http.Request, _ gateway.Caller, g gateway.Grant) func(*feed.Event) bool {
	return NewEventFilter(g.Rights)
}

// newGlobalFilter selects events of any workspace. A fact may be about rights, so that those
// are looked at again; that a workspace is gone is told to who could read it.
func (h *Handlers) newGlobalFilter(_ *http.Request, c gateway.Caller, _ gateway.Grant) func(*feed.Event) bool {
	known := map[string]func(*feed.Event) bool{}
	return func(e *feed.Event) bool {
		id := e.Source.WorkspaceID
		may, ok := known[id]
		if !ok || e.Log == domain.State {
			may = newFilterIn(h.Access.RightsOf(c.Identity(), id))
			known[id] = may
		}
		if e.Log == domain.State && e.Type == (workspace.Deleted{}).EventType() && !may(e) {
			may = newFilterIn(h.Access.FormerRights(c.Identity(), id))
		}
		return may(e)
	}
}

// newFilterIn is readable with rights in a workspace that may not be there.
func newFilterIn(rights *access.Rights, found bool, err error) func(*feed.Event) bool {
	if err != nil || !found || !canReadWorkspace(rights) {
		return func(*feed.Event) bool { return false }
	}
	return NewEventFilter(rights)
}

// canReadWorkspace reports whether a workspace is one that somebody may read: events that
// were sent to them elsewhere are read there.
func canReadWorkspace(rights *access.Rights) bool { return rights.Allows("read", "workspaces", nil) }

// eventStream is one connection that events are written to.
type eventStream struct {
	h         *Handlers
	follow    feed.Following
	ahead     bool // the reader came with a position that was taken for now
	newFilter eventFilterFunc
	global    bool // of all workspaces: positions are those of the logs
	may       func(*feed.Event) bool
	out       *handler.StreamWriter
	buf       []byte
	checkedAt time.Time // when the rights of the reader were looked at last
	sentAt    time.Time // when something was sent last
}

// serve writes events until the reader leaves, is too slow, or may not read any more.
func (s *eventStream) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	s.out, s.checkedAt, s.may = handler.NewStreamWriter(w, r), s.h.Now(), s.newFilter(r, gateway.CallerFrom(r.Context()), gateway.GrantFrom(r.Context()))
	handler.SetStreamHeaders(w.Header())
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil, nil
	}
	// With its position a reader who has got no event yet can go on after a lost connection, too.
	s.buf = append(append(append(s.buf, "retry: 2000\nid: "...), s.follow.After.Token()...), "\n\n"...)
	if s.ahead {
		s.buf = append(s.buf, ": the position is ahead of the log: events are sent from now on\n\n"...)
	}
	if s.flush() != nil {
		return nil, nil // the reader is gone
	}
	s.follow.Tick, s.follow.TickEvery = s.tick(r), min(tickPeriod, s.h.Heartbeat)
	s.follow.ReplayTick = s.follow.Tick
	err := s.h.Feed.Follow(r.Context(), s.follow, func(b feed.Delivery) error {
		if err := s.recheck(r); err != nil {
			return err
		}
		s.write(b)
		return s.flush()
	})
	if err != nil && !errors.Is(err, feed.ErrSlow) && !errors.Is(err, errStreamOver) && r.Context().Err() == nil {
		s.h.Log.WarnContext(r.Context(), "a stream of events broke off", "err", err)
	}
	return nil, nil
}

// errStreamOver ends a stream whose reader is gone, or may not read any more.
var errStreamOver = errors.New("the stream is over")

// recheck looks at the rights of the reader, from time to time. It is asked before
// each delivery too: who takes their time over stored events is not live for long.
func (s *eventStream) recheck(r *http.Request) error {
	now := s.h.Now()
	if now.Sub(s.checkedAt) < handler.RightsPeriod {
		return nil
	}
	caller, grant, err := gateway.Recheck(r)
	if err != nil {
		return errStreamOver
	}
	s.checkedAt, s.may = now, s.newFilter(r, caller, grant)
	return nil
}

// tick looks at the rights of the reader, and gives a sign of life.
func (s *eventStream) tick(r *http.Request) func() error {
	return func() error {
		if err := s.recheck(r); err != nil || s.h.Now().Sub(s.sentAt) < s.h.Heartbeat {
			return err
		}
		s.buf = append(s.buf, ": still here\n\n"...)
		return s.flush()
	}
}

// write adds the frames of a delivery to the buffer.
func (s *eventStream) write(b feed.Delivery) {
	for i, e := range b.Events {
		if !s.may(e) || e.Target != nil && e.Target.CurrentSocket {
			continue
		}
		if s.global {
			s.buf = e.FrameAt(s.buf, b.Positions[i])
		} else {
			s.buf = e.Frame(s.buf)
		}
	}
}

// flush sends what is in the buffer.
func (s *eventStream) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	s.sentAt = s.h.Now()
	err := s.out.Send(s.buf)
	if s.buf = s.buf[:0]; cap(s.buf) > liveBuffer {
		s.buf = nil
	}
	if err != nil {
		return errStreamOver
	}
	return nil
}

// liveBuffer is how much memory a reader keeps between two deliveries.
const liveBuffer = 64 << 10
