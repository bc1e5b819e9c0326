// Package client is a client of the API of svc.
//
//	c, err := client.New("https://svc.example.com", client.WithToken("…"))
//	shop, err := c.CreateWorkspace(ctx, client.NewWorkspace{Name: "Shop"})
//	for event, err := range c.StreamEvents(ctx, shop.ID, client.StreamEventsQuery{Types: "order.*"}) { … }
//
// The methods and types in api.gen.go are made from the OpenAPI document: one method for each
// operation below /v2 and /sys. What it sends is sent once: writes carry an idempotency key, so that
// a request whose answer was lost is sent again without doing its work twice. Requests that the
// service could not take (429, 502, 503, 504, a lost connection) are tried again.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls the API as one caller. It may be used concurrently.
type Client struct {
	base    string
	http    *http.Client
	headers http.Header
	retries int
	pause   time.Duration
}

// Option configures a Client.
type Option func(*Client)

// WithToken sends an access token, or the token of a session.
func WithToken(token string) Option {
	return func(c *Client) { c.headers.Set("Authorization", "Bearer "+token) }
}

// WithAPIKey sends an API key of a workspace.
func WithAPIKey(key string) Option {
	return func(c *Client) { c.headers.Set("X-Svc-Api-Key", key) }
}

// WithHTTPClient makes requests with h, for other limits, certificates or proxies. A timeout of h ends streams too.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithRetries sets how often a request is tried again at most, 4 without it, and the first pause, 200 ms without it. Each
// further pause is twice as long, unless the service says how long to wait.
func WithRetries(n int, pause time.Duration) Option {
	return func(c *Client) { c.retries, c.pause = n, pause }
}

// New returns a client of the service at an address such as https://svc.example.com.
func New(address string, options ...Option) (*Client, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address of the service: %w", err)
	}
	if at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return nil, fmt.Errorf("the address of the service must begin with http:// or https:// and name a host: %q", address)
	}
	c := &Client{base: strings.TrimRight(address, "/"), http: http.DefaultClient, headers: http.Header{}, retries: 4, pause: 200 * time.Millisecond}
	for _, set := range options {
		set(c)
	}
	return c, nil
}

// Error is an answer of the service that refuses a request.
type Error struct {
	Status        int             // of HTTP
	Code          string          // such as resource_not_found
	Message       string          // for people
	Details       json.RawMessage // depends on the code
	CorrelationID string          // finds the request in the events and logs
	RetryAfter    time.Duration   // how long the service asks to wait
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (%d): %s", e.Code, e.Status, e.Message)
}

// CodeOf returns the code of an error of the service, and "" for any other error.
func CodeOf(err error) string {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Code
	}
	return ""
}

// Answer is what the headers of an answer say.
type Answer struct {
	Status        int
	ETag          string // for IfMatch
	Seq           string // for MinSeq, and for streams to begin at
	CorrelationID string
	Header        http.Header
}

// RequestOption changes one request. The parameters of the query of an operation are one.
type RequestOption interface{ change(*request) }

type requestChange func(*request)

func (f requestChange) change(r *request) { f(r) }

// IfMatch makes a change only if nobody changed the object since it had this ETag.
func IfMatch(etag string) RequestOption { return Header("If-Match", etag) }

// MinSeq lets a read wait for a write of another caller, by its Seq.
func MinSeq(seq string) RequestOption { return Header("X-Svc-Min-Seq", seq) }

// IdempotencyKey names a write, so that it is done once however often it is sent, also by another process.
func IdempotencyKey(key string) RequestOption { return Header("Idempotency-Key", key) }

// ContentType says what a body is that is read from an io.Reader.
func ContentType(mediaType string) RequestOption { return Header("Content-Type", mediaType) }

// Header sets a header of the request.
func Header(name, value string) RequestOption {
	return requestChange(func(r *request) { r.headers.Set(name, value) })
}

// Query adds a parameter to the query: Query("payload.status", "paid"), Query("dryRun", "true").
func Query(name, value string) RequestOption {
	return requestChange(func(r *request) { r.query.Add(name, value) })
}

// Read fills a with what the headers of the answer say.
func Read(a *Answer) RequestOption { return requestChange(func(r *request) { r.answer = a }) }

// request is one call of the API.
type request struct {
	method, path string
	query        url.Values
	headers      http.Header
	body         any
	answer       *Answer
	keyed        bool // the operation takes an idempotency key
}

// path fills the parameters of a path, in their order.
func path(pattern string, values ...string) string {
	for _, value := range values {
		from, to := strings.IndexByte(pattern, '{'), strings.IndexByte(pattern, '}')
		// What was filled in has no brace: they are escaped.
		pattern = pattern[:from] + url.PathEscape(value) + pattern[to+1:]
	}
	return pattern
}

