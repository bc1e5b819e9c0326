package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"

	"svc/commands/apps"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/domain"
	"svc/domain/document"
	"svc/http/gateway"
	"svc/projections"
)

// instanceFolder is where the documents of app instances are.
const instanceFolder = "imports/"

// instance is an app instance as it is, or was, and what is known of its app.
type instance struct {
	slug  string
	tag   string
	doc   *document.Map // with masks
	shown *document.Map // what lists show, with the service's own fields
	app   *apps.Detail  // nil when the app has vanished
}

// instanceDetail is an app instance as lists show it.
func (d Deps) instanceDetail(ctx context.Context, rd projections.Reader, id string, item projections.Item) (*document.Map, error) {
	shown, _, err := d.described(ctx, rd, id, item)
	return shown, err
}

// described returns what lists show of an instance, and what its app consists of:
// nil when it has vanished.
func (d Deps) described(ctx context.Context, rd projections.Reader, id string, item projections.Item) (*document.Map, *apps.Detail, error) {
	meta, err := projections.Content{}.Meta(rd, id, item.Hash)
	if err != nil {
		return nil, nil, err
	}
	doc := documented(meta.About)
	published, revision, err := projections.Apps{}.FindVersion(rd, doc.Text("appSlug"), doc.Text("appVersion"))
	if err != nil {
		return nil, nil, err
	}
	var app *apps.Detail
	if revision != 0 {
		if app, err = d.Shelf.Read(ctx, published.WorkspaceID, revision); err != nil {
			return nil, nil, err
		}
	}
	if name := published.Name.First(); name != "" {
		doc.Set("appName", name)
	}
	if published.Photo != "" {
		doc.Set("photo", published.Photo)
	}
	offers(doc, app, item.Slug()+".")
	doc.Set("checksum", meta.Checksum)
	if item.Created == 0 {
		return doc, app, nil
	}
	return doc, app, audited(rd, id, item, doc)
}

// documented returns an instance without the fields that mean nothing.
func documented(doc *document.Map) *document.Map {
	doc = doc.Copy()
	for _, key := range document.Import.Unknown(doc) {
		doc.Delete(key)
	}
	return doc
}

// offers adds what an instance adds to its workspace, under the names that it has
// there.
func offers(doc *document.Map, app *apps.Detail, prefix string) {
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

// instance finds the app instance that the path names, now or at the moment that
// the query names.
func (d Deps) instance(r *http.Request) (instance, error) {
	at, past, err := momentOf(d, r)
	if err != nil {
		return instance{}, err
	}
	slug := gateway.Var(r, "slug")
	if !past {
		return d.instanceNow(r, slug)
	}
	refs, err := d.Library.At(r.Context(), workspaceID(r), at.seq)
	if err != nil {
		return instance{}, err
	}
	ref, ok := refs[instanceFolder+slug]
	if !ok {
		return instance{}, noInstance(slug)
	}
	return d.fill(r, projections.Item{Path: instanceFolder + slug, Hash: ref.Hash}, ref, strconv.FormatUint(at.seq, 36))
}

func (d Deps) instanceNow(r *http.Request, slug string) (instance, error) {
	var item projections.Item
	var ref content.Ref
	err := d.ReadModel.View(func(rd projections.Reader) error {
		found, ok, err := projections.Content{}.Get(rd, workspaceID(r), instanceFolder+slug)
		if err != nil {
			return err
		}
		if !ok {
			return noInstance(slug)
		}
		manifest, err := projections.History{}.ManifestAt(rd, workspaceID(r), found.Updated)
		item, ref = found, content.Ref(manifest[found.Path])
		return err
	})
	if err != nil {
		return instance{}, err
	}
	return d.fill(r, item, ref, tagOf(item.Revision))
}

// fill reads what an instance is about.
func (d Deps) fill(r *http.Request, item projections.Item, ref content.Ref, tag string) (instance, error) {
	found := instance{slug: item.Slug(), tag: tag}
	doc, err := d.Library.Document(r.Context(), workspaceID(r), ref)
	if err != nil {
		return found, err
	}
	err = d.ReadModel.View(func(rd projections.Reader) error {
		found.shown, found.app, err = d.described(r.Context(), rd, workspaceID(r), item)
		return err
	})
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

// answer is an instance with the config of its app, and its own value for it. Its
// tag names what its app adds as well.
func (i instance) answer(r *http.Request) (any, error) {
	config := document.MapOf()
	if i.app != nil {
		config = i.app.Config.Copy()
	}
	config.Set("value", i.doc.Object("config").Copy())
	if template := i.doc.Text("config"); template != "" {
		config.Set("template", template)
	}
	i.shown.Set("config", config)
	whole, err := jsonOf(i.shown, i.tag)
	if err != nil {
		return nil, err
	}
	text, err := archive.Text(archive.Place{Kind: document.Import, Slug: i.slug}, i.doc)
	sum := sha256.Sum256(whole.json)
	whole.tag += "." + hex.EncodeToString(sum[:6])
	return inEither(r, whole, text), err
}

// instanceAnswer is an instance after it was changed.
func (d Deps) instanceAnswer(r *http.Request, slug string) (any, error) {
	found, err := d.instanceNow(r, slug)
	if err != nil {
		return nil, err
	}
	text, err := archive.Text(archive.Place{Kind: document.Import, Slug: slug}, found.doc)
	if err != nil {
		return nil, err
	}
	doc := documented(found.doc)
	if template := doc.Text("config"); template != "" { // a config of the workspace is passed on
		doc.Set("config", document.MapOf())
		doc.Set("template", template)
	}
	for _, key := range []string{"appName", "checksum", "createdAt", "createdBy", "updatedAt", "updatedBy"} {
		if v, ok := found.shown.Get(key); ok {
			doc.Set(key, v)
		}
	}
	whole, err := jsonOf(doc, found.tag)
	return inEither(r, whole, text), err
}

// judged is the answer to a dry run. That something is wrong with the document is
// what was asked for, not a failure of the request.
func (s sent) judged(err error) (any, error) {
	verdict := checked()
	if err == nil {
		return verdict, nil
	}
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return nil, err
	}
	faults, ok := refusal.Details["errors"].([]domain.FieldError)
	switch {
	case ok:
	case refusal.Code == domain.CodeAlreadyExists:
		field, _ := refusal.Details["field"].(string)
		faults = []domain.FieldError{{Field: field, Message: refusal.Message}}
	case refusal.Code == domain.CodeNotFound && refusal.Details["resource"] == "app":
		faults = []domain.FieldError{{Field: "appSlug", Message: refusal.Message}}
	default:
		return nil, err
	}
	for _, f := range faults {
		verdict.Errors = append(verdict.Errors, s.place(f.Field, f.Message))
	}
	return verdict, nil
}
