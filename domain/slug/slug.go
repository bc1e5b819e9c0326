// Package slug holds the rules of the names that stand in addresses, and makes
// one where none was given (contract/api.md 1.7).
package slug

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/document"
)

// maxWorkspace is the length of a workspace's slug.
const maxWorkspace = 60

// reserved are slugs that a workspace cannot have: its own of the platform, and
// words that stand in the place of a workspace in paths.
var reserved = []string{domain.Platform, "export", "import", "labels", "readiness"}

// CheckWorkspace returns what is wrong with the slug of a workspace, for the one
// who chose it; "" for nothing. The platform's own slug is not to be checked.
func CheckWorkspace(slug string) string {
	switch {
	case slug == "" || len(slug) > maxWorkspace:
		return "must be 1 to 60 characters"
	case slices.Contains(reserved, slug):
		return fmt.Sprintf("%s is reserved", slug)
	}
	for segment := range strings.SplitSeq(slug, "/") {
		if segment == "" || strings.ContainsFunc(segment, notShort) {
			return "must be words of a-z, 0-9 and -, joined by /"
		}
	}
	return ""
}

// IsLabel reports whether s may be a label.
func IsLabel(s string) bool {
	return len(s) >= 2 && len(s) <= 60 && !strings.ContainsFunc(s, func(r rune) bool {
		return !isAlphanumeric(r) && !strings.ContainsRune("._:-", r)
	})
}

// IsVersion reports whether s may name a version. What stands for a version that
// has no name, or for the newest, names none.
func IsVersion(s string) bool {
	return s != "" && len(s) <= 63 && s != "current" && s != "latest" && !strings.ContainsFunc(s, func(r rune) bool {
		return !isAlphanumeric(r) && !strings.ContainsRune("_.-", r)
	})
}

func notShort(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }

// Generate returns a slug for a workspace: adjective-noun-number. random returns
// a number from 0 to n-1. Another workspace may have it already.
func Generate(random func(n int) int) string {
	words := func(list string) string {
		all := strings.Fields(list)
		return all[random(len(all))]
	}
	return words(adjectives) + "-" + words(nouns) + "-" + strconv.Itoa(random(10000))
}

// maxNamed is how much of a name becomes a slug.
const maxNamed = 20

// FromName returns a slug for an automation or a page that is called name, a text
// or a *document.Map of texts by language: what a slug may hold of its first
// text, without marks on letters; else "untitled". The first of it, it-1, it-2 …
// is returned that is not taken. taken is asked in lower case, because slugs that
// differ in case only are files that some disks cannot tell apart.
func FromName(name any, isUsed func(lower string) bool) string {
	text, _ := document.AsLocalized(name)
	return firstFree(plain(text.First()), document.Page, isUsed)
}

// ShortFromName is FromName for a knowledge base or an agent, whose slug has no capital letters, blanks and _.
func ShortFromName(kind *document.Kind, name any, isUsed func(string) bool) string {
	text, _ := document.AsLocalized(name)
	base := strings.NewReplacer(" ", "-", "_", "-").Replace(strings.ToLower(plain(text.First())))
	return firstFree(strings.Trim(base, "-"), kind, isUsed)
}

// firstFree returns the first of base, base-1, base-2 … that a document of a kind may have and none has.
func firstFree(base string, kind *document.Kind, isUsed func(lower string) bool) string {
	base = cmp.Or(base, "untitled")
	slug := base
	for n := 1; !kind.HasSlug(slug) || isUsed(strings.ToLower(slug)); n++ {
		slug = base + "-" + strconv.Itoa(n)
	}
	return slug
}

// plain returns what of a name can be in one segment of a slug, cut.
func plain(name string) string {
	marks := unmarked()
	var b strings.Builder
	for _, r := range name {
		part := string(r)
		if !isPlain(r) {
			part = marks[r] // of what is no letter: nothing
		}
		if b.Len() == 0 {
			part = strings.TrimLeft(part, " ")
		}
		if b.Len()+len(part) > maxNamed {
			break
		}
		b.WriteString(part)
	}
	return strings.TrimRight(b.String(), " ")
}

func isPlain(r rune) bool { return isAlphanumeric(r) || r == ' ' || r == '_' || r == '-' }

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// unmarked returns how letters with marks are written without them. It is asked
// for seldom: when somebody makes something and gives it a name only.
func unmarked() map[rune]string {
	marks := make(map[rune]string, 1024)
	for _, row := range latin {
		for _, r := range row.marked {
			marks[r] = row.plain
		}
	}
	return marks
}
