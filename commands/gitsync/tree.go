package gitsync

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"svc/commands/archive"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/textdiff"
)

// entry is one entry of a tree, as it is stored: go-git normalises modes when it reads, and
// a tree that we rewrite must keep foreign entries byte by byte.
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

// kind returns the type of an entry, without its permissions.
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

// sortName is the name that Git sorts by: directories end with a slash.
func (e entry) sortName() string {
	if e.isDir() {
		return e.name + "/"
	}
	return e.name
}

// tree reads the entries of a tree. The zero id is the empty tree.
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

// write stores a made object, unless it was fetched before.
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

// insert inserts an entry in the order of Git, and keeps the order of the others.
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

// Files are the files of a workspace at one commit.
type Files struct {
	// Managed are the documents.
	Managed archive.Tree
	// Unmanaged are the others, by path: mode and id, which change when a byte of
	// them does. A directory without managed files is one entry that ends in "/".
	Unmanaged map[string]string
}

// ReadTree returns the files under root at a commit, tag or tree; none at "". It refuses a
// tree with unsafe managed paths, and names all of them. Nothing else is read.
func (o *Objects) ReadTree(at, root string) (*Files, error) {
	l, err := o.list(at, root)
	if err != nil {
		return nil, err
	}
	files := &Files{Managed: archive.Tree{}, Unmanaged: map[string]string{}}
	total := 0
	for _, p := range l.paths {
		text, err := o.blob(l.managed[p].id, p)
		if err != nil {
			return nil, err
		}
		if total += len(text); total > o.limits.Tree.TreeBytes {
			return nil, archive.Exceeded("treeBytes", o.limits.Tree.TreeBytes, "")
		}
		files.Managed[p] = text
	}
	for p, e := range l.unmanaged {
		files.Unmanaged[p] = e.mode + " " + e.id.String()
	}
	return files, files.Managed.Check(*o.limits.Tree)
}

// listing lists the entries under a root, before any file is read.
type listing struct {
	objects   *Objects
	managed   map[string]entry
	unmanaged map[string]entry
	paths     []string // of managed files
	unsafe    map[string]string
	entries   int
}

func (o *Objects) list(at, root string) (*listing, error) {
	tree, err := o.treeOf(at)
	if err != nil {
		return nil, err
	}
	l := &listing{objects: o, managed: map[string]entry{}, unmanaged: map[string]entry{}, unsafe: map[string]string{}}
	top, err := o.entryAt(tree, root)
	switch {
	case err != nil:
		return nil, err
	case top == entry{}:
		return l, nil
	case !top.isDir():
		return nil, unsafeTree(map[string]string{root: "is not a directory"})
	}
	if err := l.walk(top.id, ""); err != nil {
		return nil, err
	}
	return l, l.check()
}

// walk lists a directory: the root, or one below a folder of managed files.
func (l *listing) walk(id plumbing.Hash, prefix string) error {
	limits := l.objects.limits.Tree
	if strings.Count(prefix, "/") >= limits.Segments {
		return archive.Exceeded("segments", limits.Segments, strings.ToValidUTF8(prefix, "\ufffd"))
	}
	entries, err := l.objects.tree(id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if l.entries++; l.entries > limits.Entries {
			return archive.Exceeded("entries", limits.Entries, "")
		}
		if err := l.visit(prefix+e.name, e, prefix != ""); err != nil {
			return err
		}
	}
	return nil
}

// visit adds one entry. inside says that it is in a folder of managed files.
func (l *listing) visit(p string, e entry, inside bool) error {
	managed := archive.IsManaged(p)
	switch kind := e.kind(); {
	case managed && strings.Contains(e.name, "/"):
		l.unsafe[p] = "has a / in a name"
	case kind == filemode.Dir && (inside || isFolder(p)):
		return l.walk(e.id, p+"/")
	case kind == filemode.Dir:
		l.unmanaged[p+"/"] = e
	case kind == filemode.Regular && managed:
		if len(l.paths) >= l.objects.limits.Tree.Files {
			return archive.Exceeded("files", l.objects.limits.Tree.Files, "")
		}
		l.managed[p], l.paths = e, append(l.paths, p)
	case kind != filemode.Regular && (managed || isFolder(p) || inside && path.Ext(p) == ""):
		l.unsafe[p] = "is a link, a submodule or another special file"
	default:
		l.unmanaged[p] = e
	}
	return nil
}

// isFolder reports whether a path is a folder of managed files.
func isFolder(p string) bool {
	return p != "" && slices.ContainsFunc(document.Kinds, func(k *document.Kind) bool { return k.Folder == p })
}

// check refuses unsafe paths, all at once.
func (l *listing) check() error {
	if refusal, ok := errors.AsType[*domain.Error](archive.CheckPaths(l.paths)); ok {
		paths, _ := refusal.Details["paths"].([]string)
		for _, p := range paths {
			l.unsafe[p] = "has an unsafe name, or is another path in upper or lower case"
		}
	}
	if len(l.unsafe) > 0 {
		return unsafeTree(l.unsafe)
	}
	slices.Sort(l.paths)
	return nil
}

// unsafeTree is the refusal of unsafe paths; its message has the reason of the first.
func unsafeTree(reasons map[string]string) error {
	paths := slices.Sorted(maps.Keys(reasons))
	printable := make([]string, len(paths))
	for i, p := range paths {
		printable[i] = strings.ToValidUTF8(p, "\ufffd")
	}
	return domain.Refuse(domain.CodeValidation, "%q %s", printable[0], reasons[paths[0]]).Reason("unsafe_tree").With("paths", printable)
}

