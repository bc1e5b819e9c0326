package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/automation"
	"svc/domain/document"
)

// Entry is one document of the content as an event carries it. The index and
// the security document are no entries: they have fields of their own.
type Entry struct {
	Path     string `json:"path"`           // automations/charge
	From     string `json:"from,omitempty"` // the path it had before, when it was renamed
	Hash     string `json:"hash"`           // of Body
	Checksum string `json:"checksum"`       // of its file
	// Body is the document as JSON. It is absent when the document is kept apart
	// because of its size; About then tells what lists show.
	Body  json.RawMessage `json:"body,omitempty"`
	About *document.Map   `json:"about,omitempty"`
	Apart bool            `json:"apart,omitempty"`
	// Review tells of an automation that is kept apart what is wrong with it and which names
	// it uses.
	Review *automation.Review `json:"review,omitempty"`

	ID          string            `json:"id,omitempty"`        // of a page, a knowledge base or an agent
	Public      bool              `json:"public,omitempty"`    // of a page or an agent: shared with everyone
	Frozen      string            `json:"frozen,omitempty"`    // of an agent: the hash of what publishing freezes
	Published   bool              `json:"published,omitempty"` // of an agent: it is what callers get
	Endpoint    string            `json:"endpoint,omitempty"`  // of an automation: the path it answers
	App         string            `json:"app,omitempty"`       // of an app instance
	Events      *document.Map     `json:"events,omitempty"`    // computed: emit, listen, autocomplete
	Sealed      map[string][]byte `json:"sealed,omitempty"`    // settings that are secret, by name
	HiddenPaths HiddenPaths       `json:"untold,omitempty"`    // in the config of an app instance
}

// Item is what decisions know of a document.
type Item struct {
	Hash        string            `json:"hash"`
	Revision    uint64            `json:"revision"` // its ETag names it; no two documents of a workspace share one
	ID          string            `json:"id,omitempty"`
	Public      bool              `json:"public,omitempty"`
	Endpoint    string            `json:"endpoint,omitempty"`
	App         string            `json:"app,omitempty"`
	Sealed      map[string][]byte `json:"sealed,omitempty"`
	HiddenPaths HiddenPaths       `json:"untold,omitempty"`
	Shares      []access.Share    `json:"shares,omitempty"` // of its own, but for the public one of a page or an agent
	Frozen      string            `json:"frozen,omitempty"`
	Published   *Publication      `json:"published,omitempty"` // of an agent; nil: it was never published
}

// Publication is what of an agent is published.
type Publication struct {
	Number int    `json:"number"` // how often it was published
	Hash   string `json:"hash"`   // of the document; "": it is not published any more
	Frozen string `json:"frozen"`
}

// Next returns the publication after an entry was saved. What the entry says about slug and sharing is not frozen.
func (p *Publication) Next(e Entry) *Publication {
	switch {
	case !e.Published || p != nil && p.Hash != "" && p.Frozen == e.Frozen:
		return p
	case p == nil:
		p = &Publication{}
	}
	return &Publication{Number: p.Number + 1, Hash: e.Hash, Frozen: e.Frozen}
}

// IsPublished reports whether some version of an agent is published.
func (i Item) IsPublished() bool { return i.Published != nil && i.Published.Hash != "" }

// IsCurrent reports whether an agent is published as it is.
func (i Item) IsCurrent() bool { return i.IsPublished() && i.Published.Frozen == i.Frozen }

// HashOf names a document by the SHA-256 of its JSON.
func HashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Folder returns the folder of a path and the slug in it.
func Folder(path string) (folder, slug string) {
	folder, slug, _ = strings.Cut(path, "/")
	return folder, slug
}

// Delta is what an event changes of the content.
type Delta struct {
	Settings *Settings       // nil: they stay
	Security *SecurityChange // nil: it stays
	Entries  []Entry
	Stage    string // what was staged under this name counts as entries too
	Deleted  []string
	IsNew    bool // there is one entry, and there was no document at its path
}

type (
	// Save creates the document at a path, or replaces it.
	Save struct {
		Entry    Entry // From, when set, is the path that the document has now
		Create   bool  // there must be none yet; otherwise there must be one
		MaxBases int   // how many knowledge bases a workspace has at most; 0: no limit
	}
	// Remove deletes a document.
	Remove struct {
		Path      string
		Documents int // of a knowledge base, for its event
	}
)

