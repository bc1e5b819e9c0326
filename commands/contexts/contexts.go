// Package contexts keeps what automations remember beyond one execution: the
// contexts run, session, user, global and socket of workspaces.
//
// A write is an operation at a path. It is appended without looking at what others
// append meanwhile, and the order of the log decides: writes to different paths
// both count, no push is lost, the last set of a path wins. A context is what its
// operations make of it, on every node the same. When they outweigh it a snapshot
// takes their place. All of it is sealed with the data key of its workspace.
package contexts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/automation/variable"
	"svc/domain/value"
)

// Store keeps operations. It is a *jetstream.Data, whose methods say what each of
// these does.
type Store interface {
	Alone() bool
	Put(ctx context.Context, id domain.StreamID, name string, body []byte, stored func(seq uint64, parts string)) error
	Fold(ctx context.Context, id domain.StreamID, name string, upTo uint64, replaced []string, body []byte) (seq uint64, parts string, err error)
	Since(ctx context.Context, id domain.StreamID, after uint64, visit func(seq uint64, snapshot bool, parts string, body []byte) error) error
	WaitDurable(ctx context.Context, seq uint64) error
	Drop(ctx context.Context, id domain.StreamID, below uint64) error
	IDs(ctx context.Context, workspaceID, kind string) ([]string, error)
}

// Options are what contexts need. Store and Vault are required.
type Options struct {
	Store Store
	Vault commands.Vault

	Memory int              // bytes that this node keeps contexts in; default 64 MiB
	Now    func() time.Time // default time.Now
	Log    *slog.Logger     // default slog.Default
}

// Contexts reads and writes contexts. All methods are safe for concurrent use.
type Contexts struct {
	opts  Options
	cache *cache
	doubt atomic.Int64 // until when, in nanoseconds, the log may get what it was sent in vain
}

// Key names a context: its kind is one of run, session, user, global and socket,
// its id what the executions that share it have in common.
type Key struct{ WorkspaceID, Kind, ID string }

// Write is one operation on the variables of a context. Until is when the variable
// at its path goes; a write without ends an earlier one's.
type Write struct {
	Op    variable.Op
	Until time.Time
}

// Change is what is written to one context at once. Expires is from when on nothing
// is left of it unless it is written to again; zero: never. Without writes it only
// moves that. Limit is how large the context may be, as JSON: a write that makes it
// larger, together with those of others, is left out; 0: it may be of any size.
type Change struct {
	Key      Key
	Writes   []Write
	Expires  time.Time
	Lifetime Lifetime
	Limit    int
}

// Lifetime says what the time of a change is to a context that is there already. The
// numbers are stored.
type Lifetime uint8

// The kinds of lifetimes.
const (
	Moves   Lifetime = iota // it expires then
	Extends                 // not before then; one that never expires still never does
	stayed                  // as Extends, and one that is new never expires: written by earlier versions
)

const defaultMemory = 64 << 20

// New returns Contexts with these options.
func New(o Options) *Contexts {
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Contexts{opts: o, cache: newCache(o.Memory)}
}

// Load returns the variables of a context, with everything that was acknowledged
// before the call. It is empty, never nil, for a context that is not there, or has
// expired.
func (c *Contexts) Load(ctx context.Context, key Key) (*value.Object, error) {
	for {
		e := c.cache.use(key)
		known, err := c.loadEntry(ctx, e)
		c.cache.done(e, known.state.size)
		if err == nil {
			err = c.opts.Store.WaitDurable(ctx, known.seq)
		}
		if err != nil {
			return nil, fmt.Errorf("load the context %s of workspace %s: %w", key.Kind, key.WorkspaceID, err)
		}
		if !e.stale.Load() {
			return known.state.at(c.opts.Now()).object, nil
		}
	}
}

// Append adds changes of contexts to the log. They are on disk when it returns nil;
// repeated with the same id they count once.
func (c *Contexts) Append(ctx context.Context, id string, changes []Change) error {
	changes = mergeChanges(changes)
	faults := make([]error, len(changes))
	var running sync.WaitGroup
	for i, change := range changes {
		running.Go(func() {
			if err := c.append(ctx, id, change); err != nil {
				faults[i] = fmt.Errorf("write the context %s of workspace %s: %w", change.Key.Kind, change.Key.WorkspaceID, err)
			}
		})
	}
	running.Wait()
	return errors.Join(faults...)
}

// mergeChanges makes one change of those of the same context.
func mergeChanges(changes []Change) []Change {
	indexes := map[Key]int{}
	var all []Change
	for _, change := range changes {
		i, known := indexes[change.Key]
		if !known {
			indexes[change.Key] = len(all)
			all = append(all, change)
			continue
		}
		all[i].Writes = append(all[i].Writes[:len(all[i].Writes):len(all[i].Writes)], change.Writes...)
		all[i].Expires, all[i].Lifetime, all[i].Limit = change.Expires, change.Lifetime, change.Limit
	}
	return all
}

// Forget drops what this node remembers of a workspace, which was erased.
func (c *Contexts) Forget(workspaceID string) { c.cache.deleteWorkspace(workspaceID) }

// stream is where the operations of a context are.
func (k Key) stream() domain.StreamID {
	return domain.StreamID{Scope: k.WorkspaceID, Kind: "contexts", ID: k.Kind + "." + k.ID}
}

// purpose is what the operations of a context are sealed for.
func (k Key) purpose() string { return "contexts/" + k.Kind + "/" + k.ID }
