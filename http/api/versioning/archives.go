package versioning

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/operation"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/api/workspaces"
	"svc/http/gateway"
	"svc/projections"
)

// current is the name of what no version has been made of yet.
const current = "current"

// ExportWorkspace handles GET /v2/workspaces/{workspaceId}/export.
func (h *Handlers) ExportWorkspace(r *http.Request) (any, error) { return h.exportAt(r, current) }

// ExportVersion handles GET and POST
// /v2/workspaces/{workspaceId}/versions/{name}/export.
func (h *Handlers) ExportVersion(r *http.Request) (any, error) {
	return h.exportAt(r, gateway.Var(r, "name"))
}

func (h *Handlers) exportAt(r *http.Request, version string) (any, error) {
	id := handler.WorkspaceID(r)
	rec, err := h.Workspaces.Record(id)
	if err != nil {
		return nil, err
	}
	seq := rec.Seq
	if version != current {
		if seq, err = h.Documents.VersionSeq(r, version); err != nil {
			return nil, err
		}
	}
	tree, err := h.Content.Export(r.Context(), id, seq, h.newDocumentFilter(gateway.GrantFrom(r.Context()).Rights, id))
	if err != nil {
		return nil, err
	}
	return zipResponse(id+"-"+version+".zip", tree.WriteZip)
}

// exportRequest is the body of POST /v2/workspaces/export.
type exportRequest struct {
	Workspaces *struct {
		Query      map[string]any `json:"query"`
		Pagination *struct {
			Page  int  `json:"page"`
			Limit *int `json:"limit"`
		} `json:"pagination"`
	} `json:"workspaces"`
	IncludeApps bool `json:"includeApps"`
}

// ExportMany handles POST /v2/workspaces/export.
func (h *Handlers) ExportMany(r *http.Request) (any, error) {
	var in exportRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	list, err := h.listExported(r, in)
	if err != nil {
		return nil, err
	}
	var more func(string) (content.Exported, bool, error)
	if in.IncludeApps {
		more = func(slug string) (content.Exported, bool, error) { return h.findAppWorkspace(r, slug) }
	}
	bulk, err := h.Content.ExportMany(r.Context(), list, more)
	if err != nil {
		return nil, err
	}
	return zipResponse("workspaces.zip", bulk.WriteZip)
}

