package input

import (
	"fmt"
	"strings"

	"svc/domain/automation"
	"svc/domain/automation/redact"
	"svc/domain/value"
)

// mark says which values below one are marked. A nil mark marks none.
type mark struct {
	self    bool
	names   []string // of members with marks, in order
	members map[string]*mark
	items   *mark
}

// marks are the markers of an input.
type marks struct{ secret, redact *mark }

// marker is a keyword that marks a value.
type marker struct {
	keyword string
	items   bool // whether it reaches into arrays
}

var (
	secrets = marker{keyword: "secret"}
	redacts = marker{keyword: "redact", items: true}
)

func payloadMarks(schema *value.Object) marks {
	return marks{secret: markOf(schema, secrets), redact: markOf(schema, redacts)}
}

func argumentMarks(fields *value.Object) marks {
	return marks{secret: membersMark(fields, secrets), redact: membersMark(fields, redacts)}
}

// markOf reads the markers of a schema; nil when it has none.
func markOf(schema any, by marker) *mark {
	o, ok := schema.(*value.Object)
	if !ok || o == nil {
		return nil
	}
	properties, _ := o.At("properties").(*value.Object)
	m := membersMark(properties, by)
	if by.items {
		if items := markOf(o.At("items"), by); items != nil {
			m = m.union(&mark{items: items})
		}
	}
	if o.At(by.keyword) == true {
		m = m.union(&mark{self: true})
	}
	return m
}

func membersMark(fields *value.Object, by marker) *mark {
	var m *mark
	for _, name := range fields.Keys() {
		if below := markOf(fields.At(name), by); below != nil {
			m = m.union(&mark{names: []string{name}, members: map[string]*mark{name: below}})
		}
	}
	return m
}

// union returns the markers of both. It may change m.
func (m *mark) union(other *mark) *mark {
	if m == nil || other == nil {
		if m == nil {
			return other
		}
		return m
	}
	m.self = m.self || other.self
	m.items = m.items.union(other.items)
	for _, name := range other.names {
		if m.members == nil {
			m.members = map[string]*mark{}
		}
		if _, ok := m.members[name]; !ok {
			m.names = append(m.names, name)
		}
		m.members[name] = m.members[name].union(other.members[name])
	}
	return m
}

// Secrets returns the secret strings of an input, trimmed, and an error for those that are
// too long: each is searched for in everything that a run records. It does not depend on
// whether the automation validates.
func (s *Shape) Secrets(in *value.Object) ([]string, error) {
	if s == nil || !s.secretive {
		return nil, nil
	}
	c := &secretCollector{}
	c.collectMarked(s.always.secret, in)
	if b := s.selectBranch(in); b != nil {
		c.collectMarked(b.marks.secret, in)
	}
	if len(c.faults) > 0 {
		return c.secrets, automation.BadArguments(c.faults)
	}
	return c.secrets, nil
}

// secretCollector is what an input holds that is marked as secret.
type secretCollector struct {
	run

	secrets []string
}

// collectMarked takes the marked strings of v.
func (c *secretCollector) collectMarked(m *mark, v any) {
	if m == nil {
		return
	}
	switch v := v.(type) {
	case string:
		if s := strings.TrimSpace(v); m.self && s != "" {
			c.addSecret(s)
		}
	case *value.Object:
		for _, name := range m.names {
			c.path = append(c.path, step{name, -1})
			c.collectMarked(m.members[name], v.At(name))
			c.path = c.path[:len(c.path)-1]
		}
	}
}

func (c *secretCollector) addSecret(secret string) {
	if len(secret) > maxSecret {
		c.fault(c.schema(), secrets.keyword, fmt.Sprintf("a secret is at most %d bytes long", maxSecret), "limit", float64(maxSecret))
		return
	}
	c.secrets = append(c.secrets, secret)
}

// schema is what marks the value at hand: markers are found through properties alone.
func (c *secretCollector) schema() *node {
	n := &node{}
	for _, s := range c.path {
		n.at = n.at.child("properties").child(s.key)
	}
	return n
}

// Redacted returns an input with REDACTED in place of its redacted values; the input
// itself when there are none.
func (s *Shape) Redacted(in *value.Object) *value.Object {
	if s == nil || !s.discreet || in == nil {
		return in
	}
	out := s.always.redact.object(in)
	if b := s.selectBranch(in); b != nil {
		out = b.marks.redact.object(out)
	}
	return out
}

// RedactedOutput is Redacted for an output. What any branch marks is redacted, whichever
// branch was chosen.
func (s *Shape) RedactedOutput(out any) any {
	if s == nil || s.output == nil {
		return out
	}
	return s.output.value(out)
}

// Recorded returns an input for the event of the execution: without the response, the raw
// body and credentials, then Redacted.
func (s *Shape) Recorded(in *value.Object) *value.Object {
	out := withoutKeys(s.Redacted(in), answerKey, "rawBody")
	headers, ok := out.At("headers").(*value.Object)
	if !ok {
		return out
	}
	redacted := withoutAuthorization(headers)
	if redacted == headers {
		return out
	}
	if out == in {
		out = in.Copy()
	}
	out.Set("headers", redacted)
	return out
}

// withoutAuthorization drops the header in any case: an automation that is called
// gets headers as its caller wrote them.
func withoutAuthorization(headers *value.Object) *value.Object {
	for _, name := range headers.Keys() {
		if strings.EqualFold(name, "authorization") {
			return withoutAuthorization(remaining(headers, []string{name}))
		}
	}
	return headers
}

// object is value for an object, which stays an object: if it is marked itself, all its
// members are redacted.
func (m *mark) object(o *value.Object) *value.Object {
	if m == nil {
		return o
	}
	if m.self {
		hidden := &value.Object{}
		for _, key := range o.Keys() {
			hidden.Set(key, redact.Redacted)
		}
		return hidden
	}
	return m.markMembers(o)
}

// value returns v with the marked values replaced.
func (m *mark) value(v any) any {
	if m == nil || value.IsUndefined(v) {
		return v
	}
	if m.self {
		return redact.Redacted
	}
	switch v := v.(type) {
	case *value.Object:
		return m.markMembers(v)
	case []any:
		return m.list(v)
	}
	return v
}

func (m *mark) markMembers(o *value.Object) *value.Object {
	out := o
	for _, name := range m.names {
		v, ok := o.Get(name)
		if !ok {
			continue
		}
		if out == o {
			out = o.Copy()
		}
		out.Set(name, m.members[name].value(v))
	}
	return out
}

func (m *mark) list(list []any) []any {
	if m.items == nil {
		return list
	}
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = m.items.value(item)
	}
	return out
}
