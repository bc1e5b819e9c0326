package document

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// BaseLanguage returns the language of a tag without its region: fr for fr-CA.
func BaseLanguage(tag string) string {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	return base
}

// maxPreferred is how many languages of a header are looked at.
const maxPreferred = 32

// PreferredLanguage returns the language of those offered that an Accept-Language header prefers; "" when it names none of
// them.
func PreferredLanguage(accept string, offered []string) string {
	type wish struct {
		tag     string
		quality float64
	}
	var wishes []wish
	entries := strings.Split(accept, ",")
	for _, entry := range entries[:min(maxPreferred, len(entries))] {
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
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.quality, a.quality) })
	for _, w := range wishes {
		for _, tag := range offered {
			if strings.EqualFold(tag, w.tag) {
				return tag
			}
		}
		for _, tag := range offered {
			if BaseLanguage(tag) == BaseLanguage(w.tag) {
				return tag
			}
		}
		if w.tag == "*" && len(offered) > 0 {
			break
		}
	}
	return ""
}
