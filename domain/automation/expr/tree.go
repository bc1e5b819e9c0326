package expr

import (
	"slices"
	"strconv"
	"strings"

	"svc/domain/automation/value"
)

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

// Written returns the value as it stands in the document.
func (t *Tree) Written() any { return t.written }

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
