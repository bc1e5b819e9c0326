package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/commands/spread"
	"svc/commands/yamltext"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
)

// Tree is the managed files of one workspace: bytes by path, "/" between its
// parts.
type Tree map[string][]byte

// Paths returns the paths of t, sorted by their bytes.
func (t Tree) Paths() []string { return slices.Sorted(maps.Keys(t)) }

// Check refuses a tree that is unsafe or beyond limits.
func (t Tree) Check(limits Limits) error {
	paths := t.Paths()
	if err := CheckPaths(paths); err != nil {
		return err
	}
	if err := limits.checkPaths(paths); err != nil {
		return err
	}
	total := 0
	for _, p := range paths {
		if len(t[p]) > limits.FileBytes {
			return Exceeded("fileBytes", limits.FileBytes, p)
		}
		total += len(t[p])
	}
	if total > limits.TreeBytes {
		return Exceeded("treeBytes", limits.TreeBytes, "")
	}
	return nil
}

// checkPaths refuses managed paths that are too many, too long or too deep.
func (l Limits) checkPaths(paths []string) error {
	if len(paths) > l.Files {
		return Exceeded("files", l.Files, "")
	}
	for _, p := range paths {
		if len(p) > l.PathBytes {
			return Exceeded("pathBytes", l.PathBytes, p)
		}
		segments := strings.Split(p, "/")
		if len(segments) > l.Segments {
			return Exceeded("segments", l.Segments, p)
		}
		if slices.ContainsFunc(segments, func(s string) bool { return len(s) > l.SegmentBytes }) {
			return Exceeded("segmentBytes", l.SegmentBytes, p)
		}
	}
	return nil
}

// LocationOf returns what the file at a path of t describes, as Locate does; false also for JSON below
// pages that is no page: data and translations lie beside pages, and are kept where they are.
func (t Tree) LocationOf(file string) (Location, bool) {
	location, ok := Locate(file)
	if ok && location.Kind == document.Page && path.Ext(file) == ".json" && !isPage(t[file]) {
		return Location{}, false
	}
	return location, ok
}

// isPage reports whether JSON can be a page: it has blocks, or a name and only fields of pages.
// Invalid JSON counts as one, so that its fault is reported.
func isPage(text []byte) bool {
	v, err := yamltext.Read(text, document.FileLimits)
	if err != nil || v == nil {
		return true
	}
	doc, ok := v.(*document.Map)
	if !ok {
		return false
	}
	if _, hasBlocks := doc.Get("blocks"); hasBlocks {
		return true
	}
	_, hasName := doc.Get("name")
	return hasName && len(document.Page.Unknown(doc)) == 0
}

// Checksums returns the checksum of each object, by its place, as ImportFile
// lists them.
func (t Tree) Checksums() map[string]string {
	sums := make(map[string]string, len(t))
	for p, text := range t {
		if location, ok := t.LocationOf(p); ok {
			sums[location.String()] = Checksum(text)
		}
	}
	return sums
}

