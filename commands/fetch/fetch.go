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
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"svc/commands/egress"
	"svc/commands/fair"
	"svc/domain/automation"
	"svc/domain/automation/value"
)

// Options configure a Client.
type Options struct {
	// Egress is the way out. Its rules are those of fetch (the settings EGRESS_*
	// with FETCH_ALLOWED_HOSTS and FETCH_FORBIDDEN_HOSTS) and it knows the
	// platform's own addresses. Required.
	Egress *egress.Egress

	Timeout     time.Duration // FETCH_TIMEOUT: of an exchange that sets none; default 60 s
	MaxResponse int64         // FETCH_MAX_RESPONSE_SIZE: decoded bytes of an answer; default 50 MB
	MaxRetries  int           // FETCH_MAX_RETRIES; zero: a request is sent once
	RetryStatus []int         // FETCH_RETRY_STATUS: answers after which it is sent again
	Backoff     time.Duration // before the first retry, doubled before each other; default 500 ms
	Unread      time.Duration // how long a stream stays open that nobody reads; default 60 s

	Now func() time.Time // default time.Now
}

// Client performs fetches. It is safe for concurrent use.
type Client struct {
	Options

	careful  *http.Client // verifies certificates
	trusting *http.Client // does not
	tokens   *tokens      // of OAuth 2 servers
	large    *fair.Places // for answers that are not small
}

// New returns a Client.
func New(o Options) (*Client, error) {
	if o.Egress == nil {
		return nil, errors.New("fetch: Options.Egress is required")
	}
	o.Timeout = cmp.Or(o.Timeout, 60*time.Second)
	o.MaxResponse = cmp.Or(o.MaxResponse, 50<<20)
	o.Backoff = cmp.Or(o.Backoff, 500*time.Millisecond)
	o.Unread = cmp.Or(o.Unread, 60*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Client{Options: o, careful: o.Egress.Client(0), trusting: o.Egress.TrustingClient(0), tokens: newTokens(), large: newLarge()}
	for _, client := range []*http.Client{c.careful, c.trusting} {
		client.CheckRedirect = guarded(client.CheckRedirect)
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
	// Granted is told of every token of an OAuth 2 server before it is sent, and may refuse
	// that. Nil: nobody is.
	Granted func(token string) error
	// Chunk emits the payload of one event of stream.event.
	Chunk func(ctx context.Context, payload *value.Object) error
	// Redact takes secrets out of a text that is told; cut says that the end of it is
	// missing. Nil: there are none.
	Redact func(text string, cut bool) string
	// Notice takes errors that end nothing. Nil: they are lost.
	Notice func(*automation.Error)
}

// Result is what came of a fetch, also of one that raised an error.
type Result struct {
	Value       any     // what the instruction results in; it may hold a *Stream
	Failed      *Failed // what runtime.fetch.failed tells; nil when there is nothing to tell
	RequestHash string  // Hash of the parameters
}

// Do performs a fetch. What it raises is an *automation.Error; any other error
// is that of ctx or of a function of the call. A stream in the result outlives
// ctx: it is open until it ends, is closed, or nobody reads it for a while.
func (c *Client) Do(ctx context.Context, call Call) (Result, error) {
	result := Result{Value: value.Undefined, RequestHash: Hash(call.Params)}
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
	case a.live():
		return x.openStream(a)
	}
	return x.readWhole(a)
}
