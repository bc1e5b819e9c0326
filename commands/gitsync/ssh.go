package gitsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"svc/domain"
)

// sshWire runs the services of a Git server over SSH, each on its own connection: not every
// host allows two on one.
type sshWire struct {
	session *Session
	signer  ssh.Signer // nil: no authentication
}

func (w *sshWire) url() string {
	t := w.session.target
	if scpLike.MatchString(w.session.remote.URL) {
		return w.session.remote.URL
	}
	u := url.URL{Scheme: "ssh", Host: t.host, Path: t.path}
	if t.port != ports["ssh"] {
		u.Host = t.address()
	}
	return u.String()
}

func (w *sshWire) close() {}

// begin implements wire.
func (w *sshWire) begin(ctx context.Context, service string) (conversation, error) {
	c := &sshConversation{session: w.session, service: service}
	if err := w.connect(ctx, c); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() }) // what it interrupts reports it
	err := c.start(w.session.target.path)
	if err == nil {
		c.adv, err = w.session.advertisement(c.stdout)
	}
	stop()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		defer c.close()
		return nil, c.refusal(err)
	}
	return c, nil
}

// connect dials, does the handshake and opens a session.
func (w *sshWire) connect(ctx context.Context, c *sshConversation) error {
	s := w.session
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeouts.Connect)
	defer cancel()
	guard, err := s.newHostKeyChecker()
	if err != nil {
		return err
	}
	conn, err := s.options.Dial(ctx, "ssh", s.target.address(), s.remote.Exempt)
	if err != nil {
		return err
	}
	c.conn = &watchedConn{Conn: conn, silence: s.options.Timeouts.Silence}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // what it interrupts reports it
	config := &ssh.ClientConfig{
		User: cmp.Or(s.target.user, "git"), HostKeyCallback: guard.check, HostKeyAlgorithms: guard.algorithms(),
		ClientVersion: "SSH-2.0-svc",
	}
	if w.signer != nil {
		config.Auth = []ssh.AuthMethod{ssh.PublicKeys(w.signer)}
	}
	inner, channels, requests, err := ssh.NewClientConn(c.conn, s.target.address(), config)
	s.hostKey = guard.shown
	if err != nil {
		_ = conn.Close() // it is of no more use
		return handshakeFailure(ctx, s, guard, c.conn, err)
	}
	c.client = ssh.NewClient(inner, channels, requests)
	c.run, err = c.client.NewSession()
	if err != nil {
		c.close()
		return readFailure(err, c.conn.lost(), "it opens no session")
	}
	return nil
}

// handshakeFailure returns why the handshake failed. When the host key is good and the
// connection is not lost, the authentication failed.
func handshakeFailure(ctx context.Context, s *Session, guard *hostKeyChecker, conn *watchedConn, err error) error {
	switch lost := conn.lost(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case guard.refusal != nil:
		return guard.refusal
	case lost != nil && isTimeout(lost):
		return lost
	case guard.passed && lost == nil:
		return s.authFailed()
	case lost != nil:
		return fmt.Errorf("the connection was lost: %w", lost)
	}
	return newProtocolError(err, "it does not speak SSH with us")
}

// sshConversation is a service that runs on the server.
type sshConversation struct {
	session *Session
	service string
	conn    *watchedConn
	client  *ssh.Client
	run     *ssh.Session
	stdin   io.WriteCloser
	stdout  io.Reader
	stderr  textBuffer
	adv     *packp.AdvRefs
	once    sync.Once
}

// start runs the service with the path as a shell command.
func (c *sshConversation) start(path string) (err error) {
	if c.stdin, err = c.run.StdinPipe(); err != nil {
		return err
	}
	if c.stdout, err = c.run.StdoutPipe(); err != nil {
		return err
	}
	c.run.Stderr = &c.stderr
	return c.run.Start(c.service + " " + quote(path))
}

// quote quotes like git for a shell; ! is for shells that expand it.
func quote(text string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(text) + "'"
}

// refusal returns why a service did not start. One that ends without output has no such
// repository; its message is on stderr.
func (c *sshConversation) refusal(err error) error {
	if text, ok := errorLine(err); ok {
		return c.denied(text)
	}
	if errors.Is(err, packp.ErrEmptyInput) {
		if exit, ok := errors.AsType[*ssh.ExitError](c.run.Wait()); ok && exit.ExitStatus() != 0 {
			return c.denied(c.stderr.String())
		}
	}
	return readFailure(err, c.conn.lost(), "its list of refs cannot be read")
}

func (c *sshConversation) denied(text string) error {
	if c.service == receivePack {
		return c.session.writeRefused(text)
	}
	return c.session.notFound(text)
}

func (c *sshConversation) advertised() *packp.AdvRefs { return c.adv }

func (c *sshConversation) lost() error { return c.conn.lost() }

func (c *sshConversation) close() {
	c.once.Do(func() {
		if c.run != nil && c.stdin != nil {
			_, _ = c.stdin.Write(pktline.FlushPkt) // ends the protocol; errors do not matter
		}
		_ = c.client.Close() // nothing is left to lose
	})
}

// exchange implements conversation.
func (c *sshConversation) exchange(ctx context.Context, question []byte, sent func()) (io.ReadCloser, error) {
	sent()
	stop := context.AfterFunc(ctx, func() { _ = c.client.Close() }) // what it interrupts reports it
	if _, err := c.stdin.Write(question); err != nil {
		stop()
		return nil, readFailure(err, c.conn.lost(), "it does not listen")
	}
	if err := c.stdin.Close(); err != nil && !errors.Is(err, io.EOF) {
		stop()
		return nil, readFailure(err, c.conn.lost(), "it does not listen")
	}
	return &sshAnswer{c, stop}, nil
}

