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
	"hash"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"

	"svc/eventstore"
)

// Blobs keeps contents under their SHA-256, each once, whoever names it.
type Blobs struct {
	conn    *connection
	objects jetstream.ObjectStore
	putting singleflight.Group // puts under way, by name
}

func (b *Blobs) ensureBlobs(ctx context.Context) error {
	blobs, err := b.conn.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: bucketBlobs, Replicas: b.conn.opts.Replicas, Description: "contents named by their SHA-256",
	})
	if err == nil && b.objects == nil {
		b.objects = blobs
	}
	return err
}

// Put stores content under its SHA-256, unless it is there already, and
// returns that name once the content is on disk.
func (b *Blobs) Put(ctx context.Context, content []byte) (name string, err error) {
	sum := sha256.Sum256(content)
	name = hex.EncodeToString(sum[:])
	if err := b.conn.Writable(); err != nil {
		return "", err
	}
	return name, b.putOnce(ctx, name, bytes.NewReader(content))
}

// putOnce stores a blob unless it is being stored already: two puts of one
// content at once would leave chunks that belong to none.
func (b *Blobs) putOnce(ctx context.Context, name string, content io.Reader) error {
	_, err, _ := b.putting.Do(name, func() (any, error) { return nil, b.putBlob(ctx, name, content) })
	return err
}

func (b *Blobs) putBlob(ctx context.Context, name string, content io.Reader) error {
	return b.conn.writeDurably(ctx, streamBlobs, func() (uint64, error) {
		_, err := b.objects.GetInfo(ctx, name)
		switch {
		case err == nil:
			return b.conn.lastSequence(ctx, streamBlobs) // it may not be on disk yet
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return b.writeBlob(ctx, name, content)
		}
		return 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	})
}

// blobChunk is how much of a blob is one message.
const blobChunk = 128 << 10

// writeBlob stores a blob as the driver reads it: chunks, then what they are. The
// driver's own Put can leave a goroutine behind for each.
func (b *Blobs) writeBlob(ctx context.Context, name string, content io.Reader) (seq uint64, err error) {
	info := jetstream.ObjectInfo{Bucket: bucketBlobs, NUID: rand.Text(), ObjectMeta: jetstream.ObjectMeta{
		Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: blobChunk},
	}}
	chunks := "$O." + bucketBlobs + ".C." + info.NUID
	defer func() {
		if err != nil { // nothing names them
			_ = b.conn.purgeBelow(context.WithoutCancel(ctx), streamBlobs, chunks, 0)
		}
	}()
	if err := b.writeChunks(ctx, chunks, &info, content); err != nil {
		return 0, err
	}
	body, err := json.Marshal(info)
	if err != nil {
		return 0, err
	}
	return b.conn.sendOne(ctx, &nats.Msg{Subject: blobSubject(name), Data: body, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}})
}

