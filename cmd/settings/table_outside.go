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
		{Name: "EGRESS_ALLOW_HOSTS", Default: "-", Unit: "host or CIDR list", Meaning: "exceptions; deny wins. Cloud metadata addresses need an explicit allow", marks: live, value: listOf(&c.AllowHosts, "hosts or CIDR ranges", isHostOrPrefix)},
		{Name: "EGRESS_DENY_HOSTS", Default: "-", Unit: "host or CIDR list", Meaning: "exceptions; deny wins", marks: live, value: listOf(&c.DenyHosts, "hosts or CIDR ranges", isHostOrPrefix)},
		{Name: "EXTRA_CA_CERTS_FILE", Default: "-", Unit: "path", Meaning: "PEM, added to the system roots", marks: perNode, value: path(&c.ExtraCAFile)},
		{Name: "HTTP_PROXY", Default: "-", Unit: "URL", Meaning: "outgoing proxy for http", marks: perNode, value: urlOf(&c.HTTPProxy, web...)},
		{Name: "HTTPS_PROXY", Default: "-", Unit: "URL", Meaning: "outgoing proxy for https", marks: perNode, value: urlOf(&c.HTTPSProxy, web...)},
		{Name: "NO_PROXY", Default: "-", Unit: "list", Meaning: "targets that need no proxy", marks: perNode, value: listOf(&c.NoProxy, "hosts, addresses or CIDR ranges, or *", func(s string) bool { return s == "*" || isHostOrPrefix(s) })},
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
		{Name: "SMTP_PASS", Default: "-", Unit: "text", Meaning: "password of SMTP_USER", marks: secret, value: secretText(&c.Pass)},
		{Name: "EMAIL_FROM", Default: "-", Unit: "text", Meaning: "sender; required with SMTP_HOST", value: mailAddress(&c.From)},
	}
}

func obsTable(c *Obs) []Setting {
	return []Setting{
		{Name: "LOG_LEVEL", Default: "info", Unit: "level", Meaning: "debug, info, warn, error", marks: live | perNode, value: level(&c.LogLevel)},
		{Name: "LOG_FORMAT", Default: "auto", Unit: "auto, json, text", Meaning: "auto: text on a terminal, json elsewhere", marks: perNode, value: oneOf(&c.LogFormat, "auto", "json", "text")},
		{Name: "ENABLE_HEALTHCHECK_LOGS", Default: "no", Unit: "bool", Meaning: "log calls of probes", marks: live | perNode, value: boolean(&c.HealthcheckLogs)},
		{Name: "METRICS_PUBLIC", Default: "no", Unit: "bool", Meaning: "no = `/metrics` needs the internal key", value: boolean(&c.MetricsPublic)},
		{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Default: "-", Unit: "URL", Meaning: "unset = no export", marks: perNode, value: urlOf(&c.OTLPEndpoint, web...)},
		{Name: "OTEL_EXPORTER_OTLP_HEADERS", Default: "-", Unit: "list", Meaning: "`name=value` sent with each export", marks: secret | perNode, value: secretPairs(&c.OTLPHeaders)},
		{Name: "OTEL_SERVICE_NAME", Default: "svc", Unit: "text", Meaning: "name of the service in traces", marks: perNode, value: text(&c.ServiceName)},
		{Name: "OTEL_RESOURCE_ATTRIBUTES", Default: "-", Unit: "text", Meaning: "`name=value` list", marks: perNode, value: listOf(&c.ResourceAttributes, "name=value", isPair)},
		{Name: "OTEL_TRACES_SAMPLER", Default: "parentbased_traceidratio", Meaning: "which traces are kept", marks: perNode, value: oneOf(&c.TracesSampler, "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio")},
		{Name: "OTEL_TRACES_SAMPLER_ARG", Default: "0.1", Meaning: "share of traces that are kept", marks: perNode, value: fraction(&c.TracesSamplerArg)},
	}
}
