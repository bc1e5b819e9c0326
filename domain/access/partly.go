package access

// Partly is an object of which some fields are known, and of the others not even whether
// they are there. A value in it may be a Partly, too.
type Partly map[string]any

// Absent is the value in a Partly of a field that is known not to be there.
var Absent any = missing{}

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

// dim reports whether it is not known, or not wholly, what a value is.
func dim(v any) bool {
	switch v.(type) {
	case unknown, Partly:
		return true
	}
	return false
}

// Foresee decides about all objects at once that are as known says. When it is sure,
// Allows says the same of each of them, unless that takes too many steps; when it is not,
// each has to be looked at. It is never sure where another right decides in the end, and
// knows nothing of objects that are shared by themselves.
func (r *Rights) Foresee(action, subject string, known Partly) (allowed, sure bool) {
	q, s := r.ask(action, subject, known), r.look()
	var allowsSome, deniesSome bool
	for i := len(r.rules) - 1; i >= 0; i-- {
		m := r.rules[i]
		if !m.about(q) {
			continue
		}
		found := m.when.holds(q.object, &s)
		if len(m.Fields) > 0 {
			found = min(found, unsure)
		}
		switch {
		case found == yes && m.denies:
			return false, !allowsSome
		case found == yes:
			return true, !deniesSome
		case found == unsure:
			allowsSome, deniesSome = allowsSome || !m.denies, deniesSome || m.denies
		}
	}
	return false, !allowsSome && !vocabulary[q.subject].rests
}
