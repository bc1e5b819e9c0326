package projections

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
)

// Content is the read model of the documents of workspaces. Documents are stored by the hash of
// their JSON and never deleted, so that the history of a workspace stays readable.
//
//	n{workspace}\0{hash}   storedDocument: DocumentMeta, and the document as JSON
//	b{workspace}\0{hash}   the document as JSON, when it is too long for its storedDocument; absent when it is in the blob store
//	c{workspace}\0{path}   the current document there: hash, flags, revision, sequences, id
//	k{workspace}           number of changes of documents
//	s{workspace}\0{n}      staged entries, and the name of the stage
//	p{pageId}              workspace and path of a page
//	a{app}\0{workspace}    nothing: the workspace has, or had, an instance of the app
//	q{workspace}\0{id}     shares of a page, a knowledge base or an agent; of a page and an agent without the public one
//	u{workspace}\0{id}     Publication of an agent
//	g{workspace}\0{id}     DeletedBase: a knowledge base that was deleted
type Content struct{}

// DocumentMeta is metadata that is computed from a document alone.
type DocumentMeta struct {
	Checksum string        `json:"checksum"`
	Events   *document.Map `json:"events,omitempty"`
	About    *document.Map `json:"about,omitempty"` // what lists show; nil for index and security
}

// Item is a document as the read model has it now.
type Item struct {
	Path     string
	Hash     string
	ID       string // of a page, a knowledge base or an agent
	Apart    bool   // its body is in the blob store
	Public   bool   // a page that everyone may read, an agent that everyone may execute
	Revision uint64 // its ETag names it
	Created  uint64 // sequences of its first and its last change
	Updated  uint64
}

// Slug returns the name of the document in its folder.
func (i Item) Slug() string {
	_, slug := workspace.Folder(i.Path)
	return slug
}

// Name implements Projection.
func (Content) Name() string { return "content.5" }

// Log implements Projection.
func (Content) Log() domain.Log { return domain.State }

// Rewritten implements Rewriting.
func (Content) Rewritten() string { return "ckpqug" }

// Apply implements Projection.
func (c Content) Apply(tx Tx, ev domain.Recorded) error {
	id := ev.Stream.ID
	switch e := ev.Data.(type) {
	case workspace.Staged:
		return c.stage(tx, id, e)
	}
	switch shared, unshared := workspace.ShareOf(ev.Data); {
	case shared != nil && !workspace.IsContentShare(shared.Path, shared.Target):
		if err := c.putShare(tx, id, shared.SubjectID, shared.Target, &shared.Permissions); err != nil {
			return err
		}
	case unshared != nil && !workspace.IsContentShare(unshared.Path, unshared.Target):
		if err := c.putShare(tx, id, unshared.SubjectID, unshared.Target, nil); err != nil {
			return err
		}
	}
	d, ok := tx.delta(ev)
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
	if err := c.apply(tx, ev, id, d); err != nil {
		return err
	}
	if e, ok := ev.Data.(workspace.AgentUnpublished); ok {
		return setJSON(tx, scopedKey('u', id, []byte(e.ID)), Publication{Publication: workspace.Publication{Number: e.Number}})
	}
	return nil
}

// Publication is what of an agent is published, and since which event.
type Publication struct {
	workspace.Publication
	Seq uint64 `json:"seq"`
}

// putPublication stores what of an agent is published, when an entry publishes it.
func (c Content) putPublication(tx Tx, id string, e workspace.Entry, seq uint64) error {
	if !e.Published {
		return nil
	}
	key := scopedKey('u', id, []byte(e.ID))
	value, ok, err := tx.Get(key)
	if err != nil {
		return err
	}
	var before *workspace.Publication
	if ok {
		if err := json.Unmarshal(value, &before); err != nil {
			return err
		}
	}
	if next := before.Next(e); next != before {
		return setJSON(tx, key, Publication{Publication: *next, Seq: seq})
	}
	return nil
}

// apply changes the content of a workspace.
func (c Content) apply(tx Tx, ev domain.Recorded, id string, d workspace.Delta) error {
	revision, err := c.countChange(tx, id, len(d.Entries)+len(d.Deleted) > 0)
	if err != nil {
		return err
	}
	for _, path := range d.Deleted {
		if err := c.deleteItem(tx, id, path, ev.At); err != nil {
			return err
		}
	}
	roots, err := tx.roots(d)
	if err != nil {
		return err
	}
	for _, e := range roots.with(d.Entries) {
		if err := c.putItem(tx, ev, id, e, revision, d.IsNew); err != nil {
			return err
		}
	}
	return nil
}

