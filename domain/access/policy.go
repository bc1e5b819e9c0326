// Package access decides who may do what in a workspace. One evaluator answers whether a
// caller may do something, why, and to which objects.
//
// The security document of a workspace is compiled once into a Policy: its rules and the
// built-in ones, each limited to the objects of that workspace, ordered by precedence. For
// each caller the rules that apply to them are selected (Workspace.For), and the last of
// these that matches an object decides. Without a match the request is denied. Built-in
// rights, shares and API keys are rules like any other, so that an explanation is the list
// of rules that matched.
//
// # Being in a workspace
//
// Everyone has some rights in any workspace: the built-in ones, and those of rules without
// a role. If they counted, everyone would be in every workspace, and an answer would
// reveal whether a workspace exists. So a caller is in a workspace (Rights.IsMember) when
// they may read it, or when a rule for them in particular allows something: by a role, by a
// share with them or with a role of theirs, by an API key, as a super admin. For all
// others, a refusal looks the same as that of a workspace that does not exist
// (OutsideRights).
//
// # Bounded effort
//
// Anyone may own a workspace and write its rules, so no rule may cost much. The size of a
// document is limited when it is compiled. A decision has a budget of steps for all its
// rules, and so has finding the roles that a caller has automatically. A rule without steps
// left is unknown and counts against the caller: it does not allow, and if it denies, it
// does. An unknown role gives nothing, and its denials apply.
package access

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/match"
)

// Policy is a compiled security document: its rules and the built-in ones,
// for the workspace it belongs to. It never changes and may be shared.
type Policy struct {
	workspaceID string
	roles       map[string]Role
	bits        map[string]int // of each role in a roleSet
	given       []automaticRole
	rules       []*rule // of the document, in the order in which they count
	builtIn     map[string][]*rule
}

// automaticRole is a role that users of a provider have automatically.
type automaticRole struct {
	role, provider string
	when           match.Condition
	needs          placeholders
}

// rule is one part of a rule, compiled.
type rule struct {
	part
	MatchedRule

	roles  roleSet // whose callers it applies to; empty: everyone
	denies bool
	own    bool // applies to callers with one of its roles, not to everyone
	whole  bool // matches every object in its scope
	when   match.Condition
	needs  placeholders
}

// newRule returns the compiled form of one part of a rule.
func newRule(p part, g MatchedRule, own bool, when match.Condition, needs placeholders) *rule {
	made := &rule{part: p, MatchedRule: g, denies: g.denies(), own: own, needs: needs}
	var more bool
	made.when, more = p.withScope(when)
	made.whole = !more
	return made
}

// MatchedRule is a rule that matched, and where it comes from: authorizations.rules[i],
// builtIn:{who}, share:{target}, apiKey:{id}.
type MatchedRule struct {
	Rule
	Origin string `json:"origin"`
}

