package automation

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// Types of typed fields: those of JSON Schema, and a scalar or a map of them by
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

// TypedFields returns what is wrong with the typed fields of another document,
// which stand at path there: those of arguments follow the same rules. It stops
// looking when it has found enough of them.
func TypedFields(fields *value.Object, path string, enough int) []Fault {
	c := &checker{enough: enough}
	c.typedFields(fields, path)
	return c.faults
}

// TypedField is TypedFields for one field.
func TypedField(field any, path string, enough int) []Fault {
	c := &checker{enough: enough}
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
		c.misfit(false, domain.CodeInvalidRequest, "", path, "a typed field is an object, not %s", value.Kind(v))
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
	for i, item := range items(v) {
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
	case c.enough > 0 && len(c.faults) >= c.enough:
		return
	case !ok:
		c.fault("", path, "a schema is an object, not %s", value.Kind(v))
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
		if len(items(v)) == 0 {
			return "expected a list of schemas"
		}
		for i, item := range items(v) {
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
	case k == aCount && (!isNumber || n < 0 || integer(n) != ""):
		return "expected a whole number from 0 on"
	case k == aBoolean && !isBool:
		return "expected true or false"
	case (k == aText || k == aPattern) && !isText:
		return "expected a string"
	case k == aPattern:
		return expr.CheckPattern(textOf(v))
	case k == aTextList && (!has(list, v) || len(texts(v)) != len(items(v))):
		return "expected a list of names"
	case k == aList && !has(list, v):
		return "expected a list"
	case k == aType:
		return wrongType(v)
	}
	return ""
}

func wrongType(v any) string {
	names := items(v)
	if !has(list, v) {
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
	if !c.leads(pointer) && (err != nil || !c.leads(decoded)) {
		return "there is nothing at " + s
	}
	return ""
}

var pointerParts = strings.NewReplacer("~1", "/", "~0", "~")

// leads reports whether there is something at a pointer into the schema.
func (c *schemaChecker) leads(pointer string) bool {
	var at any = c.root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		at = value.At(at, pointerParts.Replace(part))
	}
	return !value.IsUndefined(at)
}
