package files

import (
	"context"

	"svc/commands"
	"svc/domain/file"
	"svc/eventstore"
)

// counted is execute for a command that changes how many bytes there are.
func (f *Files) counted(ctx context.Context, workspaceID, id string, cmd file.Command, may May) (file.State, error) {
	beside, leave, err := f.counting(ctx, workspaceID)
	if err != nil {
		return file.State{}, err
	}
	defer leave()
	return f.execute(ctx, workspaceID, id, cmd, may, beside)
}

// counting returns what records the total of a workspace together with a change of one
// of its files. Those of one workspace go one after the other on this node: at once they
// would only lose races against each other.
func (f *Files) counting(ctx context.Context, workspaceID string) (beside commands.Beside[file.State], leave func(), err error) {
	if leave, err = f.turns.Take(ctx, workspaceID); err != nil {
		return nil, nil, err
	}
	cmd, err := f.count(ctx, workspaceID, 0)
	if err != nil {
		leave()
		return nil, nil, err
	}
	return func(before, after file.State, own commands.EventIDs) ([]eventstore.Commit, error) {
		cmd.Bytes = sizeOf(after) - sizeOf(before)
		c, err := commands.DecideBeside(ctx, f.o.Engine, file.TotalDecider, file.TotalStream(workspaceID), file.TotalCommand(cmd), own)
		if err != nil || len(c.Facts) == 0 {
			return nil, err
		}
		return []eventstore.Commit{c}, nil
	}, leave, nil
}

// sizeOf is what a file adds to the total.
func sizeOf(s file.State) int64 {
	if s.Deleted {
		return 0
	}
	return s.Size
}

// hasRoom refuses bytes that the workspace has no room for now, before they are stored.
// The last word has the append.
func (f *Files) hasRoom(ctx context.Context, workspaceID string, bytes int64) error {
	cmd, err := f.count(ctx, workspaceID, bytes)
	if err != nil {
		return err
	}
	total, err := f.total(ctx, workspaceID)
	if err == nil {
		_, err = file.TotalDecider.Decide(total, cmd)
	}
	return err
}

// count returns the command that counts bytes.
func (f *Files) count(ctx context.Context, workspaceID string, bytes int64) (file.Count, error) {
	cmd := file.Count{Bytes: bytes, Limit: f.o.Settings().MaxTotal}
	total, err := f.total(ctx, workspaceID)
	if err == nil && !total.Started && f.o.Before != nil {
		cmd.Before, err = f.o.Before(ctx, workspaceID)
	}
	return cmd, err
}

// total returns the total of a workspace as the log has it.
func (f *Files) total(ctx context.Context, workspaceID string) (file.Total, error) {
	ctx = commands.WithRequest(ctx, &commands.Request{Meta: commands.RequestFrom(ctx).Meta}) // a look needs no ids
	done, err := commands.Execute(ctx, f.o.Engine, file.TotalDecider, file.TotalStream(workspaceID), file.TotalCommand(file.LookTotal{}))
	return done.State, err
}
