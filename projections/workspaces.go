package projections

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
)

// Workspaces is the read model of workspaces: what REST serves of each, and
// indexes by last update, slug and domain.
//
//	d{id}        the settings as JSON
//	r{id}        State, Dynamics and Record: what changes more often than the settings, and what lists show
//	u{seq}{id}   nothing; seq is that of the workspace's last change
//	x{seq}{id}   the same for deleted ones
//	s{slug}      id
//	h{domain}    id
//	l{ms}{id}    nothing: the workspace is locked until then
type Workspaces struct{}

// Document is a stored answer, ready to be served.
type Document struct {
	State
	JSON []byte
}

// Record is what is stored about a workspace besides its settings.
type Record struct {
	ID       string   `json:"id"`
	Revision uint64   `json:"revision"` // of the settings
	Seq      uint64   `json:"seq"`      // of the last event
	Updated  uint64   `json:"updated"`  // sequence of the last change of settings or content
	Meta     Listed   `json:"meta"`
	Dynamic  Dynamics `json:"dynamic"`
	Synced   uint64   `json:"synced,omitempty"` // revision known to be in a repository outside
	// Repositories says which revision is known to be in each repository, by its id.
	Repositories map[string]SyncedContent `json:"repositories,omitempty"`
	// LastRepository is the id of the repository that was last pushed to or pulled from.
	LastRepository string `json:"lastRepository,omitempty"`

	Deleted *workspace.Gone `json:"deleted,omitempty"`

	encodedMeta []byte // Meta as it is stored; nil: it has changed
}

// SyncedContent is what is known to be in a repository.
type SyncedContent struct {
	workspace.Location
	Revision uint64 `json:"revision"`
}

// addSynced records that the content up to a revision is at a location of a repository.
func (r *Record) addSynced(repositoryID string, at workspace.Location, revision uint64) {
	if repositoryID == "" {
		return
	}
	if known := r.Repositories[repositoryID]; known.Location == at {
		revision = max(revision, known.Revision)
	}
	r.Repositories = maps.Clone(r.Repositories)
	if r.Repositories == nil {
		r.Repositories = map[string]SyncedContent{}
	}
	r.Repositories[repositoryID] = SyncedContent{at, revision}
}

// Listed are the settings that lists show.
type Listed struct {
	Name              string             `json:"name"`
	Slug              string             `json:"slug,omitempty"`
	Description       document.Localized `json:"description,omitzero"`
	Photo             string             `json:"photo,omitempty"`
	Labels            []string           `json:"labels"`
	CustomDomains     []string           `json:"customDomains,omitempty"`
	RegisterWorkspace bool               `json:"registerWorkspace,omitempty"`
}

// Dynamics are what the platform says about a workspace.
type Dynamics struct {
	Dirty           bool       `json:"dirty"`
	ContentRevision uint64     `json:"contentRevision"`
	LastPush        *Sync      `json:"lastPush,omitempty"`
	LastPull        *Sync      `json:"lastPull,omitempty"`
	WriteLock       *WriteLock `json:"writeLock,omitempty"`
	CreatedAt       string     `json:"createdAt"`
	CreatedBy       string     `json:"createdBy"`
	UpdatedAt       string     `json:"updatedAt"`
	UpdatedBy       string     `json:"updatedBy"`
}

// Sync is the last push or pull of a workspace.
type Sync struct {
	Version      string `json:"version"`
	CreatedAt    string `json:"createdAt"`
	CreatedBy    string `json:"createdBy"`
	RepositoryID string `json:"repositoryId,omitempty"`
	Digest       string `json:"digest,omitempty"`
}

// WriteLock is a lock in the form of the API.
type WriteLock struct {
	Reason    string               `json:"reason"`
	LockedBy  string               `json:"lockedBy"`
	LockedAt  string               `json:"lockedAt"`
	ExpiresAt string               `json:"expiresAt,omitempty"`
	Epoch     uint64               `json:"epoch"`
	Operation *workspace.Operation `json:"operation,omitempty"`
}

