package input

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/domain/value"
)

// falseSchema is the schema false.
type falseSchema struct{}

func (falseSchema) check(r *run, n *node, _ any) bool {
	return r.fault(n, "false schema", "no value is allowed here")
}

// types is the keyword type: the names are alternatives.
type types []string

// knownTypes are the types of typed fields, with their names in messages.
var knownTypes = map[string]string{
	"string": "string", "number": "number", "integer": "integer", "boolean": "boolean",
	"object": "object", "array": "array", "null": "null",
	"localized:string":  "string or {locale: string}",
	"localized:number":  "number or {locale: number}",
	"localized:boolean": "boolean or {locale: boolean}",
}

func (k keywords) types(v any) rule {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var all types
	for _, item := range list {
		name, _ := item.(string)
		if _, known := knownTypes[name]; !known {
			k.fail(k.at.child("type"), "%s is not a type", value.JSON(item, ""))
		}
		all = append(all, name)
	}
	return all
}

func (t types) check(r *run, n *node, v any) bool {
	if slices.ContainsFunc(t, func(name string) bool { return isType(r, name, v) }) {
		return true
	}
	if r.isMuted() {
		return false
	}
	var expected []string
	for _, name := range t {
		expected = append(expected, knownTypes[name])
	}
	names := value.From([]string(t))
	if len(t) == 1 {
		names = t[0]
	}
	return r.fault(n, "type", fmt.Sprintf("expected %s, got %s", strings.Join(expected, " or "), value.TypeName(v)), "type", names)
}

func isType(r *run, name string, v any) bool {
	if name == value.TypeName(v) {
		return true
	}
	if number, ok := v.(float64); ok && name == "integer" {
		return number == math.Trunc(number)
	}
	scalar, localized := strings.CutPrefix(name, "localized:")
	if o, ok := v.(*value.Object); ok && localized {
		return r.spend(o.Len()) && isMapOf(o, scalar)
	}
	return localized && scalar == value.TypeName(v)
}

func isMapOf(o *value.Object, scalar string) bool {
	return !slices.ContainsFunc(o.Keys(), func(key string) bool { return value.TypeName(jsonValue(o.At(key))) != scalar })
}

// enum is the keyword of the same name.
type enum struct {
	values  []any
	scalars map[any]bool
	others  []any // arrays and objects
	size    int   // of the others
}

func (k keywords) enum(v any) rule {
	list, ok := v.([]any)
	if !ok {
		k.fail(k.at.child("enum"), "expected a list")
	}
	e := &enum{values: list, scalars: map[any]bool{}}
	for _, item := range list {
		switch item.(type) {
		case []any, *value.Object:
			e.others = append(e.others, item)
			e.size += len(value.JSON(item, ""))
		case nil, bool, float64, string:
			e.scalars[item] = true
		}
	}
	return e
}

func (e *enum) check(r *run, n *node, v any) bool {
	switch v.(type) {
	case []any, *value.Object:
		if r.spend(e.size/16) && slices.ContainsFunc(e.others, func(other any) bool { return value.StrictEqual(v, other) }) {
			return true
		}
	default:
		if e.scalars[v] {
			return true
		}
	}
	if r.isMuted() {
		return false
	}
	if len(e.values) > maxChoices {
		return r.fault(n, "enum", fmt.Sprintf("must be one of %d values", len(e.values)))
	}
	var names []string
	for _, v := range e.values {
		names = append(names, value.JSON(v, ""))
	}
	return r.fault(n, "enum", shorten("must be one of: "+strings.Join(names, ", ")), "allowedValues", e.values)
}

// constant is the keyword const.
type constant struct {
	v    any
	size int
}

func (c *constant) check(r *run, n *node, v any) bool {
	if r.spend(c.size/16) && value.StrictEqual(v, c.v) {
		return true
	}
	return r.fault(n, "const", shorten("must be "+value.JSON(c.v, "")), "allowedValue", c.v)
}

// bound is minimum, maximum and their exclusive forms.
type bound struct {
	keyword string
	limit   float64
}

func (b *bound) check(r *run, n *node, v any) bool {
	number, ok := v.(float64)
	if !ok {
		return true
	}
	var words, comparison string
	switch b.keyword {
	case "minimum":
		ok, words, comparison = number >= b.limit, "at least", ">="
	case "maximum":
		ok, words, comparison = number <= b.limit, "at most", "<="
	case "exclusiveMinimum":
		ok, words, comparison = number > b.limit, "above", ">"
	case "exclusiveMaximum":
		ok, words, comparison = number < b.limit, "below", "<"
	}
	return ok || r.fault(n, b.keyword, fmt.Sprintf("must be %s %s", words, value.Text(b.limit)), "comparison", comparison, "limit", b.limit)
}

