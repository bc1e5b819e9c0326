// Package content changes what workspaces consist of: their automations, pages and
// app instances, one by one or all at once by an import or a restoration.
//
// Every change is one event with its documents, or with their hashes. So the content at any
// time can be read again, and no change is ever visible in part.
package content

import (
	"context"
	"errors"
	"slices"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/slug"
	"svc/domain/workspace"
)

// Ref names a document of a workspace at a moment.
type Ref struct {
	Hash        string
	Apart       bool   // stored in the blob store
	ID          string // of a page
	Public      bool
	Sealed      map[string][]byte     // secret settings of an app instance
	HiddenPaths workspace.HiddenPaths // what events do not tell of the config, of an app instance or the workspace
}

// Library finds documents. What it returns is a hint: the log decides. It is
// filled by the read models.
type Library interface {
	// Reach waits until the documents of all changes up to a sequence can be read.
	Reach(ctx context.Context, seq uint64) error
	// At returns the content of a workspace after the change at, or before, a
	// sequence, by path, index and security included.
	At(ctx context.Context, workspaceID string, seq uint64) (map[string]Ref, error)
	// ChangedBy returns the documents that the change at a sequence touched, by path, before it and after it. The
	// zero Ref is a document that was not there.
	ChangedBy(ctx context.Context, workspaceID string, seq uint64) (was, is map[string]Ref, err error)
	// ChangedAfter returns the documents that changed after a sequence, up to another, as they were then. The zero
	// Ref is a document that was not there. known is false when there are so many that At is cheaper.
	ChangedAfter(ctx context.Context, workspaceID string, after, until uint64) (was map[string]Ref, known bool, err error)
	// Document returns a document of a workspace by its hash.
	Document(ctx context.Context, workspaceID string, ref Ref) (*document.Map, error)
	// Change returns what a change of the content touched, and which later
	// changes touched the same.
	Change(ctx context.Context, workspaceID string, seq uint64) (Change, error)
}

// Change is one change of the history.
type Change struct {
	Found      bool
	Content    bool     // it changed content
	Creation   bool     // it is how the workspace came into being
	Parts      []string // paths, or index#name
	Superseded []uint64 // later changes of the same parts
}

// Blobs stores documents that are too large for an event. It is a *jetstream.Blobs.
type Blobs interface {
	Put(ctx context.Context, content []byte) (name string, err error)
}

// Apps reads published apps.
type Apps interface {
	// App returns an app; found is false when the app or its version does not exist.
	App(ctx context.Context, slug, version string) (app App, found bool, err error)
}

// App is the part of an app that its instances need.
type App struct {
	WorkspaceID string
	Installs    []Installed   // the apps that it has instances of
	Secrets     []string      // its settings that are secret
	Events      *document.Map // what it emits and listens to: emit, listen, autocomplete
	Config      *input.Config // the schema of its config; nil: it takes every config
	// Calls returns what can be called of an instance with a config.
	Calls func(config any) []string
}

// Installed names an app that content has an instance of.
type Installed struct {
	Slug    string
	Version string // "": the newest
}

// Instance is an app instance: its slug and its app.
type Instance struct {
	Slug string
	App  Installed
}

// Content changes the content of workspaces. Every field but Room is required.
type Content struct {
	Workspaces commands.Workspaces
	Library    Library
	Blobs      Blobs
	Apps       Apps
	Vault      commands.Vault
	Rules      func() automation.Rules
	Limits     func() archive.Limits
	// Publish publishes a workspace as an app.
	Publish func(ctx context.Context, workspaceID, slug, name string) error
	// CheckCapacity refuses an app instance with which a workspace would have more than can run. It
	// replaces the instance from; "": none. nil: there is no limit.
	CheckCapacity func(ctx context.Context, workspaceID, from string, in Instance) error

	// MaxBases is how many knowledge bases a workspace has at most. nil: there is no limit.
	MaxBases func() int
	// CountDocuments returns how many documents a knowledge base has. nil: none.
	CountDocuments func(ctx context.Context, workspaceID, baseID string) (int, error)
	// FindDeletedBase returns the id of the knowledge base that a workspace had at a slug, and whose documents are kept
	// still; "": there is none. nil: none is found.
	FindDeletedBase func(ctx context.Context, workspaceID, slug string) (id string, err error)
	// SourceRules are what the settings allow sources of knowledge bases. nil: everything.
	SourceRules func() SourceRules

	// CheckEmbedding refuses a model that a workspace cannot turn texts into vectors with. nil: all are refused.
	CheckEmbedding func(ctx context.Context, workspaceID, model string) error
	// CheckChat refuses a model that a workspace cannot have answer. nil: none is refused.
	CheckChat func(ctx context.Context, workspaceID, model string) error

	// SecretDefaults returns the names of the secrets that the settings give the workspace of
	// a slug. nil: none.
	SecretDefaults func(workspaceSlug string) map[string]bool

	// Concurrent staged imports of one workspace would replace each other's parts for ever.
	turns commands.Turns[string]
}

