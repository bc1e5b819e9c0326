package collection

import (
	"slices"
	"strings"

	"svc/domain/automation/value"
)

func words(s string) []string { return strings.Fields(s) }

// reading makes a call of a read of one collection, which may not exist.
func (p *parameters) reading(read func(r reader, info *Info) (any, error)) *Call {
	t := p.target
	return &Call{read: func(r reader) (any, error) {
		info, err := lookup(r, t.schema, t.name)
		if err != nil {
			return nil, err
		}
		return read(r, info)
	}}
}

// selecting reads the query and the options of a read.
func (p *parameters) selecting() (*query, options, error) {
	q, err := compileQuery(p.At("query"))
	if err != nil {
		return nil, options{}, err
	}
	o, err := readOptions(p.At("opts"), p.limits)
	return q, o, err
}

func prepareFindOne(p *parameters) (*Call, error) {
	q, o, err := p.selecting()
	if err != nil {
		return nil, err
	}
	o.limit = 1
	return p.reading(func(r reader, info *Info) (any, error) {
		rows, _, err := find(r, info, q, o, false)
		if err != nil || len(rows) == 0 {
			return value.Undefined, err
		}
		return rows[0], nil
	}), nil
}

func prepareFindMany(p *parameters) (*Call, error) {
	q, o, err := p.selecting()
	if err != nil {
		return nil, err
	}
	return p.reading(func(r reader, info *Info) (any, error) {
		rows, _, err := find(r, info, q, o, false)
		return asList(rows), err
	}), nil
}

func prepareFindAndCount(p *parameters) (*Call, error) {
	q, o, err := p.selecting()
	if err != nil {
		return nil, err
	}
	return p.reading(func(r reader, info *Info) (any, error) {
		rows, total, err := find(r, info, q, o, true)
		return []any{asList(rows), float64(total)}, err
	}), nil
}

func asList(rows []*value.Object) []any {
	list := make([]any, len(rows))
	for i, row := range rows {
		list[i] = row
	}
	return list
}

func prepareCount(p *parameters) (*Call, error) {
	q, _, err := p.selecting()
	if err != nil {
		return nil, err
	}
	return p.reading(func(r reader, info *Info) (any, error) {
		if info == nil {
			return 0.0, nil
		}
		if q.empty() {
			rows, _, err := r.Stats(info.Collection)
			return float64(rows), err
		}
		total := 0
		err := planFor(info, q).each(r, info, q, func(string, Row) (bool, error) {
			total++
			return true, nil
		})
		return float64(total), err
	}), nil
}

func prepareDistinct(p *parameters) (*Call, error) {
	q, _, err := p.selecting()
	if err != nil {
		return nil, err
	}
	field, ok := p.At("field").(string)
	if !ok || field == "" {
		return nil, Refuse(Validation, "field is the name of a field")
	}
	most := p.limits.MaxLimit
	return p.reading(func(r reader, info *Info) (any, error) {
		if info == nil {
			return []any{}, nil
		}
		seen, held, fields := map[string]any{}, 0, []string{fieldOf(unalias(field))}
		err := planFor(info, q).each(r, info, q, func(_ string, row Row) (bool, error) {
			part, err := row.some(fields)
			if err != nil {
				return false, err
			}
			gather(at(part, unalias(field)), func(v any) {
				key := string(Key(nil, v))
				if _, ok := seen[key]; !ok {
					held += roughSize(v)
				}
				seen[key] = v
			})
			if len(seen) > most {
				return false, with(Refuse(TooLarge, "there are more than %d distinct values", most), "limit", float64(most))
			}
			return true, tooHeavy(held)
		})
		return inOrderOfKeys(seen), err
	}), nil
}

// gather hands over a value, or the items of a list; nothing for what is absent.
func gather(v any, take func(any)) {
	if list, ok := v.([]any); ok {
		for _, item := range list {
			take(item)
		}
		return
	}
	if !value.IsUndefined(v) {
		take(v)
	}
}

// inOrderOfKeys returns values in the order of sort.
func inOrderOfKeys(seen map[string]any) []any {
	keys := make([]string, 0, len(seen))
	for key := range seen {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if order := Compare(seen[a], seen[b]); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	list := make([]any, len(keys))
	for i, key := range keys {
		list[i] = seen[key]
	}
	return list
}

// names returns the collections of a schema in the order of their names.
func names(v View, schema string) ([]*Info, error) {
	infos, err := v.Infos()
	var found []*Info
	for _, info := range infos {
		if info.Schema == schema {
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b *Info) int { return strings.Compare(a.Name, b.Name) })
	return found, err
}

func prepareList(p *parameters) (*Call, error) {
	schema := p.target.schema
	return &Call{read: func(r reader) (any, error) {
		infos, err := names(r, schema)
		list := make([]any, len(infos))
		for i, info := range infos {
			list[i] = info.Name
		}
		return list, err
	}}, nil
}

func prepareSchemas(p *parameters) (*Call, error) {
	t := p.target
	return &Call{read: func(r reader) (any, error) {
		infos, err := names(r, t.schema)
		list := []any{}
		for _, info := range infos {
			if t.name == "" || info.Name == t.name {
				list = append(list, info.shown())
			}
		}
		return list, err
	}}, nil
}

// shown returns what is declared of a collection.
func (i *Info) shown() *value.Object {
	d := i.Declaration
	if d == nil {
		d = &Declaration{}
	}
	shown, declared := value.NewObject("collection", i.Name), d.Object()
	for _, key := range declared.Keys() {
		shown.Set(key, declared.At(key))
	}
	return shown
}

func prepareStats(p *parameters) (*Call, error) {
	return p.reading(func(r reader, info *Info) (any, error) {
		if info == nil {
			return value.NewObject("rows", 0.0, "bytes", 0.0, "indexes", 0.0), nil
		}
		rows, size, err := r.Stats(info.Collection)
		return value.NewObject("rows", float64(rows), "bytes", float64(size), "indexes", float64(len(info.Declaration.All()))), err
	}), nil
}
