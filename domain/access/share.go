package access

import (
	"maps"
	"reflect"
	"slices"

	"svc/domain"
)

// Share is an entry of the sharing list of a workspace, a page, a knowledge base or an agent.
type Share struct {
	Target      Target      `json:"target"`
	Permissions Permissions `json:"permissions"`
}

// Target is a user, a role, or everyone that something is shared with.
type Target struct {
	ID     string `json:"id,omitempty"`
	Role   string `json:"role,omitempty"`
	Public bool   `json:"public,omitempty"`
}

// Permissions are what a share grants: a role with its rules and reading, or
// single actions.
type Permissions struct {
	Role     string          `json:"role,omitempty"`
	Policies map[string]bool `json:"policies,omitzero"`
}

// String returns the target as paths name it: a user id, role:{name}, or *.
func (t Target) String() string {
	switch {
	case t.Public:
		return "*"
	case t.Role != "":
		return "role:" + t.Role
	}
	return t.ID
}

// policies are what can be granted separately, and their actions.
var policies = map[string]string{
	"read": "read", "create": "create", "update": "update", "write": "update",
	"delete": "delete", "manage_permissions": "manage_permissions", "execute": "execute",
}

// shareable are the policies on an object of a subject.
var shareable = map[string][]string{
	"workspaces":     {"read", "create", "update", "write", "delete", "manage_permissions"},
	"pages":          {"read", "create", "update", "write", "delete", "manage_permissions"},
	"knowledgeBases": {"read", "update", "delete"},
	"agents":         {"read", "execute", "update", "delete"},
}

// DocumentShares returns what the shares of a knowledge base grant on its documents: read reads them, update also
// creates, changes and deletes them.
func DocumentShares(base []Share) []Share {
	shares := make([]Share, len(base))
	for i, s := range base {
		granted := map[string]bool{}
		if s.Permissions.Policies["read"] {
			granted["read"] = true
		}
		if s.Permissions.Policies["update"] {
			granted["read"], granted["create"], granted["update"], granted["delete"] = true, true, true, true
		}
		shares[i] = Share{Target: s.Target, Permissions: Permissions{Role: s.Permissions.Role, Policies: granted}}
	}
	return shares
}

// CheckShare refuses an entry that the API does not allow on this workspace or on an object of it.
func (p *Policy) CheckShare(subject string, s Share) error {
	c, t := newCompiler(), s.Target
	named := 0
	for _, given := range []bool{t.ID != "", t.Role != "", t.Public} {
		if given {
			named++
		}
	}
	switch {
	case named != 1:
		c.fault("target", "must name a user, a role or the public, and one of them only")
	case t.Role != "" && (t.Role == owner || !p.hasRole(t.Role)):
		c.fault("target.role", "unknown role %q", domain.Shorten(t.Role, maxName))
	}
	switch {
	case s.Permissions.Role == "" && len(s.Permissions.Policies) == 0:
		c.fault("permissions", "must name a role or policies")
	case s.Permissions.Role != "" && t.ID == "":
		c.fault("permissions.role", "is for users; roles and the public take policies only")
	case s.Permissions.Role != "" && !p.hasRole(s.Permissions.Role):
		c.fault("permissions.role", "unknown role %q", domain.Shorten(s.Permissions.Role, maxName))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Permissions.Policies)) {
		if !slices.Contains(shareable[subject], name) {
			c.fault("permissions.policies."+name, "unknown policy")
		}
	}
	return c.err()
}

// PutShare returns shares with s in the place of its target's entry.
func PutShare(shares []Share, s Share) []Share {
	return append(DropShare(shares, s.Target.String()), s)
}

// DropShare returns shares without the entry of a target, as paths name it.
func DropShare(shares []Share, target string) []Share {
	return slices.DeleteFunc(slices.Clone(shares), func(s Share) bool { return s.Target.String() == target })
}

// Owners lists the users that a workspace belongs to.
func Owners(shares []Share) []string {
	var users []string
	for _, s := range shares {
		if s.Permissions.Role == owner && s.Target.ID != "" {
			users = append(users, s.Target.ID)
		}
	}
	return users
}

// OwnedBy is the entry that makes a user an owner.
func OwnedBy(userID string) Share {
	return Share{Target: Target{ID: userID}, Permissions: Permissions{Role: owner}}
}

// appliesTo reports whether the entry is for a caller with these roles.
func (s Share) appliesTo(p *Principal, roles []string) bool {
	switch {
	case s.Target.Public:
		return true
	case s.Target.Role != "":
		return slices.Contains(roles, s.Target.Role)
	}
	return s.Target.ID != "" && s.Target.ID == p.UserID
}

// role returns the role that the entry gives to the caller, or "".
func (s Share) role(p *Principal, policy *Policy) string {
	if s.Target.ID == "" || s.Target.ID != p.UserID || !policy.hasRole(s.Permissions.Role) {
		return ""
	}
	return s.Permissions.Role
}

// rule returns what the entry grants the caller on an object of a subject: its
// policies, and reading with a role. It is nil for nothing.
func (s Share) rule(at int, r *Rights) *rule {
	if !s.appliesTo(r.who, r.roles) {
		return nil
	}
	row, policy := &vocabulary[at], r.workspace.Policy
	p := part{subject: at, scope: map[string]any{row.scope: policy.workspaceID}}
	for name, given := range s.Permissions.Policies {
		if given {
			p.actions |= row.actionsOf(policies[name])
		}
	}
	if s.role(r.who, policy) != "" {
		p.actions |= row.actionsOf("read")
	}
	if p.actions == 0 {
		return nil
	}
	listed := Rule{Action: List(row.names(p.actions)...), Subject: Word(row.name)}
	return newRule(p, MatchedRule{listed, "share:" + s.Target.String()}, !s.Target.Public, nil, 0)
}

