package automation

import (
	"maps"
	"slices"

	"svc/domain/automation/expr"
	"svc/domain/value"
)

// templatePattern is a string that holds a template.
const templatePattern = `\{\{|\{%`

// JSONSchema returns the schema of documents, draft 2020-12, made of the tables
// that check them. What a schema cannot say (expressions, patterns of events,
// schedules) it leaves to saving.
func JSONSchema() *value.Object {
	schema := value.NewObject(
		"$schema", "https://json-schema.org/draft/2020-12/schema",
		"title", "Automation",
		"description", "What a workspace does when something happens.",
	)
	mergeObject(schema, membersSchema(documentFields, false))
	schema.Set("examples", []any{exampleDocument()})
	schema.Set("x-functions", functionList())
	schema.Set("x-modules", moduleFunctions())
	schema.Set("$defs", value.NewObject(
		"template", value.NewObject("type", "string", "pattern", templatePattern, "description", "Evaluated when it runs."),
		"instructions", value.NewObject("type", []any{"array", "null"}, "items", schemaReference("instruction")),
		"instruction", instructionSchema(),
		"typedField", typedFieldSchema(),
	))
	return schema
}

func mergeObject(into, from *value.Object) {
	for _, key := range from.Keys() {
		into.Set(key, from.At(key))
	}
}

func schemaReference(name string) *value.Object { return value.NewObject("$ref", "#/$defs/"+name) }

// membersSchema is the schema of an object that has these members and no
// others.
func membersSchema(fields []field, templates bool) *value.Object {
	properties, required := &value.Object{}, []any{}
	for _, f := range fields {
		properties.Set(f.name, fieldSchema(f, templates))
		if f.must {
			required = append(required, f.name)
		}
	}
	o := value.NewObject("type", "object", "properties", properties, "additionalProperties", false)
	if len(required) > 0 {
		o.Set("required", required)
	}
	return o
}

// fieldSchema returns the schema of one field. With templates, a template is allowed in
// place of a value.
func fieldSchema(f field, templates bool) *value.Object {
	o := valueSchema(f, templates)
	free := f.is&text != 0 && f.enum == nil && f.match == ""
	if templates && !free && (f.role == plain || f.role == later) {
		o = value.NewObject("anyOf", []any{o, schemaReference("template")})
	}
	if f.doc != "" {
		o.Set("description", f.doc)
	}
	if f.otherwise != nil {
		o.Set("default", f.otherwise)
	}
	if f.computed {
		o.Set("readOnly", true)
	}
	return o
}

// valueSchema is the schema of a field's own values. Null is as good as absent.
func valueSchema(f field, templates bool) *value.Object {
	switch {
	case f.role == body:
		return schemaReference("instructions")
	case f.name == "arguments" && f.of == nil:
		return value.NewObject("type", []any{"object", "null"}, "additionalProperties", schemaReference("typedField"))
	case f.is == anything:
		return &value.Object{}
	case f.of != nil && f.is == object:
		o := membersSchema(f.of, templates)
		o.Set("type", []any{"object", "null"})
		return o
	}
	o := value.NewObject("type", typeNames(f))
	if f.each != nil && f.is&list != 0 {
		o.Set("items", fieldSchema(*f.each, templates))
	} else if f.each != nil {
		o.Set("additionalProperties", fieldSchema(*f.each, templates))
	}
	addLimits(o, f)
	return o
}

// typeNames lists the types of a field; one that may be left out may be null.
func typeNames(f field) any {
	kinds := f.is
	if !f.must && f.name != "" {
		kinds |= null
	}
	names := kinds.Names()
	if len(names) == 1 {
		return names[0]
	}
	return value.From(names)
}

// addLimits adds what a table says of strings and numbers.
func addLimits(o *value.Object, f field) {
	if f.enum != nil && !f.fold {
		all := value.From(f.enum)
		if !f.must {
			all = append(all.([]any), nil)
		}
		o.Set("enum", all)
	}
	if f.match != "" && f.blank != nil {
		o.Set("pattern", "^$|"+f.match)
	} else if f.match != "" {
		o.Set("pattern", f.match)
	}
	if f.fold {
		o.Set("examples", value.From(f.enum))
	}
	if f.least != nil {
		o.Set(map[bool]string{true: "exclusiveMinimum", false: "minimum"}[f.above], *f.least)
	}
	if f.most != nil {
		o.Set("maximum", *f.most)
	}
}

// instructionSchema is an object of one key: a built-in instruction, or a call.
func instructionSchema() *value.Object {
	properties := &value.Object{}
	for _, row := range instructions {
		o := formSchema(*builtin[row.name])
		if row.holds == nowhere && row.form != text {
			o = value.NewObject("anyOf", []any{o, schemaReference("template")})
		}
		o.Set("description", row.doc)
		properties.Set(row.name, o)
	}
	call := value.NewObject("description", "Calls the automation of that slug.", "anyOf", []any{
		value.NewObject("type", "object"), schemaReference("template"),
	})
	return value.NewObject("type", []any{"object", "null"}, "maxProperties", 1.0, "properties", properties, "additionalProperties", call)
}

func formSchema(row instruction) *value.Object {
	switch {
	case row.holds == inBranches:
		return value.NewObject("type", "object", "additionalProperties", schemaReference("instructions"))
	case row.holds == inList:
		return schemaReference("instructions")
	case row.form == text:
		return value.NewObject("type", "string")
	}
	params := slices.Clone(row.params)
	for i, f := range params {
		if f.name == outputField.name && f.role == target {
			params[i].is = anything // one that is no path is a warning only
		}
	}
	return membersSchema(params, true)
}

// typedFieldSchema is JSON Schema itself, with more types and markers.
func typedFieldSchema() *value.Object {
	one := value.NewObject("enum", value.From(types))
	return value.NewObject("type", "object", "properties", value.NewObject(
		"type", value.NewObject("anyOf", []any{one, value.NewObject("type", "array", "items", one)}),
		"title", value.NewObject("type", "string"), "description", value.NewObject("type", "string"),
		"secret", value.NewObject("type", "boolean", "description", "Its value appears in no event."),
		"redact", value.NewObject("type", "boolean", "description", "Its value is not in the executed event."),
		"properties", value.NewObject("type", "object", "additionalProperties", schemaReference("typedField")),
	))
}

func exampleDocument() *value.Object {
	return value.NewObject(
		"slug", "greet", "name", "Greet",
		"when", value.NewObject("events", []any{"visitor.*"}),
		"do", []any{value.NewObject("emit", value.NewObject("event", "greeted", "payload", value.NewObject("name", "{{payload.name}}")))},
	)
}

// functionList are the functions of expressions, which a schema has no word for.
func functionList() []any {
	var list []any
	for _, f := range expr.Functions() {
		list = append(list, value.NewObject("name", f.Name, "signature", f.Signature, "description", f.Text))
	}
	return list
}

// moduleFunctions are the functions that run may call, by module.
func moduleFunctions() *value.Object {
	functions := value.NewObject()
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		functions.Set(name, value.From(modules[name]))
	}
	return functions
}
