// Package bulk pushes and imports many workspaces in one run (contract/versioning.md
// 14 and 15): which ones, in which order, and with which result.
//
// A run is an operation of the platform workspace and holds its lock; each workspace
// is imported or pushed by an operation of its own. The plan and the result of each
// workspace are on the log: a node that takes a run over does the rest.
package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/content"
	"svc/commands/operations"
	"svc/commands/repositories"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Runs pushes and imports many workspaces. Every field is required.
type Runs struct {
	Workspaces   commands.Workspaces
	Repositories *repositories.Repositories
	Versioning   *versioning.Versioning
	Operations   *operations.Runner
	Known        Known
	Rights       Rights
	Concurrency  func() int // BULK_CONCURRENCY
	Limit        func() int // how many workspaces one run may be about
}

// Known finds workspaces as they are now. It is filled by the read models.
type Known interface {
	// BySlug returns the workspace that has a slug.
	BySlug(ctx context.Context, slug string) (w Workspace, found bool, err error)
	// Labelled returns the workspaces that have one of some labels, by slug.
	Labelled(ctx context.Context, labels []string) ([]Workspace, error)
	// Publisher returns the workspace that publishes an app, "" when there is none.
	Publisher(ctx context.Context, appSlug string) (workspaceID string, err error)
}

// Workspace has the data of a workspace that a run needs.
type Workspace struct {
	ID, Slug, Name string
	Dirty          bool
	Lock           string // why it is locked; "": it is not
	Version        string // of the last pull
	Digest         string // of what that brought
	// In says where in each repository, by its id, the present content is known to be.
	In map[string]workspace.Location
}

// Rights knows the permissions of those who start imports.
type Rights interface {
	// Import returns what somebody may change by an import into a workspace; ok is
	// false when they may not import there.
	Import(ctx context.Context, who Who, workspaceID string) (may content.ImportOptions, ok bool, err error)
	// Create is Import into a workspace that the import makes.
	Create(ctx context.Context, who Who) (may content.ImportOptions, ok bool, err error)
}

// Who starts a run.
type Who struct {
	UserID string `json:"userId,omitempty"`
	Super  bool   `json:"super,omitempty"`  // a super admin, who may do everything
	System bool   `json:"system,omitempty"` // the platform itself, which may too
}

// Settlers returns the functions that take runs over.
func (r *Runs) Settlers() map[string]operations.Settler {
	return map[string]operations.Settler{operation.BulkImport: r.resumeImport, operation.BulkPush: r.resumePush}
}

// platform returns the platform repository with an id, or the first that a run can use.
func (r *Runs) platform(id string, usable func(repositories.Repository) error) (repositories.Repository, error) {
	if id != "" {
		repo, err := r.Repositories.InPlatform(id, "")
		if err == nil {
			err = usable(repo)
		}
		return repo, err
	}
	for _, repo := range r.Repositories.Platforms() {
		if usable(repo) == nil {
			return r.Repositories.InPlatform(repo.ID, "")
		}
	}
	return repositories.Repository{}, domain.Refuse(domain.CodeNotFound, "there is no platform repository for this: an administrator configures them").
		With("resource", "repository")
}

// Has reports whether an id is that of a platform repository.
func (r *Runs) Has(id string) bool {
	_, err := r.Repositories.InPlatform(id, "")
	return err == nil
}

// bulkRun is a running bulk run.
type bulkRun struct {
	*Runs
	op    *operations.Run
	bulk  operation.Bulk      // its plan, and what was done before
	after map[string][]string // by slug: the slugs that it waits for
	made  map[string]string   // by slug: the ids of workspaces that the run makes, as far as it was taken over
}

// cancelledResult is the result of a workspace that was not begun before a cancel.
func (r *bulkRun) cancelledResult(p operation.Planned, status string) operation.Finished {
	return operation.Finished{Slug: p.Slug, WorkspaceID: p.WorkspaceID, Name: p.Name, Status: status, Reason: operation.CancelledReason, LeftOut: true}
}

// runAll processes the remaining workspaces, several at a time, each after those that it waits for.
// After a cancel nothing new is begun, and the rest gets status left.
func (r *bulkRun) runAll(ctx context.Context, left string, do func(ctx context.Context, p operation.Planned) (operation.Finished, error)) error {
	alive, stop := uncancelled(ctx)
	defer stop()
	todo := slices.DeleteFunc(r.bulk.Runs(), func(p operation.Planned) bool { return r.bulk.Ended(p.Slug) })
	ended := map[string]bool{}
	for _, f := range r.bulk.Done {
		ended[f.Slug] = true
	}
	type result struct {
		slug string
		err  error
	}
	results, busy := make(chan result), 0
	var failed error
	for {
		for failed == nil && ctx.Err() == nil && busy < max(1, r.Concurrency()) {
			at := slices.IndexFunc(todo, func(p operation.Planned) bool { return r.canStart(p, ended) })
			if at < 0 {
				break
			}
			p := todo[at]
			todo = slices.Delete(todo, at, at+1)
			busy++
			go func() { results <- result{p.Slug, r.runOne(alive, p, do)} }()
		}
		if busy == 0 {
			break
		}
		one := <-results
		busy--
		ended[one.slug] = true
		if failed == nil {
			failed = one.err
		}
	}
	for _, p := range todo {
		if failed == nil && isCancel(ctx) {
			failed = r.recordSkipped(alive, p, left, do)
		}
	}
	if failed == nil && ctx.Err() != nil && !isCancel(ctx) {
		failed = operations.ErrUnsettled
	}
	return failed
}

