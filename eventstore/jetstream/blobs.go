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
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"

	"svc/eventstore"
)

// Blobs keeps contents under their SHA-256, each once, whoever names it. A blob is what the object store
// of the client library makes of it: chunks, and one message that describes them.
//
// A blob that nothing refers to is deleted by its revision. Put renews the revision of an existing blob,
// so that of a Put and a Delete at the same time one loses and sees what the other did: Delete leaves
// a blob that was put again, and Put stores a blob again that was deleted.
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

// Put stores content under its SHA-256, unless it is there already, and returns that name once the
// content is durable.
func (b *Blobs) Put(ctx context.Context, content []byte) (name string, err error) {
	sum := sha256.Sum256(content)
	name = hex.EncodeToString(sum[:])
	if err := b.conn.Writable(); err != nil {
		return "", err
	}
	return name, b.putOnce(ctx, name, bytes.NewReader(content))
}

// putOnce stores a blob unless this process is storing it already. When the one who stores it gives up, the next one
// who waits does it.
func (b *Blobs) putOnce(ctx context.Context, name string, content io.Reader) error {
	for {
		own := false
		_, err, _ := b.putting.Do(name, func() (any, error) {
			own = true
			return nil, b.conn.writeDurably(ctx, streamBlobs, func() (uint64, error) { return b.putBlob(ctx, name, content) })
		})
		if err == nil || own || ctx.Err() != nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// renewAfter is the age from which Put renews a blob. It is far below the age at which blobs are deleted.
const renewAfter = time.Hour

// putBlob stores a blob, or renews the one that is there, and returns the sequence of its description.
func (b *Blobs) putBlob(ctx context.Context, name string, content io.Reader) (uint64, error) {
	for {
		blob, _, err := b.describe(ctx, name)
		switch {
		case errors.Is(err, ErrNoBlob):
			return b.writeBlob(ctx, name, content)
		case err != nil:
			return 0, err
		case b.conn.opts.Now().Sub(blob.at) < renewAfter:
			return blob.seq, nil
		}
		seq, err := b.conn.sendOne(ctx, describeMessage(name, blob.data, blob.seq))
		if !errors.Is(err, eventstore.ErrConflict) {
			return seq, err
		}
	}
}

// describe returns the message that describes a blob, from the leader, or ErrNoBlob.
func (b *Blobs) describe(ctx context.Context, name string) (m storedMessage, info jetstream.ObjectInfo, err error) {
	m, ok, err := b.conn.getMessage(ctx, streamBlobs, getRequest{LastFor: blobSubject(name)})
	if err != nil {
		return m, info, err
	}
	if !ok || json.Unmarshal(m.data, &info) != nil || info.Deleted {
		return m, info, ErrNoBlob
	}
	return m, info, nil
}

// describeMessage replaces the description of a blob, if its sequence is still the expected one; 0 is
// any.
func describeMessage(name string, description []byte, expected uint64) *nats.Msg {
	m := &nats.Msg{Subject: blobSubject(name), Data: description, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
	if expected > 0 {
		m.Header[headerExpect] = []string{strconv.FormatUint(expected, 10)}
	}
	return m
}

// blobChunk is how much of a blob is one message.
const blobChunk = 128 << 10

// writeBlob stores the chunks of a blob and then its description. A description whose answer is lost may be stored:
// its chunks stay, and Sweep deletes those that belong to none. Put of the client library can leak a goroutine.
func (b *Blobs) writeBlob(ctx context.Context, name string, content io.Reader) (uint64, error) {
	info := jetstream.ObjectInfo{Bucket: bucketBlobs, NUID: rand.Text(), ObjectMeta: jetstream.ObjectMeta{
		Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: blobChunk},
	}}
	if err := b.writeChunks(ctx, chunksPrefix+info.NUID, &info, content); err != nil {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.conn.attemptWait())
		defer cancel()
		_ = b.conn.purgeBelow(cleaning, streamBlobs, chunksPrefix+info.NUID, 0) // or Sweep does
		return 0, err
	}
	body, err := json.Marshal(info)
	if err != nil {
		return 0, err
	}
	return b.conn.sendOne(ctx, describeMessage(name, body, 0))
}

// chunkBuffers are of the length of a chunk: most contents are much shorter.
var chunkBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, blobChunk)
	return &buffer
}}

