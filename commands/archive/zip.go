package archive

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/document"
)

// zipRoot is the folder that all files of an exported workspace are in, whatever
// the version.
const zipRoot = "current/"

// WriteZip writes a tree as an archive: the same tree gives the same bytes. w is
// left open.
func (t Tree) WriteZip(w io.Writer) error {
	entries := make(map[string][]byte, len(t))
	for p, text := range t {
		entries[zipRoot+p] = text
	}
	return writeStored(w, entries)
}

// writeStored writes entries sorted by name, uncompressed and without times, so that the bytes do not
// depend on the version of a compressor.
func writeStored(w io.Writer, entries map[string][]byte) error {
	z := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		text := entries[name]
		header := &zip.FileHeader{
			Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(text),
			CompressedSize64: uint64(len(text)), UncompressedSize64: uint64(len(text)),
			ReaderVersion: 20, Flags: utf8Flag,
		}
		header.ModifiedDate = 1<<5 | 1 //nolint:staticcheck // 1980-01-01; Modified is not looked at when an entry is written raw
		header.SetMode(fs.FileMode(0o644))
		entry, err := z.CreateRaw(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(text); err != nil {
			return err
		}
	}
	return z.Close()
}

// Bits of the flags of an entry.
const (
	encryptedFlags = 1<<0 | 1<<6 | 1<<13
	utf8Flag       = 1 << 11
)

// BulkName is the entry that only an archive of many workspaces has.
const BulkName = "bulkExport.json"

// Unzip returns the managed files of an archive, and the paths of the others. The folder of the
// workspace is removed from paths. An archive that is damaged, unsafe, beyond the limits, or of many
// workspaces, is refused. Memory is bounded by the limits; files that are not managed are not
// unpacked.
func Unzip(data []byte, limits Limits) (tree Tree, others []string, err error) {
	entries, err := openZip(data, limits)
	if err != nil {
		return nil, nil, err
	}
	managed, others, err := selectManaged(entries)
	if err != nil {
		return nil, nil, err
	}
	paths := make([]string, len(managed))
	for i, e := range managed {
		paths[i] = e.path
	}
	if err := limits.checkPaths(paths); err != nil {
		return nil, nil, err
	}
	tree = make(Tree, len(managed))
	budget := &unpackState{limits: limits, packed: len(data)}
	for _, e := range managed {
		if tree[e.path], err = budget.unpack(e, limits.FileBytes); err != nil {
			return nil, nil, err
		}
	}
	return tree, others, nil
}

// zipEntry is one file of an archive. path is its name, later without the folder
// that all have in common.
type zipEntry struct {
	*zip.File
	path string
}

var centralHeader = []byte("PK\x01\x02")

// openZip returns the entries of an archive, without folders and files of macOS. Unsafe names are
// refused.
func openZip(data []byte, limits Limits) ([]zipEntry, error) {
	if len(data) > limits.ArchiveBytes {
		return nil, Exceeded("archiveBytes", limits.ArchiveBytes, "")
	}
	// The reader makes a record of each entry before it can be asked how many
	// there are.
	if bytes.Count(data, centralHeader) > limits.Entries {
		return nil, Exceeded("entries", limits.Entries, "")
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, damagedError("the archive is not a zip file", err)
	}
	var entries []zipEntry
	seen := make(map[string]bool, len(z.File))
	wrong := faults{}
	for _, f := range z.File {
		if why := hostileEntry(f, seen); why != "" {
			wrong[f.Name] = why
			continue
		}
		if !strings.HasSuffix(f.Name, "/") && !strings.HasPrefix(f.Name, "__MACOSX/") {
			entries = append(entries, zipEntry{f, f.Name})
		}
	}
	return stripFolder(entries), wrong.refusal()
}

