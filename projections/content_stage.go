package projections

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"svc/domain/workspace"
)

// stagedPart is what one event put down.
type stagedPart struct {
	Name    string            `json:"name"`
	Entries []workspace.Entry `json:"entries"`
}

func (c Content) stage(tx Tx, id string, e workspace.Staged) error {
	n, stale := 0, [][]byte{}
	err := tx.Iterate(Span{Prefix: scoped('s', id, nil)}, func(key, value []byte) (bool, error) {
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
		if err := c.keep(tx, id, entry); err != nil {
			return err
		}
		entry.Body, entry.About, entry.Events, entry.Review, entry.Checksum = nil, nil, nil, nil, ""
		part.Entries[i] = entry
	}
	body, err := json.Marshal(part)
	if err != nil {
		return err
	}
	return tx.Set(scoped('s', id, binary.BigEndian.AppendUint32(nil, uint32(n))), body)
}

// unstage takes up what was put down under a name.
func (Content) unstage(tx Tx, id, name string) (entries []workspace.Entry, err error) {
	var keys [][]byte
	err = tx.Iterate(Span{Prefix: scoped('s', id, nil)}, func(key, value []byte) (bool, error) {
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
