package content

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"svc/commands"
	"svc/commands/archive"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/slug"
	"svc/domain/workspace"
)

// ImportOptions say how a tree is imported.
type ImportOptions struct {
	Prune      bool       // delete what the tree lacks
	Force      bool       // a wrong checksum is a warning only
	Strict     bool       // any error refuses the tree
	DryRun     bool       // change nothing
	IfRevision uint64     // the content revision that the caller saw; 0: any
	Secure     bool       // the caller may change the security document
	Publish    bool       // the caller may publish the workspace as an app
	Authorizer Authorizer // nil: the caller may do everything to documents
	Excludes   archive.Excludes
	Others     []string         // files of the source that are no content
	Operation  *ImportOperation // nil: the import acquires and releases the lock in one step
}

// Result is the result of an import or a restoration, or of its dry run.
type Result struct {
	WorkspaceID string
	Seq         uint64 // of the workspace's last event; 0 for a dry run
	Imported    []string
	Deleted     []string
	Errors      []archive.Item
	Warnings    []archive.Item
	Version     string // name of the version in .import.yml
	OperationID string
	Publish     *archive.ImportFile // names an app to publish, if any
	Published   []string            // apps that were published after it
	Changed     bool
}

// maxTries is how often an import is planned again when the workspace changed meanwhile.
const maxTries = 50

// Import switches the content of a workspace to that of a tree, in one step.
func (c *Content) Import(ctx context.Context, workspaceID string, tree archive.Tree, o ImportOptions) (Result, error) {
	now, err := c.Workspaces.Get(ctx, workspaceID)
	if err != nil {
		return Result{}, err
	}
	if err := c.checkVersioning(now.State, workspaceID, o); err != nil {
		return Result{}, err
	}
	if !o.Operation.isPull() {
		o.Excludes = append(slices.Clone(o.Excludes), excludesOf(now.State.Settings.Repositories)...)
	}
	reading, err := c.read(tree, workspaceID, o)
	if err != nil {
		return Result{}, err
	}
	if !o.DryRun {
		done, err := c.turns.Acquire(ctx, workspaceID)
		if err != nil {
			return Result{}, err
		}
		defer done()
	}
	result, err := c.applyImport(ctx, workspaceID, reading, o)
	if err != nil || o.DryRun {
		return result, err
	}
	c.publishApp(ctx, &result, o)
	return result, nil
}

// applyImport plans an import and applies it, again when the workspace changed meanwhile.
func (c *Content) applyImport(ctx context.Context, workspaceID string, reading *archive.Reading, o ImportOptions) (Result, error) {
	operation := o.Operation.operation(ctx)
	for try := 1; ; try++ {
		now, err := c.Workspaces.Get(ctx, workspaceID)
		if err != nil {
			return Result{}, err
		}
		p, err := c.planImport(ctx, now.State, reading, o)
		if err == nil {
			err = c.checkPlan(ctx, p, o.Authorizer)
		}
		if err != nil {
			return Result{}, err
		}
		result := p.result(workspaceID, operation, reading)
		if err := p.strict(o); err != nil || o.DryRun {
			return result, err
		}
		done, err := c.switchContent(ctx, p, result, o.Operation)
		if errors.Is(err, ErrMoved) {
			if try < maxTries {
				continue
			}
			err = domain.Refuse(domain.CodeConflict, "the workspace is being changed by others, try again").Reason("stale")
		}
		result.Seq, result.Changed = done.Seq, !p.empty()
		return result, withWorkspace(err, workspaceID)
	}
}

// checkVersioning refuses versioning operations on a workspace that is locked or deleted. The
// holder of the lock is checked when the content is switched.
func (c *Content) checkVersioning(s workspace.State, id string, o ImportOptions) error {
	if s.ID == "" || s.Deleted != nil {
		return domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", id)
	}
	if o.Operation != nil {
		return nil
	}
	return workspace.CheckVersioning(s, c.now())
}

func (c *Content) read(tree archive.Tree, workspaceID string, o ImportOptions) (*archive.Reading, error) {
	return archive.Read(tree, archive.Options{
		Limits: c.Limits(), WorkspaceID: workspaceID, Strict: o.Strict, Verify: o.Operation.mustVerify(), Force: o.Force, Others: o.Others,
		Validate: func(p archive.Location, doc *document.Map) error { return c.CheckFile(workspaceID, p, doc) },
	})
}

