package documents

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/page"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/http/pages"
	"svc/projections"
)

// Pages holds the pages of a workspace.
var Pages = Folder{
	name: "pages", subject: "pages", noun: "page", kind: document.Page,
	readOnly:        []string{"workspaceId", "workspaceSlug", "events", "public", "customDomains", "clientId", "appInstances"},
	required:        []string{"name"},
	addDetail:       (*Handlers).addPageDetail,
	deletedResponse: func(item projections.Item) any { return handler.IDResponse(item.ID) },
}

// addPageDetail adds to a page what showing it takes: who its visitors sign in to,
// and the blocks that it may use.
func (h *Handlers) addPageDetail(r *http.Request, view *documentView) error {
	kits, err := h.readBlockKits(r.Context(), view.workspaceID)
	if err != nil {
		return err
	}
	view.doc.Set("clientId", workspace.ClientID(view.workspaceID))
	view.doc.Set("appInstances", kits)
	rd := h.ReadModel.Reader()
	defer rd.Close()
	rec, _, err := projections.Workspaces{}.Record(rd, view.workspaceID)
	if err != nil {
		return err
	}
	if len(rec.Meta.CustomDomains) > 0 {
		view.doc.Set("customDomains", document.ValueOf(rec.Meta.CustomDomains))
	}
	return nil
}

// installedApp is an app instance of which pages may use the blocks.
type installedApp struct {
	slug, workspaceID string
	revision          uint64 // of the published content
}

// maxKitBytes is how many bytes of blocks of app instances a page is shown with. What
// is more is left out: no answer is as large as all that somebody can install.
const maxKitBytes = 4 << 20

// readBlockKits returns the blocks of a workspace, under no name, and those of its app
// instances.
func (h *Handlers) readBlockKits(ctx context.Context, id string) ([]any, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	settings, _, err := projections.Workspaces{}.Settings(rd, id)
	if err != nil {
		return nil, err
	}
	own, _ := settings.Get("blocks")
	instances, err := listInstalledApps(rd, id)
	if err != nil {
		return nil, err
	}
	kits, remaining := []any{blockKit("", own)}, maxKitBytes
	for _, in := range instances {
		app, err := h.Shelf.Read(ctx, in.workspaceID, in.revision)
		if err != nil {
			return nil, err
		}
		blocks, _ := app.Index.Get("blocks")
		if remaining -= app.BlockBytes; remaining < 0 {
			blocks = nil
		}
		kits = append(kits, blockKit(in.slug, blocks))
	}
	return kits, nil
}

func blockKit(slug string, blocks any) *document.Map {
	if blocks == nil {
		blocks = document.MapOf()
	}
	return document.MapOf(document.Pair{Key: "slug", Value: slug}, document.Pair{Key: "blocks", Value: blocks})
}

// listInstalledApps lists the app instances of a workspace that are in use, in the version
// that they run: also of an app that is published no more, whose blocks pages still show.
func listInstalledApps(rd projections.Reader, id string) (found []installedApp, err error) {
	err = projections.Content{}.List(rd, id, "imports/", func(item projections.Item) (bool, error) {
		meta, err := projections.Content{}.Meta(rd, id, item.Hash)
		if err != nil {
			return false, err
		}
		if off, _ := meta.About.Get("disabled"); off == true {
			return true, nil
		}
		app, revision, err := projections.Apps{}.RunningVersion(rd, meta.About.Text("appSlug"), meta.About.Text("appVersion"))
		if err != nil {
			return false, err
		}
		if revision != 0 {
			found = append(found, installedApp{item.Slug(), app.WorkspaceID, revision})
		}
		return true, nil
	})
	return found, err
}

// Previews shows drafts of pages. It is a *pages.Pages.
type Previews interface {
	// Preview stores a draft for a while, and returns the path where its author can read it.
	Preview(ctx context.Context, d pages.Draft) (path string, expires time.Time, err error)
}

// PreviewPage handles POST /v2/workspaces/{workspaceId}/pages/preview: a page that is not saved, for its author to
// look at. Nothing is recorded.
func (h *Handlers) PreviewPage(r *http.Request) (any, error) {
	in, err := handler.ReadDocument(r)
	if err != nil {
		return nil, err
	}
	id, caller := handler.WorkspaceID(r), gateway.CallerFrom(r.Context())
	draft := pages.Draft{WorkspaceID: id, Author: caller.Actor()}
	for key, v := range in.Doc.All() {
		var ok bool
		switch key {
		case "page":
			if draft.Document, ok = v.(*document.Map); !ok {
				return nil, handler.RefuseField(key, "must be an object")
			}
		case "language":
			if draft.Language, ok = v.(string); !ok || !page.IsLanguageTag(draft.Language) {
				return nil, handler.RefuseField(key, "must be a language such as fr or fr-CA")
			}
		case "automations":
			if draft.Automations, ok = v.(bool); !ok {
				return nil, handler.RefuseField(key, "must be true or false")
			}
		default:
			return nil, handler.RefuseField(key, "unknown field")
		}
	}
	if draft.Document == nil {
		return nil, handler.MissingField("page")
	}
	draft.Document = handler.WithoutReadOnly(draft.Document, Pages.readOnly...)
	if err := h.checkDraft(gateway.GrantFrom(r.Context()).Rights, id, draft.Document); err != nil {
		return nil, err
	}
	if err := h.Content.CheckDraft(Pages.name, draft.Document); err != nil {
		return nil, in.WithLines(within("page", err))
	}
	path, expires, err := h.Previews.Preview(r.Context(), draft)
	if err != nil {
		return nil, err
	}
	return gateway.Created(map[string]string{"url": path, "expiresAt": domain.FormatTime(expires)}, path), nil
}

