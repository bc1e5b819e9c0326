package events

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"svc/commands"
	"svc/domain"
	domainfeed "svc/domain/feed"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/streams/feed"
)

// The rhythm and the bounds of sockets.
const (
	socketFrame   = 1 << 20          // the largest frame that is read
	socketAuth    = 10 * time.Second // until somebody without a credential has shown one
	socketSlow    = 30 * time.Second // for a reader that takes nothing
	socketIDParam = "socketId"
)

// The close codes of the contract, besides those of the protocol.
const (
	closeNotAuthenticated websocket.StatusCode = 4401
	closeForbidden        websocket.StatusCode = 4403
)

// EventSocket handles GET …/events/ws.
func (h *Handlers) EventSocket() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			gateway.HandlerFunc(noSocket).ServeHTTP(w, r)
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
			InsecureSkipVerify: true, // the gateway has looked at the origin of who comes by a cookie
			CompressionMode:    websocket.CompressionDisabled,
		})
		if err != nil {
			return // it has answered
		}
		conn.SetReadLimit(socketFrame)
		s := &socket{h: h, conn: conn, r: r, frames: make(chan inFrame), refilter: make(chan feed.Following, 1)}
		defer func() { _ = conn.CloseNow() }() // ends the reading too
		code, reason := s.serve(r.Context())
		_ = conn.Close(code, reason) // the peer may be gone already
	})
}

// noSocket answers who asks in plain HTTP.
func noSocket(*http.Request) (any, error) {
	refusal := gateway.RefuseStatus(http.StatusUpgradeRequired, "connect here with a WebSocket; /events/stream sends events over HTTP")
	refusal.Header.Set("Upgrade", "websocket")
	return nil, refusal
}

// socket is one connection.
type socket struct {
	h    *Handlers
	conn *websocket.Conn
	r    *http.Request // of whoever is introduced
	id   string

	frames   chan inFrame
	refilter chan feed.Following
	filter   atomic.Pointer[feed.Filter]
	may      atomic.Pointer[func(*feed.Event) bool]
}

// inFrame is what a client sends.
type inFrame struct {
	Auth *struct {
		Token  string `json:"token"`
		APIKey string `json:"apiKey"`
	} `json:"auth"`
	Filters map[string]any `json:"filters"`
	Emit    *emitRequest   `json:"emit"`
	Ref     any            `json:"ref"`

	err error // it was none
}

// serve runs the connection and returns with which code it ends.
func (s *socket) serve(ctx context.Context) (websocket.StatusCode, string) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.read(ctx, cancel)
	first, err := s.authenticate(ctx)
	if err != nil {
		return s.closeCode(ctx, err)
	}
	w, _, err := s.h.following(s.r, handler.WorkspaceID(s.r))
	if err != nil {
		s.refuse(ctx, nil, err)
		return refusalCloseCode(err), "the filters are not acceptable"
	}
	s.setRights(gateway.GrantFrom(s.r.Context()))
	if s.id, err = s.readSocketID(); err != nil {
		s.refuse(ctx, nil, err)
		return refusalCloseCode(err), "the socket id is not yours"
	}
	if err := s.send(ctx, map[string]any{"ready": map[string]any{"socketId": s.id, "seq": w.After}}); err != nil {
		return s.closeCode(ctx, err)
	}
	s.filter.Store(w.Filter)
	s.refilter <- w
	go s.deliver(ctx, cancel)
	return s.closeCode(ctx, s.handleFrames(ctx, first))
}

// read hands frames over until the connection ends.
func (s *socket) read(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		kind, body, err := s.conn.Read(context.WithoutCancel(ctx)) // a read that is cut off cuts the connection, without a word
		if err != nil {
			cancel(err)
			return
		}
		var f inFrame
		if kind != websocket.MessageText {
			f.err = domain.Refuse(domain.CodeInvalidRequest, "frames must be text frames")
		} else if err := gateway.DecodeJSON(body, &f); err != nil {
			f = inFrame{err: err}
		}
		select {
		case s.frames <- f:
		case <-ctx.Done():
			return
		}
	}
}

