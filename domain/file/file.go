// Package file holds the rules of the files of a workspace. What a file holds is
// kept elsewhere, under the name of its content: here are the facts about it.
package file

import (
	"time"

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

// Terms are what whoever manages a file may choose.
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
	// Look changes nothing: it tells whether the file is there.
	Look struct{ Now time.Time }
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
func (Look) fileCommand()    {}
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

// Payload implements domain.Shown: everything but the share token.
func (e Uploaded) Payload() any { return shown{e.File} }

// Payload implements domain.Shown: everything but the share token.
func (e Updated) Payload() any { return shown{e.File} }

type shown struct {
	File Facts `json:"file"`
}