// multipleOf is the keyword of the same name.
type multipleOf float64

func (m multipleOf) check(r *run, n *node, v any) bool {
	number, ok := v.(float64)
	if !ok || r.spend(10) && isMultiple(float64(m), number) {
		return true
	}
	return r.fault(n, "multipleOf", fmt.Sprintf("must be a multiple of %s", value.Text(float64(m))), "multipleOf", float64(m))
}

// isMultiple computes with decimals, as the numbers are written: 0.3 is three times
// 0.1.
func isMultiple(by, n float64) bool {
	const exact = 1 << 53
	if by == math.Trunc(by) && n == math.Trunc(n) && math.Abs(n) < exact && by < exact {
		return math.Mod(n, by) == 0
	}
	x, y := decimal(n), decimal(by)
	return y.Sign() != 0 && x.Quo(x, y).IsInt()
}

func decimal(n float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(n, 'g', -1, 64))
	if !ok {
		return new(big.Rat)
	}
	return r
}

// count is the keywords about how many characters, items or members there are.
type count struct {
	keyword string
	of      string // the kind of value it is about
	least   bool
	limit   float64
}

// counts are the kinds of values that count, and of what they have a number.
var counts = map[string]struct{ of, unit string }{
	"Length": {"string", "characters"}, "Items": {"array", "items"}, "Properties": {"object", "fields"},
}

func (k keywords) count(key string, v any) rule {
	return &count{key, counts[key[3:]].of, strings.HasPrefix(key, "min"), k.countOf(key, v)}
}

func (c *count) check(r *run, n *node, v any) bool {
	if value.TypeName(v) != c.of {
		return true
	}
	size := 0
	switch v := v.(type) {
	case string:
		size = utf8.RuneCountInString(v)
		r.spend(len(v) / 64)
	case []any:
		size = len(v)
	case *value.Object:
		size = v.Len()
	}
	words, fits := "at most", float64(size) <= c.limit
	if c.least {
		words, fits = "at least", float64(size) >= c.limit
	}
	if fits || r.isMuted() {
		return fits
	}
	return r.fault(n, c.keyword, fmt.Sprintf("expected %s %s %s", words, value.Text(c.limit), counts[c.keyword[3:]].unit), "limit", c.limit)
}

// pattern is a compiled regular expression and what a character costs it.
type pattern struct {
	*regexp.Regexp
	size int
}

// matches reports whether the pattern is somewhere in s.
func (p *pattern) matches(r *run, s string) bool {
	return r.spend(1+p.size*len(s)/patternWork) && p.MatchString(s)
}

func (p *pattern) check(r *run, n *node, v any) bool {
	s, ok := v.(string)
	if !ok || p.matches(r, s) {
		return true
	}
	return r.fault(n, "pattern", shorten("must match the pattern "+p.String()), "pattern", shorten(p.String()))
}

// prefixItems is the keyword of the same name.
type prefixItems struct{ nodes []*node }

func (p *prefixItems) check(r *run, _ *node, v any) bool {
	list, _ := v.([]any)
	all := true
	for i := range min(len(list), len(p.nodes)) {
		all = r.item(p.nodes[i], i, list[i]) && all
	}
	return all
}

// items is the keyword of the same name; from is how many prefixItems spoke of.
type items struct {
	node *node
	from int
}

func (s *items) check(r *run, _ *node, v any) bool {
	list, _ := v.([]any)
	all := true
	for i := s.from; i < len(list) && !r.spent; i++ {
		if !r.item(s.node, i, list[i]) {
			all = false
			if r.quiet > 0 {
				break
			}
		}
	}
	return all && !r.spent
}

// contains is contains, minContains and maxContains.
type contains struct {
	node        *node
	least, most float64
}

func (c *contains) check(r *run, n *node, v any) bool {
	list, ok := v.([]any)
	if !ok {
		return true
	}
	found := 0.0
	for _, item := range list {
		if c.node.isValid(r, item) {
			found++
		}
		if r.spent {
			return false
		}
	}
	switch {
	case found < c.least:
		return r.fault(n, "contains", fmt.Sprintf("expected at least %s items of a certain form", value.Text(c.least)), "minContains", c.least)
	case found > c.most:
		return r.fault(n, "contains", fmt.Sprintf("expected at most %s items of a certain form", value.Text(c.most)), "maxContains", c.most)
	}
	return true
}

// unique is uniqueItems.
type unique struct{}

func (unique) check(r *run, n *node, v any) bool {
	list, _ := v.([]any)
	first := make(map[string]int, min(len(list), 1000))
	for i, item := range list {
		var w strings.Builder
		writeCanonical(&w, item)
		if !r.spend(1 + w.Len()/8) {
			return false
		}
		if other, twice := first[w.String()]; twice {
			return r.fault(n, "uniqueItems", fmt.Sprintf("items %d and %d are the same", other, i), "i", float64(i), "j", float64(other))
		}
		first[w.String()] = i
	}
	return true
}

