package fetch

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/automation/value"
)

// Failed is the payload of runtime.fetch.failed: what was asked for, as it was
// written, and what came of it.
type Failed struct {
	Method  string
	URL     string
	Headers *value.Object // of the request, by their names in lower case
	Body    string

	Status          int // of the answer; zero: there was none
	ResponseHeaders *value.Object
	ResponseBody    string

	Reason  string // of a FetchError; empty: there was an answer
	Message string
}

// shownBody is how many characters of a body are told.
const shownBody = 10_000

// unshown are the headers whose values are not told.
var unshown = []string{"authorization", "cookie", "set-cookie", "proxy-authorization", "x-svc-api-key", "x-amz-security-token"}

// Value returns the payload as a value.
func (f *Failed) Value() *value.Object {
	o := value.NewObject("request", value.NewObject("method", f.Method, "url", f.URL, "headers", f.Headers, "body", f.Body))
	if f.Status != 0 {
		o.Set("response", value.NewObject("status", float64(f.Status), "headers", f.ResponseHeaders, "body", f.ResponseBody))
	}
	if f.Reason != "" {
		o.Set("error", value.NewObject("reason", f.Reason, "message", f.Message))
	}
	return o
}

// MarshalJSON implements json.Marshaler.
func (f *Failed) MarshalJSON() ([]byte, error) { return f.Value().MarshalJSON() }

// failed returns what is to be told of an exchange that ended with an answer, of
// which raw is known, or an error; nil when that is nothing.
func (x *exchange) failed(a *answer, raw []byte, err error) *Failed {
	reason := reasonOf(err)
	if !x.terms.report || reason == "" && (err != nil || a == nil || a.StatusCode < http.StatusBadRequest) {
		return nil
	}
	f := &Failed{
		Method: x.terms.method, URL: x.call.address(), Headers: x.shownHeaders(), Body: x.call.shownBody(x.terms.method), Reason: reason,
	}
	if reason != "" {
		f.Message = automation.ErrorOf(err).Message
	}
	if a != nil {
		f.Status, f.ResponseHeaders, f.ResponseBody = a.StatusCode, headersOf(a.Header), x.call.shown(raw)
		hide(f.ResponseHeaders)
	}
	return f
}

// shownHeaders returns the headers of the request as they were written, with the
// type of its body.
func (x *exchange) shownHeaders() *value.Object {
	o := &value.Object{}
	written, _ := x.call.Params.At("headers").(*value.Object)
	for _, key := range written.Keys() {
		if texts, _ := textsOf(written.At(key)); len(texts) > 0 && len(x.request.header.Values(key)) > 0 {
			o.Set(strings.ToLower(key), strings.Join(texts, ", "))
		}
	}
	if sent := x.request.header.Get(contentType); sent != "" && x.request.body != nil {
		o.Set(strings.ToLower(contentType), sent)
	}
	hide(o)
	return o
}

// hide takes the values out of the headers that hold credentials.
func hide(headers *value.Object) {
	for _, name := range headers.Keys() {
		if slices.Contains(unshown, name) {
			headers.Set(name, redact.Redacted)
		}
	}
}

// address returns the address as it was written, without a password.
func (c Call) address() string {
	text, _ := c.Params.At("url").(string)
	query, _ := c.Params.At("query").(*value.Object)
	more, _ := encodePairs(query, "") // one that has no text is refused before
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	u.RawQuery = joinQuery(u.RawQuery, more)
	return u.Redacted()
}

// shownBody returns the beginning of the body as it was written.
func (c Call) shownBody(method string) string {
	if method == http.MethodGet || method == http.MethodHead {
		return ""
	}
	body := c.Params.At("multipart")
	if value.IsNothing(body) {
		body = c.Params.At("body")
	}
	switch body := body.(type) {
	case string:
		return c.shown([]byte(body))
	case value.Bytes:
		return c.shown(body)
	}
	if value.IsNothing(body) {
		return ""
	}
	return c.shown([]byte(value.JSON(body, "")))
}

// shown returns the beginning of a body: its text, or base64 of what is none. Secrets go
// before anything is cut off or encoded: what is left of one is not found any more.
func (c Call) shown(raw []byte) string {
	if begin := raw[:min(len(raw), utf8.UTFMax*shownBody)]; !utf8.Valid(trimPartial(begin)) {
		begin = begin[:min(len(begin), shownBody)]
		text := base64.StdEncoding.EncodeToString([]byte(c.redacted(begin, len(begin) < len(raw))))
		return text[:min(len(text), shownBody)]
	}
	at := endOf(raw, shownBody)
	text := c.redacted(raw[:at], at < len(raw))
	return text[:endOf([]byte(text), shownBody)]
}

func (c Call) redacted(raw []byte, cut bool) string {
	if c.Redact == nil {
		return string(raw)
	}
	return c.Redact(string(raw), cut)
}

// endOf returns where so many characters of a text end.
func endOf(raw []byte, characters int) (at int) {
	for n := 0; n < characters && at < len(raw); n++ {
		_, size := utf8.DecodeRune(raw[at:])
		at += size
	}
	return at
}

// trimPartial returns raw without the beginning of a character at its end.
func trimPartial(raw []byte) []byte {
	for n := 1; n <= min(utf8.UTFMax-1, len(raw)); n++ {
		if tail := raw[len(raw)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return raw[:len(raw)-n]
			}
			return raw
		}
	}
	return raw
}
