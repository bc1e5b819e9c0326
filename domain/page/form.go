package page

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain/automation/expr"
	"svc/domain/value"
)

// Field is one field of a form.
type Field struct {
	Name        string // path from the root of the form, such as address.city
	Type        string // string, number, integer, boolean, object, array, localized
	Label       any    // a text
	Description any    // a text
	Placeholder any    // a text
	Widget      string // textarea, date, color, password, upload, radio, autocomplete, block; "" for the usual one
	Options     []Option
	Default     any
	Required    bool
	Min, Max    *float64
	MinLength   int
	MaxLength   int // 0: any
	Pattern     string
	Format      string // email, tel, date; "" for any
	Disabled    bool
	Multiple    bool   // of an upload
	Accept      string // of an upload
	Block       *Block // of the widget block
	Fields      []*Field
	Items       *Field // of an array
	messages    *value.Object
}

// Option is a value to choose.
type Option struct {
	Value any
	Label any // a text
}

// Fault is what is wrong with the value of a field.
type Fault struct {
	Field   string
	Rule    string // required, type, min, max, minLength, maxLength, pattern, email, tel, date, enum, size
	Message string // of the author; "" for the usual one of the rule
	Limit   string // of the rule, for its message
}

// Limits of a form.
const (
	maxFields     = 500
	maxFieldDepth = 10
	maxItems      = 1000 // of an array
)

// FormFields returns the fields of the schema of a form. Unknown types are strings.
func FormFields(schema any) *Field {
	o, _ := schema.(*value.Object)
	count := 0
	if o.Len() > 0 && !isFieldSchema(o) { // fields by name
		o = value.NewObject("type", "object", "properties", o)
	}
	return newField("", o, false, 0, &count)
}

// isFieldSchema reports whether an object describes a field, and is not a map of fields.
func isFieldSchema(o *value.Object) bool {
	_, named := o.At("type").(string)
	_, has := o.At("properties").(*value.Object)
	return named || has
}

func newField(name string, o *value.Object, required bool, depth int, count *int) *Field {
	*count++
	f := &Field{Name: name, Required: required}
	f.Type, _ = o.At("type").(string)
	if inner, ok := strings.CutPrefix(f.Type, "localized:"); ok && inner != "" {
		f.Type = "localized"
	}
	if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "localized"}, f.Type) {
		f.Type = "string"
		if _, ok := o.At("properties").(*value.Object); ok || name == "" {
			f.Type = "object"
		}
	}
	f.Label, f.Description, f.Placeholder = firstOf(o, "title", "label"), o.At("description"), o.At("placeholder")
	f.Widget, _ = firstOf(o, "ui:widget", "widget").(string)
	f.Default = o.At("default")
	f.Format, _ = o.At("format").(string)
	f.Disabled = value.IsTruthy(firstOf(o, "disabled", "ui:disabled"))
	f.readOptions(o)
	f.readRules(o)
	if validators, ok := o.At("validators").(*value.Object); ok {
		f.readRules(validators)
		f.messages = validators
	}
	if options, ok := firstOf(o, "ui:options", "options").(*value.Object); ok {
		f.Block, _ = options.At("block").(*Block)
		f.Accept, _ = options.At("accept").(string)
		f.Multiple = value.IsTruthy(options.At("multiple"))
	}
	if b, ok := o.At("block").(*Block); ok {
		f.Block = b
	}
	if depth == maxFieldDepth {
		return f
	}
	if items, ok := o.At("items").(*value.Object); ok && f.Type == "array" {
		f.Items = newField(name+"[]", items, false, depth+1, count)
	}
	if f.Type == "array" && f.Items == nil {
		f.Items = &Field{Name: name + "[]", Type: "string"}
	}
	required0, _ := o.At("required").([]any)
	properties, _ := o.At("properties").(*value.Object)
	for key, v := range properties.All() {
		child, ok := v.(*value.Object)
		if !ok || *count >= maxFields {
			continue
		}
		path := key
		if name != "" {
			path = name + "." + key
		}
		f.Fields = append(f.Fields, newField(path, child, slices.Contains(required0, any(key)), depth+1, count))
	}
	return f
}

