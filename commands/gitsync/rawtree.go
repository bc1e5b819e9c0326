package gitsync

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"svc/commands/archive"
	"svc/domain"
)

// entry is one line of a tree, as it is stored: go-git tidies modes up on the way
// in, and a tree that we rewrite must keep what is not ours byte by byte.
type entry struct {
	mode string
	name string
	id   plumbing.Hash
}

const (
	dirMode  = "40000"
	fileMode = "100644"
	maxTree  = 16 << 20 // bytes of one tree
)

// kind is what an entry is, whatever its permissions.
func (e entry) kind() filemode.FileMode {
	mode, err := strconv.ParseUint(e.mode, 8, 32)
	if err != nil {
		return filemode.Empty
	}
	switch mode & 0o170000 {
	case 0o040000:
		return filemode.Dir
	case 0o100000:
		return filemode.Regular
	case 0o120000:
		return filemode.Symlink
	case 0o160000:
		return filemode.Submodule
	}
	return filemode.Empty
}

func (e entry) isDir() bool { return e.kind() == filemode.Dir }

// sortName is how Git compares: as if directories ended with a slash.
func (e entry) sortName() string {
	if e.isDir() {
		return e.name + "/"
	}
	return e.name
}

// tree reads the entries of a tree. The zero id is the tree of nothing.
func (o *Objects) tree(id plumbing.Hash) ([]entry, error) {
	if id.IsZero() {
		return nil, nil
	}
	encoded, err := o.all().EncodedObject(plumbing.TreeObject, id)
	if err != nil {
		return nil, unreadable("tree", id, err)
	}
	if encoded.Size() > maxTree {
		return nil, archive.Exceeded("treeObjectBytes", maxTree, "")
	}
	r, err := encoded.Reader()
	if err != nil {
		return nil, unreadable("tree", id, err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxTree+1))
	if err != nil {
		return nil, unreadable("tree", id, err)
	}
	entries, err := parseTree(text)
	if err != nil {
		return nil, domain.Refuse(domain.CodeUnavailable, "the tree %s of the remote is broken: %s", id, err).Reason("remote_protocol_error")
	}
	return entries, nil
}

func parseTree(text []byte) (entries []entry, err error) {
	for len(text) > 0 {
		mode, rest, ok := bytes.Cut(text, []byte(" "))
		if !ok {
			return nil, errors.New("an entry has no mode")
		}
		name, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok || len(name) == 0 || len(rest) < len(plumbing.Hash{}) {
			return nil, errors.New("an entry is cut off")
		}
		e := entry{mode: string(mode), name: string(name)}
		text = rest[copy(e.id[:], rest):]
		entries = append(entries, e)
	}
	return entries, nil
}

// writeTree stores a tree.
func (o *Objects) writeTree(entries []entry) (plumbing.Hash, error) {
	var b bytes.Buffer
	for _, e := range entries {
		b.WriteString(e.mode + " " + e.name + "\x00")
		b.Write(e.id[:])
	}
	return o.write(plumbing.TreeObject, b.Bytes())
}

// write stores an object that is made here. One that was fetched is not stored
// twice: its bytes are the same.
func (o *Objects) write(kind plumbing.ObjectType, content []byte) (plumbing.Hash, error) {
	id := plumbing.ComputeHash(kind, content)
	if o.all().HasEncodedObject(id) == nil {
		return id, nil
	}
	object := &plumbing.MemoryObject{}
	object.SetType(kind)
	if _, err := object.Write(content); err != nil {
		return id, err
	}
	return o.made.SetEncodedObject(object)
}

// insert puts an entry where it belongs and leaves the order of the others as it
// is.
func insert(entries []entry, e entry) []entry {
	at := slices.IndexFunc(entries, func(other entry) bool { return other.sortName() > e.sortName() })
	if at < 0 {
		at = len(entries)
	}
	return slices.Insert(entries, at, e)
}

func byName(entries []entry) map[string]entry {
	m := make(map[string]entry, len(entries))
	for _, e := range entries {
		m[e.name] = e
	}
	return m
}

func segments(path string) []string {
	if path = strings.Trim(path, "/"); path == "" {
		return nil
	}
	return strings.Split(path, "/")
}
