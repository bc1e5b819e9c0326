package collection

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/automation/expr"
	"svc/domain/automation/input"
	"svc/domain/value"
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
		return nil, Refuse(Validation, "properties must be an object of fields and their types, got %s", value.TypeName(o.At("properties")))
	}
	d := &Declaration{Open: !r.strict && o.At("open") == true}
	for _, name := range properties.Keys() {
		if isSystemField(name) {
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
		return nil, Refuse(Validation, "%s must be a list of lists of fields, got %s", what, value.TypeName(v))
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

// readFieldList reads the fields of an index. Its errors do not name the index: the caller
// knows it.
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
		if d.property(field) == nil && !isSystemField(field) && !d.Open {
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
	return p != nil && types[p.Type] || p == nil && isSystemField(field)
}

// All returns the indexes and the uniques. A unique is separate from an index over the
// same fields.
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
	return value.NewObject("properties", properties, "indexes", fieldListValues(d.Indexes), "uniques", fieldListValues(d.uniques()))
}

// stored returns the declaration as the log has it.
func (d *Declaration) stored() *value.Object {
	o := d.Object()
	o.Set("uniques", fieldListValues(d.Uniques))
	if len(d.Implied) > 0 {
		o.Set("implied", fieldListValues(d.Implied))
	}
	if d.Open {
		o.Set("open", true)
	}
	return o
}

func fieldListValues(all []FieldList) []any {
	made := make([]any, len(all))
	for i, x := range all {
		made[i] = value.From(x.Fields)
		if x.Name != "" {
			made[i] = value.NewObject("properties", made[i], "name", x.Name)
		}
	}
	return made
}

func prepareUpdateSchema(p *parameters) (*Call, error) {
	plainParams, ok := storedValue(p.Object, 0)
	o, _ := plainParams.(*value.Object)
	if !ok {
		return nil, Refuse(Validation, "the declaration is nested too deeply")
	}
	d, err := reading{strict: true}.readDeclaration(o)
	if err != nil {
		return nil, err
	}
	none, ok := o.At("uniques").([]any)
	forget := ok && len(none) == 0
	old := p.target
	for key, name := range map[string]*string{"oldCollection": &old.name, "oldSchema": &old.schema} {
		if !value.IsNothing(p.At(key)) {
			if *name, err = p.name(key); err != nil {
				return nil, err
			}
		}
	}
	t := p.target
	return &Call{write: func(w *writer) (any, error) { return w.declare(t, old, d, forget) }}, nil
}

// declare makes or alters a collection, which was called old before. Uniques that
// upserts made stay while their fields are declared, unless forget is set.
func (w *writer) declare(t, old target, d *Declaration, forget bool) (any, error) {
	if err := w.rename(t, old); err != nil {
		return nil, err
	}
	previous := w.info.Declaration
	if previous != nil && !forget {
		next := *d
		for _, x := range previous.Implied {
			if next.checkFields(x.Fields) == nil {
				next.Implied = append(next.Implied, x)
			}
		}
		if err := next.checkIndexes(); err != nil {
			return nil, err
		}
		d = &next
	}
	if previous == nil || !value.StrictEqual(previous.stored(), d.stored()) {
		if err := w.convert(previous, d); err != nil {
			return nil, err
		}
	}
	return w.info.summary(), nil
}

// ensureUnique makes a unique of the fields that rows are found by, unless they are one.
// It refuses when two rows have the same values.
func (w *writer) ensureUnique(fields []string) error {
	if len(fields) == 1 && fields[0] == fieldID {
		return nil
	}
	previous := w.info.Declaration
	if _, ok := previous.uniqueOf(fields); ok {
		return nil
	}
	next := Declaration{Open: true}
	if previous != nil {
		next = *previous
	}
	if len(fields) > maxFields {
		return Refuse(Validation, "onConflictFields has at most %d fields", maxFields)
	}
	if err := next.checkFields(fields); err != nil {
		return Refuse(Validation, "onConflictFields: %s", err)
	}
	for _, field := range fields {
		if err := checkField(field); err != nil {
			return err
		}
	}
	next.Implied = append(slices.Clip(next.Implied), FieldList{Fields: fields})
	if err := next.checkIndexes(); err != nil {
		return err
	}
	return w.convert(previous, &next)
}

// uniqueOf returns the unique over some fields, in whatever order.
func (d *Declaration) uniqueOf(fields []string) (Index, bool) {
	for _, x := range d.All() {
		if x.Unique && sameFields(x.Fields, fields) {
			return x, true
		}
	}
	return Index{}, false
}

// rename opens the collection under its new name. One that has that name already,
// and none of the old one, was renamed before.
func (w *writer) rename(t, old target) error {
	if err := w.openCollection(old, t == old); err != nil || t == old {
		return err
	}
	was := w.info
	if err := w.openCollection(t, was == nil); err != nil || was == nil {
		return err
	}
	if w.info != nil {
		return withDetail(Refuse(Validation, "there is a collection %s already", t.name), "collection", t.name)
	}
	w.info = w.change(was, Change{Kind: Renamed, Collection: was.Collection, Schema: t.schema, Name: t.name})
	return nil
}

// convert changes the declaration, and the rows where it asks for other values. It
// refuses when a row does not fit, or when two have the same unique.
func (w *writer) convert(previous, d *Declaration) error {
	owners := map[uniqueKey]string{}
	var altered []Change
	next := *w.info
	next.Declaration = d
	size := 0
	err := w.Rows(w.info.Collection, nil, nil, func(id string, stored Row) (bool, error) {
		if err := w.spend(rowSteps); err != nil {
			return false, err
		}
		row, err := stored.Object()
		if err != nil {
			return false, err
		}
		fitted, err := w.fitted(row, previous, d)
		if err != nil {
			return false, err
		}
		if err := checkUnique(&next, owners, id, fitted); err != nil {
			return false, err
		}
		if fitted == row {
			return true, nil
		}
		encoded := AppendValue(nil, fitted)
		size += len(encoded)
		altered = append(altered, Change{Kind: Put, Collection: w.info.Collection, RowID: id, Row: encoded})
		return true, tooMuchMemoryError(size)
	})
	if err != nil {
		return err
	}
	w.info = w.change(w.info, Change{Kind: Declared, Collection: w.info.Collection, Declaration: d})
	w.Changes = append(w.Changes, altered...)
	w.rowBytes += size
	w.Draft.newUniques = map[uint32]map[uniqueKey]string{w.info.Collection: owners} // the base has no keys of new uniques
	return nil
}

// fitted returns a row as a declaration has it; the row itself when it fits. Fields
// that are not declared any more stay where they are.
func (w *writer) fitted(row *value.Object, previous, d *Declaration) (*value.Object, error) {
	next := row
	for i := range d.Properties {
		p := &d.Properties[i]
		v := row.At(p.Name)
		ok := !value.IsUndefined(v)
		if before := previous.property(p.Name); before != nil && value.StrictEqual(before.Spec, p.Spec) {
			continue
		}
		if !ok && p.Required && !value.IsUndefined(p.Default) {
			next = withMember(next, p.Name, p.Default)
			continue
		}
		stored, fits := p.convert(v)
		fault := p.fault(stored)
		if !fits {
			fault = p.mistyped(v) + ", which cannot be converted"
		}
		if fault != "" {
			id, _ := row.At(fieldID).(string)
			return nil, withDetail(fieldError(w.info, p.Name, fmt.Sprintf("the row %s: %s", id, fault)), "id", id)
		}
		if !ok {
			continue
		}
		if !value.StrictEqual(stored, v) {
			next = withMember(next, p.Name, stored)
		}
	}
	return next, nil
}

// checkUnique refuses a row with a unique key of an earlier row.
func checkUnique(info *Info, owners map[uniqueKey]string, id string, row *value.Object) error {
	for _, x := range info.Declaration.All() {
		if !x.Unique {
			continue
		}
		for _, key := range info.Declaration.Keys(x, row) {
			at := uniqueKey{info.Collection, x.Name, string(key)}
			if _, exists := owners[at]; exists {
				return notUnique(info, x.Fields)
			}
			owners[at] = id
		}
	}
	return nil
}

func prepareDeleteCollections(p *parameters) (*Call, error) {
	all, err := p.flag("all")
	if err != nil {
		return nil, err
	}
	wanted, ok := p.At("collections").([]any)
	if !ok && (!all || !value.IsNothing(p.At("collections"))) {
		return nil, Refuse(Validation, "collections is a list of names, or all is true")
	}
	if ok && all {
		return nil, Refuse(Validation, "collections and all cannot both be given")
	}
	for _, name := range wanted {
		if _, ok := name.(string); !ok {
			return nil, Refuse(Validation, "collections is a list of names")
		}
	}
	schema := p.target.schema
	return &Call{write: func(w *writer) (any, error) {
		infos, err := sortedCollections(w.Draft, schema)
		if err != nil {
			return nil, err
		}
		deleted := []any{}
		for _, info := range infos {
			if all || slices.Contains(wanted, any(info.Name)) {
				w.change(info, Change{Kind: Dropped, Collection: info.Collection})
				deleted = append(deleted, info.Name)
			}
		}
		return value.NewObject("deleted", deleted), nil
	}}, nil
}

// maxInferredRows is the number of rows that types are inferred from.
const maxInferredRows = 1000

func prepareInfer(p *parameters) (*Call, error) {
	return p.readCall(func(r reader, info *Info) (any, error) {
		guess := &value.Object{}
		if info == nil {
			return guess, nil
		}
		kinds, seen, usedBytes := map[string]string{}, 0, 0
		err := r.Rows(info.Collection, nil, nil, func(_ string, stored Row) (bool, error) {
			if err := r.spend(rowSteps); err != nil {
				return false, err
			}
			row, err := stored.Object()
			if err != nil {
				return false, err
			}
			for _, field := range row.Keys() {
				if isSystemField(field) {
					continue
				}
				if _, ok := guess.Get(field); !ok {
					guess.Set(field, nil)
					usedBytes += 2 * roughSize(field)
				}
				if v := row.At(field); v != nil {
					kinds[field] = commonType(kinds[field], guessType(v))
				}
			}
			seen++
			return seen < maxInferredRows, tooMuchMemoryError(usedBytes)
		})
		for _, field := range guess.Keys() {
			kind := kinds[field]
			if kind == "" {
				kind = "json"
			}
			guess.Set(field, value.NewObject("type", kind))
		}
		return guess, err
	}), nil
}

// guessType returns the narrowest type that a value fits.
func guessType(v any) string {
	switch v := v.(type) {
	case bool:
		return "boolean"
	case []any:
		return "array"
	case float64:
		if _, ok := (&Property{Type: "integer"}).fit(v); ok {
			return "integer"
		}
		return "number"
	case string:
		if _, ok := dateOf(v); !ok {
			return "string"
		}
		if len(v) == len(time.DateOnly) {
			return "date"
		}
		return "datetime"
	}
	return "json"
}

// commonType returns a type for values of both.
func commonType(a, b string) string {
	both := func(x, y string) bool { return a == x && b == y || a == y && b == x }
	switch {
	case a == "" || a == b:
		return b
	case both("integer", "number"):
		return "number"
	case both("date", "datetime"):
		return "datetime"
	case both("date", "string"), both("datetime", "string"):
		return "string"
	}
	return "json"
}

// Property is one declared field, with what its values must be besides their type.
type Property struct {
	Name, Type string
	Spec       *value.Object // as it was declared

	Required bool          // the field is present and not null
	Enum     []any         // values that are allowed; nil: all
	Default  any           // of a new row without the field; value.Undefined for none
	bounds   [2]any        // minimum and maximum; nil for none
	lengths  [2]int        // minLength and maxLength; -1 for none
	pattern  *fieldPattern // nil for none
	format   *fieldFormat  // nil for none

	listed identities // of Enum
}

type fieldPattern struct {
	*regexp.Regexp
	text string
}

type fieldFormat struct {
	name, expected string
	is             func(string) bool
}

// maxEnum is how many values an enum has.
const maxEnum = 10_000

// types are the types of fields, and whether their values are neither arrays nor
// objects.
var types = map[string]bool{
	"string": true, "text": true, "date": true, "time": true, "datetime": true, "number": true, "double": true, "float": true,
	"integer": true, "decimal": true, "boolean": true, "uint8array": true, "blob": true, "enum": true,
	"array": false, "enumArray": false, "json": false,
}

const typeNames = "string, text, date, time, datetime, number, double, float, integer, decimal, boolean, uint8array, blob, array, enum, enumArray, json"

const keywordNames = "type, required, enum, minimum, maximum, minLength, maxLength, pattern, format, default"

// The types that a keyword is about. Another type with it is refused: it would be
// declared and do nothing.
var (
	ordered  = []string{"number", "double", "float", "integer", "decimal", "date", "datetime"}
	isText   = []string{"string", "text"}
	keywords = map[string]keyword{
		"type":        {read: func(*Property, any) string { return "" }},
		"required":    {read: readRequired},
		"enum":        {read: (*Property).readEnum},
		"values":      {about: []string{"enum", "enumArray"}, read: (*Property).readEnum},
		"minimum":     {about: ordered, read: func(p *Property, v any) string { return p.readBound(0, v) }},
		"maximum":     {about: ordered, read: func(p *Property, v any) string { return p.readBound(1, v) }},
		"minLength":   {about: isText, read: func(p *Property, v any) string { return p.readLength(0, v) }},
		"maxLength":   {about: isText, read: func(p *Property, v any) string { return p.readLength(1, v) }},
		"pattern":     {about: isText, read: (*Property).readPattern},
		"format":      {about: isText, read: (*Property).readFormat},
		"default":     {read: func(p *Property, v any) string { p.Default = v; return "" }},
		"title":       {read: func(*Property, any) string { return "" }}, // for people
		"description": {read: func(*Property, any) string { return "" }},
	}
)

// keyword is one that a property may have.
type keyword struct {
	about []string                                // types; nil: all
	read  func(p *Property, v any) (fault string) // "" for none
}

// readProperty reads a field: its type, or an object with it.
func (r reading) readProperty(name string, v any) (Property, error) {
	if err := checkField(name); err != nil {
		return Property{}, err
	}
	spec, ok := v.(*value.Object)
	if text, is := v.(string); is {
		spec, ok = value.NewObject("type", text), true
	}
	refuse := func(format string, args ...any) (Property, error) {
		return Property{}, withDetail(Refuse(Validation, "the property %s: %s", name, fmt.Sprintf(format, args...)), "field", name)
	}
	if !ok {
		return refuse("expected a type or an object with a type, got %s", value.TypeName(v))
	}
	p := Property{Name: name, Spec: spec, Default: value.Undefined, lengths: [2]int{-1, -1}}
	p.Type, _ = spec.At("type").(string)
	if _, known := types[p.Type]; !known {
		return refuse("type must be one of: %s", typeNames)
	}
	for _, key := range spec.Keys() {
		k, known := keywords[key]
		fault := ""
		switch {
		case !known:
			fault = fmt.Sprintf("unknown keyword %s; the keywords are: %s", key, keywordNames)
		case k.about != nil && !slices.Contains(k.about, p.Type):
			fault = fmt.Sprintf("the keyword %s does not apply to the type %s", key, p.Type)
		default:
			if fault = k.read(&p, spec.At(key)); fault != "" {
				fault = key + " " + fault
			}
		}
		if fault != "" && r.strict {
			return refuse("%s", fault)
		}
	}
	if len(p.Enum) == 0 && (p.Type == "enum" || p.Type == "enumArray") {
		return refuse("the type %s needs the list of its values: enum", p.Type)
	}
	if value.IsUndefined(p.Default) {
		return p, nil
	}
	stored, fault := p.accept(p.Default)
	if fault != "" && r.strict {
		return refuse("default %s", fault)
	}
	if p.Default = stored; fault != "" {
		p.Default = value.Undefined
	}
	return p, nil
}

func readRequired(p *Property, v any) string {
	var ok bool
	if p.Required, ok = v.(bool); !ok {
		return "must be true or false"
	}
	return ""
}

// readEnum reads the values that are allowed. Those of another type could never be met.
func (p *Property) readEnum(v any) string {
	items, ok := v.([]any)
	if !ok || len(items) == 0 || len(items) > maxEnum {
		return fmt.Sprintf("must be a list of 1 to %d values", maxEnum)
	}
	if p.Type == "enum" || p.Type == "enumArray" {
		p.Enum, p.listed = items, identitiesOf(items)
		return ""
	}
	fitted := make([]any, len(items))
	for i, item := range items {
		if fitted[i], ok = p.fit(item); !ok {
			return fmt.Sprintf("has the value %s, which is not a valid %s", cutText(value.JSON(item, "")), p.Type)
		}
	}
	p.Enum, p.listed = fitted, identitiesOf(fitted)
	return ""
}

func (p *Property) readBound(i int, v any) string {
	stored, ok := p.fit(v)
	if !ok || value.IsNothing(v) {
		return "must be a value of the type " + p.Type
	}
	p.bounds[i] = stored
	return ""
}

func (p *Property) readLength(i int, v any) string {
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		return "must be a whole number from 0 on"
	}
	p.lengths[i] = int(n)
	return ""
}

