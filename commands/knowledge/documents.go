// Package knowledge adds, changes and deletes the documents of knowledge bases. Their contents are blobs; the log has
// the records. The pipeline of streams/knowledge makes them searchable.
package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/commands"
	"svc/domain"
	"svc/domain/kbdocument"
	"svc/domain/name"
	"svc/eventstore"
)

// Blobs stores contents by their SHA-256 in hex. It is a *jetstream.Blobs.
type Blobs interface {
	PutFrom(ctx context.Context, r io.ReadSeeker, name string, size int64) error
}

// Settings are the live values of Documents.
type Settings struct {
	MaxDocuments int // KNOWLEDGE_MAX_DOCUMENTS: of one base
	Kept         int // KNOWLEDGE_REVISIONS_KEPT
}

// Options configure Documents. All fields are required.
type Options struct {
	Engine   *commands.Engine
	Blobs    Blobs
	Settings func() Settings
	// CheckType refuses a media type that the settings of uploads do not allow.
	CheckType func(mimetype string) error
	// Count returns how many documents a base has.
	Count func(ctx context.Context, workspaceID, baseID string) (int, error)
	Now   func() time.Time
}

// Documents changes documents. All methods are safe for concurrent use.
type Documents struct{ o Options }

// New returns Documents.
func New(o Options) (*Documents, error) {
	if o.Engine == nil || o.Blobs == nil || o.Settings == nil || o.CheckType == nil || o.Count == nil || o.Now == nil {
		return nil, errors.New("knowledge: Options lack a required field")
	}
	return &Documents{o: o}, nil
}

// May refuses a change that the caller may not make. It gets the document before and after the change; before is
// empty for a new one, after for one that is deleted.
type May func(before, after kbdocument.State) error

// Content is the content of a document.
type Content struct {
	kbdocument.Content
	Reader io.ReadSeeker
}

// Put is a document to add, or the content of one that is known.
type Put struct {
	ID       string // of the document whose content is replaced; "": it is known by its origin, or new
	Base     kbdocument.Base
	Origin   kbdocument.Origin
	Change   kbdocument.Change
	Content  *Content // nil: it is loaded from the address of the origin
	Declared string   // media type that the sender named
	Name     string   // of a new document to which Change gives none
	Reading  kbdocument.Reading
	Cause    kbdocument.Cause // "": somebody asked
	// Process makes a content searchable that gives the pipeline work; nil, and a nil result: the pipeline does.
	Process func(ctx context.Context, d kbdocument.State) (*kbdocument.Result, error)
}

// causeOf returns who asks for a change: a run of automations, or somebody who uses the API.
func causeOf(ctx context.Context) kbdocument.Cause {
	if commands.RequestFrom(ctx).Meta.AutomationSlug != "" {
		return kbdocument.ByRun
	}
	return kbdocument.ByAPI
}

// depthOf returns the depth of the run that asks for a change; 0: none does.
func depthOf(ctx context.Context) int { return commands.RequestFrom(ctx).Meta.AutomationDepth }

// Outcome is what became of a Put.
type Outcome struct {
	kbdocument.State
	Created   bool
	Unchanged bool   // the document had this content already
	Former    string // hash of the content that it had; "": there was none
	Processed bool   // Process made it searchable
}

// maxPutAttempts bounds the races with others who add a document of the same identity.
const maxPutAttempts = 5

// Put adds a document, or replaces what p gives of the one with the same identity.
func (d *Documents) Put(ctx context.Context, workspaceID string, p Put, may May) (out Outcome, err error) {
	for range maxPutAttempts {
		out, err = d.put(ctx, workspaceID, p, may)
		if refusal, ok := errors.AsType[*domain.Error](err); !ok || refusal.Code != domain.CodeAlreadyExists || p.ID != "" {
			break
		}
	}
	return out, err
}

