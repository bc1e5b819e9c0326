// Package eventstore says what keeping and replaying events means. The one
// implementation is eventstore/jetstream; storetest is the contract as a test
// suite that every deployment shape of it passes.
package eventstore

import (
	"context"
	"errors"
	"time"

	"svc/domain"
)

// ErrConflict says that the aggregate moved on since it was loaded: nothing was
// stored, and the decision must be made again on its new state.
var ErrConflict = errors.New("eventstore: the aggregate has changed")

// ErrUnavailable says that the store takes no writes now: the disk is low, the
// broker is unreachable, or an fsync failed. Nothing is known to be stored;
// repeating the same commit with the same ids is safe.
var ErrUnavailable = errors.New("eventstore: writes are not possible now")

// ErrBurned says that ids are stored with a commit that never counted, because a
// crash took its end: the same facts can be appended under other ids.
var ErrBurned = errors.New("eventstore: these ids belong to a commit that is void")

// ErrNoKey says that a bucket has no such key.
var ErrNoKey = errors.New("eventstore: no such key")

// Fact is an event to be stored under an id chosen by the caller. Repeating an
// append with the same ids stores nothing twice.
type Fact struct {
	ID      string // ULID
	Event   domain.Event
	Target  *domain.Target
	Options domain.EventOptions
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
	// Append stores all commits or none and returns where. When it returns nil
	// the events are on disk. It fails with
	// ErrConflict when an expectation does not hold, with ErrUnavailable when
	// the outcome could not be learned or the store is stopped. Repeated with
	// the same ids after a lost answer, it recognises its own events and
	// succeeds.
	Append(ctx context.Context, commits ...Commit) (Receipt, error)

	// Load returns the events of one aggregate with a sequence above after.
	Load(ctx context.Context, id domain.StreamID, after uint64) ([]domain.Recorded, error)

	// Subscribe hands over every event of a log with a sequence of at least
	// from, in order, until ctx ends or handle fails. It survives reconnects.
	Subscribe(ctx context.Context, log domain.Log, from uint64, handle func(Batch) error) error

	// Read returns the event at seq; ok is false when there is none.
	Read(ctx context.Context, log domain.Log, seq uint64) (ev domain.Recorded, ok bool, err error)

	// Reread returns the events at seqs, which a reader was handed before, in that
	// order. One that has been erased since is left out.
	Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error)

	// Info returns the extent of a log.
	Info(ctx context.Context, log domain.Log) (Info, error)

	// Durable returns the highest sequence of log known to be on disk. Whoever
	// causes effects outside acts only on events at or below it.
	Durable(log domain.Log) uint64
}

// Batch is a run of events, handed over together for the sake of speed.
type Batch struct {
	Events []domain.Recorded
	// Pending is how many events the log holds beyond this batch. A reader has
	// caught up when it is 0. A batch may be empty to say just that.
	Pending uint64
}

// Info is the extent of a log. First is 1 for an empty log, Last 0.
type Info struct {
	Identity string // differs when the log was deleted and made anew
	First    uint64
	Last     uint64
	Messages uint64
	Created  time.Time
}

// Contiguous reports whether the log holds every sequence from 1 to Last.
func (i Info) Contiguous() bool { return i.Messages == i.Last && (i.Last == 0 || i.First == 1) }
