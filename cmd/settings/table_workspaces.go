package settings

import (
	"regexp"
	"time"
)

// Workspaces is workspaces and their versioning.
type Workspaces struct {
	LockTimeout         time.Duration
	OperationTimeout    time.Duration
	OperationsRetention time.Duration
	UploadsAllowed      []string // media types; empty allows all
	UploadsForbidden    []string
	UploadsVisibility   string // private or public
}

// Bulk is platform repositories, groups and what runs over many workspaces.
type Bulk struct {
	Groups        map[string][]string           // group to labels, both sources united
	Repositories  map[string]PlatformRepository // by id
	StartupGroups []string                      // empty imports nothing at start
	StartupRepo   string
	StartupWait   time.Duration
	StartupPause  time.Duration
	Concurrency   int
}

// Git is how git remotes are spoken to.
type Git struct {
	AllowedSchemes []string
	KnownHostsFile string
	CommitterName  string
	CommitterEmail string
	RemoteTimeout  time.Duration
	MaxFetch       int64 // bytes
}

func workspacesTable(c *Workspaces) []Setting {
	return []Setting{
		{Name: "WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES", Default: "30", Unit: "min", Meaning: "expiry of all locks except `merge_conflict`", value: duration(&c.LockTimeout, time.Minute, time.Second, 30*day)},
		{Name: "VERSIONING_OPERATION_TIMEOUT_MINUTES", Default: "20", Unit: "min", Meaning: "one push, pull, import", value: duration(&c.OperationTimeout, time.Minute, time.Second, 30*day)},
		{Name: "OPERATIONS_RETENTION_DAYS", Default: "90", Unit: "d", Meaning: "operation records", value: days(&c.OperationsRetention)},
		{Name: "UPLOADS_ALLOWED_MIMETYPES", Default: "all", Unit: "list", Meaning: "`type/*` patterns", flags: live, value: mimetypes(&c.UploadsAllowed, "all")},
		{Name: "UPLOADS_FORBIDDEN_MIMETYPES", Default: "none", Unit: "list", Meaning: "`type/*` patterns", flags: live, value: mimetypes(&c.UploadsForbidden, "none")},
		{Name: "UPLOADS_DEFAULT_VISIBILITY", Default: "private", Unit: "private, public", Meaning: "of new files", value: oneOf(&c.UploadsVisibility, "private", "public")},
	}
}

func bulkTable(c *Bulk) []Setting {
	return []Setting{
		{Name: "WORKSPACE_GROUPS", Default: "-", Unit: "JSON or text", Meaning: "groups to labels: `{\"base\":[\"core\"]}` or `base=core+shared,extra=addon`", value: groupsOf(&c.Groups)},
		{Name: "WORKSPACES_GROUP_{group}_LABELS", Default: "-", Unit: "list", Meaning: "same, one per group; merged with WORKSPACE_GROUPS", family: groupLabels(&c.Groups)},
		{Name: "WORKSPACES_STORAGE_GIT_PLATFORM_{repoId}_{FIELD}", Default: "-", Meaning: "platform repositories; AUTH_* are secret", family: platformFamily(&c.Repositories)},
		{Name: "STARTUP_IMPORT_GROUPS", Default: "-", Unit: "list", Meaning: "import at start; both or none", value: listOf(&c.StartupGroups, "group names", groupPattern.MatchString)},
		{Name: "STARTUP_IMPORT_REPOSITORY", Default: "-", Unit: "id", Meaning: "import at start; both or none", value: matching(&c.StartupRepo, repositoryID, "the id of a platform repository")},
		{Name: "STARTUP_IMPORT_WAIT_SECONDS", Default: "300", Unit: "s", Meaning: "readiness wait", value: seconds(&c.StartupWait, 0, day)},
		{Name: "STARTUP_IMPORT_PAUSE_SECONDS", Default: "30", Unit: "s", Meaning: "pause between groups", value: seconds(&c.StartupPause, 0, day)},
		{Name: "BULK_CONCURRENCY", Default: "1", Unit: "workspaces", Meaning: "1 = one after another; more: independent workspaces at once", value: number(&c.Concurrency, 1, 256)},
	}
}

