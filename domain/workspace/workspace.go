// Package workspace holds the rules of a workspace: its settings, the manifest of
// its content, its write lock, secrets and shares, all in one aggregate so that
// they can never disagree.
package workspace

import (
	"net/url"
	"slices"
	"strings"
	"time"

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

	Items   Items             `json:"items,omitzero"`    // the content, by path
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
		MaxBases int          // how many knowledge bases it has at most; 0: no limit
	}
	// Update replaces the settings that Patch names; null removes one. Credentials,
	// when the patch has repositories, are theirs; HiddenPaths is what is not to be told of the
	// value of the config that it has.
	Update struct {
		Patch       *document.Map
		Credentials map[string][]byte
		HiddenPaths HiddenPaths
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
	case ShareDocument:
		return shareDocument(s, c)
	case UnshareDocument:
		return unshareDocument(s, c)
	case PublishAgent:
		return publishAgent(s, c)
	case UnpublishAgent:
		return unpublishAgent(s, c)
	case SetSecrets:
		return setSecrets(s, c)
	case AcquireLock:
		return acquireLock(s, c)
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
		return deleteWorkspace(s, c)
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
		if c.Settings.Config, err = restoreMasked(nil, c.Settings.Config); err != nil {
			return nil, err
		}
	}
	if err := (State{}).checkLimits(append(slices.Clone(s.Staged), c.Entries...), nil, c.MaxBases); err != nil {
		return nil, err
	}
	created := Created{
		Workspace: Snapshot{ID: c.ID, Settings: c.Settings}, Security: access.Default(c.ID),
		Entries: c.Entries, Stage: c.Stage,
	}
	for _, userID := range c.Owners {
		created.Shares = append(created.Shares, access.OwnedBy(userID))
	}
	if c.Security != nil {
		created.Security, created.Source = c.Security.Security, c.Security.Source
		if err := created.Security.Validate(created.Shares); err != nil {
			return nil, err
		}
	}
	created.Security.Authentication.ClientID = ClientID(c.ID)
	if c.Stage != "" && c.Stage != s.Stage {
		return nil, superseded()
	}
	events := []domain.Event{created}
	if c.From != nil {
		events = append(events, Duplicated{created.Workspace, *c.From})
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
		if next.Config, err = restoreMasked(s.Settings.Config, next.Config); err != nil {
			return nil, err
		}
		next = next.WithHiddenOf(s.Settings, c.HiddenPaths)
	}
	if _, given := c.Patch.Get("repositories"); given {
		next.Credentials = c.Credentials
	}
	return settingsEvents(s, next)
}

// settingsEvents is the event of new settings: it names what changed when that is one
// thing that has an event of its own.
func settingsEvents(s State, next Settings) ([]domain.Event, error) {
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
	case but(func(x *Settings) { x.Config, x.HiddenPaths = nil, nil }):
		return []domain.Event{Configured{now, s.Settings.publicConfig()}}, nil
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
		return settingsEvents(s, next)
	}
	if next.Blocks.Delete(c.Slug); next.Blocks.Len() == 0 {
		next.Blocks = nil
	}
	return settingsEvents(s, next)
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Created:
		s.ID, s.Shares = e.Workspace.ID, e.Shares
	case Shared:
		s.Shares = access.PutShare(s.Shares, access.Share{Target: e.Target, Permissions: e.Permissions})
	case Unshared:
		s.Shares = access.DropShare(s.Shares, e.Target.String())
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
	s = s.synced(ev).apply(d)
	switch e := ev.(type) {
	case AgentUnpublished:
		s = s.unpublished(e)
	default:
		if shared, unshared := ShareOf(ev); shared != nil {
			s = s.documentShared(*shared)
		} else if unshared != nil {
			s = s.documentUnshared(*unshared)
		}
	}
	return s
}

type (
	// Delete deletes the workspace; it can be brought back until a time.
	Delete struct {
		Now           time.Time
		RestorableFor time.Duration // EVENTS_SCHEDULED_DELETION_DAYS
	}
	// Undelete brings a deleted workspace back.
	Undelete struct {
		Slug string // "": the one it had
		Now  time.Time
	}
)

func (Delete) workspaceCommand()   {}
func (Undelete) workspaceCommand() {}

type (
	// Deleted says that the workspace is gone, and until when it can come back.
	Deleted struct {
		ID              string    `json:"workspaceId"`
		Slug            string    `json:"workspaceSlug"`
		Name            string    `json:"name"`
		DeletedAt       time.Time `json:"deletedAt"`
		RestorableUntil time.Time `json:"restorableUntil"`
	}
	// Undeleted says that it came back, under which slug.
	Undeleted struct {
		ID   string `json:"workspaceId"`
		Slug string `json:"workspaceSlug"`
		Name string `json:"name"`
		// Settings are those with another slug, when it came back under one.
		Settings *Settings `json:"settings,omitempty"`
	}
)

// EventType implements domain.Event.
func (Deleted) EventType() string { return "workspaces.deleted" }

