package repositories

import (
	"errors"
	"net/url"
	"strings"

	"svc/commands/gitsync"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// draft is a repository that is about to be saved.
type draft struct {
	id  string
	doc *document.Map // complete, its address without credentials
	config
}

// drafted returns a repository as it would be stored, but for its credentials.
func drafted(id string, doc *document.Map) draft {
	doc = completed(doc)
	config := doc.Object("config")
	if address, user, password := cutCredentials(config.Text("url")); user+password != "" {
		auth := picked(config.Object("auth"), authFields...)
		config.Set("url", address)
		if auth.Text("sshkey") == "" {
			orElse(auth, "password", password)
		}
		orElse(auth, "user", user)
		config.Set("auth", picked(auth, authFields...))
		doc.Set("config", picked(config, configFields...))
	}
	return draft{id, doc, configOf(doc)}
}

// cutCredentials takes user and password out of an address. References to
// secrets may stand in it, so that it need not be a URL yet. A mere user of SSH is
// no credential.
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
	return scheme + "://" + rest[at+1:], unescaped(user), unescaped(password)
}

func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// faults lists what is wrong with a draft, whatever there was before.
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
	if d.remote.SSHKey != "" && !d.overSSH() && !refers(d.remote.URL) {
		faults = append(faults, shape.Fault{Field: at + ".auth.sshkey", Code: domain.CodeValidation, Message: "needs an SSH URL"})
	}
	refused, _ := errors.AsType[*domain.Error](d.judged().Check(allowHTTP))
	if refused == nil {
		return faults
	}
	told, _ := refused.Details["errors"].([]domain.FieldError)
	for _, e := range told {
		faults = append(faults, shape.Fault{Field: "repositories." + d.id + "." + e.Field, Code: domain.CodeValidation, Message: e.Message})
	}
	return faults
}

// judged is the remote as far as it is known: what is masked or refers to
// secrets is not looked at before it is used.
func (d draft) judged() gitsync.Remote {
	r := d.remote
	if refers(r.URL) {
		r.URL = "https://example.com/any"
		if r.SSHKey != "" {
			r.URL = "ssh://example.com/any"
		}
	}
	if unknown(r.Password) {
		r.Password = "any"
	}
	if unknown(r.SSHKey) || unknown(r.Passphrase) || !d.overSSH() {
		r.SSHKey = ""
	}
	if unknown(r.User) {
		r.User = "any"
	}
	for _, text := range []*string{&r.CABundle, &r.KnownHosts} {
		if unknown(*text) {
			*text = ""
		}
	}
	return r
}

func unknown(text string) bool { return text == workspace.Mask || refers(text) }

// keeps lists the masks of a draft that stand for nothing: nothing was sealed, or
// for another server, which must not get hold of it.
func (d draft) keeps(now workspace.Settings) (faults []shape.Fault) {
	before := configOf(completed(now.Repositories.Object(d.id)))
	for _, field := range authFields {
		if *d.credentials()[field] != workspace.Mask {
			continue
		}
		message := ""
		switch _, kept := now.Credentials[place(d.id, field)]; {
		case !kept:
			message = nothingKept
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
