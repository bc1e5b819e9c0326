package collection

import (
	"slices"
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/value"
)

// sink receives rows one by one, and then their end. add returns whether it needs more rows.
type sink struct {
	add func(row *value.Object) (more bool, err error)
	end func() error
}

// stage returns a sink that passes its results to the next one.
type stage func(e *budget, next sink) sink

// limitRows is a sink that stops when the budget of the call is spent.
func limitRows(e *budget, to sink) sink {
	return sink{end: to.end, add: func(row *value.Object) (bool, error) {
		if err := e.spend(rowSteps); err != nil {
			return false, err
		}
		return to.add(row)
	}}
}

// maxStages is how many steps an aggregate has.
const maxStages = 100

// stageTable returns the steps of an aggregate by their names.
func stageTable() map[string]func(operand any) (stage, error) {
	return map[string]func(operand any) (stage, error){
		"$match": matchStage, "$sort": sortStage, "$skip": skipStage, "$limit": limitStage, "$project": projectStage,
		"$unwind": unwindStage, "$count": countStage, "$group": groupStage,
	}
}

func prepareAggregate(p *parameters) (*Call, error) {
	run, err := p.compileAggregate()
	if err != nil {
		return nil, err
	}
	return p.readCall(run), nil
}

// compileAggregate reads the steps of an aggregate, and the query in front of them.
func (p *parameters) compileAggregate() (func(r reader, info *Info) (any, error), error) {
	steps, ok := p.At("steps").([]any)
	if !ok || len(steps) > maxStages {
		return nil, Refuse(BadQuery, "steps is a list of at most %d objects", maxStages)
	}
	if _, err := optionsObject(p.At("opts")); err != nil {
		return nil, err
	}
	if !value.IsNothing(p.At("query")) {
		steps = append([]any{value.NewObject("$match", p.At("query"))}, steps...)
	}
	first, line, err := compileStages(steps)
	if err != nil {
		return nil, err
	}
	most := p.limits.MaxLimit
	return func(r reader, info *Info) (any, error) { return aggregate(r, info, first, line, most) }, nil
}

// compileStages returns the query that an aggregate begins with, and what follows.
func compileStages(steps []any) (first *query, line []stage, err error) {
	if first, err = compileQuery(nil); err != nil {
		return nil, nil, err
	}
	table := stageTable()
	for i, item := range steps {
		step, ok := item.(*value.Object)
		if !ok || step.Len() != 1 || table[step.Keys()[0]] == nil {
			return nil, nil, Refuse(BadQuery, "step %d must be an object with exactly one of: $match, $sort, $skip, $limit, $project, $unwind, $count, $group", i)
		}
		name := step.Keys()[0]
		if i == 0 && name == "$match" {
			if first, err = compileQuery(step.At(name)); err != nil {
				return nil, nil, err
			}
			continue
		}
		next, err := table[name](step.At(name))
		if err != nil {
			return nil, nil, err
		}
		line = append(line, next)
	}
	return first, line, nil
}

func aggregate(r reader, info *Info, first *query, line []stage, most int) (any, error) {
	rows, usedBytes := []any{}, 0
	to := sink{end: func() error { return nil }, add: func(row *value.Object) (bool, error) {
		if rows = append(rows, row); len(rows) > most {
			return false, withDetail(Refuse(TooLarge, "the result has more than %d rows", most), "limit", float64(most))
		}
		size, err := r.weigh(row)
		if err != nil {
			return false, err
		}
		usedBytes += size
		return true, tooMuchMemoryError(usedBytes)
	}}
	for _, next := range slices.Backward(line) {
		to = next(r.budget, limitRows(r.budget, to))
	}
	if info != nil {
		if err := scanRows(r, info, first, to.add); err != nil {
			return nil, err
		}
	}
	if err := to.end(); err != nil {
		return nil, err
	}
	return rows, nil
}

// scanRows passes on the rows that match a query, ordered by id.
func scanRows(r reader, info *Info, q *query, visit func(*value.Object) (bool, error)) error {
	p := planFor(info, q)
	if p.inOrder {
		return p.whole(r, info, q, func(_ string, row *value.Object) (bool, error) { return visit(row) })
	}
	to := sorting(r.budget, []sortKey{{path: fieldID}}, sink{add: visit, end: func() error { return nil }})
	err := p.whole(r, info, q, func(_ string, row *value.Object) (bool, error) { return to.add(row) })
	if err != nil {
		return err
	}
	return to.end()
}

