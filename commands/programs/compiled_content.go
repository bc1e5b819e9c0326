package programs

import (
	"context"
	"maps"
	"slices"
	"sync"

	"svc/commands"
	"svc/commands/content"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/document"
	"svc/domain/persistent"
	"svc/domain/value"
	"svc/domain/workspace"
)

// compiledContent is the compiled content of a workspace at a revision. It never changes.
type compiledContent struct {
	workspaceID  string // the workspace
	revision     uint64
	index        *value.Object
	secretKeys   []string                          // settings that its config declares as secret
	configSchema *input.Config                     // the schema of its config; nil: none
	automations  persistent.Map[*compiledDocument] // by slug
	installs     persistent.Map[install]           // by slug
	paths        persistent.Map[storedDocument]    // everything but the security document
	size         int                               // bytes that it takes, roughly

	varied bool // it is a draft: nothing of it is cached

	valueMu sync.Mutex // one at a time makes the whole of it: see Scope.Content
}

// storedDocument is a document of a compiled content.
type storedDocument struct {
	ref  content.Ref
	size int // bytes that it takes, roughly
}

// compiledDocument is a parsed document.
type compiledDocument struct {
	*automation.Automation
	ref   content.Ref
	shape *input.Shape
	size  int // bytes that it takes, roughly
}

// install is an app instance as it is written in the content.
type install struct {
	slug, app, version string
	config             any // an object, or a template that yields one
	sealed             map[string][]byte
}

// contentKey identifies a compiled content.
type contentKey struct {
	workspaceID string
	revision    uint64
}

// documentKey identifies a document: consecutive revisions share most of their documents.
type documentKey struct{ workspaceID, hash string }

// compileContent returns the compiled content of a workspace at a revision.
func (l *Library) compileContent(ctx context.Context, home string, revision uint64) (*compiledContent, error) {
	key := contentKey{home, revision}
	if cached, ok := l.compiledContents.Get(key); ok {
		return cached, nil
	}
	done, err := l.compileTurns.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	defer done()
	if cached, ok := l.compiledContents.Get(key); ok {
		return cached, nil // compiled meanwhile by another goroutine
	}
	if set, ok := l.programSets.Get(home); ok && set.Root.compiled.revision == revision {
		return set.Root.compiled, nil // an app that was published from the current content
	}
	refs, err := l.contents.At(ctx, home, revision)
	if err != nil {
		return nil, err
	}
	e, err := l.changeContent(ctx, &compiledContent{workspaceID: home, index: &value.Object{}, size: bytesPerEntry}, revision, refs)
	if err == nil {
		l.compiledContents.Set(key, e)
	}
	return e, err
}

