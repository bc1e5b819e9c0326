package workspace

import (
	"maps"
	"slices"
	"strings"

	"svc/domain"
)

// Secret is a value that is never shown, sealed with the key of its
// workspace.
type Secret struct {
	Sealed      []byte `json:"sealed"`
	Description string `json:"description,omitempty"`
}

// SetSecrets sets secrets by name and removes others. Values are sealed anew each
// time: the same value twice is two updates.
type SetSecrets struct {
	Set    map[string]Secret
	Remove []string
	Others bool // also remove every secret that Set does not name, but for the platform's own
}

func (SetSecrets) workspaceCommand() {}

// SecretsUpdated says which secrets changed. The feed has their names.
type SecretsUpdated struct {
	Created []string          `json:"created,omitempty"`
	Updated []string          `json:"updated,omitempty"`
	Deleted []string          `json:"deleted,omitempty"`
	Values  map[string]Secret `json:"values,omitempty"`
}

// EventType implements domain.Event.
func (SecretsUpdated) EventType() string { return "workspaces.secrets.updated" }

// Limits of secrets.
const (
	maxSecretName = 100
	maxSecrets    = 1000
	// SecretPrefix begins the names of secrets that belong to the platform.
	SecretPrefix = "svc_"
)

// WrongSecretName says what is wrong with the name of a secret, "" when nothing
// is.
func WrongSecretName(name string) string {
	if name == "" || len(name) > maxSecretName || !allOf(name, func(r rune) bool {
		return isLetter(r|0x20) || isDigit(r) || r == '_' || r == '.' || r == '-'
	}) {
		return "the name of a secret is 1 to 100 characters of A-Z a-z 0-9 _ . -"
	}
	return ""
}

func setSecrets(s State, c SetSecrets) ([]domain.Event, error) {
	var errs []domain.FieldError
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		if wrong := WrongSecretName(name); wrong != "" {
			errs = append(errs, domain.FieldError{Field: name, Message: wrong})
		}
		if !domain.IsLine(c.Set[name].Description, 1000) {
			errs = append(errs, domain.FieldError{Field: name + ".description", Message: "must be one line of at most 1000 characters"})
		}
	}
	if len(errs) > 0 {
		return nil, domain.Invalid(errs...)
	}
	ev := SecretsUpdated{Values: c.Set}
	for name := range c.Set {
		if _, known := s.Secrets[name]; known {
			ev.Updated = append(ev.Updated, name)
		} else {
			ev.Created = append(ev.Created, name)
		}
	}
	for _, name := range c.Remove {
		if _, known := s.Secrets[name]; !known {
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such secret").With("resource", "secret").With("id", name)
		}
		ev.Deleted = append(ev.Deleted, name)
	}
	for name := range s.Secrets {
		if _, replaced := c.Set[name]; c.Others && !replaced && !strings.HasPrefix(name, SecretPrefix) {
			ev.Deleted = append(ev.Deleted, name)
		}
	}
	if len(s.Secrets)+len(ev.Created)-len(ev.Deleted) > maxSecrets {
		return nil, domain.Refuse(domain.CodeValidation, "a workspace has at most %d secrets", maxSecrets).Reason("limit_exceeded")
	}
	slices.Sort(ev.Created)
	slices.Sort(ev.Updated)
	slices.Sort(ev.Deleted)
	if len(ev.Created)+len(ev.Updated)+len(ev.Deleted) == 0 {
		return nil, nil
	}
	return []domain.Event{ev}, nil
}

func (s State) secretsUpdated(e SecretsUpdated) State {
	s.Secrets = maps.Clone(s.Secrets)
	if s.Secrets == nil {
		s.Secrets = map[string]Secret{}
	}
	maps.Copy(s.Secrets, e.Values)
	for _, name := range e.Deleted {
		delete(s.Secrets, name)
	}
	return s
}
