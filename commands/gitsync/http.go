package gitsync

import (
	"bytes"
	"cmp"
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
	"sync"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"svc/domain"
)

// agent is the User-Agent. Some hosts serve Git only to those that begin with git/.
const agent = "git/2.40 (svc)"

// httpWire speaks Git's smart protocol over HTTPS.
type httpWire struct {
	session       *Session
	transport     *http.Transport
	base          *url.URL // of the repository; changed by redirects of the first request
	hasDiscovered bool     // the first request is done

	mu     sync.Mutex // dial may run concurrently with a request
	scheme string     // of base
	last   *watchedConn
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

// rootsOf returns the roots of the node with those of the repository.
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
	watch := &watchedConn{Conn: conn, silence: w.session.options.Timeouts.Silence}
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
			if err := w.followRedirect(answer, service, hop); err != nil {
				return nil, err
			}
			continue
		}
		w.hasDiscovered = true
		adv, err := w.readAdvertisement(answer, service)
		if err != nil {
			return nil, err
		}
		return &httpConversation{w, service, adv}, nil
	}
}

func (w *httpWire) readAdvertisement(answer *http.Response, service string) (*packp.AdvRefs, error) {
	defer answer.Body.Close()
	if err := w.status(answer, service); err != nil {
		return nil, err
	}
	if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/x-"+service+"-advertisement") {
		return nil, newProtocolError(nil, "it answers with something that is not Git's smart protocol")
	}
	adv, err := w.session.advertisement(answer.Body)
	if text, ok := errorLine(err); ok {
		return nil, w.session.notFound(text)
	}
	if err != nil {
		return nil, readFailure(err, w.lost(), "its list of refs cannot be read")
	}
	return adv, nil
}

// send sends one request with credentials to base: followRedirect has checked the host.
func (w *httpWire) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, w.base.String()+path, body)
	if err != nil {
		return nil, newProtocolError(nil, "its URL cannot be asked")
	}
	r.Header.Set("User-Agent", agent)
	r.Header.Set("Accept", "*/*")
	if w.session.remote.hasCredentials() {
		r.Header.Set("Authorization", "Basic "+basic(w.session.remote))
	}
	return w.transport.RoundTrip(r)
}

// basic returns the value of HTTP basic authentication.
func basic(r Remote) string {
	return base64.StdEncoding.EncodeToString([]byte(cmp.Or(r.User, "git") + ":" + r.Password))
}

// status turns the status of an answer into an error. A server that forbids only to write
// has not refused the credentials.
func (w *httpWire) status(answer *http.Response, service string) error {
	switch code := answer.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code == http.StatusForbidden && service == receivePack:
		return w.session.writeRefused(bodyText(answer))
	case code == http.StatusRequestEntityTooLarge && service == receivePack:
		return w.session.writeRefused("the update is larger than it accepts")
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return w.session.authFailed()
	case code == http.StatusNotFound, code == http.StatusGone:
		return w.session.notFound("")
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return fmt.Errorf("status %d", code)
	default:
		return newProtocolError(nil, fmt.Sprintf("it answers with status %d", code))
	}
}

// bodyText returns the beginning of an answer in plain text.
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

// drain reads a short rest of the answer, so that the connection can be reused.
func drain(answer *http.Response) {
	_, _ = io.CopyN(io.Discard, answer.Body, 4<<10) // the end, or not worth waiting for
	_ = answer.Body.Close()                         // nothing in it was wanted
}

// httpConversation sends its request by POST.
type httpConversation struct {
	*httpWire
	service string
	adv     *packp.AdvRefs
}

func (c *httpConversation) advertised() *packp.AdvRefs { return c.adv }

func (c *httpConversation) close() {}

// exchange implements conversation.
func (c *httpConversation) exchange(ctx context.Context, question []byte, sent func()) (io.ReadCloser, error) {
	body := &notifyingReader{Reader: bytes.NewReader(question), onFirstRead: sent}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.String()+"/"+c.service, body)
	if err != nil {
		return nil, newProtocolError(nil, "its URL cannot be asked")
	}
	r.ContentLength = int64(len(question)) // never chunked: old servers do not read that
	if c.service == uploadPack {           // reading may be repeated when the server had hung up
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(question)), nil }
		r.Header["Idempotency-Key"] = nil // makes net/http retry; the header is not sent
	}
	r.Header.Set("User-Agent", agent)
	r.Header.Set("Content-Type", "application/x-"+c.service+"-request")
	r.Header.Set("Accept", "application/x-"+c.service+"-result")
	if c.session.remote.hasCredentials() {
		r.Header.Set("Authorization", "Basic "+basic(c.session.remote))
	}
	answer, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := c.checkAnswer(answer); err != nil {
		drain(answer)
		return nil, err
	}
	return answer.Body, nil
}

