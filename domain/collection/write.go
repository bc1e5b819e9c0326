package collection

import (
	"encoding/base64"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/domain/automation"
	"svc/domain/value"
)

// Stamp has the inputs of a write from outside: time, user and ids.
type Stamp struct {
	Now    time.Time
	UserID string        // "" for nobody
	NewID  func() string // a ULID
	// Repeated says that the ids are those that an earlier attempt of the same request drew:
	// a row that has one was written by that.
	Repeated bool
}

// author is who a row was written by.
func (s Stamp) author() any {
	if s.UserID == "" {
		return nil
	}
	return s.UserID
}

// writer is one running write call.
type writer struct {
	*Draft
	*budget
	limits  Limits
	stamp   Stamp
	info    *Info
	dropped value.Object // fields that are not declared
}

// openCollection finds the collection of a write, and makes it when it is to be made.
func (w *writer) openCollection(t target, create bool) (err error) {
	w.info, err = findCollection(w.Draft, t.schema, t.name)
	if err != nil || w.info != nil || !create {
		return err
	}
	next, err := w.nextNumber()
	if err == nil {
		w.info = w.change(&Info{}, Change{Kind: Created, Collection: next, Schema: t.schema, Name: t.name})
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

// writeResult returns the result of the write, with the fields that were left out.
func (w *writer) writeResult(pairs ...any) *value.Object {
	result := value.NewObject(pairs...)
	if w.dropped.Len() > 0 {
		result.Set("droppedFields", value.From(w.dropped.Keys()))
	}
	return result
}

// storedField returns the stored value of a field of the collection; false for a field that
// is not stored.
func (w *writer) storedField(field string, v any) (any, bool, error) {
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
	stored, ok := storedValue(v, 0)
	if !ok {
		return nil, false, fieldError(w.info, field, "is nested too deeply")
	}
	if p == nil {
		return stored, true, nil
	}
	if err := w.spendValue(stored); err != nil {
		return nil, false, err
	}
	stored, fault := p.accept(stored)
	if fault != "" {
		return nil, false, fieldError(w.info, field, fault)
	}
	return stored, true, nil
}

// spendValue spends the steps of checking a text with a declaration.
func (w *writer) spendValue(v any) error {
	text, _ := v.(string)
	return w.spend(len(text) / stepSize)
}

// fieldError refuses a value of a field.
func fieldError(info *Info, field, fault string) *automation.Error {
	return withDetail(withDetail(Refuse(Validation, "%s of %s: %s", field, info.Name, fault), "collection", info.Name), "field", field)
}

// insert adds a row.
func (w *writer) insert(data *value.Object) (id string, err error) {
	if id, err = w.newRowID(data); err != nil {
		return "", err
	}
	if w.stamp.Repeated && value.IsNothing(givenID(data)) {
		if have, err := w.Row(w.info.Collection, id); err != nil || have != nil {
			return id, err
		}
	}
	row := value.NewObject(fieldID, id)
	for _, field := range data.Keys() {
		if isSystemField(field) || w.isUndefined(data, field) {
			continue
		}
		stored, ok, err := w.storedField(field, data.At(field))
		if err != nil {
			return "", err
		}
		if ok {
			row.Set(field, stored)
		}
	}
	if err := w.addDefaults(row); err != nil {
		return "", err
	}
	now, by := formatTime(w.stamp.Now), w.stamp.author()
	row.Set(fieldCreatedAt, now)
	row.Set(fieldUpdatedAt, now)
	row.Set(fieldCreatedBy, by)
	row.Set(fieldUpdatedBy, by)
	return id, w.put(w.info, id, row, w.limits)
}

// isUndefined reports whether a declared field is given as undefined, which is not given.
func (w *writer) isUndefined(data *value.Object, field string) bool {
	return value.IsUndefined(data.At(field)) && w.info.Declaration.property(field) != nil
}

// addDefaults adds the defaults of declared fields that a new row lacks, and refuses one
// that lacks a required field.
func (w *writer) addDefaults(row *value.Object) error {
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
			return fieldError(w.info, p.Name, fault)
		}
	}
	return nil
}

