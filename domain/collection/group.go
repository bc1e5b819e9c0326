package collection

import (
	"strings"

	"svc/domain/automation/expr"
	"svc/domain/automation/value"
)

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
			return func(row *value.Object) any { return pick(row, path) }
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
	shown, computed := &value.Object{}, &value.Object{}
	for _, key := range o.Keys() {
		if _, isFlag := flag(o.At(key)); isFlag {
			shown.Set(key, o.At(key))
		} else if err := checkField(key); err != nil {
			return nil, Refuse(BadQuery, "$project: %s is not a field name", key)
		} else {
			computed.Set(key, o.At(key))
		}
	}
	choose, err := readSelection(shown)
	if err != nil {
		return nil, err
	}
	made, cost := term(computed), roughSize(computed)/stepSize
	return func(e *effort, next sink) sink {
		return sink{end: next.end, take: func(row *value.Object) (bool, error) {
			if err := e.spend(cost); err != nil {
				return false, err
			}
			projected := choose.project(row, shown, computed.Len() > 0)
			fields, _ := made(row).(*value.Object)
			for _, key := range fields.Keys() {
				projected.Set(key, fields.At(key))
			}
			if _, err := e.weigh(projected); err != nil {
				return false, err
			}
			return next.take(projected)
		}}
	}, nil
}

// project is apply for rows of an aggregate, which may have no id, or be asked to
// show none.
func (s *selection) project(row, flags *value.Object, computes bool) *value.Object {
	next := value.NewObject(fieldID, row.At(fieldID))
	if onlyNew := computes && (s == nil || s.exclude && len(s.paths) == 0); !onlyNew {
		next = value.NewObject(aliasID, row.At(aliasID))
		shown := s.apply(row)
		for _, key := range shown.Keys() {
			next.Set(key, shown.At(key))
		}
	}
	for _, key := range []string{fieldID, aliasID} {
		if on, ok := flag(flags.At(key)); ok && !on {
			next = replaced(replaced(next, fieldID, value.Undefined), aliasID, value.Undefined)
		}
	}
	return next
}

// accumulator gathers one field of a group.
type accumulator struct {
	op   string
	of   func(*value.Object) any
	name string
}

// groupOf is one group under way.
type groupOf struct {
	id     any
	fields []*gathered
}

// gathered is what an accumulator has seen.
type gathered struct {
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
	return func(e *effort, next sink) sink {
		g := &grouping{effort: e, cost: cost, id: term(o.At(aliasID)), fields: fields, groups: map[string]*groupOf{}}
		return sink{take: g.take, end: func() error { return handAll(g.rows(), next) }}
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
	*effort
	cost   int // of what is made of each row
	id     func(*value.Object) any
	fields []accumulator
	groups map[string]*groupOf
	order  []*groupOf
	held   int
}

func (g *grouping) take(row *value.Object) (bool, error) {
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
			in.fields = append(in.fields, &gathered{v: value.Undefined, list: []any{}, seen: map[string]bool{}})
		}
		g.groups[key] = in
		g.order = append(g.order, in)
		g.held += 2*size + 128*len(in.fields)
	}
	for i, f := range g.fields {
		v := f.of(row)
		size, err := g.weigh(v)
		if err != nil {
			return false, err
		}
		g.held += in.fields[i].take(f.op, v, size)
	}
	return true, tooHeavy(g.held)
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

// take gathers a value of some size, and returns how much more is held.
func (g *gathered) take(op string, v any, size int) (more int) {
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
			return g.hold(v, size)
		}
	case "$first":
		if g.count++; g.count == 1 {
			return g.hold(v, size)
		}
	case "$last":
		return g.hold(v, size)
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

// hold has a value in the place of the one before.
func (g *gathered) hold(v any, size int) (more int) {
	more = size - g.size
	g.v, g.size = v, size
	return more
}

func (g *gathered) result(op string) any {
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
