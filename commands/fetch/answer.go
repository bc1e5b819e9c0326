package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain/automation/sse"
	"svc/domain/value"
)

// answer is the response that is used. Its owner closes it.
type answer struct {
	*http.Response
	content io.Reader // its body without the encoding of the way
	opaque  bool      // the body has an encoding that we do not know
	watch   *deadline
}

func newAnswer(response *http.Response, w *deadline) *answer {
	a := &answer{Response: response, content: response.Body, watch: w}
	switch encoding := strings.ToLower(strings.TrimSpace(response.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		// It came although it was not asked for by the transport, which would have
		// decoded it.
		a.content = &gunzip{from: response.Body}
		response.Header.Del("Content-Encoding")
		response.Header.Del("Content-Length")
		response.ContentLength = -1
	default:
		a.opaque = true
	}
	return a
}

// isEventStream reports whether the answer is a stream of events.
func (a *answer) isEventStream() bool {
	return mediaOf(a.Header.Get(contentType)) == sse.MediaType && !a.opaque
}

func (a *answer) close() {
	a.Body.Close()
	a.watch.end()
}

// gunzip decodes when it is read for the first time: until then nothing waits
// for the other side.
type gunzip struct {
	from io.Reader
	to   *gzip.Reader
}

// Read implements io.Reader.
func (g *gunzip) Read(p []byte) (int, error) {
	if g.to == nil {
		var err error
		if g.to, err = gzip.NewReader(g.from); err != nil {
			return 0, err // io.EOF for a body that is empty
		}
	}
	return g.to.Read(p)
}

// readWhole makes a value of an answer that ends.
func (x *exchange) readWhole(a *answer) (any, *Failed, error) {
	defer a.close()
	p := &largeSlot{exchange: x}
	defer p.release()
	raw, err := p.read(a)
	v := value.Undefined
	if err == nil {
		v, err = x.output(a, raw)
	}
	if err != nil {
		err = x.fault(a.watch, err)
		return value.Undefined, x.failed(a, nil, err), err
	}
	return v, x.failed(a, raw, nil), nil
}

// output returns a body in the form that was asked for.
func (x *exchange) output(a *answer, raw []byte) (any, error) {
	header := a.Header.Get(contentType)
	switch x.terms.mode {
	case modeBase64:
		return base64.StdEncoding.EncodeToString(raw), nil
	case modeDataURL:
		if header == "" {
			header = typeOther
		}
		return "data:" + header + ";base64," + base64.StdEncoding.EncodeToString(raw), nil
	}
	v, err := a.value(raw)
	if err == nil && x.terms.mode == modeDetailed {
		v = a.detailedOutput(v, false)
	}
	return v, err
}

// detailedOutput returns the answer as detailed_response shows it.
func (a *answer) detailedOutput(body any, stream bool) *value.Object {
	return value.NewObject("status", float64(a.StatusCode), "headers", headersOf(a.Header), "body", body, "stream", stream)
}

// headersOf returns headers by their names in lower case, in order. One that
// stands several times is a list.
func headersOf(header http.Header) *value.Object {
	o := &value.Object{}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		texts := header[name]
		if len(texts) == 1 {
			o.Set(strings.ToLower(name), strings.ToValidUTF8(texts[0], "\uFFFD"))
			continue
		}
		o.Set(strings.ToLower(name), value.From(texts))
	}
	return o
}

// value returns a body by its type. JSON of more values than are held is too large, too,
// however few bytes they take.
func (a *answer) value(raw []byte) (any, error) {
	header := a.Header.Get(contentType)
	media := mediaOf(header)
	switch {
	case len(raw) == 0:
		return "", nil
	case a.opaque:
		return value.Bytes(raw), nil
	case isJSON(media):
		v, err := value.ParseJSON(strings.TrimPrefix(string(raw), "\uFEFF"))
		if errors.Is(err, value.ErrMany) {
			return value.Undefined, errTooLarge
		}
		if err == nil {
			return value.ReplaceNonFinite(v), nil
		}
		return text(raw, header), nil
	case isText(media), media == "" && utf8.Valid(raw):
		return text(raw, header), nil
	}
	return value.Bytes(raw), nil
}

func isJSON(media string) bool {
	_, sub, _ := strings.Cut(media, "/")
	return sub == "json" || strings.HasSuffix(sub, "+json")
}

func isText(media string) bool {
	kind, sub, _ := strings.Cut(media, "/")
	switch strings.TrimPrefix(sub, "x-") {
	case "xml", "javascript", "ecmascript", "ndjson", "www-form-urlencoded":
		return true
	}
	return kind == "text" || strings.HasSuffix(sub, "+xml")
}

// text returns a body as text. What is not UTF-8 is read as Latin 1 when the
// answer says so.
func text(raw []byte, header string) string {
	if utf8.Valid(raw) {
		return string(raw)
	}
	switch charsetOf(header) {
	case "iso-8859-1", "latin1":
		runes := make([]rune, len(raw))
		for i, b := range raw {
			runes[i] = rune(b)
		}
		return string(runes)
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}

// isCompleteBody reports whether the error of a read says that the body is complete.
func isCompleteBody(err error) bool {
	return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
}

// Answers are held in memory until they are values. Small ones are read at once; a workspace
// reads only a few larger ones at the same time, so that its share of memory is limited.
const (
	small     = 1 << 20 // bytes
	largeEach = 4       // of one workspace at once
)

// largeSlot is the slot that an answer needs when it is not small.
type largeSlot struct {
	*exchange
	held bool
}

// acquireFor acquires the slot if an answer of that size needs it.
func (p *largeSlot) acquireFor(ctx context.Context, size int) error {
	if p.held || size <= small {
		return nil
	}
	if err := p.large.Acquire(ctx, p.call.WorkspaceID); err != nil {
		return err
	}
	p.held = true
	return nil
}

// release releases the slot, if it was acquired.
func (p *largeSlot) release() {
	if p.held {
		p.large.Release(p.call.WorkspaceID)
		p.held = false
	}
}

// read returns the whole body of an answer, when that is no larger than answers may be. The
// time that it waits is that of the exchange.
func (p *largeSlot) read(a *answer) ([]byte, error) {
	if a.ContentLength > p.MaxResponse && a.Request.Method != http.MethodHead {
		return nil, errTooLarge
	}
	limited := io.LimitReader(a.content, p.MaxResponse+1)
	var raw bytes.Buffer
	for next := int64(small + 1); ; next = math.MaxInt64 {
		_, err := io.CopyN(&raw, limited, next)
		switch {
		case int64(raw.Len()) > p.MaxResponse:
			return nil, errTooLarge
		case isCompleteBody(err):
			return raw.Bytes(), nil
		case err != nil:
			return raw.Bytes(), err
		}
		if err := p.acquireFor(a.watch.ctx, raw.Len()); err != nil {
			return nil, err
		}
	}
}
