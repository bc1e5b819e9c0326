package operation

import (
	"encoding/json"
	"slices"
	"strings"

	"svc/domain"
)

// The statuses of one workspace of a bulk run. The first four are those that a push
// begins with.
const (
	Candidate     = "candidate"
	InConflict    = "mergeConflict"
	InProgress    = "inProgress"
	AlreadyPushed = "alreadyPushed"

	Pushed   = "pushed"
	Imported = "imported"
	Skipped  = "skipped"
	Faulty   = "error"
)

// CancelledReason is the reason of a workspace that was left out of a cancelled run.
const CancelledReason = "cancelled"

// Bulk is how far a bulk run is: what it is about to do, and what became of it.
type Bulk struct {
	Groups   []string  `json:"groups"`
	Version  string    `json:"version,omitempty"` // that a push makes of every workspace
	Commit   string    `json:"commit,omitempty"`  // that an import brings; "": of a directory, or a push
	Planned  []Planned `json:"planned"`           // in the order in which they are begun
	Warnings []any     `json:"warnings"`          // about the run as a whole

	Done []Finished `json:"done,omitempty"` // in the order in which they ended
}

// Planned is one workspace of a bulk run.
type Planned struct {
	Slug        string `json:"slug"`
	WorkspaceID string `json:"workspaceId,omitempty"` // "": there is none yet
	Name        string `json:"name,omitempty"`
	Status      string `json:"status,omitempty"` // of a push: one it begins with
}

// Finished is what became of one workspace of a bulk run.
type Finished struct {
	Slug        string `json:"slug"`
	WorkspaceID string `json:"workspaceId,omitempty"`
	Name        string `json:"name,omitempty"`
	Version     string `json:"version,omitempty"`
	Status      string `json:"status"`
	Reason      string `json:"reason,omitempty"`
	Created     bool   `json:"created,omitempty"` // the run made it
	LeftOut     bool   `json:"leftOut,omitempty"` // somebody stopped the run before it was begun
	App         string `json:"app,omitempty"`     // that was published
	Imported    int    `json:"imported,omitempty"`
	Deleted     int    `json:"deleted,omitempty"`
	Duration    int64  `json:"duration"` // milliseconds
	Errors      []any  `json:"errors,omitempty"`
	Warnings    []any  `json:"warnings,omitempty"`
}

// Runs lists the workspaces that the run is to do something about.
func (b Bulk) Runs() []Planned {
	return slices.DeleteFunc(slices.Clone(b.Planned), func(p Planned) bool { return p.Status != "" && p.Status != Candidate })
}

// Ended reports whether it is known what became of a workspace.
func (b Bulk) Ended(slug string) bool {
	return slices.ContainsFunc(b.Done, func(f Finished) bool { return f.Slug == slug })
}

// stopped reports whether the run was cancelled before it was complete.
func (b Bulk) stopped() bool {
	return slices.ContainsFunc(b.Done, func(f Finished) bool { return f.LeftOut })
}

type (
	// Plan says what a bulk run is about to do. Planning it twice does nothing.
	Plan struct {
		Epoch uint64
		Bulk  Bulk
	}
	// Finish says what became of one workspace. What was said first stands.
	Finish struct {
		Epoch    uint64
		Finished Finished
	}
)

func (Plan) operationCommand()   {}
func (Finish) operationCommand() {}

func plan(s State, c Plan) ([]domain.Event, error) {
	if err := s.heldBy(c.Epoch); err != nil || s.Bulk != nil {
		return nil, err
	}
	of := ofRun{s.ID, s.RepositoryID}
	if s.Kind == BulkPush {
		return []domain.Event{BulkPushStarted{of, c.Bulk}}, nil
	}
	return []domain.Event{BulkImportStarted{of, c.Bulk}}, nil
}

