package versioning

import (
	"context"
	"errors"

	"svc/commands/archive"
	"svc/commands/filesync"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// filePush is one push to a directory on its way.
type filePush struct {
	*shelf
	saving
	there archive.Tree // what it has
	next  archive.Tree // what it gets
}

// pushFiles saves a workspace in a directory.
func (v *Versioning) pushFiles(ctx context.Context, what saving, repo repositories.Repository) (any, error) {
	p, err := v.newFilePush(ctx, what, repo)
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.run(ctx)
}

func (v *Versioning) newFilePush(ctx context.Context, what saving, repo repositories.Repository) (*filePush, error) {
	if err := what.take(ctx); err != nil {
		return nil, err
	}
	at, err := v.openShelf(repo)
	return &filePush{shelf: at, saving: what}, err
}

// run goes through the steps. When somebody else writes to the directory meanwhile
// it begins anew.
func (p *filePush) run(ctx context.Context) (any, error) {
	for try := 1; ; try++ {
		intent, err := p.prepare(ctx)
		if err != nil {
			return nil, err
		}
		switch result, err := p.write(ctx, intent); {
		case err != nil:
			return nil, err
		case result == sent:
			return p.record(ctx, intent)
		case try == tries:
			return nil, domain.Refuse(domain.CodeConflict, "others write to the directory all the time: try again").Reason("remote_busy").With("repositoryId", p.repo.ID)
		}
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// prepare finds out what the directory gets.
func (p *filePush) prepare(ctx context.Context) (intent workspace.Intent, err error) {
	err = p.op.Step(ctx, operation.Checkout, "Opening the directory", func(ctx context.Context) error {
		recorded, err := p.settleEarlier(ctx, p.state, p.op.ID())
		if err != nil || !recorded {
			return err
		}
		now, err := p.v.Workspaces.Get(ctx, p.state.ID)
		p.meet(now.State, p.repo)
		return err
	})
	if err != nil {
		return intent, err
	}
	err = p.op.Step(ctx, operation.PullStep, "Reading the directory", func(ctx context.Context) error {
		if err := p.inSync(ctx); err != nil {
			return err
		}
		intent, err = p.build(ctx)
		return err
	})
	return intent, err
}

// inSync refuses a push when the directory is there and is not, byte for byte, what
// was integrated last. One that nothing is known of must be empty, or have what the
// workspace has.
func (p *filePush) inSync(ctx context.Context) (err error) {
	if p.there, err = p.has(ctx); err != nil {
		return err
	}
	base, err := p.v.base(ctx, p.sync)
	if err != nil {
		return err
	}
	same := sameBytes(p.there, base) || len(p.there) == 0 // it is gone: nothing there can be lost
	if p.sync.Base == nil {
		same = p.v.upToDate(p.state, p.sync, base, p.files, &gitsync.Files{Managed: p.there}, true)
	}
	if !same {
		return notUpToDate(p.repo, len(differ(p.files, base, p.v.limits().Document)), changed(base, p.there))
	}
	if p.was == nil {
		return nil
	}
	before, err := p.Read(ctx, p.was.Root)
	if err == nil {
		_, err = p.abandoned(ctx, before, p.repo)
	}
	return err
}

// build makes the next state of the directory, and what is recorded before it is
// written.
func (p *filePush) build(ctx context.Context) (intent workspace.Intent, err error) {
	v := p.v
	put, remove := v.written(p.files, p.there, stillHeld(p.state, p.sync))
	p.next = with(p.there, put, remove)
	if p.next[archive.ImportPath], err = p.importFile(ctx, p.next); err != nil {
		return intent, err
	}
	files, err := v.keep(ctx, p.next)
	return p.intent(workspace.Base{Files: files}, gitsync.Compare(p.there, p.next)), err
}

// write puts the next state in the place of what is there.
func (p *filePush) write(ctx context.Context, intent workspace.Intent) (result outcome, err error) {
	err = p.op.Step(ctx, operation.Write, "Writing the files", func(ctx context.Context) error {
		if err := p.op.Commit(ctx); err != nil {
			return err
		}
		_, err := p.v.Workspaces.Execute(ctx, p.state.ID, workspace.Intend{Epoch: p.op.Epoch(), RepositoryID: p.repo.ID, Place: p.place, Intent: intent})
		if err != nil {
			return err
		}
		err = p.Replace(ctx, p.repo.Root, p.next, p.op.ID(), p.there)
		switch {
		case errors.Is(err, filesync.ErrMoved):
			result = raced
			return nil
		case err != nil && ctx.Err() != nil:
			return errors.Join(operations.ErrUnsettled, err) // who takes over finds out
		}
		return err
	})
	return result, err
}

// record tells that the directory has the version.
func (p *filePush) record(ctx context.Context, intent workspace.Intent) (any, error) {
	if err := p.leave(ctx, intent); err != nil {
		return nil, err
	}
	done, err := p.v.recordPush(ctx, p.state.ID, p.op.Epoch(), p.repo.ID, p.place, intent)
	return Show(done, intent.Changes), err
}

// goOn goes on with a push that was broken off: the directory has it, or is as it
// was.
func (p *filePush) goOn(ctx context.Context, intent workspace.Intent) (any, error) {
	state, err := p.find(ctx, intent)
	if err != nil {
		return nil, err
	}
	if state == stored {
		return p.record(ctx, intent)
	}
	return p.run(ctx)
}