func firstOf(o *value.Object, keys ...string) any {
	for _, key := range keys {
		if v, ok := o.Get(key); ok {
			return v
		}
	}
	return value.Undefined
}

// readOptions reads the values to choose, with their names.
func (f *Field) readOptions(o *value.Object) {
	list, _ := o.At("enum").([]any)
	names, _ := firstOf(o, "enumNames", "ui:enumNames").([]any)
	for i, v := range list {
		option := Option{Value: v, Label: value.Text(v)}
		if choice, ok := v.(*value.Object); ok {
			option.Value = choice.At("value")
			option.Label = firstOf(choice, "label", "text", "value")
		}
		if i < len(names) {
			option.Label = names[i]
		}
		f.Options = append(f.Options, option)
	}
}

// readRules reads the rules of a field. A rule is its value, or {value, message}.
func (f *Field) readRules(o *value.Object) {
	rule := func(keys ...string) any {
		v := firstOf(o, keys...)
		if with, ok := v.(*value.Object); ok {
			if inner, ok := with.Get("value"); ok {
				return inner
			}
			return true
		}
		return v
	}
	number := func(keys ...string) *float64 {
		if n, ok := rule(keys...).(float64); ok {
			return &n
		}
		return nil
	}
	if rule("required") == true {
		f.Required = true
	}
	if n := number("min", "minimum"); n != nil {
		f.Min = n
	}
	if n := number("max", "maximum"); n != nil {
		f.Max = n
	}
	if n := number("minLength"); n != nil {
		f.MinLength = int(*n)
	}
	if n := number("maxLength"); n != nil {
		f.MaxLength = int(*n)
	}
	if p, ok := rule("pattern").(string); ok {
		f.Pattern = p
	}
	for _, format := range []string{"email", "tel", "date"} {
		if v := rule(format); !value.IsUndefined(v) && value.IsTruthy(v) {
			f.Format = format
		}
	}
}

// IsUpload reports whether files are chosen in the field.
func (f *Field) IsUpload() bool { return f.Widget == "upload" }

// IsSecret reports whether the value is never shown again.
func (f *Field) IsSecret() bool { return f.Widget == "password" }

// Find returns the field with a name, whose items are written as [] or [n]; nil when there is none.
func (f *Field) Find(name string) *Field {
	plain := indexInName.ReplaceAllString(name, "[]")
	if f.Name == plain {
		return f
	}
	for _, child := range f.Fields {
		if found := child.Find(plain); found != nil {
			return found
		}
	}
	if f.Items != nil {
		return f.Items.Find(plain)
	}
	return nil
}

var indexInName = regexp.MustCompile(`\[\d*\]`)

// Decode returns what was entered as a value with the types of the fields, and what is wrong with it. Values that no
// field declares are dropped.
func (f *Field) Decode(entered any) (*value.Object, []Fault) {
	d := decoding{}
	decoded, _ := d.decode(f, "", entered).(*value.Object)
	if decoded == nil {
		decoded = value.NewObject()
	}
	return decoded, d.faults
}

type decoding struct{ faults []Fault }

func (d *decoding) fault(f *Field, name, rule, limit string) {
	message := ""
	if with, ok := f.messages.At(rule).(*value.Object); ok {
		message, _ = with.At("message").(string)
	}
	d.faults = append(d.faults, Fault{Field: name, Rule: rule, Message: message, Limit: limit})
}

// decode returns the value of a field, Undefined when nothing was entered.
func (d *decoding) decode(f *Field, name string, v any) any {
	if f.Disabled {
		return value.Undefined
	}
	switch f.Type {
	case "object":
		given, _ := v.(*value.Object)
		o := value.NewObject()
		for _, child := range f.Fields {
			key := child.Name[strings.LastIndexByte(child.Name, '.')+1:]
			path := key
			if name != "" {
				path = name + "." + key
			}
			if decoded := d.decode(child, path, given.At(key)); !value.IsUndefined(decoded) {
				o.Set(key, decoded)
			}
		}
		if o.Len() == 0 && name != "" {
			return value.Undefined
		}
		return o
	case "array":
		return d.decodeArray(f, name, v)
	case "localized":
		return d.decodeLocalized(f, name, v)
	}
	return d.decodeScalar(f, name, v)
}