func newRequest(method, path string, body any, keyed bool, options []RequestOption) *request {
	r := &request{method: method, path: path, query: url.Values{}, headers: http.Header{}, body: body, keyed: keyed}
	for _, o := range options {
		o.change(r)
	}
	return r
}

// Do makes a request that has no method of its own, and decodes its JSON into into unless that is nil. body is nil, an
// io.Reader, url.Values for a form, or anything else as JSON.
func (c *Client) Do(ctx context.Context, method, path string, body, into any, options ...RequestOption) error {
	return c.call(ctx, newRequest(method, path, body, method != http.MethodGet, options), into)
}

// call makes a request and decodes its JSON into into, unless that is nil.
func (c *Client) call(ctx context.Context, r *request, into any) error {
	r.headers.Set("Accept", "application/json")
	answer, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if into == nil || answer.StatusCode == http.StatusNoContent {
		_, err = io.Copy(io.Discard, answer.Body)
	} else {
		err = json.NewDecoder(answer.Body).Decode(into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", r.method, r.path, err)
	}
	return nil
}

// send makes a request, again if it may be, and returns the answer of success. The caller closes its body.
func (c *Client) send(ctx context.Context, r *request) (*http.Response, error) {
	content, rewind, err := encode(r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	isRead := r.method == http.MethodGet || r.method == http.MethodHead
	isKeyed := !isRead && r.keyed && c.isKnown() // the keys of those whom it does not know are ignored
	if isKeyed && r.headers.Get("Idempotency-Key") == "" {
		r.headers.Set("Idempotency-Key", rand.Text())
	}
	// What the service took may be sent again if that does nothing, or if it knows that it did it.
	repeatable := rewind && (isRead || isKeyed || r.method == http.MethodPut || r.method == http.MethodDelete)
	for try := 0; ; try++ {
		answer, err := c.once(ctx, r, content)
		if err == nil {
			return answer, nil
		}
		refused, isAnswer := errors.AsType[*Error](err)
		again := repeatable
		if isAnswer {
			again = refused.Status == http.StatusTooManyRequests && rewind ||
				repeatable && (refused.Status == http.StatusBadGateway || refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusGatewayTimeout)
		}
		if !again || try >= c.retries || ctx.Err() != nil {
			return nil, err
		}
		if waitErr := wait(ctx, c.backoff(try, refused)); waitErr != nil {
			return nil, errors.Join(err, waitErr)
		}
		if seeker, ok := content.(io.Seeker); ok {
			if _, err := seeker.Seek(0, io.SeekStart); err != nil {
				return nil, fmt.Errorf("%s %s: read the body again: %w", r.method, r.path, err)
			}
		}
	}
}

// isKnown reports whether the client says who calls.
func (c *Client) isKnown() bool {
	return c.headers.Get("Authorization") != "" || c.headers.Get("X-Svc-Api-Key") != ""
}

// longestPause is the longest pause before a request is tried again, also when the service asks for a longer one.
const longestPause = time.Minute

func (c *Client) backoff(try int, refused *Error) time.Duration {
	pause := c.pause << min(try, 16)
	pause = pause/2 + mathrand.N(pause/2+1) // clients that were refused together come back apart
	if refused != nil {
		pause = max(pause, refused.RetryAfter)
	}
	return min(pause, longestPause)
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// encode returns the body of a request, and whether it can be sent a second time.
func encode(r *request) (content io.Reader, rewind bool, err error) {
	var mediaType string
	switch body := r.body.(type) {
	case nil:
		return nil, true, nil
	case io.Reader:
		_, rewind = body.(io.Seeker)
		content, mediaType = body, "application/octet-stream"
	case url.Values:
		content, rewind, mediaType = strings.NewReader(body.Encode()), true, "application/x-www-form-urlencoded"
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return nil, false, fmt.Errorf("encode the body: %w", err)
		}
		content, rewind, mediaType = bytes.NewReader(text), true, "application/json"
	}
	if r.headers.Get("Content-Type") == "" {
		r.headers.Set("Content-Type", mediaType)
	}
	return content, rewind, nil
}

// once makes a request once.
func (c *Client) once(ctx context.Context, r *request, content io.Reader) (*http.Response, error) {
	at := c.base + r.path
	if len(r.query) > 0 {
		at += "?" + r.query.Encode()
	}
	if content != nil {
		content = io.NopCloser(content) // the transport would close a file that is sent again
	}
	req, err := http.NewRequestWithContext(ctx, r.method, at, content)
	if err != nil {
		return nil, err
	}
	if sized, ok := r.body.(interface{ Len() int }); ok {
		req.ContentLength = int64(sized.Len())
	}
	for _, headers := range []http.Header{c.headers, r.headers} {
		for name, values := range headers {
			req.Header[name] = values
		}
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if r.answer != nil {
		h := answer.Header
		*r.answer = Answer{Status: answer.StatusCode, ETag: h.Get("ETag"), Seq: h.Get("X-Svc-Seq"), CorrelationID: h.Get("X-Correlation-Id"), Header: h}
	}
	if answer.StatusCode >= 200 && answer.StatusCode < 300 || answer.StatusCode == http.StatusNotModified {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, readError(answer)
}

// longestError is how much of an answer is read that refuses a request.
const longestError = 1 << 20

// readError returns the error that an answer tells, in either of its two shapes.
func readError(answer *http.Response) *Error {
	e := &Error{Status: answer.StatusCode, CorrelationID: answer.Header.Get("X-Correlation-Id")}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, longestError))
	type told struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	}
	var flat struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	}
	if json.Unmarshal(text, &flat) == nil {
		var nested told
		if json.Unmarshal(flat.Error, &e.Code) == nil {
			e.Message, e.Details = flat.Message, flat.Details
		} else if json.Unmarshal(flat.Error, &nested) == nil {
			e.Code, e.Message, e.Details = nested.Code, nested.Message, nested.Details
		}
	}
	if e.Code == "" {
		e.Code, e.Message = "unexpected_answer", fmt.Sprintf("%s: %.200s", answer.Status, text)
	}
	return e
}

