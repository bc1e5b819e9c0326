package versioning

import (
	"context"
	"maps"
	"slices"

	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/domain/workspace"
)

// written returns what a commit changes of the files that are there: those of
// ours that mean something else are put, those that ours lacks removed. What means
// the same keeps its bytes, and so does what is held.
func (v *Versioning) written(ours, there archive.Tree, held func(place string) bool) (put archive.Tree, remove []string) {
	put = archive.Tree{}
	mine, theirs := objects(ours), objects(there)
	all := maps.Clone(mine)
	maps.Copy(all, theirs)
	for _, place := range slices.Sorted(maps.Keys(all)) {
		a, b := mine[place], theirs[place]
		if held(place) || same(a, b, v.limits().Document) {
			continue
		}
		if a != nil {
			put[a.path] = a.text
		}
		if b == nil {
			continue
		}
		for _, path := range append([]string{b.path}, b.more...) {
			if a == nil || path != a.path {
				remove = append(remove, path)
			}
		}
	}
	return put, remove
}

// write makes the commit (contract 8.3). When it would change nothing, its parent
// stands for it.
func (p *push) write(ctx context.Context, b *built) (err error) {
	put, remove := p.v.written(p.files, b.there.Managed, stillHeld(p.state, p.sync))
	if p.repo.Platform {
		if put[archive.ImportPath], err = p.importFile(ctx, with(b.there.Managed, put, remove)); err != nil {
			return err
		}
	}
	objects, from := p.Objects(), b.from(p.start())
	if len(b.leaves) > 0 {
		if from, err = objects.WriteTree(from, p.was.Root, nil, b.leaves); err != nil {
			return err
		}
	}
	if b.tree, err = objects.WriteTree(from, p.repo.Root, put, remove); err != nil {
		return err
	}
	if len(b.parents) == 1 {
		parent, err := objects.ReadCommit(b.parents[0])
		if err != nil {
			return err
		}
		if parent.Tree == b.tree {
			b.intent.Commit = b.parents[0]
			return nil
		}
	}
	author, err := p.v.author(ctx, p.user, p.when)
	if err != nil {
		return err
	}
	b.intent.Commit, err = objects.WriteCommit(gitsync.Commit{
		Tree: b.tree, Parents: b.parents, Author: author, Committer: p.v.committer(p.when), Message: p.message(),
	})
	return err
}

func (p *push) message() string {
	return message(described(p.version.Description, p.version.Name, p.state.Settings.Slug),
		trailers{p.state.ID, p.version.Name, p.version.OperationID, p.version.ContentRevision})
}

// merge says what moves: the commit has the head of T as an ancestor, so merging I
// into T is moving T to it.
func (p *push) merge(ctx context.Context, b *built) error {
	author, err := p.v.author(ctx, p.user, p.when)
	if err != nil {
		return err
	}
	tag := p.tag(p.version.Name)
	tagged, err := p.Objects().WriteTag(tag, b.intent.Commit, author, p.message())
	if err != nil {
		return err
	}
	changes, err := p.Objects().Diff(p.start(), b.intent.Commit, p.repo.Root)
	if err != nil {
		return err
	}
	now, err := p.Objects().ReadTree(b.intent.Commit, p.repo.Root)
	if err != nil {
		return err
	}
	files, err := p.v.keep(ctx, now.Managed)
	if err != nil {
		return err
	}
	p.version.Commit, p.version.Tag = b.intent.Commit, tag
	base := workspace.Base{Commit: b.intent.Commit, Files: files, Unmanaged: digest(now.Unmanaged)}
	b.intent = p.intent(base, changes)
	b.intent.Commit, b.intent.Moves = base.Commit, p.moves(base.Commit, tag, tagged)
	return nil
}

// intent is what is recorded before a push does what cannot be taken back.
func (s *saving) intent(base workspace.Base, changes gitsync.Changes) workspace.Intent {
	return workspace.Intent{
		OperationID: s.version.OperationID, Version: s.version, Changes: told(changes), Synced: s.seq, Base: base, Held: s.held(), Left: s.was,
	}
}

// held are the places that stay as the remote has them.
func (s *saving) held() (held map[string]uint64) {
	still := stillHeld(s.state, s.sync)
	for place, revision := range s.sync.Held {
		if still(place) {
			if held == nil {
				held = map[string]uint64{}
			}
			held[place] = revision
		}
	}
	return held
}

// moves are the refs to move: I, T and the tag. In an empty repository T is the
// first, because hosts make the first branch the default.
func (p *push) moves(commit, tag, tagged string) []workspace.Move {
	tagMove := workspace.Move{Name: "refs/tags/" + tag, Old: p.refs.Tag(tag), New: tagged}
	if commit == p.head() {
		return []workspace.Move{tagMove}
	}
	own := workspace.Move{Name: "refs/heads/" + p.own, Old: p.ownHead(), New: commit}
	target := workspace.Move{Name: "refs/heads/" + p.target, Old: p.head(), New: commit}
	moves := []workspace.Move{own, target, tagMove}
	if p.refs.Empty() {
		moves = []workspace.Move{target, own, tagMove}
	}
	return slices.DeleteFunc(moves, func(m workspace.Move) bool { return m.Old == m.New })
}

// maxTold is how many files the event of a version lists.
const maxTold = 500

// told returns changes as events and answers carry them.
func told(c gitsync.Changes) *workspace.Changes {
	t := &workspace.Changes{
		Files: cut(c.Files), Created: cut(c.Created), Deleted: cut(c.Deleted), Insertions: map[string]int{}, Deletions: map[string]int{},
		Summary: workspace.Summary(c.Summary), Truncated: len(c.Files) > maxTold,
	}
	for _, path := range t.Files {
		if n := c.Insertions[path]; n > 0 {
			t.Insertions[path] = n
		}
		if n := c.Deletions[path]; n > 0 {
			t.Deletions[path] = n
		}
	}
	return t
}

func cut(list []string) []string { return append([]string{}, list[:min(len(list), maxTold)]...) }