// Check refuses what Put would refuse, and changes nothing.
func (d *Documents) Check(ctx context.Context, workspaceID string, p Put, may May) error {
	plan, err := d.plan(ctx, workspaceID, p, may)
	if err != nil {
		return err
	}
	current, err := commands.Current(ctx, d.o.Engine, kbdocument.Decider, plan.stream)
	if err == nil {
		err = plan.check(current.State)
	}
	if err == nil && current.State.ID == "" {
		err = d.checkRoom(ctx, workspaceID, p.Base.ID)
	}
	return err
}

// putPlan is a Put of which the document is known.
type putPlan struct {
	cmd    kbdocument.Put
	stream domain.StreamID
	before kbdocument.State // of the last decision
	check  commands.Precondition[kbdocument.State]
}

func (d *Documents) plan(ctx context.Context, workspaceID string, p Put, may May) (*putPlan, error) {
	id := p.ID
	if identity := p.Origin.Identity(); id == "" && identity != "" {
		var err error
		if id, err = d.findOwner(ctx, workspaceID, p.Base.ID, identity); err != nil {
			return nil, err
		}
	}
	if id == "" {
		id = "doc_" + commands.NewULID(ctx, "document")
	}
	plan := &putPlan{stream: kbdocument.Stream(workspaceID, id), cmd: kbdocument.Put{
		ID: id, Base: p.Base, Origin: p.Origin, Change: p.Change, Declared: p.Declared, Name: p.Name, By: commands.RequestFrom(ctx).Meta.UserID,
		Kept: d.o.Settings().Kept, Reading: p.Reading, Cause: cmp.Or(p.Cause, causeOf(ctx)), Depth: depthOf(ctx), Now: d.o.Now(),
	}}
	if p.Content != nil {
		if err := d.o.CheckType(p.Content.Mimetype); err != nil {
			return nil, err
		}
		plan.cmd.Content = &p.Content.Content
	}
	plan.check = func(s kbdocument.State) error {
		plan.before = s
		if p.ID != "" && s.GoneAt(plan.cmd.Now) {
			return noDocument(id)
		}
		events, err := kbdocument.Decider.Decide(s, plan.cmd)
		if err != nil {
			return err
		}
		return may(s, kbdocument.Decider.Fold(s, events...))
	}
	return plan, nil
}

func (d *Documents) put(ctx context.Context, workspaceID string, p Put, may May) (out Outcome, err error) {
	plan, err := d.plan(ctx, workspaceID, p, may)
	if err != nil {
		return out, err
	}
	current, err := commands.Current(ctx, d.o.Engine, kbdocument.Decider, plan.stream)
	if err != nil {
		return out, err
	}
	if err := plan.check(current.State); err != nil {
		return out, err // before anything is stored
	}
	if current.State.ID == "" {
		if err := d.checkRoom(ctx, workspaceID, p.Base.ID); err != nil {
			return out, err
		}
	}
	var storing errgroup.Group // beside the processing, which stores, too
	if p.Content != nil {
		storing.Go(func() error { return d.o.Blobs.PutFrom(ctx, p.Content.Reader, p.Content.Hash, p.Content.Size) })
	}
	processed := plan.process(ctx, current.State, p)
	if err := storing.Wait(); err != nil {
		return out, commands.Refused(fmt.Errorf("store a document: %w", err))
	}
	if processed != nil {
		return out, processed
	}
	done, err := commands.ExecuteNaming(ctx, d.o.Engine, kbdocument.Decider, plan.stream, kbdocument.Command(plan.cmd), namesIn(workspaceID), plan.check)
	out = Outcome{State: done.State, Created: plan.before.ID == "", Former: plan.before.Content().Hash}
	out.Processed = done.Changed && plan.cmd.Result != nil && done.State.Generation != plan.before.Generation
	out.Unchanged = !out.Created && p.Content != nil && out.Former == p.Content.Hash
	return out, err
}

