package projections

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
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
//	h{scope}\0{seq}      Change: an entry of the history, of something other than content
//	d{workspace}\0{seq}  contentChange: an entry of the history of content
//	m{workspace}\0{seq}  what a change did to the manifest, when it is too long for its contentChange
//	g{seq/32}            the history of everything: sequence and scope of the changes of 32 sequences
//	f{workspace}\0{seq}  JSON: the whole manifest after a change; see fullManifestEvery
//	n{workspace}         how many documents may still change before the next whole manifest
//	i{workspace}         the index document after the last change
//	s{workspace}         staged content
//	j{workspace}         JSON: the Ref of the index document after the last change
//	t{workspace}\0{part} sequence of the last change of a part; of a document also its Ref, unless the change was large
type History struct{}

// Audit says when something was changed, and by whom.
type Audit struct {
	At string `json:"at"`
	By string `json:"by"`
}

// Change is one entry of the history. What is read alone comes first: see readAudit.
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

// maxBeside is how many bytes are stored beside others under one key, because each key costs as much as they do. What
// is longer has a key of its own: it is read seldom.
const maxBeside = 8 << 10

// Name implements Projection.
func (History) Name() string { return "history.7" }

// Log implements Projection.
func (History) Log() domain.Log { return domain.State }

// Rewritten implements Rewriting.
func (History) Rewritten() string { return "nijt" }

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
	if err := h.addToAll(tx, ev.Seq, scope); err != nil {
		return err
	}
	if d, ok := tx.delta(ev); ok && ev.Stream.Kind == workspace.Decider.Kind {
		change.Content = true
		return h.applyContent(tx, ev, d, change)
	}
	body, err := change.encode()
	if err != nil {
		return err
	}
	return tx.Set(scopedKey('h', scope, seqKey(ev.Seq)), body)
}

// allBucket is how many sequences a part of the history of everything is about.
const allBucket = 32

// addToAll adds a change to the history of everything.
func (History) addToAll(tx Tx, seq uint64, scope string) error {
	key := allKey(seq)
	bucket, _, err := tx.Get(key)
	if err != nil {
		return err
	}
	bucket = binary.AppendUvarint(append(bucket, byte(seq%allBucket)), uint64(len(scope)))
	return tx.Set(key, append(bucket, scope...))
}

// allKey is the key of the part of the history of everything that a sequence is in.
func allKey(seq uint64) []byte { return append([]byte{'g'}, seqKey(seq/allBucket)...) }

func isRollback(ev domain.Event) bool {
	switch e := ev.(type) {
	case workspace.Restored:
		return true
	case workspace.Imported:
		return e.Sync == nil || e.Sync.Base == nil
	}
	return false
}

// applyContent records a change of content, with what it touched and what it did to the manifest.
func (h History) applyContent(tx Tx, ev domain.Recorded, d workspace.Delta, change Change) error {
	id := ev.Stream.ID
	if d.Stage != "" {
		staged, err := h.unstage(tx, id)
		if err != nil {
			return err
		}
		d.Entries = append(staged, d.Entries...)
	}
	roots, err := tx.roots(d)
	if err != nil {
		return err
	}
	refs, parts := manifestChange{}, []string{}
	for _, path := range d.Deleted {
		refs[path] = refChange{}
		parts = append(parts, path)
	}
	for _, e := range roots.with(d.Entries) {
		if e.From != "" {
			refs[e.From] = refChange{}
			parts = append(parts, e.From)
		}
		refs[e.Path] = refChange{Ref: Ref{Hash: e.Hash, Apart: e.Apart, ID: e.ID, Public: e.Public, Sealed: e.Sealed, HiddenPaths: e.HiddenPaths}}
		if e.Path != "index" {
			parts = append(parts, e.Path)
		}
	}
	if err := h.addBefore(tx, id, ev.Seq, refs, d.IsNew); err != nil {
		return err
	}
	if roots.index != nil {
		touched, err := h.updateIndex(tx, id, roots)
		if err != nil {
			return err
		}
		if len(touched) > maxParts { // of earlier versions, which took any number
			touched = []string{workspace.IndexPart + "blocks"}
		}
		for _, part := range touched {
			if err := tx.Set(partKey(id, part), seqKey(ev.Seq)); err != nil {
				return err
			}
		}
		parts = append(parts, touched...)
	}
	if change.Many = len(parts) > maxParts; change.Many {
		parts = slices.DeleteFunc(parts, func(part string) bool { return !strings.HasPrefix(part, workspace.IndexPart) })
	}
	change.Parts = parts
	if err := putContentChange(tx, change, refs); err != nil {
		return err
	}
	return h.putManifest(tx, id, ev.Seq, refs)
}

