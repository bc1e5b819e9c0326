package projections

import (
	"bytes"
	"encoding/binary"
	"slices"

	"svc/domain"
)

// Erasable is what the read models keep of the activity of workspaces, by sequence:
// of all of it, or of deliveries only.
type Erasable struct{ Deliveries bool }

// trace is a space of keys that begin with a workspace and a sequence.
type trace struct {
	Projection
	space byte
}

func (e Erasable) traces() []trace {
	deliveries := []trace{{Deliveries{}, 'q'}, {Deliveries{}, 'g'}}
	if e.Deliveries {
		return deliveries
	}
	return append(deliveries, trace{FeedOf(domain.Activity), 'e'}, trace{Runs{}, 's'})
}

// Workspaces lists the workspaces of which something is kept.
func (e Erasable) Workspaces(r Reader) ([]string, error) {
	var ids []string
	for _, t := range e.traces() {
		found, err := t.workspaces(r)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// workspaces lists the workspaces that have keys in the space, without reading all of
// their keys.
func (t trace) workspaces(r Reader) (ids []string, err error) {
	span := Span{Prefix: []byte{t.space}, KeysOnly: true}
	for more := true; more && err == nil; {
		more = false
		err = r.Iterate(t.Projection, span, func(key, _ []byte) (bool, error) {
			id, _, _ := bytes.Cut(key[1:], []byte{0})
			ids, more = append(ids, string(id)), true
			return false, nil
		})
		if more {
			span.From = append(append([]byte{t.space}, ids[len(ids)-1]...), 1) // behind all keys of it
		}
	}
	return ids, err
}

// Piece is a range of sequences of a workspace, up to and with To.
type Piece struct {
	To    uint64
	Known int // how many things are kept of it: an event that tells of many deliveries is as many
	Shown int // events that readers see
}

// Piece returns the first part of a workspace's activity from one sequence to before
// another of which about limit things are kept, so that it can be forgotten at once.
func (e Erasable) Piece(r Reader, workspaceID string, from, below uint64, limit int) (p Piece, err error) {
	var known, shown []uint64
	for _, t := range e.traces() {
		seqs, err := t.sequences(r, workspaceID, from, below, limit+1)
		if err != nil {
			return p, err
		}
		if known = append(known, seqs...); t.space == 'e' {
			shown = seqs
		}
	}
	slices.Sort(known)
	if p = (Piece{To: below - 1, Known: len(known)}); len(known) > limit {
		p = Piece{To: known[limit-1], Known: limit}
	}
	for _, seq := range shown {
		if seq <= p.To {
			p.Shown++
		}
	}
	return p, nil
}

// sequences returns the first sequences of a workspace in the space, from one on and
// before another.
func (t trace) sequences(r Reader, workspaceID string, from, below uint64, limit int) (seqs []uint64, err error) {
	prefix := scoped(t.space, workspaceID, nil)
	span := Span{Prefix: prefix, From: scoped(t.space, workspaceID, seqKey(from)), KeysOnly: true}
	err = r.Iterate(t.Projection, span, func(key, _ []byte) (bool, error) {
		seq := binary.BigEndian.Uint64(key[len(prefix):])
		if seq >= below {
			return false, nil
		}
		seqs = append(seqs, seq)
		return len(seqs) < limit, nil
	})
	return seqs, err
}
