// Package kbdocument holds the rules of the documents of knowledge bases: what is known of a document, its revisions,
// and how it becomes searchable. Its bytes, its text and its passages are blobs; here are their names.
package kbdocument

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/knowledge"
)

// Decider is the rule of documents.
var Decider = domain.Decider[State, Command]{Kind: "kbdocument", Version: 2, Decide: decide, Evolve: evolve}

// Stream returns the stream of a document of a workspace.
func Stream(workspaceID, id string) domain.StreamID { return Decider.Stream(workspaceID, id) }

// Source is where the bytes of a document come from.
type Source string

// The sources.
const (
	File Source = "file"
	Text Source = "text"
	URL  Source = "url"

	Crawl Source = "crawl"
)

// Origin is where a document comes from, and what it is known by.
type Origin struct {
	Source Source `json:"source"`
	Key    string `json:"key,omitempty"` // the caller's own identity of the document
	URL    string `json:"url,omitempty"` // normalised
	FileID string `json:"fileId,omitempty"`

	SourceID string `json:"sourceId,omitempty"` // of the site that it was found on
}

// Identity is what two documents of a base cannot share: the key, else the address, else the file. "": the document
// is known by its id alone.
func (o Origin) Identity() string {
	switch {
	case o.Key != "":
		return "key:" + o.Key
	case o.URL != "":
		return "url:" + o.URL
	case o.FileID != "":
		return "file:" + o.FileID
	}
	return ""
}

// Fields are what the owner of a document says about it.
type Fields struct {
	Name      string         `json:"name"`
	Title     string         `json:"title,omitempty"`    // "": the one that extraction finds
	Language  string         `json:"language,omitempty"` // "": the one that the text is in
	Tags      []string       `json:"tags,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`
	ExpiresAt time.Time      `json:"expiresAt,omitzero"` // zero: never
}

// Change changes the fields that are not nil.
type Change struct {
	Name, Title, Language *string
	Tags                  *[]string
	Metadata              *map[string]any
	ExpiresAt             *time.Time
}

func (c Change) apply(f Fields) Fields {
	set(&f.Name, c.Name)
	set(&f.Title, c.Title)
	set(&f.Language, c.Language)
	set(&f.Tags, c.Tags)
	set(&f.Metadata, c.Metadata)
	set(&f.ExpiresAt, c.ExpiresAt)
	return f
}

func set[T any](field, to *T) {
	if to != nil {
		*field = *to
	}
}

// Names lists the fields that change.
func (c Change) Names() (names []string) {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"name", c.Name != nil},
		{"title", c.Title != nil},
		{"language", c.Language != nil},
		{"tags", c.Tags != nil},
		{"metadata", c.Metadata != nil},
		{"expiresAt", c.ExpiresAt != nil},
	} {
		if f.given {
			names = append(names, f.name)
		}
	}
	return names
}

// Selector says which part of a page is kept. The zero value is for the main part.
type Selector struct {
	CSS    string   `json:"css,omitempty"`
	XPath  string   `json:"xpath,omitempty"`
	Remove []string `json:"remove,omitempty"` // CSS of what is left out
}

// IsZero reports whether it selects nothing.
func (s Selector) IsZero() bool { return s.CSS == "" && s.XPath == "" && len(s.Remove) == 0 }

// Reading says how the text is read out of the content. The zero value is for all of it.
type Reading struct {
	Selector Selector `json:"selector,omitzero"`
	MaxText  int      `json:"maxText,omitempty"` // characters; 0: as many as of any document
}

// Content is what is known of the bytes of a document. The bytes are a blob that the hash names.
type Content struct {
	Mimetype string `json:"mimetype"`
	Size     int64  `json:"size"`
	Hash     string `json:"hash"` // SHA-256 in hex
}

// Revision is one content of a document.
type Revision struct {
	Number int `json:"revision"`
	Content
	CreatedAt time.Time `json:"createdAt"`
	CreatedBy string    `json:"createdBy,omitempty"`
	Text      string    `json:"text,omitempty"`     // blob of the text that was read out of it; "": there is none
	TextSize  int64     `json:"textSize,omitempty"` // bytes of the text
}

