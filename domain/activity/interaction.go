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

// EndpointCalled says that somebody called the endpoint of an automation.
type EndpointCalled struct {
	AutomationSlug string `json:"automationSlug"`
	Method         string `json:"method"`
	Endpoint       string `json:"endpoint"`
}

// EventType implements domain.Event.
func (EndpointCalled) EventType() string { return "runtime.webhooks.triggered" }

// ScheduleFired says that the time of a schedule came. Its id is made of workspace,
// automation, cron and time, so that a time fires once.
type ScheduleFired struct {
	Interaction

	ScheduledAt string `json:"scheduledAt"`
	Late        bool   `json:"late,omitempty"` // the service was down when its time came
}

// EventType implements domain.Event.
func (ScheduleFired) EventType() string { return "runtime.schedules.triggered" }

// Scheduled says when an automation will fire.
type Scheduled struct {
	Slug      string       `json:"slug"`
	Schedules []string     `json:"schedules"`
	Details   []NextFiring `json:"details"`
}

// NextFiring is when a schedule fires next.
type NextFiring struct {
	Cron string `json:"cron"`
	Next string `json:"next,omitempty"` // absent: not for years
}

// EventType implements domain.Event.
func (Scheduled) EventType() string { return "runtime.schedules.created" }
