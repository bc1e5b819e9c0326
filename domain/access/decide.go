package access

import (
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/match"
)

// Decision says whether something is allowed, and why.
type Decision struct {
	Allowed bool          `json:"allowed"`
	Rule    *Rule         `json:"rule,omitempty"` // the one that decided
	Origin  string        `json:"origin"`         // where it comes from; "none" when no rule matched
	Rules   []MatchedRule `json:"rules"`          // all that matched; the last one decided
}

// question is one action on one object.
type question struct {
	subject int
	action  set
	object  Object
	field   string // of an update; "" for the object as such
}

// newQuestion resolves the names of an action and a subject. A question with an unknown word has no action, which
// no rule matches.
func (r *Rights) newQuestion(action, subject string, o Object) question {
	q := question{subject: subjectIndex(subject), object: o}
	if q.subject < 0 || action == manage {
		return question{}
	}
	q.action = vocabulary[q.subject].actionsOf(action)
	if o == nil && q.subject == 0 {
		q.object = &r.self
	}
	return q
}

// Allows reports whether the caller may do this to o. For an update, fields names the
// top-level fields that change; without any the question is whether something may change.
// A nil o is the workspace itself.
func (r *Rights) Allows(action, subject string, o Object, fields ...string) bool {
	q, e := r.newQuestion(action, subject, o), r.newEvaluation()
	defer e.release()
	if len(fields) == 0 {
		return r.allows(q, e)
	}
	for _, q.field = range fields {
		if !r.allows(q, e) {
			return false
		}
	}
	return true
}

func (r *Rights) allows(q question, s *evaluation) bool {
	allowed := false
	r.eachMatch(q, s, func(m *rule) bool {
		allowed = !m.denies
		return false
	})
	return allowed
}

// May is Allows with its reasons. Of several fields, the first that may not
// change is explained.
func (r *Rights) May(action, subject string, o Object, fields ...string) Decision {
	e := r.newEvaluation()
	defer e.release()
	q := r.decisiveQuestion(r.newQuestion(action, subject, o), fields, e)
	d := Decision{Origin: "none", Rules: []MatchedRule{}}
	r.eachMatch(q, e, func(m *rule) bool {
		if len(d.Rules) == 0 {
			d.Allowed, d.Rule, d.Origin = !m.denies, &m.Rule, m.Origin
		}
		d.Rules = append(d.Rules, m.MatchedRule)
		return true
	})
	slices.Reverse(d.Rules)
	return d
}

// decisiveQuestion returns the question about the first field that may not change, or about the
// first of all. e has the budget that was left when it was asked.
func (r *Rights) decisiveQuestion(q question, fields []string, e *evaluation) question {
	for _, q.field = range fields {
		left := e.left
		if !r.allows(q, e) {
			e.left = left
			return q
		}
	}
	if len(fields) > 0 {
		q.field = fields[0]
	}
	e.left = maxSteps
	return q
}

// Check is Allows as an error: nil, or the refusal for the caller.
func (r *Rights) Check(action, subject string, o Object, fields ...string) error {
	if r.Allows(action, subject, o, fields...) {
		return nil
	}
	d := r.May(action, subject, o, fields...)
	return r.refusal(action, subject, d.Rule, d.Origin)
}

// Refusal is the error for a caller without the right: it names the missing right, and the
// reason of the rule that denies it, or, when they are not in the workspace, says the same as
// for a workspace that does not exist.
func (r *Rights) Refusal(action, subject string) error {
	q := r.newQuestion(action, subject, nil)
	for _, m := range slices.Backward(r.rules) {
		if m != nil && m.subject == q.subject && m.actions&q.action != 0 && m.whole && len(m.Fields) == 0 { // it decides for every object
			return r.refusal(action, subject, &m.Rule, m.Origin)
		}
	}
	return r.refusal(action, subject, nil, "")
}

