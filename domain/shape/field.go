package shape

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain/document"
	"svc/domain/jsontype"
)

// The types as the tables name them.
const (
	text, number, boolean = jsontype.Text, jsontype.Number, jsontype.Boolean
	list, object, null    = jsontype.List, jsontype.Object, jsontype.Null
	anything              = jsontype.Anything
)

// kindOf returns the type of a value; none when it is no value of a document.
func kindOf(v any) jsontype.Set {
	switch v.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case float64:
		return number
	case string:
		return text
	case []any:
		return list
	case *document.Map:
		return object
	default:
		return 0
	}
}

// typing says which values are typed fields, the JSON Schemas of the contract.
type typing uint8

const (
	untyped  typing = iota
	byName          // an object of typed fields
	either          // one typed field, or an object of them
	settings        // an object of typed fields, and whether there are others
)

// field is a row of the tables.
type field struct {
	name string
	doc  string
	is   jsontype.Set
	must bool
	// firm fields are not absent when they are null: a rule without a role binds
	// everyone, which nobody should say by accident.
	firm bool
	// readOnly fields are set by the service and not looked at.
	readOnly bool
	// droppable fields are left out of an imported document when they are wrong: what they say is
	// not worth the document.
	droppable bool

	of    []field // the members of an object, which has no others
	open  bool    // … but it has
	each  *field  // the items of an array, the values of an object
	keys  *naming // of an object
	typed typing

	enum  []string
	match *pattern
	limit int // characters of a string; 0: as many as fit into a document
	least float64
	most  float64 // 0: neither least nor most counts
	whole bool
	// rule says what else is wrong with a value, "" when nothing is.
	rule func(v any) string

	// For editors: the default, and words that are often meant.
	otherwise any
	suggest   []string
}

// pattern is what a string must look like, for a machine and in words.
type pattern struct {
	*regexp.Regexp
	says string
}

func matching(expression, says string) *pattern {
	return &pattern{regexp.MustCompile(expression), says}
}

// naming is the rule of the keys of an object.
type naming struct {
	wrong func(key string) string
	// For editors, the same as far as a schema can say it.
	match *pattern
	limit int
}

// named is the naming of keys that match a pattern.
func named(p *pattern) *naming {
	return &naming{match: p, wrong: func(key string) string {
		if p.MatchString(key) {
			return ""
		}
		return p.wrong(key)
	}}
}

func (p *pattern) wrong(s string) string {
	return fmt.Sprintf("%s is not a valid %s", document.Shown(s), p.says)
}

// wrong says what is wrong with a value of the right type.
func (f *field) wrong(v any) string {
	why := ""
	switch v := v.(type) {
	case string:
		why = f.wrongText(v)
	case float64:
		why = f.wrongNumber(v)
	}
	if why == "" && f.rule != nil {
		why = f.rule(v)
	}
	return why
}

func (f *field) wrongText(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case f.limit > 0 && utf8.RuneCountInString(s) > f.limit:
		return fmt.Sprintf("must have at most %d characters", f.limit)
	case f.enum != nil && !slices.Contains(f.enum, s):
		return "must be one of: " + strings.Join(f.enum, ", ")
	case f.match != nil && !f.match.MatchString(s):
		return f.match.wrong(s)
	}
	return ""
}

func (f *field) wrongNumber(n float64) string {
	if f.most == 0 || n >= f.least && n <= f.most && (!f.whole || n == float64(int64(n))) {
		return ""
	}
	what := "a number"
	if f.whole {
		what = "a whole number"
	}
	return fmt.Sprintf("must be %s from %v to %v", what, f.least, f.most)
}
