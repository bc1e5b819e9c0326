package workspaces

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"svc/commands"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/api/documents"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Workspaces changes workspaces. It is a commands.Workspaces. An ifMatch that is
// not empty must be the tag of what is changed.
type Workspaces interface {
	Create(ctx context.Context, settings workspace.Settings) (commands.Workspace, error)
	Update(ctx context.Context, id string, patch *document.Map, ifMatch string) (commands.Workspace, error)
	PutBlock(ctx context.Context, id string, put workspace.PutBlock, ifMatch string) (commands.Workspace, error)
	Secure(ctx context.Context, id string, security access.Security, source *document.Map, ifMatch string) (commands.Workspace, error)
	Share(ctx context.Context, id string, entry access.Share) (commands.Workspace, error)
	Unshare(ctx context.Context, id, target string) (commands.Workspace, error)
	Delete(ctx context.Context, id, ifMatch string) (commands.Workspace, error)
	Undelete(ctx context.Context, id, slug string) (commands.Workspace, error)
	Lock(ctx context.Context, id, reason string) (commands.Workspace, error)
	Unlock(ctx context.Context, id string) (commands.Workspace, error)
	SetSecrets(ctx context.Context, id string, change workspace.SetSecrets) (commands.Workspace, error)
}

// readOnlyFields are the fields of a workspace that the service sets.
var readOnlyFields = []string{
	"dirty", "lastPush", "lastPull", "contentRevision", "syncedRevision", "writeLock", "automations", "pages", "knowledgeBases", "agents", "tests", "imports",
	"platformRepositories", "can", "clientId", "role",
}

// readWorkspace reads the body of a workspace, or of a change of one, and lets
// logo stand for photo.
func readWorkspace(r *http.Request, whole bool) (handler.RequestDocument, error) {
	in, err := handler.ReadDocument(r)
	if err != nil {
		return in, err
	}
	in.Doc = handler.WithoutReadOnly(in.Doc, readOnlyFields...)
	if logo, given := in.Doc.Get("logo"); given {
		if photo, both := in.Doc.Get("photo"); both && !document.Equal(photo, logo) {
			return in, domain.Invalid(domain.FieldError{Field: "logo", Message: "is another name of photo: they must not differ"})
		}
		in.Doc.Delete("logo")
		in.Doc.Set("photo", logo)
	}
	return in, in.WithLines(shape.Refusal(workspaceFaults(in.Doc, whole)))
}

// workspaceFaults returns what is wrong with a workspace; of a change, only what
// it names, and null removes an optional field.
func workspaceFaults(doc *document.Map, whole bool) []shape.Fault {
	if whole {
		return shape.Check(document.Index, doc)
	}
	checked := document.MapOf()
	for key, v := range doc.All() {
		if v != nil || key == "name" || key == "slug" {
			checked.Set(key, v)
		}
	}
	if _, given := doc.Get("name"); !given {
		checked.Set("name", "unchanged")
	}
	return shape.Check(document.Index, checked)
}

// CreateWorkspace handles POST /v2/workspaces.
func (h *Handlers) CreateWorkspace(r *http.Request) (any, error) {
	in, err := readWorkspace(r, true)
	if err != nil {
		return nil, err
	}
	dry, err := handler.ReadDryRun(r)
	if err != nil {
		return nil, err
	}
	settings, err := newSettings(in.Doc)
	if dry && err == nil {
		err = h.Content.Workspaces.TryCreate(r.Context(), settings)
	}
	if dry {
		return in.DryRunError(err)
	}
	if err != nil {
		return nil, err
	}
	made, err := h.Workspaces.Create(r.Context(), settings)
	if err != nil {
		return nil, in.WithLines(err)
	}
	location := handler.Location(r, made.State.ID)
	body, err := h.CreatedWorkspace(r, made)
	return gateway.Created(body, location), err
}