// Page is a page of a list.
type Page[T any] struct {
	Items []T
	Total int // of all pages

	client *Client
	made   *request
	next   url.Values
}

// listPage reads a page of a list.
func listPage[T any](ctx context.Context, c *Client, r *request) (*Page[T], error) {
	page := &Page[T]{client: c, made: r}
	var a Answer
	wanted := r.answer
	r.answer = &a
	if err := c.call(ctx, r, &page.Items); err != nil {
		return nil, err
	}
	if wanted != nil {
		*wanted = a
	}
	page.Total, _ = strconv.Atoi(a.Header.Get("X-Total-Count"))
	if link, _, ok := strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">"); ok {
		if at, err := url.Parse(link); err == nil {
			page.next = at.Query()
		}
	}
	return page, nil
}

// HasNext reports whether there is another page.
func (p *Page[T]) HasNext() bool { return p.next != nil }

// Next reads the next page. There is none unless HasNext.
func (p *Page[T]) Next(ctx context.Context) (*Page[T], error) {
	if !p.HasNext() {
		return &Page[T]{Total: p.Total}, nil
	}
	following := *p.made
	following.query, following.answer = p.next, nil
	return listPage[T](ctx, p.client, &following)
}

// All visits the items of this page and of all that follow.
func (p *Page[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page := p; ; {
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if !page.HasNext() {
				return
			}
			next, err := page.Next(ctx)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			page = next
		}
	}
}

// Nullable is a field that a change may remove: with null. Its zero value leaves the field out.
type Nullable[T any] struct {
	value T
	state nullableState
}

type nullableState uint8

const (
	absent nullableState = iota
	null
	given
)

// Value is a field with a value.
func Value[T any](v T) Nullable[T] { return Nullable[T]{v, given} }

// Null is a field that is null.
func Null[T any]() Nullable[T] { return Nullable[T]{state: null} }

// Get returns the value, and whether there is one.
func (n Nullable[T]) Get() (T, bool) { return n.value, n.state == given }

// IsZero reports whether the field is absent.
func (n Nullable[T]) IsZero() bool { return n.state == absent }

// MarshalJSON implements json.Marshaler.
func (n Nullable[T]) MarshalJSON() ([]byte, error) {
	if n.state != given {
		return []byte("null"), nil
	}
	return json.Marshal(n.value)
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Nullable[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Null[T]()
		return nil
	}
	n.state = given
	return json.Unmarshal(text, &n.value)
}

// joinJSON encodes an object with the fields that its type does not name.
func joinJSON(known any, rest map[string]any) ([]byte, error) {
	text, err := json.Marshal(known)
	if err != nil || len(rest) == 0 {
		return text, err
	}
	more, err := json.Marshal(rest)
	if err != nil {
		return nil, err
	}
	if len(text) == len("{}") {
		return more, nil
	}
	return append(append(text[:len(text)-1], ','), more[1:]...), nil
}

// splitJSON decodes an object: the fields that its type names, and the rest.
func splitJSON(text []byte, known any, rest *map[string]any, names ...string) error {
	if err := json.Unmarshal(text, known); err != nil {
		return err
	}
	*rest = nil
	if err := json.Unmarshal(text, rest); err != nil {
		return err
	}
	for _, name := range names {
		delete(*rest, name)
	}
	return nil
}
