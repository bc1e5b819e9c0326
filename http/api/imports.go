package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/operation"
	"svc/http/gateway"
	"svc/projections"
)

// importResult is the answer to an import.
type importResult struct {
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

// importWorkspace handles POST /v2/workspaces/{workspaceId}/import.
func importWorkspace(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		o, data, err := readImport(d, r)
		if err != nil {
			return nil, err
		}
		tree, others, err := archive.Unzip(data, d.Content.Limits())
		if err != nil {
			return nil, err
		}
		o.Others = others
		id, rights := workspaceID(r), gateway.GrantFrom(r.Context()).Rights
		o = withRights(d, gateway.CallerFrom(r.Context()), o, id, rights)
		if o.DryRun {
			result, err := d.Content.Import(r.Context(), id, tree, o)
			if err != nil {
				return nil, err
			}
			return resultOf(d, r, result, rights)
		}
		started, err := d.Versioning.Import(r.Context(), id, tree, o)
		if err != nil {
			return nil, err
		}
		return d.answerLong(r, started, func(end operation.State) (any, error) {
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
			return resultOf(d, r, result, rights)
		})
	}
}

// withRights lets an import do what the caller may.
func withRights(d Deps, caller gateway.Caller, o content.ImportOptions, id string, rights *access.Rights) content.ImportOptions {
	o.Judge = judge{d: d, caller: caller, id: id, rights: rights}
	o.Secure = rights.Allows("manage_security", "workspaces", nil)
	o.Publish = rights.Allows("create", "apps", access.Fields{"workspaceId": id})
	return o
}

// readImport returns how to import, and the archive.
func readImport(d Deps, r *http.Request) (o content.ImportOptions, data []byte, err error) {
	if o, err = importOptions(r); err == nil {
		data, err = uploadedArchive(d, r)
	}
	return o, data, err
}

func importOptions(r *http.Request) (content.ImportOptions, error) {
	q := gateway.NewQuery(r)
	o := content.ImportOptions{Prune: q.Flag("prune"), Force: q.Flag("force"), Strict: q.Flag("strict"), DryRun: q.Flag("dryRun")}
	if err := q.Err(); err != nil {
		return o, err
	}
	_, err := longWait(r)
	return o, err
}

// uploadedArchive returns the archive in a body: all of it, or the part that is
// called so.
func uploadedArchive(d Deps, r *http.Request) ([]byte, error) {
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
	err = gateway.Parts(r, int64(d.Content.Limits().ArchiveBytes), func(part gateway.Part) (err error) {
		switch {
		case part.Name != "archive":
			return refuseField(part.Name, "there is no such field")
		case given:
			return refuseField("archive", "was given twice")
		case part.File == nil:
			data = []byte(part.Text)
		default:
			data, err = io.ReadAll(part.File)
		}
		given = true
		return err
	})
	if err == nil && !given {
		err = missing("archive")
	}
	return data, err
}

// resultOf is the answer about one workspace.
func resultOf(d Deps, r *http.Request, result content.Result, rights *access.Rights) (importResult, error) {
	body := importResult{
		Imported: result.Imported, Deleted: result.Deleted, Errors: result.Errors, Warnings: result.Warnings, PublishedApps: result.Published,
	}
	if result.Version != "" {
		body.Version = &versionName{result.Version}
	}
	asJSON := r.Clone(r.Context())
	asJSON.Header.Del("Accept")
	shown, err := workspaceAnswer(d, asJSON, result.WorkspaceID, rights)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return body, nil // the read model is still busy with what was just made
	}
	if err != nil {
		return body, err
	}
	body.Workspace = shown.(tagged).json
	err = d.ReadModel.View(func(rd projections.Reader) error {
		rec, _, err := projections.Workspaces{}.Record(rd, result.WorkspaceID)
		body.ContentRevision = rec.Dynamic.ContentRevision
		return err
	})
	return body, err
}

