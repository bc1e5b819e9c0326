package projections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/catalog"
	"svc/domain/feed"
)

// Feed is where to find the events of a workspace in one of the logs. What they say
// is in the log and nowhere else.
//
//	e{workspace}\0{seq}                what is known of an event without reading it
//	i{workspace}\0{id}                 its sequence
//	c{workspace}\0{correlation}\0{seq} the events that one request caused
//	y{workspace}\0{type}\0{seq}        those of one type
//	u{workspace}\0{user}\0{seq}        those that one user caused
//	a{workspace}\0{automation}\0{seq}  those that one automation caused
type Feed struct{ log domain.Log }

// FeedOf returns the index of one log.
func FeedOf(log domain.Log) Feed { return Feed{log} }

// Name implements Projection.
func (f Feed) Name() string {
	if f.log == domain.State {
		return "feed.state.2"
	}
	return "feed.activity.2"
}

// Log implements Projection.
func (f Feed) Log() domain.Log { return f.log }

// hiddenTypes are the types that nobody reads.
var hiddenTypes = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, fact := range catalog.Table() {
		if fact.Hidden {
			names[fact.Name] = true
		}
	}
	return names
})

// IsVisible reports whether an event is for readers at all.
func IsVisible(ev domain.Event) bool {
	if _, void := ev.(domain.Void); void {
		return false
	}
	return !hiddenTypes()[ev.EventType()]
}

// Apply implements Projection.
func (f Feed) Apply(tx Tx, ev domain.Recorded) error {
	if gone, ok := ev.Data.(activity.Dropped); ok {
		return f.drop(tx, gone)
	}
	if !IsVisible(ev.Data) {
		return nil
	}
	entry := newFeedEntry(ev)
	for key, value := range entry.keys(ev.Stream.Scope) {
		if err := tx.Set(key, value); err != nil {
			return err
		}
	}
	return nil
}

// drop forgets events that are no longer in the log.
func (f Feed) drop(tx Tx, gone activity.Dropped) error {
	return eachErased(tx, 'e', gone, func(at, value []byte) error {
		entry, err := decodeEntry(binary.BigEndian.Uint64(at[len(at)-8:]), value)
		if err != nil {
			return err
		}
		for key := range entry.keys(gone.WorkspaceID) {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}

func seqKey(seq uint64) []byte { return binary.BigEndian.AppendUint64(nil, seq) }

// newFeedEntry returns what the index keeps of an event.
func newFeedEntry(ev domain.Recorded) FeedEntry {
	entry := FeedEntry{
		Seq: ev.Seq, At: ev.At, ID: ev.ID, Type: ev.Data.EventType(), Correlation: ev.Meta.CorrelationID,
		User: ev.Meta.UserID, Automation: ev.Meta.AutomationSlug, Depth: ev.Meta.AppDepth,
	}
	_, changes := ev.Data.(domain.Revised)
	executed, _ := ev.Data.(activity.Executed)
	if !changes && !executed.Apart { // of those, more is shown than what is stored
		entry.Signature = feed.SignatureOf(feed.Of(ev, domain.Position{}, ev.Body))
	}
	return entry
}

// FeedEntry is what the index keeps of an event.
type FeedEntry struct {
	Seq         uint64
	At          time.Time
	ID          string
	Type        string
	Correlation string
	User        string
	Automation  string
	Depth       int // of the app instance it came from
	Signature   feed.Signature
}

// maxFeedText is how long a text may be as part of a key of the index.
const maxFeedText = 512

// keys are where an entry is found, with what is kept there.
func (e FeedEntry) keys(workspaceID string) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		seq := seqKey(e.Seq)
		if !yield(scopedKey('e', workspaceID, seq), e.encode()) || !yield(scopedKey('i', workspaceID, []byte(e.ID)), seq) {
			return
		}
		for _, l := range e.lists() {
			if IsIndexable(l.Text) && !yield(listKey(byte(l.List), workspaceID, l.Text, seq), nil) {
				return
			}
		}
	}
}

// lists are the lists of the index that the event is in.
func (e *FeedEntry) lists() [4]FeedSelection {
	return [...]FeedSelection{{ByCorrelation, e.Correlation}, {ByType, e.Type}, {ByUser, e.User}, {ByAutomation, e.Automation}}
}

// texts are what is kept of an event besides numbers and its signature.
func (e *FeedEntry) texts() [5]*string {
	return [...]*string{&e.ID, &e.Type, &e.Correlation, &e.User, &e.Automation}
}

func listKey(space byte, workspaceID, text string, seq []byte) []byte {
	return scopedKey(space, workspaceID, append(append([]byte(text), 0), seq...))
}

func (e FeedEntry) encode() []byte {
	b := make([]byte, 0, 32+len(e.ID)+len(e.Type)+len(e.Correlation)+len(e.User)+len(e.Automation)+len(e.Signature))
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixNano()))
	b = binary.AppendUvarint(b, uint64(max(e.Depth, 0)))
	for _, text := range e.texts() {
		b = append(binary.AppendUvarint(b, uint64(len(*text))), *text...)
	}
	return append(b, e.Signature...)
}

var errFeedEntry = errors.New("an entry of the feed is damaged")

