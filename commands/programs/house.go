package programs

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/automation/machine"
	"svc/domain/nearest"
)

// House is everything that can run in a workspace at one moment.
type House struct {
	Workspace Workspace
	Root      *Place
	// Cut says that there is more than the bounds of the library allow: the rest, in the
	// order of slugs, is not there.
	Cut bool

	library   *Library
	moment    atomic.Uint64 // when it was last known to be that of now
	apps      map[appKey]editionKey
	places    map[string]*Place     // by the full slug of their instance
	programs  int                   // how many there are
	endpoints []*Program            // that have one, in the order of their names
	exact     map[string][]*Program // listeners by type of event
	patterns  []listener
	scheduled []*Program
	guarded   []*Place // whose settings may hold secrets
}

// appKey names a version of an app as an instance asks for it.
type appKey struct{ slug, version string }

// Place is where automations live: a workspace, or an app instance in it.
type Place struct {
	House    *House
	Parent   *Place // nil: it is the workspace
	Slug     string // of the instance, in its parent
	Instance string // full slug of the instance, "" for the workspace
	App      string // slug of the app, "" for the workspace
	// Namespace is where its collections are kept.
	Namespace Namespace

	edition  *edition
	install  install
	programs map[string]*Program // by slug
	children map[string]*Place   // by slug of the instance
}

// Program is an automation in its place.
type Program struct {
	*automation.Automation
	Place *Place
	Slug  string // in its place
	Name  string // in the workspace: with the instance in front
	Shape *input.Shape
	ref   string // finds it again: see Ref

	runs *machine.Program
}

func newProgram(place *Place, slug, name string, c *compiled, ref string) *Program {
	return &Program{
		Automation: c.Automation, Place: place, Slug: slug, Name: name, Shape: c.shape, ref: ref,
		runs: &machine.Program{Automation: c.Automation, Slug: name, Instance: place.Instance, Ref: ref},
	}
}

// Machine returns the program as the interpreter runs it: always the same.
func (p *Program) Machine() *machine.Program { return p.runs }

// listener is a program and a pattern of events that it listens to.
type listener struct {
	pattern string
	program *Program
}

// maxNesting bounds how deep apps are in apps: installing refuses circles, and what
// imports bring ends here.
const maxNesting = 10

// build makes a house, and tells the operator when not all of it is there.
func (l *Library) build(ctx context.Context, w Workspace) (*House, error) {
	e, err := l.edition(ctx, w.ID, w.Revision)
	if err != nil {
		return nil, err
	}
	h, err := l.of(ctx, w, e)
	if err == nil && h.Cut {
		l.log.WarnContext(ctx, "a workspace has more app instances or automations than can run: the rest was left out",
			"workspace", w.ID, "maxInstances", l.maxInstances, "maxAutomations", l.maxPrograms)
	}
	return h, err
}

