// Package apps publishes workspaces as apps that others install, takes them back,
// and reads what they consist of.
package apps

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/cache"
	"svc/commands/content"
	"svc/domain"
	"svc/domain/app"
	"svc/domain/automation/input"
	"svc/domain/document"
	"svc/domain/workspace"
)

// Apps publishes apps. Every field is required.
type Apps struct {
	Engine     *commands.Engine
	Now        func() time.Time // the log's clock
	Workspaces commands.Workspaces
	Revisions  Revisions
	Shelf      *Shelf
	Published  content.Apps // the apps that there are
}

// Revisions reads revisions of contents. It is filled by the read models.
type Revisions interface {
	// ContentRevision returns the sequence of the last change of the content of a
	// workspace, not older than the sequence since.
	ContentRevision(ctx context.Context, workspaceID string, since uint64) (uint64, error)
}

// App is an app after a command.
type App = commands.Execution[app.State]

// Publication asks for a workspace to be published.
type Publication struct {
	WorkspaceID string
	Version     string             // of the workspace; "" and current: as it is now
	Slug        string             // of the app; "" when it is published already
	Name        document.Localized // instead of that of the workspace; a version such as 1.2.0 names nothing
	Description document.Localized // likewise
}

// PublishImported publishes a workspace as the app that an import names.
func (a Apps) PublishImported(ctx context.Context, workspaceID, slug, name string) error {
	publication := Publication{WorkspaceID: workspaceID, Slug: slug}
	if name != "" {
		publication.Name = document.InEveryLanguage(name)
	}
	_, _, err := a.Publish(ctx, publication)
	return err
}

// Publish makes a version of the content of a workspace the newest one of its app.
// first says that there was no app before.
func (a Apps) Publish(ctx context.Context, p Publication) (done App, first bool, err error) {
	now, err := a.Workspaces.Get(ctx, p.WorkspaceID)
	if err != nil {
		return done, false, err
	}
	if now.State.ID == "" || now.State.Deleted != nil {
		return done, false, domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", p.WorkspaceID)
	}
	if p.Version != "" && p.Version != current {
		return done, false, domain.Refuse(domain.CodeNotFound, "there is no such version").With("resource", "version").With("id", p.Version)
	}
	if p.Slug, err = a.slug(ctx, p); err != nil {
		return done, false, err
	}
	cmd, err := a.command(ctx, p, now.Seq)
	if err != nil {
		return done, false, err
	}
	done, err = commands.ExecuteNaming(ctx, a.Engine, app.Decider, app.Stream(p.Slug), app.Command(cmd), names)
	return done, done.Changed && done.State.Publications == 1, toPublicationError(err, p)
}

// current is the name of the version that is not saved as one.
const current = "current"

// names returns the unique names of an app.
func names(s app.State) (all []commands.Name) {
	for _, n := range app.Names(s) {
		all = append(all, commands.Name(n))
	}
	return all
}

// slug returns under which slug a workspace is published. The first publication
// chooses it.
func (a Apps) slug(ctx context.Context, p Publication) (string, error) {
	holder, err := commands.NameOwner(ctx, a.Engine, commands.Name{Kind: app.NameOfWorkspace, Value: p.WorkspaceID})
	if err != nil {
		return "", err
	}
	have := strings.TrimPrefix(holder, app.Stream("").String())
	if b, ok := app.BuiltIn(p.Slug); ok && have != p.Slug {
		return "", domain.Refuse(domain.CodeAlreadyExists, "%s is a built-in app: choose another slug", b.Slug).With("field", "slug").With("value", p.Slug)
	}
	switch {
	case have == "" && p.Slug == "":
		return "", domain.Refuse(domain.CodeMissingParameter, "slug is required: the workspace is published for the first time").
			With("errors", []domain.FieldError{{Field: "slug", Message: "is required"}})
	case have != "" && p.Slug != "" && p.Slug != have:
		return "", slugStays(have)
	}
	return cmp.Or(have, p.Slug), nil
}

func slugStays(have string) error {
	return domain.Invalid(domain.FieldError{Field: "slug", Message: "the slug of an app never changes: it is " + have})
}

