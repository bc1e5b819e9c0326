package programs

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"svc/commands/content"
	"svc/domain/app"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/automation/machine"
	"svc/domain/nearest"
	"svc/domain/value"
)

// ProgramSet is everything that can run in a workspace at one revision.
type ProgramSet struct {
	Workspace Workspace
	Root      *Scope
	// Truncated: the limits of the library are exceeded, and the rest, by slug, is left out.
	Truncated bool

	library *Library
	moment  atomic.Uint64 // Contents.Moment when it was last known to be current
	index   programIndex
	before  *ProgramSet // the one of the revision before, if it is known
	// stubbed are the secrets of a variant; nil: they are the real ones.
	stubbed map[string]string

	mu     sync.Mutex
	scopes map[string]*Scope // those that were asked for, by the full slug of their instance
}

// Scope is where an automation runs: a workspace, or an app instance in it.
type Scope struct {
	ProgramSet *ProgramSet
	Parent     *Scope // nil: it is the workspace
	Slug       string // of the instance, in its parent
	Instance   string // full slug of the instance, "" for the workspace
	App        string // slug of the app, "" for the workspace
	// Namespace is where its collections are stored.
	Namespace Namespace

	*instance

	mu       sync.Mutex
	programs map[string]*Program // those that were asked for, by slug
}

// Program is a compiled automation in its scope.
type Program struct {
	*automation.Automation
	Scope *Scope
	Slug  string // in its place
	Name  string // in the workspace: with the instance in front
	Shape *input.Shape

	machine *machine.Program
}

func newProgram(scope *Scope, slug, name string, c *compiledDocument, ref string) *Program {
	return &Program{
		Automation: c.Automation, Scope: scope, Slug: slug, Name: name, Shape: c.shape,
		machine: &machine.Program{Automation: c.Automation, Slug: name, Instance: scope.Instance, Ref: ref},
	}
}

// Machine returns the program as the interpreter runs it. Every call returns the same value.
func (p *Program) Machine() *machine.Program { return p.machine }

// maxNesting limits how deep app instances nest. Installing refuses cycles, but an import can
// bring them.
const maxNesting = 10

// newProgramSet builds the program set of a workspace with this content.
func (l *Library) newProgramSet(ctx context.Context, w Workspace, compiled *compiledContent) (*ProgramSet, error) {
	b, limit, err := l.newIndex(ctx, w, compiled)
	if err != nil {
		return nil, err
	}
	return b.programSet(w, compiled, limit), nil
}

// programSet returns the program set with this index.
func (b *indexBuilder) programSet(w Workspace, compiled *compiledContent, limit string) *ProgramSet {
	set := &ProgramSet{Workspace: w, Truncated: b.truncated, library: b.library, index: b.programIndex, scopes: map[string]*Scope{}}
	set.Root = &Scope{ProgramSet: set, instance: &instance{compiled: compiled, limit: limit}}
	return set
}

// updateProgramSet returns the program set of a workspace, made of that of an earlier revision: it
// costs what has changed since. It is nil when that is not known, or too much.
func (l *Library) updateProgramSet(ctx context.Context, set *ProgramSet, w Workspace, apps []appUse) (*ProgramSet, error) {
	if w.Revision < set.Workspace.Revision {
		return nil, nil //nolint:nilnil // it is to be built
	}
	changed, known, err := l.contents.Changes(ctx, w.ID, set.Workspace.Revision, w.Revision)
	if err != nil || !known {
		return nil, err
	}
	compiled, err := l.changeContent(ctx, set.Root.compiled, w.Revision, changed)
	if err != nil {
		return nil, err
	}
	b, ok, err := l.updateIndex(ctx, set, w, compiled, changed, apps)
	if err != nil || !ok {
		return nil, err
	}
	next := b.programSet(w, compiled, "")
	next.before = set.withoutBefore()
	return next, nil
}

// withoutBefore returns the program set without that of the revision before it, so that only one
// of them stays in memory.
func (set *ProgramSet) withoutBefore() *ProgramSet {
	if set.before == nil {
		return set
	}
	b := indexBuilder{programIndex: set.index, library: set.library, truncated: set.Truncated}
	return b.programSet(set.Workspace, set.Root.compiled, set.Root.limit)
}

// namePrefix returns what the names of the programs of the scope begin with in the workspace.
func (p *Scope) namePrefix() string { return namePrefix(p.Instance) }

// program returns a program of the scope, nil when there is none. Every call returns the same
// value.
func (p *Scope) program(slug string) *Program {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.programs[slug]; known != nil {
		return known
	}
	c, ok := p.compiled.automations.Get(slug)
	ref := content.Ref{}
	switch {
	case ok && (p.limit == "" || slug < p.limit):
		ref = c.ref
	case p.functions[slug] != nil:
		c = p.functions[slug]
	default:
		return nil
	}
	if p.programs == nil {
		p.programs = map[string]*Program{}
	}
	p.programs[slug] = newProgram(p, slug, p.namePrefix()+slug, c, encodeRef(p, slug, ref))
	return p.programs[slug]
}

