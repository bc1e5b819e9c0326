package projections

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/catalog"
	"svc/domain/feed"
)

// Feed is the index of the events of a workspace in one log. Their content is only in the log.
//
//	e{workspace}\0{group}  FeedEntry of each event of one message
//	i{workspace}\0{id}     sequence and group of an event, and how many follow it in its run
//	s, t, o                which events of one type, user, automation or correlation id are where: see segment
//
// A group is the events of one message, by the sequence of the last one. A run is those of a group whose ids and
// sequences follow each other, as they do in a batch: the index has the id of the first one only.
type Feed struct{ log domain.Log }

// FeedOf returns the index of one log.
func FeedOf(log domain.Log) Feed { return Feed{log} }

// Name implements Projection.
func (f Feed) Name() string {
	if f.log == domain.State {
		return "feed.state.4"
	}
	return "feed.activity.5"
}

// Log implements Projection.
func (f Feed) Log() domain.Log { return f.log }

// Rewritten implements Rewriting.
func (Feed) Rewritten() string { return "o" }

// hiddenTypes are the types of events that the API never shows.
var hiddenTypes = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, fact := range catalog.Table() {
		if fact.Hidden {
			names[fact.Name] = true
		}
	}
	return names
})

// IsVisible reports whether the API shows an event.
func IsVisible(ev domain.Event) bool {
	if _, void := ev.(domain.Void); void {
		return false
	}
	return !hiddenTypes()[ev.EventType()]
}

// Apply implements Projection.
func (f Feed) Apply(tx Tx, ev domain.Recorded) error { return f.ApplyGroup(tx, []domain.Recorded{ev}) }

// ApplyGroup implements Grouped.
func (f Feed) ApplyGroup(tx Tx, events []domain.Recorded) error {
	workspaceID, group := events[0].Stream.Scope, groupOf(events[0])
	added, size := make([]FeedEntry, 0, len(events)), 0
	for _, ev := range events {
		if gone, ok := ev.Data.(activity.Dropped); ok {
			if err := f.drop(tx, gone); err != nil {
				return err
			}
		} else if IsVisible(ev.Data) {
			added = append(added, newFeedEntry(ev, group))
			size += added[len(added)-1].size() + binary.MaxVarintLen32
		}
	}
	if len(added) == 0 {
		return nil
	}
	key := scopedKey('e', workspaceID, seqKey(group))
	var value []byte
	if f.log == domain.Activity { // its first events may be there already: the messages of State have one
		var err error
		if value, err = tx.getOfMessage(key); err != nil {
			return err
		}
	}
	before, err := decodeEntries(group, value)
	if err != nil {
		return err
	}
	value = slices.Grow(value, size)
	for i := range added {
		value = added[i].appendTo(value)
	}
	all := added
	if len(before) > 0 {
		all = append(before, added...)
	}
	for _, run := range idRunsOf(all) {
		if err := tx.Set(run.key(workspaceID), run.value()); err != nil {
			return err
		}
	}
	if err := tx.Set(key, value); err != nil {
		return err
	}
	index := segments{tx, workspaceID}
	if len(before) > 0 { // others of its events may have ended a segment
		return index.restore(group, group)
	}
	return index.add(group, added)
}

// idRun is a run of events: the first one, and how many follow it.
type idRun struct {
	first  *FeedEntry
	follow uint64
	head   string // of the ids: see splitID; "" when no other id follows
	last   uint64 // number of the last id
}

// idRunsOf divides the entries of a group into runs.
func idRunsOf(entries []FeedEntry) (runs []idRun) {
	for i := range entries {
		e := &entries[i]
		head, number, ok := splitID(e.ID)
		if n := len(runs); ok && n > 0 {
			run := &runs[n-1]
			if run.head == head && run.last+1 == number && run.first.Seq+run.follow+1 == e.Seq {
				run.follow, run.last = run.follow+1, number
				continue
			}
		}
		runs = append(runs, idRun{first: e, head: head, last: number})
	}
	return runs
}

func (u idRun) key(workspaceID string) []byte { return scopedKey('i', workspaceID, []byte(u.first.ID)) }

func (u idRun) value() []byte {
	value := make([]byte, 0, 16+binary.MaxVarintLen16)
	value = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(value, u.first.Seq), u.first.Group)
	if u.follow > 0 {
		value = binary.AppendUvarint(value, u.follow)
	}
	return value
}