// Checksum returns the checksum of a file, which is the same whichever way its
// lines end.
func Checksum(text []byte) string {
	sum := sha256.Sum256(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Digest returns one hash over checksums: two trees with the same digest have the same content.
func Digest(checksums map[string]string) string {
	hash := sha256.New()
	for _, docPath := range slices.Sorted(maps.Keys(checksums)) {
		hash.Write([]byte(docPath + "\x00" + checksums[docPath] + "\n"))
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

// Content is what a version of a workspace contains: documents, those in folders
// by slug. Blocks are part of the index.
type Content struct {
	Index    *document.Map
	Security *document.Map // nil: not told

	Agents      map[string]*document.Map
	Automations map[string]*document.Map
	Imports     map[string]*document.Map // app instances
	Knowledge   map[string]*document.Map
	Pages       map[string]*document.Map
	Tests       map[string]*document.Map // suites
}

// folder returns the objects of a kind, to read or to set.
func (c *Content) folder(kind *document.Kind) *map[string]*document.Map {
	switch kind {
	case document.Agent:
		return &c.Agents
	case document.Automation:
		return &c.Automations
	case document.Import:
		return &c.Imports
	case document.Knowledge:
		return &c.Knowledge
	case document.Test:
		return &c.Tests
	default:
		return &c.Pages
	}
}

// Get returns the document at a place, or nil.
func (c *Content) Get(p Location) *document.Map {
	switch p.Kind {
	case document.Index:
		return c.Index
	case document.Security:
		return c.Security
	default:
		return (*c.folder(p.Kind))[p.Slug]
	}
}

// Put sets the document at a place; nil deletes it.
func (c *Content) Put(p Location, doc *document.Map) {
	switch p.Kind {
	case document.Index:
		c.Index = doc
	case document.Security:
		c.Security = doc
	default:
		objects := c.folder(p.Kind)
		if *objects == nil {
			*objects = map[string]*document.Map{}
		}
		if (*objects)[p.Slug] = doc; doc == nil {
			delete(*objects, p.Slug)
		}
	}
}

// Locations returns the places that have a document: index and security, then the
// others by path.
func (c *Content) Locations() []Location {
	var locations []Location
	for _, kind := range document.Kinds {
		if kind.Folder != "" {
			for _, slug := range slices.Sorted(maps.Keys(*c.folder(kind))) {
				locations = append(locations, Location{kind, slug})
			}
		} else if c.Get(Location{Kind: kind}) != nil {
			locations = append(locations, Location{Kind: kind})
		}
	}
	return locations
}

// Files returns the files of c: the same content gives the same bytes. It refuses
// slugs that cannot be the names of files, and what limits do not allow.
func (c *Content) Files(limits Limits) (Tree, error) {
	if c.Index == nil {
		return nil, missingIndex()
	}
	locations := c.Locations()
	texts, errs := make([][]byte, len(locations)), make([]error, len(locations))
	spread.Over(len(locations), func(i int) { texts[i], errs[i] = Text(locations[i], c.Get(locations[i])) })
	tree := Tree{}
	wrong := faults{}
	for i, p := range locations {
		if at, ok := Locate(p.Path()); !ok || at != p {
			wrong[p.Path()] = "is no path of an object"
			continue
		}
		if errs[i] != nil {
			return nil, fmt.Errorf("%s: %w", p, errs[i])
		}
		tree[p.Path()] = texts[i]
	}
	wrong.check(tree.Paths())
	if err := wrong.refusal(); err != nil {
		return nil, err
	}
	return tree, tree.Check(limits)
}

// Text returns the bytes of the file of one document. Its slug is that of its
// place, whatever the document says.
func Text(p Location, doc *document.Map) ([]byte, error) {
	if p.Kind.Folder != "" && doc.Text("slug") != p.Slug {
		doc = doc.Copy()
		doc.Set("slug", p.Slug)
	}
	return p.Kind.Text(doc)
}

// Canonical returns the text of one file as it would be written once it is imported.
// Two files with the same canonical text mean the same. It fails with a *document.Fault
// when the text cannot be read.
func Canonical(p Location, text []byte, limits document.Limits) ([]byte, error) {
	doc, err := yamltext.ReadMap(text, limits)
	if err != nil {
		return nil, err
	}
	doc, _ = shape.Correct(p.Kind, doc)
	if _, given := doc.Get("slug"); !given && p.Kind.Folder != "" {
		doc.Set("slug", p.Slug)
	}
	return p.Kind.Text(doc)
}

func missingIndex() error {
	return domain.Refuse(domain.CodeValidation, "index.yml is missing: it must be at the top of the archive, or in the one folder that holds everything").Reason("missing_index")
}

// faults are the unsafe paths of a tree, with the reasons.
type faults map[string]string

// refusal names all unsafe paths, and the reason of the first.
func (f faults) refusal() error {
	if len(f) == 0 {
		return nil
	}
	var paths []string
	var first, why string
	for p, reason := range f {
		valid := strings.ToValidUTF8(p, "\ufffd")
		paths = append(paths, valid)
		if first == "" || valid < first {
			first, why = valid, reason
		}
	}
	slices.Sort(paths)
	return domain.Refuse(domain.CodeValidation, "%q %s", first, why).Reason("unsafe_tree").With("paths", paths)
}

// CheckPaths refuses unsafe paths of managed files, and two that are the same for some file system.
func CheckPaths(paths []string) error {
	f := faults{}
	f.check(paths)
	return f.refusal()
}

func (f faults) check(paths []string) {
	seen := make(map[string]string, len(paths))
	for _, p := range paths {
		for segment := range strings.SplitSeq(p, "/") {
			if why := unsafeSegment(segment); why != "" {
				f[p] = why
				break
			}
		}
		folded := fold(p)
		if twin, ok := seen[folded]; ok {
			f[p] = "is the same as another path but for upper and lower case"
			f[twin] = f[p]
		}
		seen[folded] = p
	}
}

// unsafeSegment returns why no managed path may have this part, or "".
func unsafeSegment(s string) string {
	if why := hostileSegment(s); why != "" {
		return why
	}
	switch {
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case isGit(s):
		return "is a name of Git's own folder"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "has control characters"
	case strings.HasPrefix(s, " "), strings.HasSuffix(s, " "):
		return "has a part that begins or ends with a space"
	case strings.HasSuffix(s, "."):
		return "has a part that ends with a dot"
	default:
		return ""
	}
}

// hostileSegment returns why an archive with this segment in any name is refused, or "". Names in
// another encoding than UTF-8 are accepted: only those of documents are refused.
func hostileSegment(s string) string {
	switch {
	case s == "":
		return "is absolute or has an empty part"
	case s == ".", s == "..":
		return "has a part . or .."
	case strings.ContainsAny(s, "\\\x00"):
		return `has a \ or NUL`
	default:
		return ""
	}
}

// isGit reports whether s is .git for some file system: in any case, with characters that HFS+
// ignores, with an NTFS stream, or as a short name.
func isGit(s string) bool {
	s = strings.Map(func(r rune) rune {
		if r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return foldRune(r)
	}, s)
	s, _, _ = strings.Cut(s, ":")
	s = strings.TrimRight(s, " .")
	short, isShort := strings.CutPrefix(s, fold("git~"))
	return s == fold(".git") || isShort && len(short) == 1 && short[0] >= '0' && short[0] <= '9'
}

// fold returns one spelling for all that differ in case only.
func fold(s string) string { return strings.Map(foldRune, s) }

// foldRune returns the smallest of the runes that are r in another case.
func foldRune(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}

// ReadDirectory returns the managed files of a directory, which should be the FS of an os.Root, since
// it may change meanwhile. No link is followed. Files that are not managed are not opened.
func ReadDirectory(dir fs.FS, limits Limits) (Tree, error) {
	w := &directoryWalk{dir: dir, limits: limits, tree: Tree{}, wrong: faults{}}
	if err := fs.WalkDir(dir, ".", w.visit); err != nil {
		return nil, err
	}
	if err := w.wrong.refusal(); err != nil {
		return nil, err
	}
	if err := w.tree.Check(limits); err != nil {
		return nil, err
	}
	return w.tree, nil
}

type directoryWalk struct {
	dir    fs.FS
	limits Limits
	tree   Tree
	total  int
	wrong  faults
}

func (w *directoryWalk) visit(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	switch {
	case d.IsDir():
		if name != "." && !strings.Contains(name, "/") && !isFolder(name) {
			return fs.SkipDir
		}
		return nil
	case !IsManaged(name) && !isFolder(name):
		return nil
	case !d.Type().IsRegular():
		w.wrong[name] = "is a link or another special file"
		return nil
	case isFolder(name):
		return nil
	}
	return w.read(name)
}

func (w *directoryWalk) read(name string) error {
	if len(w.tree) >= w.limits.Files {
		return Exceeded("files", w.limits.Files, "")
	}
	f, err := w.dir.Open(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, int64(w.limits.FileBytes)+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > w.limits.FileBytes {
		return Exceeded("fileBytes", w.limits.FileBytes, name)
	}
	if w.total += len(text); w.total > w.limits.TreeBytes {
		return Exceeded("treeBytes", w.limits.TreeBytes, "")
	}
	w.tree[name] = text
	return nil
}