// contentChange is a change of content as it is stored: the length of its Change, the Change, and what it did to the
// manifest, with what was there before.
type contentChange []byte

var errContentChange = errors.New("a change of content is damaged")

// putContentChange stores a change of content.
func putContentChange(tx Tx, c Change, refs manifestChange) error {
	change, err := c.encode()
	if err != nil {
		return err
	}
	delta, err := refs.encode()
	if err != nil {
		return err
	}
	seq := seqKey(c.Seq)
	value := make([]byte, 0, binary.MaxVarintLen32+len(change)+min(len(delta), maxBeside))
	value = appendPart(value, change)
	if len(delta) > maxBeside {
		if err := tx.Set(scopedKey('m', c.Workspace, seq), delta); err != nil {
			return err
		}
	} else {
		value = append(value, delta...)
	}
	return tx.Set(scopedKey('d', c.Workspace, seq), value)
}

// split returns the Change, and what it did to the manifest: nothing when that has a key of its own.
func (c contentChange) split() (change, delta []byte, err error) {
	change, delta, ok := cutPart(c)
	if !ok {
		return nil, nil, errContentChange
	}
	return change, delta, nil
}

// delta returns what the change at a sequence did to the manifest.
func (c contentChange) delta(from getter, id string, seq uint64) ([]byte, error) {
	_, delta, err := c.split()
	if err != nil || len(delta) > 0 {
		return delta, err
	}
	delta, ok, err := from.Get(scopedKey('m', id, seqKey(seq)))
	if err == nil && !ok {
		err = errContentChange
	}
	return delta, err
}

// addBefore adds what was there before a change of documents, and notes what is there now. What a change of many
// documents put there is found by its sequence: with all their refs it would not fit into a transaction.
func (h History) addBefore(tx Tx, id string, seq uint64, refs manifestChange, isNew bool) error {
	for path, now := range refs {
		key := partKey(id, path)
		if path == "index" {
			key = scopedKey('j', id, nil)
		}
		var value []byte
		ok := false
		if !isNew {
			var err error
			if value, ok, err = tx.getShared(key); err != nil {
				return err
			}
		}
		if ok && len(value) == 8 {
			now.Before = binary.BigEndian.Uint64(value)
		} else if ok {
			now.Was = &Ref{}
			if err := now.Was.decode(value[8:]); err != nil {
				return err
			}
		}
		refs[path] = now
		last := seqKey(seq)
		if len(refs) <= maxParts {
			var err error
			if last, err = now.appendJSON(last); err != nil {
				return err
			}
		}
		if err := tx.Set(key, last); err != nil {
			return err
		}
	}
	return nil
}

// updateIndex returns what a new index document touches.
func (History) updateIndex(tx Tx, id string, roots roots) ([]string, error) {
	key := scopedKey('i', id, nil)
	value, ok, err := tx.getShared(key)
	if err != nil {
		return nil, err
	}
	body, err := roots.safeIndex()
	if err != nil {
		return nil, err
	}
	before, after := document.MapOf(), roots.index
	if ok {
		rest, same, err := unequalMembers(value, body)
		if err == nil {
			err = before.UnmarshalJSON(rest)
		}
		if err != nil {
			return nil, err
		}
		after = document.MapOf()
		for name, v := range roots.index.All() {
			if !slices.Contains(same, name) {
				after.Set(name, v)
			}
		}
	}
	return workspace.Parts(before, after), tx.Set(key, body)
}

