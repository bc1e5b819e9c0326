package collection

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/value"
)

// Target names a collection for callers other than automations. Schema "" is the default.
type Target struct{ Schema, Name string }

func (t Target) check() (target, error) {
	made := target{schema: t.Schema, name: t.Name}
	if made.schema == "" {
		made.schema = defaultSchema
	}
	if err := checkName("schema", made.schema); err != nil {
		return made, err
	}
	return made, checkName("collection", made.name)
}

// DefaultSchema is the group that a collection is in unless another one is named.
const DefaultSchema = defaultSchema

// TaggedRow is a row with the tag of its state, and the fields that a write left out.
type TaggedRow struct {
	Row     *value.Object
	Tag     string
	Dropped []string
}

// tagOf returns the entity tag of a row as AppendValue wrote it: different for each content.
func tagOf(stored []byte) string {
	sum := sha256.Sum256(stored)
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

// ChangedFields returns the fields of a change, without those that only the platform writes.
func ChangedFields(patch *value.Object) []string {
	return slices.DeleteFunc(slices.Clone(patch.Keys()), isSystemField)
}

// NoCollection is the refusal of a collection that does not exist.
func NoCollection(name string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no collection %s", name).With("resource", "collection").With("id", name)
}

func noRow(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no row %s", id).With("resource", "row").With("id", id)
}

// readExistingCall makes a call of a read of a collection that must exist.
func readExistingCall(name string, t Target, l Limits, read func(r reader, info *Info) (any, error)) (*Call, error) {
	of, err := t.check()
	if err != nil {
		return nil, err
	}
	return &Call{Function: name, limit: l.WithDefaults(), read: func(r reader) (any, error) {
		info, err := findCollection(r, of.schema, of.name)
		if err == nil && info == nil {
			err = NoCollection(of.name)
		}
		if err != nil {
			return nil, err
		}
		return read(r, info)
	}}, nil
}

// writeRowCall makes a call of a write to one row, which must exist. Match is asked about
// the tag of the row before anything changes; nil: any will do.
func writeRowCall(name string, t Target, id string, match func(tag string) error, l Limits, write func(w *writer, row *value.Object) (any, error)) (*Call, error) {
	of, err := t.check()
	if err != nil {
		return nil, err
	}
	return &Call{Function: name, limit: l.WithDefaults(), write: func(w *writer) (any, error) {
		if err := w.openCollection(of, false); err != nil {
			return nil, err
		}
		if w.info == nil {
			return nil, NoCollection(of.name)
		}
		row, err := w.Row(w.info.Collection, id)
		if err == nil && row == nil {
			err = noRow(id)
		}
		if err == nil && match != nil {
			err = match(tagOf(AppendValue(nil, row)))
		}
		if err != nil {
			return nil, err
		}
		return write(w, row)
	}}, nil
}

// ReadRow returns a call that reads a row: a TaggedRow.
func ReadRow(t Target, id string, l Limits) (*Call, error) {
	return readExistingCall("readRow", t, l, func(r reader, info *Info) (any, error) {
		row, err := r.Row(info.Collection, id)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return nil, noRow(id)
		}
		return TaggedRow{Row: row, Tag: tagOf(AppendValue(nil, row))}, nil
	})
}

// CreateRow adds a row, and makes its collection when there is none. It returns a TaggedRow.
func CreateRow(t Target, data *value.Object, l Limits) (*Call, error) {
	of, err := t.check()
	if err != nil {
		return nil, err
	}
	return &Call{Function: "createRow", limit: l.WithDefaults(), write: func(w *writer) (any, error) {
		if err := w.openCollection(of, true); err != nil {
			return nil, err
		}
		id, err := w.insert(data)
		if err != nil {
			return nil, err
		}
		return w.readTagged(id)
	}}, nil
}

