// Package workspace holds the rules of a workspace: its settings, the manifest of
// its content, its write lock, secrets and shares, all in one aggregate so that
// they can never disagree.
package workspace

import (
	"slices"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
)

// Decider is the rule of the workspace aggregate.
var Decider = domain.Decider[State, Command]{Kind: "workspace", Version: 4, Decide: decide, Evolve: evolve}

// Stream returns the stream of the workspace with this id. A workspace is its
// own scope.
func Stream(id string) domain.StreamID { return Decider.Stream(id, id) }

// State is a workspace. The zero State is one that does not exist.
type State struct {
	ID             string          `json:"id"`
	Settings       Settings        `json:"settings"`
	Security       access.Security `json:"security,omitzero"`
	SecuritySource *document.Map   `json:"securitySource,omitempty"`
	Shares         []access.Share  `json:"shares,omitempty"` // one for each target

	Items   map[string]Item   `json:"items,omitempty"`   // the content, by path
	Secrets map[string]Secret `json:"secrets,omitempty"` // by name
	Stage   string            `json:"stage,omitempty"`   // name of what is put down
	Staged  []Entry           `json:"staged,omitempty"`

	Lock    *Lock  `json:"lock,omitempty"`
	Epoch   uint64 `json:"epoch,omitempty"` // of the last lock
	Deleted *Gone  `json:"deleted,omitempty"`

	Versions map[string]Version `json:"versions,omitempty"` // by name
	Sync     map[string]Sync    `json:"sync,omitempty"`     // by repository
	Conflict *Conflicted        `json:"conflict,omitempty"` // of the lock
	Edited   bool               `json:"edited,omitempty"`   // its content is not that of a new workspace

	// Revisions count the changes of each object that has an ETag.
	Revision         uint64 `json:"revision"` // of the settings
	SecurityRevision uint64 `json:"securityRevision"`
	Changes          uint64 `json:"changes"` // of documents
}

// Command is what can be asked of a workspace.
type Command interface{ workspaceCommand() }

type (
	// Create makes the workspace ID, owned by Owners. Creating the platform
	// workspace twice does nothing, so that every node may ask for it at start.
	Create struct {
		ID       string
		Owners   []string // user ids; none: nobody owns it
		Settings Settings
		Security *SecurityChange // nil: that of a new workspace
		Entries  []Entry
		Stage    string
		From     *Named       // the workspace it is a copy of
		Import   *Import      // what an import that makes it tells
		Sync     *Integration // what it says about its repository
	}
	// Update replaces the settings that Patch names; null removes one. Credentials,
	// when the patch has repositories, are theirs; Untold is what is not to be told of the
	// value of the config that it has.
	Update struct {
		Patch       *document.Map
		Credentials map[string][]byte
		Untold      Untold
	}
	// PutBlock sets one block; nil removes it. With Merge it changes the fields that Block
	// names of one that is there, and null removes a field.
	PutBlock struct {
		Slug  string
		Block *document.Map
		Merge bool
	}
)

func (Create) workspaceCommand()   {}
func (Update) workspaceCommand()   {}
func (PutBlock) workspaceCommand() {}

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Create:
		return create(s, c)
	case Undelete:
		return undelete(s, c)
	case Push:
		return push(s, c)
	case Stage:
		return stage(s, c)
	}
	if s.ID == "" || s.Deleted != nil {
		return nil, noWorkspace()
	}
	switch c := cmd.(type) {
	case Update:
		return update(s, c)
	case PutBlock:
		return putBlock(s, c)
	case Save:
		return save(s, c)
	case Remove:
		return remove(s, c)
	case Replace:
		return replace(s, c)
	case Secure:
		return secure(s, c)
	case Share:
		return share(s, c)
	case Unshare:
		return unshare(s, c)
	case SharePage:
		return sharePage(s, c)
	case UnsharePage:
		return unsharePage(s, c)
	case SetSecrets:
		return setSecrets(s, c)
	case TakeLock:
		return takeLock(s, c)
	case Release:
		return release(s, c)
	case Clear:
		return clearLock(s)
	case Expire:
		return expire(s, c)
	case TakeOver:
		return takeOver(s, c)
	case Renew:
		return renew(s, c)
	case Mark:
		return mark(s, c)
	case Intend:
		return intend(s, c)
	case Conflict:
		return conflict(s, c)
	case DeleteVersion:
		return deleteVersion(s, c)
	case Delete:
		return deleteIt(s, c)
	default:
		return nil, domain.Refuse(domain.CodeInternal, "workspace: unknown command %T", cmd)
	}
}

