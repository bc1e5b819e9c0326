package workspace

import (
	"encoding/json"
	"fmt"
	"time"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/value"
)

// Snapshot is a workspace as its events carry it.
type Snapshot struct {
	ID       string   `json:"id"`
	Settings Settings `json:"settings"`
}

// Document returns the workspace as the API shows it, without secrets.
func (s Snapshot) Document() *document.Map {
	s.Settings.Config = HideSecrets(s.Settings.Config)
	settings := s.Settings.Document()
	doc := value.NewObjectSize(settings.Len() + 3) // what is shown besides is added
	doc.Set("id", s.ID)
	for key, v := range settings.All() {
		doc.Set(key, v)
	}
	return doc
}

type (
	// Created says that a workspace came into being, with what nobody has
	// changed yet: its security document and its owner, and content when it was
	// imported or duplicated.
	Created struct {
		Workspace Snapshot        `json:"workspace"`
		Security  access.Security `json:"security,omitzero"`
		Source    *document.Map   `json:"source,omitempty"` // the security document as it was written
		Shares    []access.Share  `json:"shares,omitempty"`
		Entries   []Entry         `json:"entries,omitempty"`
		Stage     string          `json:"stage,omitempty"`
	}
	// Updated says that its settings changed, and what they are now.
	Updated struct {
		Workspace Snapshot `json:"workspace"`
		OldSlug   string   `json:"oldSlug,omitempty"`
		// Aside marks a change of what is no content: hosts, repositories.
		Aside bool `json:"aside,omitempty"`
	}
	// Configured says that nothing but its config changed.
	Configured struct {
		Workspace Snapshot      `json:"workspace"`
		OldConfig *document.Map `json:"oldConfig,omitempty"`
	}
	// BlocksUpdated says that nothing but its blocks changed.
	BlocksUpdated struct {
		Workspace Snapshot `json:"workspace"`
	}
	// EventsUpdated says that nothing but the types of its events changed.
	EventsUpdated struct {
		Workspace Snapshot `json:"workspace"`
	}
	// Duplicated says of which workspace it is a copy.
	Duplicated struct {
		Workspace Snapshot `json:"workspace"`
		From      Named    `json:"fromWorkspace"`
	}
	// Secured says that its security document was replaced.
	Secured struct {
		Security access.Security `json:"security"`
		Source   *document.Map   `json:"source,omitempty"` // as it was written
	}
	// Shared says with whom it is shared, and how, from now on.
	Shared struct {
		SubjectID   string             `json:"subjectId"`
		Target      access.Target      `json:"target"`
		Permissions access.Permissions `json:"permissions"`
	}
	// Unshared says that it is shared with somebody no more.
	Unshared struct {
		SubjectID string        `json:"subjectId"`
		Target    access.Target `json:"target"`
	}
)

// EventType implements domain.Event.
func (Created) EventType() string { return "workspaces.created" }

// EventType implements domain.Event.
func (Updated) EventType() string { return "workspaces.updated" }

// EventType implements domain.Event.
func (Configured) EventType() string { return "workspaces.configured" }

// EventType implements domain.Event.
func (BlocksUpdated) EventType() string { return "workspaces.blocks.updated" }

// EventType implements domain.Event.
func (EventsUpdated) EventType() string { return "workspaces.events.updated" }

// EventType implements domain.Event.
func (Duplicated) EventType() string { return "workspaces.duplicated" }

// EventType implements domain.Event.
func (Secured) EventType() string { return "workspaces.security.updated" }

// EventType implements domain.Event.
func (Shared) EventType() string { return "workspaces.permissions.shared" }

// EventType implements domain.Event.
func (Unshared) EventType() string { return "workspaces.permissions.deleted" }

// truncateDocument returns doc without its mappings and lists when it is too long for the payload of
// an event.
func truncateDocument(doc *document.Map) *document.Map {
	if doc == nil {
		return document.MapOf()
	}
	body, err := document.JSON(doc)
	if err == nil && len(body) <= maxPayload {
		return doc
	}
	short := document.MapOf()
	for key, v := range doc.All() {
		switch v.(type) {
		case *document.Map, []any:
		default:
			short.Set(key, v)
		}
	}
	short.Set("truncated", true)
	return short
}

