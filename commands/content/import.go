package content

import (
	"context"
	"errors"
	"slices"

	"svc/commands"
	"svc/commands/archive"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// ImportOptions are how a tree is imported.
type ImportOptions struct {
	Prune    bool  // delete what the tree lacks
	Force    bool  // a wrong checksum is a warning only
	Strict   bool  // any error refuses the tree
	DryRun   bool  // change nothing
	Secure   bool  // the caller may change the security document
	Publish  bool  // the caller may publish the workspace as an app
	Judge    Judge // nil: the caller may do everything to documents
	Excludes archive.Excludes
	Others   []string // files of the source that are no content
	Held     *Held    // nil: the import takes the lock and gives it back in one step
}

// Result is what an import or a restoration did, or would do.
type Result struct {
	WorkspaceID string
	Seq         uint64 // of the workspace's last event; 0 for a dry run
	Imported    []string
	Deleted     []string
	Errors      []archive.Item
	Warnings    []archive.Item
	Version     string // name of the version that .import.yml tells of
	OperationID string
	Publish     *archive.ImportFile // names an app to publish, if any
	Published   []string            // apps that were published after it
	Changed     bool
}

// maxTries is how often an import is planned anew because the workspace changed
// meanwhile.
const maxTries = 50

// Import switches the content of a workspace to what a tree says, in one step.
func (c *Content) Import(ctx context.Context, workspaceID string, tree archive.Tree, o ImportOptions) (Result, error) {
	now, err := c.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return Result{}, err
	}
	if err := c.openTo(now.State, workspaceID, o); err != nil {
		return Result{}, err
	}
	if !o.Held.pulls() {
		o.Excludes = append(slices.Clone(o.Excludes), excluded(now.State.Settings.Repositories)...)
	}
	reading, err := c.read(tree, workspaceID, o)
	if err != nil {
		return Result{}, err
	}
	if !o.DryRun {
		done, err := c.turns.Take(ctx, workspaceID)
		if err != nil {
			return Result{}, err
		}
		defer done()
	}
	result, err := c.apply(ctx, workspaceID, reading, o)
	if err != nil || o.DryRun {
		return result, err
	}
	c.publishApp(ctx, &result, o)
	return result, nil
}

// apply plans an import and carries it out, until nothing comes in between.
func (c *Content) apply(ctx context.Context, workspaceID string, reading *archive.Reading, o ImportOptions) (Result, error) {
	operation := o.Held.operation(ctx)
	for try := 1; ; try++ {
		now, err := c.Workspaces.Get(ctx, workspaceID)
		if err != nil {
			return Result{}, err
		}
		p, err := c.planImport(ctx, now.State, reading, o)
		if err == nil {
			err = c.judged(ctx, p, o.Judge)
		}
		if err != nil {
			return Result{}, err
		}
		result := p.result(workspaceID, operation, reading)
		if err := p.strict(o); err != nil || o.DryRun {
			return result, err
		}
		done, err := c.carryOut(ctx, p, result, o.Held)
		if errors.Is(err, ErrMoved) {
			if try < maxTries {
				continue
			}
			err = domain.Refuse(domain.CodeConflict, "the workspace is being changed by others, try again").Reason("stale")
		}
		result.Seq, result.Changed = done.Seq, !p.empty()
		return result, named(err, workspaceID)
	}
}

// openTo refuses versioning operations on a workspace that is locked or gone. Who
// holds the lock is found out when the content is switched.
func (c *Content) openTo(s workspace.State, id string, o ImportOptions) error {
	if s.ID == "" || s.Deleted != nil {
		return domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", id)
	}
	if o.Held != nil {
		return nil
	}
	return workspace.CheckVersioning(s, c.now())
}

func (c *Content) read(tree archive.Tree, workspaceID string, o ImportOptions) (*archive.Reading, error) {
	return archive.Read(tree, archive.Options{
		Limits: c.Limits(), WorkspaceID: workspaceID, Strict: o.Strict, Verify: o.Held.verifies(), Force: o.Force, Others: o.Others,
		Validate: func(p archive.Place, doc *document.Map) error { return validate(workspaceID, p, doc) },
	})
}

// validate refuses a document that cannot be stored. What is wrong with an
// automation is found when it runs; it is stored, and warned of. What a file says
// that is no content is not looked at.
func validate(workspaceID string, p archive.Place, doc *document.Map) error {
	switch p.Kind {
	case document.Automation, document.Agent, document.Knowledge:
		return nil
	case document.Security:
		_, err := readSecurity(workspaceID, doc)
		return err
	}
	return shape.Refusal(known(shape.Check(p.Kind, p.Kind.Canonical(doc))))
}

// carryOut switches the content. The lock is given back with it; when nobody holds
// it yet, it is taken with it too.
func (c *Content) carryOut(ctx context.Context, p plan, result Result, held *Held) (commands.Workspace, error) {
	if err := c.putDown(ctx, &p); err != nil {
		return commands.Workspace{}, err
	}
	settings := p.of.Settings
	if p.to.Settings != nil {
		settings = *p.to.Settings
	}
	told := tell(workspace.Named{ID: p.of.ID, Slug: settings.Slug, Name: settings.Name}, result)
	replace := workspace.Replace{Switch: p.to, Import: &told}
	if held != nil {
		if err := held.fill(&replace, p); err != nil {
			return commands.Workspace{}, err
		}
	} else {
		replace.Lock = &workspace.TakeLock{
			Reason: workspace.ImportInProgress, By: commands.RequestFrom(ctx).Meta.UserID, Now: c.now(), Timeout: c.Workspaces.LockFor(),
			Operation: &workspace.Operation{ID: result.OperationID, Kind: "import"},
		}
	}
	done, err := c.Workspaces.Execute(ctx, p.of.ID, replace, p.unmoved)
	return done, again(err)
}

// publishApp publishes the workspace as the app that the import names. The content
// stays whatever comes of it.
func (c *Content) publishApp(ctx context.Context, result *Result, o ImportOptions) {
	if result.Publish == nil {
		return
	}
	file := result.Publish
	err := error(domain.Refuse(domain.CodePermissionDenied, "publishing an app needs the permission to create apps"))
	if o.Publish && c.Publish != nil {
		err = c.Publish(ctx, result.WorkspaceID, file.AppSlug, file.AppName)
	}
	if err == nil {
		result.Published = append(result.Published, file.AppSlug)
		return
	}
	result.Errors = append(result.Errors, unpublished(result.WorkspaceID, archive.ImportPath, file.AppSlug, err))
}

// unpublished is the item for an app that could not be published.
func unpublished(workspaceID, file, slug string, err error) archive.Item {
	message := "the app " + slug + " could not be published"
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		message += ": " + refusal.Message
	}
	return archive.Item{Msg: message, Err: "app_publish_failed", Filepath: file, WorkspaceID: workspaceID}
}
