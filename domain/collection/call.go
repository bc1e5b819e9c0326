package collection

import (
	"slices"

	"svc/domain/automation"
	"svc/domain/value"
)

// Call is a prepared call of a function of collections.
type Call struct {
	Function string
	// Alone says that a write changes what a collection is: nothing else may be decided
	// on the same draft after it.
	Alone bool

	read  func(reader) (any, error)
	write func(*writer) (any, error)
	limit Limits
}

// Writes reports whether the call may change something.
func (c *Call) Writes() bool { return c.write != nil }

// Read returns the result of a call that does not write. It fails as soon as alive, which
// may be nil, returns an error because the caller is gone.
func (c *Call) Read(v View, alive func() error) (any, error) {
	return c.read(reader{v, c.newBudget(alive)})
}

// Write adds the changes of a call to a draft and returns its result. When it fails, also
// because of alive, the draft must not be used.
func (c *Call) Write(d *Draft, s Stamp, alive func() error) (any, error) {
	return c.write(&writer{Draft: d, budget: c.newBudget(alive), limits: c.limit, stamp: s})
}

func (c *Call) newBudget(alive func() error) *budget {
	return &budget{left: c.limit.MaxSteps, limit: c.limit.MaxSteps, alive: alive}
}

// target is the collection that a call is about.
type target struct{ schema, name string }

const defaultSchema = "default"

// function is a row of the table of functions.
type function struct {
	params  []string // those it knows, besides collection and schema
	unnamed bool     // it is not about one collection
	alone   bool
	prepare func(p *parameters) (*Call, error)
}

// functions are the functions by their names.
var functions = map[string]function{
	"updateSchema":          {[]string{"properties", "indexes", "uniques", "oldCollection", "oldSchema"}, false, true, prepareUpdateSchema},
	"listCollections":       {nil, true, false, prepareList},
	"getCollectionSchemas":  {nil, true, false, prepareSchemas},
	"getCollectionStats":    {nil, false, false, prepareStats},
	"inferCollectionSchema": {nil, false, false, prepareInfer},
	"deleteCollections":     {[]string{"collections", "all"}, true, true, prepareDeleteCollections},
	"findOne":               {[]string{"query", "opts"}, false, false, prepareFindOne},
	"findMany":              {[]string{"query", "opts"}, false, false, prepareFindMany},
	"findAndCount":          {[]string{"query", "opts"}, false, false, prepareFindAndCount},
	"count":                 {[]string{"query", "opts"}, false, false, prepareCount},
	"distinct":              {[]string{"field", "query", "opts"}, false, false, prepareDistinct},
	"aggregate":             {[]string{"steps", "query", "opts"}, false, false, prepareAggregate},
	"create":                {[]string{"data", "outputMode"}, false, false, prepareCreate},
	"bulkCreate":            {[]string{"data"}, false, false, prepareBulkCreate},
	"updateOne":             {[]string{"query", "update", "data", "opts", "allowMatchAll"}, false, false, func(p *parameters) (*Call, error) { return prepareUpdate(p, true) }},
	"updateMany":            {[]string{"query", "update", "data", "opts", "allowMatchAll"}, false, false, func(p *parameters) (*Call, error) { return prepareUpdate(p, false) }},
	"upsert":                {[]string{"data", "opts"}, false, false, func(p *parameters) (*Call, error) { return prepareUpsert(p, false) }},
	"bulkUpsert":            {[]string{"data", "opts"}, false, false, func(p *parameters) (*Call, error) { return prepareUpsert(p, true) }},
	"deleteOne":             {[]string{"query", "opts", "allowMatchAll"}, false, false, func(p *parameters) (*Call, error) { return prepareDelete(p, true) }},
	"deleteMany":            {[]string{"query", "opts", "allowMatchAll"}, false, false, func(p *parameters) (*Call, error) { return prepareDelete(p, false) }},
}