// CheckFile refuses a document that an import would refuse. An automation with faults is stored, with
// warnings.
func (c *Content) CheckFile(workspaceID string, p archive.Location, doc *document.Map) error {
	switch p.Kind {
	case document.Automation:
		return nil
	case document.Security:
		_, err := readSecurity(workspaceID, doc)
		return err
	}
	faults := withoutUnknown(shape.Check(p.Kind, p.Kind.Canonical(doc)))
	if p.Kind == document.Knowledge && len(faults) == 0 {
		faults = c.sourceFaults(doc)
	}
	return shape.Refusal(faults)
}

// switchContent switches the content and releases the lock in the same event. Without a held
// lock it also acquires one there.
func (c *Content) switchContent(ctx context.Context, p plan, result Result, op *ImportOperation) (commands.Workspace, error) {
	if err := c.stageEntries(ctx, &p); err != nil {
		return commands.Workspace{}, err
	}
	settings := p.of.Settings
	if p.to.Settings != nil {
		settings = *p.to.Settings
	}
	event := importEvent(workspace.Named{ID: p.of.ID, Slug: settings.Slug, Name: settings.Name}, result)
	replace := workspace.Replace{Switch: p.to, Import: &event, MaxBases: c.maxBases()}
	if op != nil {
		if err := op.addTo(&replace, p); err != nil {
			return commands.Workspace{}, err
		}
	} else {
		replace.Lock = &workspace.AcquireLock{
			Reason: workspace.ImportInProgress, By: commands.RequestFrom(ctx).Meta.UserID, Now: c.now(), Timeout: c.Workspaces.LockFor(),
			Operation: &workspace.Operation{ID: result.OperationID, Kind: "import"},
		}
	}
	done, err := c.Workspaces.Execute(ctx, p.of.ID, replace, p.checkUnmoved)
	return done, asMoved(err)
}

// publishApp publishes the workspace as the app that the import names. When that fails, the
// content stays.
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
	result.Errors = append(result.Errors, publishFailed(result.WorkspaceID, archive.ImportPath, file.AppSlug, err))
}

// publishFailed returns the error item of an app that could not be published.
func publishFailed(workspaceID, file, slug string, err error) archive.Item {
	message := "the app " + slug + " could not be published"
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		message += ": " + refusal.Message
	}
	return archive.Item{Msg: message, Err: "app_publish_failed", Filepath: file, WorkspaceID: workspaceID}
}

// ImportOperation is an operation that imports under a lock that it holds.
type ImportOperation struct {
	OperationID string
	Epoch       uint64
	Version     *workspace.ImportedVersion // for the event; nil: none
	// Own says that the tree is from a repository of the workspace: its slug becomes that of
	// the workspace, if it is free.
	Own bool
	// Pull says that the tree comes from a pull: it is merged already. An archive is verified
	// and merged into the content.
	Pull bool
	// Verify says that the files are checked against their checksums.
	Verify bool
	// Slug is the slug of a workspace that the import creates.
	Slug string
	// Integrate returns the sync state of the repository for the event; nil: none.
	Integrate func(Outcome) (*workspace.Integration, error)
	Notes     []archive.Item // earlier warnings
}

// Outcome is the outcome of a plan, before it is applied.
type Outcome struct {
	Errors     int
	Held       map[string]uint64 // files that could not be used, with the revision that stays instead
	RemoteSlug string            // the slug of the source, when it is not free here
	Restricted bool              // the caller may not change everything
}

// isPull reports whether the tree comes from a pull.
func (h *ImportOperation) isPull() bool { return h != nil && h.Pull }

// mustVerify reports whether the files are checked against checksums.
func (h *ImportOperation) mustVerify() bool { return h == nil || !h.Pull || h.Verify }

func (h *ImportOperation) operation(ctx context.Context) string {
	if h == nil {
		return "op_" + commands.NewID(ctx, 20)
	}
	return h.OperationID
}

// addTo adds the data of the operation to the command.
func (h *ImportOperation) addTo(r *workspace.Replace, p plan) (err error) {
	r.Epoch = h.Epoch
	if h.Version != nil {
		r.Import.Version = h.Version
	}
	r.Sync, err = h.integrate(p)
	return err
}

func (h *ImportOperation) integrate(p plan) (*workspace.Integration, error) {
	if h.Integrate == nil {
		return nil, nil
	}
	return h.Integrate(p.outcome())
}

func (p plan) outcome() Outcome {
	o := Outcome{Errors: len(p.errors), RemoteSlug: p.foreign, Restricted: p.restricted}
	for _, path := range p.failed {
		if o.Held == nil {
			o.Held = map[string]uint64{}
		}
		o.Held[path] = p.of.RevisionOf(path)
	}
	return o
}