func gitTable(c *Git) []Setting {
	return []Setting{
		{Name: "GIT_ALLOWED_SCHEMES", Default: "https,ssh", Unit: "list", Meaning: "may add http; workspace repositories", value: listOf(&c.AllowedSchemes, "https, ssh, http", func(s string) bool { return s == "https" || s == "ssh" || s == "http" })},
		{Name: "GIT_KNOWN_HOSTS_FILE", Default: "-", Unit: "path", Meaning: "SSH host keys", flags: perNode, value: path(&c.KnownHostsFile)},
		{Name: "GIT_COMMITTER_NAME", Default: "svc", Unit: "text", Meaning: "of our commits", value: matching(&c.CommitterName, `[^<>\x00-\x1f]+`, "a name on one line without < and >")},
		{Name: "GIT_COMMITTER_EMAIL", Default: "`noreply@{API host}`", Unit: "text", Meaning: "of our commits", derive: defaultCommitterEmail, value: matching(&c.CommitterEmail, `[^<>\s@]+@[^<>\s@]+`, "a mail address")},
		{Name: "GIT_REMOTE_TIMEOUT_SECONDS", Default: "300", Unit: "s", Meaning: "one exchange with a remote", value: seconds(&c.RemoteTimeout, time.Second, day)},
		{Name: "GIT_MAX_FETCH_MB", Default: "512", Unit: "MB", Meaning: "largest fetch", value: megabytes(&c.MaxFetch)},
	}
}

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
		{Name: "EVENTS_RETENTION_DAYS", Default: "1080", Unit: "d, -1 off", Meaning: "older activity events are deleted", flags: live, value: daysOrOff(&c.Retention)},
		{Name: "EVENTS_CLEANUP_WORKSPACE_MAX_EVENTS", Default: "50", Unit: "count, -1 off", Meaning: `"small" workspace`, flags: live, value: numberOrOff(&c.CleanupMaxEvents, 0, 1_000_000_000)},
		{Name: "EVENTS_CLEANUP_WORKSPACE_INACTIVITY_DAYS", Default: "30", Unit: "d", Meaning: `"inactive" workspace`, flags: live, value: days(&c.CleanupInactivity)},
		{Name: "EVENTS_CLEANUP_AUTOMATION_EXECUTED_EXPIRATION", Default: "14d", Unit: "d, -1 off", Meaning: "`payload`, `output` stripped after", flags: live, value: orOff(&c.CleanupExecutions, duration(&c.CleanupExecutions, day, time.Minute, 3650*day))},
		{Name: "EVENTS_SCHEDULED_DELETION_DAYS", Default: "30", Unit: "d", Meaning: "from workspace deletion to erasure; undelete until then", flags: live, value: duration(&c.DeletionDelay, day, 0, 3650*day)},
		{Name: "EVENTS_CLEANUP_ENABLED", Default: "yes", Unit: "bool", Meaning: "built-in jobs", flags: live, value: boolean(&c.CleanupEnabled)},
		{Name: "EVENTS_CLEANUP_INDICES_SCHEDULE", Default: "0 0 * * 0", Unit: "cron", Meaning: "retention, inactive workspaces", flags: live, value: cronOf(&c.CleanupIndicesCron)},
		{Name: "EVENTS_CLEANUP_EXECUTIONS_SCHEDULE", Default: "30 3 * * *", Unit: "cron", Meaning: "execution trimming", flags: live, value: cronOf(&c.CleanupExecutionsCron)},
	}
}

