package collection

import (
	"time"

	"svc/domain/automation/value"
)

// Stamp is what a write needs of the outside.
type Stamp struct {
	Now    time.Time
	UserID string        // "" for nobody
	NewID  func() string // a ULID
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
	if d != nil && p == nil {
		w.drop(field)
		return nil, false, nil
	}
	if err := checkField(field); err != nil {
		return nil, false, err
	}
	kept, ok := plain(v, 0)
	if ok && p != nil {
		kept, ok = p.fit(kept)
	}
	if !ok {
		return nil, false, misfit(w.info, field, p, v)
	}
	return kept, true, nil
}

func misfit(info *Info, field string, p *Property, v any) error {
	kind := "value"
	if p != nil {
		kind = p.Type
	}
	refusal := Refuse(Validation, "%s of %s: %s is no %s", field, info.Name, value.Kind(v), kind)
	return with(with(refusal, "collection", info.Name), "field", field)
}

// insert adds a row.
func (w *writer) insert(data *value.Object) (id string, err error) {
	if id, err = w.idFor(data); err != nil {
		return "", err
	}
	row := value.NewObject(fieldID, id)
	for _, field := range data.Keys() {
		if isKept(field) {
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
	now, by := stamp(w.stamp.Now), w.stamp.by()
	row.Set(fieldCreatedAt, now)
	row.Set(fieldUpdatedAt, now)
	row.Set(fieldCreatedBy, by)
	row.Set(fieldUpdatedBy, by)
	return id, w.put(w.info, id, row, w.limits)
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
	if w.info.Declaration != nil && p == nil && !s.clears {
		w.drop(s.root)
		return false, nil
	}
	if text, ok := value.Walk(row, s.path...).(string); ok && s.adds && (p == nil || p.Type != "decimal") {
		return false, misfit(w.info, s.root, &Property{Type: "number"}, text)
	}
	return true, nil
}

// refit holds a changed field against its declaration.
func (w *writer) refit(row *value.Object, field string) error {
	v, ok := row.Get(field)
	p := w.info.Declaration.property(field)
	if !ok || p == nil {
		return checkField(field)
	}
	kept, fits := p.fit(v)
	if !fits {
		return misfit(w.info, field, p, v)
	}
	row.Set(field, kept)
	return nil
}
