package programs

import (
	"context"
	"encoding/json"
	"fmt"

	"svc/commands/content"
	"svc/domain/app"
)

// reference is what finds a program again when it is not the one of now any more: a
// run ends on the document that it began with.
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

// programName is that of the program in the workspace.
func (r reference) programName() string {
	if r.Instance == "" {
		return r.Slug
	}
	return r.Instance + "." + r.Slug
}

// Ref returns a text that Find finds the program by.
func (p *Program) Ref() string { return p.ref }

// FindByRef returns the program that a text of Ref names, as it was, in its place of now.
// An instance that was renamed is where it is now, but the program has the name that it
// had: it is by that name that a tree is the same which goes on with it. When the place is
// gone the program is in the workspace itself.
func (set *ProgramSet) FindByRef(ctx context.Context, ref string) (*Program, error) {
	var r reference
	if err := json.Unmarshal([]byte(ref), &r); err != nil {
		return nil, fmt.Errorf("a reference to an automation: %w", err)
	}
	scope := set.scopeOf(r)
	if now := scope.programs[r.Slug]; now != nil && now.ref == ref {
		return now, nil
	}
	if r.Hash == "" { // made of the config: there is no other document of it
		if now := scope.programs[r.Slug]; now != nil {
			return now, nil
		}
		return nil, fmt.Errorf("the function %s of the app instance %s no longer exists", r.Slug, r.Instance)
	}
	c, err := set.library.compileDocument(ctx, r.WorkspaceID, content.Ref{Hash: r.Hash, Apart: r.Apart})
	if now := scope.programs[r.Slug]; err != nil && now != nil && app.IsBuiltInHome(r.WorkspaceID) {
		c, err = &compiledDocument{Automation: now.Automation, shape: now.Shape}, nil // it began on a node with another binary
	}
	if err != nil {
		return nil, err
	}
	if c.Automation == nil {
		return nil, fmt.Errorf("the automation %s is no document", r.Slug)
	}
	return newProgram(scope, r.Slug, r.programName(), c, ref), nil
}

// scopeOf returns the place that a program was in, as it is now. That of an instance
// that was removed while something of it runs has nothing but its name.
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
