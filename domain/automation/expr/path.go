package expr

import (
	"strings"

	"svc/domain/value"
)

// path names a variable: its root and the keys below it.
type path struct {
	steps []step
	names []string // the keys of a path that is written out, else nil
}

// step is one part of a path, in one of four forms.
type step interface {
	// resolve appends the keys of the step; false when they are not known, because the
	// value of a key is absent or no scalar.
	resolve(e *evaluation, keys []Step) ([]Step, bool)
}

// Step is one key of a resolved path. Index marks literal digits in brackets,
// which make an array where nothing is.
type Step struct {
	Key   string
	Index bool
}

type (
	// literal is a key that is written out.
	literal Step
	// joined is names and values in a row: path text once they are concatenated.
	joined struct{ parts []node }
	// keyed is a value in brackets: one key, dots in it are data.
	keyed struct{ node }
)

func (l literal) resolve(_ *evaluation, keys []Step) ([]Step, bool) {
	return append(keys, Step(l)), true
}

func (k keyed) resolve(e *evaluation, keys []Step) ([]Step, bool) {
	text, ok := keyText(k.eval(e))
	return append(keys, Step{Key: text}), e.spend(len(text)) && ok
}

func (j joined) resolve(e *evaluation, keys []Step) ([]Step, bool) {
	var text strings.Builder
	for _, part := range j.parts {
		s, ok := keyText(part.eval(e))
		if !ok {
			return nil, false
		}
		text.WriteString(s)
	}
	more, ok := plainPath(text.String())
	if !ok {
		e.fail(&Error{Name: VariableError, Message: "a value is no path: " + shorten(text.String())})
		return nil, false
	}
	if len(keys) == 0 && more[0].Key == "secret" {
		return nil, false // a path made of values does not reach secrets
	}
	return append(keys, more...), true
}

// keyText returns a scalar as a key.
func keyText(v any) (string, bool) {
	switch v.(type) {
	case string, float64, bool:
		return value.Text(v), true
	}
	return "", false
}

// PlainPath reads a path that came out of values: nothing in it is a template.
// It is false for what is no path, and for secrets.
func PlainPath(text string) ([]Step, bool) {
	steps, ok := plainPath(text)
	return steps, ok && steps[0].Key != "secret"
}

// plainPath reads path text that came out of values: nothing in it is a
// template.
func plainPath(text string) ([]Step, bool) {
	if len(text) > MaxLength {
		return nil, false
	}
	p := newParser(text)
	steps := []Step{}
	for first := true; p.err == nil && (first || p.pos < p.end); first = false {
		switch {
		case !first && p.skipText("["):
			steps = append(steps, p.plainKey())
			p.expect("]", VariableError)
		case first || p.skipText("."):
			steps = append(steps, Step{Key: p.name()})
		default:
			return nil, false
		}
	}
	return steps, p.err == nil
}

func (p *parser) plainKey() Step {
	if r := p.peek(); r == '"' || r == '\'' {
		return Step{Key: p.quoted(VariableError)}
	}
	return indexed(p.name())
}

func indexed(name string) Step {
	_, digits := value.Index(name)
	return Step{Key: name, Index: digits}
}

func (p *parser) name() string {
	name := p.takeWhile(isName)
	if name == "" {
		p.fail(VariableError, "expected a name%s", p.describeNext())
	}
	return name
}

// variable reads {{path}}.
func (p *parser) variable() node {
	p.enter()
	defer p.leave()
	p.expect("{{", VariableError)
	p.space()
	v := p.path()
	p.space()
	p.expect("}}", VariableError)
	return v
}

func (p *parser) path() *path {
	steps := []step{p.segment()}
	for p.err == nil {
		switch {
		case p.skipText("."):
			steps = append(steps, p.segment())
		case p.at("[") && !p.at("[]"):
			p.pos++
			steps = append(steps, p.key())
			p.expect("]", VariableError)
		default:
			return newPath(steps)
		}
	}
	return &path{}
}

func newPath(steps []step) *path {
	made := &path{steps: steps}
	if keys, ok := made.static(); ok {
		for _, key := range keys {
			made.names = append(made.names, key.Key)
		}
	}
	return made
}

// static returns the keys of a path that is written out.
func (p *path) static() ([]Step, bool) {
	var keys []Step
	for _, s := range p.steps {
		l, ok := s.(literal)
		if !ok {
			return nil, false
		}
		keys = append(keys, Step(l))
	}
	return keys, true
}

func (p *parser) segment() step {
	var parts []node
	values := false
	for p.err == nil {
		if p.at("{{") {
			parts, values = append(parts, p.variable()), true
		} else if name := p.takeWhile(isName); name != "" {
			parts = append(parts, constant{name})
		} else {
			break
		}
	}
	if len(parts) == 0 {
		p.fail(VariableError, "expected a name%s", p.describeNext())
		return literal{}
	}
	if c, ok := parts[0].(constant); ok && !values {
		name, _ := c.v.(string)
		return literal{Key: name}
	}
	return joined{parts}
}

