package settings

import "strings"

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

// marks are the yes-or-no properties of a setting.
type marks uint8

const (
	live        marks = 1 << iota // re-read on SIGHUP
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

	marks  marks
	value  value
	family *family                // nil for a plain setting
	derive func(*defaults) string // computes a default that Default only describes
}

// Live reports whether the setting is re-read while the process runs.
func (s Setting) Live() bool { return s.marks&live != 0 }

// Secret reports whether the value must never be shown.
func (s Setting) Secret() bool { return s.marks&(secret|apiKey) != 0 }

// PerNode reports whether the nodes of a cluster may differ in it.
func (s Setting) PerNode() bool { return s.marks&perNode != 0 }

// Family reports whether the name holds placeholders.
func (s Setting) Family() bool { return s.family != nil }

// Type names the kind of value, such as "duration".
func (s Setting) Type() string { return s.value.kind }

// Expected says what values are accepted, bounds included.
func (s Setting) Expected() string { return s.value.expect }

// plainDefault returns the default that is parsed like a given value, "" when
// there is none or when it is derived.
func (s Setting) plainDefault() string {
	if s.derive != nil || s.Default == "-" {
		return ""
	}
	return s.Default
}

// shown returns text as an operator may see it.
func (s Setting) shown(text string) string {
	switch {
	case text == "":
		return ""
	case s.marks&apiKey != 0:
		return maskKey(text)
	case s.marks&secret != 0:
		return mask
	case s.marks&document != 0 && strings.HasPrefix(strings.TrimSpace(text), "{"):
		return mask // written in place, so it may hold client secrets
	case s.value.show != nil:
		return s.value.show(text)
	}
	return text
}