// of makes the house of a workspace with this content.
func (l *Library) of(ctx context.Context, w Workspace, e *edition) (*House, error) {
	h := &House{
		Workspace: w, library: l, apps: map[appKey]editionKey{}, places: map[string]*Place{},
		exact: map[string][]*Program{},
	}
	var err error
	if h.Root, err = h.furnish(ctx, &Place{House: h, edition: e}, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(h.endpoints, func(a, b *Program) int { return strings.Compare(a.Name, b.Name) })
	return h, nil
}

// furnish fills a place with its programs and the places in it.
func (h *House) furnish(ctx context.Context, p *Place, depth int) (*Place, error) {
	p.programs, p.children = make(map[string]*Program, len(p.edition.automations)), map[string]*Place{}
	h.places[p.Instance] = p
	if p.guarded() {
		h.guarded = append(h.guarded, p)
	}
	for _, slug := range p.edition.slugs {
		if h.programs++; h.programs > h.library.maxPrograms {
			h.Cut = true
			break
		}
		c := p.edition.automations[slug]
		program := newProgram(p, slug, p.prefix()+slug, c, refOf(p, slug, c.ref))
		p.programs[slug] = program
		h.register(program)
	}
	h.addFunctions(p)
	if depth == maxNesting {
		return p, nil
	}
	for _, in := range p.edition.installs {
		if h.Cut {
			break
		}
		child, err := h.install(ctx, p, in)
		if err != nil {
			return nil, err
		}
		if child == nil {
			continue
		}
		if len(h.places) > h.library.maxInstances { // the workspace itself is one of them
			h.Cut = true
			break
		}
		if p.children[in.slug], err = h.furnish(ctx, child, depth+1); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// install returns the place of an instance, nil when its app never was.
func (h *House) install(ctx context.Context, parent *Place, in install) (*Place, error) {
	key := appKey{in.app, in.version}
	home, revision, err := h.library.contents.Edition(in.app, in.version)
	if err != nil {
		return nil, err
	}
	h.apps[key] = editionKey{home, revision}
	if revision == 0 {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	e, err := h.library.edition(ctx, home, revision)
	if err != nil {
		return nil, err
	}
	return &Place{
		House: h, Parent: parent, Slug: in.slug, Instance: parent.prefix() + in.slug, App: in.app, Namespace: h.namespace(parent, in), edition: e, install: in,
	}, nil
}

// namespace returns where the collections of an instance are kept. Those in apps are
// never renamed here.
func (h *House) namespace(parent *Place, in install) Namespace {
	slug := in.slug
	if kept, ok := h.Workspace.Kept[in.app][slug]; ok && parent.Parent == nil {
		slug = kept
	}
	return Namespace{in.app, slug}.within(parent.Namespace)
}

// prefix is what the names of what is in the place begin with, seen from the
// workspace.
func (p *Place) prefix() string {
	if p.Instance == "" {
		return ""
	}
	return p.Instance + "."
}

// Depth is how many instances the place is in.
func (p *Place) Depth() int {
	if p.Parent == nil {
		return 0
	}
	return p.Parent.Depth() + 1
}

// ParentApp is the app in whose instance the place is, "" when that is the workspace.
func (p *Place) ParentApp() string {
	if p.Parent == nil {
		return ""
	}
	return p.Parent.App
}

// Places returns the workspace and its instances, in the order of their full slugs.
func (h *House) Places() []*Place {
	return slices.SortedFunc(maps.Values(h.places), func(a, b *Place) int { return strings.Compare(a.Instance, b.Instance) })
}

// Place returns the place of an instance by its full slug, nil when there is none.
func (h *House) Place(instance string) *Place { return h.places[instance] }

// Call returns what a name leads to when an automation of the place calls it: one of
// its own, or one that a direct instance in it offers.
func (p *Place) Call(name string) (*Program, error) {
	instance, slug, within := strings.Cut(name, ".")
	found := p.programs[name]
	if within {
		found = nil
		if child := p.children[instance]; child != nil {
			found = child.programs[slug]
		}
		if found != nil && found.Private {
			found = nil
		}
	}
	if found == nil || found.Disabled {
		return nil, automation.NotFound(name, p.callable())
	}
	return found, nil
}

// callable returns the names that automations of the place can call, in the order of
// slugs: its own automations, those that its instances offer, and the built-in
// instructions, which a call of an unknown name may have been meant for.
func (p *Place) callable() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, slug := range p.edition.slugs {
			if own := p.programs[slug]; own != nil && !own.Disabled && !yield(slug) {
				return
			}
		}
		for _, name := range automation.InstructionNames() {
			if !yield(name) {
				return
			}
		}
		for _, in := range p.edition.installs {
			child := p.children[in.slug]
			if child == nil {
				continue
			}
			for _, slug := range child.edition.slugs {
				if offered := child.programs[slug]; offered != nil && !offered.Disabled && !offered.Private && !yield(in.slug+"."+slug) {
					return
				}
			}
		}
	}
}

// Program returns an automation of the workspace itself, disabled and private ones
// too, nil when there is none.
func (h *House) Program(slug string) *Program { return h.Root.programs[slug] }

// Nearest returns the automation of the workspace itself whose slug is most like a slug
// that none has, nil when none is like it.
func (h *House) Nearest(slug string) *Program {
	return h.Root.programs[nearest.Name(slug, slices.Values(h.Root.edition.slugs))]
}
