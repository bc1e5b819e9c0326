package gitsync

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"svc/commands/archive"
)

// WriteTree returns the tree of a commit ("": of nothing) with files put and
// removed under root. Everything else keeps its bytes, its modes and its order;
// directories that become empty go. It refuses to write through what is no
// directory, or over what is no file.
func (o *Objects) WriteTree(start, root string, put archive.Tree, remove []string) (string, error) {
	if err := put.Check(*o.limits.Tree); err != nil {
		return "", err
	}
	tree, err := o.treeOf(start)
	if err != nil {
		return "", err
	}
	change := &change{}
	for _, p := range remove {
		change.at(root, p).remove = true
	}
	for p, text := range put {
		id, err := o.write(plumbing.BlobObject, text)
		if err != nil {
			return "", err
		}
		*change.at(root, p) = leaf(id)
	}
	made, _, err := o.apply(tree, change, "")
	if err == nil && made.IsZero() {
		made, err = o.writeTree(nil)
	}
	return made.String(), err
}

// change is what happens at one path: to a file, or below a directory.
type change struct {
	put    *plumbing.Hash
	remove bool
	below  map[string]*change
}

func leaf(id plumbing.Hash) change { return change{put: &id} }

// at returns the change of a path.
func (c *change) at(root, path string) *change {
	for _, name := range append(segments(root), segments(path)...) {
		if c.below == nil {
			c.below = map[string]*change{}
		}
		if c.below[name] == nil {
			c.below[name] = &change{}
		}
		c = c.below[name]
	}
	return c
}

// puts reports whether a file is written at or below.
func (c *change) puts() bool {
	if c.put != nil {
		return true
	}
	for _, child := range c.below {
		if child.puts() {
			return true
		}
	}
	return false
}

// apply returns a tree after a change; the zero id when nothing is left in it.
func (o *Objects) apply(id plumbing.Hash, c *change, prefix string) (made plumbing.Hash, changed bool, err error) {
	entries, err := o.tree(id)
	if err != nil {
		return id, false, err
	}
	entries = slices.Clone(entries)
	for name, child := range c.below {
		next, err := o.applyEntry(entries, name, child, prefix+name)
		if err != nil {
			return id, false, err
		}
		changed = changed || !slices.Equal(next, entries)
		entries = next
	}
	switch {
	case !changed:
		return id, false, nil
	case len(entries) == 0:
		return plumbing.ZeroHash, true, nil
	}
	made, err = o.writeTree(entries)
	return made, true, err
}

// applyEntry returns the entries of a tree after the change of one of them.
func (o *Objects) applyEntry(entries []entry, name string, c *change, path string) ([]entry, error) {
	at := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
	was := entry{name: name, mode: fileMode}
	if len(c.below) > 0 {
		was.mode = dirMode
	}
	if at >= 0 {
		was = entries[at]
	}
	if c.puts() && (len(c.below) > 0) != was.isDir() || c.put != nil && was.kind() != filemode.Regular {
		return nil, unsafeTree(map[string]string{path: "is in the way: neither a file nor a directory to write to"})
	}
	now := was
	switch {
	case c.put != nil:
		now.id = *c.put
	case c.remove && !was.isDir():
		now.id = plumbing.ZeroHash
	case len(c.below) > 0 && was.isDir():
		made, changed, err := o.apply(was.id, c, path+"/")
		if err != nil || !changed {
			return entries, err
		}
		now.id = made
	}
	if now.id == was.id {
		return entries, nil
	}
	entries = slices.Clone(entries)
	switch {
	case at < 0:
		return insert(entries, now), nil
	case now.id.IsZero():
		return slices.Delete(entries, at, at+1), nil
	}
	entries[at] = now
	return entries, nil
}

// Signature is who did something, and when.
type Signature struct {
	Name, Email string
	When        time.Time
}

// encoded leaves out what would break the line that it is written in.
func (s Signature) encoded() object.Signature {
	clean := func(text string) string {
		return strings.TrimSpace(strings.Map(func(r rune) rune {
			if r == '<' || r == '>' || unicode.IsControl(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(text, "")))
	}
	return object.Signature{Name: clean(s.Name), Email: clean(s.Email), When: s.When.UTC().Truncate(time.Second)}
}

// Commit is what a commit says.
type Commit struct {
	ID                string // not read by WriteCommit
	Tree              string
	Parents           []string
	Author, Committer Signature
	Message           string
}

// WriteCommit makes a commit. The same Commit has the same id, always.
func (o *Objects) WriteCommit(c Commit) (string, error) {
	made := object.Commit{
		Author: c.Author.encoded(), Committer: c.Committer.encoded(), Message: cleanMessage(c.Message),
		TreeHash: plumbing.NewHash(c.Tree),
	}
	for _, parent := range c.Parents {
		made.ParentHashes = append(made.ParentHashes, plumbing.NewHash(parent))
	}
	encoded := &plumbing.MemoryObject{}
	if err := made.Encode(encoded); err != nil {
		return "", err
	}
	id, err := o.made.SetEncodedObject(encoded)
	return id.String(), err
}

// WriteTag makes an annotated tag of a commit.
func (o *Objects) WriteTag(name, commit string, tagger Signature, message string) (string, error) {
	made := object.Tag{
		Name: name, Tagger: tagger.encoded(), Message: cleanMessage(message), TargetType: plumbing.CommitObject,
		Target: plumbing.NewHash(commit),
	}
	encoded := &plumbing.MemoryObject{}
	if err := made.Encode(encoded); err != nil {
		return "", err
	}
	id, err := o.made.SetEncodedObject(encoded)
	return id.String(), err
}

// cleanMessage ends a message with one line feed. Git refuses NUL.
func cleanMessage(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "")
	return strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n \t") + "\n"
}

// ReadCommit returns a commit, or the one that a tag names.
func (o *Objects) ReadCommit(id string) (Commit, error) {
	at, err := o.peel(plumbing.NewHash(id))
	if err != nil {
		return Commit{}, err
	}
	c, err := object.GetCommit(o.all(), at)
	if err != nil {
		return Commit{}, unreadable("commit", at, err)
	}
	read := Commit{
		ID: at.String(), Tree: c.TreeHash.String(), Message: c.Message,
		Author:    Signature{c.Author.Name, c.Author.Email, c.Author.When},
		Committer: Signature{c.Committer.Name, c.Committer.Email, c.Committer.When},
	}
	for _, parent := range c.ParentHashes {
		read.Parents = append(read.Parents, parent.String())
	}
	return read, nil
}
