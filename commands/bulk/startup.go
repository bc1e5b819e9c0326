package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/workspace"
)

// Startup is an import that a node does when it has started.
type Startup struct {
	RepositoryID string
	Groups       []string
	Wait         time.Duration // for the node to be ready
	Pause        time.Duration // between two groups
	Ready        func() bool
	Failed       func(ctx context.Context, why *domain.Error) // tells that something did not work
	Log          *slog.Logger
}

// AtStart imports the groups one after the other. After one with errors the rest is
// left. When another node is at it, it is left to that one.
func (r *Runs) AtStart(ctx context.Context, s Startup) error {
	log := s.Log.With("repository", s.RepositoryID)
	if err := s.await(ctx); err != nil {
		return s.refused(ctx, log, err)
	}
	for i, group := range s.Groups {
		if i > 0 {
			if err := commands.Sleep(ctx, s.Pause); err != nil {
				return nil // the node stops
			}
		}
		done, err := r.importGroup(ctx, s.RepositoryID, group)
		for elsewhere(err) && commands.Sleep(ctx, s.pause()) == nil {
			done, err = r.importGroup(ctx, s.RepositoryID, group)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case domain.CodeOf(err) == domain.CodeLocked:
			log.Info("the import at start is left to who holds the platform's lock", "group", group)
			return nil
		case err != nil:
			return s.refused(ctx, log.With("group", group), err)
		case done.ErrorsCount > 0:
			return s.refused(ctx, log.With("group", group), domain.Refuse(domain.CodeValidation,
				"the import of the group %s at start had errors: the groups after it were left out", group).
				Reason("startup_import_errors").With("group", group).With("errorsCount", done.ErrorsCount).With("operationId", done.OperationID))
		}
		log.Info("imported a group at start", "group", group, "created", done.Created, "updated", done.Updated, "skipped", done.Skipped)
	}
	return nil
}

// elsewhere reports whether something else than another import at start holds the
// lock: that is waited for.
func elsewhere(err error) bool {
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok || refusal.Code != domain.CodeLocked {
		return false
	}
	holder, _ := refusal.Details["operation"].(*workspace.Operation)
	return holder == nil || holder.Kind != operation.BulkImport || refusal.Details["lockedBy"] != ""
}

// pause is how long the lock is left to others before it is asked for again.
func (s Startup) pause() time.Duration { return min(2*time.Second, max(s.Pause, 100*time.Millisecond)) }

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

// refused tells that the import did not work. The node goes on.
func (s Startup) refused(ctx context.Context, log *slog.Logger, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	refusal, told := errors.AsType[*domain.Error](err)
	if !told {
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
	end, ended := h.Wait(ctx, long)
	switch {
	case !ended:
		return done, context.Cause(ctx)
	case end.Failure != nil:
		return done, end.Failure.Error()
	}
	return done, json.Unmarshal(end.Result, &done)
}
