package access

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/match"
)

// compiler turns conditions into tests and notes what is wrong with them.
type compiler struct {
	faults []domain.FieldError
	regex  int // instructions left for the document
	values int // values left for the rule
	needs  placeholders
}

func newCompiler() *compiler { return &compiler{regex: maxTotal, values: maxValues} }

func (c *compiler) fault(field, format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, domain.FieldError{Field: domain.Shorten(field, 2*maxPath), Message: fmt.Sprintf(format, args...)})
	}
}

// err returns the refusal of everything that was found wrong.
func (c *compiler) err() error {
	if len(c.faults) == 0 {
		return nil
	}
	return domain.Invalid(c.faults...)
}

// conditions compiles the conditions of one rule and returns them with the
// placeholders that they need.
func (c *compiler) conditions(at string, m map[string]any) (match.Condition, placeholders) {
	c.values, c.needs = maxValues, 0
	tests := c.object(at, m, 0)
	if c.values < 0 {
		c.fault(at, "must not hold more than %d values", maxValues)
	}
	return tests, c.needs
}

// object compiles {field: value, …, $and: […], …}.
func (c *compiler) object(at string, m map[string]any, depth int) match.Condition {
	if depth > maxDepth {
		c.fault(at, "must not be nested deeper than %d", maxDepth)
		return nil
	}
	var tests match.Condition
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if c.values--; c.values < 0 {
			return nil
		}
		fieldPath, path := at+"."+domain.Shorten(key, maxPath), strings.Split(domain.Shorten(key, maxPath), ".")
		var found match.Condition
		switch {
		case len(key) > maxPath || slices.Contains(path, ""):
			c.fault(fieldPath, "must be the name of a field, with dots for fields within fields")
		case strings.HasPrefix(key, "$"):
			found = c.joined(fieldPath, key, m[key], depth)
		default:
			found = c.field(fieldPath, path, m[key], depth)
		}
		for i := range found {
			found[i].Key = key
		}
		tests = append(tests, found...)
	}
	return tests
}

// joined compiles $and, $or and $nor.
func (c *compiler) joined(at, key string, v any, depth int) match.Condition {
	if key != "$and" && key != "$or" && key != "$nor" {
		c.fault(at, "unknown operator; conditions are joined by $and, $or and $nor")
		return nil
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		c.fault(at, "must be a list of conditions")
		return nil
	}
	var of []match.Condition
	for i, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			c.fault(fmt.Sprintf("%s[%d]", at, i), "must be an object")
			return nil
		}
		of = append(of, c.object(fmt.Sprintf("%s[%d]", at, i), m, depth+1))
	}
	if key == "$and" {
		return slices.Concat(of...)
	}
	return match.Condition{{Operator: match.AnyOf, Not: key == "$nor", Alternatives: of}}
}

// field compiles what is asked of the value at path: a value, or operators.
func (c *compiler) field(at string, path []string, v any, depth int) match.Condition {
	before := c.values
	m, ok := v.(map[string]any)
	if !ok || !hasOperator(m) {
		arg := c.value(at, v, depth)
		return match.Condition{{Path: path, Operator: match.Equal, Operand: arg, Cost: before - c.values}}
	}
	var tests match.Condition
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if c.values--; c.values < 0 {
			return nil
		}
		before = c.values
		t := c.operator(at+"."+domain.Shorten(key, maxPath), key, path, m, depth)
		if t.Regexp == nil {
			t.Cost = before - c.values
		}
		if key != "$options" { // part of $regex
			tests = append(tests, t)
		}
	}
	return tests
}

// negated compiles the operators below $not.
func (c *compiler) negated(at string, path []string, v any, depth int) match.Condition {
	m, ok := v.(map[string]any)
	if !ok || !hasOperator(m) || depth > maxDepth {
		c.fault(at, "must be an object of operators, nested at most %d deep", maxDepth)
		return nil
	}
	return c.field(at, path, m, depth+1)
}

func hasOperator(m map[string]any) bool {
	for key := range m {
		if strings.HasPrefix(key, "$") {
			return true
		}
	}
	return false
}

