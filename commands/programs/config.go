package programs

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/input"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// Settings is the config of a place, as its automations read it.
type Settings struct {
	Value *value.Object
	// Secrets are the values of settings that are declared as secret, and the secrets of
	// whoever wrote the content that settings refer to: the publisher's, in an app.
	Secrets []string
	// Faults are settings of an app instance that do not fit the schema of its app.
	Faults []input.ConfigFault

	missing []missingSecret
}

// fault returns the error of reading a setting that does not fit the schema of the app; key
// "" is all of them. It is nil when there is nothing wrong.
func (s Settings) fault(instance, key string) error {
	for _, f := range s.Faults {
		if key == "" || f.Key == key {
			return automation.Raise(automation.InvalidInstruction, f.Field+" of the app instance "+instance+": "+f.Message, "field", f.Field, "appInstance", instance)
		}
	}
	return nil
}

// missingSecret is a text of settings that refers to a secret without a value.
type missingSecret struct {
	path []string
	name string
}

// Read returns what the settings of an instance hold at a path. It raises
// SecretMissingError where a secret has no value, so that nobody is sent the reference in
// its place, and what does not fit the schema of the app.
func (s Settings) Read(instance string, keys ...string) (any, error) {
	for _, m := range s.missing {
		if n := min(len(m.path), len(keys)); slices.Equal(m.path[:n], keys[:n]) {
			return value.Undefined, automation.MissingSecret(m.name)
		}
	}
	key := ""
	if len(keys) > 0 {
		key = keys[0]
	}
	if err := s.fault(instance, key); err != nil {
		return value.Undefined, err
	}
	return value.Walk(s.Value, keys...), nil
}

// With returns the settings with another value.
func (s Settings) With(v *value.Object) Settings {
	s.Value, s.missing = v, findMissing(nil, nil, v)
	return s
}

// findMissing adds the texts in a value that refer to a secret to those found before:
// what was not replaced when the settings were read has no value.
func findMissing(found []missingSecret, path []string, v any) []missingSecret {
	switch v := v.(type) {
	case string:
		if name, ok := MissingIn(v); ok {
			found = append(found, missingSecret{slices.Clone(path), name})
		}
	case []any:
		for i, item := range v {
			found = findMissing(found, append(path, strconv.Itoa(i)), item)
		}
	case *value.Object:
		for _, key := range v.Keys() {
			found = findMissing(found, append(path, key), v.At(key))
		}
	}
	return found
}

// MissingIn returns the secret that a value of resolved settings still refers to; false
// when there is none.
func MissingIn(v any) (name string, ok bool) {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, "{{") {
			return "", false
		}
		for _, m := range written.FindAllStringSubmatch(v, -1) {
			if name, ok = strings.CutPrefix(m[1], "secret."); ok {
				return name, true
			}
		}
	case []any:
		for _, item := range v {
			if name, ok = MissingIn(item); ok {
				return name, true
			}
		}
	case *value.Object:
		for _, key := range v.Keys() {
			if name, ok = MissingIn(v.At(key)); ok {
				return name, true
			}
		}
	}
	return "", false
}

// Config returns the settings of a place: what the operator gives, below what its
// workspace or app says, below what its instance says.
func (p *Place) Config(ctx context.Context) (Settings, error) {
	settings, err := p.config(ctx)
	if err != nil {
		return Settings{}, err
	}
	return settings.With(settings.Value), nil
}

func (p *Place) config(ctx context.Context) (Settings, error) {
	own, err := p.own(ctx)
	if err != nil || p.Parent == nil {
		return own, err
	}
	parent, err := p.Parent.config(ctx)
	if err != nil {
		return Settings{}, err
	}
	secrets, err := p.Parent.secrets(ctx)
	if err != nil {
		return Settings{}, err
	}
	s := &scope{config: parent.Value, secrets: secrets, left: new(maxFollowed), room: new(maxBrought), used: &[]string{}}
	given, err := p.given(ctx, s)
	if err != nil {
		return Settings{}, err
	}
	merged := own.Value.Copy()
	for _, key := range given.Keys() {
		merged.Set(key, given.At(key))
	}
	return Settings{
		Value: merged, Secrets: slices.Concat(own.Secrets, parent.Secrets, p.edition.hidden(given), *s.used), Faults: p.edition.settings.CheckResolved(given),
	}, nil
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
	s := &scope{config: merged, secrets: secrets, own: true, left: new(maxFollowed), room: new(maxBrought), used: &[]string{}}
	resolved, _ := s.resolve(merged).(*value.Object)
	if err := s.full(); err != nil {
		return Settings{}, err
	}
	return Settings{Value: resolved, Secrets: append(p.edition.hidden(resolved), *s.used...)}, nil
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
	if err := s.full(); err != nil {
		return nil, err
	}
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
		resolved.Set(key, s.resolve(v)) // a sealed text may refer to secrets as any other
	}
	return resolved, s.full()
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

