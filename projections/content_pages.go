package projections

import (
	"encoding/json"

	"svc/domain/access"
	"svc/domain/workspace"
)

// place notes where a page is. An id that is a page of another workspace stays
// theirs, however it came to be here.
func (Content) place(tx Tx, id string, e workspace.Entry) error {
	if e.ID == "" {
		return nil
	}
	key := append([]byte{'p'}, e.ID...)
	value, ok, err := tx.Get(key)
	if err != nil {
		return err
	}
	if owner, _ := splitPage(value); ok && owner != id {
		return nil
	}
	return tx.Set(key, []byte(id+"\x00"+e.Path))
}

// forget drops what is kept of a page by its id.
func (Content) forget(tx Tx, id, pageID string) error {
	key := append([]byte{'p'}, pageID...)
	value, ok, err := tx.Get(key)
	if err != nil {
		return err
	}
	if owner, _ := splitPage(value); ok && owner == id {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	shares := scoped('q', id, []byte(pageID))
	if _, shared, err := tx.Get(shares); err != nil || !shared {
		return err
	}
	return tx.Delete(shares)
}

// share keeps with whom a page is shared; without permissions, with whom no more.
func (Content) share(tx Tx, id, pageID string, target access.Target, p *access.Permissions) error {
	if target.Public {
		return nil
	}
	key := scoped('q', id, []byte(pageID))
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
