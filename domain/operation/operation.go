// Package operation holds the rules of a long piece of work on a workspace, such
// as a push or a pull: its steps, how it is cancelled, who goes on with it after a
// crash, and how it ends. What it does to the workspace is recorded there.
package operation

import (
	"encoding/json"
	"time"

	"svc/domain"
)

// Decider is the rule of the operation aggregate.
var Decider = domain.Decider[State, Command]{Kind: "operation", Version: 2, Decide: decide, Evolve: evolve}

// Stream returns the stream of an operation on a workspace.
func Stream(workspaceID, id string) domain.StreamID { return Decider.Stream(workspaceID, id) }

// Kinds of operations.
const (
	Push       = "push"
	Pull       = "pull"
	Import     = "import"
	Resolve    = "resolve"
	BulkPush   = "bulkPush"
	BulkImport = "bulkImport"
	Replay     = "replay"
	Crawl      = "crawl"
	Reindex    = "reindex"
)

// Status is how far an operation is.
type Status string

// The statuses. The last four are ends.
const (
	Running   Status = "running"
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Conflict  Status = "conflict"
	Cancelled Status = "cancelled"
)

// Ended reports whether nothing more happens.
func (s Status) Ended() bool { return s != "" && s != Running }

// StepState is how far a step is.
type StepState string

// The states of a step.
const (
	StepStarted StepState = "started"
	StepDone    StepState = "done"
	StepFailed  StepState = "failed"
)

// The steps, as progress tells them. ErrorStep is the last of an operation that
// failed.
const (
	Checkout  = "checkout"
	PullStep  = "pull"
	Write     = "write"
	Merge     = "merge"
	PushStep  = "push"
	Bring     = "import"
	ErrorStep = "error"
)

// Step is one step of an operation.
type Step struct {
	Step     string    `json:"step"`
	State    StepState `json:"state"`
	Started  time.Time `json:"startedAt"`
	Duration int64     `json:"stepDuration,omitempty"` // milliseconds, once it has ended
}

