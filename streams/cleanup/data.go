package cleanup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/parked"
	"svc/commands/recording"
	"svc/commands/runtime"
	"svc/projections"
	"svc/streams"
)

// StoredData is the data of workspaces in the event store. It implements WorkspaceData. All fields are required.
type StoredData struct {
	// Store is a *jetstream.Store.
	Store interface {
		HasWorkspaceData(ctx context.Context, workspaceID string) (bool, error)
		EraseWorkspaceData(ctx context.Context, workspaceID string) error
	}
	// Payloads is a *jetstream.Payloads.
	Payloads interface {
		Strip(ctx context.Context, workspaceID string, before time.Time, dry bool) (count, bytes uint64, err error)
	}
	// Keys has the keys of workspaces. It is a *vault.Vault.
	Keys interface {
		Has(ctx context.Context, workspaceID string) (bool, error)
		Destroy(ctx context.Context, workspaceID string) error
	}
	Parked     *parked.Parked
	Recordings *recording.Store
	Erasures   *Erasures
}

// Strip implements WorkspaceData.
func (d StoredData) Strip(ctx context.Context, workspaceID string, before time.Time, dry bool) (count, bytes uint64, err error) {
	return d.Payloads.Strip(ctx, workspaceID, before, dry)
}

// Expire implements WorkspaceData.
func (d StoredData) Expire(ctx context.Context, workspaceID string, dry bool) (bytes uint64, err error) {
	_, bytes, err = d.Recordings.Sweep(ctx, workspaceID, dry)
	return bytes, err
}

// HasData implements WorkspaceData.
func (d StoredData) HasData(ctx context.Context, workspaceID string) (bool, error) {
	holds, err := d.Store.HasWorkspaceData(ctx, workspaceID)
	if err != nil || holds {
		return holds, err
	}
	return d.Keys.Has(ctx, workspaceID)
}

// IsParked implements WorkspaceData.
func (d StoredData) IsParked(ctx context.Context, workspaceID, treeID string) (bool, error) {
	_, isParked, err := d.Parked.Get(ctx, workspaceID, treeID)
	return isParked, err
}

// Erase implements WorkspaceData. The key is destroyed first: without it nobody can read the rest.
func (d StoredData) Erase(ctx context.Context, workspaceID string) error {
	if err := errors.Join(d.Keys.Destroy(ctx, workspaceID), d.Store.EraseWorkspaceData(ctx, workspaceID)); err != nil {
		return fmt.Errorf("erase the data of workspace %s: %w", workspaceID, err)
	}
	return d.Erasures.announce(workspaceID)
}

// WorkspaceOwners implements BlobOwners: the states of workspaces name blobs.
type WorkspaceOwners struct{ Workspaces commands.Workspaces }

// WorkspaceBlobs implements BlobOwners.
func (o WorkspaceOwners) WorkspaceBlobs(ctx context.Context, workspaceID string, visit func(name string)) error {
	current, err := o.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return err
	}
	for _, name := range current.State.Blobs() {
		visit(name)
	}
	return nil
}

// Erasures make all nodes forget a workspace that was erased.
type Erasures struct {
	Broadcast streams.Broadcast
	Log       *slog.Logger

	mu     sync.Mutex
	caches []workspaceCache
}

// workspaceCache is something that this node has in memory of workspaces.
type workspaceCache struct {
	name   string
	forget func(workspaceID string) error
}

// Register adds a cache that has to forget erased workspaces.
func (e *Erasures) Register(name string, forget func(workspaceID string) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.caches = append(e.caches, workspaceCache{name, forget})
}

// Listen forgets the workspaces that any node erases, until stop is called.
func (e *Erasures) Listen() (stop func(), err error) {
	return e.Broadcast.Listen(func(body []byte) { e.forget(string(body)) })
}

// announce forgets a workspace on all nodes.
func (e *Erasures) announce(workspaceID string) error {
	e.forget(workspaceID)
	return e.Broadcast.Send([]byte(workspaceID))
}

// forget removes a workspace from the caches of this node. A cache that fails drops it later.
func (e *Erasures) forget(workspaceID string) {
	e.mu.Lock()
	caches := slices.Clone(e.caches)
	e.mu.Unlock()
	for _, c := range caches {
		if err := c.forget(workspaceID); err != nil {
			e.Log.Warn("an erased workspace was not removed from memory yet", "what", c.name, "workspace", workspaceID, "err", err)
		}
	}
}

// EvictEvery is how often runs of deleted workspaces are searched.
const EvictEvery = time.Second

// Eviction cancels the runs of deleted workspaces on this node. After a change it searches twice: a tree that was about
// to begin at the first time is found at the second.
type Eviction struct {
	Models  *projections.Models
	Runtime *runtime.Runtime
	Log     *slog.Logger

	once, twice uint64 // positions of the State log at which it has searched
}

// Evict cancels the runs of workspaces that were deleted since the last call.
func (e *Eviction) Evict(context.Context) error {
	at := e.Models.Position().State
	if at == e.twice {
		return nil
	}
	cancelled, err := e.Runtime.CancelDeleted(e.Models.IsWorkspaceDeleted)
	if err != nil {
		return err
	}
	if cancelled > 0 {
		e.Log.Info("runs of deleted workspaces were cancelled", "trees", cancelled)
	}
	if e.once == at {
		e.twice = at
	}
	e.once = at
	return nil
}
