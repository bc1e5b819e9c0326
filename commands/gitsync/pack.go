package gitsync

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
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

// storePack stores the objects of a pack. The pack is written to a temporary file first, so
// that an incomplete or too large one leaves nothing behind.
func (s *Session) storePack(ctx context.Context, pack io.Reader) error {
	aside, err := newTempPack(s.store.dir)
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
	whole, err := aside.verified(n)
	if err != nil {
		return err
	}
	if err := checkPackSize(ctx, whole, s.options.Limits); err != nil {
		return err
	}
	if _, err := whole.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("receive pack: %w", err)
	}
	err = packfile.UpdateObjectStorage(s.store.Storer, contextReader{ctx, whole})
	if errors.Is(err, packfile.ErrEmptyPackfile) {
		err = nil
	}
	if err != nil {
		return newProtocolError(err, "its pack is not well formed")
	}
	return nil
}

// contextReader reads until a context ends.
type contextReader struct {
	ctx context.Context //nolint:containedctx // it lives as long as one call
	io.ReadSeeker
}

// Read implements io.Reader.
func (u contextReader) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.ReadSeeker.Read(b)
}

// tempPack is a temporary file that is deleted as soon as it is open.
type tempPack struct{ file *os.File }

func newTempPack(dir string) (*tempPack, error) {
	f, err := os.CreateTemp(dir, "incoming-")
	if err != nil {
		return nil, fmt.Errorf("receive pack: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("receive pack: %w", err), f.Close())
	}
	return &tempPack{f}, nil
}

func (a *tempPack) discard() { _ = a.file.Close() } // it is gone already

// verified returns the pack from its beginning, if its checksum is right.
func (a *tempPack) verified(size int64) (io.ReadSeeker, error) {
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

// packFor returns a pack of the objects of tips that a remote with the refs theirs lacks.
func (o *Objects) packFor(tips []plumbing.Hash, theirs map[plumbing.Hash]bool) ([]byte, error) {
	g := &packBuilder{Objects: o, theirs: theirs, seen: map[plumbing.Hash]bool{}}
	for _, tip := range tips {
		if err := g.addTip(tip); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	if _, err := packfile.NewEncoder(&b, o.all(), false).Encode(g.list, 0); err != nil {
		return nil, fmt.Errorf("make pack: %w", err)
	}
	return b.Bytes(), nil
}

// packBuilder collects the objects that the remote lacks.
type packBuilder struct {
	*Objects
	theirs map[plumbing.Hash]bool // refs of the remote
	older  map[plumbing.Hash]bool // their history, read when it is needed
	seen   map[plumbing.Hash]bool
	list   []plumbing.Hash
}

func (g *packBuilder) add(id plumbing.Hash) bool {
	if g.seen[id] {
		return false
	}
	g.seen[id] = true
	g.list = append(g.list, id)
	return true
}

// addTip adds a tag with its target, or a commit with its history.
func (g *packBuilder) addTip(id plumbing.Hash) error {
	for !g.theirs[id] {
		tag, err := object.GetTag(g.all(), id)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return g.addCommits(id)
		}
		if err != nil {
			return fmt.Errorf("read tag %s: %w", id, err)
		}
		g.add(id)
		id = tag.Target
	}
	return nil
}

func (g *packBuilder) addCommits(id plumbing.Hash) error {
	for queue := []plumbing.Hash{id}; len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		if g.seen[id] || g.hasCommit(id) {
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
		if err := g.addTree(c.tree, before); err != nil {
			return err
		}
		queue = append(queue, c.parents...)
	}
	return nil
}

// hasCommit reports whether the remote has a commit: as a ref, or in the history of one
// that was fetched.
func (g *packBuilder) hasCommit(id plumbing.Hash) bool {
	if g.theirs[id] {
		return true
	}
	if g.older == nil {
		g.older = map[plumbing.Hash]bool{}
		var heads []plumbing.Hash
		for head := range g.theirs {
			heads = append(heads, g.commitsOf([]plumbing.Hash{head})...)
		}
		_ = g.walk(heads, func(c plumbing.Hash, _ node) bool { g.older[c] = true; return true }) // unreadable commits are sent
	}
	return g.older[id]
}

// addTree adds a tree and its entries, except those that one of the trees before has at
// the same place.
func (g *packBuilder) addTree(id plumbing.Hash, before []plumbing.Hash) error {
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
		if err := g.addEntry(e, olds); err != nil {
			return err
		}
	}
	return nil
}

func (g *packBuilder) addEntry(e entry, olds []map[string]entry) error {
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
		return g.addTree(e.id, before)
	case filemode.Submodule: // it is in another repository
	default:
		g.add(e.id)
	}
	return nil
}

// maxObjects bounds the objects of a pack: each takes memory, however small it is.
const maxObjects = 1_000_000

// checkPackSize refuses a pack with too many objects, an object that is too large, or too
// many bytes in all. Objects are unpacked in memory, and a small pack can hold a large one.
func checkPackSize(ctx context.Context, pack io.Reader, limits Limits) error {
	scanner := packfile.NewScanner(pack)
	_, count, err := scanner.Header()
	if errors.Is(err, packfile.ErrEmptyPackfile) {
		return nil
	}
	if count > maxObjects {
		return archive.Exceeded("objects", maxObjects, "")
	}
	most := max(maxPackRatio*limits.FetchBytes, maxPackRatio*limits.ObjectBytes)
	for i, total := uint32(0), int64(0); err == nil && i < count; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var size int64
		size, err = nextObjectSize(scanner, limits.ObjectBytes)
		if total += size; total > most {
			return archive.Exceeded("unpackedBytes", int(most), "")
		}
	}
	if errors.Is(err, errTooLarge) {
		return archive.Exceeded("objectBytes", int(limits.ObjectBytes), "")
	}
	if err != nil {
		return newProtocolError(err, "its pack is not well formed")
	}
	return nil
}

// maxPackRatio is the largest ratio of unpacked bytes to bytes of a pack.
const maxPackRatio = 8

var errTooLarge = errors.New("gitsync: an object is too large")

func nextObjectSize(scanner *packfile.Scanner, limit int64) (size int64, err error) {
	header, err := scanner.NextObjectHeader()
	if err != nil {
		return 0, err
	}
	if header.Length > limit {
		return 0, errTooLarge
	}
	w := &sizeCounter{limit: limit}
	if _, _, err := scanner.NextObject(w); err != nil {
		return 0, err
	}
	if header.Type != plumbing.OFSDeltaObject && header.Type != plumbing.REFDeltaObject {
		return w.n, nil
	}
	_, n := binary.Uvarint(w.head) // the size of the base of the delta
	if n <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	made, n := binary.Uvarint(w.head[n:])
	if n <= 0 || made > uint64(limit) {
		return 0, errTooLarge
	}
	return w.n + int64(made), nil
}

// sizeCounter counts bytes, and stores the first ones.
type sizeCounter struct {
	limit, n int64
	head     []byte
}

// Write implements io.Writer.
func (w *sizeCounter) Write(b []byte) (int, error) {
	if w.n += int64(len(b)); w.n > w.limit {
		return 0, errTooLarge
	}
	w.head = append(w.head, b[:min(len(b), 2*binary.MaxVarintLen64-len(w.head))]...)
	return len(b), nil
}
