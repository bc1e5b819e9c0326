package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/operation"
	"svc/domain/slug"
	"svc/domain/workspace"
)

// ImportRequest is the body of an import.
type ImportRequest struct {
	RepositoryID string   `json:"repositoryId"` // "": the first that can be pulled from
	Groups       []string `json:"groups,omitempty"`
	Force        bool     `json:"forceReimport,omitempty"`
	Who          Who      `json:"who"`
}

// Import imports the workspaces of a platform repository, in the background.
func (r *Runs) Import(ctx context.Context, in ImportRequest) (*operations.Handle, error) {
	repo, err := r.platform(in.RepositoryID, repositories.Repository.CanPull)
	if err != nil {
		return nil, err
	}
	in.RepositoryID = repo.ID
	spec := operations.Spec{
		Kind: operation.BulkImport, WorkspaceID: domain.Platform, RepositoryID: repo.ID, Branch: repo.Branch, Reason: workspace.BulkImportInProgress, Request: in,
	}
	return r.Operations.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		return nil, r.importAll(ctx, run, in, nil)
	})
}

// resumeImport continues an import whose node is gone.
func (r *Runs) resumeImport(ctx context.Context, run *operations.Run, op operation.State) (any, error) {
	var in ImportRequest
	if err := json.Unmarshal(op.Request, &in); err != nil {
		return nil, err
	}
	return nil, r.importAll(withCancel(ctx, op), run, in, op.Bulk)
}

// importAll imports what is planned, or the rest of it. Without a plan, it makes one.
func (r *Runs) importAll(ctx context.Context, run *operations.Run, in ImportRequest, planned *operation.Bulk) error {
	alive, stop := uncancelled(ctx)
	defer stop()
	im := &importRun{bulkRun: bulkRun{Runs: r, op: run}, in: in, faulty: map[string]bool{}}
	commit := ""
	if planned != nil {
		commit = planned.Commit
	}
	var err error
	if im.source, err = r.Versioning.OpenSource(alive, in.RepositoryID, commit); err != nil {
		return err
	}
	defer im.source.Close()
	if err := im.prepare(alive, planned); err != nil {
		return err
	}
	return im.runAll(ctx, operation.Skipped, im.importOne)
}

// importRun is a running import.
type importRun struct {
	bulkRun
	in     ImportRequest
	source *versioning.Source

	mu     sync.Mutex
	faulty map[string]bool // slugs of those that could not be imported well
}

// prepare makes the plan, or continues an existing one.
func (im *importRun) prepare(ctx context.Context, planned *operation.Bulk) error {
	if planned != nil {
		return im.resumePlan(ctx, *planned)
	}
	bulk, after, err := im.plan(ctx, im.source, im.in)
	if err == nil {
		err = im.checkRights(ctx, im.in.Who, bulk)
	}
	if err == nil {
		err = im.op.Record(ctx, operation.Plan{Epoch: im.op.Epoch(), Bulk: bulk})
	}
	im.bulk, im.after = bulk, after
	return err
}

