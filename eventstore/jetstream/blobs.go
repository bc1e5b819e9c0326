package jetstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"
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
	return name, s.putOnce(ctx, name, bytes.NewReader(content))
}

// putOnce stores a blob unless it is being stored already: two puts of one
// content at once would leave chunks that belong to none.
func (s *Store) putOnce(ctx context.Context, name string, content io.Reader) error {
	_, err, _ := s.putting.Do(name, func() (any, error) { return nil, s.putBlob(ctx, name, content) })
	return err
}

func (s *Store) putBlob(ctx context.Context, name string, content io.Reader) error {
	return s.durably(ctx, streamBlobs, func() (uint64, error) {
		_, err := s.blobs.GetInfo(ctx, name)
		switch {
		case err == nil:
			return s.lastOf(ctx, streamBlobs) // it may not be on disk yet
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return s.writeBlob(ctx, name, content)
		}
		return 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	})
}

// blobChunk is how much of a blob is one message.
const blobChunk = 128 << 10

// writeBlob stores a blob as the driver reads it: chunks, then what they are. The
// driver's own Put can leave a goroutine behind for each.
func (s *Store) writeBlob(ctx context.Context, name string, content io.Reader) (seq uint64, err error) {
	info := jetstream.ObjectInfo{Bucket: bucketBlobs, NUID: rand.Text(), ObjectMeta: jetstream.ObjectMeta{
		Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: blobChunk},
	}}
	chunks := "$O." + bucketBlobs + ".C." + info.NUID
	defer func() {
		if err != nil { // nothing names them
			_ = s.purgeBelow(context.WithoutCancel(ctx), streamBlobs, chunks, 0)
		}
	}()
	if err := s.writeChunks(ctx, chunks, &info, content); err != nil {
		return 0, err
	}
	body, err := json.Marshal(info)
	if err != nil {
		return 0, err
	}
	return s.sendOne(ctx, &nats.Msg{Subject: blobSubject(name), Data: body, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}})
}

// writeChunks stores a content in pieces and notes in info what it is.
func (s *Store) writeChunks(ctx context.Context, subject string, info *jetstream.ObjectInfo, content io.Reader) error {
	chunk, sum := make([]byte, blobChunk), sha256.New()
	for {
		n, err := io.ReadFull(content, chunk)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if n > 0 {
			if _, err := s.sendOne(ctx, &nats.Msg{Subject: subject, Data: chunk[:n]}); err != nil {
				return err
			}
			sum.Write(chunk[:n])
			info.Size += uint64(n)
			info.Chunks++
		}
		if err != nil {
			info.Digest = jetstream.GetObjectDigestValue(sum)
			return nil
		}
	}
}

// blobSubject is where it is told what the blob is.
func blobSubject(name string) string {
	return "$O." + bucketBlobs + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
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
	m, ok, err := s.get(ctx, streamBlobs, getRequest{LastFor: blobSubject(name)})
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
