package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"svc/eventstore"
)

// errOtherContent says that a content is not the one that its name says.
var errOtherContent = errors.New("the content does not match its name")

// PutBlobFrom is PutBlob for a content that is not held in memory: r is read from
// its beginning, and must have the SHA-256 that name says, in hex, and size
// bytes. Of a content that differs nothing is stored.
func (s *Store) PutBlobFrom(ctx context.Context, r io.ReadSeeker, name string, size int64) error {
	if err := s.Writable(); err != nil {
		return err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("blob %s: %w", name, err)
	}
	return s.putOnce(ctx, name, &checkedReader{Reader: r, name: name, left: size, sum: sha256.New(), otherwise: errOtherContent})
}

// blobWait bounds how long an opened blob may be read.
const blobWait = 30 * time.Second

// OpenBlob returns the content stored under name, to be read at once, and its
// size. Reading a content that does not match its name fails before the last
// byte: what was read without an error is right.
func (s *Store) OpenBlob(ctx context.Context, name string) (content io.ReadCloser, size int64, err error) {
	patience, cancel := context.WithTimeout(ctx, s.opts.MaxWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		content, size, err = s.openBlob(ctx, name)
		if err == nil || s.opts.Replicas == 1 || !s.leaderHasBlob(patience, name) || !s.pause(patience, attempt) {
			return content, size, err
		}
	}
}

func (s *Store) openBlob(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, blobWait)
	r, err := s.blobs.Get(ctx, name)
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
	checked := &checkedReader{Reader: r, name: name, left: size, sum: sha256.New(), otherwise: errDamaged}
	return &openedBlob{checkedReader: checked, closer: r, cancel: cancel}, size, nil
}

// openedBlob is a blob that is being read.
type openedBlob struct {
	*checkedReader
	closer io.Closer
	cancel func()
}

// Close implements io.Closer.
func (b *openedBlob) Close() error {
	defer b.cancel()
	return b.closer.Close()
}

// checkedReader reads the content that a name stands for and no other: that ends
// with an error before its last byte.
type checkedReader struct {
	io.Reader
	name      string
	left      int64
	sum       hash.Hash
	ended     bool
	otherwise error // what a content that differs is
}

// Read implements io.Reader. The last byte waits until all are known to be right.
func (c *checkedReader) Read(p []byte) (int, error) {
	switch {
	case c.ended:
		return 0, io.EOF
	case len(p) == 0:
		return 0, nil
	case c.left <= 1:
		return c.last(p)
	}
	n, err := c.Reader.Read(p[:min(int64(len(p)), c.left-1)])
	c.sum.Write(p[:n])
	c.left -= int64(n)
	return n, c.fault(err)
}

// last reads what is left, one byte or none, and checks the whole.
func (c *checkedReader) last(p []byte) (int, error) {
	n, err := io.ReadFull(c.Reader, p[:max(0, c.left)])
	if err != nil {
		return 0, c.fault(err)
	}
	c.sum.Write(p[:n])
	more, err := io.ReadFull(c.Reader, make([]byte, 1))
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, c.fault(err)
	}
	if more > 0 || hex.EncodeToString(c.sum.Sum(nil)) != c.name {
		return 0, fmt.Errorf("blob %s: %w", c.name, c.otherwise)
	}
	if c.ended = true; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// fault is an error on the way. An end is one: it came too early.
func (c *checkedReader) fault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, jetstream.ErrDigestMismatch):
		return fmt.Errorf("blob %s: %w", c.name, c.otherwise)
	}
	return fmt.Errorf("blob %s: %w", c.name, err)
}