// Runtime is what automations may use.
type Runtime struct {
	RateLimitDisabled bool
	RateAutomations   int // these rates are per second and workspace; 0 is no limit
	RateEmits         int
	RateFetchs        int
	RateRepeats       int
	BurstAutomations  int
	BurstEmits        int
	BurstFetchs       int
	BurstRepeats      int

	MaxSuccessiveCalls   int
	ExecutionMaxActive   time.Duration
	ExecutionMaxAttempts int
	WaitDefaultTimeout   time.Duration
	WaitMaxTimeout       time.Duration

	ContextRunExpire     time.Duration
	ContextSessionExpire time.Duration // of sessions without a user
	ContextSocketExpire  time.Duration
	ContextSocketSize    int64
	ContextUserSize      int64
	ContextConfigSize    int64
	ContextGlobalSize    int64
	ContextRunSize       int64
	ContextSessionSize   int64
	ContextLocalSize     int64

	FetchTimeout         time.Duration
	FetchMaxResponseSize int64
	FetchMaxRetries      int
	FetchRetryStatus     []int
	FetchForbiddenHosts  []string
	FetchAllowedHosts    []string // reachable although not public

	CodeTimeout   time.Duration
	CodeMemory    int64
	CodeMaxOutput int64

	CollectionsMaxWrite   int
	CollectionsMaxLimit   int
	CollectionsMaxRowSize int64

	Recording          string // off, errors or all
	RecordingRetention time.Duration
	RecordingMaxSize   int64

	PagesTimeout       time.Duration
	WebhooksKeepalive  time.Duration
	Locale             string
	Timezone           *time.Location
	SlugPattern        *regexp.Regexp
	SchedulesTimezone  *time.Location
	SchedulesMinPeriod time.Duration

	GlobalVars       map[string]string            // by name
	WorkspaceConfig  map[string]map[string]string // by workspace slug, then variable
	AppConfig        map[string]map[string]string // by app slug, then variable
	WorkspaceSecrets map[string]map[string]Secret // by workspace slug, then name
}

