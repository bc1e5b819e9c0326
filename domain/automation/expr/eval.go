package expr

import (
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"svc/domain/value"
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
	// Random returns n unpredictable bytes.
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
	// Spent grows by what evaluations cost: steps, and bytes of text. They share one
	// budget until it is set back to 0. A World adds to it what is much work to read.
	Spent int
}

// MaxSpent is the budget of all evaluations in an Env: values gone through, bytes
// copied or compared, or characters times instructions of a pattern.
const MaxSpent = 500_000_000

const (
	maxText    = 50_000_000 // bytes of text that one evaluation puts together
	costOfByte = 4          // of such a text: it is made, kept and thrown away
)

// evaluation is one running evaluation. err is its first fault; later evaluations have no
// effect.
type evaluation struct {
	*Env
	most  int // that may have been spent in the end
	texts int // bytes of text that are left of the budget
	err   error
}

// node is a part of an expression.
type node interface{ eval(e *evaluation) any }

// Eval returns the value of the template: with its type when it is one part,
// else text.
func (t *Template) Eval(env *Env) (any, error) { return evaluate(env, t.root, t.src) }

// Eval returns whether the condition holds.
func (c *Condition) Eval(env *Env) (bool, error) {
	if _, ok := c.root.(constant); ok {
		v, err := evaluate(env, c.root, c.src)
		return value.IsTruthy(v), err
	}
	e := newEvaluation(env)
	defer e.release()
	v := e.finiteResult(c.root, e.evalOptional(c.root))
	if e.err != nil {
		return false, e.errorIn(c.src)
	}
	return value.IsTruthy(v), nil
}

// Resolve returns the keys of the variable to write.
func (t *Target) Resolve(env *Env) ([]Step, error) {
	if t.written != nil {
		return t.written, nil
	}
	e := newEvaluation(env)
	defer e.release()
	keys, ok := t.path.resolve(e)
	if !ok && e.err == nil {
		e.fail(&Error{Name: VariableError, Message: "a value in the name is missing, or is an object or a list"})
	}
	if e.err != nil {
		return nil, e.errorIn(t.src)
	}
	return keys, nil
}

func evaluate(env *Env, root node, src string) (any, error) {
	if c, ok := root.(constant); ok {
		return c.v, nil
	}
	e := newEvaluation(env)
	defer e.release()
	v := e.result(root)
	if e.err != nil {
		return value.Undefined, e.errorIn(src)
	}
	return v, nil
}

// result returns the value of n as it leaves an expression.
func (e *evaluation) result(n node) any { return e.finiteResult(n, n.eval(e)) }

// finiteResult returns a value of n as it leaves an expression: without NaN and infinities. What
// variables hold, texts and what leaves a block is so already.
func (e *evaluation) finiteResult(n node, v any) any {
	switch n.(type) {
	case *path, block, text:
		return v
	}
	if !e.spend(value.CountParts(v, e.most-e.Spent)) {
		return value.Undefined
	}
	return value.ReplaceNonFinite(v)
}

// spare keeps evaluations that ended for the next ones.
var spare = sync.Pool{New: func() any { return &evaluation{} }}

func newEvaluation(env *Env) *evaluation {
	e, _ := spare.Get().(*evaluation)
	*e = evaluation{Env: env, most: MaxSpent, texts: maxText}
	return e
}

// newWorldlessEvaluation returns an evaluation of what needs no World.
func newWorldlessEvaluation(most int) *evaluation {
	return &evaluation{Env: &Env{}, most: most, texts: maxText}
}

func (e *evaluation) release() {
	*e = evaluation{}
	spare.Put(e)
}

