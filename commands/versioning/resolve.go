package versioning

import (
	"context"
	"maps"
	"slices"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/merge"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Resolution is what becomes of one file in conflict.
type Resolution struct {
	Use     string  `json:"use,omitempty"`     // ours or theirs
	Content *string `json:"content,omitempty"` // the text it gets
	Delete  bool    `json:"delete,omitempty"`  // content: null
}

// Conflicts returns a conflict that waits to be decided, and its files with what
// each side says; nil when there is none.
func (v *Versioning) Conflicts(ctx context.Context, workspaceID string) (*workspace.Conflicted, []merge.Conflict, error) {
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil || now.State.Conflict == nil {
		return nil, nil, err
	}
	sides, err := v.sides(ctx, *now.State.Conflict)
	if err != nil {
		return nil, nil, err
	}
	m, err := v.remerge(ctx, now.State, sides)
	if err != nil {
		return nil, nil, err
	}
	return now.State.Conflict, m.Conflicts, nil
}

// sides are the trees of a conflict.
type sides struct{ base, ours, theirs archive.Tree }

func (v *Versioning) sides(ctx context.Context, c workspace.Conflicted) (s sides, err error) {
	if c.Base != nil {
		if s.base, err = v.kept(ctx, c.Base.Files); err != nil {
			return s, err
		}
	}
	if s.ours, err = v.kept(ctx, c.Ours.Files); err != nil {
		return s, err
	}
	s.theirs, err = v.kept(ctx, c.Theirs.Files)
	return s, err
}

// remerge merges the sides of a conflict again: the same trees give the same.
func (v *Versioning) remerge(ctx context.Context, s workspace.State, all sides) (*merge.Result, error) {
	return merge.Trees(ctx, all.base, all.ours, all.theirs, merge.Options{
		Excludes: s.Conflict.Excludes, Limits: v.limits(), Validate: v.validator(s.ID),
	})
}

// Resolve decides a conflict: each of its files gets what files says.
func (v *Versioning) Resolve(ctx context.Context, workspaceID string, files map[string]Resolution, may content.ImportOptions) (*operations.Handle, error) {
	id, known, err := v.Operations.Reserve(ctx, workspaceID, "")
	if err != nil || known != nil {
		return known, err
	}
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	c := now.State.Conflict
	if c == nil {
		return nil, noConflict()
	}
	repo, err := v.Repositories.Find(ctx, now.State, c.RepositoryID)
	if err != nil {
		return nil, err
	}
	if _, decides := files[archive.Place{Kind: document.Security}.Path()]; decides && !may.Secure {
		return nil, domain.Refuse(domain.CodePermissionDenied, "resolving security.yml needs the permission manage_security").
			With("action", "manage_security").With("subject", "workspaces")
	}
	tree, err := v.decide(ctx, now.State, files)
	if err != nil {
		return nil, err
	}
	spec := operations.Spec{
		ID: id, Kind: operation.Resolve, WorkspaceID: workspaceID, RepositoryID: repo.ID, Branch: repo.Branch, Reason: workspace.PullInProgress, Over: repo.ID,
		Request: map[string]any{"files": slices.Sorted(maps.Keys(files))}, Steps: 4,
	}
	user := commands.RequestFrom(ctx).Meta.UserID
	return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		p, err := v.newPull(ctx, run, repo, PullRequest{Version: Latest, RepositoryID: repo.ID}, may, user)
		if err != nil {
			return nil, err
		}
		defer p.Close()
		return p.resolve(ctx, *c, tree)
	})
}