// changeContent returns the content of a later revision, in which these documents are others, or
// are gone when they have no hash.
func (l *Library) changeContent(ctx context.Context, before *compiledContent, revision uint64, changed map[string]content.Ref) (*compiledContent, error) {
	e := &compiledContent{
		workspaceID: before.workspaceID, revision: revision, index: before.index, secretKeys: before.secretKeys, configSchema: before.configSchema,
		automations: before.automations, installs: before.installs, paths: before.paths, size: before.size,
	}
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		e.removeDocument(path)
		if changed[path].Hash == "" {
			continue
		}
		if err := l.addDocument(ctx, e, path, changed[path]); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// removeDocument removes a document from a compiled content that is being made.
func (e *compiledContent) removeDocument(path string) {
	stored, ok := e.paths.Get(path)
	if !ok {
		return
	}
	e.paths, e.size = e.paths.Delete(path), e.size-stored.size
	switch folder, slug := workspace.Folder(path); folder {
	case "automations":
		e.automations = e.automations.Delete(slug)
	case "imports":
		e.installs = e.installs.Delete(slug)
	}
}

// addDocument adds a document to a compiled content that is being made. Pages contain nothing that
// runs.
func (l *Library) addDocument(ctx context.Context, e *compiledContent, path string, ref content.Ref) error {
	folder, slug := workspace.Folder(path)
	stored := storedDocument{ref, bytesPerEntry}
	switch folder {
	case "security":
		return nil
	case "automations":
		c, err := l.compileDocument(ctx, e.workspaceID, ref)
		if err != nil {
			return err
		}
		if c.Automation != nil {
			e.automations = e.automations.Set(slug, c)
			stored.size += c.size
		}
	case "index", "imports":
		doc, err := l.contents.Document(ctx, e.workspaceID, ref)
		if err != nil {
			return err
		}
		stored.size += valueFactor * documentLength(doc)
		if folder == "index" {
			e.index = doc
			e.secretKeys = content.SecretSettings(doc)
			schema, _ := value.Walk(e.index, "config", "schema").(*value.Object)
			e.configSchema = input.CompileConfig(schema)
		} else if doc.Text("appSlug") != "" && doc.At("disabled") != true {
			config, _ := doc.Get("config")
			e.installs = e.installs.Set(slug, install{slug, doc.Text("appSlug"), doc.Text("appVersion"), config, ref.Sealed})
		}
	}
	e.paths, e.size = e.paths.Set(path, stored), e.size+stored.size
	return nil
}

// compileDocument returns a parsed document from the cache, or parses it.
func (l *Library) compileDocument(ctx context.Context, home string, ref content.Ref) (*compiledDocument, error) {
	key := documentKey{home, ref.Hash}
	if cached, ok := l.documents.Get(key); ok {
		return cached, nil
	}
	doc, err := l.contents.Document(ctx, home, ref)
	if err != nil {
		return nil, err
	}
	c := l.parseDocument(ctx, key, doc, ref)
	c.size = bytesPerEntry + compiledFactor*documentLength(doc)
	l.documents.Set(key, c)
	return c, nil
}

// parseDocument parses a document. A panic of the parser is logged, and the document counts as
// missing, so that it does not affect other automations.
func (l *Library) parseDocument(ctx context.Context, key documentKey, doc *document.Map, ref content.Ref) (c *compiledDocument) {
	c = &compiledDocument{ref: ref}
	defer commands.Recover(func(panicked *commands.PanicError) {
		l.log.ErrorContext(ctx, "parser of an automation panicked", "workspace", key.workspaceID, "document", key.hash, "err", panicked)
		c = &compiledDocument{ref: ref}
	})
	if c.Automation, _ = automation.Parse(doc, l.rules()); c.Automation != nil {
		c.shape = input.Compile(c.Automation)
	}
	return c
}

// Content returns the content of the scope as $workspace shows it: the index, and the
// documents of each folder by slug.
func (p *Scope) Content(ctx context.Context) (*value.Object, error) {
	e := p.compiled
	e.valueMu.Lock()
	defer e.valueMu.Unlock()
	if e.index == nil {
		return nil, nil //nolint:nilnil // the app is deleted, and that is no error
	}
	l, key := p.ProgramSet.library, contentKey{e.workspaceID, e.revision}
	if cached, ok := l.workspaceValues.Get(key); ok && !e.varied {
		return cached.content, nil
	}
	all, folders := workspaceValue{e.index.Copy(), bytesPerEntry}, map[string]*value.Object{}
	for path, stored := range e.paths.All() {
		folder, slug := workspace.Folder(path)
		if folder == "index" {
			continue
		}
		doc, err := l.contents.Document(ctx, e.workspaceID, stored.ref)
		if err != nil {
			return nil, err
		}
		if folders[folder] == nil {
			folders[folder] = &value.Object{}
		}
		folders[folder].Set(slug, doc)
		all.size += bytesPerEntry + valueFactor*documentLength(doc)
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		all.content.Set(folder, folders[folder])
	}
	if !e.varied {
		l.workspaceValues.Set(key, all)
	}
	return all.content, nil
}
