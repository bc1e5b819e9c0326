package gitsync

import (
	"bytes"
	"maps"
	"slices"

	"svc/commands/archive"
	"svc/domain/textdiff"
)

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

// Summary counts Changes: files, lines that came, lines that went.
type Summary struct {
	Changes    int `json:"changes"`
	Insertions int `json:"insertions"`
	Deletions  int `json:"deletions"`
}

// Diff compares the managed files under root at two commits, tags or trees; ""
// has none. Files that are the same are not read.
func (o *Objects) Diff(before, after, root string) (Changes, error) {
	d := unchanged()
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
	d := unchanged()
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

func unchanged() Changes {
	return Changes{Files: []string{}, Created: []string{}, Deleted: []string{}, Insertions: map[string]int{}, Deletions: map[string]int{}}
}

// mark notes whether a file that differs came or went.
func (d *Changes) mark(path string, existed, exists bool) {
	switch {
	case !existed:
		d.Created = append(d.Created, path)
	case !exists:
		d.Deleted = append(d.Deleted, path)
	}
}

// count notes a file that differs, and by how many lines.
func (d *Changes) count(path string, before, after []byte) {
	came, went := textdiff.Stats(before, after)
	d.Files = append(d.Files, path)
	d.Insertions[path], d.Deletions[path] = came, went
	d.Summary.Insertions += came
	d.Summary.Deletions += went
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
