package input

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/value"
)

// node is a compiled schema.
type node struct {
	at    *location
	rules []rule
}

// rule is a compiled keyword. check adds the faults of v to r and reports whether there
// are none; n is its schema.
type rule interface {
	check(r *run, n *node, v any) bool
}

// location is the position of a schema. It becomes text only for a fault: a document of
// many schemas below a long key would be copied many times. A nil location is the root.
type location struct {
	up   *location
	step string
}

func (l *location) child(step string) *location { return &location{l, step} }

// steps returns the steps from a location above, nil for all.
func (l *location) steps(from *location) []string {
	var steps []string
	for ; l != from && l != nil; l = l.up {
		steps = append(steps, shorten(l.step))
	}
	slices.Reverse(steps)
	return steps
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns the place of a keyword as a schema path.
func (l *location) pointer(keyword string) string {
	var text strings.Builder
	text.WriteByte('#')
	for _, step := range append(l.steps(nil), keyword) {
		text.WriteByte('/')
		text.WriteString(pointerEscapes.Replace(step))
	}
	return shorten(text.String())
}

// shorten shortens a text that a user chose.
func shorten(s string) string { return domain.Shorten(s, maxText) }

// step is a key, or a position when key is "" and index is not -1.
type step struct {
	key   string
	index int
}

// run is one check of one input.
type run struct {
	path   []step
	faults []any
	work   int
	depth  int
	quiet  int // more than 0: only whether it fits is asked
	spent  bool
	// templates says that a string which holds one fits everywhere.
	templates bool
}

// validate returns the error of an input that does not fit.
func (n *node) validate(in *value.Object) error {
	r := &run{}
	fits := n.check(r, in)
	switch {
	case r.spent:
		return automation.BadArguments([]any{value.NewObject(
			"field", "", "message", "the input is too large to be checked against this schema",
			"keyword", "", "schemaPath", "#", "params", &value.Object{})})
	case fits:
		return nil
	}
	return automation.BadArguments(r.faults)
}

// check reports whether v fits.
func (n *node) check(r *run, v any) bool {
	if !r.spend(1) || r.depth > maxDepth {
		r.spent = true
		return false
	}
	if r.templates && isTemplate(v) {
		return true
	}
	if bytes, ok := v.(value.Bytes); ok {
		r.spend(len(bytes) / 16)
	}
	v = jsonValue(v)
	fits := true
	r.depth++
	for _, rule := range n.rules {
		if !rule.check(r, n, v) {
			fits = false
			if r.quiet > 0 || r.spent {
				break
			}
		}
	}
	r.depth--
	return fits
}

// isValid is check without faults.
func (n *node) isValid(r *run, v any) bool {
	r.quiet++
	ok := n.check(r, v)
	r.quiet--
	return ok
}

// member checks a member of the object at hand.
func (r *run) member(n *node, key string, v any) bool {
	r.path = append(r.path, step{key, -1})
	ok := n.check(r, v)
	r.path = r.path[:len(r.path)-1]
	return ok
}

// item checks an item of the array at hand.
func (r *run) item(n *node, i int, v any) bool {
	r.path = append(r.path, step{"", i})
	ok := n.check(r, v)
	r.path = r.path[:len(r.path)-1]
	return ok
}

// spend counts steps, and reports whether there were as many left.
func (r *run) spend(steps int) bool {
	r.work += steps
	r.spent = r.spent || r.work > maxWork
	return !r.spent
}

// isMuted reports whether no more faults are reported.
func (r *run) isMuted() bool { return r.quiet > 0 || len(r.faults) >= maxFaults }

// fault reports a fault of the current value. Params are alternating keys and values.
func (r *run) fault(n *node, keyword, message string, params ...any) bool {
	if r.isMuted() {
		return false
	}
	r.spend(faultWork)
	r.faults = append(r.faults, value.NewObject(
		"field", r.field(), "message", message, "keyword", keyword,
		"schemaPath", n.at.pointer(keyword), "params", value.NewObject(params...)))
	return false
}

// faultBefore is fault, inserted before the faults from a position on.
func (r *run) faultBefore(from int, n *node, keyword, message string, params ...any) bool {
	if r.quiet > 0 || from >= maxFaults {
		return false
	}
	later := slices.Clone(r.faults[from:])
	r.spend(len(later))
	r.faults = r.faults[:from]
	r.fault(n, keyword, message, params...)
	r.faults = append(r.faults, later...)
	r.faults = r.faults[:min(len(r.faults), maxFaults)]
	return false
}

// faultOf is fault for a member of the object at hand.
func (r *run) faultOf(n *node, member, keyword, message string, params ...any) bool {
	r.path = append(r.path, step{member, -1})
	r.fault(n, keyword, message, params...)
	r.path = r.path[:len(r.path)-1]
	return false
}

func (r *run) field() string {
	field := ""
	for _, s := range r.path {
		if s.index >= 0 {
			field = fmt.Sprintf("%s[%d]", field, s.index)
		} else {
			field = expr.Member(field, shorten(s.key))
		}
		if len(field) > 4*maxText {
			break // it is cut anyway
		}
	}
	return shorten(field)
}

// jsonValue returns v as its JSON has it; arrays and objects are taken as they are.
func jsonValue(v any) any {
	switch v := v.(type) {
	case nil, bool, string, []any, *value.Object:
		return v
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	case value.Bytes:
		return base64.StdEncoding.EncodeToString(v)
	}
	return nil
}

// Faults returns what keeps the schemas of a document from being compiled, whether it
// validates its input or not: of each schema the first. Where Parse has found something
// already, which is in known, nothing is added.
func Faults(a *automation.Automation, known []automation.Fault) []automation.Fault {
	if a == nil {
		return nil
	}
	s := &faultSearch{known: known}
	arguments := &compiler{}
	for _, name := range a.Arguments.Keys() {
		if field, ok := a.Arguments.At(name).(*value.Object); ok {
			field, _ = splitField(field)
			s.compileAt(arguments, field, expr.Member("arguments", name))
		}
	}
	payloads := &compiler{} // of one run: their patterns count together
	for i, schema := range a.Schemas {
		s.compileAt(payloads, schema.Payload, fmt.Sprintf("schemas[%d].payload", i))
		s.compileAt(&compiler{}, schema.Output, fmt.Sprintf("schemas[%d].output", i))
	}
	return s.found
}

// faultSearch collects the faults of schemas.
type faultSearch struct{ known, found []automation.Fault }

// compileAt compiles the schema of a field.
func (s *faultSearch) compileAt(c *compiler, schema *value.Object, field string) {
	if schema == nil || s.isKnownFault(field) {
		return
	}
	c.fault = nil
	if c.schema(schema, nil, field); c.fault != nil {
		s.found = append(s.found, *c.fault)
	}
}

// isKnownFault reports whether something at a field, or below it, is known to be wrong.
func (s *faultSearch) isKnownFault(field string) bool {
	for _, f := range s.known {
		below, ok := strings.CutPrefix(f.Field, field)
		if ok && !f.Warning && (below == "" || below[0] == '.' || below[0] == '[') {
			return true
		}
	}
	return false
}

// anyRules are the settings that refuse least. What a setting decides is judged when a
// document is saved; a review is the same whatever the settings are.
var anyRules = automation.Rules{Slug: regexp.MustCompile(``), MaxWait: 100 * 365 * 24 * time.Hour}

// Review reviews a document of an automation with its schemas.
func Review(doc any) automation.Review {
	parsed, faults := automation.Parse(doc, anyRules)
	return automation.NewReview(parsed, append(faults, Faults(parsed, faults)...))
}
