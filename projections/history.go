package projections

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// History is the read model of what happened to the state of the platform, and of
// what the content of each workspace was at any sequence.
//
//	h{scope}\0{seq}      Change: an entry of the history
//	g{seq}               scope: the history of everything
//	d{workspace}\0{seq}  JSON: what a change did to the manifest, with what was there before
//	f{workspace}\0{seq}  JSON: the whole manifest after a change; see fullManifestEvery
//	n{workspace}         how many documents may still change before the next whole manifest
//	i{workspace}         the index document after the last change
//	s{workspace}         staged content
//	a{workspace}\0{ms}   sequence of the last event by a time
//	j{workspace}         JSON: the Ref of the index document after the last change
//	t{workspace}\0{part} sequence of the last change of a part; of a document also its Ref, unless the change was large
type History struct{}

// Change is one entry of the history.
type Change struct {
	Seq           uint64   `json:"seq"`
	Workspace     string   `json:"workspaceId"`
	At            string   `json:"at"`
	By            string   `json:"by"`
	Type          string   `json:"type"`
	Summary       string   `json:"summary"`
	CorrelationID string   `json:"correlationId,omitempty"`
	Content       bool     `json:"content,omitempty"`
	Parts         []string `json:"parts,omitempty"` // what it touched: paths, index#name
	Many          bool     `json:"many,omitempty"`  // as it is stored: the paths are in the change of the manifest
	// Rollback says that it put content there as it was at another time: a restoration, a version or
	// an archive, not the newest of a repository.
	Rollback bool `json:"rollback,omitempty"`
}

// Ref names a document at a past moment.
type Ref struct {
	Hash        string                `json:"h,omitempty"` // "": there is none
	Apart       bool                  `json:"a,omitempty"`
	ID          string                `json:"i,omitempty"`
	Public      bool                  `json:"p,omitempty"`
	Sealed      map[string][]byte     `json:"s,omitempty"`
	HiddenPaths workspace.HiddenPaths `json:"u,omitempty"`
}

// Manifest is the content of a workspace at a moment, by path.
type Manifest map[string]Ref

// manifestChange is what a change did to the manifest, by path.
type manifestChange map[string]refChange

// refChange is a document after a change, and before it.
type refChange struct {
	Ref

	Was *Ref `json:"w,omitempty"` // nil: there was none, or see Before
	// Before is the sequence of the large change that has what was there, 0 for none.
	Before uint64 `json:"b,omitempty"`
}

// fullManifestEvery is after how many changed documents the manifest is written out, at least. A
// larger one is written after as many changed documents as it has: so a change costs the same in
// every workspace, and to read a manifest costs at most twice its size.
const fullManifestEvery = 64

// maxParts is the maximal number of parts that are stored with a change: the writes of one event
// must fit into one transaction.
const maxParts = 500

// Name implements Projection.
func (History) Name() string { return "history.6" }

// Log implements Projection.
func (History) Log() domain.Log { return domain.State }

// isHidden reports whether an event is internal and not shown in the history.
func isHidden(ev domain.Event) bool {
	switch ev.(type) {
	case workspace.Staged, workspace.Marked, workspace.Intended, domain.Sealed, domain.Void, domain.Unknown,
		operation.Started, operation.Progress, operation.CancelRequested, operation.Resumed, operation.Ended:
		return true
	}
	return strings.HasPrefix(ev.EventType(), "names.")
}

// Apply implements Projection.
func (h History) Apply(tx Tx, ev domain.Recorded) error {
	scope := ev.Stream.Scope
	if e, ok := ev.Data.(workspace.Staged); ok {
		return h.stage(tx, scope, e)
	}
	if isHidden(ev.Data) {
		return nil
	}
	change := Change{
		Seq: ev.Seq, Workspace: scope, At: domain.FormatTime(ev.At), By: ev.Meta.UserID, Type: ev.Data.EventType(),
		Summary: workspace.Summarise(ev.Data), CorrelationID: ev.Meta.CorrelationID, Rollback: isRollback(ev.Data),
	}
	if d, ok := workspace.DeltaOf(ev.Data); ok && ev.Stream.Kind == workspace.Decider.Kind {
		change.Content = true
		var err error
		if change.Parts, err = h.applyContent(tx, ev, d); err != nil {
			return err
		}
		if change.Many = len(change.Parts) > maxParts; change.Many {
			change.Parts = slices.DeleteFunc(change.Parts, func(part string) bool { return !strings.HasPrefix(part, workspace.IndexPart) })
		}
	}
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	seq := binary.BigEndian.AppendUint64(nil, ev.Seq)
	at := binary.BigEndian.AppendUint64(nil, uint64(ev.At.UnixMilli()))
	return errors.Join(tx.Set(scopedKey('h', scope, seq), body), tx.Set(append([]byte{'g'}, seq...), []byte(scope)), tx.Set(scopedKey('a', scope, at), seq))
}

