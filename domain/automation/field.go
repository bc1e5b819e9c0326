package automation

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"svc/domain"
	"svc/domain/automation/expr"
	"svc/domain/jsontype"
	"svc/domain/nearest"
	"svc/domain/value"
)

// The types as the tables name them.
const (
	text, number, boolean = jsontype.Text, jsontype.Number, jsontype.Boolean
	list, object, null    = jsontype.List, jsontype.Object, jsontype.Null
	anything              = jsontype.Anything
)

// isOneOf reports whether a value is of one of the types. Bytes and streams, which
// only runs have, are of none but fit where anything does.
func isOneOf(types jsontype.Set, v any) bool {
	return types == anything || types.Has(value.TypeName(v))
}

// role says how a parameter is read.
type role uint8

const (
	plain  role = iota // evaluated before the instruction runs
	target             // the path of a variable
	body               // instructions
	later              // a value that the instruction evaluates itself
	raw                // never evaluated
)

// field is a row of the tables: one field of a document or one parameter of an
// instruction.
type field struct {
	name string
	doc  string
	is   jsontype.Set
	must bool
	role role

	of          []field // the members of an object, which has no others
	each        *field  // the items of an array, the values of an object
	enum        []string
	fold        bool // enum in any case
	least       *float64
	most        *float64
	above       bool   // least itself is too little
	match       string // pattern of a string
	expectation string // what match asks for, in words
	// otherwise is the default, for editors.
	otherwise any
	// raises is the error of a bad value, InvalidInstruction when empty.
	raises string
	// rule says what else is wrong with a value, "" when nothing is.
	rule func(v any) string
	// computed fields are ignored on write.
	computed bool
	// blank reports a value that counts as absent: a form of an editor that was left
	// empty; nil: null alone does.
	blank func(v any) bool
}

func pointerTo(n float64) *float64 { return &n }

// IsBlank reports whether a value says nothing: absent, null, an empty text, false, or an
// object with nothing but such values.
func IsBlank(v any) bool {
	if o, ok := v.(*value.Object); ok {
		return !slices.ContainsFunc(o.Keys(), func(key string) bool { return !IsBlank(o.At(key)) })
	}
	return value.IsNothing(v) || v == "" || v == false
}

// isDynamic reports whether a value is a template that yields something else than
// it says.
func isDynamic(v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	t, err := expr.ParseTemplate(s)
	if err != nil {
		return true // reported where templates are read
	}
	_, static := t.Static()
	return !static
}

// hasTemplate reports whether v contains a template.
func hasTemplate(v any) bool {
	switch v := v.(type) {
	case string:
		return isDynamic(v)
	case []any:
		return slices.ContainsFunc(v, hasTemplate)
	case *value.Object:
		return slices.ContainsFunc(v.Keys(), func(key string) bool { return hasTemplate(v.At(key)) })
	}
	return false
}

// check reports what is wrong with v, a field's value at path. With templates,
// strings that are templates pass: they are checked when they run. It returns
// the first fault.
func (c *checker) check(f field, v any, path string, templates bool) *Fault {
	if templates && f.role != raw && isDynamic(v) {
		return nil
	}
	if !isOneOf(f.is, v) {
		return c.formFault(templates, domain.CodeInvalidRequest, f.error(), path, "expected %s, got %s", strings.Join(f.is.Names(), " or "), value.TypeName(v))
	}
	if why := f.valueProblem(v); why != "" {
		return c.fault(f.error(), path, "%s", why)
	}
	switch v := v.(type) {
	case []any:
		return c.checkItems(f, v, path, templates)
	case *value.Object:
		if f.of != nil {
			return c.checkMembers(f.of, v, path, templates)
		}
		return c.checkValues(f, v, path, templates)
	}
	return nil
}

// formFault is fault for what is not of the form that the table has. Of the document
// itself that is a fault of the request; instructions are content, which has faults
// of its own.
func (c *checker) formFault(instruction bool, code domain.Code, name, path, format string, args ...any) *Fault {
	f := c.fault(name, path, format, args...)
	if !instruction {
		f.Code, c.faults[len(c.faults)-1].Code = code, code
	}
	return f
}

