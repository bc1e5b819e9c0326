package access

import (
	"maps"
	"slices"
)

// Share is an entry of the sharing list of a workspace or a page.
type Share struct {
	Target      Target      `json:"target"`
	Permissions Permissions `json:"permissions"`
}

// Target is whom something is shared with: a user, a role, or everyone.
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

// policies are what can be granted one by one, and the action each stands for.
var policies = map[string]string{
	"read": "read", "create": "create", "update": "update", "write": "update",
	"delete": "delete", "manage_permissions": "manage_permissions",
}

// CheckShare refuses an entry that the API does not allow in this workspace or
// on a page of it.
func (p *Policy) CheckShare(s Share) error {
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
	case t.Role != "" && (t.Role == owner || !p.knows(t.Role)):
		c.fault("target.role", "unknown role %q", cut(t.Role, maxName))
	}
	switch {
	case s.Permissions.Role == "" && len(s.Permissions.Policies) == 0:
		c.fault("permissions", "must name a role or policies")
	case s.Permissions.Role != "" && t.ID == "":
		c.fault("permissions.role", "is for users; roles and the public take policies only")
	case s.Permissions.Role != "" && !p.knows(s.Permissions.Role):
		c.fault("permissions.role", "unknown role %q", cut(s.Permissions.Role, maxName))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Permissions.Policies)) {
		if policies[name] == "" {
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

// binds reports whether the entry is for a caller with these roles.
func (s Share) binds(p *Principal, roles []string) bool {
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
	if s.Target.ID == "" || s.Target.ID != p.UserID || !policy.knows(s.Permissions.Role) {
		return ""
	}
	return s.Permissions.Role
}

// rule returns what the entry grants the caller on an object of a subject: its
// policies, and reading with a role. It is nil for nothing.
func (s Share) rule(at int, r *Rights) *rule {
	if !s.binds(r.who, r.roles) {
		return nil
	}
	row, policy := &vocabulary[at], r.workspace.Policy
	p := part{subject: at, scope: map[string]any{row.scope: policy.workspaceID}}
	for name, given := range s.Permissions.Policies {
		if given {
			p.actions |= row.of(policies[name])
		}
	}
	if s.role(r.who, policy) != "" {
		p.actions |= row.of("read")
	}
	if p.actions == 0 {
		return nil
	}
	shown := Rule{Action: List(row.names(p.actions)...), Subject: Word(row.name)}
	return newRule(p, Ground{shown, "share:" + s.Target.String()}, !s.Target.Public, nil, 0)
}

// Shared is an object with a sharing list of its own: a page.
type Shared struct {
	Object
	Shares []Share
}
