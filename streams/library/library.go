// Package library reads for commands: the documents of workspaces and their history, the
// apps, and what is known of workspaces. It finds them in the read models, and documents
// that are too large for events in the blob store.
package library

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/apps"
	"svc/commands/apps/builtin"
	"svc/commands/bulk"
	"svc/commands/content"
	"svc/commands/files"
	"svc/commands/knowledge"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/app"
	"svc/domain/document"
	"svc/domain/kbdocument"
	"svc/domain/workspace"
	"svc/projections"
)

// Log tells how far the logs reach, as this node knows. It is a *jetstream.Log.
type Log interface{ Known() domain.Position }

// Blobs stores documents. It is a *jetstream.Blobs.
type Blobs interface {
	Get(ctx context.Context, name string) ([]byte, error)
}

// Library reads what commands ask for. It implements content.Library, content.Apps,
// apps.Revisions, versioning.Revisions, versioning.Apps, versioning.People, bulk.Known,
// files.Finder, knowledge.Finder and programs.Contents.
type Library struct {
	Shelf *apps.Shelf // what apps consist of

	models  *projections.Models
	log     Log
	blobs   Blobs
	builtIn *builtin.Content
}

// New returns a Library.
func New(models *projections.Models, log Log, blobs Blobs) (*Library, error) {
	l := &Library{models: models, log: log, blobs: blobs}
	l.Shelf = apps.NewShelf(l)
	var err error
	l.builtIn, err = builtin.Read()
	return l, err
}

// maxWait bounds how long a command waits for the read models: after a large import they
// need as long on a busy machine.
const maxWait = 30 * time.Second

// Reach implements content.Library: it waits until the read models contain what the State log had
// at seq. A sequence that the log has not reached yet is not waited for.
func (l *Library) Reach(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if err := l.models.ReachReadable(ctx, domain.At(domain.State, min(seq, l.log.Known().State))); err != nil {
		return commands.Refused(fmt.Errorf("the read models are behind: %w", err))
	}
	return nil
}

// ReachKnown waits until the read models contain everything of the State log that this
// node knows of.
func (l *Library) ReachKnown(ctx context.Context) error { return l.Reach(ctx, l.log.Known().State) }

// At implements content.Library.
func (l *Library) At(ctx context.Context, workspaceID string, seq uint64) (map[string]content.Ref, error) {
	if app.IsBuiltInHome(workspaceID) {
		return l.builtIn.At(ctx, workspaceID, seq)
	}
	if err := l.Reach(ctx, seq); err != nil {
		return nil, err
	}
	r := l.models.Reader()
	defer r.Close()
	manifest, err := projections.History{}.ManifestAt(r, workspaceID, seq)
	return toRefs(manifest), err
}

// Changes implements programs.Contents.
func (l *Library) Changes(ctx context.Context, workspaceID string, after, until uint64) (map[string]content.Ref, bool, error) {
	if err := l.Reach(ctx, until); err != nil {
		return nil, false, err
	}
	r := l.models.Reader()
	defer r.Close()
	changed, known, err := projections.History{}.ChangedSince(r, workspaceID, after, until)
	return toRefs(changed), known, err
}

// ChangedBy implements content.Library.
func (l *Library) ChangedBy(ctx context.Context, workspaceID string, seq uint64) (was, is map[string]content.Ref, err error) {
	if err := l.Reach(ctx, seq); err != nil {
		return nil, nil, err
	}
	r := l.models.Reader()
	defer r.Close()
	before, after, err := projections.History{}.ChangedBy(r, workspaceID, seq)
	return toRefs(before), toRefs(after), err
}

// ChangedAfter implements content.Library.
func (l *Library) ChangedAfter(ctx context.Context, workspaceID string, after, until uint64) (map[string]content.Ref, bool, error) {
	if err := l.Reach(ctx, until); err != nil {
		return nil, false, err
	}
	r := l.models.Reader()
	defer r.Close()
	was, known, err := projections.History{}.ChangedAfter(r, workspaceID, after, until)
	return toRefs(was), known, err
}

func toRefs(m projections.Manifest) map[string]content.Ref {
	refs := make(map[string]content.Ref, len(m))
	for path, ref := range m {
		refs[path] = content.Ref(ref)
	}
	return refs
}

