package projections

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/kbdocument"
	"svc/domain/knowledge"
	"svc/domain/workspace"
)

// KBDocuments is the read model of the documents of knowledge bases, without deleted ones. An expired document stays
// until it is swept; readers compare the time.
//
//	d{workspace}\0{base}\0{id}        KBDocument, JSON
//	i{workspace}\0{id}                base
//	y{workspace}\0{base}\0{hash}      id; hash of the identity
//	c{workspace}\0{base}              kbNumbers, JSON
//	o{workspace}\0{base}\0{selection}\0{updatedAt}{seq}{id}  nothing; the selection is one of KBSelection
//	q{kind}{workspace}\0{due}{id}     nothing: the pipeline has work with it; due in milliseconds
//	j                                 how many entries q has, JSON: most are gone again at once, and what is gone still takes time to pass
//	x{expiry}{workspace}\0{id}        nothing; expiry in milliseconds
//	e{workspace}\0{base}\0{expiry}{id} nothing
//	r{workspace}\0{base}              how many changes of what is searched the base had
//	n{workspace}\0{base}\0{change}    id of the document that changed, of the last keptChanges
//	a                                 how many changes all bases had
//	v{workspace}\0{base}              set of the vectors that searches use
//	b{change}                         workspace and base of a change, of the last keptChanges
type KBDocuments struct{}

// keptChanges is how many of the last changes are known, of a base and of all of them.
const keptChanges = 10_000

// KBDocument is a document as it is read.
type KBDocument struct {
	kbdocument.State
	CreatedAt string    `json:"createdAt"`
	UpdatedAt string    `json:"updatedAt"`
	UpdatedBy string    `json:"updatedBy,omitempty"`
	QueuedAt  time.Time `json:"queuedAt,omitzero"` // when the pipeline got its job
	EmbedAt   time.Time `json:"embedAt,omitzero"`  // when a model got work with it
	Seq       uint64    `json:"seq"`               // of its first event
}

// KBCounts are the numbers of a base.
type KBCounts struct {
	Documents  int   `json:"documents"`
	Pending    int   `json:"pending"`
	Processing int   `json:"processing"`
	Ready      int   `json:"ready"`
	Error      int   `json:"error"`
	Chunks     int   `json:"chunks"`
	Bytes      int64 `json:"bytes"` // of the newest contents
}

// kbNumbers are the numbers of a base, as they are stored.
type kbNumbers struct {
	KBCounts
	Searchable int            `json:"searchable,omitempty"` // documents that can be searched and processed
	Divisions  map[string]int `json:"divisions,omitempty"`  // of them, by how they were divided
	Sets       map[string]int `json:"sets,omitempty"`       // of them, by the vectors that they have or are to have
	Vectors    map[string]int `json:"vectors,omitempty"`    // of them, by the vectors that they have
	Lengths    map[string]int `json:"lengths,omitempty"`    // documents by the vectors that they have and their dimensions: lengthName
	Sources    map[string]int `json:"sources,omitempty"`    // documents that were found on a site, by the id of the source
}

// add adds to one of the numbers, and drops it when it is zero.
func add(numbers map[string]int, name string, by int) map[string]int {
	if numbers == nil {
		numbers = map[string]int{}
	}
	if numbers[name] += by; numbers[name] == 0 {
		delete(numbers, name)
	}
	return numbers
}

// KBDocumentRef names a document.
type KBDocumentRef struct{ WorkspaceID, ID string }

// Name implements Projection.
func (KBDocuments) Name() string { return "kbdocuments.9" }