func (Save) workspaceCommand()   {}
func (Remove) workspaceCommand() {}

func save(s State, c Save) ([]domain.Event, error) {
	path := c.Entry.Path
	folder, _ := Folder(path)
	before, exists := s.Items.Get(path)
	if c.Entry.From != "" && c.Entry.From != path {
		var found bool
		if before, found = s.Items.Get(c.Entry.From); !found {
			return nil, documentNotFound(c.Entry.From)
		}
	} else {
		c.Entry.From = ""
		if !c.Create && !exists {
			return nil, documentNotFound(path)
		}
	}
	if exists && (c.Create || c.Entry.From != "") {
		return nil, alreadyUsedError("slug", slugOf(path))
	}
	if err := s.checkFree(c.Entry); err != nil {
		return nil, err
	}
	if c.Entry.Published != (before.IsPublished() && before.Published.Frozen == c.Entry.Frozen) {
		return nil, domain.Refuse(domain.CodeConflict, "the agent was just published otherwise: read it again").Reason("stale")
	}
	if !c.Create {
		c.Entry.ID = before.ID
		if c.Entry.Public != before.Public {
			return nil, domain.Refuse(domain.CodeConflict, "it was just shared otherwise: read it again").Reason("stale")
		}
		if c.Entry.From == "" && before.Hash == c.Entry.Hash && maps.EqualFunc(before.Sealed, c.Entry.Sealed, slices.Equal) {
			return nil, nil
		}
	}
	if err := s.checkLimits([]Entry{c.Entry}, nil, c.MaxBases); err != nil {
		return nil, err
	}
	return []domain.Event{saved(folder, c)}, nil
}

// checkFree refuses an entry that would clash with another document: by a slug that
// some file systems take for the same, or by its endpoint.
func (s State) checkFree(e Entry) error {
	isOther := func(path string) bool { return path != e.Path && path != e.From }
	for path := range s.Items.LikePath(e.Path) {
		if isOther(path) {
			return alreadyUsedError("slug", slugOf(e.Path)).With("message", "differs from "+slugOf(path)+" in case only")
		}
	}
	if folder, _ := Folder(e.Path); folder != "automations" || e.Endpoint == "" {
		return nil
	}
	for path := range s.Items.WithEndpoint(e.Endpoint) {
		if isOther(path) {
			return alreadyUsedError("when.endpoint", e.Endpoint).With("usedBy", slugOf(path))
		}
	}
	return nil
}

func remove(s State, c Remove) ([]domain.Event, error) {
	if !s.Items.Has(c.Path) {
		return nil, documentNotFound(c.Path)
	}
	return []domain.Event{removed(c)}, nil
}

func slugOf(path string) string {
	_, slug := Folder(path)
	return slug
}

func alreadyUsedError(field, value string) *domain.Error {
	return domain.Refuse(domain.CodeAlreadyExists, "%s %q is used already", field, value).With("field", field).With("value", value)
}

// resources are what the documents of a folder are called in errors.
var resources = map[string]string{"automations": "automation", "pages": "page", "imports": "appInstance", "knowledge": "knowledgeBase", "tests": "test", "agents": "agent"}

func documentNotFound(path string) *domain.Error {
	folder, slug := Folder(path)
	return domain.Refuse(domain.CodeNotFound, "there is no such %s", resources[folder]).
		With("resource", resources[folder]).With("id", slug)
}

// apply folds a delta into the content.
func (s State) apply(d Delta) State {
	if d.Settings != nil {
		s.Settings = *d.Settings
		s.Revision++
	}
	if d.Security != nil {
		s.Security, s.SecuritySource = d.Security.Security, d.Security.Source
		s.SecurityRevision++
	}
	entries := d.Entries
	if d.Stage != "" && d.Stage == s.Stage {
		entries = append(slices.Clone(s.Staged), entries...)
		s.Stage, s.Staged = "", nil
	}
	if len(entries) == 0 && len(d.Deleted) == 0 {
		return s
	}
	s.Changes++
	for _, path := range d.Deleted {
		s.Items = s.Items.Delete(path)
	}
	for _, e := range entries {
		before := s.Items.At(e.Path)
		if e.From != "" {
			before = s.Items.At(e.From)
			s.Items = s.Items.Delete(e.From)
		}
		s.Items = s.Items.Set(e.Path, Item{
			Hash: e.Hash, Revision: s.Changes, ID: e.ID, Public: e.Public,
			Endpoint: e.Endpoint, App: e.App, Sealed: e.Sealed, HiddenPaths: e.HiddenPaths, Shares: before.Shares,
			Frozen: e.Frozen, Published: before.Published.Next(e),
		})
	}
	return s
}