func (d *decoding) decodeArray(f *Field, name string, v any) any {
	given, ok := v.([]any)
	if !ok && !value.IsNothing(v) && v != "" {
		given = []any{v}
	}
	list := []any{}
	for i, item := range given {
		if i == maxItems {
			d.fault(f, name, "maxLength", strconv.Itoa(maxItems))
			break
		}
		if decoded := d.decode(f.Items, name+"["+strconv.Itoa(i)+"]", item); !value.IsUndefined(decoded) {
			list = append(list, decoded)
		}
	}
	if f.Required && len(list) == 0 {
		d.fault(f, name, "required", "")
	}
	if len(list) == 0 && len(given) == 0 {
		return value.Undefined
	}
	return list
}

func (d *decoding) decodeLocalized(f *Field, name string, v any) any {
	given, ok := v.(*value.Object)
	if text, isText := v.(string); isText && text != "" {
		given, ok = value.NewObject(defaultLanguage, text), true
	}
	o := value.NewObject()
	for tag, text := range given.All() {
		s, isText := text.(string)
		if ok && IsLanguageTag(tag) && isText && s != "" {
			d.checkText(f, name+"."+tag, s)
			o.Set(tag, s)
		}
	}
	if o.Len() == 0 {
		if f.Required {
			d.fault(f, name, "required", "")
		}
		return value.Undefined
	}
	return o
}

func (d *decoding) decodeScalar(f *Field, name string, v any) any {
	if f.IsUpload() {
		files := StoredFiles(v)
		switch {
		case len(files) == 0:
			if f.Required {
				d.fault(f, name, "required", "")
			}
			return value.Undefined
		case len(files) == 1 || !f.Multiple:
			return files[0]
		}
		return files
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[len(list)-1] // a form has sent the field twice, as with a check box
	}
	if f.Type == "boolean" {
		on := v == true || v == "true" || v == "on" || v == "1"
		if f.Required && !on {
			d.fault(f, name, "required", "")
		}
		if value.IsNothing(v) {
			return value.Undefined
		}
		return on
	}
	if value.IsNothing(v) || v == "" {
		if f.Required {
			d.fault(f, name, "required", "")
		}
		return value.Undefined
	}
	var decoded any
	switch f.Type {
	case "number", "integer":
		n, ok := v.(float64)
		if text, isText := v.(string); isText {
			n, ok = value.ParseNumber(text)
		}
		if !ok || math.IsNaN(n) || math.IsInf(n, 0) || f.Type == "integer" && n != math.Trunc(n) {
			d.fault(f, name, "type", f.Type)
			return value.Undefined
		}
		if f.Min != nil && n < *f.Min {
			d.fault(f, name, "min", value.Text(*f.Min))
		}
		if f.Max != nil && n > *f.Max {
			d.fault(f, name, "max", value.Text(*f.Max))
		}
		decoded = n
	default:
		text, ok := v.(string)
		if !ok {
			switch v.(type) {
			case float64, bool:
				text = value.Text(v)
			default:
				d.fault(f, name, "type", f.Type)
				return value.Undefined
			}
		}
		d.checkText(f, name, text)
		decoded = text
	}
	if len(f.Options) > 0 && f.Widget != "autocomplete" {
		i := slices.IndexFunc(f.Options, func(o Option) bool { return value.Text(o.Value) == value.Text(decoded) })
		if i < 0 {
			d.fault(f, name, "enum", "")
			return value.Undefined
		}
		return f.Options[i].Value
	}
	return decoded
}

// mailAddress is what browsers accept in a field for e-mail addresses, with a dot in the host.
var mailAddress = regexp.MustCompile("^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+$")

var telephone = regexp.MustCompile(`^\+?[0-9][0-9 ().\-/]{3,30}$`)