// operator compiles one entry of an object of operators.
func (c *compiler) operator(at, key string, path []string, m map[string]any, depth int) match.Test {
	t, v := match.Test{Path: path}, m[key]
	switch key {
	case "$eq", "$ne":
		t.Operator, t.Not, t.Operand = match.Equal, key == "$ne", c.value(at, v, depth)
	case "$in", "$nin":
		t.Operator, t.Not, t.Operand = match.In, key == "$nin", c.list(at, v, depth)
	case "$all":
		t.Operator, t.Operand = match.All, c.list(at, v, depth)
	case "$gt", "$gte", "$lt", "$lte":
		t.Operator, t.Operand = comparisons[key], c.comparable(at, v, depth)
	case "$regex":
		t.Operator = match.Regexp
		t.Regexp, t.Cost = c.pattern(at, v, m["$options"])
	case "$options":
		if m["$regex"] == nil {
			c.fault(at, "belongs to $regex")
		}
	case "$exists":
		want, ok := v.(bool)
		if !ok {
			c.fault(at, "must be true or false")
		}
		if t.Operator = match.Exists; !want {
			t.Operator = match.Missing
		}
	case "$size":
		n, ok := number(v)
		if !ok || n < 0 || n != float64(int(n)) {
			c.fault(at, "must be a whole number, not negative")
		}
		t.Operator, t.Operand = match.Size, n
	case "$elemMatch":
		t.Operator, t.Alternatives = match.Element, []match.Condition{c.element(at, v, depth)}
	case "$not":
		t.Operator, t.Not, t.Alternatives = match.AnyOf, true, []match.Condition{c.negated(at, path, v, depth)}
	default:
		c.fault(at, "unknown operator")
	}
	return t
}

var comparisons = map[string]match.Operator{
	"$gt": match.Greater, "$gte": match.GreaterOrEqual, "$lt": match.Less, "$lte": match.LessOrEqual,
}

// element compiles the operand of $elemMatch: conditions on the fields of an
// element, or operators on the element itself.
func (c *compiler) element(at string, v any, depth int) match.Condition {
	m, ok := v.(map[string]any)
	switch {
	case !ok || depth >= maxDepth:
		c.fault(at, "must be an object, nested at most %d deep", maxDepth)
		return nil
	case hasOperator(m) && !hasJoin(m):
		return c.field(at, nil, m, depth+1)
	default:
		return c.object(at, m, depth+1)
	}
}

func hasJoin(m map[string]any) bool {
	return m["$and"] != nil || m["$or"] != nil || m["$nor"] != nil
}

// Object is what a right is asked about. Field returns one of its top-level
// fields; values are those of JSON: nil, bool, string, numbers, []any, []string
// and map[string]any.
type Object = match.Object

// Fields is an Object made of a map.
type Fields map[string]any

// Field implements Object.
func (f Fields) Field(name string) (any, bool) {
	v, ok := f[name]
	return v, ok
}

// evaluation is the evaluation of conditions for one decision: what the caller fills in,
// and the steps that are left.
type evaluation struct {
	*binding
	matcher match.Evaluation
	left    int
}

// maxSteps is the budget of one decision, for all its rules: a step is the comparison of
// two values, or of a character with two instructions of a regular expression. The cost
// of a comparison depends on the operand alone, so that the order of a map cannot change
// an outcome.
const maxSteps = 50000

// evaluations are used again, so that a decision allocates no memory.
var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

// newEvaluation begins a decision. The caller releases the evaluation.
func (r *Rights) newEvaluation() *evaluation {
	e := evaluations.Get().(*evaluation)
	e.matcher = match.Evaluation{Comparer: e, NestedLists: true}
	e.binding, e.left = &r.bound, maxSteps
	return e
}

func (e *evaluation) release() {
	e.binding = nil
	evaluations.Put(e)
}

// Spend implements match.Comparer.
func (e *evaluation) Spend(steps int) bool {
	e.left -= steps
	return e.left >= 0
}

// canSpend spends steps if so many are left, and one step for the check.
func (e *evaluation) canSpend(steps int) bool {
	e.left--
	if steps > e.left {
		return false
	}
	e.left -= steps
	return true
}

// matches evaluates a condition on an object.
func (e *evaluation) matches(c match.Condition, v any) match.Result {
	if len(c) == 0 {
		return match.Yes
	}
	return e.matcher.Matches(c, v)
}