// Saved is a document after it was saved.
type Saved struct {
	Path     string
	Revision uint64
	Seq      uint64 // of the workspace's last event
	Changed  bool
	// Entry and Doc are what was saved. They are empty when it is not at hand.
	Entry workspace.Entry
	Doc   *document.Map
}

// Kinds of documents that are saved one by one, by their folder.
var kinds = map[string]*document.Kind{
	"automations": document.Automation, "pages": document.Page, "imports": document.Import, "knowledge": document.Knowledge,
	"tests": document.Test, "agents": document.Agent,
}

// newDocumentID returns the id of a new document, "" for a kind whose documents have none.
func newDocumentID(ctx context.Context, folder string) string {
	switch folder {
	case "pages":
		return commands.NewID(ctx, 7)
	case "knowledge":
		return "kb_" + commands.NewULID(ctx, "knowledgeBase")
	case "agents":
		return "agt_" + commands.NewULID(ctx, "agent")
	}
	return ""
}

// Create saves a new document in a folder. Without a slug it gets one from its name.
func (c *Content) Create(ctx context.Context, workspaceID, folder string, doc *document.Map) (Saved, error) {
	kind := kinds[folder]
	doc = doc.Copy()
	var now commands.Workspace
	if given, _ := doc.Get("slug"); given == nil {
		var err error
		if now, err = c.Workspaces.Get(ctx, workspaceID); err != nil { // to see which slugs are free
			return Saved{}, err
		}
	}
	doc.Set("slug", chooseSlug(now.State, kind, doc))
	setState(folder, doc, workspace.Item{})
	if folder == instances {
		if err := c.checkCapacity(ctx, workspaceID, "", nil, doc); err != nil {
			return Saved{}, err
		}
		if err := c.checkConfig(ctx, nil, doc); err != nil {
			return Saved{}, err
		}
	}
	entry, doc, err := c.prepare(ctx, workspaceID, kind, doc, nil)
	if err != nil {
		return Saved{}, err
	}
	entry.ID = newDocumentID(ctx, folder)
	done, err := c.Workspaces.Write(ctx, workspaceID, workspace.Save{Entry: entry, Create: true, MaxBases: c.maxBases()})
	return savedEntry(done, entry, doc), withWorkspace(err, workspaceID)
}

// attempts is how often a save is tried again when a page was shared meanwhile.
const attempts = 5

// Replacement is the next version of a document.
type Replacement struct {
	Doc     *document.Map
	IfMatch string // the ETag the caller saw, if any
	// Base is the hash of the document that Doc was made of, if any. When the
	// document has another one by now, nothing is saved and ErrMoved is returned.
	Base string
}

