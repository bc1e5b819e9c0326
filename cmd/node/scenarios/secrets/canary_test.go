package secrets_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

// Secrets that somebody typed, or was shown once, are nowhere afterwards: not in
// an event, a log line, an answer, a setting, a metric, nor in any file.
func TestNoSecretIsKeptOrShown(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t)
	s.Start(t)
	var shown strings.Builder // all answers that may not show a secret
	ask := func(method, path string, h http.Header, body string) nodetest.Answer {
		t.Helper()
		got := s.Call(t, method, path, h, body)
		shown.Write(got.Body)
		return got
	}
	secrets := []string{nodetest.AdminPassword, nodetest.InternalKey}
	plant := func(format string, secret string) string {
		secrets = append(secrets, secret)
		return fmt.Sprintf(format, secret)
	}

	ask("POST", "/v2/signup", nil, plant(`{"email":"ada@example.org","password":%q,"firstName":"Ada","lastName":"L"}`, "canary-password-1"))
	ask("POST", "/v2/login", nil, plant(`{"email":"ada@example.org","password":%q}`, "canary-wrong-password"))
	ask("POST", "/v2/login", nil, plant(`{"email":%q,"password":"x"}`, "canary-password-as-address"))
	ada := s.Login(t, "ada@example.org", "canary-password-1")
	token := ada["token"].(string)
	secrets = append(secrets, token)
	me := nodetest.Bearer(token)

	made := s.Must(t, "POST", "/v2/user/accessTokens", me, `{"name":"ci","expiresAt":"2099-01-01T00:00:00Z"}`)
	secrets = append(secrets, made["token"].(string), strings.TrimPrefix(made["token"].(string), "at:"))
	ask("GET", "/v2/user/accessTokens", me, "")
	ask("GET", "/v2/me", nodetest.Bearer(made["token"].(string)), "")

	id := s.Must(t, "POST", "/v2/workspaces", me, `{"name":"Shop"}`)["id"].(string)
	key := s.Must(t, "POST", "/v2/workspaces/"+id+"/security/apikeys", me, `{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`)
	secrets = append(secrets, key["apiKey"].(string))
	ask("GET", "/v2/workspaces/"+id+"/security/apikeys", me, "")
	ask("GET", "/v2/workspaces/"+id, http.Header{"X-Svc-Api-Key": {key["apiKey"].(string)}}, "")

	setup := s.Must(t, "POST", "/v2/user/mfa", me, `{"method":"totp","currentPassword":"canary-password-1"}`)
	secrets = append(secrets, setup["secret"].(string))
	code, err := totp.GenerateCode(setup["secret"].(string), time.Now())
	require.NoError(t, err)
	ask("POST", "/v2/user/mfa", me, `{"totp":"`+code+`"}`)
	ask("POST", "/v2/user/password", me, plant(`{"currentPassword":"canary-password-1","password":%q}`, "canary-password-2"))
	ask("POST", "/v2/user/password", nil, `{"email":"ada@example.org"}`)
	ask("DELETE", "/v2/user/accessTokens/"+made["token"].(string), me, "")
	ask("DELETE", "/v2/workspaces/"+id+"/security/apikeys/"+key["apiKey"].(string), me, "")
	ask("GET", "/v2/me", nodetest.Bearer("canary."+token), "")
	ask("POST", "/sys/jwks/rotate", nodetest.AsInternal, "")
	ask("GET", "/sys/jwks", nodetest.AsInternal, "")
	ask("GET", "/sys/config", nodetest.AsInternal, "")
	ask("GET", "/metrics", nodetest.AsInternal, "")
	private, err := s.Node.Keys().SigningKey(t.Context())
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(private.Signer)
	require.NoError(t, err)
	secrets = append(secrets, string(der), base64.StdEncoding.EncodeToString(der), base64.RawURLEncoding.EncodeToString(der), hex.EncodeToString(der))
	s.Stop(t)

	var events strings.Builder
	for _, log := range domain.Logs() {
		for _, ev := range nodetest.StoredEvents(t, s.Dir, log) {
			body, err := json.Marshal(ev)
			require.NoError(t, err)
			events.WriteString(ev.Data.EventType())
			events.Write(body)
		}
	}
	require.Contains(t, events.String(), "gateway.login.failed")
	for where, text := range map[string]string{"an answer": shown.String(), "the log": s.Log.String(), "an event": events.String()} {
		nodetest.RequireNoSecretIn(t, where, text, secrets...)
	}
	nodetest.RequireNoSecret(t, s.Dir, secrets...)
}