// command puts together what is published, all of it as it is at one revision.
func (a Apps) command(ctx context.Context, p Publication, since uint64) (app.Publish, error) {
	revision, err := a.Revisions.ContentRevision(ctx, p.WorkspaceID, since)
	if err != nil {
		return app.Publish{}, err
	}
	detail, err := a.Shelf.Read(ctx, p.WorkspaceID, revision)
	if err != nil {
		return app.Publish{}, err
	}
	within, err := content.Contains(ctx, a.Published, p.WorkspaceID, detail.Installs)
	if err != nil {
		return app.Publish{}, err
	}
	if within {
		return app.Publish{}, domain.Invalid(domain.FieldError{Field: "workspaceId", Message: "an app cannot contain itself: one of its app instances does"})
	}
	cmd := app.Publish{
		Slug: p.Slug, WorkspaceID: p.WorkspaceID, Revision: revision, Name: p.Name, Description: p.Description,
		Photo: detail.Index.Text("photo"), Labels: labels(detail.Index),
		Now: a.Now(), By: commands.RequestFrom(ctx).Meta.UserID,
	}
	if cmd.KeepName = app.IsVersionLike(p.Name); cmd.KeepName {
		cmd.Name = document.Localized{}
	}
	if cmd.Name.IsZero() {
		cmd.Name = document.InEveryLanguage(detail.Index.Text("name"))
	}
	if cmd.Description.IsZero() {
		text, _ := detail.Index.Get("description")
		cmd.Description, _ = document.AsLocalized(text)
	}
	if detail.Documentation != nil {
		cmd.Documentation = &app.Documentation{WorkspaceSlug: detail.Index.Text("slug"), Slug: DocumentationPage}
	}
	return cmd, nil
}

func labels(index *document.Map) (all []string) {
	v, _ := index.Get("labels")
	list, _ := v.([]any)
	for _, item := range list {
		if label, ok := item.(string); ok {
			all = append(all, label)
		}
	}
	return slices.Clip(all)
}

// toPublicationError returns the refusal of a name as a refusal of the request.
func toPublicationError(err error, p Publication) error {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok || refusal.Code != domain.CodeAlreadyExists {
		return err
	}
	switch refusal.Details["field"] {
	case app.NameOfSlug:
		return domain.Refuse(domain.CodeAlreadyExists, "an app has the slug %s already", p.Slug).With("field", "slug").With("value", p.Slug)
	case app.NameOfWorkspace: // another request published it first
		return slugStays("another one")
	}
	return err
}

// Delete takes back the app with this slug, if workspaceID is who publishes it.
func (a Apps) Delete(ctx context.Context, slug, workspaceID string) (App, error) {
	done, err := commands.ExecuteNaming(ctx, a.Engine, app.Decider, app.Stream(slug), app.Command(app.Delete{}), names, func(s app.State) error {
		if s.Slug != "" && s.WorkspaceID != workspaceID {
			return domain.Refuse(domain.CodeConflict, "the app was just published by another workspace").Reason("stale")
		}
		return nil
	})
	if domain.CodeOf(err) == domain.CodeNotFound {
		return done, NotFound(slug)
	}
	return done, err
}

// NotFound is the refusal of an app that there is not.
func NotFound(slug string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such app").With("resource", "app").With("id", slug)
}

// Detail is what the content of an app says. It is never changed.
type Detail struct {
	Index         *document.Map   // the whole index document
	Config        *document.Map   // schema and block of its config; nil for none
	Automations   []*document.Map // slug, name, description, arguments of those that others may call
	Blocks        []*document.Map // slug, name, description, url, edit
	BlockBytes    int             // of the blocks in the index
	Events        *document.Map   // emit, listen, autocomplete
	Installs      []content.Installed
	Secrets       []string      // settings that are secret
	Settings      *input.Config // the schema of its config, compiled; nil: none
	Documentation *content.Ref  // the page that explains it; nil: none
}

// DocumentationPage is the page of a workspace that explains its app.
const DocumentationPage = "_doc"

// Shelf reads what apps consist of. The content of a workspace at a revision never
// changes, so what was read once is remembered.
type Shelf struct {
	library Library
	read    *cache.Cache[edition, *Detail]
}

