package collections

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/collection"
	"svc/domain/value"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// rowResponse is a row as it is answered, with the fields that a write left out.
type rowResponse struct{ collection.TaggedRow }

// Encoded implements gateway.Encoded.
func (s rowResponse) Encoded() []byte {
	row := s.Row
	if _, own := row.Get("droppedFields"); len(s.Dropped) > 0 && !own {
		row = row.Copy()
		row.Set("droppedFields", value.From(s.Dropped))
	}
	return []byte(value.JSON(row, ""))
}

// ETag implements gateway.Tagged.
func (s rowResponse) ETag() string { return s.Tag }

// rowList is rows as they are answered.
type rowList []*value.Object

// readRow returns the body of a request that is a row.
func readRow(r *http.Request) (*value.Object, error) {
	var raw json.RawMessage
	if err := gateway.Decode(r, &raw); err != nil {
		return nil, err
	}
	row, ok := parsedJSON(raw).(*value.Object)
	if !ok {
		return nil, domain.Refuse(domain.CodeInvalidRequest, "the body must be an object: a row")
	}
	return row, nil
}

// CreateRow handles POST …/collections/{name}/rows.
func (h *Handlers) CreateRow(r *http.Request) (any, error) {
	row, err := readRow(r)
	if err != nil {
		return nil, err
	}
	c, err := h.collectionOf(r, gateway.NewQuery(r), "create")
	if err != nil {
		return nil, err
	}
	made, err := h.Collections.Create(r.Context(), c.of, c.target, row)
	if err != nil {
		return nil, collectionFault(err, domain.CodeValidation, row)
	}
	return gateway.Created(rowResponse{made}, rowLocation(r, value.Text(made.Row.At("id")))), nil
}

// GetRow handles GET …/collections/{name}/rows/{id}.
func (h *Handlers) GetRow(r *http.Request) (any, error) {
	c, err := h.collectionOf(r, gateway.NewQuery(r), "read")
	if err != nil {
		return nil, err
	}
	found, err := h.Collections.Row(r.Context(), c.of, c.target, gateway.Var(r, "id"))
	if err != nil {
		return nil, collectionFault(err, domain.CodeInvalidParameter, nil)
	}
	return rowResponse{found}, nil
}

// UpdateRow handles PATCH …/collections/{name}/rows/{id}.
func (h *Handlers) UpdateRow(r *http.Request) (any, error) {
	patch, err := readRow(r)
	if err != nil {
		return nil, err
	}
	c, err := h.collectionOf(r, gateway.NewQuery(r))
	if err != nil {
		return nil, err
	}
	if err := c.check(r, "update", collection.ChangedFields(patch)...); err != nil {
		return nil, err
	}
	changed, err := h.Collections.Change(r.Context(), c.of, c.target, gateway.Var(r, "id"), patch, matchTag(r))
	if err != nil {
		return nil, collectionFault(err, domain.CodeValidation, patch)
	}
	return rowResponse{changed}, nil
}

// matchTag holds a tag against If-Match.
func matchTag(r *http.Request) func(tag string) error {
	return func(tag string) error { return gateway.IfMatch(r, tag) }
}

// DeleteRow handles DELETE …/collections/{name}/rows/{id}.
func (h *Handlers) DeleteRow(r *http.Request) (any, error) {
	c, err := h.collectionOf(r, gateway.NewQuery(r), "delete")
	if err != nil {
		return nil, err
	}
	id := gateway.Var(r, "id")
	if err := h.Collections.Remove(r.Context(), c.of, c.target, id, matchTag(r)); err != nil {
		return nil, collectionFault(err, domain.CodeInvalidParameter, nil)
	}
	return handler.IDResponse(id), nil
}

// rowForm is how rows are answered.
type rowForm int

const (
	rowsJSON  rowForm = iota
	rowsCSV           // a table
	rowsLines         // one in a line
)

const tableType = "text/csv"

// rowFormOf is the first form that the client names.
func rowFormOf(r *http.Request) rowForm {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		media, _, _ := mime.ParseMediaType(part)
		switch media {
		case tableType:
			return rowsCSV
		case handler.JSONLines:
			return rowsLines
		case "application/json", "*/*", "application/*":
			return rowsJSON
		}
	}
	return rowsJSON
}

// rowQuery is which rows are asked for.
type rowQuery struct {
	query any
	sort  *value.Object
	page  gateway.Page
	all   bool // no page is asked for
	given bool // an order is asked for
	pick  any  // fields; nil: all
}