// process makes a content searchable before it is recorded, if it is one that the pipeline would get.
func (plan *putPlan) process(ctx context.Context, s kbdocument.State, p Put) error {
	if p.Process == nil {
		return nil
	}
	events, err := kbdocument.Decider.Decide(s, plan.cmd)
	if err != nil {
		return err
	}
	if next := kbdocument.Decider.Fold(s, events...); next.Generation != s.Generation {
		plan.cmd.Result, err = p.Process(ctx, next)
	}
	return err
}

// findOwner returns the id of the document with an identity; "" when there is none.
func (d *Documents) findOwner(ctx context.Context, workspaceID, baseID, identity string) (string, error) {
	owner, err := commands.NameOwner(ctx, d.o.Engine, nameOf(workspaceID, baseID, identity))
	if err != nil || owner == "" {
		return "", err
	}
	return owner[strings.LastIndexByte(owner, '/')+1:], nil
}

// nameKind is the kind of the names that identities are claimed by.
const nameKind = "document"

func nameOf(workspaceID, baseID, identity string) commands.Name {
	return commands.Name{Kind: nameKind, Value: workspaceID + "\x00" + baseID + "\x00" + identity}
}

// namesIn returns what lists the names that a document of a workspace holds.
func namesIn(workspaceID string) func(kbdocument.State) []commands.Name {
	return func(s kbdocument.State) []commands.Name {
		identity := s.Identity()
		if s.ID == "" || s.Deleted || identity == "" {
			return nil
		}
		return []commands.Name{nameOf(workspaceID, s.BaseID, identity)}
	}
}

// checkRoom refuses a document beyond the limit of a base. It compares with the count of this node, so documents that
// are added at the same moment may exceed the limit.
func (d *Documents) checkRoom(ctx context.Context, workspaceID, baseID string) error {
	count, err := d.o.Count(ctx, workspaceID, baseID)
	if limit := d.o.Settings().MaxDocuments; err == nil && count >= limit {
		return domain.Refuse(domain.CodeValidation, "a knowledge base has at most %d documents", limit).Reason("limit_exceeded").With("limit", limit)
	}
	return err
}

func noDocument(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such document").With("resource", "document").With("id", id)
}

// Edit changes what the owner of a document says about it.
func (d *Documents) Edit(ctx context.Context, workspaceID, id string, base kbdocument.Base, c kbdocument.Change, may May) (kbdocument.State, error) {
	return d.execute(ctx, workspaceID, id, kbdocument.Edit{Base: base, Change: c, Cause: causeOf(ctx), Depth: depthOf(ctx), Now: d.o.Now()}, may)
}

// Delete deletes a document. Its content stays while others refer to it.
func (d *Documents) Delete(ctx context.Context, workspaceID, id string, base kbdocument.Base, may May) (kbdocument.State, error) {
	return d.execute(ctx, workspaceID, id, kbdocument.Delete{Base: base, Cause: causeOf(ctx), Now: d.o.Now()}, may)
}

// Reprocess has the pipeline process a document again.
func (d *Documents) Reprocess(ctx context.Context, workspaceID, id string, cmd kbdocument.Reprocess, may May) (kbdocument.State, error) {
	cmd.Depth, cmd.Now = depthOf(ctx), d.o.Now()
	return d.execute(ctx, workspaceID, id, cmd, may)
}

// Requeue is Reprocess for what the platform processes again by itself. A document that is gone is left out.
func (d *Documents) Requeue(ctx context.Context, workspaceID, id string, cmd kbdocument.Reprocess) error {
	_, err := d.Reprocess(ctx, workspaceID, id, cmd, always)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	return err
}

func (d *Documents) execute(ctx context.Context, workspaceID, id string, cmd kbdocument.Command, may May) (kbdocument.State, error) {
	permitted := func(s kbdocument.State) error {
		if s.GoneAt(d.o.Now()) {
			return noDocument(id)
		}
		events, err := kbdocument.Decider.Decide(s, cmd)
		if err != nil {
			return err
		}
		return may(s, kbdocument.Decider.Fold(s, events...))
	}
	done, err := commands.ExecuteNaming(ctx, d.o.Engine, kbdocument.Decider, kbdocument.Stream(workspaceID, id), cmd, namesIn(workspaceID), permitted)
	return done.State, err
}

