package node_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"svc/projections/livetest"
)

// adminPassword is the password of admin@localhost in these tests.
const adminPassword = "correct horse battery staple"

// identified prepares a service that knows people by itself.
func identified(t *testing.T, env ...string) *service {
	t.Helper()
	s := newService(t, append([]string{"ADMIN_PASSWORD=" + adminPassword, "ACCOUNT_VALIDATION_METHOD=auto", "DISABLE_RATE_LIMIT=yes"}, env...)...)
	s.known = nil
	return s
}

// couple starts two nodes over one broker.
func couple(t *testing.T, env ...string) (one, other *service) {
	t.Helper()
	address := strings.Replace(external(t).ClientURL(), "nats://", "nats://svc:hunter2@", 1)
	port := livetest.Ports(1)[0] // the platform has one public address
	shared := append([]string{
		"NATS_URL=" + address, "STREAM_REPLICAS=1", "SECRETS_MASTER_KEYS=" + masterKeys, fmt.Sprintf("API_URL=http://127.0.0.1:%d/v2", port),
	}, env...)
	one = identified(t, append(shared, "NODE_NAME=one")...).start(t)
	other = identified(t, append(shared, "NODE_NAME=other")...).start(t)
	return one, other
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// login signs in and returns the answer's fields.
func (s *service) login(t *testing.T, email, password string) map[string]any {
	t.Helper()
	got := s.call(t, "POST", "/v2/login", nil, fmt.Sprintf(`{"email":%q,"password":%q}`, email, password))
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
	return got.json(t)
}

// admin signs the super admin in and returns the token.
func (s *service) admin(t *testing.T) string {
	t.Helper()
	return s.login(t, "admin@localhost", adminPassword)["token"].(string)
}

// must sends a request that succeeds.
func (s *service) must(t *testing.T, method, path string, h http.Header, body string) map[string]any {
	t.Helper()
	got := s.call(t, method, path, h, body)
	require.Less(t, got.StatusCode, 300, "%s %s: %s", method, path, got.body)
	return got.json(t)
}

// What is revoked on one node is refused by the next request on the other.
func TestWhatIsRevokedIsRefusedOnEveryNode(t *testing.T) {
	one, other := couple(t)
	admin := bearer(one.admin(t))
	one.must(t, "POST", "/v2/signup", nil, `{"email":"ada@example.org","password":"long enough","firstName":"Ada","lastName":"L"}`)
	id := one.must(t, "POST", "/v2/workspaces", admin, `{"name":"Shop"}`)["id"].(string)

	refused := func(path string, h http.Header, code string) {
		t.Helper()
		got := other.get(t, path, h)
		require.Equal(t, code, got.code(t), "on the other node, at once")
	}
	known := func(path string, h http.Header) {
		t.Helper()
		require.Equal(t, http.StatusOK, other.get(t, path, h).StatusCode, "on the other node, at once")
	}

	for range 5 {
		ada := one.login(t, "ada@example.org", "long enough")
		session := bearer(ada["token"].(string))
		known("/v2/me", session)
		one.must(t, "DELETE", "/v2/user/sessions/"+ada["sessionId"].(string), session, "")
		refused("/v2/me", session, "invalid_token")
	}

	session := bearer(one.login(t, "ada@example.org", "long enough")["token"].(string))
	made := one.must(t, "POST", "/v2/user/accessTokens", session, `{"name":"ci","expiresAt":"2099-01-01T00:00:00Z"}`)
	token := bearer(made["token"].(string))
	known("/v2/me", token)
	one.must(t, "DELETE", "/v2/user/accessTokens/"+made["id"].(string), session, "")
	refused("/v2/me", token, "invalid_token")

	key := one.must(t, "POST", "/v2/workspaces/"+id+"/security/apikeys", admin, `{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`)
	sent := http.Header{"X-Svc-Api-Key": {key["apiKey"].(string)}}
	known("/v2/workspaces/"+id, sent)
	gone, err := one.request(t.Context(), "DELETE", "/v2/workspaces/"+id+"/security/APIKeys/"+key["id"].(string), admin, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, gone.StatusCode, "the word is matched ignoring case: %s", gone.body)
	refused("/v2/workspaces/"+id, sent, "invalid_credentials")

	one.must(t, "POST", "/v2/workspaces/"+id+"/permissions", admin, `{"target":{"email":"ada@example.org"},"permissions":{"role":"editor"}}`)
	known("/v2/workspaces/"+id, session)
	ada := other.get(t, "/v2/me", session).json(t)["id"].(string)
	one.must(t, "DELETE", "/v2/workspaces/"+id+"/permissions/"+ada, admin, "")
	refused("/v2/workspaces/"+id, session, "workspace_access_denied")

	one.must(t, "PATCH", "/v2/users/"+ada, admin, `{"status":"deactivated"}`)
	refused("/v2/me", session, "invalid_token")

	kid := signingKey(t, one)
	known("/v2/me", admin)
	revoked := time.Now()
	one.must(t, "DELETE", "/sys/jwks/"+kid, asInternal, "")
	refused("/v2/me", admin, "invalid_token")
	require.Less(t, time.Since(revoked), time.Second)
	known("/v2/me", bearer(other.admin(t)))
}

func signingKey(t *testing.T, s *service) string {
	t.Helper()
	got := s.get(t, "/sys/jwks", asInternal)
	for entry := range strings.SplitSeq(string(got.body), "},") {
		if strings.Contains(entry, `"state":"signing"`) {
			_, rest, _ := strings.Cut(entry, `"kid":"`)
			kid, _, _ := strings.Cut(rest, `"`)
			return kid
		}
	}
	t.Fatalf("no key signs: %s", got.body)
	return ""
}

// Keys rotate every second while two nodes serve 200 requests a second: nobody
// is refused. FAULT_PROFILE=full does it for a minute.
func TestNobodyIsRefusedWhileKeysRotate(t *testing.T) {
	rotations := 4
	if os.Getenv("FAULT_PROFILE") == "full" {
		rotations = 60
	}
	one, other := couple(t, "MAX_CONCURRENT_REQUESTS=1000")
	nodes := []*service{one, other}
	old := one.admin(t)
	ctx, stop := context.WithCancel(t.Context())
	var sent, refused atomic.Int64
	var asking sync.WaitGroup
	token := func(s *service) (string, error) {
		got, err := s.request(ctx, "POST", "/v2/login/anonymous", nil, "")
		if err != nil || got.StatusCode != http.StatusOK {
			return "", fmt.Errorf("%w: %s", err, got.body)
		}
		_, rest, _ := strings.Cut(string(got.body), `"token":"`)
		text, _, _ := strings.Cut(rest, `"`)
		return text, nil
	}
	for i := range 10 { // each sends 20 requests a second: one in ten signs in anew and is seen elsewhere
		asking.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			mine := old
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				at, elsewhere := nodes[(i+n)%2], nodes[(i+n+1)%2]
				if n%10 == 0 {
					fresh, err := token(at)
					if err != nil && ctx.Err() == nil {
						t.Errorf("sign in: %v", err)
					}
					mine = fresh
				}
				got, err := elsewhere.request(ctx, "GET", "/v2/me", bearer(mine), "")
				if ctx.Err() != nil {
					return
				}
				if sent.Add(1); err != nil || got.StatusCode != http.StatusOK {
					refused.Add(1)
					t.Errorf("%v: %s", err, got.body)
				}
			}
		})
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range rotations {
		<-tick.C
		require.Len(t, one.must(t, "POST", "/sys/jwks/rotate", asInternal, "")["created"], 1)
	}
	stop()
	asking.Wait()
	t.Logf("%d rotations, %d requests, %d refused", rotations, sent.Load(), refused.Load())
	require.Zero(t, refused.Load())
	require.Greater(t, sent.Load(), int64(rotations*100))
	require.Equal(t, http.StatusOK, other.get(t, "/v2/me", bearer(old)).StatusCode, "a rotated key still verifies")
}

