package collection

import (
	"slices"
	"strings"

	"svc/domain/automation/value"
)

// sink takes rows one after the other, and is told when there are no more. It says
// whether it wants more.
type sink struct {
	take func(row *value.Object) (more bool, err error)
	end  func() error
}

// stage makes a sink that hands what it makes of rows to the next one.
type stage func(e *effort, next sink) sink

// counted is a sink that takes no more rows than the call may cost.
func counted(e *effort, to sink) sink {
	return sink{end: to.end, take: func(row *value.Object) (bool, error) {
		if err := e.spend(rowSteps); err != nil {
			return false, err
		}
		return to.take(row)
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
	return p.reading(run), nil
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
	rows, held := []any{}, 0
	to := sink{end: func() error { return nil }, take: func(row *value.Object) (bool, error) {
		if rows = append(rows, row); len(rows) > most {
			return false, with(Refuse(TooLarge, "the result has more than %d rows", most), "limit", float64(most))
		}
		size, err := r.weigh(row)
		if err != nil {
			return false, err
		}
		held += size
		return true, tooHeavy(held)
	}}
	for _, next := range slices.Backward(line) {
		to = next(r.effort, counted(r.effort, to))
	}
	if info != nil {
		if err := feed(r, info, first, to.take); err != nil {
			return nil, err
		}
	}
	if err := to.end(); err != nil {
		return nil, err
	}
	return rows, nil
}

// feed hands over the rows that meet a query, in the order of their ids.
func feed(r reader, info *Info, q *query, take func(*value.Object) (bool, error)) error {
	p := planFor(info, q)
	if p.inOrder {
		return p.whole(r, info, q, func(_ string, row *value.Object) (bool, error) { return take(row) })
	}
	to := sorting(r.effort, []sortKey{{path: fieldID}}, sink{take: take, end: func() error { return nil }})
	err := p.whole(r, info, q, func(_ string, row *value.Object) (bool, error) { return to.take(row) })
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
	return func(e *effort, next sink) sink {
		return sink{end: next.end, take: func(row *value.Object) (bool, error) {
			test := q
			if _, ok := row.Get(aliasID); ok {
				test = exact
			}
			fits, err := test.match(e, row)
			if err != nil || !fits {
				return true, err
			}
			return next.take(row)
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
	return func(e *effort, next sink) sink { return sorting(e, keys, next) }, nil
}

// handAll hands over rows as long as they are wanted, and that they end.
func handAll(rows []*value.Object, next sink) error {
	for _, row := range rows {
		if more, err := next.take(row); err != nil || !more {
			if err != nil {
				return err
			}
			break
		}
	}
	return next.end()
}

// pick returns what stands at a path of a row in an aggregate, where _id is id unless
// there is an _id.
func pick(row *value.Object, path string) any {
	if v := at(row, path); !value.IsUndefined(v) || path != aliasID {
		return v
	}
	return row.At(fieldID)
}

func skipStage(operand any) (stage, error) {
	n, err := readCount(value.NewObject("$skip", operand), "$skip", -1)
	if err != nil || n < 0 {
		return nil, Refuse(BadQuery, "$skip is a whole number from 0 on")
	}
	return func(_ *effort, next sink) sink {
		seen := 0
		return sink{end: next.end, take: func(row *value.Object) (bool, error) {
			if seen++; seen <= n {
				return true, nil
			}
			return next.take(row)
		}}
	}, nil
}

func limitStage(operand any) (stage, error) {
	n, err := readCount(value.NewObject("$limit", operand), "$limit", -1)
	if err != nil || n < 0 {
		return nil, Refuse(BadQuery, "$limit is a whole number from 0 on")
	}
	return func(_ *effort, next sink) sink {
		seen := 0
		return sink{end: next.end, take: func(row *value.Object) (bool, error) {
			if seen++; seen > n {
				return false, nil
			}
			more, err := next.take(row)
			return more && seen < n, err
		}}
	}, nil
}

func countStage(operand any) (stage, error) {
	name, ok := operand.(string)
	if !ok || checkField(name) != nil {
		return nil, Refuse(BadQuery, "$count is the name of a field")
	}
	return func(_ *effort, next sink) sink {
		seen := 0
		return sink{
			take: func(*value.Object) (bool, error) { seen++; return true, nil },
			end:  func() error { return handAll([]*value.Object{value.NewObject(name, float64(seen))}, next) },
		}
	}, nil
}

// unwindStage makes one row of each item of a list.
func unwindStage(operand any) (stage, error) {
	keep := false
	if o, ok := operand.(*value.Object); ok {
		keep = o.At("preserveNullAndEmptyArrays") == true
		operand = o.At("path")
	}
	text, ok := operand.(string)
	path := strings.TrimPrefix(text, "$")
	if !ok || path == "" {
		return nil, Refuse(BadQuery, "$unwind is the path of a list")
	}
	return func(e *effort, next sink) sink {
		return sink{end: next.end, take: func(row *value.Object) (bool, error) { return unwind(e, row, path, keep, next.take) }}
	}, nil
}

func unwind(e *effort, row *value.Object, path string, keep bool, take func(*value.Object) (bool, error)) (bool, error) {
	have := pick(row, path)
	items, isList := have.([]any)
	if !isList && !value.IsNothing(have) || len(items) == 0 && keep {
		return take(row)
	}
	for _, item := range items {
		next, err := amend(e, row, strings.Split(path, "."), func(*effort, any) (any, error) { return item, nil })
		if err != nil {
			return false, err
		}
		unwound, _ := next.(*value.Object)
		if more, err := take(unwound); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}
