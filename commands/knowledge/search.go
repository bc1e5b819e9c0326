package knowledge

import (
	"svc/domain/access"
	"svc/domain/kbdocument"
)

// SearchRequest is a search by somebody.
type SearchRequest struct {
	WorkspaceID string
	Bases       []string       // slugs; nil: all whose documents the caller could read
	Rights      *access.Rights // of the caller; nil: all documents may be read
	Within      map[string]any // filters besides those of the caller; nil: none
	SearchQuery
}

// SearchQuery is what is searched for. Query is required; what is nil or empty has the default of the base or of the
// contract.
type SearchQuery struct {
	Query         string           `json:"query"`
	Mode          string           `json:"mode"`
	Filters       map[string]any   `json:"filters"`
	Facets        map[string]Facet `json:"facets"`
	Group         string           `json:"group"`
	Passages      *int             `json:"passages"`
	Limit         *int             `json:"limit"`
	Page          *int             `json:"page"`
	MinSimilarity *float64         `json:"minSimilarity"`
	Weights       *Weights         `json:"weights"`
	Highlight     *bool            `json:"highlight"`
	Fuzzy         *bool            `json:"fuzzy"`
}

// Weights are those of the lists of a hybrid search.
type Weights struct {
	Text   *float64 `json:"text"`
	Vector *float64 `json:"vector"`
}

// SearchAnswer is what was found.
type SearchAnswer struct {
	Total       int                    `json:"total"` // documents
	Mode        string                 `json:"mode"`
	Fuzzy       bool                   `json:"fuzzy,omitempty"` // words that are spelt a little differently were taken
	Took        int64                  `json:"took"`            // milliseconds
	Approximate bool                   `json:"approximate,omitempty"`
	Warnings    []string               `json:"warnings,omitempty"`
	Results     []SearchResult         `json:"results"`
	Facets      map[string]FacetAnswer `json:"facets,omitempty"`
}

// SearchResult is a document with its best passages, or one passage of it.
type SearchResult struct {
	Document  SearchDocument  `json:"document"`
	Score     float64         `json:"score"`
	Scores    Scores          `json:"scores"`
	TitleHTML string          `json:"titleHtml,omitempty"`
	Passages  []SearchPassage `json:"passages"`
}

// Scores are the parts of a score.
type Scores struct {
	Text   *float64 `json:"text,omitempty"`
	Vector *float64 `json:"vector,omitempty"`
}

// SearchDocument is what an answer shows of a document.
type SearchDocument struct {
	ID            string            `json:"id"`
	Key           string            `json:"key,omitempty"`
	Name          string            `json:"name"`
	Title         string            `json:"title"`
	URL           string            `json:"url,omitempty"`
	KnowledgeBase string            `json:"knowledgeBase"`
	Source        kbdocument.Source `json:"source"`
	Tags          []string          `json:"tags"`
	Metadata      map[string]any    `json:"metadata"`
	Language      string            `json:"language"`
	Mimetype      string            `json:"mimetype"`
	UpdatedAt     string            `json:"updatedAt"`
}

// SearchPassage is a passage that was found.
type SearchPassage struct {
	Chunk    int      `json:"chunk"` // its number in the document
	Text     string   `json:"text"`
	Headings []string `json:"headings"`
	Page     int      `json:"page,omitempty"`
	From     int      `json:"from"`
	To       int      `json:"to"`
	Score    float64  `json:"score"`
	HTML     string   `json:"html,omitempty"`
}

// Modes of a search.
const (
	ModeAuto   = "auto"
	ModeText   = "text"
	ModeVector = "vector"
	ModeHybrid = "hybrid"
)

// Facet counts the values of a field in the documents that were found, or how many are in ranges.
type Facet struct {
	Field  string   `json:"field"`
	Size   *int     `json:"size"`
	Ranges *[]Range `json:"ranges"`
}

// Range is numbers or texts from one on, and before another.
type Range struct {
	Name string `json:"name"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

// FacetAnswer is what a facet counted. All numbers are documents.
type FacetAnswer struct {
	Buckets []Bucket `json:"buckets"`
	Other   int      `json:"other"`   // values that are in no bucket
	Missing int      `json:"missing"` // documents without a value
}

// Bucket is a value or a range with the documents that have it.
type Bucket struct {
	Key   any `json:"key"`
	Count int `json:"count"`
}
