package expr

import (
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
	return t
}

// Written returns the value as it stands in the document.
func (t *Tree) Written() any { return t.written }

// Eval returns the value with its templates evaluated.
func (t *Tree) Eval(env *Env) (any, error) {
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
		o := &value.Object{}
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