// deleteAtOnce is how many documents one append deletes. Each is up to two events.
const deleteAtOnce = 400

// DeleteMany deletes documents and records one event about all of them. It returns how many there were. Those that
// are gone already do not count. The event is part of the last append: a service that stops in between has deleted a
// part of them, which the event of the repetition does not name.
func (d *Documents) DeleteMany(ctx context.Context, workspaceID string, base kbdocument.Base, ids []string, may May) (int, error) {
	return d.deleteMany(ctx, workspaceID, base, ids, causeOf(ctx), may)
}

// always allows every change: the platform makes it by itself.
func always(_, _ kbdocument.State) error { return nil }

// Remove is DeleteMany for what the platform deletes by itself. The event of a single document says what it was.
func (d *Documents) Remove(ctx context.Context, workspaceID string, base kbdocument.Base, ids []string, cause kbdocument.Cause) (int, error) {
	if len(ids) != 1 {
		return d.deleteMany(ctx, workspaceID, base, ids, cause, always)
	}
	_, err := d.execute(ctx, workspaceID, ids[0], kbdocument.Delete{Base: base, Cause: cause, Now: d.o.Now()}, always)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return 0, nil
	}
	return 1, err
}

// Relabel is Edit for what the platform changes by itself.
func (d *Documents) Relabel(ctx context.Context, workspaceID, id string, base kbdocument.Base, c kbdocument.Change, cause kbdocument.Cause) error {
	_, err := d.execute(ctx, workspaceID, id, kbdocument.Edit{Base: base, Change: c, Cause: cause, Depth: depthOf(ctx), Now: d.o.Now()}, always)
	return err
}

func (d *Documents) deleteMany(ctx context.Context, workspaceID string, base kbdocument.Base, ids []string, cause kbdocument.Cause, may May) (int, error) {
	bulk := kbdocument.Bulk{KnowledgeBase: base.Slug, IDs: []string{}, Cause: cause}
	for len(ids) > 0 {
		part := ids[:min(deleteAtOnce, len(ids))]
		ids = ids[len(part):]
		found, err := d.existing(ctx, workspaceID, part, may)
		if err != nil {
			return bulk.Count, err
		}
		bulk.Count += len(found)
		bulk.IDs = append(bulk.IDs, found[:min(len(found), kbdocument.MaxBulkIDs-len(bulk.IDs))]...)
		var report *kbdocument.Bulk
		if len(ids) == 0 && bulk.Count > 0 {
			report = &bulk
		}
		if err := d.deletePart(ctx, workspaceID, base, found, report); err != nil {
			return bulk.Count - len(found), err
		}
	}
	return bulk.Count, nil
}

// existing returns the documents that are there, in order. It fails when the caller may not delete one of them.
func (d *Documents) existing(ctx context.Context, workspaceID string, ids []string, may May) (found []string, err error) {
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		now, err := commands.Current(ctx, d.o.Engine, kbdocument.Decider, kbdocument.Stream(workspaceID, id))
		if err != nil {
			return nil, err
		}
		if now.State.GoneAt(d.o.Now()) {
			continue
		}
		if err := may(now.State, kbdocument.State{}); err != nil {
			return nil, err
		}
		found = append(found, id)
	}
	return found, nil
}

