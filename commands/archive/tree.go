package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"

	"svc/commands/yamltext"
	"svc/domain/document"
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

// PlaceOf returns what the file at a path of t describes, as Locate does; false also for JSON below
// pages that is no page: data and translations lie beside pages, and are kept where they are.
func (t Tree) PlaceOf(file string) (Place, bool) {
	place, ok := Locate(file)
	if ok && place.Kind == document.Page && path.Ext(file) == ".json" && !isPage(t[file]) {
		return Place{}, false
	}
	return place, ok
}

// isPage reports whether JSON can be a page: it has blocks, or a name and nothing that pages do not
// have. What cannot be read is taken for one, so that its fault is reported.
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
		if place, ok := t.PlaceOf(p); ok {
			sums[place.String()] = Checksum(text)
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

// Digest returns one hash over checksums: two trees with the same digest say the
// same.
func Digest(checksums map[string]string) string {
	hash := sha256.New()
	for _, place := range slices.Sorted(maps.Keys(checksums)) {
		hash.Write([]byte(place + "\x00" + checksums[place] + "\n"))
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}
