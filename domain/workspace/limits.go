package workspace

import (
	"net/url"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/document"
)

// Limits of the content of a workspace.
const (
	// MaxDocuments is how many documents a workspace has: what an archive holds.
	MaxDocuments = 5000
	// MaxInstances is how many of them are app instances.
	MaxInstances = 200
	// maxSwitch bounds what one step changes: it is one step to the read models
	// too.
	maxSwitch = 2_000_000
	// maxKey bounds the fields of an index that mean nothing here.
	maxKey = 200
)

// isInstance reports whether a document is an app instance.
func isInstance(path string) bool { return strings.HasPrefix(path, "imports/") }

// roomFor refuses content that would be more than a workspace holds.
func (s State) roomFor(entries []Entry, deleted []string) error {
	documents, instances := len(s.Items), 0
	for path := range s.Items {
		if isInstance(path) {
			instances++
		}
	}
	weight := 0
	for _, path := range deleted {
		weight += len(path) + 60
		documents--
		if isInstance(path) {
			instances--
		}
	}
	for _, e := range entries {
		weight += 2*len(e.Path) + 120
		if _, known := s.Items[e.Path]; known && !slices.Contains(deleted, e.Path) || e.From != "" {
			continue
		}
		documents++
		if isInstance(e.Path) {
			instances++
		}
	}
	switch {
	case documents > MaxDocuments:
		return exceeds("documents", MaxDocuments)
	case instances > MaxInstances:
		return exceeds("app instances", MaxInstances)
	case weight > maxSwitch:
		return domain.Refuse(domain.CodeValidation, "this change is too large: split it into parts").Reason("limit_exceeded").With("limit", "change")
	}
	return nil
}

func exceeds(what string, limit int) error {
	return domain.Refuse(domain.CodeValidation, "a workspace has at most %d %s", limit, what).
		Reason("limit_exceeded").With("limit", what).With("value", limit)
}

// credentials are the fields of a repository that must not stand there in clear.
var credentials = []string{"password", "sshkey", "passphrase"}

// plainCredentials lists what the repositories say in clear that they must not:
// events and reads show it. A mask stands for what is sealed.
func plainCredentials(a Settings) (errs []domain.FieldError) {
	const message = "must not be here in clear: keep it in a secret and refer to it as {{secret.NAME}}"
	for id, v := range a.Repositories.All() {
		config := asMap(valueOf(asMap(v), "config"))
		auth := asMap(valueOf(config, "auth"))
		for _, field := range credentials {
			text, _ := valueOf(auth, field).(string)
			if _, sealed := a.Credentials[id+"/"+field]; text == "" || IsSecretReference(text) || text == Mask && sealed {
				continue
			}
			errs = append(errs, domain.FieldError{Field: "repositories." + id + ".config.auth." + field, Message: message})
		}
		if hasCredentials(config.Text("url")) {
			errs = append(errs, domain.FieldError{Field: "repositories." + id + ".config.url", Message: message})
		}
	}
	return errs
}

// hasCredentials reports whether an address has some. The user of one for SSH is
// none.
func hasCredentials(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return false
	}
	_, password := u.User.Password()
	return u.Scheme != "ssh" || password
}

func valueOf(m *document.Map, key string) any {
	v, _ := m.Get(key)
	return v
}
