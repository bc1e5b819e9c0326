package collections

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"svc/commands/collections"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/collection"
	"svc/domain/value"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// Collections keep the rows of workspaces and app instances. It is a
// *collections.Collections.
type Collections interface {
	Summarise(ctx context.Context, of collections.Caller) ([]collection.Summary, error)
	Schema(ctx context.Context, of collections.Caller, t collection.Target) (*value.Object, error)
	Declare(ctx context.Context, of collections.Caller, appSlug string, params *value.Object) (*value.Object, error)
	TryDeclare(ctx context.Context, of collections.Caller, params *value.Object) error
	Find(ctx context.Context, of collections.Caller, t collection.Target, query any, opts *value.Object) (collection.RowPage, error)
	Aggregate(ctx context.Context, of collections.Caller, t collection.Target, query any, steps []any) ([]any, error)
	Row(ctx context.Context, of collections.Caller, t collection.Target, id string) (collection.TaggedRow, error)
	Create(ctx context.Context, of collections.Caller, t collection.Target, data *value.Object) (collection.TaggedRow, error)
	Change(ctx context.Context, of collections.Caller, t collection.Target, id string, patch *value.Object, match func(tag string) error) (collection.TaggedRow, error)
	Remove(ctx context.Context, of collections.Caller, t collection.Target, id string, match func(tag string) error) error
	Drop(ctx context.Context, of collections.Caller, t collection.Target) error
	TextReader(ctx context.Context, of collections.Caller, t collection.Target) (collection.TextReader, error)
	Export(ctx context.Context, of collections.Caller, t collection.Target, x collection.Export) error
	Import(ctx context.Context, of collections.Caller, in collections.Import) (collection.ImportResult, error)
}

// collectionObject is a collection as rules see it.
func collectionObject(workspaceID, appInstance, schema, name string) access.Object {
	fields := access.Fields{"name": name, "schema": schema, "workspaceId": workspaceID}
	if appInstance != "" {
		fields["appInstance"] = appInstance
	}
	return fields
}

// requestedCollection is the collection that a request is about, and in whose name it is
// used.
type requestedCollection struct {
	target      collection.Target
	of          collections.Caller
	appInstance string // full slug; "": the collection is the workspace's own
	appSlug     string
}

// collectionOf returns the collection that a path names, when the caller may do all of
// these actions to it.
func (h *Handlers) collectionOf(r *http.Request, q *gateway.Query, actions ...string) (c requestedCollection, err error) {
	c.target = collection.Target{Schema: q.Text("schema"), Name: gateway.Var(r, "name")}
	c.appInstance = q.Text("appInstance")
	if err := q.Err(); err != nil {
		return c, err
	}
	if c.target.Schema == "" {
		c.target.Schema = collection.DefaultSchema
	}
	for _, action := range actions {
		if err := c.check(r, action); err != nil {
			return c, err
		}
	}
	c.of = collections.Caller{WorkspaceID: handler.WorkspaceID(r), UserID: gateway.CallerFrom(r.Context()).Actor()}
	if c.appInstance == "" {
		return c, nil
	}
	programSet, err := h.Programs.ProgramSet(r.Context(), handler.WorkspaceID(r))
	if err != nil {
		return c, err
	}
	scope := programSet.Scope(c.appInstance)
	if scope == nil {
		return c, domain.Refuse(domain.CodeNotFound, "there is no app instance %s", c.appInstance).With("resource", "appInstance").With("id", c.appInstance)
	}
	c.of.App, c.of.Instance, c.appSlug = scope.Namespace.App, scope.Namespace.Instance, scope.App
	return c, nil
}

// check refuses an action that the caller may not do to the collection; fields are those
// of a row that change.
func (c requestedCollection) check(r *http.Request, action string, fields ...string) error {
	object := collectionObject(handler.WorkspaceID(r), c.appInstance, c.target.Schema, c.target.Name)
	return gateway.GrantFrom(r.Context()).Rights.Check(action, "collections", object, fields...)
}

