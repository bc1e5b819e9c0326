package content

import (
	"context"
	"errors"
	"regexp"

	"svc/commands"
	"svc/commands/archive"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/slug"
	"svc/domain/workspace"
)

// CreateFrom makes a new workspace of a tree, in one step. id is the one it
// should get, "" for the one that the tree tells of; it gets another when that
// one was ever used. Whoever asks owns it. An operation that makes one says what id
// and slug it has, and is refused when somebody was quicker.
func (c *Content) CreateFrom(ctx context.Context, id string, tree archive.Tree, o ImportOptions) (Result, error) {
	reading, err := c.read(tree, "", o)
	if err != nil {
		return Result{}, err
	}
	if reading.Content.Index == nil { // its checksum is wrong
		return Result{}, domain.Refuse(domain.CodeValidation, "%s: %s", reading.Errors[0].Filepath, reading.Errors[0].Msg).
			Reason("invalid_index").With("errors", reading.Errors)
	}
	o.Secure, o.Publish, o.Prune, o.Excludes = true, true, false, nil // of what one owns, one may change everything
	if o.Judge != nil {
		o.Judge = owning{o.Judge}
	}
	if id == "" {
		id = toldID(reading)
	}
	operation := o.Held.operation(ctx)
	for try := 1; ; try++ {
		result, err := c.createAs(ctx, id, operation, reading, o)
		if errors.Is(err, errUsed) && try < maxTries {
			id = ""
			continue
		}
		if errors.Is(err, ErrMoved) && try < maxTries {
			continue
		}
		if err != nil || o.DryRun {
			return result, err
		}
		c.publishApp(ctx, &result, o)
		return result, nil
	}
}

// wellFormed is an id that the service could have given itself.
var wellFormed = regexp.MustCompile(`^[0-9A-Za-z_-]{7}$`)

// IsID reports whether an id is one that the service could have given itself.
func IsID(id string) bool { return wellFormed.MatchString(id) }

// toldID is the id that a tree was exported with, as far as it says so.
func toldID(r *archive.Reading) string {
	if r.Import != nil && r.Import.WorkspaceID != "" {
		return r.Import.WorkspaceID
	}
	return r.Content.Index.Text("id")
}

// errUsed says that an id belongs to another workspace, or did.
var errUsed = errors.New("content: the id was used before")

// createAs makes the workspace under an id, or under a new one when that is "".
func (c *Content) createAs(ctx context.Context, id, operation string, r *archive.Reading, o ImportOptions) (Result, error) {
	if !IsID(id) {
		id = commands.NewID(ctx, 7)
	}
	now, err := c.Workspaces.Get(ctx, id)
	if err != nil {
		return Result{}, err
	}
	p, err := c.planImport(ctx, workspace.State{ID: id, Security: access.Default(id)}, r, o)
	if err != nil {
		return Result{}, err
	}
	c.repositories(&p, r.Content.Index)
	if o.Held != nil {
		p.to.Settings.Slug = o.Held.Slug
	} else if err := c.chooseSlug(ctx, &p); err != nil {
		return Result{}, err
	}
	result := p.result(id, operation, r)
	if now.State.ID != "" && o.Held == nil {
		return c.mine(ctx, p, result)
	}
	if err := p.strict(o); err != nil || o.DryRun {
		return result, err
	}
	if err := c.putDown(ctx, &p); err != nil {
		return Result{}, err
	}
	create, err := c.creation(p, result, o.Held)
	if err != nil {
		return Result{}, err
	}
	done, err := c.Workspaces.Make(ctx, create)
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Code == domain.CodeAlreadyExists && o.Held == nil {
		if refusal.Details["field"] == "id" {
			return Result{}, errUsed
		}
		return Result{}, ErrMoved // somebody was quicker to take the slug
	}
	result.Seq, result.Changed = done.Seq, true
	return result, again(err)
}

// creation is the command that makes what was planned.
func (c *Content) creation(p plan, result Result, held *Held) (create workspace.Create, err error) {
	told := tell(workspace.Named{}, result) // the decision names the workspace
	create = workspace.Create{
		ID: p.of.ID, Settings: *p.to.Settings, Security: p.to.Security, Entries: p.to.Entries, Stage: p.to.Stage, Import: &told,
	}
	if held != nil {
		told.Version = held.Version
		create.Sync, err = held.integrate(p)
	}
	return create, err
}

// mine finds out whether it was this very request that made the workspace, before
// it was repeated. A workspace that exists cannot be made again.
func (c *Content) mine(ctx context.Context, p plan, result Result) (Result, error) {
	p.to.Entries = nil
	create, err := c.creation(p, result, nil)
	if err != nil {
		return Result{}, err
	}
	done, err := c.Workspaces.Make(ctx, create)
	if domain.CodeOf(err) == domain.CodeAlreadyExists {
		err = errUsed
	}
	result.Seq, result.Changed = done.Seq, true
	return result, err
}

// chooseSlug settles the slug of a new workspace: the one it brings, or a new
// one when that cannot be had.
func (c *Content) chooseSlug(ctx context.Context, p *plan) error {
	wanted := p.to.Settings.Slug
	if wanted != "" {
		why := slug.CheckWorkspace(wanted)
		if why == "" {
			holder, err := commands.Holder(ctx, c.Workspaces.Engine, commands.Name{Kind: "slug", Value: wanted})
			if err != nil || holder == "" || holder == workspace.Stream(p.of.ID).String() {
				return err
			}
			why = "is used by another workspace"
		}
		p.warnAt("slug_in_use", "index", "slug", "the slug "+wanted+" "+why+": the workspace has got another")
	}
	p.to.Settings.Slug = "" // it gets one
	return nil
}
