package versioning

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// maxDescription is how long the description of a version may be.
const maxDescription = 10_000

// repositoryField names a repository in a body: {id}, or the bare id.
type repositoryField struct{ id string }

// UnmarshalJSON implements json.Unmarshaler.
func (f *repositoryField) UnmarshalJSON(b []byte) error {
	if string(b) == "null" || json.Unmarshal(b, &f.id) == nil {
		return nil
	}
	var named struct {
		ID *string `json:"id"`
	}
	if err := json.Unmarshal(b, &named); err != nil || named.ID == nil {
		return handler.RefuseField("repository", "must be the id of a repository, or an object with its id")
	}
	f.id = *named.ID
	return nil
}

// ListVersions handles GET /v2/workspaces/{workspaceId}/versions.
func (h *Handlers) ListVersions(r *http.Request) (any, error) {
	page, err := handler.OptionalPage(r)
	if err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found, total, err := projections.Versions{}.Page(rd, handler.WorkspaceID(r), page.Offset(), page.Limit)
	if err != nil {
		return nil, err
	}
	items := make([]versioning.VersionResponse, len(found))
	for i, rec := range found {
		items[i] = versioning.NewVersionResponse(rec.Version, rec.Changes)
	}
	return gateway.List(r, items, total, page), nil
}

// pushRequest is the body of a push.
type pushRequest struct {
	Name        string             `json:"name"`
	Description document.Localized `json:"description"`
	Repository  repositoryField    `json:"repository"`
	CreatedAt   any                `json:"createdAt"` // of exports; the platform knows better
}

func (b pushRequest) check() error {
	if utf8.RuneCountInString(strings.Join(b.Description.Texts(), "")) > maxDescription {
		return domain.Invalid(domain.FieldError{Field: "description", Message: "must be at most 10000 characters in all languages together"})
	}
	return nil
}

// PushWorkspace handles POST /v2/workspaces/{workspaceId}/versions, and /push.
func (h *Handlers) PushWorkspace(r *http.Request) (any, error) {
	if _, err := readOperationWait(r); err != nil {
		return nil, err
	}
	if handler.WorkspaceID(r) == domain.Platform {
		return h.pushPlatform(r)
	}
	var in pushRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return h.push(r, in, nil)
}

// push saves one workspace. more is what has to be said besides.
func (h *Handlers) push(r *http.Request, in pushRequest, more []archive.Item) (any, error) {
	started, err := h.Versioning.Push(r.Context(), handler.WorkspaceID(r), versioning.PushRequest{Name: in.Name, Description: in.Description, RepositoryID: in.Repository.id})
	if err != nil {
		return nil, err
	}
	return h.operationResponse(r, started, func(end operation.State) (any, error) {
		var version struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(end.Result, &version); err != nil {
			return nil, err
		}
		result, err := withWarnings(end.Result, more)
		base, _ := strings.CutSuffix(strings.TrimRight(r.URL.Path, "/"), "/push")
		base, _ = strings.CutSuffix(base, "/versions")
		return gateway.Created(result, base+"/versions/"+version.Name), err
	})
}

// DeleteVersion handles DELETE /v2/workspaces/{workspaceId}/versions/{name}.
func (h *Handlers) DeleteVersion(r *http.Request) (any, error) {
	name := gateway.Var(r, "name")
	if name == current || name == versioning.Latest {
		return nil, domain.Refuse(domain.CodeInvalidParameter, "%s is no version of its own", name).With("parameter", "name")
	}
	if err := h.Versioning.DeleteVersion(r.Context(), handler.WorkspaceID(r), name); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.IDResponse(name), nil
}

// maxVersion is longer than any name of a version, a tag or a commit.
const maxVersion = 250

// pullRequest is the body of a pull.
type pullRequest struct {
	Version    *string         `json:"version"`
	Repository repositoryField `json:"repository"`
	Discard    bool            `json:"discardLocalChanges"`
	Strict     bool            `json:"strict"`
}

// PullVersion handles POST /v2/workspaces/{workspaceId}/versions/{name}/pull, and
// /pull, where the body may name the version.
func (h *Handlers) PullVersion(r *http.Request) (any, error) {
	if _, err := readOperationWait(r); err != nil {
		return nil, err
	}
	if handler.WorkspaceID(r) == domain.Platform {
		return h.pullPlatform(r)
	}
	var in pullRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	q := gateway.NewQuery(r)
	dry := q.Flag("dryRun")
	if err := q.Err(); err != nil {
		return nil, err
	}
	return h.pull(r, in, dry, nil)
}

// pull brings one workspace, or finds out what that would do. more is what has to be
// said besides.
func (h *Handlers) pull(r *http.Request, in pullRequest, dry bool, more []archive.Item) (any, error) {
	version, err := readVersionName(r, in)
	if err != nil {
		return nil, err
	}
	request := versioning.PullRequest{Version: version, RepositoryID: in.Repository.id, Discard: in.Discard, Strict: in.Strict}
	may := h.withImportRights(gateway.CallerFrom(r.Context()), content.ImportOptions{}, handler.WorkspaceID(r), gateway.GrantFrom(r.Context()).Rights)
	if dry {
		return h.planResponse(r, request, may)
	}
	started, err := h.Versioning.Pull(r.Context(), handler.WorkspaceID(r), request, may)
	if err != nil {
		return nil, err
	}
	return h.operationResponse(r, started, func(end operation.State) (any, error) { return withWarnings(end.Result, more) })
}

