package content

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/spread"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/agent"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// plan is the change of one state by an import or a restoration.
type plan struct {
	of         workspace.State
	to         workspace.Switch
	imported   []string
	deleted    []string
	errors     []archive.Item
	warnings   []archive.Item
	sources    map[string]string            // the file of each path, when there are files
	lineOf     func(file, field string) int // the line of a field; nil: there are no files
	failed     []string                     // paths that have a file which could not be used
	foreign    string                       // the slug of the source, when it is not free here
	restricted bool                         // something was not changed because the caller may not
	docs       map[string]*document.Map     // of the entries
}

// ErrMoved says that the content changed since a plan or a document was made of it.
var ErrMoved = errors.New("content: it has changed since the plan was made")

// checkUnmoved refuses a plan when the content has changed since.
func (p plan) checkUnmoved(s workspace.State) error {
	if s.Changes != p.of.Changes || s.Revision != p.of.Revision || s.SecurityRevision != p.of.SecurityRevision || (s.Deleted == nil) != (p.of.Deleted == nil) {
		return ErrMoved
	}
	return nil
}

func (p *plan) warn(code, path, message string) { p.warnAt(code, path, "", message) }

// warnAt is warn about a field of the document at a path.
func (p *plan) warnAt(code, path, field, message string) {
	p.warnings = append(p.warnings, p.item(code, path, field, message))
}

// excludeFile records that the file at a path was not imported: both sides stay as they are.
func (p *plan) excludeFile(path string) { p.failed = append(p.failed, path) }

// fail adds an error, and holds the document back.
func (p *plan) fail(code, path, field, message string) {
	p.excludeFile(path)
	p.errors = append(p.errors, p.item(code, path, field, message))
}

// refuse is fail with the message of a refusal.
func (p *plan) refuse(path string, err error) {
	message, field := err.Error(), ""
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		message, field = refusal.Message, archive.FirstField(refusal)
	}
	p.fail(archive.ErrInvalidDocument, path, field, message)
}

func (p *plan) item(code, path, field, message string) archive.Item {
	item := archive.Item{Msg: message, Err: code, Filepath: cmp.Or(p.sources[path], path), WorkspaceID: p.of.ID}
	if file := p.sources[path]; file != "" && p.lineOf != nil {
		item.Line = p.lineOf(file, field)
	}
	return item
}

// put adds a document to what changes, unless it is there already. doc is what
// the entry was made of.
func (p *plan) put(e workspace.Entry, doc *document.Map) {
	before, exists := p.of.Items.Get(e.Path)
	if exists {
		e.ID, e.HiddenPaths = before.ID, e.HiddenPaths.Union(before.HiddenPaths)
		if before.Hash == e.Hash && maps.EqualFunc(before.Sealed, e.Sealed, bytes.Equal) {
			return
		}
	}
	if p.docs == nil {
		p.docs = map[string]*document.Map{}
	}
	p.docs[e.Path] = doc
	p.to.Entries = append(p.to.Entries, e)
	p.imported = append(p.imported, e.Path)
}

func (p *plan) drop(path string) {
	p.to.Deleted = append(p.to.Deleted, path)
	p.deleted = append(p.deleted, path)
}

// setSettings changes the settings to next, if they differ. untold are paths that events do not
// contain, besides those of before.
func (p *plan) setSettings(next workspace.Settings, untold workspace.HiddenPaths) {
	if next = next.WithHiddenOf(p.of.Settings, untold); domain.Same(next, p.of.Settings) {
		return
	}
	p.to.Settings = &next
	if next.Slug != p.of.Settings.Slug {
		p.to.OldSlug = p.of.Settings.Slug
	}
	p.imported = append(p.imported, "index")
}

