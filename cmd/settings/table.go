package settings

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Config is every setting in its typed form, grouped by part.
type Config struct {
	Core       Core
	HTTP       HTTP
	Auth       Auth
	Broker     Broker
	Events     Events
	Runtime    Runtime
	Workspaces Workspaces
	Bulk       Bulk
	Git        Git
	Egress     Egress
	Hooks      Hooks
	Crawler    Crawler
	Knowledge  Knowledge
	Mail       Mail
	Obs        Obs
}

// Table returns every setting, in the order of the documentation.
func Table() []Setting { return table(new(Config)) }

// table is the one list of all settings, bound to the fields of c. A derived
// default may use the settings above it.
func table(c *Config) []Setting {
	var all []Setting
	for _, part := range []struct {
		name Part
		rows []Setting
	}{
		{PartCore, coreTable(&c.Core)},
		{PartHTTP, httpTable(&c.HTTP)},
		{PartAuth, authTable(&c.Auth)},
		{PartBroker, brokerTable(&c.Broker)},
		{PartEvents, eventsTable(&c.Events)},
		{PartRuntime, runtimeTable(&c.Runtime)},
		{PartRuntime, contextTable(&c.Runtime)},
		{PartRuntime, languageTable(&c.Runtime)},
		{PartWorkspaces, workspacesTable(&c.Workspaces)},
		{PartBulk, bulkTable(&c.Bulk)},
		{PartGit, gitTable(&c.Git)},
		{PartEgress, egressTable(&c.Egress)},
		{PartHooks, hooksTable(&c.Hooks)},
		{PartCrawler, crawlerTable(&c.Crawler)},
		{PartKnowledge, knowledgeTable(&c.Knowledge)},
		{PartMail, mailTable(&c.Mail)},
		{PartObs, obsTable(&c.Obs)},
	} {
		for _, row := range part.rows {
			row.Part = part.name
			if row.family != nil {
				row.family.setName(row.Name)
			}
			all = append(all, row)
		}
	}
	return all
}

// Core is what every part needs.
type Core struct {
	DataDir          string
	ConfigFile       string // "" when none was read
	NodeName         string
	MasterKeys       []MasterKey // empty until given or made by EnsureKeys
	InternalAPIKey   Secret      // empty until given or made by EnsureKeys
	DiskMinFree      int64       // bytes
	BadgerMemtable   int64       // bytes
	BadgerBlockCache int64       // bytes
	ShutdownGrace    time.Duration
	Roles            []string
	DisabledServices []string // left out of readiness
}

