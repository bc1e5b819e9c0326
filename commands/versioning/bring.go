package versioning

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/operations"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Brought is the result of a pull.
type Brought struct {
	Imported        []string                   `json:"imported"`
	Deleted         []string                   `json:"deleted"`
	Errors          []archive.Item             `json:"errors"`
	Warnings        []archive.Item             `json:"warnings"`
	Workspace       workspace.Named            `json:"workspace"`
	Version         *workspace.ImportedVersion `json:"version,omitempty"`
	ContentRevision uint64                     `json:"contentRevision"`
	PublishedApps   []string                   `json:"publishedApps,omitempty"`
}

func (v *Versioning) validator(workspaceID string) func(archive.Place, *document.Map) error {
	return func(p archive.Place, doc *document.Map) error { return v.Content.CheckFile(workspaceID, p, doc) }
}

// bring imports a tree, in one event with what is known about the repository.
func (p *pull) bring(ctx context.Context, tree archive.Tree, clean bool) (any, error) {
	var theirs string
	kept := sync.OnceValue(beside(func() (err error) {
		theirs, err = p.v.keep(ctx, p.there.Managed)
		return err
	}))
	version := &workspace.ImportedVersion{Name: p.versionOf(tree), Repository: &workspace.RepositoryRef{ID: p.repo.ID}}
	notes := p.notes()
	held := &content.Held{
		OperationID: p.op.ID(), Epoch: p.op.Epoch(), Version: version, Pull: true, Own: !p.repo.Platform, Notes: append(slices.Clone(notes), p.rolledBack...),
		Integrate: func(o content.Outcome) (*workspace.Integration, error) {
			if err := kept(); err != nil {
				return nil, err
			}
			in := &workspace.Integration{
				RepositoryID: p.repo.ID, Place: p.place, Intermediate: p.onOwn, Held: o.Held, RemoteSlug: o.RemoteSlug,
				Clean: clean && !o.Kept && len(notes) == 0,
			}
			if p.in.Version == Latest {
				in.Held = p.spared(in.Held, clean || len(notes) > 0)
				in.Base = &workspace.Base{Commit: p.head(), Files: theirs, Unmanaged: digest(p.there.Unmanaged)}
			}
			if o.Errors == 0 {
				in.Pulled = &workspace.Pulled{Version: version.Name, Digest: archive.Digest(tree.Checksums())}
			}
			return in, nil
		},
	}
	p.part.into(held)
	may := p.may
	may.Others = slices.Collect(maps.Keys(p.there.Unmanaged))
	return p.v.bring(ctx, p.op, tree, held, may, p.in.Strict)
}

// spared adds the security document to what is held: when the repository has none
// and nothing else is here that is not there, it stays without one; when the caller
// may not take its own over, it keeps that. Until somebody edits the one that is
// here, a push does not touch the one that is there.
func (p *pull) spared(held map[string]uint64, spare bool) map[string]uint64 {
	security := archive.Place{Kind: document.Security}.String()
	if !spare || p.may.Secure && objects(p.there.Managed)[security] != nil {
		return held
	}
	if held == nil {
		held = map[string]uint64{}
	}
	held[security] = p.state.RevisionOf(security)
	return held
}

// notes tells that somebody without the right to do so did not change the security
// document.
func (p *pull) notes() []archive.Item {
	security := archive.Place{Kind: document.Security}.String()
	if p.may.Secure || same(objects(p.files)[security], objects(p.there.Managed)[security], p.v.limits().Document) {
		return nil
	}
	return []archive.Item{{
		Msg: "the security document was not changed: that needs the permission manage_security", Err: "security_excluded", Filepath: security, WorkspaceID: p.state.ID,
	}}
}

// bringer is the part of a run that bringing takes.
type bringer interface {
	Step(ctx context.Context, name, message string, do func(context.Context) error) error
	Commit(ctx context.Context) error
	WorkspaceID() string
}

// bring imports a tree as the step of an operation.
func (v *Versioning) bring(ctx context.Context, run bringer, tree archive.Tree, held *content.Held, may content.ImportOptions, strict bool) (any, error) {
	may.Prune, may.Strict, may.Held = true, strict, held
	return v.importTree(ctx, run, tree, may)
}

// importTree is the step that imports.
func (v *Versioning) importTree(ctx context.Context, run bringer, tree archive.Tree, o content.ImportOptions) (any, error) {
	var done content.Result
	bring := v.Content.Import
	if o.Held.Slug != "" { // there is no such workspace yet
		bring = v.Content.CreateFrom
	}
	err := run.Step(ctx, operation.Bring, "Importing the content", func(ctx context.Context) (err error) {
		if err := run.Commit(ctx); err != nil {
			return err
		}
		if done, err = bring(ctx, run.WorkspaceID(), tree, o); err != nil && ctx.Err() != nil {
			err = errors.Join(operations.ErrUnsettled, err) // its event may be on the log
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	version := o.Held.Version
	if version == nil && done.Version != "" {
		version = &workspace.ImportedVersion{Name: done.Version}
	}
	return v.brought(ctx, run.WorkspaceID(), done, version)
}

func (v *Versioning) brought(ctx context.Context, workspaceID string, done content.Result, version *workspace.ImportedVersion) (any, error) {
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	revision, err := v.Revisions.Revision(ctx, workspaceID, done.Seq)
	return Brought{
		Imported: done.Imported, Deleted: done.Deleted, Errors: done.Errors, Warnings: done.Warnings, Version: version, ContentRevision: revision,
		Workspace:     workspace.Named{ID: workspaceID, Slug: now.State.Settings.Slug, Name: now.State.Settings.Name},
		PublishedApps: done.Published,
	}, err
}

// versionOf names what is brought: as its import file does, by its tag, or by its
// commit.
func (p *pull) versionOf(tree archive.Tree) string {
	if text, ok := tree[archive.ImportPath]; ok {
		if file, err := archive.ReadImportFile(text, p.v.limits().Document); err == nil && file.Version != "" {
			return file.Version
		}
	}
	return cmp.Or(p.name, p.commit[:min(12, len(p.commit))])
}
