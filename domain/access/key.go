package access

import (
	"fmt"
	"reflect"
	"slices"

	"svc/domain"
)

// KeyGrant is one line of what an API key is asked to hold.
type KeyGrant struct {
	Action     Words          `json:"action"`
	Subject    Words          `json:"subject"`
	Conditions map[string]any `json:"conditions,omitzero"`
}

// KeyRule is what an API key holds on one subject, as it is stored and shown:
// with the conditions that keep it in its workspace.
type KeyRule struct {
	Action     []string       `json:"action"`
	Subject    string         `json:"subject"`
	Conditions map[string]any `json:"conditions"`
}

// maxKeyRules is how many lines a key may be asked to hold.
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
	for i, g := range grants {
		at := fmt.Sprintf("rules[%d]", i)
		c.words(at, g.Action.All(), g.Subject.All())
		c.conditions(at+".conditions", g.Conditions)
		if len(c.faults) > 0 {
			continue
		}
		for _, p := range parts(workspaceID, g.Action.All(), g.Subject.All()) {
			rules = merge(rules, p.keyRule(g))
		}
	}
	return rules, c.err()
}

// keyRule returns a part of what was asked. Its words are kept where they say
// the same.
func (p part) keyRule(g KeyGrant) KeyRule {
	row := &vocabulary[p.subject]
	kept := KeyRule{Subject: row.name, Conditions: p.conditions(g.Conditions)}
	for _, word := range g.Action.All() {
		if actions := row.of(word); actions != 0 && actions&^p.actions == 0 && !slices.Contains(kept.Action, word) {
			kept.Action = append(kept.Action, word)
		}
	}
	if row.each(kept.Action) != p.actions {
		kept.Action = row.names(p.actions)
	}
	return kept
}

// merge adds a rule to those of the same subject and conditions.
func merge(rules []KeyRule, add KeyRule) []KeyRule {
	for i, r := range rules {
		if r.Subject != add.Subject || !reflect.DeepEqual(r.Conditions, add.Conditions) {
			continue
		}
		for _, word := range add.Action {
			if !slices.Contains(rules[i].Action, word) {
				rules[i].Action = append(rules[i].Action, word)
			}
		}
		return rules
	}
	return append(rules, add)
}

// Key is an API key made ready. It never changes and may be shared.
type Key struct {
	workspaceID string
	rules       []*rule
}

// CompileKey makes the stored rules of an API key ready. Wherever the rules
// come from, they end at the key's workspace.
func CompileKey(id, workspaceID string, rules []KeyRule) (*Key, error) {
	c, key := newCompiler(), &Key{workspaceID: workspaceID}
	for i, r := range rules {
		at := fmt.Sprintf("rules[%d]", i)
		c.words(at, r.Action, []string{r.Subject})
		when, needs := c.conditions(at+".conditions", r.Conditions)
		if len(c.faults) > 0 {
			return nil, c.err()
		}
		shown := Rule{Action: List(r.Action...), Subject: Word(r.Subject), Conditions: r.Conditions}
		for _, p := range parts(workspaceID, r.Action, []string{r.Subject}) {
			key.rules = append(key.rules, newRule(p, Ground{shown, "apiKey:" + id}, true, when, needs))
		}
	}
	return key, nil
}

// CheckGrant refuses API key rules, as ScopeKey returned them, that would grant
// what the caller does not hold. It asks for proof: a right that the caller has
// on some objects only can be granted with the same conditions or more.
func (r *Rights) CheckGrant(rules []KeyRule) error {
	for _, asked := range rules {
		at := subjectAt(asked.Subject)
		if at < 0 {
			return domain.Refuse(domain.CodeInternal, "access: a key rule about %q", asked.Subject)
		}
		row := &vocabulary[at]
		for _, action := range row.names(row.each(asked.Action)) {
			q := r.ask(action, asked.Subject, r.some(asked.Subject))
			if !r.holds(q, asked.Conditions) {
				return domain.Refuse(domain.CodePermissionDenied, "a key cannot hold what you do not: %s %s", action, asked.Subject).
					With("action", action).With("subject", asked.Subject)
			}
		}
	}
	return nil
}

// holds reports whether the caller surely has the right on all objects that
// meet conditions. A denial that binds everyone binds the key as well.
func (r *Rights) holds(q question, conditions map[string]any) bool {
	for i := len(r.rules) - 1; i >= 0; i-- {
		m := r.rules[i]
		switch {
		case !m.about(q) || m.denies && !m.own && m.needs == 0:
		case m.denies:
			return false
		case len(m.Fields) > 0 && q.action == vocabulary[q.subject].of("update"):
		case m.whole || m.needs == 0 && m.within(conditions):
			return true
		}
	}
	rest, ok := r.rest(q)
	return ok && r.allows(rest)
}

// within reports whether conditions ask for all that the rule asks for.
func (m *rule) within(conditions map[string]any) bool {
	for key, want := range m.Conditions {
		_, scoped := m.scope[key]
		if given, there := conditions[key]; !scoped && (!there || !reflect.DeepEqual(given, want)) {
			return false
		}
	}
	return true
}
