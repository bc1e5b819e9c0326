// Package vault keeps one data key for each workspace, sealed under the master
// keys. What belongs to a workspace and must not be read is sealed under its key:
// when the key is destroyed, all of it is unreadable for ever, wherever copies of
// it are.
package vault

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc/commands"
	"svc/commands/cache"
	"svc/eventstore"
)

// Box seals the data keys. It is a *seal.Box.
type Box interface {
	Seal(plain []byte, purpose string) ([]byte, error)
	Open(sealed []byte, purpose string) ([]byte, error)
	// Current reports whether a text is sealed under the active master key.
	Current(sealed []byte) bool
}

// Vault seals and opens for workspaces. All methods are safe for concurrent use.
type Vault struct {
	Now func() time.Time // default time.Now

	box    Box
	bucket eventstore.Bucket
	keys   *cache.Cache[string, *dataKey]
}

// ErrNoKey says that a workspace has no data key: nothing was ever sealed there,
// or the key was destroyed.
var ErrNoKey = errors.New("vault: the workspace has no data key")

// ErrDamaged says that a text does not open: it was changed, sealed for another
// purpose, for another workspace, or before its key was destroyed.
var ErrDamaged = errors.New("vault: the sealed text does not open")

const (
	keySize   = 32
	cacheSize = 4096
	// remembered bounds how long another node goes on with a key that was destroyed.
	remembered = time.Minute
	// maxAttempts bounds the races of nodes about one key.
	maxAttempts = 20
)

// New returns a Vault with its keys in bucket.
func New(box Box, bucket eventstore.Bucket) *Vault {
	keys := cache.New[string, *dataKey](cacheSize)
	return &Vault{Now: time.Now, box: box, bucket: bucket, keys: keys}
}