func matchStage(operand any) (stage, error) {
	q, err := compileQuery(operand)
	if err != nil {
		return nil, err
	}
	own, _ := operand.(*value.Object) // behind a $group rows have an _id of their own
	exact, err := compileExact(own)
	if err != nil {
		return nil, err
	}
	return func(e *budget, next sink) sink {
		return sink{end: next.end, add: func(row *value.Object) (bool, error) {
			test := q
			if _, ok := row.Get(aliasID); ok {
				test = exact
			}
			fits, err := test.match(e, row)
			if err != nil || !fits {
				return true, err
			}
			return next.add(row)
		}}
	}, nil
}

func sortStage(operand any) (stage, error) {
	o, _ := operand.(*value.Object)
	keys, err := readSort(operand)
	if err != nil || len(keys) == 0 {
		return nil, Refuse(BadQuery, "$sort is an object of fields and 1 or -1")
	}
	for i, path := range o.Keys() {
		keys[i].path = path
	}
	return func(e *budget, next sink) sink { return sorting(e, keys, next) }, nil
}

// passRows passes rows to a sink while it needs more, and then their end.
func passRows(rows []*value.Object, next sink) error {
	for _, row := range rows {
		if more, err := next.add(row); err != nil || !more {
			if err != nil {
				return err
			}
			break
		}
	}
	return next.end()
}

// aggregateField returns the value at a path of a row in an aggregate, where _id is id
// unless there is an _id.
func aggregateField(row *value.Object, path string) any {
	if v := valueAt(row, path); !value.IsUndefined(v) || path != aliasID {
		return v
	}
	return row.At(fieldID)
}

func skipStage(operand any) (stage, error) {
	n, err := readCount(value.NewObject("$skip", operand), "$skip", -1)
	if err != nil || n < 0 {
		return nil, Refuse(BadQuery, "$skip is a whole number from 0 on")
	}
	return func(_ *budget, next sink) sink {
		seen := 0
		return sink{end: next.end, add: func(row *value.Object) (bool, error) {
			if seen++; seen <= n {
				return true, nil
			}
			return next.add(row)
		}}
	}, nil
}

func limitStage(operand any) (stage, error) {
	n, err := readCount(value.NewObject("$limit", operand), "$limit", -1)
	if err != nil || n < 0 {
		return nil, Refuse(BadQuery, "$limit is a whole number from 0 on")
	}
	return func(_ *budget, next sink) sink {
		seen := 0
		return sink{end: next.end, add: func(row *value.Object) (bool, error) {
			if seen++; seen > n {
				return false, nil
			}
			more, err := next.add(row)
			return more && seen < n, err
		}}
	}, nil
}

func countStage(operand any) (stage, error) {
	name, ok := operand.(string)
	if !ok || checkField(name) != nil {
		return nil, Refuse(BadQuery, "$count is the name of a field")
	}
	return func(_ *budget, next sink) sink {
		seen := 0
		return sink{
			add: func(*value.Object) (bool, error) { seen++; return true, nil },
			end: func() error { return passRows([]*value.Object{value.NewObject(name, float64(seen))}, next) },
		}
	}, nil
}

// unwindStage makes one row of each item of a list.
func unwindStage(operand any) (stage, error) {
	keepEmpty := false
	if o, ok := operand.(*value.Object); ok {
		keepEmpty = o.At("preserveNullAndEmptyArrays") == true
		operand = o.At("path")
	}
	text, ok := operand.(string)
	path := strings.TrimPrefix(text, "$")
	if !ok || path == "" {
		return nil, Refuse(BadQuery, "$unwind is the path of a list")
	}
	return func(e *budget, next sink) sink {
		return sink{end: next.end, add: func(row *value.Object) (bool, error) { return unwind(e, row, path, keepEmpty, next.add) }}
	}, nil
}