func (f field) error() string {
	if f.raises != "" {
		return f.raises
	}
	return InvalidInstruction
}

// valueProblem says what is wrong with a value of the right type.
func (f field) valueProblem(v any) string {
	switch v := v.(type) {
	case string:
		if why := f.textProblem(v); why != "" {
			return why
		}
	case float64:
		if f.least != nil && (v < *f.least || f.above && v == *f.least) {
			if f.above {
				return "must be more than " + value.Text(*f.least)
			}
			return "must be at least " + value.Text(*f.least)
		}
		if f.most != nil && v > *f.most {
			return "must be at most " + value.Text(*f.most)
		}
	}
	if f.rule != nil {
		return f.rule(v)
	}
	return ""
}

func (f field) textProblem(s string) string {
	if f.enum != nil && !slices.ContainsFunc(f.enum, func(e string) bool { return e == s || f.fold && strings.EqualFold(e, s) }) {
		return "must be one of: " + strings.Join(f.enum, ", ")
	}
	if f.match != "" && !compileCached(f.match).MatchString(s) {
		return fmt.Sprintf("%q is not a valid %s", s, f.expectation)
	}
	return ""
}

// patterns are the expressions of the tables, compiled when they are first used.
var patterns sync.Map

func compileCached(text string) *regexp.Regexp {
	known, ok := patterns.Load(text)
	if !ok {
		known, _ = patterns.LoadOrStore(text, regexp.MustCompile(text))
	}
	return known.(*regexp.Regexp)
}

func (c *checker) checkItems(f field, items []any, path string, templates bool) *Fault {
	var first *Fault
	if f.each == nil {
		return nil
	}
	for i, item := range items {
		first = firstFault(first, c.check(*f.each, item, fmt.Sprintf("%s[%d]", path, i), templates))
	}
	return first
}

func (c *checker) checkValues(f field, o *value.Object, path string, templates bool) *Fault {
	var first *Fault
	if f.each == nil {
		return nil
	}
	for _, key := range o.Keys() {
		first = firstFault(first, c.check(*f.each, o.At(key), expr.Member(path, key), templates))
	}
	return first
}

// isAbsent reports whether a value counts as none: null where it is no value, and what
// is blank.
func (f field) isAbsent(v any) bool {
	return v == nil && f.is&null == 0 || f.blank != nil && f.blank(v)
}

// checkMembers checks an object that has these members. Others are refused in a
// document, and ignored with a warning in an instruction.
func (c *checker) checkMembers(fields []field, o *value.Object, path string, templates bool) *Fault {
	var first *Fault
	for _, key := range o.Keys() {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
		at := expr.Member(path, key)
		if i < 0 && (templates || c.running) {
			c.warn("", at, "unknown parameter, which is ignored; known are %s%s", nameList(fields), nearest.DidYouMean(key, slices.Values(namesOf(fields))))
			continue
		}
		if i < 0 {
			first = firstFault(first, c.formFault(false, domain.CodeInvalidRequest, InvalidInstruction, at, "unknown field; known are %s%s", nameList(fields), c.didYouMean(key, fields)))
			continue
		}
		f, v := fields[i], o.At(key)
		if f.role == body || f.role == target || f.isAbsent(v) {
			continue // read by those who know them, or absent
		}
		first = firstFault(first, c.check(f, v, at, templates))
	}
	for _, f := range fields {
		v, ok := o.Get(f.name)
		if f.must && (!ok || f.isAbsent(v)) {
			first = firstFault(first, c.formFault(templates, domain.CodeMissingParameter, f.error(), expr.Member(path, f.name), "is required"))
		}
	}
	return first
}

// maxHints is how many faults name what may be meant: to find it takes a while.
const maxHints = 100

// didYouMean ends a message about an unknown name with the nearest one.
func (c *checker) didYouMean(name string, fields []field) string {
	if len(c.faults) >= maxHints {
		return ""
	}
	return nearest.DidYouMean(name, slices.Values(namesOf(fields)))
}

func namesOf(fields []field) (all []string) {
	for _, f := range fields {
		all = append(all, f.name)
	}
	return all
}

func nameList(fields []field) string {
	if len(fields) == 0 {
		return "none"
	}
	return strings.Join(namesOf(fields), ", ")
}