// newRowID returns the id of a new row: the given one, when no row has it, or a new one.
func (w *writer) newRowID(data *value.Object) (string, error) {
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

// updateRow applies an update to a row, and reports whether it changed anything.
func (w *writer) updateRow(row *value.Object, u *update) (changed bool, err error) {
	next, err := w.updatedCopy(row, u)
	if err != nil || value.StrictEqual(row, next) {
		return false, err
	}
	id, _ := row.At(fieldID).(string)
	next.Set(fieldUpdatedAt, formatTime(w.stamp.Now))
	next.Set(fieldUpdatedBy, w.stamp.author())
	if err := w.put(w.info, id, next, w.limits); err != nil {
		return false, err
	}
	return true, tooMuchMemoryError(w.rowBytes)
}

// updatedCopy returns a copy of a row with what an update does to it.
func (w *writer) updatedCopy(row *value.Object, u *update) (*value.Object, error) {
	next, touched := row.Copy(), []string{}
	for _, s := range u.steps {
		ok, err := w.mayChange(row, s)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		made, err := changeAtPath(w.budget, next.At(s.root), s.path[1:], s.do)
		if err != nil {
			return nil, err
		}
		if touched = append(touched, s.root); !value.IsUndefined(made) {
			next.Set(s.root, made)
			continue
		}
		next = withMember(next, s.root, made)
		if err := w.spend(next.Len()); err != nil {
			return nil, err
		}
	}
	for _, field := range touched {
		if err := w.checkField(next, field); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// mayChange reports whether a step counts: fields of the platform are not changed, nor fields that are not declared,
// except to remove them.
func (w *writer) mayChange(row *value.Object, s step) (bool, error) {
	if err := w.spend(1); err != nil {
		return false, err
	}
	if s.root == fieldID {
		next, err := s.do(w.budget, row.At(fieldID))
		if err == nil && (len(s.path) > 1 || !value.StrictEqual(next, row.At(fieldID))) {
			err = Refuse(Validation, "the id of a row cannot be changed")
		}
		return false, err
	}
	if isSystemField(s.root) {
		return false, nil
	}
	p := w.info.Declaration.property(s.root)
	if d := w.info.Declaration; d != nil && p == nil && !d.Open && !s.clears {
		w.drop(s.root)
		return false, nil
	}
	if text, ok := value.Walk(row, s.path...).(string); ok && s.adds && (p == nil || p.Type != "decimal") {
		return false, fieldError(w.info, s.root, (&Property{Type: "number"}).mistyped(text))
	}
	return true, nil
}

// checkField checks a changed field with its declaration.
func (w *writer) checkField(row *value.Object, field string) error {
	v := row.At(field)
	ok := !value.IsUndefined(v)
	p := w.info.Declaration.property(field)
	if p == nil {
		return checkField(field)
	}
	if err := w.spendValue(v); err != nil {
		return err
	}
	stored, fault := p.accept(v)
	if !ok {
		fault = p.fault(value.Undefined)
	}
	if fault != "" {
		return fieldError(w.info, field, fault)
	}
	if ok {
		row.Set(field, stored)
	}
	return nil
}

// writeCall makes a call of a write to one collection. When it is not to be made it
// may be nil.
func (p *parameters) writeCall(create bool, write func(w *writer) (any, error)) *Call {
	t := p.target
	return &Call{write: func(w *writer) (any, error) {
		if err := w.openCollection(t, create); err != nil {
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
	return p.writeCall(true, func(w *writer) (any, error) {
		id, err := w.insert(data)
		if err != nil {
			return nil, err
		}
		if mode == "row" {
			return w.showRow(id)
		}
		return w.writeResult("acknowledged", true, "insertedId", id), nil
	}), nil
}

func prepareBulkCreate(p *parameters) (*Call, error) {
	data, err := p.objects("data")
	if err != nil {
		return nil, err
	}
	return p.writeCall(len(data) > 0, func(w *writer) (any, error) {
		ids := make([]any, len(data))
		for i, item := range data {
			id, err := w.insert(item)
			if err != nil {
				return nil, err
			}
			ids[i] = id
		}
		return w.writeResult("acknowledged", true, "insertedCount", float64(len(ids)), "insertedIds", ids), nil
	}), nil
}

// showRow returns a row as it is stored, and the fields that were left out.
func (w *writer) showRow(id string) (*value.Object, error) {
	stored, err := w.storedRow(w.info.Collection, id)
	if err != nil {
		return nil, err
	}
	row, err := DecodeRow(stored)
	if _, own := row.Get("droppedFields"); err == nil && w.dropped.Len() > 0 && !own {
		row.Set("droppedFields", value.From(w.dropped.Keys()))
	}
	return row, err
}

// reader reads what was written so far.
func (w *writer) reader() reader { return reader{w.Draft, w.budget} }

// matchingRows returns the rows that a write concerns: the first, or all.
func (w *writer) matchingRows(q *query, one bool) (rows []*value.Object, err error) {
	if w.info == nil {
		return nil, nil
	}
	if one {
		rows, _, err = find(w.reader(), w.info, q, options{limit: 1}, false)
		return rows, err
	}
	usedBytes := 0
	err = eachMatch(w.reader(), w.info, q, func(_ string, row *value.Object) (bool, error) {
		rows = append(rows, row)
		usedBytes += roughSize(row)
		if err := tooManyRowsError(len(rows), w.limits); err != nil {
			return false, err
		}
		return true, tooMuchMemoryError(usedBytes)
	})
	slices.SortFunc(rows, func(a, b *value.Object) int { return Compare(a.At(fieldID), b.At(fieldID)) })
	return rows, err
}

func prepareUpdate(p *parameters, one bool) (*Call, error) {
	q, err := p.requiredQuery()
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
	return p.writeCall(false, func(w *writer) (any, error) {
		rows, err := w.matchingRows(q, one)
		if err != nil {
			return nil, err
		}
		modified := 0
		for _, row := range rows {
			changed, err := w.updateRow(row, u)
			if err != nil {
				return nil, err
			}
			modified += truth(changed)
		}
		return w.writeResult("matchedCount", float64(len(rows)), "modifiedCount", float64(modified)), nil
	}), nil
}

func prepareDelete(p *parameters, one bool) (*Call, error) {
	q, err := p.requiredQuery()
	if err != nil {
		return nil, err
	}
	return p.writeCall(false, func(w *writer) (any, error) {
		rows, err := w.matchingRows(q, one)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			id, _ := row.At(fieldID).(string)
			w.remove(w.info, id)
		}
		return w.writeResult("deletedCount", float64(len(rows))), nil
	}), nil
}

// upsert says how rows that may exist are found and changed.
type upsert struct {
	fields   []string      // by which a row is found
	onInsert *value.Object // additional fields of a new row
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
	return p.writeCall(len(data) > 0, func(w *writer) (any, error) { return w.upsertAll(data, u) }), nil
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
			id, err := w.insert(withDefaults(item, u.onInsert))
			if err != nil {
				return nil, err
			}
			ids[i] = id
			inserted++
			continue
		}
		changes, err := compileSteps(value.NewObject("$set", settableFields(item)), w.limits)
		if err != nil {
			return nil, err
		}
		changed, err := w.updateRow(have, changes)
		if err != nil {
			return nil, err
		}
		ids[i] = have.At(fieldID)
		modified += truth(changed)
	}
	return w.writeResult("insertedCount", float64(inserted), "modifiedCount", float64(modified), "ids", ids), nil
}

// settableFields returns the fields of a row that are to be set.
func settableFields(data *value.Object) *value.Object {
	set := &value.Object{}
	for _, key := range data.Keys() {
		if unalias(key) != fieldID || !value.IsNothing(data.At(key)) {
			set.Set(key, data.At(key))
		}
	}
	return set
}

// withDefaults returns data with the values that it lacks.
func withDefaults(data, more *value.Object) *value.Object {
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
	return w.uniqueOwner(data, x)
}

func sameFields(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(field string) bool { return !slices.Contains(b, field) })
}

func (w *writer) uniqueOwner(data *value.Object, x Index) (*value.Object, error) {
	fitted := &value.Object{}
	for _, field := range x.Fields {
		if isSystemField(field) {
			continue // a new row has its own
		}
		stored, ok, err := w.storedField(field, data.At(field))
		if err != nil {
			return nil, err
		}
		if ok {
			fitted.Set(field, stored)
		}
	}
	keys := w.info.Declaration.Keys(x, fitted)
	if len(keys) == 0 {
		return nil, nil // nothing to be found by
	}
	id, err := w.UniqueOwner(w.info.Collection, x, keys[0])
	if err != nil || id == "" {
		return nil, err
	}
	return w.Row(w.info.Collection, id)
}

// maxInteger is the largest number up to which doubles count without a gap.
const maxInteger = 1<<53 - 1

// storedValue returns a value as rows store it: bytes are base64, what has no JSON is null,
// and streams are left out. It is false for one that is nested too deeply.
func storedValue(v any, depth int) (any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	switch v := v.(type) {
	case nil, bool, string:
		return v, true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, true
		}
		return v, true
	case value.Bytes:
		return base64.StdEncoding.EncodeToString(v), true
	case []any:
		return plainList(v, depth)
	case *value.Object:
		return plainObject(v, depth)
	}
	return value.Undefined, true
}

// tooDeep reports whether a value is nested too deeply to be stored.
func tooDeep(v any, depth int) bool {
	switch v := v.(type) {
	case []any:
		return depth > maxDepth || slices.ContainsFunc(v, func(item any) bool { return tooDeep(item, depth+1) })
	case *value.Object:
		return depth > maxDepth || slices.ContainsFunc(v.Keys(), func(key string) bool { return tooDeep(v.At(key), depth+1) })
	}
	return false
}

func plainList(list []any, depth int) (any, bool) {
	made := make([]any, len(list))
	for i, item := range list {
		stored, ok := storedValue(item, depth+1)
		if !ok {
			return nil, false
		}
		if !value.IsUndefined(stored) {
			made[i] = stored
		}
	}
	return made, true
}

func plainObject(o *value.Object, depth int) (any, bool) {
	made := &value.Object{}
	for _, key := range o.Keys() {
		stored, ok := storedValue(o.At(key), depth+1)
		if !ok {
			return nil, false
		}
		made.Set(key, stored)
	}
	return made, true
}

// fit returns a value as a declared field stores it: numbers as doubles, points in time
// to the millisecond. It is false when the value does not fit. Null always does.
func (p *Property) fit(v any) (any, bool) {
	if value.IsNothing(v) || p.Type == "json" {
		return v, true
	}
	switch p.Type {
	case "string", "text":
		_, ok := v.(string)
		return v, ok
	case "boolean":
		_, ok := v.(bool)
		return v, ok
	case "number", "double", "float":
		return fitNumber(v)
	case "integer":
		n, ok := fitNumber(v)
		number, _ := n.(float64)
		return n, ok && number == math.Trunc(number) && math.Abs(number) <= maxInteger
	case "decimal":
		return fitDecimal(v)
	case "date", "datetime":
		return fitDate(v, p.Type == "date")
	case "time":
		text, ok := v.(string)
		return v, ok && timeOfDay.MatchString(text)
	case "uint8array", "blob":
		return fitBytes(v)
	case "array":
		_, ok := v.([]any)
		return v, ok
	case "enum":
		return v, p.lists(v)
	}
	items, ok := v.([]any) // enumArray
	return v, ok && !slices.ContainsFunc(items, func(item any) bool { return !p.lists(item) })
}

// lists reports whether v is one of the values of an enum.
func (p *Property) lists(v any) bool { return p.listed[identity(v)] }

func fitNumber(v any) (any, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		n, ok := value.ParseNumber(v)
		return n, ok && !math.IsInf(n, 0)
	}
	return nil, false
}