// checkDraft asks for the right to change the page that a draft would replace, as it is and as it would be.
func (h *Handlers) checkDraft(rights *access.Rights, id string, doc *document.Map) error {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	item, exists, err := projections.Content{}.Get(rd, id, Pages.name+"/"+doc.Text("slug"))
	if err != nil {
		return err
	}
	if exists {
		if err := checkObject(rights, "update", Pages.name, documentObject(rd, id, Pages.name, item)); err != nil {
			return err
		}
	} else {
		item.Path = Pages.name + "/" + doc.Text("slug")
	}
	return checkObject(rights, "update", Pages.name, Pages.objectAfter(rd, id, item, doc))
}

// within names the fields of a refusal as parts of another field.
func within(field string, err error) error {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return err
	}
	if list, ok := refusal.Details["errors"].([]domain.FieldError); ok {
		for i := range list {
			list[i].Field = strings.TrimSuffix(field+"."+list[i].Field, ".")
		}
	}
	return refusal
}

// VisitPage handles GET /v2/pages/{workspaceSlug}/{pageSlug}: a page for its
// visitors, who may be nobody.
func (h *Handlers) VisitPage(r *http.Request) (any, error) {
	caller := gateway.CallerFrom(r.Context())
	visited, err := h.findVisitedPage(r)
	if err != nil {
		return nil, err
	}
	if visited.rights, err = h.visitorRights(caller, visited.workspaceID); err != nil {
		return nil, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	if err := visited.rights.Check("read", "pages", documentObject(rd, visited.workspaceID, "pages", visited.item)); err != nil {
		return nil, refuseVisitor(caller, err)
	}
	body, err := Pages.response(h, r, rd, visited)
	if err != nil {
		return nil, err
	}
	return h.withVisitorHeaders(caller, visited.workspaceID, body), nil
}

// findVisitedPage finds the page that a path names by the slug or a host of its
// workspace.
func (h *Handlers) findVisitedPage(r *http.Request) (*documentView, error) {
	named, slug := gateway.Var(r, "workspaceSlug"), gateway.Var(r, "pageSlug")
	rd := h.ReadModel.Reader()
	defer rd.Close()
	find := projections.Workspaces{}.BySlug
	if strings.Contains(named, ".") {
		find, named = projections.Workspaces{}.ByDomain, strings.ToLower(named)
	}
	id, err := find(rd, named)
	if err != nil || id == "" {
		return nil, cmp.Or(err, noPage(slug))
	}
	item, found, err := pages.FindPage(r.Context(), rd, h.Shelf, id, slug)
	if err == nil && !found {
		err = noPage(slug)
	}
	return &documentView{workspaceID: id, item: item}, err
}

// visitorRights are the rights of a caller. A session that owes its second factor
// counts as none.
func (h *Handlers) visitorRights(caller gateway.Caller, id string) (*access.Rights, error) {
	if caller.MFAPending {
		caller = gateway.Caller{}
	}
	rights, _, err := h.Access.RightsOf(caller.Identity(), id)
	return rights, err
}

// refuseVisitor asks whom it does not know for a credential, rather than refusing
// them.
func refuseVisitor(caller gateway.Caller, err error) error {
	switch {
	case domain.CodeOf(err) == domain.CodeInternal:
		return err
	case caller.MFAPending:
		return domain.Refuse(domain.CodeInvalidCredentials, "a second factor is required").Reason("mfa_required")
	case caller.Kind == gateway.KindNone:
		return gateway.MissingCredential()
	}
	return err
}

// withVisitorHeaders adds which client the visitors of a workspace sign in with,
// and what a form of the page must show.
func (h *Handlers) withVisitorHeaders(caller gateway.Caller, id string, body any) any {
	csrf := ""
	if caller.SessionID != "" && !handler.IsAccessToken(caller) && !caller.Lent {
		csrf = h.CSRFToken(caller.SessionID)
	}
	switch b := body.(type) {
	case gateway.Content:
		b.Header.Set("X-Svc-Client-Id", workspace.ClientID(id))
		if csrf != "" {
			b.Header.Set("X-Svc-Csrf-Token", csrf)
		}
		return b
	case *gateway.Answer:
		return b.With("X-Svc-Client-Id", workspace.ClientID(id)).With("X-Svc-Csrf-Token", csrf)
	}
	return gateway.OK(body).With("X-Svc-Client-Id", workspace.ClientID(id)).With("X-Svc-Csrf-Token", csrf)
}

func noPage(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such page").With("resource", "page").With("id", id)
}
