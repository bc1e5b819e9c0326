package access

import (
	"maps"
	"slices"
	"strings"

	"svc/domain/match"
)

// What marks an event as emitted, by a user or an automation.
const (
	serviceTopic = "source.serviceTopic"
	emitted      = "topic:runtime:emit"
)

// reserved is how the names of secrets begin that are the platform's own.
const reserved = "^svc_"

// part is what a rule says about one subject. A rule about several is several
// parts, and creating events is a part of its own.
type part struct {
	subject int
	actions set
	scope   map[string]any // added to the conditions, over those of the same name
}

// parts takes a rule's words apart for one workspace. A subject that is named
// twice is one part, or a short rule could be thousands.
func parts(workspaceID string, actions, subjects []string) []part {
	var all []part
	var done set // of subjects
	for _, word := range subjects {
		for _, at := range subjectsOf(word) {
			if done&(1<<at) != 0 {
				continue
			}
			done |= 1 << at
			row := &vocabulary[at]
			wanted, split := row.each(actions), set(0)
			if row.name == "events" {
				split = wanted & row.of("create")
			}
			if wanted != split {
				all = append(all, part{at, wanted &^ split, map[string]any{row.scope: workspaceID}})
			}
			if split != 0 {
				all = append(all, part{at, split, map[string]any{row.scope: workspaceID, serviceTopic: emitted}})
			}
		}
	}
	return all
}

// conditions returns the conditions of a rule with the scope of a part. Secrets
// of the platform are left out too, unless the rule speaks of names already:
// nobody but super admins reaches them anyway, and what is there may be narrower.
func (p part) conditions(own map[string]any) map[string]any {
	all := maps.Clone(own)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, p.scope)
	if _, named := all["name"]; vocabulary[p.subject].name == "secrets" && !named {
		all["name"] = map[string]any{"$not": map[string]any{"$regex": reserved}}
	}
	return all
}

// narrow returns compiled conditions with the scope of a part, and whether
// they are more than the scope.
func (p part) narrow(own match.Condition) (all match.Condition, more bool) {
	for _, key := range slices.Sorted(maps.Keys(p.scope)) { // what is looked at first costs steps
		all = append(all, match.Test{Key: key, Path: strings.Split(key, "."), Operator: match.Equal, Operand: p.scope[key], Cost: 1})
	}
	for _, t := range own {
		if _, overridden := p.scope[t.Key]; !overridden {
			all, more = append(all, t), true
		}
	}
	return all, more
}
