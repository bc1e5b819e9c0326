package commands

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/oklog/ulid/v2"
)

// ids are the event ids of one command: the same for every attempt at it.
type ids struct{ base [16]byte }

// drawIDs returns the ids of the next command of the request in ctx for one
// purpose: an aggregate, or the activity of a workspace.
func drawIDs(ctx context.Context, purpose string) ids {
	return ids{base: RequestFrom(ctx).draw(purpose)}
}

// RepeatableIDs returns ids that a repetition of the request in ctx draws again; nil when
// the request cannot be recognised.
func RepeatableIDs(ctx context.Context, purpose string) func(i int) string {
	if RequestFrom(ctx).Seed == "" {
		return nil
	}
	return drawIDs(ctx, purpose).at
}

// at returns the id of the i-th event, in order.
func (d ids) at(i int) string {
	id := ulid.ULID(d.base)
	binary.BigEndian.PutUint64(id[8:], binary.BigEndian.Uint64(id[8:])+uint64(i))
	return id.String()
}

// again returns other ids for the same command, when these are burned.
func (d ids) again() ids { return ids{base: fit(sha256.Sum256(d.base[:]))} }

// draw returns 16 bytes fit for a ULID that are unlike any drawn before. With a
// seed they are a function of it, of the purpose, and of how often the request
// drew for that purpose, so that a repeated request draws the same again even
// when it does other things in between.
func (r *Request) draw(purpose string) [16]byte {
	if r.Seed == "" {
		return ulid.Make()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drawn == nil {
		r.drawn = map[string]int{}
	}
	r.drawn[purpose]++
	return fit(sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", r.Seed, purpose, r.drawn[purpose])))
}

// fit cuts a hash to the form of a ULID.
func fit(h [sha256.Size]byte) [16]byte {
	h[0] &= 0x7f // the first character of a ULID has three bits
	h[8] &= 0x7f // leaves room for at
	return [16]byte(h[:16])
}

const idAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewID returns an id of n URL-safe characters for something new.
func NewID(ctx context.Context, n int) string {
	r := RequestFrom(ctx)
	var source [32]byte
	if r.Seed == "" {
		_, _ = rand.Read(source[:]) // never fails: crypto/rand ends the process instead
	} else {
		b := r.draw("id")
		source = sha256.Sum256(b[:])
	}
	id := make([]byte, n)
	for i := range id {
		id[i] = idAlphabet[int(source[i])%len(idAlphabet)]
	}
	return string(id)
}

// randomFor returns a source of numbers below n. With a seed they are a function
// of it.
func randomFor(ctx context.Context) func(n int) int {
	return func(n int) int {
		b := RequestFrom(ctx).draw("number")
		sum := sha256.Sum256(b[:])
		return int(binary.BigEndian.Uint64(sum[:8]) % uint64(n))
	}
}
