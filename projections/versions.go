package projections

import (
	"encoding/binary"
	"encoding/json"

	"svc/domain"
	"svc/domain/workspace"
)

// Versions is the read model of the versions of workspaces.
//
//	v{workspace}\0{seq}   VersionRecord; seq is that of its event
//	n{workspace}\0{name}  seq
type Versions struct{}

// VersionRecord is a version as it was recorded.
type VersionRecord struct {
	workspace.Version
	Changes *workspace.Changes `json:"changes,omitempty"`
	Seq     uint64             `json:"seq"`    // of the event
	Synced  uint64             `json:"synced"` // the sequence that its content was taken at; 0 for a native one
}

// Name implements Projection.
func (Versions) Name() string { return "versions.1" }

// Log implements Projection.
func (Versions) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (v Versions) Apply(tx Tx, ev domain.Recorded) error {
	id := ev.Stream.ID
	switch e := ev.Data.(type) {
	case workspace.Published:
		if err := v.drop(tx, id, e.Version.Name); err != nil {
			return err
		}
		seq := binary.BigEndian.AppendUint64(nil, ev.Seq)
		if err := tx.Set(scopedKey('n', id, []byte(e.Version.Name)), seq); err != nil {
			return err
		}
		return setJSON(tx, scopedKey('v', id, seq), VersionRecord{Version: e.Version, Changes: e.Changes, Seq: ev.Seq, Synced: e.Synced})
	case workspace.VersionDeleted:
		return v.drop(tx, id, e.Version.Name)
	}
	return nil
}

func (Versions) drop(tx Tx, id, name string) error {
	key := scopedKey('n', id, []byte(name))
	seq, ok, err := tx.Get(key)
	if err != nil || !ok {
		return err
	}
	if err := tx.Delete(scopedKey('v', id, seq)); err != nil {
		return err
	}
	return tx.Delete(key)
}

// Page returns the versions of a workspace after the first offset, the newest first, at
// most limit of them, and how many there are.
func (v Versions) Page(r Reader, id string, offset, limit int) (page []VersionRecord, total int, err error) {
	err = r.Iterate(v, Span{Prefix: scopedKey('v', id, nil), Reverse: true}, func(_, value []byte) (bool, error) {
		if total++; total <= offset || len(page) == limit {
			return true, nil
		}
		var rec VersionRecord
		err := json.Unmarshal(value, &rec)
		page = append(page, rec)
		return err == nil, err
	})
	return page, total, err
}

// Get returns the version of a workspace with a name.
func (v Versions) Get(r Reader, id, name string) (rec VersionRecord, ok bool, err error) {
	seq, ok, err := r.Get(v, scopedKey('n', id, []byte(name)))
	if err != nil || !ok {
		return rec, false, err
	}
	value, ok, err := r.Get(v, scopedKey('v', id, seq))
	if err != nil || !ok {
		return rec, false, err
	}
	return rec, true, json.Unmarshal(value, &rec)
}
