package merge

import (
	"slices"

	"svc/domain/document"
)

// order returns the keys of values in the order they are written in, which is
// content. Keys that both sides have stand as in the side that moved them, or as
// in ours; when both did, differently, the mapping conflicts. A key that one side
// has alone comes behind the one it follows there, and the new keys of ours before
// those of theirs.
//
// The order of the document itself is not asked for: it is that of its kind.
func (k *keys) order(values map[string]any, base, ours, theirs *document.Map) []string {
	in := func(m *document.Map) func(string) bool {
		return func(key string) bool { _, ok := m.Get(key); return ok }
	}
	kept := func(key string) bool { _, ok := values[key]; return ok }
	o, t := filter(ours.Keys(), kept), filter(theirs.Keys(), kept)
	both, yours := filter(o, in(theirs)), filter(t, in(ours))
	if !slices.Equal(both, yours) {
		before := filter(base.Keys(), func(key string) bool { return kept(key) && in(ours)(key) && in(theirs)(key) })
		switch {
		case slices.Equal(before, filter(yours, in(base))):
		case slices.Equal(before, filter(both, in(base))):
			both = yours
		case len(k.way) > 0:
			k.conflict()
		}
	}
	merged := insert(both, o, 0)
	first := 0 // behind the last key that ours has alone
	for i, key := range merged {
		if !in(theirs)(key) {
			first = i + 1
		}
	}
	return insert(merged, t, first)
}

func filter(list []string, keep func(string) bool) []string {
	var kept []string
	for _, s := range list {
		if keep(s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// insert puts the keys that only side has into list: each behind the one it
// follows in side, but none before position first.
func insert(list, side []string, first int) []string {
	behind := make(map[string]int, len(list))
	for i, key := range list {
		behind[key] = i + 1
	}
	news := make([][]string, len(list)+1) // by the position they come to
	at := 0
	for _, key := range side {
		if position, known := behind[key]; known {
			at = position
			continue
		}
		news[max(at, first)] = append(news[max(at, first)], key)
	}
	merged := news[0]
	for i, key := range list {
		merged = append(append(merged, key), news[i+1]...)
	}
	return merged
}