// DeltaOf returns what an event changes; content is false when that is no
// content, which is what versions hold.
func DeltaOf(ev domain.Event) (d Delta, content bool) {
	switch e := ev.(type) {
	case Created:
		return Delta{Settings: &e.Workspace.Settings, Security: &SecurityChange{e.Security, e.Source}, Entries: e.Entries, Stage: e.Stage}, true
	case Updated:
		return Delta{Settings: &e.Workspace.Settings}, !e.Aside
	case Configured:
		return Delta{Settings: &e.Workspace.Settings}, true
	case BlocksUpdated:
		return Delta{Settings: &e.Workspace.Settings}, true
	case EventsUpdated:
		return Delta{Settings: &e.Workspace.Settings}, true
	case Secured:
		return Delta{Security: &SecurityChange{e.Security, e.Source}}, true
	case AutomationCreated:
		return newEntryDelta(e.Entry), true
	case AutomationUpdated:
		return entryDelta(e.Entry), true
	case PageCreated:
		return newEntryDelta(e.Entry), true
	case PageUpdated:
		return entryDelta(e.Entry), true
	case KnowledgeBaseCreated:
		return newEntryDelta(e.Entry), true
	case KnowledgeBaseUpdated:
		return entryDelta(e.Entry), true
	case AgentCreated:
		return newEntryDelta(e.Entry), true
	case AgentUpdated:
		return entryDelta(e.Entry), true
	case AgentPublished:
		return entryDelta(e.Entry), true
	case AgentUnpublished:
		return entryDelta(e.Entry), true
	case TestCreated:
		return newEntryDelta(e.Entry), true
	case TestUpdated:
		return entryDelta(e.Entry), true
	case Installed:
		return newEntryDelta(e.Entry), true
	case InstanceConfigured:
		return entryDelta(e.Entry), true
	case AutomationDeleted:
		return Delta{Deleted: []string{"automations/" + e.Slug}}, true
	case PageDeleted:
		return Delta{Deleted: []string{"pages/" + e.Slug}}, true
	case KnowledgeBaseDeleted:
		return Delta{Deleted: []string{"knowledge/" + e.Slug}}, true
	case AgentDeleted:
		return Delta{Deleted: []string{"agents/" + e.Slug}}, true
	case TestDeleted:
		return Delta{Deleted: []string{"tests/" + e.Slug}}, true
	case Uninstalled:
		return Delta{Deleted: []string{"imports/" + e.Slug}}, true
	case Imported:
		return e.Switch.delta(), !e.Switch.empty()
	case Restored:
		return e.Switch.delta(), true
	case Undeleted:
		return Delta{Settings: e.Settings}, e.Settings != nil
	}
	switch shared, unshared := ShareOf(ev); {
	case shared != nil:
		return optional(shared.Entry)
	case unshared != nil:
		return optional(unshared.Entry)
	}
	return Delta{}, false
}

func entryDelta(e Entry) Delta { return Delta{Entries: []Entry{e}} }

func newEntryDelta(e Entry) Delta { return Delta{Entries: []Entry{e}, IsNew: true} }

func optional(e *Entry) (Delta, bool) {
	if e == nil {
		return Delta{}, false
	}
	return entryDelta(*e), true
}

// securityDocument returns a document that was never written by anybody.
func securityDocument(s access.Security) *document.Map {
	doc := document.MapOf()
	if body, err := json.Marshal(s); err == nil {
		_ = json.Unmarshal(body, doc) // what was just written is an object
	}
	return document.Security.Canonical(doc)
}

