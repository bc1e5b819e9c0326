package projections

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"svc/domain/access"
)

// Get returns the document that a workspace has at a path now.
func (c Content) Get(r Reader, id, path string) (Item, bool, error) {
	value, ok, err := r.Get(c, scoped('c', id, []byte(path)))
	if err != nil || !ok {
		return Item{}, false, err
	}
	item, err := parseItem(path, value)
	return item, err == nil, err
}

// List visits the documents under a prefix of their paths, such as "pages/", in
// the order of their paths, until visit returns false. "" visits all.
func (c Content) List(r Reader, id, prefix string, visit func(Item) (more bool, err error)) error {
	start := scoped('c', id, nil)
	return r.Iterate(c, Span{Prefix: scoped('c', id, []byte(prefix))}, func(key, value []byte) (bool, error) {
		item, err := parseItem(string(key[len(start):]), value)
		if err != nil {
			return false, err
		}
		return visit(item)
	})
}

// Body returns a document by its hash; ok is false when it is kept apart, or was
// never there.
func (c Content) Body(r Reader, id, hash string) (body []byte, ok bool, err error) {
	return r.Get(c, scoped('b', id, []byte(hash)))
}

// Nature returns what follows from the document with a hash.
func (c Content) Nature(r Reader, id, hash string) (n Nature, err error) {
	return n, c.readNature(r, id, hash, &n)
}

// NatureText is a Nature as it is stored.
type NatureText struct {
	Checksum string          `json:"checksum"`
	Events   json.RawMessage `json:"events"`
	About    json.RawMessage `json:"about"`
}

// NatureText is Nature for those who hand it on unread.
func (c Content) NatureText(r Reader, id, hash string) (n NatureText, err error) {
	return n, c.readNature(r, id, hash, &n)
}

func (c Content) readNature(r Reader, id, hash string, into any) error {
	value, ok, err := r.Get(c, scoped('n', id, []byte(hash)))
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("nothing is known of document %s of workspace %s", hash, id)
	}
	return json.Unmarshal(value, into)
}

// Audit returns when a change was made and by whom.
func (c Content) Audit(r Reader, id string, seq uint64) (a Audit, err error) {
	value, ok, err := r.Get(c, scoped('e', id, binary.BigEndian.AppendUint64(nil, seq)))
	if err != nil || !ok {
		return a, err
	}
	return a, json.Unmarshal(value, &a)
}

// Page returns where the page with an id is; workspaceID is "" when there is
// none.
func (c Content) Page(r Reader, pageID string) (workspaceID, path string, err error) {
	value, ok, err := r.Get(c, append([]byte{'p'}, pageID...))
	if err != nil || !ok {
		return "", "", err
	}
	workspaceID, path = splitPage(value)
	return workspaceID, path, nil
}

// Shares returns with whom a page of a workspace is shared, but for everyone.
func (c Content) Shares(r Reader, id, pageID string) (shares []access.Share, err error) {
	value, ok, err := r.Get(c, scoped('q', id, []byte(pageID)))
	if err != nil || !ok {
		return nil, err
	}
	return shares, json.Unmarshal(value, &shares)
}

// Users returns the workspaces that have, or had, an instance of an app.
func (c Content) Users(r Reader, appSlug string) (ids []string, err error) {
	prefix := scoped('a', appSlug, nil)
	err = r.Iterate(c, Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		ids = append(ids, string(key[len(prefix):]))
		return true, nil
	})
	return ids, err
}
