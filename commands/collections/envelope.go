package collections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"svc/commands"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/collection"
)

// Parts stores data that is too large for one entry. It is a *jetstream.Collections.
type Parts interface {
	PutPart(ctx context.Context, id domain.StreamID, name string, n int, body []byte) (uint64, error)
	ReadParts(ctx context.Context, id domain.StreamID, name string, count int, visit func(body []byte) error) error
}

const (
	pieceSize = 256 << 10 // of changes that are sealed together
	partSize  = 512 << 10 // of what is one message
)

// Envelope seals changes and opens them. It implements rows.Opener.
type Envelope struct {
	Parts Parts
	Vault commands.Vault
}

// purpose returns the purpose of the n-th sealed piece of an entry; the entry itself has no number.
func purpose(id domain.StreamID, name string, n int) string {
	if name == "" {
		return collection.Kind + "/" + id.ID
	}
	return collection.Kind + "/" + id.ID + "/" + name + "/" + strconv.Itoa(n)
}

// entryPacker builds an entry.
type entryPacker struct {
	*Envelope
	id    domain.StreamID
	name  string
	held  []byte // the only piece so far
	entry collection.Entry
	first uint64 // sequence of the first part; 0 for none
	n     int    // pieces that were stored
}

// addPiece adds a piece of changes. The first one is not stored yet: it may be the only one.
func (p *entryPacker) addPiece(ctx context.Context, piece []byte) error {
	if p.held == nil && p.n == 0 {
		p.held = slices.Clone(piece)
		return nil
	}
	if p.held != nil {
		if err := p.store(ctx, p.held); err != nil {
			return err
		}
		p.held = nil
	}
	return p.store(ctx, piece)
}

// store seals a piece and stores it in one or more parts. The first byte of each says whether it is
// the last one.
func (p *entryPacker) store(ctx context.Context, piece []byte) error {
	sealed, err := p.Vault.Seal(ctx, p.id.Scope, piece, purpose(p.id, p.name, p.n))
	if err != nil {
		return err
	}
	for len(sealed) > 0 {
		size := min(len(sealed), partSize)
		mark := byte(0)
		if size == len(sealed) {
			mark = 1
		}
		seq, err := p.Parts.PutPart(ctx, p.id, p.name, p.entry.Parts, append([]byte{mark}, sealed[:size]...))
		if err != nil {
			return err
		}
		if p.first == 0 {
			p.first = seq
		}
		p.entry.Size += int64(size)
		p.entry.Parts++
		sealed = sealed[size:]
	}
	p.n++
	return nil
}

// end returns the body of the entry.
func (p *entryPacker) end(ctx context.Context) ([]byte, error) {
	if p.n == 0 && len(p.held) <= pieceSize {
		sealed, err := p.Vault.Seal(ctx, p.id.Scope, p.held, purpose(p.id, "", 0))
		return collection.Entry{Sealed: sealed}.Append(nil), err
	}
	if p.held != nil {
		if err := p.store(ctx, p.held); err != nil {
			return nil, err
		}
	}
	p.entry.Name = p.name
	return p.entry.Append(nil), nil
}

// pack returns the body of an entry with these changes, after storing its parts if
// it has any.
func (e *Envelope) pack(ctx context.Context, id domain.StreamID, name string, changes []collection.Change) ([]byte, error) {
	p := &entryPacker{Envelope: e, id: id, name: name}
	var piece []byte
	for i, c := range changes {
		piece = collection.AppendChange(piece, c)
		if len(piece) >= pieceSize || i == len(changes)-1 {
			if err := p.addPiece(ctx, piece); err != nil {
				return nil, err
			}
			piece = piece[:0]
		}
	}
	return p.end(ctx)
}

// Open calls visit with the changes of an entry, in pieces. It fails with collection.ErrGone when the
// key of the workspace is destroyed, and with collection.ErrUnreadable when something is damaged.
func (e *Envelope) Open(ctx context.Context, l collection.Logged, visit func(changes []byte) error) error {
	entry, err := collection.ParseEntry(l.Body)
	if err != nil {
		return err
	}
	if entry.Parts == 0 {
		return e.open(ctx, l.Stream, entry.Sealed, purpose(l.Stream, "", 0), visit)
	}
	var sealed []byte
	n := 0
	return e.Parts.ReadParts(ctx, l.Stream, entry.Name, entry.Parts, func(part []byte) error {
		if len(part) == 0 {
			return fmt.Errorf("%w: an empty part", collection.ErrUnreadable)
		}
		if sealed = append(sealed, part[1:]...); part[0] == 0 {
			return nil
		}
		err := e.open(ctx, l.Stream, sealed, purpose(l.Stream, entry.Name, n), visit)
		sealed = nil
		n++
		return err
	})
}

func (e *Envelope) open(ctx context.Context, id domain.StreamID, sealed []byte, purpose string, visit func([]byte) error) error {
	plain, err := e.Vault.Open(ctx, id.Scope, sealed, purpose)
	switch {
	case errors.Is(err, vault.ErrNoKey):
		return fmt.Errorf("%w: %w", collection.ErrGone, err)
	case errors.Is(err, vault.ErrDamaged):
		return fmt.Errorf("%w: %w", collection.ErrUnreadable, err)
	case err != nil:
		return err
	}
	return visit(plain)
}
