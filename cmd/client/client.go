// Package client calls the API of a remote service for the commands of the binary,
// with the access token of a profile, and follows long operations.
//
// A call that may have been lost is sent again with the same Idempotency-Key, so that
// nothing happens twice; a stream that breaks is continued after the last frame. A
// refusal of the service is an *Error. Errors never contain a token.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"svc/commands"
	"svc/domain"
)

// Client calls one service.
type Client struct {
	URL   string       // of the service, as ServiceURL returns it
	Token string       // sent as bearer; "" for none
	Key   string       // sent as API key; "" for none
	HTTP  *http.Client // default one that follows no redirect

	Pause time.Duration // before a call is tried again, doubled each time; default 250 ms
}

const (
	tries           = 4                // of a call that was lost or came at a bad moment
	soon            = 5                // seconds that are worth waiting for a better one
	callTime        = 90 * time.Second // longer than the gateway waits
	planTime        = 30 * time.Minute // longer than an operation may take: a run is answered when it has a plan
	maxAnswer       = 64 << 20
	operationHeader = "X-Svc-Operation-Id"
	streamType      = "text/event-stream"
)

// direct follows no redirect, so that a token goes nowhere else.
var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Answer is what a call was answered.
type Answer struct {
	Status    int
	Operation string // the operation that it is about; "" for none
	Type      string // of the body
	Body      json.RawMessage

	stream io.ReadCloser // instead of a body
}

// Get reads what is at a path of the API and decodes it.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	_, err := c.Call(ctx, http.MethodGet, path, nil, into)
	return err
}

// Call sends in as JSON, unless it is nil or Content, and decodes the answer, unless into is nil. A path begins after /v2, which
// those below /sys have none of. What was lost on the way, or came while the service was busy, is sent again; an
// operation that failed is not.
func (c *Client) Call(ctx context.Context, method, path string, in, into any) (Answer, error) {
	answer, err := c.send(ctx, call{method: method, path: path}, in)
	if err != nil || into == nil {
		return answer, err
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		return answer, fmt.Errorf("%s %s was answered with something else than expected: %w", method, path, err)
	}
	return answer, nil
}

// Content is the body of a request in a form of its own; without a type there is none.
type Content struct {
	Type string
	Data []byte
}

// Send sends a body as it is, and returns the answer in the form that accept asks for. When the service
// answers with a stream, notify gets its frames as they come.
func (c *Client) Send(ctx context.Context, method, path, accept string, body Content, notify func(Frame)) (Answer, error) {
	answer, err := c.send(ctx, call{method: method, path: path, accept: accept, wait: planTime}, body)
	if err == nil && answer.stream != nil {
		err = frames(answer.stream, notify)
	}
	return answer, err
}

// call is a request that may be sent more than once.
type call struct {
	method, path string
	text         []byte
	kind         string // of the text; "": JSON
	accept       string
	wait         time.Duration // for the answer; 0: callTime
	key          string        // Idempotency-Key; "" for a read
	after        string        // Last-Event-ID
}

// send sends a call until it is answered for good.
func (c *Client) send(ctx context.Context, what call, in any) (Answer, error) {
	if content, ok := in.(Content); ok {
		what.text, what.kind = content.Data, content.Type
	} else if in != nil {
		var err error
		if what.text, err = json.Marshal(in); err != nil {
			return Answer{}, err
		}
	}
	if what.method != http.MethodGet {
		what.key = uuid.NewString()
	}
	pause := c.pause()
	for try := 1; ; try++ {
		answer, err := c.once(ctx, what)
		wait, again := worthwhile(err, pause)
		if !again || try == tries {
			return answer, err
		}
		if err := commands.Sleep(ctx, wait); err != nil {
			return Answer{}, err
		}
		pause *= 2
	}
}

func (c *Client) pause() time.Duration {
	if c.Pause > 0 {
		return c.Pause
	}
	return 250 * time.Millisecond
}

// worthwhile reports whether a call is to be sent again, and when. A service that
// is not there at all will not be there in a moment: a wrong address is told at
// once.
func worthwhile(err error, pause time.Duration) (time.Duration, bool) {
	if lost, ok := errors.AsType[*Unreachable](err); ok {
		return pause, !lost.unsent
	}
	refused, ok := errors.AsType[*Error](err)
	if !ok || refused.Operation != "" {
		return 0, false
	}
	seconds, err := strconv.Atoi(refused.RetryAfter)
	return max(pause, time.Duration(seconds)*time.Second), err == nil && seconds <= soon
}