// key reads the content of brackets; its first character decides its type.
func (p *parser) key() step {
	switch {
	case p.at("{{"):
		return keyed{p.variable()}
	case p.at("{%"):
		return keyed{p.block()}
	case p.at(`"`), p.at("'"):
		start := p.pos + 1
		p.quoted(VariableError)
		return keyed{p.parseInside(start, p.pos-1)}
	}
	return literal(indexed(p.name()))
}

// parseInside reads a part of the string as a template.
func (p *parser) parseInside(start, end int) node {
	if p.err != nil {
		return constant{}
	}
	sub := &parser{src: p.src, pos: start, end: end, depth: p.depth}
	t := sub.template()
	if sub.err != nil {
		p.err = sub.err
		p.pos = p.end
	}
	return t
}

// Read is a variable that an expression reads.
type Read struct {
	// Keys are the keys of its path up to the first that is computed; none when the
	// first is.
	Keys []string
	// Tested says that only its presence or truth is used: the author expects that it may
	// be absent.
	Tested bool
}

// Reads visits the variables that the template reads, in the order of the text.
func (t *Template) Reads(visit func(Read)) {
	if t != nil {
		visitReads(t.root, false, visit)
	}
}

// Reads visits the variables that the condition reads.
func (c *Condition) Reads(visit func(Read)) {
	if c != nil {
		visitReads(c.root, true, visit)
	}
}

// Reads visits the variables that the keys of the target are computed from.
func (t *Target) Reads(visit func(Read)) {
	if t != nil {
		visitSteps(t.path.steps, visit)
	}
}

// Root returns the variable that a target writes to, "" when its name is computed.
func (t *Target) Root() string { return t.path.staticKeys()[0] }

// Reads visits the variables that the strings of the value read, with the path of the
// string, which begins with path.
func (t *Tree) Reads(path string, visit func(path string, r Read)) {
	t.Strings(path, func(path string, t *Template) {
		t.Reads(func(r Read) { visit(path, r) })
	})
}

// Strings visits the templates of the value with their paths, which begin with path.
func (t *Tree) Strings(path string, visit func(path string, t *Template)) {
	if t == nil || t.static {
		return
	}
	if t.template != nil {
		visit(path, t.template)
	}
	for i, item := range t.items {
		item.Strings(t.itemPath(path, i), visit)
	}
}

// staticKeys returns the keys of a path up to the first computed one; "" if that is the
// first key.
func (p *path) staticKeys() []string {
	var keys []string
	for _, s := range p.steps {
		l, ok := s.(literal)
		if !ok {
			break
		}
		keys = append(keys, l.Key)
	}
	if keys == nil {
		return []string{""}
	}
	return keys
}

// visitReads visits what n reads. In a place where truth is all that counts, tested is true.
func visitReads(n node, tested bool, visit func(Read)) {
	switch n := n.(type) {
	case *path:
		r := Read{Tested: tested}
		if keys := n.staticKeys(); keys[0] != "" {
			r.Keys = keys
		}
		visit(r)
		visitSteps(n.steps, visit)
	case variable:
		visit(Read{Keys: []string{string(n)}, Tested: true})
	case block:
		visitReads(n.node, tested, visit)
	case notNode:
		visitReads(n.node, true, visit)
	case existsNode:
		visitReads(n.node, true, visit)
	case negation:
		visitReads(n.node, false, visit)
	case dateParts:
		visitReads(n.node, false, visit)
	case orNode:
		visitAll(n.items, true, visit)
	case andNode:
		visitAll(n.items, true, visit)
	case list:
		visitAll(n.items, false, visit)
	case object:
		visitAll(n.values, false, visit)
	case text:
		visitAll(n.parts, false, visit)
	case rawPattern:
		visitAll(n.text.parts, false, visit)
	case comparison:
		// Comparing with nothing is a test too.
		nothing := isEmptyLiteral(n.left) || isEmptyLiteral(n.right)
		visitReads(n.left, nothing, visit)
		visitReads(n.right, nothing, visit)
	case matchesNode:
		visitReads(n.left, false, visit)
		visitReads(n.right, false, visit)
	case chain:
		visitReads(n.first, false, visit)
		for _, l := range n.rest {
			visitReads(l.node, false, visit)
		}
	case call:
		visitAll(n.args, false, visit)
	case memberAccess:
		visitReads(n.node, false, visit)
		visitSteps(n.path.steps, visit)
	}
}

func visitAll(nodes []node, tested bool, visit func(Read)) {
	for _, n := range nodes {
		visitReads(n, tested, visit)
	}
}

func visitSteps(steps []step, visit func(Read)) {
	for _, s := range steps {
		switch s := s.(type) {
		case keyed:
			visitReads(s.node, false, visit)
		case joined:
			visitAll(s.parts, false, visit)
		}
	}
}

// isEmptyLiteral reports whether a node is null, undefined or the empty text, written out.
func isEmptyLiteral(n node) bool {
	c, ok := n.(constant)
	if !ok {
		return false
	}
	if _, isText := c.v.(string); isText {
		return c.v == ""
	}
	switch c.v.(type) {
	case float64, bool:
		return false
	}
	return true
}