// countChange returns the number of changes of documents, this one included.
func (Content) countChange(tx Tx, id string, changes bool) (uint64, error) {
	value, _, err := tx.getShared(scopedKey('k', id, nil))
	if err != nil {
		return 0, err
	}
	n, _ := binary.Uvarint(value)
	if !changes {
		return n, nil
	}
	return n + 1, tx.Set(scopedKey('k', id, nil), binary.AppendUvarint(nil, n+1))
}

func (c Content) putItem(tx Tx, ev domain.Recorded, id string, e workspace.Entry, revision uint64, isNew bool) error {
	if err := c.putDocument(tx, id, e); err != nil {
		return err
	}
	item := Item{Path: e.Path, Hash: e.Hash, ID: e.ID, Apart: e.Apart, Public: e.Public, Revision: revision, Created: ev.Seq, Updated: ev.Seq}
	from := e.Path
	if e.From != "" {
		from = e.From
	}
	if !isNew {
		before, ok, err := tx.getShared(scopedKey('c', id, []byte(from)))
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
	}
	if e.From != "" {
		if err := tx.Delete(scopedKey('c', id, []byte(e.From))); err != nil {
			return err
		}
	}
	if err := c.putPage(tx, id, e); err != nil {
		return err
	}
	if err := c.putPublication(tx, id, e, ev.Seq); err != nil {
		return err
	}
	if isBasePath(e.Path) {
		if err := tx.Delete(scopedKey('g', id, []byte(e.ID))); err != nil {
			return err
		}
	}
	if e.App != "" {
		if err := tx.Set(scopedKey('a', e.App, []byte(id)), nil); err != nil {
			return err
		}
	}
	return tx.Set(scopedKey('c', id, []byte(e.Path)), item.encode())
}

// putDocument stores a document and its DocumentMeta under its hash.
func (Content) putDocument(tx Tx, id string, e workspace.Entry) error {
	var about []byte
	if folder, slug := workspace.Folder(e.Path); slug != "" && folder != "" {
		if len(e.Body) == 0 && e.About == nil {
			return nil // it was stored when it was staged
		}
		var err error
		if about, err = e.DescribeJSON(); err != nil {
			return err
		}
	}
	meta, err := encodeMeta(e.Checksum, e.Events, about)
	if err != nil {
		return err
	}
	key, body := scopedKey('n', id, []byte(e.Hash)), []byte(e.Body)
	switch {
	case len(body) > maxBeside:
		if err := tx.Set(scopedKey('b', id, []byte(e.Hash)), body); err != nil {
			return err
		}
		body = nil
	case len(body) == 0: // it may be there, from a change that was small enough to contain it
		known, ok, err := tx.Get(key)
		if err != nil {
			return err
		}
		if ok {
			if _, body, err = storedDocument(known).split(); err != nil {
				return err
			}
		}
	}
	value := make([]byte, 0, binary.MaxVarintLen32+len(meta)+len(body))
	return tx.Set(key, append(appendPart(value, meta), body...))
}

// storedDocument is the length of the DocumentMeta of a document, the DocumentMeta, and the document as JSON, unless that
// is stored elsewhere.
type storedDocument []byte

var errStoredDocument = errors.New("a document is damaged")

// split returns DocumentMeta and document. The document is empty when it is stored elsewhere.
func (d storedDocument) split() (meta, body []byte, err error) {
	meta, body, ok := cutPart(d)
	if !ok {
		return nil, nil, errStoredDocument
	}
	return meta, body, nil
}

