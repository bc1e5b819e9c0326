package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/timestamps"
)

// HandlerFunc answers a request with a value to encode or an error to map. A
// plain value is sent as JSON with 200; an *Answer carries its own status and
// headers; Content is sent as it is; a Stream writes by itself.
type HandlerFunc func(*http.Request) (any, error)

// ServeHTTP implements http.Handler for use without a gateway, in tests of
// handlers. A Gateway never calls it.
func (h HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ex := exchangeOf(r)
	rp, err := respond(h, r)
	if err == nil {
		err = rp.send(w, r)
	}
	if err != nil {
		_ = failure(ex, err).send(w, r)
	}
}

// Prompt is a HandlerFunc that often knows its answer to a read already. AtHand
// returns what the HandlerFunc would answer, if that can be told at once: it must
// not wait for anything, because no timeout ends it.
type Prompt struct {
	HandlerFunc
	AtHand func(*http.Request) (body any, ok bool)
}

// Answer is a value with a status or headers of its own.
type Answer struct {
	Status int
	Header http.Header
	Body   any // nil: no body at all
}

// Status returns body with a status.
func Status(code int, body any) *Answer {
	return &Answer{Status: code, Header: http.Header{}, Body: body}
}

// OK returns body with 200, for adding headers to it.
func OK(body any) *Answer { return Status(http.StatusOK, body) }

// Created returns a new resource with 201 and where it lives.
func Created(body any, location string) *Answer {
	return Status(http.StatusCreated, body).With("Location", location)
}

// Accepted returns the answer of an operation that goes on, with 202.
func Accepted(body any) *Answer { return Status(http.StatusAccepted, body) }

// Redirect sends a browser elsewhere, with 302.
func Redirect(location string) *Answer {
	return Status(http.StatusFound, nil).With("Location", location)
}

// With returns a with one more header. It changes a.
func (a *Answer) With(key, value string) *Answer {
	if value != "" {
		a.Header.Add(key, value)
	}
	return a
}

// WithCookie returns a with a cookie. It changes a.
func (a *Answer) WithCookie(c *http.Cookie) *Answer { return a.With("Set-Cookie", c.String()) }

// Content is an answer that is not JSON. A Body with an Etag serves conditional
// requests, a Reader that can seek serves those and ranges; a Reader that can be
// closed is closed after use.
type Content struct {
	Type     string
	Body     []byte // used when Reader is nil
	Reader   io.Reader
	Modified time.Time // for Last-Modified; may be zero
	Status   int       // zero: 200
	Header   http.Header
}

// Stream is an answer that holds its connection open. Serve gets the request's
// own context, without a timeout, and a writer that can be flushed. An error
// before the first byte becomes the answer. What Serve returns is kept for a
// repeated request with the same Idempotency-Key: a stream replays as its last
// frame.
//
// Serve may never be called, because the caller has left or has too many streams.
// Whether or not it is, the context that the handler got ends when nobody is
// served any more.
type Stream struct {
	Serve func(http.ResponseWriter, *http.Request) (last any, err error)
	// Later, when set, waits for what a repeated request is answered with instead,
	// whoever is served: for what goes on when its caller leaves. Its context ends
	// when the gateway stops; then it returns ErrGoesOn.
	Later HandlerFunc
}

// Tagged is implemented by bodies that have an ETag. The tag is given without
// quotes; an empty one means that there is none.
type Tagged interface{ ETag() string }

// Encoded is implemented by bodies that are JSON already, such as stored ones:
// they are sent as they are. Nobody checks them, and nobody may change them.
type Encoded interface{ Encoded() []byte }

// Replayable is implemented by bodies that show a value only once: a repeated
// request with the same Idempotency-Key gets Replayable instead.
type Replayable interface{ Replayable() any }

const jsonType = "application/json; charset=utf-8"

// reply is an answer ready to be written.
type reply struct {
	status   int
	header   http.Header
	body     []byte
	reader   io.Reader
	modified time.Time
	stream   *Stream
	again    any // the body of a replay, when it differs

	settle func(last any, err error) // called when a stream has ended
}

// respond calls h and renders what it returned.
func respond(h HandlerFunc, r *http.Request) (*reply, error) {
	body, err := h(r)
	if err != nil {
		return nil, err
	}
	return render(r, body)
}

// render turns the result of a handler into a reply.
func render(r *http.Request, body any) (*reply, error) {
	switch b := body.(type) {
	case *Answer:
		return renderAnswer(r, b)
	case Content:
		return renderContent(r, b), nil
	case *Content:
		return renderContent(r, *b), nil
	case Stream:
		return &reply{status: http.StatusOK, header: http.Header{}, stream: &b}, nil
	}
	return renderAnswer(r, OK(body))
}

func renderAnswer(r *http.Request, a *Answer) (*reply, error) {
	rp := &reply{status: a.Status, header: a.Header}
	if rp.header == nil {
		rp.header = http.Header{}
	}
	if a.Body == nil {
		return rp, nil
	}
	if tagged, ok := a.Body.(Tagged); ok && tagged.ETag() != "" {
		rp.header.Set("Etag", quote(tagged.ETag()))
		if isRead(r.Method) && matches(r.Header.Get("If-None-Match"), tagged.ETag()) {
			rp.status = http.StatusNotModified
			return rp, nil
		}
	}
	if once, ok := a.Body.(Replayable); ok {
		rp.again = once.Replayable()
	}
	if stored, ok := a.Body.(Encoded); ok {
		rp.body = stored.Encoded()
	} else if encoded, err := json.Marshal(a.Body); err == nil {
		rp.body = timestamps.Normalize(reflect.TypeOf(a.Body), encoded)
	} else {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	rp.header.Set("Content-Type", jsonType)
	return rp, nil
}

func renderContent(r *http.Request, c Content) *reply {
	rp := &reply{status: c.Status, header: http.Header{}, body: c.Body, reader: c.Reader, modified: c.Modified}
	if rp.status == 0 {
		rp.status = http.StatusOK
	}
	maps.Copy(rp.header, c.Header)
	tag := strings.Trim(strings.TrimPrefix(c.Header.Get("Etag"), "W/"), `"`)
	if tag != "" && c.Reader == nil && rp.status == http.StatusOK && isRead(r.Method) && matches(r.Header.Get("If-None-Match"), tag) {
		rp.status, rp.body = http.StatusNotModified, nil
		return rp
	}
	if c.Type != "" {
		rp.header.Set("Content-Type", c.Type)
	}
	return rp
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func quote(tag string) string { return `"` + tag + `"` }

// matches reports whether a list of entity tags holds tag. Weak tags count.
func matches(list, tag string) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(item string) bool {
		item = strings.TrimSpace(item)
		return item == "*" || strings.TrimPrefix(item, "W/") == quote(tag)
	})
}

// IfMatch refuses a request whose If-Match does not name the current tag of
// what it wants to change. Without the header it refuses nothing.
func IfMatch(r *http.Request, current string) error {
	list := r.Header.Get("If-Match")
	if list == "" || matches(list, current) {
		return nil
	}
	return domain.Refuse(domain.CodeConflict, "it has changed since you read it").
		Reason("stale").With("etag", quote(current))
}
