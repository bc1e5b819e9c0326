package input

import (
	"fmt"
	"strings"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// Faults returns what keeps the schemas of a document from being compiled, whether it
// validates its input or not: of each schema the first. Where Parse has found something
// already, which is in known, nothing is added.
func Faults(a *automation.Automation, known []automation.Fault) []automation.Fault {
	if a == nil {
		return nil
	}
	s := &search{known: known}
	arguments := &compiler{}
	for _, name := range a.Arguments.Keys() {
		if field, ok := a.Arguments.At(name).(*value.Object); ok {
			field, _ = apart(field)
			s.look(arguments, field, expr.Member("arguments", name))
		}
	}
	payloads := &compiler{} // of one run: their patterns count together
	for i, schema := range a.Schemas {
		s.look(payloads, schema.Payload, fmt.Sprintf("schemas[%d].payload", i))
		s.look(&compiler{}, schema.Output, fmt.Sprintf("schemas[%d].output", i))
	}
	return s.found
}

// search collects the faults of schemas.
type search struct{ known, found []automation.Fault }

// look compiles one schema that stands at a field.
func (s *search) look(c *compiler, schema *value.Object, field string) {
	if schema == nil || s.told(field) {
		return
	}
	c.fault = nil
	if c.schema(schema, nil, field); c.fault != nil {
		s.found = append(s.found, *c.fault)
	}
}

// told reports whether something at a field, or below it, is known to be wrong.
func (s *search) told(field string) bool {
	for _, f := range s.known {
		below, ok := strings.CutPrefix(f.Field, field)
		if ok && !f.Warning && (below == "" || below[0] == '.' || below[0] == '[') {
			return true
		}
	}
	return false
}
