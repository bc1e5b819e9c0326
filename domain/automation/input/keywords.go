package input

import (
	"fmt"
	"math"

	"svc/domain/automation/value"
)

// keywords compiles the keywords of one schema. Those that say nothing about an
// input, of editors and unknown ones, have no rule.
type keywords struct {
	*compiler
	o     *value.Object
	at    *location
	depth int
}

func (k keywords) rule(key string, v any) rule {
	switch key {
	case "type":
		return k.types(v)
	case "enum":
		return k.enum(v)
	case "const":
		return &constant{v, len(value.JSON(v, ""))}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return k.number(key, v)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		return k.count(key, v)
	case "pattern":
		return k.match(v)
	case "format":
		return k.format(v)
	case "uniqueItems":
		return k.unique(v)
	case "required":
		return required(k.names(k.at.to(key), v))
	case "dependentRequired":
		return k.dependents(v)
	}
	return k.applicator(key, v)
}

// applicator compiles a keyword that holds schemas.
func (k keywords) applicator(key string, v any) rule {
	switch key {
	case "properties":
		return k.properties(v)
	case "patternProperties":
		return &patternProperties{k.matching(v)}
	case "additionalProperties":
		return k.additional(v)
	case "propertyNames":
		return &propertyNames{k.below(key, v)}
	case "dependentSchemas":
		return k.dependentSchemas(v)
	case "prefixItems":
		return &prefixItems{k.list(key, v)}
	case "items":
		prefix, _ := k.o.At("prefixItems").([]any)
		return &items{k.below(key, v), len(prefix)}
	case "contains":
		return k.contains(v)
	case "allOf":
		return &allOf{k.list(key, v)}
	case "anyOf":
		return &anyOf{k.list(key, v)}
	case "oneOf":
		return &oneOf{k.list(key, v)}
	case "not":
		return &not{k.below(key, v)}
	case "if":
		return k.choice(v)
	case "$ref", "$dynamicRef":
		// Without $id a schema is one resource, in which both mean the same.
		return &reference{k.reference(v, k.at.to(key))}
	}
	return nil
}

// below compiles the schema that a keyword holds.
func (k keywords) below(key string, v any) *node { return k.node(v, k.at.to(key), k.depth+1) }

// list compiles the schemas that a keyword lists.
func (k keywords) list(key string, v any) []*node {
	list, _ := v.([]any)
	if len(list) == 0 {
		k.fail(k.at.to(key), "expected a list of schemas")
	}
	var all []*node
	for i, item := range list {
		all = append(all, k.node(item, k.at.to(key).to(fmt.Sprint(i)), k.depth+1))
	}
	return all
}

// each compiles the schemas that a keyword holds by name.
func (k keywords) each(key string, v any, add func(name string, n *node)) {
	o, ok := v.(*value.Object)
	if !ok {
		k.fail(k.at.to(key), "expected an object of schemas")
		return
	}
	for _, name := range o.Keys() {
		add(name, k.node(o.At(name), k.at.to(key).to(name), k.depth+1))
	}
}

// names returns the names that are listed at a place.
func (k keywords) names(at *location, v any) []string {
	list, ok := v.([]any)
	var all []string
	for _, item := range list {
		name, isText := item.(string)
		all, ok = append(all, name), ok && isText
	}
	if !ok {
		k.fail(at, "expected a list of names")
	}
	return all
}

func (k keywords) number(key string, v any) rule {
	n, ok := v.(float64)
	switch {
	case !ok:
		k.fail(k.at.to(key), "expected a number")
	case key == "multipleOf" && n <= 0:
		k.fail(k.at.to(key), "expected a number above 0")
	case key == "multipleOf":
		return multipleOf(n)
	}
	return &bound{key, n}
}

// whole returns a number of things.
func (k keywords) whole(key string, v any) float64 {
	n, ok := v.(float64)
	if !ok || n < 0 || n != math.Trunc(n) {
		k.fail(k.at.to(key), "expected a whole number from 0 on")
	}
	return n
}

func (k keywords) match(v any) rule {
	text, ok := v.(string)
	if !ok {
		k.fail(k.at.to("pattern"), "expected a string")
		return nil
	}
	p := k.pattern(text, k.at.to("pattern"))
	if p == nil {
		return nil
	}
	return p
}

func (k keywords) format(v any) rule {
	name, ok := v.(string)
	if !ok {
		k.fail(k.at.to("format"), "expected a string")
	}
	if f, known := formats[name]; known {
		return &format{name, f}
	}
	return nil
}

func (k keywords) unique(v any) rule {
	wanted, ok := v.(bool)
	if !ok {
		k.fail(k.at.to("uniqueItems"), "expected true or false")
	}
	if !wanted {
		return nil
	}
	return unique{}
}

func (k keywords) dependents(v any) rule {
	o, ok := v.(*value.Object)
	if !ok {
		k.fail(k.at.to("dependentRequired"), "expected an object of lists of names")
		return nil
	}
	d := &dependentRequired{}
	for _, name := range o.Keys() {
		d.names = append(d.names, name)
		d.needed = append(d.needed, k.names(k.at.to("dependentRequired").to(name), o.At(name)))
	}
	return d
}

func (k keywords) properties(v any) rule {
	p := &properties{}
	k.each("properties", v, p.add)
	return p
}

// matching compiles the schemas of patternProperties.
func (k keywords) matching(v any) []matching {
	var all []matching
	k.each("patternProperties", v, func(text string, n *node) {
		if p := k.pattern(text, k.at.to("patternProperties").to(text)); p != nil {
			all = append(all, matching{p, n})
		}
	})
	return all
}

func (k keywords) additional(v any) rule {
	a := &additional{node: k.below("additionalProperties", v), refused: v == false, known: map[string]bool{}}
	named, _ := k.o.At("properties").(*value.Object)
	for _, name := range named.Keys() {
		a.known[name] = true
	}
	if patterns, ok := k.o.Get("patternProperties"); ok {
		a.patterns = k.matching(patterns)
	}
	return a
}

func (k keywords) dependentSchemas(v any) rule {
	d := &dependentSchemas{}
	k.each("dependentSchemas", v, func(name string, n *node) {
		d.names, d.nodes = append(d.names, name), append(d.nodes, n)
	})
	return d
}

func (k keywords) contains(v any) rule {
	c := &contains{node: k.below("contains", v), least: 1, most: math.Inf(1)}
	if least, ok := k.o.Get("minContains"); ok {
		c.least = k.whole("minContains", least)
	}
	if most, ok := k.o.Get("maxContains"); ok {
		c.most = k.whole("maxContains", most)
	}
	return c
}

// choice compiles if, then and else.
func (k keywords) choice(v any) rule {
	c := &choice{when: k.below("if", v)}
	if then, ok := k.o.Get("then"); ok {
		c.then = k.below("then", then)
	}
	if otherwise, ok := k.o.Get("else"); ok {
		c.otherwise = k.below("else", otherwise)
	}
	return c
}

// unevaluated compiles the keywords about what no other keyword of n speaks of.
func (k keywords) unevaluated(n *node) []rule {
	var all []rule
	others := &node{at: n.at, rules: n.rules}
	if v, ok := k.o.Get("unevaluatedProperties"); ok {
		all = append(all, &unevaluatedProperties{k.below("unevaluatedProperties", v), others, v == false})
	}
	if v, ok := k.o.Get("unevaluatedItems"); ok {
		all = append(all, &unevaluatedItems{k.below("unevaluatedItems", v), others, v == false})
	}
	return all
}
