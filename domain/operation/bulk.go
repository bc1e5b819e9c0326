package operation

import (
	"slices"

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

// CancelledReason is why a workspace was left out of a run that somebody stopped.
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

// stopped reports whether somebody stopped the run before it had done everything.
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
	took := c.Now.Sub(s.CreatedAt).Milliseconds()
	ended := Ended{ID: s.ID, Kind: s.Kind, Status: c.Status, EndedAt: c.Now}
	if s.Kind == BulkPush {
		return []domain.Event{pushCompleted(s, took), ended}, nil
	}
	return []domain.Event{importCompleted(s, took), ended}, nil
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
		s.Result = told(e)
	case BulkPushCompleted:
		s.Result = told(e)
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
