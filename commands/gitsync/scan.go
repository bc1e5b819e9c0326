package gitsync

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"svc/commands/archive"
)

// maxObjects is how many objects a pack may hold: each takes memory, however small
// it is.
const maxObjects = 1_000_000

// bounded refuses a pack that holds an object that is too large, too many of them,
// or too much in all. Objects are unpacked in memory, and a small pack can hold a
// large one.
func bounded(ctx context.Context, pack io.Reader, limits Limits) error {
	scanner := packfile.NewScanner(pack)
	_, count, err := scanner.Header()
	if errors.Is(err, packfile.ErrEmptyPackfile) {
		return nil
	}
	if count > maxObjects {
		return archive.Exceeded("objects", maxObjects, "")
	}
	most := max(unpacked*limits.FetchBytes, unpacked*limits.ObjectBytes)
	for i, total := uint32(0), int64(0); err == nil && i < count; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var size int64
		size, err = nextBounded(scanner, limits.ObjectBytes)
		if total += size; total > most {
			return archive.Exceeded("unpackedBytes", int(most), "")
		}
	}
	if errors.Is(err, errLarge) {
		return archive.Exceeded("objectBytes", int(limits.ObjectBytes), "")
	}
	if err != nil {
		return garbled(err, "its pack is not well formed")
	}
	return nil
}

// unpacked is how many times as large as a pack may be what it holds.
const unpacked = 8

var errLarge = errors.New("gitsync: an object is too large")

func nextBounded(scanner *packfile.Scanner, limit int64) (size int64, err error) {
	header, err := scanner.NextObjectHeader()
	if err != nil {
		return 0, err
	}
	if header.Length > limit {
		return 0, errLarge
	}
	w := &weight{limit: limit}
	if _, _, err := scanner.NextObject(w); err != nil {
		return 0, err
	}
	if header.Type != plumbing.OFSDeltaObject && header.Type != plumbing.REFDeltaObject {
		return w.n, nil
	}
	_, n := binary.Uvarint(w.head) // the size of what the difference is to
	if n <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	made, n := binary.Uvarint(w.head[n:])
	if n <= 0 || made > uint64(limit) {
		return 0, errLarge
	}
	return w.n + int64(made), nil
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
