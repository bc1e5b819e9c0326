package versioning

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"svc/commands/archive"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// settleEarlier finds out what became of an earlier push to a repository whose
// answer was lost, and records it when the remote has it. It says whether it did.
func (v *Versioning) settleEarlier(ctx context.Context, r *remote, s workspace.State, but string) (recorded bool, err error) {
	return v.settleWith(ctx, r.repo, s, but, func(ctx context.Context, intent workspace.Intent) (settled, error) { return v.find(ctx, r, intent) })
}

// settleWith settles an earlier push by what find finds of it.
func (v *Versioning) settleWith(
	ctx context.Context, repo repositories.Repository, s workspace.State, but string, find func(context.Context, workspace.Intent) (settled, error),
) (recorded bool, err error) {
	at := PlaceOf(repo)
	intent := s.SyncWith(repo.ID, at).Intent
	if intent == nil || intent.OperationID == but {
		return false, nil
	}
	state, err := find(ctx, *intent)
	if err != nil || state != stored {
		return false, err
	}
	_, err = v.recordPush(ctx, s.ID, 0, repo.ID, at, *intent)
	return err == nil, err
}

// settleEarlier lets a push begin with what is known.
func (p *push) settleEarlier(ctx context.Context) error {
	recorded, err := p.v.settleEarlier(ctx, p.remote, p.state, p.op.ID())
	if err != nil || !recorded {
		return err
	}
	now, err := p.v.Workspaces.Get(ctx, p.state.ID)
	p.meet(now.State, p.repo)
	return err
}

// Settlers end operations that another node, or an earlier run of this one, has
// left (contract 8.4, 9.5).
func (v *Versioning) Settlers() map[string]operations.Settler {
	return map[string]operations.Settler{
		operation.Push: v.settlePush, operation.Pull: v.settleImport, operation.Import: v.settleImport, operation.Resolve: v.settleImport,
	}
}

// settlePush goes on with a push. When nothing was sent, nothing happened.
func (v *Versioning) settlePush(ctx context.Context, run *operations.Run, op operation.State) (any, error) {
	now, err := v.Workspaces.Get(ctx, run.WorkspaceID())
	if err != nil {
		return nil, err
	}
	for _, version := range now.State.Versions {
		if version.OperationID == op.ID {
			return Show(version, nil), nil
		}
	}
	if op.RepositoryID == "" {
		return nil, operations.ErrInterrupted
	}
	asked := PushRequest{RepositoryID: op.RepositoryID}
	if err := json.Unmarshal(op.Request, &asked); err != nil {
		return nil, err
	}
	repo, err := v.meant(ctx, now.State, asked)
	if err != nil {
		return nil, err
	}
	sync := now.State.SyncWith(repo.ID, PlaceOf(repo))
	if sync.Intent == nil || sync.Intent.OperationID != op.ID {
		return nil, operations.ErrInterrupted
	}
	intent := *sync.Intent
	what := saving{v: v, op: run, user: intent.Version.CreatedBy, when: second(intent.Version.CreatedAt), version: intent.Version, seq: intent.Synced}
	what.meet(now.State, repo)
	if repo.Type == repositories.Filesystem {
		p, err := v.newFilePush(ctx, what, repo)
		if err != nil {
			return nil, err
		}
		defer p.close()
		return p.goOn(ctx, intent)
	}
	p := &push{saving: what}
	if err := p.open(ctx, repo); err != nil {
		return nil, err
	}
	defer p.Close()
	return p.goOn(ctx, intent)
}

// goOn finds out what became of a push and sends it again when the remote does not
// have it: the same content, time and parents make the same commit.
func (p *push) goOn(ctx context.Context, intent workspace.Intent) (any, error) {
	state, err := p.settle(ctx, intent, true, nil)
	if err != nil {
		return nil, err
	}
	if state == stored {
		return p.record(ctx, intent)
	}
	if tag, ok := tagOf(intent.Moves); ok {
		p.tags = []string{tag.Old, tag.New}
	}
	return p.run(ctx)
}

// settleImport ends a pull, an import or a resolution: its one event is there, or
// nothing happened.
func (v *Versioning) settleImport(ctx context.Context, run *operations.Run, op operation.State) (any, error) {
	now, err := v.Workspaces.Get(ctx, run.WorkspaceID())
	if err != nil {
		return nil, err
	}
	if c := now.State.Conflict; c != nil && c.OperationID == op.ID {
		return nil, Unresolved(*c)
	}
	return v.importOf(ctx, run.WorkspaceID(), op.ID)
}

// importOf returns the result of an import as its event tells it.
func (v *Versioning) importOf(ctx context.Context, workspaceID, operationID string) (any, error) {
	events, err := v.Log.Load(ctx, workspace.Stream(workspaceID), 0)
	if err != nil {
		return nil, err
	}
	for _, ev := range slices.Backward(events) {
		done, ok := ev.Data.(workspace.Imported)
		if !ok || done.Import.OperationID != operationID {
			continue
		}
		told := done.Import
		result := Brought{Imported: told.Files, Deleted: told.Deleted, Workspace: told.Workspace, Version: told.Version}
		if result.ContentRevision, err = v.Revisions.Revision(ctx, workspaceID, ev.Seq); err != nil {
			return nil, err
		}
		if result.Errors, err = itemsOf(told.Errors); err != nil {
			return nil, err
		}
		result.Warnings, err = itemsOf(told.Warnings)
		return result, err
	}
	return nil, operations.ErrInterrupted
}

// itemsOf returns what an event tells of files.
func itemsOf(told []any) (items []archive.Item, err error) {
	body, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	items = []archive.Item{}
	return items, json.Unmarshal(body, &items)
}

// second is the time to the second, as commits tell it.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