func coreTable(c *Core) []Setting {
	return []Setting{
		{Name: "DATA_DIR", Default: "./data", Unit: "path", Meaning: "all local state; created 0700; one process at a time", flags: perNode, value: path(&c.DataDir)},
		{Name: "CONFIG_FILE", Default: "`.env` when present", Unit: "path", Meaning: "extra source of settings", flags: perNode, derive: defaultConfigFile, value: path(&c.ConfigFile)},
		{Name: "NODE_NAME", Default: "host name", Unit: "text", Meaning: "unique in the cluster", flags: perNode, derive: defaultNodeName, value: matching(&c.NodeName, `[A-Za-z0-9][A-Za-z0-9._-]{0,62}`, "up to 63 letters, digits, dots, dashes and underscores")},
		{Name: "SECRETS_MASTER_KEYS", Default: "generated (1.1)", Unit: "JSON", Meaning: "master keys", flags: secret, derive: noDefault, value: masterKeys(&c.MasterKeys)},
		{Name: "INTERNAL_API_KEY", Default: "generated (1.1)", Unit: "text", Meaning: "key for internal calls, header `x-svc-api-key`", flags: apiKey, derive: noDefault, value: internalKey(&c.InternalAPIKey)},
		{Name: "DISK_MIN_FREE_MB", Default: "512", Unit: "MB", Meaning: "below: writes get 503, readiness error", flags: live | perNode, value: size(&c.DiskMinFree, mb, 0, 1024*gb)},
		{Name: "BADGER_MEMTABLE_MB", Default: "16", Unit: "MB", Meaning: "read-model store memory", flags: perNode, value: size(&c.BadgerMemtable, mb, 16*mb, 4*gb)},
		{Name: "BADGER_BLOCK_CACHE_MB", Default: "64", Unit: "MB", Meaning: "read-model store cache", flags: perNode, value: size(&c.BadgerBlockCache, mb, 0, 64*gb)},
		{Name: "SHUTDOWN_GRACE_SECONDS", Default: "30", Unit: "s", Meaning: "drain time on SIGTERM", flags: perNode, value: seconds(&c.ShutdownGrace, 0, time.Hour)},
		{Name: "ROLES", Default: "all", Unit: "list", Meaning: "background work of this node: runtime, webhooks, bulk, cleanup, crawler, knowledge; HTTP is served by every node", flags: perNode, value: someOf(&c.Roles, "runtime", "webhooks", "bulk", "cleanup", "crawler", "knowledge")},
		{Name: "DISABLED_SERVICES", Default: "-", Unit: "list", Meaning: "services that are disabled and excluded from readiness: searchengine, crawler", value: listOf(&c.DisabledServices, "searchengine, crawler", func(s string) bool { return s == "searchengine" || s == "crawler" })},
	}
}

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
		{Name: "ADDR", Default: "`127.0.0.1`; the container images and manifests set `0.0.0.0`", Unit: "host", Meaning: "listen address; empty = all interfaces", flags: perNode | emptyCounts, derive: fixed("127.0.0.1"), value: listenHost(&c.Addr)},
		{Name: "PORT", Default: "3001", Unit: "port", Meaning: "listen port", flags: perNode, value: number(&c.Port, 1, 65535)},
		{Name: "TLS_CERT_FILE", Default: "-", Unit: "path", Meaning: "serve HTTPS directly: certificate", flags: perNode, value: path(&c.TLSCertFile)},
		{Name: "TLS_KEY_FILE", Default: "-", Unit: "path", Meaning: "serve HTTPS directly: private key", flags: perNode, value: path(&c.TLSKeyFile)},
		{Name: "API_URL", Default: "`http://localhost:{PORT}/v2`", Unit: "URL", Meaning: "public API address; JWT audience; issuer = without `/v2`", derive: defaultAPIURL, value: apiURL(&c.APIURL)},
		{Name: "INTERNAL_API_URL", Default: "`http://localhost:{PORT}/v2`", Unit: "URL", Meaning: "address for service-to-service calls and readiness", flags: perNode, derive: defaultInternalURL, value: apiURL(&c.InternalAPIURL)},
		{Name: "CONSOLE_URL", Default: "`/console/` on the origin of API_URL", Unit: "URL list", Meaning: "first = default; all allowed for CORS, redirects, framing", derive: defaultConsoleURL, value: urls(&c.ConsoleURLs, true, web...)},
		{Name: "PAGES_HOST", Default: "-", Unit: "host suffix", Meaning: "pages at `{workspaceSlug}{PAGES_HOST}`; unset: `/pages/{workspaceSlug}` on the API host", value: matching(&c.PagesHost, `[.-][A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?`, "a host suffix such as .pages.example.com")},
		{Name: "CORS_ADDITIONAL_ALLOWED_ORIGINS", Default: "-", Unit: "list", Meaning: "exact origins", flags: live, value: listOf(&c.CORSOrigins, "origins such as https://app.example.com", isOrigin)},
		{Name: "TRUSTED_PROXIES", Default: "-", Unit: "CIDR list", Meaning: "proxies whose `X-Forwarded-*` headers are trusted; unset: none", value: prefixes(&c.TrustedProxies)},
		{Name: "GATEWAY_REQUEST_TIMEOUT_SECONDS", Default: "60", Unit: "s", Meaning: "then 504 `gateway_timeout`", flags: live, value: seconds(&c.RequestTimeout, time.Second, day)},
		{Name: "REQUEST_MAX_SIZE", Default: "1mb", Unit: "size", Meaning: "JSON body", value: byteSize(&c.RequestMaxSize)},
		{Name: "UPLOADS_MAX_SIZE", Default: "10mb", Unit: "size", Meaning: "uploaded file", value: byteSize(&c.UploadMaxSize)},
		{Name: "WORKSPACE_FILES_MAX_BYTES", Default: "10gb; 0 = no limit", Unit: "size", Meaning: "all files of a workspace; above it 429 `quota_exceeded`", derive: fixed("10gb"), value: size(&c.FilesMaxSize, 1, 0, 1024*1024*gb)},
		{Name: "PPROF_ADDR", Default: "empty = off", Unit: "host:port, loopback only", Meaning: "serves profiles; requests need the internal key", flags: perNode, derive: noDefault, value: loopback(&c.PprofAddr)},
		{Name: "IMPORT_MAX_SIZE", Default: "50mb", Unit: "size", Meaning: "workspace archive", value: byteSize(&c.ImportMaxSize)},
		{Name: "MAX_CONCURRENT_REQUESTS", Default: "200", Unit: "per user", Meaning: "then 429 `concurrent_request_limit`; 0 off", flags: live, value: rate(&c.MaxConcurrent)},
		{Name: "SSE_HEARTBEAT_SECONDS", Default: "15", Unit: "s", Meaning: "comment interval of streams", value: seconds(&c.SSEHeartbeat, time.Second, time.Hour)},
		{Name: "READINESS_CACHE_TTL_MS", Default: "30000", Unit: "ms", Meaning: "0 = no cache", value: millis(&c.ReadinessCacheTTL, 0, time.Hour)},
		{Name: "DISABLE_RATE_LIMIT", Default: "no", Unit: "bool", Meaning: "disables all limits of the gateway", value: boolean(&c.DisableRateLimit)},
		{Name: "RATE_LIMIT_REQUESTS", Default: "6000", Unit: "/min/user", Meaning: "all API calls; 0 off, as for every limit", flags: live, value: rate(&c.RateRequests)},
		{Name: "RATE_LIMIT_SEARCH_EVENTS", Default: "600", Unit: "/min/user", Meaning: "events, search, usage", flags: live, value: rate(&c.RateSearchEvents)},
		{Name: "RATE_LIMIT_UPLOAD_FILE", Default: "300", Unit: "/min/user", Meaning: "uploads", flags: live, value: rate(&c.RateUploadFile)},
		{Name: "RATE_LIMIT_CREATE_WORKSPACE", Default: "60", Unit: "/min/user", Meaning: "new workspaces", flags: live, value: rate(&c.RateCreateWorkspace)},
		{Name: "RATE_LIMIT_IMPORT_WORKSPACE", Default: "60", Unit: "/min/user", Meaning: "import, pull, duplicate", flags: live, value: rate(&c.RateImportWorkspace)},
		{Name: "RATE_LIMIT_WEBHOOKS", Default: "6000", Unit: "/min/user or IP", Meaning: "inbound endpoints", flags: live, value: rate(&c.RateWebhooks)},
	}
}

