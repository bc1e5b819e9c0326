package access

import (
	"encoding/json"
	"reflect"

	"svc/domain"
)

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

// Role is a custom role. Auth names who has it by themselves: users of a
// provider, by slug, whose data matches. The slug apiKey makes it a role that
// automations use by name.
type Role struct {
	Description string              `json:"description,omitempty"`
	Auth        map[string]RoleAuth `json:"auth,omitzero"`
}

// RoleAuth are the conditions on {authData: …} of a user of the provider.
type RoleAuth struct {
	Conditions map[string]any `json:"conditions,omitzero"`
}

// Rule allows actions on subjects to those who hold one of its roles, or to
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

// denies reports whether the rule takes away.
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
		return notWords(b)
	}
	*w = List(make([]string, len(many))...)
	for i, word := range many {
		if word == nil {
			return notWords(b)
		}
		w.words[i] = *word
	}
	return nil
}

// notWords is the error that encoding/json completes with the field's name.
func notWords(b []byte) error {
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
	)
	return Security{Authorizations: Authorizations{Roles: map[string]Role{editor: {}}, Rules: rules}}
}
