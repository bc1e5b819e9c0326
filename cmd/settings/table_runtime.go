package settings

import (
	"regexp"
	"time"
)

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

	Recording        string // off, errors or all
	RecordingKept    time.Duration
	RecordingMaxSize int64

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
		{Name: "RATE_LIMIT_AUTOMATIONS", Default: "100", Unit: "/s/workspace", Meaning: "exceeding delays, never rejects", marks: live, value: rate(&c.RateAutomations)},
		{Name: "RATE_LIMIT_AUTOMATIONS_BURST", Default: "400", Unit: "count/workspace", Meaning: "how many at once after a rest", marks: live, value: rate(&c.BurstAutomations)},
		{Name: "RATE_LIMIT_EMITS", Default: "30", Unit: "/s/workspace", Meaning: "emitted events", marks: live, value: rate(&c.RateEmits)},
		{Name: "RATE_LIMIT_EMITS_BURST", Default: "100", Unit: "count/workspace", Meaning: "how many at once after a rest", marks: live, value: rate(&c.BurstEmits)},
		{Name: "RATE_LIMIT_FETCHS", Default: "50", Unit: "/s/workspace", Meaning: "outgoing requests", marks: live, value: rate(&c.RateFetchs)},
		{Name: "RATE_LIMIT_FETCHS_BURST", Default: "200", Unit: "count/workspace", Meaning: "how many at once after a rest", marks: live, value: rate(&c.BurstFetchs)},
		{Name: "RATE_LIMIT_REPEATS", Default: "1000", Unit: "/s/workspace", Meaning: "turns of a loop", marks: live, value: rate(&c.RateRepeats)},
		{Name: "RATE_LIMIT_REPEATS_BURST", Default: "4000", Unit: "count/workspace", Meaning: "how many at once after a rest", marks: live, value: rate(&c.BurstRepeats)},
		{Name: "RATE_LIMIT_DISABLED", Default: "no", Unit: "bool", Meaning: "the eight above off", marks: live, value: boolean(&c.RateLimitDisabled)},
		{Name: "MAXIMUM_SUCCESSIVE_CALLS", Default: "20", Unit: "calls", Meaning: "nesting depth", value: number(&c.MaxSuccessiveCalls, 1, 1000)},
		{Name: "EXECUTION_MAX_ACTIVE_SECONDS", Default: "900", Unit: "s", Meaning: "active time of a run", value: seconds(&c.ExecutionMaxActive, time.Second, 30*day)},
		{Name: "EXECUTION_MAX_ATTEMPTS", Default: "3", Unit: "count", Meaning: "starts of a run that is interrupted, the first included", value: number(&c.ExecutionMaxAttempts, 1, 100)},
		{Name: "WAIT_DEFAULT_TIMEOUT", Default: "20", Unit: "s", Meaning: "`wait` without a timeout of its own", value: seconds(&c.WaitDefaultTimeout, time.Millisecond, 365*day)},
		{Name: "WAIT_MAX_TIMEOUT", Default: "2592000", Unit: "s", Meaning: "longest `wait`", value: seconds(&c.WaitMaxTimeout, time.Second, 365*day)},
		{Name: "FETCH_TIMEOUT", Default: "60", Unit: "s", Meaning: "one outgoing request", value: seconds(&c.FetchTimeout, time.Second, day)},
		{Name: "FETCH_MAX_RESPONSE_SIZE", Default: "50mb", Unit: "size", Meaning: "answer to an outgoing request", value: byteSize(&c.FetchMaxResponseSize)},
		{Name: "FETCH_MAX_RETRIES", Default: "3", Unit: "count", Meaning: "repeats of a failed request", value: number(&c.FetchMaxRetries, 0, 20)},
		{Name: "FETCH_RETRY_STATUS", Default: "429,502,503", Unit: "list", Meaning: "answers that are tried again", value: numbers(&c.FetchRetryStatus, 400, 599)},
		{Name: "FETCH_FORBIDDEN_HOSTS", Default: "-", Unit: "list", Meaning: "are never fetched; besides EGRESS_DENY_HOSTS", marks: live, value: listOf(&c.FetchForbiddenHosts, "hosts or CIDR ranges", isHostOrPrefix)},
		{Name: "FETCH_ALLOWED_HOSTS", Default: "-", Unit: "list", Meaning: "may be fetched although not public; besides EGRESS_ALLOW_HOSTS", marks: live, value: listOf(&c.FetchAllowedHosts, "hosts or CIDR ranges", isHostOrPrefix)},
		{Name: "CUSTOM_CODE_TIMEOUT", Default: "20000", Unit: "ms", Meaning: "script time", value: millis(&c.CodeTimeout, time.Millisecond, time.Hour)},
		{Name: "CUSTOM_CODE_MEMORY_MB", Default: "128", Unit: "MB", Meaning: "script memory", value: size(&c.CodeMemory, mb, 16*mb, 64*gb)},
		{Name: "CUSTOM_CODE_MAX_OUTPUT", Default: "10mb", Unit: "size", Meaning: "script result", value: byteSize(&c.CodeMaxOutput)},
		{Name: "COLLECTIONS_MAX_WRITE", Default: "10000", Unit: "rows", Meaning: "per write", value: number(&c.CollectionsMaxWrite, 1, 10_000_000)},
		{Name: "COLLECTIONS_MAX_LIMIT", Default: "10000", Unit: "rows", Meaning: "per read", value: number(&c.CollectionsMaxLimit, 1, 10_000_000)},
		{Name: "COLLECTIONS_MAX_ROW_SIZE", Default: "1mb", Unit: "size", Meaning: "per row", value: byteSize(&c.CollectionsMaxRowSize)},
		{Name: "RUN_RECORDING", Default: "errors", Unit: "off, errors, all", Meaning: "which runs are recorded so that they can be replayed", marks: live, value: oneOf(&c.Recording, "off", "errors", "all")},
		{Name: "RUN_RECORDING_DAYS", Default: "14", Unit: "d", Meaning: "how long records are kept", value: days(&c.RecordingKept)},
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
		{Name: "WORKSPACE_SECRET_{slug}_{name}", Default: "-", Unit: "text", Meaning: "secret defaults", marks: secret, family: varsOf(&c.WorkspaceSecrets)},
	}
}
