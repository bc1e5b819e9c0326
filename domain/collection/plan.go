package collection

import (
	"bytes"
	"slices"

	"svc/domain/automation/value"
)

// plan is how the rows that may meet a query are found.
type plan struct {
	ids    []string // by id, in order; when byID
	byID   bool
	index  *Index // by an index; nil: all rows
	ranges []Range
	// inOrder says that rows come in the order of their ids, each once.
	inOrder bool
}

// maxRanges is how many places of an index are looked at for one query.
const maxRanges = 10_000

// planFor chooses the way that promises to see the fewest rows: by id, by the most
// fields of an index that are asked for by value, and then by a range.
func planFor(info *Info, q *query) plan {
	wanted := map[string]*asked{}
	demands(q.cond, wanted)
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

// ranges returns where rows that meet what is wanted stand in an index, and how much
// that helps, 0 when it does not; and whether each range is one whole key.
func (d *Declaration) ranges(x Index, wanted map[string]*asked) (ranges []Range, score int, whole bool) {
	prefixes, byValue := [][]byte{nil}, 0
	for _, field := range x.Fields {
		a := wanted[field]
		if a == nil || !d.scalar(field) && (x.Unique || len(x.Fields) > 1) {
			break // a value may stand in an array, which has a key of its own
		}
		absent := x.Unique && slices.ContainsFunc(a.values, value.IsNothing) // such rows it does not hold
		if a.values != nil && len(a.values)*len(prefixes) <= maxRanges && !absent {
			prefixes = extend(prefixes, a.values)
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
		ranges = append(ranges, startingWith(prefix))
	}
	return inKeyOrder(ranges), 10*byValue + 5*truth(whole), whole
}

// extend returns every prefix with every value behind it.
func extend(prefixes [][]byte, values []any) [][]byte {
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

// each visits the rows that meet a query, whole.
func each(r reader, info *Info, q *query, visit func(id string, row *value.Object) (more bool, err error)) error {
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

// each visits the rows that meet a query as they are kept.
func (p plan) each(r reader, info *Info, q *query, visit func(string, Row) (bool, error)) error {
	test := func(id string, row Row) (bool, error) {
		fits, err := q.meets(r.effort, row)
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
