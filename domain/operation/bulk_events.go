package operation

import (
	"encoding/json"

	"svc/domain"
)

// ofRun says which run an event is of.
type ofRun struct {
	OperationID  string `json:"operationId"`
	RepositoryID string `json:"repositoryId"`
}

type (
	// BulkImportStarted says which workspaces an import is about to bring.
	BulkImportStarted struct {
		ofRun
		Bulk Bulk `json:"bulk"`
	}
	// BulkPushStarted says which workspaces a push is about to save.
	BulkPushStarted struct {
		ofRun
		Bulk Bulk `json:"bulk"`
	}
	bulkProgress struct {
		ofRun
		Finished Finished `json:"finished"`
		Current  int      `json:"current"`
		Total    int      `json:"total"`
	}
	// BulkImportProgress says what became of one workspace of an import.
	BulkImportProgress bulkProgress
	// BulkPushProgress says what became of one workspace of a push.
	BulkPushProgress bulkProgress
)

// EventType implements domain.Event.
func (BulkImportStarted) EventType() string { return "workspaces.bulkImport.started" }

// EventType implements domain.Event.
func (BulkPushStarted) EventType() string { return "workspaces.bulkPush.started" }

// EventType implements domain.Event.
func (BulkImportProgress) EventType() string { return "workspaces.bulkImport.progress" }

// EventType implements domain.Event.
func (BulkPushProgress) EventType() string { return "workspaces.bulkPush.progress" }

// EventType implements domain.Event.
func (BulkImportCompleted) EventType() string { return "workspaces.bulkImport.completed" }

// EventType implements domain.Event.
func (BulkPushCompleted) EventType() string { return "workspaces.bulkPush.completed" }

// slugged is a workspace that is yet to be imported.
type slugged struct {
	Slug string `json:"slug"`
}

// Categorised is a workspace that a push has sorted.
type Categorised struct {
	Slug        string `json:"slug"`
	WorkspaceID string `json:"workspaceId"`
	Name        string `json:"name"`
	Status      string `json:"status"`
}

// Sorted returns the workspaces of a push as events and plans tell them.
func (b Bulk) Sorted() []Categorised {
	all := make([]Categorised, 0, len(b.Planned))
	for _, p := range b.Planned {
		all = append(all, Categorised(p))
	}
	return all
}

// Payload implements domain.Shown.
func (e BulkImportStarted) Payload() any {
	workspaces := make([]slugged, 0, len(e.Bulk.Planned))
	for _, p := range e.Bulk.Planned {
		workspaces = append(workspaces, slugged{p.Slug})
	}
	return struct {
		ofRun
		Groups     []string  `json:"groups"`
		Total      int       `json:"total"`
		Workspaces []slugged `json:"workspaces"`
		Warnings   []any     `json:"warnings"`
	}{e.ofRun, listed(e.Bulk.Groups), len(workspaces), workspaces, listed(e.Bulk.Warnings)}
}

// Payload implements domain.Shown.
func (e BulkPushStarted) Payload() any {
	return struct {
		ofRun
		Groups     []string      `json:"groups"`
		Workspaces []Categorised `json:"workspaces"`
	}{e.ofRun, listed(e.Bulk.Groups), e.Bulk.Sorted()}
}

// shownProgress is what both kinds tell of one workspace.
type shownProgress struct {
	ofRun
	Slug        string `json:"workspaceSlug"`
	WorkspaceID string `json:"workspaceId,omitempty"`
	Name        string `json:"workspaceName,omitempty"`
	Status      string `json:"status"`
	Reason      string `json:"reason,omitempty"`
	Current     int    `json:"current"`
	Total       int    `json:"total"`
	Percentage  int    `json:"percentage"`
	Duration    int64  `json:"duration"`
}

func (p bulkProgress) shown() shownProgress {
	f := p.Finished
	return shownProgress{p.ofRun, f.Slug, f.WorkspaceID, f.Name, f.Status, f.Reason, p.Current, p.Total, 100 * p.Current / max(p.Total, 1), f.Duration}
}

// Payload implements domain.Shown.
func (e BulkImportProgress) Payload() any {
	return struct {
		shownProgress
		Imported int   `json:"importedFilesCount"`
		Deleted  int   `json:"deletedFilesCount"`
		Errors   []any `json:"errors"`
		Warnings []any `json:"warnings"`
	}{bulkProgress(e).shown(), e.Finished.Imported, e.Finished.Deleted, listed(e.Finished.Errors), listed(e.Finished.Warnings)}
}

// Payload implements domain.Shown.
func (e BulkPushProgress) Payload() any {
	return struct {
		shownProgress
		Errors   []any `json:"errors"`
		Warnings []any `json:"warnings"`
	}{bulkProgress(e).shown(), listed(e.Finished.Errors), listed(e.Finished.Warnings)}
}

// listed returns a list that is told as [] when it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// told is an event as a result tells it.
func told(ev domain.Event) json.RawMessage {
	body, err := json.Marshal(ev)
	if err != nil {
		return nil // what was read of JSON can be written
	}
	return body
}