// hostileEntry returns why an archive with this entry is refused, or "".
func hostileEntry(f *zip.File, seen map[string]bool) string {
	name := strings.TrimSuffix(f.Name, "/")
	for segment := range strings.SplitSeq(name, "/") {
		if why := hostileSegment(segment); why != "" {
			return why
		}
	}
	if seen[name] {
		return "is there twice"
	}
	seen[name] = true
	if f.Flags&encryptedFlags != 0 {
		return "is encrypted"
	}
	return ""
}

// stripFolder removes the folder of the workspace from paths: the first segment of all paths, hidden
// files at the top aside; else the only folder at the top with an index, when there is no index at
// the top. Entries outside of that folder are left out.
func stripFolder(entries []zipEntry) []zipEntry {
	root := commonRoot(entries)
	if root == "" {
		root = onlyIndex(entries)
	}
	if root == "" {
		return entries
	}
	var inside []zipEntry
	for _, e := range entries {
		if path, ok := strings.CutPrefix(e.path, root+"/"); ok {
			inside = append(inside, zipEntry{e.File, path})
		}
	}
	return inside
}

// commonRoot returns the folder that all entries are in, "" when there is none.
func commonRoot(entries []zipEntry) (root string) {
	for _, e := range entries {
		top, _, inFolder := strings.Cut(e.path, "/")
		switch {
		case !inFolder && strings.HasPrefix(top, "."):
		case !inFolder, root != "" && top != root:
			return ""
		default:
			root = top
		}
	}
	return root
}

// onlyIndex returns the only folder at the top that has an index, "" when there is none or more than
// one, or an index at the top.
func onlyIndex(entries []zipEntry) (root string) {
	for _, e := range entries {
		top, file, inFolder := strings.Cut(e.path, "/")
		if !inFolder {
			file = top
		}
		if location, ok := Locate(file); !ok || location.Kind != document.Index {
			continue
		}
		if !inFolder || root != "" && root != top {
			return ""
		}
		root = top
	}
	return root
}

// selectManaged returns the managed entries and the paths of the others. It refuses special files.
func selectManaged(entries []zipEntry) (managed []zipEntry, others []string, err error) {
	var paths []string
	wrong := faults{}
	for _, e := range entries {
		switch {
		case e.path == BulkName:
			return nil, nil, domain.Refuse(domain.CodeValidation, "this is an archive of many workspaces").Reason("bulk_archive")
		case strings.HasSuffix(strings.ToLower(e.path), ".zip"):
			wrong[e.path] = "is an archive in an archive"
		case !IsManaged(e.path) && !isFolder(e.path):
			others = append(others, e.path)
		case e.Mode()&fs.ModeType != 0:
			wrong[e.path] = "is a link or another special file"
		case IsManaged(e.path):
			managed = append(managed, e)
			paths = append(paths, e.path)
		}
	}
	wrong.check(paths)
	return managed, others, wrong.refusal()
}

// unpackState counts the unpacked bytes of an archive.
type unpackState struct {
	limits Limits
	packed int // size of the archive
	total  int
}