// once sends a call one time. A stream is left open, for as long as ctx.
func (c *Client) once(ctx context.Context, what call) (Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(cmp.Or(what.wait, callTime), func() { cancel(errTimeout) })
	defer late.Stop()
	req, err := c.request(ctx, what)
	if err != nil {
		cancel(nil)
		return Answer{}, err
	}
	resp, err := cmp.Or(c.HTTP, direct).Do(req)
	if err != nil {
		defer cancel(nil)
		return Answer{}, c.unreachable(ctx, err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // what cannot be read is no stream
	answer := Answer{Status: resp.StatusCode, Operation: resp.Header.Get(operationHeader), Type: kind}
	if kind == streamType && answer.Status == http.StatusOK {
		answer.stream = &stream{ReadCloser: resp.Body, stop: func() { cancel(nil) }}
		return answer, nil
	}
	defer cancel(nil)
	defer resp.Body.Close()
	if answer.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return answer, c.unreachable(ctx, fmt.Errorf("the answer was cut off: %w", err))
	}
	if answer.Status >= http.StatusMultipleChoices {
		err = refusal(resp, answer.Body)
	}
	return answer, err
}

func (c *Client) request(ctx context.Context, what call) (*http.Request, error) {
	address := c.URL + "/v2" + what.path
	if strings.HasPrefix(what.path, "/sys/") {
		address = c.URL + what.path
	}
	req, err := http.NewRequestWithContext(ctx, what.method, address, bytes.NewReader(what.text))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Accept": what.accept, "Idempotency-Key": what.key, "Last-Event-ID": what.after, "X-Svc-Api-Key": c.Key} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if what.text != nil {
		req.Header.Set("Content-Type", cmp.Or(what.kind, "application/json"))
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return req, nil
}

// ServiceURL returns the address of a service as a Client takes it. It may be
// given with the /v2 of the API or without.
func ServiceURL(text string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New("the address of a service begins with http:// or https:// and names a host")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the address of a service has no user, password, query or fragment")
	}
	path := strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), "/v2")
	return u.Scheme + "://" + strings.ToLower(u.Host) + path, nil
}

// Exposed reports whether others can read what is sent to an address.
func Exposed(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "https" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && !ip.IsLoopback()
}

// Error is a refusal of the service.
type Error struct {
	Status     int // of HTTP; 0 for an operation that was followed
	Code       domain.Code
	Message    string
	Details    map[string]any
	RequestID  string // by which the operator finds it
	Operation  string // the operation that failed; "" for none
	RetryAfter string // seconds; "" when nothing was said
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Reason returns the reason of the refusal, or "".
func (e *Error) Reason() string {
	var reason string
	e.Detail("reason", &reason)
	return reason
}

// Detail decodes a detail. It reports whether there is one of that form.
func (e *Error) Detail(name string, into any) bool {
	text, err := json.Marshal(e.Details[name])
	return e.Details[name] != nil && err == nil && json.Unmarshal(text, into) == nil
}

// refusal returns the error of an answer. An answer in another form comes from a proxy, or from
// another program.
func refusal(resp *http.Response, text []byte) error {
	e := &Error{Status: resp.StatusCode, Operation: resp.Header.Get(operationHeader), RetryAfter: resp.Header.Get("Retry-After")}
	var body struct {
		Error     domain.Code    `json:"error"`
		Message   string         `json:"message"`
		Details   map[string]any `json:"details"`
		RequestID string         `json:"requestId"`
	}
	if err := json.Unmarshal(text, &body); err == nil && body.Error != "" {
		e.Code, e.Message, e.Details, e.RequestID = body.Error, body.Message, body.Details, body.RequestID
		return e
	}
	e.Message = fmt.Sprintf("%s answered %s: is this the address of the service?", resp.Request.URL.Host, resp.Status)
	if to := resp.Header.Get("Location"); to != "" {
		e.Message = fmt.Sprintf("%s answered %s and sends to %s: use the address of the service itself", resp.Request.URL.Host, resp.Status, to)
	}
	return e
}

// Unreachable says that there was no answer.
type Unreachable struct {
	URL string
	Err error

	unsent bool
}

// Error implements error.
func (e *Unreachable) Error() string {
	return fmt.Sprintf("the service at %s does not answer: %v", e.URL, e.Err)
}

// Unwrap returns why.
func (e *Unreachable) Unwrap() error { return e.Err }

// errTimeout says that there was no answer in time.
var errTimeout = errors.New("no answer in time")

// unreachable returns the error of a call without an answer, or the cause of a cancelled context.
func (c *Client) unreachable(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause != nil && !errors.Is(cause, errTimeout) {
		return cause
	}
	if cause != nil {
		err = cause
	} else if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	op, ok := errors.AsType[*net.OpError](err)
	return &Unreachable{URL: c.URL, Err: err, unsent: ok && op.Op == "dial"}
}