// splitID returns the beginning of an id, and the number that its last 12 characters are; ok is false for an id
// that is not written as a ULID is.
func splitID(id string) (head string, number uint64, ok bool) {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	if len(id) != 26 {
		return "", 0, false
	}
	for i := 14; i < len(id); i++ {
		digit := strings.IndexByte(digits, id[i])
		if digit < 0 {
			return "", 0, false
		}
		number = number<<5 | uint64(digit)
	}
	return id[:14], number, true
}

// drop removes erased events from the index.
func (f Feed) drop(tx Tx, gone activity.Dropped) error {
	touched := activity.Dropped{WorkspaceID: gone.WorkspaceID, From: gone.From, To: lastGroupWith(gone.To)}
	err := eachErased(tx, 'e', touched, func(at, value []byte) error {
		group := lastSeq(at)
		entries, err := decodeEntries(group, value)
		if err != nil {
			return err
		}
		var left []FeedEntry
		for _, e := range entries {
			if e.Seq < gone.From || e.Seq > gone.To {
				left = append(left, e)
			}
		}
		if len(left) == len(entries) {
			return nil
		}
		for _, run := range idRunsOf(entries) {
			if err := tx.Delete(run.key(gone.WorkspaceID)); err != nil {
				return err
			}
		}
		for _, run := range idRunsOf(left) {
			if err := tx.Set(run.key(gone.WorkspaceID), run.value()); err != nil {
				return err
			}
		}
		key := scopedKey('e', gone.WorkspaceID, seqKey(group))
		if len(left) == 0 {
			return tx.Delete(key)
		}
		var rest []byte
		for i := range left {
			rest = left[i].appendTo(rest)
		}
		return tx.Set(key, rest)
	})
	if err != nil {
		return err
	}
	return segments{tx, gone.WorkspaceID}.restore(touched.From, touched.To)
}

// groupOf returns the group of an event.
func groupOf(ev domain.Recorded) uint64 { return max(ev.Group, ev.Seq) }

// lastGroupWith returns the last group that can contain the event with a sequence.
func lastGroupWith(seq uint64) uint64 { return max(seq, seq+domain.MaxGroup-1) }

// groupPrefix is the prefix of the keys of the groups of a workspace.
func groupPrefix(workspaceID string) []byte { return scopedKey('e', workspaceID, nil) }

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// newFeedEntry returns the entry of an event of a group.
func newFeedEntry(ev domain.Recorded, group uint64) FeedEntry {
	entry := FeedEntry{
		Seq: ev.Seq, Group: group, At: ev.At, ID: ev.ID, Type: ev.Data.EventType(), Correlation: ev.Meta.CorrelationID,
		User: ev.Meta.UserID, Automation: ev.Meta.AutomationSlug, Depth: ev.Meta.AppDepth,
	}
	_, changes := ev.Data.(domain.Revised)
	executed, _ := ev.Data.(activity.Executed)
	if !changes && !executed.Apart { // of those, the API shows more than what is stored
		entry.Signature = feed.SignatureOfRecorded(&ev)
	}
	return entry
}

// FeedEntry is the entry of an event in the index.
type FeedEntry struct {
	Seq         uint64
	Group       uint64
	At          time.Time
	ID          string
	Type        string
	Correlation string
	User        string
	Automation  string
	Depth       int // of the app instance that emitted it
	Signature   feed.Signature
}

// selections are what the event can be selected by.
func (e *FeedEntry) selections() [4]FeedSelection {
	return [...]FeedSelection{{ByCorrelation, e.Correlation}, {ByType, e.Type}, {ByUser, e.User}, {ByAutomation, e.Automation}}
}

// texts returns the fields of an entry that are texts, in the order in which they are stored.
func (e *FeedEntry) texts() [5]*string {
	return [...]*string{&e.ID, &e.Type, &e.Correlation, &e.User, &e.Automation}
}

// appendTo appends the entry to the value of its group.
func (e *FeedEntry) appendTo(value []byte) []byte {
	b := binary.AppendUvarint(value, uint64(e.size()))
	b = binary.AppendUvarint(b, e.Group-e.Seq)
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixNano()))
	b = binary.AppendUvarint(b, uint64(max(e.Depth, 0)))
	for _, text := range e.texts() {
		b = append(binary.AppendUvarint(b, uint64(len(*text))), *text...)
	}
	return append(b, e.Signature...)
}

