package expr

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc/domain/value"
)

// Template is a string of a document, parsed.
type Template struct {
	src  string
	root node
}

// Condition is an expression that decides a branch.
type Condition struct {
	src  string
	root node
}

// Target is the path of a variable that is written.
type Target struct {
	// Push says that the name ended in [].
	Push    bool
	src     string
	path    *path
	written []Step // the keys when all of them are written out
}

// ParseTemplate reads a string value. Without {{ and {% it is plain text, of
// any length.
func ParseTemplate(s string) (*Template, error) {
	if !strings.Contains(s, "{{") && !strings.Contains(s, "{%") {
		return &Template{src: s, root: constant{s}}, nil
	}
	p := newParser(s)
	p.checkLength()
	root := p.template()
	if p.err != nil {
		return nil, p.err
	}
	return &Template{src: s, root: root}, nil
}

// ParseCondition reads a key of conditions: an expression without {% %}.
func ParseCondition(s string) (*Condition, error) {
	p := newParser(s)
	p.checkLength()
	root := p.parseAll()
	if p.err != nil {
		return nil, p.err
	}
	return &Condition{src: s, root: root}, nil
}

// ParseTarget reads the name of set and delete, or an output. Only the name of
// set may end in [].
func ParseTarget(s string, mayPush bool) (*Target, error) {
	p := newParser(s)
	p.checkLength()
	t := &Target{src: s, path: p.path()}
	t.Push = mayPush && p.skipText("[]")
	if p.pos < p.end {
		p.fail(VariableError, "expected the name of a variable%s", p.describeNext())
	}
	if p.err != nil {
		return nil, p.err
	}
	t.written, _ = t.path.static()
	return t, nil
}

// String returns the template as written.
func (t *Template) String() string { return t.src }

// String returns the condition as written.
func (c *Condition) String() string { return c.src }

// String returns the target as written.
func (t *Target) String() string { return t.src }

// Static returns the text of a template that has no parts.
func (t *Template) Static() (string, bool) {
	c, ok := t.root.(constant)
	s, text := c.v.(string)
	return s, ok && text
}

// Static returns the keys of a target that is written out.
func (t *Target) Static() ([]Step, bool) { return t.path.static() }

func (p *parser) checkLength() {
	if utf8.RuneCountInString(p.src) > MaxLength {
		p.fail(SyntaxError, "longer than %d characters", MaxLength)
	}
}

// text is a template of several parts: it evaluates to their text.
type text struct{ parts []node }

// template reads text and its parts up to the end.
func (p *parser) template() node {
	var parts []node
	for p.pos < p.end {
		if n := p.plainLength(); n > 0 {
			parts = append(parts, constant{p.src[p.pos : p.pos+n]})
			p.pos += n
		}
		switch {
		case p.pos >= p.end:
		case p.at("{{"):
			parts = append(parts, p.variable())
		default:
			parts = append(parts, p.block())
		}
	}
	switch len(parts) {
	case 0:
		return constant{""}
	case 1:
		return parts[0]
	}
	return text{parts}
}

// plainLength returns how many bytes come before the next part. An opening that is
// closed nowhere after it is plain text.
func (p *parser) plainLength() int {
	s := p.rest()
	return min(indexOfOpening(s, "{{", "}}"), indexOfOpening(s, "{%", "%}"))
}

func indexOfOpening(s, open, end string) int {
	i := strings.Index(s, open)
	if i < 0 || !strings.Contains(s[i+len(open):], end) {
		return len(s)
	}
	return i
}

func (t text) eval(e *evaluation) any {
	var b strings.Builder
	for _, part := range t.parts {
		s := e.text(part.eval(e))
		if e.err != nil {
			return value.Undefined
		}
		b.WriteString(s)
	}
	return b.String()
}

// Tree is a value of a document whose strings are templates, parsed. Keys,
// numbers, booleans and null are left as they are.
type Tree struct {
	written  any
	template *Template // of a string
	items    []*Tree   // of an array, or of an object in the order of its keys
	static   bool      // nothing in it is a template: it evaluates to itself
}

// ParseTree reads a value. Each fault is reported with the path of its string,
// which begins with path; the string then evaluates to Undefined.
func ParseTree(v any, path string, report func(path string, err error)) *Tree {
	t := &Tree{written: v}
	switch v := v.(type) {
	case string:
		template, err := ParseTemplate(v)
		if err != nil {
			report(path, err)
		}
		t.template = template
	case []any:
		for i, item := range v {
			t.items = append(t.items, ParseTree(item, path+"["+strconv.Itoa(i)+"]", report))
		}
	case *value.Object:
		for _, key := range v.Keys() {
			t.items = append(t.items, ParseTree(v.At(key), Member(path, key), report))
		}
	}
	t.static = t.isStatic()
	return t
}

func (t *Tree) isStatic() bool {
	if s, ok := t.written.(string); ok {
		if t.template == nil {
			return false
		}
		text, static := t.template.Static()
		return static && text == s
	}
	return !slices.ContainsFunc(t.items, func(item *Tree) bool { return !item.static })
}

// Static reports whether nothing in the value is a template.
func (t *Tree) Static() bool { return t == nil || t.static }

// Member returns what an object has at key, nil when it has nothing there.
func (t *Tree) Member(key string) *Tree {
	if t == nil {
		return nil
	}
	o, ok := t.written.(*value.Object)
	if !ok {
		return nil
	}
	if i := slices.Index(o.Keys(), key); i >= 0 {
		return t.items[i]
	}
	return nil
}

// itemPath returns the path of an item below the path of its list or object.
func (t *Tree) itemPath(path string, i int) string {
	if o, ok := t.written.(*value.Object); ok {
		return Member(path, o.Keys()[i])
	}
	return path + "[" + strconv.Itoa(i) + "]"
}

// Source returns the value as written in the document.
func (t *Tree) Source() any { return t.written }

// Eval returns the value with its templates evaluated.
func (t *Tree) Eval(env *Env) (any, error) {
	if t.static {
		return t.written, nil
	}
	switch v := t.written.(type) {
	case string:
		if t.template == nil {
			return value.Undefined, nil
		}
		return t.template.Eval(env)
	case []any:
		list := make([]any, len(v))
		for i, item := range t.items {
			made, err := item.Eval(env)
			if err != nil {
				return value.Undefined, err
			}
			list[i] = made
		}
		return list, nil
	case *value.Object:
		o := value.NewObjectSize(v.Len())
		for i, key := range v.Keys() {
			made, err := t.items[i].Eval(env)
			if err != nil {
				return value.Undefined, err
			}
			o.Set(key, made)
		}
		return o, nil
	}
	return t.written, nil
}

// Member returns the path of a key below path, in brackets when it is no plain
// name.
func Member(path, key string) string {
	plain := key != "" && isWordStart(rune(key[0])) && strings.IndexFunc(key, func(r rune) bool { return !isName(r) }) < 0
	switch {
	case !plain:
		return path + "[" + value.JSON(key, "") + "]"
	case path == "":
		return key
	}
	return path + "." + key
}
