package programs

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"svc/commands/content"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/automation/value"
	"svc/domain/document"
	"svc/domain/workspace"
)

// edition is the content of a workspace at a revision, compiled. It never changes.
type edition struct {
	home        string // the workspace
	index       *value.Object
	secret      []string // settings that its config declares as secret
	automations map[string]*compiled
	slugs       []string // of the automations, in order
	installs    []install
	paths       map[string]content.Ref // of everything but the security document

	reading sync.Mutex
	whole   *value.Object // see Place.Content; nil: nobody asked for it yet
}

// compiled is a document that was parsed.
type compiled struct {
	*automation.Automation
	ref   content.Ref
	shape *input.Shape
}

// install is an app instance as it is written.
type install struct {
	slug, app, version string
	config             any // an object, or a template that yields one
	sealed             map[string][]byte
}

// editionKey names an edition.
type editionKey struct {
	home     string
	revision uint64
}

// documentKey names a document: contents that follow each other have most of them in
// common.
type documentKey struct{ home, hash string }

// edition returns the content of a workspace at a revision.
func (l *Library) edition(ctx context.Context, home string, revision uint64) (*edition, error) {
	key := editionKey{home, revision}
	if have, ok := l.editions.GetIfPresent(key); ok {
		return have, nil
	}
	refs, err := l.contents.At(ctx, home, revision)
	if err != nil {
		return nil, err
	}
	e := &edition{home: home, index: &value.Object{}, automations: map[string]*compiled{}, paths: map[string]content.Ref{}}
	for _, path := range slices.Sorted(maps.Keys(refs)) {
		if err := l.add(ctx, e, path, refs[path]); err != nil {
			return nil, err
		}
	}
	e.slugs = slices.Sorted(maps.Keys(e.automations))
	l.editions.Set(key, e)
	return e, nil
}

// add reads a document into an edition. Pages run nothing by themselves.
func (l *Library) add(ctx context.Context, e *edition, path string, ref content.Ref) error {
	folder, slug := workspace.Folder(path)
	if folder != "security" {
		e.paths[path] = ref
	}
	switch folder {
	case "automations":
		c, err := l.compile(ctx, e.home, ref)
		if err == nil && c.Automation != nil {
			e.automations[slug] = c
		}
		return err
	case "index", "imports":
		doc, err := l.contents.Document(ctx, e.home, ref)
		if err != nil {
			return err
		}
		if folder == "index" {
			e.index, _ = value.From(doc).(*value.Object)
			e.secret = content.SecretSettings(doc)
		} else if doc.Text("appSlug") != "" && !isTrue(doc, "disabled") {
			config, _ := doc.Get("config")
			e.installs = append(e.installs, install{slug, doc.Text("appSlug"), doc.Text("appVersion"), value.From(config), ref.Sealed})
		}
	}
	return nil
}

// compile returns a document, parsed once.
func (l *Library) compile(ctx context.Context, home string, ref content.Ref) (*compiled, error) {
	key := documentKey{home, ref.Hash}
	if have, ok := l.documents.GetIfPresent(key); ok {
		return have, nil
	}
	doc, err := l.contents.Document(ctx, home, ref)
	if err != nil {
		return nil, err
	}
	c := l.parse(ctx, key, doc, ref)
	l.documents.Set(key, c)
	return c, nil
}

// parse reads a document. One that our own reader falls over is told, and as if it were none: nobody
// else is to be the worse for it.
func (l *Library) parse(ctx context.Context, key documentKey, doc *document.Map, ref content.Ref) (c *compiled) {
	c = &compiled{ref: ref}
	defer func() {
		if cause := recover(); cause != nil {
			l.log.ErrorContext(ctx, "an automation could not be read", "workspace", key.home, "document", key.hash, "err", fmt.Sprintf("%v\n%s", cause, debug.Stack()))
			c = &compiled{ref: ref}
		}
	}()
	if c.Automation, _ = automation.Parse(doc, l.rules()); c.Automation != nil {
		c.shape = input.Compile(c.Automation)
	}
	return c
}

// Content returns what the place consists of, as $workspace shows it: the index, and
// the documents of each folder by their slug.
func (p *Place) Content(ctx context.Context) (*value.Object, error) {
	e := p.edition
	e.reading.Lock()
	defer e.reading.Unlock()
	if e.whole != nil || e.index == nil {
		return e.whole, nil
	}
	whole, folders := e.index.Copy(), map[string]*value.Object{}
	for _, path := range slices.Sorted(maps.Keys(e.paths)) {
		folder, slug := workspace.Folder(path)
		if folder == "index" {
			continue
		}
		doc, err := p.House.library.contents.Document(ctx, e.home, e.paths[path])
		if err != nil {
			return nil, err
		}
		if folders[folder] == nil {
			folders[folder] = &value.Object{}
		}
		folders[folder].Set(slug, value.From(doc))
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		whole.Set(folder, folders[folder])
	}
	e.whole = whole
	return whole, nil
}

func isTrue(doc *document.Map, key string) bool {
	v, _ := doc.Get(key)
	return v == true
}
