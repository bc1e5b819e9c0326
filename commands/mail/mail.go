// Package mail sends mails in plain text over SMTP. A connection is encrypted
// or is not used; nothing that a mail holds can become one of its headers.
package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"net/smtp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Options configure a Sender; Host and From are required.
type Options struct {
	Host   string // SMTP_HOST
	Port   int    // SMTP_PORT; default 587
	Secure bool   // SMTP_SECURE: TLS from the start; else STARTTLS, which must be offered
	User   string // SMTP_USER; "": no sign-in
	Pass   string // SMTP_PASS
	From   string // EMAIL_FROM, with or without a name

	Timeout time.Duration    // for one mail; default 30s
	TLS     *tls.Config      // default what the system trusts
	Now     func() time.Time // default time.Now
}

// Sender sends mails through one server. It is safe for concurrent use.
type Sender struct {
	o    Options
	from *netmail.Address
}

// New returns a Sender. It does not connect.
func New(o Options) (*Sender, error) {
	if o.Host == "" || o.From == "" {
		return nil, errors.New("mail: Host and From are required")
	}
	from, err := parse(o.From)
	if err != nil {
		return nil, fmt.Errorf("mail: the sender: %w", err)
	}
	o.Port = cmp.Or(o.Port, 587)
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.TLS = o.TLS.Clone()
	if o.TLS == nil {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	o.TLS.ServerName = cmp.Or(o.TLS.ServerName, o.Host)
	return &Sender{o: o, from: from}, nil
}

// Send sends a mail to one address. It returns when the server has taken it.
func (s *Sender) Send(ctx context.Context, to, subject, text string) error {
	rcpt, err := parse(to)
	if err != nil {
		return fmt.Errorf("send a mail: the recipient: %w", err)
	}
	body, err := s.compose(rcpt, subject, text)
	if err != nil {
		return fmt.Errorf("send a mail: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	if err := s.deliver(ctx, rcpt.Address, body); err != nil {
		return fmt.Errorf("send a mail through %s: %w", s.o.Host, err)
	}
	return nil
}

// parse reads an address that fits in one line.
func parse(text string) (*netmail.Address, error) {
	if hasControl(text) {
		return nil, errors.New("is not one line")
	}
	a, err := netmail.ParseAddress(text)
	if err != nil {
		return nil, errors.New("is not a mail address")
	}
	return a, nil
}

func hasControl(text string) bool { return strings.ContainsFunc(text, unicode.IsControl) }

// compose returns the mail as it goes over the wire.
func (s *Sender) compose(to *netmail.Address, subject, text string) ([]byte, error) {
	if hasControl(subject) {
		return nil, errors.New("the subject is not one line")
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails: crypto/rand ends the process instead
	_, host, _ := strings.Cut(s.from.Address, "@")
	var b bytes.Buffer
	for _, h := range [][2]string{
		{"From", s.from.String()},
		{"To", to.String()},
		{"Subject", mime.QEncoding.Encode("utf-8", subject)},
		{"Date", s.o.Now().Format(time.RFC1123Z)},
		{"Message-ID", "<" + hex.EncodeToString(id) + "@" + host + ">"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
		{"Auto-Submitted", "auto-generated"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	lines := strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	if _, err := w.Write([]byte(lines)); err != nil {
		return nil, err
	}
	return b.Bytes(), w.Close()
}

// deliver hands a mail to the server.
func (s *Sender) deliver(ctx context.Context, to string, body []byte) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// The protocol knows no context: its end is that of the connection's time.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := s.converse(conn, to, body); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return nil
}

func (s *Sender) dial(ctx context.Context) (net.Conn, error) {
	address := net.JoinHostPort(s.o.Host, strconv.Itoa(s.o.Port))
	if s.o.Secure {
		return (&tls.Dialer{Config: s.o.TLS}).DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

func (s *Sender) converse(conn net.Conn, to string, body []byte) error {
	c, err := smtp.NewClient(conn, s.o.Host)
	if err != nil {
		return err
	}
	if err := s.introduce(c); err != nil {
		return err
	}
	if err := c.Mail(s.from.Address); err != nil {
		return err
	}
	if err := c.Rcpt(to); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(body); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // the mail is theirs already
	return nil
}

// introduce encrypts the connection, if it is not yet, and signs in.
func (s *Sender) introduce(c *smtp.Client) error {
	if err := c.Hello(clientName(s.from.Address)); err != nil {
		return err
	}
	if !s.o.Secure {
		if offered, _ := c.Extension("STARTTLS"); !offered {
			return errors.New("the server does not offer STARTTLS: nothing is sent in clear")
		}
		if err := c.StartTLS(s.o.TLS); err != nil {
			return fmt.Errorf("STARTTLS: %w", err)
		}
	}
	if s.o.User == "" {
		return nil
	}
	if err := c.Auth(s.auth(c)); err != nil {
		return fmt.Errorf("sign in as %s: %w", s.o.User, err)
	}
	return nil
}

// clientName is what the server is greeted with: the domain of the sender, which
// is a name that the rest of the world knows.
func clientName(from string) string {
	_, host, _ := strings.Cut(from, "@")
	return host
}

// auth returns the way to sign in that the server offers: PLAIN, else LOGIN.
func (s *Sender) auth(c *smtp.Client) smtp.Auth {
	_, offered := c.Extension("AUTH")
	for way := range strings.FieldsSeq(strings.ToUpper(offered)) {
		if way == "PLAIN" {
			return smtp.PlainAuth("", s.o.User, s.o.Pass, s.o.Host)
		}
	}
	return loginAuth{s.o.User, s.o.Pass}
}

// loginAuth answers the two questions of AUTH LOGIN, which some large providers
// offer instead of PLAIN.
type loginAuth struct{ user, pass string }

// Start implements smtp.Auth.
func (a loginAuth) Start(server *smtp.ServerInfo) (proto string, toServer []byte, err error) {
	if !server.TLS {
		return "", nil, errors.New("the connection is not encrypted")
	}
	return "LOGIN", nil, nil
}

// Next implements smtp.Auth.
func (a loginAuth) Next(fromServer []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	switch question := strings.ToLower(string(fromServer)); {
	case strings.HasPrefix(question, "user"):
		return []byte(a.user), nil
	case strings.HasPrefix(question, "pass"):
		return []byte(a.pass), nil
	}
	return nil, errors.New("the server asks for something else than user and password")
}
