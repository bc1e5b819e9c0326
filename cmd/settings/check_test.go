package settings

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	goodKey   = "1f0e5c7b92d84a6638f1c0de57ab49e2706d3b15ca8f94e2b1d7605c3e98f24a"
	otherKey  = "a94c01e7d2fb583690be7714c8056fda3e91b2d87c45e60f1a8b37d95260fc4e"
	goodAPI   = "q7Zk2MvX9pLw4RtB8nYc6HsD1fGj5KaE"
	repo      = "WORKSPACES_STORAGE_GIT_PLATFORM_main_"
	private   = "-----BEGIN OPENSSH PRIVATE KEY-----\\nabc\\n-----END OPENSSH PRIVATE KEY-----"
	nothing   = ""
	noKey     = "no key is generated"
	leaveHost = "leave the host"
)

// keysGiven is what a cluster must be given.
func keysGiven() []string {
	return []string{`SECRETS_MASTER_KEYS=[{"kid":"k1","key":"` + goodKey + `","active":true}]`, "INTERNAL_API_KEY=" + goodAPI}
}

func clusterEnv(more ...string) []string {
	return append(append(keysGiven(), "NATS_CLUSTER_LISTEN=:6222", "NATS_CLUSTER_ROUTES=nats://127.0.0.1:6223,nats://localhost:6224"), more...)
}