// What the catalogue shows of events that carry more than that.
type (
	workspacePayload struct {
		Workspace *document.Map `json:"workspace"`
		OldSlug   string        `json:"oldSlug,omitempty"`
	}
	configPayload struct {
		Config    *document.Map `json:"config"`
		OldConfig *document.Map `json:"oldConfig,omitempty"`
	}
	blocksPayload struct {
		Blocks        *document.Map `json:"blocks"`
		WorkspaceSlug string        `json:"workspaceSlug"`
	}
	typesPayload struct {
		Events *document.Map `json:"events"`
	}
	copyPayload struct {
		Workspace *document.Map `json:"workspace"`
		From      Named         `json:"fromWorkspace"`
	}
	securityPayload struct {
		Security access.Security `json:"security"`
	}
	sharePayload struct {
		SubjectID   string              `json:"subjectId"`
		Target      access.Target       `json:"target"`
		Permissions *access.Permissions `json:"permissions,omitempty"`
	}
	secretsPayload struct {
		Created []string `json:"created"`
		Updated []string `json:"updated"`
		Deleted []string `json:"deleted"`
	}
	undeletedPayload struct {
		ID   string `json:"workspaceId"`
		Slug string `json:"workspaceSlug"`
		Name string `json:"name"`
	}
	lockPayload struct {
		Reason      string     `json:"reason"`
		Epoch       uint64     `json:"epoch"`
		LockedBy    string     `json:"lockedBy"`
		OperationID string     `json:"operationId,omitempty"`
		ExpiresAt   *time.Time `json:"expiresAt,omitempty"`
	}
	versionPayload struct {
		Version Version  `json:"version"`
		Changes *Changes `json:"changes,omitempty"`
	}
	markPayload struct {
		RepositoryID string `json:"repositoryId"`
		Commit       string `json:"commit"`
	}
	stagePayload struct {
		Count int `json:"count"`
	}
	documentPayload struct {
		Slug          string          `json:"slug"`
		Automation    json.RawMessage `json:"automation,omitempty"`
		Page          json.RawMessage `json:"page,omitempty"`
		KnowledgeBase json.RawMessage `json:"knowledgeBase,omitempty"`
		Agent         json.RawMessage `json:"agent,omitempty"`
		Test          json.RawMessage `json:"test,omitempty"`
		AppInstance   json.RawMessage `json:"appInstance,omitempty"`
		Events        *document.Map   `json:"events,omitempty"`
		OldSlug       string          `json:"oldSlug,omitempty"`
		Truncated     bool            `json:"truncated,omitempty"`
	}
	publicationPayload struct {
		Slug   string `json:"slug"`
		Number int    `json:"number"`
	}
)

// Payload implements domain.PayloadEvent.
func (e Created) Payload() any {
	return workspacePayload{Workspace: truncateDocument(e.Workspace.publicDocument())}
}

// Payload implements domain.PayloadEvent.
func (e Updated) Payload() any {
	return workspacePayload{Workspace: truncateDocument(e.Workspace.publicDocument()), OldSlug: e.OldSlug}
}

// Payload implements domain.PayloadEvent.
func (e Configured) Payload() any {
	payload := configPayload{Config: truncateDocument(e.Workspace.Settings.publicConfig())}
	if e.OldConfig != nil {
		payload.OldConfig = truncateDocument(HideSecrets(e.OldConfig))
	}
	return payload
}

// Payload implements domain.PayloadEvent.
func (e BlocksUpdated) Payload() any {
	return blocksPayload{truncateDocument(e.Workspace.Settings.Blocks), e.Workspace.Settings.Slug}
}

// Payload implements domain.PayloadEvent.
func (e EventsUpdated) Payload() any {
	return typesPayload{truncateDocument(e.Workspace.Settings.Events)}
}

// Payload implements domain.PayloadEvent.
func (e Duplicated) Payload() any {
	return copyPayload{truncateDocument(e.Workspace.publicDocument()), e.From}
}

// Payload implements domain.PayloadEvent.
func (e Secured) Payload() any { return securityPayload{e.Security} }

// Payload implements domain.PayloadEvent.
func (e DocumentShare) Payload() any { return sharePayload{e.SubjectID, e.Target, &e.Permissions} }

// Payload implements domain.PayloadEvent.
func (e DocumentUnshare) Payload() any { return sharePayload{SubjectID: e.SubjectID, Target: e.Target} }

// Payload implements domain.PayloadEvent.
func (e SecretsUpdated) Payload() any {
	return secretsPayload{names(e.Created), names(e.Updated), names(e.Deleted)}
}

func names(list []string) []string { return append([]string{}, list...) }

