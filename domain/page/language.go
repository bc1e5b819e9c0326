package page

import (
	"slices"
	"strconv"
	"strings"

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
		for _, tag := range []string{l.Tag, baseTag(l.Tag), defaultLanguage} {
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
	return slices.Contains([]string{"ar", "dv", "fa", "he", "iw", "ku", "ps", "sd", "ug", "ur", "yi"}, baseTag(l.Tag))
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

func baseTag(tag string) string {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	return base
}

// ChooseLanguage returns the language of those offered that an Accept-Language header prefers, else English.
func ChooseLanguage(accept string, offered []string) Language {
	type wish struct {
		tag     string
		quality float64
	}
	var wishes []wish
	for i, entry := range strings.Split(accept, ",") {
		if i == 32 {
			break
		}
		tag, parameters, _ := strings.Cut(entry, ";")
		w := wish{strings.ToLower(strings.TrimSpace(tag)), 1}
		if q, ok := strings.CutPrefix(strings.TrimSpace(parameters), "q="); ok {
			quality, err := strconv.ParseFloat(q, 64)
			if err != nil {
				continue
			}
			w.quality = quality
		}
		if w.tag != "" && w.quality > 0 {
			wishes = append(wishes, w)
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int {
		switch {
		case a.quality > b.quality:
			return -1
		case a.quality < b.quality:
			return 1
		}
		return 0
	})
	for _, w := range wishes {
		for _, tag := range offered {
			if strings.EqualFold(tag, w.tag) {
				return Language{tag}
			}
		}
		for _, tag := range offered {
			if baseTag(tag) == baseTag(w.tag) {
				return Language{tag}
			}
		}
		if w.tag == "*" && len(offered) > 0 {
			break
		}
	}
	return Language{defaultLanguage}
}

// SplitLanguage splits fr/about into the language fr and about. ok is false when the path does not begin with one.
func SplitLanguage(path string) (language Language, rest string, ok bool) {
	first, rest, _ := strings.Cut(path, "/")
	if !IsLanguageTag(first) {
		return Language{}, path, false
	}
	return Language{first}, rest, true
}
