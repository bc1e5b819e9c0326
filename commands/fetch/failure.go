package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"svc/commands/egress"
	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/automation/sse"
	"svc/domain/value"
)

// The reasons of a FetchError.
const (
	reasonDNS       = "dns"
	reasonConnect   = "connect"
	reasonTLS       = "tls"
	reasonTimeout   = "timeout"
	reasonReset     = "reset"
	reasonTooLarge  = "too_large"
	reasonRedirects = "redirects"
	reasonGrant     = "oauth2" // the server of auth.oauth2 gives no token
)

var errTooLarge = errors.New("the answer is too large")

// fault returns an error of an exchange as the automation is told it: not with
// the words of the network, which name addresses, and may name secrets. What is
// no fault of the exchange, such as the end of its run, is returned as it is. A
// nil watch is that of a body in memory.
func (x *exchange) fault(w *deadline, err error) error {
	var cause error
	if w != nil {
		cause = context.Cause(w.ctx)
	}
	switch {
	case errors.Is(err, errUnread), errors.Is(cause, errUnread):
		return x.raise(reasonReset, fmt.Sprintf("the stream was closed: nobody read it for %s", x.Unread))
	case errors.Is(cause, errTimeout):
		return x.raise(reasonTimeout, fmt.Sprintf("no answer within %s", x.terms.timeout))
	case errors.Is(cause, errClosed):
		return x.raise(reasonReset, errClosed.Error())
	case cause != nil:
		return fmt.Errorf("fetch: %w", cause)
	}
	if refused, ok := errors.AsType[*egress.Refused](err); ok {
		return automation.Raise(automation.FetchForbidden, "the request is refused: "+refused.Why, "host", refused.Host)
	}
	return x.raise(classify(err))
}

func (x *exchange) raise(reason, message string) error {
	return automation.Raise(automation.FetchFailed, message, "reason", reason, "url", x.call.address())
}

// reasonOf returns the reason of a FetchError, "" of any other error.
func reasonOf(err error) string {
	raised, ok := errors.AsType[*automation.Error](err)
	if !ok || raised.Name != automation.FetchFailed {
		return ""
	}
	reason, _ := raised.Details.At("reason").(string)
	return reason
}

// classify names what went wrong between here and the other side.
func classify(err error) (reason, message string) {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return reasonDNS, "the host is not found"
	}
	if why, ok := untrusted(err); ok {
		return reasonTLS, "no secure connection: " + why
	}
	broken, isNetwork := errors.AsType[*net.OpError](err)
	timeout, isTimeout := errors.AsType[net.Error](err)
	text := err.Error()
	switch {
	case errors.Is(err, egress.ErrRedirects):
		return reasonRedirects, "the request was redirected too often"
	case strings.Contains(text, "Location header"):
		return reasonRedirects, "the request was redirected to an invalid address"
	case errors.Is(err, errTooLarge), errors.Is(err, sse.ErrTooLarge), strings.Contains(text, "headers exceeded"), strings.Contains(text, "header list larger"):
		return reasonTooLarge, errTooLarge.Error()
	case errors.Is(err, syscall.ECONNRESET):
		return reasonReset, "the connection broke"
	case isNetwork && broken.Op == "dial":
		return reasonConnect, "no connection to the host"
	case strings.Contains(text, "TLS handshake timeout"):
		return reasonTLS, "no secure connection: there was no handshake in time"
	case isTimeout && timeout.Timeout():
		return reasonTimeout, errTimeout.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return reasonReset, "the connection ended before the answer did"
	case isNetwork:
		return reasonReset, "the connection broke"
	}
	return reasonReset, "the answer cannot be read"
}

// untrusted returns why there is no secure connection, when that is why.
func untrusted(err error) (string, bool) {
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return bad.Err.Error(), true
	}
	if bad, ok := errors.AsType[x509.HostnameError](err); ok {
		return bad.Error(), true
	}
	if bad, ok := errors.AsType[tls.AlertError](err); ok {
		return bad.Error(), true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the host does not speak TLS", true
	}
	text := err.Error()
	if strings.Contains(text, "server gave HTTP response to HTTPS client") {
		return "the host does not speak TLS", true
	}
	if _, why, ok := strings.Cut(text, "remote error: tls: "); ok {
		return why, true
	}
	if _, why, ok := strings.Cut(text, ": tls: "); ok {
		return why, true
	}
	return "", false
}

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

// shownBody is how many characters of a body are shown.
const shownBody = 10_000

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
		f.Status, f.ResponseHeaders, f.ResponseBody = a.StatusCode, headersOf(a.Header), x.call.shownText(raw)
		redactHeaders(f.ResponseHeaders)
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
	redactHeaders(o)
	return o
}

// redactHeaders redacts the headers that contain credentials.
func redactHeaders(headers *value.Object) {
	for _, name := range headers.Keys() {
		if slices.Contains(automation.CredentialHeaders, name) {
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
		return c.shownText([]byte(body))
	case value.Bytes:
		return c.shownText(body)
	}
	if value.IsNothing(body) {
		return ""
	}
	return c.shownText([]byte(value.JSON(body, "")))
}

// shownText returns the beginning of a body: its text, or base64 if it is not text. Secrets are
// redacted before it is cut or encoded, because a part of a secret would not be found.
func (c Call) shownText(raw []byte) string {
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
