package jetstream

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"svc/eventstore"
)

// Records keeps values by key until a time that each has for itself, such as
// the answers to idempotent requests. The first to claim a key has it.
type Records struct {
	bucket *Bucket
	now    func() time.Time
}

// Records opens the durable bucket name for values that live at most keep.
func (s *Store) Records(ctx context.Context, name string, keep time.Duration) (*Records, error) {
	b, err := s.Bucket(ctx, BucketConfig{Name: name, TTL: keep})
	if err != nil {
		return nil, err
	}
	return &Records{bucket: b, now: s.opts.Now}, nil
}

// Claim keeps value under key for ttl and returns nil, unless something is kept
// there already: then it changes nothing and returns that.
func (r *Records) Claim(ctx context.Context, key string, value []byte, ttl time.Duration) (existing []byte, err error) {
	for {
		_, err := r.bucket.Create(ctx, key, r.seal(value, ttl))
		if !errors.Is(err, eventstore.ErrConflict) {
			return nil, err
		}
		kept, revision, err := r.bucket.Get(ctx, key)
		if errors.Is(err, eventstore.ErrNoKey) {
			continue // it expired between the two
		}
		if err != nil {
			return nil, err
		}
		if have, ok := r.open(kept); ok {
			return have, nil
		}
		_, err = r.bucket.Update(ctx, key, r.seal(value, ttl), revision)
		if !errors.Is(err, eventstore.ErrConflict) {
			return nil, err
		}
	}
}

// Put keeps value under key for ttl, whatever was there.
func (r *Records) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := r.bucket.Put(ctx, key, r.seal(value, ttl))
	return err
}

// Take returns what is kept under key and forgets it: of several who ask, one
// gets it. ok is false when nothing is there, or its time is over.
func (r *Records) Take(ctx context.Context, key string) (value []byte, ok bool, err error) {
	kept, revision, err := r.bucket.Get(ctx, key)
	if errors.Is(err, eventstore.ErrNoKey) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if _, err = r.bucket.Update(ctx, key, r.seal(nil, -time.Second), revision); errors.Is(err, eventstore.ErrConflict) {
		return nil, false, nil // somebody else was first
	}
	if err != nil {
		return nil, false, err
	}
	value, ok = r.open(kept)
	return value, ok, nil
}

// Get returns what is kept under key; ok is false when nothing is, or its time
// is over.
func (r *Records) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	kept, _, err := r.bucket.Get(ctx, key)
	if errors.Is(err, eventstore.ErrNoKey) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value, ok = r.open(kept)
	return value, ok, nil
}

// Drop forgets what is kept under key.
func (r *Records) Drop(ctx context.Context, key string) error { return r.bucket.Delete(ctx, key) }

// seal puts the time of expiry before value.
func (r *Records) seal(value []byte, ttl time.Duration) []byte {
	until := r.now().Add(ttl).UnixMilli()
	return append(binary.BigEndian.AppendUint64(nil, uint64(until)), value...)
}

// open returns the value, unless its time is over.
func (r *Records) open(kept []byte) ([]byte, bool) {
	if len(kept) < 8 {
		return nil, false
	}
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(kept)))
	return kept[8:], r.now().Before(until)
}
