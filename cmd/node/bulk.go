package node

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/archive"
	"svc/commands/bulk"
	"svc/commands/content"
	"svc/domain"
	"svc/domain/workspace"
	"svc/http/api"
	"svc/projections"
)

// openBulk lets many workspaces be pushed and imported in one run.
func (n *Node) openBulk(context.Context) error {
	p := n.places
	p.importers = &importers{known: make(chan struct{})}
	p.bulk = &bulk.Runs{
		Workspaces: p.workspaces, Repositories: p.repositories, Versioning: p.versioning, Operations: n.operations, Known: p.library, Rights: p.importers,
		Concurrency: func() int { return n.config().Bulk.Concurrency }, Limit: func() int { return archive.Usual.Workspaces },
	}
	for kind, settle := range p.bulk.Settlers() {
		n.operations.Settle(kind, settle)
	}
	return nil
}

// importers tells what those who start imports may do, once the API is there: a run
// that was left behind may be taken over before that. It implements bulk.Rights.
type importers struct {
	known  chan struct{} // closed when rights is set
	once   sync.Once
	rights api.ImportRights
}

func (i *importers) open(d api.Deps) {
	i.once.Do(func() {
		i.rights = api.ImportRights{Deps: d}
		close(i.known)
	})
}

// Import implements bulk.Rights.
func (i *importers) Import(ctx context.Context, who bulk.Who, workspaceID string) (content.ImportOptions, bool, error) {
	if err := i.await(ctx); err != nil {
		return content.ImportOptions{}, false, err
	}
	return i.rights.Import(ctx, who, workspaceID)
}

// Create implements bulk.Rights.
func (i *importers) Create(ctx context.Context, who bulk.Who) (content.ImportOptions, bool, error) {
	if err := i.await(ctx); err != nil {
		return content.ImportOptions{}, false, err
	}
	return i.rights.Create(ctx, who)
}

func (i *importers) await(ctx context.Context) error {
	select {
	case <-i.known:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// current waits until the read models have what the log has.
func (l *library) current(ctx context.Context) error { return l.reach(ctx, l.log.Known().State) }

// BySlug implements bulk.Known.
func (l *library) BySlug(ctx context.Context, slug string) (w bulk.Workspace, found bool, err error) {
	if err := l.current(ctx); err != nil {
		return w, false, err
	}
	err = l.models.View(func(r projections.Reader) error {
		id := domain.Platform
		if slug != domain.Platform {
			if id, err = (projections.Workspaces{}).BySlug(r, slug); err != nil || id == "" {
				return err
			}
		}
		rec, ok, err := projections.Workspaces{}.Record(r, id)
		if found = ok && rec.Deleted == nil; found {
			w = runnable(rec)
		}
		return err
	})
	return w, found, err
}

// Labelled implements bulk.Known.
func (l *library) Labelled(ctx context.Context, labels []string) (list []bulk.Workspace, err error) {
	if err := l.current(ctx); err != nil {
		return nil, err
	}
	err = l.models.View(func(r projections.Reader) error {
		return projections.Workspaces{}.List(r, false, func(rec projections.Record) bool {
			if slices.ContainsFunc(labels, func(label string) bool { return slices.Contains(rec.Meta.Labels, label) }) {
				list = append(list, runnable(rec))
			}
			return true
		})
	})
	slices.SortFunc(list, func(a, b bulk.Workspace) int { return strings.Compare(a.Slug, b.Slug) })
	return list, err
}

// Publisher implements bulk.Known.
func (l *library) Publisher(ctx context.Context, appSlug string) (workspaceID string, err error) {
	if err := l.current(ctx); err != nil {
		return "", err
	}
	err = l.models.View(func(r projections.Reader) error {
		app, there, err := projections.Apps{}.Get(r, appSlug)
		if there && !app.IsBuiltIn() {
			workspaceID = app.WorkspaceID
		}
		return err
	})
	return workspaceID, err
}

// runnable is what a run has to know of a workspace.
func runnable(rec projections.Record) bulk.Workspace {
	w := bulk.Workspace{ID: rec.ID, Slug: rec.Meta.Slug, Name: rec.Meta.Name, Dirty: rec.Dynamic.Dirty}
	if lock := rec.Dynamic.WriteLock; lock != nil && !expired(lock.ExpiresAt) {
		w.Lock = lock.Reason
	}
	for id, content := range rec.Repositories {
		if content.Revision >= rec.Dynamic.ContentRevision {
			if w.In == nil {
				w.In = map[string]workspace.Place{}
			}
			w.In[id] = content.Place
		}
	}
	if pull := rec.Dynamic.LastPull; pull != nil {
		w.Version, w.Digest = pull.Version, pull.Digest
	}
	return w
}

// expired reports whether a lock that runs out at a time has done so.
func expired(until string) bool {
	at, err := time.Parse(domain.Timestamp, until)
	return err == nil && time.Now().After(at)
}

// importAtStart imports what the settings say, once the node serves.
func (n *Node) importAtStart(ctx context.Context) error {
	c := n.config()
	if len(c.Bulk.StartupGroups) == 0 || !slices.Contains(c.Core.Roles, "bulk") {
		return nil
	}
	failures := commands.Failures{Engine: n.engine, Log: n.log}
	return n.places.bulk.AtStart(ctx, bulk.Startup{
		RepositoryID: c.Bulk.StartupRepo, Groups: c.Bulk.StartupGroups, Wait: c.Bulk.StartupWait, Pause: c.Bulk.StartupPause,
		Ready: n.ready, Log: n.log,
		Failed: func(ctx context.Context, why *domain.Error) { failures.RecordFailure(ctx, domain.Platform, why) },
	})
}
