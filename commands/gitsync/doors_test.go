package gitsync_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"svc/commands/egress"
	"svc/commands/gitsync"
	"svc/commands/gitsync/gittest"
	"svc/domain"
)

func list(t testing.TB, r gitsync.Remote, o gitsync.Options) error {
	t.Helper()
	_, err := open(t, r, o).ListRefs(t.Context())
	return err
}

func TestRemotesAreCheckedBeforeUse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		remote gitsync.Remote
		http   bool
		field  string
	}{
		"https":                {remote: gitsync.Remote{URL: "https://git.example.com/a.git", Password: "x"}},
		"ssh":                  {remote: gitsync.Remote{URL: "ssh://git@git.example.com:2222/a.git"}},
		"scp":                  {remote: gitsync.Remote{URL: "git@git.example.com:team/a.git"}},
		"credentials in url":   {remote: gitsync.Remote{URL: "https://u:p@git.example.com/a.git"}},
		"http allowed":         {remote: gitsync.Remote{URL: "http://git.example.com/a.git"}, http: true},
		"http of the platform": {remote: gitsync.Remote{URL: "http://git.example.com/a.git", Exempt: true}},
		"http":                 {remote: gitsync.Remote{URL: "http://git.example.com/a.git"}, field: "config.url"},
		"file":                 {remote: gitsync.Remote{URL: "file:///etc", Exempt: true}, http: true, field: "config.url"},
		"path":                 {remote: gitsync.Remote{URL: "/srv/git/a.git", Exempt: true}, http: true, field: "config.url"},
		"ext":                  {remote: gitsync.Remote{URL: "ext::sh -c whoami"}, http: true, field: "config.url"},
		"git":                  {remote: gitsync.Remote{URL: "git://git.example.com/a.git"}, http: true, field: "config.url"},
		"no host":              {remote: gitsync.Remote{URL: "https:///a.git"}, field: "config.url"},
		"no path":              {remote: gitsync.Remote{URL: "https://git.example.com/"}, field: "config.url"},
		"query":                {remote: gitsync.Remote{URL: "https://git.example.com/a?b"}, field: "config.url"},
		"broken with password": {remote: gitsync.Remote{URL: "https://u:" + gittest.Password + "@[bad/a"}, field: "config.url"},
		"password for ssh":     {remote: gitsync.Remote{URL: "git@h:a", Password: gittest.Password}, field: "config.auth.password"},
		"not a key":            {remote: gitsync.Remote{URL: "git@h:a", SSHKey: "PRIVATE KEY"}, field: "config.auth.sshkey"},
		"not a bundle":         {remote: gitsync.Remote{URL: "https://h/a", CABundle: "x"}, field: "config.caBundle"},
		"not known hosts":      {remote: gitsync.Remote{URL: "https://h/a", KnownHosts: "x"}, field: "config.knownHosts"},
		"header injection":     {remote: gitsync.Remote{URL: "https://h/a", User: "a\r\nX: y"}, field: "config.auth"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.remote.Check(tt.http)
			if tt.field == "" {
				require.NoError(t, err)
				return
			}
			requireNoSecret(t, err)
			var refusal *domain.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, domain.CodeValidation, refusal.Code)
			require.Equal(t, tt.field, refusal.Details["errors"].([]domain.FieldError)[0].Field)
		})
	}
	clean := gitsync.Remote{URL: "https://u:p%20w@git.example.com/a.git"}.Normalised()
	require.Equal(t, gitsync.Remote{URL: "https://git.example.com/a.git", User: "u", Password: "p w"}, clean)
	kept := gitsync.Remote{URL: "https://u:p@h/a", User: "me", Password: "mine"}.Normalised()
	require.Equal(t, gitsync.Remote{URL: "https://h/a", User: "me", Password: "mine"}, kept)
}