// Replace saves the document at slug in a folder; with another slug in it, it is
// renamed.
func (c *Content) Replace(ctx context.Context, workspaceID, folder, slug string, to Replacement) (Saved, error) {
	kind, path := kinds[folder], folder+"/"+slug
	for attempt := 1; ; attempt++ {
		next := to.Doc.Copy()
		if next.Text("slug") == "" {
			next.Set("slug", slug)
		}
		var before *workspace.Item
		if kind != document.Automation { // which is saved whatever was there
			now, err := c.Workspaces.Get(ctx, workspaceID)
			if err != nil {
				return Saved{}, err
			}
			if item, exists := now.State.Items.Get(path); exists {
				before = &item
			}
		}
		if before != nil {
			setState(folder, next, *before)
		}
		entry, next, err := c.prepare(ctx, workspaceID, kind, next, before)
		if err != nil {
			return Saved{}, err
		}
		if entry.Path != path {
			entry.From = path
		}
		unmoved := func(s workspace.State) error {
			if now, ok := s.Items.Get(path); ok && to.Base != "" && now.Hash != to.Base {
				return ErrMoved
			}
			return nil
		}
		done, err := c.Workspaces.Write(ctx, workspaceID, workspace.Save{Entry: entry},
			commands.Matches(to.IfMatch, commands.ItemRevision(path)), unmoved)
		if isStalePage(err, to.IfMatch) && attempt < attempts {
			continue
		}
		return savedEntry(done, entry, next), withWorkspace(err, workspaceID)
	}
}

// setState sets what a page or an agent says about its sharing and its publication, which saving it does not change.
func setState(folder string, doc *document.Map, before workspace.Item) {
	if workspace.Everyone(folder) == nil {
		return
	}
	if doc.Delete("public"); before.Public {
		doc.Set("public", true)
	}
	if folder != "agents" {
		return
	}
	if doc.Delete("published"); before.IsPublished() && before.Published.Frozen == frozenHash(doc) {
		doc.Set("published", true)
	}
}

// frozenHash names what publishing an agent freezes: all but its slug, with whom it is shared, and whether it is disabled.
func frozenHash(doc *document.Map) string {
	doc = document.Agent.Canonical(doc)
	for _, key := range []string{"slug", "public", "published", "disabled"} {
		doc.Delete(key)
	}
	body, err := document.JSON(doc)
	if err != nil {
		return "" // it is refused when it is saved
	}
	return workspace.HashOf(body)
}

// PublishAgent publishes an agent as it is, or takes back what is published of it.
func (c *Content) PublishAgent(ctx context.Context, workspaceID, slug, ifMatch string, publish bool) (Saved, error) {
	path := "agents/" + slug
	for attempt := 1; ; attempt++ {
		now, err := c.Workspaces.Get(ctx, workspaceID)
		if err != nil {
			return Saved{}, withWorkspace(err, workspaceID)
		}
		item, exists := now.State.Items.Get(path)
		if !exists {
			_, err := workspace.Decider.Decide(now.State, workspace.Remove{Path: path})
			return Saved{}, withWorkspace(err, workspaceID)
		}
		entry, err := c.changedEntry(ctx, workspaceID, now.Seq, path, item, "published", publish)
		if err != nil {
			return Saved{}, err
		}
		command := workspace.Command(workspace.PublishAgent{Entry: *entry})
		if !publish {
			command = workspace.UnpublishAgent{Entry: *entry}
		}
		done, err := c.Workspaces.Write(ctx, workspaceID, command, commands.Matches(ifMatch, commands.ItemRevision(path)), unmoved(path, item.Hash))
		if errors.Is(err, ErrMoved) && attempt < attempts*10 {
			continue
		}
		return saved(done, path), withWorkspace(err, workspaceID)
	}
}

// unmoved refuses a write when the document at a path is another one by now.
func unmoved(path, hash string) func(workspace.State) error {
	return func(s workspace.State) error {
		if now, ok := s.Items.Get(path); !ok || now.Hash != hash {
			return ErrMoved
		}
		return nil
	}
}

// isStalePage reports whether the sharing of a page or an agent changed between its read and its write.
func isStalePage(err error, ifMatch string) bool {
	refusal, ok := err.(*domain.Error) //nolint:errorlint // decisions return it unwrapped
	return ok && ifMatch == "" && refusal.Details["reason"] == "stale"
}

// Remove deletes the document at slug in a folder.
func (c *Content) Remove(ctx context.Context, workspaceID, folder, slug, ifMatch string) (Saved, error) {
	path := folder + "/" + slug
	documents, err := c.countDocuments(ctx, workspaceID, path)
	if err != nil {
		return Saved{}, withWorkspace(err, workspaceID)
	}
	done, err := c.Workspaces.Write(ctx, workspaceID, workspace.Remove{Path: path, Documents: documents},
		commands.Matches(ifMatch, commands.ItemRevision(path)))
	return saved(done, path), withWorkspace(err, workspaceID)
}