// unequalMembers returns a JSON object without the members that another one has in the same form, and the names of those.
// Few members of an index change at once, so most need not be decoded.
func unequalMembers(object, other []byte) (rest []byte, same []string, err error) {
	type member struct{ name, value []byte }
	others := make([]member, 0, 8)
	err = domain.VisitMembers(other, func(name, value []byte) error {
		others = append(others, member{name, value})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	rest = append(make([]byte, 0, 512), '{')
	err = domain.VisitMembers(object, func(name, value []byte) error {
		isEqual := func(m member) bool { return bytes.Equal(m.name, name) && bytes.Equal(m.value, value) }
		if bytes.IndexByte(name, '\\') < 0 && slices.ContainsFunc(others, isEqual) {
			same = append(same, string(name))
			return nil
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(append(rest, '"'), name...), '"', ':'), value...)
		return nil
	})
	return append(rest, '}'), same, err
}

// putManifest stores the whole manifest now and then.
func (h History) putManifest(tx Tx, id string, seq uint64, refs manifestChange) error {
	left, key := int64(fullManifestEvery), scopedKey('n', id, nil)
	value, ok, err := tx.getShared(key)
	if err == nil && ok {
		err = domain.DecodeInt(&left, value)
	}
	if err != nil {
		return err
	}
	if left -= int64(len(refs)); left <= 0 && len(refs) <= maxParts {
		whole, err := manifestAt(txSource{tx}, id, seq)
		if err != nil {
			return err
		}
		body, err := whole.encode()
		if err != nil {
			return err
		}
		if err := tx.Set(scopedKey('f', id, seqKey(seq)), body); err != nil {
			return err
		}
		left = int64(max(fullManifestEvery, len(whole)))
	}
	return tx.Set(key, strconv.AppendInt(nil, left, 10))
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
	value, ok, err := tx.getShared(key)
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

// txSource reads values that are not changed.
type txSource struct{ tx Tx }

// Get implements getter.
func (s txSource) Get(key []byte) ([]byte, bool, error) { return s.tx.getShared(key) }

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
		return false, m.decode(value)
	})
	if err != nil {
		return nil, err
	}
	err = visitDeltas(from, id, since, seq, func(delta []byte) (bool, error) { return true, m.decode(delta) })
	maps.DeleteFunc(m, func(_ string, ref Ref) bool { return ref.Hash == "" })
	return m, err
}

// ManifestAt returns the content of a workspace as it was after the change at, or
// before, a sequence; it is empty before the workspace was created.
func (h History) ManifestAt(r Reader, id string, seq uint64) (Manifest, error) {
	return manifestAt(readerSource{r}, id, seq)
}

// visitDeltas visits what the changes after a sequence, up to another, did to the manifest.
func visitDeltas(from manifestSource, id string, after, until uint64, visit func(delta []byte) (more bool, err error)) error {
	return from.iterate(Span{Prefix: scopedKey('d', id, nil), From: scopedKey('d', id, seqKey(after+1))}, func(key, value []byte) (bool, error) {
		seq := lastSeq(key)
		if seq > until {
			return false, nil
		}
		delta, err := contentChange(value).delta(from, id, seq)
		if err != nil {
			return false, err
		}
		return visit(delta)
	})
}

// maxChanged is how many documents ChangedSince returns at most: the whole manifest is cheaper to
// read than many changes.
const maxChanged = 1000