// Payload implements domain.PayloadEvent.
func (e Undeleted) Payload() any { return undeletedPayload{e.ID, e.Slug, e.Name} }

// Payload implements domain.PayloadEvent.
func (e Locked) Payload() any {
	payload := lockPayload{Reason: e.Reason, Epoch: e.Epoch, LockedBy: e.LockedBy, ExpiresAt: e.ExpiresAt}
	if e.Operation != nil {
		payload.OperationID = e.Operation.ID
	} else if e.Conflict != nil {
		payload.OperationID = e.Conflict.OperationID
	}
	return payload
}

// Payload implements domain.PayloadEvent.
func (e Published) Payload() any { return versionPayload{e.Version, e.Changes} }

// Payload implements domain.PayloadEvent.
func (e Marked) Payload() any { return markPayload{e.RepositoryID, e.Commit} }

// Payload implements domain.PayloadEvent.
func (e Intended) Payload() any { return markPayload{e.RepositoryID, e.Intent.Commit} }

// Payload implements domain.PayloadEvent.
func (e Staged) Payload() any { return stagePayload{len(e.Entries)} }

// Payload implements domain.PayloadEvent.
func (e AutomationCreated) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e AutomationUpdated) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e PageCreated) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e PageUpdated) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e KnowledgeBaseCreated) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e KnowledgeBaseUpdated) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e AgentCreated) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e AgentUpdated) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e AgentPublished) Payload() any { return publicationPayload{slugOf(e.Path), e.Number} }

// Payload implements domain.PayloadEvent.
func (e AgentUnpublished) Payload() any { return publicationPayload{slugOf(e.Path), e.Number} }

// Payload implements domain.PayloadEvent.
func (e TestCreated) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e TestUpdated) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e Installed) Payload() any { return e.payload() }

// Payload implements domain.PayloadEvent.
func (e InstanceConfigured) Payload() any { return e.payload() }

// maxPayload is the longest document in the payload of an event; of a longer one the payload has the
// fields that lists show.
const maxPayload = 100 << 10

// payload is the payload of the catalogue: {slug, <kind>, events, oldSlug?}.
func (e Entry) payload() documentPayload {
	payload := documentPayload{Slug: slugOf(e.Path), Events: e.Events}
	body := e.publicBody()
	if len(body) == 0 || len(body) > maxPayload {
		body, _ = document.JSON(e.Describe()) // it was read from JSON
		payload.Truncated = true
	}
	switch folder, _ := Folder(e.Path); folder {
	case "pages":
		payload.Page = body
	case "knowledge":
		payload.KnowledgeBase = body
	case "agents":
		payload.Agent = body
	case "tests":
		payload.Test = body
	case "imports":
		payload.AppInstance = body
	default:
		payload.Automation = body
	}
	if e.From != "" {
		payload.OldSlug = slugOf(e.From)
	}
	return payload
}

// importPayload is what the catalogue shows of an import that has its place in the log.
type importPayload struct {
	Import
	Revision uint64 `json:"contentRevision"`
}

// restorePayload is the same of a restoration.
type restorePayload struct {
	Restore
	Revision uint64 `json:"contentRevision"`
}

// PayloadAt implements domain.Revised. An import that changed nothing tells the
// revision of before.
func (e Imported) PayloadAt(contentRevision uint64) any {
	return importPayload{e.Import, contentRevision}
}

// PayloadAt implements domain.Revised.
func (e Restored) PayloadAt(contentRevision uint64) any {
	return restorePayload{e.Restore, contentRevision}
}

// nouns are what the documents of a folder are called in sentences.
var nouns = map[string]string{"automations": "Automation", "pages": "Page", "imports": "App instance", "knowledge": "Knowledge base", "tests": "Test suite", "agents": "Agent"}