// Log implements Projection.
func (KBDocuments) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (p KBDocuments) Apply(tx Tx, ev domain.Recorded) error {
	if _, void := ev.Data.(domain.Void); void || ev.Stream.Kind != kbdocument.Decider.Kind {
		return nil
	}
	ref := KBDocumentRef{ev.Stream.Scope, ev.Stream.ID}
	have, known, err := p.remove(tx, ref)
	if err != nil {
		return err
	}
	queued, order := have.Generation, have.orderKeys(ref)
	have.State = kbdocument.Decider.Evolve(have.State, ev.Data)
	switch ev.Data.(type) {
	case kbdocument.Begun, kbdocument.Postponed, kbdocument.Requeued, kbdocument.EmbeddingQueued, kbdocument.EmbeddingPostponed: // nothing that is searched
	default:
		if err := p.addChange(tx, ref.WorkspaceID, have.BaseID, ref.ID); err != nil {
			return err
		}
	}
	if have.Deleted || have.ID == "" {
		if err := moveKeys(tx, order, nil); err != nil {
			return err
		}
		return p.serve(tx, ref.WorkspaceID, have.BaseID)
	}
	if !known {
		have.CreatedAt, have.Seq = domain.FormatTime(ev.At), ev.Seq
	}
	switch ev.Data.(type) {
	case kbdocument.Added, kbdocument.Updated:
		have.UpdatedAt, have.UpdatedBy = domain.FormatTime(ev.At), ev.Meta.UserID
	}
	if have.Generation != queued {
		have.QueuedAt = ev.At.UTC()
	}
	if have.Embedding != nil && have.Embedding.Attempts == 0 {
		have.EmbedAt = ev.At.UTC()
	}
	if err := moveKeys(tx, order, have.orderKeys(ref)); err != nil {
		return err
	}
	if err := p.put(tx, ref, have); err != nil {
		return err
	}
	return p.serve(tx, ref.WorkspaceID, have.BaseID)
}

// serve has searches use a set of vectors once all documents of the base have it. Until then they use the former one.
func (KBDocuments) serve(tx Tx, workspaceID, baseID string) error {
	var c kbNumbers
	if err := getJSON(tx, scopedKey('c', workspaceID, []byte(baseID)), &c); err != nil {
		return err
	}
	for set, documents := range c.Vectors {
		if documents == c.Searchable && c.Sets[set] == c.Searchable {
			return tx.Set(scopedKey('v', workspaceID, []byte(baseID)), []byte(set))
		}
	}
	return nil
}

// VectorSet returns the set of vectors that searches of a base use; "": there is none, or it is not complete yet.
func (p KBDocuments) VectorSet(r Reader, workspaceID, baseID string) (string, error) {
	set, _, err := r.Get(p, scopedKey('v', workspaceID, []byte(baseID)))
	return string(set), err
}

// VectorDimensions returns the length of the vectors of a set that documents of a base have; 0: there are none.
func (p KBDocuments) VectorDimensions(r Reader, workspaceID, baseID, set string) (dimensions int, err error) {
	c, err := p.numbers(r, workspaceID, baseID)
	if err != nil {
		return 0, err
	}
	for name := range c.Lengths {
		if at := strings.LastIndexByte(name, ' '); name[:at] == set {
			dimensions, err = strconv.Atoi(name[at+1:])
		}
	}
	return dimensions, err
}

// lengthName names the vectors of a set with so many dimensions.
func lengthName(set string, dimensions int) string { return set + " " + strconv.Itoa(dimensions) }

// addChange adds a change of what is searched of a document.
func (KBDocuments) addChange(tx Tx, workspaceID, baseID, id string) error {
	if baseID == "" {
		return nil
	}
	all, err := increment(tx, []byte{'a'})
	if err != nil {
		return err
	}
	if err := setLast(tx, kbBaseKey, all, workspaceID+"\x00"+baseID); err != nil {
		return err
	}
	number, err := increment(tx, scopedKey('r', workspaceID, []byte(baseID)))
	if err != nil {
		return err
	}
	return setLast(tx, func(n uint64) []byte { return kbChangeKey(workspaceID, baseID, n) }, number, id)
}

// setLast adds an entry to a list of the last changes, and deletes the one that is too many.
func setLast(tx Tx, key func(number uint64) []byte, number uint64, value string) error {
	if number > keptChanges {
		if err := tx.Delete(key(number - keptChanges)); err != nil {
			return err
		}
	}
	return tx.Set(key(number), []byte(value))
}

func kbBaseKey(number uint64) []byte { return binary.BigEndian.AppendUint64([]byte{'b'}, number) }

func increment(tx Tx, key []byte) (uint64, error) {
	value, ok, err := tx.Get(key)
	if err != nil {
		return 0, err
	}
	number := uint64(1)
	if ok {
		number += binary.BigEndian.Uint64(value)
	}
	return number, tx.Set(key, binary.BigEndian.AppendUint64(nil, number))
}