func TestACertificateOfTheirOwnNeedsABundle(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	remote := remoteOf(server, server.Repo("a.git"))
	require.NoError(t, list(t, remote, options()))
	remote.CABundle = ""
	refusal := requireRefusal(t, list(t, remote, options()), domain.CodeValidation, "remote_certificate_untrusted")
	require.Contains(t, refusal.Message, "caBundle")
	require.Equal(t, "O=Acme Co", refusal.Details["subject"])
	require.Equal(t, "O=Acme Co", refusal.Details["issuer"])
	require.Len(t, refusal.Details["sha256"], 64)
	for _, r := range server.Requests() {
		require.Contains(t, r.Authorization, "Basic", "only the trusting client got through")
	}
}

func TestWrongCredentialsAndMissingRepositories(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	daemon := gittest.NewSSH(t, server.Dir)
	repo := server.Repo("a.git")
	gone := &gittest.Repo{Path: filepath.Join(server.Dir, "gone.git"), URL: server.URL + "/gone.git"}
	wrong := remoteOf(server, repo)
	wrong.Password = gittest.Password + "-not"
	requireRefusal(t, list(t, wrong, options()), domain.CodePermissionDenied, "remote_auth_failed")
	requireRefusal(t, list(t, remoteOf(server, gone), options()), domain.CodeNotFound, "remote_not_found")

	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	stranger := overSSH(daemon, repo)
	stranger.SSHKey = string(pem.EncodeToMemory(block))
	requireRefusal(t, list(t, stranger, options()), domain.CodePermissionDenied, "remote_auth_failed")
	stranger.SSHKey = ""
	requireRefusal(t, list(t, stranger, options()), domain.CodePermissionDenied, "remote_auth_failed")
	refusal := requireRefusal(t, list(t, overSSH(daemon, gone), options()), domain.CodeNotFound, "remote_not_found")
	require.Contains(t, refusal.Details["remote"], "does not appear to be a git repository")
	s := open(t, overSSH(daemon, gone), options())
	c := save(t, s.Objects(), "", "", files("index.yml", "a: b\n"))
	_, err = s.Push(t.Context(), []gitsync.Update{{Name: "refs/heads/main", New: c}})
	requireRefusal(t, err, domain.CodePermissionDenied, "remote_refused")

	repo.Git("config", "http.receivepack", "false")
	s = open(t, remoteOf(server, repo), options())
	_, err = s.Push(t.Context(), []gitsync.Update{{Name: "refs/heads/main", New: save(t, s.Objects(), "", "", files("index.yml", "a: b\n"))}})
	requireRefusal(t, err, domain.CodePermissionDenied, "remote_refused")
}

func TestTheHostKeyMustBeKnown(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	daemon := gittest.NewSSH(t, server.Dir)
	remote := overSSH(daemon, server.Repo("a.git"))
	line := remote.KnownHosts
	remote.KnownHosts = ""
	refusal := requireRefusal(t, list(t, remote, options()), domain.CodeValidation, "remote_host_key_unknown")
	require.Equal(t, daemon.Fingerprint(), refusal.Details["fingerprint"])
	require.Equal(t, line, refusal.Details["line"])
	require.Contains(t, refusal.Message, "knownHosts")

	o := options()
	o.KnownHostsFile = filepath.Join(t.TempDir(), "known_hosts")
	require.NoError(t, os.WriteFile(o.KnownHostsFile, []byte(line+"\n"), 0o600))
	require.NoError(t, list(t, remote, o), "the file of the node knows it")
	remote.KnownHosts = "elsewhere.example " + strings.SplitN(line, " ", 2)[1]
	require.NoError(t, list(t, remote, o), "the repository's own lines are about another host")
	requireRefusal(t, list(t, remote, options()), domain.CodeValidation, "remote_host_key_unknown")

	remote.KnownHosts = line
	s := open(t, remote, options())
	_, err := s.ListRefs(t.Context())
	require.NoError(t, err)
	require.Equal(t, &gitsync.HostKey{Type: "ssh-ed25519", Fingerprint: daemon.Fingerprint(), Line: line}, s.HostKey())
	daemon.NewHostKey()
	refusal = requireRefusal(t, list(t, remote, o), domain.CodeValidation, "remote_host_key_mismatch")
	require.NotContains(t, refusal.Details, "line", "a changed key is not trusted in passing")
}

