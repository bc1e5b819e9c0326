package gateway

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

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

// Prompt is a HandlerFunc that can often answer a read from a cache. Cached returns what the
// HandlerFunc would answer, if it is in the cache: it must not wait for anything, because it
// has no timeout.
type Prompt struct {
	HandlerFunc
	Cached func(*http.Request) (body any, ok bool)
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

// Created returns a new resource with 201 and its location.
func Created(body any, location string) *Answer {
	return Status(http.StatusCreated, body).With("Location", location)
}

// Accepted returns the answer of an operation that continues, with 202.
func Accepted(body any) *Answer { return Status(http.StatusAccepted, body) }

// Redirect redirects a browser, with 302.
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
// before the first byte becomes the answer. What Serve returns is stored for a
// repeated request with the same Idempotency-Key: a stream replays as its last
// frame.
//
// Serve is not called when the client has disconnected or has too many streams. In
// any case the context of the handler ends when the stream has ended.
type Stream struct {
	Serve func(http.ResponseWriter, *http.Request) (last any, err error)
	// Session is one that the handler has opened for a caller without: live connections
	// are counted by it then, and not by the address of the caller.
	Session string
	// Later, when set, waits for the answer to a repeated request, also after the client
	// has disconnected: for work that then continues. Its context ends when the gateway
	// stops; then it returns ErrGoesOn.
	Later HandlerFunc
}

// Tagged is implemented by bodies that have an ETag. The tag is given without
// quotes; an empty one means that there is none.
type Tagged interface{ ETag() string }

// Encoded is implemented by bodies that are JSON already, such as stored ones:
// they are sent unchanged and unchecked. They must not be modified.
type Encoded interface{ Encoded() []byte }

// Replayable is implemented by bodies that show a value only once: a repeated
// request with the same Idempotency-Key gets Replayable instead.
type Replayable interface{ Replayable() any }

const jsonType = "application/json; charset=utf-8"

// reply is a rendered answer.
type reply struct {
	status   int
	header   http.Header
	body     []byte
	reader   io.Reader
	modified time.Time
	stream   *Stream
	again    any // the body of a replay, when it differs

	onEnd func(last any, err error) // called when a stream has ended
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
	rp.header["Content-Type"] = jsonOnly
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

// AddHeader adds the headers of a handler to those that the gateway has set. CORS headers of the
// handler count only where the gateway has set none.
func AddHeader(to, more http.Header) {
	decided := to.Get("Access-Control-Allow-Origin") != ""
	for key, values := range more {
		key = http.CanonicalHeaderKey(key)
		switch {
		case key == "Link" || key == "Vary": // a version on its way out has set the one, the origin of the request the other
			values = slices.Concat(to[key], values)
		case decided && strings.HasPrefix(key, "Access-Control-"):
			continue
		}
		to[key] = values
	}
}

// send writes the reply. It is the only place that writes a body, streams and
// handlers that are no HandlerFunc excepted.
// An error means that a stream failed before it wrote anything.
func (rp *reply) send(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	AddHeader(h, rp.header)
	switch {
	case rp.stream != nil:
		return rp.serveStream(w, r)
	case rp.reader != nil:
		rp.copy(w, r)
	default:
		if rp.status != http.StatusNotModified && rp.status != http.StatusNoContent {
			exchangeOf(r).setHeader(h, "Content-Length", strconv.Itoa(len(rp.body)))
		}
		w.WriteHeader(rp.status)
		_, _ = w.Write(rp.body) // fails only when the client has disconnected
	}
	return nil
}

// copy sends a reader, with ranges when it can seek.
func (rp *reply) copy(w http.ResponseWriter, r *http.Request) {
	if closer, ok := rp.reader.(io.Closer); ok {
		defer closer.Close()
	}
	if seeker, ok := rp.reader.(io.ReadSeeker); ok && rp.status == http.StatusOK {
		http.ServeContent(w, r, "", rp.modified, seeker)
		return
	}
	w.WriteHeader(rp.status)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, rp.reader); err != nil {
		panic(http.ErrAbortHandler) // a truncated answer must not look complete
	}
}

// serveStream hands the connection over to a stream.
func (rp *reply) serveStream(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set(gzhttp.HeaderNoCompression, "1")
	rec := &recorder{ResponseWriter: w}
	err := errStreamCut
	var last any
	defer func() { rp.end(last, err) }()
	if last, err = rp.stream.Serve(rec, r); rec.wrote() {
		return nil
	}
	return err
}

// errStreamCut is the error of a stream that ended without a result.
var errStreamCut = errors.New("gateway: stream cut off")

// end calls onEnd when a stream is over.
func (rp *reply) end(last any, err error) {
	if rp.onEnd != nil {
		rp.onEnd(last, err)
	}
}

// abandon closes a reply that will not be sent.
func (rp *reply) abandon() {
	rp.end(nil, errStreamCut)
	if closer, ok := rp.reader.(io.Closer); ok {
		_ = closer.Close()
	}
}

// recorder records the status and size of an answer for metrics and logs, and finishes an unread body
// when the answer begins.
type recorder struct {
	http.ResponseWriter
	incoming *requestBody // the request's body; nil: none
	status   int
	bytes    int64
}

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 || w.status == http.StatusContinue || w.status == http.StatusEarlyHints {
		w.status = status
	}
	if status >= http.StatusOK {
		w.incoming.finish(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) {
	w.start()
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// start records an answer without an explicit status.
func (w *recorder) start() {
	if w.status == 0 {
		w.status = http.StatusOK
		w.incoming.finish(w.Header())
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *recorder) Flush() {
	w.start()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // a writer that cannot has nothing to flush
}

// Hijack implements http.Hijacker, for WebSockets.
func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.status = http.StatusSwitchingProtocols
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func (w *recorder) wrote() bool { return w.status != 0 }

// AcceptsEncoding reports whether the client of a request with these headers accepts a content
// coding, such as gzip: by name or by *, and not with a weight of zero.
func AcceptsEncoding(h http.Header, coding string) bool {
	named, star := -1.0, -1.0
	for item := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, params, _ := strings.Cut(item, ";")
		name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "x-") // x-gzip is gzip
		switch name {
		case coding:
			named = parseWeight(params)
		case "*":
			star = parseWeight(params)
		}
	}
	if named >= 0 {
		return named > 0
	}
	return star > 0
}

// PrefersHTML reports whether the client of a request with these headers asks for text/html, as
// browsers do, and does not prefer JSON.
func PrefersHTML(h http.Header) bool {
	html, json := 0.0, 0.0
	for item := range strings.SplitSeq(strings.Join(h.Values("Accept"), ","), ",") {
		name, params, _ := strings.Cut(item, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "text/html":
			html = parseWeight(params)
		case "application/json":
			json = parseWeight(params)
		}
	}
	return html > 0 && html >= json
}

// parseWeight reads q=0.5 among the parameters of an item; without it, or when it is not a
// number, the weight is one.
func parseWeight(params string) float64 {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && strings.EqualFold(strings.TrimSpace(name), "q") {
			return q
		}
	}
	return 1
}

// DecodeJSON is Decode for a message of a socket, or a part of a body.
func DecodeJSON(body []byte, v any) error { return decodeJSON(body, v) }

// ErrorFrame returns an error as the last frame of a stream: the body of the error answer, in the
// form of the API version of r.
func ErrorFrame(r *http.Request, err error) []byte {
	_ = Explain(r, err) // logs what is for the operator
	return failure(exchangeOf(r), err).body
}

// Explain returns the refusal that the caller of r may see for an error within a stream. An
// error that is for the operator is logged.
func Explain(r *http.Request, err error) *domain.Error {
	_, refusal, known := explain(err)
	if g := exchangeOf(r).gateway; !known && g != nil {
		g.logFailure(r, err)
	}
	return refusal
}
