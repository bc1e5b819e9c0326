package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"svc/commands/apps"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Apps publishes workspaces. It is an apps.Apps.
type Apps interface {
	Publish(ctx context.Context, p apps.Publication) (done apps.App, first bool, err error)
	Delete(ctx context.Context, slug, workspaceID string) (apps.App, error)
}

// ListApps handles GET /v2/apps.
func (h *Handlers) ListApps(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	page := q.Page(20, 100)
	wanted := projections.AppQuery{Text: q.Text("text"), WorkspaceID: q.Text("workspaceId"), Labels: q.List("labels")}
	if err := q.Err(); err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	var err error
	if wanted.WorkspaceID, err = handler.ResolveWorkspace(rd, wanted.WorkspaceID); err != nil {
		return nil, err
	}
	may := h.newAppReader(gateway.CallerFrom(r.Context()), rd)
	var found []projections.App
	listErr := projections.Apps{}.List(rd, wanted, func(a projections.App) bool {
		var allowed bool
		if allowed, err = may(a); allowed {
			found = append(found, a)
		}
		return err == nil
	})
	if err = cmp.Or(err, listErr); err != nil {
		return nil, err
	}
	return gateway.ListOf(r, found, page), nil
}

// newAppReader tells of apps whether the caller may read them. Everyone may, unless
// the workspace that publishes one says otherwise.
func (h *Handlers) newAppReader(caller gateway.Caller, rd projections.Reader) func(projections.App) (bool, error) {
	rightsIn, outside := h.Access.Readable(caller, rd), access.OutsideRights(caller.Identity())
	return func(a projections.App) (bool, error) {
		rights, _, err := rightsIn(a.WorkspaceID)
		if err != nil {
			return false, err
		}
		if rights == nil { // the workspace is gone
			rights = outside
		}
		return rights.Allows("read", "apps", appObject(a)), nil
	}
}

// appObject is an app as rules see it.
func appObject(a projections.App) access.Object {
	labels := make([]any, len(a.Labels))
	for i, label := range a.Labels {
		labels[i] = label
	}
	return access.Fields{
		"id": a.Slug, "slug": a.Slug, "workspaceId": a.WorkspaceID, "labels": labels,
		"name": document.Plain(a.Name.Value()), "createdBy": a.CreatedBy,
	}
}

// publishRequest is the body of POST /v2/apps.
type publishRequest struct {
	WorkspaceID      string          `json:"workspaceId"`
	WorkspaceVersion string          `json:"workspaceVersion"`
	Slug             string          `json:"slug"`
	Name             json.RawMessage `json:"name"`
	Description      json.RawMessage `json:"description"`
}

// toPublication returns what is asked for.
func (p publishRequest) toPublication() (asked apps.Publication, err error) {
	asked = apps.Publication{WorkspaceID: p.WorkspaceID, Version: p.WorkspaceVersion, Slug: p.Slug}
	for field, text := range map[string]json.RawMessage{"name": p.Name, "description": p.Description} {
		to := &asked.Name
		if field == "description" {
			to = &asked.Description
		}
		if text != nil && json.Unmarshal(text, to) != nil {
			return asked, handler.RefuseField(field, "must be a text, or texts by language")
		}
	}
	return asked, nil
}

// PublishApp handles POST /v2/apps.
func (h *Handlers) PublishApp(r *http.Request) (any, error) {
	var in publishRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if in.WorkspaceID == "" {
		return nil, domain.Refuse(domain.CodeMissingParameter, "workspaceId is required").
			With("errors", []domain.FieldError{{Field: "workspaceId", Message: "is required"}})
	}
	asked, err := in.toPublication()
	if err == nil {
		asked.WorkspaceID, err = h.checkPublish(r, in)
	}
	if err != nil {
		return nil, err
	}
	done, first, err := h.Apps.Publish(r.Context(), asked)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	published, err := h.findApp(r, done.State.Slug)
	if err != nil || !first {
		return published, err
	}
	return gateway.Created(published, strings.TrimRight(r.URL.EscapedPath(), "/")+"/"+url.PathEscape(published.Slug)), nil
}

// checkPublish refuses who may not make an app of a workspace, and returns its id.
func (h *Handlers) checkPublish(r *http.Request, in publishRequest) (id string, err error) {
	if id, err = projections.Read(h.ReadModel, handler.ResolveWorkspace, in.WorkspaceID); err != nil {
		return "", err
	}
	caller := gateway.CallerFrom(r.Context())
	rights, found, err := h.Access.RightsOf(caller.Identity(), id)
	if err != nil {
		return "", err
	}
	if !found && caller.Super {
		return "", handler.NoWorkspace(id)
	}
	return id, rights.Check("create", "apps", access.Fields{"id": in.Slug, "slug": in.Slug, "workspaceId": id})
}

// findApp returns an app that the caller may read.
func (h *Handlers) findApp(r *http.Request, slug string) (projections.App, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found, ok, err := projections.Apps{}.Get(rd, slug)
	if err == nil && ok {
		ok, err = h.newAppReader(gateway.CallerFrom(r.Context()), rd)(found)
	}
	if err == nil && !ok {
		err = apps.NotFound(slug)
	}
	return found, err
}

// appResponse is an app with what it consists of.
type appResponse struct {
	projections.App
	Config      *document.Map   `json:"config,omitempty"` // without its value
	Automations []*document.Map `json:"automations"`
	Blocks      []*document.Map `json:"blocks"`
	Events      *document.Map   `json:"events"`
}

// GetApp handles GET /v2/apps/{appSlug}.
func (h *Handlers) GetApp(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	version := q.Text("version")
	if err := q.Err(); err != nil {
		return nil, err
	}
	found, err := h.findApp(r, gateway.Var(r, "appSlug"))
	if err != nil {
		return nil, err
	}
	revision := found.Revision(version)
	if revision == 0 {
		return nil, workspace.NoVersion(version)
	}
	detail, err := h.Shelf.Read(r.Context(), found.WorkspaceID, revision)
	if err != nil {
		return nil, err
	}
	return appResponse{
		App: found, Config: detail.Config, Automations: append([]*document.Map{}, detail.Automations...),
		Blocks: append([]*document.Map{}, detail.Blocks...), Events: detail.Events,
	}, nil
}

// DeleteApp handles DELETE /v2/apps/{appSlug}.
func (h *Handlers) DeleteApp(r *http.Request) (any, error) {
	found, err := h.findApp(r, gateway.Var(r, "appSlug"))
	if err != nil {
		return nil, err
	}
	if found.IsBuiltIn() {
		return nil, domain.Refuse(domain.CodePermissionDenied, "%s is a built-in app: it cannot be deleted", found.Slug).
			With("action", "delete").With("subject", "apps").Reason("built_in")
	}
	rights, _, err := h.Access.RightsOf(gateway.CallerFrom(r.Context()).Identity(), found.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if err := rights.Check("delete", "apps", appObject(found)); err != nil {
		return nil, err
	}
	if _, err := h.Apps.Delete(r.Context(), found.Slug, found.WorkspaceID); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return deletedAppResponse{found.Slug, found.Slug}, nil
}

// deletedAppResponse is the answer to the deletion of what is called by its slug.
type deletedAppResponse struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
}
