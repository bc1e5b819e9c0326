package versioning

import (
	"context"
	"fmt"
	"slices"

	"svc/commands/archive"
	"svc/commands/merge"
)

// path is how a pull goes about it (contract 9.2).
type path string

// The paths.
const (
	named     path = "version"  // a named version, as it is
	discard   path = "discard"  // what is here goes
	untouched path = "new"      // nothing was ever done here
	nothing   path = "remote"   // nothing was changed here
	both      path = "merge"    // what is here is saved and merged
	resolved  path = "resolved" // a conflict that was decided in Git
)

// choice is a path with what is brought by it.
type choice struct {
	path   path
	tree   archive.Tree
	clean  bool          // nothing is here afterwards that is not there
	merged *merge.Result // of both
}

// choose finds out how the pull goes about it. Nothing is changed.
func (p *pull) choose(ctx context.Context) (choice, error) {
	if p.in.Version != Latest {
		files, err := p.Objects().ReadTree(p.commit, p.repo.Root)
		if err != nil {
			return choice{}, err
		}
		return choice{path: named, tree: files.Managed, clean: p.sync.Base != nil && p.sameAs(files.Managed, p.base)}, nil
	}
	local := p.local()
	switch {
	case p.state.Conflict != nil:
		return p.decided(ctx)
	case p.in.Discard:
		return choice{path: discard, tree: p.there.Managed, clean: true}, nil
	case p.sync.Base == nil && !p.state.Edited:
		return choice{path: untouched, tree: p.there.Managed, clean: true}, nil
	case len(local) == 0, p.sameAs(p.files, p.there.Managed):
		return choice{path: nothing, tree: p.there.Managed, clean: true}, nil
	}
	m, err := p.mergeTrees(ctx, p.base, p.files, p.there.Managed)
	if err != nil {
		return choice{}, err
	}
	if err := p.noteRolledBack(ctx, m); err != nil {
		return choice{}, err
	}
	return choice{path: both, tree: m.Files, merged: m, clean: len(m.Conflicts) == 0 && p.sameAs(m.Files, p.there.Managed)}, nil
}

// noteRolledBack notes that the merge keeps what was rolled back here since the last push or pull:
// who pulls may expect to get it back.
func (p *pull) noteRolledBack(ctx context.Context, m *merge.Result) error {
	kept := slices.DeleteFunc(slices.Clone(m.Ours), func(place string) bool { return slices.Contains(m.Theirs, place) })
	back, err := p.v.Revisions.RolledBack(ctx, p.state.ID, p.seq, kept)
	if err != nil || len(back) == 0 {
		return err
	}
	shown := back[:min(len(back), maxTold)]
	p.rolledBack = []archive.Item{{
		Msg: fmt.Sprintf("%d of the files that were rolled back here since the last push or pull stay as they are, and differ from %s: push to publish them, or pull with discardLocalChanges to get those of the repository", len(back), p.target),
		Err: "rolled_back_content_kept", Filepath: back[0], WorkspaceID: p.state.ID, Details: map[string]any{"files": shown, "count": len(back)},
	}}
	return nil
}

// local lists the places that were changed here since the last push or pull.
func (p *pull) local() (places []string) {
	for _, place := range differ(p.files, p.base, p.v.limits().Document) {
		if !p.may.Excludes.Has(place) {
			places = append(places, place)
		}
	}
	return places
}

func (p *pull) sameAs(a, b archive.Tree) bool {
	return len(differ(a, b, p.v.limits().Document)) == 0
}

// mergeTrees merges two sides. What is put together of both must be acceptable.
func (p *pull) mergeTrees(ctx context.Context, base, ours, theirs archive.Tree) (*merge.Result, error) {
	return merge.Trees(ctx, base, ours, theirs, merge.Options{
		Excludes: p.may.Excludes, Limits: p.v.limits(), Validate: p.v.validator(p.state.ID),
	})
}

// follow carries out what was chosen.
func (c choice) follow(ctx context.Context, p *pull) (any, error) {
	if c.path == both {
		return p.saveAndMerge(ctx, c)
	}
	return p.bring(ctx, c.tree, c.clean)
}
