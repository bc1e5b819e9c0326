package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"svc/domain"
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

// eventSocket handles GET …/events/ws.
func eventSocket(d Deps) http.Handler {
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
		s := &socket{d: d, conn: conn, r: r, frames: make(chan inFrame), refilter: make(chan feed.Following, 1)}
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
	d    Deps
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
	Emit    *emission      `json:"emit"`
	Ref     any            `json:"ref"`

	err error // it was none
}

// serve runs the connection and returns with which code it ends.
func (s *socket) serve(ctx context.Context) (websocket.StatusCode, string) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go s.read(ctx, cancel)
	first, err := s.introduce(ctx)
	if err != nil {
		return s.closing(ctx, err)
	}
	w, _, err := s.d.following(s.r, workspaceID(s.r))
	if err != nil {
		s.refuse(ctx, nil, err)
		return closeOf(err), "the filters are not acceptable"
	}
	s.judge(gateway.GrantFrom(s.r.Context()))
	if s.id, err = s.name(); err != nil {
		s.refuse(ctx, nil, err)
		return closeOf(err), "the socket id is not yours"
	}
	if err := s.send(ctx, map[string]any{"ready": map[string]any{"socketId": s.id, "seq": w.After}}); err != nil {
		return s.closing(ctx, err)
	}
	s.filter.Store(w.Filter)
	s.refilter <- w
	go s.deliver(ctx, cancel)
	return s.closing(ctx, s.attend(ctx, first))
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
		} else if err := gateway.DecodeFrame(body, &f); err != nil {
			f = inFrame{err: err}
		}
		select {
		case s.frames <- f:
		case <-ctx.Done():
			return
		}
	}
}

// introduce waits for the credential of somebody who has shown none. It returns a
// frame that is something else already.
func (s *socket) introduce(ctx context.Context) (first *inFrame, err error) {
	if gateway.CallerFrom(s.r.Context()).Kind != gateway.KindNone {
		return nil, nil
	}
	timer := time.NewTimer(socketAuth)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
		return nil, domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
	case f := <-s.frames:
		if f.Auth == nil {
			if gateway.GrantFrom(s.r.Context()).Rights == nil {
				return nil, domain.Refuse(domain.CodeMissingToken, "a credential is required: send Authorization: Bearer with a token, or x-svc-api-key with an API key")
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

// name returns the id of the socket: a new one, or an earlier one of the session.
func (s *socket) name() (string, error) {
	given := s.r.URL.Query().Get(socketIDParam)
	if given == "" {
		id := uuid.NewString()
		return id + "." + s.seal(id), nil
	}
	id, tag, _ := strings.Cut(given, ".")
	if gateway.CallerFrom(s.r.Context()).SessionID == "" || tag != s.seal(id) {
		return "", domain.Refuse(domain.CodePermissionDenied, "this socket id is not one of your session")
	}
	return given, nil
}

// seal ties a socket id to the session: what another would need to know for it is the
// secret of the CSRF tokens.
func (s *socket) seal(id string) string {
	c := gateway.CallerFrom(s.r.Context())
	sum := sha256.Sum256([]byte(s.d.CSRFToken(c.SessionID) + "\x00" + id))
	return hex.EncodeToString(sum[:8])
}

func (s *socket) judge(g gateway.Grant) {
	may := readable(g.Rights)
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

// closing returns the code that the end of a connection has.
func (s *socket) closing(ctx context.Context, err error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(err, feed.ErrSlow):
		return websocket.StatusTryAgainLater, "too slow: resume with fromSeq"
	case domain.CodeOf(err) != domain.CodeInternal:
		return closeOf(err), "not authenticated or not allowed"
	case s.r.Context().Err() != nil && ctx.Err() != nil:
		return websocket.StatusGoingAway, "the service stops"
	}
	return websocket.StatusNormalClosure, ""
}

// closeOf is the code of a refusal.
func closeOf(err error) websocket.StatusCode {
	switch domain.CodeOf(err) {
	case domain.CodeMissingToken, domain.CodeInvalidToken, domain.CodeTokenExpired, domain.CodeInvalidCredentials:
		return closeNotAuthenticated
	case domain.CodePermissionDenied, domain.CodeWorkspaceDenied, domain.CodeInsufficientScope, domain.CodeNotFound:
		return closeForbidden
	}
	return websocket.StatusPolicyViolation
}