// newSettings are those of a new workspace.
func newSettings(doc *document.Map) (workspace.Settings, error) {
	settings, err := workspace.FromIndex(doc)
	if domains, given := doc.Get("customDomains"); given && err == nil {
		settings.CustomDomains, err = readDomains(domains)
	}
	if _, given := doc.Get("repositories"); given && err == nil {
		err = handler.RefuseField("repositories", "are added to a workspace once it is there")
	}
	return settings, err
}

// readDomains reads a list of domains.
func readDomains(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, handler.RefuseField("customDomains", "must be a list")
	}
	var names []string
	for _, item := range list {
		name, ok := item.(string)
		if !ok {
			return nil, handler.RefuseField("customDomains", "must be a list of texts")
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// GetWorkspace handles GET /v2/workspaces/{workspaceId}.
func (h *Handlers) GetWorkspace() gateway.Prompt {
	cache := h.newWorkspaceCache()
	return gateway.Prompt{Cached: cache.cached, HandlerFunc: func(r *http.Request) (any, error) {
		moment, past, err := h.Documents.ReadMoment(r)
		if err != nil {
			return nil, err
		}
		if past {
			return h.pastResponse(r, moment)
		}
		return cache.response(r)
	}}
}

// UpdateWorkspace handles PATCH /v2/workspaces/{workspaceId}.
func (h *Handlers) UpdateWorkspace(r *http.Request) (any, error) {
	in, err := readWorkspace(r, false)
	if err != nil {
		return nil, err
	}
	id := handler.WorkspaceID(r)
	if err := h.checkChange(r, id, in.Doc); err != nil {
		return nil, err
	}
	dry, err := handler.ReadDryRun(r)
	if err != nil {
		return nil, err
	}
	if dry {
		return in.DryRunError(cmp.Or(h.checkSettings(r.Context(), id, in.Doc), h.Repositories.Check(r.Context(), id, in.Doc)))
	}
	changed, err := h.updateSettings(r.Context(), id, in.Doc, handler.IfMatch(r))
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil, handler.NoWorkspace(id)
	}
	if err != nil {
		return nil, in.WithLines(err)
	}
	if !handler.AwaitVisible(r.Context(), h.ReadModel) {
		return responseFromState(changed)
	}
	return h.Response(r, id, gateway.GrantFrom(r.Context()).Rights)
}

// checkChange asks for the right to change the fields of a patch, those that it
// leaves as they are excepted.
func (h *Handlers) checkChange(r *http.Request, id string, patch *document.Map) error {
	rights := gateway.GrantFrom(r.Context()).Rights
	now, _, err := projections.Find(h.ReadModel, projections.Workspaces{}.Settings, id)
	if err != nil {
		return err
	}
	var fields []string
	for key, v := range patch.All() {
		before, _ := now.Get(key)
		if document.Equal(before, v) {
			continue
		}
		fields = append(fields, key)
	}
	return documents.CheckChangedFields(rights, fields)
}

// DeleteWorkspace handles DELETE /v2/workspaces/{workspaceId}.
func (h *Handlers) DeleteWorkspace(r *http.Request) (any, error) {
	id := handler.WorkspaceID(r)
	if _, err := h.Workspaces.Delete(r.Context(), id, handler.IfMatch(r)); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.IDResponse(id), nil
}

// UndeleteWorkspace handles POST /v2/workspaces/{workspaceId}/undelete.
func (h *Handlers) UndeleteWorkspace(r *http.Request) (any, error) {
	var in struct {
		Slug string `json:"slug"`
	}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	id := gateway.Var(r, "workspaceId")
	may, err := h.canUndeleteByID(r, id)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, access.OutsideRights(access.Principal{}).Refusal("update", "workspaces")
	}
	if _, err := h.Workspaces.Undelete(r.Context(), id, in.Slug); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return h.responseTo(r, id)
}

func (h *Handlers) canUndeleteByID(r *http.Request, id string) (bool, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	rec, ok, err := projections.Workspaces{}.Record(rd, id)
	if err != nil || !ok {
		return false, err
	}
	return h.canUndelete(r, rd, rec)
}