// runOne processes one workspace, and records its result and duration.
func (r *bulkRun) runOne(ctx context.Context, p operation.Planned, do func(context.Context, operation.Planned) (operation.Finished, error)) (err error) {
	defer commands.Recover(func(panicked *commands.PanicError) {
		r.op.Log().ErrorContext(ctx, "a workspace of a bulk run panicked", "slug", p.Slug, "err", panicked)
		err = r.finish(ctx, refusedResult(p, panicked))
	})
	began := time.Now()
	f, err := do(ctx, p)
	if err != nil {
		return err
	}
	f.Duration = (time.Since(began) + time.Millisecond - 1).Milliseconds()
	return r.finish(ctx, f)
}

// recordSkipped records that a workspace was left out because of a cancel; when it was begun before
// the run was taken over, it records its result.
func (r *bulkRun) recordSkipped(ctx context.Context, p operation.Planned, status string, do func(context.Context, operation.Planned) (operation.Finished, error)) error {
	begun, err := r.Operations.Get(ctx, cmp.Or(p.WorkspaceID, r.made[p.Slug]), childID(r.op.ID(), r.indexOf(p.Slug), 0))
	if err == nil && begun.ID != "" {
		return r.runOne(ctx, p, do)
	}
	return r.finish(ctx, r.cancelledResult(p, status))
}

// tryOne processes one workspace. A refusal is its result; an unknown outcome is left to the node
// that takes the run over.
func (r *bulkRun) tryOne(ctx context.Context, p operation.Planned, do func(context.Context, operation.Planned) (operation.Finished, error)) (operation.Finished, error) {
	own := r.withSeed(ctx, p.Slug)
	f, err := do(own, p)
	commands.RequestFrom(ctx).Saw(commands.RequestFrom(own).Position())
	switch {
	case err == nil:
		return f, nil
	case ctx.Err() != nil || errors.Is(err, operations.ErrUnsettled):
		return f, operations.ErrUnsettled
	case isUnexpected(err):
		r.op.Log().ErrorContext(ctx, "a workspace of a bulk run failed", "slug", p.Slug, "err", err)
	}
	return refusedResult(p, err), nil
}

// withSeed returns a context for one workspace, with the same ids when it is processed again.
func (r *bulkRun) withSeed(ctx context.Context, slug string) context.Context {
	return commands.WithRequest(ctx, &commands.Request{Meta: commands.RequestFrom(ctx).Meta, Seed: r.op.ID() + "/" + slug})
}

// result returns the result of an operation; a large one is stored as a blob.
func (r *bulkRun) result(ctx context.Context, end operation.State) ([]byte, error) {
	if end.Apart == "" {
		return end.Result, nil
	}
	return r.Versioning.Blobs.Get(ctx, end.Apart)
}

// withCancel returns the context of a takeover: the operation may be cancelled already.
func withCancel(ctx context.Context, op operation.State) context.Context {
	if !op.CancelRequested {
		return ctx
	}
	stopped, stop := context.WithCancelCause(ctx)
	stop(operations.Cancelled())
	return stopped
}

// canStart reports whether everything that a workspace waits for has ended.
func (r *bulkRun) canStart(p operation.Planned, ended map[string]bool) bool {
	return !slices.ContainsFunc(r.after[p.Slug], func(slug string) bool { return !ended[slug] })
}

// finish records the result of one workspace, and extends the lock.
func (r *bulkRun) finish(ctx context.Context, f operation.Finished) error {
	if err := r.op.Record(ctx, operation.Finish{Epoch: r.op.Epoch(), Finished: f}); err != nil {
		return err
	}
	return r.op.Renew(ctx)
}

// uncancelled returns a context that ends with ctx, except when the operation is cancelled: running
// work is waited for then.
func uncancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	alive, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if !isCancel(ctx) {
			end(context.Cause(ctx))
		}
	})
	return alive, func() { stop(); end(nil) }
}

// isCancel reports whether the operation of ctx was cancelled.
func isCancel(ctx context.Context) bool {
	refusal, ok := errors.AsType[*domain.Error](context.Cause(ctx))
	return ok && refusal.Details["reason"] == operation.CancelledReason
}

