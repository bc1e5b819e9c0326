// Package collection holds the rules of collections: the tables that automations
// store rows in.
//
// A call is prepared from its parameters (Prepare), reads what it needs through a View, and, when it writes, leaves
// Changes in a Draft: whole rows and what is declared of them, never instructions. Every node that applies the
// changes in the order of the log has the same rows. This package does not know where rows are stored: a View finds
// them by id or by the encoded keys of an index (Key), and each row that it finds is matched with the query again.
package collection

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/automation"
)

// The reasons of a CollectionError.
const (
	Validation = "validation"  // a value, a name or a parameter does not fit
	NotUnique  = "unique"      // another row has these values
	EmptyQuery = "empty_query" // an update or deletion of everything that was not asked for
	TooLarge   = "too_large"   // more rows or bytes than the limits allow
	BadQuery   = "bad_query"   // an invalid query, update or step
)

// Refuse returns a CollectionError.
func Refuse(reason, format string, args ...any) *automation.Error {
	return automation.Raise(automation.CollectionFailed, fmt.Sprintf(format, args...), "reason", reason)
}

// withDetail adds a detail to an error that is not shared yet.
func withDetail(e *automation.Error, key string, v any) *automation.Error {
	e.Details.Set(key, v)
	return e
}

// Limits bound one call. The zero value of each field is its default.
type Limits struct {
	MaxWrite   int // rows per write; default 10000
	MaxLimit   int // rows per read; default 10000
	MaxRowSize int // bytes of one row; default 1 MB
	MaxSteps   int // work of one call; default 2 billion steps
}

const (
	defaultRows    = 10_000
	defaultRowSize = 1_000_000
	// maxMemory is the memory for the rows of one call.
	maxMemory = 64 << 20
	// maxSorted is the number of rows that a sorted read holds, including those it skips.
	maxSorted = 100_000
	// maxPaths is how many fields a query, a sort or a choice of fields names.
	maxPaths = 1000
	// maxDepth is how deep a value of a row may be nested.
	maxDepth = 100
	// maxName bounds the names of collections, schemas and fields, and ids of rows.
	maxName = 128
	maxID   = 256
)

// WithDefaults returns the limits with defaults instead of zeros.
func (l Limits) WithDefaults() Limits {
	fill := func(n *int, standard int) {
		if *n <= 0 {
			*n = standard
		}
	}
	fill(&l.MaxWrite, defaultRows)
	fill(&l.MaxLimit, defaultRows)
	fill(&l.MaxRowSize, defaultRowSize)
	fill(&l.MaxSteps, defaultSteps)
	return l
}

// Kind is what the data of collections is called in the log.
const Kind = "collections"

// Stream names the data of one namespace. Space is derived from the app instance; it has
// letters, digits, - and _.
func Stream(workspaceID, space string) domain.StreamID {
	return domain.StreamID{Scope: workspaceID, Kind: Kind, ID: space}
}

// Logged is one entry of the log of collections.
type Logged struct {
	Stream   domain.StreamID
	ID       string
	Seq      uint64
	Previous uint64 // sequence of the entry before it of the same stream; 0 for none
	Snapshot bool   // replaces all earlier entries
	Body     []byte
}

// checkName refuses a wrong name of a collection, a schema or a field.
func checkName(what, name string) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return Refuse(Validation, "the name of a %s has 1 to %d bytes and no control characters", what, maxName)
	}
	return nil
}

// checkField refuses the name of a field that no path could lead to.
func checkField(name string) error {
	if strings.HasPrefix(name, "$") || strings.Contains(name, ".") {
		return withDetail(Refuse(Validation, "the field %s has a $ at its beginning, or a dot", name), "field", name)
	}
	return checkName("field", name)
}

// checkID refuses a wrong id of a row.
func checkID(v any) (string, error) {
	id, ok := v.(string)
	if !ok || id == "" || len(id) > maxID || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return "", Refuse(Validation, "an id is a text of 1 to %d bytes without control characters", maxID)
	}
	return id, nil
}

// Fields that every row has and only the platform writes.
const (
	fieldID        = "id"
	aliasID        = "_id"
	fieldCreatedAt = "createdAt"
	fieldUpdatedAt = "updatedAt"
	fieldCreatedBy = "createdBy"
	fieldUpdatedBy = "updatedBy"
)

// isSystemField reports whether only the platform writes a field.
func isSystemField(field string) bool {
	switch field {
	case fieldID, aliasID, fieldCreatedAt, fieldUpdatedAt, fieldCreatedBy, fieldUpdatedBy:
		return true
	}
	return false
}

// unalias returns the field that a name or path means: _id is id.
func unalias(path string) string {
	if path == aliasID {
		return fieldID
	}
	return path
}