// setSecurity changes the security document, if it differs and the caller may.
func (p *plan) setSecurity(next *workspace.SecurityChange, may bool) {
	before := workspace.SecurityChange{Security: p.of.Security, Source: p.of.SecuritySource}
	if document.Equal(before.Document(), next.Document()) {
		return
	}
	if !may {
		p.restricted = true
		p.excludeFile("security")
		p.warn("security_excluded", "security", "the security document was not changed: that needs the permission manage_security")
		return
	}
	p.to.Security = next
	p.imported = append(p.imported, "security")
}

// readSecurity compiles a security document, or refuses it.
func readSecurity(workspaceID string, doc *document.Map) (*workspace.SecurityChange, error) {
	doc = document.Security.Canonical(doc)
	if err := shape.Refusal(withoutUnknown(shape.Check(document.Security, doc))); err != nil {
		return nil, err
	}
	security, err := workspace.ReadSecurity(doc)
	if err != nil {
		return nil, err
	}
	security.Authentication = access.Authentication{ClientID: workspace.ClientID(workspaceID)}
	if _, err := access.Compile(workspaceID, security); err != nil {
		return nil, err
	}
	return &workspace.SecurityChange{Security: security, Source: doc}, nil
}

// withoutUnknown removes the faults for unknown fields, which imports store without effect.
func withoutUnknown(faults []shape.Fault) []shape.Fault {
	return slices.DeleteFunc(faults, func(f shape.Fault) bool { return f.Unknown })
}

// planImport plans the import into a workspace, or the content of a new one.
func (c *Content) planImport(ctx context.Context, s workspace.State, r *archive.Reading, o ImportOptions) (plan, error) {
	p := plan{of: s, sources: map[string]string{}, lineOf: r.Line, errors: slices.Clone(r.Errors), warnings: slices.Clone(r.Warnings)}
	for location, file := range r.Sources {
		p.sources[location.String()] = file
	}
	p.failed = slices.Clone(r.Failed)
	if o.Operation != nil {
		p.warnings = append(p.warnings, o.Operation.Notes...)
	}
	if r.Content.Index != nil && !o.Excludes.Has("index") {
		if err := c.planIndex(ctx, &p, r.Content.Index, o); err != nil {
			return p, err
		}
	}
	if r.Content.Security != nil && !o.Excludes.Has("security") {
		next, err := readSecurity(s.ID, r.Content.Security)
		if err != nil {
			return p, err
		}
		if err := next.Security.Validate(s.Shares); err != nil {
			p.refuse("security", err)
		} else {
			p.setSecurity(next, o.Secure)
		}
	}
	list, err := c.planDocuments(ctx, &p, r, o)
	if err != nil {
		return p, err
	}
	if o.Prune {
		for path := range s.Items.Paths() {
			if !hasDocument(r, path) && !slices.Contains(r.Failed, path) && !o.Excludes.Has(path) {
				p.drop(path)
			}
		}
	}
	c.warnOfNames(&p, list, r)
	p.dropConflicting()
	return p, p.fits()
}

// planIndex plans the settings of the index. logo is another name of photo.
func (c *Content) planIndex(ctx context.Context, p *plan, doc *document.Map, o ImportOptions) error {
	if logo, given := doc.Get("logo"); given {
		doc = doc.Copy()
		doc.Delete("logo")
		if _, both := doc.Get("photo"); !both {
			doc.Set("photo", logo)
		}
	}
	next, err := workspace.FromIndex(doc)
	if err != nil {
		return err
	}
	if p.of.Revision > 0 {
		if next, err = c.mergeSettings(ctx, p, next, o); err != nil {
			return err
		}
	}
	if next.AllowUnsecurePages && !p.of.Settings.AllowUnsecurePages && !o.Secure {
		next.AllowUnsecurePages = false
		p.restricted = true
		p.warnAt("security_excluded", "index", "allowUnsecurePages", "allowUnsecurePages was not changed: that needs the permission manage_security")
	}
	if !document.Equal(next.Models, p.of.Settings.Models) && !o.Secure {
		next.Models = p.of.Settings.Models
		p.restricted = true
		p.warnAt("security_excluded", "index", "models", "models was not changed: that needs the permission manage_security")
	}
	if left := workspace.WithoutSecrets(next.Config); next.Config != nil && !document.Equal(left, next.Config) {
		next.Config = left
		p.warnAt("secret_left_out", "index", "config.value", "config values that are secret were left out: keep them in secrets and refer to them as {{secret.NAME}}")
	}
	p.setSettings(next, nil)
	return nil
}