// checkText checks the rules of a text.
func (d *decoding) checkText(f *Field, name, text string) {
	length := utf8.RuneCountInString(text)
	if length < f.MinLength {
		d.fault(f, name, "minLength", strconv.Itoa(f.MinLength))
	}
	if f.MaxLength > 0 && length > f.MaxLength {
		d.fault(f, name, "maxLength", strconv.Itoa(f.MaxLength))
	}
	if f.Pattern != "" && expr.CheckPattern(f.Pattern) == "" {
		if re, err := regexp.Compile("^(?:" + f.Pattern + ")$"); err == nil && !re.MatchString(text) {
			d.fault(f, name, "pattern", "")
		}
	}
	switch {
	case f.Format == "email":
		if !mailAddress.MatchString(text) {
			d.fault(f, name, "email", "")
		}
	case f.Format == "tel":
		if !telephone.MatchString(text) {
			d.fault(f, name, "tel", "")
		}
	case f.Format == "date" || f.Widget == "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			if _, err := time.Parse(time.RFC3339, text); err != nil {
				d.fault(f, name, "date", "")
			}
		}
	}
}

// maxNameDepth limits the depth of the names of a form.
const maxNameDepth = maxFieldDepth * 2

// Nest returns the values of a form, whose names are paths such as address.city, tags[] and rows[0].name, as an object.
func Nest(values []NamedValue) *value.Object {
	root := &formNode{}
	for _, v := range values {
		if steps := splitName(v.Name); steps != nil {
			root.add(steps, v.Value)
		}
	}
	o, _ := root.value().(*value.Object)
	if o == nil {
		o = value.NewObject()
	}
	return o
}

// NamedValue is one value of a form.
type NamedValue struct {
	Name  string
	Value any
}

// StoredFile is a file that came with a form and was stored. No other value that a visitor sends can be one.
type StoredFile struct{ *value.Object }

// StoredFiles returns the files in what was entered in a field.
func StoredFiles(entered any) []any {
	files := []any{}
	list, ok := entered.([]any)
	if !ok {
		list = []any{entered}
	}
	for _, one := range list {
		if file, ok := one.(StoredFile); ok {
			files = append(files, file.Object)
		}
	}
	return files
}

// splitName splits a.b[0].c[] into its steps; nil when the name is too deep or empty.
func splitName(name string) []string {
	if name == "" || len(name) > 500 {
		return nil
	}
	var steps []string
	for part := range strings.SplitSeq(name, ".") {
		key, rest, _ := strings.Cut(part, "[")
		steps = append(steps, key)
		for rest != "" {
			index, more, closed := strings.Cut(rest, "]")
			if !closed {
				return nil
			}
			steps = append(steps, "["+index)
			rest = strings.TrimPrefix(more, "[")
		}
	}
	if len(steps) > maxNameDepth {
		return nil
	}
	return steps
}

// formNode is a value of a form that is being nested.
type formNode struct {
	keys     []string
	children map[string]*formNode
	values   []any
	isList   bool
}

func (n *formNode) add(steps []string, v any) {
	if len(steps) == 0 {
		if len(n.values) < maxItems {
			n.values = append(n.values, v)
		}
		return
	}
	step := steps[0]
	if strings.HasPrefix(step, "[") {
		n.isList = true
		if step == "[" {
			n.add(steps[1:], v)
			return
		}
	}
	child := n.children[step]
	if child == nil {
		if len(n.keys) >= maxItems {
			return
		}
		if n.children == nil {
			n.children = map[string]*formNode{}
		}
		child = &formNode{}
		n.children[step] = child
		n.keys = append(n.keys, step)
	}
	child.add(steps[1:], v)
}

func (n *formNode) value() any {
	switch {
	case n.isList && len(n.keys) > 0:
		slices.SortStableFunc(n.keys, func(a, b string) int {
			i, _ := strconv.Atoi(a[1:])
			j, _ := strconv.Atoi(b[1:])
			return i - j
		})
		var list []any
		for _, key := range n.keys {
			list = append(list, n.children[key].value())
		}
		return list
	case len(n.keys) > 0:
		o := value.NewObjectSize(len(n.keys))
		for _, key := range n.keys {
			o.Set(key, n.children[key].value())
		}
		return o
	case n.isList || len(n.values) > 1:
		return n.values
	case len(n.values) == 1:
		return n.values[0]
	}
	return value.Undefined
}