// refusal is the error for a caller whom a rule denies something; nil: no rule allows it.
func (r *Rights) refusal(action, subject string, by *Rule, origin string) error {
	if !r.IsMember() {
		return domain.Refuse(domain.CodeWorkspaceDenied, "you have no access to this workspace")
	}
	refusal := domain.Refuse(domain.CodePermissionDenied, "you lack permission to %s %s", action, subject).
		With("action", action).With("subject", subject)
	if by == nil || !by.denies() || by.Reason == "" || strings.HasPrefix(origin, builtInOrigin) {
		return refusal
	}
	refusal.Message += ": " + by.Reason
	return refusal.With("ruleReason", by.Reason)
}

// eachMatch yields the rules that match, the decisive one first, until yield returns
// false. Where none does, those that match the question behind it.
func (r *Rights) eachMatch(q question, s *evaluation, yield func(*rule) bool) {
	shared, _ := q.object.(Shared)
	r = r.withShares(shared.Shares)
	found := false
	next := func(m *rule) bool {
		if m == nil || !m.matches(q, s) {
			return true
		}
		found = true
		return yield(m)
	}
	for i := len(r.rules) - 1; i >= 0; i-- {
		if !next(r.rules[i]) {
			return
		}
	}
	for _, share := range shared.Shares {
		if !next(r.forLender(share.rule(q.subject, r))) {
			return
		}
	}
	if rest, ok := r.fallbackQuestion(q); ok && !found {
		r.eachMatch(rest, s, yield)
	}
}

// fallbackQuestion returns the question that decides where no rule matches: reading or
// updating the workspace, for what belongs to it and is its configuration. An
// update limited to fields must name the subject.
func (r *Rights) fallbackQuestion(q question) (question, bool) {
	row := &vocabulary[q.subject]
	if !row.rests || !r.isInWorkspace(q) {
		return q, false
	}
	whole := &vocabulary[0]
	switch q.action {
	case row.actionsOf("read"):
		return question{action: whole.actionsOf("read"), object: &r.self}, true
	case row.actionsOf("create"), row.actionsOf("update"), row.actionsOf("delete"):
		return question{action: whole.actionsOf("update"), object: &r.self, field: row.name}, true
	}
	return q, false
}

// isInWorkspace reports whether the object is one of this workspace.
func (r *Rights) isInWorkspace(q question) bool {
	if q.object == nil {
		return false
	}
	id, ok := q.object.Field(vocabulary[q.subject].scope)
	return ok && id == r.self.id
}

// matches reports whether the rule applies to the question. An unknown result counts
// against the caller.
func (m *rule) matches(q question, s *evaluation) bool {
	if m.subject != q.subject || m.actions&q.action == 0 {
		return false
	}
	if len(m.Fields) > 0 && q.action == vocabulary[q.subject].actionsOf("update") && !m.coversField(q.field) {
		return false
	}
	if _, self := q.object.(*workspaceObject); self && m.whole {
		return true // the workspace is in its own scope
	}
	switch s.matches(m.when, q.object) {
	case match.Yes:
		return true
	case match.Unknown:
		return m.denies
	}
	return false
}

// coversField reports whether a rule limited to fields applies to one of them. For the
// object as such it says that something may change, never that nothing may.
func (m *rule) coversField(field string) bool {
	if field == "" {
		return !m.denies
	}
	return slices.Contains(m.Fields, field)
}

