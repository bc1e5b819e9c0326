package access

import (
	"slices"

	"svc/domain"
)

// builtIn is the table of the rights that no document can change. Everyone's and
// editor's come before all rules of documents, the others after them.
var builtIn = []struct {
	who        string
	priority   int  // 0: none
	everywhere bool // not limited to objects of the workspace
	elsewhere  bool // not in the platform workspace
	rule       Rule
}{
	{who: everyone, everywhere: true, rule: Rule{Action: Word("create"), Subject: Word("workspaces")}},
	{who: everyone, everywhere: true, rule: Rule{Action: Word("read"), Subject: Word("apps")}},
	{who: everyone, elsewhere: true, rule: Rule{
		Action: Word("execute"), Subject: Word("automations"),
		Conditions: map[string]any{"authorizations.action": nil},
	}},
	{who: everyone, rule: readEvents(serviceTopic, emitted, "source.userId", "{{user.id}}")},
	{who: everyone, rule: readEvents(serviceTopic, emitted, "source.sessionId", "{{session.id}}")},
	{who: everyone, rule: readEvents("target.userId", "{{user.id}}")},
	{who: everyone, rule: readEvents("target.sessionId", "{{session.id}}")},
	{who: everyone, rule: readEvents("target.userTopic", map[string]any{"$in": "{{user.topics}}"})},
	{who: editor, rule: Rule{Action: List("execute", "test"), Subject: Word("automations")}},
	{who: editor, rule: Rule{Action: List("read", "create", "update", "delete"), Subject: Word("collections")}},
	{who: editor, rule: Rule{Action: Word("execute"), Subject: Word("agents")}},
	{who: owner, priority: 1000, rule: Rule{
		Action: Word(manage), Subject: List("workspaces", "automations", "pages", "apps", "files", "secrets", "collections", "knowledgeBases", "documents", "agents"),
	}},
	{who: owner, priority: 1000, rule: Rule{Action: List("create", "read"), Subject: Word("events")}},
	{who: actingWorkspace, priority: 1000, rule: Rule{Action: Word("execute"), Subject: Word("automations")}},
	{who: secret, priority: 1500, everywhere: true, rule: Rule{
		Action: Word(manage), Subject: Word("secrets"), Inverted: new(true),
		Conditions: map[string]any{"name": map[string]any{"$regex": reserved}},
		Reason:     "reserved for super admins",
	}},
	{who: superadmin, priority: 1999, everywhere: true, rule: Rule{Action: Word(manage), Subject: Word(everything)}},
	{who: internal, priority: 2000, everywhere: true, rule: Rule{
		Action: Word("read"), Subject: Word("events"), Inverted: new(true),
		Conditions: map[string]any{"type": "runtime.contexts.updated"},
		Reason:     "internal",
	}},
}

// builtInOrigin begins the origin of built-in rules.
const builtInOrigin = "builtIn:"

// The groups of callers, besides roles, that built-in rules apply to.
const (
	everyone        = "everyone"
	actingWorkspace = "workspace" // one that acts by itself
	secret          = "secret"    // denies all but super admins
	internal        = "internal"  // denies super admins too
)

// readEvents is the right to read events with these values: name, value, ….
func readEvents(pairs ...any) Rule {
	conditions := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		conditions[pairs[i].(string)] = pairs[i+1]
	}
	return Rule{Action: Word("read"), Subject: Word("events"), Conditions: conditions}
}

// builtInFor returns the built-in rules for one workspace, or for none (""), by the role
// they apply to.
func builtInFor(workspaceID string) map[string][]*rule {
	c, all := newCompiler(), map[string][]*rule{}
	for _, row := range builtIn {
		if row.elsewhere && workspaceID == domain.Platform || !row.everywhere && workspaceID == "" {
			continue
		}
		when, needs := c.conditions("", row.rule.Conditions)
		if row.priority > 0 {
			row.rule.Priority = &row.priority
		}
		for _, p := range parts(workspaceID, row.rule.Action.All(), row.rule.Subject.All()) {
			if row.everywhere {
				p.scope = nil
			}
			own := row.who != everyone && !row.rule.denies()
			all[row.who] = append(all[row.who], newRule(p, MatchedRule{row.rule, builtInOrigin + row.who}, own, when, needs))
		}
	}
	return all
}

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
	{name: "knowledgeBases", scope: "workspaceId", rests: true, actions: []string{
		"create", "read", "update", "delete", "manage_permissions",
	}},
	{name: "documents", scope: "workspaceId", actions: []string{"create", "read", "update", "delete"}},
	{name: "agents", scope: "workspaceId", rests: true, actions: []string{
		"create", "read", "update", "delete", "execute", "manage_permissions",
	}},
}

// Subjects lists the subjects of rights, without "all".
func Subjects() []string {
	names := make([]string, len(vocabulary))
	for i, s := range vocabulary {
		names[i] = s.name
	}
	return names
}

// Actions lists the actions on a subject, without "manage"; nil for an unknown subject.
func Actions(subject string) []string {
	if i := subjectIndex(subject); i >= 0 {
		return slices.Clone(vocabulary[i].actions)
	}
	return nil
}

// set holds actions of one subject: bit i is its i-th action.
type set uint16

// subjectIndex returns the row of a subject, or -1.
func subjectIndex(name string) int {
	for i := range vocabulary {
		if vocabulary[i].name == name {
			return i
		}
	}
	return -1
}

// subjectsOf returns the rows of a word of a rule.
func subjectsOf(word string) []int {
	if word != everything {
		return []int{subjectIndex(word)}
	}
	rows := make([]int, len(vocabulary))
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// actionsOf returns the actions of s that a word means: none when it has no effect there.
func (s *subject) actionsOf(word string) set {
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

// unionOf returns the union of the actions of words.
func (s *subject) unionOf(words []string) (actions set) {
	for _, w := range words {
		actions |= s.actionsOf(w)
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