// countDocuments returns how many documents the knowledge base at a path has; 0 for other content.
func (c *Content) countDocuments(ctx context.Context, workspaceID, path string) (int, error) {
	if folder, _ := workspace.Folder(path); folder != "knowledge" || c.CountDocuments == nil {
		return 0, nil
	}
	now, err := c.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return 0, err
	}
	return c.CountDocuments(ctx, workspaceID, now.State.Items.At(path).ID)
}

// importedID returns the id of a document that an import brings. A knowledge base that was deleted not long ago comes
// back with its id, and so with its documents.
func (c *Content) importedID(ctx context.Context, workspaceID, path string) (string, error) {
	folder, slug := workspace.Folder(path)
	if folder == "knowledge" && c.FindDeletedBase != nil {
		if id, err := c.FindDeletedBase(ctx, workspaceID, slug); err != nil || id != "" {
			return id, err
		}
	}
	return newDocumentID(ctx, folder), nil
}

func saved(done commands.Workspace, path string) Saved {
	return Saved{Path: path, Revision: done.State.Items.At(path).Revision, Seq: done.Seq, Changed: done.Changed}
}

func savedEntry(done commands.Workspace, e workspace.Entry, doc *document.Map) Saved {
	s := saved(done, e.Path)
	s.Entry, s.Doc = e, doc
	return s
}

// withWorkspace adds the id to the refusal of a workspace that does not exist.
func withWorkspace(err error, workspaceID string) error {
	if refusal, ok := err.(*domain.Error); ok && refusal.Code == domain.CodeNotFound && refusal.Details == nil { //nolint:errorlint // decisions return it unwrapped
		return refusal.With("resource", "workspace").With("id", workspaceID)
	}
	return err
}

// now returns the time of the log.
func (c *Content) now() time.Time { return c.Workspaces.Now() }

// maxInline is how large a document may be to be carried by its event.
const maxInline = 256 << 10

// maxText is how large the file of a document may be.
const maxText = 1 << 20

// prepare checks a document and makes the entry to save. It returns the document as it is stored, too. before is what it
// replaces; nil: nothing.
func (c *Content) prepare(ctx context.Context, workspaceID string, kind *document.Kind, doc *document.Map, before *workspace.Item) (workspace.Entry, *document.Map, error) {
	if err := checkSlug(kind, doc.Text("slug")); err != nil {
		return workspace.Entry{}, nil, err
	}
	stored, err := c.storedDocument(ctx, workspaceID, kind, before)
	if err != nil {
		return workspace.Entry{}, nil, err
	}
	faults, parsed := c.Check(kind, doc)
	if err := refusal(acceptUnknown(kind, faults, doc, stored)); err != nil {
		return workspace.Entry{}, nil, err
	}
	if err := c.checkModels(ctx, workspaceID, kind, doc, stored); err != nil {
		return workspace.Entry{}, nil, err
	}
	if kind != document.Import {
		doc = kind.Canonical(doc)
		e, err := c.newCanonicalEntry(kind, doc, parsed)
		if err == nil {
			err = c.storeLarge(ctx, &e)
		}
		return e, doc, err
	}
	app, before, err := c.installable(ctx, workspaceID, doc, before)
	if err != nil {
		return workspace.Entry{}, nil, err
	}
	doc, sealed, err := c.seal(ctx, workspaceID, doc, app, before)
	if err != nil {
		return workspace.Entry{}, nil, err
	}
	doc = kind.Canonical(doc)
	e, err := c.newCanonicalEntry(kind, doc, nil)
	if err == nil {
		err = c.storeLarge(ctx, &e)
	}
	e.Sealed, e.Events = sealed, Prefixed(app.Events, doc.Text("slug")+".")
	return e, doc, err
}

// maxBases returns how many knowledge bases a workspace has at most, 0 for no limit.
func (c *Content) maxBases() int {
	if c.MaxBases == nil {
		return 0
	}
	return c.MaxBases()
}

// storedDocument returns the knowledge base or the agent that is replaced, nil for documents of other kinds.
func (c *Content) storedDocument(ctx context.Context, workspaceID string, kind *document.Kind, before *workspace.Item) (*document.Map, error) {
	if kind != document.Knowledge && kind != document.Agent || before == nil {
		return nil, nil
	}
	return c.Library.Document(ctx, workspaceID, Ref{Hash: before.Hash})
}

