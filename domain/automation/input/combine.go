package input

import (
	"fmt"
	"strconv"

	"svc/domain/automation/value"
)

// reference is $ref and $dynamicRef.
type reference struct{ node *node }

func (s *reference) check(r *run, _ *node, v any) bool { return s.node.check(r, v) }

// allOf is the keyword of the same name.
type allOf struct{ nodes []*node }

func (s *allOf) check(r *run, _ *node, v any) bool {
	all := true
	for _, n := range s.nodes {
		all = n.check(r, v) && all
		if !all && r.quiet > 0 {
			break
		}
	}
	return all
}

// anyOf is the keyword of the same name. When nothing fits, the faults of every
// form follow its own.
type anyOf struct{ nodes []*node }

func (s *anyOf) check(r *run, n *node, v any) bool {
	told := len(r.faults)
	for _, form := range s.nodes {
		if form.check(r, v) {
			r.faults = r.faults[:told]
			return true
		}
	}
	return r.faultBefore(told, n, "anyOf", formsExpected(s.nodes))
}

func formsExpected(forms []*node) string {
	return "must fit one of " + strconv.Itoa(len(forms)) + " schemas"
}

// oneOf is the keyword of the same name, with faults as those of anyOf.
type oneOf struct{ nodes []*node }

func (s *oneOf) check(r *run, n *node, v any) bool {
	told, fitting := len(r.faults), []any(nil)
	for i, form := range s.nodes {
		if len(fitting) == 0 && form.check(r, v) || len(fitting) > 0 && form.fits(r, v) {
			fitting = append(fitting, float64(i))
		}
		if len(fitting) == 2 {
			break
		}
	}
	if len(fitting) == 0 {
		return r.faultBefore(told, n, "oneOf", formsExpected(s.nodes), "passingSchemas", nil)
	}
	r.faults = r.faults[:told]
	return len(fitting) == 1 || r.fault(n, "oneOf", fmt.Sprintf("must fit exactly one of %d schemas", len(s.nodes)), "passingSchemas", fitting)
}

// not is the keyword of the same name.
type not struct{ node *node }

func (s *not) check(r *run, n *node, v any) bool {
	return !s.node.fits(r, v) || r.fault(n, "not", "a value of this form is not expected")
}

// choice is if, then and else; those that are absent are nil.
type choice struct{ when, then, otherwise *node }

// next returns what v must fit besides, nil when there is nothing.
func (s *choice) next(r *run, v any) *node {
	if s.then == nil && s.otherwise == nil {
		return nil
	}
	if s.when.fits(r, v) {
		return s.then
	}
	return s.otherwise
}

func (s *choice) check(r *run, _ *node, v any) bool {
	next := s.next(r, v)
	return next == nil || next.check(r, v)
}

// dependentSchemas is the keyword of the same name.
type dependentSchemas struct {
	names []string
	nodes []*node
}

func (d *dependentSchemas) check(r *run, _ *node, v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return true
	}
	all := true
	for i, name := range d.names {
		if _, has := o.Get(name); has && !d.nodes[i].check(r, v) {
			all = false
		}
	}
	return r.spend(len(d.names)) && all
}

// samePlace returns the schemas that a rule holds the same value against.
func samePlace(r rule) []*node {
	switch s := r.(type) {
	case *reference:
		return []*node{s.node}
	case *allOf:
		return s.nodes
	case *anyOf:
		return s.nodes
	case *oneOf:
		return s.nodes
	case *not:
		return []*node{s.node}
	case *dependentSchemas:
		return s.nodes
	case *choice:
		all := []*node{s.when}
		if s.then != nil {
			all = append(all, s.then)
		}
		if s.otherwise != nil {
			all = append(all, s.otherwise)
		}
		return all
	}
	return nil
}
