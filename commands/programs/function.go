package programs

import (
	"cmp"
	"encoding/json"
	"strings"

	"svc/domain/document"
	"svc/domain/value"
)

// DescribeFunction returns what a model is told of an automation that it may call: the given text, or texts by language,
// else what the automation says of itself.
func (p *Program) DescribeFunction(described any) string {
	return cmp.Or(textOf(described), textOf(p.Description), textOf(p.Name))
}

// textOf returns a text, or the first of texts by language.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case *value.Object:
		for _, language := range v.Keys() {
			if text, ok := v.At(language).(string); ok {
				return text
			}
		}
	case map[string]any:
		if text, ok := document.AsLocalized(document.ValueOf(v)); ok {
			return text.First()
		}
	}
	return ""
}

// FunctionParameters returns the JSON Schema of the arguments of an automation that a model may call, without secret ones
// and without those that have fixed values.
func (p *Program) FunctionParameters(fixed map[string]any) json.RawMessage {
	properties, required := &value.Object{}, []any{}
	isHidden := func(name string, field any) bool {
		_, given := fixed[name]
		return given || value.Walk(field, "secret") == true
	}
	if p.Arguments.Len() > 0 {
		for _, name := range p.Arguments.Keys() {
			field, ok := p.Arguments.At(name).(*value.Object)
			if !ok || isHidden(name, field) {
				continue
			}
			if field.At("required") == true {
				required = append(required, name)
			}
			properties.Set(name, schemaOf(field))
		}
		return schemaText(value.NewObject("type", "object", "properties", properties, "required", required))
	}
	for _, s := range p.Schemas {
		if s.Conditions.Len() > 0 || s.Payload == nil {
			continue
		}
		schema := s.Payload.Copy()
		fields, ok := schema.At("properties").(*value.Object)
		if ok {
			for _, name := range fields.Keys() {
				if !isHidden(name, fields.At(name)) {
					properties.Set(name, fields.At(name))
				}
			}
			schema.Set("properties", properties)
		}
		if names, ok := schema.At("required").([]any); ok {
			for _, name := range names {
				if text := value.Text(name); !isHidden(text, value.Walk(fields, text)) {
					required = append(required, name)
				}
			}
			schema.Set("required", required)
		}
		schema.Set("type", "object")
		return schemaText(schema)
	}
	return schemaText(value.NewObject("type", "object", "properties", properties))
}

// schemaOf returns a typed field as JSON Schema.
func schemaOf(field *value.Object) *value.Object {
	schema := &value.Object{}
	for _, key := range field.Keys() {
		v := field.At(key)
		if _, own := v.(bool); key == "required" && own {
			continue // it is about the object that the field is in
		}
		if kind, ok := v.(string); key == "type" && ok && strings.HasPrefix(kind, "localized:") {
			continue // no type of JSON Schema
		}
		schema.Set(key, v)
	}
	return schema
}

func schemaText(schema *value.Object) json.RawMessage { return json.RawMessage(value.JSON(schema, "")) }