// writeChunks stores a content in chunks and describes it in info.
func (b *Blobs) writeChunks(ctx context.Context, subject string, info *jetstream.ObjectInfo, content io.Reader) error {
	buffer := chunkBuffers.Get().(*[]byte)
	defer chunkBuffers.Put(buffer)
	chunk, sum := *buffer, sha256.New()
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

// Subjects of the chunks of blobs, and of their descriptions.
const (
	chunksPrefix   = "$O." + bucketBlobs + ".C."
	describePrefix = "$O." + bucketBlobs + ".M."
)

func blobSubject(name string) string {
	return describePrefix + base64.URLEncoding.EncodeToString([]byte(name))
}

// List calls visit with every blob.
func (b *Blobs) List(ctx context.Context, visit func(eventstore.Blob) error) error {
	return b.visit(ctx, func(m storedMessage, info jetstream.ObjectInfo) error {
		if info.Deleted {
			return nil
		}
		return visit(eventstore.Blob{Name: info.Name, Size: info.Size, PutAt: m.at, Revision: m.seq})
	})
}

// visit calls visit with the descriptions of all blobs, deleted ones included.
func (b *Blobs) visit(ctx context.Context, visit func(storedMessage, jetstream.ObjectInfo) error) error {
	return b.conn.visitMessages(ctx, streamBlobs, describePrefix+">", 0, loadBatch, func(m storedMessage) error {
		var info jetstream.ObjectInfo
		if err := json.Unmarshal(m.data, &info); err != nil {
			return fmt.Errorf("blob at %d: %w", m.seq, errors.Join(errDamaged, err))
		}
		return visit(m, info)
	})
}

// Delete erases a blob if its revision is still the given one. It fails with eventstore.ErrConflict when
// the blob was put again since. Its space is free when it returns nil, or, after a crash, after Sweep.
func (b *Blobs) Delete(ctx context.Context, name string, revision uint64) error {
	if err := b.conn.Writable(); err != nil {
		return err
	}
	m, info, err := b.describe(ctx, name)
	if errors.Is(err, ErrNoBlob) {
		return nil
	}
	if err != nil {
		return err
	}
	if m.seq != revision {
		return eventstore.ErrConflict
	}
	info.Deleted = true
	body, err := json.Marshal(info)
	if err != nil {
		return err
	}
	// The mark comes first: from then on a Put stores the content again, under another id of chunks.
	err = b.conn.writeDurably(ctx, streamBlobs, func() (seq uint64, err error) {
		seq, err = b.conn.sendOne(ctx, describeMessage(name, body, revision))
		m.seq = seq
		return seq, err
	})
	if err != nil {
		return err
	}
	return b.purgeDeleted(ctx, m.seq, name, info.NUID)
}

// purgeDeleted erases the chunks of a deleted blob, then the mark of its deletion at seq.
func (b *Blobs) purgeDeleted(ctx context.Context, seq uint64, name, chunksID string) error {
	if err := b.conn.purge(ctx, streamBlobs, chunksPrefix+chunksID, math.MaxUint64); err != nil {
		return err
	}
	return b.conn.purge(ctx, streamBlobs, blobSubject(name), seq+1)
}

// Sweep erases what interrupted writes and deletes left behind before a time: chunks that belong to no
// blob, and marks of deletions. It returns how many chunks it erased.
func (b *Blobs) Sweep(ctx context.Context, before time.Time) (count uint64, err error) {
	used := map[string]bool{} // chunks of blobs, by id
	err = b.visit(ctx, func(m storedMessage, info jetstream.ObjectInfo) error {
		if used[info.NUID] = !info.Deleted; info.Deleted && m.at.Before(before) {
			return b.purgeDeleted(ctx, m.seq, info.Name, info.NUID)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	info, err := b.conn.subjectsInfo(ctx, streamBlobs, chunksPrefix+"*")
	if err != nil {
		return 0, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	for subject, chunks := range info.State.Subjects {
		if used[strings.TrimPrefix(subject, chunksPrefix)] {
			continue
		}
		last, ok, err := b.conn.getMessage(ctx, streamBlobs, getRequest{LastFor: subject})
		if err != nil {
			return count, err
		}
		if !ok || !last.at.Before(before) {
			continue // it is being written
		}
		if err := b.conn.purge(ctx, streamBlobs, subject, math.MaxUint64); err != nil {
			return count, err
		}
		count += chunks
	}
	return count, nil
}

// ErrNoBlob says that no blob has that name.
var ErrNoBlob = errors.New("jetstream: no such blob")

// Get returns the content stored under name. It fails when the content does not match its name. It reads messages
// directly: a consumer, as Open has it, costs more than a small content.
func (b *Blobs) Get(ctx context.Context, name string) ([]byte, error) {
	var read uint64 // sequence of the description whose chunks were read
	for {
		m, info, err := b.describe(ctx, name)
		if err != nil {
			return nil, err
		}
		if m.seq == read {
			return nil, fmt.Errorf("blob %s: %w", name, errDamaged)
		}
		content := make([]byte, 0, info.Size)
		if info.Chunks > 0 {
			err = b.conn.visitMessages(ctx, streamBlobs, chunksPrefix+info.NUID, 0, min(int(info.Chunks), chunksAtOnce), func(chunk storedMessage) error {
				content = append(content, chunk.data...)
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) == name {
			return content, nil
		}
		read = m.seq // it may have been deleted, or put again, meanwhile
	}
}

// chunksAtOnce is how many chunks of a blob are asked for at once.
const chunksAtOnce = 16

// retryBehind repeats a read that failed on a replica while the leader has the blob.
func (b *Blobs) retryBehind(ctx context.Context, name string, read func() error) error {
	patience, cancel := context.WithTimeout(ctx, b.conn.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := read()
		if err == nil || b.conn.opts.Replicas == 1 {
			return err
		}
		if _, _, missing := b.describe(patience, name); missing != nil || !b.conn.waitRetry(patience, attempt) {
			return err
		}
	}
}

// errContentMismatch says that a content does not have the SHA-256 of its name.
var errContentMismatch = errors.New("the content does not match its name")

// PutFrom is Put for a content that is not held in memory. It reads r from its beginning, and stores
// nothing unless r has size bytes and the SHA-256 in name.
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

// Open returns the content stored under name, to be read at once, and its size. Reading a content that
// does not match its name fails before the last byte.
func (b *Blobs) Open(ctx context.Context, name string) (content io.ReadCloser, size int64, err error) {
	err = b.retryBehind(ctx, name, func() error {
		content, size, err = b.openBlob(ctx, name)
		return err
	})
	return content, size, err
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

// verifyingReader reads a content and fails before its last byte when it does not match its name.
type verifyingReader struct {
	io.Reader
	name     string
	left     int64
	sum      hash.Hash
	ended    bool
	mismatch error // the error for another content
}

// Read implements io.Reader. It returns the last byte once the checksum is verified.
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

// readLast reads the last byte, if there is one, and verifies the checksum.
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

// wrapError wraps an error of the reader. An early end is one.
func (c *verifyingReader) wrapError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, jetstream.ErrDigestMismatch):
		return fmt.Errorf("blob %s: %w", c.name, c.mismatch)
	}
	return fmt.Errorf("blob %s: %w", c.name, err)
}