// importNew handles POST /v2/workspaces/import: an archive of one workspace makes
// a new one, an archive of many makes those that are not there.
func importNew(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		o, data, err := readImport(d, r)
		if err != nil {
			return nil, err
		}
		o.Judge = judge{d: d, caller: gateway.CallerFrom(r.Context())}
		if archive.IsBulk(data, d.Content.Limits()) {
			return importMany(d, r, data, o)
		}
		tree, others, err := archive.Unzip(data, d.Content.Limits())
		if err != nil {
			return nil, err
		}
		o.Others = others
		result, err := d.Content.CreateFrom(r.Context(), "", tree, o)
		if err != nil {
			return nil, err
		}
		if o.DryRun {
			return gateway.OK(importResult{Imported: result.Imported, Deleted: result.Deleted, Errors: result.Errors, Warnings: result.Warnings}), nil
		}
		settleLong(r.Context(), d.ReadModel)
		rights, _, err := d.Access.RightsOf(gateway.CallerFrom(r.Context()).Identity(), result.WorkspaceID)
		if err != nil {
			return nil, err
		}
		body, err := resultOf(d, r, result, rights)
		body.Created = []string{result.WorkspaceID}
		at := strings.TrimSuffix(strings.TrimRight(r.URL.Path, "/"), "import") + result.WorkspaceID
		return gateway.Created(body, at).With(operationHeader, result.OperationID), err
	}
}

// importMany imports an archive of many workspaces. Paths begin with the id of
// their workspace.
func importMany(d Deps, r *http.Request, data []byte, o content.ImportOptions) (any, error) {
	bulk, err := archive.ReadBulk(data, d.Content.Limits())
	if err != nil {
		return nil, err
	}
	all, err := d.Content.ImportMany(r.Context(), bulk, o, func(id string, o content.ImportOptions) (content.ImportOptions, error) {
		rights, found, err := d.Access.RightsOf(gateway.CallerFrom(r.Context()).Identity(), id)
		if err != nil {
			return o, err
		}
		if !found {
			return o, domain.Refuse(domain.CodeNotFound, "there is no such workspace")
		}
		return withRights(d, gateway.CallerFrom(r.Context()), o, id, rights), rights.Check("update", "workspaces", nil)
	})
	if err != nil {
		return nil, err
	}
	settleLong(r.Context(), d.ReadModel)
	body := importResult{Imported: []string{}, Deleted: []string{}, Errors: append([]archive.Item{}, all.Errors...), Warnings: []archive.Item{}, Created: all.Created, Updated: all.Updated}
	answer := gateway.Status(http.StatusCreated, nil)
	for _, one := range all.Results {
		body.add(one)
		answer.With(operationHeader, one.OperationID)
	}
	if answer.Body = body; o.DryRun {
		answer.Status = http.StatusOK
	}
	return answer, nil
}

// add adds what one of many imports did.
func (b *importResult) add(one content.Result) {
	for _, path := range one.Imported {
		b.Imported = append(b.Imported, one.WorkspaceID+"/"+path)
	}
	for _, path := range one.Deleted {
		b.Deleted = append(b.Deleted, one.WorkspaceID+"/"+path)
	}
	b.Errors, b.Warnings = append(b.Errors, one.Errors...), append(b.Warnings, one.Warnings...)
	b.PublishedApps = append(b.PublishedApps, one.Published...)
}

// importedWait bounds how long the answer to an import waits for the read model:
// it has more to read than after other writes.
const importedWait = 30 * time.Second

// settleLong is settle for what may be large.
func settleLong(ctx context.Context, m ReadModel) {
	ctx, cancel := context.WithTimeout(ctx, importedWait)
	defer cancel()
	_ = m.Reach(ctx, commands.RequestFrom(ctx).Position()) // the import has happened in any case
}

// attachment is an archive to be saved under a name, as write writes it.
func attachment(name string, write func(io.Writer) error) (any, error) {
	var zipped bytes.Buffer
	if err := write(&zipped); err != nil {
		return nil, err
	}
	return gateway.Content{Type: "application/zip", Body: zipped.Bytes(), Header: http.Header{
		"Content-Disposition": {"attachment; filename=" + name}, "Content-Length": {strconv.Itoa(zipped.Len())},
	}}, nil
}
