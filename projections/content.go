package projections

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// Content is the read model of the documents of workspaces. Documents are kept by
// the hash of their JSON and never go: what a workspace was stays readable.
//
//	b{workspace}\0{hash}   the document as JSON; absent when it is kept apart
//	n{workspace}\0{hash}   Nature: what follows from the document
//	c{workspace}\0{path}   the current document there: hash, flags, revision, sequences, id
//	e{workspace}\0{seq}    when a change was made, and by whom
//	k{workspace}           how many changes documents have seen
//	s{workspace}\0{n}      entries that were put down for a later step, and its name
//	p{pageId}              workspace and path of a page
//	a{app}\0{workspace}    nothing; the workspace has, or had, an instance of the app
//	q{workspace}\0{pageId} shares of a page, but for the public one
type Content struct{}

// Nature is what follows from a document alone.
type Nature struct {
	Checksum string        `json:"checksum"`
	Events   *document.Map `json:"events,omitempty"`
	About    *document.Map `json:"about,omitempty"` // what lists show; nil for index and security
}

// Item is a document as the read model has it now.
type Item struct {
	Path     string
	Hash     string
	ID       string // of a page
	Apart    bool   // its body is in the blob store
	Public   bool   // a page that everyone may read
	Revision uint64 // its ETag names it
	Created  uint64 // sequences of its first and its last change
	Updated  uint64
}

// Slug returns the name of the document in its folder.
func (i Item) Slug() string {
	_, slug := workspace.Folder(i.Path)
	return slug
}

// Audit says when something was changed, and by whom.
type Audit struct {
	At string `json:"at"`
	By string `json:"by"`
}

// Name implements Projection.
func (Content) Name() string { return "content.3" }

// Log implements Projection.
func (Content) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (c Content) Apply(tx Tx, ev domain.Recorded) error {
	id := ev.Stream.ID
	switch e := ev.Data.(type) {
	case workspace.Staged:
		return c.stage(tx, id, e)
	case workspace.PageShared:
		if err := c.share(tx, id, e.SubjectID, e.Target, &e.Permissions); err != nil {
			return err
		}
	case workspace.PageUnshared:
		if err := c.share(tx, id, e.SubjectID, e.Target, nil); err != nil {
			return err
		}
	}
	d, ok := workspace.DeltaOf(ev.Data)
	if !ok {
		return nil
	}
	if d.Stage != "" {
		staged, err := c.unstage(tx, id, d.Stage)
		if err != nil {
			return err
		}
		d.Entries = append(staged, d.Entries...)
	}
	return c.apply(tx, ev, id, d)
}

// apply changes the content of a workspace.
func (c Content) apply(tx Tx, ev domain.Recorded, id string, d workspace.Delta) error {
	audit, err := json.Marshal(Audit{At: stamp(ev.At), By: ev.Meta.UserID})
	if err != nil {
		return err
	}
	if err := tx.Set(scoped('e', id, binary.BigEndian.AppendUint64(nil, ev.Seq)), audit); err != nil {
		return err
	}
	revision, err := c.count(tx, id, len(d.Entries)+len(d.Deleted) > 0)
	if err != nil {
		return err
	}
	for _, path := range d.Deleted {
		if err := c.drop(tx, id, path); err != nil {
			return err
		}
	}
	entries, err := withRoots(d)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.put(tx, ev, id, e, revision); err != nil {
			return err
		}
	}
	return nil
}

// withRoots returns the entries of a delta, with the index and the security
// document as entries too.
func withRoots(d workspace.Delta) ([]workspace.Entry, error) {
	var roots []workspace.Entry
	if d.Settings != nil {
		e, err := rootEntry("index", d.Settings.Index())
		if err != nil {
			return nil, err
		}
		e.Untold = d.Settings.Untold
		roots = append(roots, e)
	}
	if d.Security != nil {
		e, err := rootEntry("security", d.Security.Document())
		if err != nil {
			return nil, err
		}
		roots = append(roots, e)
	}
	return append(roots, d.Entries...), nil
}

func rootEntry(path string, doc *document.Map) (workspace.Entry, error) {
	body, err := document.JSON(doc)
	return workspace.Entry{Path: path, Hash: workspace.HashOf(body), Body: body}, err
}

// count returns how many changes the documents have seen, this one included.
func (Content) count(tx Tx, id string, changes bool) (uint64, error) {
	value, _, err := tx.Get(scoped('k', id, nil))
	if err != nil {
		return 0, err
	}
	n, _ := binary.Uvarint(value)
	if !changes {
		return n, nil
	}
	return n + 1, tx.Set(scoped('k', id, nil), binary.AppendUvarint(nil, n+1))
}

func (c Content) put(tx Tx, ev domain.Recorded, id string, e workspace.Entry, revision uint64) error {
	if err := c.keep(tx, id, e); err != nil {
		return err
	}
	item := Item{Path: e.Path, Hash: e.Hash, ID: e.ID, Apart: e.Apart, Public: e.Public, Revision: revision, Created: ev.Seq, Updated: ev.Seq}
	from := e.Path
	if e.From != "" {
		from = e.From
	}
	before, ok, err := tx.Get(scoped('c', id, []byte(from)))
	if err != nil {
		return err
	}
	if ok {
		was, err := parseItem(from, before)
		if err != nil {
			return err
		}
		item.Created = was.Created
	}
	if e.From != "" {
		if err := tx.Delete(scoped('c', id, []byte(e.From))); err != nil {
			return err
		}
	}
	if err := c.place(tx, id, e); err != nil {
		return err
	}
	if e.App != "" {
		if err := tx.Set(scoped('a', e.App, []byte(id)), nil); err != nil {
			return err
		}
	}
	return tx.Set(scoped('c', id, []byte(e.Path)), item.encode())
}

// keep stores a document and what follows from it under its hash.
func (Content) keep(tx Tx, id string, e workspace.Entry) error {
	nature := Nature{Checksum: e.Checksum, Events: e.Events}
	if folder, slug := workspace.Folder(e.Path); slug != "" && folder != "" {
		if len(e.Body) == 0 && e.About == nil {
			return nil // it was kept when it was staged
		}
		nature.About = e.Describe()
	}
	about, err := json.Marshal(nature)
	if err != nil {
		return err
	}
	if err := tx.Set(scoped('n', id, []byte(e.Hash)), about); err != nil || len(e.Body) == 0 {
		return err
	}
	return tx.Set(scoped('b', id, []byte(e.Hash)), e.Body)
}

func (c Content) drop(tx Tx, id, path string) error {
	value, ok, err := tx.Get(scoped('c', id, []byte(path)))
	if err != nil || !ok {
		return err
	}
	item, err := parseItem(path, value)
	if err != nil {
		return err
	}
	if item.ID != "" {
		if err := c.forget(tx, id, item.ID); err != nil {
			return err
		}
	}
	return tx.Delete(scoped('c', id, []byte(path)))
}

// scoped is a key of a workspace. No id holds a zero byte.
func scoped(space byte, id string, rest []byte) []byte {
	b := make([]byte, 0, 2+len(id)+len(rest))
	b = append(append(append(b, space), id...), 0)
	return append(b, rest...)
}

// splitPage reads where a page is.
func splitPage(value []byte) (workspaceID, path string) {
	workspaceID, path, _ = strings.Cut(string(value), "\x00")
	return workspaceID, path
}
