package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"svc/commands"
	"svc/commands/egress"
	"svc/domain"
)

// request is a request to a provider.
type request struct {
	method, path string
	body         any  // nil: none
	stream       bool // the answer comes in pieces: its silence is limited, not its length
}

// body is the body of an answer. Its reader is interrupted when the provider is silent for too long.
type body struct {
	io.Reader
	watch *time.Timer
	limit time.Duration
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.limit > 0 {
		b.watch.Reset(b.limit)
		defer b.watch.Stop() // whoever uses what was read may take its time
	}
	return b.Reader.Read(p)
}

// maxBody bounds an answer that is read as a whole, in bytes.
const maxBody = 64 << 20

// readJSON reads the whole body.
func (b *body) readJSON(into any) error {
	content, err := io.ReadAll(io.LimitReader(b, maxBody+1))
	if err != nil {
		return err
	}
	if len(content) > maxBody {
		return errTooLarge
	}
	if err := json.Unmarshal(content, into); err != nil {
		return errMalformed
	}
	return nil
}

var (
	errMalformed = errors.New("the answer is not what the protocol says")
	errSilent    = errors.New("the provider was silent for too long")
)

// fault is why an attempt failed.
type fault struct {
	reason     string
	status     int           // of the answer; 0: there was none
	text       string        // what the provider said, redacted and cut
	retryAfter time.Duration // that the provider asked for; 0: it did not
	again      bool          // the attempt may be repeated
	down       bool          // it counts as a failure of the provider
	cause      error
}

// Error implements error.
func (f *fault) Error() string { return f.reason }

// call sends a request to a provider and has its answer read. It waits for a slot, repeats what can be repeated, and
// refuses while the provider is known to fail.
func (m *Models) call(ctx context.Context, p *provider, workspaceID string, r request, read func(*body) error) error {
	waiting, cancel := context.WithTimeoutCause(ctx, m.o.Timeout, errSilent)
	err := p.slots.Acquire(waiting, workspaceID)
	cancel()
	if ctx.Err() != nil {
		if err == nil {
			p.slots.Release(workspaceID)
		}
		return context.Cause(ctx)
	}
	if err != nil {
		return p.refusal(&fault{reason: "model_timeout", text: "all connections were in use", cause: err})
	}
	defer p.slots.Release(workspaceID)
	if wait, ok := p.breaker.admit(m.o.Now()); !ok {
		return p.refusal(&fault{reason: "model_unavailable", text: "it failed again and again, and is left alone for a while", retryAfter: wait})
	}
	err = m.attempts(ctx, p, r, read)
	f, isFault := errors.AsType[*fault](err)
	p.breaker.record(m.o.Now(), err == nil || isFault && !f.down, isFault && f.down)
	if delivery, ok := errors.AsType[*deliveryError](err); ok {
		return delivery.error
	}
	if !isFault {
		return err
	}
	m.o.Log.Warn("a call of a language model failed", "provider", p.slug, "origin", p.origin, "workspace", workspaceID, "reason", f.reason, "status", f.status, "said", f.text)
	return p.refusal(f)
}

// attempts makes attempts until one succeeds or cannot be repeated.
func (m *Models) attempts(ctx context.Context, p *provider, r request, read func(*body) error) error {
	for _, pause := range m.o.Pauses {
		err := m.attempt(ctx, p, r, read)
		f, ok := errors.AsType[*fault](err)
		if !ok || !f.again || f.retryAfter > maxRetryAfter {
			return err
		}
		if err := commands.Sleep(ctx, max(pause, f.retryAfter)); err != nil {
			return err
		}
	}
	return m.attempt(ctx, p, r, read)
}

// maxRetryAfter is how long a provider may have itself waited for.
const maxRetryAfter = 20 * time.Second

// attempt sends the request once. An error is a *fault, or says that somebody here ended it.
func (m *Models) attempt(ctx context.Context, p *provider, r request, read func(*body) error) error {
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(m.o.Timeout, func() { cancel(errSilent) })
	defer watch.Stop()
	var answered atomic.Bool
	attempt = httptrace.WithClientTrace(attempt, &httptrace.ClientTrace{GotFirstResponseByte: func() { answered.Store(true) }})
	req, err := p.newRequest(attempt, r)
	if err != nil {
		return err
	}
	res, err := p.client.Do(req)
	if err == nil {
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return m.statusFault(p, res)
		}
		b := &body{Reader: res.Body, watch: watch}
		if r.stream {
			b.limit = m.o.Timeout
		}
		if err = read(b); err == nil {
			return nil
		}
	}
	var said *spokenError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, new(*deliveryError)):
		return err
	case errors.Is(context.Cause(attempt), errSilent):
		return &fault{reason: "model_timeout", down: true, cause: errSilent}
	case errors.As(err, &said):
		return p.saidFault(said)
	case errors.As(err, new(*egress.Refused)):
		return &fault{reason: "model_unavailable", text: "its address may not be reached", cause: err}
	case res != nil:
		return &fault{reason: "model_unavailable", text: readProblem(err), down: true, cause: err}
	}
	return &fault{reason: "model_unavailable", text: "it could not be reached", again: wasReset(err) && !answered.Load(), down: true, cause: err}
}

