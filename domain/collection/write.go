package collection

import (
	"time"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

// Stamp is what a write needs of the outside.
type Stamp struct {
	Now    time.Time
	UserID string        // "" for nobody
	NewID  func() string // a ULID
	// Repeated says that the ids are those that an earlier attempt of the same request drew:
	// a row that has one was written by that.
	Repeated bool
}

// by is who a row was written by.
func (s Stamp) by() any {
	if s.UserID == "" {
		return nil
	}
	return s.UserID
}

// writer is one write call under way.
type writer struct {
	*Draft
	*effort
	limits  Limits
	stamp   Stamp
	info    *Info
	dropped value.Object // fields that are not declared
}

// open finds the collection of a write, and makes it when it is to be made.
func (w *writer) open(t target, create bool) (err error) {
	w.info, err = lookup(w.Draft, t.schema, t.name)
	if err != nil || w.info != nil || !create {
		return err
	}
	next, err := w.nextNumber()
	if err == nil {
		w.info = w.change(&Info{}, Change{Kind: Made, Collection: next, Schema: t.schema, Name: t.name})
	}
	return err
}

// nextNumber returns a number that no collection of the namespace has.
func (w *writer) nextNumber() (uint32, error) {
	infos, err := w.Infos()
	next := uint32(1)
	for _, info := range infos {
		next = max(next, info.Collection+1)
	}
	return next, err
}

// drop notes that a field was left out.
func (w *writer) drop(field string) { w.dropped.Set(field, true) }

// tell returns the result of the write, with the fields that were left out.
func (w *writer) tell(pairs ...any) *value.Object {
	result := value.NewObject(pairs...)
	if w.dropped.Len() > 0 {
		result.Set("droppedFields", value.From(w.dropped.Keys()))
	}
	return result
}

// keep returns a value as a field of the collection keeps it; false for a field that
// is not stored.
func (w *writer) keep(field string, v any) (any, bool, error) {
	if err := w.spend(1); err != nil {
		return nil, false, err
	}
	d := w.info.Declaration
	p := d.property(field)
	if d != nil && p == nil && !d.Open {
		w.drop(field)
		return nil, false, nil
	}
	if err := checkField(field); err != nil {
		return nil, false, err
	}
	kept, ok := plain(v, 0)
	if !ok {
		return nil, false, misfit(w.info, field, "is nested too deeply")
	}
	if p == nil {
		return kept, true, nil
	}
	if err := w.spendOn(kept); err != nil {
		return nil, false, err
	}
	kept, fault := p.accept(kept)
	if fault != "" {
		return nil, false, misfit(w.info, field, fault)
	}
	return kept, true, nil
}

// spendOn takes what it costs to hold a text against a declaration.
func (w *writer) spendOn(v any) error {
	text, _ := v.(string)
	return w.spend(len(text) / stepSize)
}

// misfit refuses a value of a field.
func misfit(info *Info, field, fault string) *automation.Error {
	return with(with(Refuse(Validation, "%s of %s: %s", field, info.Name, fault), "collection", info.Name), "field", field)
}

// insert adds a row.
func (w *writer) insert(data *value.Object) (id string, err error) {
	if id, err = w.idFor(data); err != nil {
		return "", err
	}
	if w.stamp.Repeated && value.IsNothing(givenID(data)) {
		if have, err := w.Row(w.info.Collection, id); err != nil || have != nil {
			return id, err
		}
	}
	row := value.NewObject(fieldID, id)
	for _, field := range data.Keys() {
		if isKept(field) || w.absent(data, field) {
			continue
		}
		kept, ok, err := w.keep(field, data.At(field))
		if err != nil {
			return "", err
		}
		if ok {
			row.Set(field, kept)
		}
	}
	if err := w.complete(row); err != nil {
		return "", err
	}
	now, by := stamp(w.stamp.Now), w.stamp.by()
	row.Set(fieldCreatedAt, now)
	row.Set(fieldUpdatedAt, now)
	row.Set(fieldCreatedBy, by)
	row.Set(fieldUpdatedBy, by)
	return id, w.put(w.info, id, row, w.limits)
}

// absent reports whether a declared field is given as undefined, which is not given.
func (w *writer) absent(data *value.Object, field string) bool {
	return value.IsUndefined(data.At(field)) && w.info.Declaration.property(field) != nil
}

// complete adds the defaults of declared fields that a new row lacks, and refuses one
// that lacks a required field.
func (w *writer) complete(row *value.Object) error {
	if w.info.Declaration == nil {
		return nil
	}
	for i := range w.info.Declaration.Properties {
		p := &w.info.Declaration.Properties[i]
		if _, ok := row.Get(p.Name); ok {
			continue
		}
		if !value.IsUndefined(p.Default) {
			row.Set(p.Name, p.Default)
			continue
		}
		if fault := p.fault(value.Undefined); fault != "" {
			return misfit(w.info, p.Name, fault)
		}
	}
	return nil
}

// idFor returns the id of a new row: the given one, when no row has it, or a new one.
func (w *writer) idFor(data *value.Object) (string, error) {
	given := givenID(data)
	if value.IsNothing(given) {
		return w.stamp.NewID(), nil
	}
	id, err := checkID(given)
	if err != nil {
		return "", err
	}
	have, err := w.Row(w.info.Collection, id)
	if err == nil && have != nil {
		err = notUnique(w.info, []string{fieldID})
	}
	return id, err
}

func givenID(data *value.Object) any {
	if id := data.At(fieldID); !value.IsNothing(id) {
		return id
	}
	return data.At(aliasID)
}

// alter changes a row as an update says, and tells whether that changed anything.
func (w *writer) alter(row *value.Object, u *update) (changed bool, err error) {
	next, err := w.amended(row, u)
	if err != nil || value.Same(row, next) {
		return false, err
	}
	id, _ := row.At(fieldID).(string)
	next.Set(fieldUpdatedAt, stamp(w.stamp.Now))
	next.Set(fieldUpdatedBy, w.stamp.by())
	if err := w.put(w.info, id, next, w.limits); err != nil {
		return false, err
	}
	return true, tooHeavy(w.heavy)
}

// amended returns a copy of a row with what an update does to it.
func (w *writer) amended(row *value.Object, u *update) (*value.Object, error) {
	next, touched := row.Copy(), []string{}
	for _, s := range u.steps {
		ok, err := w.mayChange(row, s)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		made, err := amend(w.effort, next.At(s.root), s.path[1:], s.do)
		if err != nil {
			return nil, err
		}
		if touched = append(touched, s.root); !value.IsUndefined(made) {
			next.Set(s.root, made)
			continue
		}
		next = replaced(next, s.root, made)
		if err := w.spend(next.Len()); err != nil {
			return nil, err
		}
	}
	for _, field := range touched {
		if err := w.refit(next, field); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// mayChange reports whether a step counts: what is the platform's to write is left
// as it is, and so is what is not declared, unless it is to be cleared.
func (w *writer) mayChange(row *value.Object, s step) (bool, error) {
	if err := w.spend(1); err != nil {
		return false, err
	}
	if s.root == fieldID {
		next, err := s.do(w.effort, row.At(fieldID))
		if err == nil && (len(s.path) > 1 || !value.Same(next, row.At(fieldID))) {
			err = Refuse(Validation, "the id of a row cannot be changed")
		}
		return false, err
	}
	if isKept(s.root) {
		return false, nil
	}
	p := w.info.Declaration.property(s.root)
	if d := w.info.Declaration; d != nil && p == nil && !d.Open && !s.clears {
		w.drop(s.root)
		return false, nil
	}
	if text, ok := value.Walk(row, s.path...).(string); ok && s.adds && (p == nil || p.Type != "decimal") {
		return false, misfit(w.info, s.root, (&Property{Type: "number"}).mistyped(text))
	}
	return true, nil
}

// refit holds a changed field against its declaration.
func (w *writer) refit(row *value.Object, field string) error {
	v := row.At(field)
	ok := !value.IsUndefined(v)
	p := w.info.Declaration.property(field)
	if p == nil {
		return checkField(field)
	}
	if err := w.spendOn(v); err != nil {
		return err
	}
	kept, fault := p.accept(v)
	if !ok {
		fault = p.fault(value.Undefined)
	}
	if fault != "" {
		return misfit(w.info, field, fault)
	}
	if ok {
		row.Set(field, kept)
	}
	return nil
}