// Compare implements match.Comparer.
func (e *evaluation) Compare(t *match.Test, v any) match.Result {
	text, isText := v.(string)
	cost := t.Cost
	switch t.Operator {
	case match.Regexp:
		cost = 1 + len(text)*t.Cost/2
	case match.All:
		cost = t.Cost * (1 + max(0, match.Length(v)))
	}
	if !e.canSpend(cost) {
		return match.Unknown
	}
	switch operand := e.fill(t.Operand); t.Operator {
	case match.Equal:
		return match.Is(e.equal(v, operand))
	case match.In:
		return match.Is(e.contains(operand, v))
	case match.Regexp:
		return match.Is(isText && t.Regexp.MatchString(text))
	case match.All:
		return e.containsAll(v, operand)
	default:
		order, ok := compare(v, operand)
		return match.Is(ok && match.InOrder(t.Operator, order))
	}
}

// containsAll reports whether v has each of the wanted values. An empty list is not
// contained.
func (e *evaluation) containsAll(v, wanted any) match.Result {
	all := match.Is(match.Length(wanted) > 0)
	for i := 0; i < match.Length(wanted) && all != match.No; i++ {
		one := match.Test{Operator: match.Equal, Operand: match.Item(wanted, i)}
		all = min(all, e.matcher.Check(&one, v))
	}
	return all
}

// compare orders numbers with numbers and texts with texts.
func compare(a, b any) (order int, ok bool) {
	if x, ok := a.(string); ok {
		y, ok := b.(string)
		return strings.Compare(x, y), ok
	}
	x, isNumber := number(a)
	y, ok := number(b)
	return cmp.Compare(x, y), isNumber && ok
}

// contains reports whether an element of list equals v. A placeholder for a list counts
// by its elements.
func (b *binding) contains(list, v any) bool {
	for i := range max(0, match.Length(list)) {
		item := match.Item(list, i)
		if p, ok := item.(placeholder); ok && p == topicsPlaceholder {
			if b.contains(b.fill(p), v) {
				return true
			}
		} else if b.equal(v, item) {
			return true
		}
	}
	return false
}

// equal compares strictly: no value equals one of another type. A missing value equals
// null.
func (b *binding) equal(v, operand any) bool {
	switch want := b.fill(operand).(type) {
	case nil:
		return v == nil || v == match.Absent
	case string:
		got, ok := v.(string)
		return ok && got == want
	case bool:
		got, ok := v.(bool)
		return ok && got == want
	case map[string]any:
		got, ok := v.(map[string]any)
		if !ok || len(got) != len(want) {
			return false
		}
		for key, item := range want {
			if inner, ok := got[key]; !ok || !b.equal(inner, item) {
				return false
			}
		}
		return true
	case []any, []string:
		if match.Length(v) != match.Length(want) {
			return false
		}
		for i := range match.Length(want) {
			if !b.equal(match.Item(v, i), match.Item(want, i)) {
				return false
			}
		}
		return true
	default:
		order, ok := compare(v, want)
		return ok && order == 0
	}
}

// placeholder is an attribute of the caller that an operand refers to.
type placeholder uint8

const (
	sessionPlaceholder placeholder = iota
	userPlaceholder
	emailPlaceholder
	topicsPlaceholder
	unknownPlaceholder // a name that stands for nothing
	placeholderCount
)

// placeholders is a set of placeholders.
type placeholders uint8

// placeholderNames are the names of the caller's attributes in conditions.
var placeholderNames = map[string]placeholder{
	"{{session.id}}": sessionPlaceholder, "${user.sessionId}": sessionPlaceholder,
	"{{user.id}}": userPlaceholder, "${user.id}": userPlaceholder,
	"{{user.topics}}": topicsPlaceholder, "${user.topics}": topicsPlaceholder,
	"{{user.email}}": emailPlaceholder,
}

var (
	placeholderPattern = regexp.MustCompile(`\{\{\s*[A-Za-z][A-Za-z0-9_.]*\s*\}\}|\$\{\s*[A-Za-z][A-Za-z0-9_.]*\s*\}`)
	blanks             = strings.NewReplacer(" ", "", "\t", "", "\n", "", "\r", "")
)

// text is a string with placeholders: its parts are strings and placeholders.
type text []any

// value copies an operand, with placeholders where it has placeholders.
func (c *compiler) value(at string, v any, depth int) any {
	if c.values--; c.values < 0 {
		return nil
	}
	if depth > maxDepth {
		c.fault(at, "must not be nested deeper than %d", maxDepth)
		return nil
	}
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return c.text(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = c.value(at, item, depth+1)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			object[key] = c.value(at, item, depth+1)
		}
		return object
	}
	n, ok := number(v)
	if !ok {
		c.fault(at, "must be a JSON value")
	}
	return n
}