// mergeSettings merges the index of an import into the settings of a workspace. The index of a
// pull is merged already.
func (c *Content) mergeSettings(ctx context.Context, p *plan, next workspace.Settings, o ImportOptions) (workspace.Settings, error) {
	now := p.of.Settings
	next.CustomDomains, next.Repositories, next.Credentials = now.CustomDomains, now.Repositories, now.Credentials
	if o.Operation.isPull() {
		var err error
		next.Slug, err = c.slugAfterPull(ctx, p, next.Slug, o.Operation)
		return next, err
	}
	next.Slug = now.Slug
	labels := append(slices.Clone(now.Labels), next.Labels...)
	slices.Sort(labels)
	next.Labels = slices.Compact(labels)
	return next, nil
}

func hasDocument(r *archive.Reading, path string) bool {
	location, ok := archive.Locate(path + ".yml")
	return ok && r.Content.Get(location) != nil
}

// importedDoc is a document of an import.
type importedDoc struct {
	path   string
	kind   *document.Kind
	doc    *document.Map
	sealed map[string][]byte
	app    *App // of an instance; nil: it does not exist

	faults []Fault
	review automation.Review
	entry  workspace.Entry
	err    error
}

// planDocuments adds the documents of folders.
func (c *Content) planDocuments(ctx context.Context, p *plan, r *archive.Reading, o ImportOptions) ([]*importedDoc, error) {
	list, err := c.collect(ctx, p, r, o)
	if err != nil {
		return nil, err
	}
	spread.Over(len(list), func(i int) {
		b := list[i]
		b.err = c.prepareImported(b)
	})
	for _, b := range list {
		if b.err != nil {
			return nil, b.err
		}
		unknown := b.kind.Unknown(b.doc)
		for _, f := range b.faults {
			if slices.Contains(unknown, f.Field) {
				continue // there is a warning about it already
			}
			p.warnAt("invalid_automation", b.path, f.Field, fmt.Sprintf("%s: %s", f.Field, f.Message))
		}
		c.warnOfMissingModels(ctx, p, b)
		if !p.of.Items.Has(b.path) {
			if b.entry.ID, b.err = c.importedID(ctx, p.of.ID, b.path); b.err != nil {
				return nil, b.err
			}
		}
		b.entry.Sealed = b.sealed
		p.put(b.entry, b.doc)
	}
	return list, nil
}

// warnOfMissingModels warns of models of a knowledge base or an agent that are kept and cannot be used here.
func (c *Content) warnOfMissingModels(ctx context.Context, p *plan, b *importedDoc) {
	if c.checkChat(ctx, p.of.ID, b.kind, b.doc) != nil {
		field, model := chatModel(b.kind, b.doc)
		p.warnAt("model_missing", b.path, field, "there is no model "+model+" here that answers")
	}
	if b.kind == document.Knowledge && c.checkEmbedding(ctx, p.of.ID, b.doc) != nil {
		p.warnAt("model_missing", b.path, "embedding", "the model cannot be used here: the base is searched by full text until it can")
	}
}

