package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"

	"svc/domain"
)

// BulkName is the entry by which an archive of many workspaces is known.
const BulkName = "bulkExport.json"

// Unzip returns the managed files of an archive. A folder that all entries are in
// is taken off, whatever its name. An archive that is damaged, unsafe, beyond the
// limits, or of many workspaces, is refused whole. No more memory is used than
// the limits say; files that are not managed are not even unpacked.
func Unzip(data []byte, limits Limits) (Tree, error) {
	entries, err := openZip(data, limits)
	if err != nil {
		return nil, err
	}
	managed, err := selectManaged(entries)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(managed))
	for i, e := range managed {
		paths[i] = e.path
	}
	if err := limits.checkPaths(paths); err != nil {
		return nil, err
	}
	tree := make(Tree, len(managed))
	budget := &unpacking{limits: limits, packed: len(data)}
	for _, e := range managed {
		if tree[e.path], err = budget.unpack(e, limits.FileBytes); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// zipEntry is one file of an archive. path is its name, later without the folder
// that all have in common.
type zipEntry struct {
	*zip.File
	path string
}

var centralHeader = []byte("PK\x01\x02")

// openZip returns the entries of an archive but its folders and what macOS adds,
// all with names that lead nowhere else.
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
		return nil, damaged("is not a zip archive", err)
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
	return stripped(entries), wrong.refusal()
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

// stripped takes off the first part of all paths when it is the same.
func stripped(entries []zipEntry) []zipEntry {
	if len(entries) == 0 {
		return entries
	}
	root, _, _ := strings.Cut(entries[0].path, "/")
	for _, e := range entries {
		if !strings.HasPrefix(e.path, root+"/") {
			return entries
		}
	}
	for i := range entries {
		entries[i].path = strings.TrimPrefix(entries[i].path, root+"/")
	}
	return entries
}

// selectManaged returns the entries that belong to a workspace, and refuses an
// archive in which one of them is not what it seems.
func selectManaged(entries []zipEntry) ([]zipEntry, error) {
	var managed []zipEntry
	var paths []string
	wrong := faults{}
	for _, e := range entries {
		switch {
		case e.path == BulkName:
			return nil, domain.Refuse(domain.CodeValidation, "this is an archive of many workspaces").Reason("bulk_archive")
		case strings.HasSuffix(strings.ToLower(e.path), ".zip"):
			wrong[e.path] = "is an archive in an archive"
		case !IsManaged(e.path) && !isFolder(e.path):
		case e.Mode()&fs.ModeType != 0:
			wrong[e.path] = "is a link or another special file"
		case IsManaged(e.path):
			managed = append(managed, e)
			paths = append(paths, e.path)
		}
	}
	wrong.check(paths)
	return managed, wrong.refusal()
}

// unpacking counts what an archive unpacks to.
type unpacking struct {
	limits Limits
	packed int // size of the archive
	total  int
}

// unpack reads one entry of at most so many bytes. What the archive says about
// the size is believed when it is too large, never when it is small.
func (u *unpacking) unpack(e zipEntry, most int) ([]byte, error) {
	if e.UncompressedSize64 > uint64(most) {
		return nil, Exceeded("fileBytes", most, e.path)
	}
	r, err := e.Open()
	if err != nil {
		return nil, damaged(e.path+" cannot be unpacked", err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if len(text) > most {
		return nil, Exceeded("fileBytes", most, e.path)
	}
	if err != nil {
		return nil, damaged(e.path+" cannot be unpacked", err)
	}
	switch u.total += len(text); {
	case u.total > u.limits.TreeBytes:
		return nil, Exceeded("treeBytes", u.limits.TreeBytes, "")
	case u.total > ratioFrom && u.total/u.limits.Ratio > u.packed:
		return nil, Exceeded("ratio", u.limits.Ratio, "")
	}
	return text, nil
}

// damaged refuses an archive that cannot be read.
func damaged(what string, err error) error {
	return domain.Refuse(domain.CodeValidation, "%s: %s", what, strings.TrimPrefix(err.Error(), "zip: ")).Reason("invalid_archive")
}
