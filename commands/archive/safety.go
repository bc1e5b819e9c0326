package archive

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/domain"
)

// faults collects what makes a tree unsafe, by path.
type faults map[string]string

// refusal names all paths at fault, and why for the first.
func (f faults) refusal() error {
	if len(f) == 0 {
		return nil
	}
	var paths []string
	var first, why string
	for p, reason := range f {
		shown := strings.ToValidUTF8(p, "\ufffd")
		paths = append(paths, shown)
		if first == "" || shown < first {
			first, why = shown, reason
		}
	}
	slices.Sort(paths)
	return domain.Refuse(domain.CodeValidation, "%q %s", first, why).Reason("unsafe_tree").With("paths", paths)
}

// CheckPaths refuses paths of managed files that are not safe to have: each for
// itself, or two that some file system takes for one.
func CheckPaths(paths []string) error {
	f := faults{}
	f.check(paths)
	return f.refusal()
}

func (f faults) check(paths []string) {
	seen := make(map[string]string, len(paths))
	for _, p := range paths {
		for segment := range strings.SplitSeq(p, "/") {
			if why := unsafeSegment(segment); why != "" {
				f[p] = why
				break
			}
		}
		folded := fold(p)
		if twin, ok := seen[folded]; ok {
			f[p] = "is the same as another path but for upper and lower case"
			f[twin] = f[p]
		}
		seen[folded] = p
	}
}

// unsafeSegment returns why no managed path may have this part, or "".
func unsafeSegment(s string) string {
	if why := hostileSegment(s); why != "" {
		return why
	}
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case isGit(s):
		return "is a name of Git's own folder"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "has control characters"
	case strings.HasPrefix(s, " "), strings.HasSuffix(s, " "):
		return "has a part that begins or ends with a space"
	case strings.HasSuffix(s, "."):
		return "has a part that ends with a dot"
	default:
		return ""
	}
}

// hostileSegment returns why an archive with such a part in any of its names is
// refused, or "": no honest program makes one. Names in another encoding than UTF-8 are
// honest: only those of documents are refused.
func hostileSegment(s string) string {
	switch {
	case s == "":
		return "is absolute or has an empty part"
	case s == ".", s == "..":
		return "has a part . or .."
	case strings.ContainsAny(s, "\\\x00"):
		return `has a \ or NUL`
	default:
		return ""
	}
}

// isGit reports whether some file system takes s for .git: in any case, with
// characters that HFS+ ignores, with a stream of NTFS, and by its short name.
func isGit(s string) bool {
	s = strings.Map(func(r rune) rune {
		if r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return foldRune(r)
	}, s)
	s, _, _ = strings.Cut(s, ":")
	s = strings.TrimRight(s, " .")
	short, isShort := strings.CutPrefix(s, fold("git~"))
	return s == fold(".git") || isShort && len(short) == 1 && short[0] >= '0' && short[0] <= '9'
}

// fold returns one spelling for all that differ in case only.
func fold(s string) string { return strings.Map(foldRune, s) }

// foldRune returns the smallest of the runes that are r in another case.
func foldRune(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}
