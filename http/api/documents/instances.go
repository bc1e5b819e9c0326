package documents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"svc/commands/apps"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// InstanceFolder is where the documents of app instances are.
const InstanceFolder = "imports/"

// instance is an app instance as it is, or was, and what is known of its app.
type instance struct {
	slug   string
	tag    string
	doc    *document.Map // with masks
	listed *document.Map // what lists show, with the service's own fields
	app    *apps.Detail  // nil when the app has vanished
}

// InstanceDetail is an app instance as lists show it.
func (h *Handlers) InstanceDetail(ctx context.Context, rd projections.Reader, id string, item projections.Item) (*document.Map, error) {
	listed, _, err := h.describeInstance(ctx, rd, id, item)
	return listed, err
}

// describeInstance returns what lists show of an instance, and what its app consists of:
// nil when it has vanished.
func (h *Handlers) describeInstance(ctx context.Context, rd projections.Reader, id string, item projections.Item) (*document.Map, *apps.Detail, error) {
	meta, err := projections.Content{}.Meta(rd, id, item.Hash)
	if err != nil {
		return nil, nil, err
	}
	doc := withoutUnknownFields(meta.About)
	published, revision, err := projections.Apps{}.FindVersion(rd, doc.Text("appSlug"), doc.Text("appVersion"))
	if err != nil {
		return nil, nil, err
	}
	var app *apps.Detail
	if revision != 0 {
		if app, err = h.Shelf.Read(ctx, published.WorkspaceID, revision); err != nil {
			return nil, nil, err
		}
	}
	if name := published.Name.First(); name != "" {
		doc.Set("appName", name)
	}
	if published.Photo != "" {
		doc.Set("photo", published.Photo)
	}
	addOffers(doc, app, item.Slug()+".")
	doc.Set("checksum", meta.Checksum)
	if item.Created == 0 {
		return doc, app, nil
	}
	return doc, app, addAudit(rd, id, item, doc)
}

// withoutUnknownFields returns an instance without the fields that mean nothing.
func withoutUnknownFields(doc *document.Map) *document.Map {
	doc = doc.Copy()
	for _, key := range document.Import.Unknown(doc) {
		doc.Delete(key)
	}
	return doc
}

// addOffers adds what an instance adds to its workspace, under the names that it has
// there.
func addOffers(doc *document.Map, app *apps.Detail, prefix string) {
	automations, blocks := []any{}, []any{}
	if app == nil {
		doc.Set("missing", true)
		app = &apps.Detail{Events: content.Offered(nil)}
	}
	for _, a := range app.Automations {
		automations = append(automations, a)
	}
	for _, b := range app.Blocks {
		named := b.Copy()
		named.Set("slug", prefix+b.Text("slug"))
		blocks = append(blocks, named)
	}
	doc.Set("automations", automations)
	doc.Set("events", content.Prefixed(app.Events, prefix))
	doc.Set("blocks", blocks)
}

// findInstance finds the app instance that the path names, now or at the moment that
// the query names.
func (h *Handlers) findInstance(r *http.Request) (instance, error) {
	at, past, err := h.ReadMoment(r)
	if err != nil {
		return instance{}, err
	}
	slug := gateway.Var(r, "slug")
	if !past {
		return h.findCurrentInstance(r, slug)
	}
	refs, err := h.Library.At(r.Context(), handler.WorkspaceID(r), at.Seq)
	if err != nil {
		return instance{}, err
	}
	ref, ok := refs[InstanceFolder+slug]
	if !ok {
		return instance{}, noInstance(slug)
	}
	return h.readInstanceDetail(r, projections.Item{Path: InstanceFolder + slug, Hash: ref.Hash}, ref, strconv.FormatUint(at.Seq, 36))
}

func (h *Handlers) findCurrentInstance(r *http.Request, slug string) (instance, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	item, ok, err := projections.Content{}.Get(rd, handler.WorkspaceID(r), InstanceFolder+slug)
	if err != nil || !ok {
		return instance{}, cmp.Or(err, noInstance(slug))
	}
	manifest, err := projections.History{}.ManifestAt(rd, handler.WorkspaceID(r), item.Updated)
	if err != nil {
		return instance{}, err
	}
	return h.readInstanceDetail(r, item, content.Ref(manifest[item.Path]), handler.RevisionTag(item.Revision))
}

