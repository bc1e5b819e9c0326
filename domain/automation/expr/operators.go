package expr

import (
	"errors"
	"math"

	"svc/domain/automation/value"
)

type (
	constant struct{ v any }
	// block is an expression whose value leaves it: no NaN, no infinity.
	block      struct{ node }
	either     struct{ items []node }
	both       struct{ items []node }
	not        struct{ node }
	minus      struct{ node }
	exists     struct{ node }
	list       struct{ items []node }
	comparison struct {
		op          string
		left, right node
	}
	object struct {
		keys   []string
		values []node
	}
	// chain is operators of one rank, from left to right.
	chain struct {
		first node
		rest  []link
	}
	link struct {
		op byte
		node
	}
	// bare is a word without quotes: a string.
	bare string
	// variable is a bare word that names a variable.
	variable string
	// reached is a value with the keys behind it.
	reached struct {
		node
		path path
	}
)

var names = map[string]any{"true": true, "false": false, "null": nil, "undefined": value.Undefined}

func (c constant) eval(*evaluation) any   { return c.v }
func (b bare) eval(*evaluation) any       { return string(b) }
func (b block) eval(e *evaluation) any    { return e.settled(b.node) }
func (n not) eval(e *evaluation) any      { return !value.Truth(e.ask(n.node)) }
func (m minus) eval(e *evaluation) any    { return -e.number(m.node.eval(e)) }
func (x exists) eval(e *evaluation) any   { return !value.IsNothing(e.ask(x.node)) }
func (v variable) eval(e *evaluation) any { return e.read([]string{string(v)}) }
func (x either) eval(e *evaluation) any   { return deciding(e, x.items, true, false) }
func (b both) eval(e *evaluation) any     { return deciding(e, b.items, false, false) }

// deciding returns the first operand whose truth is wanted, else the last. All but the
// last are only asked for their truth, and so is the last one of what is asked itself.
func deciding(e *evaluation, items []node, wanted, asked bool) any {
	var v any
	for i, item := range items {
		if asked || i < len(items)-1 {
			v = e.ask(item)
		} else {
			v = item.eval(e)
		}
		if e.err != nil || value.Truth(v) == wanted {
			break
		}
	}
	return v
}

func (c comparison) eval(e *evaluation) any {
	left, right := c.operands(e)
	return e.compare(c.op, left, right)
}

// operands returns what is compared. What is compared with a written null or undefined is
// only asked for.
func (c comparison) operands(e *evaluation) (left, right any) {
	switch {
	case isNothing(c.right):
		return e.ask(c.left), c.right.eval(e)
	case isNothing(c.left):
		return c.left.eval(e), e.ask(c.right)
	}
	return c.left.eval(e), c.right.eval(e)
}

// isNothing reports whether a part is a written null or undefined.
func isNothing(n node) bool {
	c, ok := n.(constant)
	return ok && value.IsNothing(c.v)
}

// Missing is implemented by errors of a World that say that a variable has no value where
// it must have one, such as a secret. They end an evaluation that uses the variable; one
// that only asks whether there is a value finds undefined.
type Missing interface {
	error
	// IsMissing reports whether that is what the error says.
	IsMissing() bool
}

// ask evaluates what is only asked for its existence or its truth: a variable that must
// have a value, and has none, is undefined.
func (e *evaluation) ask(n node) any {
	switch n := n.(type) {
	case *path, variable:
		if e.err != nil {
			return value.Undefined
		}
		v := n.eval(e)
		if missing, ok := errors.AsType[Missing](e.err); ok && missing.IsMissing() {
			e.err = nil
			return value.Undefined
		}
		return v
	case block:
		return e.leave(n.node, e.ask(n.node))
	case either:
		return deciding(e, n.items, true, true)
	case both:
		return deciding(e, n.items, false, true)
	}
	return n.eval(e)
}

func (l list) eval(e *evaluation) any {
	items := make([]any, len(l.items))
	for i, item := range l.items {
		items[i] = item.eval(e)
	}
	return e.sized(items)
}

func (o object) eval(e *evaluation) any {
	made := &value.Object{}
	for i, key := range o.keys {
		made.Set(key, o.values[i].eval(e))
	}
	return e.sized(made)
}

func member(n node, steps []step) node {
	if len(steps) == 0 {
		return n
	}
	if c, ok := n.(call); ok && c.yieldsInstant() {
		n = dateParts{c}
	}
	return reached{n, path{steps: steps}}
}

func (r reached) eval(e *evaluation) any {
	v := r.node.eval(e)
	for _, s := range r.path.steps {
		keys, ok := s.resolve(e, nil)
		if !ok {
			return value.Undefined
		}
		if !e.works(value.Effort(v, keys[0].Key)) {
			return value.Undefined
		}
		v = value.At(v, keys[0].Key)
	}
	return v
}

func (c chain) plain() node {
	if len(c.rest) == 0 {
		return c.first
	}
	return c
}

func (c chain) eval(e *evaluation) any {
	v := c.first.eval(e)
	for _, l := range c.rest {
		v = e.calculate(l.op, v, l.node.eval(e))
	}
	return v
}

func (e *evaluation) calculate(op byte, a, b any) any {
	if op == '+' && (texty(a) || texty(b)) {
		left, ok := a.(string)
		if !ok {
			left = e.text(a)
		}
		right := e.text(b)
		if !e.works(len(left)) { // what is there is copied
			return ""
		}
		return left + right
	}
	x, y := e.number(a), e.number(b)
	switch op {
	case '+':
		return x + y
	case '-':
		return x - y
	case '*':
		return x * y
	case '/':
		return x / y
	}
	return math.Mod(x, y)
}

// texty reports whether + joins v as text.
func texty(v any) bool {
	switch v.(type) {
	case string, []any, *value.Object, value.Bytes:
		return true
	}
	return false
}