// readTagged returns a row as it is stored.
func (w *writer) readTagged(id string) (TaggedRow, error) {
	stored, err := w.storedRow(w.info.Collection, id)
	if err != nil {
		return TaggedRow{}, err
	}
	row, err := DecodeRow(stored)
	return TaggedRow{Row: row, Tag: tagOf(stored), Dropped: slices.Clone(w.dropped.Keys())}, err
}

// ChangeRow merges fields into a row: null removes one. It returns a TaggedRow.
func ChangeRow(t Target, id string, patch *value.Object, match func(tag string) error, l Limits) (*Call, error) {
	u := &update{}
	for _, field := range patch.Keys() {
		v := patch.At(field)
		operand, ok := storedValue(v, 0)
		if !ok {
			return nil, withDetail(Refuse(Validation, "the value of %s is nested too deeply", field), "field", field)
		}
		if !isSystemField(field) {
			if err := checkField(field); err != nil {
				return nil, err
			}
		}
		if operand == nil {
			operand = value.Undefined
		}
		u.steps = append(u.steps, step{
			path: []string{unalias(field)}, root: unalias(field), clears: value.IsUndefined(operand),
			do: func(*budget, any) (any, error) { return operand, nil },
		})
	}
	return writeRowCall("changeRow", t, id, match, l, func(w *writer, row *value.Object) (any, error) {
		if _, err := w.updateRow(row, u); err != nil {
			return nil, err
		}
		return w.readTagged(id)
	})
}

// RemoveRow deletes a row.
func RemoveRow(t Target, id string, match func(tag string) error, l Limits) (*Call, error) {
	return writeRowCall("removeRow", t, id, match, l, func(w *writer, _ *value.Object) (any, error) {
		w.remove(w.info, id)
		return id, nil
	})
}

// RemoveCollection deletes a collection and its rows.
func RemoveCollection(t Target, l Limits) (*Call, error) {
	of, err := t.check()
	if err != nil {
		return nil, err
	}
	return &Call{Function: "removeCollection", Alone: true, limit: l.WithDefaults(), write: func(w *writer) (any, error) {
		if err := w.openCollection(of, false); err != nil {
			return nil, err
		}
		if w.info == nil {
			return nil, NoCollection(of.name)
		}
		w.change(w.info, Change{Kind: Dropped, Collection: w.info.Collection})
		return of.name, nil
	}}, nil
}

// RowPage is some of the rows that meet a query, and how many there are.
type RowPage struct {
	Rows  []*value.Object
	Total int
}

// FindRows returns rows of a collection: a RowPage. The options are those of findMany.
func FindRows(t Target, query any, opts *value.Object, l Limits) (*Call, error) {
	p := &parameters{Object: value.NewObject("query", query, "opts", opts), limits: l.WithDefaults()}
	q, o, err := p.selecting()
	if err != nil {
		return nil, err
	}
	return readExistingCall("findRows", t, l, func(r reader, info *Info) (any, error) {
		rows, total, err := find(r, info, q, o, true)
		return RowPage{rows, total}, err
	})
}

// AggregateRows returns the result of an aggregate.
func AggregateRows(t Target, query any, steps []any, l Limits) (*Call, error) {
	p := &parameters{Object: value.NewObject("steps", steps, "query", query), limits: l.WithDefaults()}
	run, err := p.compileAggregate()
	if err != nil {
		return nil, err
	}
	return readExistingCall("aggregateRows", t, l, run)
}

// Summary is an entry of a list of collections.
type Summary struct {
	Name, Schema string
	Rows, Bytes  int64
	Indexes      int
	Declared     bool
}

// Summarise returns every collection of a namespace in the order of schemas and names:
// a []Summary.
func Summarise(l Limits) *Call {
	return &Call{Function: "summarise", limit: l.WithDefaults(), read: func(r reader) (any, error) {
		infos, err := r.Infos()
		if err != nil {
			return nil, err
		}
		all := make([]Summary, 0, len(infos))
		for _, info := range infos {
			rows, bytes, err := r.Stats(info.Collection)
			if err != nil {
				return nil, err
			}
			all = append(all, Summary{info.Name, info.Schema, rows, bytes, len(info.Declaration.All()), info.declared()})
		}
		slices.SortFunc(all, func(a, b Summary) int {
			if order := strings.Compare(a.Schema, b.Schema); order != 0 {
				return order
			}
			return strings.Compare(a.Name, b.Name)
		})
		return all, nil
	}}
}

