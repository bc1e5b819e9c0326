package gitsync

import (
	"bytes"
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
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"svc/domain"
)

// agent is what we call ourselves. Some hosts serve Git to those only whose name
// begins with git/.
const agent = "git/2.40 (svc)"

// httpWire speaks Git's smart protocol over HTTPS.
type httpWire struct {
	session   *Session
	transport *http.Transport
	base      *url.URL // of the repository; moved by the redirects of the first discovery
	settled   bool     // that discovery is over

	mu     sync.Mutex // for what dial uses, which may run beside a request
	scheme string     // of base
	last   *watched
}

func newHTTPWire(s *Session) *httpWire {
	w := &httpWire{session: s}
	base, _ := url.Parse(strings.TrimRight(s.remote.URL, "/")) // Check has read it
	w.moveTo(base)
	w.transport = &http.Transport{
		DialContext:            w.dial,
		TLSClientConfig:        &tls.Config{RootCAs: rootsOf(s), MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    s.options.Timeouts.Connect,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConnsPerHost:    1,
	}
	return w
}

// rootsOf adds the repository's own authority to the roots of the node.
func rootsOf(s *Session) *x509.CertPool {
	if s.remote.CABundle == "" {
		return s.options.Roots
	}
	roots := s.options.Roots
	if roots == nil {
		var err error
		if roots, err = x509.SystemCertPool(); err != nil {
			roots = x509.NewCertPool()
		}
	}
	roots = roots.Clone()
	roots.AppendCertsFromPEM([]byte(s.remote.CABundle)) // Check has seen that it holds some
	return roots
}

func (w *httpWire) dial(ctx context.Context, _, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, w.session.options.Timeouts.Connect)
	defer cancel()
	w.mu.Lock()
	scheme := w.scheme
	w.mu.Unlock()
	conn, err := w.session.options.Dial(ctx, scheme, address, w.session.remote.Exempt)
	if err != nil {
		return nil, err
	}
	watch := &watched{Conn: conn, silence: w.session.options.Timeouts.Silence}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = watch
	return watch, nil
}

func (w *httpWire) moveTo(base *url.URL) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.base, w.scheme = base, base.Scheme
}

func (w *httpWire) url() string { return w.base.String() }

func (w *httpWire) close() { w.transport.CloseIdleConnections() }

func (w *httpWire) lost() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		return nil
	}
	return w.last.lost()
}

// begin implements wire.
func (w *httpWire) begin(ctx context.Context, service string) (conversation, error) {
	for hop := 0; ; hop++ {
		answer, err := w.send(ctx, http.MethodGet, "/info/refs?service="+service, nil)
		if err != nil {
			return nil, err
		}
		if isRedirect(answer) {
			drain(answer)
			if err := w.follow(answer, service, hop); err != nil {
				return nil, err
			}
			continue
		}
		w.settled = true
		adv, err := w.discovered(answer, service)
		if err != nil {
			return nil, err
		}
		return &httpConversation{w, service, adv}, nil
	}
}

func (w *httpWire) discovered(answer *http.Response, service string) (*packp.AdvRefs, error) {
	defer answer.Body.Close()
	if err := w.status(answer, service); err != nil {
		return nil, err
	}
	if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/x-"+service+"-advertisement") {
		return nil, garbled(nil, "it answers with something that is not Git's smart protocol")
	}
	adv, err := w.session.advertisement(answer.Body)
	if text, ok := errorLine(err); ok {
		return nil, w.session.notFound(text)
	}
	if err != nil {
		return nil, broken(err, w.lost(), "its list of refs cannot be read")
	}
	return adv, nil
}

// send makes one request. Credentials go where base is: follow has seen to it
// that they may.
func (w *httpWire) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.base.String()+path, body)
	if err != nil {
		return nil, garbled(nil, "its URL cannot be asked")
	}
	r.Header.Set("User-Agent", agent)
	r.Header.Set("Accept", "*/*")
	if w.session.remote.Password != "" || w.session.remote.User != "" {
		r.Header.Set("Authorization", "Basic "+basic(w.session.remote))
	}
	return w.transport.RoundTrip(r)
}

