package workspace

import (
	"strings"

	"svc/domain"
	"svc/domain/document"
)

// Mask stands for a value that is secret.
const Mask = "********"

// IsSecretReference reports whether a text is {{secret.NAME}} and nothing else:
// it names a secret and tells nothing of it.
func IsSecretReference(text string) bool {
	inner, opens := strings.CutPrefix(text, "{{")
	inner, closes := strings.CutSuffix(inner, "}}")
	name, refers := strings.CutPrefix(strings.TrimSpace(inner), "secret.")
	return opens && closes && refers && WrongSecretName(name) == ""
}

// HideSecrets returns a config with the mask in the place of each value that its
// schema calls secret. References to secrets of the workspace stay.
func HideSecrets(config *document.Map) *document.Map {
	hidden, _ := changeSecrets(config, func(_ []string, v any) (any, string) {
		if text, isText := v.(string); v == nil || isText && (text == "" || IsSecretReference(text)) {
			return v, ""
		}
		return Mask, ""
	})
	return hidden
}

// WithoutSecrets returns a config without the values that its schema calls
// secret. References to secrets of the workspace stay.
func WithoutSecrets(config *document.Map) *document.Map {
	left, _ := changeSecrets(config, func(_ []string, v any) (any, string) {
		if text, isText := v.(string); isText && IsSecretReference(text) {
			return v, ""
		}
		return nil, ""
	})
	return left
}

// keepSecrets returns a config to be stored: the mask stands for what was there
// before. A secret itself is refused: configs are content, which is exported and
// kept for ever.
func keepSecrets(before, next *document.Map) (*document.Map, error) {
	was, _ := before.Get("value")
	kept, errs := changeSecrets(next, func(path []string, v any) (any, string) {
		text, isText := v.(string)
		switch {
		case v == nil || isText && (text == "" || IsSecretReference(text)):
			return v, ""
		case isText && text == Mask:
			return valueAt(was, path), ""
		}
		return nil, "is secret: keep it in a secret and refer to it as {{secret.NAME}}"
	})
	if len(errs) > 0 {
		return nil, domain.Invalid(errs...)
	}
	return kept, nil
}

// changeSecrets returns a config with other values in the fields that its schema
// calls secret; nil takes one out. What the function says of a value is told as a
// fault of it.
func changeSecrets(config *document.Map, change func(path []string, v any) (any, string)) (*document.Map, []domain.FieldError) {
	schema, _ := config.Get("schema")
	value, _ := config.Get("value")
	fields, values := asMap(schema), asMap(value)
	if fields.Len() == 0 || values.Len() == 0 {
		return config, nil
	}
	w := secretWalk{change: change}
	changed := w.fields(fields, values, nil)
	if changed == values {
		return config, w.faults
	}
	config = config.Copy()
	config.Set("value", changed)
	return config, w.faults
}

// secretWalk goes through the fields of a schema and their values.
type secretWalk struct {
	change func(path []string, v any) (any, string)
	faults []domain.FieldError
}

// fields returns values with those changed that are secret; the same map when
// there are none.
func (w *secretWalk) fields(fields, values *document.Map, at []string) *document.Map {
	changed := values
	for name, f := range fields.All() {
		v, given := values.Get(name)
		if !given {
			continue
		}
		next, other := w.field(asMap(f), v, append(at[:len(at):len(at)], name))
		if !other {
			continue
		}
		if changed == values {
			changed = values.Copy()
		}
		if next == nil {
			changed.Delete(name)
		} else {
			changed.Set(name, next)
		}
	}
	return changed
}

func (w *secretWalk) field(f *document.Map, v any, at []string) (next any, other bool) {
	if secret, _ := f.Get("secret"); secret == true {
		next, wrong := w.change(at, v)
		if wrong != "" {
			w.faults = append(w.faults, domain.FieldError{Field: "config.value." + strings.Join(at, "."), Message: wrong})
		}
		return next, true
	}
	properties, _ := f.Get("properties")
	inner, ok := v.(*document.Map)
	if !ok || asMap(properties).Len() == 0 {
		return v, false
	}
	next = w.fields(asMap(properties), inner, at)
	return next, next != any(inner)
}

// valueAt returns what a value has at a path, nil for nothing.
func valueAt(v any, path []string) any {
	for _, key := range path {
		v, _ = asMap(v).Get(key)
	}
	return v
}