// writeCanonical writes a value so that the same values are the same text.
func writeCanonical(w *strings.Builder, v any) {
	switch v := jsonValue(v).(type) {
	case []any:
		w.WriteByte('[')
		for _, item := range v {
			writeCanonical(w, item)
			w.WriteByte(',')
		}
		w.WriteByte(']')
	case *value.Object:
		w.WriteByte('{')
		for _, key := range slices.Sorted(slices.Values(v.Keys())) {
			w.WriteString(value.JSON(key, "") + ":")
			writeCanonical(w, v.At(key))
			w.WriteByte(',')
		}
		w.WriteByte('}')
	default:
		w.WriteString(value.JSON(v, ""))
	}
}

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
			all = r.faultOf(n, name, "required", "is required", "missingProperty", shorten(name))
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
				all = r.faultOf(n, other, "dependentRequired", "required with "+shorten(name), "property", shorten(name), "missingProperty", shorten(other))
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
		if !checkUncovered(r, n, a.node, a.refused, "additionalProperties", "additionalProperty", key, o.At(key)) {
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

// checkUncovered checks a member that no other keyword covers. The keyword that refuses a
// member reports it.
func checkUncovered(r *run, n, below *node, refused bool, keyword, param, key string, v any) bool {
	if refused {
		return r.spend(1) && r.faultOf(n, key, keyword, "unknown field", param, shorten(key))
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
		if !p.node.isValid(r, key) {
			all = r.faultOf(n, key, "propertyNames", "a field of this name is not expected", "propertyName", shorten(key))
		}
		if r.spent {
			return false
		}
	}
	return all
}

// reference is $ref and $dynamicRef.
type reference struct{ node *node }

func (s *reference) check(r *run, _ *node, v any) bool { return s.node.check(r, v) }

// allOf is the keyword of the same name.
type allOf struct{ nodes []*node }

func (s *allOf) check(r *run, _ *node, v any) bool {
	all := true
	for _, n := range s.nodes {
		all = n.check(r, v) && all
		if !all && r.quiet > 0 {
			break
		}
	}
	return all
}

// anyOf is the keyword of the same name. When nothing fits, the faults of every
// form follow its own.
type anyOf struct{ nodes []*node }

func (s *anyOf) check(r *run, n *node, v any) bool {
	faultCount := len(r.faults)
	for _, form := range s.nodes {
		if form.check(r, v) {
			r.faults = r.faults[:faultCount]
			return true
		}
	}
	return r.faultBefore(faultCount, n, "anyOf", formsExpected(s.nodes))
}

func formsExpected(forms []*node) string {
	return "must fit one of " + strconv.Itoa(len(forms)) + " schemas"
}

// oneOf is the keyword of the same name, with faults as those of anyOf.
type oneOf struct{ nodes []*node }

func (s *oneOf) check(r *run, n *node, v any) bool {
	faultCount, fitting := len(r.faults), []any(nil)
	for i, form := range s.nodes {
		if len(fitting) == 0 && form.check(r, v) || len(fitting) > 0 && form.isValid(r, v) {
			fitting = append(fitting, float64(i))
		}
		if len(fitting) == 2 {
			break
		}
	}
	if len(fitting) == 0 {
		return r.faultBefore(faultCount, n, "oneOf", formsExpected(s.nodes), "passingSchemas", nil)
	}
	r.faults = r.faults[:faultCount]
	return len(fitting) == 1 || r.fault(n, "oneOf", fmt.Sprintf("must fit exactly one of %d schemas", len(s.nodes)), "passingSchemas", fitting)
}

// not is the keyword of the same name.
type not struct{ node *node }

func (s *not) check(r *run, n *node, v any) bool {
	return !s.node.isValid(r, v) || r.fault(n, "not", "a value of this form is not expected")
}

// choice is if, then and else; those that are absent are nil.
type choice struct{ when, then, otherwise *node }

// next returns what v must fit besides, nil when there is nothing.
func (s *choice) next(r *run, v any) *node {
	if s.then == nil && s.otherwise == nil {
		return nil
	}
	if s.when.isValid(r, v) {
		return s.then
	}
	return s.otherwise
}

func (s *choice) check(r *run, _ *node, v any) bool {
	next := s.next(r, v)
	return next == nil || next.check(r, v)
}

// dependentSchemas is the keyword of the same name.
type dependentSchemas struct {
	names []string
	nodes []*node
}

func (d *dependentSchemas) check(r *run, _ *node, v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return true
	}
	all := true
	for i, name := range d.names {
		if _, has := o.Get(name); has && !d.nodes[i].check(r, v) {
			all = false
		}
	}
	return r.spend(len(d.names)) && all
}

