package machine

import (
	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// locals are the variables of one execution.
//
// Values are shared freely, so a change makes a new one. What a change has made
// belongs to its variable until the variable is read as a whole: as long as nobody
// else can have it, the next change is made in place. Building a list or an
// object key by key takes time in proportion to its size that way.
type locals struct {
	vars map[string]any
	own  map[string]owned
	size int // of all as JSON
}

func newLocals(input *value.Object) locals {
	l := locals{vars: make(map[string]any, input.Len()+4), size: len("{")}
	for _, key := range input.Keys() {
		l.vars[key] = input.At(key)
		l.size += sizeOf(key, input.At(key))
	}
	return l
}

// sizeOf is what a variable adds to the size of all.
func sizeOf(key string, v any) int { return variable.Size(key) + variable.Size(v) + len(":,") }

func (l *locals) at(root string) any {
	if v, ok := l.vars[root]; ok {
		return v
	}
	return value.Undefined
}

// read returns what is at a path, and what it took to get there. Who has an object or a
// list may keep it: it is not the variable's alone any more.
func (l *locals) read(keys []string) (v any, effort int) {
	v, effort = value.Reach(l.at(keys[0]), keys[1:]...)
	switch v.(type) {
	case []any, *value.Object:
		delete(l.own, keys[0])
	}
	return v, effort
}

// change applies an operation to a variable, and returns how much memory was copied for
// it. One that makes all of them larger than limit is refused.
func (l *locals) change(root string, op variable.Op, limit int) (int, error) {
	old, known := l.vars[root]
	if !known {
		old = value.Undefined
	}
	if done, err := l.inPlace(root, old, op, limit); done {
		return 0, err
	}
	made, grown, err := variable.Change(old, op)
	if err != nil {
		return 0, err
	}
	switch stays := !value.IsUndefined(made); {
	case !known && stays:
		grown = sizeOf(root, made)
	case known && !stays:
		grown = -sizeOf(root, old)
	case !stays:
		return 0, nil
	}
	if err := l.fits(grown, limit); err != nil {
		return 0, err
	}
	l.size += grown
	if value.IsUndefined(made) {
		l.drop(root)
		return 0, nil
	}
	l.vars[root] = made
	l.adopt(root, old, made, op)
	return copied(old, op.Path), nil
}

func (l *locals) fits(grown, limit int) error {
	if size := l.size + grown; grown > 0 && size > limit {
		return tooLarge(size, limit)
	}
	return nil
}

func (l *locals) drop(root string) {
	delete(l.vars, root)
	delete(l.own, root)
}

// put replaces a variable whatever the size of all.
func (l *locals) put(root string, v any) {
	if old, ok := l.vars[root]; ok {
		l.size -= sizeOf(root, old)
	}
	l.size += sizeOf(root, v)
	delete(l.own, root)
	l.vars[root] = v
}

func (l *locals) setError(name, message string, details any) {
	l.put("$error", errorValue(name, message, details))
}

// leaveLoop is what the outermost loop leaves behind.
func (l *locals) leaveLoop(last float64) {
	if old, ok := l.vars["item"]; ok {
		l.size -= sizeOf("item", old)
		l.drop("item")
	}
	l.put("$index", last)
}

// change applies an operation to item or $index, which are the iteration's and no
// part of the local variables. They have the same limit. It returns how much memory was
// copied.
func (i *iteration) change(root string, op variable.Op, limit int) (int, error) {
	at := &i.item
	if root == "$index" {
		at = &i.index
	}
	old := *at
	made, grown, err := variable.Change(old, op)
	if err != nil {
		return 0, err
	}
	if grown > 0 && !value.Within(made, limit) {
		return 0, tooLarge(variable.Size(made), limit)
	}
	*at = made
	return copied(old, op.Path), nil
}

func tooLarge(size, limit int) error {
	return automation.Raise(automation.ContextTooLarge, "the local variables become too large",
		"context", "local", "size", float64(size), "limit", float64(limit))
}