// basic is what HTTP's basic authentication sends.
func basic(r Remote) string {
	return base64.StdEncoding.EncodeToString([]byte(orElse(r.User, "git") + ":" + r.Password))
}

// status turns the status of an answer into a failure. A server that knows us and
// forbids to write has not refused the credentials.
func (w *httpWire) status(answer *http.Response, service string) error {
	switch code := answer.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusForbidden && service == receivePack:
		return w.session.refused(bodyText(answer))
	case code == http.StatusRequestEntityTooLarge && service == receivePack:
		return w.session.refused("the update is larger than it accepts")
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return w.session.authFailed()
	case code == http.StatusNotFound, code == http.StatusGone:
		return w.session.notFound("")
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return fmt.Errorf("status %d", code)
	default:
		return garbled(nil, fmt.Sprintf("it answers with status %d", code))
	}
}

// bodyText is the beginning of what a server says, when it is meant to be read.
func bodyText(answer *http.Response) string {
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4*maxText))
	if err != nil {
		return ""
	}
	return string(text)
}

// drain lets the connection be used again when little is left on it.
func drain(answer *http.Response) {
	_, _ = io.CopyN(io.Discard, answer.Body, 4<<10) // the end, or not worth waiting for
	_ = answer.Body.Close()                         // nothing in it was wanted
}

// httpConversation asks by POST.
type httpConversation struct {
	*httpWire
	service string
	adv     *packp.AdvRefs
}

func (c *httpConversation) advertised() *packp.AdvRefs { return c.adv }

func (c *httpConversation) close() {}

// exchange implements conversation.
func (c *httpConversation) exchange(ctx context.Context, question []byte, sent func()) (io.ReadCloser, error) {
	body := &noticed{Reader: bytes.NewReader(question), first: sent}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.String()+"/"+c.service, body)
	if err != nil {
		return nil, garbled(nil, "its URL cannot be asked")
	}
	r.ContentLength = int64(len(question)) // never chunked: old servers do not read that
	if c.service == uploadPack {           // reading may be repeated when the server had hung up
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(question)), nil }
		r.Header["Idempotency-Key"] = nil // tells net/http, and nobody else
	}
	r.Header.Set("User-Agent", agent)
	r.Header.Set("Content-Type", "application/x-"+c.service+"-request")
	r.Header.Set("Accept", "application/x-"+c.service+"-result")
	if c.session.remote.Password != "" || c.session.remote.User != "" {
		r.Header.Set("Authorization", "Basic "+basic(c.session.remote))
	}
	answer, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := c.answered(answer); err != nil {
		drain(answer)
		return nil, err
	}
	return answer.Body, nil
}

func (c *httpConversation) answered(answer *http.Response) error {
	if isRedirect(answer) {
		at, err := answer.Location()
		if err != nil {
			return garbled(nil, "it redirects to nowhere")
		}
		return c.session.redirected(c.session.clean(at.Host), "only the first question may be")
	}
	return c.status(answer, c.service)
}

// noticed tells when it is first read.
type noticed struct {
	io.Reader
	once  sync.Once
	first func()
}

// Read implements io.Reader.
func (n *noticed) Read(p []byte) (int, error) {
	n.once.Do(n.first)
	return n.Reader.Read(p)
}

// broken tells an answer that was cut off from one that is wrong.
func broken(err, lost error, message string) error {
	_, refused := errors.AsType[*domain.Error](err)
	switch {
	case refused, isTimeout(err), errors.Is(err, context.Canceled):
		return err
	case lost != nil && isTimeout(lost):
		return lost
	case errors.Is(err, io.ErrUnexpectedEOF), lost != nil:
		return fmt.Errorf("the connection was lost: %w", io.ErrUnexpectedEOF)
	}
	return garbled(err, message)
}
