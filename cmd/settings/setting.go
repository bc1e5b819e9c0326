// Package settings is the registry of everything an operator can set.
//
// One table declares each setting: name, type, unit, default, bounds, part,
// secret or not, live or needing a restart, meaning. From it come the parser,
// the validation, the printed forms and docs/config.md. No other code reads the
// environment.
//
// Load turns a Source into a Loaded, or into Faults that name every bad setting
// at once. Loading creates nothing: EnsureKeys makes the keys of a first start,
// and only Live changes settings while the process runs.
package settings

import (
	"strings"
)

// Part names the part of the service a setting belongs to.
type Part string

// The parts, in the order of the documentation.
const (
	PartCore       Part = "core"
	PartHTTP       Part = "http"
	PartAuth       Part = "auth"
	PartBroker     Part = "broker"
	PartEvents     Part = "events"
	PartRuntime    Part = "runtime"
	PartWorkspaces Part = "ws"
	PartBulk       Part = "bulk"
	PartGit        Part = "git"
	PartEgress     Part = "egress"
	PartHooks      Part = "hooks"
	PartCrawler    Part = "crawler"
	PartKnowledge  Part = "knowledge"
	PartMail       Part = "mail"
	PartObs        Part = "obs"
)

// flags are the yes-or-no properties of a setting.
type flags uint8

const (
	live        flags = 1 << iota // re-read on SIGHUP
	secret                        // never shown
	apiKey                        // secret, but its last four characters may be shown
	perNode                       // may differ between the nodes of a cluster
	document                      // a JSON text, or the path of one; ${VAR} is filled in
	emptyCounts                   // given as empty is a value: it does not mean unset
)

// Setting is one row of the table.
type Setting struct {
	Name    string   // of a family: with {placeholders}
	Aliases []string // other names that mean the same
	Default string   // as documented; "-" when there is none
	Unit    string
	Part    Part
	Meaning string

	flags  flags
	value  value
	family *family                // nil for a plain setting
	derive func(*defaults) string // computes a default that Default only describes
}

// Live reports whether the setting is re-read while the process runs.
func (s Setting) Live() bool { return s.flags&live != 0 }

// Secret reports whether the value must never be shown.
func (s Setting) Secret() bool { return s.flags&(secret|apiKey) != 0 }

// PerNode reports whether the nodes of a cluster may differ in it.
func (s Setting) PerNode() bool { return s.flags&perNode != 0 }

// Family reports whether the name holds placeholders.
func (s Setting) Family() bool { return s.family != nil }

// plainDefault returns the default that is parsed like a given value, "" when
// there is none or when it is derived.
func (s Setting) plainDefault() string {
	if s.derive != nil || s.Default == "-" {
		return ""
	}
	return s.Default
}

// display returns text as an operator may see it.
func (s Setting) display(text string) string {
	switch {
	case text == "":
		return ""
	case s.flags&apiKey != 0:
		return maskKey(text)
	case s.flags&secret != 0:
		return mask
	case s.flags&document != 0 && strings.HasPrefix(strings.TrimSpace(text), "{"):
		return mask // written in place, so it may hold client secrets
	case s.value.show != nil:
		return s.value.show(text)
	}
	return text
}

// family is a row whose name holds placeholders: one row, many settings. The
// text between prefix and suffix is the rest.
type family struct {
	prefix, suffix string
	isWellFormed   func(rest string) bool // is rest well formed
	set            func(rest, text string) error
	expect         string
	secret         func(rest string) bool // nil: the row decides
	show           func(rest, text string) string
	closed         bool // every name with the prefix is ours; the others are faults
	free           bool // the last placeholder is any text, so a _FILE at its end means a file
}

// setName cuts prefix and suffix out of the row's name.
func (f *family) setName(name string) {
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

// hasMember reports whether name is a member, and not the file of one.
func (f *family) hasMember(name string) bool {
	rest, ok := f.rest(name)
	if !ok || !f.isWellFormed(rest) {
		return false
	}
	base, isFile := strings.CutSuffix(rest, fileSuffix)
	return !f.free || !isFile || !f.isWellFormed(base)
}

// globalVars collects {name} into a map.
func globalVars(p *map[string]string) *family {
	return &family{
		free: true, expect: "a text",
		isWellFormed: func(rest string) bool { return rest != "" },
		set: func(rest, text string) error {
			setKey(p, rest, text)
			return nil
		},
	}
}

// varsOf collects {owner}_{name}. The first underscore divides: a workspace
// slug has none, while names often do.
func varsOf[T ~string](p *map[string]map[string]T) *family {
	return &family{
		free: true, expect: "a text",
		isWellFormed: func(rest string) bool {
			owner, name, _ := strings.Cut(rest, "_")
			return owner != "" && name != ""
		},
		set: func(rest, text string) error {
			owner, name, _ := strings.Cut(rest, "_")
			inner := (*p)[owner]
			setKey(&inner, name, T(text))
			setKey(p, owner, inner)
			return nil
		},
	}
}

// setKey sets a key of a map that may not exist yet.
func setKey[V any](p *map[string]V, key string, v V) {
	if *p == nil {
		*p = map[string]V{}
	}
	(*p)[key] = v
}

// index finds the row of a name.
type index struct {
	rows  []Setting
	exact map[string]int
}

func newIndex(rows []Setting) index {
	x := index{rows: rows, exact: map[string]int{}}
	for i, row := range rows {
		if row.family != nil {
			continue
		}
		x.exact[row.Name] = i
		for _, alias := range row.Aliases {
			x.exact[alias] = i
		}
	}
	return x
}

// find returns the setting a variable gives directly: by its name, an alias, or
// as a member of a family.
func (x index) find(variable string) (name string, row int, ok bool) {
	if i, ok := x.exact[variable]; ok {
		return x.rows[i].Name, i, true
	}
	for i, row := range x.rows {
		if row.family != nil && row.family.hasMember(variable) {
			return variable, i, true
		}
	}
	return "", 0, false
}

// closed returns the family that owns every name with its prefix.
func (x index) closed(variable string) (row int, ok bool) {
	for i, row := range x.rows {
		if row.family == nil || !row.family.closed {
			continue
		}
		if _, ok := row.family.rest(variable); ok {
			return i, true
		}
	}
	return 0, false
}

// displayMember is shown for the member name of a family.
func (s Setting) displayMember(name, text string) string {
	if s.family == nil || text == "" {
		return s.display(text)
	}
	rest, _ := s.family.rest(name)
	switch {
	case s.isSecretMember(name):
		return mask
	case s.family.show != nil:
		return s.family.show(rest, text)
	}
	return text
}

// isSecretMember reports whether name, a member when s is a family, is secret.
func (s Setting) isSecretMember(name string) bool {
	if s.family == nil || s.family.secret == nil {
		return s.Secret()
	}
	rest, _ := s.family.rest(name)
	return s.family.secret(rest)
}