func finish(s State, c Finish) ([]domain.Event, error) {
	if err := s.heldBy(c.Epoch); err != nil {
		return nil, err
	}
	if s.Bulk == nil || !slices.ContainsFunc(s.Bulk.Runs(), func(p Planned) bool { return p.Slug == c.Finished.Slug }) {
		return nil, domain.Refuse(domain.CodeNotFound, "the run is not about %s", c.Finished.Slug)
	}
	if s.Bulk.Ended(c.Finished.Slug) {
		return nil, nil
	}
	done := bulkProgress{ofRun{s.ID, s.RepositoryID}, c.Finished, len(s.Bulk.Done) + 1, len(s.Bulk.Runs())}
	if s.Kind == BulkPush {
		return []domain.Event{BulkPushProgress(done)}, nil
	}
	return []domain.Event{BulkImportProgress(done)}, nil
}

// completed is what ends a bulk run, with how it is told apart from one that was
// stopped.
func completed(s State, c End) ([]domain.Event, error) {
	if c.Status == Succeeded && s.Bulk.stopped() {
		c.Status = Cancelled
	}
	duration := c.Now.Sub(s.CreatedAt).Milliseconds()
	ended := Ended{ID: s.ID, Kind: s.Kind, Status: c.Status, EndedAt: c.Now}
	if s.Kind == BulkPush {
		return []domain.Event{pushCompleted(s, duration), ended}, nil
	}
	return []domain.Event{importCompleted(s, duration), ended}, nil
}

// bulk folds what happens to a bulk run.
func (s State) bulk(ev domain.Event) State {
	switch e := ev.(type) {
	case BulkImportStarted:
		s.Bulk = &e.Bulk
	case BulkPushStarted:
		s.Bulk = &e.Bulk
	case BulkImportProgress:
		s = s.finished(e.Finished)
	case BulkPushProgress:
		s = s.finished(e.Finished)
	case BulkImportCompleted:
		s.Result = payloadOf(e)
	case BulkPushCompleted:
		s.Result = payloadOf(e)
	}
	return s
}

func (s State) finished(f Finished) State {
	if s.Bulk != nil {
		now := *s.Bulk
		now.Done = append(slices.Clone(now.Done), f)
		s.Bulk = &now
	}
	return s
}

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

// Sorted returns the workspaces of a push by category, for events and plans.
func (b Bulk) Sorted() []Categorised {
	all := make([]Categorised, 0, len(b.Planned))
	for _, p := range b.Planned {
		all = append(all, Categorised(p))
	}
	return all
}

// Payload implements domain.PayloadEvent.
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

// Payload implements domain.PayloadEvent.
func (e BulkPushStarted) Payload() any {
	return struct {
		ofRun
		Groups     []string      `json:"groups"`
		Workspaces []Categorised `json:"workspaces"`
	}{e.ofRun, listed(e.Bulk.Groups), e.Bulk.Sorted()}
}

