package versioning

import (
	"context"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// PushRequest is what is asked of a push.
type PushRequest struct {
	Name         string             `json:"name,omitempty"` // "": one is made up
	Description  document.Localized `json:"description,omitzero"`
	RepositoryID string             `json:"repositoryId,omitempty"` // "": the native one
	// Platform says that the platform repository is meant, even where the workspace has
	// one of its own with that id.
	Platform bool `json:"platform,omitempty"`
	// ID is that of the operation, chosen by the caller; "": a new one. Asked for again,
	// it is the operation that there is.
	ID string `json:"-"`
	// Under is the epoch of the lock of a run that it works under; 0: it has a lock of
	// its own.
	Under uint64 `json:"-"`
}

// NewName makes up the name of a version.
func NewName(ctx context.Context, now time.Time) string {
	return now.UTC().Format("20060102-150405-") + commands.NewID(ctx, 6)
}

// ShownVersion is a version as the API shows it.
type ShownVersion struct {
	Name            string                   `json:"name"`
	Description     document.Localized       `json:"description,omitzero"`
	CreatedAt       string                   `json:"createdAt"`
	CreatedBy       string                   `json:"createdBy"`
	Repository      *workspace.RepositoryRef `json:"repository,omitempty"`
	Commit          string                   `json:"commit,omitempty"`
	Tag             string                   `json:"tag,omitempty"`
	ContentRevision uint64                   `json:"contentRevision"`
	Changes         *workspace.Changes       `json:"changes,omitempty"`
	Warnings        []archive.Item           `json:"warnings,omitempty"` // of the push that made it
}

// Show returns a version as the API shows it.
func Show(v workspace.Version, changes *workspace.Changes) ShownVersion {
	return ShownVersion{
		Name: v.Name, Description: v.Description, CreatedAt: domain.FormatTime(v.CreatedAt), CreatedBy: v.CreatedBy,
		Repository: v.Repository, Commit: v.Commit, Tag: v.Tag, ContentRevision: v.ContentRevision, Changes: changes,
	}
}

// DeleteVersion forgets a version. A tag at a remote stays.
func (v *Versioning) DeleteVersion(ctx context.Context, workspaceID, name string) error {
	_, err := v.Workspaces.Execute(ctx, workspaceID, workspace.DeleteVersion{Name: name})
	return err
}

// Push saves a workspace as a version, to a repository or to the platform's own
// store.
func (v *Versioning) Push(ctx context.Context, workspaceID string, in PushRequest) (*operations.Handle, error) {
	id, known, err := v.Operations.Reserve(ctx, workspaceID, in.ID)
	if err != nil || known != nil {
		return known, err
	}
	now, err := v.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	if in.Name == "" {
		in.Name = NewName(ctx, v.Workspaces.Now())
	}
	if err := now.State.CheckVersion(in.Name, in.RepositoryID); err != nil {
		return nil, err
	}
	spec := operations.Spec{
		ID: id, Kind: operation.Push, WorkspaceID: workspaceID, RepositoryID: in.RepositoryID, Reason: workspace.PushInProgress, Request: in, Steps: 1,
	}
	if in.Under != 0 {
		spec.Reason, spec.Under = "", in.Under
	}
	if in.RepositoryID == "" {
		return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) { return v.pushNative(ctx, run, in) })
	}
	repo, err := v.meant(ctx, now.State, in)
	if err == nil {
		err = repo.CanPush()
	}
	if err != nil {
		return nil, err
	}
	if spec.Branch, spec.Steps = repo.Branch, 5; repo.Type == repositories.Filesystem {
		spec.Steps = 3
	}
	user := commands.RequestFrom(ctx).Meta.UserID
	return v.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		joined := func() {}
		if repo.Platform && repo.Type == repositories.Git {
			joined = v.convoys.expect(PlaceOf(repo))
			defer joined()
		}
		what, err := v.newSaving(ctx, run, repo, in, user)
		if err != nil {
			return nil, err
		}
		if repo.Type == repositories.Filesystem {
			return v.pushFiles(ctx, what, repo)
		}
		p := &push{saving: what, joined: joined}
		if err := p.open(ctx, repo); err != nil {
			return nil, err
		}
		defer p.Close()
		return p.run(ctx)
	})
}

