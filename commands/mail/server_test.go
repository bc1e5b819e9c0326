package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is a small mail server. It takes mails as its fields allow.
type server struct {
	secure  bool   // TLS from the start
	noTLS   bool   // does not offer STARTTLS
	auth    string // ways to sign in that it offers, once encrypted
	pass    string // the right password
	refuse  string // begins the command that it does not like
	silent  bool   // takes connections and says nothing
	port    int
	trust   *tls.Config // what a client must trust
	own     *tls.Config
	mails   chan receivedMail
	working sync.WaitGroup
}

// receivedMail is a mail as the server got it.
type receivedMail struct {
	from, to, user string
	encrypted      bool
	header         textproto.MIMEHeader
	body           string
}

// run starts the server; it ends with the test.
func (s *server) run(t *testing.T) *server {
	t.Helper()
	s.own, s.trust = certificate(t)
	s.mails = make(chan receivedMail, 10)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.port = listener.Addr().(*net.TCPAddr).Port
	if s.secure {
		listener = tls.NewListener(listener, s.own)
	}
	s.working.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.working.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				s.serve(conn)
			})
		}
	})
	t.Cleanup(func() { listener.Close(); s.working.Wait() })
	return s
}

// serve speaks with one client until it leaves or breaks a rule.
func (s *server) serve(conn net.Conn) {
	r, got := bufio.NewReader(conn), receivedMail{encrypted: s.secure}
	say := func(lines ...string) { fmt.Fprint(conn, strings.Join(lines, "\r\n")+"\r\n") }
	if s.silent {
		_, _ = r.ReadByte()
		return
	}
	say("220 test")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, rest, _ := strings.Cut(line, " ")
		switch {
		case s.refuse != "" && strings.HasPrefix(line, s.refuse):
			say("550 not here")
		case verb == "EHLO":
			say(s.greeting(got.encrypted)...)
		case verb == "STARTTLS":
			say("220 go ahead")
			encrypted := tls.Server(conn, s.own)
			conn, r, got.encrypted = encrypted, bufio.NewReader(encrypted), true
		case verb == "AUTH":
			var ok bool
			if got.user, ok = s.authenticate(r, say, rest); !ok {
				say("535 wrong")
				continue
			}
			say("235 welcome")
		case verb == "MAIL":
			got.from = rest
			say("250 ok")
		case verb == "RCPT":
			got.to = rest
			say("250 ok")
		case verb == "DATA":
			say("354 go on")
			tp := textproto.NewReader(bufio.NewReader(textproto.NewReader(r).DotReader()))
			got.header, _ = tp.ReadMIMEHeader()
			var body strings.Builder
			_, _ = tp.R.WriteTo(&body)
			got.body = body.String()
			s.mails <- got
			say("250 taken")
		case verb == "QUIT":
			say("221 bye")
			return
		default:
			say("502 what?")
		}
	}
}

func (s *server) greeting(encrypted bool) []string {
	lines := []string{"250-test"}
	if !encrypted && !s.noTLS {
		lines = append(lines, "250-STARTTLS")
	}
	if encrypted && s.auth != "" {
		lines = append(lines, "250-AUTH "+s.auth)
	}
	return append(lines, "250 8BITMIME")
}

// authenticate checks who signs in, by PLAIN or LOGIN.
func (s *server) authenticate(r *bufio.Reader, say func(...string), rest string) (user string, ok bool) {
	way, initial, _ := strings.Cut(rest, " ")
	if !strings.Contains(s.auth, way) {
		return "", false
	}
	if way == "PLAIN" {
		plain, err := base64.StdEncoding.DecodeString(initial)
		parts := strings.Split(string(plain), "\x00")
		return parts[len(parts)-2], err == nil && parts[len(parts)-1] == s.pass
	}
	ask := func(question string) string {
		say("334 " + base64.StdEncoding.EncodeToString([]byte(question)))
		line, _ := r.ReadString('\n')
		answer, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		return string(answer)
	}
	user = ask("Username:")
	return user, ask("Password:") == s.pass
}

// certificate makes a server's certificate for 127.0.0.1 and what trusts it.
func certificate(t *testing.T) (own, trust *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}
