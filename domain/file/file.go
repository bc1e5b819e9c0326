// Package file holds the rules of the files of a workspace. What a file holds is
// kept elsewhere, under the name of its content: here are the facts about it.
package file

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/domain"
)

// Decider is the rule of files.
var Decider = domain.Decider[State, Command]{Kind: "file", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of a file of a workspace.
func Stream(workspaceID, id string) domain.StreamID { return Decider.Stream(workspaceID, id) }

// Content is what is known of the bytes of a file.
type Content struct {
	Mimetype string `json:"mimetype"`
	Size     int64  `json:"size"`
	Checksum string `json:"checksum"` // SHA-256 in hex, by which the bytes are found
}

// Terms are the settings of a file that its manager may choose.
type Terms struct {
	Name         string         `json:"name"`
	Public       bool           `json:"public"`
	Metadata     map[string]any `json:"metadata,omitempty"`
	ExpiresAfter int64          `json:"expiresAfter,omitempty"` // seconds; 0: never
	ExpiresAt    time.Time      `json:"expiresAt,omitzero"`
}

// Facts are a file as the catalogue shows it.
type Facts struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspaceId"`
	Path        string `json:"path"` // its address below that of all files
	Terms
	Content
	CreatedBy string `json:"createdBy,omitempty"`
}

// Share is by what a file is shared with whoever has a link. A link holds for
// one generation.
type Share struct {
	Generation uint64 `json:"generation,omitempty"` // grows with each new token
	Sealed     []byte `json:"sealed,omitempty"`     // the token, sealed; empty: there is none
}

// State is a file. The zero State is one that does not exist.
type State struct {
	Facts
	Share   Share `json:"share,omitzero"`
	Deleted bool  `json:"deleted,omitempty"`
}

// GoneAt reports whether there is no such file at t: it never was, was deleted,
// or its time is over.
func (s State) GoneAt(t time.Time) bool { return s.ID == "" || s.Deleted || s.expiredAt(t) }

func (s State) expiredAt(t time.Time) bool { return !s.ExpiresAt.IsZero() && !t.Before(s.ExpiresAt) }

// Command is what can be asked of a file.
type Command interface{ fileCommand() }

type (
	// Upload makes a file. An id is used once: uploading it again does nothing.
	Upload struct {
		ID, WorkspaceID, By string
		Terms               Terms // ExpiresAt follows from ExpiresAfter
		Content             Content
		Token               []byte // sealed; empty: the file has no share token
		Now                 time.Time
	}
	// Change changes the terms that are not nil.
	Change struct {
		Name         *string
		Public       *bool
		Metadata     *map[string]any
		ExpiresAfter *int64 // 0: never; the time begins now
		Share        *Token
		Now          time.Time
	}
	// Replace gives a file other content.
	Replace struct {
		Content Content
		Now     time.Time
	}
	// Get changes nothing: it only loads the file.
	Get struct{ Now time.Time }
	// Delete ends a file.
	Delete struct{ Now time.Time }
	// Expire ends a file whose time is over, and no other.
	Expire struct{ Now time.Time }
)

// Token is a new share token, or none when Sealed is empty. Either voids the
// links of before.
type Token struct{ Sealed []byte }

func (Upload) fileCommand()  {}
func (Change) fileCommand()  {}
func (Replace) fileCommand() {}
func (Get) fileCommand()     {}
func (Delete) fileCommand()  {}
func (Expire) fileCommand()  {}

type (
	// Uploaded says that a file came.
	Uploaded struct {
		File  Facts `json:"file"`
		Share Share `json:"share,omitzero"`
	}
	// Updated says that its terms or its content changed, and what they are now.
	Updated struct {
		File  Facts `json:"file"`
		Share Share `json:"share,omitzero"`
	}
	// Deleted says that a file is gone.
	Deleted struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
)

// EventType implements domain.Event.
func (Uploaded) EventType() string { return "workspaces.files.uploaded" }

// EventType implements domain.Event.
func (Updated) EventType() string { return "workspaces.files.updated" }

// EventType implements domain.Event.
func (Deleted) EventType() string { return "workspaces.files.deleted" }

// Payload implements domain.PayloadEvent: everything but the share token.
func (e Uploaded) Payload() any { return filePayload{e.File} }

// Payload implements domain.PayloadEvent: everything but the share token.
func (e Updated) Payload() any { return filePayload{e.File} }

type filePayload struct {
	File Facts `json:"file"`
}

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Upload:
		return upload(s, c)
	case Get:
		return nil, s.checkExists(c.Now)
	case Change:
		return change(s, c)
	case Replace:
		return replace(s, c)
	case Delete:
		if err := s.checkExists(c.Now); err != nil {
			return nil, err
		}
		return []domain.Event{Deleted{s.ID, s.Name}}, nil
	case Expire:
		if s.ID == "" || s.Deleted || !s.expiredAt(c.Now) {
			return nil, nil // it was given more time, or somebody was faster
		}
		return []domain.Event{Deleted{s.ID, s.Name}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "file: unknown command %T", cmd)
	}
}

