package access

import (
	"maps"
	"reflect"
	"slices"

	"svc/domain"
)

// claim is a right that somebody wants to hand on, and how high it will stand
// with its new holder: denials above it bind them, denials below do not.
type claim struct {
	KeyRule
	priority int
}

// CheckGrant refuses API key rules, as ScopeKey returned them, that would grant
// what the caller does not hold. It asks for proof: a right that the caller has
// on some objects only can be granted with the same conditions or more.
func (r *Rights) CheckGrant(rules []KeyRule) error {
	claims := make([]claim, len(rules))
	for i, asked := range rules {
		if subjectAt(asked.Subject) < 0 {
			return domain.Refuse(domain.CodeInternal, "access: a key rule about %q", asked.Subject)
		}
		claims[i].KeyRule = asked
	}
	return r.prove("a key cannot hold what you do not", claims)
}

// CheckShare refuses an entry that would share what the caller does not hold:
// its policies on the workspace, and what its role comes with. Owners and super
// admins share everything, and only they make owners. Whether the entry is one
// at all is for Policy.CheckShare to say.
func (r *Rights) CheckShare(s Share) error {
	const refusal = "you cannot share what you do not hold"
	switch {
	case r.reigns():
		return nil
	case s.Permissions.Role == owner:
		return notHeld(refusal, manage, vocabulary[0].name)
	}
	return r.prove(refusal, append(r.policyClaims(s), r.roleClaims(s.Permissions.Role)...))
}

// CheckUnshare refuses to change or remove an owner's entry, unless the caller
// is an owner or a super admin, or it is their own.
func (r *Rights) CheckUnshare(present Share) error {
	self := present.Target.ID != "" && present.Target.ID == r.who.UserID
	if present.Permissions.Role != owner || self || r.reigns() {
		return nil
	}
	return notHeld("only owners change what an owner has", manage, vocabulary[0].name)
}

// reigns reports whether the caller is an owner or a super admin.
func (r *Rights) reigns() bool { return r.who.Super || slices.Contains(r.roles, owner) }

// policyClaims lists what the policies of an entry grant on the workspace.
func (r *Rights) policyClaims(s Share) []claim {
	var claims []claim
	for _, name := range slices.Sorted(maps.Keys(s.Permissions.Policies)) {
		if s.Permissions.Policies[name] {
			claims = append(claims, r.onWorkspace(policies[name]))
		}
	}
	return claims
}

// roleClaims lists what having a role by sharing grants: reading, and, unless
// the caller has the role too, its rules and what is shared with it. Its
// denials do not count for it: they may be overridden by another role.
func (r *Rights) roleClaims(role string) []claim {
	if role == "" {
		return nil
	}
	claims := []claim{r.onWorkspace("read")}
	if slices.Contains(r.roles, role) {
		return claims
	}
	if role == editor {
		for _, m := range r.workspace.Policy.builtIn[editor] {
			claims = append(claims, m.claim())
		}
	}
	for _, m := range r.workspace.Policy.rules {
		if !m.denies && slices.Contains(m.Role.All(), role) {
			claims = append(claims, m.claim())
		}
	}
	for _, s := range r.workspace.Shares {
		if s.Target.Role == role {
			claims = append(claims, r.policyClaims(s)...)
		}
	}
	return claims
}

// onWorkspace is the claim of one action on the workspace.
func (r *Rights) onWorkspace(action string) claim {
	row := &vocabulary[0]
	conditions := map[string]any{row.scope: r.self.id}
	return claim{KeyRule: KeyRule{Action: []string{action}, Subject: row.name, Conditions: conditions}}
}

// claim returns the rule as a right to hand on.
func (m *rule) claim() claim {
	row := &vocabulary[m.subject]
	granted := KeyRule{Action: row.names(m.actions), Subject: row.name, Conditions: m.conditions(m.Conditions)}
	return claim{granted, m.standing()}
}

// prove refuses the first claim that the caller does not surely hold. All of
// them are one decision.
func (r *Rights) prove(refusal string, claims []claim) error {
	e := r.newEvaluation()
	defer e.release()
	for _, asked := range claims {
		row := &vocabulary[subjectAt(asked.Subject)]
		for _, action := range row.names(row.each(asked.Action)) {
			if q := r.ask(action, row.name, r.some(row.name)); !r.holds(q, asked, e) {
				return notHeld(refusal, action, row.name)
			}
		}
	}
	return nil
}

// notHeld refuses to hand on a right.
func notHeld(refusal, action, subject string) error {
	return domain.Refuse(domain.CodePermissionDenied, "%s: %s %s", refusal, action, subject).
		With("action", action).With("subject", subject)
}

// holds reports whether the caller surely has the right on all objects that
// meet the claim's conditions. A denial that binds everyone binds the new holder
// as well, if it stands above what they are given.
func (r *Rights) holds(q question, asked claim, s *evaluation) bool {
	for i := len(r.rules) - 1; i >= 0; i-- {
		m := r.rules[i]
		if !m.about(q) {
			continue
		}
		switch {
		case !s.canSpend(0):
			return false
		case m.denies && !m.own && m.needs == 0 && m.standing() > asked.priority:
		case m.denies:
			return false
		case len(m.Fields) > 0 && q.action == vocabulary[q.subject].of("update"):
		case m.whole || m.needs == 0 && m.within(asked.Conditions, s):
			return true
		}
	}
	rest, ok := r.rest(q)
	return ok && r.allows(rest, s)
}

// standing returns the priority of the rule, 0 for none.
func (m *rule) standing() int {
	if m.Priority == nil {
		return 0
	}
	return *m.Priority
}

// within reports whether conditions surely ask for all that the rule asks for.
func (m *rule) within(conditions map[string]any, s *evaluation) bool {
	for key, want := range m.Conditions {
		_, scoped := m.scope[key]
		if given, there := conditions[key]; !scoped && (!there || !s.same(given, want)) {
			return false
		}
	}
	return true
}

// same reports whether two operands are surely written alike.
func (s *evaluation) same(a, b any) bool {
	if !s.canSpend(0) {
		return false
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, s.same)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, s.same)
	}
	return reflect.DeepEqual(a, b)
}
