package programs

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"svc/commands/content"
	"svc/domain/app"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/automation/machine"
	"svc/domain/document"
	"svc/domain/nearest"
	"svc/domain/value"
)

// ProgramSet is everything that can run in a workspace at one revision.
type ProgramSet struct {
	Workspace Workspace
	Root      *Scope
	// Truncated: the limits of the library are exceeded, and the rest, by slug, is left out.
	Truncated bool

	library          *Library
	moment           atomic.Uint64 // Contents.Moment when it was last known to be current
	apps             map[appKey]contentKey
	scopes           map[string]*Scope     // by the full slug of their instance
	programCount     int                   // how many there are
	endpoints        []*Program            // that have one, in the order of their names
	listeners        map[string][]*Program // listeners by type of event
	patternListeners []patternListener
	scheduled        []*Program
	secretScopes     []*Scope // whose config may hold secrets
}

// appKey names a version of an app as an instance asks for it.
type appKey struct{ slug, version string }

// Scope is where an automation runs: a workspace, or an app instance in it.
type Scope struct {
	ProgramSet *ProgramSet
	Parent     *Scope // nil: it is the workspace
	Slug       string // of the instance, in its parent
	Instance   string // full slug of the instance, "" for the workspace
	App        string // slug of the app, "" for the workspace
	// Namespace is where its collections are stored.
	Namespace Namespace

	compiled *compiledContent
	install  install
	programs map[string]*Program // by slug
	children map[string]*Scope   // by slug of the instance
}

// Program is a compiled automation in its scope.
type Program struct {
	*automation.Automation
	Scope *Scope
	Slug  string // in its place
	Name  string // in the workspace: with the instance in front
	Shape *input.Shape
	ref   string // see FindByRef

	machine *machine.Program
}

func newProgram(scope *Scope, slug, name string, c *compiledDocument, ref string) *Program {
	return &Program{
		Automation: c.Automation, Scope: scope, Slug: slug, Name: name, Shape: c.shape, ref: ref,
		machine: &machine.Program{Automation: c.Automation, Slug: name, Instance: scope.Instance, Ref: ref},
	}
}

// Machine returns the program as the interpreter runs it. Every call returns the same value.
func (p *Program) Machine() *machine.Program { return p.machine }

// patternListener is a program and the event pattern that it listens to.
type patternListener struct {
	pattern string
	program *Program
}

// maxNesting limits how deep app instances nest. Installing refuses cycles, but an import can
// bring them.
const maxNesting = 10

// buildProgramSet builds a program set and logs a warning when it is truncated.
func (l *Library) buildProgramSet(ctx context.Context, w Workspace) (*ProgramSet, error) {
	e, err := l.compileContent(ctx, w.ID, w.Revision)
	if err != nil {
		return nil, err
	}
	set, err := l.newProgramSet(ctx, w, e)
	if err == nil && set.Truncated {
		l.log.WarnContext(ctx, "workspace has more app instances or automations than can run; the rest was left out",
			"workspace", w.ID, "maxInstances", l.maxInstances, "maxAutomations", l.maxPrograms)
	}
	return set, err
}

// newProgramSet builds the program set of a workspace with this content.
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

// load fills a scope with its programs and child scopes.
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

// newInstanceScope returns the scope of an app instance, nil when its app never existed.
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

// instanceNamespace returns the namespace of the collections of an instance. Only direct
// instances of a workspace can be renamed.
func (set *ProgramSet) instanceNamespace(parent *Scope, in install) Namespace {
	slug := in.slug
	if stored, ok := set.Workspace.CollectionSlugs[in.app][slug]; ok && parent.Parent == nil {
		slug = stored
	}
	return Namespace{in.app, slug}.within(parent.Namespace)
}

// namePrefix returns what the names of the programs of the scope begin with in the workspace.
func (p *Scope) namePrefix() string {
	if p.Instance == "" {
		return ""
	}
	return p.Instance + "."
}

// Depth returns how many app instances contain the scope, itself included.
func (p *Scope) Depth() int {
	if p.Parent == nil {
		return 0
	}
	return p.Parent.Depth() + 1
}

// ParentApp returns the app whose instance contains the scope, "" when that is the workspace.
func (p *Scope) ParentApp() string {
	if p.Parent == nil {
		return ""
	}
	return p.Parent.App
}

// Scopes returns the workspace and its instances, sorted by full slug.
func (set *ProgramSet) Scopes() []*Scope {
	return slices.SortedFunc(maps.Values(set.scopes), func(a, b *Scope) int { return strings.Compare(a.Instance, b.Instance) })
}

// Scope returns the scope of an instance by its full slug, nil when there is none.
func (set *ProgramSet) Scope(instance string) *Scope { return set.scopes[instance] }

// ResolveCall returns the program that a name refers to when an automation of the scope calls
// it: one of its own, or a public one of a direct child instance.
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

// callableNames returns the names that automations of the scope can call: its own automations,
// the built-in instructions (a call of an unknown name may mean one of them), and the public
// automations of its instances.
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

// Program returns an automation of the workspace itself, disabled and private ones too, nil
// when there is none.
func (set *ProgramSet) Program(slug string) *Program { return set.Root.programs[slug] }

// ProgramIn returns the program of an app instance by its slug, or of the workspace when instance is empty; nil when
// there is none.
func (set *ProgramSet) ProgramIn(instance, slug string) *Program {
	if instance == "" {
		return set.Program(slug)
	}
	if scope := set.scopes[instance]; scope != nil {
		return scope.programs[slug]
	}
	return nil
}

