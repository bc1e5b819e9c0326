package collection

import (
	"slices"

	"svc/domain/automation/value"
)

// writing makes a call of a write to one collection. When it is not to be made it
// may be nil.
func (p *parameters) writing(create bool, write func(w *writer) (any, error)) *Call {
	t := p.target
	return &Call{write: func(w *writer) (any, error) {
		if err := w.open(t, create); err != nil {
			return nil, err
		}
		return write(w)
	}}
}

func prepareCreate(p *parameters) (*Call, error) {
	data, err := p.object("data")
	if err != nil {
		return nil, err
	}
	mode := p.At("outputMode")
	if !value.IsNothing(mode) && mode != "result" && mode != "row" {
		return nil, Refuse(Validation, "outputMode must be one of: result, row")
	}
	return p.writing(true, func(w *writer) (any, error) {
		id, err := w.insert(data)
		if err != nil {
			return nil, err
		}
		if mode == "row" {
			return w.showRow(id)
		}
		return w.tell("acknowledged", true, "insertedId", id), nil
	}), nil
}

func prepareBulkCreate(p *parameters) (*Call, error) {
	data, err := p.objects("data")
	if err != nil {
		return nil, err
	}
	return p.writing(len(data) > 0, func(w *writer) (any, error) {
		ids := make([]any, len(data))
		for i, item := range data {
			id, err := w.insert(item)
			if err != nil {
				return nil, err
			}
			ids[i] = id
		}
		return w.tell("acknowledged", true, "insertedCount", float64(len(ids)), "insertedIds", ids), nil
	}), nil
}

// showRow returns a row as it is stored, and the fields that were left out.
func (w *writer) showRow(id string) (*value.Object, error) {
	row, err := w.Row(w.info.Collection, id)
	if err != nil || row == nil {
		return nil, err
	}
	shown, err := DecodeRow(AppendValue(nil, row))
	if _, own := shown.Get("droppedFields"); err == nil && w.dropped.Len() > 0 && !own {
		shown.Set("droppedFields", value.From(w.dropped.Keys()))
	}
	return shown, err
}

// reader reads what was written so far.
func (w *writer) reader() reader { return reader{w.Draft, w.effort} }

// matched returns the rows that a write concerns: the first, or all.
func (w *writer) matched(q *query, one bool) (rows []*value.Object, err error) {
	if w.info == nil {
		return nil, nil
	}
	if one {
		rows, _, err = find(w.reader(), w.info, q, options{limit: 1}, false)
		return rows, err
	}
	held := 0
	err = each(w.reader(), w.info, q, func(_ string, row *value.Object) (bool, error) {
		rows = append(rows, row)
		held += roughSize(row)
		if err := tooMany(len(rows), w.limits); err != nil {
			return false, err
		}
		return true, tooHeavy(held)
	})
	slices.SortFunc(rows, func(a, b *value.Object) int { return Compare(a.At(fieldID), b.At(fieldID)) })
	return rows, err
}

func prepareUpdate(p *parameters, one bool) (*Call, error) {
	q, err := p.guarded()
	if err != nil {
		return nil, err
	}
	given, err := p.oneOf("update", "data")
	if err != nil {
		return nil, err
	}
	u, err := compileUpdate(given, p.limits)
	if err != nil {
		return nil, err
	}
	return p.writing(false, func(w *writer) (any, error) {
		rows, err := w.matched(q, one)
		if err != nil {
			return nil, err
		}
		modified := 0
		for _, row := range rows {
			changed, err := w.alter(row, u)
			if err != nil {
				return nil, err
			}
			modified += truth(changed)
		}
		return w.tell("matchedCount", float64(len(rows)), "modifiedCount", float64(modified)), nil
	}), nil
}

func prepareDelete(p *parameters, one bool) (*Call, error) {
	q, err := p.guarded()
	if err != nil {
		return nil, err
	}
	return p.writing(false, func(w *writer) (any, error) {
		rows, err := w.matched(q, one)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			id, _ := row.At(fieldID).(string)
			w.remove(w.info, id)
		}
		return w.tell("deletedCount", float64(len(rows))), nil
	}), nil
}

