package document

import (
	"encoding/json"
	"fmt"
)

// Localized is a text, or one text for each of some languages.
type Localized struct{ value any } // nil, a string or a *Map of strings

// InEveryLanguage returns a text that is the same in all languages.
func InEveryLanguage(s string) Localized {
	if s == "" {
		return Localized{}
	}
	return Localized{s}
}

// AsLocalized returns v as a text, if it is one. Nothing and "" are no text.
func AsLocalized(v any) (Localized, bool) {
	switch v := v.(type) {
	case nil:
		return Localized{}, true
	case string:
		return InEveryLanguage(v), true
	case *Map:
		for _, text := range v.All() {
			if _, ok := text.(string); !ok {
				return Localized{}, false
			}
		}
		if v.Len() == 0 {
			return Localized{}, true
		}
		return Localized{v}, true
	}
	return Localized{}, false
}

// Value returns the text as a value of this package; nil for none.
func (l Localized) Value() any { return l.value }

// IsZero reports whether there is no text.
func (l Localized) IsZero() bool { return l.value == nil }

// Texts returns the text in all its languages.
func (l Localized) Texts() []string {
	switch v := l.value.(type) {
	case string:
		return []string{v}
	case *Map:
		texts := make([]string, 0, v.Len())
		for _, text := range v.All() {
			texts = append(texts, text.(string))
		}
		return texts
	}
	return nil
}

// In returns the text in a language, "" when it is not there in that one.
func (l Localized) In(language string) string {
	switch v := l.value.(type) {
	case string:
		return v
	case *Map:
		return v.Text(language)
	}
	return ""
}

// First returns the text in its first language, "" for none.
func (l Localized) First() string {
	if texts := l.Texts(); len(texts) > 0 {
		return texts[0]
	}
	return ""
}

// MarshalJSON implements json.Marshaler.
func (l Localized) MarshalJSON() ([]byte, error) { return JSON(l.value) }

// UnmarshalJSON implements json.Unmarshaler.
func (l *Localized) UnmarshalJSON(text []byte) error {
	v, err := ReadJSON(text, Limits{Depth: 64})
	if err != nil {
		return err
	}
	read, ok := AsLocalized(v)
	if !ok {
		return fmt.Errorf("document: a text, or texts by language, was expected: %w", &json.UnmarshalTypeError{})
	}
	*l = read
	return nil
}