// Failure is why an operation failed, as the call would have answered.
type Failure struct {
	Code    domain.Code    `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// FailureOf returns a refusal as the failure of an operation.
func FailureOf(e *domain.Error) *Failure {
	return &Failure{Code: e.Code, Message: e.Message, Details: e.Details}
}

// Error returns the refusal that f is.
func (f Failure) Error() *domain.Error {
	return &domain.Error{Code: f.Code, Message: f.Message, Details: f.Details}
}

// About is what is known of an operation when it starts.
type About struct {
	ID            string          `json:"id"`
	Kind          string          `json:"kind"`
	WorkspaceID   string          `json:"workspaceId"`
	RepositoryID  string          `json:"repositoryId,omitempty"`
	Branch        string          `json:"branch,omitempty"`
	Epoch         uint64          `json:"epoch"` // of the lock that it holds; 0: it holds none
	Request       json.RawMessage `json:"request,omitempty"`
	Steps         int             `json:"steps"` // how many it has, if all goes well
	CreatedBy     string          `json:"createdBy"`
	CreatedAt     time.Time       `json:"createdAt"`
	Under         bool            `json:"under,omitempty"` // it works under the lock of another operation, or there is nothing to lock
	CorrelationID string          `json:"correlationId,omitempty"`
	Depth         int             `json:"depth,omitempty"` // of the run that began it: what follows from it has it too
}

// State is an operation. The zero State is one that does not exist.
type State struct {
	About
	Status          Status          `json:"status"`
	Done            []Step          `json:"done,omitempty"` // the steps so far
	Result          json.RawMessage `json:"result,omitempty"`
	Apart           string          `json:"apart,omitempty"` // blob of a result that is too large for an event
	Failure         *Failure        `json:"failure,omitempty"`
	CancelRequested bool            `json:"cancelRequested,omitempty"`
	Resumed         int             `json:"resumed"`
	EndedAt         *time.Time      `json:"endedAt,omitempty"`
	Bulk            *Bulk           `json:"bulk,omitempty"`    // nil: it is about one workspace, or has no plan yet
	Count           *Count          `json:"count,omitempty"`   // nil: it does not count
	Crawl           *Crawling       `json:"crawl,omitempty"`   // nil: it reads no site
	Reindex         *Reindexing     `json:"reindex,omitempty"` // nil: it processes no documents again
}

// Command is what can be asked of an operation.
type Command interface{ operationCommand() }

type (
	// Start begins an operation. Starting it twice does nothing.
	Start struct{ About About }
	// Report says how far a step is. It is refused when somebody else goes on with
	// the operation: Epoch is that of who reports.
	Report struct {
		Epoch    uint64
		Progress Progress
	}
	// Cancel asks the operation to stop.
	Cancel struct{ By string }
	// Resume lets a new runner go on, under a new epoch.
	Resume struct{ Epoch uint64 }
	// End ends the operation.
	End struct {
		Epoch   uint64
		Now     time.Time
		Status  Status
		Result  json.RawMessage
		Apart   string
		Failure *Failure
	}
)

func (Start) operationCommand()  {}
func (Report) operationCommand() {}
func (Cancel) operationCommand() {}
func (Resume) operationCommand() {}
func (End) operationCommand()    {}

func decide(s State, cmd Command) ([]domain.Event, error) {
	if c, ok := cmd.(Start); ok {
		if s.ID != "" {
			return nil, nil
		}
		return []domain.Event{Started(c)}, nil
	}
	switch c := cmd.(type) {
	case StartCrawl:
		return c.decide(s)
	case StartReindex:
		return c.decide(s)
	}
	if s.ID == "" {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such operation").With("resource", "operation")
	}
	switch c := cmd.(type) {
	case Report:
		if err := s.heldBy(c.Epoch); err != nil {
			return nil, err
		}
		return []domain.Event{c.Progress.of(s)}, nil
	case Cancel:
		switch {
		case s.Status.Ended():
			return nil, alreadyEnded(s)
		case s.CancelRequested:
			return nil, nil
		}
		return []domain.Event{CancelRequested{ID: s.ID, By: c.By}}, nil
	case Resume:
		if s.Status.Ended() {
			return nil, alreadyEnded(s)
		}
		return []domain.Event{Resumed{ID: s.ID, Epoch: c.Epoch}}, nil
	case Plan:
		return plan(s, c)
	case Finish:
		return finish(s, c)
	case Advance:
		return advance(s, c)
	case CountCrawl:
		return c.decide(s)
	case EndCrawl:
		return c.decide(s)
	case EndReindex:
		return c.decide(s)
	case End:
		if err := s.heldBy(c.Epoch); err != nil {
			return nil, err
		}
		if s.Bulk != nil && c.Failure == nil {
			return completed(s, c)
		}
		return []domain.Event{Ended{ID: s.ID, Kind: s.Kind, Status: c.Status, Result: c.Result, Apart: c.Apart, Failure: c.Failure, EndedAt: c.Now}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "operation: unknown command %T", cmd)
	}
}

// heldBy refuses a runner that another one has taken over from.
func (s State) heldBy(epoch uint64) error {
	if s.Status.Ended() {
		return alreadyEnded(s)
	}
	if s.Epoch != epoch {
		return domain.Refuse(domain.CodeConflict, "another node goes on with this operation").Reason("lock_lost")
	}
	return nil
}

func alreadyEnded(s State) error {
	return domain.Refuse(domain.CodeConflict, "the operation has ended: %s", s.Status).Reason("already_ended").With("status", s.Status)
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Started:
		s.About, s.Status = e.About, Running
	case Progress:
		s.Done = updateSteps(s.Done, e)
	case CancelRequested:
		s.CancelRequested = true
	case Resumed:
		s.Epoch, s.Resumed = e.Epoch, s.Resumed+1
	case Advanced:
		s.Count = &e.Count
	case Ended:
		s.Status, s.Apart, s.Failure, s.EndedAt = e.Status, e.Apart, e.Failure, &e.EndedAt
		if e.Result != nil {
			s.Result = e.Result
		}
	default:
		return s.bulk(ev).crawled(ev).reindexed(ev)
	}
	return s
}

// updateSteps returns steps with one that began or ended.
func updateSteps(steps []Step, p Progress) []Step {
	steps = append([]Step{}, steps...)
	now := Step{Step: p.Step, State: p.State, Started: p.StartedAt, Duration: p.Duration}
	if last := len(steps) - 1; last >= 0 && p.State != StepStarted && steps[last].Step == p.Step && steps[last].State == StepStarted {
		steps[last] = now
		return steps
	}
	return append(steps, now)
}

// Progress tells how many of its workspaces, or of what else it counts, an operation is
// done with, of how many.
func (s State) Progress() (current, total int) {
	if s.Bulk != nil {
		return len(s.Bulk.Done), len(s.Bulk.Runs())
	}
	if s.Count != nil {
		return s.Count.Current, s.Count.Total
	}
	if s.Crawl != nil {
		return s.Crawl.Counts.Done(), s.Crawl.Counts.Queued
	}
	if s.Status == Succeeded {
		current = 1
	}
	return current, 1
}

// Percentage returns how much of the operation is done.
func (s State) Percentage() int {
	if s.Status == Succeeded {
		return 100
	}
	if current, total := s.Progress(); (s.Bulk != nil || s.Count != nil || s.Crawl != nil) && total > 0 {
		return 100 * current / total
	}
	done := 0
	for _, step := range s.Done {
		if step.State == StepDone {
			done++
		}
	}
	if s.Steps == 0 {
		return 0
	}
	return min(99, done*100/s.Steps)
}

type (
	// Started says that an operation began.
	Started struct {
		About About `json:"about"`
	}
	// Progress says that a step of an operation began, was done or failed.
	Progress struct {
		Operation    string    `json:"operation"` // its kind
		OperationID  string    `json:"operationId"`
		Step         string    `json:"step"`
		State        StepState `json:"state"`
		Message      string    `json:"message"`
		StartedAt    time.Time `json:"startedAt"`
		Duration     int64     `json:"stepDuration,omitempty"` // milliseconds
		RepositoryID string    `json:"repositoryId,omitempty"`
		Branch       string    `json:"branch,omitempty"`
		Failure      *Failure  `json:"error,omitempty"`
		FailedStep   string    `json:"failedStep,omitempty"`
	}
	// CancelRequested says that the cancel of an operation was requested.
	CancelRequested struct {
		ID string `json:"operationId"`
		By string `json:"by"`
	}
	// Resumed says that another runner goes on with an operation.
	Resumed struct {
		ID    string `json:"operationId"`
		Epoch uint64 `json:"epoch"`
	}
	// Ended says how an operation ended. A result that is too large is kept apart.
	Ended struct {
		ID      string          `json:"operationId"`
		Kind    string          `json:"operation"`
		Status  Status          `json:"status"`
		Result  json.RawMessage `json:"result,omitempty"`
		Apart   string          `json:"apart,omitempty"`
		Failure *Failure        `json:"error,omitempty"`
		EndedAt time.Time       `json:"endedAt"`
	}
)

// EventType implements domain.Event.
func (Started) EventType() string { return "workspaces.operations.started" }

// EventType implements domain.Event.
func (Progress) EventType() string { return "workspaces.versions.progress" }

// EventType implements domain.Event.
func (CancelRequested) EventType() string { return "workspaces.operations.cancelRequested" }

// EventType implements domain.Event.
func (Resumed) EventType() string { return "workspaces.operations.resumed" }

// EventType implements domain.Event.
func (Ended) EventType() string { return "workspaces.operations.ended" }

// Payload implements domain.PayloadEvent.
func (e Started) Payload() any { return e.About }

// of returns the progress with what it shares with its operation.
func (p Progress) of(s State) Progress {
	p.Operation, p.OperationID, p.RepositoryID, p.Branch = s.Kind, s.ID, s.RepositoryID, s.Branch
	return p
}

// Count is how far an operation is that goes through many small things.
type Count struct {
	Current int `json:"current"`
	Total   int `json:"total"`
}

// Advance says how far an operation is. It is refused when somebody else goes on with
// the operation: Epoch is that of who reports.
type Advance struct {
	Epoch uint64
	Count Count
}

func (Advance) operationCommand() {}

// Advanced says how far an operation is.
type Advanced struct {
	ID string `json:"operationId"`
	Count
}

// EventType implements domain.Event.
func (Advanced) EventType() string { return "workspaces.operations.advanced" }

func advance(s State, c Advance) ([]domain.Event, error) {
	if err := s.heldBy(c.Epoch); err != nil {
		return nil, err
	}
	if s.Count != nil && *s.Count == c.Count {
		return nil, nil
	}
	return []domain.Event{Advanced{ID: s.ID, Count: c.Count}}, nil
}
