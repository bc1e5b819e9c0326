package input

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/value"
)

// compiler makes nodes of the schemas of one document. It stops at the first
// fault.
type compiler struct {
	fault    *automation.Fault
	patterns int // how large those compiled so far are

	// Of the schema at hand:
	root    *value.Object
	base    *location // where root stands
	field   string    // the same, as a field of the document
	nodes   map[*value.Object]*node
	anchors map[string]foundSchema // nil: not looked for yet
}

// foundSchema is a schema and its location.
type foundSchema struct {
	schema any
	at     *location
}

// arguments compiles the typed fields of the input: the schema of an object that
// has them.
func (c *compiler) arguments(fields *value.Object) *node {
	n := &node{}
	members := &properties{}
	needed := required{}
	for _, name := range fields.Keys() {
		field, ok := fields.At(name).(*value.Object)
		c.field = expr.Member("arguments", name)
		if !ok {
			c.fail(nil, "a typed field is an object, not %s", value.TypeName(fields.At(name)))
			return n
		}
		field, must := splitField(field)
		if must {
			needed = append(needed, name)
		}
		at := (&location{step: "properties"}).child(name)
		members.add(name, c.schema(field, at, c.field))
	}
	n.rules = append(n.rules, needed, members)
	return n
}

// splitField returns the schema of a typed field, and whether its argument must be there:
// required: true is the argument's own, not the list of an object's.
func splitField(field *value.Object) (schema *value.Object, must bool) {
	must, own := field.At("required").(bool)
	if !own {
		return field, false
	}
	return remaining(field, []string{"required"}), must
}

// schema compiles a schema that references stay in.
func (c *compiler) schema(root *value.Object, at *location, field string) *node {
	c.root, c.base, c.field = root, at, field
	c.nodes, c.anchors = map[*value.Object]*node{}, nil
	n := c.node(root, at, 0)
	if c.fault == nil {
		c.checkCircles()
	}
	return n
}

// fail notes a fault of the schema at hand.
func (c *compiler) fail(at *location, format string, args ...any) {
	if c.fault != nil {
		return
	}
	field, listing := c.field, false
	for _, step := range at.steps(c.base) {
		switch {
		case len(field) > 4*maxText: // it is cut anyway
		case listing:
			field += "[" + step + "]"
		default:
			field = expr.Member(field, step)
		}
		listing = !listing && slices.Contains(listingKeywords, step)
	}
	c.fault = &automation.Fault{Field: shorten(field), Message: shorten(fmt.Sprintf(format, args...)), Code: domain.CodeValidation, Offset: -1}
}

// node compiles a schema; one that was met before is not compiled again.
func (c *compiler) node(v any, at *location, depth int) *node {
	n := &node{at: at}
	if allowed, ok := v.(bool); ok {
		if !allowed {
			n.rules = []rule{falseSchema{}}
		}
		return n
	}
	o, ok := v.(*value.Object)
	switch {
	case !ok:
		c.fail(at, "a schema is an object, not %s", value.TypeName(v))
		return n
	case depth > automation.MaxNesting:
		c.fail(at, "schemas are nested more than %d deep", automation.MaxNesting)
		return n
	case c.nodes[o] != nil:
		return c.nodes[o]
	}
	c.nodes[o] = n
	k := keywords{c, o, at, depth}
	for _, key := range o.Keys() {
		if c.fault != nil {
			break
		}
		if rule := k.rule(key, o.At(key)); rule != nil {
			n.rules = append(n.rules, rule)
		}
	}
	// What is left over is known last.
	n.rules = append(n.rules, k.unevaluated(n)...)
	return n
}

// collect notes the anchors of a schema, or of schemas by name.
func (c *compiler) collect(v any, at *location, depth int, named bool) {
	if depth > 2*automation.MaxNesting {
		return // compiling refuses it
	}
	switch v := v.(type) {
	case *value.Object:
		for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
			name, ok := v.At(keyword).(string)
			if _, exists := c.anchors[name]; ok && !named && !exists {
				c.anchors[name] = foundSchema{v, at}
			}
		}
		for _, key := range v.Keys() {
			if named || !slices.Contains(dataKeywords, key) {
				c.collect(v.At(key), at.child(key), depth+1, !named && slices.Contains(namingKeywords, key))
			}
		}
	case []any:
		for i, item := range v {
			c.collect(item, at.child(fmt.Sprint(i)), depth+1, false)
		}
	}
}

