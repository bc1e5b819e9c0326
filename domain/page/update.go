package page

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"svc/domain/value"
)

// maxState is the size of the configuration of a view that data may change.
const maxState = 1 << 20

// ErrTooLarge says that data would make a view too large. The view stays as it was.
var ErrTooLarge = errors.New("the state of the page would be larger than 1 MB")

// Fold folds data of an automation or an event into the configuration of a block, or of the page when path is empty.
// tree is the view expanded as it is now. A block that is not there any more is left alone.
func (v *View) Fold(tree *Tree, path string, data *value.Object) error {
	base, instance := tree.raw, ""
	if path != "" {
		b := tree.ByPath[path]
		if b == nil || b.raw == nil {
			return nil
		}
		base, instance = b.raw, b.Instance
	}
	next := fold(base, data, instance)
	size := sizeWithin(next, maxState)
	for at, folded := range v.Folded {
		if at != path {
			size += sizeWithin(folded, maxState)
		}
	}
	if size > maxState {
		return ErrTooLarge
	}
	if v.Folded == nil {
		v.Folded = map[string]*value.Object{}
	}
	v.Folded[path] = next
	return nil
}

// fold applies data to a configuration. Keys are paths; $replace, $merge, $unshift and $remove come after the others.
func fold(base, data *value.Object, instance string) *value.Object {
	f := folding{root: base, instance: instance}
	for key, v := range data.All() {
		if !strings.HasPrefix(key, "$") {
			f.change(key, v, replaceValue)
		}
	}
	for _, step := range []struct {
		name   string
		change func(old, given any) any
	}{{"$replace", replaceValue}, {"$merge", mergeValue}, {"$unshift", unshiftValue}, {"$remove", removeValue}} {
		changes, _ := data.At(step.name).(*value.Object)
		for key, v := range changes.All() {
			f.change(key, v, step.change)
		}
	}
	return f.root
}

// folding is the application of data to a configuration, which is copied where it changes.
type folding struct {
	root     *value.Object
	instance string
}

// ignoredAtRoot and ignoredAnywhere are keys that data cannot change.
var (
	ignoredAtRoot   = []string{"id", "slug", "permissions", "redirect", "userTopics"}
	ignoredAnywhere = []string{"automation", "styles", "css", "allowUnsecure", "allowScripts"}
)

// change changes the value at a path.
func (f *folding) change(key string, given any, change func(old, given any) any) {
	path := strings.Split(key, ".")
	ignored := slices.Contains(ignoredAtRoot, path[0]) || slices.ContainsFunc(path, func(s string) bool {
		return s == "" || slices.Contains(ignoredAnywhere, s)
	})
	last := path[len(path)-1]
	if ignored || len(path) > maxDepth*2 || last == "type" && given == "script" {
		return
	}
	c := compiler{instance: f.instance, data: true}
	compiled := c.compile(withoutIgnored(given), last)
	if next, ok := unwrap(changeAt(f.root, path, func(old any) any { return change(old, compiled) })).(*value.Object); ok {
		f.root = next
	}
}

// withoutIgnored returns data without the keys that it cannot set at any depth.
func withoutIgnored(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = withoutIgnored(item)
		}
		return list
	case *value.Object:
		o := value.NewObjectSize(v.Len())
		for key, item := range v.All() {
			if !slices.Contains(ignoredAnywhere, key) && (key != "type" || item != "script") {
				o.Set(key, withoutIgnored(item))
			}
		}
		return o
	}
	return v
}