// decide returns the files of a merge whose conflicts were decided.
func (v *Versioning) decide(ctx context.Context, s workspace.State, files map[string]Resolution) (archive.Tree, error) {
	all, err := v.sides(ctx, *s.Conflict)
	if err != nil {
		return nil, err
	}
	m, err := v.remerge(ctx, s, all)
	if err != nil {
		return nil, err
	}
	var faults []domain.FieldError
	refuse := func(path, message string) { faults = append(faults, domain.FieldError{Field: path, Message: message}) }
	known := map[string]bool{}
	for _, c := range m.Conflicts {
		known[c.Path] = true
		choice, given := files[c.Path]
		if !given {
			refuse(c.Path, "is in conflict: say what becomes of it")
			continue
		}
		if wrong := v.apply(s.ID, m.Files, c, choice, all); wrong != "" {
			refuse(c.Path, wrong)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !known[path] {
			refuse(path, "is not in conflict")
		}
	}
	if len(faults) > 0 {
		return nil, domain.Invalid(faults...)
	}
	return m.Files, nil
}

// apply puts what was decided of one file into a tree; it returns what is wrong
// with it.
func (v *Versioning) apply(workspaceID string, tree archive.Tree, c merge.Conflict, choice Resolution, all sides) string {
	place, ok := archive.Locate(c.Path)
	if !ok {
		return "is no file of the content"
	}
	take := func(from archive.Tree) {
		for _, path := range from.Paths() {
			if p, ok := from.PlaceOf(path); ok && p == place {
				tree[path] = from[path]
			}
		}
	}
	switch {
	case choice.Use == "ours" && choice.Content == nil && !choice.Delete:
		take(all.ours)
	case choice.Use == "theirs" && choice.Content == nil && !choice.Delete:
		take(all.theirs)
	case choice.Delete && choice.Use == "":
		if place.Kind.Folder == "" {
			return "cannot be deleted"
		}
	case choice.Content != nil && choice.Use == "":
		doc, err := yamltext.ReadMap([]byte(*choice.Content), v.limits().Document)
		if err == nil {
			err = v.Content.CheckFile(workspaceID, place, doc)
		}
		if err != nil {
			return err.Error()
		}
		tree[c.Path] = []byte(*choice.Content)
	default:
		return "must have use: ours, use: theirs, or content"
	}
	return ""
}

// stillThere refuses to resolve a conflict that somebody else resolves, or has
// resolved since it was looked at.
func (p *pull) stillThere(c workspace.Conflicted) error {
	if now := p.state.Conflict; now == nil || now.Ours.Commit != c.Ours.Commit || now.Theirs.Commit != c.Theirs.Commit {
		return noConflict()
	}
	if own := p.ownHead(); p.repo.Mode != repositories.ReadOnly && own != "" && own != c.Ours.Commit {
		return domain.Refuse(domain.CodeConflict, "%s has moved since the conflict: somebody resolves it in Git; pull instead", c.Branch).
			Reason("intermediate_moved").With("branch", c.Branch).With("head", own)
	}
	return nil
}

func noConflict() error {
	return domain.Refuse(domain.CodeConflict, "there is no conflict to resolve").Reason("no_conflict")
}

// resolve commits a resolution on I and brings it (contract 11).
func (p *pull) resolve(ctx context.Context, c workspace.Conflicted, tree archive.Tree) (any, error) {
	err := p.fetched(ctx, func(context.Context) error { return p.stillThere(c) })
	if err != nil {
		return nil, err
	}
	err = p.op.Step(ctx, operation.Merge, "Committing the resolution on "+p.own, func(ctx context.Context) error {
		if p.head() != c.Theirs.Commit {
			before, err := p.v.kept(ctx, c.Theirs.Files)
			if err != nil {
				return err
			}
			m, err := p.mergeTrees(ctx, before, tree, p.there.Managed)
			if err != nil {
				return err
			}
			if len(m.Conflicts) > 0 {
				return p.conflictAgain(ctx, c, c.Ours.Commit, tree, m)
			}
			tree = m.Files
		}
		saved := c.Ours.Commit
		if !p.Objects().Has(saved) {
			var err error
			if saved, err = p.recreate(ctx, c); err != nil {
				return err
			}
		}
		return p.join(ctx, tree, saved, "Resolve conflicts of "+p.own)
	})
	if err != nil {
		return nil, err
	}
	return p.bring(ctx, tree, p.sameAs(tree, p.there.Managed))
}
