package settings

import "time"

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
	MaxBases         int
	MaxDocuments     int
	MaxText          int // characters
	RevisionsKept    int
	Workers          int // 0 is one per CPU
	ExtractTimeout   time.Duration
	ExtractMemory    int64
	VectorsMemory    int64
	LogQueries       bool
	TokensPerDay     int    // 0 is no quota
	Models           Secret // JSON of MODELS_CONFIG with ${VAR} filled in; "" when unset
	LLMBaseURL       URL
	LLMAPIKey        Secret
	LLMModel         string
	LLMEmbedding     string
	ModelTimeout     time.Duration
	ModelConcurrency int
	ConversationKept time.Duration // Off keeps them
	AgentMaxSteps    int
	AgentMaxTime     time.Duration
	RateSearch       int // per minute and caller; 0 is no limit
	RateAskModels    int
}

func crawlerTable(c *Crawler) []Setting {
	return []Setting{
		{Name: "DOWNLOAD_DELAY", Default: "0.5", Unit: "s", Meaning: "between requests to one site", value: seconds(&c.DownloadDelay, 0, time.Hour)},
		{Name: "REQUEST_QUEUES_POLLING_SIZE", Default: "8", Unit: "requests", Meaning: "processed at once", value: number(&c.PollingSize, 1, 1000)},
		{Name: "REQUEST_QUEUES_POLLING_INTERVAL", Default: "10", Unit: "s", Meaning: "queue check", value: seconds(&c.PollingInterval, 100*time.Millisecond, time.Hour)},
		{Name: "MAX_CONTENT_LEN", Default: "150000", Unit: "characters", Meaning: "kept of a crawled page", marks: live, value: number(&c.MaxContentLen, 100, 100_000_000)},
		{Name: "CRAWLER_USER_AGENT", Default: "`svc-crawler/1 (+{API origin})`", Unit: "text", Meaning: "must contain `svc-crawler`", derive: defaultUserAgent, value: matching(&c.UserAgent, `[ -~]*svc-crawler[ -~]*`, "a text that contains svc-crawler")},
		{Name: "CRAWLER_MAX_BODY", Default: "10mb", Unit: "size", Meaning: "one response", value: byteSize(&c.MaxBody)},
		{Name: "CRAWLER_REQUEST_TIMEOUT", Default: "30", Unit: "s", Meaning: "one response", value: seconds(&c.RequestTimeout, time.Second, time.Hour)},
		{Name: "CRAWLER_MAX_PAGES", Default: "30000", Unit: "pages", Meaning: "per crawl", marks: live, value: number(&c.MaxPages, 1, 100_000_000)},
		{Name: "CRAWLER_MIN_PERIOD", Default: "1h", Unit: "duration", Meaning: "shortest schedule", marks: live, value: duration(&c.MinPeriod, 0, time.Second, 365*day)},
		{Name: "CRAWLER_HOST_CONCURRENCY", Default: "1", Unit: "requests", Meaning: "to one host", value: number(&c.HostConcurrency, 1, 100)},
		{Name: "CRAWLER_ROBOTS_EXEMPT_HOSTS", Default: "-", Unit: "list", Meaning: "own sites where `robots: false` is allowed", marks: live, value: listOf(&c.RobotsExempt, "hosts", isHost)},
	}
}

func knowledgeTable(c *Knowledge) []Setting {
	return []Setting{
		{Name: "KNOWLEDGE_MAX_BASES", Default: "100", Unit: "count", Meaning: "per workspace", marks: live, value: number(&c.MaxBases, 1, 1_000_000)},
		{Name: "KNOWLEDGE_MAX_DOCUMENTS", Default: "100000", Unit: "count", Meaning: "per base", marks: live, value: number(&c.MaxDocuments, 1, 100_000_000)},
		{Name: "KNOWLEDGE_MAX_TEXT", Default: "5000000", Unit: "characters", Meaning: "of one document", value: number(&c.MaxText, 1000, 1_000_000_000)},
		{Name: "KNOWLEDGE_REVISIONS_KEPT", Default: "5", Unit: "count", Meaning: "per document", value: number(&c.RevisionsKept, 1, 1000)},
		{Name: "KNOWLEDGE_WORKERS", Default: "CPUs", Unit: "count", Meaning: "documents at once per node", marks: perNode, derive: noDefault, value: number(&c.Workers, 1, 1024)},
		{Name: "KNOWLEDGE_EXTRACT_TIMEOUT", Default: "60", Unit: "s", Meaning: "child process", value: seconds(&c.ExtractTimeout, time.Second, time.Hour)},
		{Name: "KNOWLEDGE_EXTRACT_MEMORY_MB", Default: "512", Unit: "MB", Meaning: "child process", value: size(&c.ExtractMemory, mb, 64*mb, 64*gb)},
		{Name: "KNOWLEDGE_VECTORS_MEMORY_MB", Default: "512", Unit: "MB", Meaning: "per node", marks: perNode, value: megabytes(&c.VectorsMemory)},
		{Name: "KNOWLEDGE_LOG_QUERIES", Default: "yes", Unit: "bool", Meaning: "query text in `knowledge.queried`", marks: live, value: boolean(&c.LogQueries)},
		{Name: "KNOWLEDGE_TOKENS_PER_DAY", Default: "0 = off", Unit: "tokens", Meaning: "per workspace", marks: live, derive: noDefault, value: rate(&c.TokensPerDay)},
		{Name: "MODELS_CONFIG", Default: "-", Unit: "path or JSON", Meaning: "providers of models; `${VAR}` is filled in", marks: secret | document, value: jsonDocument(&c.Models)},
		{Name: "LLM_BASE_URL", Default: "-", Unit: "URL", Meaning: "the one provider; with MODELS_CONFIG a fault", value: urlOf(&c.LLMBaseURL, web...)},
		{Name: "LLM_API_KEY", Default: "-", Unit: "text", Meaning: "its key", marks: apiKey, value: secretText(&c.LLMAPIKey)},
		{Name: "LLM_MODEL", Default: "-", Unit: "text", Meaning: "its chat model", value: text(&c.LLMModel)},
		{Name: "LLM_EMBEDDING_MODEL", Default: "-", Unit: "text", Meaning: "its embedding model", value: text(&c.LLMEmbedding)},
		{Name: "MODEL_TIMEOUT_SECONDS", Default: "120", Unit: "s", Meaning: "one call, or silence of a stream", value: seconds(&c.ModelTimeout, time.Second, time.Hour)},
		{Name: "MODEL_CONCURRENCY", Default: "8", Unit: "calls", Meaning: "per provider and node", value: number(&c.ModelConcurrency, 1, 1000)},
		{Name: "AGENTS_CONVERSATION_DAYS", Default: "90", Unit: "d, -1 off", Meaning: "after the last message", marks: live, value: daysOrOff(&c.ConversationKept)},
		{Name: "AGENTS_MAX_STEPS", Default: "20", Unit: "steps", Meaning: "ceiling of `limits`", value: number(&c.AgentMaxSteps, 1, 1000)},
		{Name: "AGENTS_MAX_SECONDS", Default: "600", Unit: "s", Meaning: "ceiling of `limits`", value: seconds(&c.AgentMaxTime, time.Second, day)},
		{Name: "RATE_LIMIT_SEARCH_KNOWLEDGE", Default: "600", Unit: "/min/caller", Meaning: "search", marks: live, value: rate(&c.RateSearch)},
		{Name: "RATE_LIMIT_ASK_MODELS", Default: "60", Unit: "/min/caller", Meaning: "ask, messages, MCP calls", marks: live, value: rate(&c.RateAskModels)},
	}
}
