package page

import (
	"cmp"
	"slices"
	"strings"

	"svc/domain/document"
	"svc/domain/value"
)

// Language is the language that a page is shown in.
type Language struct {
	Tag string // xx or xx-XX
}

// defaultLanguage is used when nothing else is asked for.
const defaultLanguage = "en"

// Resolve returns a text: a string, or the entry of {language: string} that fits best. ok is false for anything else.
func (l Language) Resolve(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case *MixedText:
		return v.String(), true
	case *value.Object:
		if !isLocalized(v) {
			return "", false
		}
		for _, tag := range []string{l.Tag, document.BaseLanguage(l.Tag), defaultLanguage} {
			for _, key := range v.Keys() {
				if strings.EqualFold(key, tag) {
					return v.At(key).(string), true
				}
			}
		}
		return v.At(v.Keys()[0]).(string), true
	}
	return "", false
}

// IsRightToLeft reports whether the language is written from right to left.
func (l Language) IsRightToLeft() bool {
	return slices.Contains([]string{"ar", "dv", "fa", "he", "iw", "ku", "ps", "sd", "ug", "ur", "yi"}, document.BaseLanguage(l.Tag))
}

// isLocalized reports whether an object has a string for each of some languages, and nothing else.
func isLocalized(o *value.Object) bool {
	for key, v := range o.All() {
		if _, ok := v.(string); !ok || !IsLanguageTag(key) {
			return false
		}
	}
	return o.Len() > 0
}

// IsLanguageTag reports whether s is xx or xx-XX.
func IsLanguageTag(s string) bool {
	lower := func(s string) bool { return len(s) == 2 && s[0] >= 'a' && s[0] <= 'z' && s[1] >= 'a' && s[1] <= 'z' }
	if len(s) == 5 && s[2] == '-' {
		return lower(s[:2]) && s[3:] == strings.ToUpper(s[3:]) && lower(strings.ToLower(s[3:]))
	}
	return lower(s)
}

// ChooseLanguage returns the language of those offered that an Accept-Language header prefers, else English.
func ChooseLanguage(accept string, offered []string) Language {
	return Language{cmp.Or(document.PreferredLanguage(accept, offered), defaultLanguage)}
}

// SplitLanguage splits fr/about into the language fr and about. ok is false when the path does not begin with one.
func SplitLanguage(path string) (language Language, rest string, ok bool) {
	first, rest, _ := strings.Cut(path, "/")
	if !IsLanguageTag(first) {
		return Language{}, path, false
	}
	return Language{first}, rest, true
}