func runtimeTable(c *Runtime) []Setting {
	return []Setting{
		{Name: "RATE_LIMIT_AUTOMATIONS", Default: "100", Unit: "/s/workspace", Meaning: "executions; above the limit they wait and are never rejected", flags: live, value: rate(&c.RateAutomations)},
		{Name: "RATE_LIMIT_AUTOMATIONS_BURST", Default: "400", Unit: "count/workspace", Meaning: "burst: how many at once after a pause", flags: live, value: rate(&c.BurstAutomations)},
		{Name: "RATE_LIMIT_EMITS", Default: "30", Unit: "/s/workspace", Meaning: "emitted events", flags: live, value: rate(&c.RateEmits)},
		{Name: "RATE_LIMIT_EMITS_BURST", Default: "100", Unit: "count/workspace", Meaning: "burst: how many at once after a pause", flags: live, value: rate(&c.BurstEmits)},
		{Name: "RATE_LIMIT_FETCHS", Default: "50", Unit: "/s/workspace", Meaning: "outgoing requests", flags: live, value: rate(&c.RateFetchs)},
		{Name: "RATE_LIMIT_FETCHS_BURST", Default: "200", Unit: "count/workspace", Meaning: "burst: how many at once after a pause", flags: live, value: rate(&c.BurstFetchs)},
		{Name: "RATE_LIMIT_REPEATS", Default: "1000", Unit: "/s/workspace", Meaning: "iterations of loops", flags: live, value: rate(&c.RateRepeats)},
		{Name: "RATE_LIMIT_REPEATS_BURST", Default: "4000", Unit: "count/workspace", Meaning: "burst: how many at once after a pause", flags: live, value: rate(&c.BurstRepeats)},
		{Name: "RATE_LIMIT_DISABLED", Default: "no", Unit: "bool", Meaning: "disables the eight limits above", flags: live, value: boolean(&c.RateLimitDisabled)},
		{Name: "MAXIMUM_SUCCESSIVE_CALLS", Default: "20", Unit: "calls", Meaning: "nesting depth", value: number(&c.MaxSuccessiveCalls, 1, 1000)},
		{Name: "EXECUTION_MAX_ACTIVE_SECONDS", Default: "900", Unit: "s", Meaning: "active time of a run", value: seconds(&c.ExecutionMaxActive, time.Second, 30*day)},
		{Name: "EXECUTION_MAX_ATTEMPTS", Default: "3", Unit: "count", Meaning: "how often an interrupted run is started, including the first start", value: number(&c.ExecutionMaxAttempts, 1, 100)},
		{Name: "WAIT_DEFAULT_TIMEOUT", Default: "20", Unit: "s", Meaning: "`wait` without a timeout of its own", value: seconds(&c.WaitDefaultTimeout, time.Millisecond, 365*day)},
		{Name: "WAIT_MAX_TIMEOUT", Default: "2592000", Unit: "s", Meaning: "longest `wait`", value: seconds(&c.WaitMaxTimeout, time.Second, 365*day)},
		{Name: "FETCH_TIMEOUT", Default: "60", Unit: "s", Meaning: "one outgoing request", value: seconds(&c.FetchTimeout, time.Second, day)},
		{Name: "FETCH_MAX_RESPONSE_SIZE", Default: "50mb", Unit: "size", Meaning: "answer to an outgoing request", value: byteSize(&c.FetchMaxResponseSize)},
		{Name: "FETCH_MAX_RETRIES", Default: "3", Unit: "count", Meaning: "repeats of a failed request", value: number(&c.FetchMaxRetries, 0, 20)},
		{Name: "FETCH_RETRY_STATUS", Default: "429,502,503", Unit: "list", Meaning: "statuses of answers that are retried", value: numbers(&c.FetchRetryStatus, 400, 599)},
		{Name: "FETCH_FORBIDDEN_HOSTS", Default: "-", Unit: "list", Meaning: "hosts that are never fetched, in addition to EGRESS_DENY_HOSTS", flags: live, value: listOf(&c.FetchForbiddenHosts, "hosts or CIDR ranges", isHostOrPrefix)},
		{Name: "FETCH_ALLOWED_HOSTS", Default: "-", Unit: "list", Meaning: "hosts that may be fetched although they are not public, in addition to EGRESS_ALLOW_HOSTS", flags: live, value: listOf(&c.FetchAllowedHosts, "hosts or CIDR ranges", isHostOrPrefix)},
		{Name: "CUSTOM_CODE_TIMEOUT", Default: "20000", Unit: "ms", Meaning: "script time", value: millis(&c.CodeTimeout, time.Millisecond, time.Hour)},
		{Name: "CUSTOM_CODE_MEMORY_MB", Default: "128", Unit: "MB", Meaning: "script memory", value: size(&c.CodeMemory, mb, 16*mb, 64*gb)},
		{Name: "CUSTOM_CODE_MAX_OUTPUT", Default: "10mb", Unit: "size", Meaning: "script result", value: byteSize(&c.CodeMaxOutput)},
		{Name: "COLLECTIONS_MAX_WRITE", Default: "10000", Unit: "rows", Meaning: "per write", value: number(&c.CollectionsMaxWrite, 1, 10_000_000)},
		{Name: "COLLECTIONS_MAX_LIMIT", Default: "10000", Unit: "rows", Meaning: "per read", value: number(&c.CollectionsMaxLimit, 1, 10_000_000)},
		{Name: "COLLECTIONS_MAX_ROW_SIZE", Default: "1mb", Unit: "size", Meaning: "per row", value: byteSize(&c.CollectionsMaxRowSize)},
		{Name: "RUN_RECORDING", Default: "errors", Unit: "off, errors, all", Meaning: "which runs are recorded so that they can be replayed", flags: live, value: oneOf(&c.Recording, "off", "errors", "all")},
		{Name: "RUN_RECORDING_DAYS", Default: "14", Unit: "d", Meaning: "how long recordings are kept", value: days(&c.RecordingRetention)},
		{Name: "RUN_RECORDING_MAX_SIZE", Default: "10mb", Unit: "size", Meaning: "per run", value: byteSize(&c.RecordingMaxSize)},
		{Name: "PAGES_AUTOMATION_TIMEOUT_MS", Default: "5000", Unit: "ms", Meaning: "page and block automations at render time", value: millis(&c.PagesTimeout, time.Millisecond, 10*time.Minute)},
		{Name: "WEBHOOKS_SSE_KEEPALIVE", Default: "5000", Unit: "ms", Meaning: "endpoint streams", value: millis(&c.WebhooksKeepalive, 100*time.Millisecond, time.Hour)},
	}
}