// size returns how long the entry is in the value of its group.
func (e *FeedEntry) size() int {
	n := uvarintLength(e.Group-e.Seq) + 8 + uvarintLength(uint64(max(e.Depth, 0))) + len(e.Signature)
	for _, text := range e.texts() {
		n += uvarintLength(uint64(len(*text))) + len(*text)
	}
	return n
}

// uvarintLength returns how many bytes binary.AppendUvarint appends.
func uvarintLength(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

var errFeedEntry = errors.New("an entry of the feed is damaged")

// decodeEntries decodes the value of a group. Signatures are valid as long as value is.
func decodeEntries(group uint64, value []byte) (entries []FeedEntry, err error) {
	for len(value) > 0 {
		var stored storedEntry
		if stored, value, err = cutEntry(value); err != nil {
			return nil, err
		}
		entries = append(entries, stored.decode(group))
	}
	return entries, nil
}

// storedEntry is an entry as it is stored. It is valid as long as the value of its group is.
type storedEntry struct {
	before    uint64 // how far it is before the last event of its group
	at        int64  // in nanoseconds
	depth     uint64
	texts     [5][]byte // as FeedEntry.texts
	signature feed.Signature
}

// cutEntry returns the first entry of the value of a group, and the rest.
func cutEntry(value []byte) (e storedEntry, rest []byte, err error) {
	value, rest, ok := cutPart(value)
	if !ok {
		return e, nil, errFeedEntry
	}
	var n int
	if e.before, n = binary.Uvarint(value); n <= 0 || len(value)-n < 9 {
		return e, nil, errFeedEntry
	}
	e.at, value = int64(binary.BigEndian.Uint64(value[n:])), value[n+8:]
	if e.depth, n = binary.Uvarint(value); n <= 0 {
		return e, nil, errFeedEntry
	}
	value = value[n:]
	for i := range e.texts {
		if e.texts[i], value, ok = cutPart(value); !ok {
			return e, nil, errFeedEntry
		}
	}
	e.signature = value
	return e, rest, nil
}

func (s *storedEntry) time() time.Time { return time.Unix(0, s.at).UTC() }

func (s *storedEntry) decode(group uint64) FeedEntry {
	e := FeedEntry{Seq: group - s.before, Group: group, At: s.time(), Depth: int(s.depth), Signature: s.signature}
	for i, to := range e.texts() {
		*to = string(s.texts[i])
	}
	return e
}

// isAmong reports whether the event is selected.
func (s *storedEntry) isAmong(among FeedSelection) bool {
	switch among.List {
	case ByType:
		return string(s.texts[1]) == among.Text
	case ByCorrelation:
		return string(s.texts[2]) == among.Text
	case ByUser:
		return string(s.texts[3]) == among.Text
	case ByAutomation:
		return string(s.texts[4]) == among.Text
	}
	return true
}

// FeedList is a property of events that they can be selected by; zero: none.
type FeedList byte

// The properties of events.
const (
	ByCorrelation FeedList = 'c'
	ByType        FeedList = 'y'
	ByUser        FeedList = 'u'
	ByAutomation  FeedList = 'a'
)

// FeedSelection selects events of a workspace: all of them, or those that have a text, which is not empty, as a property.
type FeedSelection struct {
	List FeedList
	Text string
}

// List visits the selected events of a workspace from a sequence on, that included,
// upwards or downwards, until visit returns false. The signature of an entry is
// valid during the visit.
func (f Feed) List(r Reader, workspaceID string, among FeedSelection, from uint64, down bool, visit func(FeedEntry) (more bool)) error {
	after, until := max(from, 1)-1, ^uint64(0)
	if down {
		after, until = 0, lastGroupWith(from)
	}
	v := visitor{feed: f, reader: r, workspaceID: workspaceID, down: down, visit: func(group uint64, e *storedEntry) bool {
		seq := group - e.before
		if down && seq > from || !down && seq < from || !e.isAmong(among) {
			return true
		}
		return visit(e.decode(group))
	}}
	of := endsNothing
	if among != (FeedSelection{}) {
		of, v.wanted = endsLarge, among.fingerprint()
	}
	_, err := v.visitGroups(of, after, until)
	return err
}

// Group returns the events of a group, in the order of their sequences.
func (f Feed) Group(r Reader, workspaceID string, group uint64) ([]FeedEntry, error) {
	value, ok, err := r.Get(f, scopedKey('e', workspaceID, seqKey(group)))
	if err != nil || !ok {
		return nil, err
	}
	return decodeEntries(group, value)
}

// Get returns an event of a group.
func (f Feed) Get(r Reader, workspaceID string, seq, group uint64) (e FeedEntry, ok bool, err error) {
	entries, err := f.Group(r, workspaceID, group)
	if err != nil {
		return e, false, err
	}
	e, ok = EntryAt(entries, seq)
	return e, ok, nil
}

// EntryAt returns the event with a sequence of those of a group.
func EntryAt(group []FeedEntry, seq uint64) (e FeedEntry, ok bool) {
	at, ok := slices.BinarySearchFunc(group, seq, func(e FeedEntry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	if !ok {
		return e, false
	}
	return group[at], true
}

// ByID returns sequence and group of an event; found is false when this log does not have it.
func (f Feed) ByID(r Reader, workspaceID, id string) (seq, group uint64, found bool, err error) {
	key := scopedKey('i', workspaceID, []byte(id))
	value, ok, err := r.Get(f, key)
	if err != nil || ok && len(value) >= 16 {
		return seqAt(value, 0), seqAt(value, 8), err == nil, err
	}
	head, number, ok := splitID(id)
	if !ok || f.log == domain.State { // which has no runs: its messages have one event
		return 0, 0, false, nil
	}
	prefix := key[:len(key)-len(id)]
	err = r.Iterate(f, Span{Prefix: prefix, From: key, Reverse: true}, func(key, value []byte) (bool, error) {
		begin, first, isULID := splitID(string(key[len(prefix):]))
		if !isULID || begin != head || len(value) <= 16 {
			return false, nil
		}
		follow, _ := binary.Uvarint(value[16:])
		if after := number - first; after <= follow {
			seq, group, found = seqAt(value, 0)+after, seqAt(value, 8), true
		}
		return false, nil
	})
	return seq, group, found, err
}

// seqAt returns the sequence at a place of a value, 0 when the value is shorter.
func seqAt(value []byte, at int) uint64 {
	if len(value) < at+8 {
		return 0
	}
	return binary.BigEndian.Uint64(value[at:])
}

// nearest returns the first entry from a sequence on, upwards or downwards.
func (f Feed) nearest(r Reader, workspaceID string, from uint64, down bool) (found FeedEntry, ok bool, err error) {
	err = f.List(r, workspaceID, FeedSelection{}, from, down, func(e FeedEntry) bool {
		e.Signature = nil
		found, ok = e, true
		return false
	})
	return found, ok, err
}

// Near returns the last entry of a workspace at or before a sequence; the zero entry
// when there is none.
func (f Feed) Near(r Reader, workspaceID string, seq uint64) (FeedEntry, error) {
	e, _, err := f.nearest(r, workspaceID, seq, true)
	return e, err
}

// Last returns the sequence of the last event of a workspace at or before one; 0
// when there is none.
func (f Feed) Last(r Reader, workspaceID string, from uint64) (uint64, error) {
	e, err := f.Near(r, workspaceID, from)
	return e.Seq, err
}

// Before returns the sequence of the last event of a workspace before a time, or at
// it when that counts; 0 when there is none. Within a log and a workspace time does
// not run backwards.
func (f Feed) Before(r Reader, workspaceID string, at time.Time, inclusive bool) (uint64, error) {
	isBefore := func(t time.Time) bool { return t.Before(at) || inclusive && t.Equal(at) }
	last, ok, err := f.nearest(r, workspaceID, ^uint64(0), true)
	if err != nil || !ok {
		return 0, err
	}
	if isBefore(last.At) {
		return last.Seq, nil
	}
	group, err := f.lastGroup(r, workspaceID, last.Group, isBefore)
	if err != nil || group == 0 {
		return 0, err
	}
	return f.Last(r, workspaceID, group)
}

// lastGroup returns the last group of a workspace before a time; 0 when there is none. The one at end is not before
// it. Events of a group have the same time.
func (f Feed) lastGroup(r Reader, workspaceID string, end uint64, isBefore func(time.Time) bool) (uint64, error) {
	low, at, err := f.nearestGroup(r, workspaceID, 0, false)
	if err != nil || !isBefore(at) {
		return 0, err
	}
	for high := end; low+1 < high; { // low is before the time, and nothing from high on
		middle := low + (high-low)/2
		group, at, err := f.nearestGroup(r, workspaceID, middle, false)
		if err != nil {
			return 0, err
		}
		if isBefore(at) {
			low = group
			continue
		}
		if high = middle; high-low > domain.MaxGroup {
			continue
		}
		// Most of the sequences between two messages are not used: the last message before middle may be the one.
		if group, at, err = f.nearestGroup(r, workspaceID, middle-1, true); err != nil || isBefore(at) {
			return group, err
		}
		high = group
	}
	return low, nil
}

// nearestGroup returns the first group from a sequence on, upwards or downwards, and its time.
func (f Feed) nearestGroup(r Reader, workspaceID string, from uint64, down bool) (group uint64, at time.Time, err error) {
	prefix := groupPrefix(workspaceID)
	span := Span{Prefix: prefix, From: scopedKey('e', workspaceID, seqKey(from)), Reverse: down}
	err = r.Iterate(f, span, func(key, value []byte) (bool, error) {
		first, _, err := cutEntry(value)
		group, at = lastSeq(key), first.time()
		return false, err
	})
	return group, at, err
}

// Erasable finds what the read models store about the activity of workspaces, by sequence: all
// of it, or deliveries only.
type Erasable struct{ Deliveries bool }

// keySpace is a space of keys that begin with a workspace and a sequence.
type keySpace struct {
	Projection
	space byte
}

func (e Erasable) keySpaces() []keySpace {
	deliveries := []keySpace{{Deliveries{}, 'q'}, {Deliveries{}, 'g'}}
	if e.Deliveries {
		return deliveries
	}
	return append(deliveries, keySpace{FeedOf(domain.Activity), 'e'}, keySpace{Runs{}, 's'})
}

// Workspaces lists the workspaces for which something is stored.
func (e Erasable) Workspaces(r Reader) ([]string, error) {
	var ids []string
	for _, t := range e.keySpaces() {
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
func (t keySpace) workspaces(r Reader) (ids []string, err error) {
	span := Span{Prefix: []byte{t.space}, KeysOnly: true}
	for more := true; more && err == nil; {
		more = false
		err = r.Iterate(t.Projection, span, func(key, _ []byte) (bool, error) {
			id, _, _ := bytes.Cut(key[1:], []byte{0})
			ids, more = append(ids, string(id)), true
			return false, nil
		})
		if more {
			span.From = append(append([]byte{t.space}, ids[len(ids)-1]...), 1) // after all keys of this workspace
		}
	}
	return ids, err
}

// Piece is a range of sequences of a workspace, up to and including To.
type Piece struct {
	To      uint64
	Stored  int // number of entries: an event about many deliveries has one for each
	Visible int // events that readers see
}

// Piece returns the first part of the activity of a workspace between two sequences that has
// about limit entries, so that it can be erased in one step. The sequence below is not included.
func (e Erasable) Piece(r Reader, workspaceID string, from, below uint64, limit int) (p Piece, err error) {
	var known, visible []uint64
	for _, t := range e.keySpaces() {
		seqs, err := t.sequences(r, workspaceID, from, below, limit+1)
		if err != nil {
			return p, err
		}
		if known = append(known, seqs...); t.space == 'e' {
			visible = seqs
		}
	}
	slices.Sort(known)
	if p = (Piece{To: below - 1, Stored: len(known)}); len(known) > limit {
		p = Piece{To: known[limit-1], Stored: limit}
	}
	for _, seq := range visible {
		if seq <= p.To {
			p.Visible++
		}
	}
	return p, nil
}

// sequences returns the first sequences of a workspace in the space, from one to another, which
// is not included: one for each thing that is stored.
func (t keySpace) sequences(r Reader, workspaceID string, from, below uint64, limit int) (seqs []uint64, err error) {
	if feed, ok := t.Projection.(Feed); ok {
		err = feed.List(r, workspaceID, FeedSelection{}, from, false, func(e FeedEntry) bool {
			if e.Seq < below {
				seqs = append(seqs, e.Seq)
			}
			return e.Seq < below && len(seqs) < limit
		})
		return seqs, err
	}
	_, several := t.Projection.(Deliveries)
	prefix := scopedKey(t.space, workspaceID, nil)
	span := Span{Prefix: prefix, From: scopedKey(t.space, workspaceID, seqKey(from)), KeysOnly: !several}
	err = r.Iterate(t.Projection, span, func(key, value []byte) (bool, error) {
		seq := binary.BigEndian.Uint64(key[len(prefix):])
		if seq >= below {
			return false, nil
		}
		seqs = append(seqs, seq)
		if several {
			seqs = append(seqs, slices.Repeat([]uint64{seq}, len(recordIDs(value))-1)...)
		}
		return len(seqs) < limit, nil
	})
	return seqs, err
}