// changeAt returns v with the value at a path changed. Objects are created where there is nothing; a path into
// anything else changes nothing.
func changeAt(v any, path []string, change func(old any) any) any {
	if len(path) == 0 {
		return change(v)
	}
	inner := unwrap(v)
	_, wasDynamic := v.(*dynamic)
	wrap := func(next, child any) any {
		if wasDynamic || isDynamic(child) {
			return &dynamic{next}
		}
		return next
	}
	switch inside := inner.(type) {
	case *Node:
		if path[0] == "slug" {
			return v
		}
		config, ok := unwrap(changeAt(inside.Config, path, change)).(*value.Object)
		if !ok {
			return v
		}
		node := *inside
		node.Config = config
		return &node
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i > len(inside) {
			return v
		}
		list := slices.Clone(inside)
		if i == len(list) {
			list = append(list, value.Undefined)
		}
		list[i] = changeAt(list[i], path[1:], change)
		return wrap(list, list[i])
	case *value.Object:
		o := inside.Copy()
		child := changeAt(o.At(path[0]), path[1:], change)
		o.Set(path[0], child)
		return wrap(o, child)
	}
	if !value.IsNothing(inner) {
		return v
	}
	child := changeAt(value.Undefined, path[1:], change)
	return wrap(value.NewObject(path[0], child), child)
}

func replaceValue(_, given any) any { return given }

// mergeValue complements a value with another one.
func mergeValue(old, given any) any {
	switch now := unwrap(old).(type) {
	case []any:
		if more, ok := unwrap(given).([]any); ok {
			return listOf(old, given, slices.Concat(now, more))
		}
		return listOf(old, given, append(slices.Clone(now), given))
	case *value.Object:
		if more, ok := unwrap(given).(*value.Object); ok {
			o := now.Copy()
			for key, v := range more.All() {
				o.Set(key, v)
			}
			if isDynamic(old) || isDynamic(given) {
				return &dynamic{o}
			}
			return o
		}
	case float64:
		if more, ok := given.(float64); ok {
			return now + more
		}
	case string:
		if more, ok := given.(string); ok {
			return now + more
		}
	case bool:
		if more, ok := given.(bool); ok {
			return now && more
		}
	}
	return given
}

// unshiftValue puts values in front of a list.
func unshiftValue(old, given any) any {
	more, ok := unwrap(given).([]any)
	if !ok {
		more = []any{given}
	}
	now, _ := unwrap(old).([]any)
	return listOf(old, given, slices.Concat(more, now))
}

// removeValue removes entries of a list: those that have all given fields, or that equal a given value.
func removeValue(old, given any) any {
	list, ok := unwrap(old).([]any)
	if !ok {
		return old
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(entry any) bool { return isRemoved(entry, given) })
	return listOf(old, nil, kept)
}

func isRemoved(entry, given any) bool {
	fields, ok := unwrap(given).(*value.Object)
	if !ok {
		return equalsAny(entry, given)
	}
	inside := unwrap(entry)
	if n, isNode := inside.(*Node); isNode {
		inside = n.Config
	}
	o, ok := inside.(*value.Object)
	if !ok || fields.Len() == 0 {
		return false
	}
	for key, v := range fields.All() {
		if !equalsAny(o.At(key), v) {
			return false
		}
	}
	return true
}

// equalsAny reports whether v equals a value, or one of a list of values.
func equalsAny(v, given any) bool {
	if value.StrictEqual(v, given) {
		return true
	}
	list, ok := given.([]any)
	return ok && slices.ContainsFunc(list, func(one any) bool { return value.StrictEqual(v, one) })
}

// listOf returns a list that is dynamic when one of those it was made of is.
func listOf(a, b any, list []any) any {
	if isDynamic(a) || isDynamic(b) || slices.ContainsFunc(list, isDynamic) {
		return &dynamic{list}
	}
	return list
}

// sizeWithin is the approximate size of a configuration; little more than limit is counted.
func sizeWithin(v any, limit int) (size int) {
	switch v := unwrap(v).(type) {
	case string:
		return len(v) + 2
	case *Template:
		return len(v.source)
	case *Node:
		return len(v.Kind) + sizeWithin(v.Config, limit)
	case []any:
		for _, item := range v {
			if size += 1 + sizeWithin(item, limit-size); size > limit {
				return size
			}
		}
	case *value.Object:
		for key, item := range v.All() {
			if size += len(key) + 4 + sizeWithin(item, limit-size); size > limit {
				return size
			}
		}
	}
	return size + 8
}
