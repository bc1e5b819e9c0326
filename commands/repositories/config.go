package repositories

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/secrets"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// config is the config of a Git repository: as in its document, or resolved.
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

// credentials returns the fields of auth, by name.
func (c *config) credentials() map[string]*string {
	return map[string]*string{
		"user": &c.remote.User, "password": &c.remote.Password, "sshkey": &c.remote.SSHKey, "passphrase": &c.remote.Passphrase,
	}
}

// texts returns all fields that may refer to secrets.
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
	return strings.HasPrefix(c.remote.URL, "ssh://") || !strings.Contains(c.remote.URL, "://") && !hasReference(c.remote.URL)
}

// origin returns the server that gets the credentials.
func (c *config) origin() string {
	scheme, rest, _ := strings.Cut(c.remote.URL, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + strings.ToLower(host)
}

// hasReference reports whether a text refers to secrets.
func hasReference(text string) bool { return len(secrets.Names(text)) > 0 }

// misplaced lists faults of the branch and the directory. Neither may refer to secrets: both are in
// events, and visible to everybody who reads the workspace.
func (c *config) misplaced(at string) (faults []shape.Fault) {
	for field, text := range map[string]string{"branch": c.branch, "dirpath": c.dirpath} {
		if hasReference(text) {
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

// resolveSecrets opens sealed credentials and replaces references by secrets.
func (r *Repositories) resolveSecrets(ctx context.Context, state workspace.State, id string, c config) (config, error) {
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
	sealed, exists := state.Settings.Credentials[credentialKey(id, field)]
	if !exists {
		return "", domain.Invalid(domain.FieldError{Field: authField(id, field), Message: notStored})
	}
	plain, err := r.Vault.Open(ctx, state.ID, sealed, purpose(id, field))
	if err != nil {
		return "", fmt.Errorf("open %s of repository %s of workspace %s: %w", field, id, state.ID, err)
	}
	return string(plain), nil
}

const notStored = "is masked, but none is kept: give it again"

// credentialKey is the key of a stored credential, purpose its purpose for the vault.
func credentialKey(id, field string) string { return id + "/" + field }
func purpose(id, field string) string       { return "repository/" + credentialKey(id, field) }

func authField(id, field string) string { return "repositories." + id + ".config.auth." + field }

// withDefaults returns a repository with its defaults and without empty fields, in the order of the
// contract.
func withDefaults(doc *document.Map) *document.Map {
	all := pick(doc, repositoryFields...)
	setDefault(all, "type", Git)
	setDefault(all, "mode", ReadWrite)
	if all.Text("type") == Git {
		config := pick(doc.Object("config"), configFields...)
		setDefault(config, "branch", "main")
		auth := pick(config.Object("auth"), authFields...)
		if config.Delete("auth"); auth.Len() > 0 {
			config.Set("auth", auth)
		}
		all.Set("config", pick(config, configFields...))
	}
	return pick(all, repositoryFields...)
}

// The stored fields of a repository.
var (
	repositoryFields = []string{"name", "type", "mode", "config", "pull", "checks"}
	configFields     = []string{"url", "branch", "dirpath", "auth", "caBundle", "knownHosts", "redirectHosts"}
	authFields       = []string{"user", "password", "sshkey", "passphrase"}
)

// pick returns the non-empty members of m, in this order.
func pick(m *document.Map, keys ...string) *document.Map {
	some := document.MapOf()
	for _, key := range keys {
		if v, _ := m.Get(key); v != nil && v != "" {
			some.Set(key, v)
		}
	}
	return some
}

func setDefault(m *document.Map, key, value string) {
	if m.Text(key) == "" {
		m.Set(key, value)
	}
}

// draft is a repository to be saved.
type draft struct {
	id  string
	doc *document.Map // complete, its address without credentials
	config
}

// newDraft returns a repository as it would be stored, except its credentials.
func newDraft(id string, doc *document.Map) draft {
	doc = withDefaults(doc)
	config := doc.Object("config")
	if address, user, password := cutCredentials(config.Text("url")); user+password != "" {
		auth := pick(config.Object("auth"), authFields...)
		config.Set("url", address)
		if auth.Text("sshkey") == "" {
			setDefault(auth, "password", password)
		}
		setDefault(auth, "user", user)
		config.Set("auth", pick(auth, authFields...))
		doc.Set("config", pick(config, configFields...))
	}
	return draft{id, doc, configOf(doc)}
}

// cutCredentials removes user and password from an address. It may contain references to secrets, so
// it need not be a URL yet. The user of an SSH address is no credential.
func cutCredentials(address string) (clean, user, password string) {
	scheme, rest, ok := strings.Cut(address, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndex(rest[:end], "@")
	if !ok || at < 0 {
		return address, "", ""
	}
	user, password, _ = strings.Cut(rest[:at], ":")
	if scheme == "ssh" && password == "" {
		return address, "", ""
	}
	return scheme + "://" + rest[at+1:], unescape(user), unescape(password)
}

func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// faults lists the faults of a draft, whatever was stored before.
func (d draft) faults(allowHTTP bool) []shape.Fault {
	at := "repositories." + d.id + ".config"
	if d.doc.Text("type") == Archive {
		if _, given := d.doc.Get("config"); given {
			return []shape.Fault{{Field: at, Code: domain.CodeValidation, Message: "a repository of type archive has none"}}
		}
		return nil
	}
	if d.remote.URL == "" {
		return []shape.Fault{{Field: at + ".url", Code: domain.CodeMissingParameter, Message: "is required"}}
	}
	faults := d.misplaced(at + ".")
	if d.remote.SSHKey != "" && !d.overSSH() && !hasReference(d.remote.URL) {
		faults = append(faults, shape.Fault{Field: at + ".auth.sshkey", Code: domain.CodeValidation, Message: "needs an SSH URL"})
	}
	refused, _ := errors.AsType[*domain.Error](d.knownRemote().Check(allowHTTP))
	if refused == nil {
		return faults
	}
	listed, _ := refused.Details["errors"].([]domain.FieldError)
	for _, e := range listed {
		faults = append(faults, shape.Fault{Field: "repositories." + d.id + "." + e.Field, Code: domain.CodeValidation, Message: e.Message})
	}
	return faults
}

// knownRemote is the remote as far as it is known: what is masked or refers to
// secrets is not looked at before it is used.
func (d draft) knownRemote() gitsync.Remote {
	r := d.remote
	if hasReference(r.URL) {
		r.URL = "https://example.com/any"
		if r.SSHKey != "" {
			r.URL = "ssh://example.com/any"
		}
	}
	if isUnknown(r.Password) {
		r.Password = "any"
	}
	if isUnknown(r.SSHKey) || isUnknown(r.Passphrase) || !d.overSSH() {
		r.SSHKey = ""
	}
	if isUnknown(r.User) {
		r.User = "any"
	}
	for _, text := range []*string{&r.CABundle, &r.KnownHosts} {
		if isUnknown(*text) {
			*text = ""
		}
	}
	return r
}

func isUnknown(text string) bool { return text == workspace.Mask || hasReference(text) }

// checkMasked lists the masks of a draft that stand for nothing: nothing was sealed, or
// for another server, which must not get hold of it.
func (d draft) checkMasked(now workspace.Settings) (faults []shape.Fault) {
	before := configOf(withDefaults(now.Repositories.Object(d.id)))
	for _, field := range authFields {
		if *d.credentials()[field] != workspace.Mask {
			continue
		}
		message := ""
		switch _, exists := now.Credentials[credentialKey(d.id, field)]; {
		case !exists:
			message = notStored
		case (field == "user" || field == "password") && before.origin() != d.origin():
			message = "must be given again, as the URL names another server"
		default:
			continue
		}
		faults = append(faults, shape.Fault{Field: authField(d.id, field), Code: domain.CodeValidation, Message: message})
	}
	return faults
}

// secret reports whether a field of auth must not be seen. A user without a
// password may well be an access token.
func (d draft) secret(field string) bool {
	if field != "user" {
		return true
	}
	return d.remote.User == workspace.Mask || d.remote.Password == "" && d.remote.SSHKey == "" && !d.overSSH()
}

// field is the setting of a workspace that its repositories are.
const field = "repositories"

// errMoved says that others changed the repositories meanwhile.
var errMoved error = domain.Refuse(domain.CodeConflict, "the repositories are being changed by others, try again").Reason("stale")

// attempts is how often a change is prepared anew because of others.
const attempts = 10

// Update is commands.Workspaces.Update for a patch that has repositories, whose
// shape was checked. Credentials in clear are sealed and stand in what is stored
// as the mask; a mask keeps what was sealed before.
func (r *Repositories) Update(ctx context.Context, id string, patch *document.Map, ifMatch string) (commands.Workspace, error) {
	for attempt := 1; ; attempt++ {
		now, err := r.Workspaces.Get(ctx, id)
		if err != nil {
			return commands.Workspace{}, err
		}
		change := workspace.Update{Patch: patch}
		if now.State.ID != "" && now.State.Deleted == nil { // else the decision has the word, and no key is made
			if change, err = r.prepare(ctx, now.State, patch); err != nil {
				return commands.Workspace{}, err
			}
		}
		unmoved := func(s workspace.State) error {
			if !document.Equal(s.Settings.Repositories, now.State.Settings.Repositories) ||
				!maps.EqualFunc(s.Settings.Credentials, now.State.Settings.Credentials, bytes.Equal) {
				return errMoved
			}
			return nil
		}
		done, err := r.Workspaces.UpdateWith(ctx, id, change, ifMatch, unmoved)
		if !errors.Is(err, errMoved) || attempt == attempts {
			return done, err
		}
	}
}

// Check refuses what Update would, and changes nothing. A patch without
// repositories is fine.
func (r *Repositories) Check(ctx context.Context, id string, patch *document.Map) error {
	if _, given := patch.Get(field); !given {
		return nil
	}
	now, err := r.Workspaces.Get(ctx, id)
	if err != nil {
		return err
	}
	_, err = r.drafts(now.State.Settings, patch)
	return err
}

// drafts returns the repositories of a patch as they would be stored, except their credentials.
func (r *Repositories) drafts(now workspace.Settings, patch *document.Map) (all []draft, err error) {
	var faults []shape.Fault
	allowHTTP := r.Git().AllowHTTP
	for id := range patch.Object(field).All() {
		d := newDraft(id, patch.Object(field).Object(id))
		faults = append(append(faults, d.faults(allowHTTP)...), d.checkMasked(now)...)
		all = append(all, d)
	}
	return all, shape.Refusal(faults)
}

// prepare makes the command of a patch, with sealed credentials.
func (r *Repositories) prepare(ctx context.Context, state workspace.State, patch *document.Map) (workspace.Update, error) {
	drafts, err := r.drafts(state.Settings, patch)
	if err != nil {
		return workspace.Update{}, err
	}
	repositories, sealed := document.MapOf(), map[string][]byte{}
	for _, d := range drafts {
		if err := r.seal(ctx, state, d, sealed); err != nil {
			return workspace.Update{}, err
		}
		repositories.Set(d.id, d.doc)
	}
	if len(sealed) == 0 {
		sealed = nil
	}
	patch = patch.Copy()
	patch.Set(field, repositories)
	return workspace.Update{Patch: patch, Credentials: sealed}, nil
}

// maxCredential is the longest credential, in bytes.
const maxCredential = 16 << 10

// seal moves the credentials of a draft to sealed, and leaves the mask.
func (r *Repositories) seal(ctx context.Context, state workspace.State, d draft, sealed map[string][]byte) error {
	auth := d.doc.Object("config").Object("auth")
	for _, name := range authFields {
		text := auth.Text(name)
		if text == "" || workspace.IsSecretReference(text) || !d.secret(name) {
			continue
		}
		if len(text) > maxCredential {
			return domain.Invalid(domain.FieldError{Field: authField(d.id, name), Message: "has at most 16384 bytes"})
		}
		ciphertext, err := r.sealCredential(ctx, state, d.id, name, text)
		if err != nil {
			return err
		}
		sealed[credentialKey(d.id, name)] = ciphertext
		auth.Set(name, workspace.Mask)
	}
	return nil
}

// sealCredential seals a credential. An unchanged one is not sealed again: sending it again is no
// change.
func (r *Repositories) sealCredential(ctx context.Context, state workspace.State, id, name, text string) ([]byte, error) {
	before, exists := state.Settings.Credentials[credentialKey(id, name)]
	if exists && text == workspace.Mask {
		return before, nil
	}
	if exists {
		if plain, err := r.Vault.Open(ctx, state.ID, before, purpose(id, name)); err == nil && string(plain) == text {
			return before, nil
		}
	}
	return r.Vault.Seal(ctx, state.ID, []byte(text), purpose(id, name))
}
