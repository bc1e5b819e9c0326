package access

import (
	"slices"
	"sync"

	"svc/domain/match"
)

// Principal is the caller whose rights are checked. The zero Principal is a caller without a credential.
type Principal struct {
	UserID    string
	SessionID string
	Email     string
	Topics    []string // the user topics they have joined in the workspace
	Super     bool
	AuthData  map[string]map[string]any // of each provider they are a user of
	Key       *Key                      // the API key they sent, alone or beside a user
	KeyRole   string                    // the role that an automation's fetch named
	// Workspace is the id of a workspace that acts itself, not for a user: it may
	// execute its automations, and nothing else.
	Workspace string
	// Lent says that an automation acts for the caller with a delegated token: they have
	// their rights in the workspace LentTo. In all others they are anyone, except for the
	// automations that they may execute. Their API key is not delegated: it was sent.
	Lent   bool
	LentTo string
	// Joined, when set, is asked for Topics each time that a rule needs them: cached rights see the topics that were
	// joined since.
	Joined func() []string
}

// Workspace is what the evaluator needs to know of a workspace.
type Workspace struct {
	Policy *Policy // required
	Shares []Share
	// Self holds its own fields, for rules with conditions on workspaces; nil: the
	// id alone.
	Self Object
}

// Rights are the rules of one workspace that apply to one caller, in the order in
// which they count. They are made for one request and may be used concurrently.
type Rights struct {
	workspace *Workspace
	who       *Principal
	bound     binding
	self      workspaceObject
	roles     []string
	undecided []string // roles that could not be decided within the budget
	rules     []*rule
}

// workspaceObject is a workspace as an object: whatever Self says, its id is its own.
type workspaceObject struct {
	id   any
	rest Object
}

// Field implements Object.
func (s *workspaceObject) Field(name string) (any, bool) {
	if name == "id" {
		return s.id, true
	}
	if s.rest == nil {
		return nil, false
	}
	return s.rest.Field(name)
}

// For returns the rights of a caller in the workspace.
func (w *Workspace) For(p Principal) *Rights {
	r := &Rights{workspace: w, who: &p, bound: newBinding(&p)}
	r.self = workspaceObject{id: w.Policy.workspaceID, rest: w.Self}
	r.roles, r.undecided = r.rolesOf()
	r.rules = r.collect()
	return r
}

// outsidePolicy is the policy outside of any workspace.
var outsidePolicy = sync.OnceValue(func() *Policy {
	return &Policy{builtIn: builtInFor("")}
})

// OutsideRights returns the rights of a caller outside of any workspace, and in one
// that does not exist: to create workspaces, to read apps.
func OutsideRights(p Principal) *Rights {
	return (&Workspace{Policy: outsidePolicy()}).For(p)
}

// emptyPolicy is the policy of an empty workspace without members.
var emptyPolicy = sync.OnceValue(func() *Policy {
	const id = "-" // no workspace has it
	return &Policy{workspaceID: id, builtIn: builtInFor(id)}
})

// EveryoneRights returns the rights that a caller has in any workspace, whether it exists
// or not: those of everyone. It has no objects.
func EveryoneRights(p Principal) *Rights {
	return (&Workspace{Policy: emptyPolicy()}).For(p)
}

// rolesOf lists the caller's roles in the workspace: by shares, automatically, by the
// fetch of an automation; and those that are unknown. All of it is one decision.
func (r *Rights) rolesOf() (roles, undecided []string) {
	policy, e := r.workspace.Policy, r.newEvaluation()
	defer e.release()
	add := func(role string) {
		if role != "" && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	for _, s := range r.workspace.Shares {
		add(s.role(r.who, policy))
	}
	for i := range policy.given {
		g := &policy.given[i]
		switch g.appliesTo(r, e) {
		case match.Yes:
			add(g.role)
		case match.Unknown:
			undecided = append(undecided, g.role)
		}
	}
	return roles, undecided
}

// appliesTo reports whether the caller has the role automatically.
func (g *automaticRole) appliesTo(r *Rights, s *evaluation) match.Result {
	if g.provider == apiKeyProvider {
		return match.Is(r.who.KeyRole == g.role)
	}
	data, ok := r.who.AuthData[g.provider]
	if !ok || g.needs&^r.bound.filled != 0 {
		return match.No
	}
	return s.matches(g.when, Fields{"authData": data})
}

// collect returns the rules that apply to the caller. They need no sorting: first those
// without priority, all of which allow, then the document's, then the built-in ones above
// it.
func (r *Rights) collect() []*rule {
	policy := r.workspace.Policy
	all := make([]*rule, 0, len(policy.rules)+24)
	hasRole := func(role string) bool { return slices.Contains(r.roles, role) }
	roles := policy.roleSetOf(r.roles)
	thinkable := policy.roleSetOf(slices.Concat(r.roles, r.undecided))
	add := func(binds bool, rules ...*rule) {
		for _, m := range rules {
			if !binds || m.needs&^r.bound.filled != 0 {
				continue
			}
			if m = r.forLender(m); m != nil {
				all = append(all, m)
			}
		}
	}
	add(true, policy.builtIn[everyone]...)
	add(hasRole(editor), policy.builtIn[editor]...)
	for _, s := range r.workspace.Shares {
		if granted := s.rule(0, r); granted != nil {
			add(true, granted)
		}
	}
	if key := r.who.Key; key != nil && key.workspaceID == policy.workspaceID {
		all = append(all, key.bound(r)...)
	}
	for _, m := range policy.rules {
		add(!m.own || m.roles.intersects(roles) || m.denies && m.roles.intersects(thinkable), m)
	}
	add(hasRole(owner), policy.builtIn[owner]...)
	add(r.who.Workspace != "" && r.who.Workspace == policy.workspaceID, policy.builtIn[actingWorkspace]...)
	add(true, policy.builtIn[secret]...)
	add(r.who.Super, policy.builtIn[superadmin]...)
	add(true, policy.builtIn[internal]...)
	return all
}

// withShares returns the caller's rights on an object that is shared: the same, or
// more when a share gives them a role that they do not have elsewhere.
func (r *Rights) withShares(shares []Share) *Rights {
	for _, s := range shares {
		role := s.role(r.who, r.workspace.Policy)
		if role == "" || slices.Contains(r.roles, role) {
			continue
		}
		wider := *r
		wider.roles = append(slices.Clone(r.roles), role)
		wider.rules = wider.collect()
		r = &wider
	}
	return r
}

// Roles lists the caller's roles, the strongest first.
func (r *Rights) Roles() []string {
	roles := slices.Clone(r.roles)
	if r.who.Super {
		roles = append(roles, superadmin)
	}
	rank := func(role string) int { return slices.Index([]string{editor, superadmin, owner}, role) }
	slices.SortStableFunc(roles, func(a, b string) int { return rank(b) - rank(a) })
	return roles
}

// Role returns the caller's strongest role, or "".
func (r *Rights) Role() string {
	if roles := r.Roles(); len(roles) > 0 {
		return roles[0]
	}
	return ""
}
