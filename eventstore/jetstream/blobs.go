package jetstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"svc/eventstore"
)

// PutBlob stores content under its SHA-256, unless it is there already, and
// returns that name once the content is on disk.
func (s *Store) PutBlob(ctx context.Context, content []byte) (name string, err error) {
	sum := sha256.Sum256(content)
	name = hex.EncodeToString(sum[:])
	if err := s.Writable(); err != nil {
		return "", err
	}
	// Two puts of one content at once would leave chunks that belong to none.
	_, err, _ = s.putting.Do(name, func() (any, error) { return nil, s.putBlob(ctx, name, content) })
	return name, err
}

func (s *Store) putBlob(ctx context.Context, name string, content []byte) error {
	return s.durably(ctx, streamBlobs, func() (uint64, error) {
		if _, err := s.blobs.GetInfo(ctx, name); err != nil {
			if _, err := s.blobs.Put(ctx, jetstream.ObjectMeta{Name: name}, bytes.NewReader(content)); err != nil {
				return 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
			}
		}
		return s.lastOf(ctx, streamBlobs) // also when it was there: it may not be on disk yet
	})
}

// lastOf returns the last sequence of a stream.
func (s *Store) lastOf(ctx context.Context, stream string) (uint64, error) {
	st, err := s.js.Stream(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return st.CachedInfo().State.LastSeq, nil
}

// ErrNoBlob says that no blob has that name.
var ErrNoBlob = errors.New("jetstream: no such blob")

// GetBlob returns the content stored under name. A content that does not match
// its name is an error, never an answer.
func (s *Store) GetBlob(ctx context.Context, name string) ([]byte, error) {
	patience, cancel := context.WithTimeout(ctx, s.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		content, err := s.readBlob(ctx, name)
		if err == nil || s.opts.Replicas == 1 || !s.leaderHasBlob(patience, name) || !s.pause(patience, attempt) {
			return content, err
		}
	}
}

// leaderHasBlob tells whether a blob that could not be read is only late on the
// replica that was asked.
func (s *Store) leaderHasBlob(ctx context.Context, name string) bool {
	subject := "$O." + bucketBlobs + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
	m, ok, err := s.get(ctx, streamBlobs, getRequest{LastFor: subject})
	var info jetstream.ObjectInfo
	return err == nil && ok && json.Unmarshal(m.data, &info) == nil && !info.Deleted
}

func (s *Store) readBlob(ctx context.Context, name string) ([]byte, error) {
	r, err := s.blobs.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, ErrNoBlob
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", name, err)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("blob %s: %w", name, errDamaged)
	}
	return content, nil
}

// DeleteBlob removes a blob that nothing names any more.
func (s *Store) DeleteBlob(ctx context.Context, name string) error {
	err := s.blobs.Delete(ctx, name)
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}
