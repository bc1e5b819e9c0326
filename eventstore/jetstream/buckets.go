package jetstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"svc/eventstore"
)

// Buckets opens key-value buckets.
type Buckets struct{ conn *connection }

// Bucket keeps values by key, such as sessions and leases. A write to a bucket that is not
// volatile is durable when it returns.
type Bucket struct {
	conn   *connection
	kv     jetstream.KeyValue
	stream string
}

// BucketConfig describes a bucket. Volatile buckets live in memory.
type BucketConfig struct {
	Name     string
	TTL      time.Duration // 0: for ever
	Volatile bool
}

// Open creates or opens a bucket.
func (b *Buckets) Open(ctx context.Context, c BucketConfig) (*Bucket, error) {
	cfg := jetstream.KeyValueConfig{Bucket: c.Name, TTL: c.TTL, History: 1, Replicas: b.conn.opts.Replicas}
	if c.Volatile {
		cfg.Storage = jetstream.MemoryStorage
	}
	b.conn.streamsMu.Lock()
	defer b.conn.streamsMu.Unlock()
	var kv jetstream.KeyValue
	err := b.conn.retryStart(ctx, func(ctx context.Context) (err error) {
		kv, err = b.conn.js.CreateOrUpdateKeyValue(ctx, cfg)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", c.Name, err)
	}
	opened := &Bucket{conn: b.conn, kv: kv, stream: "KV_" + c.Name}
	if c.Volatile || !b.conn.opts.grouped() {
		return opened, nil
	}
	return opened, b.conn.openGate(opened.stream)
}

// Get returns the value of key and its revision from the leader: another replica may be behind.
func (b *Bucket) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	m, ok, err := b.conn.getMessage(ctx, b.stream, getRequest{LastFor: "$KV." + b.kv.Bucket() + "." + bucketKey(key)})
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

// List returns the values of every key that continues prefix by one segment: those of "a/b" and
// "a/c" for "a". It includes every write that was acknowledged before.
func (b *Bucket) List(ctx context.Context, prefix string) (values [][]byte, err error) {
	filter := "$KV." + b.kv.Bucket() + "." + bucketKey(prefix) + ".*"
	err = b.conn.visitMessages(ctx, b.stream, filter, 0, loadBatch, func(m storedMessage) error {
		if m.header.Get(headerKeyOperation) == "" {
			values = append(values, m.data)
		}
		return nil
	})
	return values, err
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
		return b.conn.lastSequence(ctx, b.stream)
	})
	return err
}

func (b *Bucket) write(ctx context.Context, do func() (uint64, error)) (revision uint64, err error) {
	if err := b.conn.Writable(); err != nil {
		return 0, err
	}
	err = b.conn.writeDurably(ctx, b.stream, func() (uint64, error) {
		revision, err = do()
		return revision, bucketError(err)
	})
	return revision, err
}

func bucketError(err error) error {
	switch {
	case err == nil, errors.Is(err, eventstore.ErrUnavailable):
		return err
	case errors.Is(err, jetstream.ErrKeyExists), errorCode(err) == codeWrongLastSequence, errorCode(err) == codeWrongLastSequenceConstant:
		return eventstore.ErrConflict
	default:
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
}

// bucketKey encodes any text as a key, because the broker allows only some characters. Slashes
// separate segments.
func bucketKey(key string) string {
	segments := strings.Split(key, "/")
	for i, segment := range segments {
		segments[i] = strings.ReplaceAll(token(segment), "%", "=")
	}
	return strings.Join(segments, ".")
}

// Records keeps values by key, each with an expiry of its own, such as the answers to idempotent
// requests.
type Records struct {
	bucket *Bucket
	now    func() time.Time
}

// OpenRecords opens the durable bucket name for values that live at most keep.
func (b *Buckets) OpenRecords(ctx context.Context, name string, ttl time.Duration) (*Records, error) {
	bucket, err := b.Open(ctx, BucketConfig{Name: name, TTL: ttl})
	if err != nil {
		return nil, err
	}
	return &Records{bucket: bucket, now: b.conn.opts.Now}, nil
}

// Claim stores value under key for ttl and returns nil. When key has a value already, it changes
// nothing and returns that value.
func (r *Records) Claim(ctx context.Context, key string, value []byte, ttl time.Duration) (existing []byte, err error) {
	for {
		_, err := r.bucket.Create(ctx, key, r.withExpiry(value, ttl))
		if !errors.Is(err, eventstore.ErrConflict) {
			return nil, err
		}
		stored, revision, err := r.bucket.Get(ctx, key)
		if errors.Is(err, eventstore.ErrNoKey) {
			continue // it expired between the two
		}
		if err != nil {
			return nil, err
		}
		if have, ok := r.unlessExpired(stored); ok {
			return have, nil
		}
		_, err = r.bucket.Update(ctx, key, r.withExpiry(value, ttl), revision)
		if !errors.Is(err, eventstore.ErrConflict) {
			return nil, err
		}
	}
}

// Put stores value under key for ttl, whatever was there.
func (r *Records) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := r.bucket.Put(ctx, key, r.withExpiry(value, ttl))
	return err
}

// Consume returns the value of key and deletes it: one of several callers gets it. ok is false
// when there is none, or it has expired.
func (r *Records) Consume(ctx context.Context, key string) (value []byte, ok bool, err error) {
	stored, revision, err := r.bucket.Get(ctx, key)
	if errors.Is(err, eventstore.ErrNoKey) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if _, err = r.bucket.Update(ctx, key, r.withExpiry(nil, -time.Second), revision); errors.Is(err, eventstore.ErrConflict) {
		return nil, false, nil // another caller was first
	}
	if err != nil {
		return nil, false, err
	}
	value, ok = r.unlessExpired(stored)
	return value, ok, nil
}

// Get returns the value of key; ok is false when there is none, or it has expired.
func (r *Records) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	stored, _, err := r.bucket.Get(ctx, key)
	if errors.Is(err, eventstore.ErrNoKey) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value, ok = r.unlessExpired(stored)
	return value, ok, nil
}

// Delete removes the value of key.
func (r *Records) Delete(ctx context.Context, key string) error { return r.bucket.Delete(ctx, key) }

// withExpiry puts the expiry before value.
func (r *Records) withExpiry(value []byte, ttl time.Duration) []byte {
	until := r.now().Add(ttl).UnixMilli()
	return append(binary.BigEndian.AppendUint64(nil, uint64(until)), value...)
}

// unlessExpired returns the value, unless it has expired.
func (r *Records) unlessExpired(stored []byte) ([]byte, bool) {
	if len(stored) < 8 {
		return nil, false
	}
	until := time.UnixMilli(int64(binary.BigEndian.Uint64(stored)))
	return stored[8:], r.now().Before(until)
}
