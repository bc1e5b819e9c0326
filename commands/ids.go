package commands

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	"github.com/oklog/ulid/v2"
)

// ids are the event ids of one command: the same for every attempt at it.
type ids struct{ base [16]byte }

// drawIDs returns the ids of the next command of the request in ctx.
func drawIDs(ctx context.Context) ids { return ids{base: RequestFrom(ctx).draw()} }

// at returns the id of the i-th event, in order.
func (d ids) at(i int) string {
	id := ulid.ULID(d.base)
	binary.BigEndian.PutUint64(id[8:], binary.BigEndian.Uint64(id[8:])+uint64(i))
	return id.String()
}

// draw returns 16 bytes fit for a ULID that are unlike any drawn before. With a
// seed they are a function of it and of how many the request drew already, so
// that a repeated request draws the same again.
func (r *Request) draw() [16]byte {
	if r.Seed == "" {
		return ulid.Make()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drawn++
	h := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(r.Seed), uint64(r.drawn)))
	h[0] &= 0x7f // the first character of a ULID has three bits
	h[8] &= 0x7f // leaves room for at
	return [16]byte(h[:16])
}

const idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newShortID returns an id of n URL-safe characters for something new.
func newShortID(ctx context.Context, n int) string {
	r := RequestFrom(ctx)
	var source [32]byte
	if r.Seed == "" {
		_, _ = rand.Read(source[:]) // never fails: crypto/rand ends the process instead
	} else {
		b := r.draw()
		source = sha256.Sum256(b[:])
	}
	id := make([]byte, n)
	for i := range id {
		id[i] = idAlphabet[int(source[i])%len(idAlphabet)]
	}
	return string(id)
}