// checkModels refuses models of a knowledge base or an agent that cannot be used. Those that are stored may stay.
func (c *Content) checkModels(ctx context.Context, workspaceID string, kind *document.Kind, doc, stored *document.Map) error {
	if _, model := chatModel(kind, doc); model != "" {
		if _, was := chatModel(kind, stored); model != was {
			if err := c.checkChat(ctx, workspaceID, kind, doc); err != nil {
				return err
			}
		}
	}
	if kind != document.Knowledge || isStored("embedding", doc, stored) {
		return nil
	}
	return c.checkEmbedding(ctx, workspaceID, doc)
}

// chatModel returns the model that answers in the name of a document, and the field that names it.
func chatModel(kind *document.Kind, doc *document.Map) (field, model string) {
	switch kind {
	case document.Knowledge:
		return "answer.model", doc.Object("answer").Text("model")
	case document.Agent:
		return "model", doc.Text("model")
	}
	return "", ""
}

// checkChat refuses a model that no provider has. Without a provider nothing is known of models.
func (c *Content) checkChat(ctx context.Context, workspaceID string, kind *document.Kind, doc *document.Map) error {
	field, model := chatModel(kind, doc)
	if model == "" || c.CheckChat == nil {
		return nil
	}
	err := c.CheckChat(ctx, workspaceID, model)
	refused, ok := errors.AsType[*domain.Error](err)
	switch {
	case !ok:
		return err
	case refused.Code == domain.CodeValidation && refused.Details["reason"] != "secret_missing": // whose provider can be asked
		return domain.Invalid(domain.FieldError{Field: field, Message: "there is no model " + model + " that answers"})
	}
	return nil
}

// checkEmbedding refuses a model of a knowledge base that cannot be used.
func (c *Content) checkEmbedding(ctx context.Context, workspaceID string, doc *document.Map) error {
	model := doc.Object("embedding").Text("model")
	if model == "" {
		return nil // the fields were checked
	}
	var err error = domain.Refuse(domain.CodeConflict, "no model can be used here: leave embedding out, and the base is searched by full text").Reason("no_model")
	if c.CheckEmbedding != nil {
		err = c.CheckEmbedding(ctx, workspaceID, model)
	}
	refused, ok := errors.AsType[*domain.Error](err)
	switch {
	case !ok:
		return err
	case refused.Code == domain.CodeValidation:
		return domain.Invalid(domain.FieldError{Field: "embedding.model", Message: "there is no model " + model + " that makes vectors"})
	}
	return refused.With("field", "embedding")
}

// isStored reports whether a document has the value of a field that is stored, or none.
func isStored(field string, doc, stored *document.Map) bool {
	v, _ := doc.Get(field)
	was, _ := stored.Get(field)
	return v == nil || document.Equal(v, was)
}

func checkSlug(kind *document.Kind, s string) error {
	form := map[*document.Kind]string{document.Knowledge: document.BaseSlugForm, document.Agent: document.AgentSlugForm}[kind]
	if form != "" && !kind.HasSlug(s) {
		return domain.Invalid(domain.FieldError{Field: "slug", Message: form})
	}
	if !kind.HasSlug(s) {
		return domain.Invalid(domain.FieldError{Field: "slug", Message: "letters, digits, blanks, _ and - in parts joined by /, at most 128 characters, and none of the words that the platform uses itself"})
	}
	return nil
}

// chooseSlug returns the slug of a new document: its own, or one that its name
// suggests.
func chooseSlug(s workspace.State, kind *document.Kind, doc *document.Map) string {
	if given, ok := doc.Get("slug"); ok && given != nil {
		text, _ := given.(string)
		return text
	}
	if kind == document.Import {
		return doc.Text("appSlug")
	}
	name, _ := doc.Get("name")
	if name == nil && kind == document.Test {
		name, _ = doc.Get("automation")
	}
	isUsed := func(candidate string) bool {
		for range s.Items.LikePath(kind.Folder + "/" + candidate) {
			return true
		}
		return false
	}
	if kind == document.Knowledge || kind == document.Agent {
		return slug.ShortFromName(kind, name, isUsed)
	}
	return slug.FromName(name, isUsed)
}

