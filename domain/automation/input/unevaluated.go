package input

import (
	"svc/domain/automation/value"
)

// coverage is what keywords spoke of: members by name, items by position.
type coverage struct {
	names map[string]bool
	items map[int]bool
	all   bool
}

// unevaluatedProperties is the keyword of the same name; others are the rest of
// its schema.
type unevaluatedProperties struct {
	node, others *node
	refused      bool
}

func (u *unevaluatedProperties) check(r *run, n *node, v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return true
	}
	c := &coverage{names: map[string]bool{}}
	u.others.cover(r, v, c)
	all := true
	for _, key := range o.Keys() {
		if c.all || c.names[key] {
			continue
		}
		if !leftOver(r, n, u.node, u.refused, "unevaluatedProperties", "unevaluatedProperty", key, o.At(key)) {
			all = false
		}
	}
	return all && !r.spent
}

// unevaluatedItems is the keyword of the same name; others are the rest of its
// schema.
type unevaluatedItems struct {
	node, others *node
	refused      bool
}

func (u *unevaluatedItems) check(r *run, n *node, v any) bool {
	list, ok := v.([]any)
	if !ok {
		return true
	}
	c := &coverage{items: map[int]bool{}}
	u.others.cover(r, v, c)
	all := true
	for i, item := range list {
		switch {
		case c.all || c.items[i]:
		case u.refused:
			return r.fault(n, "unevaluatedItems", "expected no further items", "limit", float64(i))
		default:
			all = r.item(u.node, i, item) && all
		}
	}
	return all && !r.spent
}

// cover adds what the keywords of n, and of the schemas that v fits beside it,
// speak of.
func (n *node) cover(r *run, v any, c *coverage) {
	if !r.spend(1) {
		return
	}
	for _, rule := range n.rules {
		switch s := rule.(type) {
		case *choice:
			s.cover(r, v, c)
		case *dependentSchemas:
			for i, name := range s.names {
				if _, has := asObject(v).Get(name); has {
					s.nodes[i].coverIfFits(r, v, c)
				}
			}
		case *not:
		default:
			for _, next := range samePlace(rule) {
				next.coverIfFits(r, v, c)
			}
			c.add(r, rule, v)
		}
	}
}

func (n *node) coverIfFits(r *run, v any, c *coverage) {
	if n.fits(r, v) {
		n.cover(r, v, c)
	}
}

func (s *choice) cover(r *run, v any, c *coverage) {
	next := s.otherwise
	if s.when.fits(r, v) {
		s.when.cover(r, v, c)
		next = s.then
	}
	if next != nil {
		next.coverIfFits(r, v, c)
	}
}

func asObject(v any) *value.Object {
	o, _ := v.(*value.Object)
	return o
}

// add adds what one rule speaks of.
func (c *coverage) add(r *run, rule rule, v any) {
	if o, ok := v.(*value.Object); ok && c.names != nil {
		c.addMembers(r, rule, o)
	}
	if list, ok := v.([]any); ok && c.items != nil {
		c.addItems(r, rule, list)
	}
}

func (c *coverage) addMembers(r *run, rule rule, o *value.Object) {
	switch s := rule.(type) {
	case *properties:
		for _, name := range s.names {
			c.names[name] = true
		}
		r.spend(len(s.names))
	case *patternProperties:
		for _, key := range o.Keys() {
			if !c.names[key] && matchesAny(r, s.patterns, key) {
				c.names[key] = true
			}
		}
	case *additional, *unevaluatedProperties:
		c.all = true
	}
}

func (c *coverage) addItems(r *run, rule rule, list []any) {
	switch s := rule.(type) {
	case *prefixItems:
		for i := range s.nodes {
			c.items[i] = true
		}
		r.spend(len(s.nodes))
	case *items, *unevaluatedItems:
		c.all = true
	case *contains:
		for i, item := range list {
			if s.node.fits(r, item) {
				c.items[i] = true
			}
		}
	}
}