// The events of single documents. Each carries its entry; what the feed shows is
// the payload of the catalogue.
type (
	// AutomationCreated says that an automation came into being.
	AutomationCreated struct{ Entry }
	// AutomationUpdated says that an automation was replaced, or renamed.
	AutomationUpdated struct{ Entry }
	// AutomationDeleted says that an automation is gone.
	AutomationDeleted struct {
		Slug string `json:"automationSlug"`
	}
	// PageCreated says that a page came into being.
	PageCreated struct{ Entry }
	// PageUpdated says that a page was replaced, or renamed.
	PageUpdated struct{ Entry }
	// PageDeleted says that a page is gone.
	PageDeleted struct {
		Slug string `json:"pageSlug"`
	}
	// KnowledgeBaseCreated says that a knowledge base came into being.
	KnowledgeBaseCreated struct{ Entry }
	// KnowledgeBaseUpdated says that the settings of a knowledge base were replaced, or that it was renamed.
	KnowledgeBaseUpdated struct{ Entry }
	// KnowledgeBaseDeleted says that a knowledge base is gone, and how many documents it had.
	KnowledgeBaseDeleted struct {
		Slug      string `json:"slug"`
		Documents int    `json:"documents"`
	}
	// AgentCreated says that an agent came into being.
	AgentCreated struct{ Entry }
	// AgentUpdated says that an agent was replaced, or renamed.
	AgentUpdated struct{ Entry }
	// AgentDeleted says that an agent is gone.
	AgentDeleted struct {
		Slug string `json:"slug"`
	}
	// AgentPublished says that callers get an agent as it is now.
	AgentPublished struct {
		Number int `json:"number"`
		Entry
	}
	// AgentUnpublished says that callers do not get an agent any more.
	AgentUnpublished struct {
		Number int `json:"number"` // of what was published
		Entry
	}
	// TestCreated says that a test suite came into being.
	TestCreated struct{ Entry }
	// TestUpdated says that a test suite was replaced, or renamed.
	TestUpdated struct{ Entry }
	// TestDeleted says that a test suite is gone.
	TestDeleted struct {
		Slug string `json:"slug"`
	}
	// Installed says that an app was installed.
	Installed struct{ Entry }
	// InstanceConfigured says that an app instance was changed, or renamed.
	InstanceConfigured struct{ Entry }
	// Uninstalled says that an app instance is gone.
	Uninstalled struct {
		Slug string `json:"slug"`
	}
)

// EventType implements domain.Event.
func (AutomationCreated) EventType() string { return "workspaces.automations.created" }

// EventType implements domain.Event.
func (AutomationUpdated) EventType() string { return "workspaces.automations.updated" }

// EventType implements domain.Event.
func (AutomationDeleted) EventType() string { return "workspaces.automations.deleted" }

// EventType implements domain.Event.
func (PageCreated) EventType() string { return "workspaces.pages.created" }

// EventType implements domain.Event.
func (PageUpdated) EventType() string { return "workspaces.pages.updated" }

// EventType implements domain.Event.
func (PageDeleted) EventType() string { return "workspaces.pages.deleted" }

// EventType implements domain.Event.
func (KnowledgeBaseCreated) EventType() string { return "workspaces.knowledgeBases.created" }

// EventType implements domain.Event.
func (KnowledgeBaseUpdated) EventType() string { return "workspaces.knowledgeBases.updated" }

// EventType implements domain.Event.
func (KnowledgeBaseDeleted) EventType() string { return "workspaces.knowledgeBases.deleted" }

// EventType implements domain.Event.
func (AgentCreated) EventType() string { return "workspaces.agents.created" }

// EventType implements domain.Event.
func (AgentUpdated) EventType() string { return "workspaces.agents.updated" }

// EventType implements domain.Event.
func (AgentDeleted) EventType() string { return "workspaces.agents.deleted" }

// EventType implements domain.Event.
func (AgentPublished) EventType() string { return "workspaces.agents.published" }

// EventType implements domain.Event.
func (AgentUnpublished) EventType() string { return "workspaces.agents.unpublished" }

