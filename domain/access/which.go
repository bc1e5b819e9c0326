package access

import "slices"

// Filter returns Allows for many objects of one subject: what it can decide for
// all of them it decides first.
func (r *Rights) Filter(action, subject string) func(Object) bool {
	q := r.ask(action, subject, nil)
	narrow := *r
	narrow.rules = slices.DeleteFunc(slices.Clone(r.rules), func(m *rule) bool {
		return !m.about(q) && (m.subject != 0 || !vocabulary[q.subject].rests)
	})
	last := len(narrow.rules) - 1
	switch {
	case q.action == 0:
		return func(Object) bool { return false }
	case last >= 0 && narrow.rules[last].about(q) && len(narrow.rules[last].when) == 0:
		allowed := !narrow.rules[last].denies
		return func(Object) bool { return allowed }
	}
	return func(o Object) bool {
		asked := q
		if o != nil {
			asked.object = o
		}
		e := narrow.newEvaluation()
		defer e.release()
		return narrow.allows(asked, e)
	}
}

// Always reports whether the caller surely may do this to every object of the
// workspace, whatever it says, whichever of its fields change and whomever it is
// shared with: nobody needs to look at it then. Where Always says no, Allows may say
// yes. Objects that are kept from everybody do not count: nobody is shown them anywhere.
func (r *Rights) Always(action, subject string) bool {
	q := r.ask(action, subject, nil)
	for i := len(r.rules) - 1; i >= 0; i-- {
		if m := r.rules[i]; m.about(q) && m.Origin != builtInOrigin+internal {
			return !m.denies && m.whole && len(m.Fields) == 0 && !r.couldDeny(q, m.standing())
		}
	}
	return false
}

// couldDeny reports whether a rule of the document denies some of what is asked
// from a priority on, also one of a role that only the sharing of an object would
// give the caller.
func (r *Rights) couldDeny(q question, priority int) bool {
	return slices.ContainsFunc(r.workspace.Policy.rules, func(m *rule) bool {
		return m.denies && m.about(q) && m.standing() >= priority
	})
}

// about reports whether the rule speaks of the action on the subject at all.
func (m *rule) about(q question) bool { return m.subject == q.subject && m.actions&q.action != 0 }

// Could reports whether some object of the workspace might be allowed, before
// any is looked at. Objects with shares of their own are not known here: a page
// may be allowed where Could says no.
func (r *Rights) Could(action, subject string) bool {
	q := r.ask(action, subject, r.some(subject))
	return r.could(q, false)
}

// could looks for a rule that allows and is not overruled for all objects. With
// own, only rules count that bind the caller in particular.
func (r *Rights) could(q question, own bool) bool {
	for i := len(r.rules) - 1; i >= 0; i-- {
		m := r.rules[i]
		switch {
		case !m.about(q):
		case m.denies && m.whole && len(m.Fields) == 0:
			return false
		case !m.denies && (m.own || !own):
			return true
		}
	}
	if rest, ok := r.rest(q); ok && !own {
		e := r.newEvaluation()
		defer e.release()
		return r.allows(rest, e)
	}
	return false
}

// some is an object of the workspace of which nothing else is known.
func (r *Rights) some(subject string) Object {
	switch at := subjectAt(subject); {
	case at <= 0:
		return nil
	case subject == "events":
		return Fields{"source": map[string]any{"workspaceId": r.self.id}}
	default:
		return Fields{vocabulary[at].scope: r.self.id}
	}
}

// Any reports whether the caller is in the workspace: whether they may read it,
// or have a right there that is not everyone's.
func (r *Rights) Any() bool {
	if r.Allows("read", "workspaces", nil) {
		return true
	}
	for i := range vocabulary {
		for action := range vocabulary[i].actions {
			if r.could(question{subject: i, action: 1 << action}, true) {
				return true
			}
		}
	}
	return false
}

// Can lists the actions that the caller could do to some object of a subject.
func (r *Rights) Can(subject string) []string {
	return slices.DeleteFunc(Actions(subject), func(action string) bool { return !r.Could(action, subject) })
}