// readVersionName is the version that a pull is about: the path or the body names it.
func readVersionName(r *http.Request, in pullRequest) (string, error) {
	version := gateway.Var(r, "name")
	switch {
	case version != "" && in.Version != nil && *in.Version != version:
		return "", handler.RefuseField("version", "the path names another version")
	case version == "" && in.Version != nil:
		version = *in.Version
	}
	if len(version) > maxVersion {
		return "", workspace.NoVersion(version[:maxVersion] + "…")
	}
	return cmp.Or(version, versioning.Latest), nil
}

// planResponse is what a pull would do. Of documents that the caller may not read it does
// not tell what is in conflict in them.
func (h *Handlers) planResponse(r *http.Request, request versioning.PullRequest, may content.ImportOptions) (any, error) {
	plan, err := h.Versioning.PlanPull(r.Context(), handler.WorkspaceID(r), request, may)
	if err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	for i, c := range plan.Conflicts {
		location, ok := archive.Locate(c.Path)
		if !ok || !documents.CanReadAt(rd, gateway.GrantFrom(r.Context()).Rights, handler.WorkspaceID(r), location.String()) {
			plan.Conflicts[i].Keys = nil
		}
	}
	return plan, nil
}

// operationResult answers with the result of an operation.
func operationResult(end operation.State) (any, error) { return end.Result, nil }

// statusResponse is how a workspace stands with its repositories.
type statusResponse struct {
	State           string                        `json:"state"`
	Dirty           bool                          `json:"dirty"`
	ContentRevision uint64                        `json:"contentRevision"`
	SyncedRevision  uint64                        `json:"syncedRevision"`
	WriteLock       *projections.WriteLock        `json:"writeLock"`
	Version         *statusVersion                `json:"version"`
	Repositories    []versioning.RepositoryStatus `json:"repositories"`
	Changes         []driftedObject               `json:"changes"`
	Errors          []archive.Item                `json:"errors"`
}

// statusVersion is what the workspace was last pushed as, or pulled.
type statusVersion struct {
	Name         string `json:"name"`
	RepositoryID string `json:"repositoryId,omitempty"`
	At           string `json:"at"`
}

type driftedObject struct {
	versioning.Drifted
	UpdatedAt string `json:"updatedAt,omitempty"`
	UpdatedBy string `json:"updatedBy,omitempty"`
}

// GetStatus handles GET /v2/workspaces/{workspaceId}/status.
func (h *Handlers) GetStatus(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	named, refresh := q.Text("repository"), q.Flag("refresh")
	if err := q.Err(); err != nil {
		return nil, err
	}
	id := handler.WorkspaceID(r)
	before, err := h.Workspaces.Record(id)
	if err != nil {
		return nil, err
	}
	last := versioning.LastSync{RepositoryID: before.LastRepository}
	if sync := lastSync(before); sync != nil && sync.RepositoryID == "" {
		last.Native = sync.Version
	}
	statuses, changes, err := h.Versioning.Status(r.Context(), id, named, last, refresh)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel) // asking may have recorded a push
	return h.statusResponse(id, named, statuses, changes, gateway.GrantFrom(r.Context()).Rights)
}

func (h *Handlers) statusResponse(id, named string, statuses []versioning.RepositoryStatus, changes []versioning.Drifted, rights *access.Rights) (any, error) {
	now, err := h.Workspaces.Record(id)
	if err != nil {
		return nil, err
	}
	answer := statusResponse{
		Dirty: now.Dynamic.Dirty, ContentRevision: now.Dynamic.ContentRevision, SyncedRevision: min(now.Synced, now.Dynamic.ContentRevision),
		WriteLock: now.Dynamic.WriteLock, Repositories: append([]versioning.RepositoryStatus{}, statuses...), Changes: []driftedObject{}, Errors: []archive.Item{},
		State: versioning.Clean,
	}
	if answer.Dirty {
		answer.State = versioning.LocalDirty
	}
	top := named
	if last := lastSync(now); last != nil {
		answer.Version = &statusVersion{last.Version, last.RepositoryID, last.CreatedAt}
	}
	if top == "" {
		top = now.LastRepository
	}
	for _, one := range statuses {
		if one.ID == top {
			answer.State = one.State
		} else if one.State == versioning.InConflict && named == "" {
			answer.State = one.State
		}
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	for _, c := range changes {
		if !documents.CanReadAt(rd, rights, id, c.Path) {
			continue
		}
		at, by, err := lastChange(rd, id, c.Path)
		if err != nil {
			return nil, err
		}
		answer.Changes = append(answer.Changes, driftedObject{c, at, by})
	}
	return answer, nil
}

// lastSync is the last push or pull, whichever came later.
func lastSync(rec projections.Record) *projections.Sync {
	push, pull := rec.Dynamic.LastPush, rec.Dynamic.LastPull
	if push == nil || pull != nil && pull.CreatedAt > push.CreatedAt {
		return pull
	}
	return push
}

// lastChange returns when a document was last changed here, and by whom.
func lastChange(rd projections.Reader, id, path string) (at, by string, err error) {
	seq, err := projections.History{}.Touched(rd, id, path)
	if err != nil || seq == 0 {
		return "", "", err
	}
	change, _, err := projections.History{}.Get(rd, id, seq)
	return change.At, change.By, err
}
