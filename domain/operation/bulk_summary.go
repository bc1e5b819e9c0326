package operation

// maxErrors is how many errors the end of a bulk run lists. The events of the
// workspaces have all of them.
const maxErrors = 500

type (
	// BulkImportCompleted says what became of an import, all in all.
	BulkImportCompleted struct {
		ofRun
		Groups       []string       `json:"groups"`
		Duration     int64          `json:"duration"` // milliseconds
		Created      int            `json:"created"`
		Updated      int            `json:"updated"`
		Skipped      int            `json:"skipped"`
		ErrorsCount  int            `json:"errorsCount"` // workspaces with errors
		CreatedIDs   []string       `json:"createdWorkspaceIds"`
		UpdatedIDs   []string       `json:"updatedWorkspaceIds"`
		SkippedIDs   []string       `json:"skippedWorkspaceIds"`
		ImportedSum  int            `json:"importedFilesCount"`
		DeletedSum   int            `json:"deletedFilesCount"`
		Errors       []any          `json:"errors"`
		Warnings     []any          `json:"warnings"`
		WasCancelled bool           `json:"cancelled,omitempty"`
		Workspaces   []ImportedItem `json:"workspaces"`
	}
	// ImportedItem is one workspace of an import that has ended.
	ImportedItem struct {
		Slug        string `json:"slug"`
		WorkspaceID string `json:"workspaceId"`
		Name        string `json:"name"`
		Version     string `json:"version"`
		Status      string `json:"status"`
		Reason      string `json:"reason,omitempty"`
		Errors      []any  `json:"errors"`
		Imported    int    `json:"importedFilesCount"`
		Deleted     int    `json:"deletedFilesCount"`
		Duration    int64  `json:"duration"`
		App         string `json:"app,omitempty"`
	}
	// BulkPushCompleted says what became of a push, all in all.
	BulkPushCompleted struct {
		ofRun
		Groups           []string     `json:"groups"`
		Name             string       `json:"name"` // of the version
		Duration         int64        `json:"duration"`
		Pushed           int          `json:"pushed"`
		MergeConflicts   int          `json:"mergeConflicts"`
		AlreadyPushed    int          `json:"alreadyPushed"`
		InProgress       int          `json:"inProgress"`
		ErrorsCount      int          `json:"errorsCount"`
		Errors           []any        `json:"errors"`
		PushedIDs        []string     `json:"pushedWorkspaceIds"`
		MergeConflictIDs []string     `json:"mergeConflictWorkspaceIds"`
		AlreadyPushedIDs []string     `json:"alreadyPushedWorkspaceIds"`
		InProgressIDs    []string     `json:"inProgressWorkspaceIds"`
		WasCancelled     bool         `json:"cancelled,omitempty"`
		Workspaces       []PushedItem `json:"workspaces"`
	}
	// PushedItem is one workspace of a push that has ended.
	PushedItem struct {
		Slug        string `json:"slug"`
		WorkspaceID string `json:"workspaceId"`
		Name        string `json:"name"`
		Status      string `json:"status"`
		Reason      string `json:"reason,omitempty"`
		Errors      []any  `json:"errors"`
		Duration    int64  `json:"duration"`
	}
)

func importCompleted(s State, took int64) BulkImportCompleted {
	all := BulkImportCompleted{
		ofRun: ofRun{s.ID, s.RepositoryID}, Groups: listed(s.Bulk.Groups), Duration: took, WasCancelled: s.Bulk.stopped(),
		CreatedIDs: []string{}, UpdatedIDs: []string{}, SkippedIDs: []string{}, Errors: []any{}, Warnings: append([]any{}, s.Bulk.Warnings...), Workspaces: []ImportedItem{},
	}
	for _, f := range s.Bulk.Done {
		switch {
		case f.Status == Faulty:
			all.ErrorsCount++
		case f.Status == Skipped:
			all.Skipped, all.SkippedIDs = all.Skipped+1, named(all.SkippedIDs, f)
		case f.Created:
			all.Created, all.CreatedIDs = all.Created+1, named(all.CreatedIDs, f)
		default:
			all.Updated, all.UpdatedIDs = all.Updated+1, named(all.UpdatedIDs, f)
		}
		all.ImportedSum, all.DeletedSum = all.ImportedSum+f.Imported, all.DeletedSum+f.Deleted
		all.Errors, all.Warnings = joined(all.Errors, f.Errors), joined(all.Warnings, f.Warnings)
		all.Workspaces = append(all.Workspaces, ImportedItem{
			f.Slug, f.WorkspaceID, f.Name, f.Version, f.Status, f.Reason, firstOf(f.Errors), f.Imported, f.Deleted, f.Duration, f.App,
		})
	}
	return all
}

func pushCompleted(s State, took int64) BulkPushCompleted {
	all := BulkPushCompleted{
		ofRun: ofRun{s.ID, s.RepositoryID}, Groups: listed(s.Bulk.Groups), Name: s.Bulk.Version, Duration: took, WasCancelled: s.Bulk.stopped(),
		PushedIDs: []string{}, MergeConflictIDs: []string{}, AlreadyPushedIDs: []string{}, InProgressIDs: []string{}, Errors: []any{}, Workspaces: []PushedItem{},
	}
	done := map[string]Finished{}
	for _, f := range s.Bulk.Done {
		done[f.Slug] = f
	}
	for _, p := range s.Bulk.Planned {
		f, ran := done[p.Slug]
		if !ran {
			f = Finished{Slug: p.Slug, WorkspaceID: p.WorkspaceID, Name: p.Name, Status: p.Status}
		}
		all.count(f)
		all.Errors = joined(all.Errors, f.Errors)
		all.Workspaces = append(all.Workspaces, PushedItem{f.Slug, f.WorkspaceID, f.Name, f.Status, f.Reason, firstOf(f.Errors), f.Duration})
	}
	return all
}

func (c *BulkPushCompleted) count(f Finished) {
	switch f.Status {
	case Pushed:
		c.Pushed, c.PushedIDs = c.Pushed+1, named(c.PushedIDs, f)
	case InConflict:
		c.MergeConflicts, c.MergeConflictIDs = c.MergeConflicts+1, named(c.MergeConflictIDs, f)
	case AlreadyPushed:
		c.AlreadyPushed, c.AlreadyPushedIDs = c.AlreadyPushed+1, named(c.AlreadyPushedIDs, f)
	case InProgress:
		c.InProgress, c.InProgressIDs = c.InProgress+1, named(c.InProgressIDs, f)
	default:
		c.ErrorsCount++
	}
}

func named(ids []string, f Finished) []string {
	if f.WorkspaceID == "" {
		return ids
	}
	return append(ids, f.WorkspaceID)
}

func joined(all, more []any) []any {
	return append(all, more[:min(len(more), max(0, maxErrors-len(all)))]...)
}

// perWorkspace is how many errors the end of a bulk run lists for each workspace.
const perWorkspace = 5

func firstOf(errors []any) []any { return listed(errors[:min(len(errors), perWorkspace)]) }
