package gitsync

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"unicode"

	"svc/commands/egress"
	"svc/domain"
)

// maxText is how much of a remote's own words is passed on.
const maxText = 500

// protocolError is an answer that is not Git, or not the Git that was asked for.
type protocolError struct {
	message string
	cause   error
}

func (e *protocolError) Error() string {
	if e.cause == nil {
		return e.message
	}
	return e.message + ": " + e.cause.Error()
}

func (e *protocolError) Unwrap() error { return e.cause }

func garbled(cause error, message string) error { return &protocolError{message, cause} }

// failure turns what went wrong between us and a remote into the answer of the
// contract. ctx is the caller's: when it ended, that is the whole story.
func (s *Session) failure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("git remote: %w", context.Cause(ctx))
	}
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return refusal
	}
	if refused, ok := errors.AsType[*egress.Refused](err); ok {
		return domain.Refuse(domain.CodeValidation, "%s must not be reached: %s", s.target.host, refused.Why).
			Reason("remote_address_forbidden").With("host", refused.Host)
	}
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return s.untrusted(untrusted)
	}
	if isTimeout(err) {
		return domain.Refuse(domain.CodeGatewayTimeout, "%s did not answer in time", s.target.host).Reason("remote_timeout").
			With("host", s.target.host)
	}
	if garble, ok := errors.AsType[*protocolError](err); ok {
		return domain.Refuse(domain.CodeUnavailable, "%s: %s", s.target.host, s.clean(garble.Error())).
			Reason("remote_protocol_error").With("host", s.target.host)
	}
	return domain.Refuse(domain.CodeUnavailable, "%s cannot be reached: %s", s.target.host, s.clean(rootCause(err))).
		Reason("remote_unreachable").With("host", s.target.host)
}

// isTimeout is how the network, TLS and contexts say that time is up.
func isTimeout(err error) bool {
	var timed net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &timed) && timed.Timeout()
}

// rootCause leaves out the addresses and URLs that are wrapped around what
// happened.
func rootCause(err error) string {
	if named, ok := errors.AsType[*net.DNSError](err); ok {
		return named.Err
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err.Error()
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}

func (s *Session) untrusted(e *tls.CertificateVerificationError) error {
	refusal := domain.Refuse(domain.CodeValidation,
		"the certificate of %s is not trusted (%s): put the certificate of its authority into caBundle",
		s.target.host, s.clean(e.Err.Error())).
		Reason("remote_certificate_untrusted").With("setting", "caBundle").With("host", s.target.host)
	if len(e.UnverifiedCertificates) > 0 {
		cert := e.UnverifiedCertificates[0]
		sum := sha256.Sum256(cert.Raw)
		refusal.With("subject", s.clean(cert.Subject.String())).With("issuer", s.clean(cert.Issuer.String())).
			With("sha256", hex.EncodeToString(sum[:]))
	}
	return refusal
}

func (s *Session) authFailed() error {
	return domain.Refuse(domain.CodePermissionDenied, "%s refused the credentials", s.target.host).
		Reason("remote_auth_failed").With("host", s.target.host)
}

// notFound is what a remote answers about repositories that are not there, and
// often about those that the credentials may not see.
func (s *Session) notFound(text string) error {
	return s.quoting(text, domain.Refuse(domain.CodeNotFound, "%s has no such repository, or does not show it to these credentials", s.target.host).
		Reason("remote_not_found").With("host", s.target.host))
}

// refused is for a remote that lets us read and not write.
func (s *Session) refused(text string) error {
	return s.quoting(text, domain.Refuse(domain.CodePermissionDenied, "%s does not take updates with these credentials", s.target.host).
		Reason("remote_refused").With("host", s.target.host))
}

// quoting adds to a refusal what the remote said, if it did.
func (s *Session) quoting(text string, refusal *domain.Error) error {
	if text != "" {
		refusal.With("remote", s.clean(text))
	}
	return refusal
}

// redirected refuses to carry the credentials elsewhere.
func (s *Session) redirected(host, why string) error {
	return domain.Refuse(domain.CodeValidation, "%s redirects to %s: %s", s.target.host, host, why).
		Reason("remote_redirected").With("host", host)
}

// clean makes the words of a remote fit to be shown: no credential of ours, no
// control character, not too many.
func (s *Session) clean(text string) string {
	for _, secret := range s.remote.secrets() {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "********")
		}
	}
	text = strings.ToValidUTF8(escapes.ReplaceAllString(text, ""), "\ufffd")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxText {
		text = string(runes[:maxText])
	}
	return text
}
