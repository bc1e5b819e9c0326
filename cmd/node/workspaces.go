package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/commands"
	"svc/commands/apps"
	"svc/commands/apps/builtin"
	"svc/commands/archive"
	"svc/commands/bulk"
	"svc/commands/content"
	"svc/commands/files"
	"svc/commands/repositories"
	"svc/commands/vault"
	"svc/commands/versioning"
	"svc/domain"
	"svc/domain/app"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// places are the parts that workspaces and their content take.
type places struct {
	workspaces commands.Workspaces
	content    *content.Content
	library    *library
	vault      *vault.Vault
	files      *files.Files
	apps       apps.Apps
	versioning *versioning.Versioning
	bulk       *bulk.Runs
	importers  *importers

	repositories *repositories.Repositories
}

func (n *Node) openPlaces(ctx context.Context) error {
	keys, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "DATAKEYS"})
	if err != nil {
		return err
	}
	library, err := newLibrary(n.models, n.store.Log, n.store.Blobs)
	if err != nil {
		return err
	}
	p := &places{
		workspaces: commands.Workspaces{
			Engine:        n.engine,
			LockTimeout:   func() time.Duration { return n.config().Workspaces.LockTimeout },
			DeletionDelay: func() time.Duration { return n.config().Events.DeletionDelay },
		},
		library: library, vault: vault.New(n.people.box, keys),
	}
	p.content = &content.Content{
		Workspaces: p.workspaces, Library: p.library, Blobs: n.store.Blobs, Apps: p.library, Vault: p.vault,
		Rules: func() automation.Rules {
			r := n.config().Runtime
			return automation.Rules{MaxWait: r.WaitMaxTimeout, MinPeriod: r.SchedulesMinPeriod, Slug: r.SlugPattern}
		},
		Limits: func() archive.Limits {
			limits := archive.Usual
			limits.ArchiveBytes = int(n.config().HTTP.ImportMaxSize)
			return limits
		},
	}
	p.apps = apps.Apps{
		Engine: n.engine, Now: time.Now, Workspaces: p.workspaces, Revisions: p.library, Shelf: p.library.shelf, Published: p.library,
	}
	p.content.Publish, p.content.SecretDefaults = p.publish, n.secretDefaults
	n.places = p
	n.openSecrets()
	p.repositories, err = n.repositories()
	return err
}

// publish publishes a workspace as the app that an import names.
func (p *places) publish(ctx context.Context, workspaceID, slug, name string) error {
	publication := apps.Publication{WorkspaceID: workspaceID, Slug: slug}
	if name != "" {
		publication.Name = document.InEveryLanguage(name)
	}
	_, _, err := p.apps.Publish(ctx, publication)
	return err
}

// library finds documents in the read models, and in the blob store when they
// are kept apart.
type library struct {
	models *projections.Models
	log    *jetstream.Log
	blobs  *jetstream.Blobs
	shelf  *apps.Shelf // what apps consist of

	builtIn *builtin.Content
}

func newLibrary(models *projections.Models, log *jetstream.Log, blobs *jetstream.Blobs) (*library, error) {
	l := &library{models: models, log: log, blobs: blobs}
	l.shelf = apps.NewShelf(l)
	var err error
	l.builtIn, err = builtin.Read()
	return l, err
}

// reading bounds how long a command waits for the read models: a large import of a moment ago
// may take them as long on a busy machine.
const reading = 30 * time.Second

// At implements content.Library.
func (l *library) At(ctx context.Context, workspaceID string, seq uint64) (refs map[string]content.Ref, err error) {
	if app.IsBuiltInHome(workspaceID) {
		return l.builtIn.At(ctx, workspaceID, seq)
	}
	if err := l.reach(ctx, seq); err != nil {
		return nil, err
	}
	err = l.models.View(func(r projections.Reader) error {
		manifest, err := projections.History{}.ManifestAt(r, workspaceID, seq)
		refs = make(map[string]content.Ref, len(manifest))
		for path, ref := range manifest {
			refs[path] = content.Ref(ref)
		}
		return err
	})
	return refs, err
}

// reach waits until the read models have what the log had at seq. A sequence
// that the log has not reached yet is not waited for.
func (l *library) reach(ctx context.Context, seq uint64) error {
	ctx, cancel := context.WithTimeout(ctx, reading)
	defer cancel()
	if err := l.models.Reach(ctx, domain.At(domain.State, min(seq, l.log.Known().State))); err != nil {
		return commands.Refused(fmt.Errorf("the read models are behind: %w", err))
	}
	return nil
}

// Document implements content.Library.
func (l *library) Document(ctx context.Context, workspaceID string, ref content.Ref) (*document.Map, error) {
	if app.IsBuiltInHome(workspaceID) {
		return l.builtIn.Document(ctx, workspaceID, ref)
	}
	var body []byte
	found := false
	err := l.models.View(func(r projections.Reader) (err error) {
		body, found, err = projections.Content{}.Body(r, workspaceID, ref.Hash)
		return err
	})
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
func (l *library) Change(ctx context.Context, workspaceID string, seq uint64) (c content.Change, err error) {
	if err := l.reach(ctx, l.log.Known().State); err != nil {
		return c, err
	}
	err = l.models.View(func(r projections.Reader) error {
		found, ok, err := projections.History{}.Get(r, workspaceID, seq)
		if err != nil || !ok {
			return err
		}
		c = content.Change{Found: true, Content: found.Content, Creation: found.Type == (workspace.Created{}).EventType(), Parts: found.Parts}
		c.Superseded, err = superseded(r, workspaceID, found)
		return err
	})
	return c, err
}

// superseded returns the last later change of each part that a change touched.
func superseded(r projections.Reader, workspaceID string, c projections.Change) (by []uint64, err error) {
	seen := map[uint64]bool{}
	for _, part := range c.Parts {
		last, err := projections.History{}.Touched(r, workspaceID, part)
		if err != nil {
			return nil, err
		}
		if last > c.Seq && !seen[last] {
			seen[last] = true
			by = append(by, last)
		}
	}
	return by, nil
}

// expireLocks records locks that have run out, once for each.
func (n *Node) expireLocks(ctx context.Context) error {
	due, err := n.dueLocks()
	for _, id := range due {
		_, failed := n.places.workspaces.Expire(ctx, id)
		err = errors.Join(err, failed)
	}
	return err
}

// dueLocks lists the workspaces whose lock has run out.
func (n *Node) dueLocks() (due []string, err error) {
	err = n.models.View(func(r projections.Reader) error {
		due, err = projections.Workspaces{}.Expired(r, time.Now())
		return err
	})
	return due, err
}