// collect returns the documents of folders that the caller may import.
func (c *Content) collect(ctx context.Context, p *plan, r *archive.Reading, o ImportOptions) (list []*importedDoc, err error) {
	for _, location := range r.Content.Locations() {
		path := location.String()
		if location.Kind.Folder == "" || o.Excludes.Has(path) {
			continue
		}
		kind := kinds[location.Kind.Folder]
		doc := r.Content.Get(location).Copy()
		doc.Set("slug", location.Slug)
		if kind == document.Import {
			hidden, err := p.isHiddenApp(ctx, o.Authorizer, path, doc)
			if err != nil {
				return nil, err
			}
			if hidden {
				continue
			}
		}
		if workspace.Everyone(kind.Folder) != nil {
			if doc, err = p.preservePublic(o.Authorizer, path, path, doc); err != nil {
				return nil, err
			}
		}
		if kind == document.Agent {
			doc = p.limitAccess(o.Authorizer, path, doc)
		}
		b := &importedDoc{path: path, kind: kind, doc: doc}
		if kind == document.Import {
			if err := c.planInstance(ctx, p, b); err != nil {
				return nil, err
			}
		}
		list = append(list, b)
	}
	return list, nil
}

// prepareImported makes the entry of a document, finds the faults of an automation and the
// names that it uses.
func (c *Content) prepareImported(b *importedDoc) (err error) {
	var parsed *automation.Automation
	if b.kind == document.Automation {
		b.faults, parsed = c.Check(b.kind, b.kind.Canonical(b.doc))
	}
	b.review = reviewOf(b.kind, b.doc, parsed)
	b.entry, err = c.newEntry(b.kind, b.doc, parsed)
	return err
}

// planInstance is installable for an import: a missing app is only a warning.
func (c *Content) planInstance(ctx context.Context, p *plan, b *importedDoc) error {
	path, doc := b.path, b.doc
	before, exists := p.of.Items.Get(path)
	app, found, err := c.Apps.App(ctx, doc.Text("appSlug"), doc.Text("appVersion"))
	if err != nil {
		return err
	}
	var was *workspace.Item
	if exists && before.App == doc.Text("appSlug") {
		was = &before
	}
	if !found {
		p.warnAt("app_missing", path, "appSlug", "the app "+doc.Text("appSlug")+" is not published here: the instance works once it is")
		if was != nil {
			b.sealed = was.Sealed
		}
		return nil
	}
	b.app = &app
	if app.WorkspaceID == p.of.ID {
		p.warnAt("app_contains_itself", path, "appSlug", "an app cannot contain itself: the instance has no effect")
	}
	p.warnOfConfig(path, app, doc)
	if b.doc, b.sealed, err = c.seal(ctx, p.of.ID, doc, app, was); err != nil || was == nil {
		return err
	}
	for key, value := range was.Sealed { // files never have them
		if b.sealed == nil {
			b.sealed = map[string][]byte{}
		}
		if b.sealed[key] == nil && len(b.sealed) < maxSecrets {
			b.sealed[key] = value
		}
	}
	return nil
}

// warnOfConfig adds warnings about settings of an app instance that do not fit the schema of its app.
// They are kept as they are: reading them raises.
func (p *plan) warnOfConfig(path string, app App, doc *document.Map) {
	for _, f := range ConfigFaults(app, doc) {
		p.warnAt("invalid_config", path, f.Field, f.Field+": "+f.Message)
	}
}

func (p plan) strict(o ImportOptions) error {
	if !o.Strict || len(p.errors) == 0 {
		return nil
	}
	return domain.Refuse(domain.CodeValidation, "%d files have errors, the first: %s: %s", len(p.errors), p.errors[0].Filepath, p.errors[0].Msg).
		Reason("invalid_files").With("errors", p.errors)
}

func (p plan) empty() bool {
	return p.to.Settings == nil && p.to.Security == nil && len(p.to.Entries) == 0 && len(p.to.Deleted) == 0
}

