package access

import "slices"

// The words with a meaning of their own.
const (
	manage     = "manage"     // every action of a subject
	everything = "all"        // every subject
	owner      = "owner"      // built-in role, by sharing only
	editor     = "editor"     // built-in role, there in every document
	superadmin = "superadmin" // built-in, never by sharing
)

// subject is a row of the vocabulary.
type subject struct {
	name    string
	actions []string
	scope   string // the field of an object that holds its workspace's id
	rests   bool   // where no rule matches, a right on the workspace decides
}

// vocabulary is the table of the contract: subjects and the actions that have
// an effect on them.
var vocabulary = []subject{
	{name: "workspaces", scope: "id", actions: []string{
		"create", "read", "update", "delete", "manage_permissions", "manage_security",
		"manage_repositories", "get_usage", "aggregate_search",
	}},
	{name: "automations", scope: "runningWorkspaceId", rests: true, actions: []string{
		"create", "read", "update", "delete", "execute", "test",
	}},
	{name: "pages", scope: "workspaceId", rests: true, actions: []string{
		"create", "read", "update", "delete", "manage_permissions",
	}},
	{name: "apps", scope: "workspaceId", actions: []string{"create", "read", "update", "delete"}},
	{name: "files", scope: "workspaceId", actions: []string{"create", "read", "update", "delete"}},
	{name: "events", scope: "source.workspaceId", actions: []string{"create", "read"}},
	{name: "secrets", scope: "workspaceId", actions: []string{"create", "read", "update", "delete"}},
	{name: "collections", scope: "workspaceId", actions: []string{"create", "read", "update", "delete"}},
}

// Subjects lists what rights can be about, without "all".
func Subjects() []string {
	names := make([]string, len(vocabulary))
	for i, s := range vocabulary {
		names[i] = s.name
	}
	return names
}

// Actions lists what can be done to a subject, without "manage"; nil for an
// unknown one.
func Actions(subject string) []string {
	if i := subjectAt(subject); i >= 0 {
		return slices.Clone(vocabulary[i].actions)
	}
	return nil
}

// set holds actions of one subject: bit i is its i-th action.
type set uint16

// subjectAt returns the row of a subject, or -1.
func subjectAt(name string) int {
	for i := range vocabulary {
		if vocabulary[i].name == name {
			return i
		}
	}
	return -1
}

// subjectsOf returns the rows that a word of a rule stands for.
func subjectsOf(word string) []int {
	if word != everything {
		return []int{subjectAt(word)}
	}
	rows := make([]int, len(vocabulary))
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// of returns the actions of s that a word stands for: none when it has no
// effect there.
func (s *subject) of(word string) set {
	if word == manage {
		return 1<<len(s.actions) - 1
	}
	for i, name := range s.actions {
		if name == word {
			return 1 << i
		}
	}
	return 0
}

// each returns the union of what words stand for.
func (s *subject) each(words []string) (actions set) {
	for _, w := range words {
		actions |= s.of(w)
	}
	return actions
}

// names lists the actions of a set in the order of the vocabulary.
func (s *subject) names(actions set) []string {
	var names []string
	for i, name := range s.actions {
		if actions&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