// The first start makes the super admins and tells their passwords once, to the
// operator and not to the log.
func TestTheFirstStartMakesTheSuperAdmins(t *testing.T) {
	s := identified(t, "SUPER_ADMIN_EMAILS=Root@Example.org,second@example.org", "MFA_FORCE_LOCAL=no")
	s.start(t)
	require.Equal(t, "superAdmin", s.get(t, "/v2/me", bearer(s.login(t, "root@example.org", adminPassword)["token"].(string))).json(t)["role"])
	require.Equal(t, "superAdmin", s.get(t, "/v2/me", bearer(s.login(t, "SECOND@example.org", adminPassword)["token"].(string))).json(t)["role"])
	require.NotContains(t, s.log.String(), adminPassword)
	s.stop(t)
	requireNoSecret(t, s.dir, adminPassword)

	s.env = append(s.env, "SUPER_ADMIN_EMAILS=third@example.org", "ADMIN_PASSWORD=another password")
	s.start(t)
	got := s.call(t, "POST", "/v2/login", nil, `{"email":"third@example.org","password":"another password"}`)
	require.Equal(t, "invalid_credentials", got.code(t), "an address that is added later must be proven")
	require.NotContains(t, s.get(t, "/v2/me", bearer(s.login(t, "root@example.org", adminPassword)["token"].(string))).json(t), "role", "and one that left the list is nobody special")
}

