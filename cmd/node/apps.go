package node

import (
	"context"

	"svc/commands/content"
	"svc/domain"
	"svc/projections"
)

// App implements content.Apps. An app that is not there may have been published a
// moment ago: it is looked for again once the read models have what the log has.
func (l *library) App(ctx context.Context, slug, version string) (content.App, bool, error) {
	published, revision, err := l.edition(slug, version)
	if err == nil && revision == 0 {
		if err = l.reach(ctx, l.log.Known().State); err == nil {
			published, revision, err = l.edition(slug, version)
		}
	}
	if err != nil || revision == 0 {
		return content.App{}, false, err
	}
	detail, err := l.shelf.Read(ctx, published.WorkspaceID, revision)
	if err != nil {
		return content.App{}, false, err
	}
	return content.App{
		WorkspaceID: published.WorkspaceID, Installs: detail.Installs, Secrets: detail.Secrets, Events: detail.Events, Config: detail.Settings,
		Calls: detail.Calls,
	}, true, nil
}

// edition returns an app and the revision of its content that a version is of; 0
// when there is none.
func (l *library) edition(slug, version string) (published projections.App, revision uint64, err error) {
	err = l.models.View(func(r projections.Reader) (err error) {
		published, revision, err = projections.Apps{}.FindVersion(r, slug, version)
		return err
	})
	return published, revision, err
}

// ContentRevision implements apps.Revisions.
func (l *library) ContentRevision(ctx context.Context, workspaceID string, since uint64) (revision uint64, err error) {
	if err := l.reach(ctx, since); err != nil {
		return 0, err
	}
	err = l.models.View(func(r projections.Reader) error {
		rec, ok, err := projections.Workspaces{}.Record(r, workspaceID)
		if err == nil && !ok {
			err = domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", workspaceID)
		}
		revision = rec.Dynamic.ContentRevision
		return err
	})
	return revision, err
}

// room refuses an app instance with which a workspace would have more than can run, by all
// that this node knows to be saved and published.
func (n *Node) room(ctx context.Context, workspaceID, from string, in content.Instance) error {
	if err := n.places.library.reach(ctx, n.store.Log.Known().State); err != nil {
		return err
	}
	return n.running.programs.CheckCapacity(ctx, workspaceID, from, in)
}