// EventType implements domain.Event.
func (TestCreated) EventType() string { return "workspaces.tests.created" }

// EventType implements domain.Event.
func (TestUpdated) EventType() string { return "workspaces.tests.updated" }

// EventType implements domain.Event.
func (TestDeleted) EventType() string { return "workspaces.tests.deleted" }

// EventType implements domain.Event.
func (Installed) EventType() string { return "workspaces.apps.installed" }

// EventType implements domain.Event.
func (InstanceConfigured) EventType() string { return "workspaces.apps.configured" }

// EventType implements domain.Event.
func (Uninstalled) EventType() string { return "workspaces.apps.uninstalled" }

// saved is the event of a Save.
func saved(folder string, c Save) domain.Event {
	switch {
	case folder == "pages" && c.Create:
		return PageCreated{c.Entry}
	case folder == "pages":
		return PageUpdated{c.Entry}
	case folder == "knowledge" && c.Create:
		return KnowledgeBaseCreated{c.Entry}
	case folder == "knowledge":
		return KnowledgeBaseUpdated{c.Entry}
	case folder == "agents" && c.Create:
		return AgentCreated{c.Entry}
	case folder == "agents":
		return AgentUpdated{c.Entry}
	case folder == "tests" && c.Create:
		return TestCreated{c.Entry}
	case folder == "tests":
		return TestUpdated{c.Entry}
	case folder == "imports" && c.Create:
		return Installed{c.Entry}
	case folder == "imports":
		return InstanceConfigured{c.Entry}
	case c.Create:
		return AutomationCreated{c.Entry}
	}
	return AutomationUpdated{c.Entry}
}

// removed is the event of a Remove.
func removed(c Remove) domain.Event {
	folder, slug := Folder(c.Path)
	switch folder {
	case "pages":
		return PageDeleted{slug}
	case "knowledge":
		return KnowledgeBaseDeleted{slug, c.Documents}
	case "agents":
		return AgentDeleted{slug}
	case "tests":
		return TestDeleted{slug}
	case "imports":
		return Uninstalled{slug}
	}
	return AutomationDeleted{slug}
}

// unlisted are the fields of documents that lists do not show.
var unlisted = map[string][]string{
	"automations": {"do", "output", "authorizations"},
	"pages":       {"styles", "onInit", "updateOn", "notifyOn", "automation"},
	"imports":     {"config"},
	"tests":       {"stubs", "cases"},
	"agents":      {"instructions", "knowledge", "tools"},
}

// Describe returns what lists show of a document.
func (e Entry) Describe() *document.Map {
	if e.About != nil {
		return e.About
	}
	doc := document.MapOf()
	if doc.UnmarshalJSON(e.Body) != nil {
		return document.MapOf()
	}
	return Describe(e.Path, doc)
}

// DescribeJSON returns Describe as encoding/json encodes it. What is left of most documents is written in them as it is.
func (e Entry) DescribeJSON() ([]byte, error) {
	folder, _ := Folder(e.Path)
	if e.About != nil || folder == "pages" || !domain.IsEncoded(e.Body) {
		return document.SafeJSON(e.Describe())
	}
	o := domain.NewObjectEncoder(make([]byte, 0, min(len(e.Body), 1<<10)))
	err := domain.VisitMembers(e.Body, func(key, value []byte) error {
		if !slices.Contains(unlisted[folder], string(key)) {
			o.Encoded(string(key), value)
		}
		return nil
	})
	if err != nil { // no object
		return document.SafeJSON(e.Describe())
	}
	return o.End()
}

// Describe returns what lists show of the document at a path.
func Describe(path string, doc *document.Map) *document.Map {
	folder, _ := Folder(path)
	short := doc.Copy()
	for _, key := range unlisted[folder] {
		short.Delete(key)
	}
	if blocks, ok := short.Get("blocks"); ok && folder == "pages" {
		short.Set("blocks", blockNames(blocks))
	}
	return short
}

// blockNames returns which blocks a page has, without their settings.
func blockNames(blocks any) any {
	list, _ := blocks.([]any)
	names := make([]any, 0, len(list))
	for _, item := range list {
		block, _ := item.(*document.Map)
		short := document.MapOf()
		for _, key := range []string{"slug", "appInstance"} {
			if v, ok := block.Get(key); ok {
				short.Set(key, v)
			}
		}
		names = append(names, short)
	}
	return names
}