// Auth is accounts, tokens and identity providers.
type Auth struct {
	RateSignup         int // these rates are per minute; 0 is no limit
	RateAnonymousLogin int
	RateLogin          int
	RatePasswordReset  int
	RateTokenExchange  int

	JWKSAlg             string
	JWKSKty             string
	JWKSSize            int
	JWKSRotation        time.Duration
	AccessTokenMaxAge   time.Duration
	SessionCookieMaxAge time.Duration

	SuperAdminEmails  []string
	AdminPassword     Secret           // "" has one generated at first start
	Providers         Secret           // JSON of AUTH_PROVIDERS_CONFIG with ${VAR} filled in; "" when unset
	ExternalClients   []ExternalClient // public PKCE clients
	PasswordPattern   *regexp.Regexp   // matches whole passwords
	AccountValidation string           // auto, email or manual
	DisableSignin     bool
	DisableSignup     bool
	ForceMFA          bool
}

// ExternalClient is a public OIDC client of OIDC_EXTERNAL_CLIENTS.
type ExternalClient struct {
	ClientID     string   `json:"client_id"`
	RedirectURIs []string `json:"redirect_uris"`
}

func authTable(c *Auth) []Setting {
	return []Setting{
		{Name: "RATE_LIMIT_SIGNUP", Default: "10", Unit: "/min/IP", Meaning: "new accounts", flags: live, value: rate(&c.RateSignup)},
		{Name: "RATE_LIMIT_ANONYMOUS_LOGIN", Default: "60", Unit: "/min/IP", Meaning: "anonymous sessions", flags: live, value: rate(&c.RateAnonymousLogin)},
		{Name: "RATE_LIMIT_LOGIN", Default: "5", Unit: "/min/e-mail", Meaning: "password attempts", flags: live, value: rate(&c.RateLogin)},
		{Name: "RATE_LIMIT_PASSWORD_RESET", Default: "5", Unit: "/min/IP", Meaning: "reset mails", flags: live, value: rate(&c.RatePasswordReset)},
		{Name: "RATE_LIMIT_TOKEN_EXCHANGE", Default: "60", Unit: "/min/IP", Meaning: "token exchanges", flags: live, value: rate(&c.RateTokenExchange)},
		{Name: "JWKS_ALG", Default: "RS256", Unit: "name", Meaning: "also RS384, RS512, PS256, ES256, ES384", value: oneOf(&c.JWKSAlg, "RS256", "RS384", "RS512", "PS256", "ES256", "ES384")},
		{Name: "JWKS_KTY", Default: "RSA", Unit: "RSA, EC", Meaning: "must fit JWKS_ALG", value: oneOf(&c.JWKSKty, "RSA", "EC")},
		{Name: "JWKS_SIZE", Default: "2048", Unit: "bits", Meaning: "2048-4096; ignored for EC", value: number(&c.JWKSSize, 2048, 4096)},
		{Name: "JWKS_ROTATION_DAYS", Default: "30", Unit: "d", Meaning: "age at which a signing key is replaced", value: days(&c.JWKSRotation)},
		{Name: "ACCESS_TOKENS_MAX_AGE", Default: "2592000", Unit: "s", Meaning: "JWT lifetime; rotated keys kept as long", value: seconds(&c.AccessTokenMaxAge, time.Minute, 3650*day)},
		{Name: "SESSION_COOKIES_MAX_AGE", Default: "2592000", Unit: "s", Meaning: "maximum lifetime of a session; its cookie expires with the token in it", value: seconds(&c.SessionCookieMaxAge, time.Minute, 3650*day)},
		{Name: "SUPER_ADMIN_EMAILS", Default: "admin@localhost", Unit: "list", Meaning: "accounts of super admins (1.1)", flags: live, value: listOf(&c.SuperAdminEmails, "mail addresses", isMail)},
		{Name: "ADMIN_PASSWORD", Default: "generated (1.1)", Unit: "text", Meaning: "password of the accounts created at the first start", flags: secret, derive: noDefault, value: secretText(&c.AdminPassword)},
		{Name: "AUTH_PROVIDERS_CONFIG", Default: "-", Unit: "path or JSON", Meaning: "identity providers; `${VAR}` is replaced by the variable", flags: document, value: jsonDocument(&c.Providers)},
		{Name: "OIDC_EXTERNAL_CLIENTS", Default: "-", Unit: "JSON", Meaning: "public PKCE clients `{client_id, redirect_uris[]}`", value: externalClients(&c.ExternalClients)},
		{Name: "PASSWORD_VALIDATION_REGEXP", Default: ".{8,128}", Unit: "regexp", Meaning: "what a whole password must match", value: regexpOf(&c.PasswordPattern, true)},
		{Name: "ACCOUNT_VALIDATION_METHOD", Default: "`email` with SMTP_HOST, else `manual`", Unit: "auto, email, manual", Meaning: "how a new account becomes valid", derive: defaultValidation, value: oneOf(&c.AccountValidation, "auto", "email", "manual")},
		{Name: "DISABLE_LOCAL_SIGNIN", Default: "no", Unit: "bool", Meaning: "no sign-in with a password", value: boolean(&c.DisableSignin)},
		{Name: "DISABLE_LOCAL_SIGNUP", Default: "no", Unit: "bool", Meaning: "no new accounts with a password", value: boolean(&c.DisableSignup)},
		{Name: "MFA_FORCE_LOCAL", Default: "no", Unit: "bool", Meaning: "second factor for password accounts", value: boolean(&c.ForceMFA)},
	}
}