// Shared is an object with a sharing list of its own, such as a page.
type Shared struct {
	Object
	Shares []Share
}

// claim is a right that a caller wants to grant, and its priority for the new holder:
// denials above it apply to them, denials below do not.
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
		if subjectIndex(asked.Subject) < 0 {
			return domain.Refuse(domain.CodeInternal, "access: a key rule about %q", asked.Subject)
		}
		claims[i].KeyRule = asked
	}
	return r.checkClaims("a key cannot hold what you do not", claims)
}

// CheckShare refuses an entry that would share what the caller does not hold:
// its policies on the workspace, and what its role comes with. Owners and super
// admins share everything, and only they make owners. Whether the entry is one
// at all is for Policy.CheckShare to say.
func (r *Rights) CheckShare(s Share) error {
	const refusal = "you cannot share what you do not hold"
	switch {
	case r.isOwner():
		return nil
	case s.Permissions.Role == owner:
		return missingRightError(refusal, manage, vocabulary[0].name)
	}
	return r.checkClaims(refusal, append(r.policyClaims(s), r.roleClaims(s.Permissions.Role)...))
}

// CheckUnshare refuses to change or remove an owner's entry, unless the caller
// is an owner or a super admin, or it is their own.
func (r *Rights) CheckUnshare(present Share) error {
	self := present.Target.ID != "" && present.Target.ID == r.who.UserID
	if present.Permissions.Role != owner || self || r.isOwner() {
		return nil
	}
	return missingRightError("only owners change what an owner has", manage, vocabulary[0].name)
}

// isOwner reports whether the caller is an owner or a super admin.
func (r *Rights) isOwner() bool { return r.who.Super || slices.Contains(r.roles, owner) }

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

// claim returns the rule as a right that can be granted.
func (m *rule) claim() claim {
	row := &vocabulary[m.subject]
	granted := KeyRule{Action: row.names(m.actions), Subject: row.name, Conditions: m.conditions(m.Conditions)}
	return claim{granted, m.priority()}
}

// checkClaims refuses the first claim that the caller does not hold. All of them are one
// decision.
func (r *Rights) checkClaims(refusal string, claims []claim) error {
	e := r.newEvaluation()
	defer e.release()
	for _, asked := range claims {
		row := &vocabulary[subjectIndex(asked.Subject)]
		for _, action := range row.names(row.unionOf(asked.Action)) {
			if q := r.newQuestion(action, row.name, r.anyObject(row.name)); !r.hasClaim(q, asked, e) {
				return missingRightError(refusal, action, row.name)
			}
		}
	}
	return nil
}

// missingRightError refuses to grant a right.
func missingRightError(refusal, action, subject string) error {
	return domain.Refuse(domain.CodePermissionDenied, "%s: %s %s", refusal, action, subject).
		With("action", action).With("subject", subject)
}

// hasClaim reports whether the caller has the right on all objects that meet the claim's
// conditions. A denial for everyone also applies to the new holder, if its priority is
// above that of the claim.
func (r *Rights) hasClaim(q question, asked claim, s *evaluation) bool {
	for i := len(r.rules) - 1; i >= 0; i-- {
		m := r.rules[i]
		if !m.appliesTo(q) {
			continue
		}
		switch {
		case !s.canSpend(0):
			return false
		case m.denies && !m.own && m.needs == 0 && m.priority() > asked.priority:
		case m.denies:
			return false
		case len(m.Fields) > 0 && q.action == vocabulary[q.subject].actionsOf("update"):
		case m.whole || m.needs == 0 && m.impliedBy(asked.Conditions, s):
			return true
		}
	}
	rest, ok := r.fallbackQuestion(q)
	return ok && r.allows(rest, s)
}

// priority returns the priority of the rule, 0 for none.
func (m *rule) priority() int {
	if m.Priority == nil {
		return 0
	}
	return *m.Priority
}

// impliedBy reports whether conditions include all conditions of the rule.
func (m *rule) impliedBy(conditions map[string]any, s *evaluation) bool {
	for key, want := range m.Conditions {
		_, scoped := m.scope[key]
		if given, exists := conditions[key]; !scoped && (!exists || !s.equalOperands(given, want)) {
			return false
		}
	}
	return true
}

// equalOperands reports whether two operands are written the same way.
func (s *evaluation) equalOperands(a, b any) bool {
	if !s.canSpend(0) {
		return false
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, s.equalOperands)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, s.equalOperands)
	}
	return reflect.DeepEqual(a, b)
}

// forLender returns a rule for a caller whose rights may be delegated to an automation:
// unchanged in the workspace of the delegation, if it denies, and if it applies to anyone;
// elsewhere only its right to execute automations; nil when nothing is left.
func (r *Rights) forLender(m *rule) *rule {
	if m == nil || !r.who.Lent || r.who.LentTo == r.workspace.Policy.workspaceID || m.denies || !m.own && m.needs == 0 {
		return m
	}
	row := &vocabulary[m.subject]
	actions := m.actions & row.actionsOf("execute")
	switch actions {
	case 0:
		return nil
	case m.actions:
		return m
	}
	narrow := *m
	narrow.actions = actions
	return &narrow
}