// maxFieldPattern bounds a pattern: it is compiled whenever the declaration is read.
const maxFieldPattern = 1000

func (p *Property) readPattern(v any) string {
	text, ok := v.(string)
	if !ok || len(text) > maxFieldPattern {
		return fmt.Sprintf("must be a regular expression (RE2) of at most %d bytes", maxFieldPattern)
	}
	if why := expr.CheckPattern(text); why != "" {
		return "is not understood: " + why
	}
	p.pattern = &fieldPattern{regexp.MustCompile(text), text}
	return ""
}

func (p *Property) readFormat(v any) string {
	name, _ := v.(string)
	expected, is, ok := input.Format(name)
	if !ok {
		return "must be one of: " + strings.Join(input.Formats(), ", ")
	}
	p.format = &fieldFormat{name, expected, is}
	return ""
}

// accept returns a value as the field stores it, or what is wrong with it, such as
// "expected integer, got string".
func (p *Property) accept(v any) (stored any, fault string) {
	stored, ok := p.fit(v)
	if !ok {
		return nil, p.mistyped(v)
	}
	return stored, p.fault(stored)
}

// mistyped says why a value does not fit the type.
func (p *Property) mistyped(v any) string {
	switch {
	case p.Type == "enum":
		return p.notListed()
	case p.Type == "enumArray" && value.TypeName(v) == "array":
		return "has an item that is not allowed; the items are: " + listValues(p.Enum)
	case value.TypeName(v) == p.Type, value.TypeName(v) == "string":
		return fmt.Sprintf("expected %s, got %s", p.Type, cutText(value.JSON(v, "")))
	}
	return fmt.Sprintf("expected %s, got %s", p.Type, value.TypeName(v))
}