var (
	// dataKeywords hold values that are no schemas.
	dataKeywords = []string{"enum", "const", "default", "examples"}
	// namingKeywords hold schemas by names of the author's choice.
	namingKeywords = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
	// listingKeywords hold schemas in a list.
	listingKeywords = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
)

var pointerParts = strings.NewReplacer("~1", "/", "~0", "~")

// reference finds what a $ref points to.
func (c *compiler) reference(v any, at *location) *node {
	text, ok := v.(string)
	pointer, local := strings.CutPrefix(text, "#")
	if !ok || !local {
		c.fail(at, "$ref must point into the same schema: it begins with #")
		return &node{}
	}
	target, ok := c.resolvePointer(pointer)
	if decoded, err := url.PathUnescape(pointer); !ok && err == nil {
		target, ok = c.resolvePointer(decoded)
	}
	if !ok {
		c.fail(at, "there is nothing at %s", text)
		return &node{}
	}
	return c.node(target.schema, target.at, 0)
}

func (c *compiler) resolvePointer(pointer string) (foundSchema, bool) {
	if pointer == "" {
		return foundSchema{c.root, c.base}, true
	}
	if !strings.HasPrefix(pointer, "/") {
		if c.anchors == nil {
			c.anchors = map[string]foundSchema{}
			c.collect(c.root, c.base, 0, false)
		}
		target, ok := c.anchors[pointer]
		return target, ok
	}
	target := foundSchema{schema: any(c.root), at: c.base}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		key := pointerParts.Replace(part)
		target = foundSchema{value.At(target.schema, key), target.at.child(key)}
	}
	return target, !value.IsUndefined(target.schema)
}

// pattern compiles a regular expression.
func (c *compiler) pattern(text string, at *location) *pattern {
	if why := expr.CheckPattern(text); why != "" {
		c.fail(at, "%s", why)
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		c.fail(at, "%v", err)
		return nil
	}
	size := patternSize(text)
	if c.patterns += size; c.patterns > maxPatterns {
		c.fail(at, "the regular expressions of the schemas are too large")
		return nil
	}
	return &pattern{re, size}
}

// patternSize is how many parts a regular expression has once compiled: what a
// character costs at worst.
func patternSize(text string) int {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return len(text)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return len(text)
	}
	return len(prog.Inst)
}

// checkCircles refuses a schema that leads back to itself without going into the value:
// checking it would not end.
func (c *compiler) checkCircles() {
	done := map[*node]bool{} // false while it is being looked at
	var visit func(n *node) bool
	visit = func(n *node) bool {
		if over, met := done[n]; met {
			return over
		}
		done[n] = false
		for _, r := range n.rules {
			for _, next := range sameValueSchemas(r) {
				if !visit(next) {
					return false
				}
			}
		}
		done[n] = true
		return true
	}
	for _, n := range c.nodes {
		if !visit(n) {
			c.fail(c.base, "a reference leads back to itself")
			return
		}
	}
}

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
		return k.patternRule(v)
	case "format":
		return k.format(v)
	case "uniqueItems":
		return k.unique(v)
	case "required":
		return required(k.names(k.at.child(key), v))
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
		return &propertyNames{k.subschema(key, v)}
	case "dependentSchemas":
		return k.dependentSchemas(v)
	case "prefixItems":
		return &prefixItems{k.list(key, v)}
	case "items":
		prefix, _ := k.o.At("prefixItems").([]any)
		return &items{k.subschema(key, v), len(prefix)}
	case "contains":
		return k.contains(v)
	case "allOf":
		return &allOf{k.list(key, v)}
	case "anyOf":
		return &anyOf{k.list(key, v)}
	case "oneOf":
		return &oneOf{k.list(key, v)}
	case "not":
		return &not{k.subschema(key, v)}
	case "if":
		return k.choice(v)
	case "$ref", "$dynamicRef":
		// Without $id a schema is one resource, in which both mean the same.
		return &reference{k.reference(v, k.at.child(key))}
	}
	return nil
}

// subschema compiles the schema that a keyword holds.
func (k keywords) subschema(key string, v any) *node { return k.node(v, k.at.child(key), k.depth+1) }

// list compiles the schemas that a keyword lists.
func (k keywords) list(key string, v any) []*node {
	list, _ := v.([]any)
	if len(list) == 0 {
		k.fail(k.at.child(key), "expected a list of schemas")
	}
	var all []*node
	for i, item := range list {
		all = append(all, k.node(item, k.at.child(key).child(fmt.Sprint(i)), k.depth+1))
	}
	return all
}