// Document implements content.Library.
func (l *Library) Document(ctx context.Context, workspaceID string, ref content.Ref) (*document.Map, error) {
	if app.IsBuiltInHome(workspaceID) {
		return l.builtIn.Document(ctx, workspaceID, ref)
	}
	body, found, err := l.models.DocumentBody(workspaceID, ref.Hash)
	if err != nil {
		return nil, err
	}
	if !found {
		if body, err = l.blobs.Get(ctx, ref.Hash); err != nil {
			return nil, fmt.Errorf("document %s of workspace %s: %w", ref.Hash, workspaceID, err)
		}
	}
	doc := document.MapOf()
	return doc, doc.UnmarshalJSON(body)
}

// Change implements content.Library.
func (l *Library) Change(ctx context.Context, workspaceID string, seq uint64) (c content.Change, err error) {
	if err := l.ReachKnown(ctx); err != nil {
		return c, err
	}
	r := l.models.Reader()
	defer r.Close()
	found, ok, err := projections.History{}.Get(r, workspaceID, seq)
	if err != nil || !ok {
		return c, err
	}
	c = content.Change{Found: true, Content: found.Content, Creation: found.Type == (workspace.Created{}).EventType(), Parts: found.Parts}
	for _, part := range found.Parts {
		last, err := projections.History{}.Touched(r, workspaceID, part)
		if err != nil {
			return c, err
		}
		if last > seq && !slices.Contains(c.Superseded, last) {
			c.Superseded = append(c.Superseded, last)
		}
	}
	return c, nil
}

// App implements content.Apps. An app that is not found may have just been published: the
// read models are asked again when they contain what the log has.
func (l *Library) App(ctx context.Context, slug, version string) (content.App, bool, error) {
	workspaceID, revision, err := l.models.FindAppVersion(slug, version)
	if err == nil && revision == 0 {
		if err = l.ReachKnown(ctx); err == nil {
			workspaceID, revision, err = l.models.FindAppVersion(slug, version)
		}
	}
	if err != nil || revision == 0 {
		return content.App{}, false, err
	}
	detail, err := l.Shelf.Read(ctx, workspaceID, revision)
	if err != nil {
		return content.App{}, false, err
	}
	return content.App{
		WorkspaceID: workspaceID, Installs: detail.Installs, Secrets: detail.Secrets, Events: detail.Events, Config: detail.Settings, Calls: detail.Calls,
	}, true, nil
}

// AppOf implements versioning.Apps.
func (l *Library) AppOf(ctx context.Context, workspaceID string) (slug, name string, err error) {
	if err := l.ReachKnown(ctx); err != nil {
		return "", "", err
	}
	r := l.models.Reader()
	defer r.Close()
	published, _, err := projections.Apps{}.Of(r, workspaceID)
	return published.Slug, published.Name.First(), err
}

// ContentRevision implements apps.Revisions.
func (l *Library) ContentRevision(ctx context.Context, workspaceID string, since uint64) (uint64, error) {
	if err := l.Reach(ctx, since); err != nil {
		return 0, err
	}
	rec, ok, err := l.models.Workspace(workspaceID)
	if err == nil && !ok {
		err = domain.Refuse(domain.CodeNotFound, "there is no such workspace").With("resource", "workspace").With("id", workspaceID)
	}
	return rec.Dynamic.ContentRevision, err
}

// Revision implements versioning.Revisions.
func (l *Library) Revision(ctx context.Context, workspaceID string, seq uint64) (uint64, error) {
	if err := l.Reach(ctx, seq); err != nil {
		return 0, err
	}
	r := l.models.Reader()
	defer r.Close()
	revision, err := projections.History{}.Revision(r, workspaceID, seq)
	if err == nil && revision == 0 {
		err = domain.Refuse(domain.CodeNotFound, "the workspace did not exist at that time").With("resource", "workspace").With("id", workspaceID)
	}
	return revision, err
}

