// Package rows is the read model of collections: every row of every namespace, with
// the uniques and the indexes that are declared, in a Badger of its own.
//
// A Model follows the entries of the log and applies them in order. What belongs
// together may take several transactions: readers begin between two batches only,
// and the checkpoint moves with the last transaction, so that a batch that a crash
// cut short is applied again from its beginning, with the same outcome. A model that
// does not fit the log is emptied and filled again.
package rows

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/domain/collection"
)

// Log is where entries come from. It is a *jetstream.Collections.
type Log interface {
	Follow(ctx context.Context, from uint64, handle func(entries []collection.Logged, pending uint64) error) error
	Info(ctx context.Context) (identity string, reach, last uint64, err error)
	IDs(ctx context.Context) ([]domain.StreamID, error)
}

// Opener reads what an entry says: it hands over changes as collection.AppendChange
// wrote them, in pieces. It fails with collection.ErrGone and
// collection.ErrUnreadable for what nobody will ever read; other errors pass.
type Opener interface {
	Open(ctx context.Context, e collection.Logged, visit func(changes []byte) error) error
}

// Options configure a Model. DB, Log and Opener are required.
type Options struct {
	DB     *badger.DB
	Log    Log
	Opener Opener

	Commit func(*badger.Txn) error // how a transaction is committed; default its own
	Logger *slog.Logger            // default slog.Default
}

// Model is the rows of one node. All methods are safe for concurrent use.
type Model struct {
	opts Options

	// mu is held while entries are applied, and for reading while a reader begins.
	mu    sync.RWMutex
	infos map[string][]*collection.Info // of namespaces that were read
	at    checkpoint
	fresh bool // filled from the beginning of the log: what is missing now is missing there

	progress sync.Mutex
	applied  uint64
	caught   bool
	moved    chan struct{} // closed and replaced when one of the two changes
}

// New returns the model in o.DB as it was left. Run fills it.
func New(o Options) (*Model, error) {
	if o.DB == nil || o.Log == nil || o.Opener == nil {
		return nil, errors.New("rows: Options.DB, Log and Opener are required")
	}
	if o.Commit == nil {
		o.Commit = (*badger.Txn).Commit
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	m := &Model{opts: o, infos: map[string][]*collection.Info{}, moved: make(chan struct{})}
	txn := o.DB.NewTransaction(false)
	defer txn.Discard()
	at, err := readCheckpoint(txn)
	m.at, m.applied = at, at.Seq
	return m, err
}

// advance notes how far the model is, and wakes those who wait for it.
func (m *Model) advance(seq uint64, caught bool) {
	m.progress.Lock()
	defer m.progress.Unlock()
	if m.applied == seq && m.caught == caught {
		return
	}
	m.applied, m.caught = seq, caught
	close(m.moved)
	m.moved = make(chan struct{})
}

// Health returns the sequence of the last entry that is applied, and whether the log
// was read to its end.
func (m *Model) Health() (applied uint64, caughtUp bool) {
	m.progress.Lock()
	defer m.progress.Unlock()
	return m.applied, m.caught
}

// Reach waits until the entry at seq is applied, and the log was read to its end
// once.
func (m *Model) Reach(ctx context.Context, seq uint64) error {
	for {
		m.progress.Lock()
		done, moved := m.caught && m.applied >= seq, m.moved
		m.progress.Unlock()
		if done {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
