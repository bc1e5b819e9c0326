package gitsync

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // packs end with it
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"

	"svc/commands/archive"
)

// keepPack takes a pack into the store. It is written aside first, so that one
// that was cut off or is too large leaves nothing behind.
func (s *Session) keepPack(ctx context.Context, pack io.Reader) error {
	aside, err := newAside(s.store.dir)
	if err != nil {
		return err
	}
	defer aside.discard()
	limit := s.options.Limits.FetchBytes
	n, err := io.Copy(aside.file, io.LimitReader(pack, limit+1))
	switch {
	case err != nil:
		return err
	case n > limit:
		return archive.Exceeded("fetchBytes", int(limit), "")
	}
	whole, err := aside.checked(n)
	if err != nil {
		return err
	}
	if err := bounded(ctx, whole, s.options.Limits); err != nil {
		return err
	}
	if _, err := whole.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("receive pack: %w", err)
	}
	err = packfile.UpdateObjectStorage(s.store.Storer, until{ctx, whole})
	if errors.Is(err, packfile.ErrEmptyPackfile) {
		err = nil
	}
	if err != nil {
		return garbled(err, "its pack is not well formed")
	}
	return nil
}

// until reads as long as a context lives.
type until struct {
	ctx context.Context //nolint:containedctx // it lives as long as one call
	io.ReadSeeker
}

// Read implements io.Reader.
func (u until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.ReadSeeker.Read(b)
}

// aside is a file that has no name for longer than it takes to open it.
type aside struct{ file *os.File }

func newAside(dir string) (*aside, error) {
	f, err := os.CreateTemp(dir, "incoming-")
	if err != nil {
		return nil, fmt.Errorf("receive pack: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("receive pack: %w", err), f.Close())
	}
	return &aside{f}, nil
}

func (a *aside) discard() { _ = a.file.Close() } // it is gone already

// checked returns the pack from its beginning, if its sum is right: then nothing
// is missing.
func (a *aside) checked(size int64) (io.ReadSeeker, error) {
	const trailer = sha1.Size
	if size < trailer {
		return nil, io.ErrUnexpectedEOF
	}
	sum := sha1.New() //nolint:gosec // packs end with it
	if _, err := io.Copy(sum, io.NewSectionReader(a.file, 0, size-trailer)); err != nil {
		return nil, fmt.Errorf("receive pack: %w", err)
	}
	end := make([]byte, trailer)
	if _, err := a.file.ReadAt(end, size-trailer); err != nil {
		return nil, fmt.Errorf("receive pack: %w", err)
	}
	if !bytes.Equal(end, sum.Sum(nil)) {
		return nil, io.ErrUnexpectedEOF
	}
	return io.NewSectionReader(a.file, 0, size), nil
}

// packFor returns a pack of what is needed to have tips for somebody who has
// theirs.
func (o *Objects) packFor(tips []plumbing.Hash, theirs map[plumbing.Hash]bool) ([]byte, error) {
	g := &gathering{Objects: o, theirs: theirs, seen: map[plumbing.Hash]bool{}}
	for _, tip := range tips {
		if err := g.tip(tip); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	if _, err := packfile.NewEncoder(&b, o.all(), false).Encode(g.list, 0); err != nil {
		return nil, fmt.Errorf("make pack: %w", err)
	}
	return b.Bytes(), nil
}

// gathering collects the objects that the other side lacks.
type gathering struct {
	*Objects
	theirs map[plumbing.Hash]bool // refs of the other side
	older  map[plumbing.Hash]bool // their history, looked up when it is needed
	seen   map[plumbing.Hash]bool
	list   []plumbing.Hash
}

func (g *gathering) add(id plumbing.Hash) bool {
	if g.seen[id] {
		return false
	}
	g.seen[id] = true
	g.list = append(g.list, id)
	return true
}

// tip adds a tag with what it names, or a commit with its history.
func (g *gathering) tip(id plumbing.Hash) error {
	for !g.theirs[id] {
		tag, err := object.GetTag(g.all(), id)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return g.commits(id)
		}
		if err != nil {
			return fmt.Errorf("read tag %s: %w", id, err)
		}
		g.add(id)
		id = tag.Target
	}
	return nil
}

func (g *gathering) commits(id plumbing.Hash) error {
	for queue := []plumbing.Hash{id}; len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		if g.seen[id] || g.have(id) {
			continue
		}
		c, err := g.commit(id)
		if err != nil {
			return err
		}
		g.add(id)
		var before []plumbing.Hash
		for _, parent := range c.parents {
			p, err := g.commit(parent)
			if err != nil {
				return err
			}
			before = append(before, p.tree)
		}
		if err := g.trees(c.tree, before); err != nil {
			return err
		}
		queue = append(queue, c.parents...)
	}
	return nil
}

// have reports whether the other side has a commit: as a ref, or in the history
// of one that we know.
func (g *gathering) have(id plumbing.Hash) bool {
	if g.theirs[id] {
		return true
	}
	if g.older == nil {
		g.older = map[plumbing.Hash]bool{}
		var heads []plumbing.Hash
		for head := range g.theirs {
			heads = append(heads, g.commitsOf([]plumbing.Hash{head})...)
		}
		_ = g.walk(heads, func(c plumbing.Hash, _ node) bool { g.older[c] = true; return true }) // what cannot be read is sent
	}
	return g.older[id]
}

// trees adds a tree and what is in it, but for what one of the trees before has
// at the same place.
func (g *gathering) trees(id plumbing.Hash, before []plumbing.Hash) error {
	for _, b := range before {
		if b == id {
			return nil
		}
	}
	if !g.add(id) {
		return nil
	}
	entries, err := g.tree(id)
	if err != nil {
		return err
	}
	olds := make([]map[string]entry, len(before))
	for i, b := range before {
		list, err := g.tree(b)
		if err != nil {
			return err
		}
		olds[i] = byName(list)
	}
	for _, e := range entries {
		if err := g.entry(e, olds); err != nil {
			return err
		}
	}
	return nil
}

func (g *gathering) entry(e entry, olds []map[string]entry) error {
	var before []plumbing.Hash
	for _, old := range olds {
		if was, ok := old[e.name]; ok && was.kind() == e.kind() {
			if was.id == e.id {
				return nil
			}
			before = append(before, was.id)
		}
	}
	switch e.kind() {
	case filemode.Dir:
		return g.trees(e.id, before)
	case filemode.Submodule: // it is in another repository
	default:
		g.add(e.id)
	}
	return nil
}