// importRepositories imports the repositories of the index of a new workspace, without
// credentials.
func (c *Content) importRepositories(p *plan, index *document.Map) {
	value, _ := index.Get("repositories")
	incoming, ok := value.(*document.Map)
	if !ok || incoming.Len() == 0 || p.to.Settings == nil {
		return
	}
	imported := document.MapOf()
	for id, v := range incoming.All() {
		repository, ok := v.(*document.Map)
		single := document.MapOf(document.Pair{Key: "name", Value: "any"}, document.Pair{Key: "repositories", Value: document.MapOf(document.Pair{Key: id, Value: v})})
		if faults := shape.Check(document.Index, single); !ok || len(faults) > 0 {
			p.warnAt("invalid_repository", "index", shape.Path("repositories", id), "the repository "+document.QuoteShort(id)+" was left out: it is not well-formed")
			continue
		}
		clean, dropped := withoutCredentials(repository)
		if dropped {
			p.warnAt("credentials_dropped", "index", shape.Path("repositories", id), "the credentials of the repository "+id+" were left out: set them again, or refer to secrets")
		}
		imported.Set(id, clean)
	}
	if imported.Len() > 0 {
		p.to.Settings.Repositories = imported
	}
}

// withoutCredentials returns a repository without credentials, except references to secrets.
func withoutCredentials(repository *document.Map) (clean *document.Map, dropped bool) {
	value, _ := repository.Get("config")
	config, ok := value.(*document.Map)
	if !ok {
		return repository, false
	}
	repository, config = repository.Copy(), config.Copy()
	if value, ok := config.Get("auth"); ok {
		auth, _ := value.(*document.Map)
		remaining := document.MapOf()
		for key, v := range auth.All() {
			if text, _ := v.(string); workspace.IsSecretReference(text) {
				remaining.Set(key, v)
			} else {
				dropped = dropped || text != "" && text != workspace.Mask
			}
		}
		if config.Delete("auth"); remaining.Len() > 0 {
			config.Set("auth", remaining)
		}
	}
	if address, found := withoutUser(config.Text("url")); found {
		config.Set("url", address)
		dropped = true
	}
	repository.Set("config", config)
	return repository, dropped
}

// withoutUser returns an address without the credentials in it. The name in one
// for SSH is none.
func withoutUser(address string) (clean string, found bool) {
	u, err := url.Parse(address)
	if err != nil {
		rest, at := "", strings.LastIndex(address, "@")
		if scheme := strings.Index(address, "://"); scheme >= 0 && at > scheme {
			rest = address[:scheme+3] + address[at+1:]
			return rest, true
		}
		return address, false
	}
	if u.User == nil || u.Host == "" {
		return address, false
	}
	_, password := u.User.Password()
	if u.Scheme == "ssh" && !password {
		return address, false
	}
	if u.Scheme == "ssh" {
		u.User = url.User(u.User.Username())
	} else {
		u.User = nil
	}
	return u.String(), true
}

// excludesOf returns what imports of archives leave as it is: the first repository
// of that type says so.
func excludesOf(repositories *document.Map) archive.Excludes {
	for _, id := range slices.Sorted(slices.Values(repositories.Keys())) {
		value, _ := repositories.Get(id)
		repository, _ := value.(*document.Map)
		if repository.Text("type") == "archive" {
			return archive.ExcludesOf(repository)
		}
	}
	return nil
}

// dropConflicting drops entries that conflict with documents that stay: a name that differs in
// case only, or an endpoint in use. The predecessor of a dropped entry stays, and may conflict
// with another entry: so it is repeated until none is dropped.
func (p *plan) dropConflicting() {
	f := p.newConflictFinder()
	for _, e := range p.to.Entries {
		if other, found := f.findSimilar(p, e.Path); found {
			f.drop(p, e, archive.ErrDuplicateObject, "slug", "differs from "+other+" in case only")
		} else {
			f.claim(p, e)
		}
	}
	for len(f.staying) > 0 {
		path := f.staying[0]
		f.staying = f.staying[1:]
		f.reclaim(p, path)
	}
	p.to.Entries = slices.DeleteFunc(p.to.Entries, func(e workspace.Entry) bool { return f.dropped[e.Path] })
	p.imported = slices.DeleteFunc(p.imported, func(path string) bool { return f.dropped[path] })
}

// conflictFinder finds the conflicts of a plan.
type conflictFinder struct {
	endpoints map[string]string          // the paths that got them
	entries   map[string]workspace.Entry // by their endpoint, those that are not dropped
	dropped   map[string]bool            // paths
	deleted   map[string]bool            // paths
	replaced  map[string]bool            // paths
	staying   []string                   // paths of dropped entries whose predecessors are not looked at yet
}

