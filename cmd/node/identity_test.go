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

	"svc/cmd/node/nodetest"
)

// What is revoked on one node is refused by the next request on the other.
func TestWhatIsRevokedIsRefusedOnEveryNode(t *testing.T) {
	one, other := nodetest.StartPair(t)
	admin := nodetest.Bearer(one.SignInAdmin(t))
	one.SignUp(t, "ada@example.org")
	id := one.Must(t, "POST", "/v2/workspaces", admin, `{"name":"Shop"}`)["id"].(string)

	refused := func(path string, h http.Header, code string) {
		t.Helper()
		got := other.Get(t, path, h)
		require.Equal(t, code, got.Code(t), "on the other node, at once")
	}
	known := func(path string, h http.Header) {
		t.Helper()
		require.Equal(t, http.StatusOK, other.Get(t, path, h).StatusCode, "on the other node, at once")
	}

	for range 5 {
		ada := one.Login(t, "ada@example.org", "long enough")
		session := nodetest.Bearer(ada["token"].(string))
		known("/v2/me", session)
		one.Must(t, "DELETE", "/v2/user/sessions/"+ada["sessionId"].(string), session, "")
		refused("/v2/me", session, "invalid_token")
	}

	session := nodetest.Bearer(one.Login(t, "ada@example.org", "long enough")["token"].(string))
	made := one.Must(t, "POST", "/v2/user/accessTokens", session, `{"name":"ci","expiresAt":"2099-01-01T00:00:00Z"}`)
	token := nodetest.Bearer(made["token"].(string))
	known("/v2/me", token)
	one.Must(t, "DELETE", "/v2/user/accessTokens/"+made["id"].(string), session, "")
	refused("/v2/me", token, "invalid_token")

	key := one.Must(t, "POST", "/v2/workspaces/"+id+"/security/apikeys", admin, `{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`)
	sent := http.Header{"X-Svc-Api-Key": {key["apiKey"].(string)}}
	known("/v2/workspaces/"+id, sent)
	gone, err := one.Request(t.Context(), "DELETE", "/v2/workspaces/"+id+"/security/APIKeys/"+key["id"].(string), admin, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, gone.StatusCode, "the word is matched ignoring case: %s", gone.Body)
	refused("/v2/workspaces/"+id, sent, "invalid_credentials")

	one.Must(t, "POST", "/v2/workspaces/"+id+"/permissions", admin, `{"target":{"email":"ada@example.org"},"permissions":{"role":"editor"}}`)
	known("/v2/workspaces/"+id, session)
	ada := other.Get(t, "/v2/me", session).JSON(t)["id"].(string)
	one.Must(t, "DELETE", "/v2/workspaces/"+id+"/permissions/"+ada, admin, "")
	refused("/v2/workspaces/"+id, session, "workspace_access_denied")

	one.Must(t, "PATCH", "/v2/users/"+ada, admin, `{"status":"deactivated"}`)
	refused("/v2/me", session, "invalid_token")

	kid := signingKey(t, one)
	known("/v2/me", admin)
	one.Must(t, "DELETE", "/sys/jwks/"+kid, nodetest.AsInternal, "")
	refused("/v2/me", admin, "invalid_token")
	known("/v2/me", nodetest.Bearer(other.SignInAdmin(t)))
}

func signingKey(t *testing.T, s *nodetest.Service) string {
	t.Helper()
	got := s.Get(t, "/sys/jwks", nodetest.AsInternal)
	for entry := range strings.SplitSeq(string(got.Body), "},") {
		if strings.Contains(entry, `"state":"signing"`) {
			_, rest, _ := strings.Cut(entry, `"kid":"`)
			kid, _, _ := strings.Cut(rest, `"`)
			return kid
		}
	}
	t.Fatalf("no key signs: %s", got.Body)
	return ""
}

// Keys rotate after every hundred requests to two nodes: nobody is refused.
// FAULT_PROFILE=full does it for sixty rotations.
func TestNobodyIsRefusedWhileKeysRotate(t *testing.T) {
	rotations := 4
	if os.Getenv("FAULT_PROFILE") == "full" {
		rotations = 60
	}
	one, other := nodetest.StartPair(t, "MAX_CONCURRENT_REQUESTS=1000")
	nodes := []*nodetest.Service{one, other}
	old := one.SignInAdmin(t)
	ctx, stop := context.WithCancel(t.Context())
	var sent, refused atomic.Int64
	var asking sync.WaitGroup
	token := func(s *nodetest.Service) (string, error) {
		got, err := s.Request(ctx, "POST", "/v2/login/anonymous", nil, "")
		if err != nil || got.StatusCode != http.StatusOK {
			return "", fmt.Errorf("%w: %s", err, got.Body)
		}
		_, rest, _ := strings.Cut(string(got.Body), `"token":"`)
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
				got, err := elsewhere.Request(ctx, "GET", "/v2/me", nodetest.Bearer(mine), "")
				if ctx.Err() != nil {
					return
				}
				if sent.Add(1); err != nil || got.StatusCode != http.StatusOK {
					refused.Add(1)
					t.Errorf("%v: %s", err, got.Body)
				}
			}
		})
	}
	for n := range rotations {
		require.Eventually(t, func() bool { return sent.Load() >= int64(n+1)*100 }, 2*time.Minute, time.Millisecond)
		require.Len(t, one.Must(t, "POST", "/sys/jwks/rotate", nodetest.AsInternal, "")["created"], 1)
	}
	stop()
	asking.Wait()
	t.Logf("%d rotations, %d requests, %d refused", rotations, sent.Load(), refused.Load())
	require.Zero(t, refused.Load())
	require.Equal(t, http.StatusOK, other.Get(t, "/v2/me", nodetest.Bearer(old)).StatusCode, "a rotated key still verifies")
}