// Seal returns plain sealed for one purpose of a workspace.
func (v *Vault) Seal(ctx context.Context, workspaceID string, plain []byte, purpose string) ([]byte, error) {
	key, err := v.findOrCreate(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	return key.aead.Seal(nil, nil, plain, []byte(purpose)), nil
}

// Open returns what was sealed for this purpose of the workspace. It fails with
// ErrNoKey or ErrDamaged; neither tells anything of the content. ErrDamaged is for good:
// it is said of the key as it is now, not as it is remembered.
func (v *Vault) Open(ctx context.Context, workspaceID string, sealed []byte, purpose string) ([]byte, error) {
	key, err := v.find(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	if plain, err := key.aead.Open(nil, nil, sealed, []byte(purpose)); err == nil {
		return plain, nil
	}
	v.keys.Drop(workspaceID) // another node may have destroyed the key, and made a new one
	if key, err = v.find(ctx, workspaceID); err != nil {
		return nil, err
	}
	plain, err := key.aead.Open(nil, nil, sealed, []byte(purpose))
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}

// MAC returns what proves that message comes from here, for one purpose of a
// workspace: nobody else can make it.
func (v *Vault) MAC(ctx context.Context, workspaceID, purpose string, message []byte) ([]byte, error) {
	key, err := v.findOrCreate(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, derive(key.secret, "mac/"+purpose))
	mac.Write(message)
	return mac.Sum(nil), nil
}

// Has reports whether a workspace has a key.
func (v *Vault) Has(ctx context.Context, workspaceID string) (bool, error) {
	_, _, err := v.read(ctx, workspaceID)
	if errors.Is(err, ErrNoKey) {
		return false, nil
	}
	return err == nil, err
}

// Destroy removes the key of a workspace. What was sealed under it does not open
// any more: here at once, on other nodes within a minute.
func (v *Vault) Destroy(ctx context.Context, workspaceID string) error {
	if err := v.bucket.Delete(ctx, storageKey(workspaceID)); err != nil {
		return fmt.Errorf("destroy the key of workspace %s: %w", workspaceID, err)
	}
	v.keys.Drop(workspaceID)
	return nil
}

// record is a data key as it is kept.
type record struct {
	WorkspaceID string `json:"workspaceId"`
	Sealed      []byte `json:"sealed"`
}

// storageKey is where the key of a workspace is kept.
func storageKey(workspaceID string) string { return keyFolder + "/" + workspaceID }

const keyFolder = "workspaces"

// boxPurpose is what the key of a workspace is sealed for.
func boxPurpose(workspaceID string) string { return "workspace/" + workspaceID }

// findOrCreate returns the key of a workspace, and makes it on first use.
func (v *Vault) findOrCreate(ctx context.Context, workspaceID string) (*dataKey, error) {
	for attempt := 1; ; attempt++ {
		key, err := v.find(ctx, workspaceID)
		if !errors.Is(err, ErrNoKey) {
			return key, err
		}
		err = v.create(ctx, workspaceID)
		if err != nil && !errors.Is(err, eventstore.ErrConflict) || attempt == maxAttempts {
			return nil, fmt.Errorf("make the key of workspace %s: %w", workspaceID, err)
		}
		if err != nil { // another node was faster
			if err := commands.Backoff(ctx, attempt); err != nil {
				return nil, err
			}
		}
	}
}

// create keeps a new key, unless there is one.
func (v *Vault) create(ctx context.Context, workspaceID string) error {
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret) // never fails: crypto/rand ends the process instead
	sealed, err := v.box.Seal(secret, boxPurpose(workspaceID))
	if err != nil {
		return err
	}
	body, err := json.Marshal(record{workspaceID, sealed})
	if err != nil {
		return err
	}
	_, err = v.bucket.Create(ctx, storageKey(workspaceID), body)
	return err
}

// find returns the key of a workspace that has one.
func (v *Vault) find(ctx context.Context, workspaceID string) (*dataKey, error) {
	if key, ok := v.keys.Get(workspaceID); ok && v.Now().Before(key.until) {
		return key, nil
	}
	rec, _, err := v.read(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	secret, err := v.box.Open(rec.Sealed, boxPurpose(workspaceID))
	if err != nil {
		return nil, fmt.Errorf("open the key of workspace %s: %w", workspaceID, err)
	}
	key, err := newDataKey(secret, v.Now().Add(remembered))
	if err == nil {
		v.keys.Set(workspaceID, key)
	}
	return key, err
}

func (v *Vault) read(ctx context.Context, workspaceID string) (rec record, revision uint64, err error) {
	body, revision, err := v.bucket.Get(ctx, storageKey(workspaceID))
	if errors.Is(err, eventstore.ErrNoKey) {
		return rec, 0, ErrNoKey
	}
	if err == nil {
		err = json.Unmarshal(body, &rec)
	}
	if err != nil {
		return rec, 0, fmt.Errorf("read the key of workspace %s: %w", workspaceID, err)
	}
	return rec, revision, nil
}

// dataKey is the key of a workspace at work. The key itself seals nothing: each
// use has one of its own, derived from it.
type dataKey struct {
	secret []byte
	aead   cipher.AEAD // takes care of the nonce
	until  time.Time   // when it is asked for again
}

func newDataKey(secret []byte, until time.Time) (*dataKey, error) {
	if len(secret) != keySize {
		return nil, errors.New("vault: a data key has another size")
	}
	block, err := aes.NewCipher(derive(secret, "seal"))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &dataKey{secret, aead, until}, err
}

// derive returns a key for one use of a data key.
func derive(secret []byte, use string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, "svc/workspace/"+use, keySize)
	if err != nil {
		panic("vault: " + err.Error()) // only for a size that nobody asks for
	}
	return key
}

// Reseal puts every data key under the active master key. The data keys stay the
// same, and with them what they sealed.
func (v *Vault) Reseal(ctx context.Context) error {
	all, err := v.bucket.List(ctx, keyFolder)
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
	_, err = v.bucket.Update(ctx, storageKey(rec.WorkspaceID), body, revision)
	return err
}
