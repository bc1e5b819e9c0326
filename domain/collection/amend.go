package collection

import (
	"slices"

	"svc/domain/automation/value"
)

// amend returns v with the value at a path replaced by what do makes of it. Objects
// on the way are made; a list has the items it has, and one more.
func amend(e *effort, v any, path []string, do deed) (any, error) {
	if len(path) == 0 {
		return do(e, v)
	}
	switch have := v.(type) {
	case *value.Object:
		next, err := amend(e, have.At(path[0]), path[1:], do)
		if err != nil {
			return nil, err
		}
		return replaced(have, path[0], next), e.spend(have.Len())
	case []any:
		return amendItem(e, have, path, do)
	}
	if !value.IsNothing(v) {
		return nil, Refuse(Validation, "there is %s where %s would be", value.Kind(v), path[0])
	}
	next, err := amend(e, value.Undefined, path[1:], do)
	if err != nil || value.IsUndefined(next) {
		return v, err
	}
	return value.NewObject(path[0], next), nil
}

func amendItem(e *effort, list []any, path []string, do deed) (any, error) {
	i, ok := value.Index(path[0])
	if !ok || i > len(list) {
		return nil, Refuse(Validation, "a list of %d items has no item %s", len(list), path[0])
	}
	have := value.Undefined
	if i < len(list) {
		have = list[i]
	}
	next, err := amend(e, have, path[1:], do)
	if err != nil {
		return nil, err
	}
	if err := e.spend(len(list)); err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	switch {
	case i < len(list) && value.IsUndefined(next):
		list[i] = nil
	case i < len(list):
		list[i] = next
	case !value.IsUndefined(next):
		list = append(list, next)
	}
	return list, nil
}

// replaced returns o with v at key; without the key when v is undefined.
func replaced(o *value.Object, key string, v any) *value.Object {
	if !value.IsUndefined(v) {
		next := o.Copy()
		next.Set(key, v)
		return next
	}
	next := &value.Object{}
	for _, other := range o.Keys() {
		if other != key {
			next.Set(other, o.At(other))
		}
	}
	return next
}
