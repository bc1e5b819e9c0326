package projections

import (
	"encoding/binary"
	"sync"

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

// internal are the types that nobody reads.
var internal = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, fact := range catalog.Table() {
		if fact.Hidden {
			names[fact.Name] = true
		}
	}
	return names
})

// IsShown reports whether an event is for readers at all.
func IsShown(ev domain.Event) bool {
	if _, void := ev.(domain.Void); void {
		return false
	}
	return !internal()[ev.EventType()]
}

// Apply implements Projection.
func (f Feed) Apply(tx Tx, ev domain.Recorded) error {
	if gone, ok := ev.Data.(activity.Dropped); ok {
		return f.drop(tx, gone)
	}
	if !IsShown(ev.Data) {
		return nil
	}
	entry := entryOf(ev)
	for key, value := range entry.keys(ev.Stream.Scope) {
		if err := tx.Set(key, value); err != nil {
			return err
		}
	}
	return nil
}

// drop forgets events that are no longer in the log.
func (f Feed) drop(tx Tx, gone activity.Dropped) error {
	return erased(tx, 'e', gone, func(at, value []byte) error {
		entry, err := readEntry(binary.BigEndian.Uint64(at[len(at)-8:]), value)
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

// entryOf returns what the index keeps of an event.
func entryOf(ev domain.Recorded) FeedEntry {
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
