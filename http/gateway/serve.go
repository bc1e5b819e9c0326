package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"svc/domain"
)

// serve is the end of the chain: it runs the handler and sends its answer.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	ex := exchangeOf(r)
	h, ok := handlerOf(ex.route)
	if !ok {
		ex.setRateHeaders(w.Header())
		g.serveRaw(w, r)
		return
	}
	if rp := atHand(ex.route, r); rp != nil {
		g.send(w, r, rp)
		return
	}
	rp, done, err := g.await(r, g.once.wrap(func(r *http.Request) (*reply, error) { return respond(h, r) }))
	defer done()
	if err != nil {
		g.refuse(w, r, err)
		return
	}
	g.send(w, r, rp)
}

// handlerOf returns the handler of a route that returns its answer.
func handlerOf(rt *Route) (h HandlerFunc, ok bool) {
	if prompt, ok := rt.Handler.(Prompt); ok {
		return prompt.HandlerFunc, true
	}
	h, ok = rt.Handler.(HandlerFunc)
	return h, ok
}

// atHand returns the answer to a read that needs no waiting, and so neither a
// goroutine nor a timer of its own; nil when there is none.
func atHand(rt *Route, r *http.Request) *reply {
	prompt, ok := rt.Handler.(Prompt)
	if !ok || !isRead(r.Method) {
		return nil
	}
	body, ok := prompt.AtHand(r)
	if !ok {
		return nil
	}
	rp, err := render(r, body)
	if err != nil {
		return nil // the handler meets it too, and tells
	}
	return rp
}

// serveRaw runs a handler that writes by itself. Unless it streams, its
// context ends with the request timeout; the rest is up to it.
func (g *Gateway) serveRaw(w http.ResponseWriter, r *http.Request) {
	ex := exchangeOf(r)
	if ex.route.Streaming {
		ctx, leave := g.streamContext(r.Context())
		defer leave()
		ex.route.Handler.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	g.working.Add(1)
	defer g.working.Done()
	ctx, cancel := g.workContext(r.Context(), ex.writes(r))
	defer cancel()
	defer time.AfterFunc(ex.settings.RequestTimeout, cancel).Stop()
	ex.route.Handler.ServeHTTP(w, r.WithContext(ctx))
}

// send completes the headers of a reply and writes it.
func (g *Gateway) send(w http.ResponseWriter, r *http.Request, rp *reply) {
	ex := exchangeOf(r)
	if rp.stream != nil && !ex.route.Streaming {
		key := ex.callerKey()
		if !g.live.enter(key, ex.settings.MaxLive) {
			err := crowded(ex.settings.MaxLive)
			rp.end(nil, err)
			g.refuse(w, r, err)
			return
		}
		defer g.live.leave(key)
		ctx, leave := g.streamContext(r.Context())
		defer leave()
		r = r.WithContext(ctx)
	}
	h := w.Header()
	ex.setRateHeaders(h)
	setPosition(h, ex.reached(r, rp.status))
	g.forbidStoring(h, ex, rp)
	if err := rp.send(w, r); err != nil {
		g.refuse(w, r, err)
	}
}

// reached is the position that an answer tells: how far the request has written.
// A write that succeeded without changing anything has met what this node knows.
func (ex *exchange) reached(r *http.Request, status int) domain.Position {
	var pos domain.Position
	if ex.command != nil {
		pos = ex.command.Position()
	}
	if g := ex.gateway; pos.IsZero() && status < http.StatusMultipleChoices && ex.writes(r) && g != nil && g.opts.Known != nil {
		pos = g.opts.Known()
	}
	return pos
}

func setPosition(h http.Header, pos domain.Position) {
	if !pos.IsZero() {
		h.Set("X-Svc-Seq", pos.Token())
	}
}

// forbidStoring keeps answers to somebody in particular out of caches.
func (g *Gateway) forbidStoring(h http.Header, ex *exchange, rp *reply) {
	isJSON := strings.HasPrefix(rp.header.Get("Content-Type"), "application/json")
	if isJSON && ex.caller.Kind != KindNone && rp.header.Get("Cache-Control") == "" || rp.header.Get("Set-Cookie") != "" {
		h.Set("Cache-Control", "no-store")
	}
}

// refuse answers with an error, logs it when it is the operator's business,
// and records it when it is the workspace's.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	ex := exchangeOf(r)
	status, refusal, known := explain(err)
	if !known {
		g.logFailure(r, err)
	}
	// Who broke off a read went elsewhere: nothing failed in the workspace.
	gone := errors.Is(err, context.Canceled) && r.Context().Err() != nil
	if known, ok := errors.AsType[*Refusal](err); !gone && (!ok || !known.Told) {
		g.failures.add(r, ex, status, refusal)
	}
	rp := failure(ex, err)
	h := w.Header()
	ex.setRateHeaders(h)
	setPosition(h, ex.reached(r, rp.status))
	g.forbidStoring(h, ex, rp)
	_ = rp.send(w, r) // it is no stream
}

// logFailure tells the operator what the caller is not told.
func (g *Gateway) logFailure(r *http.Request, err error) {
	ex := exchangeOf(r)
	log := g.opts.Log.With("method", r.Method, "route", ex.template, "correlationId", ex.id, "err", err)
	if p, ok := errors.AsType[*panicked](err); ok {
		log = log.With("stack", string(p.stack))
	}
	if _, ok := errors.AsType[Unavailable](err); ok {
		log.WarnContext(r.Context(), "request not served")
		return
	}
	log.ErrorContext(r.Context(), "request failed")
}

// harden sets the headers that every answer carries for safety.
func (g *Gateway) harden(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
			// It may have had a Content-Length, too, which net/http drops: whoever stands in
			// front may see its end elsewhere. What comes after it is not read (RFC 9112, 6.1).
			w.Header().Set("Connection", "close")
		}
		if exchangeOf(r).secure {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// compress wraps every route but the streaming ones.
func (g *Gateway) compress(wrap func(http.Handler) http.HandlerFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		compressed := wrap(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if exchangeOf(r).route.Streaming {
				next.ServeHTTP(w, r)
				return
			}
			compressed.ServeHTTP(w, r)
		})
	}
}

// isCompressible leaves live streams alone: a frame must not wait in a buffer.
func isCompressible(contentType string) bool {
	return !strings.HasPrefix(contentType, "text/event-stream") && gzhttp.DefaultContentTypeFilter(contentType)
}