// RolledBack implements versioning.Revisions.
func (l *Library) RolledBack(ctx context.Context, workspaceID string, seq uint64, paths []string) (back []string, err error) {
	if err := l.Reach(ctx, seq); err != nil {
		return nil, err
	}
	r := l.models.Reader()
	defer r.Close()
	for _, path := range paths {
		rolled, err := projections.History{}.RolledBack(r, workspaceID, path)
		if err != nil {
			return nil, err
		}
		if rolled {
			back = append(back, path)
		}
	}
	return back, nil
}

// Person implements versioning.People.
func (l *Library) Person(_ context.Context, userID string) (name, email string, err error) {
	r := l.models.Reader()
	defer r.Close()
	brief, _, err := projections.Users{}.Brief(r, userID)
	return strings.TrimSpace(brief.FirstName + " " + brief.LastName), brief.Email, err
}

// BySlug implements bulk.Known.
func (l *Library) BySlug(ctx context.Context, slug string) (w bulk.Workspace, found bool, err error) {
	if err := l.ReachKnown(ctx); err != nil {
		return w, false, err
	}
	r := l.models.Reader()
	defer r.Close()
	id := domain.Platform
	if slug != domain.Platform {
		if id, err = (projections.Workspaces{}).BySlug(r, slug); err != nil || id == "" {
			return w, false, err
		}
	}
	rec, ok, err := projections.Workspaces{}.Record(r, id)
	if err != nil || !ok || rec.Deleted != nil {
		return w, false, err
	}
	return toBulk(rec), true, nil
}

// Labelled implements bulk.Known.
func (l *Library) Labelled(ctx context.Context, labels []string) (list []bulk.Workspace, err error) {
	if err := l.ReachKnown(ctx); err != nil {
		return nil, err
	}
	r := l.models.Reader()
	defer r.Close()
	err = projections.Workspaces{}.List(r, false, func(rec projections.Record) bool {
		if slices.ContainsFunc(labels, func(label string) bool { return slices.Contains(rec.Meta.Labels, label) }) {
			list = append(list, toBulk(rec))
		}
		return true
	})
	slices.SortFunc(list, func(a, b bulk.Workspace) int { return strings.Compare(a.Slug, b.Slug) })
	return list, err
}

// toBulk returns what a bulk run needs to know of a workspace.
func toBulk(rec projections.Record) bulk.Workspace {
	w := bulk.Workspace{ID: rec.ID, Slug: rec.Meta.Slug, Name: rec.Meta.Name, Dirty: rec.Dynamic.Dirty}
	if lock := rec.Dynamic.WriteLock; lock != nil && !isPast(lock.ExpiresAt) {
		w.Lock = lock.Reason
	}
	for id, saved := range rec.Repositories {
		if saved.Revision >= rec.Dynamic.ContentRevision {
			if w.In == nil {
				w.In = map[string]workspace.Location{}
			}
			w.In[id] = saved.Location
		}
	}
	if pull := rec.Dynamic.LastPull; pull != nil {
		w.Version, w.Digest = pull.Version, pull.Digest
	}
	return w
}

// isPast reports whether a timestamp is over; "" never is.
func isPast(timestamp string) bool {
	at, err := time.Parse(domain.Timestamp, timestamp)
	return err == nil && time.Now().After(at)
}

// Publisher implements bulk.Known.
func (l *Library) Publisher(ctx context.Context, appSlug string) (workspaceID string, err error) {
	if err := l.ReachKnown(ctx); err != nil {
		return "", err
	}
	r := l.models.Reader()
	defer r.Close()
	published, found, err := projections.Apps{}.Get(r, appSlug)
	if err != nil || !found || published.IsBuiltIn() {
		return "", err
	}
	return published.WorkspaceID, nil
}

// Due implements files.Finder.
func (l *Library) Due(_ context.Context, now time.Time, limit int) (due []files.Ref, err error) {
	r := l.models.Reader()
	defer r.Close()
	found, err := projections.Files{}.Due(r, now, limit)
	for _, ref := range found {
		due = append(due, files.Ref(ref))
	}
	return due, err
}