func (p KBDocuments) number(r Reader, key []byte) (uint64, error) {
	value, ok, err := r.Get(p, key)
	if err != nil || !ok {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

// AllChanges returns how many changes of what is searched there were in all bases.
func (p KBDocuments) AllChanges(r Reader) (uint64, error) { return p.number(r, []byte{'a'}) }

// Changes returns how many changes of what is searched there were in a base.
func (p KBDocuments) Changes(r Reader, workspaceID, baseID string) (uint64, error) {
	return p.number(r, scopedKey('r', workspaceID, []byte(baseID)))
}

// Changed returns the documents of the changes from a number on, in order, and at most limit of them. A change that is
// too long ago is not known any more: ok is false.
func (p KBDocuments) Changed(r Reader, workspaceID, baseID string, from uint64, limit int) (ids []string, ok bool, err error) {
	next := from
	span := Span{Prefix: scopedKey('n', workspaceID, []byte(baseID+"\x00")), From: kbChangeKey(workspaceID, baseID, from)}
	err = r.Iterate(p, span, func(key, value []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[len(key)-8:]) != next {
			return false, nil
		}
		ids = append(ids, string(value))
		next++
		return len(ids) < limit, nil
	})
	return ids, len(ids) > 0, err
}

// ChangedSince returns the bases that had a change after the first so many of all changes. ok is false when that is not
// known any more.
func (p KBDocuments) ChangedSince(r Reader, changes uint64) (bases map[KBRef]bool, ok bool, err error) {
	bases, next := map[KBRef]bool{}, changes+1
	err = r.Iterate(p, Span{Prefix: []byte{'b'}, From: kbBaseKey(next)}, func(key, value []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[1:]) != next {
			return false, nil
		}
		workspaceID, baseID, _ := strings.Cut(string(value), "\x00")
		bases[KBRef{workspaceID, baseID}] = true
		next++
		return true, nil
	})
	return bases, len(bases) > 0, err
}

// KBRef names a base by its id.
type KBRef struct{ WorkspaceID, ID string }

// ChangedBases visits all bases that ever had documents.
func (p KBDocuments) ChangedBases(r Reader, visit func(workspaceID, baseID string, changes uint64) (more bool)) error {
	return r.Iterate(p, Span{Prefix: []byte{'r'}}, func(key, value []byte) (bool, error) {
		workspaceID, baseID, _ := strings.Cut(string(key[1:]), "\x00")
		return visit(workspaceID, baseID, binary.BigEndian.Uint64(value)), nil
	})
}

func kbChangeKey(workspaceID, baseID string, number uint64) []byte {
	return binary.BigEndian.AppendUint64(scopedKey('n', workspaceID, []byte(baseID+"\x00")), number)
}

// put stores a document, and the entries that follow from it.
func (p KBDocuments) put(tx Tx, ref KBDocumentRef, d KBDocument) error {
	if err := setJSON(tx, kbDocumentKey(ref.WorkspaceID, d.BaseID, d.ID), d); err != nil {
		return err
	}
	if err := tx.Set(scopedKey('i', ref.WorkspaceID, []byte(d.ID)), []byte(d.BaseID)); err != nil {
		return err
	}
	for _, key := range p.entries(ref, d) {
		if err := tx.Set(key, nil); err != nil {
			return err
		}
	}
	if identity := d.Identity(); identity != "" {
		if err := tx.Set(kbIdentityKey(ref.WorkspaceID, d.BaseID, identity), []byte(d.ID)); err != nil {
			return err
		}
	}
	return errors.Join(p.countJobs(tx, d, 1), p.count(tx, ref.WorkspaceID, d, 1))
}

// countJobs counts the entries of a document in the queue.
func (KBDocuments) countJobs(tx Tx, d KBDocument, sign int) error {
	jobs := 0
	if d.Job != nil {
		jobs += sign
	}
	if d.Embedding != nil {
		jobs += sign
	}
	if jobs == 0 {
		return nil
	}
	all := 0
	if err := getJSON(tx, []byte{'j'}, &all); err != nil {
		return err
	}
	return setJSON(tx, []byte{'j'}, all+jobs)
}

