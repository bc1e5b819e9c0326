package programs

import (
	"context"
	"fmt"
	"slices"

	"svc/commands/content"
	"svc/domain"
)

// CheckCapacity refuses an app instance with which a workspace would have more than can run. It is
// in the place of the instance that is called from; "": of none. What is wrong with it
// otherwise is not for this to say.
func (l *Library) CheckCapacity(ctx context.Context, workspaceID, from string, in content.Instance) error {
	done, err := l.buildTurns.Take(ctx, workspaceID)
	if err != nil {
		return err
	}
	defer done()
	w, ok, err := l.contents.Workspace(workspaceID)
	if err != nil || !ok {
		return err
	}
	now, err := l.compileContent(ctx, w.ID, w.Revision)
	if err != nil {
		return err
	}
	next := &compiledContent{workspaceID: now.workspaceID, index: now.index, automations: now.automations, slugs: now.slugs}
	next.installs = slices.DeleteFunc(slices.Clone(now.installs), func(have install) bool { return have.slug == from })
	next.installs = append(next.installs, install{slug: in.Slug, app: in.App.Slug, version: in.App.Version})
	set, err := l.newProgramSet(ctx, w, next)
	if err != nil || !set.Truncated {
		return err
	}
	return domain.Invalid(domain.FieldError{Field: "appSlug", Message: fmt.Sprintf(
		"the workspace would have more than %d app instances or %d automations, with those that are within its app instances: uninstall or disable other app instances first, or choose an app that consists of less",
		l.maxInstances, l.maxPrograms,
	)})
}
