package input

import (
	"fmt"
	"strings"

	"svc/domain/automation"
	"svc/domain/value"
)

// Shape is what a document says about its input and output. A nil Shape is that
// of a document that says nothing. It may be used by many at once.
type Shape struct {
	validates bool
	// secretive and discreet say whether any value of an input is marked as secret, or as
	// redacted.
	secretive, discreet bool
	fault               *automation.Error // of a schema that does not compile
	branches            []branch
	// always are the markers that apply whatever branch is chosen: those of
	// arguments.
	always marks
	output *mark
}

// branch is one of the schemas.
type branch struct {
	conditions []condition
	payload    *node // nil: everything fits
	marks      marks
}

// condition is what an input must have at a path for a branch to be chosen.
type condition struct {
	path  []string
	text  string
	fold  bool // case does not count
	never bool
}

// Compile reads the declared input of a. Check reports a schema that does not compile,
// which imports may contain, and only for an automation that validates.
func Compile(a *automation.Automation) *Shape {
	if a == nil || a.Arguments == nil && len(a.Schemas) == 0 {
		return nil
	}
	s := &Shape{validates: a.ValidateArguments, always: argumentMarks(a.Arguments)}
	c := &compiler{}
	for i, schema := range a.Schemas {
		b := branch{conditions: conditions(schema.Conditions), marks: payloadMarks(schema.Payload)}
		if s.validates && schema.Payload != nil {
			b.payload = c.schema(schema.Payload, nil, fmt.Sprintf("schemas[%d].payload", i))
		}
		s.branches = append(s.branches, b)
		s.output = s.output.union(markOf(schema.Output, redacts))
	}
	if len(a.Schemas) == 0 && s.validates {
		s.branches = []branch{{payload: c.arguments(a.Arguments)}}
	}
	if c.fault != nil {
		s.fault = c.fault.Raised()
	}
	s.secretive, s.discreet = s.always.secret != nil, s.always.redact != nil
	for _, b := range s.branches {
		s.secretive = s.secretive || b.marks.secret != nil
		s.discreet = s.discreet || b.marks.redact != nil
	}
	return s
}

func conditions(o *value.Object) []condition {
	var all []condition
	for _, key := range o.Keys() {
		text, scalar := scalarText(o.At(key))
		all = append(all, condition{path: strings.Split(key, "."), text: text, fold: key == "method", never: !scalar})
	}
	return all
}

// scalarText returns a scalar as text, and whether v is one.
func scalarText(v any) (string, bool) {
	switch v.(type) {
	case string, float64, bool:
		return value.Text(v), true
	}
	return "", false
}

func (c condition) holds(in *value.Object) bool {
	text, scalar := scalarText(value.Walk(in, c.path...))
	if c.never || !scalar {
		return false
	}
	return text == c.text || c.fold && strings.EqualFold(text, c.text)
}

// selectBranch returns the branch for an input, nil when there is none.
func (s *Shape) selectBranch(in *value.Object) *branch {
	for i := range s.branches {
		b := &s.branches[i]
		holds := true
		for _, c := range b.conditions {
			holds = holds && c.holds(in)
		}
		if holds {
			return b
		}
	}
	return nil
}

// Check returns the error of an input that does not fit, or of a schema that is
// none. An automation that does not validate takes every input.
func (s *Shape) Check(in *value.Object) error {
	if s == nil || !s.validates {
		return nil
	}
	if s.fault != nil {
		raised := *s.fault // who receives it says in it where it was raised
		return &raised
	}
	b := s.selectBranch(in)
	if b == nil {
		return automation.BadArguments([]any{value.NewObject(
			"field", "", "message", "no schema is meant for this input: the conditions of none hold",
			"keyword", "conditions", "schemaPath", "#", "params", &value.Object{})})
	}
	if b.payload == nil {
		return nil
	}
	return b.payload.validate(withoutKeys(in, answerKey))
}

// answerKey is where the input of an endpoint holds the answer that is being made;
// it is no part of what was sent.
const answerKey = "$http"

// withoutKeys returns o less some keys, o itself when it has none of them.
func withoutKeys(o *value.Object, keys ...string) *value.Object {
	for i, key := range keys {
		if _, ok := o.Get(key); ok {
			return remaining(o, keys[i:])
		}
	}
	return o
}

func remaining(o *value.Object, less []string) *value.Object {
	r := &value.Object{}
	for _, key := range o.Keys() {
		dropped := false
		for _, l := range less {
			dropped = dropped || key == l
		}
		if !dropped {
			r.Set(key, o.At(key))
		}
	}
	return r
}
