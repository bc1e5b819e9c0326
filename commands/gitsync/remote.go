package gitsync

import (
	"cmp"
	"crypto/x509"
	"net"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"

	"svc/domain"
)

// Remote is the address of a repository and its credentials.
type Remote struct {
	URL           string // https://, ssh://, user@host:path, and http:// where that is allowed
	User          string // "": git
	Password      string // or an access token; for https
	SSHKey        string // PEM or OpenSSH private key; \n escapes are accepted
	Passphrase    string // of SSHKey
	CABundle      string // PEM, trusted besides the other roots
	KnownHosts    string // lines as OpenSSH writes them; they are asked before the file of the options
	RedirectHosts []string
	Exempt        bool // set by an operator: every address and http are allowed
}

// target is a parsed URL.
type target struct {
	scheme string // https, http, ssh
	user   string
	host   string // name or address, without brackets
	port   string
	path   string // as the scheme wants it
}

var ports = map[string]string{"https": "443", "http": "80", "ssh": "22"}

// address returns the address to dial.
func (t target) address() string { return net.JoinHostPort(t.host, t.port) }

// scpLike matches user@host:path, which is not a URL.
var scpLike = regexp.MustCompile(`^([^@/:\s]+)@(\[[0-9A-Fa-f:.]+\]|[^@/:\s\[\]]+):(.+)$`)

// Normalised returns r with the credentials of its URL moved to their fields, unless those
// are set.
func (r Remote) Normalised() Remote {
	u, err := url.Parse(r.URL)
	if err != nil || u.User == nil || !strings.Contains(r.URL, "://") {
		return r
	}
	password, _ := u.User.Password()
	if r.User == "" {
		r.User = u.User.Username()
	}
	if r.Password == "" && r.SSHKey == "" {
		r.Password = password
	}
	u.User = nil
	r.URL = u.String()
	return r
}

// Check returns all faults of a remote, without secret values. allowHTTP allows the scheme
// http.
func (r Remote) Check(allowHTTP bool) error {
	_, _, err := r.read(allowHTTP)
	return err
}

// read parses the URL and the private key, if there is one.
func (r Remote) read(allowHTTP bool) (target, ssh.Signer, error) {
	var faults []domain.FieldError
	fault := func(field, message string) {
		faults = append(faults, domain.FieldError{Field: "config." + field, Message: message})
	}
	r = r.Normalised()
	t, why := r.target(allowHTTP)
	switch {
	case why != "":
		fault("url", why)
	case t.scheme == "ssh" && r.Password != "":
		fault("auth.password", "needs an https URL")
	case t.scheme == "http" && !r.Exempt && r.Password != "":
		fault("auth.password", "needs an https URL: over http everybody on the way could read it")
	case t.scheme == "http" && !r.Exempt && r.User != "": // it may be an access token
		fault("auth.user", "needs an https URL: over http everybody on the way could read it")
	case t.scheme != "ssh" && r.SSHKey != "":
		fault("auth.sshkey", "needs an SSH URL")
	}
	if strings.ContainsFunc(r.User, unicode.IsControl) || strings.ContainsFunc(r.Password, unicode.IsControl) {
		fault("auth", "must not have control characters")
	}
	signer, err := r.signer()
	if err != nil {
		fault("auth.sshkey", err.Error())
	}
	if r.CABundle != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(r.CABundle)) {
		fault("caBundle", "holds no certificate in PEM")
	}
	if _, err := readKnownHosts(r.KnownHosts); err != nil {
		fault("knownHosts", "is not made of lines as in OpenSSH's known_hosts")
	}
	if len(faults) > 0 {
		return t, nil, domain.Invalid(faults...)
	}
	return t, signer, nil
}

// target parses the URL, or returns what is wrong with it. The text does not contain the
// URL: it may hold a password.
func (r Remote) target(allowHTTP bool) (target, string) {
	if r.URL == "" || strings.ContainsFunc(r.URL, func(c rune) bool { return unicode.IsControl(c) || unicode.IsSpace(c) }) {
		return target{}, "must be a URL without spaces"
	}
	if m := scpLike.FindStringSubmatch(r.URL); m != nil && !strings.Contains(r.URL, "://") {
		host := strings.Trim(m[2], "[]")
		return target{scheme: "ssh", user: cmp.Or(r.User, m[1]), host: host, port: ports["ssh"], path: m[3]}, ""
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return target{}, "is not a URL"
	}
	switch {
	case u.Scheme == "http" && !allowHTTP && !r.Exempt, ports[u.Scheme] == "":
		return target{}, "must begin with https:// or ssh://, or be user@host:path"
	case u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-"):
		return target{}, "names no host"
	case u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return target{}, "must not have a query or a fragment"
	case strings.Trim(u.Path, "/") == "":
		return target{}, "names no repository"
	}
	return target{
		scheme: u.Scheme, user: r.User, host: u.Hostname(), port: cmp.Or(u.Port(), ports[u.Scheme]), path: u.Path,
	}, ""
}

// signer returns the private key; nil when there is none. Its errors do not contain the key.
func (r Remote) signer() (ssh.Signer, error) {
	if r.SSHKey == "" {
		return nil, nil
	}
	text := []byte(strings.TrimSpace(strings.ReplaceAll(r.SSHKey, `\n`, "\n")) + "\n")
	if r.Passphrase == "" {
		key, err := ssh.ParsePrivateKey(text)
		if _, missing := err.(*ssh.PassphraseMissingError); missing { //nolint:errorlint // x/crypto returns it bare
			return nil, keyError("needs a passphrase")
		}
		if err != nil {
			return nil, keyError("is no private key in PEM or OpenSSH form")
		}
		return key, nil
	}
	key, err := ssh.ParsePrivateKeyWithPassphrase(text, []byte(r.Passphrase))
	if err != nil {
		return nil, keyError("cannot be opened with the passphrase")
	}
	return key, nil
}

// keyError is what is wrong with a private key.
type keyError string

func (e keyError) Error() string { return string(e) }

// secrets returns the texts that no error may contain.
func (r Remote) secrets() []string {
	all := []string{r.Password, r.Passphrase, r.SSHKey}
	if r.Password == "" && r.SSHKey == "" {
		all = append(all, r.User) // alone it may well be a token
	}
	if r.Password != "" {
		all = append(all, url.QueryEscape(r.Password), url.PathEscape(r.Password), basic(r))
	}
	return all
}
