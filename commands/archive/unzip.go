package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"

	"svc/domain"
	"svc/domain/document"
)

// BulkName is the entry by which an archive of many workspaces is known.
const BulkName = "bulkExport.json"

// Unzip returns the managed files of an archive, and the paths of the others. A
// folder that the workspace is in is taken off, whatever its name. An archive that is
// damaged, unsafe, beyond the limits, or of many workspaces, is refused whole. No more
// memory is used than the limits say; files that are not managed are not even unpacked.
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
	budget := &unpacking{limits: limits, packed: len(data)}
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
		return nil, damaged("the archive is not a zip file", err)
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

// stripped takes off the folder that the workspace is in: the first part of all paths when it is the
// same, hidden files at the top left out of account; else the only folder at the top that has an
// index, when there is none beside it. What is outside of that folder is left out.
func stripped(entries []zipEntry) []zipEntry {
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
		if place, ok := Locate(file); !ok || place.Kind != document.Index {
			continue
		}
		if !inFolder || root != "" && root != top {
			return ""
		}
		root = top
	}
	return root
}

// selectManaged returns the entries that belong to a workspace and the paths of the
// others. It refuses an archive in which one of them is not what it seems.
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
