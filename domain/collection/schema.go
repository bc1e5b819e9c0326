package collection

import (
	"fmt"
	"slices"
	"time"

	"svc/domain/automation/value"
)

func prepareUpdateSchema(p *parameters) (*Call, error) {
	plainParams, ok := plain(p.Object, 0)
	o, _ := plainParams.(*value.Object)
	if !ok {
		return nil, Refuse(Validation, "the declaration is nested too deeply")
	}
	d, err := reading{strict: true}.readDeclaration(o)
	if err != nil {
		return nil, err
	}
	none, ok := o.At("uniques").([]any)
	forget := ok && len(none) == 0
	old := p.target
	for key, name := range map[string]*string{"oldCollection": &old.name, "oldSchema": &old.schema} {
		if !value.IsNothing(p.At(key)) {
			if *name, err = p.name(key); err != nil {
				return nil, err
			}
		}
	}
	t := p.target
	return &Call{write: func(w *writer) (any, error) { return w.declare(t, old, d, forget) }}, nil
}

// declare makes or alters a collection, which was called old before. Uniques that
// upserts made stay while their fields are declared, unless they are to be forgotten.
func (w *writer) declare(t, old target, d *Declaration, forget bool) (any, error) {
	if err := w.rename(t, old); err != nil {
		return nil, err
	}
	had := w.info.Declaration
	if had != nil && !forget {
		next := *d
		for _, x := range had.Implied {
			if next.checkFields(x.Fields) == nil {
				next.Implied = append(next.Implied, x)
			}
		}
		if err := next.checkIndexes(); err != nil {
			return nil, err
		}
		d = &next
	}
	if had == nil || !value.Same(had.stored(), d.stored()) {
		if err := w.convert(had, d); err != nil {
			return nil, err
		}
	}
	return w.info.shown(), nil
}

// ensureUnique makes a unique of the fields that rows are found by, unless they are one.
// It refuses when two rows have the same values.
func (w *writer) ensureUnique(fields []string) error {
	if len(fields) == 1 && fields[0] == fieldID {
		return nil
	}
	had := w.info.Declaration
	if _, ok := had.uniqueOf(fields); ok {
		return nil
	}
	next := Declaration{Open: true}
	if had != nil {
		next = *had
	}
	if len(fields) > maxFields {
		return Refuse(Validation, "onConflictFields has at most %d fields", maxFields)
	}
	if err := next.checkFields(fields); err != nil {
		return Refuse(Validation, "onConflictFields: %s", err)
	}
	for _, field := range fields {
		if err := checkField(field); err != nil {
			return err
		}
	}
	next.Implied = append(slices.Clip(next.Implied), FieldList{Fields: fields})
	if err := next.checkIndexes(); err != nil {
		return err
	}
	return w.convert(had, &next)
}

// uniqueOf returns the unique over some fields, in whatever order.
func (d *Declaration) uniqueOf(fields []string) (Index, bool) {
	for _, x := range d.All() {
		if x.Unique && sameFields(x.Fields, fields) {
			return x, true
		}
	}
	return Index{}, false
}

// rename opens the collection under its new name. One that has that name already,
// and none of the old one, was renamed before.
func (w *writer) rename(t, old target) error {
	if err := w.open(old, t == old); err != nil || t == old {
		return err
	}
	was := w.info
	if err := w.open(t, was == nil); err != nil || was == nil {
		return err
	}
	if w.info != nil {
		return with(Refuse(Validation, "there is a collection %s already", t.name), "collection", t.name)
	}
	w.info = w.change(was, Change{Kind: Renamed, Collection: was.Collection, Schema: t.schema, Name: t.name})
	return nil
}

// convert changes the declaration, and the rows where it asks for other values. It
// refuses when a row does not fit, or when two have the same unique.
func (w *writer) convert(had, d *Declaration) error {
	held := map[hold]string{}
	var altered []Change
	next := *w.info
	next.Declaration = d
	size := 0
	err := w.Rows(w.info.Collection, nil, nil, func(id string, stored Row) (bool, error) {
		if err := w.spend(rowSteps); err != nil {
			return false, err
		}
		row, err := stored.Object()
		if err != nil {
			return false, err
		}
		fitted, err := w.fitted(row, had, d)
		if err != nil {
			return false, err
		}
		if err := hasOwn(&next, held, id, fitted); err != nil {
			return false, err
		}
		if fitted == row {
			return true, nil
		}
		encoded := AppendValue(nil, fitted)
		size += len(encoded)
		altered = append(altered, Change{Kind: Put, Collection: w.info.Collection, RowID: id, Row: encoded})
		return true, tooHeavy(size)
	})
	if err != nil {
		return err
	}
	w.info = w.change(w.info, Change{Kind: Declared, Collection: w.info.Collection, Declaration: d})
	w.Changes = append(w.Changes, altered...)
	w.heavy += size
	w.reshaped(w.info, held)
	return nil
}