// resumePlan continues a plan in its order.
func (im *importRun) resumePlan(ctx context.Context, planned operation.Bulk) error {
	im.bulk, im.after = planned, map[string][]string{}
	var list []found
	for _, p := range planned.Planned {
		one, _, err := readImportFile(ctx, im.source, p.Slug)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	o, _, err := im.arrangeFound(ctx, list)
	for slug, before := range o.after {
		im.after[slug] = slices.DeleteFunc(before, func(other string) bool { return im.indexOf(other) > im.indexOf(slug) })
	}
	for _, f := range planned.Done {
		im.recordResult(f)
	}
	if err != nil {
		return err
	}
	return im.loadCreatedIDs(ctx, list)
}

// loadCreatedIDs loads the ids of workspaces that the run has created, or was about to.
func (im *importRun) loadCreatedIDs(ctx context.Context, list []found) error {
	im.made = map[string]string{}
	for _, one := range list {
		w, exists, err := im.Known.BySlug(ctx, one.slug)
		id := w.ID
		if err == nil && !exists {
			id, err = im.newID(im.withSeed(ctx, one.slug), one)
		}
		if err != nil {
			return err
		}
		im.made[one.slug] = id
	}
	return nil
}

// plan returns what an import of a source imports, and which workspaces wait for which.
func (r *Runs) plan(ctx context.Context, source *versioning.Source, in ImportRequest) (operation.Bulk, map[string][]string, error) {
	list, warnings, err := r.survey(ctx, source, in.Groups)
	if err != nil {
		return operation.Bulk{}, nil, err
	}
	o, more, err := r.arrangeFound(ctx, list)
	if err != nil {
		return operation.Bulk{}, nil, err
	}
	bulk := operation.Bulk{Groups: in.Groups, Commit: source.Commit(), Warnings: truncateItems(append(warnings, more...))}
	for _, slug := range o.slugs {
		w, _, err := r.Known.BySlug(ctx, slug)
		if err != nil {
			return operation.Bulk{}, nil, err
		}
		bulk.Planned = append(bulk.Planned, operation.Planned{Slug: slug, WorkspaceID: w.ID, Name: w.Name})
	}
	return bulk, o.after, nil
}

// checkRights refuses an import when the caller may not change all existing workspaces of it.
func (r *Runs) checkRights(ctx context.Context, who Who, bulk operation.Bulk) error {
	denied := []string{}
	for _, p := range bulk.Planned {
		if p.WorkspaceID == "" {
			continue
		}
		_, ok, err := r.importOptions(ctx, who, p.WorkspaceID)
		if err != nil {
			return err
		}
		if !ok {
			denied = append(denied, p.Slug)
		}
	}
	if len(denied) == 0 {
		return nil
	}
	return domain.Refuse(domain.CodeWorkspaceDenied, "the import would change workspaces that you may not change: %s", strings.Join(denied, ", ")).With("slugs", denied)
}

// importOptions returns what somebody may change by an import into a workspace; "" is one that the
// import creates.
func (r *Runs) importOptions(ctx context.Context, who Who, workspaceID string) (content.ImportOptions, bool, error) {
	switch {
	case who.System:
		return content.ImportOptions{Secure: true, Publish: true}, true, nil
	case workspaceID == "":
		return r.Rights.Create(ctx, who)
	}
	return r.Rights.Import(ctx, who, workspaceID)
}

// importOne imports one workspace and records its result for others.
func (im *importRun) importOne(ctx context.Context, p operation.Planned) (operation.Finished, error) {
	f, err := im.tryOne(ctx, p, im.importWorkspace)
	f.Warnings = append(f.Warnings, im.failedDependencies(p.Slug)...)
	im.recordResult(f)
	return f, err
}

// importWorkspace imports one workspace, unless it is unchanged, or was imported before the run was
// taken over.
func (im *importRun) importWorkspace(ctx context.Context, p operation.Planned) (operation.Finished, error) {
	w, exists, err := im.Known.BySlug(ctx, p.Slug)
	if err != nil {
		return operation.Finished{}, err
	}
	info, files, err := readDirectory(ctx, im.source, p.Slug)
	if err != nil {
		return operation.Finished{}, err
	}
	id := w.ID
	if !exists {
		if id, err = im.newID(ctx, info); err != nil {
			return operation.Finished{}, err
		}
	}
	end, child, err := im.findChild(ctx, id, im.indexOf(p.Slug), func(end operation.State) bool {
		open, err := im.unpublished(ctx, info, id)
		return end.Failure == nil && end.Resumed > 0 && err == nil && open // it was broken off before that
	})
	if err != nil {
		return operation.Finished{}, err
	}
	if end.ID != "" {
		return im.resultOf(ctx, p, end)
	}
	if err := info.refusal(); err != nil {
		return operation.Finished{}, err
	}
	part := versioning.Part{Operation: child, Slug: p.Slug, Files: files, Create: !exists, Force: im.in.Force}
	if id == domain.Platform {
		part.Under = im.op.Epoch()
	}
	if f, skip, err := im.skipUnchanged(ctx, w, info, part); err != nil || skip {
		return f, err
	}
	f, err := im.start(ctx, p, id, part)
	if im.source.Moved() && err == nil {
		f.Warnings = append(f.Warnings, newItem(WarnSourceMoved, p.Slug, "was brought from the head of the branch: the commit that the run began with cannot be had any more"))
	}
	return f, err
}

// start starts the operation that imports a workspace, and waits for it.
func (im *importRun) start(ctx context.Context, p operation.Planned, id string, part versioning.Part) (operation.Finished, error) {
	into := id
	if part.Create {
		into = ""
	}
	may, ok, err := im.importOptions(ctx, im.in.Who, into)
	if err != nil {
		return operation.Finished{}, err
	}
	if !ok { // since the run began
		return operation.Finished{}, domain.Refuse(domain.CodeWorkspaceDenied, "who started the import may not change the workspace %s any more", p.Slug)
	}
	h, err := im.Versioning.PullPart(ctx, id, im.source, part, may)
	if err != nil {
		return operation.Finished{}, err
	}
	end, err := im.wait(ctx, h)
	if err != nil {
		return operation.Finished{}, err
	}
	return im.resultOf(ctx, p, end)
}

// newID returns the id of a workspace that the import creates: the one it was pushed with, when that
// was never used.
func (im *importRun) newID(ctx context.Context, info found) (string, error) {
	if id := info.file.WorkspaceID; content.IsID(id) {
		now, err := im.Workspaces.Get(ctx, id)
		if err != nil || now.State.ID == "" {
			return id, err
		}
	}
	return commands.NewID(ctx, 7), nil
}

// found is a directory of a source that has a workspace.
type found struct {
	slug   string
	file   archive.ImportFile
	broken error // why its import file cannot be read
}

// survey lists the workspaces of a source that are in one of some groups, or all of
// them without groups.
func (r *Runs) survey(ctx context.Context, source *versioning.Source, groups []string) (list []found, warnings []archive.Item, err error) {
	names, err := source.Directories(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		if wrong := slug.CheckWorkspace(name); wrong != "" && name != domain.Platform {
			warnings = append(warnings, newItem(WarnInvalidDirectory, document.QuoteShort(name), "is left out: the name of the directory cannot be the slug of a workspace: it "+wrong))
			continue
		}
		one, has, err := readImportFile(ctx, source, name)
		switch {
		case err != nil:
			return nil, nil, err
		case one.broken != nil && len(groups) > 0:
			warnings = append(warnings, newItem(WarnInvalidImportFile, name+"/"+archive.ImportPath, "is left out, because its groups cannot be read: "+one.broken.Error()))
		case len(groups) == 0 || has && one.inGroups(groups):
			list = append(list, one)
		}
	}
	if limit := r.Limit(); len(list) > limit {
		return nil, nil, archive.Exceeded("workspaces", limit, "")
	}
	if len(list) == 0 {
		warnings = append(warnings, newItem(WarnNoMatch, "", noWorkspaces(groups)))
	}
	return list, warnings, nil
}

func noWorkspaces(groups []string) string {
	if len(groups) == 0 {
		return "the repository has no workspace"
	}
	return fmt.Sprintf("no workspace of the repository is in %s", strings.Join(groups, ", "))
}

// readImportFile reads the import file of a directory.
func readImportFile(ctx context.Context, source *versioning.Source, name string) (one found, has bool, err error) {
	file, has, err := source.ImportFile(ctx, name)
	one, err = found{slug: name, file: file}.splitError(err)
	return one, has, err
}

// readDirectory reads all files of a directory.
func readDirectory(ctx context.Context, source *versioning.Source, name string) (one found, files *gitsync.Files, err error) {
	var file archive.ImportFile
	if files, err = source.Files(ctx, name); err == nil {
		file, _, err = source.ImportFileIn(files)
	}
	one, err = found{slug: name, file: file}.splitError(err)
	return one, files, err
}

// splitError separates an error of one directory from an error of the source.
func (f found) splitError(err error) (found, error) {
	_, refused := errors.AsType[*domain.Error](err)
	_, faulty := errors.AsType[*document.Fault](err)
	if refused || faulty { // one directory keeps nobody else out
		f.broken, err = err, nil
	}
	return f, err
}

func (f found) inGroups(groups []string) bool {
	return slices.ContainsFunc(f.file.Groups, func(g string) bool { return slices.Contains(groups, g) })
}

// member returns the workspace as a member of the order.
func (f found) member() member {
	m := member{slug: f.slug, app: f.file.AppSlug}
	for _, on := range f.file.DependsOn {
		if app, ok := strings.CutPrefix(on, "app/"); ok {
			m.needs = append(m.needs, app)
		}
	}
	return m
}

// arrangeFound orders workspaces, and returns warnings about cycles and missing apps.
func (r *Runs) arrangeFound(ctx context.Context, list []found) (o order, warnings []archive.Item, err error) {
	members := make([]member, len(list))
	for i, one := range list {
		members[i] = one.member()
	}
	o = arrange(members)
	for _, cycle := range o.cycles {
		names := strings.Join(cycle, ", ")
		warnings = append(warnings, newItem(WarnCycle, cycle[0], "use each other's apps and are imported by slug: "+names))
	}
	for _, slug := range o.slugs {
		for _, app := range o.missing[slug] {
			by, err := r.Known.Publisher(ctx, app)
			if err != nil {
				return o, nil, err
			}
			if by == "" {
				warnings = append(warnings, newItem(WarnMissing, slug, "uses the app "+app+", which is neither published here nor among the workspaces of this run"))
			}
		}
	}
	return o, warnings, nil
}

// ImportPlan is the plan of an import.
type ImportPlan struct {
	DryRun       bool          `json:"dryRun"`
	RepositoryID string        `json:"repositoryId"`
	Groups       []string      `json:"groups"`
	Total        int           `json:"total"`
	Workspaces   []WouldImport `json:"workspaces"`
	Warnings     []any         `json:"warnings"`
}

// WouldImport is the plan for one workspace.
type WouldImport struct {
	Slug        string         `json:"slug"`
	WorkspaceID string         `json:"workspaceId,omitempty"`
	Name        string         `json:"name,omitempty"`
	Version     string         `json:"version,omitempty"`
	Would       string         `json:"wouldImport"` // created, updated, skipped, or error
	Files       []string       `json:"files"`
	Deleted     []string       `json:"deleted"`
	LocalLost   bool           `json:"localChangesLost"`
	Errors      []archive.Item `json:"errors"`
	Warnings    []archive.Item `json:"warnings"`
}

// PlanImport finds out what an import would do. Nothing is changed.
func (r *Runs) PlanImport(ctx context.Context, in ImportRequest) (ImportPlan, error) {
	repo, err := r.platform(in.RepositoryID, repositories.Repository.CanPull)
	if err != nil {
		return ImportPlan{}, err
	}
	source, err := r.Versioning.OpenSource(ctx, repo.ID, "")
	if err != nil {
		return ImportPlan{}, err
	}
	defer source.Close()
	bulk, _, err := r.plan(ctx, source, in)
	if err == nil {
		err = r.checkRights(ctx, in.Who, bulk)
	}
	if err != nil {
		return ImportPlan{}, err
	}
	plan := ImportPlan{
		DryRun: true, RepositoryID: repo.ID, Groups: append([]string{}, in.Groups...), Total: len(bulk.Planned), Workspaces: []WouldImport{}, Warnings: bulk.Warnings,
	}
	trial := &importRun{bulkRun: bulkRun{Runs: r, bulk: bulk}, in: in, source: source}
	for _, p := range bulk.Planned {
		one, err := trial.planOne(ctx, p)
		if err != nil {
			return ImportPlan{}, err
		}
		plan.Workspaces = append(plan.Workspaces, one)
	}
	return plan, nil
}

// planOne finds out what an import would do to one workspace.
func (im *importRun) planOne(ctx context.Context, p operation.Planned) (WouldImport, error) {
	w, exists, err := im.Known.BySlug(ctx, p.Slug)
	if err != nil {
		return WouldImport{}, err
	}
	one := WouldImport{
		Slug: p.Slug, WorkspaceID: w.ID, Name: w.Name, Would: "updated", LocalLost: w.Dirty, Files: []string{}, Deleted: []string{}, Errors: []archive.Item{}, Warnings: []archive.Item{},
	}
	if !exists {
		one.Would = "created"
	}
	info, files, err := readDirectory(ctx, im.source, p.Slug)
	if err != nil {
		return one, err
	}
	one.Version = info.file.Version
	err = info.refusal()
	part := versioning.Part{Slug: p.Slug, Files: files, Create: !exists, Force: im.in.Force}
	if err == nil {
		f, skip, err := im.skipUnchanged(ctx, w, info, part)
		if err != nil {
			return one, err
		}
		if skip {
			one.Would, one.LocalLost = operation.Skipped, false
			if len(f.Warnings) > 0 {
				one.Warnings = append(one.Warnings, f.Warnings[0].(archive.Item))
			}
			return one, nil
		}
	}
	if err == nil && w.Lock != "" && w.ID != domain.Platform { // the run itself locks that one
		err = (&workspace.Lock{Reason: w.Lock}).Refusal()
	}
	if err == nil {
		err = im.dryRun(ctx, &one, part)
	}
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		one.Would, one.LocalLost = operation.Faulty, false
		one.Errors = append(one.Errors, refusedResult(p, refusal).Errors[0].(archive.Item))
		err = nil
	}
	return one, err
}

