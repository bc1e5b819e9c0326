package settings

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// source is a Source whose files all lie in dir; .env is looked for there too.
func source(dir string, environ ...string) Source {
	inDir := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(dir, name)
	}
	return Source{
		Environ: environ, Hostname: "node-a",
		ReadFile: func(name string) ([]byte, error) { return os.ReadFile(inDir(name)) },
		Stat:     func(name string) (fs.FileInfo, error) { return os.Stat(inDir(name)) },
	}
}

func mustLoad(t *testing.T, environ ...string) *Loaded {
	t.Helper()
	loaded, err := Load(source(t.TempDir(), environ...))
	require.NoError(t, err)
	return loaded
}

// faultsOf loads environ and returns the faults as name to expectation.
func faultsOf(t *testing.T, src Source) map[string]string {
	t.Helper()
	_, err := Load(src)
	faults, _ := errors.AsType[Faults](err)
	byName := map[string]string{}
	for _, f := range faults {
		require.NotContains(t, byName, f.Name, "one fault per name")
		byName[f.Name] = f.Expected
	}
	return byName
}

func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func entryOf(t *testing.T, l *Loaded, name string) Entry {
	t.Helper()
	for _, e := range l.Entries() {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no entry %s", name)
	return Entry{}
}

func TestDefaultsAreTheContracts(t *testing.T) {
	c := mustLoad(t).Config
	require.Equal(t, "./data", c.Core.DataDir)
	require.Equal(t, "node-a", c.Core.NodeName)
	require.Equal(t, int64(512<<20), c.Core.DiskMinFree)
	require.Equal(t, []string{"runtime", "webhooks", "bulk", "cleanup", "crawler", "knowledge"}, c.Core.Roles)
	require.Equal(t, 3001, c.HTTP.Port)
	require.Equal(t, "http://localhost:3001/v2", c.HTTP.APIURL)
	require.Equal(t, "http://localhost:3001", c.HTTP.Issuer())
	require.Equal(t, []string{"http://localhost:3001/console/"}, c.HTTP.ConsoleURLs)
	require.Equal(t, "manual", c.Auth.AccountValidation)
	require.Equal(t, 720*time.Hour, c.Auth.AccessTokenMaxAge)
	require.True(t, c.Broker.Embedded)
	require.True(t, c.Broker.Single())
	require.Equal(t, 1, c.Broker.StreamReplicas)
	require.Zero(t, c.Broker.MaxStore)
	require.Equal(t, 1080*day, c.Events.Retention)
	require.Equal(t, []int{429, 502, 503}, c.Runtime.FetchRetryStatus)
	require.Equal(t, time.UTC, c.Runtime.Timezone)
	require.Empty(t, c.Workspaces.UploadsAllowed)
	require.Equal(t, "noreply@localhost", c.Git.CommitterEmail)
	require.Equal(t, 500*time.Millisecond, c.Crawler.DownloadDelay)
	require.Equal(t, []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}, c.Hooks.RetrySchedule)
	require.Equal(t, slog.LevelInfo, c.Obs.LogLevel)
	require.Equal(t, "svc-crawler/1 (+http://localhost:3001)", c.Crawler.UserAgent)
}

func TestGivenValuesAreTyped(t *testing.T) {
	c := mustLoad(t,
		"PORT=8080", "REQUEST_MAX_SIZE=500kb", "GATEWAY_REQUEST_TIMEOUT_SECONDS=2m", "DISK_MIN_FREE_MB=100",
		"TRUSTED_PROXIES=10.0.0.1/8, ::1", "EVENTS_RETENTION_DAYS=-1", "EVENTS_CLEANUP_WORKSPACE_MAX_EVENTS=-1",
		"DISABLE_LOCAL_SIGNUP=TRUE", "LOG_LEVEL=warn", "CONSOLE_URL=https://a.example.com/console,https://b.example.com/",
		"UPLOADS_FORBIDDEN_MIMETYPES=image/*", "ROLES=bulk", "SUPER_ADMIN_EMAILS= a@x.org , b@x.org,",
		`OIDC_EXTERNAL_CLIENTS=[{"client_id":"cli","redirect_uris":["http://localhost:1/cb"]}]`,
	).Config
	require.Equal(t, "http://localhost:8080/v2", c.HTTP.APIURL)
	require.Equal(t, int64(500<<10), c.HTTP.RequestMaxSize)
	require.Equal(t, 2*time.Minute, c.HTTP.RequestTimeout)
	require.Equal(t, int64(100<<20), c.Core.DiskMinFree)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}, c.HTTP.TrustedProxies)
	require.EqualValues(t, Off, c.Events.Retention)
	require.Equal(t, Off, c.Events.CleanupMaxEvents)
	require.True(t, c.Auth.DisableSignup)
	require.Equal(t, slog.LevelWarn, c.Obs.LogLevel)
	require.Equal(t, []string{"https://a.example.com/console/", "https://b.example.com/"}, c.HTTP.ConsoleURLs)
	require.Equal(t, []string{"image/*"}, c.Workspaces.UploadsForbidden)
	require.Equal(t, []string{"bulk"}, c.Core.Roles)
	require.Equal(t, []string{"a@x.org", "b@x.org"}, c.Auth.SuperAdminEmails)
	require.Equal(t, []ExternalClient{{"cli", []string{"http://localhost:1/cb"}}}, c.Auth.ExternalClients)
}

