package merge

import (
	"slices"

	"svc/domain/document"
)

// maxConflicts is how many conflicting keys of a document are reported. For more, a person
// looks at the text.
const maxConflicts = 1000

// Keys merges two changes of a document by key: a change of one side is taken, mappings
// that both sides changed are merged recursively, any other difference conflicts. Scalars
// and lists are one value, but the document keys named in sets hold lists of texts without
// order, to which either side may add and remove.
//
// conflicts has the path of keys to each conflict. merged has the value of ours there.
func Keys(base, ours, theirs *document.Map, sets ...string) (merged *document.Map, conflicts [][]string) {
	k := &keyMerge{sets: sets}
	merged = k.mergeMaps(base, ours, theirs)
	return merged, k.conflicts
}

type keyMerge struct {
	sets      []string
	path      []string // to the value that is being merged
	conflicts [][]string
}

func (k *keyMerge) addConflict() {
	if len(k.conflicts) < maxConflicts {
		k.conflicts = append(k.conflicts, slices.Clone(k.path))
	}
}

// field is the value of a key, if it exists.
type field struct {
	value  any
	exists bool
}

func fieldOf(m *document.Map, key string) field {
	v, ok := m.Get(key)
	return field{v, ok}
}

func equalFields(a, b field) bool { return a.exists == b.exists && document.Equal(a.value, b.value) }

func (k *keyMerge) mergeMaps(base, ours, theirs *document.Map) *document.Map {
	values := map[string]any{}
	onlyTheirs := filter(theirs.Keys(), func(key string) bool { return !fieldOf(ours, key).exists })
	for _, key := range slices.Concat(ours.Keys(), onlyTheirs) {
		k.path = append(k.path, key)
		if f := k.mergeFields(fieldOf(base, key), fieldOf(ours, key), fieldOf(theirs, key)); f.exists {
			values[key] = f.value
		}
		k.path = k.path[:len(k.path)-1]
	}
	merged := document.MapOf()
	for _, key := range k.orderKeys(values, base, ours, theirs) {
		merged.Set(key, values[key])
	}
	return merged
}

func (k *keyMerge) mergeFields(base, ours, theirs field) field {
	switch {
	case equalFields(ours, theirs), equalFields(base, theirs):
		return ours
	case equalFields(base, ours):
		return theirs
	}
	if len(k.path) == 1 && slices.Contains(k.sets, k.path[0]) {
		if merged, ok := mergeSets(base, ours, theirs); ok {
			return merged
		}
	}
	o, isMap := ours.value.(*document.Map)
	t, bothAre := theirs.value.(*document.Map)
	if isMap && bothAre {
		b, _ := base.value.(*document.Map)
		return field{k.mergeMaps(b, o, t), true}
	}
	k.addConflict()
	return ours
}

// mergeSets merges lists of texts as sets: removals and additions of both sides count. ok
// is false when one of them is no list of texts.
func mergeSets(base, ours, theirs field) (merged field, ok bool) {
	b, bOK := stringsOf(base.value)
	o, oOK := stringsOf(ours.value)
	t, tOK := stringsOf(theirs.value)
	if !bOK || !oOK || !tOK {
		return field{}, false
	}
	inBase, inOurs, inTheirs := setOf(b), setOf(o), setOf(t)
	var list []any
	for _, s := range o {
		if inTheirs[s] || !inBase[s] {
			list = append(list, s)
		}
	}
	for _, s := range t {
		if !inOurs[s] && !inBase[s] {
			list = append(list, s)
		}
	}
	return field{list, len(list) > 0}, true
}

func stringsOf(v any) (list []string, ok bool) {
	items, isList := v.([]any)
	for _, item := range items {
		s, isText := item.(string)
		if !isText {
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

// orderKeys returns the keys of values in the order they are written in, which is content.
// Keys of both sides have the order of the side that moved them, else that of ours; when
// both moved them differently, the mapping conflicts. A key that only one side has follows
// the key before it on that side, new keys of ours before those of theirs.
//
// The order of the document itself does not matter: its kind determines it.
func (k *keyMerge) orderKeys(values map[string]any, base, ours, theirs *document.Map) []string {
	in := func(m *document.Map) func(string) bool {
		return func(key string) bool { _, ok := m.Get(key); return ok }
	}
	merged := func(key string) bool { _, ok := values[key]; return ok }
	o, t := filter(ours.Keys(), merged), filter(theirs.Keys(), merged)
	common, commonTheirs := filter(o, in(theirs)), filter(t, in(ours))
	if !slices.Equal(common, commonTheirs) {
		commonBase := filter(base.Keys(), func(key string) bool { return merged(key) && in(ours)(key) && in(theirs)(key) })
		switch {
		case slices.Equal(commonBase, filter(commonTheirs, in(base))):
		case slices.Equal(commonBase, filter(common, in(base))):
			common = commonTheirs
		case len(k.path) > 0:
			k.addConflict()
		}
	}
	keys := insertKeys(common, o, 0)
	first := 0 // behind the last key that only ours has
	for i, key := range keys {
		if !in(theirs)(key) {
			first = i + 1
		}
	}
	return insertKeys(keys, t, first)
}

func filter(list []string, match func(string) bool) []string {
	var matching []string
	for _, s := range list {
		if match(s) {
			matching = append(matching, s)
		}
	}
	return matching
}

// insertKeys inserts the keys that only side has into list: each behind its predecessor in
// side, but none before position first.
func insertKeys(list, side []string, first int) []string {
	behind := make(map[string]int, len(list))
	for i, key := range list {
		behind[key] = i + 1
	}
	inserted := make([][]string, len(list)+1) // by position
	at := 0
	for _, key := range side {
		if position, known := behind[key]; known {
			at = position
			continue
		}
		inserted[max(at, first)] = append(inserted[max(at, first)], key)
	}
	merged := inserted[0]
	for i, key := range list {
		merged = append(append(merged, key), inserted[i+1]...)
	}
	return merged
}