// Compile checks and compiles a security document. It refuses one that
// the API does not allow, naming every field at fault.
func Compile(workspaceID string, doc Security) (*Policy, error) {
	c := newCompiler()
	p := &Policy{workspaceID: workspaceID, roles: doc.Authorizations.Roles, builtIn: builtInFor(workspaceID)}
	if len(p.roles) > maxRoles {
		c.fault("authorizations.roles", "must not be more than %d", maxRoles)
		return nil, c.err()
	}
	if len(doc.Authorizations.Rules) > maxRules {
		c.fault("authorizations.rules", "must not be more than %d", maxRules)
		return nil, c.err()
	}
	for _, name := range slices.Sorted(maps.Keys(p.roles)) {
		p.given = append(p.given, c.role(name, p.roles[name])...)
	}
	p.bits = map[string]int{}
	for i, name := range p.RoleNames() {
		p.bits[name] = i
	}
	for i, r := range doc.Authorizations.Rules {
		p.rules = append(p.rules, c.rule(p, i, r)...)
	}
	slices.SortStableFunc(p.rules, func(a, b *rule) int { return cmp.Compare(*a.Priority, *b.Priority) })
	if err := c.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// Validate refuses a document that the API does not allow, and one without a
// role that one of the workspace's shares gives to a user or is for.
func (s Security) Validate(shares []Share) error {
	p, err := Compile("", s)
	if err != nil {
		return err
	}
	c := newCompiler()
	var users []string
	for _, share := range shares {
		if role := share.Permissions.Role; role != "" && !p.hasRole(role) {
			users = append(users, share.Target.ID)
		}
		if role := share.Target.Role; role != "" && !p.hasRole(role) {
			c.fault("authorizations.roles", "the role %q must stay: the workspace is shared with it", role)
		}
	}
	if len(users) == 0 {
		return c.err()
	}
	fault := domain.FieldError{Field: "authorizations.roles", Message: "a role that is still assigned must stay"}
	return domain.Invalid(append(c.faults, fault)...).With("users", users)
}

// RoleNames lists the roles that can be assigned: owner and editor, then those
// of the document by name.
func (p *Policy) RoleNames() []string {
	names := []string{owner, editor}
	for _, name := range slices.Sorted(maps.Keys(p.roles)) {
		if name != editor {
			names = append(names, name)
		}
	}
	return names
}

// hasRole reports whether a role can be assigned.
func (p *Policy) hasRole(role string) bool {
	_, custom := p.roles[role]
	return custom || role == owner || role == editor
}

// roleSet holds roles of one policy. Rules and callers with a hundred roles each
// meet in two instructions.
type roleSet [(maxRoles + 2 + 63) / 64]uint64 // owner and editor are there too

// roleSetOf returns the roles with these names.
func (p *Policy) roleSetOf(names []string) (s roleSet) {
	for _, name := range names {
		if i, ok := p.bits[name]; ok {
			s[i/64] |= 1 << (i % 64)
		}
	}
	return s
}

// intersects reports whether the sets have a role in common.
func (s roleSet) intersects(other roleSet) bool {
	for i := range s {
		if s[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// role checks a role and compiles who has it automatically.
func (c *compiler) role(name string, r Role) []automaticRole {
	at := "authorizations.roles." + name
	if !isName(name) || isReserved(name) {
		c.fault(at, "must be a name of 1 to %d visible characters, and neither owner nor superadmin", maxName)
		return nil
	}
	if utf8.RuneCountInString(r.Description) > maxText {
		c.fault(at+".description", "must be at most %d characters", maxText)
	}
	if len(r.Auth) > maxRoles {
		c.fault(at+".auth", "must not be more than %d", maxRoles)
		return nil
	}
	var given []automaticRole
	for _, provider := range slices.Sorted(maps.Keys(r.Auth)) {
		authPath, conditions := at+".auth."+provider, r.Auth[provider].Conditions
		if !isName(provider) || isReserved(provider) || provider == apiKeyProvider && len(conditions) > 0 {
			c.fault(authPath, "must be the slug of a provider, or apiKey without conditions")
			continue
		}
		when, needs := c.conditions(authPath+".conditions", conditions)
		given = append(given, automaticRole{name, provider, when, needs})
	}
	return given
}

// apiKeyProvider marks a role that automations use by name.
const apiKeyProvider = "apiKey"

// rule checks the rule at an index of p's document and compiles its parts.
func (c *compiler) rule(p *Policy, index int, r Rule) []*rule {
	at := "authorizations.rules[" + strconv.Itoa(index) + "]"
	c.words(at, r.Action.All(), r.Subject.All())
	c.bindings(at, p, r)
	c.limits(at, r)
	when, needs := c.conditions(at+".conditions", r.Conditions)
	if len(c.faults) > 0 {
		return nil // what cannot be stored need not be compiled
	}
	priority := 100 + index
	if r.Priority != nil {
		priority = *r.Priority
	}
	r.Priority = &priority
	var all []*rule
	holders := p.roleSetOf(r.Role.All())
	for _, part := range parts(p.workspaceID, r.Action.All(), r.Subject.All()) {
		made := newRule(part, MatchedRule{r, at}, !r.Role.IsZero(), when, needs)
		made.roles = holders
		all = append(all, made)
	}
	return all
}

// words checks that actions and subjects are known, and that each action has
// an effect on one of the subjects.
func (c *compiler) words(at string, actions, subjects []string) {
	c.count(at+".action", actions)
	c.count(at+".subject", subjects)
	for _, word := range subjects {
		if word != everything && subjectIndex(word) < 0 {
			c.fault(at+".subject", "unknown subject %q", domain.Shorten(word, maxName))
			return
		}
	}
	for _, action := range actions {
		effect := slices.ContainsFunc(subjects, func(word string) bool {
			return slices.ContainsFunc(subjectsOf(word), func(i int) bool { return vocabulary[i].actionsOf(action) != 0 })
		})
		if !effect && len(subjects) > 0 {
			c.fault(at+".action", "unknown action %q of %s", domain.Shorten(action, maxName), domain.Shorten(strings.Join(subjects, ", "), maxName))
		}
	}
}

// count checks that a list of words is neither empty nor too long.
func (c *compiler) count(at string, words []string) {
	if len(words) == 0 || len(words) > maxWords {
		c.fault(at, "must be 1 to %d words", maxWords)
	}
}

// bindings checks the roles of a rule.
func (c *compiler) bindings(at string, p *Policy, r Rule) {
	if r.Role.IsZero() {
		return
	}
	c.count(at+".role", r.Role.All())
	for _, role := range r.Role.All() {
		switch {
		case role == owner || role == superadmin:
			c.fault(at+".role", "no rule binds %s", role)
		case !p.hasRole(role):
			c.fault(at+".role", "unknown role %q", domain.Shorten(role, maxName))
		}
	}
}

// limits checks the rest of a rule.
func (c *compiler) limits(at string, r Rule) {
	if r.Priority != nil && (*r.Priority < 100 || *r.Priority > 999) {
		c.fault(at+".priority", "must be 100 to 999")
	}
	if utf8.RuneCountInString(r.Reason) > maxText {
		c.fault(at+".reason", "must be at most %d characters", maxText)
	}
	if r.Fields == nil {
		return
	}
	c.count(at+".fields", r.Fields)
	if !slices.Contains(r.Action.All(), "update") && !slices.Contains(r.Action.All(), manage) {
		c.fault(at+".fields", "limits a rule about update; this one is about others")
	}
	for i, field := range r.Fields {
		if !isName(field) || strings.Contains(field, ".") {
			c.fault(fmt.Sprintf("%s.fields[%d]", at, i), "must be the name of a top-level field")
		}
	}
}

// Security is the security document of a workspace, in the JSON of the API. It
// is returned as it was sent.
type Security struct {
	Authorizations Authorizations `json:"authorizations,omitzero"`
	Authentication Authentication `json:"authentication,omitzero"`
}

// Authorizations are the roles of a workspace and the rules in their order.
type Authorizations struct {
	Roles map[string]Role `json:"roles,omitzero"`
	Rules []Rule          `json:"rules,omitzero"`
}

// Authentication is set by the service.
type Authentication struct {
	ClientID string `json:"clientId,omitempty"`
}

// Role is a custom role. Auth names who has it automatically: users of a provider, by
// slug, whose data matches. The slug apiKey makes it a role that automations use by name.
type Role struct {
	Description string              `json:"description,omitempty"`
	Auth        map[string]RoleAuth `json:"auth,omitzero"`
}

// RoleAuth has the conditions on {authData: …} of a user of the provider.
type RoleAuth struct {
	Conditions map[string]any `json:"conditions,omitzero"`
}

// Rule allows actions on subjects to those who have one of its roles, or to
// everyone when it names none; Inverted, it denies them.
type Rule struct {
	Action     Words          `json:"action"`
	Subject    Words          `json:"subject"`
	Role       Words          `json:"role,omitzero"`
	Inverted   *bool          `json:"inverted,omitempty"`
	Conditions map[string]any `json:"conditions,omitzero"`
	Fields     []string       `json:"fields,omitzero"`
	Reason     string         `json:"reason,omitempty"`
	Priority   *int           `json:"priority,omitempty"` // nil: 100 + index
}

// IsOpen reports whether somebody may be able to read the workspace whom no share names: by a share or a rule for
// everyone, or by a role that is given automatically. A caller's API key is not looked at.
func (s Security) IsOpen(shares []Share) bool {
	return slices.ContainsFunc(shares, func(s Share) bool { return s.Target.Public }) ||
		slices.ContainsFunc(slices.Collect(maps.Values(s.Authorizations.Roles)), func(r Role) bool { return len(r.Auth) > 0 }) ||
		slices.ContainsFunc(s.Authorizations.Rules, func(r Rule) bool {
			return !r.denies() && len(r.Role.All()) == 0 &&
				slices.ContainsFunc(r.Subject.All(), func(word string) bool { return word == everything || word == "workspaces" })
		})
}

// denies reports whether the rule denies.
func (r Rule) denies() bool { return r.Inverted != nil && *r.Inverted }

// Words is one word or a list of them; JSON shows it as it was given.
type Words struct {
	words []string
	list  bool
}

// Word returns a single word.
func Word(w string) Words { return Words{words: []string{w}} }

// List returns a list of words.
func List(w ...string) Words { return Words{words: w, list: true} }

// All returns the words.
func (w Words) All() []string { return w.words }

// IsZero reports whether nothing was given, not even an empty list.
func (w Words) IsZero() bool { return w.words == nil && !w.list }

// MarshalJSON implements json.Marshaler.
func (w Words) MarshalJSON() ([]byte, error) {
	if !w.list && len(w.words) == 1 {
		return json.Marshal(w.words[0])
	}
	return json.Marshal(w.words)
}

// UnmarshalJSON implements json.Unmarshaler. Null is refused: a role that is
// there but empty must not turn into a rule for everyone.
func (w *Words) UnmarshalJSON(b []byte) error {
	var one *string
	if err := json.Unmarshal(b, &one); err == nil && one != nil {
		*w = Word(*one)
		return nil
	}
	var many []*string
	if err := json.Unmarshal(b, &many); err != nil || many == nil {
		return notWordsError(b)
	}
	*w = List(make([]string, len(many))...)
	for i, word := range many {
		if word == nil {
			return notWordsError(b)
		}
		w.words[i] = *word
	}
	return nil
}

// notWordsError is the error that encoding/json completes with the field's name.
func notWordsError(b []byte) error {
	return &json.UnmarshalTypeError{Value: string(b[:min(len(b), 20)]), Type: reflect.TypeFor[string]()}
}

// Default returns the security document of a new workspace. That of the
// platform workspace starts empty.
func Default(workspaceID string) Security {
	if workspaceID == domain.Platform {
		return Security{}
	}
	rules := []Rule{
		{Action: List("read", "update", "get_usage", "aggregate_search"), Subject: Word("workspaces")},
		{Action: Word(manage), Subject: Word("files")},
		{Action: List("read", "update"), Subject: Word("pages")},
		{Action: List("read", "update"), Subject: Word("apps")},
		{Action: List("read", "create"), Subject: Word("events")},
		{
			Action: Word("read"), Subject: Word("events"), Inverted: new(true),
			Conditions: map[string]any{"type": map[string]any{"$regex": `^apikeys\.`}},
		},
	}
	for i := range rules {
		rules[i].Role = Word(editor)
	}
	rules = append(rules,
		Rule{Action: Word("create"), Subject: Word("events"), Conditions: map[string]any{serviceTopic: emitted}},
		Rule{Action: Word("read"), Subject: Word("events"), Conditions: map[string]any{serviceTopic: emitted, "source.sessionId": "{{session.id}}"}},
		Rule{Role: Word(editor), Action: Word(manage), Subject: Word("documents")},
	)
	return Security{Authorizations: Authorizations{Roles: map[string]Role{editor: {}}, Rules: rules}}
}

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
			wanted, split := row.unionOf(actions), set(0)
			if row.name == "events" {
				split = wanted & row.actionsOf("create")
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

// conditions returns the conditions of a rule with the scope of a part. Secrets of the
// platform are excluded too, unless the rule has a condition on names: only super admins
// reach them anyway, and that condition may be narrower.
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

// withScope returns compiled conditions with the scope of a part, and whether
// they are more than the scope.
func (p part) withScope(own match.Condition) (all match.Condition, more bool) {
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