// The first start makes the super admins and tells their passwords once, to the
// operator and not to the log.
func TestTheFirstStartMakesTheSuperAdmins(t *testing.T) {
	s := nodetest.NewServiceWithAccounts(t, "SUPER_ADMIN_EMAILS=Root@Example.org,second@example.org", "MFA_FORCE_LOCAL=no")
	s.Start(t)
	require.Equal(t, "superAdmin", s.Get(t, "/v2/me", nodetest.Bearer(s.Login(t, "root@example.org", nodetest.AdminPassword)["token"].(string))).JSON(t)["role"])
	require.Equal(t, "superAdmin", s.Get(t, "/v2/me", nodetest.Bearer(s.Login(t, "SECOND@example.org", nodetest.AdminPassword)["token"].(string))).JSON(t)["role"])
	require.NotContains(t, s.Log.String(), nodetest.AdminPassword)
	s.Stop(t)
	nodetest.RequireNoSecret(t, s.Dir, nodetest.AdminPassword)

	s.Env = append(s.Env, "SUPER_ADMIN_EMAILS=third@example.org", "ADMIN_PASSWORD=another password")
	s.Start(t)
	got := s.Call(t, "POST", "/v2/login", nil, `{"email":"third@example.org","password":"another password"}`)
	require.Equal(t, "invalid_credentials", got.Code(t), "an address that is added later must be proven")
	require.NotContains(t, s.Get(t, "/v2/me", nodetest.Bearer(s.Login(t, "root@example.org", nodetest.AdminPassword)["token"].(string))).JSON(t), "role", "and one that left the list is nobody special")
}

func TestReadinessKnowsTheKeys(t *testing.T) {
	s := nodetest.NewServiceWithAccounts(t, "READINESS_CACHE_TTL_MS=0")
	s.Start(t)
	token := s.SignInAdmin(t)
	report := s.Get(t, "/v2/readiness", nodetest.Bearer(token))
	require.Equal(t, http.StatusOK, report.StatusCode, "%s", report.Body)
	for _, module := range []string{`"module":"jwks","driver":"http"`, `"module":"permissions","driver":"badger"`, `"module":"keys","driver":"file"`} {
		require.Contains(t, string(report.Body), module)
	}
	require.Equal(t, "permission_denied", s.Get(t, "/v2/readiness", nodetest.Bearer(s.Must(t, "POST", "/v2/login/anonymous", nil, "")["token"].(string))).Code(t))
}

// The operator adds a master key, makes it the active one and restarts; when
// everything is sealed anew the old one can go.
func TestAMasterKeyIsReplaced(t *testing.T) {
	const oldKey = `{"kid":"k1","key":"` + nodetest.MasterKey + `"%s}`
	const newKey = `{"kid":"k2","key":"7d1b0f4a9c3e86d25f70ab94c1e83d6620f5b7493ae8d1c05b62f9470e8ca3d4","active":true}`
	s := nodetest.NewServiceWithAccounts(t, "SECRETS_MASTER_KEYS=["+fmt.Sprintf(oldKey, `,"active":true`)+"]")
	s.Start(t)
	me := nodetest.Bearer(s.SignInAdmin(t))
	setup := s.Must(t, "POST", "/v2/user/mfa", me, `{"method":"totp","currentPassword":"`+nodetest.AdminPassword+`"}`)
	secret := setup["secret"].(string)
	code, err := totp.GenerateCode(secret, time.Now())
	require.NoError(t, err)
	s.Must(t, "POST", "/v2/user/mfa", me, `{"totp":"`+code+`"}`)
	s.Stop(t)
	before := s.Env

	s.Env = append(before[:len(before):len(before)], "SECRETS_MASTER_KEYS=["+newKey+"]")
	require.ErrorContains(t, s.Open(t), "k1 is missing", "what is sealed under it would not open")

	s.Env = append(before[:len(before):len(before)], "SECRETS_MASTER_KEYS=["+newKey+","+fmt.Sprintf(oldKey, "")+"]")
	s.Start(t)
	require.Eventually(t, func() bool { return strings.Contains(s.Log.String(), "it may be dropped") }, time.Minute, 5*time.Millisecond)
	require.Equal(t, http.StatusOK, s.Get(t, "/v2/me", me).StatusCode, "tokens of before are still good")
	s.Stop(t)

	s.Env = append(before[:len(before):len(before)], "SECRETS_MASTER_KEYS=["+newKey+"]")
	s.Start(t)
	require.Equal(t, http.StatusOK, s.Get(t, "/v2/me", me).StatusCode)
	later, err := totp.GenerateCode(secret, time.Now().Add(30*time.Second))
	require.NoError(t, err)
	got := s.Call(t, "POST", "/v2/login", nil, fmt.Sprintf(`{"email":"admin@localhost","password":%q,"totp":%q}`, nodetest.AdminPassword, later))
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
}
