package projections

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
)

// Access is the read model of who may do what in which workspace.
//
//	a{workspaceId}             sequence of the last change, and JSON
//	m{userId}\x00{workspaceId} nothing: the user is named in a share
//	o{workspaceId}             nothing: others than those may be able to read it
type Access struct{}

// AccessDocument is the security of a workspace and with whom it is shared.
type AccessDocument struct {
	Security access.Security `json:"security"`
	Shares   []access.Share  `json:"shares,omitempty"`

	Revision uint64 `json:"revision"` // how often Security changed; its ETag names it
	Deleted  bool   `json:"deleted,omitempty"`
}

// Name implements Projection.
func (Access) Name() string { return "access.3" }

// Log implements Projection.
func (Access) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (a Access) Apply(tx Tx, ev domain.Recorded) error {
	id := ev.Stream.ID
	switch e := ev.Data.(type) {
	case workspace.Created:
		return a.put(tx, ev, AccessDocument{}, AccessDocument{Security: e.Security, Shares: e.Shares, Revision: 1})
	case workspace.Deleted:
		return a.change(tx, ev, id, func(d *AccessDocument) { d.Deleted = true })
	case workspace.Undeleted:
		return a.change(tx, ev, id, func(d *AccessDocument) { d.Deleted = false })
	case workspace.Shared:
		return a.change(tx, ev, id, func(d *AccessDocument) {
			d.Shares = access.PutShare(d.Shares, access.Share{Target: e.Target, Permissions: e.Permissions})
		})
	case workspace.Unshared:
		return a.change(tx, ev, id, func(d *AccessDocument) { d.Shares = access.DropShare(d.Shares, e.Target.String()) })
	}
	if delta, _ := tx.delta(ev); delta.Security != nil {
		return a.change(tx, ev, id, func(d *AccessDocument) { d.Security, d.Revision = delta.Security.Security, d.Revision+1 })
	}
	return nil
}

// change applies an event to the document of a workspace.
func (a Access) change(tx Tx, ev domain.Recorded, id string, do func(*AccessDocument)) error {
	value, ok, err := tx.Get(accessKey(id))
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("workspace %s was never created", id)
	}
	before, _, err := parseAccess(value)
	if err != nil {
		return err
	}
	after := before
	do(&after)
	return a.put(tx, ev, before, after)
}

func (d AccessDocument) isOpen() bool { return !d.Deleted && d.Security.IsOpen(d.Shares) }

// put stores a document, the index of the users that it names, and whether others may read it.
func (Access) put(tx Tx, ev domain.Recorded, before, after AccessDocument) error {
	id := ev.Stream.ID
	member := func(of AccessDocument, user string) bool {
		return slices.ContainsFunc(of.Shares, func(s access.Share) bool { return s.Target.ID == user })
	}
	for _, s := range before.Shares {
		if s.Target.ID != "" && !member(after, s.Target.ID) {
			if err := tx.Delete(memberKey(s.Target.ID, id)); err != nil {
				return err
			}
		}
	}
	for _, s := range after.Shares {
		if s.Target.ID != "" && !member(before, s.Target.ID) {
			if err := tx.Set(memberKey(s.Target.ID, id), nil); err != nil {
				return err
			}
		}
	}
	switch wasOpen, isOpen := before.isOpen(), after.isOpen(); {
	case isOpen && !wasOpen:
		if err := tx.Set(openKey(id), nil); err != nil {
			return err
		}
	case wasOpen && !isOpen:
		if err := tx.Delete(openKey(id)); err != nil {
			return err
		}
	}
	body, err := json.Marshal(after)
	if err != nil {
		return err
	}
	return tx.Set(accessKey(id), append(binary.BigEndian.AppendUint64(nil, ev.Seq), body...))
}

// Get returns the document of a workspace and the sequence of its last change;
// ok is false when there is no such workspace, or it was deleted. If known is that sequence, the
// document is not decoded, and returned empty.
func (a Access) Get(r Reader, id string, known uint64) (doc AccessDocument, seq uint64, ok bool, err error) {
	there, err := r.read(a, accessKey(id), func(value []byte) error {
		if len(value) >= 8 && known != 0 && binary.BigEndian.Uint64(value) == known {
			seq = known
			return nil
		}
		doc, seq, err = parseAccess(value)
		return err
	})
	return doc, seq, there && err == nil && !doc.Deleted, err
}

// Former returns the document of a workspace that was deleted.
func (a Access) Former(r Reader, id string) (doc AccessDocument, ok bool, err error) {
	value, ok, err := r.Get(a, accessKey(id))
	if err != nil || !ok {
		return doc, false, err
	}
	doc, _, err = parseAccess(value)
	return doc, err == nil && doc.Deleted, err
}

// Of visits the workspaces in whose shares a user is named, until visit returns
// false.
func (a Access) Of(r Reader, userID string, visit func(workspaceID string) (more bool)) error {
	prefix := memberKey(userID, "")
	return r.Iterate(a, Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		return visit(string(key[len(prefix):])), nil
	})
}

// ReadableBy returns the ids of all workspaces that a user may be able to read who is neither a super admin nor sent an
// API key. What they may do there is still to be asked, and those that were deleted are among them.
func (a Access) ReadableBy(r Reader, userID string) (ids map[string]bool, err error) {
	ids = map[string]bool{}
	visit := func(id string) bool { ids[id] = true; return true }
	if userID != "" {
		if err := a.Of(r, userID, visit); err != nil {
			return nil, err
		}
	}
	err = r.Iterate(a, Span{Prefix: openKey(""), KeysOnly: true}, func(key, _ []byte) (bool, error) {
		return visit(string(key[1:])), nil
	})
	return ids, err
}

func openKey(id string) []byte { return append([]byte{'o'}, id...) }

func accessKey(id string) []byte { return append([]byte{'a'}, id...) }

func memberKey(userID, workspaceID string) []byte {
	return append(append(append([]byte{'m'}, userID...), 0), workspaceID...)
}

func parseAccess(value []byte) (doc AccessDocument, seq uint64, err error) {
	if len(value) < 8 {
		return doc, 0, errHeader
	}
	err = json.Unmarshal(value[8:], &doc)
	return doc, binary.BigEndian.Uint64(value), err
}