func contextTable(c *Runtime) []Setting {
	return []Setting{
		{Name: "CONTEXT_RUN_EXPIRE_TIME", Default: "60", Unit: "s", Meaning: "life of context `run` after its last write", value: seconds(&c.ContextRunExpire, time.Second, 365*day)},
		{Name: "CONTEXT_UNAUTHENTICATED_SESSION_EXPIRE_TIME", Default: "3600", Unit: "s", Meaning: "life of context `session` without a user", value: seconds(&c.ContextSessionExpire, time.Second, 365*day)},
		{Name: "CONTEXT_SOCKET_EXPIRE_TIME", Default: "21600", Unit: "s", Meaning: "life of context `socket`", value: seconds(&c.ContextSocketExpire, time.Second, 365*day)},
		{Name: "CONTEXT_SOCKET_MAX_SIZE", Default: "100kb", Unit: "size", Meaning: "context `socket`", value: byteSize(&c.ContextSocketSize)},
		{Name: "CONTEXT_USER_MAX_SIZE", Default: "100kb", Unit: "size", Meaning: "context `user`", value: byteSize(&c.ContextUserSize)},
		{Name: "CONTEXT_CONFIG_MAX_SIZE", Default: "100kb", Unit: "size", Meaning: "context `config`", value: byteSize(&c.ContextConfigSize)},
		{Name: "CONTEXT_GLOBAL_MAX_SIZE", Default: "500kb", Unit: "size", Meaning: "context `global`", value: byteSize(&c.ContextGlobalSize)},
		{Name: "CONTEXT_RUN_MAX_SIZE", Default: "500kb", Unit: "size", Meaning: "context `run`", value: byteSize(&c.ContextRunSize)},
		{Name: "CONTEXT_SESSION_MAX_SIZE", Default: "1mb", Unit: "size", Meaning: "context `session`", value: byteSize(&c.ContextSessionSize)},
		{Name: "CONTEXT_LOCAL_MAX_SIZE", Default: "50mb", Unit: "size", Meaning: "context `local`", value: byteSize(&c.ContextLocalSize)},
	}
}

func languageTable(c *Runtime) []Setting {
	return []Setting{
		{Name: "DEFAULT_LOCALE", Default: "en", Unit: "tag", Meaning: "date functions", value: matching(&c.Locale, `[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*`, "a language tag such as en or fr-CH")},
		{Name: "DEFAULT_TIMEZONE", Default: "UTC", Unit: "zone", Meaning: "date functions", value: zone(&c.Timezone)},
		{Name: "SLUG_VALIDATION_REGEXP", Default: "^[/a-zA-Z0-9 _-]+$", Unit: "regexp", Meaning: "automation slugs", value: regexpOf(&c.SlugPattern, false)},
		{Name: "SCHEDULES_TIMEZONE", Default: "UTC", Unit: "zone", Meaning: "cron", value: zone(&c.SchedulesTimezone)},
		{Name: "SCHEDULES_MIN_PERIOD", Default: "1m", Unit: "duration", Meaning: "shortest cron period", value: duration(&c.SchedulesMinPeriod, 0, time.Second, 365*day)},
		{Name: "ADDITIONAL_GLOBAL_VARS_{name}", Default: "-", Unit: "text", Meaning: "added to `global`", family: globalVars(&c.GlobalVars)},
		{Name: "WORKSPACE_CONFIG_{slug}_{var}", Default: "-", Unit: "text", Meaning: "config defaults of a workspace", family: varsOf(&c.WorkspaceConfig)},
		{Name: "APP_CONFIG_{app}_{var}", Default: "-", Unit: "text", Meaning: "config defaults of an app", family: varsOf(&c.AppConfig)},
		{Name: "WORKSPACE_SECRET_{slug}_{name}", Default: "-", Unit: "text", Meaning: "secret defaults", flags: secret, family: varsOf(&c.WorkspaceSecrets)},
	}
}
