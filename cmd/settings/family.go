package settings

import "strings"

// family is a row whose name holds placeholders: one row, many settings. The
// text between prefix and suffix is the rest.
type family struct {
	prefix, suffix string
	owns           func(rest string) bool // is rest well formed
	set            func(rest, text string) error
	expect         string
	secret         func(rest string) bool // nil: the row decides
	show           func(rest, text string) string
	closed         bool // every name with the prefix is ours; the others are faults
	free           bool // the last placeholder is any text, so a _FILE at its end means a file
}

// named cuts prefix and suffix out of the row's name.
func (f *family) named(name string) {
	f.prefix, _, _ = strings.Cut(name, "{")
	f.suffix = name[strings.LastIndex(name, "}")+1:]
}

// rest returns what the placeholders of name stand for.
func (f *family) rest(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, f.prefix)
	if !ok {
		return "", false
	}
	rest, ok = strings.CutSuffix(rest, f.suffix)
	return rest, ok && rest != ""
}

// claims reports whether name is a member, and not the file of one.
func (f *family) claims(name string) bool {
	rest, ok := f.rest(name)
	if !ok || !f.owns(rest) {
		return false
	}
	base, isFile := strings.CutSuffix(rest, fileSuffix)
	return !f.free || !isFile || !f.owns(base)
}

// globalVars collects {name} into a map.
func globalVars(p *map[string]string) *family {
	return &family{
		free: true, expect: "a text",
		owns: func(rest string) bool { return rest != "" },
		set: func(rest, text string) error {
			put(p, rest, text)
			return nil
		},
	}
}

// varsOf collects {owner}_{name}. The first underscore divides: a workspace
// slug has none, while names often do.
func varsOf[T ~string](p *map[string]map[string]T) *family {
	return &family{
		free: true, expect: "a text",
		owns: func(rest string) bool {
			owner, name, _ := strings.Cut(rest, "_")
			return owner != "" && name != ""
		},
		set: func(rest, text string) error {
			owner, name, _ := strings.Cut(rest, "_")
			inner := (*p)[owner]
			put(&inner, name, T(text))
			put(p, owner, inner)
			return nil
		},
	}
}

// put sets a key of a map that may not exist yet.
func put[V any](p *map[string]V, key string, v V) {
	if *p == nil {
		*p = map[string]V{}
	}
	(*p)[key] = v
}
