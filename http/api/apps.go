package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"svc/commands/apps"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/gateway"
	"svc/projections"
)

// listApps handles GET /v2/apps.
func listApps(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		page := q.Page(20, 100)
		wanted := projections.AppQuery{Text: q.Text("text"), WorkspaceID: q.Text("workspaceId"), Labels: q.List("labels")}
		if err := q.Err(); err != nil {
			return nil, err
		}
		var found []projections.App
		err := d.ReadModel.View(func(rd projections.Reader) (err error) {
			if wanted.WorkspaceID, err = namedWorkspace(rd, wanted.WorkspaceID); err != nil {
				return err
			}
			may := appReader(d, gateway.CallerFrom(r.Context()), rd)
			listErr := projections.Apps{}.List(rd, wanted, func(a projections.App) bool {
				var allowed bool
				if allowed, err = may(a); allowed {
					found = append(found, a)
				}
				return err == nil
			})
			if err == nil {
				err = listErr
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return gateway.ListOf(r, found, page), nil
	}
}

// namedWorkspace returns the id of a workspace that is named by its slug.
func namedWorkspace(rd projections.Reader, named string) (string, error) {
	slug, bySlug := strings.CutPrefix(named, "slug:")
	if !bySlug {
		return named, nil
	}
	id, err := projections.Workspaces{}.BySlug(rd, slug)
	if id == "" {
		id = named // there is no workspace with such an id
	}
	return id, err
}

// appReader tells of apps whether the caller may read them. Everyone may, unless
// the workspace that publishes one says otherwise.
func appReader(d Deps, caller gateway.Caller, rd projections.Reader) func(projections.App) (bool, error) {
	rightsIn, outside := d.Access.Readable(caller, rd), access.OutsideRights(caller.Identity())
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

// publication is the body of POST /v2/apps.
type publication struct {
	WorkspaceID      string          `json:"workspaceId"`
	WorkspaceVersion string          `json:"workspaceVersion"`
	Slug             string          `json:"slug"`
	Name             json.RawMessage `json:"name"`
	Description      json.RawMessage `json:"description"`
}

// asked returns what is asked for.
func (p publication) asked() (asked apps.Publication, err error) {
	asked = apps.Publication{WorkspaceID: p.WorkspaceID, Version: p.WorkspaceVersion, Slug: p.Slug}
	for field, text := range map[string]json.RawMessage{"name": p.Name, "description": p.Description} {
		to := &asked.Name
		if field == "description" {
			to = &asked.Description
		}
		if text != nil && json.Unmarshal(text, to) != nil {
			return asked, refuseField(field, "must be a text, or texts by language")
		}
	}
	return asked, nil
}

// publishApp handles POST /v2/apps.
func publishApp(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in publication
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if in.WorkspaceID == "" {
			return nil, domain.Refuse(domain.CodeMissingParameter, "workspaceId is required").
				With("errors", []domain.FieldError{{Field: "workspaceId", Message: "is required"}})
		}
		asked, err := in.asked()
		if err == nil {
			asked.WorkspaceID, err = d.mayPublish(r, in)
		}
		if err != nil {
			return nil, err
		}
		done, first, err := d.Apps.Publish(r.Context(), asked)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		published, err := d.app(r, done.State.Slug)
		if err != nil || !first {
			return published, err
		}
		return gateway.Created(published, strings.TrimRight(r.URL.EscapedPath(), "/")+"/"+url.PathEscape(published.Slug)), nil
	}
}

// mayPublish refuses who may not make an app of a workspace, and returns its id.
func (d Deps) mayPublish(r *http.Request, in publication) (id string, err error) {
	err = d.ReadModel.View(func(rd projections.Reader) (err error) {
		id, err = namedWorkspace(rd, in.WorkspaceID)
		return err
	})
	if err != nil {
		return "", err
	}
	caller := gateway.CallerFrom(r.Context())
	rights, found, err := d.Access.RightsOf(caller.Identity(), id)
	if err != nil {
		return "", err
	}
	if !found && caller.Super {
		return "", noWorkspace(id)
	}
	return id, rights.Check("create", "apps", access.Fields{"id": in.Slug, "slug": in.Slug, "workspaceId": id})
}

// app returns an app that the caller may read.
func (d Deps) app(r *http.Request, slug string) (found projections.App, err error) {
	err = d.ReadModel.View(func(rd projections.Reader) error {
		a, ok, err := projections.Apps{}.Get(rd, slug)
		if err != nil {
			return err
		}
		if ok {
			ok, err = appReader(d, gateway.CallerFrom(r.Context()), rd)(a)
		}
		if err == nil && !ok {
			err = apps.NotFound(slug)
		}
		found = a
		return err
	})
	return found, err
}

// appDetail is an app with what it consists of.
type appDetail struct {
	projections.App
	Config      *document.Map   `json:"config,omitempty"` // without its value
	Automations []*document.Map `json:"automations"`
	Blocks      []*document.Map `json:"blocks"`
	Events      *document.Map   `json:"events"`
}

// getApp handles GET /v2/apps/{appSlug}.
func getApp(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		q := gateway.NewQuery(r)
		version := q.Text("version")
		if err := q.Err(); err != nil {
			return nil, err
		}
		found, err := d.app(r, gateway.Var(r, "appSlug"))
		if err != nil {
			return nil, err
		}
		revision := found.Revision(version)
		if revision == 0 {
			return nil, workspace.NoVersion(version)
		}
		detail, err := d.Shelf.Read(r.Context(), found.WorkspaceID, revision)
		if err != nil {
			return nil, err
		}
		return appDetail{
			App: found, Config: detail.Config, Automations: append([]*document.Map{}, detail.Automations...),
			Blocks: append([]*document.Map{}, detail.Blocks...), Events: detail.Events,
		}, nil
	}
}

// deleteApp handles DELETE /v2/apps/{appSlug}.
func deleteApp(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		found, err := d.app(r, gateway.Var(r, "appSlug"))
		if err != nil {
			return nil, err
		}
		if found.IsBuiltIn() {
			return nil, domain.Refuse(domain.CodePermissionDenied, "%s is a built-in app: it cannot be deleted", found.Slug).
				With("action", "delete").With("subject", "apps").Reason("built_in")
		}
		rights, _, err := d.Access.RightsOf(gateway.CallerFrom(r.Context()).Identity(), found.WorkspaceID)
		if err != nil {
			return nil, err
		}
		if err := rights.Check("delete", "apps", appObject(found)); err != nil {
			return nil, err
		}
		if _, err := d.Apps.Delete(r.Context(), found.Slug, found.WorkspaceID); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idAndSlug{found.Slug, found.Slug}, nil
	}
}

// idAndSlug is the answer to the deletion of what is called by its slug.
type idAndSlug struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
}
