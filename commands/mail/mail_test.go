package mail_test

import (
	"context"
	"crypto/tls"
	"io"
	"mime"
	"mime/quotedprintable"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/commands/mail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// through returns a sender through s, changed for one case.
func through(t *testing.T, s *server, change func(*mail.Options)) *mail.Sender {
	t.Helper()
	o := mail.Options{Host: "127.0.0.1", Port: s.port, Secure: s.secure, From: "svc <noreply@example.org>", TLS: s.trust, Timeout: 5 * time.Second}
	if change != nil {
		change(&o)
	}
	sender, err := mail.New(o)
	require.NoError(t, err)
	return sender
}

func TestAMailArrives(t *testing.T) {
	for name, s := range map[string]*server{
		"over STARTTLS":                 {},
		"over TLS from the start":       {secure: true},
		"signed in with PLAIN":          {auth: "LOGIN PLAIN", pass: "geheim"},
		"signed in with LOGIN":          {auth: "LOGIN", pass: "geheim"},
		"signed in with LOGIN over TLS": {auth: "LOGIN", pass: "geheim", secure: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.run(t)
			sender := through(t, s, func(o *mail.Options) {
				if s.auth != "" {
					o.User, o.Pass = "postman", s.pass
				}
			})
			text := "Grüße\n.\n..two\nlink: https://example.org/console/reset#token=a_b-c=\n" + strings.Repeat("x", 200) + "\n"
			require.NoError(t, sender.Send(t.Context(), "ada@example.org", "Größe & more", text))
			got := <-s.mails
			require.True(t, got.encrypted)
			require.Equal(t, "FROM:<noreply@example.org> BODY=8BITMIME", got.from)
			require.Equal(t, "TO:<ada@example.org>", got.to)
			require.Equal(t, "<ada@example.org>", got.header.Get("To"))
			require.Equal(t, `"svc" <noreply@example.org>`, got.header.Get("From"))
			require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
			require.Regexp(t, `^<[0-9a-f]{32}@example\.org>$`, got.header.Get("Message-ID"))
			_, err := time.Parse(time.RFC1123Z, got.header.Get("Date"))
			require.NoError(t, err)
			subject, err := new(mime.WordDecoder).DecodeHeader(got.header.Get("Subject"))
			require.NoError(t, err)
			require.Equal(t, "Größe & more", subject)
			body, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(got.body)))
			require.NoError(t, err)
			require.Equal(t, text, strings.ReplaceAll(string(body), "\r\n", "\n"))
			if s.auth != "" {
				require.Equal(t, "postman", got.user)
			}
		})
	}
}

func TestNothingIsSentInClear(t *testing.T) {
	s := (&server{noTLS: true, auth: "PLAIN", pass: "geheim"}).run(t)
	err := through(t, s, func(o *mail.Options) { o.User, o.Pass = "postman", "geheim" }).Send(t.Context(), "ada@example.org", "s", "t")
	require.ErrorContains(t, err, "STARTTLS")
	require.Empty(t, s.mails)
}

func TestAStrangeServerGetsNothing(t *testing.T) {
	for name, s := range map[string]*server{"STARTTLS": {}, "TLS": {secure: true}} {
		t.Run(name, func(t *testing.T) {
			s.run(t)
			err := through(t, s, func(o *mail.Options) { o.TLS = nil }).Send(t.Context(), "ada@example.org", "s", "t")
			var untrusted *tls.CertificateVerificationError
			require.ErrorAs(t, err, &untrusted)
			require.Empty(t, s.mails)
		})
	}
}

func TestARefusalIsTold(t *testing.T) {
	for _, step := range []string{"EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := (&server{auth: "PLAIN", pass: "geheim", refuse: step}).run(t)
			err := through(t, s, func(o *mail.Options) { o.User, o.Pass = "postman", "geheim" }).Send(t.Context(), "ada@example.org", "s", "t")
			require.Error(t, err)
			require.NotContains(t, err.Error(), "geheim")
			require.Empty(t, s.mails)
		})
	}
}

func TestAWrongPasswordIsTold(t *testing.T) {
	s := (&server{auth: "LOGIN", pass: "geheim"}).run(t)
	err := through(t, s, func(o *mail.Options) { o.User, o.Pass = "postman", "falsch" }).Send(t.Context(), "ada@example.org", "s", "t")
	require.ErrorContains(t, err, "sign in as postman")
	require.NotContains(t, err.Error(), "falsch")
}

func TestASilentServerIsNotWaitedForForLong(t *testing.T) {
	s := (&server{silent: true}).run(t)
	err := through(t, s, func(o *mail.Options) { o.Timeout = 50 * time.Millisecond }).Send(t.Context(), "ada@example.org", "s", "t")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestACancelledMailIsNotSent(t *testing.T) {
	s := (&server{}).run(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, through(t, s, nil).Send(ctx, "ada@example.org", "s", "t"), context.Canceled)
	require.Empty(t, s.mails)
}

func TestNoHeaderIsMadeOfText(t *testing.T) {
	s := (&server{}).run(t)
	sender := through(t, s, nil)
	for _, to := range []string{
		"ada@example.org\r\nBcc: eve@example.org", "ada@example.org\nDATA", "ada@example.org, eve@example.org", "ada", "", "a\x00@b.c",
	} {
		require.Error(t, sender.Send(t.Context(), to, "s", "t"), "%q", to)
	}
	require.Error(t, sender.Send(t.Context(), "ada@example.org", "s\r\nBcc: eve@example.org", "t"))
	require.Empty(t, s.mails)

	require.NoError(t, sender.Send(t.Context(), "ada@example.org", "s", "t\r\n\r\nBcc: eve@example.org\n.\nMAIL FROM:<eve@example.org>\n"))
	got := <-s.mails
	require.Empty(t, got.header.Get("Bcc"))
	require.Contains(t, got.body, "eve@example.org")
	require.Empty(t, s.mails)
}

func TestASenderKnowsItsServerAndItself(t *testing.T) {
	for name, o := range map[string]mail.Options{
		"no server":              {From: "a@b.c"},
		"no sender":              {Host: "h"},
		"a sender that is none":  {Host: "h", From: "nobody"},
		"a sender of two lines":  {Host: "h", From: "a@b.c\r\nBcc: d@e.f"},
		"a sender that is a lot": {Host: "h", From: "a@b.c, d@e.f"},
	} {
		_, err := mail.New(o)
		require.Error(t, err, name)
	}
}
