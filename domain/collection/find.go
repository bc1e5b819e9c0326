package collection

import (
	"math"
	"slices"
	"strings"

	"svc/domain/automation/value"
)

// options are how the rows of a read are chosen and shown.
type options struct {
	sort  []sortKey
	skip  int
	limit int
	pick  *selection // nil: every field
	alias bool       // rows have their id as _id, too
}

type sortKey struct {
	path string
	desc bool
}

// defaultLimit is how many rows a read returns that does not say.
const defaultLimit = 1000

// readOptions reads {sort, limit, skip or page, fields, idAlias}.
func readOptions(v any, limits Limits) (options, error) {
	o := options{limit: min(defaultLimit, limits.MaxLimit)}
	given, err := optionsObject(v, "sort", "limit", "skip", "page", "fields", "idAlias")
	if err != nil {
		return o, err
	}
	if o.sort, err = readSort(given.At("sort")); err != nil {
		return o, err
	}
	if len(o.sort) > 0 && o.sort[0] == (sortKey{path: fieldID}) {
		o.sort = nil // the order that rows are in
	}
	if o.limit, err = readCount(given, "limit", o.limit); err != nil {
		return o, err
	}
	if o.limit > limits.MaxLimit {
		return o, with(Refuse(TooLarge, "a read returns at most %d rows", limits.MaxLimit), "limit", float64(limits.MaxLimit))
	}
	if o.skip, err = readSkip(given, o.limit); err != nil {
		return o, err
	}
	if v := given.At("idAlias"); !value.IsNothing(v) {
		var ok bool
		if o.alias, ok = v.(bool); !ok {
			return o, Refuse(Validation, "opts.idAlias: expected boolean, got %s", value.Kind(v))
		}
	}
	o.pick, err = readSelection(given.At("fields"))
	return o, err
}

// show returns a row as the read shows it.
func (o options) show(row *value.Object) *value.Object {
	row = o.pick.apply(row)
	if !o.alias {
		return row
	}
	shown := value.NewObject(aliasID, row.At(fieldID))
	for _, key := range row.Keys() {
		shown.Set(key, row.At(key))
	}
	return shown
}

func optionsObject(v any, known ...string) (*value.Object, error) {
	if value.IsNothing(v) {
		return nil, nil
	}
	o, ok := v.(*value.Object)
	if !ok {
		return nil, Refuse(Validation, "opts is an object")
	}
	for _, key := range o.Keys() {
		if !slices.Contains(known, key) {
			return nil, Refuse(Validation, "opts has no %s", key)
		}
	}
	return o, nil
}

func readSkip(given *value.Object, limit int) (int, error) {
	skip, err := readCount(given, "skip", 0)
	if err != nil {
		return 0, err
	}
	page, err := readCount(given, "page", 0)
	if err != nil {
		return 0, err
	}
	if !value.IsNothing(given.At("page")) && !value.IsNothing(given.At("skip")) {
		return 0, Refuse(BadQuery, "skip and page cannot both be given")
	}
	page = max(page, 1) - 1 // the first page is 1
	if page > 0 && limit > math.MaxInt32/page {
		return 0, Refuse(BadQuery, "page is too large")
	}
	return skip + page*limit, nil
}

// readCount reads a whole number that is not negative.
func readCount(o *value.Object, key string, standard int) (int, error) {
	v := o.At(key)
	if value.IsNothing(v) {
		return standard, nil
	}
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		return 0, Refuse(BadQuery, "%s is a whole number from 0 on", key)
	}
	return int(n), nil
}

// readSort reads {field: 1 or -1}.
func readSort(v any) ([]sortKey, error) {
	if value.IsNothing(v) {
		return nil, nil
	}
	o, ok := v.(*value.Object)
	if !ok || o.Len() > maxPaths {
		return nil, Refuse(BadQuery, "sort is an object of at most %d fields and 1 or -1", maxPaths)
	}
	var keys []sortKey
	for _, path := range o.Keys() {
		direction, ok := o.At(path).(float64)
		if !ok || direction != 1 && direction != -1 {
			return nil, Refuse(BadQuery, "sort has 1 or -1 for a field, as for %s", path)
		}
		keys = append(keys, sortKey{unalias(path), direction < 0})
	}
	return keys, nil
}

// at returns what stands at a path of a row.
func at(row any, path string) any {
	o, ok := row.(*value.Object)
	if !ok {
		return value.Undefined
	}
	if v, ok := o.Get(path); ok {
		return v
	}
	return value.Walk(row, strings.Split(path, ".")...)
}

// find returns the rows of a read, and how many meet the query when they are to be
// counted.
func find(r reader, info *Info, q *query, o options, count bool) (rows []*value.Object, total int, err error) {
	if info == nil {
		return nil, 0, nil
	}
	p := planFor(info, q)
	_, drafted := r.View.(*Draft)
	if len(o.sort) == 0 && p.inOrder && (p.index == nil || !drafted) {
		if !count || !q.empty() || drafted {
			return p.findInOrder(r, info, q, o, count)
		}
		if rows, _, err = p.findInOrder(r, info, q, o, false); err != nil {
			return nil, 0, err
		}
		all, _, err := r.Stats(info.Collection) // which are counted already
		return rows, int(all), err
	}
	return p.findSorted(r, info, q, o)
}

// findInOrder takes rows as they come, and stops when it has all.
func (p plan) findInOrder(r reader, info *Info, q *query, o options, count bool) (rows []*value.Object, total int, err error) {
	held := 0
	err = p.each(r, info, q, func(_ string, row Row) (bool, error) {
		total++
		if total <= o.skip || len(rows) >= o.limit {
			return count || len(rows) < o.limit, nil
		}
		found, err := row.Object()
		if err != nil {
			return false, err
		}
		rows = append(rows, o.show(found))
		held += roughSize(found)
		return count || len(rows) < o.limit, tooHeavy(held)
	})
	return rows, total, err
}

// findSorted sees all rows, keeps what the first ones are sorted by, and reads those
// that are asked for at the end.
func (p plan) findSorted(r reader, info *Info, q *query, o options) (rows []*value.Object, total int, err error) {
	keep := o.skip + o.limit
	if keep > maxSorted {
		return nil, 0, with(Refuse(TooLarge, "a sorted read reaches at most %d rows far", maxSorted), "limit", float64(maxSorted))
	}
	first, held, fields := &top{keys: o.sort}, 0, o.sortFields()
	err = p.each(r, info, q, func(id string, row Row) (bool, error) {
		total++
		if keep == 0 {
			return true, nil
		}
		part, err := row.some(fields)
		if err != nil {
			return false, err
		}
		s := &sorted{keys: o.keysOf(part), id: id}
		s.size = roughSize(s.keys) + len(id)
		held += first.offer(s, keep)
		return true, tooHeavy(held)
	})
	if err != nil {
		return nil, 0, err
	}
	rows, err = first.read(r, info, o)
	return rows, total, err
}

func (o options) keysOf(row *value.Object) []any {
	keys := make([]any, len(o.sort))
	for i, key := range o.sort {
		keys[i] = at(row, key.path)
	}
	return keys
}