func (c Content) deleteItem(tx Tx, id, path string, at time.Time) error {
	value, ok, err := tx.Get(scopedKey('c', id, []byte(path)))
	if err != nil || !ok {
		return err
	}
	item, err := parseItem(path, value)
	if err != nil {
		return err
	}
	if item.ID != "" {
		switch folder, slug := workspace.Folder(path); folder {
		case "pages":
			if err := c.deletePage(tx, id, item.ID); err != nil {
				return err
			}
		case "knowledge":
			if err := setJSON(tx, scopedKey('g', id, []byte(item.ID)), DeletedBase{item.ID, slug, at.UTC()}); err != nil {
				return err
			}
		}
		for _, space := range []byte("qu") {
			key := scopedKey(space, id, []byte(item.ID))
			if _, ok, err := tx.Get(key); err != nil || !ok {
				if err != nil {
					return err
				}
				continue
			}
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
	}
	return tx.Delete(scopedKey('c', id, []byte(path)))
}

// DeletedBase is a knowledge base that was deleted.
type DeletedBase struct {
	ID   string    `json:"id"`
	Slug string    `json:"slug"` // that it had
	At   time.Time `json:"at"`
}

// DeletedBase returns a knowledge base that was deleted; ok is false for one that is there, and for one that never was.
func (c Content) DeletedBase(r Reader, workspaceID, id string) (b DeletedBase, ok bool, err error) {
	value, ok, err := r.Get(c, scopedKey('g', workspaceID, []byte(id)))
	if err != nil || !ok {
		return b, false, err
	}
	return b, true, json.Unmarshal(value, &b)
}

// LastDeletedBase returns the knowledge base that was the last one to be deleted at a slug.
func (c Content) LastDeletedBase(r Reader, workspaceID, slug string) (last DeletedBase, ok bool, err error) {
	err = r.Iterate(c, Span{Prefix: scopedKey('g', workspaceID, nil)}, func(_, value []byte) (bool, error) {
		var b DeletedBase
		if err := json.Unmarshal(value, &b); err != nil {
			return false, err
		}
		if b.Slug == slug && !b.At.Before(last.At) {
			last, ok = b, true
		}
		return true, nil
	})
	return last, ok, err
}

// scopedKey is a key of a workspace. Ids have no zero byte.
func scopedKey(space byte, id string, rest []byte) []byte {
	b := make([]byte, 0, 2+len(id)+len(rest))
	b = append(append(append(b, space), id...), 0)
	return append(b, rest...)
}

// parsePage reads where a page is.
func parsePage(value []byte) (workspaceID, path string) {
	workspaceID, path, _ = strings.Cut(string(value), "\x00")
	return workspaceID, path
}

// Flags of a stored item.
const (
	flagApart = 1 << iota
	flagPublic
)

func (i Item) encode() []byte {
	hash, _ := hex.DecodeString(i.Hash) // made by HashOf
	var flags byte
	if i.Apart {
		flags |= flagApart
	}
	if i.Public {
		flags |= flagPublic
	}
	b := append(hash, flags)
	for _, n := range []uint64{i.Revision, i.Created, i.Updated} {
		b = binary.AppendUvarint(b, n)
	}
	return append(b, i.ID...)
}

func parseItem(path string, b []byte) (Item, error) {
	if len(b) < 36 {
		return Item{}, errHeader
	}
	i := Item{Path: path, Hash: hex.EncodeToString(b[:32]), Apart: b[32]&flagApart != 0, Public: b[32]&flagPublic != 0}
	b = b[33:]
	for _, n := range []*uint64{&i.Revision, &i.Created, &i.Updated} {
		v, size := binary.Uvarint(b)
		if size <= 0 {
			return Item{}, errHeader
		}
		*n, b = v, b[size:]
	}
	i.ID = string(b)
	return i, nil
}

// putPage stores the workspace and path of a page. An id of a page of another workspace is not
// overwritten.
func (Content) putPage(tx Tx, id string, e workspace.Entry) error {
	if folder, _ := workspace.Folder(e.Path); folder != "pages" {
		return nil
	}
	key := append([]byte{'p'}, e.ID...)
	value, ok, err := tx.Get(key)
	if err != nil {
		return err
	}
	if owner, _ := parsePage(value); ok && owner != id {
		return nil
	}
	return tx.Set(key, []byte(id+"\x00"+e.Path))
}

// deletePage deletes where a page is.
func (Content) deletePage(tx Tx, id, pageID string) error {
	key := append([]byte{'p'}, pageID...)
	value, ok, err := tx.Get(key)
	if err != nil {
		return err
	}
	if owner, _ := parsePage(value); !ok || owner != id {
		return nil
	}
	return tx.Delete(key)
}

// putShare stores a share of a document; without permissions it deletes the share.
func (Content) putShare(tx Tx, id, documentID string, target access.Target, p *access.Permissions) error {
	key := scopedKey('q', id, []byte(documentID))
	value, ok, err := tx.Get(key)
	if err != nil {
		return err
	}
	var shares []access.Share
	if ok {
		if err := json.Unmarshal(value, &shares); err != nil {
			return err
		}
	}
	if p == nil {
		shares = access.DropShare(shares, target.String())
	} else {
		shares = access.PutShare(shares, access.Share{Target: target, Permissions: *p})
	}
	body, err := json.Marshal(shares)
	if err != nil {
		return err
	}
	return tx.Set(key, body)
}

// Get returns the document that a workspace has at a path now.
func (c Content) Get(r Reader, id, path string) (Item, bool, error) {
	value, ok, err := r.Get(c, scopedKey('c', id, []byte(path)))
	if err != nil || !ok {
		return Item{}, false, err
	}
	item, err := parseItem(path, value)
	return item, err == nil, err
}

// List visits the documents under a prefix of their paths, such as "pages/", in
// the order of their paths, until visit returns false. "" visits all.
func (c Content) List(r Reader, id, prefix string, visit func(Item) (more bool, err error)) error {
	start := scopedKey('c', id, nil)
	return r.Iterate(c, Span{Prefix: scopedKey('c', id, []byte(prefix))}, func(key, value []byte) (bool, error) {
		item, err := parseItem(string(key[len(start):]), value)
		if err != nil {
			return false, err
		}
		return visit(item)
	})
}

// Body returns a document by its hash; ok is false when it is in the blob store, or does not exist.
func (c Content) Body(r Reader, id, hash string) (body []byte, ok bool, err error) {
	ok, err = r.read(c, scopedKey('n', id, []byte(hash)), func(value []byte) error {
		_, beside, err := storedDocument(value).split()
		body = bytes.Clone(beside)
		return err
	})
	if err != nil || !ok || len(body) > 0 {
		return body, ok && err == nil, err
	}
	return r.Get(c, scopedKey('b', id, []byte(hash)))
}

// Meta returns the DocumentMeta of the document with a hash.
func (c Content) Meta(r Reader, id, hash string) (n DocumentMeta, err error) {
	err = c.readDocument(r, id, hash, func(meta, _ []byte) error { return n.decode(meta, true) })
	return n, err
}

// Document returns a document by its hash, with its DocumentMeta but for About. It is nil when it is in the blob store.
func (c Content) Document(r Reader, id, hash string) (doc *document.Map, n DocumentMeta, err error) {
	parse := func(body []byte) error {
		doc = document.MapOf()
		return doc.UnmarshalJSON(body)
	}
	err = c.readDocument(r, id, hash, func(meta, body []byte) error {
		if err := n.decode(meta, false); err != nil || len(body) == 0 {
			return err
		}
		return parse(body)
	})
	if err == nil && doc == nil {
		_, err = r.read(c, scopedKey('b', id, []byte(hash)), parse)
	}
	return doc, n, err
}

// encodeMeta returns what encoding/json makes of a DocumentMeta. about is JSON; nil: there is none.
func encodeMeta(checksum string, events *document.Map, about []byte) ([]byte, error) {
	o := domain.NewObjectEncoder(make([]byte, 0, 256+len(about)))
	o.Text("checksum", checksum)
	if events != nil {
		body, err := document.SafeJSON(events)
		if err != nil {
			return nil, err
		}
		o.Encoded("events", body)
	}
	if about != nil {
		o.Encoded("about", about)
	}
	return o.End()
}

// decode sets n from what is stored.
func (n *DocumentMeta) decode(value []byte, withAbout bool) error {
	return domain.VisitMembers(value, func(key, value []byte) error {
		switch string(key) {
		case "checksum":
			return domain.DecodeText(&n.Checksum, value)
		case "events":
			n.Events = document.MapOf()
			return n.Events.UnmarshalJSON(value)
		case "about":
			if withAbout {
				n.About = document.MapOf()
				return n.About.UnmarshalJSON(value)
			}
		}
		return nil
	})
}

// RawDocumentMeta is a DocumentMeta as it is stored, not decoded.
type RawDocumentMeta struct {
	Checksum string          `json:"checksum"`
	Events   json.RawMessage `json:"events"`
	About    json.RawMessage `json:"about"`
}

// RawMeta is Meta without decoding it.
func (c Content) RawMeta(r Reader, id, hash string) (n RawDocumentMeta, err error) {
	err = c.readDocument(r, id, hash, func(meta, _ []byte) error { return json.Unmarshal(meta, &n) })
	return n, err
}

// readDocument reads what is stored under the hash of a document. It is valid until use returns.
func (c Content) readDocument(r Reader, id, hash string, use func(meta, body []byte) error) error {
	ok, err := r.read(c, scopedKey('n', id, []byte(hash)), func(value []byte) error {
		meta, body, err := storedDocument(value).split()
		if err != nil {
			return err
		}
		return use(meta, body)
	})
	if err == nil && !ok {
		err = fmt.Errorf("nothing is known of document %s of workspace %s", hash, id)
	}
	return err
}

// Page returns where the page with an id is; workspaceID is "" when there is
// none.
func (c Content) Page(r Reader, pageID string) (workspaceID, path string, err error) {
	value, ok, err := r.Get(c, append([]byte{'p'}, pageID...))
	if err != nil || !ok {
		return "", "", err
	}
	workspaceID, path = parsePage(value)
	return workspaceID, path, nil
}

// Publication returns what of an agent is published.
func (c Content) Publication(r Reader, id, agentID string) (p Publication, err error) {
	value, ok, err := r.Get(c, scopedKey('u', id, []byte(agentID)))
	if err != nil || !ok {
		return p, err
	}
	return p, json.Unmarshal(value, &p)
}

// Shares returns the shares of a document, without the one that is content.
func (c Content) Shares(r Reader, id, documentID string) (shares []access.Share, err error) {
	value, ok, err := r.Get(c, scopedKey('q', id, []byte(documentID)))
	if err != nil || !ok {
		return nil, err
	}
	return shares, json.Unmarshal(value, &shares)
}

// Users returns the workspaces that have, or had, an instance of an app.
func (c Content) Users(r Reader, appSlug string) (ids []string, err error) {
	prefix := scopedKey('a', appSlug, nil)
	err = r.Iterate(c, Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		ids = append(ids, string(key[len(prefix):]))
		return true, nil
	})
	return ids, err
}