// Library finds documents. It is part of a content.Library.
type Library interface {
	At(ctx context.Context, workspaceID string, seq uint64) (map[string]content.Ref, error)
	Document(ctx context.Context, workspaceID string, ref content.Ref) (*document.Map, error)
}

// edition is the content of a workspace at a revision.
type edition struct {
	workspaceID string
	revision    uint64
}

// remembered is how many editions are kept in memory.
const remembered = 256

// NewShelf returns a Shelf over a library.
func NewShelf(library Library) *Shelf {
	return &Shelf{library, cache.New[edition, *Detail](remembered)}
}

// Read returns what the content of a workspace at a revision says.
func (s *Shelf) Read(ctx context.Context, workspaceID string, revision uint64) (*Detail, error) {
	wanted := edition{workspaceID, revision}
	if have, ok := s.read.Get(wanted); ok {
		return have, nil
	}
	refs, err := s.library.At(ctx, workspaceID, revision)
	if err != nil {
		return nil, err
	}
	d := &Detail{Index: document.MapOf()}
	var automations []*document.Map
	for _, path := range slices.Sorted(maps.Keys(refs)) {
		folder, slug := workspace.Folder(path)
		if ref := refs[path]; folder == "pages" && slug == DocumentationPage {
			d.Documentation = &ref
		}
		if folder == "pages" || folder == "security" {
			continue
		}
		doc, err := s.library.Document(ctx, workspaceID, refs[path])
		if err != nil {
			return nil, err
		}
		switch folder {
		case "index":
			if err := d.describe(doc); err != nil {
				return nil, err
			}
		case "imports":
			d.Installs = append(d.Installs, content.Installed{Slug: doc.Text("appSlug"), Version: doc.Text("appVersion")})
		case "automations":
			automations = append(automations, doc)
		}
	}
	d.offer(automations)
	s.read.Set(wanted, d)
	return d, nil
}

// describe adds what the index says.
func (d *Detail) describe(index *document.Map) error {
	blocks := index.Object("blocks")
	body, err := document.JSON(blocks)
	if err != nil {
		return err
	}
	d.BlockBytes = len(body)
	d.Index, d.Secrets = index, content.SecretSettings(index)
	if config := pick(index.Object("config"), "schema", "block"); config.Len() > 0 {
		d.Config = config
		d.Settings = input.CompileConfig(config.Object("schema"))
	}
	for slug, v := range blocks.All() {
		block, _ := v.(*document.Map)
		described := document.MapOf(document.Pair{Key: "slug", Value: slug})
		for key, v := range pick(block, "url", "edit", "name", "description").All() {
			described.Set(key, v)
		}
		d.Blocks = append(d.Blocks, described)
	}
	return nil
}

// offer adds the automations that others may call, and the events of all.
func (d *Detail) offer(automations []*document.Map) {
	d.Events = content.Offered(automations)
	for _, doc := range automations {
		if isTrue(doc, "private") || isTrue(doc, "disabled") {
			continue
		}
		offered := pick(doc, "slug", "name", "description")
		offered.Set("arguments", doc.Object("arguments").Copy())
		d.Automations = append(d.Automations, offered)
	}
}

// Calls returns what a workspace can call of an instance with a config: the automations
// that others may call, and the functions of its config and of the app's by their names.
// Functions that a template brings have none.
func (d *Detail) Calls(config any) (names []string) {
	for _, a := range d.Automations {
		names = append(names, a.Text("slug"))
	}
	given, _ := config.(*document.Map)
	for _, functions := range []*document.Map{given.Object("functions"), d.Index.Object("config").Object("value").Object("functions")} {
		for name, f := range functions.All() {
			if _, ok := f.(*document.Map); ok && document.Automation.HasSlug(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// pick returns the fields of a document that it has.
func pick(doc *document.Map, keys ...string) *document.Map {
	part := document.MapOf()
	for _, key := range keys {
		if v, ok := doc.Get(key); ok {
			part.Set(key, v)
		}
	}
	return part
}

func isTrue(doc *document.Map, key string) bool {
	v, _ := doc.Get(key)
	return v == true
}
