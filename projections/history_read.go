package projections

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/domain/workspace"
)

// source is where a manifest is read from: a transaction, or a reader.
type source interface {
	iterate(s Span, visit func(key, value []byte) (bool, error)) error
}

type txSource struct{ tx Tx }

func (s txSource) iterate(span Span, visit func(key, value []byte) (bool, error)) error {
	return s.tx.Iterate(span, visit)
}

type readerSource struct{ r Reader }

func (s readerSource) iterate(span Span, visit func(key, value []byte) (bool, error)) error {
	return s.r.Iterate(History{}, span, visit)
}

// manifestAt puts the manifest together: the last whole one, and what changed
// since.
func manifestAt(from source, id string, seq uint64) (Manifest, error) {
	m, since := Manifest{}, uint64(0)
	at := binary.BigEndian.AppendUint64(nil, seq)
	prefix := scoped('f', id, nil)
	err := from.iterate(Span{Prefix: prefix, From: scoped('f', id, at), Reverse: true}, func(key, value []byte) (bool, error) {
		since = binary.BigEndian.Uint64(key[len(prefix):])
		return false, json.Unmarshal(value, &m)
	})
	if err != nil {
		return nil, err
	}
	prefix = scoped('d', id, nil)
	start := binary.BigEndian.AppendUint64(nil, since+1)
	err = from.iterate(Span{Prefix: prefix, From: scoped('d', id, start)}, func(key, value []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[len(prefix):]) > seq {
			return false, nil
		}
		var refs Manifest
		if err := json.Unmarshal(value, &refs); err != nil {
			return false, err
		}
		maps.Copy(m, refs)
		return true, nil
	})
	maps.DeleteFunc(m, func(_ string, ref Ref) bool { return ref.Hash == "" })
	return m, err
}

// ManifestAt returns the content of a workspace as it was after the change at, or
// before, a sequence; it is empty before the workspace was created.
func (h History) ManifestAt(r Reader, id string, seq uint64) (Manifest, error) {
	return manifestAt(readerSource{r}, id, seq)
}

// Get returns the change at a sequence.
func (h History) Get(r Reader, scope string, seq uint64) (c Change, ok bool, err error) {
	value, ok, err := r.Get(h, scoped('h', scope, binary.BigEndian.AppendUint64(nil, seq)))
	if err != nil || !ok {
		return c, false, err
	}
	c, err = h.change(r, value)
	return c, err == nil, err
}

// change reads a change, with all that it touched.
func (h History) change(r Reader, value []byte) (c Change, err error) {
	if err = json.Unmarshal(value, &c); err != nil || !c.Many {
		return c, err
	}
	delta, ok, err := r.Get(h, scoped('d', c.Workspace, binary.BigEndian.AppendUint64(nil, c.Seq)))
	if err != nil || !ok {
		return c, err
	}
	var refs Manifest
	err = json.Unmarshal(delta, &refs)
	delete(refs, "index")
	c.Parts, c.Many = append(refs.Paths(), c.Parts...), false
	return c, err
}

// List visits the changes of a scope before a sequence, the last first, until
// visit returns false. 0 begins with the last of all.
func (h History) List(r Reader, scope string, before uint64, visit func(Change) (more bool)) error {
	span := Span{Prefix: scoped('h', scope, nil), Reverse: true}
	if before > 0 {
		span.From = scoped('h', scope, binary.BigEndian.AppendUint64(nil, before-1))
	}
	return r.Iterate(h, span, func(_, value []byte) (bool, error) {
		c, err := h.change(r, value)
		if err != nil {
			return false, err
		}
		return visit(c), nil
	})
}

// Revision returns the sequence of the last change of the content of a workspace at
// or before a sequence; 0 when there was none.
func (h History) Revision(r Reader, id string, seq uint64) (revision uint64, err error) {
	err = h.List(r, id, seq+1, func(c Change) bool {
		if c.Content {
			revision = c.Seq
		}
		return revision == 0
	})
	return revision, err
}

// ListAll is List of everything that happened.
func (h History) ListAll(r Reader, before uint64, visit func(Change) (more bool)) error {
	span := Span{Prefix: []byte{'g'}, Reverse: true}
	if before > 0 {
		span.From = binary.BigEndian.AppendUint64([]byte{'g'}, before-1)
	}
	return r.Iterate(h, span, func(key, value []byte) (bool, error) {
		c, ok, err := h.Get(r, string(value), binary.BigEndian.Uint64(key[1:]))
		if err != nil || !ok {
			return false, errors.Join(err, fmt.Errorf("change %x is in the index, but not there", key[1:]))
		}
		return visit(c), nil
	})
}

// Touched returns the sequence of the last change of a part, 0 when it never
// changed.
func (h History) Touched(r Reader, id, part string) (uint64, error) {
	value, ok, err := r.Get(h, partKey(id, part))
	if err != nil || !ok {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

// RolledBack reports whether the last change of the document at a path was a rollback.
func (h History) RolledBack(r Reader, id, path string) (bool, error) {
	seq, err := h.Touched(r, id, path)
	if path == "index" && err == nil {
		prefix := scoped('t', id, []byte(workspace.IndexPart))
		err = r.Iterate(h, Span{Prefix: prefix}, func(_, value []byte) (bool, error) {
			seq = max(seq, binary.BigEndian.Uint64(value))
			return true, nil
		})
	}
	if err != nil || seq == 0 {
		return false, err
	}
	change, _, err := h.Get(r, id, seq)
	return change.Rollback, err
}

// SeqAt returns the sequence of the last event of a workspace at or before a
// time, 0 when there was none.
func (h History) SeqAt(r Reader, id string, at time.Time) (seq uint64, err error) {
	until := binary.BigEndian.AppendUint64(nil, uint64(max(at.UnixMilli(), 0)))
	span := Span{Prefix: scoped('a', id, nil), From: scoped('a', id, until), Reverse: true}
	err = r.Iterate(h, span, func(_, value []byte) (bool, error) {
		seq = binary.BigEndian.Uint64(value)
		return false, nil
	})
	return seq, err
}

// Paths returns the paths of m in order.
func (m Manifest) Paths() []string { return slices.Sorted(maps.Keys(m)) }