// eachSubschema compiles the schemas that a keyword holds by name.
func (k keywords) eachSubschema(key string, v any, add func(name string, n *node)) {
	o, ok := v.(*value.Object)
	if !ok {
		k.fail(k.at.child(key), "expected an object of schemas")
		return
	}
	for _, name := range o.Keys() {
		add(name, k.node(o.At(name), k.at.child(key).child(name), k.depth+1))
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
		k.fail(k.at.child(key), "expected a number")
	case key == "multipleOf" && n <= 0:
		k.fail(k.at.child(key), "expected a number above 0")
	case key == "multipleOf":
		return multipleOf(n)
	}
	return &bound{key, n}
}

// countOf returns a number of things.
func (k keywords) countOf(key string, v any) float64 {
	n, ok := v.(float64)
	if !ok || n < 0 || n != math.Trunc(n) {
		k.fail(k.at.child(key), "expected a whole number from 0 on")
	}
	return n
}

func (k keywords) patternRule(v any) rule {
	text, ok := v.(string)
	if !ok {
		k.fail(k.at.child("pattern"), "expected a string")
		return nil
	}
	p := k.pattern(text, k.at.child("pattern"))
	if p == nil {
		return nil
	}
	return p
}

func (k keywords) format(v any) rule {
	name, ok := v.(string)
	if !ok {
		k.fail(k.at.child("format"), "expected a string")
	}
	if f, known := formats[name]; known {
		return &format{name, f}
	}
	return nil
}

func (k keywords) unique(v any) rule {
	wanted, ok := v.(bool)
	if !ok {
		k.fail(k.at.child("uniqueItems"), "expected true or false")
	}
	if !wanted {
		return nil
	}
	return unique{}
}

func (k keywords) dependents(v any) rule {
	o, ok := v.(*value.Object)
	if !ok {
		k.fail(k.at.child("dependentRequired"), "expected an object of lists of names")
		return nil
	}
	d := &dependentRequired{}
	for _, name := range o.Keys() {
		d.names = append(d.names, name)
		d.needed = append(d.needed, k.names(k.at.child("dependentRequired").child(name), o.At(name)))
	}
	return d
}

func (k keywords) properties(v any) rule {
	p := &properties{}
	k.eachSubschema("properties", v, p.add)
	return p
}

// matching compiles the schemas of patternProperties.
func (k keywords) matching(v any) []matching {
	var all []matching
	k.eachSubschema("patternProperties", v, func(text string, n *node) {
		if p := k.pattern(text, k.at.child("patternProperties").child(text)); p != nil {
			all = append(all, matching{p, n})
		}
	})
	return all
}

func (k keywords) additional(v any) rule {
	a := &additional{node: k.subschema("additionalProperties", v), refused: v == false, known: map[string]bool{}}
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
	k.eachSubschema("dependentSchemas", v, func(name string, n *node) {
		d.names, d.nodes = append(d.names, name), append(d.nodes, n)
	})
	return d
}

func (k keywords) contains(v any) rule {
	c := &contains{node: k.subschema("contains", v), least: 1, most: math.Inf(1)}
	if least, ok := k.o.Get("minContains"); ok {
		c.least = k.countOf("minContains", least)
	}
	if most, ok := k.o.Get("maxContains"); ok {
		c.most = k.countOf("maxContains", most)
	}
	return c
}

// choice compiles if, then and else.
func (k keywords) choice(v any) rule {
	c := &choice{when: k.subschema("if", v)}
	if then, ok := k.o.Get("then"); ok {
		c.then = k.subschema("then", then)
	}
	if otherwise, ok := k.o.Get("else"); ok {
		c.otherwise = k.subschema("else", otherwise)
	}
	return c
}

// unevaluated compiles the keywords about what no other keyword of n covers.
func (k keywords) unevaluated(n *node) []rule {
	var all []rule
	others := &node{at: n.at, rules: n.rules}
	if v, ok := k.o.Get("unevaluatedProperties"); ok {
		all = append(all, &unevaluatedProperties{k.subschema("unevaluatedProperties", v), others, v == false})
	}
	if v, ok := k.o.Get("unevaluatedItems"); ok {
		all = append(all, &unevaluatedItems{k.subschema("unevaluatedItems", v), others, v == false})
	}
	return all
}
