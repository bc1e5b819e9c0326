package archive

import (
	"svc/domain"
	"svc/domain/document"
)

// Limits bound a tree. Zero is no bound but zero: begin with Usual.
type Limits struct {
	Files        int             // managed files of a tree
	FileBytes    int             // of one file
	TreeBytes    int             // of all files
	PathBytes    int             // of one path
	SegmentBytes int             // of one part of a path
	Segments     int             // of one path
	ArchiveBytes int             // of a zip: IMPORT_MAX_SIZE
	Entries      int             // of a zip, unmanaged ones included
	Ratio        int             // of a tree over 1 MB to its zip
	Workspaces   int             // of a bulk zip
	Document     document.Limits // of the text of one file
}

// Usual are the limits of the contract.
var Usual = Limits{
	Files: 5000, FileBytes: 1 << 20, TreeBytes: 64 << 20,
	PathBytes: 512, SegmentBytes: 200, Segments: 32,
	ArchiveBytes: 50 << 20, Entries: 50_000, Ratio: 100, Workspaces: 2000,
	Document: document.FileLimits,
}

// ratioFrom is the size up to which a tree may be as well compressed as it likes.
const ratioFrom = 1 << 20

// Exceeded refuses a source that is more than a limit allows. path is "" when it
// is all of it.
func Exceeded(limit string, value int, path string) error {
	e := domain.Refuse(domain.CodeValidation, "the limit %s of %d is exceeded", limit, value).
		Reason("limit_exceeded").With("limit", limit).With("value", value)
	if path != "" {
		e.Message = path + ": " + e.Message
		e.With("path", path)
	}
	return e
}
