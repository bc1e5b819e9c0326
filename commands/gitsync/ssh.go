package gitsync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"golang.org/x/crypto/ssh"
)

// sshWire runs the services of a Git server over SSH, each on a connection of its
// own: not every host lets two be run on one.
type sshWire struct {
	session *Session
	signer  ssh.Signer // nil: none, so only hosts that ask for nothing let us in
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

// connect dials, shakes hands and opens a session on the connection.
func (w *sshWire) connect(ctx context.Context, c *sshConversation) error {
	s := w.session
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeouts.Connect)
	defer cancel()
	guard, err := s.newGuard()
	if err != nil {
		return err
	}
	conn, err := s.options.Dial(ctx, "ssh", s.target.address(), s.remote.Exempt)
	if err != nil {
		return err
	}
	c.conn = &watched{Conn: conn, silence: s.options.Timeouts.Silence}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // what it interrupts reports it
	config := &ssh.ClientConfig{
		User: orElse(s.target.user, "git"), HostKeyCallback: guard.check, HostKeyAlgorithms: guard.algorithms(),
		ClientVersion: "SSH-2.0-svc",
	}
	if w.signer != nil {
		config.Auth = []ssh.AuthMethod{ssh.PublicKeys(w.signer)}
	}
	inner, channels, requests, err := ssh.NewClientConn(c.conn, s.target.address(), config)
	s.hostKey = guard.seen
	if err != nil {
		_ = conn.Close() // it is of no more use
		return handshakeFailure(ctx, s, guard, c.conn, err)
	}
	c.client = ssh.NewClient(inner, channels, requests)
	c.run, err = c.client.NewSession()
	if err != nil {
		c.close()
		return broken(err, c.conn.lost(), "it opens no session")
	}
	return nil
}

// handshakeFailure tells why no connection came about. Once the host has shown a
// good key and the connection still stands, what failed was to be let in.
func handshakeFailure(ctx context.Context, s *Session, guard *guard, conn *watched, err error) error {
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
	return garbled(err, "it does not speak SSH with us")
}

// sshConversation is a service that runs at the other end.
type sshConversation struct {
	session *Session
	service string
	conn    *watched
	client  *ssh.Client
	run     *ssh.Session
	stdin   io.WriteCloser
	stdout  io.Reader
	stderr  tail
	adv     *packp.AdvRefs
	once    sync.Once
}

// start asks for the service by its name and the path, as a shell would read it.
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

// quote is how git quotes for a shell; ! is for those that expand it.
func quote(text string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(text) + "'"
}

// refusal tells why a service did not begin. One that ends without a word on its
// output has no such repository for us; what it says about that comes beside.
func (c *sshConversation) refusal(err error) error {
	if text, ok := errorLine(err); ok {
		return c.denied(text)
	}
	if errors.Is(err, packp.ErrEmptyInput) {
		if exit, ok := errors.AsType[*ssh.ExitError](c.run.Wait()); ok && exit.ExitStatus() != 0 {
			return c.denied(c.stderr.String())
		}
	}
	return broken(err, c.conn.lost(), "its list of refs cannot be read")
}

func (c *sshConversation) denied(text string) error {
	if c.service == receivePack {
		return c.session.refused(text)
	}
	return c.session.notFound(text)
}

func (c *sshConversation) advertised() *packp.AdvRefs { return c.adv }

func (c *sshConversation) lost() error { return c.conn.lost() }

func (c *sshConversation) close() {
	c.once.Do(func() {
		if c.run != nil && c.stdin != nil {
			_, _ = c.stdin.Write(pktline.FlushPkt) // a polite end; too late does not matter
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
		return nil, broken(err, c.conn.lost(), "it does not listen")
	}
	if err := c.stdin.Close(); err != nil && !errors.Is(err, io.EOF) {
		stop()
		return nil, broken(err, c.conn.lost(), "it does not listen")
	}
	return &sshAnswer{c, stop}, nil
}

// sshAnswer is read until the service ends.
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

// tail keeps the beginning of what a service says beside its answer.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), 4*maxText-len(t.text))]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
