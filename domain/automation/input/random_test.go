package input_test

import (
	"testing"

	"pgregory.net/rapid"

	"svc/domain/automation/value"
)

// Schemas made of all keywords, nested in each other, mean what the library says
// they mean.
func TestRandomSchemasMeanWhatTheyMean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		schema := drawKeywords(r, 3)
		schema.Set("$defs", value.NewObject("x", drawSchema(r, 0)))
		text := value.JSON(schema, "")
		library := oracle(text)
		if library == nil {
			r.Fatalf("the library takes no schema %s", text)
		}
		for range 5 {
			agree(r, text, value.JSON(drawValue(r, 2), ""), library)
		}
	})
}

var (
	someNames   = rapid.SampledFrom([]string{"a", "b", "aa", "ab"})
	someScalars = rapid.SampledFrom([]any{nil, true, false, 0.0, 1.0, 1.5, 2.0, "", "a", "ab"})
	someTypes   = rapid.SampledFrom([]any{"string", "number", "integer", "boolean", "object", "array", "null"})
	somePattern = rapid.SampledFrom([]string{"a", "^a", "b$", "^$"})
)

func drawValue(r *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 4).Draw(r, "kind")
	if depth == 0 || kind == 0 {
		return someScalars.Draw(r, "scalar")
	}
	size := rapid.IntRange(0, 3).Draw(r, "size")
	if kind < 3 {
		o := &value.Object{}
		for range size {
			o.Set(someNames.Draw(r, "name"), drawValue(r, depth-1))
		}
		return o
	}
	list := []any{}
	for range size {
		list = append(list, drawValue(r, depth-1))
	}
	return list
}

func drawSchema(r *rapid.T, depth int) any {
	if rapid.IntRange(0, 9).Draw(r, "boolean") == 0 {
		return rapid.Bool().Draw(r, "schema")
	}
	return drawKeywords(r, depth)
}

func drawKeywords(r *rapid.T, depth int) *value.Object {
	o := &value.Object{}
	for range rapid.IntRange(1, 4).Draw(r, "keywords") {
		if depth == 0 {
			drawAssertion(r, o)
		} else {
			drawApplicator(r, o, depth-1)
		}
	}
	return o
}

// drawAssertion adds a keyword without schemas.
func drawAssertion(r *rapid.T, o *value.Object) {
	keyword := rapid.SampledFrom([]string{
		"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
		"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required", "dependentRequired",
	}).Draw(r, "assertion")
	small := float64(rapid.IntRange(0, 3).Draw(r, "small"))
	var v any = small
	switch keyword {
	case "type":
		v = someTypes.Draw(r, "type")
	case "enum":
		v = []any{drawValue(r, 1), drawValue(r, 1)}
	case "const":
		v = drawValue(r, 2)
	case "multipleOf":
		v = small/2 + 0.5
	case "pattern":
		v = somePattern.Draw(r, "pattern")
	case "uniqueItems":
		v = small > 0
	case "required":
		v = []any{someNames.Draw(r, "needed")}
	case "dependentRequired":
		v = value.NewObject(someNames.Draw(r, "name"), []any{someNames.Draw(r, "needed")})
	}
	o.Set(keyword, v)
}

// drawApplicator adds a keyword with schemas, or one without.
func drawApplicator(r *rapid.T, o *value.Object, depth int) {
	switch rapid.IntRange(0, 8).Draw(r, "group") {
	case 0, 1:
		drawAssertion(r, o)
	case 2:
		o.Set("$ref", "#/$defs/x")
	case 3:
		keyword := rapid.SampledFrom([]string{"allOf", "anyOf", "oneOf", "prefixItems"}).Draw(r, "list")
		o.Set(keyword, []any{drawSchema(r, depth), drawSchema(r, depth)})
	case 4, 5:
		keyword := rapid.SampledFrom([]string{"properties", "dependentSchemas", "patternProperties"}).Draw(r, "map")
		name := someNames.Draw(r, "name")
		if keyword == "patternProperties" {
			name = somePattern.Draw(r, "pattern")
		}
		o.Set(keyword, value.NewObject(name, drawSchema(r, depth)))
	case 6:
		o.Set("contains", drawSchema(r, depth))
		o.Set(rapid.SampledFrom([]string{"minContains", "maxContains"}).Draw(r, "limit"), float64(rapid.IntRange(0, 2).Draw(r, "count")))
	default:
		keyword := rapid.SampledFrom([]string{
			"items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems",
		}).Draw(r, "schema")
		o.Set(keyword, drawSchema(r, depth))
	}
}