// Stage puts documents down that a later command takes up by name: an import
// too large for one event. Nothing shows them until then.
type Stage struct {
	Name    string
	More    bool // it adds to what is put down under the name
	Entries []Entry
}

// Replace switches the content to what an import or a restoration brought, in
// one step.
type Replace struct {
	Switch
	// Lock, when set, is taken and given back in the same step; Epoch, when set,
	// is that of the lock that the operation holds.
	Lock  *AcquireLock
	Epoch uint64
	// MaxBases is how many knowledge bases a workspace has at most; 0: there is no limit.
	MaxBases int
	// Sync is what a pull says about its repository.
	Sync *Integration
	// One of them says why.
	Import  *Import
	Restore *Restore
}

func (Stage) workspaceCommand()   {}
func (Replace) workspaceCommand() {}

// Switch is what changes of the content.
type Switch struct {
	Settings *Settings       `json:"settings,omitempty"` // nil: they stay
	OldSlug  string          `json:"oldSlug,omitempty"`
	Security *SecurityChange `json:"security,omitempty"` // nil: it stays
	Entries  []Entry         `json:"entries,omitempty"`
	Stage    string          `json:"stage,omitempty"` // what was staged under this name belongs to it
	Deleted  []string        `json:"deleted,omitempty"`
}

func (s Switch) delta() Delta {
	return Delta{Settings: s.Settings, Security: s.Security, Entries: s.Entries, Stage: s.Stage, Deleted: s.Deleted}
}

func (s Switch) empty() bool {
	return s.Settings == nil && s.Security == nil && len(s.Entries) == 0 && s.Stage == "" && len(s.Deleted) == 0
}

// Import has the data of an import for its event.
type Import struct {
	Workspace    Named            `json:"workspace"`
	Files        []string         `json:"files"`
	FilesCount   int              `json:"filesCount"`
	Deleted      []string         `json:"deleted"`
	DeletedCount int              `json:"deletedCount"`
	Version      *ImportedVersion `json:"version,omitempty"`
	Errors       []any            `json:"errors"`
	Warnings     []any            `json:"warnings"`
	PublishedApp string           `json:"publishedAppSlug,omitempty"`
	OperationID  string           `json:"operationId"`
	Truncated    bool             `json:"truncated,omitempty"`
}

// Named is a workspace, as other workspaces and events name it.
type Named struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// ImportedVersion is the version that an import brought.
type ImportedVersion struct {
	Name       string         `json:"name"`
	Repository *RepositoryRef `json:"repository,omitempty"`
}

// Restore has the data of a restoration for its event.
type Restore struct {
	From    From     `json:"from"`
	Files   []string `json:"files"`
	Deleted []string `json:"deleted"`
	// Counts are set when the lists are truncated.
	Truncated    bool `json:"truncated,omitempty"`
	FilesCount   int  `json:"filesCount,omitempty"`
	DeletedCount int  `json:"deletedCount,omitempty"`
}

// From is the moment that was restored, or the change that was undone.
type From struct {
	Seq     string `json:"seq,omitempty"`
	At      string `json:"at,omitempty"`
	Version string `json:"version,omitempty"`
	Undo    string `json:"undo,omitempty"`
}

type (
	// Staged says that documents were put down for a later step.
	Staged struct {
		Name    string  `json:"name"`
		Entries []Entry `json:"entries"`
	}
	// Imported says that an import switched the content, or that it found nothing
	// to change.
	Imported struct {
		Import Import       `json:"import"`
		Switch Switch       `json:"switch,omitzero"`
		Sync   *Integration `json:"sync,omitempty"`
	}
	// Restored says that an earlier content was put back.
	Restored struct {
		Restore Restore `json:"restore"`
		Switch  Switch  `json:"switch"`
	}
)

// EventType implements domain.Event.
func (Staged) EventType() string { return "workspaces.staged" }

// EventType implements domain.Event.
func (Imported) EventType() string { return "workspaces.imported" }

// EventType implements domain.Event.
func (Restored) EventType() string { return "workspaces.restored" }

// Payload implements domain.PayloadEvent.
func (e Imported) Payload() any { return e.Import }

// Payload implements domain.PayloadEvent.
func (e Restored) Payload() any { return e.Restore }

