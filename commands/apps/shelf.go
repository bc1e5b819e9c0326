package apps

import (
	"context"
	"maps"
	"slices"

	"svc/commands/cache"
	"svc/commands/content"
	"svc/domain/automation/input"
	"svc/domain/document"
	"svc/domain/workspace"
)

// Detail is what the content of an app says. It is never changed.
type Detail struct {
	Index       *document.Map   // the whole index document
	Config      *document.Map   // schema and block of its config; nil for none
	Automations []*document.Map // slug, name, description, arguments of those that others may call
	Blocks      []*document.Map // slug, name, description, url, edit
	BlockBytes  int             // of the blocks in the index
	Events      *document.Map   // emit, listen, autocomplete
	Installs    []content.Installed
	Secrets     []string      // settings that are secret
	Settings    *input.Config // the schema of its config, compiled; nil: none
	Documented  bool          // it has a page that explains it
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
		d.Documented = d.Documented || folder == "pages" && slug == DocumentationPage
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
		shown := document.MapOf(document.Pair{Key: "slug", Value: slug})
		for key, v := range pick(block, "url", "edit", "name", "description").All() {
			shown.Set(key, v)
		}
		d.Blocks = append(d.Blocks, shown)
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
		shown := pick(doc, "slug", "name", "description")
		shown.Set("arguments", doc.Object("arguments").Copy())
		d.Automations = append(d.Automations, shown)
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