// writeChunks stores a content in pieces and notes in info what it is.
func (b *Blobs) writeChunks(ctx context.Context, subject string, info *jetstream.ObjectInfo, content io.Reader) error {
	chunk, sum := make([]byte, blobChunk), sha256.New()
	for {
		n, err := io.ReadFull(content, chunk)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if n > 0 {
			if _, err := b.conn.sendOne(ctx, &nats.Msg{Subject: subject, Data: chunk[:n]}); err != nil {
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

// ErrNoBlob says that no blob has that name.
var ErrNoBlob = errors.New("jetstream: no such blob")

// Get returns the content stored under name. A content that does not match
// its name is an error, never an answer.
func (b *Blobs) Get(ctx context.Context, name string) ([]byte, error) {
	patience, cancel := context.WithTimeout(ctx, b.conn.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		content, err := b.readBlob(ctx, name)
		if err == nil || b.conn.opts.Replicas == 1 || !b.leaderHasBlob(patience, name) || !b.conn.waitRetry(patience, attempt) {
			return content, err
		}
	}
}

// leaderHasBlob tells whether a blob that could not be read is only late on the
// replica that was asked.
func (b *Blobs) leaderHasBlob(ctx context.Context, name string) bool {
	m, ok, err := b.conn.getMessage(ctx, streamBlobs, getRequest{LastFor: blobSubject(name)})
	var info jetstream.ObjectInfo
	return err == nil && ok && json.Unmarshal(m.data, &info) == nil && !info.Deleted
}

func (b *Blobs) readBlob(ctx context.Context, name string) ([]byte, error) {
	r, err := b.objects.Get(ctx, name)
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

// Delete removes a blob that nothing names any more.
func (b *Blobs) Delete(ctx context.Context, name string) error {
	err := b.objects.Delete(ctx, name)
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}

// errContentMismatch says that a content is not the one that its name says.
var errContentMismatch = errors.New("the content does not match its name")

// PutFrom is Put for a content that is not held in memory: r is read from
// its beginning, and must have the SHA-256 that name says, in hex, and size
// bytes. Of a content that differs nothing is stored.
func (b *Blobs) PutFrom(ctx context.Context, r io.ReadSeeker, name string, size int64) error {
	if err := b.conn.Writable(); err != nil {
		return err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("blob %s: %w", name, err)
	}
	return b.putOnce(ctx, name, &verifyingReader{Reader: r, name: name, left: size, sum: sha256.New(), mismatch: errContentMismatch})
}

// blobWait bounds how long an opened blob may be read.
const blobWait = 30 * time.Second

// Open returns the content stored under name, to be read at once, and its
// size. Reading a content that does not match its name fails before the last
// byte: what was read without an error is right.
func (b *Blobs) Open(ctx context.Context, name string) (content io.ReadCloser, size int64, err error) {
	patience, cancel := context.WithTimeout(ctx, b.conn.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		content, size, err = b.openBlob(ctx, name)
		if err == nil || b.conn.opts.Replicas == 1 || !b.leaderHasBlob(patience, name) || !b.conn.waitRetry(patience, attempt) {
			return content, size, err
		}
	}
}

func (b *Blobs) openBlob(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, blobWait)
	r, err := b.objects.Get(ctx, name)
	if err != nil {
		cancel()
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil, 0, ErrNoBlob
		}
		return nil, 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	info, err := r.Info()
	if err != nil {
		cancel()
		return nil, 0, errors.Join(fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err), r.Close())
	}
	size := int64(info.Size)
	checked := &verifyingReader{Reader: r, name: name, left: size, sum: sha256.New(), mismatch: errDamaged}
	return &openedBlob{verifyingReader: checked, closer: r, cancel: cancel}, size, nil
}

// openedBlob is a blob that is being read.
type openedBlob struct {
	*verifyingReader
	closer io.Closer
	cancel func()
}

// Close implements io.Closer.
func (b *openedBlob) Close() error {
	defer b.cancel()
	return b.closer.Close()
}

// verifyingReader reads the content that a name stands for and no other: that ends
// with an error before its last byte.
type verifyingReader struct {
	io.Reader
	name     string
	left     int64
	sum      hash.Hash
	ended    bool
	mismatch error // what a content that differs is
}

// Read implements io.Reader. The last byte waits until all are known to be right.
func (c *verifyingReader) Read(p []byte) (int, error) {
	switch {
	case c.ended:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	case c.left <= 1:
		return c.readLast(p)
	}
	n, err := c.Reader.Read(p[:min(int64(len(p)), c.left-1)])
	c.sum.Write(p[:n])
	c.left -= int64(n)
	return n, c.wrapError(err)
}

// readLast reads what is left, one byte or none, and checks the whole.
func (c *verifyingReader) readLast(p []byte) (int, error) {
	n, err := io.ReadFull(c.Reader, p[:max(0, c.left)])
	if err != nil {
		return 0, c.wrapError(err)
	}
	c.sum.Write(p[:n])
	more, err := io.ReadFull(c.Reader, make([]byte, 1))
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, c.wrapError(err)
	}
	if more > 0 || hex.EncodeToString(c.sum.Sum(nil)) != c.name {
		return 0, fmt.Errorf("blob %s: %w", c.name, c.mismatch)
	}
	if c.ended = true; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// wrapError is an error on the way. An end is one: it came too early.
func (c *verifyingReader) wrapError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, jetstream.ErrDigestMismatch):
		return fmt.Errorf("blob %s: %w", c.name, c.mismatch)
	}
	return fmt.Errorf("blob %s: %w", c.name, err)
}