// stage refuses to add to what somebody else has put down anew meanwhile: half of
// an import would be taken for the whole.
func stage(s State, c Stage) ([]domain.Event, error) {
	if c.More && s.Stage != c.Name {
		return nil, superseded()
	}
	all := c.Entries
	if c.More {
		all = slices.Concat(s.Staged, all)
	}
	instances := 0
	for _, e := range all {
		if isInstance(e.Path) {
			instances++
		}
	}
	switch { // what a step cannot take is not put down either
	case len(all) > MaxDocuments+1: // the index
		return nil, limitExceeded("documents", MaxDocuments)
	case instances > MaxInstances:
		return nil, limitExceeded("app instances", MaxInstances)
	}
	return []domain.Event{Staged{c.Name, c.Entries}}, nil
}

func superseded() error {
	return domain.Refuse(domain.CodeConflict, "another import of this workspace came first: start it again").Reason(Superseded)
}

// Superseded is the reason of a refusal by which what was staged is lost: it can
// be staged again.
const Superseded = "superseded"

func replace(s State, c Replace) ([]domain.Event, error) {
	if c.Epoch != 0 {
		if err := s.checkLockEpoch(c.Epoch); err != nil {
			return nil, err
		}
	}
	if c.Switch.Stage != "" && s.Stage != c.Switch.Stage {
		return nil, superseded()
	}
	entries := c.Entries
	if c.Switch.Stage != "" {
		entries = append(slices.Clone(s.Staged), entries...)
	}
	if err := s.checkLimits(entries, c.Deleted, c.MaxBases); err != nil {
		return nil, err
	}
	if c.Settings != nil {
		if err := c.Settings.validate(); err != nil {
			return nil, err
		}
	}
	if c.Security != nil {
		c.Security.Security.Authentication.ClientID = ClientID(s.ID)
		if err := c.Security.Security.Validate(s.Shares); err != nil {
			return nil, err
		}
	}
	if c.Restore != nil {
		if c.empty() {
			return nil, nil
		}
		return []domain.Event{Restored{*c.Restore, c.Switch}}, nil
	}
	imported := Imported{*c.Import, c.Switch, c.Sync}
	if c.Lock == nil {
		return append([]domain.Event{imported}, s.resolved(c.Epoch)...), nil
	}
	events, err := acquireLock(s, *c.Lock)
	if err != nil {
		return nil, err
	}
	locked := events[len(events)-1].(Locked)
	return append(events, imported, Unlocked{Reason: locked.Reason, Epoch: locked.Epoch, Cause: "completed"}), nil
}

// resolved is how the lock of an import that ends well goes.
func (s State) resolved(epoch uint64) []domain.Event {
	switch {
	case epoch == 0 || s.Lock.ofRun():
		return nil
	case s.Conflict != nil:
		return []domain.Event{s.unlock("resolved")}
	}
	return []domain.Event{s.unlock("completed")}
}

// staged keeps what was put down, until it is taken up or put down anew under
// another name.
func (s State) staged(e Staged) State {
	if s.Stage != e.Name {
		s.Stage, s.Staged = e.Name, nil
	}
	s.Staged = slices.Clone(s.Staged)
	for _, entry := range e.Entries {
		entry.Body, entry.About, entry.Review = nil, nil, nil // decisions need the rest
		s.Staged = append(s.Staged, entry)
	}
	return s
}

// SecurityChange is a new security document: as rules read it, and as it was
// written, whose order of keys is content.
type SecurityChange struct {
	Security access.Security `json:"security"`
	Source   *document.Map   `json:"source,omitempty"`
}

// ReadSecurity returns what rules read in a security document whose shape was
// checked.
func ReadSecurity(doc *document.Map) (s access.Security, err error) {
	body, err := document.JSON(doc)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return s, domain.Refuse(domain.CodeInvalidRequest, "the security document has values of another type")
	}
	return s, nil
}

// Document returns the document as files have it.
func (c SecurityChange) Document() *document.Map {
	if c.Source != nil {
		return document.Security.Canonical(c.Source)
	}
	return securityDocument(c.Security)
}

type (
	// PublishAgent publishes an agent as it is. Entry is the agent that says so.
	PublishAgent struct{ Entry Entry }
	// UnpublishAgent takes back what is published of an agent. Entry is the agent that says so.
	UnpublishAgent struct{ Entry Entry }
)

