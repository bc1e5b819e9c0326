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
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// Settings is the config of a scope, as its automations read it.
type Settings struct {
	Value *value.Object
	// Secrets are the values of settings that are declared as secret, and the secrets of
	// whoever wrote the content that settings refer to: the publisher's, in an app.
	Secrets []string
	// Faults are settings of an app instance that do not fit the schema of its app.
	Faults []input.ConfigFault

	missing []missingSecret
}

// checkFaults returns the error of reading a setting that does not match the schema of the
// app; key "" checks all settings.
func (s Settings) checkFaults(instance, key string) error {
	for _, f := range s.Faults {
		if key == "" || f.Key == key {
			return automation.Raise(automation.InvalidInstruction, f.Field+" of the app instance "+instance+": "+f.Message, "field", f.Field, "appInstance", instance)
		}
	}
	return nil
}

// missingSecret is a text of the config that refers to a secret without a value.
type missingSecret struct {
	path []string
	name string
}

// Read returns the value of the config of an instance at a path. It raises SecretMissingError
// where a secret has no value, so that the reference is never sent instead, and an error where
// a value does not match the schema of the app.
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
	if err := s.checkFaults(instance, key); err != nil {
		return value.Undefined, err
	}
	return value.Walk(s.Value, keys...), nil
}

// WithValue returns the settings with another value.
func (s Settings) WithValue(v *value.Object) Settings {
	s.Value, s.missing = v, findMissingSecrets(nil, nil, v)
	return s
}

// findMissingSecrets appends the texts of a resolved value that still refer to a secret: that
// secret has no value.
func findMissingSecrets(found []missingSecret, path []string, v any) []missingSecret {
	switch v := v.(type) {
	case string:
		if name, ok := FindMissingSecret(v); ok {
			found = append(found, missingSecret{slices.Clone(path), name})
		}
	case []any:
		for i, item := range v {
			found = findMissingSecrets(found, append(path, strconv.Itoa(i)), item)
		}
	case *value.Object:
		for _, key := range v.Keys() {
			found = findMissingSecrets(found, append(path, key), v.At(key))
		}
	}
	return found
}

// FindMissingSecret returns the first secret that a resolved value still refers to; ok is
// false when there is none.
func FindMissingSecret(v any) (name string, ok bool) {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, "{{") {
			return "", false
		}
		for _, m := range referencePattern.FindAllStringSubmatch(v, -1) {
			if name, ok = strings.CutPrefix(m[1], "secret."); ok {
				return name, true
			}
		}
	case []any:
		for _, item := range v {
			if name, ok = FindMissingSecret(item); ok {
				return name, true
			}
		}
	case *value.Object:
		for _, key := range v.Keys() {
			if name, ok = FindMissingSecret(v.At(key)); ok {
				return name, true
			}
		}
	}
	return "", false
}

// Config returns the config of a scope. The operator's defaults are overridden by the
// workspace or app, and these by the app instance.
func (p *Scope) Config(ctx context.Context) (Settings, error) {
	settings, err := p.resolveConfig(ctx)
	if err != nil {
		return Settings{}, err
	}
	return settings.WithValue(settings.Value), nil
}

func (p *Scope) resolveConfig(ctx context.Context) (Settings, error) {
	own, err := p.ownConfig(ctx)
	if err != nil || p.Parent == nil {
		return own, err
	}
	parent, err := p.Parent.resolveConfig(ctx)
	if err != nil {
		return Settings{}, err
	}
	secrets, err := p.Parent.secrets(ctx)
	if err != nil {
		return Settings{}, err
	}
	s := &configResolver{config: parent.Value, secrets: secrets, referencesLeft: new(maxReferenceCount), bytesLeft: new(maxReferenceBytes), usedSecrets: &[]string{}}
	given, err := p.instanceConfig(ctx, s)
	if err != nil {
		return Settings{}, err
	}
	merged := own.Value.Copy()
	for _, key := range given.Keys() {
		merged.Set(key, given.At(key))
	}
	return Settings{
		Value: merged, Secrets: slices.Concat(own.Secrets, parent.Secrets, p.compiled.secretValues(given), *s.usedSecrets), Faults: p.compiled.configSchema.CheckResolved(given),
	}, nil
}