func TestDerivedDefaults(t *testing.T) {
	t.Run("the API's host names the committer, the console and the crawler", func(t *testing.T) {
		c := mustLoad(t, "API_URL=https://api.example.com/base/v2/").Config
		require.Equal(t, "https://api.example.com/base/v2", c.HTTP.APIURL)
		require.Equal(t, "https://api.example.com/base", c.HTTP.Issuer())
		require.Equal(t, "noreply@api.example.com", c.Git.CommitterEmail)
		require.Equal(t, []string{"https://api.example.com/console/"}, c.HTTP.ConsoleURLs)
	})
	t.Run("a listener with TLS is addressed with https", func(t *testing.T) {
		c := mustLoad(t, "TLS_CERT_FILE=/c", "TLS_KEY_FILE=/k").Config
		require.Equal(t, "https://localhost:3001/v2", c.HTTP.InternalAPIURL)
	})
	t.Run("mail validates accounts when there is mail", func(t *testing.T) {
		c := mustLoad(t, "SMTP_HOST=mail", "EMAIL_FROM=Svc <a@b.org>").Config
		require.Equal(t, "email", c.Auth.AccountValidation)
	})
	t.Run("an external broker has three replicas", func(t *testing.T) {
		c := mustLoad(t, append(keysGiven(), "NATS_URLS=nats://u:p@n1:4222,nats://n2")...).Config
		require.False(t, c.Broker.Embedded)
		require.Equal(t, 3, c.Broker.StreamReplicas)
		require.Equal(t, "nats://u:p@n1:4222", c.Broker.URLs[0].Reveal())
	})
	t.Run("without a host name there is still a node name", func(t *testing.T) {
		loaded, err := Load(Source{ReadFile: source(t.TempDir()).ReadFile})
		require.NoError(t, err)
		require.Equal(t, "localhost", loaded.Config.Core.NodeName)
	})
}

func TestSourceOrder(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "level", "error\n")
	writeFile(t, dir, ".env", "LOG_LEVEL=debug\nPORT=1001\nLOG_FORMAT=json\nJWKS_SIZE=\n")

	tests := []struct {
		name    string
		environ []string
		want    Entry
	}{
		{"environment first", []string{"LOG_LEVEL=warn"}, Entry{Name: "LOG_LEVEL", Value: "warn", Source: OriginEnv}},
		{"then the file", []string{"LOG_LEVEL_FILE=" + file}, Entry{Name: "LOG_LEVEL", Value: "error", Source: OriginFile}},
		{"then the config file", nil, Entry{Name: "LOG_LEVEL", Value: "debug", Source: OriginConfigFile}},
		{"empty is unset", []string{"LOG_LEVEL="}, Entry{Name: "LOG_LEVEL", Value: "debug", Source: OriginConfigFile}},
		{"empty is a value of ADDR", []string{"ADDR="}, Entry{Name: "ADDR", Value: "", Source: OriginEnv}},
		{"ADDR is loopback", nil, Entry{Name: "ADDR", Value: "127.0.0.1", Source: OriginDefault}},
		{"then the default", nil, Entry{Name: "JWKS_SIZE", Value: "2048", Source: OriginDefault}},
		{"the found file is shown", nil, Entry{Name: "CONFIG_FILE", Value: ".env", Source: OriginDefault}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loaded, err := Load(source(dir, tt.environ...))
			require.NoError(t, err)
			got := entryOf(t, loaded, tt.want.Name)
			require.Equal(t, tt.want, Entry{Name: got.Name, Value: got.Value, Source: got.Source})
		})
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	crlf := writeFile(t, dir, "crlf", "secret \r\n")
	two := writeFile(t, dir, "two", "a\n\n")
	cert := writeFile(t, dir, "cert", "/real/cert.pem\n")
	conf := writeFile(t, dir, "svc.conf", "SMTP_PASS_FILE="+crlf+"\nSMTP_USER=u\n")

	t.Run("one trailing line break is cut, blanks stay", func(t *testing.T) {
		c := mustLoad(t, "SMTP_PASS_FILE="+crlf, "SMTP_USER=u").Config
		require.Equal(t, "secret ", c.Mail.Pass.Reveal())
		c = mustLoad(t, "ADDITIONAL_GLOBAL_VARS_x_FILE="+two).Config
		require.Equal(t, map[string]string{"x": "a\n"}, c.Runtime.GlobalVars)
	})
	t.Run("a setting whose own name ends in _FILE is a path", func(t *testing.T) {
		c := mustLoad(t, "TLS_CERT_FILE="+cert, "TLS_KEY_FILE=/k", "GIT_KNOWN_HOSTS_FILE=/none", "NATS_TLS_CA_FILE=/none", "EXTRA_CA_CERTS_FILE=/none").Config
		require.Equal(t, cert, c.HTTP.TLSCertFile)
		require.Equal(t, "/none", c.Git.KnownHostsFile)
	})
	t.Run("and its file is _FILE_FILE", func(t *testing.T) {
		c := mustLoad(t, "TLS_CERT_FILE_FILE="+cert, "TLS_KEY_FILE=/k").Config
		require.Equal(t, "/real/cert.pem", c.HTTP.TLSCertFile)
	})
	t.Run("the environment makes a file of the config file moot", func(t *testing.T) {
		moot := t.TempDir()
		writeFile(t, moot, ".env", "ADMIN_PASSWORD_FILE=/no/such\n")
		loaded, err := Load(source(moot, "ADMIN_PASSWORD=password1"))
		require.NoError(t, err)
		require.Equal(t, "password1", loaded.Config.Auth.AdminPassword.Reveal())
	})
	t.Run("CONFIG_FILE replaces .env and may name files", func(t *testing.T) {
		writeFile(t, dir, ".env", "PORT=1")
		loaded, err := Load(source(dir, "CONFIG_FILE=svc.conf"))
		require.NoError(t, err)
		require.Equal(t, 3001, loaded.Config.HTTP.Port)
		require.Equal(t, "secret ", loaded.Config.Mail.Pass.Reveal())
		require.Equal(t, conf, filepath.Join(dir, loaded.Config.Core.ConfigFile))
		require.Equal(t, OriginFile, entryOf(t, loaded, "SMTP_PASS").Source)
	})
}

