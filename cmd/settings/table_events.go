package settings

import "time"

// Events is how long activity events are kept, and the jobs that see to it.
type Events struct {
	Retention             time.Duration // Off keeps them
	CleanupMaxEvents      int           // Off counts no workspace as small
	CleanupInactivity     time.Duration
	CleanupExecutions     time.Duration // Off strips nothing
	DeletionDelay         time.Duration
	CleanupEnabled        bool
	CleanupIndicesCron    string
	CleanupExecutionsCron string
}

func eventsTable(c *Events) []Setting {
	return []Setting{
		{Name: "EVENTS_RETENTION_DAYS", Default: "1080", Unit: "d, -1 off", Meaning: "older activity events are deleted", marks: live, value: daysOrOff(&c.Retention)},
		{Name: "EVENTS_CLEANUP_WORKSPACE_MAX_EVENTS", Default: "50", Unit: "count, -1 off", Meaning: `"small" workspace`, marks: live, value: numberOrOff(&c.CleanupMaxEvents, 0, 1_000_000_000)},
		{Name: "EVENTS_CLEANUP_WORKSPACE_INACTIVITY_DAYS", Default: "30", Unit: "d", Meaning: `"inactive" workspace`, marks: live, value: days(&c.CleanupInactivity)},
		{Name: "EVENTS_CLEANUP_AUTOMATION_EXECUTED_EXPIRATION", Default: "14d", Unit: "d, -1 off", Meaning: "`payload`, `output` stripped after", marks: live, value: orOff(&c.CleanupExecutions, duration(&c.CleanupExecutions, day, time.Minute, 3650*day))},
		{Name: "EVENTS_SCHEDULED_DELETION_DAYS", Default: "30", Unit: "d", Meaning: "from workspace deletion to erasure; undelete until then", marks: live, value: duration(&c.DeletionDelay, day, 0, 3650*day)},
		{Name: "EVENTS_CLEANUP_ENABLED", Default: "yes", Unit: "bool", Meaning: "built-in jobs", marks: live, value: boolean(&c.CleanupEnabled)},
		{Name: "EVENTS_CLEANUP_INDICES_SCHEDULE", Default: "0 0 * * 0", Unit: "cron", Meaning: "retention, inactive workspaces", marks: live, value: cronOf(&c.CleanupIndicesCron)},
		{Name: "EVENTS_CLEANUP_EXECUTIONS_SCHEDULE", Default: "30 3 * * *", Unit: "cron", Meaning: "execution trimming", marks: live, value: cronOf(&c.CleanupExecutionsCron)},
	}
}
