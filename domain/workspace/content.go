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

	ID       string            `json:"id,omitempty"`       // of a page
	Public   bool              `json:"public,omitempty"`   // of a page: shared with everyone
	Endpoint string            `json:"endpoint,omitempty"` // of an automation: the path it answers
	App      string            `json:"app,omitempty"`      // of an app instance
	Events   *document.Map     `json:"events,omitempty"`   // computed: emit, listen, autocomplete
	Sealed   map[string][]byte `json:"sealed,omitempty"`   // settings that are secret, by name
	Untold   Untold            `json:"untold,omitempty"`   // in the config of an app instance
}

// Item is what decisions know of a document.
type Item struct {
	Hash     string            `json:"hash"`
	Revision uint64            `json:"revision"` // its ETag names it; no two documents of a workspace share one
	ID       string            `json:"id,omitempty"`
	Public   bool              `json:"public,omitempty"`
	Endpoint string            `json:"endpoint,omitempty"`
	App      string            `json:"app,omitempty"`
	Sealed   map[string][]byte `json:"sealed,omitempty"`
	Untold   Untold            `json:"untold,omitempty"`
	Shares   []access.Share    `json:"shares,omitempty"` // of a page, but for the public one
}

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
}

type (
	// Save creates the document at a path, or replaces it.
	Save struct {
		Entry  Entry // From, when set, is the path that the document has now
		Create bool  // there must be none yet; otherwise there must be one
	}
	// Remove deletes a document.
	Remove struct{ Path string }
)

func (Save) workspaceCommand()   {}
func (Remove) workspaceCommand() {}

func save(s State, c Save) ([]domain.Event, error) {
	path := c.Entry.Path
	folder, _ := Folder(path)
	before, exists := s.Items[path]
	if c.Entry.From != "" && c.Entry.From != path {
		var found bool
		if before, found = s.Items[c.Entry.From]; !found {
			return nil, noDocument(c.Entry.From)
		}
	} else {
		c.Entry.From = ""
		if !c.Create && !exists {
			return nil, noDocument(path)
		}
	}
	if exists && (c.Create || c.Entry.From != "") {
		return nil, taken("slug", slugOf(path))
	}
	if err := s.free(c.Entry); err != nil {
		return nil, err
	}
	if !c.Create {
		c.Entry.ID = before.ID
		if c.Entry.Public != before.Public {
			return nil, domain.Refuse(domain.CodeConflict, "the page was just shared otherwise: read it again").Reason("stale")
		}
		if c.Entry.From == "" && before.Hash == c.Entry.Hash && maps.EqualFunc(before.Sealed, c.Entry.Sealed, slices.Equal) {
			return nil, nil
		}
	}
	if err := s.roomFor([]Entry{c.Entry}, nil); err != nil {
		return nil, err
	}
	return []domain.Event{saved(folder, c)}, nil
}

// free refuses an entry that would clash with another document: by a slug that
// some file systems take for the same, or by its endpoint.
func (s State) free(e Entry) error {
	folder, _ := Folder(e.Path)
	for path, item := range s.Items {
		if path == e.Path || path == e.From {
			continue
		}
		if strings.EqualFold(path, e.Path) {
			return taken("slug", slugOf(e.Path)).With("message", "differs from "+slugOf(path)+" in case only")
		}
		if folder == "automations" && e.Endpoint != "" && item.Endpoint == e.Endpoint {
			return taken("when.endpoint", e.Endpoint).With("usedBy", slugOf(path))
		}
	}
	return nil
}

func remove(s State, c Remove) ([]domain.Event, error) {
	if _, ok := s.Items[c.Path]; !ok {
		return nil, noDocument(c.Path)
	}
	return []domain.Event{removed(c.Path)}, nil
}

func slugOf(path string) string {
	_, slug := Folder(path)
	return slug
}

func taken(field, value string) *domain.Error {
	return domain.Refuse(domain.CodeAlreadyExists, "%s %q is used already", field, value).With("field", field).With("value", value)
}

// resources are what the documents of a folder are called in errors.
var resources = map[string]string{"automations": "automation", "pages": "page", "imports": "appInstance"}

func noDocument(path string) *domain.Error {
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
	s.Items = maps.Clone(s.Items)
	if s.Items == nil {
		s.Items = make(map[string]Item, len(entries))
	}
	s.Changes++
	for _, path := range d.Deleted {
		delete(s.Items, path)
	}
	for _, e := range entries {
		kept := s.Items[e.Path].Shares
		if e.From != "" {
			kept = s.Items[e.From].Shares
			delete(s.Items, e.From)
		}
		s.Items[e.Path] = Item{
			Hash: e.Hash, Revision: s.Changes, ID: e.ID, Public: e.Public,
			Endpoint: e.Endpoint, App: e.App, Sealed: e.Sealed, Untold: e.Untold, Shares: kept,
		}
	}
	return s
}