// newEntry makes an entry of a checked document. parsed is the parsed automation; nil: it is
// parsed again. An entry that is too large for an event needs storeLarge before it is saved.
func (c *Content) newEntry(kind *document.Kind, doc *document.Map, parsed *automation.Automation) (workspace.Entry, error) {
	return c.newCanonicalEntry(kind, kind.Canonical(doc), parsed)
}

// newCanonicalEntry is newEntry of a document that is canonical.
func (c *Content) newCanonicalEntry(kind *document.Kind, doc *document.Map, parsed *automation.Automation) (workspace.Entry, error) {
	location := archive.Location{Kind: kind, Slug: doc.Text("slug")}
	text, err := document.YAML(doc)
	if err != nil {
		return workspace.Entry{}, err
	}
	if len(text) > maxText {
		return workspace.Entry{}, tooLongError(location, len(text))
	}
	body, err := document.JSON(doc)
	if err != nil {
		return workspace.Entry{}, err
	}
	e := workspace.Entry{Path: location.String(), Hash: workspace.HashOf(body), Checksum: archive.Checksum(text), Body: body}
	if kind == document.Automation && parsed == nil {
		parsed, _ = automation.Parse(doc, c.Rules())
	}
	deriveFields(&e, kind, doc, parsed)
	if len(body) <= maxInline {
		return e, nil
	}
	e.About, e.Apart = workspace.Describe(e.Path, doc), true
	if kind == document.Automation {
		review := input.Review(doc).Bounded()
		e.Review = &review
	}
	return e, nil
}

// storeLarge stores a body that is too large for an event in the blob store. It is called
// last, so that a refusal leaves nothing behind.
func (c *Content) storeLarge(ctx context.Context, e *workspace.Entry) error {
	if !e.Apart || e.Body == nil {
		return nil
	}
	_, err := c.Blobs.Put(ctx, e.Body)
	e.Body = nil
	return err
}

func tooLongError(location archive.Location, length int) error {
	return domain.Refuse(domain.CodeValidation, "%s is larger than %d bytes", location, maxText).
		Reason("limit_exceeded").With("length", length).With("limit", maxText)
}

// deriveFields sets the fields that are derived from the document.
func deriveFields(e *workspace.Entry, kind *document.Kind, doc *document.Map, parsed *automation.Automation) {
	switch kind {
	case document.Automation:
		if parsed == nil {
			return
		}
		if parsed.When.Endpoint != nil {
			e.Endpoint = parsed.When.Endpoint.String()
		}
		e.Events = eventsOf(parsed.Events())
	case document.Page:
		e.Public, _ = boolOf(doc, "public")
		emit, listen := shape.PageEvents(doc)
		e.Events = document.MapOf(document.Pair{Key: "emit", Value: document.StringList(emit)}, document.Pair{Key: "listen", Value: document.StringList(listen)})
	case document.Agent:
		e.Public, _ = boolOf(doc, "public")
		e.Published, _ = boolOf(doc, "published")
		e.Frozen = frozenHash(doc)
	case document.Import:
		e.App = doc.Text("appSlug")
	}
}

func boolOf(doc *document.Map, key string) (value, ok bool) {
	v, _ := doc.Get(key)
	value, ok = v.(bool)
	return value, ok
}

func eventsOf(ev automation.Events) *document.Map {
	auto := make([]any, 0, len(ev.Autocomplete))
	for _, a := range ev.Autocomplete {
		auto = append(auto, document.MapOf(document.Pair{Key: "event", Value: a.Event}, document.Pair{Key: "autocomplete", Value: document.ValueOf(a.Autocomplete)}))
	}
	return document.MapOf(
		document.Pair{Key: "emit", Value: document.StringList(ev.Emit)}, document.Pair{Key: "listen", Value: document.StringList(ev.Listen)},
		document.Pair{Key: "autocomplete", Value: auto},
	)
}

// Fault is a fault of a document. A document with warnings only can be saved.
type Fault struct {
	Field   string
	Message string
	Code    domain.Code
	Unknown bool // a field that documents do not have
	Warning bool
}

