package gitsync

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"svc/commands/archive"
	"svc/commands/egress"
	"svc/domain"
)

// The two services of a Git server.
const (
	uploadPack  = "git-upload-pack"  // to read
	receivePack = "git-receive-pack" // to write
)

// wire is a transport: HTTPS or SSH.
type wire interface {
	// begin connects to a service and reads its refs.
	begin(ctx context.Context, service string) (conversation, error)
	url() string
	close()
}

// conversation is one request and its answer.
type conversation interface {
	advertised() *packp.AdvRefs
	// exchange sends the request. sent is called before its first byte is sent; the
	// answer ends with the conversation.
	exchange(ctx context.Context, question []byte, sent func()) (io.ReadCloser, error)
	// lost returns why the connection ended, nil when it did not.
	lost() error
	close()
}

// advertisement reads the refs of a service, within the limits.
func (s *Session) advertisement(r io.Reader) (*packp.AdvRefs, error) {
	const lineBytes = 1024 // a ref with its id; most are shorter
	limit := int64(s.options.Limits.Refs+1000) * lineBytes
	bounded := &io.LimitedReader{R: r, N: limit}
	adv := packp.NewAdvRefs()
	err := adv.Decode(bounded)
	switch {
	case err == nil:
	case bounded.N == 0:
		return nil, archive.Exceeded("refs", s.options.Limits.Refs, "")
	case errors.Is(err, packp.ErrEmptyAdvRefs):
	default:
		return nil, err
	}
	for _, format := range adv.Capabilities.Get("object-format") {
		if format != "sha1" {
			return nil, newProtocolError(nil, "its repository has ids of the format "+format+", only sha1 is spoken")
		}
	}
	return adv, nil
}

// errorLine returns the error message of a server.
func errorLine(err error) (string, bool) {
	line, ok := errors.AsType[*pktline.ErrorLine](err)
	if !ok {
		return "", false
	}
	return line.Text, true
}

// watchedConn is a connection with a timeout for silence of both sides. It stores why it
// ended.
type watchedConn struct {
	net.Conn
	silence time.Duration

	mu    sync.Mutex
	ended error
}

// chunk is how many bytes are written per deadline.
const chunk = 64 << 10

func (w *watchedConn) Read(p []byte) (int, error) {
	w.extendDeadline()
	n, err := w.Conn.Read(p)
	w.recordError(err)
	return n, err
}

func (w *watchedConn) Write(p []byte) (written int, err error) {
	for {
		w.extendDeadline()
		part := p[written:min(len(p), written+chunk)]
		n, err := w.Conn.Write(part)
		written += n
		w.recordError(err)
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// extendDeadline moves the deadline of both directions.
func (w *watchedConn) extendDeadline() { _ = w.SetDeadline(time.Now().Add(w.silence)) } // a closed connection fails at the next call

func (w *watchedConn) recordError(err error) {
	if err == nil || errors.Is(err, net.ErrClosed) { // closed by us
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended == nil {
		w.ended = err
	}
}

func (w *watchedConn) lost() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// maxText bounds the text of a remote that is passed on.
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

func newProtocolError(cause error, message string) error { return &protocolError{message, cause} }

// failure turns an error of the transport into a refusal. ctx is the context of the caller:
// when it has ended, its cause is returned.
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

// isTimeout reports whether an error of the network, TLS or a context is a timeout.
func isTimeout(err error) bool {
	var timed net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &timed) && timed.Timeout()
}

// rootCause returns the message without the addresses and URLs of wrapping errors.
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

// notFound is the error of a repository that does not exist, or that the credentials may
// not see.
func (s *Session) notFound(text string) error {
	return s.withRemoteText(text, domain.Refuse(domain.CodeNotFound, "%s has no such repository, or does not show it to these credentials", s.target.host).
		Reason("remote_not_found").With("host", s.target.host))
}

// writeRefused is the error of a remote that does not accept writes.
func (s *Session) writeRefused(text string) error {
	return s.withRemoteText(text, domain.Refuse(domain.CodePermissionDenied, "%s does not take updates with these credentials", s.target.host).
		Reason("remote_refused").With("host", s.target.host))
}

// withRemoteText adds the message of the remote to a refusal, if there is one.
func (s *Session) withRemoteText(text string, refusal *domain.Error) error {
	if text != "" {
		refusal.With("remote", s.clean(text))
	}
	return refusal
}

// redirectRefused is the error of a redirect that is not followed.
func (s *Session) redirectRefused(host, why string) error {
	return domain.Refuse(domain.CodeValidation, "%s redirects to %s: %s", s.target.host, host, why).
		Reason("remote_redirected").With("host", host)
}

// clean redacts credentials in a text of the remote, removes control characters and bounds
// its length.
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
