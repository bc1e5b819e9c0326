package settings

import (
	"log/slog"
	"time"
)

// Egress is what outgoing connections may reach.
type Egress struct {
	AllowPrivate bool
	AllowHosts   []string
	DenyHosts    []string
	ExtraCAFile  string
	HTTPProxy    URL
	HTTPSProxy   URL
	NoProxy      []string
}

// Hooks is the delivery of webhooks.
type Hooks struct {
	Timeout       time.Duration
	RetrySchedule []time.Duration
	DisableAfter  time.Duration
}

// Mail is how mail is sent. An empty Host sends none.
type Mail struct {
	Host   string
	Port   int
	Secure bool // TLS from the start; else STARTTLS is required
	User   string
	Pass   Secret
	From   string
}

// Obs is logs, metrics and traces.
type Obs struct {
	LogLevel           slog.Level
	LogFormat          string // auto, json or text
	HealthcheckLogs    bool
	MetricsPublic      bool
	OTLPEndpoint       string // "" exports nothing
	OTLPHeaders        Secret // comma-separated name=value
	ServiceName        string
	ResourceAttributes []string // name=value
	TracesSampler      string
	TracesSamplerArg   float64
}

func egressTable(c *Egress) []Setting {
	return []Setting{
		{Name: "EGRESS_ALLOW_PRIVATE", Default: "no", Unit: "bool", Meaning: "allow loopback, private and link-local targets (fetch, hooks, git, crawler)", value: boolean(&c.AllowPrivate)},
		{Name: "EGRESS_ALLOW_HOSTS", Default: "-", Unit: "host or CIDR list", Meaning: "exceptions; deny wins. Cloud metadata addresses need an explicit allow", flags: live, value: listOf(&c.AllowHosts, "hosts or CIDR ranges", isHostOrPrefix)},
		{Name: "EGRESS_DENY_HOSTS", Default: "-", Unit: "host or CIDR list", Meaning: "exceptions; deny wins", flags: live, value: listOf(&c.DenyHosts, "hosts or CIDR ranges", isHostOrPrefix)},
		{Name: "EXTRA_CA_CERTS_FILE", Default: "-", Unit: "path", Meaning: "PEM, added to the system roots", flags: perNode, value: path(&c.ExtraCAFile)},
		{Name: "HTTP_PROXY", Default: "-", Unit: "URL", Meaning: "outgoing proxy for http", flags: perNode, value: urlOf(&c.HTTPProxy, web...)},
		{Name: "HTTPS_PROXY", Default: "-", Unit: "URL", Meaning: "outgoing proxy for https", flags: perNode, value: urlOf(&c.HTTPSProxy, web...)},
		{Name: "NO_PROXY", Default: "-", Unit: "list", Meaning: "targets that need no proxy", flags: perNode, value: listOf(&c.NoProxy, "hosts, addresses or CIDR ranges, or *", func(s string) bool { return s == "*" || isHostOrPrefix(s) })},
	}
}

func hooksTable(c *Hooks) []Setting {
	return []Setting{
		{Name: "WEBHOOK_TIMEOUT_SECONDS", Default: "15", Unit: "s", Meaning: "one delivery", value: seconds(&c.Timeout, time.Second, time.Hour)},
		{Name: "WEBHOOK_RETRY_SCHEDULE", Default: "5s,5m,30m,2h,5h,10h,10h", Unit: "list", Meaning: "then dead letter", value: durations(&c.RetrySchedule)},
		{Name: "WEBHOOK_DISABLE_AFTER_DAYS", Default: "5", Unit: "d", Meaning: "of failure", value: days(&c.DisableAfter)},
	}
}

func mailTable(c *Mail) []Setting {
	return []Setting{
		{Name: "SMTP_HOST", Default: "-", Unit: "host", Meaning: "mail server; unset: no mail", value: host(&c.Host)},
		{Name: "SMTP_PORT", Default: "587", Unit: "port", Meaning: "of the mail server", value: number(&c.Port, 1, 65535)},
		{Name: "SMTP_SECURE", Default: "no", Unit: "bool", Meaning: "no = STARTTLS required, yes = TLS from the start", value: boolean(&c.Secure)},
		{Name: "SMTP_USER", Default: "-", Unit: "text", Meaning: "unset: no sign-in", value: text(&c.User)},
		{Name: "SMTP_PASS", Default: "-", Unit: "text", Meaning: "password of SMTP_USER", flags: secret, value: secretText(&c.Pass)},
		{Name: "EMAIL_FROM", Default: "-", Unit: "text", Meaning: "sender; required with SMTP_HOST", value: mailAddress(&c.From)},
	}
}