func (p *plan) newConflictFinder() *conflictFinder {
	f := &conflictFinder{
		endpoints: map[string]string{}, entries: map[string]workspace.Entry{}, dropped: map[string]bool{}, deleted: map[string]bool{}, replaced: map[string]bool{},
	}
	for _, path := range p.to.Deleted {
		f.deleted[path] = true
	}
	for _, e := range p.to.Entries {
		f.replaced[e.Path] = true
	}
	return f
}

// findSimilar returns the path of a document that stays and differs from a path in case only.
func (f *conflictFinder) findSimilar(p *plan, path string) (other string, found bool) {
	if p.of.Items.Has(path) && !f.deleted[path] {
		return "", false
	}
	for other := range p.of.Items.LikePath(path) {
		if other != path && !f.deleted[other] {
			return other, true
		}
	}
	return "", false
}

// holderOf returns the path of the document that has an endpoint.
func (f *conflictFinder) holderOf(p *plan, endpoint string) (path string, found bool) {
	if path, found = f.endpoints[endpoint]; found {
		return path, true
	}
	for path := range p.of.Items.WithEndpoint(endpoint) {
		if !f.deleted[path] && !f.replaced[path] {
			return path, true
		}
	}
	return "", false
}

// claim claims the endpoint of an entry, or drops the entry.
func (f *conflictFinder) claim(p *plan, e workspace.Entry) {
	if e.Endpoint == "" {
		return
	}
	if other, used := f.holderOf(p, e.Endpoint); used {
		f.drop(p, e, "endpoint_in_use", "when.endpoint", "the endpoint "+e.Endpoint+" is that of "+other)
		return
	}
	f.endpoints[e.Endpoint], f.entries[e.Endpoint] = e.Path, e
}

func (f *conflictFinder) drop(p *plan, e workspace.Entry, code, field, message string) {
	p.fail(code, e.Path, field, message)
	f.dropped[e.Path] = true
	f.staying = append(f.staying, e.Path)
}

// reclaim returns the endpoint to a document that stays after all.
func (f *conflictFinder) reclaim(p *plan, path string) {
	endpoint := p.of.Items.At(path).Endpoint
	if endpoint == "" || f.deleted[path] {
		return
	}
	claimed, exists := f.entries[endpoint]
	f.endpoints[endpoint] = path
	if delete(f.entries, endpoint); exists {
		f.drop(p, claimed, "endpoint_in_use", "when.endpoint", "the endpoint "+endpoint+" is that of "+path)
	}
}

// Touch is one document that a plan adds, changes or removes.
type Touch struct {
	Path   string         // where it is now; of a new one, where it will be
	Item   workspace.Item // as it is now; zero when it is new
	Before *document.Map  // nil: it is new
	After  *document.Map  // nil: it is removed
	Sent   bool           // the caller named it, not the history or the workspace
}

// Authorizer decides what the caller of an import, a restoration or an undo may do to single
// documents.
type Authorizer interface {
	// May refuses a change that the caller may not make.
	May(t Touch) error
	// MayShare reports whether the caller may change whether a page is public.
	MayShare(t Touch) (bool, error)
	// MayReadAll reports whether the caller may read every document of a knowledge base.
	MayReadAll(base string) bool
	// MayInstall reports whether the caller may read an app.
	MayInstall(ctx context.Context, appSlug string) (bool, error)
}

// UnconditionalAuthorizer is an Authorizer that can allow some changes without the document, so that it need not
// be read.
type UnconditionalAuthorizer interface {
	// MayAlways reports whether May would allow the change of every document. t.Before is
	// not set.
	MayAlways(t Touch) bool
}

// ownerAuthorizer is the Authorizer of the creator of a workspace, who may do everything but install
// apps that they may not read.
type ownerAuthorizer struct{ Authorizer }

