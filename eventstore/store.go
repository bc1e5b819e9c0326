// Package eventstore defines how events are stored and replayed. The one implementation is
// eventstore/jetstream. storetest is a test suite of this contract, for every way to deploy it.
package eventstore

import (
	"context"
	"errors"
	"time"

	"svc/domain"
)

// ErrConflict says that the aggregate has changed since it was loaded. Nothing was stored; decide again
// on the new state.
var ErrConflict = errors.New("eventstore: the aggregate has changed")

// ErrUnavailable says that writes are not possible now: the disk is low, the broker is unreachable, or an
// fsync failed. It is unknown whether anything was stored; repeat the same commit with the same ids.
var ErrUnavailable = errors.New("eventstore: writes are not possible now")

// ErrVoidIDs says that ids belong to a commit that is void, because a crash cut it off. Append the same facts
// under other ids.
var ErrVoidIDs = errors.New("eventstore: these ids belong to a commit that is void")

// ErrNoKey says that a bucket has no such key.
var ErrNoKey = errors.New("eventstore: no such key")

// Blob describes a content in the blob store.
type Blob struct {
	Name     string // SHA-256 of the content, in hex
	Size     uint64
	PutAt    time.Time // when it was last put
	Revision uint64    // changes when it is put again
}

// Fact is an event to be stored under an id chosen by the caller. Repeating an
// append with the same ids stores nothing twice.
type Fact struct {
	ID      string // ULID
	Event   domain.Event
	Target  *domain.Target
	Options domain.EventOptions
	// Apart is stored beside the event and not in it, so that it can be erased sooner. It is lost when it
	// cannot be stored for a while: the event does not depend on it. Only activity has it.
	Apart []byte
}

// Commit is what one decision adds to one aggregate, or, when Stream names only
// a scope, to the activity of a workspace.
type Commit struct {
	Stream domain.StreamID
	// Expected is the sequence of the aggregate's last event when the decision
	// was made; 0 when it had none. It is ignored for activity.
	Expected uint64
	Meta     domain.Meta
	Facts    []Fact
}

// Receipt says where a commit was stored.
type Receipt struct {
	Seqs     []uint64        // of every fact, in the order given
	Position domain.Position // the last of them
}

// Store keeps events. All methods are safe for concurrent use.
type Store interface {
	// Append stores all commits or none and returns their sequences. The events are durable when it
	// returns nil. It fails with ErrConflict when an expectation does not hold, with ErrUnavailable
	// when the outcome is unknown or writes are not possible. A repeated append with the same ids
	// finds its events and succeeds.
	Append(ctx context.Context, commits ...Commit) (Receipt, error)

	// Load returns the events of one aggregate with a sequence above after.
	Load(ctx context.Context, id domain.StreamID, after uint64) ([]domain.Recorded, error)

	// Subscribe calls handle with the events of a log from a sequence on, in order, until ctx ends or
	// handle fails. It continues after a reconnect.
	Subscribe(ctx context.Context, log domain.Log, from uint64, handle func(Batch) error) error

	// Read returns the event at seq; ok is false when there is none.
	Read(ctx context.Context, log domain.Log, seq uint64) (ev domain.Recorded, ok bool, err error)

	// Reread returns the events at seqs, which a reader got before, in that order, without those that
	// were erased since.
	Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error)

	// Info describes a log.
	Info(ctx context.Context, log domain.Log) (Info, error)
}

// Batch is a number of consecutive events.
type Batch struct {
	Events []domain.Recorded
	// Pending is how many events of the log follow this batch. A reader has caught up when it is 0; an
	// empty batch reports just that.
	Pending uint64
}

// Info describes a log. First is 1 for an empty log, Last 0.
type Info struct {
	Identity string // differs when the log was deleted and created again
	First    uint64
	Last     uint64
	Messages uint64
}

// Contiguous reports whether the log holds every sequence from 1 to Last.
func (i Info) Contiguous() bool { return i.Messages == i.Last && (i.Last == 0 || i.First == 1) }

// Bucket stores values by key: what is no history, and what a node must find again. Each write of a key makes a new
// revision of it.
type Bucket interface {
	// Get returns the value of a key and its revision. It fails with ErrNoKey when there is none.
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Create sets a key that has no value; else it fails with ErrConflict.
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// Put sets a key, whatever it was.
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// Update sets a key whose revision is still the one given; else it fails with ErrConflict.
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Delete removes a key, if it exists.
	Delete(ctx context.Context, key string) error
	// List returns the values of the keys that continue prefix by one segment: those of a/b and a/c for a.
	List(ctx context.Context, prefix string) ([][]byte, error)
}