// collectionFault is what a caller is told of a CollectionError. Code is that of a value
// that is not acceptable: of the address or of the body.
func collectionFault(err error, code domain.Code, row *value.Object) error {
	fault, ok := errors.AsType[*automation.Error](err)
	if !ok || fault.Name != automation.CollectionFailed {
		return err
	}
	field, message := collection.FieldFault(fault)
	reason, _ := fault.Details.At("reason").(string)
	if reason == collection.NotUnique {
		return refuseDuplicateRow(fault, row)
	}
	refusal := domain.Refuse(code, "%s", fault.Message).Reason(reason)
	if code == domain.CodeInvalidParameter {
		return refusal.With("parameter", "query")
	}
	if field != "" {
		refusal.With("errors", []domain.FieldError{{Field: field, Message: message}})
	}
	return refusal
}

// messageOf is what is wrong in words, without the code.
func messageOf(err error) string {
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		return refusal.Message
	}
	return err.Error()
}

// refuseDuplicateRow says which values another row has.
func refuseDuplicateRow(fault *automation.Error, row *value.Object) error {
	var names []string
	var values []any
	fields, _ := fault.Details.At("fields").([]any)
	for _, field := range fields {
		name := value.Text(field)
		names = append(names, name)
		if v := row.At(name); !value.IsUndefined(v) {
			values = append(values, v)
		}
	}
	refusal := domain.Refuse(domain.CodeAlreadyExists, "%s", fault.Message).With("field", strings.Join(names, ", "))
	switch {
	case len(values) == 1 && len(names) == 1:
		refusal.With("value", json.RawMessage(value.JSON(values[0], "")))
	case len(values) > 0:
		refusal.With("value", json.RawMessage(value.JSON(values, "")))
	}
	return refusal
}

// collectionResponse is an item of the list of collections.
type collectionResponse struct {
	Name        string `json:"name"`
	Schema      string `json:"schema"`
	AppInstance string `json:"appInstance,omitempty"`
	Rows        int64  `json:"rows"`
	Bytes       int64  `json:"bytes"`
	Indexes     int    `json:"indexes"`
	Declared    bool   `json:"declared"`
}

// ListCollections handles GET …/collections: those of the workspace, then those of its app
// instances, each in the order of their names.
func (h *Handlers) ListCollections(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page, sort := q.Page(20, 100), q.OneOf("sort", "", "name", "-name", "rows", "-rows", "bytes", "-bytes")
	schema, instance := q.Text("schema"), q.Text("appInstance")
	if err := q.Err(); err != nil {
		return nil, err
	}
	id := handler.WorkspaceID(r)
	programSet, err := h.Programs.ProgramSet(r.Context(), id)
	if err != nil {
		return nil, err
	}
	may := gateway.GrantFrom(r.Context()).Rights.Filter("read", "collections")
	var found []collectionResponse
	for _, scope := range programSet.Scopes() {
		if q.Has("appInstance") && scope.Instance != instance {
			continue
		}
		all, err := h.Collections.Summarise(r.Context(), collections.Caller{WorkspaceID: id, App: scope.Namespace.App, Instance: scope.Namespace.Instance})
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			if (schema == "" || schema == s.Schema) && may(collectionObject(id, scope.Instance, s.Schema, s.Name)) {
				found = append(found, collectionResponse{s.Name, s.Schema, scope.Instance, s.Rows, s.Bytes, s.Indexes, s.Declared})
			}
		}
	}
	sortCollections(found, sort)
	return gateway.ListOf(r, found, page), nil
}

// GetCollectionSchema handles GET …/collections/{name}/schema.
func (h *Handlers) GetCollectionSchema(r *http.Request) (any, error) {
	c, err := h.collectionOf(r, gateway.NewQuery(r), "read")
	if err != nil {
		return nil, err
	}
	schema, err := h.Collections.Schema(r.Context(), c.of, c.target)
	if err != nil {
		return nil, collectionFault(err, domain.CodeInvalidParameter, nil)
	}
	return schema, nil
}