// May implements Authorizer.
func (ownerAuthorizer) May(Touch) error { return nil }

// MayShare implements Authorizer.
func (ownerAuthorizer) MayShare(Touch) (bool, error) { return true, nil }

// MayReadAll implements Authorizer.
func (ownerAuthorizer) MayReadAll(string) bool { return true }

// checkPlan refuses a plan with changes that the caller may not make.
func (c *Content) checkPlan(ctx context.Context, p plan, authorizer Authorizer) error {
	if authorizer == nil {
		return nil
	}
	if !p.of.Items.IsZero() { // the read model must have the state of the plan
		if err := c.Library.Reach(ctx, math.MaxUint64); err != nil {
			return err
		}
	}
	if p.to.Settings != nil {
		if err := authorizer.May(Touch{Path: "index", Before: p.of.Settings.Index(), After: p.to.Settings.Index(), Sent: true}); err != nil {
			return err
		}
	}
	verdicts := make([]error, len(p.to.Entries)+len(p.to.Deleted))
	spread.Over(len(verdicts), func(i int) {
		if i >= len(p.to.Entries) {
			verdicts[i] = c.checkDocument(ctx, p, authorizer, p.to.Deleted[i-len(p.to.Entries)], nil)
			return
		}
		e := p.to.Entries[i]
		verdicts[i] = c.checkDocument(ctx, p, authorizer, cmp.Or(e.From, e.Path), p.docs[e.Path])
	})
	for _, err := range verdicts {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkDocument is checkPlan for one document.
func (c *Content) checkDocument(ctx context.Context, p plan, authorizer Authorizer, path string, after *document.Map) error {
	t := Touch{Path: path, After: after, Sent: after != nil && p.sources[path] != ""}
	var exists bool
	t.Item, exists = p.of.Items.Get(path)
	if unconditional, ok := authorizer.(UnconditionalAuthorizer); ok && unconditional.MayAlways(t) {
		return nil
	}
	if exists {
		var err error
		if t.Before, err = c.Library.Document(ctx, p.of.ID, Ref{Hash: t.Item.Hash}); err != nil {
			return err
		}
	}
	return authorizer.May(t)
}

// limitAccess returns an agent that searches knowledge bases with the rights of its callers, where the caller of the
// import may not lend theirs: documents that they may not read themselves.
func (p *plan) limitAccess(authorizer Authorizer, path string, doc *document.Map) *document.Map {
	list, _ := doc.Get("knowledge")
	bases, _ := list.([]any)
	limited := slices.Clone(bases)
	changed := false
	for i, item := range bases {
		entry, ok := item.(*document.Map)
		if !ok || entry.Text("access") != agent.AsAgent || authorizer == nil || authorizer.MayReadAll(entry.Text("base")) {
			continue
		}
		entry = entry.Copy()
		entry.Delete("access")
		limited[i], changed = entry, true
		field := fmt.Sprintf("knowledge[%d].access", i)
		p.warnAt("security_excluded", path, field, field+": the agent searches "+entry.Text("base")+" with the rights of its callers: access agent needs the right to read all its documents")
	}
	if !changed {
		return doc
	}
	doc = doc.Copy()
	doc.Set("knowledge", limited)
	return doc
}

// preservePublic returns a page or an agent with its current value of public, when the caller may not change
// that. from is the current path of the page.
func (p *plan) preservePublic(authorizer Authorizer, path, from string, doc *document.Map) (*document.Map, error) {
	before := p.of.Items.At(from)
	wanted, _ := boolOf(doc, "public")
	if authorizer == nil || wanted == before.Public {
		return doc, nil
	}
	may, err := authorizer.MayShare(Touch{Path: from, Item: before, After: doc})
	if err != nil || may {
		return doc, err
	}
	p.restricted = true
	p.excludeFile(path)
	p.warnAt("security_excluded", path, "public", "whether it is public was not changed: that needs the permission manage_permissions")
	if doc = doc.Copy(); !before.Public {
		doc.Delete("public")
		return doc, nil
	}
	doc.Set("public", true)
	return doc, nil
}

// isHiddenApp reports whether the caller may not read the app of an instance, and the workspace
// does not use it yet: the instance is left out, with the error for an app that does not exist.
func (p *plan) isHiddenApp(ctx context.Context, authorizer Authorizer, path string, doc *document.Map) (bool, error) {
	app := doc.Text("appSlug")
	if authorizer == nil || p.usesApp(app) {
		return false, nil
	}
	may, err := authorizer.MayInstall(ctx, app)
	if err != nil || may {
		return false, err
	}
	p.fail("app_missing", path, "appSlug", noSuchApp)
	return true, nil
}

// usesApp reports whether the workspace has an instance of an app.
func (p *plan) usesApp(app string) bool {
	for range p.of.Items.WithApp(app) {
		return true
	}
	return false
}

// How many bytes one event has: of documents in folders, and of the index with the security
// document. When these are more than lightRoots, the others are staged.
const (
	maxEvent   = 400 << 10
	maxRoots   = 560 << 10
	lightRoots = 100 << 10
)

// stageEntries stages the entries that are too large for the event of a plan.
func (c *Content) stageEntries(ctx context.Context, p *plan) (err error) {
	for i := range p.to.Entries {
		if err := c.storeLarge(ctx, &p.to.Entries[i]); err != nil {
			return err
		}
	}
	roots, err := p.roots()
	if err != nil {
		return err
	}
	p.to.Entries, p.to.Stage, err = c.stageParts(ctx, p.of.ID, p.to.Entries, roots > lightRoots)
	return err
}

// roots returns the bytes of the index and the security document of a plan.
func (p *plan) roots() (int, error) {
	body, err := json.Marshal(workspace.Switch{Settings: p.to.Settings, Security: p.to.Security})
	return len(body), err
}

// fits refuses an index and a security document that are too large for one event.
func (p *plan) fits() error {
	size, err := p.roots()
	if err != nil || size <= maxRoots {
		return err
	}
	return domain.Refuse(domain.CodeValidation, "the index and the security document are larger than %d bytes together", maxRoots).
		Reason("limit_exceeded").With("limit", "rootBytes").With("value", maxRoots)
}

// stageParts stages entries that are too many for one event, or always, and returns what the
// event has instead.
func (c *Content) stageParts(ctx context.Context, workspaceID string, entries []workspace.Entry, always bool) (inline []workspace.Entry, stage string, err error) {
	parts, err := splitEntries(entries)
	if err != nil || len(parts) == 0 || len(parts) == 1 && !always {
		return entries, "", err
	}
	// Each attempt stages under a new name and with new ids, even for a repeated request: the
	// parts of an earlier attempt may be incomplete.
	ctx = commands.WithRequest(ctx, &commands.Request{Meta: commands.RequestFrom(ctx).Meta})
	stage = commands.NewID(ctx, 16)
	for i, part := range parts {
		_, err := c.Workspaces.Execute(ctx, workspaceID, workspace.Stage{Name: stage, More: i > 0, Entries: part})
		if err != nil {
			return nil, "", asMoved(err)
		}
	}
	return nil, stage, nil
}

// splitEntries divides entries between events.
func splitEntries(entries []workspace.Entry) (parts [][]workspace.Entry, err error) {
	size := maxEvent + 1
	for _, e := range entries {
		rest := e
		rest.Body = nil // it is JSON already
		about, err := json.Marshal(rest)
		if err != nil {
			return nil, err
		}
		weighs := len(about) + len(`,"body":`) + len(e.Body)
		if size += weighs; size > maxEvent {
			parts, size = append(parts, nil), weighs
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], e)
	}
	return parts, nil
}

// asMoved turns the refusal of superseded parts into ErrMoved: the plan is made again.
func asMoved(err error) error {
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Details["reason"] == workspace.Superseded {
		return ErrMoved
	}
	return err
}