func isRollback(ev domain.Event) bool {
	switch e := ev.(type) {
	case workspace.Restored:
		return true
	case workspace.Imported:
		return e.Sync == nil || e.Sync.Base == nil
	}
	return false
}

// applyContent records what a change did to the manifest and returns what it touched.
func (h History) applyContent(tx Tx, ev domain.Recorded, d workspace.Delta) ([]string, error) {
	id := ev.Stream.ID
	if d.Stage != "" {
		staged, err := h.unstage(tx, id)
		if err != nil {
			return nil, err
		}
		d.Entries = append(staged, d.Entries...)
	}
	entries, err := entriesWithRoots(d)
	if err != nil {
		return nil, err
	}
	refs, parts := manifestChange{}, []string{}
	for _, path := range d.Deleted {
		refs[path] = refChange{}
		parts = append(parts, path)
	}
	for _, e := range entries {
		if e.From != "" {
			refs[e.From] = refChange{}
			parts = append(parts, e.From)
		}
		refs[e.Path] = refChange{Ref: Ref{Hash: e.Hash, Apart: e.Apart, ID: e.ID, Public: e.Public, Sealed: e.Sealed, HiddenPaths: e.HiddenPaths}}
		if e.Path != "index" {
			parts = append(parts, e.Path)
		}
	}
	if err := h.addBefore(tx, id, ev.Seq, refs); err != nil {
		return nil, err
	}
	if d.Settings != nil {
		touched, err := h.updateIndex(tx, id, d.Settings.Index())
		if err != nil {
			return nil, err
		}
		if len(touched) > maxParts { // of earlier versions, which took any number
			touched = []string{workspace.IndexPart + "blocks"}
		}
		for _, part := range touched {
			if err := tx.Set(partKey(id, part), seqKey(ev.Seq)); err != nil {
				return nil, err
			}
		}
		parts = append(parts, touched...)
	}
	return parts, h.putManifest(tx, id, ev.Seq, refs)
}

// addBefore adds what was there before a change of documents, and notes what is there now. What a change of many
// documents put there is found by its sequence: with all their refs it would not fit into a transaction.
func (h History) addBefore(tx Tx, id string, seq uint64, refs manifestChange) error {
	for path, now := range refs {
		key := partKey(id, path)
		if path == "index" {
			key = scopedKey('j', id, nil)
		}
		value, ok, err := tx.Get(key)
		if err != nil {
			return err
		}
		if ok && len(value) == 8 {
			now.Before = binary.BigEndian.Uint64(value)
		} else if ok {
			now.Was = &Ref{}
			if err := json.Unmarshal(value[8:], now.Was); err != nil {
				return err
			}
		}
		refs[path] = now
		last := seqKey(seq)
		if len(refs) <= maxParts {
			ref, err := json.Marshal(now.Ref)
			if err != nil {
				return err
			}
			last = append(last, ref...)
		}
		if err := tx.Set(key, last); err != nil {
			return err
		}
	}
	return nil
}

// updateIndex returns what a new index document touches.
func (History) updateIndex(tx Tx, id string, after *document.Map) ([]string, error) {
	before := document.MapOf()
	if err := getJSON(tx, scopedKey('i', id, nil), before); err != nil {
		return nil, err
	}
	return workspace.Parts(before, after), setJSON(tx, scopedKey('i', id, nil), after)
}

// putManifest stores a delta of the manifest, and now and then the whole manifest.
func (h History) putManifest(tx Tx, id string, seq uint64, refs manifestChange) error {
	at := binary.BigEndian.AppendUint64(nil, seq)
	if err := setJSON(tx, scopedKey('d', id, at), refs); err != nil {
		return err
	}
	left := fullManifestEvery
	if err := getJSON(tx, scopedKey('n', id, nil), &left); err != nil {
		return err
	}
	if left -= len(refs); left <= 0 && len(refs) <= maxParts {
		whole, err := manifestAt(txSource{tx}, id, seq)
		if err != nil {
			return err
		}
		if err := setJSON(tx, scopedKey('f', id, at), whole); err != nil {
			return err
		}
		left = max(fullManifestEvery, len(whole))
	}
	return setJSON(tx, scopedKey('n', id, nil), left)
}