// ownConfig returns the config without the config of the instance.
func (p *Scope) ownConfig(ctx context.Context) (Settings, error) {
	merged := &value.Object{}
	defaults := p.ProgramSet.library.defaults()
	given := defaults.Workspaces[p.ProgramSet.Workspace.Slug]
	if p.Parent != nil {
		given = defaults.Apps[p.App]
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		merged.Set(key, given[key])
	}
	own, _ := value.Walk(p.compiled.index, "config", "value").(*value.Object)
	for _, key := range own.Keys() {
		merged.Set(key, own.At(key))
	}
	secrets, err := p.secrets(ctx)
	if err != nil {
		return Settings{}, err
	}
	s := &configResolver{config: merged, secrets: secrets, own: true, referencesLeft: new(maxReferenceCount), bytesLeft: new(maxReferenceBytes), usedSecrets: &[]string{}}
	resolved, _ := s.resolve(merged).(*value.Object)
	if err := s.checkSize(); err != nil {
		return Settings{}, err
	}
	return Settings{Value: resolved, Secrets: append(p.compiled.secretValues(resolved), *s.usedSecrets...)}, nil
}

// secrets returns the secrets of the workspace that the content of the scope comes from.
func (p *Scope) secrets(ctx context.Context) (map[string]string, error) {
	if p.ProgramSet.stubbed != nil {
		return p.ProgramSet.stubbed, nil
	}
	if p.compiled.workspaceID == "" {
		return nil, nil
	}
	return p.ProgramSet.library.secrets.All(ctx, p.compiled.workspaceID)
}

// instanceConfig returns the config of the instance, resolved in the scope of its parent.
func (p *Scope) instanceConfig(ctx context.Context, s *configResolver) (*value.Object, error) {
	resolved, ok := s.resolve(p.install.config).(*value.Object)
	if err := s.checkSize(); err != nil {
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
		if stubs := p.ProgramSet.stubbed; stubs != nil {
			resolved.Delete(key)
			if stub, ok := stubs[p.Instance+"."+key]; ok {
				resolved.Set(key, stub)
			}
			continue
		}
		plain, err := p.ProgramSet.library.vault.Open(ctx, p.Parent.compiled.workspaceID, p.install.sealed[key], "appConfig/"+key)
		if err != nil {
			return nil, fmt.Errorf("the setting %s of the app instance %s does not open: %w", key, p.Instance, err)
		}
		v, err := value.ParseJSON(string(plain))
		if err != nil {
			return nil, fmt.Errorf("the setting %s of the app instance %s: %w", key, p.Instance, err)
		}
		resolved.Set(key, s.resolve(v)) // a sealed text may refer to secrets as any other
	}
	return resolved, s.checkSize()
}

