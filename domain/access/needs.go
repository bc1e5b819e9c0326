package access

import (
	"strings"

	"svc/domain/match"
)

// Need is a text that an object must have at a path: one of Any.
type Need struct {
	Path string
	Any  []string
}

// Needs returns what objects must say so that the caller may do this to them at all:
// everything of one of the alternatives. Who searches many objects leaves the others
// out without looking at them. bounded is false when there is a rule that allows
// objects whatever they say.
func (r *Rights) Needs(action, subject string) (alternatives [][]Need, bounded bool) {
	q := r.ask(action, subject, nil)
	if q.action == 0 || vocabulary[q.subject].rests {
		return nil, q.action == 0
	}
	for _, m := range r.rules {
		if !m.about(q) || m.denies {
			continue
		}
		needs := r.needs(m.when)
		if len(needs) == 0 {
			return nil, false
		}
		alternatives = append(alternatives, needs)
	}
	return alternatives, true
}

func (r *Rights) needs(when match.Condition) (needs []Need) {
	for i := range when {
		t := &when[i]
		if t.Not || t.Operator != match.Equal && t.Operator != match.In {
			continue
		}
		if texts, ok := r.texts(t.Operand); ok {
			needs = append(needs, Need{strings.Join(t.Path, "."), texts})
		}
	}
	return needs
}

// texts returns the texts of an operand; ok is false when it has anything else.
func (r *Rights) texts(arg any) (all []string, ok bool) {
	switch arg := r.bound.fill(arg).(type) {
	case string:
		return []string{arg}, true
	case []string:
		return arg, true
	case []any:
		for _, item := range arg {
			texts, ok := r.texts(item)
			if !ok {
				return nil, false
			}
			all = append(all, texts...)
		}
		return all, true
	}
	return nil, false
}