func externalClients(p *[]ExternalClient) value {
	return bind(p, "JSON", "a JSON array of {client_id, redirect_uris[]}", func(text string) ([]ExternalClient, error) {
		var clients []ExternalClient
		if decodeJSON(text, &clients) != nil {
			return nil, errBad
		}
		for i, client := range clients {
			same := func(c ExternalClient) bool { return c.ClientID == client.ClientID }
			if client.ClientID == "" || slices.ContainsFunc(clients[:i], same) ||
				len(client.RedirectURIs) == 0 || slices.ContainsFunc(client.RedirectURIs, notRedirect) {
				return nil, errBad
			}
		}
		return clients, nil
	})
}

// notRedirect reports whether text cannot be a redirect URI: those are absolute
// and have no fragment. Native clients use schemes of their own.
func notRedirect(text string) bool {
	u, err := url.Parse(text)
	return err != nil || !u.IsAbs() || u.Fragment != "" || u.User != nil
}

// Broker is the log: the embedded server or an external one.
type Broker struct {
	Embedded  bool
	URLs      []URL
	CredsFile Secret // path of the credentials file
	TLSCA     string // paths of client TLS files
	TLSCert   string
	TLSKey    string

	Listen         string // "" does not listen
	ClusterName    string
	ClusterListen  string // "" is a single node
	ClusterRoutes  []URL
	ClusterTLSCert string
	ClusterTLSKey  string
	ClusterTLSCA   string

	StreamReplicas     int
	MaxStore           int64  // bytes; 0 is 80 % of the disk
	Sync               string // group or always
	PublishTimeout     time.Duration
	EmitMaxLen         int // characters
	EmitExecutedMaxLen int // characters
}

