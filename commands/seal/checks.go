package seal

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"svc/commands"
	"svc/eventstore"
)

// checksKey is where the check values of all master keys are, by kid.
const checksKey = "master-keys"

// maxAttempts bounds the races of nodes that start together.
const maxAttempts = 20

// Ensure holds the given keys against the check values in bucket and adds that of
// the active one, under which secrets are sealed from now on. It refuses a key
// that is not the one known by its kid, and the lack of one that is still in use:
// with either, what is stored would not open. It must come before the first Seal.
func (b *Box) Ensure(ctx context.Context, bucket eventstore.Bucket) error {
	return change(ctx, bucket, func(checks map[string]string) error {
		for kid, want := range checks {
			if b.all[kid] == nil {
				return fmt.Errorf("SECRETS_MASTER_KEYS: key %s is missing, and stored secrets are sealed under it; give it besides the others", kid)
			}
			if subtle.ConstantTimeCompare([]byte(b.CheckValue(kid)), []byte(want)) != 1 {
				return fmt.Errorf("SECRETS_MASTER_KEYS: key %s is not the one that stored secrets are sealed under; give the old value, or this one another kid", kid)
			}
		}
		checks[b.active.kid] = b.CheckValue(b.active.kid)
		return nil
	})
}

// Forget notes that nothing is sealed any more under the key with this kid, so
// that a start without it is fine.
func (b *Box) Forget(ctx context.Context, bucket eventstore.Bucket, kid string) error {
	if kid == b.active.kid {
		return fmt.Errorf("seal: master key %s is the active one", kid)
	}
	return change(ctx, bucket, func(checks map[string]string) error {
		delete(checks, kid)
		return nil
	})
}

// InUse returns the kids that stored secrets may be sealed under, in order.
func InUse(ctx context.Context, bucket eventstore.Bucket) ([]string, error) {
	checks, _, err := read(ctx, bucket)
	return slices.Sorted(maps.Keys(checks)), err
}

// change makes one change of the check values, again when another node was
// faster.
func change(ctx context.Context, bucket eventstore.Bucket, edit func(map[string]string) error) error {
	for attempt := 1; ; attempt++ {
		checks, revision, err := read(ctx, bucket)
		if err != nil {
			return err
		}
		before := maps.Clone(checks)
		if err := edit(checks); err != nil || maps.Equal(before, checks) {
			return err
		}
		err = write(ctx, bucket, checks, revision)
		if !errors.Is(err, eventstore.ErrConflict) || attempt == maxAttempts {
			return err
		}
		if err := commands.Backoff(ctx, attempt); err != nil {
			return err
		}
	}
}

// read returns the check values and their revision; 0 when there are none yet.
func read(ctx context.Context, bucket eventstore.Bucket) (checks map[string]string, revision uint64, err error) {
	body, revision, err := bucket.Get(ctx, checksKey)
	if errors.Is(err, eventstore.ErrNoKey) {
		return map[string]string{}, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read check values of master keys: %w", err)
	}
	if err := json.Unmarshal(body, &checks); err != nil || checks == nil {
		return nil, 0, errors.Join(errors.New("the check values of master keys are damaged"), err)
	}
	return checks, revision, nil
}

func write(ctx context.Context, bucket eventstore.Bucket, checks map[string]string, revision uint64) error {
	body, err := json.Marshal(checks)
	if err != nil {
		return err
	}
	if revision == 0 {
		_, err = bucket.Create(ctx, checksKey, body)
	} else {
		_, err = bucket.Update(ctx, checksKey, body, revision)
	}
	if err != nil {
		return fmt.Errorf("write check values of master keys: %w", err)
	}
	return nil
}
