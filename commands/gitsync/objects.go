package gitsync

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/go-git/go-git/v5/storage/transactional"

	"svc/commands/archive"
	"svc/domain"
)

// Objects are the commits, trees and files of a Session: what was fetched, and on
// top of it what was made here. Ids are 40 hex digits; "" stands for nothing.
type Objects struct {
	store  *store
	made   *memory.Storage
	limits Limits
	nodes  map[plumbing.Hash]node
}

// node is the part of a commit that walks need.
type node struct {
	tree    plumbing.Hash
	parents []plumbing.Hash
	when    int64
}

func newObjects(s *store, limits Limits) *Objects {
	return &Objects{store: s, made: memory.NewStorage(), limits: limits, nodes: map[plumbing.Hash]node{}}
}

// all returns the fetched and the made objects.
func (o *Objects) all() storer.EncodedObjectStorer {
	return transactional.NewObjectStorage(o.store.Storer, o.made)
}

// clearCache is called when the store was replaced.
func (o *Objects) clearCache() { o.nodes = map[plumbing.Hash]node{} }

// Has reports whether an object was fetched or made.
func (o *Objects) Has(id string) bool {
	return id != "" && o.all().HasEncodedObject(plumbing.NewHash(id)) == nil
}

func (o *Objects) commit(id plumbing.Hash) (node, error) {
	if n, ok := o.nodes[id]; ok {
		return n, nil
	}
	c, err := object.GetCommit(o.all(), id)
	if err != nil {
		return node{}, unreadable("commit", id, err)
	}
	n := node{c.TreeHash, c.ParentHashes, c.Committer.When.Unix()}
	o.nodes[id] = n
	return n, nil
}

// unreadable is the error of an object that could not be read. A missing one was never
// fetched, or is not in the repository any more; a deleted cache is fetched again by the
// next operation.
func unreadable(kind string, id plumbing.Hash, err error) error {
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return domain.Refuse(domain.CodeNotFound, "there is no %s %s", kind, id).Reason("object_not_found").With("id", id.String())
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, dotgit.ErrPackfileNotFound) {
		return domain.Refuse(domain.CodeUnavailable, "the cache of the repository was deleted meanwhile: try again").Reason("interrupted")
	}
	return fmt.Errorf("read %s %s: %w", kind, id, err)
}

// commitsOf follows annotated tags to their commits. Missing ones are left out.
func (o *Objects) commitsOf(ids []plumbing.Hash) (commits []plumbing.Hash) {
	for _, id := range ids {
		if c, err := o.peel(id); err == nil {
			commits = append(commits, c)
		}
	}
	return commits
}

// peel follows annotated tags to a commit.
func (o *Objects) peel(id plumbing.Hash) (plumbing.Hash, error) {
	const chain = 10 // tags of tags are rare
	for range chain {
		tag, err := object.GetTag(o.all(), id)
		if err != nil {
			_, err := o.commit(id)
			return id, err
		}
		id = tag.Target
	}
	return id, unreadable("commit", id, plumbing.ErrObjectNotFound)
}

// treeOf returns the tree of a commit, a tag or a tree; the empty tree of "".
func (o *Objects) treeOf(id string) (plumbing.Hash, error) {
	if id == "" {
		return plumbing.ZeroHash, nil
	}
	h := plumbing.NewHash(id)
	if _, err := o.all().EncodedObject(plumbing.TreeObject, h); err == nil {
		return h, nil
	}
	commit, err := o.peel(h)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	c, err := o.commit(commit)
	return c.tree, err
}

// blob reads a file. Its size is checked before and while it is read; path is for the
// refusal.
func (o *Objects) blob(id plumbing.Hash, path string) ([]byte, error) {
	limit := int64(o.limits.Tree.FileBytes)
	size, err := o.all().EncodedObjectSize(id)
	if err != nil {
		return nil, unreadable("file", id, err)
	}
	if size > limit {
		return nil, archive.Exceeded("fileBytes", int(limit), path)
	}
	b, err := object.GetBlob(o.all(), id)
	if err != nil {
		return nil, unreadable("file", id, err)
	}
	r, err := b.Reader()
	if err != nil {
		return nil, unreadable("file", id, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, unreadable("file", id, err)
	case int64(len(text)) > limit:
		return nil, archive.Exceeded("fileBytes", int(limit), path)
	}
	return text, nil
}

// walk visits commits and their ancestors, the newest first. When visit returns false, the
// parents are not visited.
func (o *Objects) walk(heads []plumbing.Hash, visit func(plumbing.Hash, node) bool) error {
	var queue byDate
	seen := map[plumbing.Hash]bool{}
	push := func(ids []plumbing.Hash) error {
		for _, id := range ids {
			if seen[id] {
				continue
			}
			seen[id] = true
			n, err := o.commit(id)
			if err != nil {
				return err
			}
			heap.Push(&queue, dated{id, n})
		}
		return nil
	}
	if err := push(heads); err != nil {
		return err
	}
	for len(queue) > 0 {
		next := heap.Pop(&queue).(dated)
		if !visit(next.id, next.node) {
			continue
		}
		if err := push(next.parents); err != nil {
			return err
		}
	}
	return nil
}

type dated struct {
	id plumbing.Hash
	node
}

// byDate is a heap with the newest commit on top.
type byDate []dated

func (q byDate) Len() int           { return len(q) }
func (q byDate) Less(i, j int) bool { return q[i].when > q[j].when }
func (q byDate) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *byDate) Push(x any) { *q = append(*q, x.(dated)) }

