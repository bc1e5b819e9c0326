package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
)

// Workspaces changes workspaces.
type Workspaces struct{ Engine *Engine }

// Workspace is a workspace after a command.
type Workspace = Execution[workspace.State]

// Create makes a workspace under a new id. Whoever asks owns it.
func (w Workspaces) Create(ctx context.Context, settings workspace.Settings) (Workspace, error) {
	id := newShortID(ctx, 7)
	return w.execute(ctx, id, workspace.Create{ID: id, Owner: RequestFrom(ctx).Meta.UserID, Settings: settings})
}

// Update changes settings of a workspace. ifMatch, when not empty, is the ETag
// the caller saw.
func (w Workspaces) Update(ctx context.Context, id string, change workspace.Update, ifMatch string) (Workspace, error) {
	return w.execute(ctx, id, change, matches(ifMatch, func(s workspace.State) uint64 { return s.Revision }))
}

// Secure replaces the security document of a workspace. ifMatch, when not empty,
// is the ETag the caller saw.
func (w Workspaces) Secure(ctx context.Context, id string, security access.Security, ifMatch string) (Workspace, error) {
	return w.execute(ctx, id, workspace.Secure{Security: security},
		matches(ifMatch, func(s workspace.State) uint64 { return s.SecurityRevision }))
}

// Share shares a workspace with a target.
func (w Workspaces) Share(ctx context.Context, id string, entry access.Share) (Workspace, error) {
	return w.execute(ctx, id, workspace.Share{Entry: entry})
}

// Unshare stops sharing a workspace with a target, named as paths name it.
func (w Workspaces) Unshare(ctx context.Context, id, target string) (Workspace, error) {
	return w.execute(ctx, id, workspace.Unshare{Target: target})
}

func (w Workspaces) execute(ctx context.Context, id string, cmd workspace.Command, pre ...Precondition[workspace.State]) (Workspace, error) {
	return Execute(ctx, w.Engine, workspace.Decider, workspace.Stream(id), cmd, pre...)
}

// EnsurePlatform makes the workspace where platform-wide events are recorded.
// Every node asks for it at start; the log lets one of them make it.
func (w Workspaces) EnsurePlatform(ctx context.Context) error {
	_, err := w.execute(ctx, domain.Platform, workspace.Create{ID: domain.Platform, Settings: workspace.Settings{Name: "Platform"}})
	if err != nil {
		return fmt.Errorf("make the platform workspace: %w", err)
	}
	return nil
}

// ETag names one revision of an object.
func ETag(revision uint64) string { return `"` + strconv.FormatUint(revision, 36) + `"` }

// matches refuses a command when the object is not at the revision the caller
// saw. An empty or `*` tag matches whatever there is; about an object that does
// not exist the decision itself has the word.
func matches[S any](ifMatch string, revision func(S) uint64) Precondition[S] {
	return func(state S) error {
		current := revision(state)
		if ifMatch == "" || ifMatch == "*" || current == 0 {
			return nil
		}
		for tag := range strings.SplitSeq(ifMatch, ",") {
			if strings.TrimPrefix(strings.TrimSpace(tag), "W/") == ETag(current) {
				return nil
			}
		}
		return domain.Refuse(domain.CodeConflict, "the resource has changed since you read it: read it again and repeat the change").
			Reason("stale").With("etag", ETag(current))
	}
}