// authenticate waits for the credential of somebody who has shown none. It returns a
// frame that is something else already.
func (s *socket) authenticate(ctx context.Context) (first *inFrame, err error) {
	if gateway.CallerFrom(s.r.Context()).Kind != gateway.KindNone {
		return nil, nil
	}
	timer := time.NewTimer(socketAuth)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
		return nil, gateway.MissingCredential()
	case f := <-s.frames:
		if f.Auth == nil {
			if gateway.GrantFrom(s.r.Context()).Rights == nil {
				return nil, gateway.MissingCredential()
			}
			return &f, nil
		}
		introduced, err := gateway.Introduce(s.r.WithContext(ctx), gateway.Credentials{Bearer: f.Auth.Token, APIKey: f.Auth.APIKey})
		if err != nil {
			s.refuse(ctx, f.Ref, err)
			return nil, err
		}
		s.r = introduced
		return nil, nil
	}
}

// readSocketID returns the id of the socket: a new one, or an earlier one of the session.
func (s *socket) readSocketID() (string, error) {
	given := s.r.URL.Query().Get(socketIDParam)
	if given == "" {
		id := uuid.NewString()
		return id + "." + s.signSocketID(id), nil
	}
	id, tag, _ := strings.Cut(given, ".")
	if gateway.CallerFrom(s.r.Context()).SessionID == "" || tag != s.signSocketID(id) {
		return "", domain.Refuse(domain.CodePermissionDenied, "this socket id is not one of your session")
	}
	return given, nil
}

// signSocketID ties a socket id to the session: what another would need to know for it is the
// secret of the CSRF tokens.
func (s *socket) signSocketID(id string) string {
	c := gateway.CallerFrom(s.r.Context())
	sum := sha256.Sum256([]byte(s.h.CSRFToken(c.SessionID) + "\x00" + id))
	return hex.EncodeToString(sum[:8])
}

func (s *socket) setRights(g gateway.Grant) {
	may := NewEventFilter(g.Rights)
	s.may.Store(&may)
}

// send writes one frame.
func (s *socket) send(ctx context.Context, frame any) error {
	body, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), socketSlow) // as for a read
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, body)
}

// closeCode returns the code that the end of a connection has.
func (s *socket) closeCode(ctx context.Context, err error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(err, feed.ErrSlow):
		return websocket.StatusTryAgainLater, "too slow: resume with fromSeq"
	case domain.CodeOf(err) != domain.CodeInternal:
		return refusalCloseCode(err), "not authenticated or not allowed"
	case s.r.Context().Err() != nil && ctx.Err() != nil:
		return websocket.StatusGoingAway, "the service stops"
	}
	return websocket.StatusNormalClosure, ""
}

// refusalCloseCode is the code of a refusal.
func refusalCloseCode(err error) websocket.StatusCode {
	switch domain.CodeOf(err) {
	case domain.CodeMissingToken, domain.CodeInvalidToken, domain.CodeTokenExpired, domain.CodeInvalidCredentials:
		return closeNotAuthenticated
	case domain.CodePermissionDenied, domain.CodeWorkspaceDenied, domain.CodeInsufficientScope, domain.CodeNotFound:
		return closeForbidden
	}
	return websocket.StatusPolicyViolation
}

// handleFrames answers frames and sees to it that the connection is alive and allowed.
func (s *socket) handleFrames(ctx context.Context, first *inFrame) error {
	if first != nil {
		s.answer(ctx, *first)
	}
	rights, pulse := time.NewTicker(handler.RightsPeriod), time.NewTicker(s.h.Heartbeat)
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
			s.setRights(grant)
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
		go func() { done <- s.h.Feed.Follow(round, w, func(b feed.Delivery) error { return s.write(round, b) }) }()
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
		return handler.RefuseParameter("filters.fromSeq", "must be a position")
	}
	w := feed.Following{WorkspaceID: handler.WorkspaceID(s.r), Filter: &f, MaxBehind: liveMaxBehind, MaxBytes: liveMaxBytes, Pace: livePace}
	if w.After, _, err = s.h.readResumption(s.r, "filters.fromSeq", token); err != nil {
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
	emitted, err := s.h.emit(commands.WithRequest(s.r.Context(), request), grant.Rights, handler.WorkspaceID(s.r), []commands.Emission{made})
	if err != nil {
		return err
	}
	ack := map[string]any{"id": emitted[0].ID, "seq": emitted[0].Seq}
	if f.Ref != nil {
		ack["ref"] = f.Ref
	}
	return s.send(ctx, map[string]any{"ack": ack})
}
