package gittest

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Passphrase opens the key of an SSH server's friend that is locked.
const Passphrase = "open sesame 42"

// SSH serves the repositories of a directory over SSH, to one key.
type SSH struct {
	Address string
	Key     string // of who is let in, in PEM

	t       testing.TB
	private ed25519.PrivateKey
	dir     string
	friend  ssh.PublicKey
	mu      sync.Mutex
	host    ssh.Signer
	running sync.WaitGroup
	serving gate
}

// NewSSH starts a server for the repositories of dir that ends with the test.
func NewSSH(t testing.TB, dir string) *SSH {
	t.Helper()
	s := &SSH{t: t, dir: dir}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	s.friend, err = ssh.NewPublicKey(public)
	require.NoError(t, err)
	open, err := ssh.MarshalPrivateKey(private, "friend")
	require.NoError(t, err)
	s.private, s.Key = private, string(pem.EncodeToMemory(open))
	s.NewHostKey()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.Address = listener.Addr().String()
	s.running.Go(func() { s.accept(listener) })
	t.Cleanup(func() {
		_ = listener.Close() // accept ends with it
		s.running.Wait()
	})
	return s
}

// LockedKey is Key under Passphrase. To lock and to open it takes a while.
func (s *SSH) LockedKey() string {
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(s.private, "friend", []byte(Passphrase))
	require.NoError(s.t, err)
	return string(pem.EncodeToMemory(locked))
}

// NewHostKey gives the server another key.
func (s *SSH) NewHostKey() {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(s.t, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(s.t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host = signer
}

func (s *SSH) hostKey() ssh.Signer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.host
}

// KnownHosts is the line that a client needs.
func (s *SSH) KnownHosts() string {
	return knownhosts.Line([]string{s.Address}, s.hostKey().PublicKey())
}

// Fingerprint is that of the host key.
func (s *SSH) Fingerprint() string { return ssh.FingerprintSHA256(s.hostKey().PublicKey()) }

// URL is that of a repository.
func (s *SSH) URL(r *Repo) string { return "ssh://git@" + s.Address + r.Path }

func (s *SSH) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.serving.acquire()
		s.running.Go(func() { defer s.serving.release(); s.serve(conn) })
	}
}

func (s *SSH) serve(conn net.Conn) {
	defer conn.Close()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(s.friend.Marshal()) {
			return nil, errors.New("not a friend")
		}
		return nil, nil
	}}
	config.AddHostKey(s.hostKey())
	inner, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	defer func() { _ = inner.Close() }() // it may be gone
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		s.serving.acquire()
		s.running.Go(func() { defer s.serving.release(); s.session(channel, requests) })
	}
}

func (s *SSH) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer func() { _ = channel.Close() }() // it may be gone
	for r := range requests {
		if r.Type != "exec" {
			_ = r.Reply(false, nil)
			continue
		}
		var command struct{ Line string }
		_ = ssh.Unmarshal(r.Payload, &command)
		_ = r.Reply(true, nil)
		status := struct{ Status uint32 }{s.run(channel, command.Line)}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
		return
	}
}

func (s *SSH) run(channel ssh.Channel, line string) uint32 {
	service, path, ok := strings.Cut(line, " ")
	if !ok || service != "git-upload-pack" && service != "git-receive-pack" {
		return 1
	}
	cmd := exec.Command("git", strings.TrimPrefix(service, "git-"), strings.Trim(path, "'"))
	cmd.Dir, cmd.Env = s.dir, environment(s.dir)
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	stdin, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return 1
	}
	go func() {
		defer stdin.Close()
		buffer := make([]byte, 32<<10)
		for {
			n, err := channel.Read(buffer)
			if _, failed := stdin.Write(buffer[:n]); err != nil || failed != nil {
				return
			}
		}
	}()
	if err := cmd.Wait(); err != nil {
		return 128
	}
	return 0
}

// Wait returns when nothing is being served any more.
func (s *SSH) Wait() { s.serving.wait() }
