package settings

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"svc/domain"
)

// PlatformRepository is a repository that administrators give to every
// workspace.
type PlatformRepository struct {
	ID             string
	Name           string
	Type           string // git or filesystem
	URL            URL    // git only; credentials in it have moved to Auth
	Branch         string
	Mode           string // read-write, read-only or write-only
	Dirpath        string
	Auth           PlatformAuth
	CAFile         string
	KnownHostsFile string
	RedirectHosts  []string
	Checks         string // required, or empty
}

// PlatformAuth is the credentials of a platform repository, empty when it is
// open to anyone.
type PlatformAuth struct {
	User       Secret
	Password   Secret
	SSHKey     Secret
	Passphrase Secret
}

const repositoryID = `[A-Za-z0-9][A-Za-z0-9_-]{0,39}`

var repositoryIDPattern = regexp.MustCompile(`^` + repositoryID + `$`)

// platformTable lists the fields of one platform repository.
func platformTable(r *PlatformRepository) []Setting {
	return []Setting{
		{Name: "TYPE", Default: "git", Meaning: "`git` or `filesystem`", value: oneOf(&r.Type, "git", "filesystem")},
		{Name: "URL", Default: "-", Meaning: "required for git; `https`, `ssh`, `http`", value: gitURL(&r.URL)},
		{Name: "NAME", Default: "`{repoId}`", Meaning: "shown to users; 1-60 characters", derive: noDefault, value: matching(&r.Name, `[^\x00-\x1f]{1,60}`, "1-60 characters")},
		{Name: "BRANCH", Default: "main", Meaning: "git branch", value: branch(&r.Branch)},
		{Name: "MODE", Default: "read-write", Meaning: "`read-write`, `read-only` or `write-only`", value: oneOf(&r.Mode, "read-write", "read-only", "write-only")},
		{Name: "CHECKS", Default: "-", Meaning: "`required`: the tests of a workspace must pass before it is pushed there", value: matching(&r.Checks, `required`, "required, or no value")},
		{Name: "DIRPATH", Default: "-", Meaning: "git: base directory; filesystem: required, absolute, existing", value: path(&r.Dirpath)},
		{Name: "AUTH_USER", Default: "-", Meaning: "user; without one, `git` is sent", flags: secret, value: secretText(&r.Auth.User)},
		{Name: "AUTH_PASSWORD", Default: "-", Meaning: "password or access token; needs an http(s) URL", flags: secret, value: secretText(&r.Auth.Password)},
		{Name: "AUTH_SSHKEY", Default: "-", Meaning: "private key, `\\n` escapes accepted; needs an SSH URL", flags: secret, value: sshKey(&r.Auth.SSHKey)},
		{Name: "AUTH_PASSPHRASE", Default: "-", Meaning: "of the private key", flags: secret, value: secretText(&r.Auth.Passphrase)},
		{Name: "CA_FILE", Default: "-", Meaning: "PEM, trusted in addition to the system roots", value: path(&r.CAFile)},
		{Name: "KNOWN_HOSTS_FILE", Default: "-", Meaning: "SSH host keys", value: path(&r.KnownHostsFile)},
		{Name: "REDIRECT_HOSTS", Default: "-", Meaning: "hosts that may receive the credentials after a redirect", value: listOf(&r.RedirectHosts, "hosts", isHost)},
	}
}

// cutField divides {repoId}_{FIELD} at the longest known field.
func cutField(rest string) (id, field string, ok bool) {
	for _, row := range platformTable(new(PlatformRepository)) {
		cut, found := strings.CutSuffix(rest, "_"+row.Name)
		if found && len(row.Name) > len(field) && repositoryIDPattern.MatchString(cut) {
			id, field, ok = cut, row.Name, true
		}
	}
	return id, field, ok
}

// platformFamily collects the fields of each repository.
func platformFamily(p *map[string]PlatformRepository) *family {
	owns := func(rest string) bool {
		_, _, ok := cutField(rest)
		return ok
	}
	return &family{
		closed: true, isWellFormed: owns,
		expect: "a known field: TYPE, URL, NAME, BRANCH, MODE, DIRPATH, AUTH_USER, AUTH_PASSWORD, AUTH_SSHKEY, AUTH_PASSPHRASE, CA_FILE, KNOWN_HOSTS_FILE, REDIRECT_HOSTS",
		secret: func(rest string) bool { // a name we do not know may be a secret misspelt
			_, field, ok := cutField(rest)
			return !ok || strings.HasPrefix(field, "AUTH_")
		},
		show: func(_, text string) string { return redactURLs(text) },
		set:  func(rest, text string) error { return setField(p, rest, text) },
	}
}

func setField(p *map[string]PlatformRepository, rest, text string) error {
	id, field, _ := cutField(rest)
	repo, known := (*p)[id]
	if !known {
		repo = newRepository(id)
	}
	rows := platformTable(&repo)
	i := slices.IndexFunc(rows, func(row Setting) bool { return row.Name == field })
	if err := rows[i].value.set(text); err != nil {
		return expected(rows[i].value.expect)
	}
	setKey(p, id, repo)
	return nil
}

func newRepository(id string) PlatformRepository {
	repo := PlatformRepository{ID: id, Name: id}
	for _, row := range platformTable(&repo) {
		if text := row.plainDefault(); text != "" {
			_ = row.value.set(text) // a default of our own; the tests parse each
		}
	}
	return repo
}

// expected is a refusal with an expectation of its own.
type expected string

// Error implements error.
func (e expected) Error() string { return string(e) }

// gitURL is an http, https or ssh address, or user@host:path.
func gitURL(p *URL) value {
	v := bind(p, "url", "https://, http://, ssh:// or user@host:path", func(text string) (URL, error) {
		if !isHTTP(text) && !isSSH(text) {
			return "", errBad
		}
		return URL(text), nil
	})
	v.show = redactURLs
	return v
}

func isHTTP(text string) bool { return isAbsoluteURL(text, web) }

var scpAddress = regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9._-]+:[^:\s]+$`)

func isSSH(text string) bool {
	return isAbsoluteURL(text, []string{"ssh"}) || scpAddress.MatchString(text)
}

func branch(p *string) value {
	return bind(p, "text", "a branch name that starts neither with svc/ nor with -", check(domain.IsBranch))
}

// sshKey turns \n escapes into line breaks.
func sshKey(p *Secret) value {
	return bind(p, "text", "a private key in PEM or OpenSSH form", func(text string) (Secret, error) {
		text = strings.ReplaceAll(text, `\n`, "\n")
		if !strings.Contains(text, "PRIVATE KEY-----") {
			return "", errBad
		}
		return Secret(text), nil
	})
}

// moveCredentials takes user and password out of an http address; what was
// given explicitly wins.
func (r PlatformRepository) moveCredentials() PlatformRepository {
	u, err := url.Parse(r.URL.Reveal())
	if err != nil || u.User == nil || !isHTTP(r.URL.Reveal()) {
		return r
	}
	password, _ := u.User.Password()
	if r.Auth.User == "" {
		r.Auth.User = Secret(u.User.Username())
	}
	if r.Auth.Password == "" {
		r.Auth.Password = Secret(password)
	}
	u.User = nil
	r.URL = URL(u.String())
	return r
}