// sameValueSchemas returns the schemas that a rule holds the same value against.
func sameValueSchemas(r rule) []*node {
	switch s := r.(type) {
	case *reference:
		return []*node{s.node}
	case *allOf:
		return s.nodes
	case *anyOf:
		return s.nodes
	case *oneOf:
		return s.nodes
	case *not:
		return []*node{s.node}
	case *dependentSchemas:
		return s.nodes
	case *choice:
		all := []*node{s.when}
		if s.then != nil {
			all = append(all, s.then)
		}
		if s.otherwise != nil {
			all = append(all, s.otherwise)
		}
		return all
	}
	return nil
}

// coverage is what keywords spoke of: members by name, items by position.
type coverage struct {
	names map[string]bool
	items map[int]bool
	all   bool
}

// unevaluatedProperties is the keyword of the same name; others are the rest of
// its schema.
type unevaluatedProperties struct {
	node, others *node
	refused      bool
}

func (u *unevaluatedProperties) check(r *run, n *node, v any) bool {
	o, ok := v.(*value.Object)
	if !ok {
		return true
	}
	c := &coverage{names: map[string]bool{}}
	u.others.addCoverage(r, v, c)
	all := true
	for _, key := range o.Keys() {
		if c.all || c.names[key] {
			continue
		}
		if !checkUncovered(r, n, u.node, u.refused, "unevaluatedProperties", "unevaluatedProperty", key, o.At(key)) {
			all = false
		}
	}
	return all && !r.spent
}

// unevaluatedItems is the keyword of the same name; others are the rest of its
// schema.
type unevaluatedItems struct {
	node, others *node
	refused      bool
}

func (u *unevaluatedItems) check(r *run, n *node, v any) bool {
	list, ok := v.([]any)
	if !ok {
		return true
	}
	c := &coverage{items: map[int]bool{}}
	u.others.addCoverage(r, v, c)
	all := true
	for i, item := range list {
		switch {
		case c.all || c.items[i]:
		case u.refused:
			return r.fault(n, "unevaluatedItems", "expected no further items", "limit", float64(i))
		default:
			all = r.item(u.node, i, item) && all
		}
	}
	return all && !r.spent
}

// addCoverage adds what is covered by the keywords of n, and by the schemas beside it that
// v matches.
func (n *node) addCoverage(r *run, v any, c *coverage) {
	if !r.spend(1) {
		return
	}
	for _, rule := range n.rules {
		switch s := rule.(type) {
		case *choice:
			s.cover(r, v, c)
		case *dependentSchemas:
			for i, name := range s.names {
				if _, has := asObject(v).Get(name); has {
					s.nodes[i].coverIfFits(r, v, c)
				}
			}
		case *not:
		default:
			for _, next := range sameValueSchemas(rule) {
				next.coverIfFits(r, v, c)
			}
			c.add(r, rule, v)
		}
	}
}

func (n *node) coverIfFits(r *run, v any, c *coverage) {
	if n.isValid(r, v) {
		n.addCoverage(r, v, c)
	}
}

func (s *choice) cover(r *run, v any, c *coverage) {
	next := s.otherwise
	if s.when.isValid(r, v) {
		s.when.addCoverage(r, v, c)
		next = s.then
	}
	if next != nil {
		next.coverIfFits(r, v, c)
	}
}

func asObject(v any) *value.Object {
	o, _ := v.(*value.Object)
	return o
}

// add adds what one rule covers.
func (c *coverage) add(r *run, rule rule, v any) {
	if o, ok := v.(*value.Object); ok && c.names != nil {
		c.addMembers(r, rule, o)
	}
	if list, ok := v.([]any); ok && c.items != nil {
		c.addItems(r, rule, list)
	}
}

func (c *coverage) addMembers(r *run, rule rule, o *value.Object) {
	switch s := rule.(type) {
	case *properties:
		for _, name := range s.names {
			c.names[name] = true
		}
		r.spend(len(s.names))
	case *patternProperties:
		for _, key := range o.Keys() {
			if !c.names[key] && matchesAny(r, s.patterns, key) {
				c.names[key] = true
			}
		}
	case *additional, *unevaluatedProperties:
		c.all = true
	}
}

func (c *coverage) addItems(r *run, rule rule, list []any) {
	switch s := rule.(type) {
	case *prefixItems:
		for i := range s.nodes {
			c.items[i] = true
		}
		r.spend(len(s.nodes))
	case *items, *unevaluatedItems:
		c.all = true
	case *contains:
		for i, item := range list {
			if s.node.isValid(r, item) {
				c.items[i] = true
			}
		}
	}
}
