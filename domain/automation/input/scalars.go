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

	"svc/domain/automation/value"
)

// never is the schema false.
type never struct{}

func (never) check(r *run, n *node, _ any) bool {
	return r.fault(n, "false schema", "no value is allowed here")
}

// types is the keyword type: the names are alternatives.
type types []string

// knownTypes are those of typed fields, and how they are told.
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
			k.fail(k.at.to("type"), "%s is not a type", value.JSON(item, ""))
		}
		all = append(all, name)
	}
	return all
}

func (t types) check(r *run, n *node, v any) bool {
	if slices.ContainsFunc(t, func(name string) bool { return isType(r, name, v) }) {
		return true
	}
	if r.mute() {
		return false
	}
	var told []string
	for _, name := range t {
		told = append(told, knownTypes[name])
	}
	names := value.From([]string(t))
	if len(t) == 1 {
		names = t[0]
	}
	return r.fault(n, "type", fmt.Sprintf("expected %s, got %s", strings.Join(told, " or "), value.Kind(v)), "type", names)
}

func isType(r *run, name string, v any) bool {
	if name == value.Kind(v) {
		return true
	}
	if number, ok := v.(float64); ok && name == "integer" {
		return number == math.Trunc(number)
	}
	scalar, localized := strings.CutPrefix(name, "localized:")
	if o, ok := v.(*value.Object); ok && localized {
		return r.spend(o.Len()) && isMapOf(o, scalar)
	}
	return localized && scalar == value.Kind(v)
}

func isMapOf(o *value.Object, scalar string) bool {
	return !slices.ContainsFunc(o.Keys(), func(key string) bool { return value.Kind(plain(o.At(key))) != scalar })
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
		k.fail(k.at.to("enum"), "expected a list")
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
		if r.spend(e.size/16) && slices.ContainsFunc(e.others, func(other any) bool { return value.Same(v, other) }) {
			return true
		}
	default:
		if e.scalars[v] {
			return true
		}
	}
	if r.mute() {
		return false
	}
	if len(e.values) > maxChoices {
		return r.fault(n, "enum", fmt.Sprintf("must be one of %d values", len(e.values)))
	}
	var told []string
	for _, v := range e.values {
		told = append(told, value.JSON(v, ""))
	}
	return r.fault(n, "enum", cut("must be one of: "+strings.Join(told, ", ")), "allowedValues", e.values)
}

// constant is the keyword const.
type constant struct {
	v    any
	size int
}

func (c *constant) check(r *run, n *node, v any) bool {
	if r.spend(c.size/16) && value.Same(v, c.v) {
		return true
	}
	return r.fault(n, "const", cut("must be "+value.JSON(c.v, "")), "allowedValue", c.v)
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
	if !ok || r.spend(10) && divides(float64(m), number) {
		return true
	}
	return r.fault(n, "multipleOf", fmt.Sprintf("must be a multiple of %s", value.Text(float64(m))), "multipleOf", float64(m))
}

// divides computes with decimals, as the numbers are written: 0.3 is three times
// 0.1.
func divides(by, n float64) bool {
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
	return &count{key, counts[key[3:]].of, strings.HasPrefix(key, "min"), k.whole(key, v)}
}

func (c *count) check(r *run, n *node, v any) bool {
	if value.Kind(v) != c.of {
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
	if fits || r.mute() {
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
	return r.fault(n, "pattern", cut("must match the pattern "+p.String()), "pattern", cut(p.String()))
}