// secretValues returns the values of the settings that the content declares as secret.
func (e *compiledContent) secretValues(config *value.Object) (texts []string) {
	for _, key := range e.secretKeys {
		if text, ok := config.At(key).(string); ok && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// mayHoldSecrets reports whether the config of a workspace or an instance may hold secrets other than those of
// the workspace itself.
func (n *instance) mayHoldSecrets() bool {
	if len(n.compiled.secretKeys) > 0 || len(n.install.sealed) > 0 {
		return true
	}
	return n.name != "" && (mentionsSecrets(value.At(n.compiled.index, "config")) || mentionsSecrets(n.install.config))
}

func mentionsSecrets(config any) bool { return strings.Contains(value.JSON(config, ""), "secret") }

// ConfigSecrets returns the secrets in the configs of all scopes: a secret that one automation
// reads can reach another through a context. Configs that cannot be read are skipped.
func (set *ProgramSet) ConfigSecrets(ctx context.Context) (secrets []string) {
	add := func(p *Scope) {
		if settings, err := p.resolveConfig(ctx); err == nil {
			secrets = append(secrets, settings.Secrets...)
		}
	}
	if set.Root.mayHoldSecrets() {
		add(set.Root)
	}
	for instance := range set.index.secrets.Keys() {
		add(set.Scope(instance))
	}
	return secrets
}

// configResolver resolves templates in a config.
type configResolver struct {
	config         *value.Object
	secrets        map[string]string
	own            bool // config is what is being resolved
	depth          int
	referencesLeft *int      // references that may still be followed
	bytesLeft      *int      // bytes that they may still bring
	usedSecrets    *[]string // secrets that were read
}

// Limits of references in a config: depth, number, and bytes of JSON that they bring.
const (
	maxReferenceDepth = 10
	maxReferenceCount = 1000
	maxReferenceBytes = 10_000_000
)

// checkSize returns an error when the references brought more bytes than a config may have.
func (s *configResolver) checkSize() error {
	if *s.bytesLeft >= 0 {
		return nil
	}
	return automation.Raise(automation.ContextTooLarge, "the config is larger than it may be once its references are followed",
		"context", "config", "limit", float64(maxReferenceBytes))
}

// limitSize counts the bytes that a reference brings, and returns Undefined once the limit is
// reached.
func (s *configResolver) limitSize(v any, size int) any {
	if *s.bytesLeft -= size; *s.bytesLeft < 0 {
		return value.Undefined
	}
	return v
}

// resolve returns a value with its references replaced. A reference without a target stays as
// written; reading a secret without a value raises (Settings.Read).
func (s *configResolver) resolve(v any) any {
	switch v := v.(type) {
	case string:
		return s.resolveText(v)
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

// referencePattern matches texts that may be references.
var referencePattern = regexp.MustCompile(`\{\{\s*((?:config|secret)[^{}]*?)\s*\}\}`)

// ContainsReference reports whether any text in a value would be read as a reference in a
// config.
func ContainsReference(v any) bool {
	switch v := v.(type) {
	case string:
		return slices.ContainsFunc(referencePattern.FindAllStringSubmatch(v, -1), func(m []string) bool { return isReference(m[1]) })
	case []any:
		return slices.ContainsFunc(v, ContainsReference)
	case *value.Object:
		return slices.ContainsFunc(v.Keys(), func(key string) bool { return ContainsReference(v.At(key)) })
	}
	return false
}

// isReference reports whether a path refers to config or secrets.
func isReference(path string) bool {
	if strings.HasPrefix(path, "secret.") {
		return true
	}
	steps, ok := expr.PlainPath(path)
	return ok && steps[0].Key == "config"
}

// resolveText resolves one string: a reference alone becomes the value itself, with its type.
func (s *configResolver) resolveText(text string) any {
	if m := referencePattern.FindStringSubmatch(text); m != nil && m[0] == text {
		if v := s.resolveReference(m[1]); !value.IsUndefined(v) {
			return v
		}
		return text
	}
	return referencePattern.ReplaceAllStringFunc(text, func(found string) string {
		v := s.resolveReference(referencePattern.FindStringSubmatch(found)[1])
		if value.IsUndefined(v) {
			return found
		}
		rendered := value.Text(v)
		if value.IsUndefined(s.limitSize(v, len(rendered))) {
			return found
		}
		return rendered
	})
}

// resolveReference returns the value of a reference. A reference to the same config is
// resolved in turn, up to maxReferenceDepth.
func (s *configResolver) resolveReference(path string) any {
	if *s.referencesLeft--; *s.referencesLeft < 0 || *s.bytesLeft < 0 {
		return value.Undefined
	}
	if name, ok := strings.CutPrefix(path, "secret."); ok {
		if found, ok := s.secrets[name]; ok {
			*s.usedSecrets = append(*s.usedSecrets, found)
			return s.limitSize(found, len(found))
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
	if found = s.limitSize(found, variable.Size(found)); !s.own || value.IsUndefined(found) {
		return found
	}
	if s.depth == maxReferenceDepth {
		return value.Undefined
	}
	deeper := *s
	deeper.depth++
	return deeper.resolve(found)
}