// Single reports whether there is only this node: an embedded broker, no cluster.
func (b Broker) Single() bool {
	return b.Embedded && b.ClusterListen == "" && len(b.ClusterRoutes) == 0
}

func brokerTable(c *Broker) []Setting {
	return []Setting{
		{Name: "NATS_URL", Aliases: []string{"NATS_URLS"}, Default: "-", Unit: "URL list", Meaning: "external broker", flags: perNode, value: urls(&c.URLs, false, "nats", "tls", "ws", "wss")},
		{Name: "NATS_EMBEDDED", Default: "yes without NATS_URL", Unit: "bool", Meaning: "run the broker in the process", derive: defaultEmbedded, value: boolean(&c.Embedded)},
		{Name: "NATS_CREDS", Default: "-", Unit: "path", Meaning: "credentials file", flags: secret | perNode, value: secretText(&c.CredsFile)},
		{Name: "NATS_TLS_CA_FILE", Default: "-", Unit: "path", Meaning: "client TLS: authority", flags: perNode, value: path(&c.TLSCA)},
		{Name: "NATS_TLS_CERT_FILE", Default: "-", Unit: "path", Meaning: "client TLS: certificate", flags: perNode, value: path(&c.TLSCert)},
		{Name: "NATS_TLS_KEY_FILE", Default: "-", Unit: "path", Meaning: "client TLS: private key", flags: perNode, value: path(&c.TLSKey)},
		{Name: "NATS_LISTEN", Default: "-", Unit: "host:port", Meaning: "embedded: also listen on TCP; needs credentials", flags: perNode, value: hostPort(&c.Listen)},
		{Name: "NATS_CLUSTER_NAME", Default: "svc", Unit: "text", Meaning: "embedded cluster", value: matching(&c.ClusterName, `[A-Za-z0-9._-]{1,63}`, "up to 63 letters, digits, dots, dashes and underscores")},
		{Name: "NATS_CLUSTER_LISTEN", Default: "-", Unit: "host:port", Meaning: "set = clustered", flags: perNode, value: hostPort(&c.ClusterListen)},
		{Name: "NATS_CLUSTER_ROUTES", Default: "-", Unit: "URL list", Meaning: "the other nodes", flags: perNode, value: urls(&c.ClusterRoutes, false, "nats", "nats-route", "tls")},
		{Name: "NATS_CLUSTER_TLS_CERT_FILE", Default: "-", Unit: "path", Meaning: "certificate; required for routes that leave the host", flags: perNode, value: path(&c.ClusterTLSCert)},
		{Name: "NATS_CLUSTER_TLS_KEY_FILE", Default: "-", Unit: "path", Meaning: "private key; required for routes that leave the host", flags: perNode, value: path(&c.ClusterTLSKey)},
		{Name: "NATS_CLUSTER_TLS_CA_FILE", Default: "-", Unit: "path", Meaning: "authority; required for routes that leave the host", flags: perNode, value: path(&c.ClusterTLSCA)},
		{Name: "STREAM_REPLICAS", Default: "1 single, 3 else", Unit: "1, 3, 5", Meaning: "copies of each stream; not more than nodes", derive: defaultReplicas, value: choice(&c.StreamReplicas, 1, 3, 5)},
		{Name: "JETSTREAM_MAX_STORE", Default: "80 % of the disk", Unit: "size", Meaning: "embedded store cap", flags: perNode, derive: noDefault, value: size(&c.MaxStore, 1, 64*mb, 1024*1024*gb)},
		{Name: "EVENTSTORE_SYNC", Default: "group", Unit: "group, always", Meaning: "how an append becomes durable on the embedded broker: one fsync for all waiting appends, or one per message", value: oneOf(&c.Sync, "group", "always")},
		{Name: "PUBLISH_TIMEOUT_MS", Default: "2000", Unit: "ms", Meaning: "then 503, safe to repeat", value: millis(&c.PublishTimeout, 10*time.Millisecond, 10*time.Minute)},
		{Name: "BROKER_EMIT_MAXLEN", Default: "100000", Unit: "characters", Meaning: "event size", value: number(&c.EmitMaxLen, 1000, 8_000_000)},
		{Name: "BROKER_EMIT_EXECUTED_AUTOMATION_MAXLEN", Default: "10000", Unit: "characters", Meaning: "`runtime.automations.executed`", value: number(&c.EmitExecutedMaxLen, 100, 8_000_000)},
	}
}