// fault says what a value of the right type breaks, "" for nothing.
func (p *Property) fault(v any) string {
	if value.IsNothing(v) {
		if p.Required {
			return "is required"
		}
		return ""
	}
	if p.Enum != nil && p.Type != "enumArray" && !p.lists(v) {
		return p.notListed()
	}
	for i, word := range []string{"at least", "at most"} {
		if b := p.bounds[i]; b != nil && compareStored(p.Type, v, b)*(1-2*i) < 0 {
			return fmt.Sprintf("must be %s %s", word, value.Text(b))
		}
	}
	text, ok := v.(string)
	if !ok {
		return ""
	}
	length := utf8.RuneCountInString(text)
	switch {
	case p.lengths[0] >= 0 && length < p.lengths[0]:
		return fmt.Sprintf("must have at least %d characters", p.lengths[0])
	case p.lengths[1] >= 0 && length > p.lengths[1]:
		return fmt.Sprintf("must have at most %d characters", p.lengths[1])
	case p.pattern != nil && !p.pattern.MatchString(text):
		return "must match the pattern " + cutText(p.pattern.text)
	case p.format != nil && !p.format.is(text):
		return fmt.Sprintf("must be %s (format %s)", p.format.expected, p.format.name)
	}
	return ""
}

func (p *Property) notListed() string { return "must be one of: " + listValues(p.Enum) }

