package activity

// Interaction says that something made an automation run: the beginning of everything
// that happens under one correlation id.
type Interaction struct {
	WorkspaceID              string  `json:"workspaceId"`
	SourceWorkspaceID        string  `json:"sourceWorkspaceId,omitempty"`        // where it was called from, when that is another
	AuthenticatedWorkspaceID string  `json:"authenticatedWorkspaceId,omitempty"` // that called by itself
	Automation               string  `json:"automation"`
	Trigger                  Trigger `json:"trigger"`
	StartedAt                string  `json:"startedAt"`
}

// EventType implements domain.Event.
func (Interaction) EventType() string { return "runtime.interactions.triggered" }

// Trigger is what made an automation run.
type Trigger struct {
	Type            string `json:"type"` // one of those below
	Value           string `json:"value"`
	ID              string `json:"id,omitempty"`
	AppInstanceSlug string `json:"appInstanceSlug,omitempty"`
}

// The types of triggers.
const (
	ByEvent      = "event"
	ByEndpoint   = "endpoint"
	BySchedule   = "schedule"
	ByAutomation = "automation"
	ByTest       = "test"
	ByPage       = "page"
)