// findChild returns the operation of one workspace of a run: how it ended when it was begun before,
// else its id. One that was interrupted before it changed anything is begun again, and so is one that
// must be repeated.
func (r *bulkRun) findChild(ctx context.Context, workspaceID string, at int, again func(operation.State) bool) (end operation.State, id string, err error) {
	for try := 0; ; try++ {
		id = childID(r.op.ID(), at, try)
		switch _, err := r.Operations.Get(ctx, workspaceID, id); {
		case domain.CodeOf(err) == domain.CodeNotFound:
			return operation.State{}, id, nil
		case err != nil:
			return end, id, err
		}
		if end, err = r.ended(ctx, workspaceID, id); err != nil || !isInterrupted(end) && !again(end) {
			return end, id, err
		}
	}
}

func childID(run string, at, try int) string {
	id := run + "-" + strconv.Itoa(at)
	if try > 0 {
		id += "-" + strconv.Itoa(try)
	}
	return id
}

// indexOf returns the index of a workspace in the plan.
func (r *bulkRun) indexOf(slug string) int {
	return slices.IndexFunc(r.bulk.Planned, func(p operation.Planned) bool { return p.Slug == slug })
}

// ended waits until an operation has ended, also when its node is gone.
func (r *bulkRun) ended(ctx context.Context, workspaceID, id string) (operation.State, error) {
	if err := r.Operations.Adopt(ctx, workspaceID, id); err != nil {
		return operation.State{}, err
	}
	return r.wait(ctx, r.Operations.Follow(workspaceID, id))
}

// wait waits for the end of an operation.
func (r *bulkRun) wait(ctx context.Context, h *operations.Handle) (operation.State, error) {
	end, ended := h.Wait(ctx, maxOperation)
	if !ended {
		return end, operations.ErrUnsettled
	}
	return end, nil
}

// maxOperation is longer than any operation on one workspace.
const maxOperation = 24 * time.Hour

// isInterrupted reports whether an operation ended before it changed anything.
func isInterrupted(end operation.State) bool {
	return end.Failure != nil && (end.Failure.Details["reason"] == "interrupted" || end.Failure.Details["reason"] == "lock_lost")
}

// The codes of warnings about runs.
const (
	WarnInvalidDirectory  = "invalid_directory"
	WarnInvalidImportFile = archive.ErrInvalidImportFile
	WarnNoMatch           = "no_match"
	WarnCycle             = "dependency_cycle"
	WarnMissing           = "dependency_missing"
	WarnFailed            = "dependency_failed"
	WarnContentDiffers    = "content_differs"
	WarnSourceMoved       = "source_moved"
)

func newItem(code, at, message string) archive.Item {
	return archive.Item{Msg: message, Err: code, Filepath: at}
}

// itemValues returns items for events.
func itemValues(items []archive.Item) []any {
	all := make([]any, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}

// maxItems is the largest number of items in the event of one workspace.
const maxItems = 100

// truncateItems returns the items that fit into an event.
func truncateItems(items []archive.Item) []any { return itemValues(items[:min(len(items), maxItems)]) }

// refusedResult is the result of a workspace that could not be pushed or imported.
func refusedResult(p operation.Planned, err error) operation.Finished {
	f := operation.Finished{Slug: p.Slug, WorkspaceID: p.WorkspaceID, Name: p.Name, Status: operation.Faulty}
	refusal, isRefusal := errors.AsType[*domain.Error](err)
	switch _, later := errors.AsType[*commands.Unavailable](err); {
	case isRefusal:
	case later:
		refusal = domain.Refuse(domain.CodeUnavailable, "temporarily unavailable, try again later")
	default:
		refusal = domain.Refuse(domain.CodeInternal, "unexpected server error")
	}
	f.Reason = string(refusal.Code)
	if reason, ok := refusal.Details["reason"].(string); ok && refusal.Code != domain.CodeLocked {
		f.Reason = reason
	}
	if len(refusal.Message) > maxMessage {
		refusal = &domain.Error{Code: refusal.Code, Message: strings.ToValidUTF8(refusal.Message[:maxMessage], "") + "…", Details: refusal.Details}
	}
	details := map[string]any{}
	for key, value := range refusal.Details {
		if key != "reason" {
			details[key] = value
		}
	}
	f.Errors = []any{archive.Item{Msg: refusal.Message, Err: f.Reason, Filepath: p.Slug, WorkspaceID: p.WorkspaceID, Details: details}}
	if body, err := json.Marshal(f.Errors); err != nil || len(body) > maxDetails {
		f.Errors = []any{archive.Item{Msg: refusal.Message, Err: f.Reason, Filepath: p.Slug, WorkspaceID: p.WorkspaceID}}
	}
	return f
}

// Limits of the error of one workspace.
const (
	maxMessage = 1000
	maxDetails = 16 << 10
)

// isUnexpected reports whether an error must be logged for the operator.
func isUnexpected(err error) bool {
	_, isRefusal := errors.AsType[*domain.Error](err)
	return err != nil && !isRefusal && !errors.Is(err, context.Canceled)
}