func readRowQuery(q *gateway.Query) (rowQuery, error) {
	w := rowQuery{page: q.Page(20, 100), all: !q.Has("page") && !q.Has("limit"), given: q.Text("sort") != "", sort: sortOf(cmp.Or(q.Text("sort"), "-updatedAt"))}
	if fields := q.List("fields"); len(fields) > 0 {
		w.pick = value.From(fields)
	}
	text := q.Text("query")
	if err := q.Err(); err != nil {
		return w, err
	}
	if text != "" {
		if err := gateway.CheckJSON([]byte(text)); err != nil {
			return w, domain.Refuse(domain.CodeInvalidParameter, "query must be a JSON object: %s", messageOf(err)).With("parameter", "query")
		}
		w.query = parsedJSON([]byte(text))
	}
	return w, nil
}

// sortOf reads fields, those with a - in front downwards.
func sortOf(text string) *value.Object {
	sort := &value.Object{}
	for name := range strings.SplitSeq(text, ",") {
		field, down := strings.CutPrefix(strings.TrimSpace(name), "-")
		if direction := 1.0; field != "" {
			if down {
				direction = -1
			}
			sort.Set(field, direction)
		}
	}
	return sort
}

// ListRows handles GET …/collections/{name}/rows: a page, or all rows as a table or as
// lines.
func (h *Handlers) ListRows(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	c, err := h.collectionOf(r, q, "read")
	if err != nil {
		return nil, err
	}
	wanted, err := readRowQuery(q)
	if err != nil {
		return nil, err
	}
	form := rowFormOf(r)
	if form != rowsJSON && wanted.all {
		return h.exportRows(c, wanted, form), nil
	}
	opts := value.NewObject("sort", wanted.sort, "limit", float64(wanted.page.Limit), "skip", float64(wanted.page.Offset()))
	if wanted.pick != nil {
		opts.Set("fields", wanted.pick)
	}
	found, err := h.Collections.Find(r.Context(), c.of, c.target, wanted.query, opts)
	if err != nil {
		return nil, collectionFault(err, domain.CodeInvalidParameter, nil)
	}
	answer := gateway.List(r, rowList(found.Rows), found.Total, wanted.page)
	if form == rowsJSON {
		return answer, nil
	}
	return pageOfRows(found.Rows, answer.Header, form, c.target.Name)
}

// queryRequest is the body of POST …/collections/{name}/query.
type queryRequest struct {
	Query     json.RawMessage `json:"query"`
	Sort      json.RawMessage `json:"sort"`
	Fields    json.RawMessage `json:"fields"`
	Limit     json.RawMessage `json:"limit"`
	Skip      json.RawMessage `json:"skip"`
	Aggregate json.RawMessage `json:"aggregate"`
}

// queryResponse is the answer to a query.
type queryResponse struct {
	Rows  any  `json:"rows"`
	Total *int `json:"total,omitempty"`
}

// QueryRows handles POST …/collections/{name}/query.
func (h *Handlers) QueryRows(r *http.Request) (any, error) {
	var in queryRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	c, err := h.collectionOf(r, gateway.NewQuery(r), "read")
	if err != nil {
		return nil, err
	}
	query := value.Undefined
	if in.Query != nil {
		query = parsedJSON(in.Query)
	}
	opts := &value.Object{}
	for _, o := range []struct {
		name string
		raw  json.RawMessage
	}{{"sort", in.Sort}, {"fields", in.Fields}, {"limit", in.Limit}, {"skip", in.Skip}} {
		if o.raw == nil {
			continue
		}
		if in.Aggregate != nil {
			return nil, domain.Invalid(domain.FieldError{Field: o.name, Message: "does not go with aggregate, which has steps for it"})
		}
		v := parsedJSON(o.raw)
		if text, ok := v.(string); ok && o.name == "sort" {
			v = sortOf(text)
		}
		opts.Set(o.name, v)
	}
	if in.Aggregate != nil {
		steps, ok := parsedJSON(in.Aggregate).([]any)
		if !ok {
			return nil, handler.RefuseField("aggregate", "must be a list")
		}
		rows, err := h.Collections.Aggregate(r.Context(), c.of, c.target, query, steps)
		if err != nil {
			return nil, collectionFault(err, domain.CodeValidation, nil)
		}
		return queryResponse{Rows: json.RawMessage(value.JSON(rows, ""))}, nil
	}
	found, err := h.Collections.Find(r.Context(), c.of, c.target, query, opts)
	if err != nil {
		return nil, collectionFault(err, domain.CodeValidation, nil)
	}
	return queryResponse{Rows: append(rowList{}, found.Rows...), Total: &found.Total}, nil
}

// sortCollections puts collections into the order that was asked for; "" leaves them.
func sortCollections(all []collectionResponse, sort string) {
	field, down := strings.CutPrefix(sort, "-")
	slices.SortStableFunc(all, func(a, b collectionResponse) int {
		order := 0
		switch field {
		case "name":
			order = strings.Compare(a.Name, b.Name)
		case "rows":
			order = cmp.Compare(a.Rows, b.Rows)
		case "bytes":
			order = cmp.Compare(a.Bytes, b.Bytes)
		}
		if down {
			return -order
		}
		return order
	})
}
