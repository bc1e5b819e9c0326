package gitsync

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"svc/domain"
)

// HostKey is the key that an SSH server showed.
type HostKey struct {
	Type        string
	Fingerprint string // SHA256:…, as OpenSSH prints it
	Line        string // what to add to known_hosts to trust it
}

// guard decides about the key of one host.
type guard struct {
	session *Session
	known   ssh.HostKeyCallback // nil: nothing is known
	seen    *HostKey
	passed  bool
	refusal error
}

// newGuard reads the keys of the repository and, when they do not name the host,
// those of the node.
func (s *Session) newGuard() (*guard, error) {
	g := &guard{session: s}
	own, err := readKnownHosts(s.remote.KnownHosts)
	if err != nil {
		return nil, err
	}
	if own != nil && (s.options.KnownHostsFile == "" || len(wanted(own, s.target.address())) > 0) {
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

// readKnownHosts takes the way over a file, because that is all the library
// reads. Nothing in it is secret.
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

// nobody is a key that no host has: asked about it, the library tells which keys
// it knows.
type nobody struct{}

// Type implements ssh.PublicKey.
func (nobody) Type() string { return "nobody" }

// Marshal implements ssh.PublicKey.
func (nobody) Marshal() []byte { return []byte("nobody") }

// Verify implements ssh.PublicKey.
func (nobody) Verify([]byte, *ssh.Signature) error { return errors.New("nobody signs") }

// wanted returns the keys that are known of a host.
func wanted(known ssh.HostKeyCallback, address string) []knownhosts.KnownKey {
	if e, ok := errors.AsType[*knownhosts.KeyError](known(address, &net.TCPAddr{}, nobody{})); ok {
		return e.Want
	}
	return nil
}

// algorithms asks the server for a key of a kind that is known: it may have
// several, and another one would look like a change. Nil leaves it to the
// server.
func (g *guard) algorithms() (all []string) {
	if g.known == nil {
		return nil
	}
	for _, key := range wanted(g.known, g.session.target.address()) {
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
func (g *guard) check(_ string, from net.Addr, key ssh.PublicKey) error {
	address := g.session.target.address()
	g.seen = &HostKey{
		Type: key.Type(), Fingerprint: ssh.FingerprintSHA256(key),
		Line: knownhosts.Line([]string{address}, key),
	}
	if g.known == nil {
		g.refusal = g.unknown()
		return g.refusal
	}
	err := g.known(address, from, key)
	if err == nil {
		g.passed = true
		return nil
	}
	g.refusal = g.unknown()
	mismatch, isKey := errors.AsType[*knownhosts.KeyError](err)
	if !isKey || len(mismatch.Want) > 0 {
		g.refusal = g.changed()
	}
	return g.refusal
}

func (g *guard) unknown() error {
	return domain.Refuse(domain.CodeValidation,
		"the host key of %s is not known: compare %s with its owner, then add the line to knownHosts",
		g.session.target.host, g.seen.Fingerprint).
		Reason("remote_host_key_unknown").With("setting", "knownHosts").With("host", g.session.target.host).
		With("type", g.seen.Type).With("fingerprint", g.seen.Fingerprint).With("line", g.seen.Line)
}

// changed offers no line: a changed key is nothing to be trusted in passing.
func (g *guard) changed() error {
	return domain.Refuse(domain.CodeValidation,
		"the host key of %s is not the known one: it shows %s. Somebody may be between", g.session.target.host, g.seen.Fingerprint).
		Reason("remote_host_key_mismatch").With("setting", "knownHosts").With("host", g.session.target.host).
		With("type", g.seen.Type).With("fingerprint", g.seen.Fingerprint)
}
