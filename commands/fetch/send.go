package fetch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"svc/commands"
)

const (
	agent = "svc-runtime"
	// maxPause is the longest that an answer may ask us to wait.
	maxPause = 60 * time.Second
	// maxBackoff is the longest that we wait by ourselves.
	maxBackoff = 30 * time.Second
	// drained is how much of an answer that does not count is read, so that its
	// connection can be used again.
	drained = 16 << 10
)

// repeatable are the methods that may be sent again when nobody knows whether
// the first request arrived.
var repeatable = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}

// send sends the request, again where that may help, and returns the answer that
// counts.
func (x *exchange) send(ctx context.Context) (*answer, error) {
	for tries := 0; ; tries++ {
		a, unanswered, err := x.attempt(ctx)
		pause, again := x.again(a, unanswered, tries)
		if !again {
			return a, err
		}
		if a != nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, drained)) // it does not count
			a.close()
		}
		if err := commands.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// again tells whether an attempt is to be repeated, and after how long.
func (x *exchange) again(a *answer, unanswered bool, tries int) (time.Duration, bool) {
	pause := min(x.Backoff<<min(tries, 16), maxBackoff)
	switch {
	case tries >= x.MaxRetries:
		return 0, false
	case a == nil:
		return pause, unanswered && slices.Contains(repeatable, x.terms.method)
	case !slices.Contains(x.RetryStatus, a.StatusCode):
		return 0, false
	}
	if asked, ok := retryAfter(a.Header.Get("Retry-After"), x.Now()); ok {
		return asked, asked <= maxPause
	}
	return pause, true
}

// retryAfter reads how long an answer asks us to wait: seconds, or a date.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	return max(0, at.Sub(now)), err == nil
}

// attempt sends the request once. unanswered tells that the connection broke
// before anything was answered.
func (x *exchange) attempt(ctx context.Context) (a *answer, unanswered bool, err error) {
	w := newWatch(ctx, x.terms.timeout)
	var answered atomic.Bool
	traced := httptrace.WithClientTrace(w.ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { answered.Store(true) }})
	r, err := http.NewRequestWithContext(traced, x.terms.method, x.request.address.String(), x.reader())
	if err != nil {
		w.end()
		return nil, false, x.fault(w, err)
	}
	r.Header = x.request.header.Clone()
	x.mark(r.Header)
	if err = x.authorize(w.ctx, r); err != nil {
		defer w.end()
		return nil, false, x.authorizationFault(w, err)
	}
	client := x.careful
	if x.terms.trusting {
		client = x.trusting
	}
	response, err := client.Do(r) //nolint:bodyclose // whoever gets the answer closes it
	if err != nil {
		defer w.end()
		err = x.fault(w, err)
		return nil, reasonOf(err) == reasonReset && !answered.Load(), err
	}
	if response.StatusCode == http.StatusUnauthorized {
		x.tokens.forget(x.granted)
	}
	return newAnswer(response, w), false, nil
}

// reader returns the body of one attempt; nil, and not an empty one, for none.
func (x *exchange) reader() io.Reader {
	if x.request.body == nil {
		return nil
	}
	return bytes.NewReader(x.request.body)
}

// mark adds what every request carries.
func (x *exchange) mark(header http.Header) {
	header.Set("User-Agent", agent)
	header.Set("X-Correlation-Id", x.call.CorrelationID)
	header.Set("X-Svc-Workspace-Id", x.call.WorkspaceID)
}

// confidential are the headers that are meant for the host they were written
// for.
var confidential = []string{"Authorization", "Cookie", headerAPIKey, "X-Amz-Security-Token"}

// guarded keeps from another host what is not meant for it: the credentials of a
// request that is redirected there, also when it comes back later, and the
// address it was redirected from.
func guarded(check func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		if err := check(r, via); err != nil {
			return err
		}
		first := hostOf(via[0])
		if hostOf(r) == first && !slices.ContainsFunc(via, func(hop *http.Request) bool { return hostOf(hop) != first }) {
			return nil
		}
		for _, name := range confidential {
			r.Header.Del(name)
		}
		r.Header.Del("Referer")
		return nil
	}
}

// hostOf returns the host that a request is sent to, with a port that is not the
// usual one.
func hostOf(r *http.Request) string {
	port := r.URL.Port()
	if port == "" || r.URL.Scheme == "http" && port == "80" || r.URL.Scheme == "https" && port == "443" {
		return strings.ToLower(r.URL.Hostname())
	}
	return strings.ToLower(r.URL.Hostname()) + ":" + port
}