// upsert is what becomes of rows that may be there already.
type upsert struct {
	fields   []string      // those that a row is found by
	onInsert *value.Object // what a new row has besides
}

func prepareUpsert(p *parameters, bulk bool) (*Call, error) {
	data, err := p.upsertData(bulk)
	if err != nil {
		return nil, err
	}
	given, err := optionsObject(p.At("opts"), "onConflictFields", "onInsertValues")
	if err != nil {
		return nil, err
	}
	u := upsert{}
	var ok bool
	if u.fields, ok = fieldList(given.At("onConflictFields")); !ok || len(u.fields) == 0 {
		return nil, Refuse(Validation, "opts.onConflictFields names the fields that a row is found by")
	}
	if u.onInsert, ok = given.At("onInsertValues").(*value.Object); !ok && !value.IsNothing(given.At("onInsertValues")) {
		return nil, Refuse(Validation, "opts.onInsertValues is an object")
	}
	return p.writing(len(data) > 0, func(w *writer) (any, error) { return w.upsertAll(data, u) }), nil
}

func (p *parameters) upsertData(bulk bool) ([]*value.Object, error) {
	if bulk {
		return p.objects("data")
	}
	one, err := p.object("data")
	return []*value.Object{one}, err
}

func (w *writer) upsertAll(data []*value.Object, u upsert) (any, error) {
	if len(data) > 0 {
		if err := w.ensureUnique(u.fields); err != nil {
			return nil, err
		}
	}
	ids, inserted, modified := make([]any, len(data)), 0, 0
	for i, item := range data {
		have, err := w.conflicting(item, u)
		if err != nil {
			return nil, err
		}
		if have == nil {
			id, err := w.insert(joined(item, u.onInsert))
			if err != nil {
				return nil, err
			}
			ids[i] = id
			inserted++
			continue
		}
		changes, err := compileSteps(value.NewObject("$set", whole(item)), w.limits)
		if err != nil {
			return nil, err
		}
		changed, err := w.alter(have, changes)
		if err != nil {
			return nil, err
		}
		ids[i] = have.At(fieldID)
		modified += truth(changed)
	}
	return w.tell("insertedCount", float64(inserted), "modifiedCount", float64(modified), "ids", ids), nil
}

// whole returns the fields of a row that are to be set.
func whole(data *value.Object) *value.Object {
	set := &value.Object{}
	for _, key := range data.Keys() {
		if unalias(key) != fieldID || !value.IsNothing(data.At(key)) {
			set.Set(key, data.At(key))
		}
	}
	return set
}

// joined returns data with the values that it lacks.
func joined(data, more *value.Object) *value.Object {
	if more.Len() == 0 {
		return data
	}
	all := data.Copy()
	for _, key := range more.Keys() {
		if _, ok := all.Get(key); !ok {
			all.Set(key, more.At(key))
		}
	}
	return all
}

// conflicting returns the row that has the values by which data is found, nil when
// there is none. The fields must be a declared unique, or the id.
func (w *writer) conflicting(data *value.Object, u upsert) (*value.Object, error) {
	if len(u.fields) == 1 && u.fields[0] == fieldID {
		id, _ := givenID(data).(string)
		return w.Row(w.info.Collection, id)
	}
	x, ok := w.info.Declaration.uniqueOf(u.fields)
	if !ok {
		return nil, Refuse(Validation, "opts.onConflictFields are neither a unique of %s nor id", w.info.Name)
	}
	return w.holder(data, x)
}

func sameFields(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(field string) bool { return !slices.Contains(b, field) })
}

func (w *writer) holder(data *value.Object, x Index) (*value.Object, error) {
	fitted := &value.Object{}
	for _, field := range x.Fields {
		if isKept(field) {
			continue // a new row has its own
		}
		kept, ok, err := w.keep(field, data.At(field))
		if err != nil {
			return nil, err
		}
		if ok {
			fitted.Set(field, kept)
		}
	}
	keys := w.info.Declaration.Keys(x, fitted)
	if len(keys) == 0 {
		return nil, nil // nothing to be found by
	}
	id, err := w.Holder(w.info.Collection, x, keys[0])
	if err != nil || id == "" {
		return nil, err
	}
	return w.Row(w.info.Collection, id)
}
