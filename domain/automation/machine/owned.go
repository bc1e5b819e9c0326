package machine

import (
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// owned are the objects and lists that only one variable has: an object by its
// address, a list by that of its first item.
type owned map[any]struct{}

// The bounds of what is changed in place: how many values are known to be owned,
// and how long a path may be.
const (
	maxOwned = 1024
	maxPath  = 8
)

func identity(v any) any {
	switch v := v.(type) {
	case *value.Object:
		return v
	case []any:
		if len(v) > 0 {
			return &v[0]
		}
	}
	return nil
}

func (o owned) has(v any) bool {
	id := identity(v)
	if id == nil {
		return false
	}
	_, ok := o[id]
	return ok
}

// slot is where a value lies: in an object, in a list, or in the variable itself.
type slot struct {
	object *value.Object
	key    string
	list   []any
	index  int
}

func (l *locals) fill(root string, s slot, v any) {
	switch {
	case s.object != nil:
		s.object.Set(s.key, v)
	case s.list != nil:
		s.list[s.index] = v
	default:
		l.vars[root] = v
	}
}

// inPlace makes a change in what the variable alone has. It reports false when it
// cannot: then a new value has to be made.
func (l *locals) inPlace(root string, old any, op variable.Op, limit int) (bool, error) {
	own := l.own[root]
	if len(own) == 0 || len(op.Path) > maxPath || value.IsUndefined(op.Value) || op.Kind != variable.Replace && op.Kind != variable.Push {
		return false, nil
	}
	if op.Kind == variable.Replace && len(op.Path) == 0 {
		return false, nil
	}
	parents := op.Path
	if op.Kind == variable.Replace {
		parents = op.Path[:len(op.Path)-1]
	}
	at, where, ok := own.find(old, parents)
	if !ok || !own.has(at) {
		return false, nil
	}
	if op.Kind == variable.Push {
		return l.pushInPlace(root, at, where, op.Value, limit)
	}
	return l.setInPlace(root, at, where, op.Path[len(op.Path)-1], op.Value, limit)
}

// find walks down a path through what is owned.
func (o owned) find(v any, path []expr.Step) (any, slot, bool) {
	var where slot
	for _, step := range path {
		if !o.has(v) {
			return nil, slot{}, false
		}
		switch parent := v.(type) {
		case *value.Object:
			where = slot{object: parent, key: step.Key}
			v = parent.At(step.Key)
		case []any:
			i, ok := value.Index(step.Key)
			if !ok || i >= len(parent) {
				return nil, slot{}, false
			}
			where = slot{list: parent, index: i}
			v = parent[i]
		}
	}
	return v, where, true
}

func (l *locals) pushInPlace(root string, at any, where slot, v any, limit int) (bool, error) {
	list, ok := at.([]any)
	if !ok {
		return false, nil
	}
	grown := variable.Size(v) + len(",")
	if err := l.fits(grown, limit); err != nil {
		return true, err
	}
	l.size += grown
	longer := append(list, v)
	l.fill(root, where, longer)
	if &longer[0] != &list[0] {
		delete(l.own[root], identity(list))
		l.own[root][identity(longer)] = struct{}{}
	}
	return true, nil
}

func (l *locals) setInPlace(root string, at any, where slot, last expr.Step, v any, limit int) (bool, error) {
	switch parent := at.(type) {
	case *value.Object:
		old, known := parent.Get(last.Key)
		if !known && parent.Len() == 0 {
			return false, nil
		}
		grown := variable.Size(v)
		if known {
			grown -= variable.Size(old)
		} else {
			grown += variable.Size(last.Key) + len(":,")
		}
		if _, hidden := v.(value.Stream); hidden {
			return false, nil
		}
		if _, hidden := old.(value.Stream); hidden {
			return false, nil
		}
		if err := l.fits(grown, limit); err != nil {
			return true, err
		}
		l.size += grown
		parent.Set(last.Key, v)
		return true, nil
	case []any:
		i, ok := value.Index(last.Key)
		if ok && i == len(parent) {
			return l.pushInPlace(root, at, where, v, limit)
		}
		if !ok || i > len(parent) {
			return false, nil
		}
		grown := variable.Size(v) - variable.Size(parent[i])
		if err := l.fits(grown, limit); err != nil {
			return true, err
		}
		l.size += grown
		parent[i] = v
		return true, nil
	}
	return false, nil
}

// adopt notes what a change has made: the objects and lists on its path that were
// not there before, and a list that was appended to.
func (l *locals) adopt(root string, old, made any, op variable.Op) {
	if len(op.Path) == 0 && op.Kind != variable.Push {
		delete(l.own, root)
		return
	}
	own := l.own[root]
	if len(own) > maxOwned {
		own = nil
	}
	if own == nil {
		own = owned{}
		if l.own == nil {
			l.own = map[string]owned{}
		}
		l.own[root] = own
	}
	for i := 0; ; i++ {
		if i == len(op.Path) && op.Kind != variable.Push {
			return // the value itself: others have it
		}
		id := identity(made)
		if id != nil && id != identity(old) {
			own[id] = struct{}{}
		}
		if i == len(op.Path) {
			return
		}
		old, made = value.At(old, op.Path[i].Key), value.At(made, op.Path[i].Key)
	}
}
