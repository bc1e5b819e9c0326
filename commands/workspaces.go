package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"svc/domain"
	"svc/domain/workspace"
)

// Workspaces changes workspaces.
type Workspaces struct{ Engine *Engine }

// Workspace is a workspace after a command, with the sequence that its ETag
// names.
type Workspace = Execution[workspace.State]

// Create makes a workspace under a new id.
func (w Workspaces) Create(ctx context.Context, settings workspace.Settings) (Workspace, error) {
	id := newShortID(ctx, 7)
	return Execute(ctx, w.Engine, workspace.Decider, workspace.Stream(id), workspace.Command(workspace.Create{ID: id, Settings: settings}))
}

// Update changes settings of a workspace. ifMatch, when not empty, is the ETag
// the caller saw.
func (w Workspaces) Update(ctx context.Context, id string, change workspace.Update, ifMatch string) (Workspace, error) {
	return Execute(ctx, w.Engine, workspace.Decider, workspace.Stream(id), workspace.Command(change), matches(ifMatch))
}

// EnsurePlatform makes the workspace where platform-wide events are recorded.
// Every node asks for it at start; the log lets one of them make it.
func (w Workspaces) EnsurePlatform(ctx context.Context) error {
	_, err := Execute(ctx, w.Engine, workspace.Decider, workspace.Stream(domain.Platform), workspace.Command(workspace.Create{
		ID: domain.Platform, Settings: workspace.Settings{Name: "Platform"},
	}))
	if err != nil {
		return fmt.Errorf("make the platform workspace: %w", err)
	}
	return nil
}

// ETag names the state of an aggregate at seq.
func ETag(seq uint64) string { return `"` + strconv.FormatUint(seq, 36) + `"` }

// matches refuses a command when the aggregate is not at the state the caller
// saw. An empty or `*` tag matches whatever there is; about an aggregate that
// does not exist the decision itself has the word.
func matches(ifMatch string) Precondition {
	return func(seq uint64) error {
		if ifMatch == "" || ifMatch == "*" || seq == 0 {
			return nil
		}
		for tag := range strings.SplitSeq(ifMatch, ",") {
			if strings.TrimPrefix(strings.TrimSpace(tag), "W/") == ETag(seq) {
				return nil
			}
		}
		return domain.Refuse(domain.CodeConflict, "the resource has changed since you read it: read it again and repeat the change").
			Reason("stale").With("etag", ETag(seq))
	}
}
