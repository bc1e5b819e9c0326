package repositories

import (
	"context"
	"fmt"
	"strings"

	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/secrets"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// config is how a git repository is reached: as its document says it, or
// resolved.
type config struct {
	remote          gitsync.Remote
	branch, dirpath string
}

func configOf(repository *document.Map) config {
	doc := repository.Object("config")
	auth := doc.Object("auth")
	c := config{branch: doc.Text("branch"), dirpath: doc.Text("dirpath"), remote: gitsync.Remote{
		URL: doc.Text("url"), User: auth.Text("user"), Password: auth.Text("password"),
		SSHKey: auth.Text("sshkey"), Passphrase: auth.Text("passphrase"),
		CABundle: doc.Text("caBundle"), KnownHosts: doc.Text("knownHosts"),
	}}
	value, _ := doc.Get("redirectHosts")
	hosts, _ := value.([]any)
	for _, v := range hosts {
		host, _ := v.(string)
		c.remote.RedirectHosts = append(c.remote.RedirectHosts, host)
	}
	return c
}

// credentials are the fields of auth, by name.
func (c *config) credentials() map[string]*string {
	return map[string]*string{
		"user": &c.remote.User, "password": &c.remote.Password, "sshkey": &c.remote.SSHKey, "passphrase": &c.remote.Passphrase,
	}
}

// texts are all that may refer to secrets.
func (c *config) texts() []*string {
	all := []*string{&c.remote.URL, &c.remote.CABundle, &c.remote.KnownHosts}
	for _, text := range c.credentials() {
		all = append(all, text)
	}
	for i := range c.remote.RedirectHosts {
		all = append(all, &c.remote.RedirectHosts[i])
	}
	return all
}

// overSSH reports whether an address is one for SSH.
func (c *config) overSSH() bool {
	return strings.HasPrefix(c.remote.URL, "ssh://") || !strings.Contains(c.remote.URL, "://") && !refers(c.remote.URL)
}

// origin is the server that gets the credentials.
func (c *config) origin() string {
	scheme, rest, _ := strings.Cut(c.remote.URL, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + strings.ToLower(host)
}

// refers reports whether a text refers to secrets: what it says is known when it
// is resolved.
func refers(text string) bool { return len(secrets.Names(text)) > 0 }

// misplaced lists what cannot be a branch or a directory. Neither refers to secrets:
// both are told in events and to everybody who reads the workspace.
func (c *config) misplaced(at string) (faults []shape.Fault) {
	for field, text := range map[string]string{"branch": c.branch, "dirpath": c.dirpath} {
		if refers(text) {
			faults = append(faults, shape.Fault{Field: at + field, Code: domain.CodeValidation, Message: "cannot refer to a secret: it is told to everybody who reads the workspace"})
		}
	}
	if !domain.IsBranch(c.branch) {
		faults = append(faults, shape.Fault{
			Field: at + "branch", Code: domain.CodeValidation, Message: "must be the name of a branch that begins neither with svc/ nor with -",
		})
	}
	if c.dirpath != "" && archive.CheckPaths([]string{c.dirpath}) != nil {
		faults = append(faults, shape.Fault{
			Field: at + "dirpath", Code: domain.CodeValidation, Message: "must be a relative path without ., .., .git and empty parts",
		})
	}
	return faults
}

// resolved opens what is sealed and puts secrets in the place of references.
func (r *Repositories) resolved(ctx context.Context, state workspace.State, id string, c config) (config, error) {
	for field, text := range c.credentials() {
		if *text != workspace.Mask {
			continue
		}
		plain, err := r.open(ctx, state, id, field)
		if err != nil {
			return config{}, err
		}
		*text = plain
	}
	texts := c.texts()
	var all strings.Builder
	for _, text := range texts {
		all.WriteString(*text + "\n")
	}
	if _, err := r.Secrets.Resolve(ctx, state.ID, all.String()); err != nil {
		return config{}, err // names all that are missing
	}
	for _, text := range texts {
		var err error
		if *text, err = r.Secrets.Resolve(ctx, state.ID, *text); err != nil {
			return config{}, err
		}
	}
	return c, nil
}

// open returns a credential in clear.
func (r *Repositories) open(ctx context.Context, state workspace.State, id, field string) (string, error) {
	sealed, kept := state.Settings.Credentials[place(id, field)]
	if !kept {
		return "", domain.Invalid(domain.FieldError{Field: authField(id, field), Message: nothingKept})
	}
	plain, err := r.Vault.Open(ctx, state.ID, sealed, purpose(id, field))
	if err != nil {
		return "", fmt.Errorf("open %s of repository %s of workspace %s: %w", field, id, state.ID, err)
	}
	return string(plain), nil
}

const nothingKept = "is masked, but none is kept: give it again"

// place is where a credential is kept, purpose what it is sealed for.
func place(id, field string) string   { return id + "/" + field }
func purpose(id, field string) string { return "repository/" + place(id, field) }

func authField(id, field string) string { return "repositories." + id + ".config.auth." + field }

// completed returns a repository with the defaults of what it does not say, and
// nothing that means nothing, in the order of the contract.
func completed(doc *document.Map) *document.Map {
	all := picked(doc, repositoryFields...)
	orElse(all, "type", Git)
	orElse(all, "mode", ReadWrite)
	if all.Text("type") == Git {
		config := picked(doc.Object("config"), configFields...)
		orElse(config, "branch", "main")
		auth := picked(config.Object("auth"), authFields...)
		if config.Delete("auth"); auth.Len() > 0 {
			config.Set("auth", auth)
		}
		all.Set("config", picked(config, configFields...))
	}
	return picked(all, repositoryFields...)
}

// What is stored of a repository.
var (
	repositoryFields = []string{"name", "type", "mode", "config", "pull"}
	configFields     = []string{"url", "branch", "dirpath", "auth", "caBundle", "knownHosts", "redirectHosts"}
	authFields       = []string{"user", "password", "sshkey", "passphrase"}
)

// picked returns the members of m that say something, in this order.
func picked(m *document.Map, keys ...string) *document.Map {
	some := document.MapOf()
	for _, key := range keys {
		if v, _ := m.Get(key); v != nil && v != "" {
			some.Set(key, v)
		}
	}
	return some
}

func orElse(m *document.Map, key, value string) {
	if m.Text(key) == "" {
		m.Set(key, value)
	}
}
