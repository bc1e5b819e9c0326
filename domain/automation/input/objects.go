package input

import (
	"svc/domain/automation/value"
)

// required is the keyword of the same name.
type required []string

func (q required) check(r *run, n *node, v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return true
	}
	all := true
	for _, name := range q {
		if _, has := o.Get(name); !has {
			all = r.faultOf(n, name, "required", "is required", "missingProperty", cut(name))
		}
	}
	return r.spend(len(q)/4) && all
}

// dependentRequired is the keyword of the same name.
type dependentRequired struct {
	names  []string
	needed [][]string
}

func (d *dependentRequired) check(r *run, n *node, v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return true
	}
	all := true
	for i, name := range d.names {
		if _, has := o.Get(name); !has || !r.spend(len(d.needed[i])) {
			continue
		}
		for _, other := range d.needed[i] {
			if _, has := o.Get(other); !has {
				all = r.faultOf(n, other, "dependentRequired", "required with "+cut(name), "property", cut(name), "missingProperty", cut(other))
			}
		}
	}
	return r.spend(len(d.names)) && all
}

// properties is the keyword of the same name.
type properties struct {
	names []string
	nodes []*node
}

func (p *properties) add(name string, n *node) {
	p.names, p.nodes = append(p.names, name), append(p.nodes, n)
}

func (p *properties) check(r *run, _ *node, v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return true
	}
	all := true
	for i, name := range p.names {
		if got, has := o.Get(name); has && !r.member(p.nodes[i], name, got) {
			all = false
		}
	}
	return r.spend(len(p.names)/4) && all
}

// matching is a schema for the members that a pattern matches.
type matching struct {
	*pattern
	node *node
}

// patternProperties is the keyword of the same name.
type patternProperties struct{ patterns []matching }

func (p *patternProperties) check(r *run, _ *node, v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return true
	}
	all := true
	for _, m := range p.patterns {
		for _, key := range o.Keys() {
			if m.matches(r, key) && !r.member(m.node, key, o.At(key)) {
				all = false
			}
			if r.spent {
				return false
			}
		}
	}
	return all
}

// additional is additionalProperties.
type additional struct {
	node     *node
	refused  bool
	known    map[string]bool
	patterns []matching
}

func (a *additional) check(r *run, n *node, v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return true
	}
	all := true
	for _, key := range o.Keys() {
		if a.known[key] || matchesAny(r, a.patterns, key) {
			continue
		}
		if !leftOver(r, n, a.node, a.refused, "additionalProperties", "additionalProperty", key, o.At(key)) {
			all = false
		}
		if r.spent {
			return false
		}
	}
	return r.spend(o.Len()/4) && all
}

func matchesAny(r *run, patterns []matching, key string) bool {
	for _, m := range patterns {
		if m.matches(r, key) {
			return true
		}
	}
	return false
}

// leftOver checks a member that no other keyword speaks of. One that is refused is
// told by the keyword that refuses it.
func leftOver(r *run, n, below *node, refused bool, keyword, param, key string, v any) bool {
	if refused {
		return r.spend(1) && r.faultOf(n, key, keyword, "unknown field", param, cut(key))
	}
	return r.member(below, key, v)
}

// propertyNames is the keyword of the same name.
type propertyNames struct{ node *node }

func (p *propertyNames) check(r *run, n *node, v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return true
	}
	all := true
	for _, key := range o.Keys() {
		if !p.node.fits(r, key) {
			all = r.faultOf(n, key, "propertyNames", "a field of this name is not expected", "propertyName", cut(key))
		}
		if r.spent {
			return false
		}
	}
	return all
}