// CreatedWorkspace is a workspace that was just made: as a read shows it, if the read
// model comes along in time.
func (h *Handlers) CreatedWorkspace(r *http.Request, made commands.Workspace) (any, error) {
	if !handler.AwaitVisible(r.Context(), h.ReadModel) {
		return responseFromState(made)
	}
	return h.responseTo(r, made.State.ID)
}

// responseTo is a workspace for a caller who had no grant in it when the request
// came.
func (h *Handlers) responseTo(r *http.Request, id string) (any, error) {
	rights, _, err := h.Access.RightsOf(gateway.CallerFrom(r.Context()).Identity(), id)
	if err != nil {
		return nil, err
	}
	return h.Response(r, id, rights)
}

// canUndelete reports whether the caller may bring a workspace back: super
// admins, and whoever owned it.
func (h *Handlers) canUndelete(r *http.Request, rd projections.Reader, rec projections.Record) (bool, error) {
	caller := gateway.CallerFrom(r.Context())
	if rec.Deleted != nil && !h.Now().Before(rec.Deleted.Until) {
		return false, nil
	}
	if caller.Super {
		return true, nil
	}
	doc, ok, err := projections.Access{}.Former(rd, rec.ID)
	if err == nil && !ok {
		doc, _, _, err = projections.Access{}.Get(rd, rec.ID, 0) // it was not deleted, as they are told
	}
	return caller.UserID != "" && slices.Contains(access.Owners(doc.Shares), caller.UserID), err
}

// LockWorkspace handles POST /v2/workspaces/{workspaceId}/writeLock.
func (h *Handlers) LockWorkspace(r *http.Request) (any, error) {
	in := struct {
		Reason *string `json:"reason"`
	}{}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	reason := "manual"
	if in.Reason != nil {
		reason = *in.Reason
	}
	done, err := h.Workspaces.Lock(r.Context(), handler.WorkspaceID(r), reason)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return map[string]any{"writeLock": projections.LockOf(done.State.Lock)}, nil
}

// UnlockWorkspace handles DELETE /v2/workspaces/{workspaceId}/writeLock.
func (h *Handlers) UnlockWorkspace(r *http.Request) (any, error) {
	id := handler.WorkspaceID(r)
	if _, err := h.Workspaces.Unlock(r.Context(), id); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.IDResponse(id), nil
}

// checkSettings refuses what the change of settings would be refused for, such as a
// secret that is written out. Repositories are judged by those who keep their
// credentials.
func (h *Handlers) checkSettings(ctx context.Context, id string, patch *document.Map) error {
	now, err := h.Content.Workspaces.Get(ctx, id)
	if err != nil {
		return err
	}
	patch = patch.Copy()
	patch.Delete("repositories")
	return h.Content.Workspaces.TryUpdate(ctx, now.State, patch)
}

// checkCommand returns the refusal of a command, and changes nothing.
func checkCommand(s workspace.State, cmd workspace.Command) error {
	_, err := workspace.Decider.Decide(s, cmd)
	return err
}

// responseFromState is the answer to a write that the read model does not show yet: it has
// to do without times and what is in the workspace.
func responseFromState(w commands.Workspace) (any, error) {
	doc := workspace.Snapshot{ID: w.State.ID, Settings: w.State.Settings}.Document()
	if w.State.Settings.Photo != "" {
		doc.Set("logo", w.State.Settings.Photo)
	}
	if len(w.State.Settings.Labels) == 0 {
		doc.Set("labels", []any{})
	}
	doc.Set("dirty", true)
	doc.Set("contentRevision", float64(w.Seq))
	if config := w.State.Settings.Config; config != nil {
		doc.Set("config", workspace.HideSecrets(config))
	}
	return handler.ToTaggedJSON(doc, handler.RevisionTag(w.State.Revision))
}

// Record returns what is known of a workspace that is there.
func (h *Handlers) Record(id string) (projections.Record, error) {
	rec, ok, err := projections.Find(h.ReadModel, projections.Workspaces{}.Record, id)
	if err == nil && (!ok || rec.Deleted != nil) {
		err = handler.NoWorkspace(id)
	}
	return rec, err
}