// dryRun does a dry run of the import of one workspace.
func (im *importRun) dryRun(ctx context.Context, one *WouldImport, part versioning.Part) error {
	may, _, err := im.importOptions(ctx, im.in.Who, one.WorkspaceID)
	if err != nil {
		return err
	}
	done, err := im.Versioning.PlanPart(ctx, one.WorkspaceID, im.source, part, may)
	if err != nil {
		return err
	}
	one.Files, one.Deleted = append(one.Files, done.Imported...), append(one.Deleted, done.Deleted...)
	one.Errors, one.Warnings = append(one.Errors, done.Errors...), append(one.Warnings, done.Warnings...)
	return nil
}

// refusal returns why a workspace with an unreadable import file is not imported.
func (f found) refusal() error {
	if f.broken == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*domain.Error](f.broken); ok {
		return refusal
	}
	return domain.Refuse(domain.CodeValidation, "%s/%s: %s", f.slug, archive.ImportPath, f.broken.Error()).Reason(WarnInvalidImportFile)
}

// skipUnchanged returns the result of a workspace that has the version already.
func (im *importRun) skipUnchanged(ctx context.Context, w Workspace, info found, part versioning.Part) (f operation.Finished, skip bool, err error) {
	if im.in.Force || part.Create || info.file.Version == "" || info.file.Version != w.Version {
		return f, false, nil
	}
	if open, err := im.unpublished(ctx, info, w.ID); err != nil || open {
		return f, false, err
	}
	f = operation.Finished{Slug: w.Slug, WorkspaceID: w.ID, Name: w.Name, Version: w.Version, Status: operation.Skipped, Reason: "up_to_date"}
	if part.Digest() != w.Digest {
		f.Warnings = itemValues([]archive.Item{newItem(WarnContentDiffers, w.Slug, "has the version "+w.Version+" already, but not this content: import it again with forceReimport")})
	}
	return f, true, nil
}