// sshAnswer is the output of the service.
type sshAnswer struct {
	*sshConversation
	stop func() bool
}

// Read implements io.Reader.
func (a *sshAnswer) Read(p []byte) (int, error) { return a.stdout.Read(p) }

// Close implements io.Closer.
func (a *sshAnswer) Close() error {
	a.stop()
	a.once.Do(func() { _ = a.client.Close() }) // nothing is left to lose
	return nil
}

// textBuffer stores the beginning of stderr or of the progress messages.
type textBuffer struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *textBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), 4*maxText-len(t.text))]...)
	return len(p), nil
}

func (t *textBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// HostKey is the key of an SSH server.
type HostKey struct {
	Type        string
	Fingerprint string // SHA256:…, as OpenSSH prints it
	Line        string // what to add to known_hosts to trust it
}

// hostKeyChecker checks the key of one host.
type hostKeyChecker struct {
	session *Session
	known   ssh.HostKeyCallback // nil: no key is known
	shown   *HostKey
	passed  bool
	refusal error
}

// newHostKeyChecker uses the known hosts of the repository or, when they do not have the
// host, those of the node.
func (s *Session) newHostKeyChecker() (*hostKeyChecker, error) {
	g := &hostKeyChecker{session: s}
	own, err := readKnownHosts(s.remote.KnownHosts)
	if err != nil {
		return nil, err
	}
	if own != nil && (s.options.KnownHostsFile == "" || len(knownKeys(own, s.target.address())) > 0) {
		g.known = own
		return g, nil
	}
	if s.options.KnownHostsFile != "" {
		if g.known, err = knownhosts.New(s.options.KnownHostsFile); err != nil {
			return nil, fmt.Errorf("read GIT_KNOWN_HOSTS_FILE: %w", err)
		}
	}
	return g, nil
}

// readKnownHosts writes a temporary file, because the library reads only files. Nothing in
// it is secret.
func readKnownHosts(text string) (ssh.HostKeyCallback, error) {
	if text == "" {
		return nil, nil
	}
	f, err := os.CreateTemp("", "known_hosts")
	if err != nil {
		return nil, fmt.Errorf("read known hosts: %w", err)
	}
	defer os.Remove(f.Name())
	_, errWrite := f.WriteString(text + "\n")
	if err := errors.Join(errWrite, f.Close()); err != nil {
		return nil, fmt.Errorf("read known hosts: %w", err)
	}
	known, err := knownhosts.New(f.Name())
	if err != nil {
		return nil, domain.Invalid(domain.FieldError{
			Field: "config.knownHosts", Message: "is not made of lines as in OpenSSH's known_hosts",
		})
	}
	return known, nil
}

// probeKey is a key that no host has: the error of the library for it lists the known keys.
type probeKey struct{}

// Type implements ssh.PublicKey.
func (probeKey) Type() string { return "nobody" }

// Marshal implements ssh.PublicKey.
func (probeKey) Marshal() []byte { return []byte("nobody") }

// Verify implements ssh.PublicKey.
func (probeKey) Verify([]byte, *ssh.Signature) error { return errors.New("nobody signs") }

// knownKeys returns the known keys of a host.
func knownKeys(known ssh.HostKeyCallback, address string) []knownhosts.KnownKey {
	if e, ok := errors.AsType[*knownhosts.KeyError](known(address, &net.TCPAddr{}, probeKey{})); ok {
		return e.Want
	}
	return nil
}

// algorithms returns the algorithms of the known keys: a server may have several keys, and
// an unknown one would look like a change. With nil the server chooses.
func (g *hostKeyChecker) algorithms() (all []string) {
	if g.known == nil {
		return nil
	}
	for _, key := range knownKeys(g.known, g.session.target.address()) {
		kinds := []string{key.Key.Type()}
		if key.Key.Type() == ssh.KeyAlgoRSA {
			kinds = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		}
		for _, kind := range kinds {
			if !slices.Contains(all, kind) {
				all = append(all, kind)
			}
		}
	}
	return all
}

// check implements ssh.HostKeyCallback.
func (g *hostKeyChecker) check(_ string, from net.Addr, key ssh.PublicKey) error {
	address := g.session.target.address()
	g.shown = &HostKey{
		Type: key.Type(), Fingerprint: ssh.FingerprintSHA256(key),
		Line: knownhosts.Line([]string{address}, key),
	}
	if g.known == nil {
		g.refusal = g.unknownKey()
		return g.refusal
	}
	err := g.known(address, from, key)
	if err == nil {
		g.passed = true
		return nil
	}
	g.refusal = g.unknownKey()
	mismatch, isKey := errors.AsType[*knownhosts.KeyError](err)
	if !isKey || len(mismatch.Want) > 0 {
		g.refusal = g.changedKey()
	}
	return g.refusal
}

func (g *hostKeyChecker) unknownKey() error {
	return domain.Refuse(domain.CodeValidation,
		"the host key of %s is not known: compare %s with its owner, then add the line to knownHosts",
		g.session.target.host, g.shown.Fingerprint).
		Reason("remote_host_key_unknown").With("setting", "knownHosts").With("host", g.session.target.host).
		With("type", g.shown.Type).With("fingerprint", g.shown.Fingerprint).With("line", g.shown.Line)
}

// changedKey has no line to add: a changed key must not be trusted lightly.
func (g *hostKeyChecker) changedKey() error {
	return domain.Refuse(domain.CodeValidation,
		"the host key of %s is not the known one: it shows %s. Somebody may be between", g.session.target.host, g.shown.Fingerprint).
		Reason("remote_host_key_mismatch").With("setting", "knownHosts").With("host", g.session.target.host).
		With("type", g.shown.Type).With("fingerprint", g.shown.Fingerprint)
}
