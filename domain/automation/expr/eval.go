package expr

import (
	"errors"
	"sync"
	"time"

	"svc/domain/automation/value"
)

// World answers what an expression cannot compute. Each answer is an effect
// that the runtime records; an error ends the evaluation and is returned as it
// is.
type World interface {
	// Read returns the variable at a path of at least one key,
	// value.Undefined when there is none. It must neither change nor keep keys,
	// and what it returns holds neither NaN nor infinities.
	Read(keys []string) (any, error)
	Now() (time.Time, error)
	// Random returns n bytes that nobody can guess.
	Random(n int) ([]byte, error)
}

// Env is what an evaluation happens in.
type Env struct {
	World World
	// Locale and Zone are those of dates when an expression names none: en and
	// UTC when empty.
	Locale string
	Zone   *time.Location
	// Zones finds a zone by its name. Nil knows UTC only.
	Zones func(name string) (*time.Location, error)
	// Spent grows by what evaluations cost: bytes of text, and steps.
	Spent int
}

// The budget of one evaluation.
const (
	maxText  = 50_000_000  // bytes of text that are put together
	maxSteps = 500_000_000 // bytes copied, or characters times instructions of a pattern
)

// evaluation is one evaluation under way. Its first fault is kept in err; what
// is evaluated after it has no effect.
type evaluation struct {
	*Env
	texts int // bytes of text that are left of the budget
	steps int
	err   error
}

// node is a part of an expression.
type node interface{ eval(e *evaluation) any }

// Eval returns the value of the template: with its type when it is one part,
// else text.
func (t *Template) Eval(env *Env) (any, error) { return evaluate(env, t.root, t.src) }

// Eval returns whether the condition holds.
func (c *Condition) Eval(env *Env) (bool, error) {
	v, err := evaluate(env, c.root, c.src)
	return value.Truth(v), err
}

// Value returns what the condition's expression yields.
func (c *Condition) Value(env *Env) (any, error) { return evaluate(env, c.root, c.src) }

// Resolve returns the keys of the variable to write.
func (t *Target) Resolve(env *Env) ([]Step, error) {
	if t.written != nil {
		return t.written, nil
	}
	e := begin(env)
	defer e.end()
	keys, ok := t.path.resolve(e)
	if !ok && e.err == nil {
		e.fail(&Error{Name: VariableError, Message: "a value in the name is absent or no scalar"})
	}
	if e.err != nil {
		return nil, e.blame(t.src)
	}
	return keys, nil
}

func evaluate(env *Env, root node, src string) (any, error) {
	if c, ok := root.(constant); ok {
		return c.v, nil
	}
	e := begin(env)
	defer e.end()
	v := root.eval(e)
	if e.err != nil {
		return value.Undefined, e.blame(src)
	}
	switch root.(type) {
	case *path, block, text:
		return v, nil // what variables hold and what leaves a block is settled
	}
	return value.Settled(v), nil
}

// spare keeps evaluations that ended for the next ones.
var spare = sync.Pool{New: func() any { return &evaluation{} }}

func begin(env *Env) *evaluation {
	e, _ := spare.Get().(*evaluation)
	*e = evaluation{Env: env, texts: maxText, steps: maxSteps}
	return e
}

func (e *evaluation) end() {
	e.Spent += maxText - e.texts + maxSteps - e.steps
	*e = evaluation{}
	spare.Put(e)
}

// blame returns the fault, with the string it happened in.
func (e *evaluation) blame(src string) error {
	if fault, ok := errors.AsType[*Error](e.err); ok {
		fault.Expression, fault.Offset = src, -1
	}
	return e.err
}

func (e *evaluation) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// affords takes n bytes of text from the budget.
func (e *evaluation) affords(n int) bool {
	if e.texts -= n; e.texts < 0 {
		e.fail(&Error{Name: SyntaxError, Message: "the text becomes too long"})
	}
	return e.err == nil
}

// text returns v as a text, taken from the budget.
func (e *evaluation) text(v any) string { return e.bounded(value.TextWithin(v, e.texts)) }

// json returns v as JSON, taken from the budget.
func (e *evaluation) json(v any) string { return e.bounded(value.JSONWithin(v, "", e.texts)) }

func (e *evaluation) bounded(s string, ok bool) string {
	if !ok {
		e.affords(maxText + 1)
	}
	if !e.affords(len(s)) {
		return ""
	}
	return s
}

// holds takes the places of n items of a list from the budget.
func (e *evaluation) holds(n int) bool { return e.affords(n * bytesOfPlace) }

// bytesOfPlace is what an item takes besides itself.
const bytesOfPlace = 16

// sized returns a list or object that was put together, unless it is larger than a
// text may become: the same value may stand in it many times.
func (e *evaluation) sized(v any) any {
	if e.err == nil {
		spent, ok := value.Spend(v, maxText)
		if e.steps -= spent; !ok {
			e.fail(&Error{Name: SyntaxError, Message: "the value becomes too large"})
		}
	}
	if e.err != nil {
		return value.Undefined
	}
	return v
}

// works takes n steps from the budget.
func (e *evaluation) works(n int) bool {
	if e.steps -= n; e.steps < 0 || n < 0 {
		e.fail(&Error{Name: SyntaxError, Message: "this takes too long"})
	}
	return e.err == nil
}

func (p *path) resolve(e *evaluation) ([]Step, bool) {
	keys := make([]Step, 0, len(p.steps))
	for _, s := range p.steps {
		more, ok := s.resolve(e, keys)
		if !ok || e.err != nil {
			return nil, false
		}
		keys = more
	}
	return keys, true
}

func (p *path) eval(e *evaluation) any {
	if p.names != nil {
		return e.read(p.names)
	}
	keys, ok := p.resolve(e)
	if !ok {
		return value.Undefined
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.Key
	}
	return e.read(names)
}

func (e *evaluation) read(keys []string) any {
	if e.err != nil || e.World == nil {
		return value.Undefined
	}
	v, err := e.World.Read(keys)
	if err != nil {
		e.fail(err)
		return value.Undefined
	}
	return v
}

func (e *evaluation) now() time.Time {
	if e.err != nil || e.World == nil {
		return time.Time{}
	}
	now, err := e.World.Now()
	if err != nil {
		e.fail(err)
	}
	return now
}

func (e *evaluation) random(n int) []byte {
	if e.err == nil && e.World != nil {
		drawn, err := e.World.Random(n)
		if err != nil {
			e.fail(err)
		} else if len(drawn) >= n {
			return drawn[:n]
		}
	}
	return make([]byte, n)
}

// Given is a World of variables that do not change, at one instant and without
// chance: for previews and tests.
type Given struct {
	Vars any // a *value.Object
	At   time.Time
}

// Read implements World.
func (g Given) Read(keys []string) (any, error) { return value.Walk(g.Vars, keys...), nil }

// Now implements World.
func (g Given) Now() (time.Time, error) { return g.At, nil }

// Random implements World with zeros.
func (g Given) Random(n int) ([]byte, error) { return make([]byte, n), nil }
