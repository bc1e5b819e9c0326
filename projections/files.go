package projections

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/file"
)

// Files is the read model of files, without deleted ones. An expired file stays until it is swept;
// readers compare the time.
//
//	f{workspace}\x00{id}               JSON
//	w{workspace}\x00{seq}{id}          nothing; seq is the sequence of its first event
//	x{expiry}{workspace}\x00{id}       nothing; expiry in milliseconds
type Files struct{}

// File is a file as it is read.
type File struct {
	file.State
	CreatedAt string `json:"createdAt"`
	UpdatedAt string `json:"updatedAt"`
	UpdatedBy string `json:"updatedBy"`
	Seq       uint64 `json:"seq"` // of its first event
}

// FileRef names a file.
type FileRef struct{ WorkspaceID, ID string }

// Name implements Projection.
func (Files) Name() string { return "files.2" }

// Log implements Projection.
func (Files) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (p Files) Apply(tx Tx, ev domain.Recorded) error {
	ref := FileRef{ev.Stream.Scope, ev.Stream.ID}
	switch ev.Data.(type) {
	case file.Uploaded:
		made := File{State: file.Decider.Evolve(file.State{}, ev.Data), CreatedAt: domain.FormatTime(ev.At), Seq: ev.Seq}
		if err := tx.Set(fileOrderKey(ref, ev.Seq), nil); err != nil {
			return err
		}
		return p.put(tx, ev, ref, made)
	case file.Updated:
		have, err := p.remove(tx, ref)
		if err != nil {
			return err
		}
		have.State = file.Decider.Evolve(have.State, ev.Data)
		return p.put(tx, ev, ref, have)
	case file.Deleted:
		have, err := p.remove(tx, ref)
		if err != nil {
			return err
		}
		if err := tx.Delete(fileOrderKey(ref, have.Seq)); err != nil {
			return err
		}
		return tx.Delete(fileKey(ref))
	}
	return nil
}

// put stores a file and the entry of its expiry.
func (Files) put(tx Tx, ev domain.Recorded, ref FileRef, f File) error {
	f.UpdatedAt, f.UpdatedBy = domain.FormatTime(ev.At), ev.Meta.UserID
	body, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if !f.ExpiresAt.IsZero() {
		if err := tx.Set(fileExpiryKey(ref, f.ExpiresAt), nil); err != nil {
			return err
		}
	}
	return tx.Set(fileKey(ref), body)
}

// remove returns a file and deletes the entry of its expiry.
func (Files) remove(tx Tx, ref FileRef) (f File, err error) {
	value, ok, err := tx.Get(fileKey(ref))
	if err != nil {
		return f, err
	}
	if !ok {
		return f, fmt.Errorf("file %s of workspace %s was never uploaded", ref.ID, ref.WorkspaceID)
	}
	if err := json.Unmarshal(value, &f); err != nil {
		return f, err
	}
	if f.ExpiresAt.IsZero() {
		return f, nil
	}
	return f, tx.Delete(fileExpiryKey(ref, f.ExpiresAt))
}

// Get returns a file that has not expired at now.
func (p Files) Get(r Reader, workspaceID, id string, now time.Time) (f File, ok bool, err error) {
	value, ok, err := r.Get(p, fileKey(FileRef{workspaceID, id}))
	if err != nil || !ok {
		return f, false, err
	}
	if err := json.Unmarshal(value, &f); err != nil {
		return f, false, err
	}
	return f, !f.GoneAt(now), nil
}

// List visits the files of a workspace that have not expired at now, the newest first, until visit
// returns false.
func (p Files) List(r Reader, workspaceID string, now time.Time, visit func(File) (more bool)) error {
	prefix := filesKey('w', workspaceID)
	return r.Iterate(p, Span{Prefix: prefix, Reverse: true, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		f, ok, err := p.Get(r, workspaceID, string(key[len(prefix)+8:]), now)
		return err == nil && (!ok || visit(f)), err
	})
}

// Due returns up to limit files that have expired at now, in the order of their expiry.
func (p Files) Due(r Reader, now time.Time, limit int) (due []FileRef, err error) {
	err = r.Iterate(p, Span{Prefix: []byte{'x'}, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		if len(due) == limit || binary.BigEndian.Uint64(key[1:]) > uint64(now.UnixMilli()) {
			return false, nil
		}
		due = append(due, parseFileRef(key[9:]))
		return true, nil
	})
	return due, err
}

func (r FileRef) key() string { return r.WorkspaceID + "\x00" + r.ID }

func parseFileRef(key []byte) FileRef {
	workspaceID, id, _ := strings.Cut(string(key), "\x00")
	return FileRef{workspaceID, id}
}

func fileKey(ref FileRef) []byte { return append([]byte{'f'}, ref.key()...) }

// filesKey begins the keys of a workspace.
func filesKey(kind byte, workspaceID string) []byte {
	return append(append([]byte{kind}, workspaceID...), 0)
}

func fileOrderKey(ref FileRef, seq uint64) []byte {
	return append(binary.BigEndian.AppendUint64(filesKey('w', ref.WorkspaceID), seq), ref.ID...)
}

func fileExpiryKey(ref FileRef, at time.Time) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{'x'}, uint64(at.UnixMilli())), ref.key()...)
}