func firstFault(a, b *Fault) *Fault {
	if a != nil {
		return a
	}
	return b
}

// types are those of typed fields: those of JSON Schema, and a scalar or a map of them by
// locale.
var types = []string{
	"string", "number", "integer", "boolean", "object", "array", "null",
	"localized:string", "localized:number", "localized:boolean",
}

// keyword says what a keyword of JSON Schema holds, where it can be wrong.
type keyword uint8

const (
	aSchema keyword = iota + 1
	schemaList
	schemaMap
	aNumber
	aCount
	aBoolean
	aText
	aTextList
	aList
	aPattern
	aType
	aReference
)

var keywords = map[string]keyword{
	"items": aSchema, "contains": aSchema, "additionalProperties": aSchema, "propertyNames": aSchema, "not": aSchema,
	"if": aSchema, "then": aSchema, "else": aSchema, "unevaluatedItems": aSchema, "unevaluatedProperties": aSchema,
	"prefixItems": schemaList, "allOf": schemaList, "anyOf": schemaList, "oneOf": schemaList,
	"properties": schemaMap, "patternProperties": schemaMap, "$defs": schemaMap, "definitions": schemaMap, "dependentSchemas": schemaMap,
	"minimum": aNumber, "maximum": aNumber, "exclusiveMinimum": aNumber, "exclusiveMaximum": aNumber, "multipleOf": aNumber,
	"minLength": aCount, "maxLength": aCount, "minItems": aCount, "maxItems": aCount, "minProperties": aCount, "maxProperties": aCount,
	"minContains": aCount, "maxContains": aCount,
	"uniqueItems": aBoolean, "secret": aBoolean, "redact": aBoolean, "readOnly": aBoolean, "writeOnly": aBoolean, "deprecated": aBoolean,
	"format": aText, "required": aTextList, "enum": aList, "pattern": aPattern, "type": aType,
	"$ref": aReference, "$dynamicRef": aReference,
}

// arguments checks the typed fields of the input.
func (c *checker) arguments(v any) *value.Object {
	o, ok := v.(*value.Object)
	if !ok {
		return nil
	}
	c.typedFields(o, "arguments")
	return o
}

// TypedFields returns the faults of the typed fields of another document, at path: the
// rules of arguments apply. It stops after enough faults.
func TypedFields(fields *value.Object, path string, enough int) []Fault {
	c := &checker{maxFaults: enough}
	c.typedFields(fields, path)
	return c.faults
}

// TypedField is TypedFields for one field.
func TypedField(field any, path string, enough int) []Fault {
	c := &checker{maxFaults: enough}
	c.typedField(field, path)
	return c.faults
}

func (c *checker) typedFields(o *value.Object, path string) {
	for _, name := range o.Keys() {
		c.typedField(o.At(name), expr.Member(path, name))
	}
}

func (c *checker) typedField(v any, path string) {
	field, ok := v.(*value.Object)
	if !ok {
		c.formFault(false, domain.CodeInvalidRequest, "", path, "a typed field is an object, not %s", value.TypeName(v))
		return
	}
	// required: true is the argument's own, not the list of an object's.
	if _, own := field.At("required").(bool); own {
		rest := &value.Object{}
		for _, key := range field.Keys() {
			if key != "required" {
				rest.Set(key, field.At(key))
			}
		}
		field = rest
	}
	(&schemaChecker{c, field}).schema(field, path, 0)
}

// schemas checks the branches.
func (c *checker) schemas(v any) []Schema {
	var all []Schema
	for i, item := range listOf(v) {
		branch, ok := item.(*value.Object)
		if !ok {
			continue // reported by the table
		}
		var s Schema
		s.Conditions, _ = branch.At("conditions").(*value.Object)
		s.Payload, _ = branch.At("payload").(*value.Object)
		s.Output, _ = branch.At("output").(*value.Object)
		for _, part := range []string{"payload", "output"} {
			if schema, ok := branch.At(part).(*value.Object); ok {
				(&schemaChecker{c, schema}).schema(schema, fmt.Sprintf("schemas[%d].%s", i, part), 0)
			}
		}
		all = append(all, s)
	}
	return all
}