// Directories lists the directories directly under root at a commit, sorted.
func (o *Objects) Directories(at, root string) ([]string, error) {
	tree, err := o.treeOf(at)
	if err != nil {
		return nil, err
	}
	top, err := o.entryAt(tree, root)
	if err != nil || top == (entry{}) || !top.isDir() {
		return nil, err
	}
	entries, err := o.tree(top.id)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.kind() == filemode.Dir {
			names = append(names, e.name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// ReadFile returns one file at a commit; ok is false when there is none.
func (o *Objects) ReadFile(at, path string) (text []byte, ok bool, err error) {
	tree, err := o.treeOf(at)
	if err != nil {
		return nil, false, err
	}
	e, err := o.entryAt(tree, path)
	switch {
	case err != nil || e == (entry{}):
		return nil, false, err
	case e.kind() != filemode.Regular:
		return nil, false, archive.CheckPaths([]string{path})
	}
	text, err = o.blob(e.id, path)
	return text, err == nil, err
}

// WriteTree returns the tree of a commit ("": the empty tree) with files put and removed
// under root. Everything else keeps its bytes, modes and order; empty directories are
// removed. It refuses to replace anything but a file, or to write below anything but a
// directory.
func (o *Objects) WriteTree(start, root string, put archive.Tree, remove []string) (string, error) {
	if err := put.Check(*o.limits.Tree); err != nil {
		return "", err
	}
	tree, err := o.treeOf(start)
	if err != nil {
		return "", err
	}
	changes := &change{}
	for _, p := range remove {
		changes.at(root, p).remove = true
	}
	for p, text := range put {
		id, err := o.write(plumbing.BlobObject, text)
		if err != nil {
			return "", err
		}
		*changes.at(root, p) = change{put: &id}
	}
	made, _, err := o.apply(tree, changes, "")
	if err == nil && made.IsZero() {
		made, err = o.writeTree(nil)
	}
	return made.String(), err
}

// change is the change at one path: of a file, or below a directory.
type change struct {
	put    *plumbing.Hash
	remove bool
	below  map[string]*change
}

// at returns the change at a path.
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

// apply returns a tree after a change; the zero id when it becomes empty.
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

// Signature is the author or committer, and the time.
type Signature struct {
	Name, Email string
	When        time.Time
}

// encoded removes characters that would break the line in the commit.
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

// Commit is the content of a commit.
type Commit struct {
	ID                string // not read by WriteCommit
	Tree              string
	Parents           []string
	Author, Committer Signature
	Message           string
}

// WriteCommit stores a commit. The same Commit always has the same id.
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

// WriteTag stores an annotated tag of a commit.
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

// Changes are the managed files under a directory that differ between two
// commits, sorted. Files has all of them.
type Changes struct {
	Files      []string       `json:"files"`
	Created    []string       `json:"created"`
	Deleted    []string       `json:"deleted"`
	Insertions map[string]int `json:"insertions"` // lines, by file
	Deletions  map[string]int `json:"deletions"`
	Summary    Summary        `json:"summary"`
}

// Summary counts Changes: files, inserted lines, deleted lines.
type Summary struct {
	Changes    int `json:"changes"`
	Insertions int `json:"insertions"`
	Deletions  int `json:"deletions"`
}

// Diff compares the managed files under root at two commits, tags or trees; ""
// has none. Files that are the same are not read.
func (o *Objects) Diff(before, after, root string) (Changes, error) {
	d := noChanges()
	old, err := o.list(before, root)
	if err != nil {
		return d, err
	}
	now, err := o.list(after, root)
	if err != nil {
		return d, err
	}
	all := maps.Clone(old.managed)
	maps.Copy(all, now.managed)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		a, existed := old.managed[p]
		b, exists := now.managed[p]
		if a.id == b.id {
			continue
		}
		if err := o.compare(&d, p, a, b); err != nil {
			return d, err
		}
		d.mark(p, existed, exists)
	}
	return d, nil
}

// Compare is Diff for files that are in no commit.
func Compare(before, after archive.Tree) Changes {
	d := noChanges()
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, p := range all.Paths() {
		a, existed := before[p]
		b, exists := after[p]
		if existed != exists || !bytes.Equal(a, b) {
			d.count(p, a, b)
			d.mark(p, existed, exists)
		}
	}
	return d
}

func noChanges() Changes {
	return Changes{Files: []string{}, Created: []string{}, Deleted: []string{}, Insertions: map[string]int{}, Deletions: map[string]int{}}
}

// mark records whether a changed file was created or deleted.
func (d *Changes) mark(path string, existed, exists bool) {
	switch {
	case !existed:
		d.Created = append(d.Created, path)
	case !exists:
		d.Deleted = append(d.Deleted, path)
	}
}

// count records a changed file and its lines.
func (d *Changes) count(path string, before, after []byte) {
	added, removed := textdiff.Stats(before, after)
	d.Files = append(d.Files, path)
	d.Insertions[path], d.Deletions[path] = added, removed
	d.Summary.Insertions += added
	d.Summary.Deletions += removed
	d.Summary.Changes++
}

func (o *Objects) compare(d *Changes, path string, a, b entry) error {
	var texts [2][]byte
	for i, e := range []entry{a, b} {
		if e.id.IsZero() {
			continue
		}
		text, err := o.blob(e.id, path)
		if err != nil {
			return err
		}
		texts[i] = text
	}
	d.count(path, texts[0], texts[1])
	return nil
}