// LockOf returns a lock in the form of the API.
func LockOf(l *workspace.Lock) *WriteLock {
	if l == nil {
		return nil
	}
	w := &WriteLock{Reason: l.Reason, LockedBy: l.LockedBy, LockedAt: domain.FormatTime(l.LockedAt), Epoch: l.Epoch, Operation: l.Operation}
	if l.ExpiresAt != nil {
		w.ExpiresAt = domain.FormatTime(*l.ExpiresAt)
	}
	return w
}

// Name implements Projection.
func (Workspaces) Name() string { return "workspaces.8" }

// Log implements Projection.
func (Workspaces) Log() domain.Log { return domain.State }

// Rewritten implements Rewriting.
func (Workspaces) Rewritten() string { return "drugxshl" }

// Apply implements Projection.
func (w Workspaces) Apply(tx Tx, ev domain.Recorded) error {
	delta, content := tx.delta(ev)
	switch e := ev.Data.(type) {
	case workspace.Created:
		at := domain.FormatTime(ev.At)
		rec := Record{ID: e.Workspace.ID, Dynamic: Dynamics{CreatedAt: at, CreatedBy: ev.Meta.UserID}}
		return w.put(tx, ev, nil, rec, delta, content)
	case workspace.Locked:
		lock := workspace.Lock{Reason: e.Reason, LockedBy: e.LockedBy, LockedAt: e.LockedAt, ExpiresAt: e.ExpiresAt, Epoch: e.Epoch, Operation: e.Operation}
		return w.change(tx, ev, delta, content, func(r *Record) { r.Dynamic.WriteLock = LockOf(&lock) })
	case workspace.Unlocked:
		return w.change(tx, ev, delta, content, func(r *Record) { r.Dynamic.WriteLock = nil })
	case workspace.Deleted:
		return w.change(tx, ev, delta, content, func(r *Record) { r.Deleted = &workspace.Gone{At: e.DeletedAt, Until: e.RestorableUntil} })
	case workspace.Undeleted:
		return w.change(tx, ev, delta, content, func(r *Record) { r.Deleted = nil })
	case workspace.Published:
		return w.change(tx, ev, delta, content, func(r *Record) { applyPublished(r, e) })
	case workspace.Imported:
		return w.change(tx, ev, delta, content, func(r *Record) { applyPulled(r, ev, e.Sync) })
	}
	if _, isShare := ev.Data.(workspace.Shared); isShare || content || delta.Settings != nil || changesETag(ev.Data) {
		return w.change(tx, ev, delta, content, func(*Record) {})
	}
	return nil
}

// changesETag reports whether an event changes the ETag of its workspace, besides those that change its content or
// settings.
func changesETag(ev domain.Event) bool {
	switch ev.(type) {
	case workspace.Unshared, workspace.PageShared, workspace.PageUnshared, workspace.SecretsUpdated:
		return true
	}
	return false
}

func applyPublished(r *Record, e workspace.Published) {
	if e.Synced == 0 {
		return // a native version says nothing about the outside
	}
	r.addSynced(e.Version.Repository.ID, e.Location, e.Synced)
	if r.Synced = max(r.Synced, e.Synced); e.Base == nil {
		return // something else came after it
	}
	r.LastRepository = e.Version.Repository.ID
	r.Dynamic.LastPush = &Sync{
		Version: e.Version.Name, CreatedAt: domain.FormatTime(e.Version.CreatedAt), CreatedBy: e.Version.CreatedBy, RepositoryID: e.Version.Repository.ID,
	}
}