// text returns s, or its parts when it has placeholders.
func (c *compiler) text(s string) any {
	found := placeholderPattern.FindAllStringIndex(s, -1)
	if found == nil {
		return s
	}
	var parts text
	end := 0
	for _, span := range found {
		if span[0] > end {
			parts = append(parts, s[end:span[0]])
		}
		h, ok := placeholderNames[blanks.Replace(s[span[0]:span[1]])]
		if whole := span[1]-span[0] == len(s); !ok || h == topicsPlaceholder && !whole {
			h = unknownPlaceholder // a list is no part of a text
		}
		c.needs |= 1 << h
		parts = append(parts, h)
		end = span[1]
	}
	if end < len(s) {
		parts = append(parts, s[end:])
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return parts
}

// list compiles an operand that must be a list, or a placeholder of one.
func (c *compiler) list(at string, v any, depth int) any {
	arg := c.value(at, v, depth)
	_, ok := arg.([]any)
	if h, alone := arg.(placeholder); !ok && (!alone || h != topicsPlaceholder && h != unknownPlaceholder) && c.values >= 0 {
		c.fault(at, "must be a list")
	}
	return arg
}

// comparable compiles an operand that has an order.
func (c *compiler) comparable(at string, v any, depth int) any {
	arg := c.value(at, v, depth)
	switch arg.(type) {
	case float64, string, text, placeholder:
	default:
		c.fault(at, "must be a number or a text")
	}
	return arg
}

// number returns a JSON number of any Go type.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// binding has the values of a caller for the placeholders.
type binding struct {
	values [placeholderCount]any
	filled placeholders
}

// newBinding returns the values of p. A user without topics has an empty list of them.
func newBinding(p *Principal) (b binding) {
	set := func(h placeholder, value any, known bool) {
		if known {
			b.values[h] = value
			b.filled |= 1 << h
		}
	}
	set(sessionPlaceholder, p.SessionID, p.SessionID != "")
	set(userPlaceholder, p.UserID, p.UserID != "")
	set(emailPlaceholder, p.Email, p.Email != "")
	set(topicsPlaceholder, p.Topics, p.UserID != "")
	if p.Joined != nil {
		set(topicsPlaceholder, p.Joined, p.UserID != "")
	}
	return b
}

// fill returns an operand with the value of the caller if the operand is a placeholder.
func (b *binding) fill(arg any) any {
	switch arg := arg.(type) {
	case placeholder:
		if ask, live := b.values[arg].(func() []string); live {
			return ask()
		}
		return b.values[arg]
	case text:
		var whole strings.Builder
		for _, part := range arg {
			known, _ := b.fill(part).(string)
			whole.WriteString(known)
		}
		return whole.String()
	}
	return arg
}

// Pattern compiles a regular expression (RE2) that a user chose, within the limits of
// those in conditions: its length, and its size once repetitions are expanded. The error
// does not repeat the expression.
func Pattern(text string) (*regexp.Regexp, error) {
	if utf8.RuneCountInString(text) > maxRegex {
		return nil, fmt.Errorf("must be a text of at most %d characters", maxRegex)
	}
	re, _, err := compilePattern(text, maxProgram)
	return re, err
}

// errTooLarge refuses a short expression that compiles to a long program.
var errTooLarge = errors.New("is too large once its repetitions are written out")

// compilePattern compiles an expression of at most so many instructions and returns how
// many it has. Its size is guessed before it is written out, and counted before
// it is compiled for good.
func compilePattern(expr string, limit int) (re *regexp.Regexp, instructions int, err error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, 0, fmt.Errorf("is not a regular expression: %s", reason(err))
	}
	if minInstructions(tree) > limit {
		return nil, 0, errTooLarge
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > limit {
		return nil, 0, errTooLarge
	}
	re, err = regexp.Compile(expr)
	return re, len(program.Inst), err
}

// reason returns what the parser found, of which only a part may be long.
func reason(err error) string {
	return domain.Shorten(strings.TrimPrefix(err.Error(), "error parsing regexp: "), maxRegex)
}

// minInstructions returns a lower bound of the instructions of an expression.
func minInstructions(tree *syntax.Regexp) int {
	inner := 0
	for _, sub := range tree.Sub {
		inner += minInstructions(sub)
	}
	switch tree.Op {
	case syntax.OpNoMatch, syntax.OpEmptyMatch:
		return 0
	case syntax.OpLiteral:
		return len(tree.Rune)
	case syntax.OpCapture:
		return inner + 2
	case syntax.OpConcat, syntax.OpAlternate, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		return inner
	case syntax.OpRepeat:
		if tree.Max < 0 { // no end: written once at least
			return inner * max(tree.Min, 1)
		}
		return inner * tree.Max
	}
	return 1 // a class of characters, or a place
}

// pattern compiles $regex.
func (c *compiler) pattern(at string, v, options any) (re *regexp.Regexp, instructions int) {
	expr, ok := v.(string)
	flags, plain := options.(string)
	switch {
	case !ok || utf8.RuneCountInString(expr) > maxRegex:
		c.fault(at, "must be a text of at most %d characters", maxRegex)
		return nil, 0
	case options != nil && (!plain || strings.Trim(flags, "ims") != "" || len(flags) > 3):
		c.fault(at, "$options must be a text of the letters i, m and s")
		return nil, 0
	case placeholderPattern.MatchString(expr):
		c.fault(at, "must not hold a placeholder; use $eq or $in")
		return nil, 0
	case flags != "":
		expr = "(?" + flags + ")" + expr
	}
	re, instructions, err := compilePattern(expr, min(maxProgram, c.regex))
	if err != nil {
		c.fault(at, "%s", err)
		return nil, 0
	}
	c.regex -= instructions
	return re, instructions
}

// PartialObject is an object of which some fields are known, and of the others not even whether
// they are there. A value in it may be a PartialObject, too.
type PartialObject map[string]any

// Absent is the value in a PartialObject of a field that is known not to be there.
var Absent = match.Absent

// unknown is the value of a field that nothing is known of.
type unknown struct{}

// Field implements Object.
func (p PartialObject) Field(name string) (any, bool) {
	v, ok := p[name]
	if !ok {
		return unknown{}, true
	}
	return v, v != Absent
}

// IsUncertain implements match.Uncertain.
func (unknown) IsUncertain() {}

// IsUncertain implements match.Uncertain.
func (PartialObject) IsUncertain() {}

// DecideForAll decides for all objects that are as known says. When it is sure, Allows
// decides the same for each of them, unless that takes too many steps; when it is not,
// each object has to be checked. It is never sure where another right decides in the end,
// and ignores the shares of single objects.
func (r *Rights) DecideForAll(action, subject string, known PartialObject) (allowed, sure bool) {
	q, e := r.newQuestion(action, subject, known), r.newEvaluation()
	defer e.release()
	var allowsSome, deniesSome bool
	for i := len(r.rules) - 1; i >= 0; i-- {
		m := r.rules[i]
		if !m.appliesTo(q) {
			continue
		}
		found := e.matches(m.when, q.object)
		if len(m.Fields) > 0 {
			found = min(found, match.Unknown)
		}
		switch {
		case found == match.Yes && m.denies:
			return false, !allowsSome
		case found == match.Yes:
			return true, !deniesSome
		case found == match.Unknown:
			allowsSome, deniesSome = allowsSome || !m.denies, deniesSome || m.denies
		}
	}
	return false, !allowsSome && !vocabulary[q.subject].rests
}

// The limits of a security document. They limit what evaluating it costs, not only its length.
const (
	maxRules   = 500
	maxRoles   = 100
	maxWords   = 100   // in one list of words
	maxName    = 60    // characters of a role or provider
	maxText    = 1000  // characters of a reason or description
	maxDepth   = 10    // of conditions within conditions
	maxValues  = 1000  // fields, operators and values of one rule
	maxPath    = 200   // characters of a dotted field
	maxRegex   = 256   // characters of a regular expression
	maxProgram = 1000  // instructions of one compiled expression
	maxTotal   = 10000 // instructions of all expressions of a document
	maxFaults  = 20    // listed in one refusal
)

// isName reports whether s may name a role, a provider or a field. Two names
// that look alike must be alike: nothing in them is invisible.
func isName(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= maxName && utf8.ValidString(s) && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, isHidden)
}

// isHidden reports whether a character has no shape of its own or begins a line.
func isHidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}

// isReserved reports whether a reader could take a name for that of a role which
// no document may define, whatever is around its letters.
func isReserved(name string) bool {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, name)
	return strings.EqualFold(letters, owner) || strings.EqualFold(letters, superadmin)
}
