package operation

import (
	"encoding/json"
	"strings"
)

// What the end of a bulk run may list: so many errors and warnings, which weigh so
// much together, besides what it says of each workspace. The events of the
// workspaces have all of them.
const (
	maxErrors = 500
	maxWeight = 128 << 10
	maxName   = 80 // bytes of the name of a workspace
)

// room is what is left for errors and warnings.
type room struct {
	bytes int
	cut   bool // something was left out
}

// some returns what of a list there is room for.
func (r *room) some(all, more []any, most int) []any {
	for _, item := range more {
		body, err := json.Marshal(item)
		if err != nil || len(all) >= most || len(body) > r.bytes {
			r.cut = true
			return all
		}
		r.bytes -= len(body)
		all = append(all, item)
	}
	return all
}

// short returns a name that is not too long for a list of many.
func short(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "") + "…"
}

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
		Truncated    bool           `json:"truncated,omitempty"` // errors or warnings were left out
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
		Truncated        bool         `json:"truncated,omitempty"`
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
		CreatedIDs: []string{}, UpdatedIDs: []string{}, SkippedIDs: []string{}, Errors: []any{}, Warnings: []any{}, Workspaces: []ImportedItem{},
	}
	lists, each := room{bytes: maxWeight}, room{bytes: maxWeight}
	all.Warnings = lists.some(all.Warnings, s.Bulk.Warnings, maxErrors)
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
		all.Errors, all.Warnings = lists.some(all.Errors, f.Errors, maxErrors), lists.some(all.Warnings, f.Warnings, maxErrors)
		all.Workspaces = append(all.Workspaces, ImportedItem{
			f.Slug, f.WorkspaceID, short(f.Name), f.Version, f.Status, f.Reason, each.some([]any{}, f.Errors, perWorkspace), f.Imported, f.Deleted, f.Duration, f.App,
		})
	}
	all.Truncated = lists.cut
	return all
}

func pushCompleted(s State, took int64) BulkPushCompleted {
	all := BulkPushCompleted{
		ofRun: ofRun{s.ID, s.RepositoryID}, Groups: listed(s.Bulk.Groups), Name: s.Bulk.Version, Duration: took, WasCancelled: s.Bulk.stopped(),
		PushedIDs: []string{}, MergeConflictIDs: []string{}, AlreadyPushedIDs: []string{}, InProgressIDs: []string{}, Errors: []any{}, Workspaces: []PushedItem{},
	}
	lists, each := room{bytes: maxWeight}, room{bytes: maxWeight}
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
		all.Errors = lists.some(all.Errors, f.Errors, maxErrors)
		all.Workspaces = append(all.Workspaces, PushedItem{f.Slug, f.WorkspaceID, short(f.Name), f.Status, f.Reason, each.some([]any{}, f.Errors, perWorkspace), f.Duration})
	}
	all.Truncated = lists.cut
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

// perWorkspace is how many errors the end of a bulk run lists for each workspace.
const perWorkspace = 5