// unpack reads one entry of at most so many bytes. A declared size that is too large is refused; a
// small one is not trusted.
func (u *unpackState) unpack(e zipEntry, most int) ([]byte, error) {
	if e.UncompressedSize64 > uint64(most) {
		return nil, Exceeded("fileBytes", most, e.path)
	}
	r, err := e.Open()
	if err != nil {
		return nil, damagedError(e.path+" cannot be unpacked", err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if len(text) > most {
		return nil, Exceeded("fileBytes", most, e.path)
	}
	if err != nil {
		return nil, damagedError(e.path+" cannot be unpacked", err)
	}
	switch u.total += len(text); {
	case u.total > u.limits.TreeBytes:
		return nil, Exceeded("treeBytes", u.limits.TreeBytes, "")
	case u.total > ratioFrom && u.total/u.limits.Ratio > u.packed:
		return nil, Exceeded("ratio", u.limits.Ratio, "")
	}
	return text, nil
}

// damagedError is the refusal of an archive that cannot be read.
func damagedError(what string, err error) error {
	return domain.Refuse(domain.CodeValidation, "%s: %s", what, strings.TrimPrefix(err.Error(), "zip: ")).Reason("invalid_archive")
}

// Bulk is an archive of many workspaces.
type Bulk struct {
	WorkspaceIDs []string  // in the order in which they can be imported
	PublishApps  []BulkApp // the apps to publish after it
	Archives     map[string][]byte
}

// BulkApp is an app that one of the workspaces publishes.
type BulkApp struct {
	WorkspaceID string `json:"workspaceId"`
	Slug        string `json:"slug"`
	Name        string `json:"name,omitempty"`
}

// bulkIndex is the file BulkName.
type bulkIndex struct {
	WorkspaceIDs []string  `json:"workspaceIds"`
	PublishApps  []BulkApp `json:"publishApps"`
}

func bulkEntry(id string) string { return "workspaces/" + id + ".zip" }

// WriteZip writes the archive: the same workspaces give the same bytes. w is left
// open.
func (b Bulk) WriteZip(w io.Writer) error {
	index := bulkIndex{WorkspaceIDs: b.WorkspaceIDs, PublishApps: b.PublishApps}
	if index.WorkspaceIDs == nil {
		index.WorkspaceIDs = []string{}
	}
	if index.PublishApps == nil {
		index.PublishApps = []BulkApp{}
	}
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	entries := map[string][]byte{BulkName: append(text, '\n')}
	for id, archive := range b.Archives {
		entries[bulkEntry(id)] = archive
	}
	return writeStored(w, entries)
}

// IsBulk reports whether an archive is one of many workspaces. An archive that
// cannot be read is not.
func IsBulk(data []byte, limits Limits) bool {
	entries, err := openZip(data, limits.bulk())
	return err == nil && slices.ContainsFunc(entries, func(e zipEntry) bool { return e.path == BulkName })
}

// bulk returns the limits of the archive around the archives.
func (l Limits) bulk() Limits {
	l.Entries *= 4 // the entries of the archives inside are counted too
	l.TreeBytes = l.ArchiveBytes
	return l
}

// ReadBulk returns the archives in an archive of many workspaces. They are still
// to be read with Unzip, one after the other.
func ReadBulk(data []byte, limits Limits) (Bulk, error) {
	entries, err := openZip(data, limits.bulk())
	if err != nil {
		return Bulk{}, err
	}
	byPath := make(map[string]zipEntry, len(entries))
	for _, e := range entries {
		byPath[e.path] = e
	}
	u := &unpackState{limits: limits.bulk(), packed: len(data)}
	index, err := u.bulkIndex(byPath)
	if err != nil {
		return Bulk{}, err
	}
	if len(index.WorkspaceIDs) > limits.Workspaces {
		return Bulk{}, Exceeded("workspaces", limits.Workspaces, "")
	}
	b := Bulk{WorkspaceIDs: index.WorkspaceIDs, PublishApps: index.PublishApps, Archives: map[string][]byte{}}
	for _, id := range index.WorkspaceIDs {
		e, ok := byPath[bulkEntry(id)]
		if _, twice := b.Archives[id]; !ok || twice || strings.Contains(id, "/") {
			return Bulk{}, damagedError(BulkName, errors.New("the workspace "+id+" is missing or named twice"))
		}
		if b.Archives[id], err = u.unpack(e, limits.ArchiveBytes); err != nil {
			return Bulk{}, err
		}
	}
	return b, nil
}

func (u *unpackState) bulkIndex(entries map[string]zipEntry) (index bulkIndex, err error) {
	e, ok := entries[BulkName]
	if !ok {
		return index, damagedError("is no archive of many workspaces", errors.New(BulkName+" is missing"))
	}
	text, err := u.unpack(e, u.limits.FileBytes)
	if err != nil {
		return index, err
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return index, damagedError(BulkName, err)
	}
	return index, nil
}
