package settings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Each case is one setting that cannot be used, in a set that is good but for it.
func TestBadValues(t *testing.T) {
	for _, pair := range []string{
		"PORT=0", "PORT=3001x", "PORT=1.5", "DISABLE_RATE_LIMIT=maybe", "REQUEST_MAX_SIZE=1 mb", "REQUEST_MAX_SIZE=0",
		"REQUEST_MAX_SIZE=-1", "REQUEST_MAX_SIZE=1tb", "GATEWAY_REQUEST_TIMEOUT_SECONDS=0", "GATEWAY_REQUEST_TIMEOUT_SECONDS=-1",
		"GATEWAY_REQUEST_TIMEOUT_SECONDS=1w", "EVENTS_RETENTION_DAYS=-2", "EVENTS_RETENTION_DAYS=0", "JWKS_ROTATION_DAYS=-1",
		"JWKS_ALG=HS256", "JWKS_SIZE=1024", "ROLES=runtime,cooking", "ADDR=a b", "API_URL=localhost:3001/v2", "API_URL=/v2",
		"API_URL=https://x", "API_URL=https://x/v2?a=b", "CONSOLE_URL=/console/", "PAGES_HOST=pages.example.com",
		"CORS_ADDITIONAL_ALLOWED_ORIGINS=https://a/b", "CORS_ADDITIONAL_ALLOWED_ORIGINS=*", "TRUSTED_PROXIES=10.0.0.0/33",
		"UPLOADS_ALLOWED_MIMETYPES=image", "UPLOADS_DEFAULT_VISIBILITY=open", "SUPER_ADMIN_EMAILS=admin", "AUTH_PROVIDERS_CONFIG={",
		"AUTH_PROVIDERS_CONFIG=/no/such", "OIDC_EXTERNAL_CLIENTS={}", `OIDC_EXTERNAL_CLIENTS=[{"client_id":"a"}]`,
		`OIDC_EXTERNAL_CLIENTS=[{"client_id":"a","redirect_uris":["x"]}]`, `OIDC_EXTERNAL_CLIENTS=[{"client_id":"a","secret":"x","redirect_uris":["https://x/"]}]`,
		"PASSWORD_VALIDATION_REGEXP=(", "ACCOUNT_VALIDATION_METHOD=never", "NATS_URL=http://n", "NATS_LISTEN=4222", "PPROF_ADDR=6060", "PPROF_ADDR=:6060", "PPROF_ADDR=0.0.0.0:6060", "PPROF_ADDR=192.0.2.1:6060", "PPROF_ADDR=example.org:6060",
		"NATS_CLUSTER_NAME=a b", "STREAM_REPLICAS=2", "JETSTREAM_MAX_STORE=80%", "EVENTSTORE_SYNC=never",
		"EVENTS_CLEANUP_INDICES_SCHEDULE=@daily", "EVENTS_CLEANUP_INDICES_SCHEDULE=0 0 * *", "EVENTS_CLEANUP_INDICES_SCHEDULE=0 0 0 * * 0",
		"EVENTS_CLEANUP_INDICES_SCHEDULE=61 0 * * 0", "EVENTS_CLEANUP_EXECUTIONS_SCHEDULE=TZ=UTC 0 0 * *",
		"FETCH_RETRY_STATUS=429,abc", "FETCH_RETRY_STATUS=200", "FETCH_ALLOWED_HOSTS=a b", "RUN_RECORDING=some",
		"DEFAULT_LOCALE=english!", "DEFAULT_TIMEZONE=Mars/Olympus", "SCHEDULES_TIMEZONE=Local", "SCHEDULES_MIN_PERIOD=60",
		"SLUG_VALIDATION_REGEXP=[", "WORKSPACE_GROUPS={", "WORKSPACE_GROUPS=base", "WORKSPACE_GROUPS=base=a", "WORKSPACE_GROUPS=-x=core",
		"BULK_CONCURRENCY=0", "GIT_ALLOWED_SCHEMES=https,file", "GIT_COMMITTER_EMAIL=nobody", "GIT_COMMITTER_NAME=a<b",
		"EGRESS_ALLOW_HOSTS=10.0.0.0/99", "HTTP_PROXY=proxy:3128", "WEBHOOK_RETRY_SCHEDULE=5,10", "WEBHOOK_RETRY_SCHEDULE=0s",
		"CRAWLER_USER_AGENT=curl", "SMTP_PORT=70000", "EMAIL_FROM=nobody", "LOG_FORMAT=xml", "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318",
		"OTEL_EXPORTER_OTLP_HEADERS=novalue", "OTEL_TRACES_SAMPLER=sometimes", "OTEL_TRACES_SAMPLER_ARG=2", "OTEL_TRACES_SAMPLER_ARG=NaN",
		"NODE_NAME=a b", "NO_PROXY=a b", "OTEL_RESOURCE_ATTRIBUTES=a", "LLM_BASE_URL=api", "OTEL_SERVICE_NAME=a\nb",
	} {
		t.Run(pair, func(t *testing.T) {
			name := pairName(pair)
			require.Contains(t, faultsOf(t, source(t.TempDir(), pair)), name)
		})
	}
}

