package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"svc/commands/egress"
	"svc/domain/automation"
	"svc/domain/automation/sse"
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
func (x *exchange) fault(w *watch, err error) error {
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
