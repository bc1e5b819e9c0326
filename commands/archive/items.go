package archive

import (
	"errors"

	"svc/domain"
	"svc/domain/document"
)

// Item is one thing to say about one file of an import.
type Item struct {
	Msg         string `json:"msg"`
	Err         string `json:"err"` // one of the codes below
	Filepath    string `json:"filepath"`
	Line        int    `json:"line,omitempty"`
	WorkspaceID string `json:"workspaceId,omitempty"`
	// Details are what a program can do something with.
	Details map[string]any `json:"details,omitempty"`
}

// The codes of error items.
const (
	ErrInvalidDocument   = "invalid_document"    // cannot be read, or was refused by Options.Validate
	ErrInvalidSlug       = "invalid_slug"        // no object of this kind can be called so
	ErrDuplicateObject   = "duplicate_object"    // two files for one object
	ErrChecksumMismatch  = "checksum_mismatch"   // not the bytes that were pushed; with force a warning
	ErrInvalidImportFile = "invalid_import_file" // ImportPath cannot be read
)

// The codes of warnings.
const (
	WarnSlugMismatch = "slug_mismatch" // the file has another name than its slug
	WarnUnknownField = "unknown_field" // kept, without effect
	WarnNotImported  = "not_imported"  // a file whose name is almost that of a document
	WarnNotAPage     = "not_a_page"    // JSON below pages that describes something else
)

// itemOf returns the item for a file that could not be read. line finds the line of a field.
func itemOf(code, file string, err error, line func(field string) int) Item {
	item := Item{Msg: err.Error(), Err: code, Filepath: file}
	if refusal, ok := errors.AsType[*domain.Error](err); ok {
		item.Msg, item.Line = refusal.Message, line(FirstField(refusal))
	}
	if fault, ok := errors.AsType[*document.Fault](err); ok {
		item.Line = fault.Line
	}
	return item
}

// FirstField returns the first field that a refusal names, "" when it names none.
func FirstField(refusal *domain.Error) string {
	if list, ok := refusal.Details["errors"].([]domain.FieldError); ok && len(list) > 0 {
		return list[0].Field
	}
	return ""
}