// NearestProgram returns the automation of the workspace itself with the most similar slug,
// nil when none is similar.
func (set *ProgramSet) NearestProgram(slug string) *Program {
	return set.Root.programs[nearest.Name(slug, slices.Values(set.Root.compiled.slugs))]
}

// addFunctions makes an automation of each function in the config of an app instance, so that
// it can be called by its own name and not only with code.call. Automations of the app take
// precedence. A config that is a template cannot be read here.
func (set *ProgramSet) addFunctions(p *Scope) {
	if p.Parent == nil {
		return
	}
	for _, functions := range []any{value.At(p.install.config, "functions"), value.Walk(p.compiled.index, "config", "value", "functions")} {
		declared, _ := functions.(*value.Object)
		for _, name := range declared.Keys() {
			function, ok := declared.At(name).(*value.Object)
			if !ok || p.programs[name] != nil || !document.Automation.HasSlug(name) {
				continue
			}
			if set.programCount++; set.programCount > set.library.maxPrograms {
				set.Truncated = true
				return
			}
			if c := set.library.newFunctionAutomation(name, function); c.Automation != nil {
				p.programs[name] = newProgram(p, name, p.namePrefix()+name, c, encodeRef(p, name, content.Ref{}))
			}
		}
	}
}

// newFunctionAutomation returns the automation that calls a function with its whole input. The
// declared parameters describe a form and are not enforced.
func (l *Library) newFunctionAutomation(name string, function *value.Object) *compiledDocument {
	parameters, _ := function.At("parameters").(*value.Object)
	fields := &value.Object{}
	for _, key := range parameters.Keys() {
		if field, ok := parameters.At(key).(*value.Object); ok {
			fields.Set(key, field)
		}
	}
	call := value.NewObject("module", "code", "function", "call", "output", "result", "parameters", value.NewObject("name", name, "input", true))
	doc := value.NewObject("slug", name, "name", name, "arguments", fields, "do", []any{value.NewObject("run", call)}, "output", "{{result}}")
	c := &compiledDocument{}
	if c.Automation, _ = automation.Parse(doc, l.rules()); c.Automation != nil {
		c.shape = input.Compile(c.Automation)
	}
	return c
}

// reference identifies the document of a program, so that a run ends with the document that it
// started with.
type reference struct {
	Instance    string    `json:"i,omitempty"`
	Namespace   Namespace `json:"n,omitzero"`
	Slug        string    `json:"s"`
	WorkspaceID string    `json:"w"` // the workspace whose document it is
	Hash        string    `json:"h"`
	Apart       bool      `json:"a,omitempty"`
}

func encodeRef(p *Scope, slug string, ref content.Ref) string {
	text, _ := json.Marshal(reference{p.Instance, p.Namespace, slug, p.compiled.workspaceID, ref.Hash, ref.Apart}) // strings and a bool
	return string(text)
}

// programName returns the name of the program in the workspace.
func (r reference) programName() string {
	if r.Instance == "" {
		return r.Slug
	}
	return r.Instance + "." + r.Slug
}

// Ref returns the reference that FindByRef reads.
func (p *Program) Ref() string { return p.ref }

// FindByRef returns the program of a reference with its original document, in its current
// scope. After a rename of its instance the program keeps its old name, because a resumed tree
// is identified by it. When the scope no longer exists the program is in the workspace itself.
func (set *ProgramSet) FindByRef(ctx context.Context, ref string) (*Program, error) {
	var r reference
	if err := json.Unmarshal([]byte(ref), &r); err != nil {
		return nil, fmt.Errorf("a reference to an automation: %w", err)
	}
	scope := set.scopeOf(r)
	if now := scope.programs[r.Slug]; now != nil && now.ref == ref {
		return now, nil
	}
	if r.Hash == "" { // made from the config: it has no document
		if now := scope.programs[r.Slug]; now != nil {
			return now, nil
		}
		return nil, fmt.Errorf("the function %s of the app instance %s no longer exists", r.Slug, r.Instance)
	}
	c, err := set.library.compileDocument(ctx, r.WorkspaceID, content.Ref{Hash: r.Hash, Apart: r.Apart})
	if now := scope.programs[r.Slug]; err != nil && now != nil && app.IsBuiltInHome(r.WorkspaceID) {
		c, err = &compiledDocument{Automation: now.Automation, shape: now.Shape}, nil // it started on a node with another binary
	}
	if err != nil {
		return nil, err
	}
	if c.Automation == nil {
		return nil, fmt.Errorf("the automation %s is no document", r.Slug)
	}
	return newProgram(scope, r.Slug, r.programName(), c, ref), nil
}

// scopeOf returns the current scope of a program. For a removed instance it returns a scope
// with nothing but its name.
func (set *ProgramSet) scopeOf(r reference) *Scope {
	if now := set.scopes[r.Instance]; now != nil && now.Namespace == r.Namespace {
		return now
	}
	for _, p := range set.scopes {
		if p.Namespace == r.Namespace && p.Parent != nil {
			return p // it was renamed
		}
	}
	return &Scope{ProgramSet: set, Parent: set.Root, Slug: r.Instance, Instance: r.Instance, Namespace: r.Namespace, compiled: &compiledContent{}}
}
