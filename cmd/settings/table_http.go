package settings

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// HTTP is the listener, the public addresses and the gateway's limits.
type HTTP struct {
	Addr           string // "" listens on all interfaces
	Port           int
	TLSCertFile    string // "" serves plain HTTP
	TLSKeyFile     string
	APIURL         string // ends in /v2
	InternalAPIURL string
	ConsoleURLs    []string // each ends in a slash; the first is the default
	PagesHost      string   // "" serves pages below /pages
	CORSOrigins    []string
	TrustedProxies []netip.Prefix

	RequestTimeout    time.Duration
	RequestMaxSize    int64
	UploadMaxSize     int64
	FilesMaxSize      int64  // of all files of a workspace; 0 is no limit
	PprofAddr         string // of this machine; "" serves no profiles
	ImportMaxSize     int64
	MaxConcurrent     int // per user; 0 is no limit
	SSEHeartbeat      time.Duration
	ReadinessCacheTTL time.Duration // 0 is no cache

	DisableRateLimit    bool
	RateRequests        int // these rates are per minute and user; 0 is no limit
	RateSearchEvents    int
	RateUploadFile      int
	RateCreateWorkspace int
	RateImportWorkspace int
	RateWebhooks        int
}

// Issuer is the issuer of tokens: the API's address without /v2.
func (h HTTP) Issuer() string { return strings.TrimSuffix(h.APIURL, "/v2") }

// Origin is scheme, host and port of the API.
func (h HTTP) Origin() string {
	u, err := url.Parse(h.APIURL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// web are the schemes of a page or an API. It is never changed.
var web = []string{"http", "https"}

func httpTable(c *HTTP) []Setting {
	return []Setting{
		{Name: "ADDR", Default: "`127.0.0.1`; the container images and manifests set `0.0.0.0`", Unit: "host", Meaning: "listen address; empty = all interfaces", marks: perNode | emptyCounts, derive: fixed("127.0.0.1"), value: listenHost(&c.Addr)},
		{Name: "PORT", Default: "3001", Unit: "port", Meaning: "listen port", marks: perNode, value: number(&c.Port, 1, 65535)},
		{Name: "TLS_CERT_FILE", Default: "-", Unit: "path", Meaning: "serve HTTPS directly: certificate", marks: perNode, value: path(&c.TLSCertFile)},
		{Name: "TLS_KEY_FILE", Default: "-", Unit: "path", Meaning: "serve HTTPS directly: private key", marks: perNode, value: path(&c.TLSKeyFile)},
		{Name: "API_URL", Default: "`http://localhost:{PORT}/v2`", Unit: "URL", Meaning: "public API address; JWT audience; issuer = without `/v2`", derive: defaultAPIURL, value: apiURL(&c.APIURL)},
		{Name: "INTERNAL_API_URL", Default: "`http://localhost:{PORT}/v2`", Unit: "URL", Meaning: "address for service-to-service calls and readiness", marks: perNode, derive: defaultInternalURL, value: apiURL(&c.InternalAPIURL)},
		{Name: "CONSOLE_URL", Default: "`/console/` on the origin of API_URL", Unit: "URL list", Meaning: "first = default; all allowed for CORS, redirects, framing", derive: defaultConsoleURL, value: urls(&c.ConsoleURLs, true, web...)},
		{Name: "PAGES_HOST", Default: "-", Unit: "host suffix", Meaning: "pages at `{workspaceSlug}{PAGES_HOST}`; unset: `/pages/{workspaceSlug}` on the API host", value: matching(&c.PagesHost, `[.-][A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?`, "a host suffix such as .pages.example.com")},
		{Name: "CORS_ADDITIONAL_ALLOWED_ORIGINS", Default: "-", Unit: "list", Meaning: "exact origins", marks: live, value: listOf(&c.CORSOrigins, "origins such as https://app.example.com", isOrigin)},
		{Name: "TRUSTED_PROXIES", Default: "-", Unit: "CIDR list", Meaning: "whose `X-Forwarded-*` is believed; unset: nobody's", value: prefixes(&c.TrustedProxies)},
		{Name: "GATEWAY_REQUEST_TIMEOUT_SECONDS", Default: "60", Unit: "s", Meaning: "then 504 `gateway_timeout`", marks: live, value: seconds(&c.RequestTimeout, time.Second, day)},
		{Name: "REQUEST_MAX_SIZE", Default: "1mb", Unit: "size", Meaning: "JSON body", value: byteSize(&c.RequestMaxSize)},
		{Name: "UPLOADS_MAX_SIZE", Default: "10mb", Unit: "size", Meaning: "uploaded file", value: byteSize(&c.UploadMaxSize)},
		{Name: "WORKSPACE_FILES_MAX_BYTES", Default: "10gb; 0 = no limit", Unit: "size", Meaning: "all files of a workspace; above it 429 `quota_exceeded`", derive: fixed("10gb"), value: size(&c.FilesMaxSize, 1, 0, 1024*1024*gb)},
		{Name: "PPROF_ADDR", Default: "empty = off", Unit: "host:port, loopback only", Meaning: "profiles for the holder of the internal key", marks: perNode, derive: noDefault, value: loopback(&c.PprofAddr)},
		{Name: "IMPORT_MAX_SIZE", Default: "50mb", Unit: "size", Meaning: "workspace archive", value: byteSize(&c.ImportMaxSize)},
		{Name: "MAX_CONCURRENT_REQUESTS", Default: "200", Unit: "per user", Meaning: "then 429 `concurrent_request_limit`; 0 off", marks: live, value: rate(&c.MaxConcurrent)},
		{Name: "SSE_HEARTBEAT_SECONDS", Default: "15", Unit: "s", Meaning: "comment interval of streams", value: seconds(&c.SSEHeartbeat, time.Second, time.Hour)},
		{Name: "READINESS_CACHE_TTL_MS", Default: "30000", Unit: "ms", Meaning: "0 = no cache", value: millis(&c.ReadinessCacheTTL, 0, time.Hour)},
		{Name: "DISABLE_RATE_LIMIT", Default: "no", Unit: "bool", Meaning: "all gateway limits off", value: boolean(&c.DisableRateLimit)},
		{Name: "RATE_LIMIT_REQUESTS", Default: "6000", Unit: "/min/user", Meaning: "all API calls; 0 off, as for every limit", marks: live, value: rate(&c.RateRequests)},
		{Name: "RATE_LIMIT_SEARCH_EVENTS", Default: "600", Unit: "/min/user", Meaning: "events, search, usage", marks: live, value: rate(&c.RateSearchEvents)},
		{Name: "RATE_LIMIT_UPLOAD_FILE", Default: "300", Unit: "/min/user", Meaning: "uploads", marks: live, value: rate(&c.RateUploadFile)},
		{Name: "RATE_LIMIT_CREATE_WORKSPACE", Default: "60", Unit: "/min/user", Meaning: "new workspaces", marks: live, value: rate(&c.RateCreateWorkspace)},
		{Name: "RATE_LIMIT_IMPORT_WORKSPACE", Default: "60", Unit: "/min/user", Meaning: "import, pull, duplicate", marks: live, value: rate(&c.RateImportWorkspace)},
		{Name: "RATE_LIMIT_WEBHOOKS", Default: "6000", Unit: "/min/user or IP", Meaning: "inbound endpoints", marks: live, value: rate(&c.RateWebhooks)},
	}
}