func (History) stage(tx Tx, id string, e workspace.Staged) error {
	var part stagedPart
	key := scopedKey('s', id, nil)
	if err := getJSON(tx, key, &part); err != nil {
		return err
	}
	if part.Name != e.Name {
		part = stagedPart{Name: e.Name}
	}
	for _, entry := range e.Entries {
		part.Entries = append(part.Entries, workspace.Entry{
			Path: entry.Path, From: entry.From, Hash: entry.Hash, Apart: entry.Apart, ID: entry.ID, Public: entry.Public, Sealed: entry.Sealed, HiddenPaths: entry.HiddenPaths,
		})
	}
	return setJSON(tx, key, part)
}

func (History) unstage(tx Tx, id string) ([]workspace.Entry, error) {
	var part stagedPart
	key := scopedKey('s', id, nil)
	if err := getJSON(tx, key, &part); err != nil {
		return nil, err
	}
	return part.Entries, tx.Delete(key)
}

func getJSON(tx Tx, key []byte, v any) error {
	value, ok, err := tx.Get(key)
	if err != nil || !ok {
		return err
	}
	return json.Unmarshal(value, v)
}

func setJSON(tx Tx, key []byte, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Set(key, body)
}

// maxPart is the maximal length of the name of a part in a key.
const maxPart = 1000

// partKey is the key of a part. A name that is too long for a key is hashed.
func partKey(id, part string) []byte {
	if len(part) > maxPart {
		part = "#" + workspace.HashOf([]byte(part))
	}
	return scopedKey('t', id, []byte(part))
}

// manifestSource is a transaction or a reader.
type manifestSource interface {
	getter
	iterate(s Span, visit func(key, value []byte) (bool, error)) error
}

type txSource struct{ tx Tx }

// Get implements getter.
func (s txSource) Get(key []byte) ([]byte, bool, error) { return s.tx.Get(key) }

func (s txSource) iterate(span Span, visit func(key, value []byte) (bool, error)) error {
	return s.tx.Iterate(span, visit)
}

type readerSource struct{ r Reader }

// Get implements getter.
func (s readerSource) Get(key []byte) ([]byte, bool, error) { return s.r.Get(History{}, key) }

func (s readerSource) iterate(span Span, visit func(key, value []byte) (bool, error)) error {
	return s.r.Iterate(History{}, span, visit)
}

