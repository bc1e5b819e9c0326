package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"strconv"
	"strings"
	"time"
)

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
