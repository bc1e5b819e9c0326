// Package fetch performs the fetch instruction of automations: it sends a
// request to an address that an author chose, and makes a value of the answer.
//
// A request leaves through egress, so that no address that must not be reached
// is, on any hop. It ends in bounded time and in bounded memory whatever the
// other side does: an answer is read up to a limit, a stream item by item. What
// an author or an event is told of a request is the request as it was written:
// references to secrets are replaced in what is sent and nowhere else.
package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"svc/commands"
	"svc/commands/egress"
	"svc/commands/fair"
	"svc/domain/automation"
	"svc/domain/value"
)

// Options configure a Client.
type Options struct {
	// Egress is the way out. Its rules are those of fetch (the settings EGRESS_*
	// with FETCH_ALLOWED_HOSTS and FETCH_FORBIDDEN_HOSTS) and it knows the
	// platform's own addresses. Required, unless there is Stubs.
	Egress *egress.Egress
	// Stubs answers requests in the place of Egress: nothing leaves.
	Stubs func(StubbedRequest) (StubbedResponse, error)

	Timeout     time.Duration // FETCH_TIMEOUT: of an exchange that sets none; default 60 s
	MaxResponse int64         // FETCH_MAX_RESPONSE_SIZE: decoded bytes of an answer; default 50 MB
	MaxRetries  int           // FETCH_MAX_RETRIES; zero: a request is sent once
	RetryStatus []int         // FETCH_RETRY_STATUS: answers after which it is sent again
	Backoff     time.Duration // before the first retry, doubled before each other; default 500 ms
	Unread      time.Duration // how long a stream stays open without a reader; default 60 s

	Now func() time.Time // default time.Now
}

// Client performs fetches. It is safe for concurrent use.
type Client struct {
	Options

	careful  *http.Client // verifies certificates
	trusting *http.Client // does not
	tokens   *tokens      // of OAuth 2 servers
	large    *fair.Slots  // for answers that are not small
}