// remove returns a document and deletes it, with the entries that follow from it.
func (p KBDocuments) remove(tx Tx, ref KBDocumentRef) (d KBDocument, known bool, err error) {
	base, known, err := tx.Get(scopedKey('i', ref.WorkspaceID, []byte(ref.ID)))
	if err != nil || !known {
		return d, known, err
	}
	key := kbDocumentKey(ref.WorkspaceID, string(base), ref.ID)
	if err := getJSON(tx, key, &d); err != nil {
		return d, known, fmt.Errorf("document %s of workspace %s: %w", ref.ID, ref.WorkspaceID, err)
	}
	keys := append(p.entries(ref, d), key, scopedKey('i', ref.WorkspaceID, []byte(ref.ID)))
	if identity := d.Identity(); identity != "" {
		keys = append(keys, kbIdentityKey(ref.WorkspaceID, d.BaseID, identity))
	}
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return d, known, err
		}
	}
	return d, known, errors.Join(p.countJobs(tx, d, -1), p.count(tx, ref.WorkspaceID, d, -1))
}

// entries returns the keys of a document in the queue and in the order of expiry.
func (KBDocuments) entries(ref KBDocumentRef, d KBDocument) (keys [][]byte) {
	queue := func(kind byte, queued, notBefore time.Time) {
		due := queued
		if !notBefore.IsZero() {
			due = notBefore
		}
		key := append(append([]byte{'q', kind}, ref.WorkspaceID...), 0)
		keys = append(keys, append(binary.BigEndian.AppendUint64(key, uint64(due.UnixMilli())), ref.ID...))
	}
	if d.Job != nil {
		queue(queueKind(false, d.Job.Bulk), d.QueuedAt, d.Job.NotBefore)
	}
	if d.Embedding != nil {
		queue(queueKind(true, d.Embedding.Bulk), d.EmbedAt, d.Embedding.NotBefore)
	}
	if !d.ExpiresAt.IsZero() {
		expiry := uint64(d.ExpiresAt.UnixMilli())
		keys = append(keys,
			append(binary.BigEndian.AppendUint64([]byte{'x'}, expiry), ref.key()...),
			append(binary.BigEndian.AppendUint64(kbExpiryKey(ref.WorkspaceID, d.BaseID), expiry), ref.ID...))
	}
	return keys
}

// queueKinds is how many kinds of work there are in the queue.
const queueKinds = 4

// queueKind returns the kind of work in the queue.
func queueKind(isEmbedding, isBulk bool) (kind byte) {
	if isBulk {
		kind = 1
	}
	if isEmbedding {
		kind += 2
	}
	return kind
}

// count adds a document to the numbers of its base, or subtracts it.
func (KBDocuments) count(tx Tx, workspaceID string, d KBDocument, by int) error {
	key := scopedKey('c', workspaceID, []byte(d.BaseID))
	var c kbNumbers
	if err := getJSON(tx, key, &c); err != nil {
		return err
	}
	c.Documents += by
	c.Bytes += int64(by) * d.Content().Size
	switch d.Status() {
	case kbdocument.Pending:
		c.Pending += by
	case kbdocument.Processing:
		c.Processing += by
	case kbdocument.Ready:
		c.Ready += by
	case kbdocument.Failed:
		c.Error += by
	}
	if d.SourceID != "" {
		c.Sources = add(c.Sources, d.SourceID, by)
	}
	if d.Extract != nil {
		c.Chunks += by * d.Extract.Count
	}
	for _, v := range d.State.Vectors {
		if v.Dimensions > 0 {
			c.Lengths = add(c.Lengths, lengthName(v.Set, v.Dimensions), by)
		}
	}
	if d.Extract != nil && d.Fault == nil { // one that cannot be processed keeps what it has
		c.Searchable += by
		c.Divisions = add(c.Divisions, d.Extract.Division, by)
		c.Sets = add(c.Sets, d.VectorSet(), by)
		for _, v := range d.State.Vectors {
			if _, found := d.FindVectors(v.Set); found {
				c.Vectors = add(c.Vectors, v.Set, by)
			}
		}
	}
	if c.Documents == 0 {
		return tx.Delete(key)
	}
	return setJSON(tx, key, c)
}

// Get returns a document of a base that has not expired at now.
func (p KBDocuments) Get(r Reader, workspaceID, baseID, id string, now time.Time) (d KBDocument, ok bool, err error) {
	value, ok, err := r.Get(p, kbDocumentKey(workspaceID, baseID, id))
	if err != nil || !ok {
		return d, false, err
	}
	if err := json.Unmarshal(value, &d); err != nil {
		return d, false, err
	}
	return d, !d.GoneAt(now), nil
}