// manifestAt computes the manifest from the last whole one and the changes since.
func manifestAt(from manifestSource, id string, seq uint64) (Manifest, error) {
	m, since := Manifest{}, uint64(0)
	at := binary.BigEndian.AppendUint64(nil, seq)
	prefix := scopedKey('f', id, nil)
	err := from.iterate(Span{Prefix: prefix, From: scopedKey('f', id, at), Reverse: true}, func(key, value []byte) (bool, error) {
		since = binary.BigEndian.Uint64(key[len(prefix):])
		return false, json.Unmarshal(value, &m)
	})
	if err != nil {
		return nil, err
	}
	prefix = scopedKey('d', id, nil)
	start := binary.BigEndian.AppendUint64(nil, since+1)
	err = from.iterate(Span{Prefix: prefix, From: scopedKey('d', id, start)}, func(key, value []byte) (bool, error) {
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

// maxChanged is how many documents ChangedSince returns at most: the whole manifest is cheaper to
// read than many changes.
const maxChanged = 1000

// ChangedSince returns what changed of the content of a workspace after a sequence, up to another;
// ok is false when that is more than maxChanged documents.
func (h History) ChangedSince(r Reader, id string, after, until uint64) (changed Manifest, ok bool, err error) {
	changed, ok = Manifest{}, true
	prefix := scopedKey('d', id, nil)
	err = r.Iterate(h, Span{Prefix: prefix, From: scopedKey('d', id, binary.BigEndian.AppendUint64(nil, after+1))}, func(key, value []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[len(prefix):]) > until {
			return false, nil
		}
		var refs Manifest
		if err := json.Unmarshal(value, &refs); err != nil {
			return false, err
		}
		maps.Copy(changed, refs)
		ok = len(changed) <= maxChanged
		return ok, nil
	})
	return changed, ok && err == nil, err
}

// ChangedBy returns the documents that the change at a sequence touched, before it and after it. The zero Ref is a
// document that was not there.
func (h History) ChangedBy(r Reader, id string, seq uint64) (was, is Manifest, err error) {
	return changedBy(readerSource{r}, id, seq)
}

func changedBy(from manifestSource, id string, seq uint64) (was, is Manifest, err error) {
	c, err := readManifestChange(from, id, seq)
	if err != nil {
		return nil, nil, err
	}
	was, is = make(Manifest, len(c)), make(Manifest, len(c))
	for path, ref := range c {
		is[path] = ref.Ref
	}
	return was, is, c.addWas(from, id, was)
}

// ChangedAfter returns the documents that changed after a sequence, up to another, as they were then. The zero Ref
// is a document that was not there. ok is false when there are more than maxChanged changes: the whole manifest is
// cheaper to read.
func (h History) ChangedAfter(r Reader, id string, after, until uint64) (was Manifest, ok bool, err error) {
	return changedAfter(readerSource{r}, id, after, until)
}

func changedAfter(from manifestSource, id string, after, until uint64) (was Manifest, ok bool, err error) {
	was = Manifest{}
	changes := 0
	prefix := scopedKey('d', id, nil)
	err = from.iterate(Span{Prefix: prefix, From: scopedKey('d', id, seqKey(after+1))}, func(key, value []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[len(prefix):]) > until {
			return false, nil
		}
		var c manifestChange
		if err := json.Unmarshal(value, &c); err != nil {
			return false, err
		}
		if changes += len(c); changes > maxChanged {
			return false, nil
		}
		return true, c.addWas(from, id, was)
	})
	return was, changes <= maxChanged && err == nil, err
}

// addWas adds what was there before a change, unless it is known from an earlier one.
func (c manifestChange) addWas(from manifestSource, id string, was Manifest) error {
	large := map[uint64]manifestChange{}
	for path, ref := range c {
		if _, known := was[path]; known {
			continue
		}
		switch {
		case ref.Was != nil:
			was[path] = *ref.Was
		case ref.Before == 0:
			was[path] = Ref{}
		default:
			if large[ref.Before] == nil {
				before, err := readManifestChange(from, id, ref.Before)
				if err != nil {
					return err
				}
				large[ref.Before] = before
			}
			was[path] = large[ref.Before][path].Ref
		}
	}
	return nil
}

func readManifestChange(from manifestSource, id string, seq uint64) (c manifestChange, err error) {
	value, ok, err := from.Get(scopedKey('d', id, seqKey(seq)))
	if err != nil || !ok {
		return nil, err
	}
	return c, json.Unmarshal(value, &c)
}

// Get returns the change at a sequence.
func (h History) Get(r Reader, scope string, seq uint64) (c Change, ok bool, err error) {
	value, ok, err := r.Get(h, scopedKey('h', scope, binary.BigEndian.AppendUint64(nil, seq)))
	if err != nil || !ok {
		return c, false, err
	}
	c, err = h.readChange(r, value)
	return c, err == nil, err
}

// readChange reads a change, with all that it touched.
func (h History) readChange(r Reader, value []byte) (c Change, err error) {
	if err = json.Unmarshal(value, &c); err != nil || !c.Many {
		return c, err
	}
	delta, ok, err := r.Get(h, scopedKey('d', c.Workspace, binary.BigEndian.AppendUint64(nil, c.Seq)))
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
	span := Span{Prefix: scopedKey('h', scope, nil), Reverse: true}
	if before > 0 {
		span.From = scopedKey('h', scope, binary.BigEndian.AppendUint64(nil, before-1))
	}
	return r.Iterate(h, span, func(_, value []byte) (bool, error) {
		c, err := h.readChange(r, value)
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

// ListAll is List for all scopes.
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
		prefix := scopedKey('t', id, []byte(workspace.IndexPart))
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
	span := Span{Prefix: scopedKey('a', id, nil), From: scopedKey('a', id, until), Reverse: true}
	err = r.Iterate(h, span, func(_, value []byte) (bool, error) {
		seq = binary.BigEndian.Uint64(value)
		return false, nil
	})
	return seq, err
}

// Paths returns the paths of m in order.
func (m Manifest) Paths() []string { return slices.Sorted(maps.Keys(m)) }