// schemaChecker checks one schema; root is what references point into.
type schemaChecker struct {
	*checker
	root *value.Object
}

func (c *schemaChecker) schema(v any, path string, depth int) {
	if _, ok := v.(bool); ok && depth > 0 {
		return
	}
	o, ok := v.(*value.Object)
	switch {
	case c.maxFaults > 0 && len(c.faults) >= c.maxFaults:
		return
	case !ok:
		c.fault("", path, "a schema is an object, not %s", value.TypeName(v))
		return
	case depth > MaxNesting:
		c.fault("", path, "schemas are nested more than %d deep", MaxNesting)
		return
	}
	for _, key := range o.Keys() {
		at := expr.Member(path, key)
		if why := c.keyword(keywords[key], o.At(key), at, depth); why != "" {
			c.fault("", at, "%s", why)
		}
	}
	if o.At("secret") == true && o.At("type") != "string" {
		c.fault("", expr.Member(path, "secret"), "only strings can be secret")
	}
}

// keyword says what is wrong with the value of a keyword; schemas in it report
// themselves.
func (c *schemaChecker) keyword(k keyword, v any, path string, depth int) string {
	switch k {
	case aSchema:
		c.schema(v, path, depth+1)
	case schemaList:
		if len(listOf(v)) == 0 {
			return "expected a list of schemas"
		}
		for i, item := range listOf(v) {
			c.schema(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
	case schemaMap:
		o, ok := v.(*value.Object)
		if !ok {
			return "expected an object of schemas"
		}
		for _, key := range o.Keys() {
			at := expr.Member(path, key)
			if strings.HasSuffix(path, "patternProperties") && expr.CheckPattern(key) != "" {
				c.fault("", at, "%s", expr.CheckPattern(key))
			}
			c.schema(o.At(key), at, depth+1)
		}
	case aReference:
		return c.reference(v)
	default:
		return wrongKeyword(k, v)
	}
	return ""
}

func wrongKeyword(k keyword, v any) string {
	n, isNumber := v.(float64)
	_, isText := v.(string)
	_, isBool := v.(bool)
	switch {
	case k == aNumber && !isNumber:
		return "expected a number"
	case k == aCount && (!isNumber || n < 0 || integerRule(n) != ""):
		return "expected a whole number from 0 on"
	case k == aBoolean && !isBool:
		return "expected true or false"
	case (k == aText || k == aPattern) && !isText:
		return "expected a string"
	case k == aPattern:
		return expr.CheckPattern(textOf(v))
	case k == aTextList && (!isOneOf(list, v) || len(stringsOf(v)) != len(listOf(v))):
		return "expected a list of names"
	case k == aList && !isOneOf(list, v):
		return "expected a list"
	case k == aType:
		return wrongType(v)
	}
	return ""
}

func integerRule(v any) string {
	if n, ok := v.(float64); ok && n != float64(int64(n)) {
		return "expected an integer"
	}
	return ""
}

func wrongType(v any) string {
	names := listOf(v)
	if !isOneOf(list, v) {
		names = []any{v}
	}
	for _, name := range names {
		if s, ok := name.(string); !ok || !slices.Contains(types, s) {
			return fmt.Sprintf("%s is not a type: must be one of: %s", value.JSON(name, ""), strings.Join(types, ", "))
		}
	}
	return ""
}

// reference says what is wrong with a $ref: it points into its own schema.
func (c *schemaChecker) reference(v any) string {
	s, ok := v.(string)
	pointer, local := strings.CutPrefix(s, "#")
	if !ok || !local {
		return "$ref must point into the same schema: it begins with #"
	}
	if !strings.HasPrefix(pointer, "/") {
		return "" // the root, or an anchor
	}
	decoded, err := url.PathUnescape(pointer)
	if !c.pointerExists(pointer) && (err != nil || !c.pointerExists(decoded)) {
		return "there is nothing at " + s
	}
	return ""
}

var pointerParts = strings.NewReplacer("~1", "/", "~0", "~")

// pointerExists reports whether there is something at a pointer into the schema.
func (c *schemaChecker) pointerExists(pointer string) bool {
	var at any = c.root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		at = value.At(at, pointerParts.Replace(part))
	}
	return !value.IsUndefined(at)
}