// declared reports whether an author declared the rows.
func (i *Info) declared() bool { return i.Declaration != nil && !i.Declaration.Open }

// ReadSchema returns the declaration of a collection as automations see it, and `declared:
// false` when there is none.
func ReadSchema(t Target, l Limits) (*Call, error) {
	return readExistingCall("readSchema", t, l, func(_ reader, info *Info) (any, error) {
		summary := info.summary()
		if !info.declared() {
			summary.Set("declared", false)
		}
		return summary, nil
	})
}

// TextReader converts a text to the value of a field.
type TextReader func(field, text string) any

// ReadTexts returns a TextReader for the texts of a table. Fields that are not declared
// stay text.
func ReadTexts(t Target, l Limits) (*Call, error) {
	of, err := t.check()
	if err != nil {
		return nil, err
	}
	return &Call{Function: "readTexts", limit: l.WithDefaults(), read: func(r reader) (any, error) {
		info, err := findCollection(r, of.schema, of.name)
		if err != nil {
			return nil, err
		}
		return TextReader(func(field, text string) any {
			if info == nil {
				return text
			}
			return info.Declaration.property(field).valueOf(text)
		}), nil
	}}, nil
}

// valueOf reads a text as a value of the field. Numbers and dates are accepted as texts.
func (p *Property) valueOf(text string) any {
	if p == nil {
		return text
	}
	isEnum := p.Type == "enum" && !p.lists(text)
	if p.Type == "boolean" || isEnum {
		switch strings.ToLower(text) {
		case "true":
			return true
		case "false":
			return false
		}
	}
	if n, ok := value.ParseNumber(text); ok && isEnum {
		return n
	}
	if p.Type == "array" || p.Type == "enumArray" || p.Type == "json" {
		if parsed, err := value.ParseJSON(text); err == nil {
			return parsed
		}
	}
	return text
}

// Export visits all rows of a collection that meet a query, in the order of their ids or in
// one that is asked for.
type Export struct {
	Query  any
	Sort   *value.Object // as that of findMany; nil: by id
	Fields any           // as those of findMany; nil: all
	// Begin is called before the rows with their fields, id first and those of the
	// platform last; nil: not called, and each row is read once.
	Begin func(fields []string) error
	Visit func(row *value.Object) error
}

// sortedSize is what a row that is sorted takes besides its keys and its id.
const sortedSize = 96

// maxColumns is how many fields the rows of an export may have that begins with them.
const maxColumns = maxPaths

// ExportRows visits rows. Its result is nil.
func ExportRows(t Target, x Export, l Limits) (*Call, error) {
	q, err := compileQuery(x.Query)
	if err != nil {
		return nil, err
	}
	shape := value.NewObject("fields", x.Fields)
	if x.Sort != nil {
		shape.Set("sort", x.Sort)
	}
	o, err := readOptions(shape, l.WithDefaults())
	if err != nil {
		return nil, err
	}
	return readExistingCall("exportRows", t, l, func(r reader, info *Info) (any, error) {
		visit := func(handle func(*value.Object) error) error {
			p := planFor(info, q)
			if !p.inOrder {
				p = plan{inOrder: true} // sorting them would take the memory of all
			}
			return p.whole(r, info, q, func(_ string, row *value.Object) (bool, error) {
				if err := r.spend(rowSteps); err != nil {
					return false, err
				}
				return true, handle(o.show(row))
			})
		}
		if x.Begin != nil {
			columns, err := columnsOf(info, o.pick, visit)
			if err == nil {
				err = x.Begin(columns)
			}
			if err != nil {
				return nil, err
			}
		}
		if len(o.sort) > 0 {
			return nil, o.exportSorted(r, info, q, x.Visit)
		}
		return nil, visit(x.Visit)
	})
}