// Prepare reads the parameters of a function. It refuses parameters that are wrong whatever the rows are.
func Prepare(name string, params *value.Object, limits Limits) (*Call, error) {
	f, ok := functions[name]
	if !ok {
		return nil, automation.Invalid("the module collections has no function %s", name)
	}
	p := &parameters{Object: params, limits: limits.WithDefaults()}
	if err := p.read(f); err != nil {
		return nil, err
	}
	call, err := f.prepare(p)
	if err != nil {
		return nil, err
	}
	call.Function, call.Alone, call.limit = name, f.alone, p.limits
	return call, nil
}

// parameters are those of one call.
type parameters struct {
	*value.Object
	limits Limits
	target target
}

func (p *parameters) read(f function) error {
	for _, key := range p.Keys() {
		if key != "collection" && key != "schema" && !slices.Contains(f.params, key) {
			return Refuse(Validation, "there is no parameter %s", key)
		}
	}
	p.target.schema = defaultSchema
	var err error
	if !value.IsNothing(p.At("schema")) {
		if p.target.schema, err = p.name("schema"); err != nil {
			return err
		}
	}
	if !f.unnamed || !value.IsNothing(p.At("collection")) {
		p.target.name, err = p.name("collection")
	}
	return err
}

// name reads the name of a collection or a schema.
func (p *parameters) name(key string) (string, error) {
	name, ok := p.At(key).(string)
	if !ok {
		return "", Refuse(Validation, "%s is a text", key)
	}
	return name, checkName(key, name)
}

// object reads a parameter that is one object.
func (p *parameters) object(key string) (*value.Object, error) {
	o, ok := p.At(key).(*value.Object)
	if !ok {
		return nil, Refuse(Validation, "%s is an object, not %s", key, value.TypeName(p.At(key)))
	}
	return o, nil
}

// flag reads a parameter that is true or false; absent is false.
func (p *parameters) flag(key string) (bool, error) {
	on, ok := p.At(key).(bool)
	if !ok && !value.IsNothing(p.At(key)) {
		return false, Refuse(Validation, "%s must be true or false", key)
	}
	return on, nil
}

// oneOf reads a parameter that has a second name.
func (p *parameters) oneOf(name, alias string) (any, error) {
	if value.IsNothing(p.At(alias)) {
		return p.At(name), nil
	}
	if !value.IsNothing(p.At(name)) {
		return nil, Refuse(Validation, "%s and %s cannot both be given: they mean the same", name, alias)
	}
	return p.At(alias), nil
}

// objects reads a parameter that is a list of objects, no more than a write may have.
func (p *parameters) objects(key string) ([]*value.Object, error) {
	list, ok := p.At(key).([]any)
	if !ok {
		return nil, Refuse(Validation, "%s is a list of objects, not %s", key, value.TypeName(p.At(key)))
	}
	if err := tooManyRowsError(len(list), p.limits); err != nil {
		return nil, err
	}
	all := make([]*value.Object, len(list))
	for i, item := range list {
		if all[i], ok = item.(*value.Object); !ok {
			return nil, Refuse(Validation, "%s is a list of objects, and item %d is %s", key, i, value.TypeName(item))
		}
	}
	return all, nil
}

func tooManyRowsError(rows int, l Limits) error {
	if rows > l.MaxWrite {
		return withDetail(Refuse(TooLarge, "a write has at most %d rows", l.MaxWrite), "limit", float64(l.MaxWrite))
	}
	return nil
}

// requiredQuery reads the query of a write, which must not be empty.
func (p *parameters) requiredQuery() (*query, error) {
	q, err := compileQuery(p.At("query"))
	if err != nil {
		return nil, err
	}
	given, err := optionsObject(p.At("opts"), "allowMatchAll")
	if err != nil {
		return nil, err
	}
	if q.empty() && p.At("allowMatchAll") != true && given.At("allowMatchAll") != true {
		return nil, Refuse(EmptyQuery, "the query is empty and would affect every row: set allowMatchAll: true if you want that")
	}
	return q, nil
}
