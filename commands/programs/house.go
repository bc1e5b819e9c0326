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

// ProgramSet is everything that can run in a workspace at one moment.
type ProgramSet struct {
	Workspace Workspace
	Root      *Scope
	// Cut says that there is more than the bounds of the library allow: the rest, in the
	// order of slugs, is not there.
	Truncated bool

	library          *Library
	moment           atomic.Uint64 // when it was last known to be that of now
	apps             map[appKey]contentKey
	scopes           map[string]*Scope     // by the full slug of their instance
	programCount     int                   // how many there are
	endpoints        []*Program            // that have one, in the order of their names
	listeners        map[string][]*Program // listeners by type of event
	patternListeners []patternListener
	scheduled        []*Program
	secretScopes     []*Scope // whose settings may hold secrets
}

// appKey names a version of an app as an instance asks for it.
type appKey struct{ slug, version string }

// Scope is where automations live: a workspace, or an app instance in it.
type Scope struct {
	ProgramSet *ProgramSet
	Parent     *Scope // nil: it is the workspace
	Slug       string // of the instance, in its parent
	Instance   string // full slug of the instance, "" for the workspace
	App        string // slug of the app, "" for the workspace
	// Namespace is where its collections are kept.
	Namespace Namespace

	compiled *compiledContent
	install  install
	programs map[string]*Program // by slug
	children map[string]*Scope   // by slug of the instance
}

// Program is an automation in its place.
type Program struct {
	*automation.Automation
	Scope *Scope
	Slug  string // in its place
	Name  string // in the workspace: with the instance in front
	Shape *input.Shape
	ref   string // finds it again: see Ref

	machine *machine.Program
}

func newProgram(scope *Scope, slug, name string, c *compiledDocument, ref string) *Program {
	return &Program{
		Automation: c.Automation, Scope: scope, Slug: slug, Name: name, Shape: c.shape, ref: ref,
		machine: &machine.Program{Automation: c.Automation, Slug: name, Instance: scope.Instance, Ref: ref},
	}
}

// Machine returns the program as the interpreter runs it: always the same.
func (p *Program) Machine() *machine.Program { return p.machine }

// patternListener is a program and a pattern of events that it listens to.
type patternListener struct {
	pattern string
	program *Program
}

// maxNesting bounds how deep apps are in apps: installing refuses circles, and what
// imports bring ends here.
const maxNesting = 10

// buildProgramSet makes a program set, and tells the operator when not all of it is there.
func (l *Library) buildProgramSet(ctx context.Context, w Workspace) (*ProgramSet, error) {
	e, err := l.compileContent(ctx, w.ID, w.Revision)
	if err != nil {
		return nil, err
	}
	set, err := l.newProgramSet(ctx, w, e)
	if err == nil && set.Truncated {
		l.log.WarnContext(ctx, "a workspace has more app instances or automations than can run: the rest was left out",
			"workspace", w.ID, "maxInstances", l.maxInstances, "maxAutomations", l.maxPrograms)
	}
	return set, err
}

// newProgramSet makes the program set of a workspace with this content.
func (l *Library) newProgramSet(ctx context.Context, w Workspace, e *compiledContent) (*ProgramSet, error) {
	set := &ProgramSet{
		Workspace: w, library: l, apps: map[appKey]contentKey{}, scopes: map[string]*Scope{},
		listeners: map[string][]*Program{},
	}
	var err error
	if set.Root, err = set.load(ctx, &Scope{ProgramSet: set, compiled: e}, 0); err != nil {
		return nil, err
	}
	slices.SortFunc(set.endpoints, func(a, b *Program) int { return strings.Compare(a.Name, b.Name) })
	return set, nil
}