func TestAKeyWithAPassphrase(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	daemon := gittest.NewSSH(t, server.Dir)
	remote := overSSH(daemon, server.Repo("a.git"))
	remote.SSHKey, remote.Passphrase = strings.ReplaceAll(daemon.LockedKey(), "\n", `\n`), gittest.Passphrase
	require.NoError(t, list(t, remote, options()))
	for passphrase, want := range map[string]string{"": "needs a passphrase", "wrong": "cannot be opened"} {
		remote.Passphrase = passphrase
		_, err := gitsync.Open(remote, options())
		require.ErrorContains(t, err, want)
		requireNoSecret(t, err)
	}
}

// startRecordingServer is a server that notes who comes.
func startRecordingServer(t *testing.T, answer http.HandlerFunc) (server *httptest.Server, seen func() []http.Header) {
	var mu sync.Mutex
	var headers []http.Header
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		headers = append(headers, r.Header)
		mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s, func() []http.Header {
		mu.Lock()
		defer mu.Unlock()
		return headers
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	repo := server.Repo("a.git")
	target := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.Header.Get("X-Never"), http.StatusFound)
	}
	to := ""
	hop, seen := startRecordingServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to+r.URL.String(), http.StatusMovedPermanently)
	})
	foreign, visitors := startRecordingServer(t, target)
	remote := remoteOf(server, repo)
	remote.URL = hop.URL + "/a.git"
	remote.CABundle += certificate(hop) + certificate(foreign)

	t.Log("a foreign host gets nothing")
	to = foreign.URL
	refusal := requireRefusal(t, list(t, remote, options()), domain.CodeValidation, "remote_redirected")
	require.Equal(t, strings.TrimPrefix(foreign.URL, "https://"), refusal.Details["host"])
	require.Empty(t, visitors())
	require.NotEmpty(t, seen())

	t.Log("an allowed one is followed, and serves the rest")
	to = server.URL
	allowed := remote
	allowed.RedirectHosts = []string{server.Address()}
	s := open(t, allowed, options())
	_, err := s.ListRefs(t.Context())
	require.NoError(t, err)
	require.Equal(t, repo.URL, s.FinalURL())
	asked := len(seen())
	c := save(t, s.Objects(), "", "", files("index.yml", "a: b\n"))
	requireOutcomes(t, push(t, s, gitsync.Update{Name: "refs/heads/main", New: c}), gitsync.Accepted)
	require.Len(t, seen(), asked)

	t.Log("without credentials there is nothing to carry")
	anonymous := gitsync.Remote{URL: remote.URL, CABundle: remote.CABundle}
	requireRefusal(t, list(t, anonymous, options()), domain.CodePermissionDenied, "remote_auth_failed")

	t.Log("never to http, not for ever, not to a page")
	to = "http://" + server.Address()
	requireRefusal(t, list(t, allowed, options()), domain.CodeValidation, "remote_redirected")
	to = hop.URL
	asked = len(seen())
	requireRefusal(t, list(t, remote, options()), domain.CodeValidation, "remote_redirected")
	require.Len(t, seen(), asked+6)
	to = hop.URL + "/login?x="
	requireRefusal(t, list(t, remote, options()), domain.CodeValidation, "remote_redirected")
}

func certificate(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}

func TestWhatIsNotGit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		kind   string
		body   string
		reason string
	}{
		"a page":           {200, "text/html", "<html>", "remote_protocol_error"},
		"a bad list":       {200, "application/x-git-upload-pack-advertisement", "zzzz", "remote_protocol_error"},
		"a teapot":         {418, "text/plain", "", "remote_protocol_error"},
		"a broken gateway": {502, "text/plain", gittest.Password, "remote_unreachable"},
		"other ids": {200, "application/x-git-upload-pack-advertisement",
			"001e# service=git-upload-pack\n0000005b" + strings.Repeat("0", 40) + " capabilities^{}\x00object-format=sha256 agent=x\n0000", "remote_protocol_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := startRecordingServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.kind)
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			remote := gitsync.Remote{URL: s.URL + "/a.git", Password: gittest.Password, CABundle: certificate(s)}
			requireRefusal(t, list(t, remote, options()), domain.CodeUnavailable, tt.reason)
		})
	}
}