// schemaRequest is the body of PUT …/collections/{name}/schema. What GET answers may be sent
// back.
type schemaRequest struct {
	Collection    json.RawMessage `json:"collection"`
	Properties    json.RawMessage `json:"properties"`
	Indexes       json.RawMessage `json:"indexes"`
	Uniques       json.RawMessage `json:"uniques"`
	OldCollection *string         `json:"oldCollection"`
	OldSchema     *string         `json:"oldSchema"`
}

// PutCollectionSchema handles PUT …/collections/{name}/schema.
func (h *Handlers) PutCollectionSchema(r *http.Request) (any, error) {
	var in schemaRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	query := gateway.NewQuery(r)
	dry := query.Flag("dryRun")
	c, err := h.collectionOf(r, query, "update")
	if err != nil {
		return nil, err
	}
	if in.Properties == nil {
		return nil, handler.MissingField("properties")
	}
	params := value.NewObject("collection", c.target.Name, "schema", c.target.Schema)
	for name, raw := range map[string]json.RawMessage{"properties": in.Properties, "indexes": in.Indexes, "uniques": in.Uniques} {
		if raw != nil {
			params.Set(name, parsedJSON(raw))
		}
	}
	if in.OldCollection != nil || in.OldSchema != nil {
		old := c
		if in.OldCollection != nil {
			old.target.Name = *in.OldCollection
			params.Set("oldCollection", *in.OldCollection)
		}
		if in.OldSchema != nil {
			old.target.Schema = *in.OldSchema
			params.Set("oldSchema", *in.OldSchema)
		}
		if err := old.check(r, "delete"); err != nil { // under that name it is gone
			return nil, err
		}
	}
	if dry {
		return declarationDryRun(h.Collections.TryDeclare(r.Context(), c.of, params))
	}
	schema, err := h.Collections.Declare(r.Context(), c.of, c.appSlug, params)
	if err != nil {
		return nil, collectionFault(err, domain.CodeValidation, nil)
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return schema, nil
}

// declarationDryRun is the answer to a dry run of a declaration that was refused with err.
func declarationDryRun(err error) (any, error) {
	v := handler.NewDryRunResponse()
	if err == nil {
		return v, nil
	}
	refusal, ok := errors.AsType[*domain.Error](collectionFault(err, domain.CodeValidation, nil))
	if !ok {
		return nil, err
	}
	faults, _ := refusal.Details["errors"].([]domain.FieldError)
	if len(faults) == 0 {
		field, _ := refusal.Details["field"].(string)
		faults = []domain.FieldError{{Field: field, Message: refusal.Message}}
	}
	for _, fault := range faults {
		v.Errors = append(v.Errors, handler.LocatedFault{Field: fault.Field, Message: fault.Message})
	}
	return v, nil
}

// parsedJSON is a part of a body as collections see it. The body was JSON.
func parsedJSON(raw json.RawMessage) any {
	v, err := value.ParseJSON(string(raw))
	if err != nil {
		return value.Undefined
	}
	return v
}

// DeleteCollection handles DELETE …/collections/{name}.
func (h *Handlers) DeleteCollection(r *http.Request) (any, error) {
	c, err := h.collectionOf(r, gateway.NewQuery(r), "delete")
	if err != nil {
		return nil, err
	}
	if err := h.Collections.Drop(r.Context(), c.of, c.target); err != nil {
		return nil, collectionFault(err, domain.CodeInvalidParameter, nil)
	}
	return map[string]string{"name": c.target.Name}, nil
}

// rowLocation is where a new row is found.
func rowLocation(r *http.Request, id string) string {
	query := url.Values{}
	for _, name := range []string{"appInstance", "schema"} {
		if v := r.URL.Query().Get(name); v != "" {
			query.Set(name, v)
		}
	}
	location := strings.TrimRight(r.URL.EscapedPath(), "/") + "/" + url.PathEscape(id)
	if len(query) > 0 {
		location += "?" + query.Encode()
	}
	return location
}