// Filter returns Allows for many objects of one subject: what it can decide for
// all of them it decides first.
func (r *Rights) Filter(action, subject string) func(Object) bool {
	q := r.newQuestion(action, subject, nil)
	narrow := *r
	narrow.rules = slices.DeleteFunc(slices.Clone(r.rules), func(m *rule) bool {
		return !m.appliesTo(q) && (m.subject != 0 || !vocabulary[q.subject].rests)
	})
	last := len(narrow.rules) - 1
	switch {
	case q.action == 0:
		return func(Object) bool { return false }
	case last >= 0 && narrow.rules[last].appliesTo(q) && len(narrow.rules[last].when) == 0:
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

// Always reports whether the caller may do this to every object of the workspace, whatever
// its content, the fields that change and its shares, so that no object has to be checked.
// Where Always is false, Allows can be true. Objects that are hidden from everyone do not
// count: they are never shown.
func (r *Rights) Always(action, subject string) bool {
	q := r.newQuestion(action, subject, nil)
	for i := len(r.rules) - 1; i >= 0; i-- {
		if m := r.rules[i]; m.appliesTo(q) && m.Origin != builtInOrigin+internal {
			return !m.denies && m.whole && len(m.Fields) == 0 && !r.couldDeny(q, m.priority())
		}
	}
	return false
}

// IsStable reports whether Allows decides the same about the same object each time. It does not where a rule asks for the
// topics that the caller has joined. Conditions on the workspace do not count.
func (r *Rights) IsStable(action, subject string) bool {
	q := r.newQuestion(action, subject, nil)
	asksForTopics := func(m *rule) bool { return m != nil && m.appliesTo(q) && m.needs&(1<<topicsPlaceholder) != 0 }
	return !slices.ContainsFunc(r.rules, asksForTopics) && !slices.ContainsFunc(r.workspace.Policy.rules, asksForTopics)
}

// couldDeny reports whether a rule of the document denies some of what is asked
// from a priority on, also one of a role that only the sharing of an object would
// give the caller.
func (r *Rights) couldDeny(q question, priority int) bool {
	return slices.ContainsFunc(r.workspace.Policy.rules, func(m *rule) bool {
		return m.denies && m.appliesTo(q) && m.priority() >= priority
	})
}

// appliesTo reports whether the rule is about the action on the subject.
func (m *rule) appliesTo(q question) bool { return m.subject == q.subject && m.actions&q.action != 0 }

// Could reports whether some object of the workspace might be allowed, before any is
// checked. Shares of single objects are not known here: a page may be allowed where Could
// is false.
func (r *Rights) Could(action, subject string) bool {
	q := r.newQuestion(action, subject, r.anyObject(subject))
	return r.could(q, false)
}

// could looks for a rule that allows and is not overruled for all objects. With own, only rules count that apply to
// the caller in particular, not to everyone.
func (r *Rights) could(q question, own bool) bool {
	for i := len(r.rules) - 1; i >= 0; i-- {
		m := r.rules[i]
		switch {
		case !m.appliesTo(q):
		case m.denies && m.whole && len(m.Fields) == 0:
			return false
		case !m.denies && (m.own || !own):
			return true
		}
	}
	if rest, ok := r.fallbackQuestion(q); ok && !own {
		e := r.newEvaluation()
		defer e.release()
		return r.allows(rest, e)
	}
	return false
}

// anyObject is an object of the workspace of which nothing else is known.
func (r *Rights) anyObject(subject string) Object {
	switch at := subjectIndex(subject); {
	case at <= 0:
		return nil
	case subject == "events":
		return Fields{"source": map[string]any{"workspaceId": r.self.id}}
	default:
		return Fields{vocabulary[at].scope: r.self.id}
	}
}

// IsMember reports whether the caller is in the workspace: whether they may read it,
// or have a right there that is not everyone's.
func (r *Rights) IsMember() bool {
	if r.Allows("read", "workspaces", nil) {
		return true
	}
	if !slices.ContainsFunc(r.rules, func(m *rule) bool { return m.own && !m.denies }) {
		return false // the usual case: visitors
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

// Need is a text that an object must have at a path: one of Any.
type Need struct {
	Path string
	Any  []string
}

// Needs returns the texts that an object must have so that the caller may do this to it at all: everything of one of
// the alternatives. A search skips all other objects without reading them. bounded is false when there is a rule that
// allows all objects, whatever is in them.
func (r *Rights) Needs(action, subject string) (alternatives [][]Need, bounded bool) {
	q := r.newQuestion(action, subject, nil)
	if q.action == 0 || vocabulary[q.subject].rests {
		return nil, q.action == 0
	}
	for _, m := range r.rules {
		if !m.appliesTo(q) || m.denies {
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