func TestCrossChecks(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name    string
		environ []string
		fault   string // "" for none
		want    string
	}{
		{"lock as long as the operation", []string{"WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES=20"}, "WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES", "more than VERSIONING_OPERATION_TIMEOUT_MINUTES (20m)"},
		{"operation longer than the default lock", []string{"VERSIONING_OPERATION_TIMEOUT_MINUTES=1h"}, "WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES", "(1h)"},
		{"a bad lock timeout is one fault", []string{"WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES=x"}, "WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES", "a duration"},
		{"wait default above its maximum", []string{"WAIT_MAX_TIMEOUT=10"}, "WAIT_DEFAULT_TIMEOUT", "at most WAIT_MAX_TIMEOUT"},
		{"groups without repository", []string{"STARTUP_IMPORT_GROUPS=a"}, "STARTUP_IMPORT_REPOSITORY", "as STARTUP_IMPORT_GROUPS is given"},
		{"repository without groups", []string{repo + "URL=https://g/r", "STARTUP_IMPORT_REPOSITORY=main"}, "STARTUP_IMPORT_GROUPS", "as STARTUP_IMPORT_REPOSITORY is given"},
		{"unknown repository", []string{repo + "URL=https://g/r", "STARTUP_IMPORT_REPOSITORY=other", "STARTUP_IMPORT_GROUPS=a"}, "STARTUP_IMPORT_REPOSITORY", "main"},
		{"startup import", []string{repo + "URL=https://g/r", "STARTUP_IMPORT_REPOSITORY=main", "STARTUP_IMPORT_GROUPS=a"}, nothing, ""},
		{"EC algorithm with RSA keys", []string{"JWKS_ALG=ES256"}, "JWKS_KTY", "EC"},
		{"RSA algorithm with EC keys", []string{"JWKS_ALG=PS256", "JWKS_KTY=EC"}, "JWKS_KTY", "RSA"},
		{"EC throughout", []string{"JWKS_ALG=ES384", "JWKS_KTY=EC"}, nothing, ""},
		{"weak admin password", []string{"ADMIN_PASSWORD=short"}, "ADMIN_PASSWORD", "PASSWORD_VALIDATION_REGEXP"},
		{"admin password too long", []string{"ADMIN_PASSWORD=" + strings.Repeat("x", 129)}, "ADMIN_PASSWORD", "PASSWORD_VALIDATION_REGEXP"},
		{"certificate without key", []string{"TLS_CERT_FILE=/c"}, "TLS_KEY_FILE", "TLS_CERT_FILE"},
		{"key without certificate", []string{"TLS_KEY_FILE=/k"}, "TLS_CERT_FILE", "TLS_KEY_FILE"},
		{"client key alone", []string{"NATS_TLS_KEY_FILE=/k"}, "NATS_TLS_CERT_FILE", "NATS_TLS_KEY_FILE"},
		{"no broker at all", append(keysGiven(), "NATS_EMBEDDED=no"), "NATS_EMBEDDED", "NATS_URL"},
		{"two brokers", []string{"NATS_EMBEDDED=yes", "NATS_URL=nats://n"}, "NATS_URL", "NATS_EMBEDDED is on"},
		{"external broker that listens", append(keysGiven(), "NATS_URL=nats://n", "NATS_LISTEN=:4222"), "NATS_LISTEN", "external"},
		{"listening for subscribers", []string{"NATS_LISTEN=:4222"}, nothing, ""},
		{"replicas on a single node", []string{"STREAM_REPLICAS=3"}, "STREAM_REPLICAS", "number of nodes (1)"},
		{"five replicas on three nodes", clusterEnv("STREAM_REPLICAS=5"), "STREAM_REPLICAS", "number of nodes (3)"},
		{"three nodes", clusterEnv(), nothing, ""},
		{"cluster without routes", append(keysGiven(), "NATS_CLUSTER_LISTEN=:6222"), "NATS_CLUSTER_ROUTES", "NATS_CLUSTER_LISTEN"},
		{"routes that leave the host", append(keysGiven(), "NATS_CLUSTER_LISTEN=:6222", "NATS_CLUSTER_ROUTES=nats://a,nats://b"), "NATS_CLUSTER_TLS_CA_FILE", leaveHost},
		{"cluster without master keys", clusterEnv()[1:], "SECRETS_MASTER_KEYS", noKey},
		{"external broker without internal key", append(keysGiven()[:1], "NATS_URL=nats://n"), "INTERNAL_API_KEY", noKey},
		{"mail without sender", []string{"SMTP_HOST=mail"}, "EMAIL_FROM", "SMTP_HOST"},
		{"validation by mail without mail", []string{"ACCOUNT_VALIDATION_METHOD=email"}, "ACCOUNT_VALIDATION_METHOD", "SMTP_HOST"},
		{"mail user without password", []string{"SMTP_USER=u"}, "SMTP_PASS", "SMTP_USER"},
		{"two ways to name models", []string{"MODELS_CONFIG={}", "LLM_BASE_URL=https://m/v1"}, "LLM_BASE_URL", "MODELS_CONFIG"},
		{"model without an address", []string{"LLM_MODEL=m"}, "LLM_BASE_URL", "other LLM_ settings"},
		{"repository without URL", []string{repo + "NAME=x"}, repo + "URL", "type is git"},
		{"repository of a forbidden kind", []string{repo + "URL=file:///x"}, repo + "URL", "https://"},
		{"repository of unknown type", []string{repo + "TYPE=svn"}, repo + "TYPE", "git, filesystem"},
		{"unknown field", []string{repo + "URL=https://g/r", repo + "AUTH_PASWORD=x"}, repo + "AUTH_PASWORD", "a known field"},
		{"unknown field as a file", []string{repo + "URL=https://g/r", repo + "FOO_FILE=x"}, repo + "FOO_FILE", "a known field"},
		{"id with strange characters", []string{"WORKSPACES_STORAGE_GIT_PLATFORM_a.b_URL=https://g/r"}, "WORKSPACES_STORAGE_GIT_PLATFORM_a.b_URL", "a known field"},
		{"password with an SSH address", []string{repo + "URL=git@g:r", repo + "AUTH_PASSWORD=x"}, repo + "AUTH_PASSWORD", "http(s)"},
		{"key with an http address", []string{repo + "URL=https://g/r", repo + "AUTH_SSHKEY=" + private}, repo + "AUTH_SSHKEY", "SSH"},
		{"key that is none", []string{repo + "URL=git@g:r", repo + "AUTH_SSHKEY=abc"}, repo + "AUTH_SSHKEY", "private key"},
		{"passphrase without key", []string{repo + "URL=git@g:r", repo + "AUTH_PASSPHRASE=abc"}, repo + "AUTH_PASSPHRASE", "AUTH_SSHKEY"},
		{"key with an SSH address", []string{repo + "URL=ssh://git@g/r", repo + "AUTH_SSHKEY=" + private, repo + "AUTH_PASSPHRASE=p"}, nothing, ""},
		{"branch of our own", []string{repo + "URL=https://g/r", repo + "BRANCH=svc/x"}, repo + "BRANCH", "svc/"},
		{"directory that climbs", []string{repo + "URL=https://g/r", repo + "DIRPATH=a/../b"}, repo + "DIRPATH", "relative"},
		{"absolute directory in git", []string{repo + "URL=https://g/r", repo + "DIRPATH=/a"}, repo + "DIRPATH", "relative"},
		{"filesystem without directory", []string{repo + "TYPE=filesystem"}, repo + "DIRPATH", "absolute"},
		{"filesystem with relative directory", []string{repo + "TYPE=filesystem", repo + "DIRPATH=a"}, repo + "DIRPATH", "absolute"},
		{"filesystem with missing directory", []string{repo + "TYPE=filesystem", repo + "DIRPATH=" + dir + "/no"}, repo + "DIRPATH", "existing"},
		{"filesystem", []string{repo + "TYPE=filesystem", repo + "DIRPATH=" + dir}, nothing, ""},
		{"group label too short", []string{"WORKSPACES_GROUP_base_LABELS=a"}, "WORKSPACES_GROUP_base_LABELS", "labels"},
		{"document with an unknown variable", []string{`AUTH_PROVIDERS_CONFIG={"a":"${NOT_THERE}"}`}, "AUTH_PROVIDERS_CONFIG", "NOT_THERE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			faults := faultsOf(t, source(dir, tt.environ...))
			if tt.fault == nothing {
				require.Empty(t, faults)
				return
			}
			require.Contains(t, faults[tt.fault], tt.want, "%v", faults)
		})
	}
}
