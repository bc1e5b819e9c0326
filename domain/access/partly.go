package access

import "svc/domain/match"

// Partly is an object of which some fields are known, and of the others not even whether
// they are there. A value in it may be a Partly, too.
type Partly map[string]any

// Absent is the value in a Partly of a field that is known not to be there.
var Absent = match.Absent

// unknown is the value of a field that nothing is known of.
type unknown struct{}

// Field implements Object.
func (p Partly) Field(name string) (any, bool) {
	v, ok := p[name]
	if !ok {
		return unknown{}, true
	}
	return v, v != Absent
}

// IsUncertain implements match.Uncertain.
func (unknown) IsUncertain() {}

// IsUncertain implements match.Uncertain.
func (Partly) IsUncertain() {}

// Foresee decides about all objects at once that are as known says. When it is sure,
// Allows says the same of each of them, unless that takes too many steps; when it is not,
// each has to be looked at. It is never sure where another right decides in the end, and
// knows nothing of objects that are shared by themselves.
func (r *Rights) Foresee(action, subject string, known Partly) (allowed, sure bool) {
	q, e := r.ask(action, subject, known), r.newEvaluation()
	defer e.release()
	var allowsSome, deniesSome bool
	for i := len(r.rules) - 1; i >= 0; i-- {
		m := r.rules[i]
		if !m.about(q) {
			continue
		}
		found := e.holds(m.when, q.object)
		if len(m.Fields) > 0 {
			found = min(found, match.Unknown)
		}
		switch {
		case found == match.Yes && m.denies:
			return false, !allowsSome
		case found == match.Yes:
			return true, !deniesSome
		case found == match.Unknown:
			allowsSome, deniesSome = allowsSome || !m.denies, deniesSome || m.denies
		}
	}
	return false, !allowsSome && !vocabulary[q.subject].rests
}