// Extract is what the pipeline made of a revision. Text and Chunks name blobs.
type Extract struct {
	Revision   int       `json:"revision"`
	Text       string    `json:"text"`            // SHA-256 of the text in hex: the textHash of the API
	Size       int64     `json:"size"`            // bytes of the text
	Chunks     string    `json:"chunks"`          // Passages, as JSON
	Count      int       `json:"count"`           // of passages
	Characters int       `json:"characters"`      // of the text
	Title      string    `json:"title,omitempty"` // that was found
	Language   string    `json:"language,omitempty"`
	Stated     string    `json:"stated,omitempty"`    // the language that the text itself names
	Mimetype   string    `json:"mimetype,omitempty"`  // that was found
	Tags       []string  `json:"tags,omitempty"`      // of the front matter
	Cut        bool      `json:"cut,omitempty"`       // the text is not complete
	Truncated  bool      `json:"truncated,omitempty"` // the text is not complete, or has more passages than are kept
	Warnings   []string  `json:"warnings,omitempty"`
	Division   string    `json:"division,omitempty"` // how it was divided: see knowledge.Settings
	At         time.Time `json:"at"`
}

// Passages are the passages of a text, as they are stored.
type Passages struct {
	Pages  []int             `json:"pages,omitempty"` // where each page of the text begins, in characters
	Chunks []knowledge.Chunk `json:"chunks"`
}

// ParsePassages reads stored passages.
func ParsePassages(body []byte) (p Passages, err error) {
	if err := json.Unmarshal(body, &p); err != nil {
		return p, fmt.Errorf("stored passages: %w", err)
	}
	return p, nil
}

// Fault is why a revision cannot be searched.
type Fault struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Job is the work that the pipeline has with a document. A later job has a later generation: results of an earlier one
// do not count.
type Job struct {
	Generation int       `json:"generation"`
	Fetch      bool      `json:"fetch,omitempty"`     // load the address
	Extract    bool      `json:"extract,omitempty"`   // read the bytes; otherwise only divide the text again
	Bulk       bool      `json:"bulk,omitempty"`      // it can wait for those that somebody waits for
	Operation  string    `json:"operation,omitempty"` // that processes the base again; "": none
	NotBefore  time.Time `json:"notBefore,omitzero"`  // of the next attempt
	Attempts   int       `json:"attempts,omitempty"`  // that were begun
	Lost       int       `json:"lost,omitempty"`      // of them, those whose node was gone before they ended
	Begun      time.Time `json:"begun,omitzero"`      // when the current attempt began; zero: none is running
}

// Vectors are what a model made of the passages of a document.
type Vectors struct {
	Set        string    `json:"set"`                  // see knowledge.Embedding
	Chunks     string    `json:"chunks"`               // blob of the passages
	Blob       string    `json:"blob,omitempty"`       // EncodeVectors
	Dimensions int       `json:"dimensions,omitempty"` // of each vector
	Fault      *Fault    `json:"fault,omitempty"`      // why there are none; nil: there are
	At         time.Time `json:"at"`
}

// EmbeddingJob is the work that a model has with a document that can be searched already.
type EmbeddingJob struct {
	Set       string    `json:"set"`
	Bulk      bool      `json:"bulk,omitempty"`     // it can wait for those that somebody waits for
	Attempts  int       `json:"attempts,omitempty"` // that failed
	NotBefore time.Time `json:"notBefore,omitzero"` // of the next attempt
}

// keptVectors is how many sets of vectors a document has: a new one is made while the former one is searched.
const keptVectors = 2

// FindVectors returns the vectors of a set, if they are those of the passages that are searched.
func (s State) FindVectors(set string) (Vectors, bool) {
	for _, v := range s.Vectors {
		if v.Set == set && s.Extract != nil && v.Chunks == s.Extract.Chunks {
			return v, true
		}
	}
	return Vectors{}, false
}

// VectorSet names the set of vectors that the document has, or is to have; "": none.
func (s State) VectorSet() string {
	if s.Embedding != nil {
		return s.Embedding.Set
	}
	if n := len(s.Vectors); n > 0 {
		return s.Vectors[n-1].Set
	}
	return ""
}

// VectorStatus is how far the vectors of a document are, in a base whose model makes a set: none, pending, ready or error.
func (s State) VectorStatus(set string) string {
	v, found := s.FindVectors(set)
	switch {
	case set == "" || s.Extract == nil && s.Fault != nil:
		return "none"
	case !found || s.Embedding != nil:
		return "pending"
	case v.Fault != nil:
		return "error"
	}
	return "ready"
}

