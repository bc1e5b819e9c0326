package collection

import (
	"slices"
	"strings"

	"svc/domain/automation/value"
)

// Declaration says what the rows of a collection are.
type Declaration struct {
	Properties []Property
	Indexes    [][]string // lists of fields
	Uniques    [][]string
}

// Property is one declared field.
type Property struct {
	Name, Type string
	Enum       []any         // of enum and enumArray
	Spec       *value.Object // as it was declared

	listed identities // of Enum
}

// Index is an index or a unique, with the fields it is made of.
type Index struct {
	Name   string
	Fields []string
	Unique bool
}

const (
	maxProperties = 500
	maxIndexes    = 32 // indexes and uniques together
	maxFields     = 8  // of one index
	maxEnum       = 10_000
)

// types are the types of fields, and whether their values are neither arrays nor
// objects.
var types = map[string]bool{
	"string": true, "text": true, "date": true, "time": true, "datetime": true, "number": true, "double": true, "float": true,
	"integer": true, "decimal": true, "boolean": true, "uint8array": true, "blob": true, "enum": true,
	"array": false, "enumArray": false, "json": false,
}

// readDeclaration reads {properties, indexes, uniques}.
func readDeclaration(o *value.Object) (*Declaration, error) {
	properties, ok := o.At("properties").(*value.Object)
	if !ok {
		return nil, Refuse(Validation, "properties is an object of fields and their types")
	}
	d := &Declaration{}
	for _, name := range properties.Keys() {
		if isKept(name) {
			continue // every row has them
		}
		p, err := readProperty(name, properties.At(name))
		if err != nil {
			return nil, err
		}
		d.Properties = append(d.Properties, p)
	}
	if len(d.Properties) > maxProperties {
		return nil, Refuse(Validation, "a collection has at most %d properties", maxProperties)
	}
	var err error
	if d.Indexes, err = d.readIndexes("indexes", o.At("indexes")); err != nil {
		return nil, err
	}
	if d.Uniques, err = d.readIndexes("uniques", o.At("uniques")); err != nil {
		return nil, err
	}
	if len(d.Indexes)+len(d.Uniques) > maxIndexes {
		return nil, Refuse(Validation, "a collection has at most %d indexes and uniques", maxIndexes)
	}
	return d, nil
}

// readProperty reads a field: its type, or an object with it.
func readProperty(name string, v any) (Property, error) {
	if err := checkField(name); err != nil {
		return Property{}, err
	}
	spec, ok := v.(*value.Object)
	if text, is := v.(string); is {
		spec, ok = value.NewObject("type", text), true
	}
	if !ok {
		return Property{}, Refuse(Validation, "the property %s is neither a type nor an object with one", name)
	}
	p := Property{Name: name, Spec: spec}
	p.Type, _ = spec.At("type").(string)
	if _, known := types[p.Type]; !known {
		return p, with(Refuse(Validation, "the property %s has no known type", name), "field", name)
	}
	if p.Type != "enum" && p.Type != "enumArray" {
		return p, nil
	}
	for _, key := range []string{"enum", "values"} {
		if p.Enum, ok = spec.At(key).([]any); ok && len(p.Enum) > 0 {
			p.listed = identitiesOf(p.Enum)
			return p, nil
		}
	}
	return p, with(Refuse(Validation, "the property %s needs the list of its values: enum", name), "field", name)
}

// readIndexes reads a list of lists of fields. A field alone stands for a list of
// one.
func (d *Declaration) readIndexes(what string, v any) ([][]string, error) {
	if value.IsNothing(v) {
		return nil, nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, Refuse(Validation, "%s is a list of lists of fields", what)
	}
	var all [][]string
	for _, item := range items {
		fields, ok := fieldList(item)
		if !ok || len(fields) == 0 || len(fields) > maxFields {
			return nil, Refuse(Validation, "%s is a list of lists of 1 to %d fields", what, maxFields)
		}
		for i, field := range fields {
			if d.property(field) == nil && !isKept(field) || slices.Contains(fields[:i], field) {
				return nil, with(Refuse(Validation, "%s names the field %s, which is not declared, or twice", what, field), "field", field)
			}
		}
		if !slices.ContainsFunc(all, func(have []string) bool { return slices.Equal(have, fields) }) {
			all = append(all, fields)
		}
		if len(all) > maxIndexes {
			break // which is refused
		}
	}
	return all, nil
}

// fieldList reads a field, or a list of them.
func fieldList(v any) ([]string, bool) {
	if name, ok := v.(string); ok {
		return []string{unalias(name)}, name != ""
	}
	items, ok := v.([]any)
	if !ok {
		return nil, false
	}
	fields := make([]string, len(items))
	for i, item := range items {
		name, ok := item.(string)
		if !ok || name == "" {
			return nil, false
		}
		fields[i] = unalias(name)
	}
	return fields, true
}

// property returns a declared field, or nil.
func (d *Declaration) property(name string) *Property {
	if d == nil {
		return nil
	}
	for i := range d.Properties {
		if d.Properties[i].Name == name {
			return &d.Properties[i]
		}
	}
	return nil
}

// scalar reports whether no row has an array or an object at a field.
func (d *Declaration) scalar(field string) bool {
	p := d.property(field)
	return p != nil && types[p.Type] || p == nil && isKept(field)
}

// All returns the indexes and the uniques. A unique over fields that also have an
// index stands apart from that.
func (d *Declaration) All() []Index {
	if d == nil {
		return nil
	}
	var all []Index
	for _, fields := range d.Indexes {
		all = append(all, Index{Name: strings.Join(fields, "\x1f"), Fields: fields})
	}
	for _, fields := range d.Uniques {
		all = append(all, Index{Name: strings.Join(fields, "\x1f"), Fields: fields, Unique: true})
	}
	return all
}

// Object returns the declaration as automations see it.
func (d *Declaration) Object() *value.Object {
	properties := &value.Object{}
	for _, p := range d.Properties {
		properties.Set(p.Name, p.Spec)
	}
	return value.NewObject("properties", properties, "indexes", lists(d.Indexes), "uniques", lists(d.Uniques))
}

func lists(all [][]string) []any {
	made := make([]any, len(all))
	for i, fields := range all {
		made[i] = value.From(fields)
	}
	return made
}
