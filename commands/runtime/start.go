package runtime

import (
	"time"

	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/value"
)

// Start is a tree to be run.
type Start struct {
	ProgramSet *programs.ProgramSet
	Program    *programs.Program
	Trigger    activity.Trigger
	Input      *value.Object
	Caller     Caller

	CorrelationID string
	Depth         int // of its first execution; a trigger starts at 1
	Attempt       int // 1, or more when it was interrupted before
	// TriggeredAt is when what triggered it happened: a run that was cancelled
	// since then is not begun again. It counts from the second attempt on.
	TriggeredAt time.Time
	// Interrupted says that it was so too often: that is recorded, and nothing is run.
	Interrupted bool
	// Meta is of the request that caused it: trace, ip, socket and HTTP.
	Meta domain.Meta
	// SourceWorkspaceID is where it was called from, when that is another workspace.
	SourceWorkspaceID string

	HTTP *HTTP // where $http leads; nil unless an endpoint started it
	// Facts are recorded before anything else of the tree: what triggered it.
	Facts []domain.Event
	// Announce records what triggered the tree before anything is run: who launched it
	// answers when that is on disk.
	Announce bool
	// Hidden are the secrets that the run brought so far, when one of its trees starts it.
	RunSecrets []string
	// Record keeps everything that is needed to replay the tree, whatever the setting.
	Record bool

	throttlePaid bool          // who started it has waited for its turn, for this long:
	throttled    time.Duration // as that of any execution
	onRelease    func()        // is called when it has ended or stands; nil: nobody wants to know
}

// release tells who started the tree by itself that it has ended, or stands.
func (s *Start) release() {
	if s.onRelease != nil {
		s.onRelease()
	}
}

// Outcome is what a tree came to.
type Outcome struct {
	Output any               // Undefined when there is none
	Err    *automation.Error // nil unless it failed
	// Origin is the execution that raised Err.
	ExecutionID string
	Duration    time.Duration
}