// errorIn returns the fault, with the string it happened in.
func (e *evaluation) errorIn(src string) error {
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

// spendText takes n bytes of text from the budget.
func (e *evaluation) spendText(n int) bool {
	if e.texts -= n; e.texts < 0 {
		e.fail(&Error{Name: SyntaxError, Message: "the text becomes too long"})
	}
	return e.spend(n * costOfByte)
}

// text returns v as text and charges the budget.
func (e *evaluation) text(v any) string { return e.chargedText(value.TextWithin(v, e.texts)) }

// json returns v as JSON and charges the budget.
func (e *evaluation) json(v any) string { return e.chargedText(value.JSONWithin(v, "", e.texts)) }

func (e *evaluation) chargedText(s string, ok bool) string {
	if !ok {
		e.spendText(maxText + 1)
	}
	if !e.spendText(len(s)) {
		return ""
	}
	return s
}

// spendItems takes the places of n items of a list from the budget.
func (e *evaluation) spendItems(n int) bool { return e.spendText(n * bytesOfPlace) }

// bytesOfPlace is what an item takes besides itself.
const bytesOfPlace = 16

// checkSize returns a new list or object unless it is larger than a text may be: it may
// contain the same value many times.
func (e *evaluation) checkSize(v any) any {
	if e.err == nil {
		spent, ok := value.SizeWithin(v, maxText)
		if !ok {
			e.fail(&Error{Name: SyntaxError, Message: "the value becomes too large"})
		}
		e.spend(spent)
	}
	if e.err != nil {
		return value.Undefined
	}
	return v
}

// spend takes n steps from the budget.
func (e *evaluation) spend(n int) bool {
	if e.Spent += n; e.Spent > e.most || n < 0 {
		e.fail(&Error{Name: SyntaxError, Message: "the expression takes too long to evaluate"})
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
	}
	if !e.spend(0) { // the World may have spent what was left
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

type (
	constant struct{ v any }
	// block is an expression whose value leaves it: no NaN, no infinity.
	block      struct{ node }
	orNode     struct{ items []node }
	andNode    struct{ items []node }
	notNode    struct{ node }
	negation   struct{ node }
	existsNode struct{ node }
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
	// bareWord is a word without quotes: a string.
	bareWord string
	// variable is a bare word that names a variable.
	variable string
	// memberAccess is a value with the keys behind it.
	memberAccess struct {
		node
		path path
	}
)

var names = map[string]any{"true": true, "false": false, "null": nil, "undefined": value.Undefined}

func (c constant) eval(*evaluation) any     { return c.v }
func (b bareWord) eval(*evaluation) any     { return string(b) }
func (b block) eval(e *evaluation) any      { return e.result(b.node) }
func (n notNode) eval(e *evaluation) any    { return !value.IsTruthy(e.evalOptional(n.node)) }
func (m negation) eval(e *evaluation) any   { return -e.number(m.node.eval(e)) }
func (x existsNode) eval(e *evaluation) any { return !value.IsNothing(e.evalOptional(x.node)) }
func (v variable) eval(e *evaluation) any   { return e.read([]string{string(v)}) }
func (x orNode) eval(e *evaluation) any     { return evalUntil(e, x.items, true, false) }
func (b andNode) eval(e *evaluation) any    { return evalUntil(e, b.items, false, false) }

// evalUntil returns the first operand whose truth is wanted, else the last. All but the
// last are only asked for their truth, and so is the last one of what is asked itself.
func evalUntil(e *evaluation, items []node, wanted, asked bool) any {
	var v any
	for i, item := range items {
		if asked || i < len(items)-1 {
			v = e.evalOptional(item)
		} else {
			v = item.eval(e)
		}
		if e.err != nil || value.IsTruthy(v) == wanted {
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
	case isNothingLiteral(c.right):
		return e.evalOptional(c.left), c.right.eval(e)
	case isNothingLiteral(c.left):
		return c.left.eval(e), e.evalOptional(c.right)
	}
	return c.left.eval(e), c.right.eval(e)
}

// isNothingLiteral reports whether a part is a written null or undefined.
func isNothingLiteral(n node) bool {
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

// evalOptional evaluates what is only asked for its existence or its truth: a variable that must
// have a value, and has none, is undefined.
func (e *evaluation) evalOptional(n node) any {
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
		return e.finiteResult(n.node, e.evalOptional(n.node))
	case orNode:
		return evalUntil(e, n.items, true, true)
	case andNode:
		return evalUntil(e, n.items, false, true)
	}
	return n.eval(e)
}

func (l list) eval(e *evaluation) any {
	items := make([]any, len(l.items))
	for i, item := range l.items {
		items[i] = item.eval(e)
	}
	return e.checkSize(items)
}

func (o object) eval(e *evaluation) any {
	made := &value.Object{}
	for i, key := range o.keys {
		made.Set(key, o.values[i].eval(e))
	}
	return e.checkSize(made)
}

func member(n node, steps []step) node {
	if len(steps) == 0 {
		return n
	}
	if c, ok := n.(call); ok && c.yieldsInstant() {
		n = dateParts{c}
	}
	return memberAccess{n, path{steps: steps}}
}

func (r memberAccess) eval(e *evaluation) any {
	v := r.node.eval(e)
	for _, s := range r.path.steps {
		keys, ok := s.resolve(e, nil)
		if !ok {
			return value.Undefined
		}
		if !e.spend(value.ReadCost(v, keys[0].Key)) {
			return value.Undefined
		}
		v = value.At(v, keys[0].Key)
	}
	return v
}

func (c chain) simplify() node {
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
	if op == '+' && (isJoinedAsText(a) || isJoinedAsText(b)) {
		left, ok := a.(string)
		if !ok {
			left = e.text(a)
		}
		right := e.text(b)
		if !e.spend(len(left)) { // what is there is copied
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

// isJoinedAsText reports whether + joins v as text.
func isJoinedAsText(v any) bool {
	switch v.(type) {
	case string, []any, *value.Object, value.Bytes:
		return true
	}
	return false
}

// compare returns the result of a comparison operator and charges the budget.
func (e *evaluation) compare(op string, a, b any) bool {
	switch op {
	case "===":
		return e.same(a, b)
	case "!==":
		return !e.same(a, b)
	case "==", "=":
		return e.equal(a, b)
	case "!=":
		return !e.equal(a, b)
	case "in":
		return e.isIn(a, b)
	}
	if !e.spend(lengthOf(a) + lengthOf(b)) {
		return false
	}
	order, ok := value.Compare(a, b)
	switch {
	case !ok:
		return false
	case op == "<":
		return order < 0
	case op == "<=":
		return order <= 0
	case op == ">":
		return order > 0
	}
	return order >= 0
}

func (e *evaluation) same(a, b any) bool {
	same, spent := value.StrictEqualWithin(a, b, e.most-e.Spent)
	return e.spend(spent) && same
}

func (e *evaluation) equal(a, b any) bool {
	equal, spent := value.LooseEqualWithin(a, b, e.most-e.Spent)
	return e.spend(spent) && equal
}

// number returns v as a number and charges the budget.
func (e *evaluation) number(v any) float64 {
	if n, ok := v.(float64); ok {
		return n
	}
	if !e.spend(lengthOf(v)) {
		return math.NaN()
	}
	return value.ToNumber(v)
}

// lengthOf is how long a text is, 0 for all that is none.
func lengthOf(v any) int {
	s, _ := v.(string)
	return len(s)
}

// isIn is the operator in.
func (e *evaluation) isIn(a, b any) bool {
	if value.IsUndefined(a) {
		return false
	}
	switch b := b.(type) {
	case []any:
		for _, item := range b {
			if !e.spend(costOfItem) || e.same(item, a) {
				return e.err == nil
			}
		}
	case *value.Object:
		_, ok := b.Get(e.text(a))
		return ok
	case string:
		return e.isInTextList(e.text(a), b)
	}
	return false
}

// costOfItem is what looking at an item costs: one of a list, or a character of a list in a
// text, whose items are cut out and read as numbers.
const costOfItem = 4

// isInTextList reports whether a text is an item of a list in a text, divided by commas.
func (e *evaluation) isInTextList(wanted, list string) bool {
	if !e.spend(costOfItem * len(list)) {
		return false
	}
	n, numeric := value.ParseNumber(wanted)
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item == wanted {
			return true
		}
		if numeric {
			if m, ok := value.ParseNumber(item); ok && m == n {
				return true
			}
		}
	}
	return false
}