// progressPayload is the payload about one workspace, for both kinds of runs.
type progressPayload struct {
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

func (p bulkProgress) payload() progressPayload {
	f := p.Finished
	return progressPayload{p.ofRun, f.Slug, f.WorkspaceID, f.Name, f.Status, f.Reason, p.Current, p.Total, 100 * p.Current / max(p.Total, 1), f.Duration}
}

// Payload implements domain.PayloadEvent.
func (e BulkImportProgress) Payload() any {
	return struct {
		progressPayload
		Imported int   `json:"importedFilesCount"`
		Deleted  int   `json:"deletedFilesCount"`
		Errors   []any `json:"errors"`
		Warnings []any `json:"warnings"`
	}{bulkProgress(e).payload(), e.Finished.Imported, e.Finished.Deleted, listed(e.Finished.Errors), listed(e.Finished.Warnings)}
}

// Payload implements domain.PayloadEvent.
func (e BulkPushProgress) Payload() any {
	return struct {
		progressPayload
		Errors   []any `json:"errors"`
		Warnings []any `json:"warnings"`
	}{bulkProgress(e).payload(), listed(e.Finished.Errors), listed(e.Finished.Warnings)}
}

// listed returns a list that is encoded as [] when it is empty.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// payloadOf returns the payload of an event for a result.
func payloadOf(ev domain.Event) json.RawMessage {
	body, err := json.Marshal(ev)
	if err != nil {
		return nil // what was read of JSON can be written
	}
	return body
}

// What the end of a bulk run may list: so many errors and warnings, which weigh so
// much together, besides what it says of each workspace. The events of the
// workspaces have all of them.
const (
	maxErrors = 500
	maxWeight = 128 << 10
	maxName   = 80 // bytes of the name of a workspace
)

// itemBudget is what is left for errors and warnings.
type itemBudget struct {
	bytes int
	cut   bool // something was left out
}

// truncate returns what of a list there is room for.
func (r *itemBudget) truncate(all, more []any, most int) []any {
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

// truncateName returns a name that is not too long for a list of many.
func truncateName(name string) string {
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

func importCompleted(s State, duration int64) BulkImportCompleted {
	all := BulkImportCompleted{
		ofRun: ofRun{s.ID, s.RepositoryID}, Groups: listed(s.Bulk.Groups), Duration: duration, WasCancelled: s.Bulk.stopped(),
		CreatedIDs: []string{}, UpdatedIDs: []string{}, SkippedIDs: []string{}, Errors: []any{}, Warnings: []any{}, Workspaces: []ImportedItem{},
	}
	lists, each := itemBudget{bytes: maxWeight}, itemBudget{bytes: maxWeight}
	all.Warnings = lists.truncate(all.Warnings, s.Bulk.Warnings, maxErrors)
	for _, f := range s.Bulk.Done {
		switch {
		case f.Status == Faulty:
			all.ErrorsCount++
		case f.Status == Skipped:
			all.Skipped, all.SkippedIDs = all.Skipped+1, appendID(all.SkippedIDs, f)
		case f.Created:
			all.Created, all.CreatedIDs = all.Created+1, appendID(all.CreatedIDs, f)
		default:
			all.Updated, all.UpdatedIDs = all.Updated+1, appendID(all.UpdatedIDs, f)
		}
		all.ImportedSum, all.DeletedSum = all.ImportedSum+f.Imported, all.DeletedSum+f.Deleted
		all.Errors, all.Warnings = lists.truncate(all.Errors, f.Errors, maxErrors), lists.truncate(all.Warnings, f.Warnings, maxErrors)
		all.Workspaces = append(all.Workspaces, ImportedItem{
			f.Slug, f.WorkspaceID, truncateName(f.Name), f.Version, f.Status, f.Reason, each.truncate([]any{}, f.Errors, perWorkspace), f.Imported, f.Deleted, f.Duration, f.App,
		})
	}
	all.Truncated = lists.cut
	return all
}

func pushCompleted(s State, duration int64) BulkPushCompleted {
	all := BulkPushCompleted{
		ofRun: ofRun{s.ID, s.RepositoryID}, Groups: listed(s.Bulk.Groups), Name: s.Bulk.Version, Duration: duration, WasCancelled: s.Bulk.stopped(),
		PushedIDs: []string{}, MergeConflictIDs: []string{}, AlreadyPushedIDs: []string{}, InProgressIDs: []string{}, Errors: []any{}, Workspaces: []PushedItem{},
	}
	lists, each := itemBudget{bytes: maxWeight}, itemBudget{bytes: maxWeight}
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
		all.Errors = lists.truncate(all.Errors, f.Errors, maxErrors)
		all.Workspaces = append(all.Workspaces, PushedItem{f.Slug, f.WorkspaceID, truncateName(f.Name), f.Status, f.Reason, each.truncate([]any{}, f.Errors, perWorkspace), f.Duration})
	}
	all.Truncated = lists.cut
	return all
}

func (c *BulkPushCompleted) count(f Finished) {
	switch f.Status {
	case Pushed:
		c.Pushed, c.PushedIDs = c.Pushed+1, appendID(c.PushedIDs, f)
	case InConflict:
		c.MergeConflicts, c.MergeConflictIDs = c.MergeConflicts+1, appendID(c.MergeConflictIDs, f)
	case AlreadyPushed:
		c.AlreadyPushed, c.AlreadyPushedIDs = c.AlreadyPushed+1, appendID(c.AlreadyPushedIDs, f)
	case InProgress:
		c.InProgress, c.InProgressIDs = c.InProgress+1, appendID(c.InProgressIDs, f)
	default:
		c.ErrorsCount++
	}
}

func appendID(ids []string, f Finished) []string {
	if f.WorkspaceID == "" {
		return ids
	}
	return append(ids, f.WorkspaceID)
}

// perWorkspace is how many errors the end of a bulk run lists for each workspace.
const perWorkspace = 5