func TestReadinessKnowsTheKeys(t *testing.T) {
	s := identified(t, "READINESS_CACHE_TTL_MS=0")
	s.start(t)
	token := s.admin(t)
	report := s.get(t, "/v2/readiness", bearer(token))
	require.Equal(t, http.StatusOK, report.StatusCode, "%s", report.body)
	for _, module := range []string{`"module":"jwks","driver":"http"`, `"module":"permissions","driver":"badger"`, `"module":"keys","driver":"file"`} {
		require.Contains(t, string(report.body), module)
	}
	require.Equal(t, "permission_denied", s.get(t, "/v2/readiness", bearer(s.must(t, "POST", "/v2/login/anonymous", nil, "")["token"].(string))).code(t))
}

// The operator adds a master key, makes it the active one and restarts; when
// everything is sealed anew the old one can go.
func TestAMasterKeyIsReplaced(t *testing.T) {
	const oldKey = `{"kid":"k1","key":"` + masterKey + `"%s}`
	const newKey = `{"kid":"k2","key":"7d1b0f4a9c3e86d25f70ab94c1e83d6620f5b7493ae8d1c05b62f9470e8ca3d4","active":true}`
	s := identified(t, "SECRETS_MASTER_KEYS=["+fmt.Sprintf(oldKey, `,"active":true`)+"]")
	s.start(t)
	me := bearer(s.admin(t))
	setup := s.must(t, "POST", "/v2/user/mfa", me, `{"method":"totp","currentPassword":"`+adminPassword+`"}`)
	secret := setup["secret"].(string)
	code, err := totp.GenerateCode(secret, time.Now())
	require.NoError(t, err)
	s.must(t, "POST", "/v2/user/mfa", me, `{"totp":"`+code+`"}`)
	s.stop(t)
	before := s.env

	s.env = append(before[:len(before):len(before)], "SECRETS_MASTER_KEYS=["+newKey+"]")
	require.ErrorContains(t, s.open(t), "k1 is missing", "what is sealed under it would not open")

	s.env = append(before[:len(before):len(before)], "SECRETS_MASTER_KEYS=["+newKey+","+fmt.Sprintf(oldKey, "")+"]")
	s.start(t)
	require.Eventually(t, func() bool { return strings.Contains(s.log.String(), "it may be dropped") }, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, http.StatusOK, s.get(t, "/v2/me", me).StatusCode, "tokens of before are still good")
	s.stop(t)

	s.env = append(before[:len(before):len(before)], "SECRETS_MASTER_KEYS=["+newKey+"]")
	s.start(t)
	require.Equal(t, http.StatusOK, s.get(t, "/v2/me", me).StatusCode)
	later, err := totp.GenerateCode(secret, time.Now().Add(30*time.Second))
	require.NoError(t, err)
	got := s.call(t, "POST", "/v2/login", nil, fmt.Sprintf(`{"email":"admin@localhost","password":%q,"totp":%q}`, adminPassword, later))
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
}
