package collection

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain/automation/expr"
	"svc/domain/automation/input"
	"svc/domain/automation/value"
)

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
		return Property{}, with(Refuse(Validation, "the property %s: %s", name, fmt.Sprintf(format, args...)), "field", name)
	}
	if !ok {
		return refuse("expected a type or an object with a type, got %s", value.Kind(v))
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
	kept, fault := p.accept(p.Default)
	if fault != "" && r.strict {
		return refuse("default %s", fault)
	}
	if p.Default = kept; fault != "" {
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
	kept, ok := p.fit(v)
	if !ok || value.IsNothing(v) {
		return "must be a value of the type " + p.Type
	}
	p.bounds[i] = kept
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

// accept returns a value as the field keeps it, or what is wrong with it, such as
// "expected integer, got string".
func (p *Property) accept(v any) (kept any, fault string) {
	kept, ok := p.fit(v)
	if !ok {
		return nil, p.mistyped(v)
	}
	return kept, p.fault(kept)
}

// mistyped says why a value does not fit the type.
func (p *Property) mistyped(v any) string {
	switch {
	case p.Type == "enum":
		return p.notListed()
	case p.Type == "enumArray" && value.Kind(v) == "array":
		return "has an item that is not allowed; the items are: " + listing(p.Enum)
	case value.Kind(v) == p.Type, value.Kind(v) == "string":
		return fmt.Sprintf("expected %s, got %s", p.Type, cutText(value.JSON(v, "")))
	}
	return fmt.Sprintf("expected %s, got %s", p.Type, value.Kind(v))
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
		if b := p.bounds[i]; b != nil && compareKept(p.Type, v, b)*(1-2*i) < 0 {
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

func (p *Property) notListed() string { return "must be one of: " + listing(p.Enum) }

// listing names the first of some values.
func listing(values []any) string {
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

func cutText(text string) string {
	const most = 60
	if runes := []rune(text); len(text) > most && len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// compareKept compares two values as a field of an ordered type keeps them.
func compareKept(kind string, a, b any) int {
	if kind != "decimal" {
		return Compare(a, b)
	}
	x, okX := decimalValue(a)
	y, okY := decimalValue(b)
	if okX && okY {
		return x.Cmp(y)
	}
	m, _ := value.Numeric(value.Text(a))
	n, _ := value.Numeric(value.Text(b))
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