func create(s State, c Create) ([]domain.Event, error) {
	switch {
	case s.ID == domain.Platform:
		return nil, nil
	case s.ID != "":
		return nil, domain.Refuse(domain.CodeAlreadyExists, "workspace %s exists already", c.ID).
			With("field", "id").With("value", c.ID)
	}
	if err := c.Settings.validate(); err != nil {
		return nil, err
	}
	if c.From == nil && c.Import == nil {
		var err error
		if c.Settings.Config, err = keepSecrets(nil, c.Settings.Config); err != nil {
			return nil, err
		}
	}
	if err := (State{}).roomFor(append(slices.Clone(s.Staged), c.Entries...), nil); c.Stage != "" && err != nil {
		return nil, err
	}
	made := Created{
		Workspace: Snapshot{ID: c.ID, Settings: c.Settings}, Security: access.Default(c.ID),
		Entries: c.Entries, Stage: c.Stage,
	}
	for _, userID := range c.Owners {
		made.Shares = append(made.Shares, access.OwnedBy(userID))
	}
	if c.Security != nil {
		made.Security, made.Source = c.Security.Security, c.Security.Source
		if err := made.Security.Validate(made.Shares); err != nil {
			return nil, err
		}
	}
	made.Security.Authentication.ClientID = ClientID(c.ID)
	if c.Stage != "" && c.Stage != s.Stage {
		return nil, superseded()
	}
	events := []domain.Event{made}
	if c.From != nil {
		events = append(events, Duplicated{made.Workspace, *c.From})
	}
	if c.Import != nil {
		c.Import.Workspace = Named{ID: c.ID, Slug: c.Settings.Slug, Name: c.Settings.Name}
		events = append(events, Imported{Import: *c.Import, Sync: c.Sync})
	}
	return events, nil
}

func update(s State, c Update) ([]domain.Event, error) {
	next := s.Settings
	if err := next.change(c.Patch); err != nil {
		return nil, err
	}
	if _, given := c.Patch.Get("config"); given {
		var err error
		if next.Config, err = keepSecrets(s.Settings.Config, next.Config); err != nil {
			return nil, err
		}
		next = next.Follow(s.Settings, c.Untold)
	}
	if _, given := c.Patch.Get("repositories"); given {
		next.Credentials = c.Credentials
	}
	return settle(s, next)
}

// settle is the event of new settings: it names what changed when that is one
// thing that has an event of its own.
func settle(s State, next Settings) ([]domain.Event, error) {
	if next.equal(s.Settings) {
		return nil, nil
	}
	if err := next.validate(); err != nil {
		return nil, err
	}
	now := Snapshot{ID: s.ID, Settings: next}
	but := func(change func(*Settings)) bool {
		a, b := s.Settings, next
		change(&a)
		change(&b)
		return a.equal(b)
	}
	switch {
	case but(func(x *Settings) { x.Config, x.Untold = nil, nil }):
		return []domain.Event{Configured{now, s.Settings.told()}}, nil
	case but(func(x *Settings) { x.Blocks = nil }):
		return []domain.Event{BlocksUpdated{now}}, nil
	case but(func(x *Settings) { x.Events = nil }):
		return []domain.Event{EventsUpdated{now}}, nil
	}
	ev := Updated{Workspace: now, Aside: next.sameContent(s.Settings)}
	if next.Slug != s.Settings.Slug {
		ev.OldSlug = s.Settings.Slug
	}
	return []domain.Event{ev}, nil
}

func putBlock(s State, c PutBlock) ([]domain.Event, error) {
	next := s.Settings
	next.Blocks = s.Settings.Blocks.Copy()
	before, known := next.Blocks.Get(c.Slug)
	if !known && (c.Merge || c.Block == nil) {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such block").With("resource", "block").With("id", c.Slug)
	}
	if c.Merge {
		block, _ := before.(*document.Map)
		block = block.Copy()
		for key, v := range c.Block.All() {
			if block.Set(key, v); v == nil {
				block.Delete(key)
			}
		}
		c.Block = block
	}
	if c.Block != nil {
		next.Blocks.Set(c.Slug, c.Block)
		return settle(s, next)
	}
	if next.Blocks.Delete(c.Slug); next.Blocks.Len() == 0 {
		next.Blocks = nil
	}
	return settle(s, next)
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Created:
		s.ID, s.Shares = e.Workspace.ID, e.Shares
	case Shared:
		s.Shares = access.PutShare(s.Shares, access.Share{Target: e.Target, Permissions: e.Permissions})
	case Unshared:
		s.Shares = access.DropShare(s.Shares, e.Target.String())
	case PageShared:
		s = s.pageShared(e)
	case PageUnshared:
		s = s.pageUnshared(e)
	case SecretsUpdated:
		s = s.secretsUpdated(e)
	case Staged:
		s = s.staged(e)
	case Locked:
		s.Epoch = e.Epoch
		s.Lock = &Lock{Reason: e.Reason, LockedBy: e.LockedBy, LockedAt: e.LockedAt, ExpiresAt: e.ExpiresAt, Epoch: e.Epoch, Operation: e.Operation}
		if e.Conflict != nil {
			s.Conflict = e.Conflict
		}
	case Unlocked:
		s.Lock, s.Conflict = nil, nil
	case VersionDeleted:
		s = s.versionDeleted(e)
	case Deleted:
		s.Deleted = &Gone{At: e.DeletedAt, Until: e.RestorableUntil}
	case Undeleted:
		s.Deleted = nil
	}
	d, content := DeltaOf(ev)
	_, isNew := ev.(Created)
	s.Edited = s.Edited || content && (!isNew || len(d.Entries) > 0 || d.Stage != "")
	return s.synced(ev).apply(d)
}