// checkExists refuses what is asked of a file that is gone.
func (s State) checkExists(now time.Time) error {
	if s.GoneAt(now) {
		return domain.Refuse(domain.CodeNotFound, "there is no such file").With("resource", "file")
	}
	return nil
}

func upload(s State, c Upload) ([]domain.Event, error) {
	if s.ID != "" {
		return nil, nil
	}
	facts := Facts{ID: c.ID, WorkspaceID: c.WorkspaceID, Terms: c.Terms, Content: c.Content, CreatedBy: c.By}
	facts.ExpiresAt = expiry(c.Terms.ExpiresAfter, c.Now)
	share := Share{Sealed: c.Token}
	if len(c.Token) > 0 {
		share.Generation = 1
	}
	if err := facts.validate(); err != nil {
		return nil, err
	}
	return []domain.Event{Uploaded{facts.withFolder(), share}}, nil
}

func change(s State, c Change) ([]domain.Event, error) {
	if err := s.checkExists(c.Now); err != nil {
		return nil, err
	}
	facts, share := s.Facts, s.Share
	if c.Name != nil {
		facts.Name = *c.Name
	}
	if c.Public != nil {
		facts.Public = *c.Public
	}
	if c.Metadata != nil {
		facts.Metadata = *c.Metadata
	}
	if c.ExpiresAfter != nil {
		facts.ExpiresAfter = *c.ExpiresAfter
		facts.ExpiresAt = expiry(*c.ExpiresAfter, c.Now)
	}
	if c.Share != nil {
		share = Share{Generation: share.Generation + 1, Sealed: c.Share.Sealed}
	}
	return updated(s, facts, share)
}

func replace(s State, c Replace) ([]domain.Event, error) {
	if err := s.checkExists(c.Now); err != nil {
		return nil, err
	}
	facts := s.Facts
	facts.Content = c.Content
	return updated(s, facts, s.Share)
}

// updated records what a file is now, when that is something else than before.
func updated(s State, facts Facts, share Share) ([]domain.Event, error) {
	facts = facts.withFolder()
	if domain.Same(s.Facts, facts) && domain.Same(s.Share, share) {
		return nil, nil
	}
	if err := facts.validate(); err != nil {
		return nil, err
	}
	return []domain.Event{Updated{facts, share}}, nil
}

// expiry is when a file ends that has so many seconds from now on.
func expiry(after int64, now time.Time) time.Time {
	if after <= 0 || after > maxExpiresAfter {
		return time.Time{}
	}
	return now.Add(time.Duration(after) * time.Second).UTC().Truncate(time.Millisecond)
}

// withFolder returns the facts with the path that follows from them.
func (f Facts) withFolder() Facts {
	f.Path = f.WorkspaceID + "/" + f.ID + "." + f.Name
	return f
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Uploaded:
		return State{Facts: e.File, Share: e.Share}
	case Updated:
		s.Facts, s.Share = e.File, e.Share
	case Deleted:
		s.Deleted = true
	}
	return s
}

// The bounds of a file's facts.
const (
	maxName         = 255               // bytes
	maxMetadata     = 32 << 10          // bytes as JSON
	maxMetadataKeys = 100               //
	maxMetadataKey  = 100               // characters
	maxExpiresAfter = 100 * 365 * 86400 // seconds
)

var (
	mimetypes = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$`)
	checksums = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// IsMediaType reports whether a text is a media type such as text/plain, without parameters.
func IsMediaType(s string) bool { return mimetypes.MatchString(s) }

func (f Facts) validate() error {
	var errs []domain.FieldError
	fault := func(ok bool, field, message string) {
		if !ok {
			errs = append(errs, domain.FieldError{Field: field, Message: message})
		}
	}
	fault(IsName(f.Name), "name", "must be 1 to 255 bytes without slashes, control characters and characters that change the direction of text")
	fault(f.ExpiresAfter >= 0 && f.ExpiresAfter <= maxExpiresAfter, "expiresAfter", "must be a number of seconds, at most those of a hundred years")
	fault(isMetadata(f.Metadata), "metadata", "must be at most 100 fields with names of 1 to 100 characters, and 32 KB together")
	fault(IsMediaType(f.Mimetype), "mimetype", "must be a media type")
	fault(f.Size >= 0 && checksums.MatchString(f.Checksum), "checksum", "must be a SHA-256 and a size")
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// IsName reports whether a file may be called so: nothing that a path, a header
// or the eye of a reader could take for something else.
func IsName(name string) bool {
	return len(name) <= maxName && utf8.ValidString(name) && strings.TrimSpace(name) != "" && name != "." && name != ".." &&
		!strings.ContainsAny(name, `/\`) && !strings.ContainsFunc(name, isMisleading)
}

// isMisleading reports whether a character does something to those around it.
func isMisleading(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.In(r, unicode.Zl, unicode.Zp) || r == '\ufeff'
}

func isMetadata(m map[string]any) bool {
	for key := range m {
		if !domain.IsTitle(key, maxMetadataKey) {
			return false
		}
	}
	body, err := json.Marshal(m)
	return err == nil && len(m) <= maxMetadataKeys && len(body) <= maxMetadata
}
