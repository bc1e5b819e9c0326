//go:build e2e

package e2e

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// This file is the world around the service: a Git server, a receiver of webhooks, and a mail
// server. They are real ones on this machine.

// gitServer is a Git server that repositories of workspaces can be on.
func gitServer(t *testing.T) *gittest.Server {
	t.Helper()
	return gittest.New(t)
}

// sink receives webhooks.
type sink struct {
	url string

	mu     sync.Mutex
	status int
	got    []delivery
}

// delivery is a request that a sink received.
type delivery struct {
	header http.Header
	body   string
}

// webhookSink starts a receiver that answers 200.
func webhookSink(t *testing.T) *sink {
	t.Helper()
	k := &sink{status: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.got = append(k.got, delivery{r.Header.Clone(), string(body)})
		w.WriteHeader(k.status)
		_, _ = io.WriteString(w, http.StatusText(k.status))
	}))
	t.Cleanup(server.Close)
	k.url = server.URL
	return k
}

// answer makes the sink answer with a status from now on.
func (k *sink) answer(status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status = status
}

// received returns what came so far.
func (k *sink) received() []delivery {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]delivery(nil), k.got...)
}

// mailbox keeps what a mail server received.
type mailbox struct {
	settings []string // of a service that sends its mails here

	mu    sync.Mutex
	mails []sentMail
}

type sentMail struct{ to, text string }

// mailSink starts a mail server that takes everything. It speaks TLS, which the service insists
// on, with a certificate that the settings make it trust.
func mailSink(t *testing.T) *mailbox {
	t.Helper()
	https := httptest.NewTLSServer(nil) // it has a certificate for 127.0.0.1
	t.Cleanup(https.Close)
	authority := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: https.Certificate().Raw}), 0o600))
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: https.TLS.Certificates})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	m := &mailbox{settings: []string{
		"SMTP_HOST=127.0.0.1", fmt.Sprintf("SMTP_PORT=%d", l.Addr().(*net.TCPAddr).Port), "SMTP_SECURE=yes", "EMAIL_FROM=svc@example.org", "SSL_CERT_FILE=" + authority,
	}}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go m.serve(conn)
		}
	}()
	return m
}

// serve speaks SMTP with one client.
func (m *mailbox) serve(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") }
	in := textproto.NewReader(bufio.NewReader(conn))
	say("220 mail")
	for {
		line, err := in.ReadLine()
		if err != nil {
			return
		}
		switch command, _, _ := strings.Cut(strings.ToUpper(line), " "); command {
		case "DATA":
			say("354 go on")
			message, err := mail.ReadMessage(in.DotReader())
			if err != nil {
				return
			}
			text, err := io.ReadAll(quotedprintable.NewReader(message.Body))
			if err != nil {
				return
			}
			m.mu.Lock()
			m.mails = append(m.mails, sentMail{message.Header.Get("To"), string(text)})
			m.mu.Unlock()
			say("250 kept")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 fine")
		}
	}
}

// link waits for a mail to somebody that holds an address with a part, and returns the address.
func (m *mailbox) link(t *testing.T, to, part string) (address string) {
	t.Helper()
	require.Eventually(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, sent := range slices.Backward(m.mails) {
			for line := range strings.Lines(sent.text) {
				if strings.Contains(sent.to, to) && strings.HasPrefix(line, "http") && strings.Contains(line, part) {
					address = strings.TrimSpace(line)
					return true
				}
			}
		}
		return false
	}, patience, 20*time.Millisecond, "no mail to %s with %s", to, part)
	return address
}
