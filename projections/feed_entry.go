package projections

import (
	"encoding/binary"
	"errors"
	"iter"
	"time"

	"svc/domain/feed"
)

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
		if !yield(scoped('e', workspaceID, seq), e.encode()) || !yield(scoped('i', workspaceID, []byte(e.ID)), seq) {
			return
		}
		for _, l := range e.lists() {
			if Indexed(l.Text) && !yield(listed(byte(l.List), workspaceID, l.Text, seq), nil) {
				return
			}
		}
	}
}

// lists are the lists of the index that the event is in.
func (e *FeedEntry) lists() [4]Among {
	return [...]Among{{ByCorrelation, e.Correlation}, {ByType, e.Type}, {ByUser, e.User}, {ByAutomation, e.Automation}}
}

// texts are what is kept of an event besides numbers and its signature.
func (e *FeedEntry) texts() [5]*string {
	return [...]*string{&e.ID, &e.Type, &e.Correlation, &e.User, &e.Automation}
}

func listed(space byte, workspaceID, text string, seq []byte) []byte {
	return scoped(space, workspaceID, append(append([]byte(text), 0), seq...))
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

// readEntry is the reverse of encode. The signature is valid as long as value is.
func readEntry(seq uint64, value []byte) (e FeedEntry, err error) {
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