// readProblem says why an answer could not be read, in our own words.
func readProblem(err error) string {
	for _, known := range []error{errTooLarge, errMalformed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return errCut.Error()
}

// wasReset reports whether a connection broke: it may have been closed while it was idle.
func wasReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// newRequest returns the request with its headers and credentials.
func (p *provider) newRequest(ctx context.Context, r request) (*http.Request, error) {
	var content io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("llm: write a request: %w", err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, strings.TrimSuffix(p.BaseURL, "/")+r.path, content)
	if err != nil {
		return nil, &fault{reason: "model_unavailable", text: "its address is not well-formed", cause: err}
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	p.protocol.authorize(req.Header, p.APIKey)
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		req.Header.Set(name, p.Headers[name])
	}
	return req, nil
}

// spokenError is a fault that a provider reports inside of an answer, or with a status.
type spokenError struct {
	status  int
	code    string
	message string
}

// Error implements error.
func (e *spokenError) Error() string { return e.message }

// parseSpoken reads the body of an error: {"error": {"message", "code" or "type"}}, {"error": "…"}, or a text.
func parseSpoken(status int, content []byte) *spokenError {
	var object struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	e := &spokenError{status: status, message: string(content)}
	if json.Unmarshal(content, &object) != nil {
		return e
	}
	var detail struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"` // some write a number
	}
	switch {
	case json.Unmarshal(object.Error, &e.message) == nil:
	case json.Unmarshal(object.Error, &detail) == nil:
		e.message, e.code = detail.Message, fmt.Sprint(detail.Type, " ", detail.Code)
	case object.Message != "":
		e.message = object.Message
	}
	return e
}

const (
	maxErrorBody = 64 << 10
	maxShown     = 300 // characters of what a provider says
)

// statusFault is the fault of an answer that is no success.
func (m *Models) statusFault(p *provider, res *http.Response) *fault {
	content, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	f := p.saidFault(parseSpoken(res.StatusCode, content))
	f.cause = err
	if wait, ok := egress.RetryAfter(res.Header.Get("Retry-After"), m.o.Now()); ok {
		f.retryAfter = wait
	}
	return f
}

// saidFault is the fault that a provider reports.
func (p *provider) saidFault(e *spokenError) *fault {
	f := &fault{status: e.status, text: p.redact(e.message)}
	code, message := strings.ToLower(e.code), strings.ToLower(e.message)
	switch status := e.status; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.reason = "model_auth_failed"
	case status == http.StatusTooManyRequests || status == 0 && strings.Contains(code, "rate_limit"):
		f.reason, f.again = "model_rate_limited", status != 0
	case status >= http.StatusInternalServerError || status == 0:
		f.reason, f.down = "model_unavailable", true
		f.again = status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
	case strings.Contains(code, "context_length") || status == http.StatusRequestEntityTooLarge ||
		slices.ContainsFunc(tooLongPhrases, func(phrase string) bool { return strings.Contains(message, phrase) }):
		f.reason = "context_too_long"
	case status == http.StatusNotFound && strings.Contains(code+message, "model"):
		f.reason = "model_missing"
	default:
		f.reason = "model_rejected"
	}
	return f
}

// tooLongPhrases are how providers say that a prompt is too long.
var tooLongPhrases = []string{"context length", "maximum context", "context window", "prompt is too long", "input is too long", "too many tokens"}

// redact returns a text of the provider as it may be shown.
func (p *provider) redact(text string) string {
	text = strings.Join(strings.Fields(p.secrets.Text(strings.ToValidUTF8(text, ""))), " ")
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown]) + "…"
	}
	return text
}

// refusal returns a fault as callers see it.
func (p *provider) refusal(f *fault) *domain.Error {
	said := ""
	if f.text != "" {
		said = ": " + f.text
	}
	var e *domain.Error
	switch f.reason {
	case "model_timeout":
		e = domain.Refuse(domain.CodeGatewayTimeout, "the provider %s of language models did not answer in time", p.slug)
	case "model_auth_failed":
		e = domain.Refuse(domain.CodeUnavailable, "the provider %s of language models refuses the credentials%s", p.slug, said)
	case "model_rate_limited":
		e = domain.Refuse(domain.CodeUnavailable, "the provider %s of language models limits the rate of calls%s", p.slug, said)
	case "context_too_long":
		e = domain.Refuse(domain.CodeValidation, "the prompt is too long for the model%s", said)
	case "model_missing":
		return domain.Invalid(domain.FieldError{Field: "model", Message: "the provider " + p.slug + " does not know it" + said})
	case "model_rejected":
		e = domain.Refuse(domain.CodeUpstream, "the provider %s of language models rejects the request%s", p.slug, said)
	default:
		e = domain.Refuse(domain.CodeUnavailable, "the provider %s of language models cannot be used now%s", p.slug, said)
	}
	e = e.Reason(f.reason).With("provider", p.slug)
	if f.status != 0 {
		e = e.With("status", f.status)
	}
	if f.retryAfter > 0 {
		e = e.With("retryAfter", int((f.retryAfter+time.Second-1)/time.Second))
	}
	return e
}

// The breaker of a provider opens after so many failures in a row, and for so long.
const (
	breakerFailures = 5
	breakerPause    = 30 * time.Second
)

// breaker keeps calls away from a provider that fails. Its zero value is closed.
type breaker struct {
	mu        sync.Mutex
	failures  int       // in a row
	openUntil time.Time // zero: closed
	probing   bool      // one call tries whether the provider is back
}

// admit reports whether a call may be made, and else when one may.
func (b *breaker) admit(now time.Time) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.openUntil.IsZero():
		return 0, true
	case now.Before(b.openUntil):
		return b.openUntil.Sub(now), false
	case b.probing:
		return time.Second, false
	}
	b.probing = true
	return 0, true
}

// record records what became of a call: it reached the provider, failed by it, or neither.
func (b *breaker) record(now time.Time, reached, failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
	switch {
	case reached:
		b.failures, b.openUntil = 0, time.Time{}
	case failed:
		if b.failures++; b.failures >= breakerFailures {
			b.openUntil = now.Add(breakerPause)
		}
	}
}
