package input

import (
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/automation/expr"
	"svc/domain/value"
)

// Config is the config schema of an app, compiled: typed fields by name. A nil Config is
// that of an app without a schema, which takes every config. It may be used by many at once.
type Config struct {
	fields map[string]*node
	open   bool // configs may have fields that are not declared
}

// openConfig is the key of a config schema that says whether configs may have fields that
// are not declared. As an object it is a field of that name.
const openConfig = "additionalProperties"

// CompileConfig reads the config schema of an app. One that does not compile, as imports
// may bring, declares nothing.
func CompileConfig(schema *value.Object) *Config {
	if schema.Len() == 0 {
		return nil
	}
	c, made := &compiler{}, &Config{fields: map[string]*node{}}
	for _, name := range schema.Keys() {
		field, ok := schema.At(name).(*value.Object)
		if !ok {
			made.open = made.open || name == openConfig && schema.At(name) == true
			continue
		}
		field, _ = splitField(field) // an instance may be configured after it is installed
		made.fields[name] = c.schema(field, (&location{step: "properties"}).child(name), expr.Member("schema", name))
	}
	if c.fault != nil {
		return nil
	}
	return made
}

// ConfigFault is what is wrong with a field of a config.
type ConfigFault struct {
	Key string // the field of the config that it is in
	domain.FieldError
}

// CheckWritten returns the faults of a config as written: strings with a template are
// checked when they are resolved, and null counts as absent. Fields for which skip is true
// are not checked.
func (c *Config) CheckWritten(config *value.Object, skip func(key string) bool) (faults []ConfigFault) {
	if c == nil {
		return nil
	}
	for _, key := range config.Keys() {
		v := config.At(key)
		n, declared := c.fields[key]
		switch {
		case v == nil || skip != nil && skip(key):
		case declared:
			faults = append(faults, checkField(n, key, v, true)...)
		case !c.open:
			faults = append(faults, ConfigFault{Key: key, FieldError: domain.FieldError{Field: expr.Member("config", shorten(key)), Message: c.unknown()}})
		}
	}
	return faults
}

// CheckResolved returns which declared fields have values that do not fit once their
// templates are resolved.
func (c *Config) CheckResolved(config *value.Object) (faults []ConfigFault) {
	if c == nil {
		return nil
	}
	for _, key := range config.Keys() {
		if n := c.fields[key]; n != nil && config.At(key) != nil {
			faults = append(faults, checkField(n, key, config.At(key), false)...)
		}
	}
	return faults
}

// checkField checks one field of a config.
func checkField(n *node, key string, v any, templates bool) (faults []ConfigFault) {
	r := &run{templates: templates, path: []step{{"config", -1}, {key, -1}}}
	fits := n.check(r, v)
	if r.spent {
		return []ConfigFault{{Key: key, FieldError: domain.FieldError{Field: expr.Member("config", shorten(key)), Message: "too large to be checked against its schema"}}}
	}
	if fits {
		return nil
	}
	for _, f := range r.faults {
		faults = append(faults, ConfigFault{Key: key, FieldError: domain.FieldError{Field: value.Text(value.At(f, "field")), Message: value.Text(value.At(f, "message"))}})
	}
	return faults
}

// maxListed is how many names of fields a message lists.
const maxListed = 20

// unknown says that a field is not declared, and which are.
func (c *Config) unknown() string {
	names := make([]string, 0, len(c.fields))
	for name := range c.fields {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "unknown field; the app has no settings"
	}
	slices.Sort(names)
	if len(names) > maxListed {
		names = append(names[:maxListed], "…")
	}
	return "unknown field; known are " + shorten(strings.Join(names, ", "))
}

// isTemplate reports whether a value is a string whose value is known only when it is
// resolved.
func isTemplate(v any) bool {
	text, ok := v.(string)
	if !ok {
		return false
	}
	_, after, opens := strings.Cut(text, "{{")
	return opens && strings.Contains(after, "}}")
}