// ByID returns a document of a workspace, also one that has expired.
func (p KBDocuments) ByID(r Reader, workspaceID, id string) (d KBDocument, ok bool, err error) {
	base, ok, err := r.Get(p, scopedKey('i', workspaceID, []byte(id)))
	if err != nil || !ok {
		return d, false, err
	}
	d, _, err = p.Get(r, workspaceID, string(base), id, time.Time{})
	return d, d.ID != "", err
}

// ByIdentity returns the id of the document of a base with an identity; "" when there is none.
func (p KBDocuments) ByIdentity(r Reader, workspaceID, baseID, identity string) (string, error) {
	id, _, err := r.Get(p, kbIdentityKey(workspaceID, baseID, identity))
	return string(id), err
}

// List visits the documents of a base that have not expired at now, in the order of their ids, until visit returns
// false.
func (p KBDocuments) List(r Reader, workspaceID, baseID string, now time.Time, visit func(KBDocument) (more bool)) error {
	return p.ListFrom(r, workspaceID, baseID, "", func(d KBDocument) bool { return d.GoneAt(now) || visit(d) })
}

// ListFrom visits the documents of a base from an id on, also those that have expired.
func (p KBDocuments) ListFrom(r Reader, workspaceID, baseID, from string, visit func(KBDocument) (more bool)) error {
	span := Span{Prefix: kbDocumentKey(workspaceID, baseID, ""), From: kbDocumentKey(workspaceID, baseID, from)}
	return r.Iterate(p, span, func(_, value []byte) (bool, error) {
		var d KBDocument
		if err := json.Unmarshal(value, &d); err != nil {
			return false, err
		}
		return visit(d), nil
	})
}

// KBSelection selects documents of a base that are listed in the order of their last change without reading others: all,
// those of a status, or those of a source. At most one field is set.
type KBSelection struct {
	Status   kbdocument.Status
	SourceID string
}

// key begins the keys of the documents of a selection in a base.
func (s KBSelection) key(workspaceID, baseID string) []byte {
	name := ""
	switch {
	case s.Status != "":
		name = "status:" + string(s.Status)
	case s.SourceID != "":
		name = "source:" + s.SourceID
	}
	return scopedKey('o', workspaceID, []byte(baseID+"\x00"+name+"\x00"))
}

// includes reports whether a document is one of the selection.
func (s KBSelection) includes(d KBDocument) bool {
	return (s.Status == "" || d.Status() == s.Status) && (s.SourceID == "" || d.SourceID == s.SourceID)
}

// orderKeys returns the keys of a document in the order of the last change: one for each selection that it is in.
func (d KBDocument) orderKeys(ref KBDocumentRef) (keys [][]byte) {
	if d.ID == "" {
		return nil
	}
	selections := []KBSelection{{}, {Status: d.Status()}}
	if d.SourceID != "" {
		selections = append(selections, KBSelection{SourceID: d.SourceID})
	}
	for _, s := range selections {
		key := append(s.key(ref.WorkspaceID, d.BaseID), d.UpdatedAt...)
		keys = append(keys, append(binary.BigEndian.AppendUint64(key, d.Seq), ref.ID...))
	}
	return keys
}