// TotalFileSize returns how many bytes the files of a workspace have. It is asked for
// workspaces whose files were uploaded before totals were recorded.
func (l *Library) TotalFileSize(ctx context.Context, workspaceID string) (bytes int64, err error) {
	if err := l.models.Fresh(ctx); err != nil {
		return 0, projections.RefuseStopped(err)
	}
	r := l.models.Reader()
	defer r.Close()
	err = projections.Files{}.List(r, workspaceID, time.Time{}, func(f projections.File) bool {
		bytes += f.Size
		return true
	})
	return bytes, err
}

// Moment implements programs.Contents.
func (l *Library) Moment() uint64 { return l.models.Position().State }

// Workspace implements programs.Contents.
func (l *Library) Workspace(id string) (w programs.Workspace, ok bool, err error) {
	r := l.models.Reader()
	defer r.Close()
	rec, found, err := projections.Workspaces{}.Record(r, id)
	if err != nil || !found || rec.Deleted != nil && !time.Now().Before(rec.Deleted.RunsUntil()) {
		return w, false, err
	}
	w = programs.Workspace{ID: id, Slug: rec.Meta.Slug, Name: rec.Meta.Name, Revision: rec.Dynamic.ContentRevision, Deleted: rec.Deleted != nil}
	w.CollectionSlugs, err = projections.Instances{}.StorageSlugs(r, id)
	return w, true, err
}

// Edition implements programs.Contents.
func (l *Library) Edition(slug, version string) (workspaceID string, revision uint64, err error) {
	r := l.models.Reader()
	defer r.Close()
	published, revision, err := projections.Apps{}.RunningVersion(r, slug, version)
	return published.WorkspaceID, revision, err
}

// KnowledgeBase returns the slug and the settings of the base with an id; ok is false when there is none.
func (l *Library) KnowledgeBase(ctx context.Context, workspaceID, baseID string) (slug string, settings *document.Map, ok bool, err error) {
	r := l.models.Reader()
	defer r.Close()
	var found projections.Item
	err = projections.Content{}.List(r, workspaceID, "knowledge/", func(item projections.Item) (bool, error) {
		if item.ID == baseID {
			found = item
		}
		return found.ID == "", nil
	})
	if err != nil || found.ID == "" {
		return "", nil, false, err
	}
	settings, err = l.Document(ctx, workspaceID, content.Ref{Hash: found.Hash, Apart: found.Apart})
	return found.Slug(), settings, err == nil, err
}

// KnowledgeBases visits the knowledge bases of a workspace, until visit returns false.
func (l *Library) KnowledgeBases(ctx context.Context, workspaceID string, visit func(id, slug string, settings *document.Map) (more bool)) error {
	var found []projections.Item
	r := l.models.Reader()
	err := projections.Content{}.List(r, workspaceID, "knowledge/", func(item projections.Item) (bool, error) {
		found = append(found, item)
		return true, nil
	})
	r.Close()
	if err != nil {
		return err
	}
	for _, item := range found {
		settings, err := l.Document(ctx, workspaceID, content.Ref{Hash: item.Hash, Apart: item.Apart})
		if err != nil {
			return err
		}
		if !visit(item.ID, item.Slug(), settings) {
			break
		}
	}
	return nil
}

// DueDocuments implements knowledge.Finder.
func (l *Library) DueDocuments(ctx context.Context, now time.Time, limit int) (refs []knowledge.Ref, err error) {
	r := l.models.Reader()
	defer r.Close()
	due, err := projections.KBDocuments{}.Due(r, now, limit)
	if err != nil {
		return nil, err
	}
	for _, one := range due {
		d, ok, err := projections.KBDocuments{}.ByID(r, one.WorkspaceID, one.ID)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		slug, _, _, err := l.KnowledgeBase(ctx, one.WorkspaceID, d.BaseID)
		if err != nil {
			return nil, err
		}
		refs = append(refs, knowledge.Ref{WorkspaceID: one.WorkspaceID, ID: one.ID, Base: kbdocument.Base{ID: d.BaseID, Slug: slug}, Depth: d.Depth})
	}
	return refs, nil
}

// CountDocuments returns how many documents a base has.
func (l *Library) CountDocuments(_ context.Context, workspaceID, baseID string) (int, error) {
	r := l.models.Reader()
	defer r.Close()
	counts, err := projections.KBDocuments{}.Counts(r, workspaceID, baseID)
	return counts.Documents, err
}