// applyPulled records a pull: the repository has the pulled content, and the workspace has all of it.
func applyPulled(r *Record, ev domain.Recorded, s *workspace.Integration) {
	if s == nil {
		return
	}
	if s.Clean {
		r.Synced = ev.Seq
		r.addSynced(s.RepositoryID, s.Location, ev.Seq)
	}
	r.LastRepository = cmp.Or(s.RepositoryID, r.LastRepository)
	if s.Pulled != nil {
		r.Dynamic.LastPull = &Sync{
			Version: s.Pulled.Version, Digest: s.Pulled.Digest, CreatedAt: domain.FormatTime(ev.At), CreatedBy: ev.Meta.UserID, RepositoryID: s.RepositoryID,
		}
	}
}

func (w Workspaces) change(tx Tx, ev domain.Recorded, delta workspace.Delta, content bool, do func(*Record)) error {
	id := ev.Stream.ID
	value, ok, err := tx.getShared(recordKey(id))
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("workspace %s was never created", id)
	}
	var before Record
	if err := before.decode(value, false); err != nil {
		return fmt.Errorf("record of workspace %s: %w", id, err)
	}
	after := before
	do(&after)
	return w.put(tx, ev, &before, after, delta, content)
}

// put stores a record and its index entries.
func (w Workspaces) put(tx Tx, ev domain.Recorded, before *Record, after Record, delta workspace.Delta, content bool) error {
	after.Seq = ev.Seq
	if content {
		after.Updated, after.Dynamic.ContentRevision = ev.Seq, ev.Seq
		after.Dynamic.UpdatedAt, after.Dynamic.UpdatedBy = domain.FormatTime(ev.At), ev.Meta.UserID
	}
	after.Dynamic.Dirty = after.Dynamic.ContentRevision > after.Synced
	if s := delta.Settings; s != nil {
		after.Revision++
		after.Meta = Listed{
			Name: s.Name, Slug: s.Slug, Description: s.Description, Photo: s.Photo, Labels: append([]string{}, s.Labels...),
			CustomDomains: s.CustomDomains, RegisterWorkspace: s.RegisterWorkspace,
		}
		after.encodedMeta = nil
		if err := w.putSettings(tx, after.ID, *s); err != nil {
			return err
		}
	}
	if err := w.updateIndexes(tx, before, after); err != nil {
		return err
	}
	record, err := after.encode()
	if err != nil {
		return err
	}
	return tx.Set(recordKey(after.ID), record)
}

// encode returns r as it is stored: its State, the length of Dynamic, Dynamic as JSON, and the rest as JSON. It is encoded
// and decoded with each change of a workspace.
func (r *Record) encode() ([]byte, error) {
	dynamic, err := r.Dynamic.encode()
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(dynamic)+512)
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, r.Revision), r.Seq)
	b = appendPart(b, dynamic)
	o := domain.NewObjectEncoder(b)
	o.Text("id", r.ID)
	o.Int("updated", int64(r.Updated))
	if r.encodedMeta != nil {
		o.Encoded("meta", r.encodedMeta)
	} else {
		o.Open("meta")
		r.Meta.encode(&o)
		o.Close()
	}
	o.IntIfAny("synced", int64(r.Synced))
	if len(r.Repositories) > 0 {
		o.Any("repositories", r.Repositories)
	}
	o.TextIfAny("lastRepository", r.LastRepository)
	if r.Deleted != nil {
		o.Any("deleted", r.Deleted)
	}
	return o.End()
}

// decode sets r, which is empty, from what is stored. The description is only needed by those who show it.
func (r *Record) decode(value []byte, withDescription bool) error {
	state, dynamic, rest, err := cutRecord(value)
	if err != nil {
		return err
	}
	r.Revision, r.Seq = state.Revision, state.Seq
	if err := r.Dynamic.decode(dynamic); err != nil {
		return err
	}
	return domain.VisitMembers(rest, func(key, value []byte) error {
		switch string(key) {
		case "id":
			return domain.DecodeText(&r.ID, value)
		case "updated":
			return domain.DecodeInt(&r.Updated, value)
		case "meta":
			r.encodedMeta = value
			return r.Meta.decode(value, withDescription)
		case "synced":
			return domain.DecodeInt(&r.Synced, value)
		case "repositories":
			return json.Unmarshal(value, &r.Repositories)
		case "lastRepository":
			return domain.DecodeText(&r.LastRepository, value)
		case "deleted":
			return json.Unmarshal(value, &r.Deleted)
		}
		return nil
	})
}

