package access

import (
	"encoding/json"
	"fmt"
	"slices"
)

// KeyGrant is one right that is requested for an API key.
type KeyGrant struct {
	Action     Words          `json:"action"`
	Subject    Words          `json:"subject"`
	Conditions map[string]any `json:"conditions,omitzero"`
}

// KeyRule is the right of an API key on one subject, as it is stored and shown:
// with the conditions that keep it in its workspace.
type KeyRule struct {
	Action     []string       `json:"action"`
	Subject    string         `json:"subject"`
	Conditions map[string]any `json:"conditions"`
}

// maxKeyRules is the highest number of rights in a request for a key.
const maxKeyRules = 100

// ScopeKey returns the rules of an API key for what was asked: one per subject
// and set of conditions. What it returned may be asked again.
func ScopeKey(workspaceID string, grants []KeyGrant) ([]KeyRule, error) {
	c := newCompiler()
	if len(grants) == 0 || len(grants) > maxKeyRules {
		c.fault("rules", "must be 1 to %d rules", maxKeyRules)
		return nil, c.err()
	}
	var rules []KeyRule
	seen := map[string]int{}
	for i, g := range grants {
		at := fmt.Sprintf("rules[%d]", i)
		c.words(at, g.Action.All(), g.Subject.All())
		c.conditions(at+".conditions", g.Conditions)
		if len(c.faults) > 0 {
			continue
		}
		for _, p := range parts(workspaceID, g.Action.All(), g.Subject.All()) {
			rules = mergeKeyRule(rules, seen, p.keyRule(g))
		}
	}
	return rules, c.err()
}

// keyRule returns a part of what was asked. Its words are kept where they say
// the same.
func (p part) keyRule(g KeyGrant) KeyRule {
	row := &vocabulary[p.subject]
	stored := KeyRule{Subject: row.name, Conditions: p.conditions(g.Conditions)}
	for _, word := range g.Action.All() {
		if actions := row.actionsOf(word); actions != 0 && actions&^p.actions == 0 && !slices.Contains(stored.Action, word) {
			stored.Action = append(stored.Action, word)
		}
	}
	if row.unionOf(stored.Action) != p.actions {
		stored.Action = row.names(p.actions)
	}
	return stored
}

// mergeKeyRule adds a rule to the one of the same subject and conditions. Those seen
// are known by their text: comparing each with each would cost too much.
func mergeKeyRule(rules []KeyRule, seen map[string]int, add KeyRule) []KeyRule {
	written, err := json.Marshal(add.Conditions)
	if err != nil { // without a text it equals no other one
		return append(rules, add)
	}
	name := add.Subject + string(written)
	i, exists := seen[name]
	if !exists {
		seen[name] = len(rules)
		return append(rules, add)
	}
	for _, word := range add.Action {
		if !slices.Contains(rules[i].Action, word) {
			rules[i].Action = append(rules[i].Action, word)
		}
	}
	return rules
}

// Key is a compiled API key. It never changes and may be shared.
type Key struct {
	workspaceID string
	rules       []*rule
}

// WorkspaceID is the workspace in which the key gives rights.
func (k *Key) WorkspaceID() string { return k.workspaceID }

// bound returns the rules of the key that apply to the caller who sent it.
func (k *Key) bound(r *Rights) []*rule {
	return slices.DeleteFunc(slices.Clone(k.rules), func(m *rule) bool { return m.needs&^r.bound.filled != 0 })
}

// CompileKey compiles the stored rules of an API key. Wherever the rules come from, they are limited to the key's
// workspace.
func CompileKey(id, workspaceID string, rules []KeyRule) (*Key, error) {
	c, key := newCompiler(), &Key{workspaceID: workspaceID}
	for i, r := range rules {
		at := fmt.Sprintf("rules[%d]", i)
		c.words(at, r.Action, []string{r.Subject})
		when, needs := c.conditions(at+".conditions", r.Conditions)
		if len(c.faults) > 0 {
			return nil, c.err()
		}
		listed := Rule{Action: List(r.Action...), Subject: Word(r.Subject), Conditions: r.Conditions}
		for _, p := range parts(workspaceID, r.Action, []string{r.Subject}) {
			key.rules = append(key.rules, newRule(p, MatchedRule{listed, "apiKey:" + id}, true, when, needs))
		}
	}
	return key, nil
}
