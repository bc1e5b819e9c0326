package gitsync

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"svc/commands/archive"
)

// bounded refuses a pack that holds an object larger than limit. Objects are
// unpacked in memory, and a small pack can hold a large one.
func bounded(pack io.Reader, limit int64) error {
	scanner := packfile.NewScanner(pack)
	_, count, err := scanner.Header()
	if errors.Is(err, packfile.ErrEmptyPackfile) {
		return nil
	}
	for i := uint32(0); err == nil && i < count; i++ {
		err = nextBounded(scanner, limit)
	}
	if errors.Is(err, errLarge) {
		return archive.Exceeded("objectBytes", int(limit), "")
	}
	if err != nil {
		return garbled(err, "its pack is not well formed")
	}
	return nil
}

var errLarge = errors.New("gitsync: an object is too large")

func nextBounded(scanner *packfile.Scanner, limit int64) error {
	header, err := scanner.NextObjectHeader()
	if err != nil {
		return err
	}
	if header.Length > limit {
		return errLarge
	}
	w := &weight{limit: limit}
	if _, _, err := scanner.NextObject(w); err != nil {
		return err
	}
	if header.Type != plumbing.OFSDeltaObject && header.Type != plumbing.REFDeltaObject {
		return nil
	}
	_, n := binary.Uvarint(w.head) // the size of what the difference is to
	if n <= 0 {
		return io.ErrUnexpectedEOF
	}
	if size, n := binary.Uvarint(w.head[n:]); n <= 0 || size > uint64(limit) {
		return errLarge
	}
	return nil
}

// weight counts what it is given, and keeps the beginning.
type weight struct {
	limit, n int64
	head     []byte
}

// Write implements io.Writer.
func (w *weight) Write(b []byte) (int, error) {
	if w.n += int64(len(b)); w.n > w.limit {
		return 0, errLarge
	}
	w.head = append(w.head, b[:min(len(b), 2*binary.MaxVarintLen64-len(w.head))]...)
	return len(b), nil
}
