package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"svc/eventstore"
)

// Bucket keeps values by key, for a time: sessions, leases, answers to
// idempotent requests. What must survive is on disk when a write returns.
type Bucket struct {
	store  *Store
	kv     jetstream.KeyValue
	stream string
}

// BucketConfig describes a bucket. Volatile buckets live in memory.
type BucketConfig struct {
	Name     string
	TTL      time.Duration // 0: for ever
	Volatile bool
}

// Bucket creates or opens a bucket.
func (s *Store) Bucket(ctx context.Context, c BucketConfig) (*Bucket, error) {
	cfg := jetstream.KeyValueConfig{Bucket: c.Name, TTL: c.TTL, History: 1, Replicas: s.opts.Replicas}
	if c.Volatile {
		cfg.Storage = jetstream.MemoryStorage
	}
	s.making.Lock()
	defer s.making.Unlock()
	var kv jetstream.KeyValue
	err := s.insist(ctx, func(ctx context.Context) (err error) {
		kv, err = s.js.CreateOrUpdateKeyValue(ctx, cfg)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", c.Name, err)
	}
	b := &Bucket{store: s, kv: kv, stream: "KV_" + c.Name}
	if c.Volatile || !s.opts.grouped() {
		return b, nil
	}
	return b, s.openGate(b.stream)
}

// Get returns the value of key and its revision, as the bucket's leader has it:
// another replica may not know yet what was just written.
func (b *Bucket) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	m, ok, err := b.store.get(ctx, b.stream, getRequest{LastFor: "$KV." + b.kv.Bucket() + "." + bucketKey(key)})
	if err != nil {
		return nil, 0, err
	}
	if !ok || m.header.Get(headerKeyOperation) != "" {
		return nil, 0, eventstore.ErrNoKey
	}
	return m.data, m.seq, nil
}

// headerKeyOperation is on the messages that delete a key.
const headerKeyOperation = "KV-Operation"

// List returns the values of every key that continues prefix by one segment:
// those of "a/b" and "a/c" for "a". Keys that were just written may be missing
// only when they are not acknowledged yet.
func (b *Bucket) List(ctx context.Context, prefix string) ([][]byte, error) {
	filter := "$KV." + b.kv.Bucket() + "." + bucketKey(prefix) + ".*"
	least, err := b.store.leastLoad(ctx, b.stream, filter)
	if err != nil {
		return nil, err
	}
	var values [][]byte
	for last, attempt := uint64(0), 0; ; {
		msgs, more, err := b.store.fetch(ctx, b.stream, filter, last+1, loadBatch)
		if err != nil {
			return nil, err
		}
		for _, m := range msgs {
			if last = m.seq; m.header.Get(headerKeyOperation) == "" {
				values = append(values, m.data)
			}
		}
		if !more && last >= least {
			return values, nil
		}
		if attempt++; !more && !b.store.pause(ctx, attempt) {
			return nil, fmt.Errorf("%w: the replica is behind", eventstore.ErrUnavailable)
		}
	}
}

// Put sets key, whatever it was.
func (b *Bucket) Put(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	return b.write(ctx, func() (uint64, error) { return b.kv.Put(ctx, bucketKey(key), value) })
}

// Create sets key if it has no value; else it fails with eventstore.ErrConflict.
func (b *Bucket) Create(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	return b.write(ctx, func() (uint64, error) { return b.kv.Create(ctx, bucketKey(key), value) })
}

// Update sets key if its revision is still the one given; else it fails with
// eventstore.ErrConflict.
func (b *Bucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return b.write(ctx, func() (uint64, error) { return b.kv.Update(ctx, bucketKey(key), value, revision) })
}

// Delete removes key. Removing nothing is no error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	_, err := b.write(ctx, func() (uint64, error) {
		if err := b.kv.Purge(ctx, bucketKey(key)); err != nil {
			return 0, err
		}
		return b.store.lastOf(ctx, b.stream)
	})
	return err
}

func (b *Bucket) write(ctx context.Context, do func() (uint64, error)) (revision uint64, err error) {
	if err := b.store.Writable(); err != nil {
		return 0, err
	}
	err = b.store.durably(ctx, b.stream, func() (uint64, error) {
		revision, err = do()
		return revision, bucketError(err)
	})
	return revision, err
}

func bucketError(err error) error {
	switch {
	case err == nil, errors.Is(err, eventstore.ErrUnavailable):
		return err
	case errors.Is(err, jetstream.ErrKeyExists), codeOf(err) == codeWrongLastSequence, codeOf(err) == codeWrongLastSequenceConstant:
		return eventstore.ErrConflict
	default:
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
}

// bucketKey encodes any text as a key: the broker allows only some characters.
// Slashes divide it into segments.
func bucketKey(key string) string {
	segments := strings.Split(key, "/")
	for i, segment := range segments {
		segments[i] = strings.ReplaceAll(token(segment), "%", "=")
	}
	return strings.Join(segments, ".")
}