// listValues names the first of some values.
func listValues(values []any) string {
	const most = 20
	var named []string
	for i, v := range values {
		if i == most {
			named = append(named, "…")
			break
		}
		named = append(named, cutText(value.Text(v)))
	}
	return strings.Join(named, ", ")
}

func cutText(text string) string { return domain.Shorten(text, 60) }

// compareStored compares two stored values of a field of an ordered type.
func compareStored(kind string, a, b any) int {
	if kind != "decimal" {
		return Compare(a, b)
	}
	x, okX := decimalValue(a)
	y, okY := decimalValue(b)
	if okX && okY {
		return x.Cmp(y)
	}
	m, _ := value.ParseNumber(value.Text(a))
	n, _ := value.ParseNumber(value.Text(b))
	return Compare(m, n)
}

// decimalValue reads the text of a decimal exactly, unless its exponent would make that
// large.
func decimalValue(v any) (exact *big.Rat, ok bool) {
	text := strings.TrimSpace(value.Text(v))
	if len(text) > 2*maxName || strings.ContainsAny(text, "eE/_xXpP") {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// convert is fit for a row that was stored under another type: its text says the same as
// a number or a boolean, and the other way round. It is false also when something of
// the value would be lost, which a write accepts.
func (p *Property) convert(v any) (any, bool) {
	if stored, ok := p.fit(v); ok {
		return stored, p.isLossless(v, stored)
	}
	switch v := v.(type) {
	case float64, bool:
		return value.Text(v), p.Type == "string" || p.Type == "text"
	case string:
		return v == "true", p.Type == "boolean" && (v == "true" || v == "false")
	}
	return nil, false
}

// subMillisecond finds digits below the millisecond in the text of a date: dates have milliseconds.
var subMillisecond = regexp.MustCompile(`[.,][0-9]{3}[0-9]*[1-9]`)

// isLossless reports whether the stored value has everything of a text.
func (p *Property) isLossless(v, stored any) bool {
	text, ok := v.(string)
	if !ok {
		return true
	}
	if n, ok := stored.(float64); ok {
		return sameNumber(text, strconv.FormatFloat(n, 'e', -1, 64))
	}
	return p.Type != "date" && p.Type != "datetime" || !subMillisecond.MatchString(text)
}

// sameNumber reports whether two texts write the same number but for its sign.
func sameNumber(a, b string) bool {
	digits, power, ok := decimalOf(a)
	others, other, fine := decimalOf(b)
	return ok && fine && digits == others && power == other
}

// decimalOf returns the digits of a number without the zeros around them, and the power
// of ten of the last one. It is false for a power that is beyond counting.
func decimalOf(text string) (digits string, power int, ok bool) {
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(strings.TrimLeft(strings.TrimSpace(text), "+-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	digits = strings.TrimRight(all, "0")
	if digits == "" {
		return "", 0, true
	}
	if scaled {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil {
			return "", 0, false
		}
	}
	return digits, power - len(fraction) + len(all) - len(digits), true
}