// load fills a place with its programs and the places in it.
func (set *ProgramSet) load(ctx context.Context, p *Scope, depth int) (*Scope, error) {
	p.programs, p.children = make(map[string]*Program, len(p.compiled.automations)), map[string]*Scope{}
	set.scopes[p.Instance] = p
	if p.mayHoldSecrets() {
		set.secretScopes = append(set.secretScopes, p)
	}
	for _, slug := range p.compiled.slugs {
		if set.programCount++; set.programCount > set.library.maxPrograms {
			set.Truncated = true
			break
		}
		c := p.compiled.automations[slug]
		program := newProgram(p, slug, p.namePrefix()+slug, c, encodeRef(p, slug, c.ref))
		p.programs[slug] = program
		set.registerTriggers(program)
	}
	set.addFunctions(p)
	if depth == maxNesting {
		return p, nil
	}
	for _, in := range p.compiled.installs {
		if set.Truncated {
			break
		}
		child, err := set.newInstanceScope(ctx, p, in)
		if err != nil {
			return nil, err
		}
		if child == nil {
			continue
		}
		if len(set.scopes) > set.library.maxInstances { // the workspace itself is one of them
			set.Truncated = true
			break
		}
		if p.children[in.slug], err = set.load(ctx, child, depth+1); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// newInstanceScope returns the place of an instance, nil when its app never was.
func (set *ProgramSet) newInstanceScope(ctx context.Context, parent *Scope, in install) (*Scope, error) {
	key := appKey{in.app, in.version}
	home, revision, err := set.library.contents.Edition(in.app, in.version)
	if err != nil {
		return nil, err
	}
	set.apps[key] = contentKey{home, revision}
	if revision == 0 {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	e, err := set.library.compileContent(ctx, home, revision)
	if err != nil {
		return nil, err
	}
	return &Scope{
		ProgramSet: set, Parent: parent, Slug: in.slug, Instance: parent.namePrefix() + in.slug, App: in.app, Namespace: set.instanceNamespace(parent, in), compiled: e, install: in,
	}, nil
}

// instanceNamespace returns where the collections of an instance are kept. Those in apps are
// never renamed here.
func (set *ProgramSet) instanceNamespace(parent *Scope, in install) Namespace {
	slug := in.slug
	if kept, ok := set.Workspace.CollectionSlugs[in.app][slug]; ok && parent.Parent == nil {
		slug = kept
	}
	return Namespace{in.app, slug}.within(parent.Namespace)
}

// namePrefix is what the names of what is in the place begin with, seen from the
// workspace.
func (p *Scope) namePrefix() string {
	if p.Instance == "" {
		return ""
	}
	return p.Instance + "."
}

// Depth is how many instances the place is in.
func (p *Scope) Depth() int {
	if p.Parent == nil {
		return 0
	}
	return p.Parent.Depth() + 1
}

// ParentApp is the app in whose instance the place is, "" when that is the workspace.
func (p *Scope) ParentApp() string {
	if p.Parent == nil {
		return ""
	}
	return p.Parent.App
}

// Scopes returns the workspace and its instances, in the order of their full slugs.
func (set *ProgramSet) Scopes() []*Scope {
	return slices.SortedFunc(maps.Values(set.scopes), func(a, b *Scope) int { return strings.Compare(a.Instance, b.Instance) })
}

// Scope returns the place of an instance by its full slug, nil when there is none.
func (set *ProgramSet) Scope(instance string) *Scope { return set.scopes[instance] }

// ResolveCall returns what a name leads to when an automation of the place calls it: one of
// its own, or one that a direct instance in it offers.
func (p *Scope) ResolveCall(name string) (*Program, error) {
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
		return nil, automation.NotFound(name, p.callableNames())
	}
	return found, nil
}

// callableNames returns the names that automations of the place can call, in the order of
// slugs: its own automations, those that its instances offer, and the built-in
// instructions, which a call of an unknown name may have been meant for.
func (p *Scope) callableNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, slug := range p.compiled.slugs {
			if own := p.programs[slug]; own != nil && !own.Disabled && !yield(slug) {
				return
			}
		}
		for _, name := range automation.InstructionNames() {
			if !yield(name) {
				return
			}
		}
		for _, in := range p.compiled.installs {
			child := p.children[in.slug]
			if child == nil {
				continue
			}
			for _, slug := range child.compiled.slugs {
				if offered := child.programs[slug]; offered != nil && !offered.Disabled && !offered.Private && !yield(in.slug+"."+slug) {
					return
				}
			}
		}
	}
}

// Program returns an automation of the workspace itself, disabled and private ones
// too, nil when there is none.
func (set *ProgramSet) Program(slug string) *Program { return set.Root.programs[slug] }

// NearestProgram returns the automation of the workspace itself whose slug is most like a slug
// that none has, nil when none is like it.
func (set *ProgramSet) NearestProgram(slug string) *Program {
	return set.Root.programs[nearest.Name(slug, slices.Values(set.Root.compiled.slugs))]
}
