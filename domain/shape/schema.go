package shape

import (
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/value"
)

// Schema returns the JSON Schema (draft 2020-12) of a sort of documents: index,
// security, automation, page, block or import. What a schema cannot say it leaves
// to saving.
func Schema(name string) (*document.Map, bool) {
	if name == "automation" {
		return withID(name, automation.JSONSchema()), true
	}
	for _, t := range tables {
		if t.name == name {
			return withID(name, t.schema()), true
		}
	}
	return nil, false
}

// pair is short for a key and its value.
func pair(key string, v any) document.Pair { return document.Pair{Key: key, Value: v} }

// withID returns a schema with its address.
func withID(name string, schema *document.Map) *document.Map {
	m := document.MapOf(pair("$schema", "https://json-schema.org/draft/2020-12/schema"), pair("$id", "/v2/schemas/"+name))
	mergeInto(m, schema)
	return m
}

func mergeInto(into, from *document.Map) {
	for key, v := range from.All() {
		into.Set(key, v)
	}
}

func (t *table) schema() *document.Map {
	m := document.MapOf(pair("title", t.title), pair("description", t.doc), pair("type", "object"))
	s := &schemas{}
	s.members(m, &field{of: t.fields})
	examples := make([]any, len(t.examples))
	for i, example := range t.examples {
		examples[i], _ = document.ReadJSON([]byte(example), document.FileLimits) // a test reads them too
	}
	m.Set("examples", examples)
	if s.typed {
		defs, _ := automation.JSONSchema().At("$defs").(*value.Object)
		m.Set("$defs", document.MapOf(pair("typedField", defs.At("typedField"))))
	}
	return m
}

// schemas makes the parts of one schema.
type schemas struct{ typed bool } // whether typed fields are named in it

// members adds the members of an object.
func (s *schemas) members(m *document.Map, f *field) {
	properties, required := document.MapOf(), []any{}
	for i := range f.of {
		properties.Set(f.of[i].name, s.field(&f.of[i]))
		if f.of[i].must {
			required = append(required, f.of[i].name)
		}
	}
	m.Set("properties", properties)
	if !f.open {
		m.Set("additionalProperties", false)
	}
	if len(required) > 0 {
		m.Set("required", required)
	}
}

// field returns the schema of one field.
func (s *schemas) field(f *field) *document.Map {
	m := document.MapOf()
	if f.is != anything {
		m.Set("type", typeNames(f))
	}
	s.inside(m, f)
	limits(m, f)
	if f.doc != "" {
		m.Set("description", f.doc)
	}
	if f.otherwise != nil {
		m.Set("default", f.otherwise)
	}
	if f.readOnly {
		m.Set("readOnly", true)
	}
	return m
}

// typeNames lists the types of a field; one that may be left out may be null.
func typeNames(f *field) any {
	kinds := f.is
	if !f.must && !f.nullIsPresent && f.name != "" {
		kinds |= null
	}
	names := document.StringList(kinds.Names())
	if len(names) == 1 {
		return names[0]
	}
	return names
}

// inside adds the schemas of the items of lists and the members of objects.
func (s *schemas) inside(m *document.Map, f *field) {
	ref := func() *document.Map { s.typed = true; return document.MapOf(pair("$ref", "#/$defs/typedField")) }
	switch {
	case f.of != nil:
		s.members(m, f)
	case f.typed == byName:
		m.Set("additionalProperties", ref())
	case f.typed == settings:
		open := document.MapOf(pair("anyOf", []any{document.MapOf(pair("type", "boolean")), ref()}))
		m.Set("properties", document.MapOf(pair("additionalProperties", open)))
		m.Set("additionalProperties", ref())
	case f.typed == either:
		m.Set("anyOf", []any{ref(), document.MapOf(pair("additionalProperties", ref()))})
	case f.each != nil && f.is&list != 0:
		m.Set("items", s.field(f.each))
	case f.each != nil:
		m.Set("additionalProperties", s.field(f.each))
	}
	if f.keys == nil {
		return
	}
	keys := document.MapOf()
	if f.keys.match != nil {
		keys.Set("pattern", f.keys.match.String())
	} else {
		mergeInto(keys, document.MapOf(pair("minLength", 1.0), pair("maxLength", float64(f.keys.limit))))
	}
	m.Set("propertyNames", keys)
}

// limits adds the limits of strings and numbers.
func limits(m *document.Map, f *field) {
	if f.enum != nil {
		all := document.StringList(f.enum)
		if !f.must {
			all = append(all, nil)
		}
		m.Set("enum", all)
	}
	if f.match != nil {
		m.Set("pattern", f.match.String())
	}
	if f.limit > 0 {
		m.Set("maxLength", float64(f.limit))
	}
	if f.most > 0 {
		m.Set("minimum", f.least)
		m.Set("maximum", f.most)
	}
	if f.whole {
		m.Set("multipleOf", 1.0)
	}
	if f.suggest != nil {
		m.Set("examples", document.StringList(f.suggest))
	}
}