func TestNobodyIsWaitedForTooLong(t *testing.T) {
	t.Parallel()
	silent := gittest.Silent(t)
	server := gittest.New(t)
	daemon := gittest.NewSSH(t, server.Dir)
	o := options()
	for name, tt := range map[string]gitsync.Timeouts{
		"connect":  {Connect: 150 * time.Millisecond, Silence: time.Hour, Exchange: time.Hour},
		"silence":  {Connect: time.Hour, Silence: 150 * time.Millisecond, Exchange: time.Hour},
		"exchange": {Connect: time.Hour, Silence: time.Hour, Exchange: 150 * time.Millisecond},
	} {
		for _, url := range []string{"https://" + silent + "/a.git", "ssh://git@" + silent + "/a.git"} {
			o.Timeouts = tt
			requireRefusal(t, list(t, gitsync.Remote{URL: url, KnownHosts: daemon.KnownHosts()}, o), domain.CodeGatewayTimeout, "remote_timeout")
			t.Log(name, url)
		}
	}
	slow := server.Repo("slow.git")
	slow.Hook("pre-receive", "exec sleep 2")
	slow.Git("config", "receive.keepAlive", "1")
	o.Timeouts = gitsync.Timeouts{Silence: 300 * time.Millisecond}
	for _, remote := range []gitsync.Remote{remoteOf(server, slow), overSSH(daemon, slow)} {
		s := open(t, remote, o)
		c := save(t, s.Objects(), "", "", files("index.yml", remote.URL+"\n"))
		results := push(t, s, gitsync.Update{Name: "refs/heads/x", New: c})
		requireOutcomes(t, results, gitsync.Unknown)
		require.Contains(t, results[0].Text, "in time")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := open(t, remoteOf(server, slow), options()).ListRefs(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAddressesAreAskedForAtTheDoor(t *testing.T) {
	t.Parallel()
	o := options()
	var asked []string
	o.Dial = func(_ context.Context, scheme, address string, exempt bool) (net.Conn, error) {
		asked = append(asked, scheme+" "+address)
		if exempt {
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}
		return nil, &egress.Refused{Host: "intranet.example", Why: "its address is not public"}
	}
	for _, url := range []string{"https://intranet.example/a.git", "git@intranet.example:a.git"} {
		remote := gitsync.Remote{URL: url}
		requireRefusal(t, list(t, remote, o), domain.CodeValidation, "remote_address_forbidden")
		remote.Exempt = true
		requireRefusal(t, list(t, remote, o), domain.CodeUnavailable, "remote_unreachable")
	}
	require.Equal(t, []string{
		"https intranet.example:443", "https intranet.example:443", "ssh intranet.example:22", "ssh intranet.example:22",
	}, asked)
}

func TestAzureMayMoveBetweenItsNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hosts := map[string]int{}
		for _, location := range []string{"https://acme.visualstudio.com/x", "https://acme.visualstudio.com.evil.example/x"} {
			o := options()
			o.Dial = func(_ context.Context, _, address string, _ bool) (net.Conn, error) {
				hosts[address]++
				ours, theirs := net.Pipe()
				go func() {
					defer theirs.Close()
					_, _ = theirs.Read(make([]byte, 4096))
					_, _ = io.WriteString(theirs, "HTTP/1.1 302 Found\r\nLocation: "+location+"/info/refs?service=git-upload-pack\r\nContent-Length: 0\r\n\r\n")
				}()
				return ours, nil
			}
			// http stands in for https, which a pipe does not speak.
			remote := gitsync.Remote{URL: "http://dev.azure.com/acme/x", Password: "x", Exempt: true}
			require.Error(t, list(t, remote, o))
		}
		require.Equal(t, map[string]int{"dev.azure.com:80": 2, "acme.visualstudio.com:443": 1}, hosts)
	})
}