// listExported lists the workspaces that an export asks for, of those that the caller
// may read, with the apps they publish.
func (h *Handlers) listExported(r *http.Request, in exportRequest) (list []content.Exported, err error) {
	query, from, most := workspaces.Query{}, 0, h.Content.Limits().Workspaces+1
	if w := in.Workspaces; w != nil {
		if query, err = h.readExportQuery(w.Query); err != nil {
			return nil, err
		}
		if p := w.Pagination; p != nil {
			if most = 20; p.Limit != nil {
				most = *p.Limit
			}
			if most < 1 || most > h.Content.Limits().Workspaces || p.Page < 0 || p.Page > maxExportPage {
				return nil, domain.Invalid(domain.FieldError{Field: "workspaces.pagination", Message: "page begins with 0, limit goes from 1 to 2000"})
			}
			from = p.Page * most
		}
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found, err := h.Workspaces.ListMatching(r, rd, query)
	if err != nil {
		return nil, err
	}
	from = min(from, len(found))
	for _, w := range found[from:min(from+most, len(found))] {
		one, err := h.withApp(r, rd, w.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// maxExportPage keeps what comes before a page far from overflow.
const maxExportPage = 1_000_000

// exportFilters are the members of a query, which are those of GET /v2/workspaces.
var exportFilters = []string{"search", "name", "ids", "slug", "labels", "email", "owned", "dirty"}

// readExportQuery reads the filters of a body as those of an address.
func (h *Handlers) readExportQuery(members map[string]any) (workspaces.Query, error) {
	values := url.Values{}
	for _, name := range exportFilters {
		switch v := members[name].(type) {
		case nil:
		case string:
			values.Set(name, v)
		case bool:
			values.Set(name, strconv.FormatBool(v))
		case []any:
			var texts []string
			for _, item := range v {
				text, ok := item.(string)
				if !ok {
					return workspaces.Query{}, handler.RefuseField("workspaces.query."+name, "must be a list of texts")
				}
				texts = append(texts, text)
			}
			values.Set(name, strings.Join(texts, ","))
		default:
			return workspaces.Query{}, handler.RefuseField("workspaces.query."+name, "must be a text, a boolean or a list of texts")
		}
		delete(members, name)
	}
	for name := range members {
		return workspaces.Query{}, handler.RefuseField("workspaces.query."+name, "unknown field; known are "+strings.Join(exportFilters, ", "))
	}
	return h.Workspaces.ReadQuery(gateway.NewQuery(&http.Request{URL: &url.URL{RawQuery: values.Encode()}}))
}

// findAppWorkspace returns the workspace of an app, if the caller may read it.
func (h *Handlers) findAppWorkspace(r *http.Request, appSlug string) (found content.Exported, ok bool, err error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	app, published, err := projections.Apps{}.Get(rd, appSlug)
	if err != nil || !published || app.IsBuiltIn() {
		return found, false, err
	}
	if _, ok, err = h.Access.Readable(gateway.CallerFrom(r.Context()), rd)(app.WorkspaceID); err != nil || !ok {
		return found, false, err
	}
	found, err = h.withApp(r, rd, app.WorkspaceID)
	return found, err == nil, err
}

// withApp is a workspace as it is now and the caller may read it, with the app
// that it publishes.
func (h *Handlers) withApp(r *http.Request, rd projections.Reader, id string) (one content.Exported, err error) {
	rec, _, err := projections.Workspaces{}.Record(rd, id)
	if err != nil {
		return one, err
	}
	rights, _, err := h.Access.Readable(gateway.CallerFrom(r.Context()), rd)(id)
	if err != nil {
		return one, err
	}
	one = content.Exported{ID: id, Seq: rec.Seq, May: h.newDocumentFilter(rights, id)}
	app, published, err := projections.Apps{}.Of(rd, id)
	if err == nil && published {
		one.AppSlug, one.AppName = app.Slug, app.Name.First()
	}
	return one, err
}

// importResponse is the answer to an import.
type importResponse struct {
	Imported        []string        `json:"imported"`
	Deleted         []string        `json:"deleted"`
	Errors          []archive.Item  `json:"errors"`
	Warnings        []archive.Item  `json:"warnings"`
	Workspace       json.RawMessage `json:"workspace,omitempty"`
	Version         *versionName    `json:"version,omitempty"`
	ContentRevision uint64          `json:"contentRevision,omitempty"`
	Created         []string        `json:"createdWorkspaceIds,omitempty"`
	Updated         []string        `json:"updatedWorkspaceIds,omitempty"`
	PublishedApps   []string        `json:"publishedApps,omitempty"`
}

type versionName struct {
	Name string `json:"name"`
}

// ImportWorkspace handles POST /v2/workspaces/{workspaceId}/import.
func (h *Handlers) ImportWorkspace(r *http.Request) (any, error) {
	o, data, err := h.readImport(r)
	if err != nil {
		return nil, err
	}
	tree, others, err := archive.Unzip(data, h.Content.Limits())
	if err != nil {
		return nil, err
	}
	o.Others = others
	id, rights := handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights
	o = h.withImportRights(gateway.CallerFrom(r.Context()), o, id, rights)
	q := gateway.NewQuery(r)
	o.IfRevision = uint64(q.Int("ifRevision", 0, 1, math.MaxInt)) //nolint:gosec // it is not negative
	if err := q.Err(); err != nil {
		return nil, err
	}
	if o.DryRun {
		result, err := h.Content.Import(r.Context(), id, tree, o)
		if err != nil {
			return nil, err
		}
		return h.toImportResponse(r, result, rights)
	}
	started, err := h.Versioning.Import(r.Context(), id, tree, o)
	if err != nil {
		return nil, err
	}
	return h.operationResponse(r, started, func(end operation.State) (any, error) {
		var done versioning.PullResult
		if err := json.Unmarshal(end.Result, &done); err != nil {
			return nil, err
		}
		result := content.Result{
			WorkspaceID: id, Imported: done.Imported, Deleted: done.Deleted, Errors: done.Errors, Warnings: done.Warnings, Published: done.PublishedApps,
		}
		if done.Version != nil {
			result.Version = done.Version.Name
		}
		body, err := h.toImportResponse(r, result, rights)
		body.ContentRevision = done.ContentRevision // others may have changed it since
		return body, err
	})
}

// withImportRights lets an import do what the caller may.
func (h *Handlers) withImportRights(caller gateway.Caller, o content.ImportOptions, id string, rights *access.Rights) content.ImportOptions {
	o.Authorizer = documents.ChangeAuthorizer{Handlers: h.Documents, Caller: caller, WorkspaceID: id, Rights: rights}
	o.Secure = rights.Allows("manage_security", "workspaces", nil)
	o.Publish = rights.Allows("create", "apps", access.Fields{"workspaceId": id})
	return o
}

// readImport returns how to import, and the archive.
func (h *Handlers) readImport(r *http.Request) (o content.ImportOptions, data []byte, err error) {
	if o, err = importOptions(r); err == nil {
		data, err = h.uploadedArchive(r)
	}
	return o, data, err
}

func importOptions(r *http.Request) (content.ImportOptions, error) {
	q := gateway.NewQuery(r)
	o := content.ImportOptions{Prune: q.Flag("prune"), Force: q.Flag("force"), Strict: q.Flag("strict"), DryRun: q.Flag("dryRun")}
	if err := q.Err(); err != nil {
		return o, err
	}
	_, err := readOperationWait(r)
	return o, err
}

// uploadedArchive returns the archive in a body: all of it, or the part that is
// called so.
func (h *Handlers) uploadedArchive(r *http.Request) ([]byte, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	switch media {
	case "application/zip", "application/x-zip-compressed":
		return gateway.ReadBody(r)
	case "multipart/form-data":
	default:
		return nil, gateway.RefuseStatus(http.StatusUnsupportedMediaType, "the body must be application/zip, or multipart/form-data with the archive")
	}
	var data []byte
	given := false
	err = gateway.Parts(r, int64(h.Content.Limits().ArchiveBytes), func(part gateway.Part) (err error) {
		switch {
		case part.Name != "archive":
			return handler.RefuseField(part.Name, "there is no such field")
		case given:
			return handler.RefuseField("archive", "was given twice")
		case part.File == nil:
			data = []byte(part.Text)
		default:
			data, err = io.ReadAll(part.File)
		}
		given = true
		return err
	})
	if err == nil && !given {
		err = handler.MissingField("archive")
	}
	return data, err
}

// toImportResponse is the answer about one workspace.
func (h *Handlers) toImportResponse(r *http.Request, result content.Result, rights *access.Rights) (importResponse, error) {
	body := importResponse{
		Imported: result.Imported, Deleted: result.Deleted, Errors: result.Errors, Warnings: result.Warnings, PublishedApps: result.Published,
	}
	if result.Version != "" {
		body.Version = &versionName{result.Version}
	}
	asJSON := r.Clone(r.Context())
	asJSON.Header.Del("Accept")
	response, err := h.Workspaces.Response(asJSON, result.WorkspaceID, rights)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return body, nil // the read model is still busy with what was just made
	}
	if err != nil {
		return body, err
	}
	body.Workspace = response.(handler.TaggedJSON).JSON
	rec, _, err := projections.Find(h.ReadModel, projections.Workspaces{}.Record, result.WorkspaceID)
	body.ContentRevision = rec.Dynamic.ContentRevision
	return body, err
}

// ImportNew handles POST /v2/workspaces/import: an archive of one workspace makes
// a new one, an archive of many makes those that are not there.
func (h *Handlers) ImportNew(r *http.Request) (any, error) {
	o, data, err := h.readImport(r)
	if err != nil {
		return nil, err
	}
	o.Authorizer = documents.ChangeAuthorizer{Handlers: h.Documents, Caller: gateway.CallerFrom(r.Context())}
	if archive.IsBulk(data, h.Content.Limits()) {
		return h.importMany(r, data, o)
	}
	tree, others, err := archive.Unzip(data, h.Content.Limits())
	if err != nil {
		return nil, err
	}
	o.Others = others
	result, err := h.Content.CreateFrom(r.Context(), "", tree, o)
	if err != nil {
		return nil, err
	}
	if o.DryRun {
		return gateway.OK(importResponse{Imported: result.Imported, Deleted: result.Deleted, Errors: result.Errors, Warnings: result.Warnings}), nil
	}
	handler.AwaitImportVisible(r.Context(), h.ReadModel)
	rights, _, err := h.Access.RightsOf(gateway.CallerFrom(r.Context()).Identity(), result.WorkspaceID)
	if err != nil {
		return nil, err
	}
	body, err := h.toImportResponse(r, result, rights)
	body.Created = []string{result.WorkspaceID}
	at := strings.TrimSuffix(strings.TrimRight(r.URL.Path, "/"), "import") + result.WorkspaceID
	return gateway.Created(body, at).With(handler.OperationHeader, result.OperationID), err
}

// importMany imports an archive of many workspaces. Paths begin with the id of
// their workspace.
func (h *Handlers) importMany(r *http.Request, data []byte, o content.ImportOptions) (any, error) {
	bulk, err := archive.ReadBulk(data, h.Content.Limits())
	if err != nil {
		return nil, err
	}
	all, err := h.Content.ImportMany(r.Context(), bulk, o, func(id string, o content.ImportOptions) (content.ImportOptions, error) {
		rights, found, err := h.Access.RightsOf(gateway.CallerFrom(r.Context()).Identity(), id)
		if err != nil {
			return o, err
		}
		if !found {
			return o, domain.Refuse(domain.CodeNotFound, "there is no such workspace")
		}
		return h.withImportRights(gateway.CallerFrom(r.Context()), o, id, rights), rights.Check("update", "workspaces", nil)
	})
	if err != nil {
		return nil, err
	}
	handler.AwaitImportVisible(r.Context(), h.ReadModel)
	body := importResponse{Imported: []string{}, Deleted: []string{}, Errors: append([]archive.Item{}, all.Errors...), Warnings: []archive.Item{}, Created: all.Created, Updated: all.Updated}
	answer := gateway.Status(http.StatusCreated, nil)
	for _, one := range all.Results {
		body.add(one)
		answer.With(handler.OperationHeader, one.OperationID)
	}
	if answer.Body = body; o.DryRun {
		answer.Status = http.StatusOK
	}
	return answer, nil
}

// add adds what one of many imports did.
func (b *importResponse) add(one content.Result) {
	for _, path := range one.Imported {
		b.Imported = append(b.Imported, one.WorkspaceID+"/"+path)
	}
	for _, path := range one.Deleted {
		b.Deleted = append(b.Deleted, one.WorkspaceID+"/"+path)
	}
	b.Errors, b.Warnings = append(b.Errors, one.Errors...), append(b.Warnings, one.Warnings...)
	b.PublishedApps = append(b.PublishedApps, one.Published...)
}

// zipResponse is an archive to be saved under a name, as write writes it.
func zipResponse(name string, write func(io.Writer) error) (any, error) {
	var zipped bytes.Buffer
	if err := write(&zipped); err != nil {
		return nil, err
	}
	return gateway.Content{Type: "application/zip", Body: zipped.Bytes(), Header: http.Header{
		"Content-Disposition": {"attachment; filename=" + name}, "Content-Length": {strconv.Itoa(zipped.Len())},
	}}, nil
}

// newDocumentFilter tells of the documents of a workspace whether somebody may read
// them.
func (h *Handlers) newDocumentFilter(rights *access.Rights, id string) func(path string, ref content.Ref) bool {
	return func(path string, ref content.Ref) bool {
		rd := h.ReadModel.Reader()
		defer rd.Close()
		return documents.CanReadRef(rd, rights, id, path, ref)
	}
}

// DuplicateWorkspace handles POST /v2/workspaces/{workspaceId}/versions/{name}/duplicate.
func (h *Handlers) DuplicateWorkspace(r *http.Request) (any, error) {
	var in struct {
		Name *string `json:"name"`
		Slug *string `json:"slug"`
	}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	o := content.Copy{May: h.newDocumentFilter(gateway.GrantFrom(r.Context()).Rights, handler.WorkspaceID(r)), ForOwners: gateway.CallerFrom(r.Context()).Kind != gateway.KindUser}
	if in.Name != nil {
		if o.Name = *in.Name; o.Name == "" {
			return nil, domain.Invalid(domain.FieldError{Field: "name", Message: "must be 1 to 60 characters without control characters"})
		}
	}
	if in.Slug != nil {
		if o.Slug = *in.Slug; o.Slug == "" {
			return nil, domain.Invalid(domain.FieldError{Field: "slug", Message: "must not be empty: leave it out to get one"})
		}
	}
	if version := gateway.Var(r, "name"); version != current {
		seq, err := h.Documents.VersionSeq(r, version)
		if err != nil {
			return nil, err
		}
		o.Seq = seq
	}
	made, err := h.Content.Duplicate(r.Context(), handler.WorkspaceID(r), o)
	if err != nil {
		return nil, err
	}
	body, err := h.Workspaces.CreatedWorkspace(r, made)
	before, _, _ := strings.Cut(r.URL.Path, "/workspaces/")
	return gateway.Created(body, before+"/workspaces/"+made.State.ID), err
}