func obsTable(c *Obs) []Setting {
	return []Setting{
		{Name: "LOG_LEVEL", Default: "info", Unit: "level", Meaning: "debug, info, warn, error", flags: live | perNode, value: level(&c.LogLevel)},
		{Name: "LOG_FORMAT", Default: "auto", Unit: "auto, json, text", Meaning: "auto: text on a terminal, json elsewhere", flags: perNode, value: oneOf(&c.LogFormat, "auto", "json", "text")},
		{Name: "ENABLE_HEALTHCHECK_LOGS", Default: "no", Unit: "bool", Meaning: "log calls of probes", flags: live | perNode, value: boolean(&c.HealthcheckLogs)},
		{Name: "METRICS_PUBLIC", Default: "no", Unit: "bool", Meaning: "no = `/metrics` needs the internal key", value: boolean(&c.MetricsPublic)},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Default: "-", Unit: "URL", Meaning: "unset = no export", flags: perNode, value: urlOf(&c.OTLPEndpoint, web...)},
		{Name: "OTEL_EXPORTER_OTLP_HEADERS", Default: "-", Unit: "list", Meaning: "`name=value` sent with each export", flags: secret | perNode, value: secretPairs(&c.OTLPHeaders)},
		{Name: "OTEL_SERVICE_NAME", Default: "svc", Unit: "text", Meaning: "name of the service in traces", flags: perNode, value: text(&c.ServiceName)},
		{Name: "OTEL_RESOURCE_ATTRIBUTES", Default: "-", Unit: "text", Meaning: "`name=value` list", flags: perNode, value: listOf(&c.ResourceAttributes, "name=value", isPair)},
		{Name: "OTEL_TRACES_SAMPLER", Default: "parentbased_traceidratio", Meaning: "which traces are kept", flags: perNode, value: oneOf(&c.TracesSampler, "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio")},
		{Name: "OTEL_TRACES_SAMPLER_ARG", Default: "0.1", Meaning: "share of traces that are kept", flags: perNode, value: fraction(&c.TracesSamplerArg)},
	}
}

// Crawler is how sites are read.
type Crawler struct {
	DownloadDelay   time.Duration // between requests to one site
	PollingSize     int
	PollingInterval time.Duration
	MaxContentLen   int // characters
	UserAgent       string
	MaxBody         int64
	RequestTimeout  time.Duration
	MaxPages        int
	MinPeriod       time.Duration
	HostConcurrency int
	RobotsExempt    []string // hosts
}

// Knowledge is knowledge bases, models and agents.
type Knowledge struct {
	MaxBases              int
	MaxDocuments          int
	MaxText               int // characters
	RevisionLimit         int
	Workers               int // 0 is one per CPU
	ExtractTimeout        time.Duration
	ExtractMemory         int64
	VectorsMemory         int64
	LogQueries            bool
	TokensPerDay          int    // 0 is no quota
	Models                Secret // JSON of MODELS_CONFIG with ${VAR} filled in; "" when unset
	LLMBaseURL            URL
	LLMAPIKey             Secret
	LLMModel              string
	LLMEmbedding          string
	ModelTimeout          time.Duration
	ModelConcurrency      int
	ConversationRetention time.Duration // Off keeps them
	AgentMaxSteps         int
	AgentMaxTime          time.Duration
	RateSearch            int // per minute and caller; 0 is no limit
	RateAskModels         int
}

func crawlerTable(c *Crawler) []Setting {
	return []Setting{
		{Name: "DOWNLOAD_DELAY", Default: "0.5", Unit: "s", Meaning: "between requests to one site", value: seconds(&c.DownloadDelay, 0, time.Hour)},
		{Name: "REQUEST_QUEUES_POLLING_SIZE", Default: "8", Unit: "requests", Meaning: "processed at once", value: number(&c.PollingSize, 1, 1000)},
		{Name: "REQUEST_QUEUES_POLLING_INTERVAL", Default: "10", Unit: "s", Meaning: "queue check", value: seconds(&c.PollingInterval, 100*time.Millisecond, time.Hour)},
		{Name: "MAX_CONTENT_LEN", Default: "150000", Unit: "characters", Meaning: "kept of a crawled page", flags: live, value: number(&c.MaxContentLen, 100, 100_000_000)},
		{Name: "CRAWLER_USER_AGENT", Default: "`svc-crawler/1 (+{API origin})`", Unit: "text", Meaning: "must contain `svc-crawler`", derive: defaultUserAgent, value: matching(&c.UserAgent, `[ -~]*svc-crawler[ -~]*`, "a text that contains svc-crawler")},
		{Name: "CRAWLER_MAX_BODY", Default: "10mb", Unit: "size", Meaning: "one response", value: byteSize(&c.MaxBody)},
		{Name: "CRAWLER_REQUEST_TIMEOUT", Default: "30", Unit: "s", Meaning: "one response", value: seconds(&c.RequestTimeout, time.Second, time.Hour)},
		{Name: "CRAWLER_MAX_PAGES", Default: "30000", Unit: "pages", Meaning: "per crawl", flags: live, value: number(&c.MaxPages, 1, 100_000_000)},
		{Name: "CRAWLER_MIN_PERIOD", Default: "1h", Unit: "duration", Meaning: "shortest schedule", flags: live, value: duration(&c.MinPeriod, 0, time.Second, 365*day)},
		{Name: "CRAWLER_HOST_CONCURRENCY", Default: "1", Unit: "requests", Meaning: "to one host", value: number(&c.HostConcurrency, 1, 100)},
		{Name: "CRAWLER_ROBOTS_EXEMPT_HOSTS", Default: "-", Unit: "list", Meaning: "own sites where `robots: false` is allowed", flags: live, value: listOf(&c.RobotsExempt, "hosts", isHost)},
	}
}