// stagedPart is what one event staged.
type stagedPart struct {
	Name    string            `json:"name"`
	Entries []workspace.Entry `json:"entries"`
}

func (c Content) stage(tx Tx, id string, e workspace.Staged) error {
	n, stale := 0, [][]byte{}
	err := tx.Iterate(Span{Prefix: scopedKey('s', id, nil)}, func(key, value []byte) (bool, error) {
		var part stagedPart
		if err := json.Unmarshal(value, &part); err != nil {
			return false, err
		}
		if part.Name != e.Name {
			stale = append(stale, bytes.Clone(key))
		} else {
			n++
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, key := range stale {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	part := stagedPart{Name: e.Name, Entries: make([]workspace.Entry, len(e.Entries))}
	for i, entry := range e.Entries {
		if err := c.putDocument(tx, id, entry); err != nil {
			return err
		}
		entry.Body, entry.About, entry.Events, entry.Review, entry.Checksum = nil, nil, nil, nil, ""
		part.Entries[i] = entry
	}
	body, err := json.Marshal(part)
	if err != nil {
		return err
	}
	return tx.Set(scopedKey('s', id, binary.BigEndian.AppendUint32(nil, uint32(n))), body)
}

// unstage returns and deletes what was staged under a name.
func (Content) unstage(tx Tx, id, name string) (entries []workspace.Entry, err error) {
	var keys [][]byte
	err = tx.Iterate(Span{Prefix: scopedKey('s', id, nil)}, func(key, value []byte) (bool, error) {
		var part stagedPart
		if err := json.Unmarshal(value, &part); err != nil {
			return false, err
		}
		if part.Name != name {
			return false, fmt.Errorf("workspace %s: what was staged is %q, not %q", id, part.Name, name)
		}
		entries, keys = append(entries, part.Entries...), append(keys, bytes.Clone(key))
		return true, nil
	})
	for _, key := range keys {
		err = errors.Join(err, tx.Delete(key))
	}
	return entries, err
}

// SharedObject returns a page, a knowledge base or an agent as rules see it, with whom it is shared.
func (c Content) SharedObject(r Reader, id string, item Item) access.Object {
	fields := c.Fields(r, id, item)
	fields["id"] = item.ID
	if folder, _ := workspace.Folder(item.Path); workspace.Everyone(folder) != nil {
		fields["public"] = item.Public
	}
	return access.Shared{Object: fields, Shares: c.AllShares(r, id, item)}
}

// Fields returns what conditions of rules may read of a document.
func (c Content) Fields(r Reader, id string, item Item) access.Fields {
	fields := access.Fields{"id": item.Slug(), "slug": item.Slug(), "workspaceId": id}
	if item.Hash == "" { // it is about to be created
		return fields
	}
	if meta, err := c.Meta(r, id, item.Hash); err == nil && meta.About != nil {
		for key, v := range meta.About.All() {
			fields[key] = document.Plain(v)
		}
	}
	return fields
}

// AllShares returns all shares of a document, the one that is content first.
func (c Content) AllShares(r Reader, id string, item Item) []access.Share {
	shares, err := c.Shares(r, id, item.ID)
	if err != nil {
		shares = nil // without the shares only public access remains
	}
	folder, _ := workspace.Folder(item.Path)
	return workspace.Item{Public: item.Public, Shares: shares}.SharesOf(folder)
}
