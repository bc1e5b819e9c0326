package merge

import (
	"slices"

	"svc/domain/document"
)

// maxConflicts is how many conflicting keys are told of one document. Whoever has
// more looks at the text.
const maxConflicts = 1000

// Keys merges two changes of a document by key: what only one side changed is as
// that side has it, mappings that both changed are merged in turn, all else that
// both changed differently conflicts. Scalars and lists are whole, but the keys of
// the document named in sets hold lists of texts in no order, of which either side
// may add and remove.
//
// conflicts are the keys that conflict, each as the keys on the way to it. merged
// has what ours says there.
func Keys(base, ours, theirs *document.Map, sets ...string) (merged *document.Map, conflicts [][]string) {
	k := &keys{sets: sets}
	merged = k.mapping(base, ours, theirs)
	return merged, k.conflicts
}

type keys struct {
	sets      []string
	way       []string // to what is being merged
	conflicts [][]string
}

func (k *keys) conflict() {
	if len(k.conflicts) < maxConflicts {
		k.conflicts = append(k.conflicts, slices.Clone(k.way))
	}
}

// field is the value of a key, or that there is none.
type field struct {
	value any
	there bool
}

func fieldOf(m *document.Map, key string) field {
	v, ok := m.Get(key)
	return field{v, ok}
}

func same(a, b field) bool { return a.there == b.there && document.Equal(a.value, b.value) }

func (k *keys) mapping(base, ours, theirs *document.Map) *document.Map {
	values := map[string]any{}
	theirNew := filter(theirs.Keys(), func(key string) bool { return !fieldOf(ours, key).there })
	for _, key := range append(ours.Keys(), theirNew...) {
		k.way = append(k.way, key)
		if f := k.field(fieldOf(base, key), fieldOf(ours, key), fieldOf(theirs, key)); f.there {
			values[key] = f.value
		}
		k.way = k.way[:len(k.way)-1]
	}
	merged := document.MapOf()
	for _, key := range k.order(values, base, ours, theirs) {
		merged.Set(key, values[key])
	}
	return merged
}

func (k *keys) field(base, ours, theirs field) field {
	switch {
	case same(ours, theirs), same(base, theirs):
		return ours
	case same(base, ours):
		return theirs
	}
	if len(k.way) == 1 && slices.Contains(k.sets, k.way[0]) {
		if merged, ok := union(base, ours, theirs); ok {
			return merged
		}
	}
	o, isMap := ours.value.(*document.Map)
	t, bothAre := theirs.value.(*document.Map)
	if isMap && bothAre {
		b, _ := base.value.(*document.Map)
		return field{k.mapping(b, o, t), true}
	}
	k.conflict()
	return ours
}

// union merges lists of texts as sets: what a side removed goes, what a side added
// comes. ok is false when one is no such list.
func union(base, ours, theirs field) (merged field, ok bool) {
	b, bOK := texts(base.value)
	o, oOK := texts(ours.value)
	t, tOK := texts(theirs.value)
	if !bOK || !oOK || !tOK {
		return field{}, false
	}
	before, here, there := setOf(b), setOf(o), setOf(t)
	var list []any
	for _, s := range o {
		if there[s] || !before[s] {
			list = append(list, s)
		}
	}
	for _, s := range t {
		if !here[s] && !before[s] {
			list = append(list, s)
		}
	}
	return field{list, len(list) > 0}, true
}

func texts(v any) (list []string, ok bool) {
	items, isList := v.([]any)
	for _, item := range items {
		s, text := item.(string)
		if !text {
			return nil, false
		}
		list = append(list, s)
	}
	return list, isList || v == nil
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}