// guarded reports whether the settings of a place may hold secrets that are not those of
// the workspace itself.
func (p *Place) guarded() bool {
	if len(p.edition.secret) > 0 || len(p.install.sealed) > 0 {
		return true
	}
	return p.Parent != nil && (mentionsSecrets(value.At(p.edition.index, "config")) || mentionsSecrets(p.install.config))
}

func mentionsSecrets(config any) bool { return strings.Contains(value.JSON(config, ""), "secret") }

// Hidden returns the secrets that settings hold, whichever place of the house they are of:
// what one automation reads there, another may find in a context. Settings that cannot be
// read have none that anybody could tell.
func (h *House) Hidden(ctx context.Context) (secrets []string) {
	for _, p := range h.guarded {
		if settings, err := p.config(ctx); err == nil {
			secrets = append(secrets, settings.Secrets...)
		}
	}
	return secrets
}

// scope is what templates in settings may refer to.
type scope struct {
	config  *value.Object
	secrets map[string]string
	own     bool // config is what is being resolved
	depth   int
	left    *int      // references that may still be followed
	room    *int      // bytes that they may still bring
	used    *[]string // secrets that were read
}

// Bounds of settings that refer to settings: how deep, how many in all, and how many
// bytes of JSON they bring.
const (
	maxReferences = 10
	maxFollowed   = 1000
	maxBrought    = 10_000_000
)

// full says that what references bring is more than settings may be.
func (s *scope) full() error {
	if *s.room >= 0 {
		return nil
	}
	return automation.Raise(automation.ContextTooLarge, "the config is larger than it may be once its references are followed",
		"context", "config", "limit", float64(maxBrought))
}

// brings notes what a reference brings, and returns it as long as there is room.
func (s *scope) brings(v any, size int) any {
	if *s.room -= size; *s.room < 0 {
		return value.Undefined
	}
	return v
}

// resolve returns a value with its references replaced. One that leads nowhere, and
// everything that is no reference, is left as written: reading a secret that has no value
// raises (Settings.Read).
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

// Refers reports whether a text anywhere in a value would be taken for a reference when
// it is a setting.
func Refers(v any) bool {
	switch v := v.(type) {
	case string:
		return slices.ContainsFunc(written.FindAllStringSubmatch(v, -1), func(m []string) bool { return isReference(m[1]) })
	case []any:
		return slices.ContainsFunc(v, Refers)
	case *value.Object:
		return slices.ContainsFunc(v.Keys(), func(key string) bool { return Refers(v.At(key)) })
	}
	return false
}

// isReference reports whether a path leads into config or secrets, if it leads anywhere.
func isReference(path string) bool {
	if strings.HasPrefix(path, "secret.") {
		return true
	}
	steps, ok := expr.PlainPath(path)
	return ok && steps[0].Key == "config"
}

// text resolves one string: a reference alone becomes the value itself, with its type.
func (s *scope) text(text string) any {
	if m := written.FindStringSubmatch(text); m != nil && m[0] == text {
		if v := s.follow(m[1]); !value.IsUndefined(v) {
			return v
		}
		return text
	}
	return written.ReplaceAllStringFunc(text, func(found string) string {
		v := s.follow(written.FindStringSubmatch(found)[1])
		if value.IsUndefined(v) {
			return found
		}
		shown := value.Text(v)
		if value.IsUndefined(s.brings(v, len(shown))) {
			return found
		}
		return shown
	})
}

// follow returns what a reference leads to. A setting that refers to another of the
// same config gets that resolved, unless that comes back to itself.
func (s *scope) follow(path string) any {
	if *s.left--; *s.left < 0 || *s.room < 0 {
		return value.Undefined
	}
	if name, ok := strings.CutPrefix(path, "secret."); ok {
		if found, ok := s.secrets[name]; ok {
			*s.used = append(*s.used, found)
			return s.brings(found, len(found))
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
	if found = s.brings(found, variable.Size(found)); !s.own || value.IsUndefined(found) {
		return found
	}
	if s.depth == maxReferences {
		return value.Undefined
	}
	deeper := *s
	deeper.depth++
	return deeper.resolve(found)
}