// Status is how far a document is.
type Status string

// The statuses.
const (
	Pending    Status = "pending"
	Processing Status = "processing"
	Ready      Status = "ready"
	Failed     Status = "error"
)

// Statuses lists all of them.
var Statuses = []Status{Pending, Processing, Ready, Failed}

// State is a document. The zero State is one that does not exist.
type State struct {
	ID     string `json:"id"`
	BaseID string `json:"baseId"`
	Origin
	Fields
	Declared   string        `json:"declared,omitempty"` // media type that the sender named
	Reading    Reading       `json:"reading,omitzero"`
	Generation int           `json:"generation,omitempty"`
	Revisions  []Revision    `json:"revisions,omitempty"` // those that are kept, the newest last
	Revision   int           `json:"revision"`            // number of the newest
	Job        *Job          `json:"job,omitempty"`       // nil: the pipeline has nothing to do
	Fault      *Fault        `json:"fault,omitempty"`     // of the newest revision
	Extract    *Extract      `json:"extract,omitempty"`   // what is searched; nil: nothing yet
	Vectors    []Vectors     `json:"vectors,omitempty"`   // at most one of each set, the newest last
	Embedding  *EmbeddingJob `json:"embedding,omitempty"` // nil: no model has anything to do
	CheckedAt  time.Time     `json:"checkedAt,omitzero"`  // when the address was loaded last
	Operation  string        `json:"operation,omitempty"` // the last one that processed it again with its base
	CreatedBy  string        `json:"createdBy,omitempty"`
	Depth      int           `json:"depth,omitempty"` // of the run that changed it last: what follows from that has it too
	Deleted    bool          `json:"deleted,omitempty"`
}

// GoneAt reports whether there is no such document at t: it never was, was deleted, or its time is over.
func (s State) GoneAt(t time.Time) bool { return s.ID == "" || s.Deleted || s.expiredAt(t) }

func (s State) expiredAt(t time.Time) bool { return !s.ExpiresAt.IsZero() && !t.Before(s.ExpiresAt) }

// Status returns how far the newest revision is.
func (s State) Status() Status {
	switch {
	case s.Job != nil && s.Job.Begun.IsZero():
		return Pending
	case s.Job != nil:
		return Processing
	case s.Fault != nil:
		return Failed
	}
	return Ready
}

// Content returns the newest content; that of an address that was never loaded is empty.
func (s State) Content() Content {
	if len(s.Revisions) == 0 {
		return Content{}
	}
	return s.Revisions[len(s.Revisions)-1].Content
}

// FindRevision returns a revision that is kept.
func (s State) FindRevision(number int) (Revision, bool) {
	at := slices.IndexFunc(s.Revisions, func(r Revision) bool { return r.Number == number })
	if at < 0 {
		return Revision{}, false
	}
	return s.Revisions[at], true
}

// FindText returns the blob and the size of the text of a revision: of the one that is searched, or of one that is kept.
func (s State) FindText(revision int) (text string, size int64, ok bool) {
	if s.Extract != nil && s.Extract.Revision == revision {
		return s.Extract.Text, s.Extract.Size, true
	}
	kept, _ := s.FindRevision(revision)
	return kept.Text, kept.TextSize, kept.Text != ""
}

// ShownTitle is the title that its owner gave it, else the one that was found.
func (s State) ShownTitle() string {
	if s.Title == "" && s.Extract != nil {
		return s.Extract.Title
	}
	return s.Title
}

// ShownLanguage is the language that its owner gave it, else the one of its text.
func (s State) ShownLanguage() string {
	if s.Language == "" && s.Extract != nil {
		return s.Extract.Language
	}
	return s.Language
}

// ShownTags are the tags that its owner gave it, else those of the front matter of its text.
func (s State) ShownTags() []string {
	if len(s.Tags) == 0 && s.Extract != nil {
		return s.Extract.Tags
	}
	return s.Tags
}

// ShownMimetype is the media type that was found in the bytes.
func (s State) ShownMimetype() string {
	if s.Extract != nil && s.Extract.Revision == s.Revision && s.Extract.Mimetype != "" {
		return s.Extract.Mimetype
	}
	return s.Content().Mimetype
}