// fitted returns a row as a declaration has it; the row itself when it fits. Fields
// that are not declared any more stay where they are.
func (w *writer) fitted(row *value.Object, had, d *Declaration) (*value.Object, error) {
	next := row
	for i := range d.Properties {
		p := &d.Properties[i]
		v := row.At(p.Name)
		ok := !value.IsUndefined(v)
		if before := had.property(p.Name); before != nil && value.Same(before.Spec, p.Spec) {
			continue
		}
		if !ok && p.Required && !value.IsUndefined(p.Default) {
			next = replaced(next, p.Name, p.Default)
			continue
		}
		kept, fits := p.convert(v)
		fault := p.fault(kept)
		if !fits {
			fault = p.mistyped(v) + ", which cannot be converted"
		}
		if fault != "" {
			id, _ := row.At(fieldID).(string)
			return nil, with(misfit(w.info, p.Name, fmt.Sprintf("the row %s: %s", id, fault)), "id", id)
		}
		if !ok {
			continue
		}
		if !value.Same(kept, v) {
			next = replaced(next, p.Name, kept)
		}
	}
	return next, nil
}

// hasOwn refuses a row whose unique one before it has.
func hasOwn(info *Info, held map[hold]string, id string, row *value.Object) error {
	for _, x := range info.Declaration.All() {
		if !x.Unique {
			continue
		}
		for _, key := range info.Declaration.Keys(x, row) {
			at := hold{info.Collection, x.Name, string(key)}
			if _, taken := held[at]; taken {
				return notUnique(info, x.Fields)
			}
			held[at] = id
		}
	}
	return nil
}

func prepareDeleteCollections(p *parameters) (*Call, error) {
	all, err := p.flag("all")
	if err != nil {
		return nil, err
	}
	wanted, ok := p.At("collections").([]any)
	if !ok && (!all || !value.IsNothing(p.At("collections"))) {
		return nil, Refuse(Validation, "collections is a list of names, or all is true")
	}
	if ok && all {
		return nil, Refuse(Validation, "collections and all cannot both be given")
	}
	for _, name := range wanted {
		if _, ok := name.(string); !ok {
			return nil, Refuse(Validation, "collections is a list of names")
		}
	}
	schema := p.target.schema
	return &Call{write: func(w *writer) (any, error) {
		infos, err := names(w.Draft, schema)
		if err != nil {
			return nil, err
		}
		deleted := []any{}
		for _, info := range infos {
			if all || slices.Contains(wanted, any(info.Name)) {
				w.change(info, Change{Kind: Dropped, Collection: info.Collection})
				deleted = append(deleted, info.Name)
			}
		}
		return value.NewObject("deleted", deleted), nil
	}}, nil
}

// inferred is how many rows a guess is made of.
const inferred = 1000

func prepareInfer(p *parameters) (*Call, error) {
	return p.reading(func(r reader, info *Info) (any, error) {
		guess := &value.Object{}
		if info == nil {
			return guess, nil
		}
		kinds, seen, held := map[string]string{}, 0, 0
		err := r.Rows(info.Collection, nil, nil, func(_ string, stored Row) (bool, error) {
			if err := r.spend(rowSteps); err != nil {
				return false, err
			}
			row, err := stored.Object()
			if err != nil {
				return false, err
			}
			for _, field := range row.Keys() {
				if isKept(field) {
					continue
				}
				if _, ok := guess.Get(field); !ok {
					guess.Set(field, nil)
					held += 2 * roughSize(field)
				}
				if v := row.At(field); v != nil {
					kinds[field] = common(kinds[field], guessType(v))
				}
			}
			seen++
			return seen < inferred, tooHeavy(held)
		})
		for _, field := range guess.Keys() {
			kind := kinds[field]
			if kind == "" {
				kind = "json"
			}
			guess.Set(field, value.NewObject("type", kind))
		}
		return guess, err
	}), nil
}

// guessType returns the narrowest type that a value fits.
func guessType(v any) string {
	switch v := v.(type) {
	case bool:
		return "boolean"
	case []any:
		return "array"
	case float64:
		if _, ok := (&Property{Type: "integer"}).fit(v); ok {
			return "integer"
		}
		return "number"
	case string:
		if _, ok := dateOf(v); !ok {
			return "string"
		}
		if len(v) == len(time.DateOnly) {
			return "date"
		}
		return "datetime"
	}
	return "json"
}

// common returns a type for values of both.
func common(a, b string) string {
	both := func(x, y string) bool { return a == x && b == y || a == y && b == x }
	switch {
	case a == "" || a == b:
		return b
	case both("integer", "number"):
		return "number"
	case both("date", "datetime"):
		return "datetime"
	case both("date", "string"), both("datetime", "string"):
		return "string"
	}
	return "json"
}