// slugAfterPull returns the slug of a workspace after a pull.
func (c *Content) slugAfterPull(ctx context.Context, p *plan, incoming string, h *ImportOperation) (string, error) {
	own := p.of.Settings.Slug
	if !h.Own || incoming == "" || incoming == own || p.of.ID == domain.Platform {
		return own, nil
	}
	if wrong := slug.CheckWorkspace(incoming); wrong != "" {
		p.foreign = incoming
		p.warnAt("invalid_slug", "index", "slug", "the slug "+incoming+" cannot be one here ("+wrong+"): it stays "+own)
		return own, nil
	}
	holder, err := c.Workspaces.SlugOwner(ctx, incoming)
	if err != nil || holder == "" {
		return incoming, err
	}
	p.foreign = incoming
	p.warnAt("slug_in_use", "index", "slug", "the slug "+incoming+" is that of another workspace: it stays "+own)
	p.warnings[len(p.warnings)-1].Details = map[string]any{"slug": incoming, "conflictingWorkspaceId": holder}
	return own, nil
}

func (p plan) result(workspaceID, operation string, r *archive.Reading) Result {
	result := Result{
		WorkspaceID: workspaceID, OperationID: operation, Imported: sorted(p.imported), Deleted: sorted(p.deleted),
		Errors: withWorkspaceID(workspaceID, p.errors), Warnings: withWorkspaceID(workspaceID, p.warnings),
	}
	if r != nil && r.Import != nil {
		result.Version = r.Import.Version
		if r.Import.AppSlug != "" {
			result.Publish = r.Import
		}
	}
	return result
}

// withWorkspaceID returns items with the id of their workspace.
func withWorkspaceID(workspaceID string, items []archive.Item) []archive.Item {
	all := make([]archive.Item, len(items))
	for i, item := range items {
		item.WorkspaceID = workspaceID
		all[i] = item
	}
	return all
}

func sorted(paths []string) []string {
	paths = append([]string{}, paths...)
	slices.Sort(paths)
	return paths
}

// Limits of the lists of an event. Its counts are complete.
const (
	maxListed      = 500
	maxListedBytes = 48 << 10
	maxMessage     = 300
)

// importEvent returns the event of an import.
func importEvent(about workspace.Named, result Result) workspace.Import {
	event := workspace.Import{
		Workspace: about, OperationID: result.OperationID, FilesCount: len(result.Imported), DeletedCount: len(result.Deleted),
	}
	var cut [4]bool
	event.Files, cut[0] = truncateList(result.Imported, func(path string) int { return len(path) + 3 })
	event.Deleted, cut[1] = truncateList(result.Deleted, func(path string) int { return len(path) + 3 })
	event.Errors, cut[2] = truncateItems(result.Errors)
	event.Warnings, cut[3] = truncateItems(result.Warnings)
	event.Truncated = slices.Contains(cut[:], true)
	if result.Version != "" {
		event.Version = &workspace.ImportedVersion{Name: result.Version}
	}
	if result.Publish != nil {
		event.PublishedApp = result.Publish.AppSlug
	}
	return event
}

// truncateList returns the part of a list that fits into an event.
func truncateList[T any](list []T, size func(T) int) (some []T, cut bool) {
	room := maxListedBytes
	for i, item := range list {
		if room -= size(item); i == maxListed || room < 0 {
			return append([]T{}, list[:i]...), true
		}
	}
	return append([]T{}, list...), false
}

func truncateItems(list []archive.Item) (values []any, cut bool) {
	some, cut := truncateList(list, func(item archive.Item) int {
		return min(len(item.Msg), maxMessage) + len(item.Filepath) + 100
	})
	values = make([]any, len(some))
	for i, item := range some {
		if len(item.Msg) > maxMessage {
			item.Msg, cut = strings.ToValidUTF8(item.Msg[:maxMessage], ""), true
		}
		values[i] = item
	}
	return values, cut
}

// ManyResult is the result of the import of an archive of many workspaces, or of its dry run.
type ManyResult struct {
	Results []Result // of those that were imported, in their order
	Created []string
	Updated []string
	Errors  []archive.Item // about whole workspaces
}

// items returns all errors.
func (m ManyResult) items() []archive.Item {
	all := append([]archive.Item{}, m.Errors...)
	for _, r := range m.Results {
		all = append(all, r.Errors...)
	}
	return all
}

// maxBulkTrees bounds the files of an archive of many workspaces, in trees of one workspace.
const maxBulkTrees = 4