// unpublished reports whether the app of a workspace is not published yet: the last import may have
// failed at that, or was interrupted before.
func (im *importRun) unpublished(ctx context.Context, info found, workspaceID string) (bool, error) {
	if info.file.AppSlug == "" {
		return false, nil
	}
	by, err := im.Known.Publisher(ctx, info.file.AppSlug)
	return by != workspaceID, err
}

// resultOf returns the result of a workspace from its operation.
func (im *importRun) resultOf(ctx context.Context, p operation.Planned, end operation.State) (operation.Finished, error) {
	if end.Failure != nil {
		return operation.Finished{}, end.Failure.Error()
	}
	var done versioning.PullResult
	body, err := im.result(ctx, end)
	if err == nil {
		err = json.Unmarshal(body, &done)
	}
	if err != nil {
		return operation.Finished{}, err
	}
	f := operation.Finished{
		Slug: p.Slug, WorkspaceID: done.Workspace.ID, Name: done.Workspace.Name, Status: operation.Imported, Created: p.WorkspaceID == "",
		Imported: len(done.Imported), Deleted: len(done.Deleted), Errors: truncateItems(done.Errors), Warnings: truncateItems(done.Warnings),
	}
	if done.Version != nil {
		f.Version = done.Version.Name
	}
	if len(done.PublishedApps) > 0 {
		f.App = done.PublishedApps[0]
	}
	if len(done.Errors) > 0 {
		f.Status, f.Reason = operation.Faulty, done.Errors[0].Err
	}
	return f, nil
}

