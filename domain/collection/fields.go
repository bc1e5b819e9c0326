package collection

import (
	"slices"
	"strings"

	"svc/domain/automation/value"
)

// selection is which fields of a row are shown. The id always is.
type selection struct {
	paths   []string
	exclude bool
}

// readSelection reads [names] or {name: 1 or 0}.
func readSelection(v any) (*selection, error) {
	if value.IsNothing(v) {
		return nil, nil
	}
	list, isList := fieldList(v)
	o, ok := v.(*value.Object)
	if !ok && !isList || o.Len()+len(list) > maxPaths {
		return nil, Refuse(BadQuery, "fields is a list of names, or an object of names and 1 or 0; at most %d", maxPaths)
	}
	if isList {
		return &selection{paths: list}, nil
	}
	if o.Len() == 0 {
		return nil, nil
	}
	s, decided := &selection{exclude: true}, false
	for _, name := range o.Keys() {
		wanted, ok := flag(o.At(name))
		if !ok {
			return nil, Refuse(BadQuery, "fields has 1 or 0 for a name, as for %s", name)
		}
		if unalias(name) == fieldID {
			if wanted && o.Len() == 1 {
				s.exclude = false
			}
			continue
		}
		if decided && s.exclude == wanted {
			return nil, Refuse(BadQuery, "fields has 1 for some names and 0 for others")
		}
		s.exclude, decided = !wanted, true
		s.paths = append(s.paths, name)
	}
	return s, nil
}

// flag reads 1, 0, true or false.
func flag(v any) (on, ok bool) {
	switch v {
	case 1.0, true:
		return true, true
	case 0.0, false:
		return false, true
	}
	return false, false
}

// apply returns the row with the fields that are to be shown, in its order.
func (s *selection) apply(row *value.Object) *value.Object {
	if s == nil {
		return row
	}
	shown := value.NewObject(fieldID, row.At(fieldID))
	for _, key := range row.Keys() {
		if key == fieldID {
			continue
		}
		whole, below := s.about(key)
		switch {
		case s.exclude && !whole:
			shown.Set(key, without(row.At(key), below))
		case !s.exclude && whole:
			shown.Set(key, row.At(key))
		case !s.exclude && len(below) > 0:
			shown.Set(key, only(row.At(key), below))
		}
	}
	return shown
}

// about returns whether a field is named itself, and the paths below it that are.
func (s *selection) about(key string) (whole bool, below [][]string) {
	for _, path := range s.paths {
		if path == key {
			return true, nil
		}
		if rest, ok := strings.CutPrefix(path, key+"."); ok {
			below = append(below, strings.Split(rest, "."))
		}
	}
	return false, below
}

// only returns an object with nothing but these paths; of a list, of each of its
// items.
func only(v any, paths [][]string) any {
	switch v := v.(type) {
	case []any:
		return eachItem(v, func(item any) any { return only(item, paths) })
	case *value.Object:
		made := &value.Object{}
		for _, key := range v.Keys() {
			whole, below := split(paths, key)
			if whole {
				made.Set(key, v.At(key))
			} else if len(below) > 0 {
				made.Set(key, only(v.At(key), below))
			}
		}
		return made
	}
	return value.Undefined
}

// without returns an object less these paths.
func without(v any, paths [][]string) any {
	if len(paths) == 0 {
		return v
	}
	switch v := v.(type) {
	case []any:
		return eachItem(v, func(item any) any { return without(item, paths) })
	case *value.Object:
		made := &value.Object{}
		for _, key := range v.Keys() {
			if whole, below := split(paths, key); !whole {
				made.Set(key, without(v.At(key), below))
			}
		}
		return made
	}
	return v
}

// split returns what paths say of a key: itself, or what is below it.
func split(paths [][]string, key string) (whole bool, below [][]string) {
	for _, path := range paths {
		if path[0] == key && len(path) == 1 {
			return true, nil
		}
		if path[0] == key {
			below = append(below, path[1:])
		}
	}
	return false, below
}

func eachItem(list []any, change func(any) any) []any {
	made := slices.Clone(list)
	for i, item := range made {
		if made[i] = change(item); value.IsUndefined(made[i]) {
			made[i] = nil
		}
	}
	return made
}
