package api

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"svc/commands"
	"svc/domain"
	domainfeed "svc/domain/feed"
	"svc/http/gateway"
	"svc/streams/feed"
)

// attend answers frames and sees to it that the connection is alive and allowed.
func (s *socket) attend(ctx context.Context, first *inFrame) error {
	if first != nil {
		s.answer(ctx, *first)
	}
	rights, pulse := time.NewTicker(rightsPeriod), time.NewTicker(s.d.Heartbeat)
	defer rights.Stop()
	defer pulse.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case f := <-s.frames:
			s.answer(ctx, f)
		case <-pulse.C:
			if err := s.ping(ctx); err != nil {
				return err
			}
		case <-rights.C:
			_, grant, err := gateway.Recheck(s.r)
			if err != nil {
				return err
			}
			s.judge(grant)
		}
	}
}

func (s *socket) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, socketSlow)
	defer cancel()
	return s.conn.Ping(ctx)
}

// deliver follows the feed, and begins again from where a frame says.
func (s *socket) deliver(ctx context.Context, cancel context.CancelCauseFunc) {
	for w := <-s.refilter; ; {
		round, stop := context.WithCancel(ctx)
		w.CurrentFilter = s.filter.Load
		done := make(chan error, 1)
		go func() { done <- s.d.Feed.Follow(round, w, func(b feed.Delivery) error { return s.write(round, b) }) }()
		select {
		case err := <-done:
			stop()
			cancel(err)
			return
		case next := <-s.refilter:
			stop()
			<-done
			w = next
		case <-ctx.Done():
			stop()
			<-done
			return
		}
	}
}

// write sends the events that the reader may have: one for the socket that began a run
// goes to that socket only.
func (s *socket) write(ctx context.Context, b feed.Delivery) error {
	may := *s.may.Load()
	for _, e := range b.Events {
		if !may(e) || e.Target != nil && e.Target.CurrentSocket && e.Source.SocketID != s.id {
			continue
		}
		if err := s.send(ctx, map[string]any{"event": e}); err != nil {
			return err
		}
	}
	return nil
}

// answer does what a frame asks for.
func (s *socket) answer(ctx context.Context, f inFrame) {
	err := gateway.Count(s.r)
	switch {
	case err != nil:
	case f.err != nil:
		err = f.err
	case f.Emit != nil:
		err = s.emit(ctx, f)
	case f.Filters != nil:
		err = s.replace(f.Filters)
	case f.Auth != nil:
		err = domain.Refuse(domain.CodeInvalidRequest, "the connection is authenticated already")
	default:
		err = domain.Refuse(domain.CodeInvalidRequest, "a frame must have one of: auth, filters, emit")
	}
	if err != nil {
		s.refuse(ctx, f.Ref, err)
	}
}

// refuse tells what is wrong. Who cannot be told will find the connection closed.
func (s *socket) refuse(ctx context.Context, ref any, err error) {
	refusal := gateway.Explain(s.r, err)
	frame := map[string]any{"code": refusal.Code, "message": refusal.Message}
	if len(refusal.Details) > 0 {
		frame["details"] = refusal.Details
	}
	if ref != nil {
		frame["ref"] = ref
	}
	_ = s.send(ctx, map[string]any{"error": frame})
}

// replace takes other filters, and goes back to a position if they name one.
func (s *socket) replace(filters map[string]any) error {
	from := filters["fromSeq"]
	delete(filters, "fromSeq")
	f, err := domainfeed.FilterOf(filters)
	if err != nil {
		return err
	}
	if from == nil {
		s.filter.Store(&f)
		return nil
	}
	token, ok := from.(string)
	if !ok {
		return badParameter("filters.fromSeq", "must be a position")
	}
	w := feed.Following{WorkspaceID: workspaceID(s.r), Filter: &f, MaxBehind: liveMaxBehind, MaxBytes: liveMaxBytes, Pace: livePace}
	if w.After, _, err = s.d.resumption(s.r, "filters.fromSeq", token); err != nil {
		return err
	}
	s.filter.Store(&f)
	select {
	case <-s.refilter: // nobody has taken the last one up
	default:
	}
	s.refilter <- w
	return nil
}

// emit records an event as POST …/events would.
func (s *socket) emit(ctx context.Context, f inFrame) error {
	caller := gateway.CallerFrom(s.r.Context())
	if caller.Scopes != nil && !slices.Contains(caller.Scopes, "events:write") {
		return domain.Refuse(domain.CodeInsufficientScope, "the token lacks the scope events:write").With("scope", "events:write")
	}
	_, grant, err := gateway.Recheck(s.r)
	if err != nil {
		return err
	}
	made, err := f.Emit.command("emit")
	if err != nil {
		return err
	}
	request := &commands.Request{Meta: commands.RequestFrom(s.r.Context()).Meta}
	request.Meta.CorrelationID, request.Meta.SocketID = uuid.NewString(), s.id
	shown, err := s.d.emit(commands.WithRequest(s.r.Context(), request), grant.Rights, workspaceID(s.r), []commands.Emission{made})
	if err != nil {
		return err
	}
	ack := map[string]any{"id": shown[0].ID, "seq": shown[0].Seq}
	if f.Ref != nil {
		ack["ref"] = f.Ref
	}
	return s.send(ctx, map[string]any{"ack": ack})
}