// Pop implements heap.Interface.
func (q *byDate) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// maxHaves is how many commits a fetch sends as haves: enough to find a common ancestor
// after the newest were removed by a force push.
const maxHaves = 256

// recentCommits returns the newest commits of a history.
func (o *Objects) recentCommits(heads []plumbing.Hash) (all []plumbing.Hash) {
	_ = o.walk(heads, func(id plumbing.Hash, _ node) bool { // unreadable commits are left out
		if len(all) < maxHaves {
			all = append(all, id)
		}
		return len(all) < maxHaves
	})
	return all
}

// IsAncestor reports whether old is the commit of, or in its history. A missing one is not.
func (o *Objects) IsAncestor(old, of string) (bool, error) {
	if old == "" || of == "" || !o.Has(old) {
		return false, nil
	}
	ancestor, err := o.peel(plumbing.NewHash(old))
	if err != nil {
		return false, err
	}
	head, err := o.peel(plumbing.NewHash(of))
	if err != nil {
		return false, err
	}
	found := false
	err = o.walk([]plumbing.Hash{head}, func(id plumbing.Hash, _ node) bool {
		found = found || id == ancestor
		return !found
	})
	return found, err
}

// CountCommits returns how many commits in the history of until, and not in that of since,
// change a directory. A merge does when it differs from all of its parents. When since is
// "" or missing, all count. It visits at most Limits.History commits.
func (o *Objects) CountCommits(since, until, root string) (count int, err error) {
	head, err := o.peel(plumbing.NewHash(until))
	if err != nil {
		return 0, err
	}
	old := map[plumbing.Hash]bool{}
	if o.Has(since) {
		base, err := o.peel(plumbing.NewHash(since))
		if err != nil {
			return 0, err
		}
		err = o.walk([]plumbing.Hash{base}, func(id plumbing.Hash, _ node) bool {
			old[id] = true
			return len(old) < o.limits.History
		})
		if err != nil {
			return 0, err
		}
	}
	looked := 0
	var failed error
	err = o.walk([]plumbing.Hash{head}, func(id plumbing.Hash, n node) bool {
		if old[id] || looked >= o.limits.History || failed != nil {
			return false
		}
		looked++
		touched, err := o.touches(n, root)
		if touched {
			count++
		}
		failed = err
		return true
	})
	if err == nil {
		err = failed
	}
	return count, err
}

// touches reports whether the directory of a commit differs from that of each parent.
func (o *Objects) touches(n node, root string) (bool, error) {
	here, err := o.entryAt(n.tree, root)
	if err != nil {
		return false, err
	}
	for _, parent := range n.parents {
		p, err := o.commit(parent)
		if err != nil {
			return false, err
		}
		there, err := o.entryAt(p.tree, root)
		if err != nil {
			return false, err
		}
		if there == here {
			return false, nil
		}
	}
	return len(n.parents) > 0 || here != entry{}, nil
}

// entryAt returns the entry at a path of a tree; the zero entry when there is none.
func (o *Objects) entryAt(tree plumbing.Hash, path string) (entry, error) {
	at := entry{mode: dirMode, id: tree}
	for _, name := range segments(path) {
		if !at.isDir() {
			return entry{}, nil
		}
		entries, err := o.tree(at.id)
		if err != nil {
			return entry{}, err
		}
		next, ok := byName(entries)[name]
		if !ok {
			return entry{}, nil
		}
		next.name = ""
		at = next
	}
	return at, nil
}

// Resolve returns the commit whose id begins with prefix, among the histories of
// heads. None: 404; several: 422.
func (o *Objects) Resolve(prefix string, heads ...string) (string, error) {
	prefix = strings.ToLower(prefix)
	var from []plumbing.Hash
	for _, head := range heads {
		from = append(from, plumbing.NewHash(head))
	}
	var found []string
	err := o.walk(o.commitsOf(from), func(id plumbing.Hash, _ node) bool {
		if strings.HasPrefix(id.String(), prefix) {
			found = append(found, id.String())
		}
		return true
	})
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", domain.Refuse(domain.CodeNotFound, "there is no commit %s", prefix).Reason("commit_not_found")
	case len(found) > 1:
		return "", domain.Refuse(domain.CodeValidation, "%d commits begin with %s", len(found), prefix).Reason("commit_ambiguous")
	}
	return found[0], nil
}
