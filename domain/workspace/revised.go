package workspace

// shownImport is what the catalogue shows of an import that has its place in the log.
type shownImport struct {
	Import
	Revision uint64 `json:"contentRevision"`
}

// shownRestore is the same of a restoration.
type shownRestore struct {
	Restore
	Revision uint64 `json:"contentRevision"`
}

// PayloadAt implements domain.Revised. An import that changed nothing tells the
// revision of before.
func (e Imported) PayloadAt(contentRevision uint64) any {
	return shownImport{e.Import, contentRevision}
}

// PayloadAt implements domain.Revised.
func (e Restored) PayloadAt(contentRevision uint64) any {
	return shownRestore{e.Restore, contentRevision}
}