func (PublishAgent) workspaceCommand()   {}
func (UnpublishAgent) workspaceCommand() {}

func publishAgent(s State, c PublishAgent) ([]domain.Event, error) {
	before, exists := s.Items.Get(c.Entry.Path)
	if !exists {
		return nil, documentNotFound(c.Entry.Path)
	}
	if before.IsCurrent() {
		return nil, nil
	}
	c.Entry.ID = before.ID
	return []domain.Event{AgentPublished{before.Published.Next(c.Entry).Number, c.Entry}}, nil
}

func unpublishAgent(s State, c UnpublishAgent) ([]domain.Event, error) {
	before, exists := s.Items.Get(c.Entry.Path)
	if !exists {
		return nil, documentNotFound(c.Entry.Path)
	}
	if !before.IsPublished() {
		return nil, nil
	}
	c.Entry.ID = before.ID
	return []domain.Event{AgentUnpublished{before.Published.Number, c.Entry}}, nil
}

// unpublished forgets what is published of an agent, but for its number.
func (s State) unpublished(e AgentUnpublished) State {
	item := s.Items.At(e.Path)
	item.Published = &Publication{Number: e.Number}
	s.Items = s.Items.Set(e.Path, item)
	return s
}

type (
	// ShareDocument shares a page, a knowledge base or an agent with a target. To share a page or an agent with everyone
	// is content: Entry is the document that says so.
	ShareDocument struct {
		ID    string
		Share access.Share
		Entry *Entry
	}
	// UnshareDocument takes the share of a target away, named as paths name it. When that is everyone, Entry is the page
	// or the agent that does not say so any more.
	UnshareDocument struct {
		ID     string
		Target string
		Entry  *Entry
	}
)

func (ShareDocument) workspaceCommand()   {}
func (UnshareDocument) workspaceCommand() {}

type (
	// DocumentShare says with whom a document is shared, and how, from now on.
	DocumentShare struct {
		SubjectID   string             `json:"subjectId"`
		Path        string             `json:"path"`
		Target      access.Target      `json:"target"`
		Permissions access.Permissions `json:"permissions"`
		Entry       *Entry             `json:"entry,omitempty"`
	}
	// DocumentUnshare says that a document is shared with somebody no more.
	DocumentUnshare struct {
		SubjectID string        `json:"subjectId"`
		Path      string        `json:"path"`
		Target    access.Target `json:"target"`
		Entry     *Entry        `json:"entry,omitempty"`
	}

	// PageShared is the DocumentShare of a page.
	PageShared struct{ DocumentShare }
	// PageUnshared is the DocumentUnshare of a page.
	PageUnshared struct{ DocumentUnshare }
	// KnowledgeBaseShared is the DocumentShare of a knowledge base.
	KnowledgeBaseShared struct{ DocumentShare }
	// KnowledgeBaseUnshared is the DocumentUnshare of a knowledge base.
	KnowledgeBaseUnshared struct{ DocumentUnshare }
	// AgentShared is the DocumentShare of an agent.
	AgentShared struct{ DocumentShare }
	// AgentUnshared is the DocumentUnshare of an agent.
	AgentUnshared struct{ DocumentUnshare }
)

// EventType implements domain.Event.
func (PageShared) EventType() string { return "workspaces.pages.permissions.shared" }

// EventType implements domain.Event.
func (PageUnshared) EventType() string { return "workspaces.pages.permissions.deleted" }

// EventType implements domain.Event.
func (KnowledgeBaseShared) EventType() string { return "workspaces.knowledgeBases.permissions.shared" }

// EventType implements domain.Event.
func (KnowledgeBaseUnshared) EventType() string {
	return "workspaces.knowledgeBases.permissions.deleted"
}

// EventType implements domain.Event.
func (AgentShared) EventType() string { return "workspaces.agents.permissions.shared" }

// EventType implements domain.Event.
func (AgentUnshared) EventType() string { return "workspaces.agents.permissions.deleted" }

func (e DocumentShare) share() DocumentShare       { return e }
func (e DocumentUnshare) unshare() DocumentUnshare { return e }

// ShareOf returns what an event says of the shares of a document: one of the two, or none.
func ShareOf(ev domain.Event) (shared *DocumentShare, unshared *DocumentUnshare) {
	switch e := ev.(type) {
	case interface{ share() DocumentShare }:
		s := e.share()
		return &s, nil
	case interface{ unshare() DocumentUnshare }:
		u := e.unshare()
		return nil, &u
	}
	return nil, nil
}