// Check returns the faults of a document, and an automation as it was parsed.
func (c *Content) Check(kind *document.Kind, doc *document.Map) (faults []Fault, parsed *automation.Automation) {
	if kind != document.Automation {
		for _, f := range shape.Check(kind, doc) {
			faults = append(faults, Fault{Field: f.Field, Message: f.Message, Code: f.Code, Unknown: f.Unknown})
		}
		if kind == document.Knowledge && len(faults) == 0 {
			for _, f := range c.sourceFaults(doc) {
				faults = append(faults, Fault{Field: f.Field, Message: f.Message, Code: f.Code})
			}
		}
		return faults, nil
	}
	parsed, found := automation.Parse(doc, c.Rules())
	for _, f := range append(found, input.Faults(parsed, found)...) {
		faults = append(faults, Fault{Field: f.Field, Message: f.Message, Code: f.Code, Warning: f.Warning})
	}
	return faults, parsed
}

// acceptUnknown removes the faults for unknown fields that an import may have stored: those of an
// app instance, and those that stay as they are in a stored knowledge base.
func acceptUnknown(kind *document.Kind, faults []Fault, doc, stored *document.Map) []Fault {
	return slices.DeleteFunc(faults, func(f Fault) bool {
		return f.Unknown && (kind == document.Import || kind == document.Knowledge && isStored(f.Field, doc, stored))
	})
}

// refusal returns the faults as an error.
func refusal(faults []Fault) error {
	var wrong []shape.Fault
	for _, f := range faults {
		if !f.Warning {
			wrong = append(wrong, shape.Fault{Field: f.Field, Message: f.Message, Code: f.Code})
		}
	}
	return shape.Refusal(wrong)
}

// Try returns the faults with which saving a document would be refused, and its warnings,
// and saves nothing. slug is that of the document it would replace, "" for a new one. An
// automation is returned as it was parsed.
func (c *Content) Try(ctx context.Context, workspaceID, folder, slug string, doc *document.Map) ([]Fault, *automation.Automation, error) {
	now, err := c.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return nil, nil, err
	}
	kind, path := kinds[folder], folder+"/"+slug
	item, exists := now.State.Items.Get(path)
	if slug != "" && !exists {
		_, err := workspace.Decider.Decide(now.State, workspace.Remove{Path: path})
		return nil, nil, withWorkspace(err, workspaceID)
	}
	doc = doc.Copy()
	switch {
	case slug == "":
		doc.Set("slug", chooseSlug(now.State, kind, doc))
	case doc.Text("slug") == "":
		doc.Set("slug", slug)
	}
	setState(folder, doc, item)
	faults, parsed := c.Check(kind, doc)
	if kind == document.Knowledge || kind == document.Agent {
		before := &item
		if !exists {
			before = nil
		}
		stored, err := c.storedDocument(ctx, workspaceID, kind, before)
		if err != nil {
			return nil, nil, err
		}
		faults = withRefusal(acceptUnknown(kind, faults, doc, stored), c.checkModels(ctx, workspaceID, kind, doc, stored))
	}
	if err := checkSlug(kind, doc.Text("slug")); err != nil {
		return withRefusal(faults, err), parsed, nil
	}
	e := workspace.Entry{Path: folder + "/" + doc.Text("slug"), Public: item.Public}
	if slug != "" && e.Path != path {
		e.From = path
	}
	deriveFields(&e, kind, doc, parsed)
	e.Public = item.Public
	_, err = workspace.Decider.Decide(now.State, workspace.Save{Entry: e, Create: slug == "", MaxBases: c.maxBases()})
	if err == nil {
		err = fits(kind, doc)
	}
	if code := domain.CodeOf(err); err != nil && code != domain.CodeAlreadyExists && code != domain.CodeValidation {
		return nil, nil, withWorkspace(err, workspaceID)
	}
	return withRefusal(faults, err), parsed, nil
}

// CheckDraft refuses a document that could not be saved as it is, but for its slug, which may be absent or taken.
func (c *Content) CheckDraft(folder string, doc *document.Map) error {
	kind, doc := kinds[folder], doc.Copy()
	if given, ok := doc.Get("slug"); !ok || given == nil {
		doc.Set("slug", "draft")
	}
	if err := checkSlug(kind, doc.Text("slug")); err != nil {
		return err
	}
	faults, _ := c.Check(kind, doc)
	if err := refusal(faults); err != nil {
		return err
	}
	return fits(kind, doc)
}

