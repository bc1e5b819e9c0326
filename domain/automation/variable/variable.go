// Package variable changes a part of a value: what set and delete do to a local variable
// or a context.
//
// An operation names a path and what happens there. The value that it is applied to is
// never changed: the new one shares everything beside the path. Operations and values have
// an encoding for stored states and contexts.
package variable

import (
	"fmt"
	"slices"
	"strings"

	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/value"
)

// Kind is what an operation does at its path.
type Kind uint8

// The kinds of operations. Their numbers are stored.
const (
	Replace Kind = iota // the value takes the place of what is there; undefined unsets
	Merge               // what is there is complemented, see Apply
	Push                // the value becomes the last item of the list there
	Delete              // what is there goes; the value is not looked at
)

// The limits of an operation.
const (
	maxGap    = 1000 // how far past the end of a list an index may lie
	MaxNested = 1000 // how deep a value may be nested below its root
)

// Op is one change of a value. An empty path is the whole value.
type Op struct {
	Kind  Kind
	Path  []expr.Step
	Value any
}

// Apply returns the result of the operation on old. Undefined means absent, also as the
// result.
//
// Parents that are missing or null are created: lists where the path has literal digits in
// brackets, else objects. Merge replaces what is absent, null or a scalar, appends to a
// list (the items of a list, else the value itself), and sets the keys of an object over
// those of an object; an object ignores what is no object. An error is an
// InvalidInstructionError.
func Apply(old any, op Op) (any, error) {
	next, _, err := Change(old, op)
	return next, err
}

// Change is Apply that also returns by how many bytes the value has grown as JSON: Size of
// the new value less Size of the old, without measuring all of them.
func Change(old any, op Op) (next any, delta int, err error) {
	if op.Kind > Delete {
		return old, 0, automation.Invalid("there is no operation %d on a variable", op.Kind)
	}
	if op.Kind == Delete || value.IsUndefined(op.Value) {
		next, delta = removeAt(old, op)
		return next, delta, nil
	}
	size := measure(op.Value)
	if len(op.Path)+size.depth > MaxNested {
		return old, 0, automation.Invalid("a variable may be nested %d levels deep at most", MaxNested)
	}
	next, delta, err = (&change{Op: op, size: size.bytes}).at(old, op.Path)
	if err != nil {
		return old, 0, err
	}
	return next, delta, nil
}

// change is a running operation that sets something.
type change struct {
	Op

	size int // of the value
}

// at applies the operation below old. It returns the new value and by how much it
// is longer than the old; what is absent counts as null.
func (c *change) at(old any, path []expr.Step) (any, int, error) {
	if len(path) == 0 {
		return c.put(old)
	}
	switch parent := old.(type) {
	case []any:
		return c.item(parent, path)
	case *value.Object:
		return c.member(parent, path)
	}
	if !value.IsNothing(old) {
		return nil, 0, c.refusal(path, "would be in a value of type "+value.TypeName(old))
	}
	var parent any = &value.Object{}
	if path[0].Index {
		parent = []any{}
	}
	next, delta, err := c.at(parent, path)
	return next, delta + len("{}") - len("null"), err
}

func (c *change) member(parent *value.Object, path []expr.Step) (any, int, error) {
	key := path[0].Key
	old := parent.At(key)
	child, delta, err := c.at(old, path[1:])
	if err != nil {
		return nil, 0, err
	}
	next := parent.Copy()
	next.Set(key, child)
	switch before, after := isInJSON(old), isInJSON(child); {
	case !before && after:
		delta += memberSize(parent, key, len("null"))
	case before && !after:
		delta = -memberSize(parent, key, measure(old).bytes)
	case !before:
		delta = 0
	}
	return next, delta, nil
}

func (c *change) item(parent []any, path []expr.Step) (any, int, error) {
	index, ok := value.Index(path[0].Key)
	if !ok {
		return nil, 0, c.refusal(path, "is no index of a list")
	}
	if index-len(parent) > maxGap {
		return nil, 0, c.refusal(path, fmt.Sprintf("is more than %d past the end of the list", maxGap))
	}
	next := make([]any, max(len(parent), index+1))
	copy(next, parent)
	var old any
	if index < len(parent) {
		old = parent[index]
	}
	child, delta, err := c.at(old, path[1:])
	if err != nil {
		return nil, 0, err
	}
	next[index] = child
	if added := len(next) - len(parent); added > 0 {
		delta += added*len(",null") - missingComma(len(parent))
	}
	return next, delta, nil
}

func (c *change) refusal(path []expr.Step, why string) error {
	return automation.Invalid("cannot set %s: %q %s", pathText(c.Path), path[0].Key, why)
}

// put applies the operation to what its path leads to.
func (c *change) put(old any) (any, int, error) {
	switch {
	case c.Kind == Push:
		return c.push(old)
	case c.Kind == Merge && !value.IsNothing(old):
		next, delta := c.merge(old)
		return next, delta, nil
	}
	return c.Value, c.size - measure(old).bytes, nil
}

func (c *change) push(old any) (any, int, error) {
	list, ok := old.([]any)
	if !ok && !value.IsNothing(old) {
		return nil, 0, automation.Invalid("cannot push to %s: its type is %s, not array", pathText(c.Path), value.TypeName(old))
	}
	delta := c.size + len(",") - missingComma(len(list))
	if !ok {
		delta += len("[]") - len("null")
	}
	return appendCopy(list, c.Value), delta, nil
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
		return appendCopy(old, c.Value), c.size + len(",") - missingComma(len(old))
	case len(items) == 0:
		return old, 0
	}
	return appendCopy(old, items...), c.size - len("[]") + len(",") - missingComma(len(old))
}

func mergeObjects(old, over *value.Object) (any, int) {
	next := old.Copy()
	delta := 0
	for _, key := range over.Keys() {
		was, is := next.At(key), over.At(key)
		if isInJSON(was) {
			delta -= memberSize(next, key, measure(was).bytes)
		}
		next.Set(key, is)
		if isInJSON(is) {
			delta += memberSize(next, key, measure(is).bytes)
		}
	}
	return next, delta
}

// appendCopy returns a list with more items. It never writes behind the end of the
// old one, which others may share.
func appendCopy(list []any, items ...any) []any {
	return append(slices.Clip(list), items...)
}

// removeAt takes away what the path leads to. Deleting an item of a list closes the
// gap; a set to undefined leaves the other items where they are. A merge or push
// of undefined does nothing.
func removeAt(old any, op Op) (any, int) {
	if op.Kind == Merge || op.Kind == Push {
		return old, 0
	}
	return withoutPath(old, op.Path, op.Kind == Delete)
}

func withoutPath(old any, path []expr.Step, closing bool) (any, int) {
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
		child, delta := withoutPath(old, path[1:], closing)
		next := parent.Copy()
		next.Set(key, child)
		return next, delta
	}
	next := value.NewObjectSize(parent.Len() - 1)
	for _, other := range parent.Keys() {
		if other != key {
			next.Set(other, parent.At(other))
		}
	}
	if !isInJSON(old) {
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
	child, delta := withoutPath(old, path[1:], closing)
	next[index] = child
	return next, delta
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
