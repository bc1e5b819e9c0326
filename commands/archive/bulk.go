package archive

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

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
	u := &unpacking{limits: limits.bulk(), packed: len(data)}
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
			return Bulk{}, damaged(BulkName, errors.New("the workspace "+id+" is missing or named twice"))
		}
		if b.Archives[id], err = u.unpack(e, limits.ArchiveBytes); err != nil {
			return Bulk{}, err
		}
	}
	return b, nil
}

func (u *unpacking) bulkIndex(entries map[string]zipEntry) (index bulkIndex, err error) {
	e, ok := entries[BulkName]
	if !ok {
		return index, damaged("is no archive of many workspaces", errors.New(BulkName+" is missing"))
	}
	text, err := u.unpack(e, u.limits.FileBytes)
	if err != nil {
		return index, err
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return index, damaged(BulkName, err)
	}
	return index, nil
}