// recordResult stores the result of a workspace, for those that use its app.
func (im *importRun) recordResult(f operation.Finished) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.faulty[f.Slug] = f.Status == operation.Faulty
}

// failedDependencies returns warnings about failed workspaces that a workspace waited for.
func (im *importRun) failedDependencies(slug string) []any {
	im.mu.Lock()
	defer im.mu.Unlock()
	var items []archive.Item
	for _, of := range im.after[slug] {
		if im.faulty[of] {
			items = append(items, newItem(WarnFailed, slug, "uses the app of "+of+", which was not imported well"))
		}
	}
	return truncateItems(items)
}

// Startup is the import at the start of a node.
type Startup struct {
	RepositoryID string
	Groups       []string
	Wait         time.Duration // for the node to be ready
	Pause        time.Duration // between two groups
	Ready        func() bool
	Failed       func(ctx context.Context, why *domain.Error) // tells that something did not work
	Log          *slog.Logger
}

// AtStart imports the groups one after the other, until one has errors. When another node does this
// import, it does nothing.
func (r *Runs) AtStart(ctx context.Context, s Startup) error {
	log := s.Log.With("repository", s.RepositoryID)
	if err := s.await(ctx); err != nil {
		return s.logFailure(ctx, log, err)
	}
	for i, group := range s.Groups {
		if i > 0 {
			if err := commands.Sleep(ctx, s.Pause); err != nil {
				return nil // the node stops
			}
		}
		done, err := r.importGroup(ctx, s.RepositoryID, group)
		for isOtherLock(err) && commands.Sleep(ctx, s.retryDelay()) == nil {
			done, err = r.importGroup(ctx, s.RepositoryID, group)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case domain.CodeOf(err) == domain.CodeLocked:
			log.Info("the import at start is left to who holds the platform's lock", "group", group)
			return nil
		case err != nil:
			return s.logFailure(ctx, log.With("group", group), err)
		case done.ErrorsCount > 0:
			return s.logFailure(ctx, log.With("group", group), domain.Refuse(domain.CodeValidation,
				"the import of the group %s at start had errors: the groups after it were left out", group).
				Reason("startup_import_errors").With("group", group).With("errorsCount", done.ErrorsCount).With("operationId", done.OperationID))
		}
		log.Info("imported a group at start", "group", group, "created", done.Created, "updated", done.Updated, "skipped", done.Skipped)
	}
	return nil
}