// deletePart deletes documents in one append, together with the event about all of them if this is the last part.
func (d *Documents) deletePart(ctx context.Context, workspaceID string, base kbdocument.Base, ids []string, report *kbdocument.Bulk) error {
	cmd := kbdocument.Command(kbdocument.Delete{Base: base, Silently: true, Now: d.o.Now()})
	others := func(list []string, own commands.EventIDs) (commits []eventstore.Commit, err error) {
		for _, id := range list {
			part, err := d.besides(ctx, workspaceID, id, cmd, own)
			if err != nil {
				return nil, err
			}
			commits = append(commits, part...)
		}
		return commits, nil
	}
	if report != nil {
		stream := kbdocument.Deletion(workspaceID, commands.NewULID(ctx, "deletion"))
		_, err := commands.ExecuteBeside(ctx, d.o.Engine, kbdocument.DeletionDecider, stream, *report,
			func(_, _ bool, own commands.EventIDs) ([]eventstore.Commit, error) { return others(ids, own) })
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := commands.ExecuteBeside(ctx, d.o.Engine, kbdocument.Decider, kbdocument.Stream(workspaceID, ids[0]), cmd,
		func(before, _ kbdocument.State, own commands.EventIDs) ([]eventstore.Commit, error) {
			commits, err := others(ids[1:], own)
			if err != nil {
				return nil, err
			}
			released, err := d.release(ctx, workspaceID, before, own)
			return append(commits, released...), err
		})
	return err
}

// besides decides a command on a document that is recorded with those on others.
func (d *Documents) besides(ctx context.Context, workspaceID, id string, cmd kbdocument.Command, own commands.EventIDs) ([]eventstore.Commit, error) {
	stream := kbdocument.Stream(workspaceID, id)
	before, err := commands.Current(ctx, d.o.Engine, kbdocument.Decider, stream)
	if err != nil || before.State.ID == "" || before.State.Deleted {
		return nil, err
	}
	c, err := commands.DecideBeside(ctx, d.o.Engine, kbdocument.Decider, stream, cmd, own)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && len(c.Facts) == 0 {
		return nil, nil // it is gone meanwhile
	}
	if err != nil {
		return nil, err
	}
	released, err := d.release(ctx, workspaceID, before.State, own)
	return append([]eventstore.Commit{c}, released...), err
}

// release frees the name of a document that is deleted.
func (d *Documents) release(ctx context.Context, workspaceID string, s kbdocument.State, own commands.EventIDs) (commits []eventstore.Commit, err error) {
	for _, n := range namesIn(workspaceID)(s) {
		cmd := name.Command(name.Release{Kind: n.Kind, Owner: kbdocument.Stream(workspaceID, s.ID).String()})
		c, err := commands.DecideBeside(ctx, d.o.Engine, name.Decider, name.Stream(n.Kind, n.Value), cmd, own)
		if err != nil {
			return nil, err
		}
		if len(c.Facts) > 0 {
			commits = append(commits, c)
		}
	}
	return commits, nil
}

// Finder finds documents that are to be deleted.
type Finder interface {
	// DueDocuments returns documents that have expired at now, the oldest first, and at most limit of them.
	DueDocuments(ctx context.Context, now time.Time, limit int) ([]Ref, error)
}

// Ref names a document and its base.
type Ref struct {
	WorkspaceID, ID string
	Base            kbdocument.Base
	Depth           int // of the run that changed the document last
}

// sweepAtOnce is how many documents one sweep deletes.
const sweepAtOnce = 500

// Expire deletes documents that due finds expired at now, and returns how many. They are hidden already.
func (d *Documents) Expire(ctx context.Context, due Finder, now time.Time) (deleted int, err error) {
	found, err := due.DueDocuments(ctx, now, sweepAtOnce)
	if err != nil {
		return 0, fmt.Errorf("find expired documents: %w", err)
	}
	for _, ref := range found {
		done, err := commands.ExecuteNaming(commands.WithDepth(ctx, ref.Depth), d.o.Engine, kbdocument.Decider, kbdocument.Stream(ref.WorkspaceID, ref.ID),
			kbdocument.Command(kbdocument.Expire{Base: ref.Base, Now: now}), namesIn(ref.WorkspaceID))
		if err != nil {
			return deleted, fmt.Errorf("delete expired document %s of workspace %s: %w", ref.ID, ref.WorkspaceID, err)
		}
		if done.Changed {
			deleted++
		}
	}
	return deleted, nil
}