func unwind(e *budget, row *value.Object, path string, keepEmpty bool, visit func(*value.Object) (bool, error)) (bool, error) {
	have := aggregateField(row, path)
	items, isList := have.([]any)
	if !isList && !value.IsNothing(have) || len(items) == 0 && keepEmpty {
		return visit(row)
	}
	for _, item := range items {
		next, err := changeAtPath(e, row, strings.Split(path, "."), func(*budget, any) (any, error) { return item, nil })
		if err != nil {
			return false, err
		}
		unwound, _ := next.(*value.Object)
		if more, err := visit(unwound); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// compileExact is compileQuery without the alias of id.
func compileExact(cond *value.Object) (*query, error) {
	m, err := expr.CompileMatcher(cond, false)
	if err != nil {
		return nil, Refuse(BadQuery, "the query is not understood: %s", err)
	}
	return newQuery(cond, m)
}

// term is a value of a step: "$path" of the row, an object or a list of terms, or
// itself.
func term(v any) func(row *value.Object) any {
	switch v := v.(type) {
	case string:
		if path, ok := strings.CutPrefix(v, "$"); ok {
			return func(row *value.Object) any { return aggregateField(row, path) }
		}
	case []any:
		items := make([]func(*value.Object) any, len(v))
		for i, item := range v {
			items[i] = term(item)
		}
		return func(row *value.Object) any {
			list := make([]any, len(items))
			for i, item := range items {
				if got := item(row); !value.IsUndefined(got) {
					list[i] = got
				}
			}
			return list
		}
	case *value.Object:
		fields := map[string]func(*value.Object) any{}
		for _, key := range v.Keys() {
			fields[key] = term(v.At(key))
		}
		return func(row *value.Object) any {
			o := &value.Object{}
			for _, key := range v.Keys() {
				o.Set(key, fields[key](row))
			}
			return o
		}
	}
	return func(*value.Object) any { return v }
}

// projectStage shows some fields, or new ones: {name: 1 or 0 or a term}.
func projectStage(operand any) (stage, error) {
	o, ok := operand.(*value.Object)
	if !ok || o.Len() == 0 {
		return nil, Refuse(BadQuery, "$project is an object of fields and 1, 0 or what they are to be")
	}
	selected, computed := &value.Object{}, &value.Object{}
	for _, key := range o.Keys() {
		if _, isFlag := readFlag(o.At(key)); isFlag {
			selected.Set(key, o.At(key))
		} else if err := checkField(key); err != nil {
			return nil, Refuse(BadQuery, "$project: %s is not a field name", key)
		} else {
			computed.Set(key, o.At(key))
		}
	}
	choose, err := readSelection(selected)
	if err != nil {
		return nil, err
	}
	made, cost := term(computed), roughSize(computed)/stepSize
	return func(e *budget, next sink) sink {
		return sink{end: next.end, add: func(row *value.Object) (bool, error) {
			if err := e.spend(cost); err != nil {
				return false, err
			}
			projected := choose.project(row, selected, computed.Len() > 0)
			fields, _ := made(row).(*value.Object)
			for _, key := range fields.Keys() {
				projected.Set(key, fields.At(key))
			}
			if _, err := e.weigh(projected); err != nil {
				return false, err
			}
			return next.add(projected)
		}}
	}, nil
}

// project is apply for rows of an aggregate, which may have no id, or be asked to
// show none.
func (s *selection) project(row, flags *value.Object, computes bool) *value.Object {
	next := value.NewObject(fieldID, row.At(fieldID))
	if onlyNew := computes && (s == nil || s.exclude && len(s.paths) == 0); !onlyNew {
		next = value.NewObject(aliasID, row.At(aliasID))
		projected := s.apply(row)
		for _, key := range projected.Keys() {
			next.Set(key, projected.At(key))
		}
	}
	for _, key := range []string{fieldID, aliasID} {
		if on, ok := readFlag(flags.At(key)); ok && !on {
			next = withMember(withMember(next, fieldID, value.Undefined), aliasID, value.Undefined)
		}
	}
	return next
}

// accumulator accumulates one field of a group.
type accumulator struct {
	op   string
	of   func(*value.Object) any
	name string
}

// groupOf is one group that is being accumulated.
type groupOf struct {
	id     any
	fields []*accumulated
}

// accumulated is the state of an accumulator.
type accumulated struct {
	sum, count float64
	v          any
	size       int // of v
	list       []any
	seen       map[string]bool
}

func groupStage(operand any) (stage, error) {
	o, ok := operand.(*value.Object)
	if !ok {
		return nil, Refuse(BadQuery, "$group is an object with an _id")
	}
	if _, ok := o.Get(aliasID); !ok {
		return nil, Refuse(BadQuery, "$group needs an _id: what rows have in common, or null for all")
	}
	var fields []accumulator
	for _, name := range o.Keys() {
		if name == aliasID {
			continue
		}
		how, ok := o.At(name).(*value.Object)
		if !ok || how.Len() != 1 || !isAccumulator(how.Keys()[0]) || checkField(name) != nil {
			return nil, Refuse(BadQuery, "$group: %s is one of $sum $avg $min $max $count $first $last $push $addToSet", name)
		}
		fields = append(fields, accumulator{op: how.Keys()[0], of: term(how.At(how.Keys()[0])), name: name})
	}
	cost := roughSize(o) / stepSize
	return func(e *budget, next sink) sink {
		g := &grouping{budget: e, cost: cost, id: term(o.At(aliasID)), fields: fields, groups: map[string]*groupOf{}}
		return sink{add: g.addRow, end: func() error { return passRows(g.rows(), next) }}
	}, nil
}

func isAccumulator(op string) bool {
	switch op {
	case "$sum", "$avg", "$min", "$max", "$count", "$first", "$last", "$push", "$addToSet":
		return true
	}
	return false
}

// grouping is the groups of one aggregate, in the order of their first rows.
type grouping struct {
	*budget
	cost      int // of what is made of each row
	id        func(*value.Object) any
	fields    []accumulator
	groups    map[string]*groupOf
	order     []*groupOf
	usedBytes int
}

func (g *grouping) addRow(row *value.Object) (bool, error) {
	if err := g.spend(g.cost); err != nil {
		return false, err
	}
	id := g.id(row)
	if value.IsUndefined(id) {
		id = nil
	}
	size, err := g.weigh(id)
	if err != nil {
		return false, err
	}
	key := string(Key(nil, id))
	in := g.groups[key]
	if in == nil {
		in = &groupOf{id: id}
		for range g.fields {
			in.fields = append(in.fields, &accumulated{v: value.Undefined, list: []any{}, seen: map[string]bool{}})
		}
		g.groups[key] = in
		g.order = append(g.order, in)
		g.usedBytes += 2*size + 128*len(in.fields)
	}
	for i, f := range g.fields {
		v := f.of(row)
		size, err := g.weigh(v)
		if err != nil {
			return false, err
		}
		g.usedBytes += in.fields[i].add(f.op, v, size)
	}
	return true, tooMuchMemoryError(g.usedBytes)
}

func (g *grouping) rows() []*value.Object {
	made := make([]*value.Object, len(g.order))
	for i, in := range g.order {
		made[i] = value.NewObject(aliasID, in.id)
		for j, f := range g.fields {
			made[i].Set(f.name, in.fields[j].result(f.op))
		}
	}
	return made
}

// add adds a value of some size, and returns how much more memory is used.
func (g *accumulated) add(op string, v any, size int) (more int) {
	n, isNumber := v.(float64)
	switch op {
	case "$sum", "$avg":
		if isNumber {
			g.sum += n
			g.count++
		}
	case "$count":
		g.count++
	case "$min", "$max":
		smaller := Compare(v, g.v) < 0
		if !value.IsNothing(v) && (value.IsUndefined(g.v) || smaller == (op == "$min") && Compare(v, g.v) != 0) {
			return g.replace(v, size)
		}
	case "$first":
		if g.count++; g.count == 1 {
			return g.replace(v, size)
		}
	case "$last":
		return g.replace(v, size)
	case "$push":
		if !value.IsUndefined(v) {
			g.list = append(g.list, v)
			return size
		}
	case "$addToSet":
		if key := string(Key(nil, v)); !value.IsUndefined(v) && !g.seen[key] {
			g.seen[key] = true
			g.list = append(g.list, v)
			return size + len(key)
		}
	}
	return 0
}

// replace replaces the accumulated value.
func (g *accumulated) replace(v any, size int) (more int) {
	more = size - g.size
	g.v, g.size = v, size
	return more
}

func (g *accumulated) result(op string) any {
	switch op {
	case "$sum":
		return g.sum
	case "$count":
		return g.count
	case "$avg":
		if g.count == 0 {
			return nil
		}
		return g.sum / g.count
	case "$push", "$addToSet":
		return g.list
	}
	if value.IsUndefined(g.v) {
		return nil
	}
	return g.v
}