// decodeEntry is the reverse of encode. The signature is valid as long as value is.
func decodeEntry(seq uint64, value []byte) (e FeedEntry, err error) {
	if len(value) < 9 {
		return e, errFeedEntry
	}
	e.Seq, e.At = seq, time.Unix(0, int64(binary.BigEndian.Uint64(value))).UTC()
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

// FeedList is a property of events that the index has lists for; zero: it is the
// list of all.
type FeedList byte

// The lists of the index.
const (
	ByCorrelation FeedList = 'c'
	ByType        FeedList = 'y'
	ByUser        FeedList = 'u'
	ByAutomation  FeedList = 'a'
)

// FeedSelection selects events of a workspace: all of them, or those of one list that have a
// text.
type FeedSelection struct {
	List FeedList
	Text string
}

// prefix returns where the sequences of the selected events begin.
func (a FeedSelection) prefix(workspaceID string) []byte {
	if a.List != 0 {
		return listKey(byte(a.List), workspaceID, a.Text, nil)
	}
	return scopedKey('e', workspaceID, nil)
}

// IsIndexable reports whether the index can find events by the text: it is of a usual
// length, and has no NUL, which ends a text within a key.
func IsIndexable(text string) bool {
	return text != "" && len(text) <= maxFeedText && strings.IndexByte(text, 0) < 0
}

// List visits the selected events of a workspace from a sequence on, that included,
// upwards or downwards, until visit returns false. The signature of an entry is
// valid during the visit.
func (f Feed) List(r Reader, workspaceID string, among FeedSelection, from uint64, down bool, visit func(FeedEntry) (more bool)) error {
	return f.list(r, workspaceID, among, Span{From: seqKey(from), Reverse: down}, visit)
}

// list is List with a span whose From is a sequence.
func (f Feed) list(r Reader, workspaceID string, among FeedSelection, span Span, visit func(FeedEntry) (more bool)) error {
	prefix := among.prefix(workspaceID)
	span.Prefix, span.From, span.KeysOnly = prefix, append(append([]byte(nil), prefix...), span.From...), among != FeedSelection{}
	return r.Iterate(f, span, func(key, value []byte) (bool, error) {
		seq := binary.BigEndian.Uint64(key[len(prefix):])
		if among != (FeedSelection{}) {
			e, ok, err := f.Get(r, workspaceID, seq)
			return err == nil && (!ok || visit(e)), err
		}
		e, err := decodeEntry(seq, value)
		if err != nil {
			return false, err
		}
		return visit(e), nil
	})
}

// Get returns the entry at a sequence.
func (f Feed) Get(r Reader, workspaceID string, seq uint64) (e FeedEntry, ok bool, err error) {
	value, ok, err := r.Get(f, scopedKey('e', workspaceID, seqKey(seq)))
	if err != nil || !ok {
		return e, false, err
	}
	e, err = decodeEntry(seq, value)
	return e, err == nil, err
}

// ByID returns the sequence of an event; ok is false when this log does not have it.
func (f Feed) ByID(r Reader, workspaceID, id string) (seq uint64, ok bool, err error) {
	value, ok, err := r.Get(f, scopedKey('i', workspaceID, []byte(id)))
	if err != nil || !ok || len(value) != 8 {
		return 0, false, err
	}
	return binary.BigEndian.Uint64(value), true, nil
}

// nearest returns the first entry from a sequence on, upwards or downwards.
func (f Feed) nearest(r Reader, workspaceID string, from uint64, down bool) (found FeedEntry, ok bool, err error) {
	err = f.list(r, workspaceID, FeedSelection{}, Span{From: seqKey(from), Reverse: down, Few: true}, func(e FeedEntry) bool {
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
	is := func(e FeedEntry) bool { return e.At.Before(at) || inclusive && e.At.Equal(at) }
	last, ok, err := f.nearest(r, workspaceID, ^uint64(0), true)
	if err != nil || !ok {
		return 0, err
	}
	if is(last) {
		return last.Seq, nil
	}
	first, _, err := f.nearest(r, workspaceID, 0, false)
	if err != nil || !is(first) {
		return 0, err
	}
	low, high := first.Seq, last.Seq // is(low), and nothing from high on
	for low+1 < high {
		middle := low + (high-low)/2
		e, _, err := f.nearest(r, workspaceID, middle, false)
		if err != nil {
			return 0, err
		}
		if is(e) {
			low = e.Seq
		} else {
			high = middle
		}
	}
	return low, nil
}

// Erasable is what the read models keep of the activity of workspaces, by sequence:
// of all of it, or of deliveries only.
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

// Workspaces lists the workspaces of which something is kept.
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
			span.From = append(append([]byte{t.space}, ids[len(ids)-1]...), 1) // behind all keys of it
		}
	}
	return ids, err
}

// Piece is a range of sequences of a workspace, up to and with To.
type Piece struct {
	To      uint64
	Stored  int // how many things are kept of it: an event that tells of many deliveries is as many
	Visible int // events that readers see
}

// Piece returns the first part of a workspace's activity from one sequence to before
// another of which about limit things are kept, so that it can be forgotten at once.
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

// sequences returns the first sequences of a workspace in the space, from one on and
// before another.
func (t keySpace) sequences(r Reader, workspaceID string, from, below uint64, limit int) (seqs []uint64, err error) {
	prefix := scopedKey(t.space, workspaceID, nil)
	span := Span{Prefix: prefix, From: scopedKey(t.space, workspaceID, seqKey(from)), KeysOnly: true}
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
