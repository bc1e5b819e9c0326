package expr

import (
	"strings"

	"svc/domain/automation/value"
)

// path names a variable: its root and the keys below it.
type path struct {
	src   string // as written, for messages
	steps []step
	names []string // the keys of a path that is written out, else nil
}

// step is one part of a path, in one of four forms.
type step interface {
	// resolve appends the keys that the step stands for; false when they are
	// not known, because a value that should name one is absent or no scalar.
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
	// joined is names and values side by side: path text once put together.
	joined struct{ parts []node }
	// keyed is a value in brackets: one key, dots in it are data.
	keyed struct{ node }
)

func (l literal) resolve(_ *evaluation, keys []Step) ([]Step, bool) {
	return append(keys, Step(l)), true
}

func (k keyed) resolve(e *evaluation, keys []Step) ([]Step, bool) {
	text, ok := keyText(k.eval(e))
	return append(keys, Step{Key: text}), e.works(len(text)) && ok
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
		case !first && p.take("["):
			steps = append(steps, p.plainKey())
			p.expect("]", VariableError)
		case first || p.take("."):
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
	name := p.while(isName)
	if name == "" {
		p.fail(VariableError, "expected a name%s", p.found())
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
	start := p.pos
	steps := []step{p.segment()}
	for p.err == nil {
		switch {
		case p.take("."):
			steps = append(steps, p.segment())
		case p.at("[") && !p.at("[]"):
			p.pos++
			steps = append(steps, p.key())
			p.expect("]", VariableError)
		default:
			return newPath(p.src[start:p.pos], steps)
		}
	}
	return &path{}
}

func newPath(src string, steps []step) *path {
	made := &path{src: src, steps: steps}
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
		} else if name := p.while(isName); name != "" {
			parts = append(parts, constant{name})
		} else {
			break
		}
	}
	if len(parts) == 0 {
		p.fail(VariableError, "expected a name%s", p.found())
		return literal{}
	}
	if c, ok := parts[0].(constant); ok && !values {
		name, _ := c.v.(string)
		return literal{Key: name}
	}
	return joined{parts}
}

// key reads what stands in brackets; its first character decides what it is.
func (p *parser) key() step {
	switch {
	case p.at("{{"):
		return keyed{p.variable()}
	case p.at("{%"):
		return keyed{p.block()}
	case p.at(`"`), p.at("'"):
		start := p.pos + 1
		p.quoted(VariableError)
		return keyed{p.inside(start, p.pos-1)}
	}
	return literal(indexed(p.name()))
}

// inside reads a part of the string as a template.
func (p *parser) inside(start, end int) node {
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
