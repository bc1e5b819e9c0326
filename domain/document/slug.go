package document

import "strings"

// HasSlug reports whether slug may name an object of this kind, by the rule that
// the API has (contract/api.md 1.7) and by what a file can be called.
func (k *Kind) HasSlug(slug string) bool { return k.slug != nil && k.slug(slug) }

// listing is a file that other platforms put beside the objects. It is never
// read, hence no object can be called so.
const listing = "__index__"

// isPathSlug is the rule of what may lie in folders: segments joined by "/".
func isPathSlug(slug string) bool {
	if len(slug) > 128 {
		return false
	}
	for segment := range strings.SplitSeq(slug, "/") {
		if !isSegment(segment) {
			return false
		}
	}
	return !strings.HasSuffix("/"+slug, "/"+listing)
}

func isPageSlug(slug string) bool {
	first, _, _ := strings.Cut(slug, "/")
	return isPathSlug(slug) && first != "_svc"
}

func isInstanceSlug(slug string) bool {
	return len(slug) <= 60 && isSegment(slug) && slug != listing
}

func isShortSlug(slug string) bool {
	return slug != "" && len(slug) <= 60 && slug[0] != '-' && !strings.ContainsFunc(slug, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}

// isSegment allows no blanks at the ends, which no tool can be trusted to keep in
// the name of a file.
func isSegment(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return !isLetter(r) && (r < '0' || r > '9') && r != ' ' && r != '_' && r != '-'
	})
}