func (c *httpConversation) checkAnswer(answer *http.Response) error {
	if isRedirect(answer) {
		at, err := answer.Location()
		if err != nil {
			return newProtocolError(nil, "it redirects to nowhere")
		}
		return c.session.redirectRefused(c.session.clean(at.Host), "only the first question may be")
	}
	return c.status(answer, c.service)
}

// notifyingReader calls onFirstRead before the first read.
type notifyingReader struct {
	io.Reader
	once        sync.Once
	onFirstRead func()
}

// Read implements io.Reader.
func (n *notifyingReader) Read(p []byte) (int, error) {
	n.once.Do(n.onFirstRead)
	return n.Reader.Read(p)
}

// readFailure distinguishes an incomplete answer from a wrong one.
func readFailure(err, lost error, message string) error {
	_, refused := errors.AsType[*domain.Error](err)
	switch {
	case refused, isTimeout(err), errors.Is(err, context.Canceled):
		return err
	case lost != nil && isTimeout(lost):
		return lost
	case errors.Is(err, io.ErrUnexpectedEOF), lost != nil:
		return fmt.Errorf("the connection was lost: %w", io.ErrUnexpectedEOF)
	}
	return newProtocolError(err, message)
}

// maxHops is the number of redirects that are followed.
const maxHops = 5

func isRedirect(answer *http.Response) bool {
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}

// followRedirect sets base to the target of a redirect, if it is allowed.
func (w *httpWire) followRedirect(answer *http.Response, service string, hop int) error {
	to, err := answer.Location()
	if err != nil {
		return newProtocolError(nil, "it redirects to nowhere")
	}
	host := w.session.clean(to.Host)
	repository, ok := strings.CutSuffix(to.Path, "/info/refs")
	switch {
	case to.Host == "":
		return newProtocolError(nil, "it redirects to nowhere")
	case w.hasDiscovered:
		return w.session.redirectRefused(host, "only the first question may be")
	case hop >= maxHops:
		return w.session.redirectRefused(host, "that is one redirect too many")
	case to.Scheme != "https" && (to.Scheme != "http" || w.base.Scheme == "https"):
		return w.session.redirectRefused(host, "it must stay with https")
	case w.session.remote.hasCredentials() && !w.maySendCredentials(to):
		return w.session.redirectRefused(host, "the credentials are not for that host; allow it in redirectHosts")
	case !ok || to.Query().Get("service") != service:
		return w.session.redirectRefused(host, "there is no repository")
	}
	w.moveTo(&url.URL{Scheme: to.Scheme, Host: to.Host, Path: repository})
	return nil
}

// hasCredentials reports whether requests are authenticated.
func (r Remote) hasCredentials() bool { return r.Password != "" || r.User != "" }

// maySendCredentials reports whether the credentials may be sent to a host: to that of the
// repository, to those of RedirectHosts, and between the two names of Azure DevOps.
func (w *httpWire) maySendCredentials(to *url.URL) bool {
	own := w.session.target
	host, port := strings.ToLower(to.Hostname()), cmp.Or(to.Port(), ports[to.Scheme])
	sameHost := host == strings.ToLower(own.host)
	upgraded := own.scheme == "http" && own.port == ports["http"] && to.Scheme == "https" && port == ports["https"]
	if sameHost && (port == own.port || upgraded) {
		return true
	}
	if isAzure(own.host) && isAzure(host) && port == ports["https"] {
		return true
	}
	return slices.ContainsFunc(w.session.remote.RedirectHosts, func(allowed string) bool {
		allowed = strings.ToLower(allowed)
		return allowed == host || allowed == host+":"+port
	})
}

func isAzure(host string) bool {
	host = strings.ToLower(host)
	return host == "dev.azure.com" || strings.HasSuffix(host, ".visualstudio.com")
}
