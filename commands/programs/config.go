package programs

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// Settings is the config of a place, as its automations read it.
type Settings struct {
	Value *value.Object
	// Secrets are the values of settings that are declared as secret.
	Secrets []string
}

// Config returns the settings of a place: what the operator gives, below what its
// workspace or app says, below what its instance says.
func (p *Place) Config(ctx context.Context) (Settings, error) {
	own, err := p.own(ctx)
	if err != nil || p.Parent == nil {
		return own, err
	}
	parent, err := p.Parent.Config(ctx)
	if err != nil {
		return Settings{}, err
	}
	secrets, err := p.Parent.secrets(ctx)
	if err != nil {
		return Settings{}, err
	}
	given, err := p.given(ctx, &scope{config: parent.Value, secrets: secrets, left: new(maxFollowed)})
	if err != nil {
		return Settings{}, err
	}
	merged := own.Value.Copy()
	for _, key := range given.Keys() {
		merged.Set(key, given.At(key))
	}
	return Settings{merged, append(own.Secrets, p.edition.hidden(given)...)}, nil
}

// own returns the settings without what the instance says.
func (p *Place) own(ctx context.Context) (Settings, error) {
	merged := &value.Object{}
	defaults := p.House.library.defaults()
	given := defaults.Workspaces[p.House.Workspace.Slug]
	if p.Parent != nil {
		given = defaults.Apps[p.App]
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		merged.Set(key, given[key])
	}
	said, _ := value.Walk(p.edition.index, "config", "value").(*value.Object)
	for _, key := range said.Keys() {
		merged.Set(key, said.At(key))
	}
	secrets, err := p.secrets(ctx)
	if err != nil {
		return Settings{}, err
	}
	s := &scope{config: merged, secrets: secrets, own: true, left: new(maxFollowed)}
	resolved, _ := s.resolve(merged).(*value.Object)
	return Settings{resolved, p.edition.hidden(resolved)}, nil
}

// secrets are those of whoever wrote the content of the place.
func (p *Place) secrets(ctx context.Context) (map[string]string, error) {
	if p.edition.home == "" {
		return nil, nil
	}
	return p.House.library.secrets.All(ctx, p.edition.home)
}

// given is what the instance says, read in the scope of its parent.
func (p *Place) given(ctx context.Context, s *scope) (*value.Object, error) {
	resolved, ok := s.resolve(p.install.config).(*value.Object)
	if !ok {
		resolved = &value.Object{}
	}
	if len(p.install.sealed) == 0 {
		return resolved, nil
	}
	resolved = resolved.Copy()
	for _, key := range slices.Sorted(maps.Keys(p.install.sealed)) {
		plain, err := p.House.library.vault.Open(ctx, p.Parent.edition.home, p.install.sealed[key], "appConfig/"+key)
		if err != nil {
			return nil, fmt.Errorf("the setting %s of the app instance %s does not open: %w", key, p.Instance, err)
		}
		v, err := value.ParseJSON(string(plain))
		if err != nil {
			return nil, fmt.Errorf("the setting %s of the app instance %s: %w", key, p.Instance, err)
		}
		resolved.Set(key, v)
	}
	return resolved, nil
}

// hidden returns the texts of the settings that the content declares as secret.
func (e *edition) hidden(config *value.Object) (texts []string) {
	for _, key := range e.secret {
		if text, ok := config.At(key).(string); ok && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// scope is what templates in settings may refer to.
type scope struct {
	config  *value.Object
	secrets map[string]string
	own     bool // config is what is being resolved
	depth   int
	left    *int // references that may still be followed
}

// Bounds of settings that refer to settings: how deep, and how many in all.
const (
	maxReferences = 10
	maxFollowed   = 1000
)

// resolve returns a value with its references replaced. One that leads nowhere, and
// everything that is no reference, is left as written.
func (s *scope) resolve(v any) any {
	switch v := v.(type) {
	case string:
		return s.text(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = s.resolve(item)
		}
		return list
	case *value.Object:
		o := &value.Object{}
		for _, key := range v.Keys() {
			o.Set(key, s.resolve(v.At(key)))
		}
		return o
	}
	return v
}

// written finds what may be a reference in a setting.
var written = regexp.MustCompile(`\{\{\s*((?:config|secret)[^{}]*?)\s*\}\}`)

// text resolves one string: a reference alone becomes the value itself, with its type.
func (s *scope) text(text string) any {
	if m := written.FindStringSubmatch(text); m != nil && m[0] == text {
		if v := s.follow(m[1]); !value.IsUndefined(v) {
			return v
		}
		return text
	}
	return written.ReplaceAllStringFunc(text, func(found string) string {
		if v := s.follow(written.FindStringSubmatch(found)[1]); !value.IsUndefined(v) {
			return value.Text(v)
		}
		return found
	})
}

// follow returns what a reference leads to. A setting that refers to another of the
// same config gets that resolved, unless that comes back to itself.
func (s *scope) follow(path string) any {
	if *s.left--; *s.left < 0 {
		return value.Undefined
	}
	if name, ok := strings.CutPrefix(path, "secret."); ok {
		if found, ok := s.secrets[name]; ok {
			return found
		}
		return value.Undefined
	}
	steps, ok := expr.PlainPath(path)
	if !ok || steps[0].Key != "config" {
		return value.Undefined
	}
	keys := make([]string, len(steps)-1)
	for i, step := range steps[1:] {
		keys[i] = step.Key
	}
	found := value.Walk(s.config, keys...)
	if !s.own {
		return found
	}
	if s.depth == maxReferences {
		return value.Undefined
	}
	deeper := *s
	deeper.depth++
	return deeper.resolve(found)
}