// Summarise returns a sentence about the change of an event to a workspace; "" for an internal event,
// or one that is not of a workspace.
func Summarise(ev domain.Event) string {
	switch e := ev.(type) {
	case Created:
		return fmt.Sprintf("Workspace %s created", e.Workspace.Settings.Name)
	case Duplicated:
		return fmt.Sprintf("Copied from workspace %s", e.From.Name)
	case Updated:
		return "Settings changed"
	case Configured:
		return "Config changed"
	case BlocksUpdated:
		return "Blocks changed"
	case EventsUpdated:
		return "Event types changed"
	case Secured:
		return "Security document replaced"
	case SecretsUpdated:
		return fmt.Sprintf("Secrets changed: %d set, %d removed", len(e.Values), len(e.Deleted))
	case Shared:
		return fmt.Sprintf("Shared with %s", e.Target)
	case Unshared:
		return fmt.Sprintf("No longer shared with %s", e.Target)
	case AgentPublished:
		return fmt.Sprintf("Agent %s published", slugOf(e.Path))
	case AgentUnpublished:
		return fmt.Sprintf("Agent %s no longer published", slugOf(e.Path))
	case Imported:
		return fmt.Sprintf("Imported: %d changed, %d deleted, %d errors", e.Import.FilesCount, e.Import.DeletedCount, len(e.Import.Errors))
	case Restored:
		return fmt.Sprintf("Restored: %d changed, %d deleted", max(len(e.Restore.Files), e.Restore.FilesCount), max(len(e.Restore.Deleted), e.Restore.DeletedCount))
	case Locked:
		return fmt.Sprintf("Locked: %s", e.Reason)
	case Unlocked:
		return fmt.Sprintf("Unlocked: %s", e.Cause)
	case Deleted:
		return "Workspace deleted"
	case Undeleted:
		return "Workspace brought back"
	case Published:
		return fmt.Sprintf("Version %s saved", e.Version.Name)
	case VersionDeleted:
		return fmt.Sprintf("Version %s deleted", e.Version.Name)
	}
	switch shared, unshared := ShareOf(ev); {
	case shared != nil:
		folder, slug := Folder(shared.Path)
		return fmt.Sprintf("%s %s shared with %s", nouns[folder], slug, shared.Target)
	case unshared != nil:
		folder, slug := Folder(unshared.Path)
		return fmt.Sprintf("%s %s no longer shared with %s", nouns[folder], slug, unshared.Target)
	}
	return summariseDocument(ev)
}

func summariseDocument(ev domain.Event) string {
	d, ok := DeltaOf(ev)
	if !ok {
		return ""
	}
	if len(d.Deleted) > 0 {
		folder, slug := Folder(d.Deleted[0])
		return fmt.Sprintf("%s %s deleted", nouns[folder], slug)
	}
	if len(d.Entries) == 0 {
		return ""
	}
	e := d.Entries[0]
	folder, slug := Folder(e.Path)
	switch ev.(type) {
	case AutomationCreated, PageCreated, KnowledgeBaseCreated, AgentCreated, TestCreated, Installed:
		return fmt.Sprintf("%s %s created", nouns[folder], slug)
	}
	if e.From != "" {
		return fmt.Sprintf("%s %s renamed to %s", nouns[folder], slugOf(e.From), slug)
	}
	return fmt.Sprintf("%s %s changed", nouns[folder], slug)
}

// IndexPart is what the names of parts begin with that are in the index.
const IndexPart = "index#"

// Parts names what a new index changes of the one before: index#name, and
// index#blocks/hero for a single block.
func Parts(before, after *document.Map) []string {
	var parts []string
	for _, key := range keysOf(before, after) {
		a, inA := before.Get(key)
		b, inB := after.Get(key)
		if inA == inB && document.Equal(a, b) {
			continue
		}
		was, is := asMap(a), asMap(b)
		if key != "blocks" {
			parts = append(parts, IndexPart+key)
			continue
		}
		for _, slug := range keysOf(was, is) {
			x, inX := was.Get(slug)
			y, inY := is.Get(slug)
			if inX != inY || !document.Equal(x, y) {
				parts = append(parts, IndexPart+"blocks/"+slug)
			}
		}
	}
	return parts
}

func asMap(v any) *document.Map {
	m, _ := v.(*document.Map)
	return m
}

func keysOf(a, b *document.Map) []string {
	keys := a.Keys()
	for _, key := range b.Keys() {
		if _, known := a.Get(key); !known {
			keys = append(keys, key)
		}
	}
	return keys
}
