package archive

import (
	"fmt"
	"maps"
	"slices"

	"svc/commands/spread"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
)

// Content is what a version of a workspace contains: documents, those in folders
// by slug. Blocks are part of the index.
type Content struct {
	Index    *document.Map
	Security *document.Map // nil: not told

	Agents      map[string]*document.Map
	Automations map[string]*document.Map
	Imports     map[string]*document.Map // app instances
	Knowledge   map[string]*document.Map
	Pages       map[string]*document.Map
}

// folder returns the objects of a kind, to read or to set.
func (c *Content) folder(kind *document.Kind) *map[string]*document.Map {
	switch kind {
	case document.Agent:
		return &c.Agents
	case document.Automation:
		return &c.Automations
	case document.Import:
		return &c.Imports
	case document.Knowledge:
		return &c.Knowledge
	default:
		return &c.Pages
	}
}

// Get returns the document at a place, or nil.
func (c *Content) Get(p Place) *document.Map {
	switch p.Kind {
	case document.Index:
		return c.Index
	case document.Security:
		return c.Security
	default:
		return (*c.folder(p.Kind))[p.Slug]
	}
}

// Put sets the document at a place; nil takes it away.
func (c *Content) Put(p Place, doc *document.Map) {
	switch p.Kind {
	case document.Index:
		c.Index = doc
	case document.Security:
		c.Security = doc
	default:
		objects := c.folder(p.Kind)
		if *objects == nil {
			*objects = map[string]*document.Map{}
		}
		if (*objects)[p.Slug] = doc; doc == nil {
			delete(*objects, p.Slug)
		}
	}
}

// Places returns the places that have a document: index and security, then the
// others by path.
func (c *Content) Places() []Place {
	var places []Place
	for _, kind := range document.Kinds {
		if kind.Folder != "" {
			for _, slug := range slices.Sorted(maps.Keys(*c.folder(kind))) {
				places = append(places, Place{kind, slug})
			}
		} else if c.Get(Place{Kind: kind}) != nil {
			places = append(places, Place{Kind: kind})
		}
	}
	return places
}

// Files returns the files of c: the same content gives the same bytes. It refuses
// slugs that cannot be the names of files, and what limits do not allow.
func (c *Content) Files(limits Limits) (Tree, error) {
	if c.Index == nil {
		return nil, missingIndex()
	}
	places := c.Places()
	texts, errs := make([][]byte, len(places)), make([]error, len(places))
	spread.Over(len(places), func(i int) { texts[i], errs[i] = Text(places[i], c.Get(places[i])) })
	tree := Tree{}
	wrong := faults{}
	for i, p := range places {
		if at, ok := Locate(p.Path()); !ok || at != p {
			wrong[p.Path()] = "is no path of an object"
			continue
		}
		if errs[i] != nil {
			return nil, fmt.Errorf("%s: %w", p, errs[i])
		}
		tree[p.Path()] = texts[i]
	}
	wrong.check(tree.Paths())
	if err := wrong.refusal(); err != nil {
		return nil, err
	}
	return tree, tree.Check(limits)
}

// Text returns the bytes of the file of one document. Its slug is that of its
// place, whatever the document says.
func Text(p Place, doc *document.Map) ([]byte, error) {
	if p.Kind.Folder != "" && doc.Text("slug") != p.Slug {
		doc = doc.Copy()
		doc.Set("slug", p.Slug)
	}
	return p.Kind.Text(doc)
}

// Canonical returns the text of one file as it would be written once it is imported.
// Two files with the same canonical text mean the same. It fails with a *document.Fault
// when the text cannot be read.
func Canonical(p Place, text []byte, limits document.Limits) ([]byte, error) {
	doc, err := yamltext.ReadMap(text, limits)
	if err != nil {
		return nil, err
	}
	doc, _ = shape.Correct(p.Kind, doc)
	if _, told := doc.Get("slug"); !told && p.Kind.Folder != "" {
		doc.Set("slug", p.Slug)
	}
	return p.Kind.Text(doc)
}

func missingIndex() error {
	return domain.Refuse(domain.CodeValidation, "index.yml is missing: it must be at the top of the archive, or in the one folder that holds everything").Reason("missing_index")
}
