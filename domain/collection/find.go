package collection

import (
	"bytes"
	"container/heap"
	"math"
	"slices"
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/value"
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
		return o, withDetail(Refuse(TooLarge, "a read returns at most %d rows", limits.MaxLimit), "limit", float64(limits.MaxLimit))
	}
	if o.skip, err = readSkip(given, o.limit); err != nil {
		return o, err
	}
	if v := given.At("idAlias"); !value.IsNothing(v) {
		var ok bool
		if o.alias, ok = v.(bool); !ok {
			return o, Refuse(Validation, "opts.idAlias: expected boolean, got %s", value.TypeName(v))
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
	withAlias := value.NewObject(aliasID, row.At(fieldID))
	for _, key := range row.Keys() {
		withAlias.Set(key, row.At(key))
	}
	return withAlias
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

// valueAt returns the value at a path of a row.
func valueAt(row any, path string) any {
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

// findInOrder returns the rows in the order in which they are read, and stops when it has all.
func (p plan) findInOrder(r reader, info *Info, q *query, o options, count bool) (rows []*value.Object, total int, err error) {
	usedBytes := 0
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
		usedBytes += roughSize(found)
		return count || len(rows) < o.limit, tooMuchMemoryError(usedBytes)
	})
	return rows, total, err
}

// findSorted visits all rows, holds the sort keys of the first ones, and reads the requested rows at the end.
func (p plan) findSorted(r reader, info *Info, q *query, o options) (rows []*value.Object, total int, err error) {
	wanted := o.skip + o.limit
	if wanted > maxSorted {
		return nil, 0, withDetail(Refuse(TooLarge, "a sorted read reaches at most %d rows far", maxSorted), "limit", float64(maxSorted))
	}
	first, usedBytes, fields := &firstRows{keys: o.sort}, 0, o.sortFields()
	err = p.each(r, info, q, func(id string, row Row) (bool, error) {
		total++
		if wanted == 0 {
			return true, nil
		}
		part, err := row.some(fields)
		if err != nil {
			return false, err
		}
		s := &sorted{keys: o.keysOf(part), id: id}
		s.size = roughSize(s.keys) + len(id)
		usedBytes += first.offerRow(s, wanted)
		return true, tooMuchMemoryError(usedBytes)
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
		keys[i] = valueAt(row, key.path)
	}
	return keys
}

// readCall makes a call of a read of one collection, which may not exist.
func (p *parameters) readCall(read func(r reader, info *Info) (any, error)) *Call {
	t := p.target
	return &Call{read: func(r reader) (any, error) {
		info, err := findCollection(r, t.schema, t.name)
		if err != nil {
			return nil, err
		}
		return read(r, info)
	}}
}

// selecting reads the query and the options of a read.
func (p *parameters) selecting() (*query, options, error) {
	q, err := compileQuery(p.At("query"))
	if err != nil {
		return nil, options{}, err
	}
	o, err := readOptions(p.At("opts"), p.limits)
	return q, o, err
}

func prepareFindOne(p *parameters) (*Call, error) {
	q, o, err := p.selecting()
	if err != nil {
		return nil, err
	}
	o.limit = 1
	return p.readCall(func(r reader, info *Info) (any, error) {
		rows, _, err := find(r, info, q, o, false)
		if err != nil || len(rows) == 0 {
			return value.Undefined, err
		}
		return rows[0], nil
	}), nil
}

func prepareFindMany(p *parameters) (*Call, error) {
	q, o, err := p.selecting()
	if err != nil {
		return nil, err
	}
	return p.readCall(func(r reader, info *Info) (any, error) {
		rows, _, err := find(r, info, q, o, false)
		return asList(rows), err
	}), nil
}

func prepareFindAndCount(p *parameters) (*Call, error) {
	q, o, err := p.selecting()
	if err != nil {
		return nil, err
	}
	return p.readCall(func(r reader, info *Info) (any, error) {
		rows, total, err := find(r, info, q, o, true)
		return []any{asList(rows), float64(total)}, err
	}), nil
}

func asList(rows []*value.Object) []any {
	list := make([]any, len(rows))
	for i, row := range rows {
		list[i] = row
	}
	return list
}

func prepareCount(p *parameters) (*Call, error) {
	q, _, err := p.selecting()
	if err != nil {
		return nil, err
	}
	return p.readCall(func(r reader, info *Info) (any, error) {
		if info == nil {
			return 0.0, nil
		}
		if q.empty() {
			rows, _, err := r.Stats(info.Collection)
			return float64(rows), err
		}
		total := 0
		err := planFor(info, q).each(r, info, q, func(string, Row) (bool, error) {
			total++
			return true, nil
		})
		return float64(total), err
	}), nil
}

func prepareDistinct(p *parameters) (*Call, error) {
	q, _, err := p.selecting()
	if err != nil {
		return nil, err
	}
	field, ok := p.At("field").(string)
	if !ok || field == "" {
		return nil, Refuse(Validation, "field is the name of a field")
	}
	most := p.limits.MaxLimit
	return p.readCall(func(r reader, info *Info) (any, error) {
		if info == nil {
			return []any{}, nil
		}
		seen, usedBytes, fields := map[string]any{}, 0, []string{fieldOf(unalias(field))}
		err := planFor(info, q).each(r, info, q, func(_ string, row Row) (bool, error) {
			part, err := row.some(fields)
			if err != nil {
				return false, err
			}
			collectDistinct(valueAt(part, unalias(field)), func(v any) {
				key := string(Key(nil, v))
				if _, ok := seen[key]; !ok {
					usedBytes += roughSize(v)
				}
				seen[key] = v
			})
			if len(seen) > most {
				return false, withDetail(Refuse(TooLarge, "there are more than %d distinct values", most), "limit", float64(most))
			}
			return true, tooMuchMemoryError(usedBytes)
		})
		return inOrderOfKeys(seen), err
	}), nil
}

// collectDistinct visits a value, or the items of a list; nothing if it is absent.
func collectDistinct(v any, visit func(any)) {
	if list, ok := v.([]any); ok {
		for _, item := range list {
			visit(item)
		}
		return
	}
	if !value.IsUndefined(v) {
		visit(v)
	}
}

// inOrderOfKeys returns values in the order of sort.
func inOrderOfKeys(seen map[string]any) []any {
	keys := make([]string, 0, len(seen))
	for key := range seen {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if order := Compare(seen[a], seen[b]); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	list := make([]any, len(keys))
	for i, key := range keys {
		list[i] = seen[key]
	}
	return list
}

// sortedCollections returns the collections of a schema in the order of their names.
func sortedCollections(v View, schema string) ([]*Info, error) {
	infos, err := v.Infos()
	var found []*Info
	for _, info := range infos {
		if info.Schema == schema {
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b *Info) int { return strings.Compare(a.Name, b.Name) })
	return found, err
}

func prepareList(p *parameters) (*Call, error) {
	schema := p.target.schema
	return &Call{read: func(r reader) (any, error) {
		infos, err := sortedCollections(r, schema)
		list := make([]any, len(infos))
		for i, info := range infos {
			list[i] = info.Name
		}
		return list, err
	}}, nil
}

func prepareSchemas(p *parameters) (*Call, error) {
	t := p.target
	return &Call{read: func(r reader) (any, error) {
		infos, err := sortedCollections(r, t.schema)
		list := []any{}
		for _, info := range infos {
			if t.name == "" || info.Name == t.name {
				list = append(list, info.summary())
			}
		}
		return list, err
	}}, nil
}

// summary returns what is declared of a collection.
func (i *Info) summary() *value.Object {
	d := i.Declaration
	if d == nil {
		d = &Declaration{}
	}
	summary, declared := value.NewObject("collection", i.Name), d.Object()
	for _, key := range declared.Keys() {
		summary.Set(key, declared.At(key))
	}
	return summary
}

func prepareStats(p *parameters) (*Call, error) {
	return p.readCall(func(r reader, info *Info) (any, error) {
		if info == nil {
			return value.NewObject("rows", 0.0, "bytes", 0.0, "indexes", 0.0), nil
		}
		rows, size, err := r.Stats(info.Collection)
		return value.NewObject("rows", float64(rows), "bytes", float64(size), "indexes", float64(len(info.Declaration.All()))), err
	}), nil
}

// plan is how the rows that may meet a query are found.
type plan struct {
	ids    []string // by id, in order; when byID
	byID   bool
	index  *Index // by an index; nil: all rows
	ranges []Range
	// inOrder says that rows come in the order of their ids, each once.
	inOrder bool
}

// maxRanges is how many ranges of an index are read for one query.
const maxRanges = 10_000

// planFor chooses the plan that should read the fewest rows: by id, by the most
// fields of an index that are asked for by value, and then by a range.
func planFor(info *Info, q *query) plan {
	wanted := map[string]*demand{}
	collectDemands(q.cond, wanted)
	if a := wanted[fieldID]; a != nil && a.values != nil {
		return plan{byID: true, ids: idsOf(a.values), inOrder: true}
	}
	best, most := plan{inOrder: true}, 0
	for _, x := range info.Declaration.All() {
		ranges, score, whole := info.Declaration.ranges(x, wanted)
		if score > most {
			best, most = plan{index: &x, ranges: ranges, inOrder: whole && len(ranges) <= 1}, score
		}
	}
	return best
}

func idsOf(values []any) []string {
	ids := []string{}
	for _, v := range values {
		if id, ok := v.(string); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ranges returns the ranges of an index with the rows that can match, how much that helps,
// 0 when it does not, and whether each range is one whole key.
func (d *Declaration) ranges(x Index, wanted map[string]*demand) (ranges []Range, score int, whole bool) {
	prefixes, byValue := [][]byte{nil}, 0
	for _, field := range x.Fields {
		a := wanted[field]
		if a == nil || !d.scalar(field) && (x.Unique || len(x.Fields) > 1) {
			break // a value may stand in an array, which has a key of its own
		}
		absent := x.Unique && slices.ContainsFunc(a.values, value.IsNothing) // a unique has no keys for such rows
		if a.values != nil && len(a.values)*len(prefixes) <= maxRanges && !absent {
			prefixes = appendToEach(prefixes, a.values)
			byValue++
			continue
		}
		if len(a.bounds) > 0 && d.scalar(field) && !x.Unique {
			for _, prefix := range prefixes {
				ranges = append(ranges, a.keyRange(prefix))
			}
			return inKeyOrder(ranges), 10*byValue + 3, false
		}
		break
	}
	whole = byValue == len(x.Fields)
	if byValue == 0 || x.Unique && !whole {
		return nil, 0, false // a unique leaves out rows without a value: it is of use as a whole only
	}
	for _, prefix := range prefixes {
		ranges = append(ranges, prefixRange(prefix))
	}
	return inKeyOrder(ranges), 10*byValue + 5*truth(whole), whole
}

// appendToEach returns every prefix with every value behind it.
func appendToEach(prefixes [][]byte, values []any) [][]byte {
	var all [][]byte
	for _, prefix := range prefixes {
		for _, v := range values {
			all = append(all, Key(slices.Clone(prefix), v))
		}
	}
	return all
}

func inKeyOrder(ranges []Range) []Range {
	slices.SortFunc(ranges, func(a, b Range) int { return bytes.Compare(a.From, b.From) })
	return slices.CompactFunc(ranges, func(a, b Range) bool { return bytes.Equal(a.From, b.From) && bytes.Equal(a.To, b.To) })
}

// within returns what two ranges share.
func (r Range) within(other Range) Range {
	if bytes.Compare(other.From, r.From) > 0 {
		r.From = other.From
	}
	if r.To == nil || other.To != nil && bytes.Compare(other.To, r.To) < 0 {
		r.To = other.To
	}
	return r
}

// eachMatch visits the rows that meet a query, whole.
func eachMatch(r reader, info *Info, q *query, visit func(id string, row *value.Object) (more bool, err error)) error {
	return planFor(info, q).whole(r, info, q, visit)
}

func (p plan) whole(r reader, info *Info, q *query, visit func(string, *value.Object) (bool, error)) error {
	return p.each(r, info, q, func(id string, row Row) (bool, error) {
		o, err := row.Object()
		if err != nil {
			return false, err
		}
		return visit(id, o)
	})
}

// each visits the rows that meet a query as they are stored.
func (p plan) each(r reader, info *Info, q *query, visit func(string, Row) (bool, error)) error {
	test := func(id string, row Row) (bool, error) {
		fits, err := q.matches(r.budget, row)
		if err != nil || !fits {
			return true, err
		}
		return visit(id, row)
	}
	if p.byID {
		return p.eachByID(r, info, test)
	}
	if p.index == nil {
		return r.Rows(info.Collection, nil, nil, test)
	}
	if len(p.ranges) == 0 {
		return nil
	}
	seen := map[string]bool{} // a row with several keys is one row
	return r.Rows(info.Collection, p.ranges, p.index, func(id string, row Row) (bool, error) {
		if seen[id] {
			return true, nil
		}
		seen[id] = true
		return test(id, row)
	})
}

func (p plan) eachByID(r reader, info *Info, test func(string, Row) (bool, error)) error {
	for _, id := range p.ids {
		if err := r.spend(1); err != nil {
			return err
		}
		row, err := r.Row(info.Collection, id)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		if more, err := test(id, Row{whole: row}); err != nil || !more {
			return err
		}
	}
	return nil
}

// query is a condition on rows.
type query struct {
	cond    *value.Object
	matcher *expr.Matcher
	fields  []string // of rows that it looks at
}

// compileQuery reads a condition. Nothing is a condition that all rows meet.
func compileQuery(v any) (*query, error) {
	if value.IsNothing(v) {
		v = &value.Object{}
	}
	cond, ok := v.(*value.Object)
	if !ok {
		return nil, Refuse(BadQuery, "a query is an object, not %s", value.TypeName(v))
	}
	cond = aliased(cond, 0)
	matcher, err := expr.CompileMatcher(cond, false)
	if err != nil {
		return nil, Refuse(BadQuery, "the query is not understood: %s", err)
	}
	return newQuery(cond, matcher)
}

func newQuery(cond *value.Object, m *expr.Matcher) (*query, error) {
	q := &query{cond: cond, matcher: m}
	if q.collectFields(cond); len(q.fields) > maxPaths {
		return nil, Refuse(BadQuery, "a query looks at no more than %d fields", maxPaths)
	}
	return q, nil
}

// collectFields collects the fields of a condition, up to a limit.
func (q *query) collectFields(cond *value.Object) {
	for _, key := range cond.Keys() {
		if list, ok := cond.At(key).([]any); ok && strings.HasPrefix(key, "$") {
			for _, item := range list {
				if inner, ok := item.(*value.Object); ok {
					q.collectFields(inner)
				}
			}
			continue
		}
		if field := fieldOf(key); len(q.fields) <= maxPaths && !slices.Contains(q.fields, field) {
			q.fields = append(q.fields, field)
		}
	}
}

// fieldOf returns the field that a path begins with.
func fieldOf(path string) string {
	field, _, _ := strings.Cut(path, ".")
	return field
}

// aliased returns a condition with _id called id.
func aliased(cond *value.Object, depth int) *value.Object {
	made := &value.Object{}
	for _, key := range cond.Keys() {
		v := cond.At(key)
		if list, ok := v.([]any); ok && strings.HasPrefix(key, "$") && depth < expr.MaxDepth {
			items := make([]any, len(list))
			for i, item := range list {
				items[i] = item
				if inner, ok := item.(*value.Object); ok {
					items[i] = aliased(inner, depth+1)
				}
			}
			v = items
		}
		if _, both := made.Get(unalias(key)); both {
			continue // id counts, of the two
		}
		made.Set(unalias(key), v)
	}
	return made
}

// matches reports whether a row meets the query, without reading more of it than that
// takes.
func (q *query) matches(e *budget, row Row) (bool, error) {
	if q.empty() {
		return true, e.spend(1)
	}
	part, err := row.some(q.fields)
	if err != nil {
		return false, err
	}
	return q.match(e, part)
}

// match reports whether an object meets the query.
func (q *query) match(e *budget, row *value.Object) (bool, error) {
	fits, spent, err := q.matcher.MatchWithin(row, matchSteps)
	if err != nil {
		return false, Refuse(BadQuery, "the query cannot be evaluated: %s", err)
	}
	return fits, e.spend(1 + spent/stepSize) // it counts bytes, and instructions for each
}

// empty reports whether nothing is asked of a row.
func (q *query) empty() bool { return emptyCondition(q.cond) }

func emptyCondition(cond *value.Object) bool {
	return !slices.ContainsFunc(cond.Keys(), func(key string) bool {
		list, ok := cond.At(key).([]any)
		return !ok || key != "$and" || slices.ContainsFunc(list, func(item any) bool {
			inner, ok := item.(*value.Object)
			return !ok || !emptyCondition(inner)
		})
	})
}

// demand is the condition of a query on one field: one of some values, or a range.
type demand struct {
	values []any // nil: no condition by value
	bounds []bound
}

// bound is one end of a range.
type bound struct {
	op string
	v  any
}

// collectDemands collects the conditions that every matching row meets: those joined by
// and.
func collectDemands(cond *value.Object, into map[string]*demand) {
	for _, key := range cond.Keys() {
		v := cond.At(key)
		if key == "$and" {
			list, _ := v.([]any)
			for _, item := range list {
				if inner, ok := item.(*value.Object); ok {
					collectDemands(inner, into)
				}
			}
			continue
		}
		if strings.HasPrefix(key, "$") {
			continue
		}
		if into[key] == nil {
			into[key] = &demand{}
		}
		into[key].read(v)
	}
}

func (a *demand) read(v any) {
	o, ok := v.(*value.Object)
	if !ok || !slices.ContainsFunc(o.Keys(), func(key string) bool { return strings.HasPrefix(key, "$") }) {
		a.narrow([]any{v})
		return
	}
	for _, op := range o.Keys() {
		operand := o.At(op)
		switch op {
		case "$eq":
			a.narrow([]any{operand})
		case "$in":
			if list, ok := operand.([]any); ok {
				a.narrow(list)
			}
		case "$gt", "$gte", "$lt", "$lte":
			a.bounds = append(a.bounds, bound{op, operand})
		}
	}
}

// narrow keeps the shorter one of two lists of values: both must be met.
func (a *demand) narrow(values []any) {
	if a.values == nil || len(values) < len(a.values) {
		a.values = values
		if values == nil {
			a.values = []any{}
		}
	}
}

// keyRange returns the keys of a range behind a prefix. What is equal to an open end
// is in it too: the query is asked again of what is found.
func (a *demand) keyRange(prefix []byte) Range {
	r := prefixRange(prefix)
	for _, b := range a.bounds {
		rank := rankOf(b.v)
		if rank != rankNumber && rank != rankString {
			return Range{prefix, []byte{}} // nothing compares with it
		}
		kind := prefixRange(append(slices.Clone(prefix), rank))
		key := prefixRange(boundKey(slices.Clone(prefix), b.v))
		if strings.HasPrefix(b.op, "$g") {
			r = r.within(Range{key.From, kind.To})
		} else {
			r = r.within(Range{kind.From, key.To})
		}
	}
	return r
}

// boundKey is the key of an end of a range. Long texts are in no order behind their
// beginning: of such an end only that counts.
func boundKey(prefix []byte, v any) []byte {
	text, ok := v.(string)
	if !ok || len(text) <= longText {
		return Key(prefix, v)
	}
	key := Key(prefix, text[:longText])
	return key[:len(key)-2]
}

// sorted is what a row is sorted by.
type sorted struct {
	keys []any
	id   string
	size int
}

// comesBefore reports which of two rows is first; ties are broken by id.
func comesBefore(keys []sortKey, a, b *sorted) bool {
	for i, key := range keys {
		order := Compare(a.keys[i], b.keys[i])
		if key.desc {
			order = -order
		}
		if order != 0 {
			return order < 0
		}
	}
	return a.id < b.id
}

// firstRows is a heap of the first rows in the order of keys; the last of them is on top.
type firstRows struct {
	keys []sortKey
	rows []*sorted
}

// Len implements heap.Interface.
func (t *firstRows) Len() int { return len(t.rows) }

// Less implements heap.Interface.
func (t *firstRows) Less(i, j int) bool { return comesBefore(t.keys, t.rows[j], t.rows[i]) }

// Swap implements heap.Interface.
func (t *firstRows) Swap(i, j int) { t.rows[i], t.rows[j] = t.rows[j], t.rows[i] }

// Push implements heap.Interface.
func (t *firstRows) Push(x any) { t.rows = append(t.rows, x.(*sorted)) }

// Pop implements heap.Interface.
func (t *firstRows) Pop() any {
	last := t.rows[len(t.rows)-1]
	t.rows = t.rows[:len(t.rows)-1]
	return last
}

// offerRow adds a row if it is one of the first, and returns how much more memory is used.
func (t *firstRows) offerRow(s *sorted, limit int) int {
	if len(t.rows) < limit {
		heap.Push(t, s)
		return s.size
	}
	last := t.rows[0]
	if !comesBefore(t.keys, s, last) {
		return 0
	}
	t.rows[0] = s
	heap.Fix(t, 0)
	return s.size - last.size
}

// read returns the rows, without those to be skipped.
func (t *firstRows) read(r reader, info *Info, o options) (rows []*value.Object, err error) {
	slices.SortFunc(t.rows, func(a, b *sorted) int { return truth(comesBefore(t.keys, b, a)) - truth(comesBefore(t.keys, a, b)) })
	usedBytes := 0
	for _, s := range t.rows[min(o.skip, len(t.rows)):] {
		row, err := r.Row(info.Collection, s.id)
		if err != nil {
			return nil, err
		}
		rows = append(rows, o.show(row))
		if usedBytes += roughSize(row); usedBytes > maxMemory {
			return nil, tooMuchMemoryError(usedBytes)
		}
	}
	return rows, nil
}

// sortFields returns the fields of a sort.
func (o options) sortFields() []string {
	fields := make([]string, len(o.sort))
	for i, key := range o.sort {
		fields[i] = fieldOf(key.path)
	}
	return fields
}

// sorting is a sink that collects all rows and passes them on in order.
func sorting(e *budget, keys []sortKey, next sink) sink {
	var rows []*value.Object
	usedBytes := 0
	return sink{
		add: func(row *value.Object) (bool, error) {
			size, err := e.weigh(row)
			if err != nil {
				return false, err
			}
			rows = append(rows, row)
			usedBytes += size
			return true, tooMuchMemoryError(usedBytes)
		},
		end: func() error {
			if err := sortRows(e, keys, rows); err != nil {
				return err
			}
			return passRows(rows, next)
		},
	}
}

// sortRows sorts rows. When that costs too much it compares no more.
func sortRows(e *budget, keys []sortKey, rows []*value.Object) (err error) {
	slices.SortStableFunc(rows, func(a, b *value.Object) int {
		if err == nil {
			err = e.spend(len(keys))
		}
		if err != nil {
			return 0
		}
		return compareBy(keys, a, b)
	})
	return err
}

func compareBy(keys []sortKey, a, b *value.Object) int {
	for _, key := range keys {
		order := Compare(aggregateField(a, key.path), aggregateField(b, key.path))
		if key.desc {
			order = -order
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

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
		wanted, ok := readFlag(o.At(name))
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

// readFlag reads 1, 0, true or false.
func readFlag(v any) (on, ok bool) {
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
	selected := value.NewObject(fieldID, row.At(fieldID))
	for _, key := range row.Keys() {
		if key == fieldID {
			continue
		}
		whole, below := s.pathsBelow(key)
		switch {
		case s.exclude && !whole:
			selected.Set(key, omitPaths(row.At(key), below))
		case !s.exclude && whole:
			selected.Set(key, row.At(key))
		case !s.exclude && len(below) > 0:
			selected.Set(key, selectPaths(row.At(key), below))
		}
	}
	return selected
}

// pathsBelow returns whether a field is named itself, and the paths below it that are.
func (s *selection) pathsBelow(key string) (whole bool, below [][]string) {
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

// selectPaths returns an object with nothing but these paths; of a list, of each of its
// items.
func selectPaths(v any, paths [][]string) any {
	switch v := v.(type) {
	case []any:
		return mapItems(v, func(item any) any { return selectPaths(item, paths) })
	case *value.Object:
		made := &value.Object{}
		for _, key := range v.Keys() {
			whole, below := splitPaths(paths, key)
			if whole {
				made.Set(key, v.At(key))
			} else if len(below) > 0 {
				made.Set(key, selectPaths(v.At(key), below))
			}
		}
		return made
	}
	return value.Undefined
}

// omitPaths returns an object without these paths.
func omitPaths(v any, paths [][]string) any {
	if len(paths) == 0 {
		return v
	}
	switch v := v.(type) {
	case []any:
		return mapItems(v, func(item any) any { return omitPaths(item, paths) })
	case *value.Object:
		made := &value.Object{}
		for _, key := range v.Keys() {
			if whole, below := splitPaths(paths, key); !whole {
				made.Set(key, omitPaths(v.At(key), below))
			}
		}
		return made
	}
	return v
}

// splitPaths returns what paths say of a key: itself, or what is below it.
func splitPaths(paths [][]string, key string) (whole bool, below [][]string) {
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

func mapItems(list []any, change func(any) any) []any {
	made := slices.Clone(list)
	for i, item := range made {
		if made[i] = change(item); value.IsUndefined(made[i]) {
			made[i] = nil
		}
	}
	return made
}