// readInstanceDetail reads what an instance is about.
func (h *Handlers) readInstanceDetail(r *http.Request, item projections.Item, ref content.Ref, tag string) (instance, error) {
	found := instance{slug: item.Slug(), tag: tag}
	doc, err := h.Library.Document(r.Context(), handler.WorkspaceID(r), ref)
	if err != nil {
		return found, err
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	found.listed, found.app, err = h.describeInstance(r.Context(), rd, handler.WorkspaceID(r), item)
	var secrets []string
	if found.app != nil {
		secrets = found.app.Secrets
	}
	found.doc = content.Masked(doc, ref.Sealed, secrets)
	return found, err
}

func noInstance(slug string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such app instance").With("resource", "appInstance").With("id", slug)
}

// response is an instance with the config of its app, and its own value for it. Its
// tag names what its app adds as well.
func (i instance) response(r *http.Request) (any, error) {
	config := document.MapOf()
	if i.app != nil {
		config = i.app.Config.Copy()
	}
	config.Set("value", i.doc.Object("config").Copy())
	if template := i.doc.Text("config"); template != "" {
		config.Set("template", template)
	}
	i.listed.Set("config", config)
	whole, err := handler.ToTaggedJSON(i.listed, i.tag)
	if err != nil {
		return nil, err
	}
	text, err := archive.Text(archive.Location{Kind: document.Import, Slug: i.slug}, i.doc)
	sum := sha256.Sum256(whole.JSON)
	whole.Tag += "." + hex.EncodeToString(sum[:6])
	return handler.JSONOrYAML(r, whole, text), err
}

// savedInstanceResponse is an instance after it was changed.
func (h *Handlers) savedInstanceResponse(r *http.Request, slug string) (any, error) {
	found, err := h.findCurrentInstance(r, slug)
	if err != nil {
		return nil, err
	}
	text, err := archive.Text(archive.Location{Kind: document.Import, Slug: slug}, found.doc)
	if err != nil {
		return nil, err
	}
	doc := withoutUnknownFields(found.doc)
	if template := doc.Text("config"); template != "" { // a config of the workspace is passed on
		doc.Set("config", document.MapOf())
		doc.Set("template", template)
	}
	for _, key := range []string{"appName", "checksum", "createdAt", "createdBy", "updatedAt", "updatedBy"} {
		if v, ok := found.listed.Get(key); ok {
			doc.Set(key, v)
		}
	}
	whole, err := handler.ToTaggedJSON(doc, found.tag)
	return handler.JSONOrYAML(r, whole, text), err
}

// instanceReadOnlyFields are the fields of an app instance that the service sets.
var instanceReadOnlyFields = []string{"appName", "photo", "automations", "events", "blocks", "missing"}

// ListInstances handles GET /v2/workspaces/{workspaceId}/apps.
func (h *Handlers) ListInstances(r *http.Request) (any, error) {
	page, err := handler.OptionalPage(r)
	if err != nil {
		return nil, err
	}
	id, total := handler.WorkspaceID(r), 0
	var found []*document.Map
	rd := h.ReadModel.Reader()
	defer rd.Close()
	err = projections.Content{}.List(rd, id, InstanceFolder, func(item projections.Item) (bool, error) {
		if total++; total <= page.Offset() || len(found) == page.Limit {
			return true, nil // of another page: what its app adds is not read
		}
		doc, err := h.InstanceDetail(r.Context(), rd, id, item)
		found = append(found, doc)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	return gateway.List(r, found, total, page), nil
}

// readInstance reads the body of an app instance, or of a change of one.
func readInstance(r *http.Request) (handler.RequestDocument, error) {
	if err := checkChangeInstances(gateway.GrantFrom(r.Context()).Rights); err != nil {
		return handler.RequestDocument{}, err
	}
	in, err := handler.ReadDocument(r)
	if err != nil {
		return in, err
	}
	in.Doc = handler.WithoutReadOnly(in.Doc, instanceReadOnlyFields...)
	return in, nil
}

// checkChangeInstances asks for the right to change what is installed: a rule for
// some fields of the workspace must name this one.
func checkChangeInstances(rights *access.Rights) error {
	return rights.Check("update", "workspaces", nil, "imports")
}

// instanceFaults returns what is wrong with an app instance; of a change, only
// what it names, and null removes an optional field.
func instanceFaults(doc *document.Map, whole bool) error {
	if whole {
		return shape.Refusal(shape.Check(document.Import, doc))
	}
	checked := document.MapOf(document.Pair{Key: "appSlug", Value: "unchanged"})
	for key, v := range doc.All() {
		if v != nil || key == "appSlug" {
			checked.Set(key, v)
		}
	}
	return shape.Refusal(shape.Check(document.Import, checked))
}

// checkInstall hides apps that the caller may not read, as reading them does.
func (h *Handlers) checkInstall(r *http.Request, appSlug string) error {
	may, err := h.NewChangeAuthorizer(r).MayInstall(r.Context(), appSlug)
	if err == nil && !may {
		err = apps.NotFound(appSlug)
	}
	return err
}

// InstallApp handles POST /v2/workspaces/{workspaceId}/apps.
func (h *Handlers) InstallApp(r *http.Request) (any, error) {
	in, err := readInstance(r)
	if err != nil {
		return nil, err
	}
	dry, err := handler.ReadDryRun(r)
	if err != nil {
		return nil, err
	}
	id := handler.WorkspaceID(r)
	err = instanceFaults(in.Doc, true)
	if err == nil {
		err = h.checkInstall(r, in.Doc.Text("appSlug"))
	}
	if err == nil && dry {
		err = h.Content.CheckInstall(r.Context(), id, in.Doc)
	}
	if dry {
		return in.DryRunError(err)
	}
	if err != nil {
		return nil, in.WithLines(err)
	}
	done, err := h.Content.Create(r.Context(), id, "imports", in.Doc)
	if err != nil {
		return nil, in.WithLines(err)
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	_, slug := workspace.Folder(done.Path)
	body, err := h.savedInstanceResponse(r, slug)
	if err != nil {
		return nil, err
	}
	location := strings.TrimRight(r.URL.EscapedPath(), "/") + "/" + url.PathEscape(slug)
	return handler.CreatedResponse(body, location), nil
}

// GetInstance handles GET /v2/workspaces/{workspaceId}/apps/{slug}.
func (h *Handlers) GetInstance(r *http.Request) (any, error) {
	found, err := h.findInstance(r)
	if err != nil {
		return nil, err
	}
	return found.response(r)
}

// UpdateInstance handles PATCH and PUT /v2/workspaces/{workspaceId}/apps/{slug}.
func (h *Handlers) UpdateInstance(r *http.Request) (any, error) {
	in, err := readInstance(r)
	if err != nil {
		return nil, err
	}
	return h.amendInstance(r, in, func(now *document.Map) (*document.Map, error) {
		if in.IsPatch(r) {
			return handler.MergePatch(now, in.Doc), instanceFaults(in.Doc, false)
		}
		return in.Doc.Copy(), instanceFaults(in.Doc, true)
	})
}

// GetInstanceConfig handles GET /v2/workspaces/{workspaceId}/apps/{slug}/config.
func (h *Handlers) GetInstanceConfig(r *http.Request) (any, error) {
	found, err := h.findInstance(r)
	if err != nil {
		return nil, err
	}
	return handler.ToTaggedJSON(found.doc.Object("config").Copy(), found.tag)
}

// UpdateInstanceConfig handles PATCH
// /v2/workspaces/{workspaceId}/apps/{slug}/config.
func (h *Handlers) UpdateInstanceConfig(r *http.Request) (any, error) {
	if err := checkChangeInstances(gateway.GrantFrom(r.Context()).Rights); err != nil {
		return nil, err
	}
	in, err := handler.ReadDocument(r)
	if err != nil {
		return nil, err
	}
	return h.amendInstance(r, in, func(now *document.Map) (*document.Map, error) {
		next := now.Copy()
		next.Set("config", handler.MergePatch(now.Object("config"), in.Doc))
		return next, nil
	})
}

// amendInstance changes the instance that the path names, or says what would be
// wrong with the change.
func (h *Handlers) amendInstance(r *http.Request, in handler.RequestDocument, change func(*document.Map) (*document.Map, error)) (any, error) {
	dry, err := handler.ReadDryRun(r)
	if err != nil {
		return nil, err
	}
	readable := func(now *document.Map) (*document.Map, error) {
		next, err := change(now)
		if err == nil && (next.Text("appSlug") != now.Text("appSlug") || next.Text("appVersion") != now.Text("appVersion")) {
			err = h.checkInstall(r, next.Text("appSlug"))
		}
		return next, err
	}
	done, err := h.Content.Amend(r.Context(), handler.WorkspaceID(r), gateway.Var(r, "slug"), content.Amendment{Change: readable, IfMatch: handler.IfMatch(r), DryRun: dry})
	if dry {
		return in.DryRunError(err)
	}
	if err != nil {
		return nil, in.WithLines(err)
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	_, slug := workspace.Folder(done.Path)
	return h.savedInstanceResponse(r, slug)
}

// UninstallApp handles DELETE /v2/workspaces/{workspaceId}/apps/{slug}.
func (h *Handlers) UninstallApp(r *http.Request) (any, error) {
	if err := checkChangeInstances(gateway.GrantFrom(r.Context()).Rights); err != nil {
		return nil, err
	}
	slug := gateway.Var(r, "slug")
	if _, err := h.Content.Remove(r.Context(), handler.WorkspaceID(r), "imports", slug, handler.IfMatch(r)); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return deletedAppResponse{slug, slug}, nil
}