// ChangedSince returns what changed of the content of a workspace after a sequence, up to another;
// ok is false when that is more than maxChanged documents.
func (h History) ChangedSince(r Reader, id string, after, until uint64) (changed Manifest, ok bool, err error) {
	changed, ok = Manifest{}, true
	err = visitDeltas(readerSource{r}, id, after, until, func(delta []byte) (bool, error) {
		err := changed.decode(delta)
		ok = len(changed) <= maxChanged
		return ok, err
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
	err = visitDeltas(from, id, after, until, func(delta []byte) (bool, error) {
		var c manifestChange
		if err := json.Unmarshal(delta, &c); err != nil {
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
	delta, err := contentChange(value).delta(from, id, seq)
	if err != nil {
		return nil, err
	}
	return c, json.Unmarshal(delta, &c)
}

// Get returns the change at a sequence.
func (h History) Get(r Reader, scope string, seq uint64) (c Change, ok bool, err error) {
	for _, space := range []byte("dh") {
		value, ok, err := r.Get(h, scopedKey(space, scope, seqKey(seq)))
		if err != nil {
			return c, false, err
		}
		if ok {
			c, err = readChange(r, space, value)
			return c, err == nil, err
		}
	}
	return c, false, nil
}

// readChange reads a change, with all that it touched. Space is that of its key.
func readChange(r Reader, space byte, value []byte) (c Change, err error) {
	if space == 'h' {
		return c, json.Unmarshal(value, &c)
	}
	change, _, err := contentChange(value).split()
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(change, &c); err != nil || !c.Many {
		return c, err
	}
	delta, err := contentChange(value).delta(readerSource{r}, c.Workspace, c.Seq)
	if err != nil {
		return c, err
	}
	var refs Manifest
	err = json.Unmarshal(delta, &refs)
	delete(refs, "index")
	c.Parts, c.Many = append(refs.Paths(), c.Parts...), false
	return c, err
}

// Audit returns when a change of content was made and by whom.
func (h History) Audit(r Reader, id string, seq uint64) (a Audit, err error) {
	_, err = r.read(h, scopedKey('d', id, seqKey(seq)), func(value []byte) error {
		a, err = readAudit('d', value)
		return err
	})
	return a, err
}

var errStop = errors.New("what was looked for is found")

// readAudit reads when a change was made and by whom, and no more of it. Space is that of its key.
func readAudit(space byte, value []byte) (a Audit, err error) {
	if space == 'd' {
		if value, _, err = contentChange(value).split(); err != nil {
			return a, err
		}
	}
	err = domain.VisitMembers(value, func(key, value []byte) error {
		switch string(key) {
		case "at":
			return domain.DecodeText(&a.At, value)
		case "by":
			return cmp.Or(domain.DecodeText(&a.By, value), errStop)
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return a, err
}

// List visits the changes of a scope before a sequence, the last first, until
// visit returns false. 0 begins with the last of all.
func (h History) List(r Reader, scope string, before uint64, visit func(Change) (more bool)) (err error) {
	content, stopContent := iter.Pull2(h.changes(r, 'd', scope, before, &err))
	defer stopContent()
	others, stopOthers := iter.Pull2(h.changes(r, 'h', scope, before, &err))
	defer stopOthers()
	change, inContent, isContent := content()
	other, inOthers, isOther := others()
	for err == nil && (isContent || isOther) {
		space, value := byte('h'), inOthers
		if !isOther || isContent && change > other {
			space, value = 'd', inContent
		}
		c, failed := readChange(r, space, value)
		if failed != nil || !visit(c) {
			return failed
		}
		if space == 'd' {
			change, inContent, isContent = content()
		} else {
			other, inOthers, isOther = others()
		}
	}
	return err
}

// changes are the changes of a scope in one space of keys, before a sequence, the last first: sequence and value, which
// is valid until the next one is asked for.
func (h History) changes(r Reader, space byte, scope string, before uint64, failed *error) iter.Seq2[uint64, []byte] {
	span := Span{Prefix: scopedKey(space, scope, nil), Reverse: true}
	if before > 0 {
		span.From = scopedKey(space, scope, seqKey(before-1))
	}
	return func(yield func(uint64, []byte) bool) {
		err := r.Iterate(h, span, func(key, value []byte) (bool, error) { return yield(lastSeq(key), value), nil })
		*failed = errors.Join(*failed, err)
	}
}

// Revision returns the sequence of the last change of the content of a workspace at
// or before a sequence; 0 when there was none.
func (h History) Revision(r Reader, id string, seq uint64) (revision uint64, err error) {
	span := Span{Prefix: scopedKey('d', id, nil), From: scopedKey('d', id, seqKey(seq)), Reverse: true, KeysOnly: true}
	err = r.Iterate(h, span, func(key, _ []byte) (bool, error) {
		revision = lastSeq(key)
		return false, nil
	})
	return revision, err
}

// ListAll is List for all scopes.
func (h History) ListAll(r Reader, before uint64, visit func(Change) (more bool)) error {
	span := Span{Prefix: []byte{'g'}, Reverse: true}
	if before > 0 {
		span.From = allKey(before - 1)
	}
	return r.Iterate(h, span, func(key, value []byte) (bool, error) {
		changes, err := parseAll(lastSeq(key)*allBucket, value)
		for _, at := range slices.Backward(changes) {
			if before > 0 && at.seq >= before {
				continue
			}
			c, ok, err := h.Get(r, at.scope, at.seq)
			if err != nil || !ok {
				return false, errors.Join(err, fmt.Errorf("change %d of %s is in the index, but not there", at.seq, at.scope))
			}
			if !visit(c) {
				return false, nil
			}
		}
		return true, err
	})
}

// changeAt is where a change is.
type changeAt struct {
	seq   uint64
	scope string
}

// parseAll reads a part of the history of everything, which begins at a sequence.
func parseAll(first uint64, value []byte) (changes []changeAt, err error) {
	for len(value) > 0 {
		scope, rest, ok := cutPart(value[1:])
		if !ok {
			return nil, errors.New("the history of everything is damaged")
		}
		changes, value = append(changes, changeAt{first + uint64(value[0]), string(scope)}), rest
	}
	return changes, nil
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
// time, 0 when there was none. Within a log and a workspace time does not run backwards.
func (h History) SeqAt(r Reader, id string, at time.Time) (seq uint64, err error) {
	for _, space := range []byte("dh") {
		last, err := h.lastUntil(r, space, id, at.UnixMilli())
		if err != nil {
			return 0, err
		}
		seq = max(seq, last)
	}
	return seq, nil
}

// lastUntil is SeqAt, in milliseconds, for the changes in one space of keys.
func (h History) lastUntil(r Reader, space byte, id string, until int64) (uint64, error) {
	last, ms, err := h.nearest(r, space, id, ^uint64(0), true)
	if err != nil || ms <= until {
		return last, err
	}
	low, ms, err := h.nearest(r, space, id, 0, false)
	if err != nil || ms > until {
		return 0, err
	}
	for high := last; low+1 < high; { // the change at low counts, and none from high on
		middle := low + (high-low)/2
		seq, ms, err := h.nearest(r, space, id, middle, false)
		if err != nil {
			return 0, err
		}
		if ms <= until {
			low = seq
		} else {
			high = middle
		}
	}
	return low, nil
}

// nearest returns the first change from a sequence on, upwards or downwards, and its time in milliseconds; 0 when there
// is none.
func (h History) nearest(r Reader, space byte, id string, from uint64, down bool) (seq uint64, ms int64, err error) {
	span := Span{Prefix: scopedKey(space, id, nil), From: scopedKey(space, id, seqKey(from)), Reverse: down}
	err = r.Iterate(h, span, func(key, value []byte) (bool, error) {
		audit, err := readAudit(space, value)
		if err != nil {
			return false, err
		}
		at, err := time.Parse(domain.Timestamp, audit.At)
		seq, ms = lastSeq(key), at.UnixMilli()
		return false, err
	})
	return seq, ms, err
}

// Paths returns the paths of m in order.
func (m Manifest) Paths() []string { return slices.Sorted(maps.Keys(m)) }