// New returns a Client.
func New(o Options) (*Client, error) {
	if o.Egress == nil && o.Stubs == nil {
		return nil, errors.New("fetch: Options.Egress is required")
	}
	o.Timeout = cmp.Or(o.Timeout, 60*time.Second)
	o.MaxResponse = cmp.Or(o.MaxResponse, 50<<20)
	o.Backoff = cmp.Or(o.Backoff, 500*time.Millisecond)
	o.Unread = cmp.Or(o.Unread, 60*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Client{Options: o, tokens: newTokens(), large: fair.New(math.MaxInt, largeEach)}
	if o.Stubs != nil {
		c.careful = &http.Client{Transport: stubs(o.Stubs)}
		c.trusting = c.careful
		return c, nil
	}
	c.careful, c.trusting = o.Egress.Client(0), o.Egress.TrustingClient(0)
	for _, client := range []*http.Client{c.careful, c.trusting} {
		client.CheckRedirect = withoutForeignCredentials(client.CheckRedirect)
	}
	return c, nil
}

// TokenKind says whose token for the platform itself is wanted.
type TokenKind uint8

const (
	// SessionToken is a token of the run's original session, for ten seconds.
	SessionToken TokenKind = iota
	// WorkspaceToken is a token of the workspace.
	WorkspaceToken
)

// Call is one fetch.
type Call struct {
	Params        *value.Object // the parameters of the instruction, evaluated
	WorkspaceID   string
	CorrelationID string

	// Resolve replaces references to secrets in a text. Nil: there are none.
	Resolve func(ctx context.Context, text string) (string, error)
	// Token makes a token for the platform itself. Nil: requests to it have none.
	Token func(ctx context.Context, kind TokenKind) (string, error)
	// APIKey returns the API key of a role. Nil: every role is unknown.
	APIKey func(ctx context.Context, role string) (string, error)
	// Granted is called with every token of an OAuth 2 server before it is sent, and may refuse
	// it. Nil: it is not called.
	Granted func(token string) error
	// Chunk emits the payload of one event of stream.event.
	Chunk func(ctx context.Context, payload *value.Object) error
	// Redact redacts a text; cut says that its end is missing. Nil: there are no secrets.
	Redact func(text string, cut bool) string
	// Notice takes errors that end nothing. Nil: they are lost.
	Notice func(*automation.Error)
}

// Result is what came of a fetch, also of one that raised an error.
type Result struct {
	Value  any     // what the instruction results in; it may hold a *Stream
	Failed *Failed // the payload of runtime.fetch.failed; nil if it is not recorded
}

// Do performs a fetch. What it raises is an *automation.Error; any other error
// is that of ctx or of a function of the call. A stream in the result outlives
// ctx: it is open until it ends, is closed, or nobody reads it for a while.
func (c *Client) Do(ctx context.Context, call Call) (Result, error) {
	result := Result{Value: value.Undefined}
	x, err := c.newExchange(ctx, call)
	if err != nil {
		return result, err
	}
	a, err := x.send(ctx)
	if err != nil {
		result.Failed = x.failed(nil, nil, err)
		return result, err
	}
	result.Value, result.Failed, err = x.receive(ctx, a)
	return result, err
}

// exchange is a fetch under way: what is asked for, and what is sent for it.
type exchange struct {
	*Client
	call    Call
	terms   terms
	request *request
	granted credentials // what the last token of an OAuth 2 server was asked for with
}

func (c *Client) newExchange(ctx context.Context, call Call) (*exchange, error) {
	x := &exchange{Client: c, call: call}
	var err error
	if x.terms, err = c.readTerms(call.Params); err != nil {
		return nil, err
	}
	params, err := call.resolved(ctx)
	if err != nil {
		return nil, err
	}
	x.request, err = newRequest(x.terms.method, params)
	return x, err
}

// receive makes a value of an answer, by what it is and what was asked for.
func (x *exchange) receive(ctx context.Context, a *answer) (any, *Failed, error) {
	switch {
	case x.terms.chunks != nil:
		return x.emitChunks(ctx, a)
	case a.isEventStream():
		return x.openStream(a)
	}
	return x.readWhole(a)
}

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
		pause, again := x.retryPause(a, unanswered, tries)
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

// retryPause returns whether an attempt is repeated, and after how long.
func (x *exchange) retryPause(a *answer, unanswered bool, tries int) (time.Duration, bool) {
	pause := min(x.Backoff<<min(tries, 16), maxBackoff)
	switch {
	case tries >= x.MaxRetries:
		return 0, false
	case a == nil:
		return pause, unanswered && slices.Contains(repeatable, x.terms.method)
	case !slices.Contains(x.RetryStatus, a.StatusCode):
		return 0, false
	}
	if asked, ok := egress.RetryAfter(a.Header.Get("Retry-After"), x.Now()); ok {
		return asked, asked <= maxPause
	}
	return pause, true
}

// attempt sends the request once. Unanswered says that the connection broke before any byte of
// an answer came.
func (x *exchange) attempt(ctx context.Context) (a *answer, unanswered bool, err error) {
	w := newDeadline(ctx, x.terms.timeout)
	var answered atomic.Bool
	traced := httptrace.WithClientTrace(w.ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { answered.Store(true) }})
	r, err := http.NewRequestWithContext(traced, x.terms.method, x.request.address.String(), x.reader())
	if err != nil {
		w.end()
		return nil, false, x.fault(w, err)
	}
	r.Header = x.request.header.Clone()
	x.setPlatformHeaders(r.Header)
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
		x.tokens.delete(x.granted)
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

// setPlatformHeaders sets the headers of every request.
func (x *exchange) setPlatformHeaders(header http.Header) {
	header.Set("User-Agent", agent)
	header.Set("X-Correlation-Id", x.call.CorrelationID)
	header.Set("X-Svc-Workspace-Id", x.call.WorkspaceID)
}

// confidential are the headers that only the host of the request may get.
var confidential = []string{"Authorization", "Cookie", headerAPIKey, "X-Amz-Security-Token"}

// withoutForeignCredentials removes the credentials and the Referer from a request that is
// redirected to another host, also when it is redirected back later.
func withoutForeignCredentials(check func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
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

// Why an exchange was cut off by us.
var (
	errTimeout = errors.New("there was no answer in time")
	errUnread  = errors.New("the stream was closed because nobody read it")
	errClosed  = errors.New("the stream is closed")
)

// deadline ends an exchange when it takes too long, or when its caller is gone.
type deadline struct {
	ctx    context.Context // of the exchange
	cancel context.CancelCauseFunc
	detach func() bool // from the context of the caller
	timer  *time.Timer
	limit  time.Duration
}

func newDeadline(ctx context.Context, limit time.Duration) *deadline {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	return &deadline{
		ctx: own, cancel: cancel, limit: limit,
		detach: context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) }),
		timer:  time.AfterFunc(limit, func() { cancel(errTimeout) }),
	}
}

// pause stops the timer while nothing is waited for.
func (w *deadline) pause() { w.timer.Stop() }

// resume starts the timer with the whole time again.
func (w *deadline) resume() { w.timer.Reset(w.limit) }

// end releases the timer and the context.
func (w *deadline) end() {
	w.timer.Stop()
	w.detach()
	w.cancel(errClosed)
}
