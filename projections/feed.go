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
//	e{workspace}\0{group}                FeedEntry of each event of one message
//	i{workspace}\0{id}                   sequence and group of an event, and how many follow it in its run
//	c{workspace}\0{correlation}\0{group} the groups with events of one correlation id
//	y{workspace}\0{type}\0{group}        the groups with events of one type
//	u{workspace}\0{user}\0{group}        the groups with events that one user caused
//	a{workspace}\0{automation}\0{group}  the groups with events that one automation caused
//
// A group is the events of one message, by the sequence of the last one. A run is those of a group whose ids and
// sequences follow each other, as they do in a batch: the index has the id of the first one only.
type Feed struct{ log domain.Log }

// FeedOf returns the index of one log.
func FeedOf(log domain.Log) Feed { return Feed{log} }

// Name implements Projection.
func (f Feed) Name() string {
	if f.log == domain.State {
		return "feed.state.3"
	}
	return "feed.activity.4"
}

// Log implements Projection.
func (f Feed) Log() domain.Log { return f.log }

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
		if value, _, err = tx.Get(key); err != nil {
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
	for _, run := range idRunsOf(append(before, added...)) {
		if err := tx.Set(run.key(workspaceID), run.value()); err != nil {
			return err
		}
	}
	if err := tx.Set(key, value); err != nil {
		return err
	}
	for list := range listsOf(added) {
		if err := tx.Set(list.key(workspaceID, group), nil); err != nil {
			return err
		}
	}
	return nil
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
	value := append(seqKey(u.first.Seq), seqKey(u.first.Group)...)
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

// listsOf returns the lists of the index that events are in.
func listsOf(entries []FeedEntry) map[FeedSelection]bool {
	lists := map[FeedSelection]bool{}
	var last [4]FeedSelection // events of one source follow each other
	for i := range entries {
		for n, l := range entries[i].lists() {
			if l != last[n] && IsIndexable(l.Text) {
				lists[l], last[n] = true, l
			}
		}
	}
	return lists
}

// key is the key of a group in a list.
func (a FeedSelection) key(workspaceID string, group uint64) []byte {
	return listKey(byte(a.List), workspaceID, a.Text, seqKey(group))
}

// drop removes erased events from the index.
func (f Feed) drop(tx Tx, gone activity.Dropped) error {
	touched := activity.Dropped{WorkspaceID: gone.WorkspaceID, From: gone.From, To: lastGroupWith(gone.To)}
	return eachErased(tx, 'e', touched, func(at, value []byte) error {
		group := lastSeq(at)
		entries, err := decodeEntries(group, value)
		if err != nil {
			return err
		}
		var erased, left []FeedEntry
		for _, e := range entries {
			if e.Seq >= gone.From && e.Seq <= gone.To {
				erased = append(erased, e)
			} else {
				left = append(left, e)
			}
		}
		if len(erased) == 0 {
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
		remaining := listsOf(left)
		for list := range listsOf(erased) {
			if !remaining[list] {
				if err := tx.Delete(list.key(gone.WorkspaceID, group)); err != nil {
					return err
				}
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
}

// groupOf returns the group of an event.
func groupOf(ev domain.Recorded) uint64 { return max(ev.Group, ev.Seq) }

// lastGroupWith returns the last group that can contain the event with a sequence.
func lastGroupWith(seq uint64) uint64 { return max(seq, seq+domain.MaxGroup-1) }

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

// maxFeedText is the maximal length of a text in a key of the index.
const maxFeedText = 512

// lists are the lists of the index that the event is in.
func (e *FeedEntry) lists() [4]FeedSelection {
	return [...]FeedSelection{{ByCorrelation, e.Correlation}, {ByType, e.Type}, {ByUser, e.User}, {ByAutomation, e.Automation}}
}

// texts returns the fields of an entry that are texts, in the order in which they are stored.
func (e *FeedEntry) texts() [5]*string {
	return [...]*string{&e.ID, &e.Type, &e.Correlation, &e.User, &e.Automation}
}

func listKey(space byte, workspaceID, text string, seq []byte) []byte {
	b := make([]byte, 0, 3+len(workspaceID)+len(text)+len(seq))
	b = append(append(append(b, space), workspaceID...), 0)
	return append(append(append(b, text...), 0), seq...)
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
		length, n := binary.Uvarint(value)
		if n <= 0 || uint64(len(value)-n) < length {
			return nil, errFeedEntry
		}
		e, err := decodeEntry(group, value[n:n+int(length)])
		if err != nil {
			return nil, err
		}
		entries, value = append(entries, e), value[n+int(length):]
	}
	return entries, nil
}

// decodeEntry decodes one entry of a group.
func decodeEntry(group uint64, value []byte) (e FeedEntry, err error) {
	before, n := binary.Uvarint(value)
	if n <= 0 || len(value)-n < 9 {
		return e, errFeedEntry
	}
	value = value[n:]
	e.Seq, e.Group, e.At = group-before, group, time.Unix(0, int64(binary.BigEndian.Uint64(value))).UTC()
	rest := value[8:]
	depth, n := binary.Uvarint(rest)
	if n <= 0 {
		return e, errFeedEntry
	}
	e.Depth, rest = int(depth), rest[n:]
	for _, to := range e.texts() {
		length, n := binary.Uvarint(rest)
		if n <= 0 || uint64(len(rest)-n) < length {
			return e, errFeedEntry
		}
		*to, rest = string(rest[n:n+int(length)]), rest[n+int(length):]
	}
	e.Signature = rest
	return e, nil
}

// FeedList is a property of events that the index has lists for; zero: the list of all events.
type FeedList byte

// The lists of the index.
const (
	ByCorrelation FeedList = 'c'
	ByType        FeedList = 'y'
	ByUser        FeedList = 'u'
	ByAutomation  FeedList = 'a'
)

// FeedSelection selects events of a workspace: all of them, or those that have a text as the
// property of a list.
type FeedSelection struct {
	List FeedList
	Text string
}

// prefix returns the prefix of the keys of the selected events.
func (a FeedSelection) prefix(workspaceID string) []byte {
	if a.List != 0 {
		return listKey(byte(a.List), workspaceID, a.Text, nil)
	}
	return scopedKey('e', workspaceID, nil)
}

// IsIndexable reports whether a text can be part of a key: it is not empty or too long, and has
// no NUL, which ends a text in a key.
func IsIndexable(text string) bool {
	return text != "" && len(text) <= maxFeedText && strings.IndexByte(text, 0) < 0
}

// List visits the selected events of a workspace from a sequence on, that included,
// upwards or downwards, until visit returns false. The signature of an entry is
// valid during the visit.
func (f Feed) List(r Reader, workspaceID string, among FeedSelection, from uint64, down bool, visit func(FeedEntry) (more bool)) error {
	return f.list(r, workspaceID, among, from, Span{Reverse: down}, visit)
}

// list is List with the options of a Span.
func (f Feed) list(r Reader, workspaceID string, among FeedSelection, from uint64, span Span, visit func(FeedEntry) (more bool)) error {
	prefix := among.prefix(workspaceID)
	first := from
	if span.Reverse {
		first = lastGroupWith(from)
	}
	span.Prefix, span.From, span.KeysOnly = prefix, append(append([]byte(nil), prefix...), seqKey(first)...), among != FeedSelection{}
	return r.Iterate(f, span, func(key, value []byte) (bool, error) {
		group := binary.BigEndian.Uint64(key[len(prefix):])
		if among != (FeedSelection{}) {
			var ok bool
			var err error
			if value, ok, err = r.Get(f, scopedKey('e', workspaceID, seqKey(group))); err != nil || !ok {
				return err == nil, err
			}
		}
		entries, err := decodeEntries(group, value)
		if err != nil {
			return false, err
		}
		if span.Reverse {
			slices.Reverse(entries)
		}
		for i := range entries {
			e := &entries[i]
			if span.Reverse && e.Seq > from || !span.Reverse && e.Seq < from || !e.isAmong(among) {
				continue
			}
			if !visit(*e) {
				return false, nil
			}
		}
		return true, nil
	})
}

// isAmong reports whether the event is selected.
func (e *FeedEntry) isAmong(among FeedSelection) bool {
	lists := e.lists()
	return among == FeedSelection{} || slices.Contains(lists[:], among)
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
	err = f.list(r, workspaceID, FeedSelection{}, from, Span{Reverse: down}, func(e FeedEntry) bool {
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
	prefix := FeedSelection{}.prefix(workspaceID)
	span := Span{Prefix: prefix, From: scopedKey('e', workspaceID, seqKey(from)), Reverse: down}
	err = r.Iterate(f, span, func(key, value []byte) (bool, error) {
		length, n := binary.Uvarint(value)
		if n <= 0 || uint64(len(value)-n) < length {
			return false, errFeedEntry
		}
		first, err := decodeEntry(lastSeq(key), value[n:n+int(length)])
		group, at = first.Group, first.At
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
