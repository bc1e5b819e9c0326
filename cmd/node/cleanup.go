package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc/commands"
	"svc/commands/parked"
	"svc/commands/recording"
	"svc/commands/vault"
	"svc/eventstore/jetstream"
	"svc/streams"
	"svc/streams/cleanup"
)

// cleanupLease is for how long a cleanup stays its node's without a word of it.
const cleanupLease = 15 * time.Second

// openCleanup opens the jobs that erase what is old, and runs them in time on a node
// that has this role.
func (n *Node) openCleanup(ctx context.Context) error {
	running, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "CLEANUP_RUNS", TTL: cleanupLease})
	if err != nil {
		return err
	}
	memory, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "CLEANUP"})
	if err != nil {
		return err
	}
	records := &recording.Store{Data: n.store.Data, Vault: n.places.vault, Now: time.Now}
	n.cleanup = &cleanup.Jobs{
		Log: n.store.Log, Data: erasing{leftovers{n.store, n.places.vault, records}, n}, Notes: memory, Models: n.models,
		Blobs: n.store.Blobs, BlobOwners: blobOwners{n.places.workspaces},
		Lease:  streams.Lease{Bucket: running, Name: "cleanup", TTL: cleanupLease, Log: n.log},
		Record: n.engine.Record, Terms: n.cleanupTerms, Logger: n.log,
	}
	if slices.Contains(n.config().Core.Roles, "cleanup") {
		n.work("cleanup", cleanup.Schedule{Jobs: n.cleanup, RunTimes: memory, Plan: n.cleanupPlan}.Run)
	}
	return nil
}

func (n *Node) cleanupTerms() cleanup.Terms {
	e := n.config().Events
	return cleanup.Terms{
		Retention: e.Retention, MaxEvents: e.CleanupMaxEvents, Inactivity: e.CleanupInactivity, Executions: e.CleanupExecutions, DeletionDelay: e.DeletionDelay,
		Operations: n.config().Workspaces.OperationsRetention,
	}
}

func (n *Node) cleanupPlan() cleanup.Plan {
	c := n.config()
	return cleanup.Plan{
		Enabled: c.Events.CleanupEnabled, Indices: c.Events.CleanupIndicesCron, Executions: c.Events.CleanupExecutionsCron, Zone: c.Runtime.SchedulesTimezone,
	}
}

// blobOwners implements cleanup.BlobOwners.
type blobOwners struct{ workspaces commands.Workspaces }

// WorkspaceBlobs implements cleanup.BlobOwners.
func (o blobOwners) WorkspaceBlobs(ctx context.Context, workspaceID string, visit func(name string)) error {
	current, err := o.workspaces.Get(ctx, workspaceID)
	if err != nil {
		return err
	}
	for _, name := range current.State.Blobs() {
		visit(name)
	}
	return nil
}

// leftovers are what a workspace has besides its events. They implement cleanup.Data.
type leftovers struct {
	store   *jetstream.Store
	vault   *vault.Vault
	records *recording.Store
}

// Strip implements cleanup.Data.
func (l leftovers) Strip(ctx context.Context, workspaceID string, before time.Time, dry bool) (count, bytes uint64, err error) {
	found, err := l.store.Payloads.Before(ctx, workspaceID, before)
	if err != nil || dry {
		return found.Count, found.Bytes, err
	}
	if err := l.store.Payloads.Purge(ctx, workspaceID, found.Below); err != nil {
		return 0, 0, err
	}
	return found.Count, found.Bytes, nil
}

// Expire implements cleanup.Data.
func (l leftovers) Expire(ctx context.Context, workspaceID string, dry bool) (bytes uint64, err error) {
	_, bytes, err = l.records.Sweep(ctx, workspaceID, dry)
	return bytes, err
}

// Holds implements cleanup.Data.
func (l leftovers) Holds(ctx context.Context, workspaceID string) (bool, error) {
	holds, err := l.store.HasWorkspaceData(ctx, workspaceID)
	if err != nil || holds {
		return holds, err
	}
	return l.vault.Has(ctx, workspaceID)
}

// Stands implements cleanup.Data.
func (l leftovers) Stands(ctx context.Context, workspaceID, treeID string) (bool, error) {
	_, stands, err := (&parked.Parked{Store: l.store.Data, Vault: l.vault}).Get(ctx, workspaceID, treeID)
	return stands, err
}

// Erase implements cleanup.Data. The key goes first: without it the rest cannot be
// read, whatever becomes of it.
func (l leftovers) Erase(ctx context.Context, workspaceID string) error {
	if err := errors.Join(l.vault.Destroy(ctx, workspaceID), l.store.EraseWorkspaceData(ctx, workspaceID)); err != nil {
		return fmt.Errorf("erase what is left of workspace %s: %w", workspaceID, err)
	}
	return nil
}
