package variable

import (
	"slices"
	"strings"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

// put applies the operation to what its path leads to.
func (c *change) put(old any) (any, int, error) {
	switch {
	case c.Kind == Push:
		return c.push(old)
	case c.Kind == Merge && !value.IsNothing(old):
		next, grown := c.merge(old)
		return next, grown, nil
	}
	return c.Value, c.size - measure(old).bytes, nil
}

func (c *change) push(old any) (any, int, error) {
	list, ok := old.([]any)
	if !ok && !value.IsNothing(old) {
		return nil, 0, automation.Invalid("cannot push to %s: its type is %s, not array", pathText(c.Path), value.Kind(old))
	}
	grown := c.size + len(",") - missingComma(len(list))
	if !ok {
		grown += len("[]") - len("null")
	}
	return extended(list, c.Value), grown, nil
}

func (c *change) merge(old any) (any, int) {
	switch old := old.(type) {
	case []any:
		return c.mergeList(old)
	case *value.Object:
		object, ok := c.Value.(*value.Object)
		if !ok {
			return old, 0
		}
		return mergeObjects(old, object)
	}
	return c.Value, c.size - measure(old).bytes
}

func (c *change) mergeList(old []any) (any, int) {
	items, ok := c.Value.([]any)
	switch {
	case !ok:
		return extended(old, c.Value), c.size + len(",") - missingComma(len(old))
	case len(items) == 0:
		return old, 0
	}
	return extended(old, items...), c.size - len("[]") + len(",") - missingComma(len(old))
}

func mergeObjects(old, over *value.Object) (any, int) {
	next := old.Copy()
	grown := 0
	for _, key := range over.Keys() {
		was, is := next.At(key), over.At(key)
		if shown(was) {
			grown -= memberSize(next, key, measure(was).bytes)
		}
		next.Set(key, is)
		if shown(is) {
			grown += memberSize(next, key, measure(is).bytes)
		}
	}
	return next, grown
}

// extended returns a list with more items. It never writes behind the end of the
// old one, which others may share.
func extended(list []any, items ...any) []any {
	return append(slices.Clip(list), items...)
}

// unset takes away what the path leads to. Deleting an item of a list closes the
// gap; a set to undefined leaves the other items where they are. A merge or push
// of undefined does nothing.
func unset(old any, op Op) (any, int) {
	if op.Kind == Merge || op.Kind == Push {
		return old, 0
	}
	return without(old, op.Path, op.Kind == Delete)
}

func without(old any, path []expr.Step, closing bool) (any, int) {
	if len(path) == 0 {
		return value.Undefined, len("null") - measure(old).bytes
	}
	switch parent := old.(type) {
	case []any:
		return withoutItem(parent, path, closing)
	case *value.Object:
		return withoutMember(parent, path, closing)
	}
	return old, 0
}

func withoutMember(parent *value.Object, path []expr.Step, closing bool) (any, int) {
	key := path[0].Key
	old, ok := parent.Get(key)
	if !ok {
		return parent, 0
	}
	if len(path) > 1 {
		child, grown := without(old, path[1:], closing)
		next := parent.Copy()
		next.Set(key, child)
		return next, grown
	}
	next := value.NewObjectSize(parent.Len() - 1)
	for _, other := range parent.Keys() {
		if other != key {
			next.Set(other, parent.At(other))
		}
	}
	if !shown(old) {
		return next, 0
	}
	return next, -memberSize(parent, key, measure(old).bytes)
}

func withoutItem(parent []any, path []expr.Step, closing bool) (any, int) {
	index, ok := value.Index(path[0].Key)
	if !ok || index >= len(parent) {
		return parent, 0
	}
	old := parent[index]
	next := slices.Clone(parent)
	if len(path) == 1 && closing {
		return slices.Delete(next, index, index+1), missingComma(len(parent)-1) - len(",") - measure(old).bytes
	}
	child, grown := without(old, path[1:], closing)
	next[index] = child
	return next, grown
}

// pathText writes a path for messages.
func pathText(path []expr.Step) string {
	if len(path) == 0 {
		return "the whole context"
	}
	var text strings.Builder
	for i, step := range path {
		switch {
		case step.Index:
			text.WriteString("[" + step.Key + "]")
		case i > 0:
			text.WriteString("." + step.Key)
		default:
			text.WriteString(step.Key)
		}
		if text.Len() > 200 {
			return strings.ToValidUTF8(text.String()[:200], "") + "…"
		}
	}
	return text.String()
}