// ImportMany imports the workspaces of an archive, each in one step, in their order. For
// existing ones, allowed returns the options, or why the caller must not change them. The app
// of a workspace is published before the next workspace is imported. An archive with an
// unsafe workspace is refused as a whole.
func (c *Content) ImportMany(ctx context.Context, bulk archive.Bulk, o ImportOptions, allowed func(workspaceID string, o ImportOptions) (ImportOptions, error)) (ManyResult, error) {
	if err := c.checkTrees(bulk); err != nil {
		return ManyResult{}, err
	}
	if o.Strict && !o.DryRun {
		trial := o
		trial.DryRun = true
		if _, err := c.importEach(ctx, bulk, trial, allowed); err != nil {
			return ManyResult{}, err
		}
	}
	return c.importEach(ctx, bulk, o, allowed)
}

// checkTrees refuses archives that are unsafe, or too large together. One is unpacked at a
// time.
func (c *Content) checkTrees(bulk archive.Bulk) error {
	limits, total := c.Limits(), 0
	for _, id := range bulk.WorkspaceIDs {
		tree, _, err := archive.Unzip(bulk.Archives[id], limits)
		if refusal, ok := errors.AsType[*domain.Error](err); ok {
			return refusal.With("workspaceId", id)
		}
		if err != nil {
			return err
		}
		for _, text := range tree {
			total += len(text)
		}
		if total > maxBulkTrees*limits.TreeBytes {
			return limitExceeded("treeBytes", maxBulkTrees*limits.TreeBytes)
		}
	}
	return nil
}

func (c *Content) importEach(ctx context.Context, bulk archive.Bulk, o ImportOptions, allowed func(string, ImportOptions) (ImportOptions, error)) (ManyResult, error) {
	var all ManyResult
	for _, id := range bulk.WorkspaceIDs {
		tree, others, err := archive.Unzip(bulk.Archives[id], c.Limits())
		if err != nil {
			return all, err
		}
		o.Others = others
		result, created, may, err := c.importOne(ctx, id, tree, o, allowed)
		if refusal, ok := errors.AsType[*domain.Error](err); ok {
			all.Errors = append(all.Errors, refusedItem(id, refusal))
			continue
		}
		if err != nil {
			return all, err
		}
		if !o.DryRun {
			c.publishListed(ctx, bulk, id, &result, may)
		}
		all.Results = append(all.Results, result)
		if created {
			all.Created = append(all.Created, result.WorkspaceID)
		} else {
			all.Updated = append(all.Updated, result.WorkspaceID)
		}
	}
	if wrong := all.items(); o.Strict && o.DryRun && len(wrong) > 0 {
		return all, domain.Refuse(domain.CodeValidation, "%d files have errors, the first: %s: %s", len(wrong), wrong[0].Filepath, wrong[0].Msg).
			Reason("invalid_files").With("errors", wrong)
	}
	return all, nil
}

// importOne changes or creates the workspace with an id. may says whether the caller may
// publish it.
func (c *Content) importOne(ctx context.Context, id string, tree archive.Tree, o ImportOptions, allowed func(string, ImportOptions) (ImportOptions, error)) (result Result, created, may bool, err error) {
	now, err := c.Workspaces.Get(ctx, id)
	if err != nil {
		return result, false, false, err
	}
	if now.State.ID == "" || now.State.Deleted != nil {
		result, err = c.CreateFrom(ctx, id, tree, o)
		return result, true, true, err
	}
	if o, err = allowed(id, o); err != nil {
		return result, false, false, err
	}
	result, err = c.Import(ctx, id, tree, o)
	return result, false, o.Publish, err
}

// refusedItem returns the error item of a workspace that could not be imported.
func refusedItem(id string, refusal *domain.Error) archive.Item {
	reason, _ := refusal.Details["reason"].(string)
	return archive.Item{Msg: refusal.Message, Err: cmp.Or(reason, string(refusal.Code)), Filepath: "workspaces/" + id + ".zip", WorkspaceID: id}
}

// publishListed publishes the app that the archive lists for a workspace.
func (c *Content) publishListed(ctx context.Context, bulk archive.Bulk, id string, result *Result, may bool) {
	for _, app := range bulk.PublishApps {
		if app.WorkspaceID != id || result.Publish != nil {
			continue // its own files name the app already
		}
		result.Publish = &archive.ImportFile{AppSlug: app.Slug, AppName: app.Name}
		c.publishApp(ctx, result, ImportOptions{Publish: may})
	}
}
