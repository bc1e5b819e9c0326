package collection

import (
	"fmt"
	"slices"
	"strings"

	"svc/domain/automation/value"
)

// Declaration says what the rows of a collection are.
type Declaration struct {
	Properties []Property
	Indexes    []FieldList
	Uniques    []FieldList
	// Implied are the uniques that upserts made: over fields that rows are found by. A
	// later declaration leaves them, unless it says that there are no uniques.
	Implied []FieldList
	// Open says that fields which are not declared are stored, too: nothing was declared
	// but what upserts made.
	Open bool
}

// FieldList is the fields of an index or a unique, and the name that its author gave it.
type FieldList struct {
	Fields []string
	Name   string // "" for none
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
)

// reading says how a declaration is read: strictly when an author makes it. One that is
// stored may be older than the rules of today: what they do not know of it is ignored.
type reading struct{ strict bool }

// readDeclaration reads {properties, indexes, uniques}.
func (r reading) readDeclaration(o *value.Object) (*Declaration, error) {
	properties, ok := o.At("properties").(*value.Object)
	if !ok {
		return nil, Refuse(Validation, "properties must be an object of fields and their types, got %s", value.Kind(o.At("properties")))
	}
	d := &Declaration{Open: !r.strict && o.At("open") == true}
	for _, name := range properties.Keys() {
		if isKept(name) {
			continue // every row has them
		}
		p, err := r.readProperty(name, properties.At(name))
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
	if !r.strict {
		if d.Implied, err = d.readIndexes("implied", o.At("implied")); err != nil {
			return nil, err
		}
	}
	return d, d.checkIndexes()
}

func (d *Declaration) checkIndexes() error {
	if len(d.Indexes)+len(d.Uniques)+len(d.Implied) > maxIndexes {
		return Refuse(Validation, "a collection has at most %d indexes and uniques", maxIndexes)
	}
	return nil
}

// readIndexes reads a list of indexes. Each is a list of fields, {properties: [fields],
// name?}, or one field.
func (d *Declaration) readIndexes(what string, v any) ([]FieldList, error) {
	if value.IsNothing(v) {
		return nil, nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, Refuse(Validation, "%s must be a list of lists of fields, got %s", what, value.Kind(v))
	}
	var all []FieldList
	for i, item := range items {
		index, err := readFieldList(item)
		if err == nil {
			err = d.checkFields(index.Fields)
		}
		if err != nil {
			return nil, Refuse(Validation, "%s[%d]: %s", what, i, err)
		}
		if !slices.ContainsFunc(all, func(have FieldList) bool { return slices.Equal(have.Fields, index.Fields) }) {
			all = append(all, index)
		}
		if len(all) > maxIndexes {
			break // which is refused
		}
	}
	return all, nil
}

// readFieldList reads the fields of an index. Its errors are texts: whoever asks knows
// which index it is.
func readFieldList(v any) (FieldList, error) {
	var index FieldList
	if o, ok := v.(*value.Object); ok {
		for _, key := range o.Keys() {
			if key != "properties" && key != "name" {
				return index, fmt.Errorf("unknown keyword %s, an index is {properties, name}", key)
			}
		}
		name, isText := o.At("name").(string)
		if !isText && !value.IsNothing(o.At("name")) || len(name) > maxName {
			return index, fmt.Errorf("name must be a string of at most %d bytes", maxName)
		}
		index.Name, v = name, o.At("properties")
	}
	var ok bool
	if index.Fields, ok = fieldList(v); !ok || len(index.Fields) == 0 || len(index.Fields) > maxFields {
		return index, fmt.Errorf("an index is a list of 1 to %d fields, or {properties: [fields]}", maxFields)
	}
	return index, nil
}

// checkFields refuses an index over a field that rows do not have.
func (d *Declaration) checkFields(fields []string) error {
	for i, field := range fields {
		if slices.Contains(fields[:i], field) {
			return fmt.Errorf("the field %s is named twice", field)
		}
		if d.property(field) == nil && !isKept(field) && !d.Open {
			return fmt.Errorf("the field %s is not declared in properties", field)
		}
	}
	return nil
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
	for _, x := range d.Indexes {
		all = append(all, Index{Name: strings.Join(x.Fields, "\x1f"), Fields: x.Fields})
	}
	for _, x := range d.uniques() {
		all = append(all, Index{Name: strings.Join(x.Fields, "\x1f"), Fields: x.Fields, Unique: true})
	}
	return all
}

// uniques returns the declared uniques, and those that upserts made besides.
func (d *Declaration) uniques() []FieldList {
	all := slices.Clip(d.Uniques)
	for _, x := range d.Implied {
		if !slices.ContainsFunc(all, func(have FieldList) bool { return sameFields(have.Fields, x.Fields) }) {
			all = append(all, x)
		}
	}
	return all
}

// Object returns the declaration as automations see it.
func (d *Declaration) Object() *value.Object {
	properties := &value.Object{}
	for _, p := range d.Properties {
		properties.Set(p.Name, p.Spec)
	}
	return value.NewObject("properties", properties, "indexes", lists(d.Indexes), "uniques", lists(d.uniques()))
}

// stored returns the declaration as the log has it.
func (d *Declaration) stored() *value.Object {
	o := d.Object()
	o.Set("uniques", lists(d.Uniques))
	if len(d.Implied) > 0 {
		o.Set("implied", lists(d.Implied))
	}
	if d.Open {
		o.Set("open", true)
	}
	return o
}

func lists(all []FieldList) []any {
	made := make([]any, len(all))
	for i, x := range all {
		made[i] = value.From(x.Fields)
		if x.Name != "" {
			made[i] = value.NewObject("properties", made[i], "name", x.Name)
		}
	}
	return made
}