// isOtherLock reports whether the lock is held by something else than an import at start: that is
// waited for.
func isOtherLock(err error) bool {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok || refusal.Code != domain.CodeLocked {
		return false
	}
	holder, _ := refusal.Details["operation"].(*workspace.Operation)
	return holder == nil || holder.Kind != operation.BulkImport || refusal.Details["lockedBy"] != ""
}

// retryDelay is the wait before the lock is tried again.
func (s Startup) retryDelay() time.Duration {
	return min(2*time.Second, max(s.Pause, 100*time.Millisecond))
}

// await waits until the node is ready.
func (s Startup) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.Wait)
	defer cancel()
	for !s.Ready() {
		if err := commands.Sleep(ctx, 200*time.Millisecond); err != nil {
			return domain.Refuse(domain.CodeUnavailable, "the service did not become ready within %s: nothing was imported at start", s.Wait).Reason("startup_import_not_ready")
		}
	}
	return nil
}

// logFailure logs a failed import. The node continues.
func (s Startup) logFailure(ctx context.Context, log *slog.Logger, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	refusal, isRefusal := errors.AsType[*domain.Error](err)
	if !isRefusal {
		refusal = domain.Refuse(domain.CodeInternal, "the import at start failed: see the log")
	}
	log.ErrorContext(ctx, "the import at start failed", "err", err)
	s.Failed(ctx, refusal.With("repositoryId", s.RepositoryID))
	return nil
}

// importGroup imports one group as the platform itself.
func (r *Runs) importGroup(ctx context.Context, repositoryID, group string) (done operation.BulkImportCompleted, err error) {
	h, err := r.Import(commands.WithRequest(ctx, &commands.Request{}), ImportRequest{RepositoryID: repositoryID, Groups: []string{group}, Who: Who{System: true}})
	if err != nil {
		return done, err
	}
	end, ended := h.Wait(ctx, maxOperation)
	switch {
	case !ended:
		return done, context.Cause(ctx)
	case end.Failure != nil:
		return done, end.Failure.Error()
	}
	return done, json.Unmarshal(end.Result, &done)
}