// fits refuses a document whose file would be too long.
func fits(kind *document.Kind, doc *document.Map) error {
	location := archive.Location{Kind: kind, Slug: doc.Text("slug")}
	text, err := archive.Text(location, kind.Canonical(doc))
	if err == nil && len(text) > maxText {
		err = tooLongError(location, len(text))
	}
	return err
}

// withRefusal adds a refusal to the faults of a document, unless its field has one already.
func withRefusal(faults []Fault, err error) []Fault {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok {
		return faults
	}
	field, _ := refusal.Details["field"].(string)
	if list, ok := refusal.Details["errors"].([]domain.FieldError); ok {
		field = list[0].Field
	}
	for _, f := range faults {
		if f.Field == field && !f.Warning {
			return faults
		}
	}
	return append(faults, Fault{Field: field, Message: refusal.Message, Code: refusal.Code})
}

// Share shares a page, a knowledge base or an agent with a target. Sharing a page or an agent with everyone changes it,
// as any other change of content does; other shares do not.
func (c *Content) Share(ctx context.Context, workspaceID, id string, share access.Share) (commands.Workspace, error) {
	return c.share(ctx, workspaceID, id, share.Target.Public, true, func(e *workspace.Entry) workspace.Command {
		return workspace.ShareDocument{ID: id, Share: share, Entry: e}
	})
}

// Unshare stops sharing a page, a knowledge base or an agent with a target, in the form that paths have.
func (c *Content) Unshare(ctx context.Context, workspaceID, id, target string) (commands.Workspace, error) {
	return c.share(ctx, workspaceID, id, target == (access.Target{Public: true}).String(), false, func(e *workspace.Entry) workspace.Command {
		return workspace.UnshareDocument{ID: id, Target: target, Entry: e}
	})
}

// share executes a command about the shares of a document. When it is about everyone, and that is content, the command
// gets the document that says so. When the document changes meanwhile, that is made again.
func (c *Content) share(ctx context.Context, workspaceID, id string, everyone, public bool, with func(*workspace.Entry) workspace.Command) (commands.Workspace, error) {
	for attempt := 1; ; attempt++ {
		now, err := c.Workspaces.Get(ctx, workspaceID)
		if err != nil {
			return commands.Workspace{}, withWorkspace(err, workspaceID)
		}
		path := now.State.PathOf(id)
		folder, _ := workspace.Folder(path)
		if !everyone || workspace.Everyone(folder) == nil {
			done, err := c.Workspaces.Execute(ctx, workspaceID, with(nil))
			return done, withWorkspace(err, workspaceID)
		}
		item := now.State.Items.At(path)
		var entry *workspace.Entry
		if item.Public != public {
			if entry, err = c.changedEntry(ctx, workspaceID, now.Seq, path, item, "public", public); err != nil {
				return commands.Workspace{}, err
			}
		}
		done, err := c.Workspaces.Write(ctx, workspaceID, with(entry), unmoved(path, item.Hash))
		if errors.Is(err, ErrMoved) && attempt < attempts*10 {
			continue
		}
		return done, withWorkspace(err, workspaceID)
	}
}

// changedEntry returns the entry of a stored document with, or without, a field that is true. seq is that of its
// workspace.
func (c *Content) changedEntry(ctx context.Context, workspaceID string, seq uint64, path string, item workspace.Item, field string, value bool) (*workspace.Entry, error) {
	if err := c.Library.Reach(ctx, seq); err != nil {
		return nil, err
	}
	doc, err := c.Library.Document(ctx, workspaceID, Ref{Hash: item.Hash})
	if err != nil {
		return nil, err
	}
	if doc.Delete(field); value {
		doc.Set(field, true)
	}
	folder, _ := workspace.Folder(path)
	e, err := c.newEntry(kinds[folder], doc, nil)
	if err == nil {
		err = c.storeLarge(ctx, &e)
	}
	e.ID = item.ID
	return &e, err
}