// exportSorted visits rows in an order. It holds their sort keys and ids, not the rows, and refuses too many of them
// before the first row is visited.
func (o options) exportSorted(r reader, info *Info, q *query, visit func(*value.Object) error) error {
	var order []*sorted
	usedBytes, fields := 0, o.sortFields()
	p := planFor(info, q)
	if !p.inOrder {
		p = plan{inOrder: true} // by an index a row may come twice, which would need a set of all ids
	}
	err := p.each(r, info, q, func(id string, row Row) (bool, error) {
		part, err := row.some(fields)
		if err != nil {
			return false, err
		}
		s := &sorted{keys: o.keysOf(part), id: id}
		order = append(order, s)
		if usedBytes += roughSize(s.keys) + len(id) + sortedSize; usedBytes > maxMemory {
			return false, withDetail(Refuse(TooLarge, "what the %d first of these rows are sorted by has more than %d MB: export them without sort, which is by id, or fewer of them with query", len(order), maxMemory>>20), "limit", float64(maxMemory))
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(order, func(a, b *sorted) int { return truth(comesBefore(o.sort, b, a)) - truth(comesBefore(o.sort, a, b)) })
	for _, s := range order {
		if err := r.spend(rowSteps); err != nil {
			return err
		}
		row, err := r.Row(info.Collection, s.id)
		if err != nil {
			return err
		}
		if err := visit(o.show(row)); err != nil {
			return err
		}
	}
	return nil
}

// Columns returns the fields of some rows: id first, what the platform writes last.
func Columns(rows []*value.Object) []string {
	c := newColumns(nil)
	for _, row := range rows {
		c.add(row)
	}
	return c.all(false)
}

// columns collects the fields of rows.
type columns struct {
	fields []string
	seen   map[string]bool
}

// newColumns begins with the declared fields.
func newColumns(d *Declaration) *columns {
	c := &columns{seen: map[string]bool{}}
	if d != nil {
		for _, p := range d.Properties {
			c.seen[p.Name] = true
			c.fields = append(c.fields, p.Name)
		}
	}
	return c
}

func (c *columns) add(row *value.Object) {
	for _, field := range row.Keys() {
		if !c.seen[field] && !isSystemField(field) {
			c.fields = append(c.fields, field)
		}
		c.seen[field] = true
	}
}

// all returns the fields; of those that the platform writes all, or those that rows have.
func (c *columns) all(whole bool) []string {
	all := append([]string{fieldID}, c.fields...)
	for _, field := range []string{fieldCreatedAt, fieldUpdatedAt, fieldCreatedBy, fieldUpdatedBy} {
		if whole || c.seen[field] {
			all = append(all, field)
		}
	}
	return all
}

// columnsOf returns the fields of the rows that are visited.
func columnsOf(info *Info, pick *selection, visit func(func(*value.Object) error) error) ([]string, error) {
	c := newColumns(nil)
	if pick == nil {
		c = newColumns(info.Declaration)
	}
	err := visit(func(row *value.Object) error {
		if c.add(row); len(c.fields) > maxColumns {
			return withDetail(Refuse(TooLarge, "the rows have more than %d different fields: export them as application/x-ndjson", maxColumns), "limit", float64(maxColumns))
		}
		return nil
	})
	return c.all(pick == nil), err
}

// ImportItem is an imported row and its position in the file.
type ImportItem struct {
	Line int
	Data *value.Object
}

// ImportFault is what is wrong with a line of a file.
type ImportFault struct {
	Line    int    `json:"line"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// ImportResult is what became of the rows of an import.
type ImportResult struct {
	Inserted, Updated, Unchanged int
	Refused                      int           // lines at fault
	Faults                       []ImportFault // of the first of them
	Dropped                      []string
}

// maxFaults is how many refused lines of an import are explained.
const maxFaults = 1000

// Refuse notes that lines are at fault.
func (r *ImportResult) Refuse(faults ...ImportFault) {
	r.Refused += len(faults)
	r.Faults = append(r.Faults, faults[:min(len(faults), maxFaults-len(r.Faults))]...)
}

// ImportRows writes the valid rows of a file and reports why others are refused: an
// ImportResult. With fields to find rows by, existing rows are changed.
func ImportRows(t Target, items []ImportItem, onConflict []string, l Limits) (*Call, error) {
	of, err := t.check()
	if err != nil {
		return nil, err
	}
	l = l.WithDefaults()
	if err := tooManyRowsError(len(items), l); err != nil {
		return nil, err
	}
	fields := make([]string, len(onConflict))
	for i, field := range onConflict {
		fields[i] = unalias(field)
	}
	return &Call{Function: "importRows", limit: l, write: func(w *writer) (any, error) {
		if err := w.openCollection(of, true); err != nil {
			return nil, err
		}
		if len(fields) > 0 {
			if err := w.ensureUnique(fields); err != nil {
				return nil, err
			}
		}
		var result ImportResult
		for _, item := range items {
			err := w.importOne(item.Data, fields, &result)
			if fault, ok := errors.AsType[*automation.Error](err); ok && w.left >= 0 {
				result.Refuse(faultOf(item.Line, fault))
				continue
			}
			if err == nil {
				err = tooMuchMemoryError(w.rowBytes)
			}
			if err != nil {
				return nil, err
			}
		}
		if result.Inserted+result.Updated+result.Unchanged == 0 {
			*w.Draft = *NewDraft(w.Draft.base) // a collection, or a unique, that no row needs
		}
		result.Dropped = slices.Clone(w.dropped.Keys())
		return result, nil
	}}, nil
}

func (w *writer) importOne(data *value.Object, fields []string, result *ImportResult) error {
	if len(fields) > 0 {
		have, err := w.conflicting(data, upsert{fields: fields})
		if err != nil {
			return err
		}
		if have != nil {
			changes, err := compileFields(data)
			if err != nil {
				return err
			}
			changed, err := w.updateRow(have, changes)
			if err == nil {
				result.Updated += truth(changed)
				result.Unchanged += truth(!changed)
			}
			return err
		}
	}
	_, err := w.insert(data)
	result.Inserted += truth(err == nil)
	return err
}

// compileFields makes an update that sets whole fields.
func compileFields(data *value.Object) (*update, error) {
	u := &update{}
	for _, field := range data.Keys() {
		v := data.At(field)
		if isSystemField(field) && (unalias(field) != fieldID || value.IsNothing(v)) {
			continue
		}
		operand, ok := storedValue(v, 0)
		if !ok {
			return nil, withDetail(Refuse(Validation, "the value of %s is nested too deeply", field), "field", field)
		}
		u.steps = append(u.steps, step{
			path: []string{unalias(field)}, root: unalias(field), do: func(*budget, any) (any, error) { return operand, nil },
		})
	}
	return u, nil
}

func faultOf(line int, e *automation.Error) ImportFault {
	field, message := FieldFault(e)
	return ImportFault{Line: line, Field: field, Message: message}
}

// FieldFault returns the field that an error is about, "" for none, and what is wrong with
// it without saying its name again.
func FieldFault(e *automation.Error) (field, message string) {
	field, _ = e.Details.At("field").(string)
	if fields, ok := e.Details.At("fields").([]any); ok && field == "" {
		names := make([]string, len(fields))
		for i, name := range fields {
			names[i] = value.Text(name)
		}
		field = strings.Join(names, ", ")
	}
	collection, _ := e.Details.At("collection").(string)
	return field, strings.TrimPrefix(e.Message, fmt.Sprintf("%s of %s: ", field, collection))
}