// Everyone is the share of a public document of a folder, nil of one that has none: its shares are no content.
func Everyone(folder string) *access.Share {
	action := map[string]string{"pages": "read", "agents": "execute"}[folder]
	if action == "" {
		return nil
	}
	return &access.Share{Target: access.Target{Public: true}, Permissions: access.Permissions{Policies: map[string]bool{action: true}}}
}

// SharesOf returns all shares of a document of a folder.
func (i Item) SharesOf(folder string) []access.Share {
	if everyone := Everyone(folder); i.Public && everyone != nil {
		return append([]access.Share{*everyone}, i.Shares...)
	}
	return i.Shares
}

// PathOf returns the path of the page, knowledge base or agent with an id, "" when there is none.
func (s State) PathOf(id string) string {
	for path := range s.Items.WithID(id) {
		return path
	}
	return ""
}

// subjects are what rights call the documents of a folder that can be shared.
var subjects = map[string]string{"pages": "pages", "knowledge": "knowledgeBases", "agents": "agents"}

func shareDocument(s State, c ShareDocument) ([]domain.Event, error) {
	path := s.PathOf(c.ID)
	folder, _ := Folder(path)
	if path == "" {
		return nil, noDocument(c.ID)
	}
	policy, err := access.Compile(s.ID, s.Security)
	if err != nil {
		return nil, err
	}
	if err := policy.CheckShare(subjects[folder], c.Share); err != nil {
		return nil, err
	}
	if everyone := Everyone(folder); c.Share.Target.Public && everyone != nil && !domain.Same(c.Share, *everyone) {
		for action := range everyone.Permissions.Policies {
			return nil, domain.Invalid(domain.FieldError{Field: "permissions.policies", Message: "it is shared with everyone for " + action + ", and for nothing else"})
		}
	}
	before := s.Items.At(path).SharesOf(folder)
	if i := indexOf(before, c.Share.Target.String()); i >= 0 && domain.Same(before[i], c.Share) {
		return nil, nil
	}
	e := DocumentShare{c.ID, path, c.Share.Target, c.Share.Permissions, c.Entry}
	switch folder {
	case "knowledge":
		return []domain.Event{KnowledgeBaseShared{e}}, nil
	case "agents":
		return []domain.Event{AgentShared{e}}, nil
	}
	return []domain.Event{PageShared{e}}, nil
}

func unshareDocument(s State, c UnshareDocument) ([]domain.Event, error) {
	path := s.PathOf(c.ID)
	folder, _ := Folder(path)
	if path == "" {
		return nil, noDocument(c.ID)
	}
	before := s.Items.At(path).SharesOf(folder)
	i := indexOf(before, c.Target)
	if i < 0 {
		return nil, notShared(c.Target)
	}
	e := DocumentUnshare{c.ID, path, before[i].Target, c.Entry}
	switch folder {
	case "knowledge":
		return []domain.Event{KnowledgeBaseUnshared{e}}, nil
	case "agents":
		return []domain.Event{AgentUnshared{e}}, nil
	}
	return []domain.Event{PageUnshared{e}}, nil
}

// noDocument refuses to share what is gone meanwhile.
func noDocument(id string) error {
	return domain.Refuse(domain.CodeNotFound, "there is no such document").With("resource", "document").With("id", id)
}

// withShares returns s with other shares of a document.
func (s State) withShares(path string, shares []access.Share) State {
	item := s.Items.At(path)
	item.Shares = shares
	s.Items = s.Items.Set(path, item)
	return s
}

// IsContentShare reports whether a share of the document at a path is part of the document itself.
func IsContentShare(path string, target access.Target) bool {
	folder, _ := Folder(path)
	return target.Public && Everyone(folder) != nil
}

func (s State) documentShared(e DocumentShare) State {
	if IsContentShare(e.Path, e.Target) {
		return s
	}
	return s.withShares(e.Path, access.PutShare(s.Items.At(e.Path).Shares, access.Share{Target: e.Target, Permissions: e.Permissions}))
}

func (s State) documentUnshared(e DocumentUnshare) State {
	if IsContentShare(e.Path, e.Target) {
		return s
	}
	return s.withShares(e.Path, access.DropShare(s.Items.At(e.Path).Shares, e.Target.String()))
}
