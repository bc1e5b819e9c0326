package projections

import (
	"encoding/binary"
	"strings"
	"time"
)

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

// Among selects events of a workspace: all of them, or those of one list that have a
// text.
type Among struct {
	List FeedList
	Text string
}

// prefix returns where the sequences of the selected events begin.
func (a Among) prefix(workspaceID string) []byte {
	if a.List != 0 {
		return listed(byte(a.List), workspaceID, a.Text, nil)
	}
	return scoped('e', workspaceID, nil)
}

// Indexed reports whether the index can find events by the text: it is of a usual
// length, and has no NUL, which ends a text within a key.
func Indexed(text string) bool {
	return text != "" && len(text) <= maxFeedText && strings.IndexByte(text, 0) < 0
}

// List visits the selected events of a workspace from a sequence on, that included,
// upwards or downwards, until visit returns false. The signature of an entry is
// valid during the visit.
func (f Feed) List(r Reader, workspaceID string, among Among, from uint64, down bool, visit func(FeedEntry) (more bool)) error {
	return f.list(r, workspaceID, among, Span{From: seqKey(from), Reverse: down}, visit)
}

// list is List with a span whose From is a sequence.
func (f Feed) list(r Reader, workspaceID string, among Among, span Span, visit func(FeedEntry) (more bool)) error {
	prefix := among.prefix(workspaceID)
	span.Prefix, span.From, span.KeysOnly = prefix, append(append([]byte(nil), prefix...), span.From...), among != Among{}
	return r.Iterate(f, span, func(key, value []byte) (bool, error) {
		seq := binary.BigEndian.Uint64(key[len(prefix):])
		if among != (Among{}) {
			e, ok, err := f.Get(r, workspaceID, seq)
			return err == nil && (!ok || visit(e)), err
		}
		e, err := readEntry(seq, value)
		if err != nil {
			return false, err
		}
		return visit(e), nil
	})
}

// Get returns the entry at a sequence.
func (f Feed) Get(r Reader, workspaceID string, seq uint64) (e FeedEntry, ok bool, err error) {
	value, ok, err := r.Get(f, scoped('e', workspaceID, seqKey(seq)))
	if err != nil || !ok {
		return e, false, err
	}
	e, err = readEntry(seq, value)
	return e, err == nil, err
}

// ByID returns the sequence of an event; ok is false when this log does not have it.
func (f Feed) ByID(r Reader, workspaceID, id string) (seq uint64, ok bool, err error) {
	value, ok, err := r.Get(f, scoped('i', workspaceID, []byte(id)))
	if err != nil || !ok || len(value) != 8 {
		return 0, false, err
	}
	return binary.BigEndian.Uint64(value), true, nil
}

// near returns the first entry from a sequence on, upwards or downwards.
func (f Feed) near(r Reader, workspaceID string, from uint64, down bool) (found FeedEntry, ok bool, err error) {
	err = f.list(r, workspaceID, Among{}, Span{From: seqKey(from), Reverse: down, Few: true}, func(e FeedEntry) bool {
		e.Signature = nil
		found, ok = e, true
		return false
	})
	return found, ok, err
}

// Near returns the last entry of a workspace at or before a sequence; the zero entry
// when there is none.
func (f Feed) Near(r Reader, workspaceID string, seq uint64) (FeedEntry, error) {
	e, _, err := f.near(r, workspaceID, seq, true)
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
	last, ok, err := f.near(r, workspaceID, ^uint64(0), true)
	if err != nil || !ok {
		return 0, err
	}
	if is(last) {
		return last.Seq, nil
	}
	first, _, err := f.near(r, workspaceID, 0, false)
	if err != nil || !is(first) {
		return 0, err
	}
	low, high := first.Seq, last.Seq // is(low), and nothing from high on
	for low+1 < high {
		middle := low + (high-low)/2
		e, _, err := f.near(r, workspaceID, middle, false)
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
