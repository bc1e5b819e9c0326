package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"svc/commands"
	"svc/eventstore"
)

// Reseal puts every data key under the active master key. The data keys stay the
// same, and with them what they sealed.
func (v *Vault) Reseal(ctx context.Context) error {
	all, err := v.bucket.List(ctx, shelf)
	if err != nil {
		return fmt.Errorf("list the keys of workspaces: %w", err)
	}
	for _, body := range all {
		var rec record
		if err := json.Unmarshal(body, &rec); err != nil {
			return fmt.Errorf("read the key of a workspace: %w", err)
		}
		if v.box.Current(rec.Sealed) {
			continue
		}
		if err := v.reseal(ctx, rec.WorkspaceID); err != nil {
			return fmt.Errorf("seal the key of workspace %s anew: %w", rec.WorkspaceID, err)
		}
	}
	return nil
}

// reseal puts one data key under the active master key, again when another node
// was faster.
func (v *Vault) reseal(ctx context.Context, workspaceID string) error {
	for attempt := 1; ; attempt++ {
		rec, revision, err := v.read(ctx, workspaceID)
		if errors.Is(err, ErrNoKey) {
			return nil // destroyed meanwhile
		}
		if err != nil || v.box.Current(rec.Sealed) {
			return err
		}
		err = v.replace(ctx, rec, revision)
		if !errors.Is(err, eventstore.ErrConflict) || attempt == maxAttempts {
			return err
		}
		if err := commands.Backoff(ctx, attempt); err != nil {
			return err
		}
	}
}

func (v *Vault) replace(ctx context.Context, rec record, revision uint64) error {
	secret, err := v.box.Open(rec.Sealed, boxPurpose(rec.WorkspaceID))
	if err != nil {
		return err
	}
	if rec.Sealed, err = v.box.Seal(secret, boxPurpose(rec.WorkspaceID)); err != nil {
		return err
	}
	body, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	_, err = v.bucket.Update(ctx, place(rec.WorkspaceID), body, revision)
	return err
}