// DemoModels is the value of LLM_BASE_URL that stands for a model inside of the service.
const DemoModels = "demo"

// modelURL is the address of a provider of models, or DemoModels.
func modelURL(p *URL) value {
	v := urlOf(p, web...)
	parse := v.set
	v.expect += ", or " + DemoModels
	v.set = func(text string) error {
		if text == DemoModels {
			*p = DemoModels
			return nil
		}
		return parse(text)
	}
	return v
}

func knowledgeTable(c *Knowledge) []Setting {
	return []Setting{
		{Name: "KNOWLEDGE_MAX_BASES", Default: "100", Unit: "count", Meaning: "per workspace", flags: live, value: number(&c.MaxBases, 1, 1_000_000)},
		{Name: "KNOWLEDGE_MAX_DOCUMENTS", Default: "100000", Unit: "count", Meaning: "per base", flags: live, value: number(&c.MaxDocuments, 1, 100_000_000)},
		{Name: "KNOWLEDGE_MAX_TEXT", Default: "5000000", Unit: "characters", Meaning: "of one document", value: number(&c.MaxText, 1000, 1_000_000_000)},
		{Name: "KNOWLEDGE_REVISIONS_KEPT", Default: "5", Unit: "count", Meaning: "per document", value: number(&c.RevisionLimit, 1, 1000)},
		{Name: "KNOWLEDGE_WORKERS", Default: "CPUs", Unit: "count", Meaning: "documents at once per node", flags: perNode, derive: noDefault, value: number(&c.Workers, 1, 1024)},
		{Name: "KNOWLEDGE_EXTRACT_TIMEOUT", Default: "60", Unit: "s", Meaning: "child process", value: seconds(&c.ExtractTimeout, time.Second, time.Hour)},
		{Name: "KNOWLEDGE_EXTRACT_MEMORY_MB", Default: "512", Unit: "MB", Meaning: "child process", value: size(&c.ExtractMemory, mb, 64*mb, 64*gb)},
		{Name: "KNOWLEDGE_VECTORS_MEMORY_MB", Default: "512", Unit: "MB", Meaning: "per node", flags: perNode, value: megabytes(&c.VectorsMemory)},
		{Name: "KNOWLEDGE_LOG_QUERIES", Default: "yes", Unit: "bool", Meaning: "query text in `knowledge.queried`", flags: live, value: boolean(&c.LogQueries)},
		{Name: "KNOWLEDGE_TOKENS_PER_DAY", Default: "0 = off", Unit: "tokens", Meaning: "per workspace", flags: live, derive: noDefault, value: rate(&c.TokensPerDay)},
		{Name: "MODELS_CONFIG", Default: "-", Unit: "path or JSON", Meaning: "providers of models; `${VAR}` is replaced by the variable", flags: secret | document, value: jsonDocument(&c.Models)},
		{Name: "LLM_BASE_URL", Default: "-", Unit: "URL", Meaning: "the only provider; `demo` is a model inside of the service that repeats the first source. A fault together with MODELS_CONFIG", value: modelURL(&c.LLMBaseURL)},
		{Name: "LLM_API_KEY", Default: "-", Unit: "text", Meaning: "its key", flags: apiKey, value: secretText(&c.LLMAPIKey)},
		{Name: "LLM_MODEL", Default: "-", Unit: "text", Meaning: "its chat model", value: text(&c.LLMModel)},
		{Name: "LLM_EMBEDDING_MODEL", Default: "-", Unit: "text", Meaning: "its embedding model", value: text(&c.LLMEmbedding)},
		{Name: "MODEL_TIMEOUT_SECONDS", Default: "120", Unit: "s", Meaning: "one call, or silence of a stream", value: seconds(&c.ModelTimeout, time.Second, time.Hour)},
		{Name: "MODEL_CONCURRENCY", Default: "8", Unit: "calls", Meaning: "per provider and node", value: number(&c.ModelConcurrency, 1, 1000)},
		{Name: "AGENTS_CONVERSATION_DAYS", Default: "90", Unit: "d, -1 off", Meaning: "after the last message", flags: live, value: daysOrOff(&c.ConversationRetention)},
		{Name: "AGENTS_MAX_STEPS", Default: "20", Unit: "steps", Meaning: "ceiling of `limits`", value: number(&c.AgentMaxSteps, 1, 1000)},
		{Name: "AGENTS_MAX_SECONDS", Default: "600", Unit: "s", Meaning: "ceiling of `limits`", value: seconds(&c.AgentMaxTime, time.Second, day)},
		{Name: "RATE_LIMIT_SEARCH_KNOWLEDGE", Default: "600", Unit: "/min/caller", Meaning: "search", flags: live, value: rate(&c.RateSearch)},
		{Name: "RATE_LIMIT_ASK_MODELS", Default: "60", Unit: "/min/caller", Meaning: "ask, messages, MCP calls", flags: live, value: rate(&c.RateAskModels)},
	}
}