func TestSourceFaults(t *testing.T) {
	dir := t.TempDir()
	file := writeFile(t, dir, "f", "x")
	tests := []struct {
		name    string
		environ []string
		fault   string
		want    string
	}{
		{"name and file", []string{"ADMIN_PASSWORD=password1", "ADMIN_PASSWORD_FILE=" + file}, "ADMIN_PASSWORD", "one of ADMIN_PASSWORD and ADMIN_PASSWORD_FILE, not both"},
		{"name and alias", []string{"NATS_URL=nats://a", "NATS_URLS=nats://a"}, "NATS_URL", "one of NATS_URL and NATS_URLS, not both"},
		{"missing file", []string{"ADMIN_PASSWORD_FILE=/no/such"}, "ADMIN_PASSWORD_FILE", "no such file"},
		{"missing config file", []string{"CONFIG_FILE=/no/such"}, "CONFIG_FILE", "no such file"},
		{"config file is a directory", []string{"CONFIG_FILE=" + dir}, "CONFIG_FILE", "directory"},
		{"config file without names", []string{"CONFIG_FILE=" + file}, "CONFIG_FILE", "line 1: expected NAME=value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Contains(t, faultsOf(t, source(dir, tt.environ...))[tt.fault], tt.want)
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := Load(source(t.TempDir(), "PORT=99999", "LOG_LEVEL=loud", "SECRETS_MASTER_KEYS=hunter2-hunter2", "NATS_URL=nats://me:hunter2@:bad", "TLS_CERT_FILE=/c", "INTERNAL_API_KEY=hunter2", repo+"AUTH_PASWORD=hunter2"))
	faults, ok := errors.AsType[Faults](err)
	require.True(t, ok)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, len(faults))
	require.Len(t, lines, 7)
	require.Contains(t, lines, `PORT: got "99999"; expected a whole number from 1 to 65535`)
	require.Contains(t, lines, `LOG_LEVEL: got "loud"; expected one of debug, info, warn, error`)
	require.Contains(t, lines, `TLS_KEY_FILE: not set; expected a value, as TLS_CERT_FILE is given`)
	require.NotContains(t, err.Error(), "hunter2")
	var one Fault
	require.ErrorAs(t, err, &one)
}

func TestEmptyEnvironmentNeedsNoFile(t *testing.T) {
	loaded, err := Load(source(t.TempDir()))
	require.NoError(t, err)
	require.Empty(t, loaded.Warnings)
	require.Empty(t, loaded.Changed())
}

func TestOSIsTheProcess(t *testing.T) {
	t.Setenv("LOG_FORMAT", "json")
	require.Contains(t, OS().Environ, "LOG_FORMAT=json")
}
