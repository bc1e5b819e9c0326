package gitsync

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"io/fs"

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

// node is a commit as far as walks go.
type node struct {
	tree    plumbing.Hash
	parents []plumbing.Hash
	when    int64
}

func newObjects(s *store, limits Limits) *Objects {
	return &Objects{store: s, made: memory.NewStorage(), limits: limits, nodes: map[plumbing.Hash]node{}}
}

// all is what was fetched and what was made.
func (o *Objects) all() storer.EncodedObjectStorer {
	return transactional.NewObjectStorage(o.store.Storer, o.made)
}

// forget is for a store that began anew.
func (o *Objects) forget() { o.nodes = map[plumbing.Hash]node{} }

// Has reports whether an object is here: fetched before, or made.
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

// unreadable says which object could not be read. One that is not here was never
// fetched, or is not in the repository any more; a cache that somebody deleted is
// fetched anew by the next operation.
func unreadable(kind string, id plumbing.Hash, err error) error {
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return domain.Refuse(domain.CodeNotFound, "there is no %s %s", kind, id).Reason("object_not_found").With("id", id.String())
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, dotgit.ErrPackfileNotFound) {
		return domain.Refuse(domain.CodeUnavailable, "the cache of the repository was deleted meanwhile: try again").Reason("interrupted")
	}
	return fmt.Errorf("read %s %s: %w", kind, id, err)
}

// commitsOf follows annotated tags to what they name. What is not here is left
// out.
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

// treeOf returns the tree of a commit, a tag or a tree; the empty tree of
// nothing.
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

// blob reads a file of at most limit bytes; path is for the refusal of a larger
// one. Its size is looked at before and while it is read.
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

// walk visits commits and what came before them, the newest first. Where visit
// returns false it goes no further.
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
