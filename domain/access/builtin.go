package access

import "svc/domain"

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
	{who: owner, priority: 1000, rule: Rule{
		Action: Word(manage), Subject: List("workspaces", "automations", "pages", "apps", "files", "secrets", "collections"),
	}},
	{who: owner, priority: 1000, rule: Rule{Action: List("create", "read"), Subject: Word("events")}},
	{who: itself, priority: 1000, rule: Rule{Action: Word("execute"), Subject: Word("automations")}},
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

// Whom built-in rules bind besides roles.
const (
	everyone = "everyone"
	itself   = "workspace" // one that acts by itself
	secret   = "secret"    // denies all but super admins
	internal = "internal"  // denies super admins too
)

// readEvents is the right to read events with these values: name, value, ….
func readEvents(pairs ...any) Rule {
	conditions := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		conditions[pairs[i].(string)] = pairs[i+1]
	}
	return Rule{Action: Word("read"), Subject: Word("events"), Conditions: conditions}
}

// builtInFor makes the table ready for one workspace, or for "" for none, by
// whom the rules bind.
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
			all[row.who] = append(all[row.who], newRule(p, Ground{row.rule, builtInOrigin + row.who}, own, when, needs))
		}
	}
	return all
}