// cutRecord divides a record as it is stored.
func cutRecord(value []byte) (s State, dynamic, rest []byte, err error) {
	if len(value) < 17 {
		return s, nil, nil, errHeader
	}
	s = State{Revision: binary.BigEndian.Uint64(value), Seq: binary.BigEndian.Uint64(value[8:])}
	dynamic, rest, ok := cutPart(value[16:])
	if !ok {
		return s, nil, nil, errHeader
	}
	return s, dynamic, rest, nil
}

// encode adds the members of l.
func (l *Listed) encode(o *domain.ObjectEncoder) {
	o.Text("name", l.Name)
	o.TextIfAny("slug", l.Slug)
	if !l.Description.IsZero() {
		description, err := l.Description.MarshalJSON()
		if err != nil {
			o.Fail(err)
		}
		o.JSON("description", description)
	}
	o.TextIfAny("photo", l.Photo)
	if l.Labels == nil {
		o.Encoded("labels", []byte("null"))
	} else {
		o.Encoded("labels", domain.AppendTexts(nil, l.Labels))
	}
	o.TextsIfAny("customDomains", l.CustomDomains)
	o.IfTrue("registerWorkspace", l.RegisterWorkspace)
}

// decode sets l, which is empty, from what is stored.
func (l *Listed) decode(body []byte, withDescription bool) error {
	return domain.VisitMembers(body, func(key, value []byte) (err error) {
		switch string(key) {
		case "name":
			return domain.DecodeText(&l.Name, value)
		case "slug":
			return domain.DecodeText(&l.Slug, value)
		case "description":
			if withDescription {
				return json.Unmarshal(value, &l.Description)
			}
		case "photo":
			return domain.DecodeText(&l.Photo, value)
		case "labels":
			l.Labels, err = domain.DecodeTexts(value)
		case "customDomains":
			l.CustomDomains, err = domain.DecodeTexts(value)
		case "registerWorkspace":
			return domain.DecodeBool(&l.RegisterWorkspace, value)
		}
		return err
	})
}

// encode returns what encoding/json makes of d.
func (d *Dynamics) encode() ([]byte, error) {
	o := domain.NewObjectEncoder(make([]byte, 0, 256))
	o.Bool("dirty", d.Dirty)
	o.Int("contentRevision", int64(d.ContentRevision))
	if d.LastPush != nil {
		o.Any("lastPush", d.LastPush)
	}
	if d.LastPull != nil {
		o.Any("lastPull", d.LastPull)
	}
	if d.WriteLock != nil {
		o.Any("writeLock", d.WriteLock)
	}
	o.Text("createdAt", d.CreatedAt)
	o.Text("createdBy", d.CreatedBy)
	o.Text("updatedAt", d.UpdatedAt)
	o.Text("updatedBy", d.UpdatedBy)
	return o.End()
}

// decode sets d, which is empty, from what is stored.
func (d *Dynamics) decode(body []byte) error {
	return domain.VisitMembers(body, func(key, value []byte) error {
		switch string(key) {
		case "dirty":
			return domain.DecodeBool(&d.Dirty, value)
		case "contentRevision":
			return domain.DecodeInt(&d.ContentRevision, value)
		case "lastPush":
			return json.Unmarshal(value, &d.LastPush)
		case "lastPull":
			return json.Unmarshal(value, &d.LastPull)
		case "writeLock":
			return json.Unmarshal(value, &d.WriteLock)
		case "createdAt":
			return domain.DecodeText(&d.CreatedAt, value)
		case "createdBy":
			return domain.DecodeText(&d.CreatedBy, value)
		case "updatedAt":
			return domain.DecodeText(&d.UpdatedAt, value)
		case "updatedBy":
			return domain.DecodeText(&d.UpdatedBy, value)
		}
		return nil
	})
}

