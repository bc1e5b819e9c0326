package content

import (
	"net/url"
	"slices"
	"strings"

	"svc/commands/archive"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// repositories takes over the repositories that the index of a new workspace
// brings, without credentials: those belong to where they came from.
func (c *Content) repositories(p *plan, index *document.Map) {
	value, _ := index.Get("repositories")
	incoming, ok := value.(*document.Map)
	if !ok || incoming.Len() == 0 || p.to.Settings == nil {
		return
	}
	taken := document.MapOf()
	for id, v := range incoming.All() {
		repository, ok := v.(*document.Map)
		one := document.MapOf(document.Pair{Key: "name", Value: "any"}, document.Pair{Key: "repositories", Value: document.MapOf(document.Pair{Key: id, Value: v})})
		if faults := shape.Check(document.Index, one); !ok || len(faults) > 0 {
			p.warnAt("invalid_repository", "index", shape.Path("repositories", id), "the repository "+document.QuoteShort(id)+" was left out: it is not well-formed")
			continue
		}
		clean, dropped := withoutCredentials(repository)
		if dropped {
			p.warnAt("credentials_dropped", "index", shape.Path("repositories", id), "the credentials of the repository "+id+" were left out: set them again, or refer to secrets")
		}
		taken.Set(id, clean)
	}
	if taken.Len() > 0 {
		p.to.Settings.Repositories = taken
	}
}

// withoutCredentials returns a repository with none but those that refer to a
// secret.
func withoutCredentials(repository *document.Map) (clean *document.Map, dropped bool) {
	value, _ := repository.Get("config")
	config, ok := value.(*document.Map)
	if !ok {
		return repository, false
	}
	repository, config = repository.Copy(), config.Copy()
	if value, ok := config.Get("auth"); ok {
		auth, _ := value.(*document.Map)
		kept := document.MapOf()
		for key, v := range auth.All() {
			if text, _ := v.(string); workspace.IsSecretReference(text) {
				kept.Set(key, v)
			} else {
				dropped = dropped || text != "" && text != workspace.Mask
			}
		}
		if config.Delete("auth"); kept.Len() > 0 {
			config.Set("auth", kept)
		}
	}
	if address, found := withoutUser(config.Text("url")); found {
		config.Set("url", address)
		dropped = true
	}
	repository.Set("config", config)
	return repository, dropped
}

// withoutUser returns an address without the credentials in it. The name in one
// for SSH is none.
func withoutUser(address string) (clean string, found bool) {
	u, err := url.Parse(address)
	if err != nil {
		rest, at := "", strings.LastIndex(address, "@")
		if scheme := strings.Index(address, "://"); scheme >= 0 && at > scheme {
			rest = address[:scheme+3] + address[at+1:]
			return rest, true
		}
		return address, false
	}
	if u.User == nil || u.Host == "" {
		return address, false
	}
	_, password := u.User.Password()
	if u.Scheme == "ssh" && !password {
		return address, false
	}
	if u.Scheme == "ssh" {
		u.User = url.User(u.User.Username())
	} else {
		u.User = nil
	}
	return u.String(), true
}

// excluded returns what imports of archives leave as it is: the first repository
// of that type says so.
func excluded(repositories *document.Map) archive.Excludes {
	for _, id := range slices.Sorted(slices.Values(repositories.Keys())) {
		value, _ := repositories.Get(id)
		repository, _ := value.(*document.Map)
		if repository.Text("type") == "archive" {
			return archive.ExcludesOf(repository)
		}
	}
	return nil
}