// meant finds the repository of a push.
func (v *Versioning) meant(ctx context.Context, s workspace.State, in PushRequest) (repositories.Repository, error) {
	if in.Platform {
		return v.Repositories.InPlatform(in.RepositoryID, s.Settings.Slug)
	}
	return v.Repositories.Find(ctx, s, in.RepositoryID)
}

// push is one push to a git repository on its way.
type push struct {
	*remote
	saving
	tags   []string // the ids that this push may have put its tag at
	notes  []archive.Item
	joined func() // tells that it goes with others; nil: it goes alone
}

// open takes the content and prepares to talk with the repository.
func (p *push) open(ctx context.Context, repo repositories.Repository) (err error) {
	if err := p.take(ctx); err != nil {
		return err
	}
	p.remote, err = p.v.connect(repo, p.state.Settings.Slug)
	return err
}

// Close ends the conversation.
func (p *push) Close() {
	if p.remote != nil {
		p.remote.Close()
	}
}

// tries is how often a push that lost a race at the remote begins anew.
const tries = 5

// run goes through the steps until the remote has the version, or refuses it.
func (p *push) run(ctx context.Context) (any, error) {
	for try := 1; ; try++ {
		intent, outcome, err := p.attempt(ctx, try > 1)
		switch {
		case err != nil:
			return nil, err
		case outcome == sent:
			return p.record(ctx, intent)
		case try == tries:
			return nil, busyRemote(p.remote)
		}
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

// attempt prepares and sends. Who has lost a race waits for its turn before it
// prepares: others on this node who push to the branch would win again.
func (p *push) attempt(ctx context.Context, lost bool) (intent workspace.Intent, result outcome, err error) {
	if !lost && p.joined != nil && p.repo.Platform {
		intent, result, alone, err := p.ride(ctx)
		if !alone {
			return intent, result, err
		}
	}
	take := p.turn
	if lost {
		leave, err := p.turn(ctx)
		if err != nil {
			return intent, raced, err
		}
		defer leave()
		take = noTurn
	}
	if intent, err = p.prepare(ctx); err != nil {
		return intent, raced, err
	}
	result, err = p.send(ctx, intent, take)
	return intent, result, err
}

// turn waits until nobody else on this node sends to the branch.
func (p *push) turn(ctx context.Context) (leave func(), err error) {
	return p.v.sends.Take(ctx, workspace.Place{URL: p.place.URL, Branch: p.place.Branch})
}

// prepare builds what is to be sent on what the remote has now.
func (p *push) prepare(ctx context.Context) (workspace.Intent, error) {
	var built built
	step := p.op.Step
	err := step(ctx, operation.Checkout, "Connecting to the repository", func(ctx context.Context) error {
		if err := p.settleEarlier(ctx); err != nil {
			return err
		}
		if err := p.look(ctx); err != nil {
			return err
		}
		return p.tagFree()
	})
	if err == nil {
		err = step(ctx, operation.PullStep, "Fetching "+p.target, func(ctx context.Context) error {
			if err := p.fetch(ctx); err != nil {
				return err
			}
			return p.inSync(ctx, &built)
		})
	}
	if err == nil {
		err = step(ctx, operation.Write, "Writing the commit", func(ctx context.Context) error { return p.write(ctx, &built) })
	}
	if err == nil {
		err = step(ctx, operation.Merge, "Merging "+p.own+" into "+p.target, func(ctx context.Context) error { return p.merge(ctx, &built) })
	}
	return built.intent, err
}

// record tells that the remote has the version.
func (p *push) record(ctx context.Context, intent workspace.Intent) (any, error) {
	done, err := p.v.recordPush(ctx, p.state.ID, p.op.Epoch(), p.repo.ID, p.place, intent)
	if err != nil {
		return nil, err
	}
	shown := Show(done, intent.Changes)
	shown.Warnings = p.notes
	return shown, nil
}

// recordPush records a push that the remote has taken: a fact, whoever holds the
// lock by now.
func (v *Versioning) recordPush(ctx context.Context, workspaceID string, epoch uint64, repositoryID string, at workspace.Place, intent workspace.Intent) (workspace.Version, error) {
	ctx = context.WithoutCancel(ctx)
	_, err := v.Workspaces.Execute(ctx, workspaceID, workspace.Push{Epoch: epoch, Intent: &intent, RepositoryID: repositoryID, Place: at})
	v.drift.forget(workspaceID, repositoryID)
	return intent.Version, err
}