// fitDecimal stores a number as a decimal text.
func fitDecimal(v any) (any, bool) {
	switch v := v.(type) {
	case float64:
		return value.Text(v), true
	case string:
		_, ok := value.ParseNumber(v)
		return strings.TrimSpace(v), ok
	}
	return nil, false
}

var timeOfDay = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?$`)

// layouts are the forms of dates that are accepted. Without a zone they are UTC.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
}

// stampLayout is the stored form of points in time: its texts sort in the order of time.
const stampLayout = "2006-01-02T15:04:05.000Z"

func formatTime(t time.Time) string { return t.UTC().Format(stampLayout) }

// fitDate accepts ISO texts, and numbers as milliseconds since 1970. A day is stored as such, and a point in time
// that is the beginning of one fits.
func fitDate(v any, day bool) (any, bool) {
	t, ok := dateOf(v)
	if !ok || t.Year() < 0 || t.Year() > 9999 {
		return nil, false
	}
	if !day {
		return formatTime(t), true
	}
	return t.Format(time.DateOnly), t.Equal(t.Truncate(24 * time.Hour))
}

func dateOf(v any) (time.Time, bool) {
	switch v := v.(type) {
	case float64:
		if v != math.Trunc(v) || math.Abs(v) > 8.64e15 {
			return time.Time{}, false
		}
		return time.UnixMilli(int64(v)).UTC(), true
	case string:
		for _, layout := range layouts {
			if t, err := time.Parse(layout, v); err == nil {
				return t.UTC(), true
			}
		}
	}
	return time.Time{}, false
}

// fitBytes stores bytes as base64; a list of numbers below 256 is bytes too.
func fitBytes(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			b, err = base64.RawStdEncoding.DecodeString(v)
		}
		return base64.StdEncoding.EncodeToString(b), err == nil
	case []any:
		b := make([]byte, len(v))
		for i, item := range v {
			n, ok := item.(float64)
			if !ok || n != math.Trunc(n) || n < 0 || n > 255 {
				return nil, false
			}
			b[i] = byte(n)
		}
		return base64.StdEncoding.EncodeToString(b), true
	}
	return nil, false
}
