package input

import (
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
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
	anchors map[string]found // nil: not looked for yet
}

// found is a schema and where it stands.
type found struct {
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
			c.fail(nil, "a typed field is an object, not %s", value.Kind(fields.At(name)))
			return n
		}
		field, must := apart(field)
		if must {
			needed = append(needed, name)
		}
		at := (&location{step: "properties"}).to(name)
		members.add(name, c.schema(field, at, c.field))
	}
	n.rules = append(n.rules, needed, members)
	return n
}

// apart returns the schema of a typed field, and whether its argument must be there:
// required: true is the argument's own, not the list of an object's.
func apart(field *value.Object) (schema *value.Object, must bool) {
	must, own := field.At("required").(bool)
	if !own {
		return field, false
	}
	return rest(field, []string{"required"}), must
}

// schema compiles a schema that references stay in.
func (c *compiler) schema(root *value.Object, at *location, field string) *node {
	c.root, c.base, c.field = root, at, field
	c.nodes, c.anchors = map[*value.Object]*node{}, nil
	n := c.node(root, at, 0)
	if c.fault == nil {
		c.circles()
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
	c.fault = &automation.Fault{Field: cut(field), Message: cut(fmt.Sprintf(format, args...)), Code: domain.CodeValidation, Offset: -1}
}

// node compiles a schema; one that was met before is not compiled again.
func (c *compiler) node(v any, at *location, depth int) *node {
	n := &node{at: at}
	if allowed, ok := v.(bool); ok {
		if !allowed {
			n.rules = []rule{never{}}
		}
		return n
	}
	o, ok := v.(*value.Object)
	switch {
	case !ok:
		c.fail(at, "a schema is an object, not %s", value.Kind(v))
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
			if _, taken := c.anchors[name]; ok && !named && !taken {
				c.anchors[name] = found{v, at}
			}
		}
		for _, key := range v.Keys() {
			if named || !slices.Contains(dataKeywords, key) {
				c.collect(v.At(key), at.to(key), depth+1, !named && slices.Contains(namingKeywords, key))
			}
		}
	case []any:
		for i, item := range v {
			c.collect(item, at.to(fmt.Sprint(i)), depth+1, false)
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
	target, ok := c.find(pointer)
	if decoded, err := url.PathUnescape(pointer); !ok && err == nil {
		target, ok = c.find(decoded)
	}
	if !ok {
		c.fail(at, "there is nothing at %s", text)
		return &node{}
	}
	return c.node(target.schema, target.at, 0)
}

func (c *compiler) find(pointer string) (found, bool) {
	if pointer == "" {
		return found{c.root, c.base}, true
	}
	if !strings.HasPrefix(pointer, "/") {
		if c.anchors == nil {
			c.anchors = map[string]found{}
			c.collect(c.root, c.base, 0, false)
		}
		target, ok := c.anchors[pointer]
		return target, ok
	}
	target := found{schema: any(c.root), at: c.base}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		key := pointerParts.Replace(part)
		target = found{value.At(target.schema, key), target.at.to(key)}
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

// circles refuses a schema that leads back to itself without going into the value:
// checking it would not end.
func (c *compiler) circles() {
	done := map[*node]bool{} // false while it is being looked at
	var visit func(n *node) bool
	visit = func(n *node) bool {
		if over, met := done[n]; met {
			return over
		}
		done[n] = false
		for _, r := range n.rules {
			for _, next := range samePlace(r) {
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