// EventType implements domain.Event.
func (Undeleted) EventType() string { return "workspaces.undeleted" }

func deleteWorkspace(s State, c Delete) ([]domain.Event, error) {
	if s.ID == domain.Platform {
		return nil, domain.Refuse(domain.CodeConflict, "the platform workspace cannot be deleted").Reason("protected")
	}
	return []domain.Event{Deleted{
		ID: s.ID, Slug: s.Settings.Slug, Name: s.Settings.Name,
		DeletedAt: c.Now, RestorableUntil: c.Now.Add(c.RestorableFor),
	}}, nil
}

func undelete(s State, c Undelete) ([]domain.Event, error) {
	switch {
	case s.ID == "" || s.Deleted != nil && !c.Now.Before(s.Deleted.Until):
		return nil, noWorkspace()
	case s.Deleted == nil:
		return nil, domain.Refuse(domain.CodeConflict, "the workspace is not deleted").Reason("not_deleted")
	}
	ev := Undeleted{ID: s.ID, Slug: s.Settings.Slug, Name: s.Settings.Name}
	if c.Slug != "" && c.Slug != s.Settings.Slug {
		next := s.Settings
		next.Slug, ev.Slug, ev.Settings = c.Slug, c.Slug, &next
	}
	return []domain.Event{ev}, nil
}

// Gone says when a workspace was deleted and until when it can come back.
type Gone struct {
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
}

// minRunTime is how long a deletion can start automations at least, however soon the
// workspace may be erased.
const minRunTime = time.Hour

// RunsUntil returns until when automations that the deletion triggers can be started.
func (g *Gone) RunsUntil() time.Time {
	if least := g.At.Add(minRunTime); least.After(g.Until) {
		return least
	}
	return g.Until
}

// Limits of the content of a workspace.
const (
	// MaxDocuments is how many documents a workspace has: what an archive holds.
	MaxDocuments = 5000
	// MaxInstances is how many of them are app instances.
	MaxInstances = 200
	// maxSwitch bounds what one step changes: it is one step to the read models
	// too.
	maxSwitch = 2_000_000
	// maxKey bounds the fields of an index that mean nothing here.
	maxKey = 200
)

// isInstance reports whether a document is an app instance.
func isInstance(path string) bool { return strings.HasPrefix(path, "imports/") }

// checkLimits refuses content that would be more than a workspace holds.
func (s State) checkLimits(entries []Entry, deleted []string, maxBases int) error {
	after, documents, weight := s.Items, s.Items.Len(), 0
	gone := make(map[string]bool, len(deleted))
	for _, path := range deleted {
		gone[path] = true
		weight += len(path) + 60
		documents--
		after.count(path, -1)
	}
	for _, e := range entries {
		weight += 2*len(e.Path) + 120
		if s.Items.Has(e.Path) && !gone[e.Path] || e.From != "" {
			continue
		}
		documents++
		after.count(e.Path, 1)
	}
	switch {
	case documents > MaxDocuments:
		return limitExceeded("documents", MaxDocuments)
	case after.instances > MaxInstances:
		return limitExceeded("app instances", MaxInstances)
	case maxBases > 0 && after.bases > max(maxBases, s.Items.bases): // fewer may be allowed by now
		return limitExceeded("knowledge bases", maxBases)
	case weight > maxSwitch:
		return domain.Refuse(domain.CodeValidation, "this change is too large: split it into parts").Reason("limit_exceeded").With("limit", "change")
	}
	return nil
}

func limitExceeded(what string, limit int) error {
	return domain.Refuse(domain.CodeValidation, "a workspace has at most %d %s", limit, what).
		Reason("limit_exceeded").With("limit", limit)
}

// credentials are the fields of a repository that must not stand there in clear.
var credentials = []string{"password", "sshkey", "passphrase"}

// plainCredentials lists what the repositories say in clear that they must not:
// events and reads show it. A mask stands for what is sealed.
func plainCredentials(a Settings) (errs []domain.FieldError) {
	const message = "must not be here in clear: keep it in a secret and refer to it as {{secret.NAME}}"
	for id, v := range a.Repositories.All() {
		config := asMap(valueOf(asMap(v), "config"))
		auth := asMap(valueOf(config, "auth"))
		for _, field := range credentials {
			text, _ := valueOf(auth, field).(string)
			if _, sealed := a.Credentials[id+"/"+field]; text == "" || IsSecretReference(text) || text == Mask && sealed {
				continue
			}
			errs = append(errs, domain.FieldError{Field: "repositories." + id + ".config.auth." + field, Message: message})
		}
		if hasCredentials(config.Text("url")) {
			errs = append(errs, domain.FieldError{Field: "repositories." + id + ".config.url", Message: message})
		}
	}
	return errs
}

// hasCredentials reports whether an address has some. The user of one for SSH is
// none.
func hasCredentials(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return false
	}
	_, password := u.User.Password()
	return u.Scheme != "ssh" || password
}

func valueOf(m *document.Map, key string) any {
	v, _ := m.Get(key)
	return v
}
