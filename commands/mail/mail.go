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
	netmail "net/mail"
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