func pairName(pair string) string {
	for name := range environment([]string{pair}) {
		return name
	}
	return ""
}

func TestGoodValues(t *testing.T) {
	for _, pair := range []string{
		"RATE_LIMIT_REQUESTS=0", "READINESS_CACHE_TTL_MS=0", "LLM_BASE_URL=demo", "EVENTS_CLEANUP_AUTOMATION_EXECUTED_EXPIRATION=-1",
		"EVENTS_CLEANUP_AUTOMATION_EXECUTED_EXPIRATION=36h", "UPLOADS_ALLOWED_MIMETYPES=all", "NO_PROXY=localhost,.svc.local,10.0.0.0/8,*",
		"EGRESS_ALLOW_HOSTS=*.example.com,10.0.0.0/8,fd00::/8", "GIT_ALLOWED_SCHEMES=https,http", "PAGES_HOST=.localhost:3001",
		"ADDR=::1", "ADDR=127.0.0.1", "PPROF_ADDR=127.0.0.1:6060", "PPROF_ADDR=[::1]:0", "PPROF_ADDR=localhost:6060", "EVENTS_CLEANUP_INDICES_SCHEDULE=*/5 1-3 * JAN MON", "DEFAULT_TIMEZONE=Europe/Paris",
		"JETSTREAM_MAX_STORE=10gb", "API_URL=https://x/v2/", "OTEL_RESOURCE_ATTRIBUTES=a=b, c=d", "ROLES=all", "DOWNLOAD_DELAY=1.25",
		"AGENTS_CONVERSATION_DAYS=-1",
	} {
		t.Run(pair, func(t *testing.T) {
			loaded := mustLoad(t, pair)
			require.Equal(t, OriginEnv, entryOf(t, loaded, pairName(pair)).Source)
		})
	}
}

// Whatever is typed, a parser answers within its promise and never panics.
func FuzzParsers(f *testing.F) {
	for _, seed := range []string{"", "1", "-1", "0.5", "500kb", "10MB", "1gb", "5s", "1.5h", "14d", "99999999999999999999", "9223372036854775807d", ".5", "5.", "1e3", "kb", "a, b,,c", "٣s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := parseDuration(text, day); err == nil {
			require.GreaterOrEqual(t, int64(d), int64(0), "%q", text)
			again, err := parseDuration(showDuration(d), 0)
			require.NoError(t, err)
			require.Equal(t, d, again)
		}
		if n, err := parseSize(text, mb); err == nil {
			require.GreaterOrEqual(t, n, int64(0), "%q", text)
			again, err := parseSize(showSize(n), 1)
			require.NoError(t, err)
			require.Equal(t, n, again)
		}
		for _, item := range splitList(text) {
			require.NotEmpty(t, item)
			require.NotContains(t, item, ",")
		}
		_, _ = parseEnvFile(text)
		_, _ = parseGroups(text)
		_ = redactURLs(text)
	})
}

func TestParseDurationAndSize(t *testing.T) {
	for text, want := range map[string]int64{"1": 60, "90s": 90, "2m": 120, "1.5h": 5400, "1d": 86400, "0": 0} {
		d, err := parseDuration(text, 60e9)
		require.NoError(t, err, text)
		require.EqualValues(t, want, d.Seconds(), text)
	}
	for text, want := range map[string]int64{"1": 1, "1kb": 1024, "1.5MB": 3 << 19, "2gb": 2 << 30} {
		n, err := parseSize(text, 1)
		require.NoError(t, err, text)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{"", "s", "-1", "+1", "1.", ".1", "1e3", "1 s", "1_000", "106752d", "0x10"} {
		_, err := parseDuration(text, 1e9)
		require.Error(t, err, text)
	}
}

func TestEnvFile(t *testing.T) {
	got, err := parseEnvFile("\ufeff# comment\r\nA=1\r\n\n export B = two words # note\nC='$HOME #\nnext'\nD=\"a\\nb\\\\n\\\"\" # x\nE=\nF=a#b\nG={\"k\":\"${V}\"}\nH=last=one")
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"A": "1", "B": "two words", "C": "$HOME #\nnext", "D": "a\nb\\n\"", "E": "", "F": "a#b", "G": `{"k":"${V}"}`, "H": "last=one",
	}, got)

	for text, want := range map[string]string{
		"A=1\nnothing":      "line 2: expected NAME=value",
		"A='1\n2'\nB='open": "line 3: the quote is not closed",
		"A=1\nA=2":          "line 2: A is given twice",
		`A="x" y`:           "line 1: text after the closing quote",
		"a b=c":             "line 1: expected NAME=value",
	} {
		_, err := parseEnvFile(text)
		require.EqualError(t, err, want)
	}
}