// Blocks returns the definitions of blocks in the content of the scope, by name.
func (p *Scope) Blocks() *value.Object {
	blocks, _ := p.compiled.index.At("blocks").(*value.Object)
	return blocks
}

// child returns the scope of an instance in the scope, nil when there is none.
func (p *Scope) child(slug string) *Scope {
	return p.ProgramSet.Scope(p.namePrefix() + slug)
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
	all := []*Scope{set.Root}
	for name := range set.index.instances.Keys() {
		if scope := set.Scope(name); scope != nil {
			all = append(all, scope)
		}
	}
	return all
}

// Scope returns the scope of an instance by its full slug, nil when there is none.
func (set *ProgramSet) Scope(instance string) *Scope {
	if instance == "" {
		return set.Root
	}
	n, ok := set.index.instances.Get(instance)
	if !ok || n.compiled == nil {
		return nil
	}
	parent := set.Scope(n.parent)
	set.mu.Lock()
	defer set.mu.Unlock()
	if known := set.scopes[instance]; known != nil {
		return known
	}
	set.scopes[instance] = &Scope{
		ProgramSet: set, Parent: parent, Slug: n.install.slug, Instance: n.name, App: n.install.app, Namespace: n.namespace, instance: n,
	}
	return set.scopes[instance]
}

// program returns a program of the index.
func (set *ProgramSet) program(id programID) *Program { return set.Scope(id.instance).program(id.slug) }

// ResolveCall returns the program that a name refers to when an automation of the scope calls
// it: one of its own, or a public one of a direct child instance.
func (p *Scope) ResolveCall(name string) (*Program, error) {
	instance, slug, within := strings.Cut(name, ".")
	found := p.program(name)
	if within {
		found = nil
		if child := p.child(instance); child != nil {
			found = child.program(slug)
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
		for slug, own := range p.compiled.automations.All() {
			if !own.Disabled && !yield(slug) {
				return
			}
		}
		for _, name := range automation.InstructionNames() {
			if !yield(name) {
				return
			}
		}
		for instance := range p.compiled.installs.Keys() {
			child := p.child(instance)
			if child == nil {
				continue
			}
			for slug, offered := range child.compiled.automations.All() {
				if !offered.Disabled && !offered.Private && !yield(instance+"."+slug) {
					return
				}
			}
		}
	}
}

// Program returns an automation of the workspace itself, disabled and private ones too, nil
// when there is none.
func (set *ProgramSet) Program(slug string) *Program { return set.Root.program(slug) }

// ProgramIn returns the program of an app instance by its slug, or of the workspace when instance is empty; nil when
// there is none.
func (set *ProgramSet) ProgramIn(instance, slug string) *Program {
	if scope := set.Scope(instance); scope != nil {
		return scope.program(slug)
	}
	return nil
}

// NearestProgram returns the automation of the workspace itself with the most similar slug,
// nil when none is similar.
func (set *ProgramSet) NearestProgram(slug string) *Program {
	return set.Program(nearest.Name(slug, set.Root.compiled.automations.Keys()))
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

// FindByRef returns the program of a reference with its original document, in its current
// scope. After a rename of its instance the program keeps its old name, because a resumed tree
// is identified by it. When the scope no longer exists the program is in the workspace itself.
func (set *ProgramSet) FindByRef(ctx context.Context, ref string) (*Program, error) {
	var r reference
	if err := json.Unmarshal([]byte(ref), &r); err != nil {
		return nil, fmt.Errorf("a reference to an automation: %w", err)
	}
	scope := set.scopeOf(r)
	if now := scope.program(r.Slug); now != nil && now.machine.Ref == ref {
		return now, nil
	}
	if r.Hash == "" { // made from the config: it has no document
		if now := scope.program(r.Slug); now != nil {
			return now, nil
		}
		return nil, fmt.Errorf("the function %s of the app instance %s no longer exists", r.Slug, r.Instance)
	}
	c, err := set.library.compileDocument(ctx, r.WorkspaceID, content.Ref{Hash: r.Hash, Apart: r.Apart})
	if now := scope.program(r.Slug); err != nil && now != nil && app.IsBuiltInHome(r.WorkspaceID) {
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
	if now := set.Scope(r.Instance); now != nil && now.Namespace == r.Namespace {
		return now
	}
	for name, n := range set.index.instances.All() {
		if n.namespace == r.Namespace && n.compiled != nil {
			return set.Scope(name) // it was renamed
		}
	}
	return &Scope{ProgramSet: set, Parent: set.Root, Slug: r.Instance, Instance: r.Instance, Namespace: r.Namespace, instance: &instance{compiled: &compiledContent{}}}
}