func (Workspaces) putSettings(tx Tx, id string, s workspace.Settings) error {
	doc := workspace.Snapshot{ID: id, Settings: s}.Document()
	if s.Photo != "" {
		doc.Set("logo", s.Photo)
	}
	if len(s.Labels) == 0 {
		doc.Set("labels", []any{})
	}
	body, err := document.JSON(doc)
	if err != nil {
		return err
	}
	return tx.Set(documentKey(id), body)
}

// updateIndexes updates the index entries of a workspace.
func (Workspaces) updateIndexes(tx Tx, before *Record, after Record) error {
	var stale []indexRow
	if before != nil {
		stale = indexRowsOf(before)
	}
	fresh := indexRowsOf(&after)
	for _, e := range stale {
		if e.isIn(fresh) {
			continue
		}
		if err := tx.Delete(e.key); err != nil {
			return err
		}
	}
	for _, e := range fresh {
		if e.isIn(stale) {
			continue
		}
		if err := tx.Set(e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

// indexRow is an entry of an index of workspaces.
type indexRow struct{ key, value []byte }

// isIn reports whether a list has an entry with the same key.
func (e indexRow) isIn(list []indexRow) bool {
	return slices.ContainsFunc(list, func(other indexRow) bool { return bytes.Equal(e.key, other.key) })
}

// indexRowsOf returns the index entries of a workspace.
func indexRowsOf(r *Record) []indexRow {
	if r.Deleted != nil {
		return []indexRow{{key: updateKey('x', r.Updated, r.ID)}}
	}
	entries := append(make([]indexRow, 0, 4), indexRow{key: updateKey('u', r.Updated, r.ID)})
	if r.Meta.Slug != "" {
		entries = append(entries, indexRow{append([]byte{'s'}, r.Meta.Slug...), []byte(r.ID)})
	}
	for _, host := range r.Meta.CustomDomains {
		entries = append(entries, indexRow{append([]byte{'h'}, host...), []byte(r.ID)})
	}
	if r.Meta.RegisterWorkspace {
		entries = append(entries, indexRow{key: updateKey('g', r.Updated, r.ID)})
	}
	if lock := r.Dynamic.WriteLock; lock != nil && lock.ExpiresAt != "" {
		if until, err := time.Parse(domain.Timestamp, lock.ExpiresAt); err == nil {
			entries = append(entries, indexRow{key: updateKey('l', uint64(until.UnixMilli()), r.ID)})
		}
	}
	return entries
}

func documentKey(id string) []byte { return append([]byte{'d'}, id...) }
func recordKey(id string) []byte   { return append([]byte{'r'}, id...) }

func updateKey(space byte, seq uint64, id string) []byte {
	key := append(make([]byte, 0, 9+len(id)), space)
	return append(binary.BigEndian.AppendUint64(key, seq), id...)
}

var errHeader = errors.New("a stored document is damaged")

// State identifies the state of a workspace. As long as it is the same, the read models of the
// workspace are unchanged: settings, documents and shares.
type State struct {
	Revision   uint64 // how often the settings changed
	Seq        uint64 // of the last event of the workspace that changed any of it
	Generation uint32 // of the read models
}

// Expired lists the workspaces whose lock has expired at a time.
func (w Workspaces) Expired(r Reader, now time.Time) (ids []string, err error) {
	err = r.Iterate(w, Span{Prefix: []byte{'l'}, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[1:]) >= uint64(now.UnixMilli()) {
			return false, nil
		}
		ids = append(ids, string(key[9:]))
		return true, nil
	})
	return ids, err
}

// Get returns the workspace with this id, without its content; ok is false when
// there is none, or it was deleted.
func (w Workspaces) Get(r Reader, id string) (doc Document, ok bool, err error) {
	settings, ok, err := r.Get(w, documentKey(id))
	if err != nil || !ok {
		return Document{}, false, err
	}
	state, dynamic, ok, err := w.readState(r, id)
	if err != nil || !ok || len(settings) < 2 || len(dynamic) < 2 {
		return Document{}, false, errors.Join(err, errHeader)
	}
	body := append(settings[:len(settings)-1], ',')
	return Document{State: state, JSON: append(body, dynamic[1:]...)}, true, nil
}

// State returns the state that a workspace is in; ok is false when there is none.
func (w Workspaces) State(r Reader, id string) (s State, ok bool, err error) {
	s, _, ok, err = w.readState(r, id)
	return s, ok, err
}

// readState returns what changes more often than the settings, as JSON.
func (w Workspaces) readState(r Reader, id string) (s State, dynamic []byte, ok bool, err error) {
	ok, err = r.read(w, recordKey(id), func(value []byte) (err error) {
		s, dynamic, _, err = cutRecord(value)
		dynamic = bytes.Clone(dynamic)
		return err
	})
	s.Generation = r.gen.num
	return s, dynamic, ok && err == nil, err
}

// Record returns the record of a workspace, also of a deleted one.
func (w Workspaces) Record(r Reader, id string) (rec Record, ok bool, err error) {
	value, ok, err := r.Get(w, recordKey(id))
	if err != nil || !ok {
		return rec, false, err
	}
	err = rec.decode(value, true)
	return rec, err == nil, err
}

// Settings returns the settings document of a workspace.
func (w Workspaces) Settings(r Reader, id string) (*document.Map, bool, error) {
	value, ok, err := r.Get(w, documentKey(id))
	if err != nil || !ok {
		return nil, false, err
	}
	doc := document.MapOf()
	return doc, true, json.Unmarshal(value, doc)
}

// BySlug returns the id of the workspace that has a slug, "" for none.
func (w Workspaces) BySlug(r Reader, slug string) (string, error) {
	id, _, err := r.Get(w, []byte("s"+slug))
	return string(id), err
}

// ByDomain returns the id of the workspace whose pages have a host, "" for none.
func (w Workspaces) ByDomain(r Reader, host string) (string, error) {
	id, _, err := r.Get(w, []byte("h"+host))
	return string(id), err
}

// List visits all workspaces, or the deleted ones, the last updated first, until
// visit returns false.
func (w Workspaces) List(r Reader, deleted bool, visit func(Record) (more bool)) error {
	space := byte('u')
	if deleted {
		space = 'x'
	}
	return w.records(r, space, visit)
}

// records visits the records of an index by the last update, the newest first.
func (w Workspaces) records(r Reader, space byte, visit func(Record) (more bool)) error {
	return w.newestFirst(r, space, func(id string) (bool, error) {
		rec, ok, err := w.Record(r, id)
		if err != nil || !ok {
			return false, errors.Join(err, fmt.Errorf("workspace %s is in the index, but not there", id))
		}
		return visit(rec), nil
	})
}

// IDs returns the ids of all workspaces, the last updated first.
func (w Workspaces) IDs(r Reader) (ids []string, err error) {
	err = w.newestFirst(r, 'u', func(id string) (bool, error) { ids = append(ids, id); return true, nil })
	return ids, err
}

// newestFirst visits the ids of an index by the last update.
func (w Workspaces) newestFirst(r Reader, space byte, visit func(id string) (bool, error)) error {
	return r.Iterate(w, Span{Prefix: []byte{space}, Reverse: true, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		return visit(string(key[9:]))
	})
}

// Registered returns the workspaces that automations of others may list.
func (w Workspaces) Registered(r Reader) (list []Record, err error) {
	err = w.records(r, 'g', func(rec Record) bool { list = append(list, rec); return true })
	return list, err
}