// moveKeys deletes keys that are not wanted any more, and sets those that are new. Most events change none of them.
func moveKeys(tx Tx, before, after [][]byte) error {
	contains := func(keys [][]byte, key []byte) bool {
		return slices.ContainsFunc(keys, func(other []byte) bool { return bytes.Equal(other, key) })
	}
	for _, key := range before {
		if !contains(after, key) {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
	}
	for _, key := range after {
		if !contains(before, key) {
			if err := tx.Set(key, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Select visits the documents of a selection that have not expired at now, in the order of their last change, until
// visit returns false.
func (p KBDocuments) Select(r Reader, workspaceID, baseID string, s KBSelection, now time.Time, newestFirst bool, visit func(KBDocument) (more bool)) error {
	return p.selectIDs(r, workspaceID, baseID, s, newestFirst, func(id string) (bool, error) {
		d, ok, err := p.Get(r, workspaceID, baseID, id, now)
		return err == nil && (!ok || visit(d)), err
	})
}

// SelectPage returns a part of what Select visits, and how many documents that are in all. Of the documents before that
// part only keys are read, of those behind it nothing.
func (p KBDocuments) SelectPage(r Reader, workspaceID, baseID string, s KBSelection, now time.Time, newestFirst bool, offset, limit int) (page []KBDocument, total int, err error) {
	numbers, err := p.numbers(r, workspaceID, baseID)
	if err != nil {
		return nil, 0, err
	}
	gone, err := p.ExpiredIn(r, workspaceID, baseID, now)
	if err != nil {
		return nil, 0, err
	}
	total = numbers.count(s)
	for id := range gone {
		if d, ok, err := p.ByID(r, workspaceID, id); err != nil {
			return nil, 0, err
		} else if ok && s.includes(d) {
			total--
		}
	}
	skip := offset
	err = p.selectIDs(r, workspaceID, baseID, s, newestFirst, func(id string) (bool, error) {
		switch {
		case gone[id]:
			return true, nil
		case skip > 0:
			skip--
			return true, nil
		}
		d, _, err := p.Get(r, workspaceID, baseID, id, now)
		page = append(page, d)
		return len(page) < limit, err
	})
	return page, total, err
}

// selectIDs visits the ids of the documents of a selection, also of those that have expired.
func (p KBDocuments) selectIDs(r Reader, workspaceID, baseID string, s KBSelection, newestFirst bool, visit func(id string) (more bool, err error)) error {
	prefix := s.key(workspaceID, baseID)
	return r.Iterate(p, Span{Prefix: prefix, Reverse: newestFirst, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		return visit(string(key[len(prefix)+len(domain.Timestamp)+8:]))
	})
}

// count returns how many documents of the base are in a selection.
func (c kbNumbers) count(s KBSelection) int {
	switch s.Status {
	case kbdocument.Pending:
		return c.Pending
	case kbdocument.Processing:
		return c.Processing
	case kbdocument.Ready:
		return c.Ready
	case kbdocument.Failed:
		return c.Error
	}
	if s.SourceID != "" {
		return c.Sources[s.SourceID]
	}
	return c.Documents
}

// Counts returns the numbers of a base.
func (p KBDocuments) Counts(r Reader, workspaceID, baseID string) (KBCounts, error) {
	c, err := p.numbers(r, workspaceID, baseID)
	return c.KBCounts, err
}

func (p KBDocuments) numbers(r Reader, workspaceID, baseID string) (c kbNumbers, err error) {
	value, ok, err := r.Get(p, scopedKey('c', workspaceID, []byte(baseID)))
	if err != nil || !ok {
		return c, err
	}
	return c, json.Unmarshal(value, &c)
}

// CountOutdated returns how many documents of a base can be searched as they were processed with other settings.
func (p KBDocuments) CountOutdated(r Reader, workspaceID, baseID string, s knowledge.Settings) (outdated int, err error) {
	c, err := p.numbers(r, workspaceID, baseID)
	for division, documents := range c.Divisions {
		if division != s.Division() {
			outdated += documents
		}
	}
	if set := s.VectorSet(); set != "" { // documents that are to be divided again may be among them
		outdated = max(outdated, c.Searchable-c.Sets[set])
	}
	return outdated, err
}

// IsOutdated reports whether a document can be searched as it was processed with other settings.
func (d KBDocument) IsOutdated(s knowledge.Settings) bool {
	return d.Extract != nil && (d.Extract.Division != s.Division() || s.Model != "" && d.VectorSet() != s.VectorSet())
}

// Bases visits all bases that have documents, also those that were deleted.
func (p KBDocuments) Bases(r Reader, visit func(workspaceID, baseID string) (more bool)) error {
	return r.Iterate(p, Span{Prefix: []byte{'c'}, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		workspaceID, baseID, _ := strings.Cut(string(key[1:]), "\x00")
		return visit(workspaceID, baseID), nil
	})
}

// KBJob is work of the pipeline with a document.
type KBJob struct {
	KBDocumentRef
	Due   time.Time
	Bulk  bool // it can wait for those that somebody waits for
	Embed bool // it is work for a model
}

// Queue returns the work of the pipeline that is due at now, in the order in which it is done: of each workspace at
// most limit documents. next is when more will be due; zero: nothing is waiting for its time.
func (p KBDocuments) Queue(r Reader, now time.Time, limit int, owns func(workspaceID string) bool) (due []KBJob, next time.Time, err error) {
	if jobs, _, err := r.Get(p, []byte{'j'}); err != nil || len(jobs) == 0 || string(jobs) == "0" {
		return nil, next, err
	}
	for kind := range byte(queueKinds) {
		for from := []byte{'q', kind}; ; {
			workspaceID, found, err := p.firstQueued(r, kind, from)
			if err != nil {
				return nil, next, err
			}
			if !found {
				break
			}
			from = append(append([]byte{'q', kind}, workspaceID...), 1) // behind all of this workspace
			if !owns(workspaceID) {
				continue
			}
			count, prefix := 0, append(append([]byte{'q', kind}, workspaceID...), 0)
			err = r.Iterate(p, Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
				at := time.UnixMilli(int64(binary.BigEndian.Uint64(key[len(prefix):])))
				if at.After(now) {
					if next.IsZero() || at.Before(next) {
						next = at
					}
					return false, nil
				}
				due = append(due, KBJob{KBDocumentRef{workspaceID, string(key[len(prefix)+8:])}, at, kind%2 > 0, kind >= 2})
				count++
				return count < limit, nil
			})
			if err != nil {
				return nil, next, err
			}
		}
	}
	slices.SortStableFunc(due, func(a, b KBJob) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), a.Due.Compare(b.Due))
	})
	return due, next, nil
}

// Postponed returns the documents of a workspace that wait for a model which has failed, until a time after now.
func (p KBDocuments) Postponed(r Reader, workspaceID string, now time.Time) (ids []string, err error) {
	for _, kind := range []byte{queueKind(true, false), queueKind(true, true)} {
		prefix := append(append([]byte{'q', kind}, workspaceID...), 0)
		from := binary.BigEndian.AppendUint64(bytes.Clone(prefix), uint64(now.UnixMilli())+1)
		err := r.Iterate(p, Span{Prefix: prefix, From: from, KeysOnly: true}, func(key, _ []byte) (bool, error) {
			ids = append(ids, string(key[len(prefix)+8:]))
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// rank is lower for what is done first.
func (j KBJob) rank() int {
	if j.Bulk {
		return 1
	}
	return 0
}

// firstQueued returns the workspace of the first entry of the queue at or after a key.
func (p KBDocuments) firstQueued(r Reader, kind byte, from []byte) (workspaceID string, found bool, err error) {
	err = r.Iterate(p, Span{Prefix: []byte{'q', kind}, From: from, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		id, _, _ := strings.Cut(string(key[2:]), "\x00")
		workspaceID, found = id, true
		return false, nil
	})
	return workspaceID, found, err
}

// Due returns up to limit documents that have expired at now, in the order of their expiry.
func (p KBDocuments) Due(r Reader, now time.Time, limit int) (due []KBDocumentRef, err error) {
	err = r.Iterate(p, Span{Prefix: []byte{'x'}, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		if len(due) == limit || binary.BigEndian.Uint64(key[1:]) > uint64(now.UnixMilli()) {
			return false, nil
		}
		due = append(due, parseKBDocumentRef(key[9:]))
		return true, nil
	})
	return due, err
}

// ExpiredIn returns the documents of a base that have expired at now and are not deleted yet.
func (p KBDocuments) ExpiredIn(r Reader, workspaceID, baseID string, now time.Time) (ids map[string]bool, err error) {
	ids = map[string]bool{}
	prefix := kbExpiryKey(workspaceID, baseID)
	err = r.Iterate(p, Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[len(prefix):]) > uint64(now.UnixMilli()) {
			return false, nil
		}
		ids[string(key[len(prefix)+8:])] = true
		return true, nil
	})
	return ids, err
}

func kbExpiryKey(workspaceID, baseID string) []byte {
	return scopedKey('e', workspaceID, []byte(baseID+"\x00"))
}

func (r KBDocumentRef) key() string { return r.WorkspaceID + "\x00" + r.ID }

func parseKBDocumentRef(key []byte) KBDocumentRef {
	workspaceID, id, _ := strings.Cut(string(key), "\x00")
	return KBDocumentRef{workspaceID, id}
}

func kbDocumentKey(workspaceID, baseID, id string) []byte {
	return scopedKey('d', workspaceID, []byte(baseID+"\x00"+id))
}

func kbIdentityKey(workspaceID, baseID, identity string) []byte {
	return scopedKey('y', workspaceID, []byte(baseID+"\x00"+workspace.HashOf([]byte(identity)))) // an address may be too long for a key
}
