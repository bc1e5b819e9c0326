package events_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/projections/livetest"
)

// Credentials outlive a restart and another master key; not their own time.
func TestCredentialsLastAsLongAsTheySay(t *testing.T) {
	t.Parallel()
	const next = `[{"kid":"k2","key":"d41f8a2e93d705b6e8217fa4d0593bc6127e4f98ab35d06c71e2840fb9635ad2","active":true},{"kid":"k1","key":"` + nodetest.MasterKey + `"}]`
	s, address := watched(t, "SECRETS_MASTER_KEYS="+nodetest.MasterKeys)
	s.Start(t)
	old := admitWatcher(t, s, nodetest.AsInternal, `"all":true`)
	short := admitWatcher(t, s, nodetest.AsInternal, fmt.Sprintf(`"all":true,"expiresAt":%q`, time.Now().Add(2*time.Second).UTC().Format(time.RFC3339)))
	brief, _, complaints := short.watch(t, address, "svc.activity.>")
	require.Eventually(t, brief.IsClosed, time.Minute, time.Millisecond)
	require.ErrorIs(t, receive(t, complaints), nats.ErrAuthExpired)
	s.Stop(t)

	s.Env = append(s.Env, "SECRETS_MASTER_KEYS="+next)
	s.Start(t)
	_, heard, _ := old.watch(t, address, "svc.activity.>")
	_, too, _ := admitWatcher(t, s, nodetest.AsInternal, `"all":true`).watch(t, address, "svc.activity.>")
	emitEvent(t, s, nodetest.Bearer(s.SignInAdmin(t)), "platform", "drill")
	for _, from := range []<-chan *nats.Msg{heard, too} {
		_, event := nextMessage(t, from)
		for event["type"] != "drill" { // somebody signed in
			_, event = nextMessage(t, from)
		}
	}
	_, err := nats.Connect("nats://"+address, nats.UserCredentials(short.file))
	require.ErrorIs(t, err, nats.ErrAuthorization)
}

// What one service vouches for is nothing to another, even for a key that both know.
func TestCredentialsOfAnotherService(t *testing.T) {
	t.Parallel()
	one, _ := watched(t)
	other, address := watched(t)
	one.Start(t)
	other.Start(t)
	stranger := admitWatcher(t, one, nodetest.AsInternal, `"all":true`)
	_, err := nats.Connect("nats://"+address, nats.UserCredentials(stranger.file))
	require.ErrorIs(t, err, nats.ErrAuthorization)
	entries := one.Get(t, "/sys/nats/users", nodetest.AsInternal).List(t)
	other.Must(t, "POST", "/sys/nats/users", nodetest.AsInternal, fmt.Sprintf(`{"name":"x","all":true,"publicKey":%q}`, entries[0]["publicKey"]))
	_, err = nats.Connect("nats://"+address, nats.UserCredentials(stranger.file))
	require.ErrorIs(t, err, nats.ErrAuthorization)
}

func TestSubscribersOverTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := nodetest.Certificate(t, "svc.example.com")
	s, address := watched(t, "TLS_CERT_FILE="+cert, "TLS_KEY_FILE="+key)
	s.Base = strings.Replace(s.Base, "http://", "https://", 1)
	s.Client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "svc.example.com"}}
	s.Start(t)
	who := admitWatcher(t, s, nodetest.AsInternal, `"all":true`)
	nc, heard, _ := who.watch(t, address, "svc.activity.>", nats.Secure(&tls.Config{RootCAs: pool, ServerName: "svc.example.com"}))
	require.True(t, nc.TLSRequired())
	s.SignInAdmin(t) // somebody signs in
	nextMessage(t, heard)
	_, err := nats.Connect("nats://"+address, nats.UserCredentials(who.file))
	require.Error(t, err, "nobody believes the certificate without its authority, and nothing is said in the clear")
}

func TestEventsThatLeaveTheHostInTheClearAreWarnedOf(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, fmt.Sprintf("NATS_LISTEN=0.0.0.0:%d", livetest.Ports(1)[0])).Start(t)
	require.Contains(t, s.Log.String(), "events leave this host unencrypted")
	quiet, _ := watched(t)
	quiet.Start(t)
	require.NotContains(t, quiet.Log.String(), "events leave this host unencrypted")
	taken := nodetest.NewServiceWithAccounts(t, "NATS_LISTEN="+strings.TrimPrefix(quiet.Base, "http://"))
	require.ErrorContains(t, taken.TryOpen(t), "NATS_LISTEN: ")
}

func TestWhoMayLetSubscribersIn(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	super := nodetest.Bearer(s.SignInAdmin(t))
	s.Must(t, "POST", "/v2/signup", nil, `{"email":"ada@example.org","password":"long enough","firstName":"Ada","lastName":"L"}`)
	ada := nodetest.Bearer(s.Login(t, "ada@example.org", "long enough")["token"].(string))
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := pair.PublicKey()
	require.NoError(t, err)
	account, err := nkeys.CreateAccount()
	require.NoError(t, err)
	wrong, err := account.PublicKey()
	require.NoError(t, err)
	good := fmt.Sprintf(`{"name":"x","publicKey":%q,"all":true}`, key)
	for name, test := range map[string]struct {
		who    http.Header
		body   string
		status int
	}{
		"nobody":                {nil, good, 401},
		"a user":                {ada, good, 403},
		"no key":                {super, `{"name":"x","all":true}`, 400},
		"no name":               {super, fmt.Sprintf(`{"publicKey":%q,"all":true}`, key), 400},
		"a field that is none":  {super, fmt.Sprintf(`{"name":"x","publicKey":%q,"all":true,"seed":"SU"}`, key), 400},
		"no workspace":          {super, fmt.Sprintf(`{"name":"x","publicKey":%q}`, key), 422},
		"one that is none":      {super, fmt.Sprintf(`{"name":"x","publicKey":%q,"workspaces":["nowhere"]}`, key), 422},
		"both":                  {super, fmt.Sprintf(`{"name":"x","publicKey":%q,"workspaces":["platform"],"all":true}`, key), 422},
		"the key of an account": {super, fmt.Sprintf(`{"name":"x","publicKey":%q,"all":true}`, wrong), 422},
		"a key with an error":   {super, fmt.Sprintf(`{"name":"x","publicKey":%q,"all":true}`, key[:55]+"!"), 422},
		"a type of half a word": {super, fmt.Sprintf(`{"name":"x","publicKey":%q,"all":true,"types":["work*"]}`, key), 422},
		"the past":              {super, fmt.Sprintf(`{"name":"x","publicKey":%q,"all":true,"expiresAt":"2020-01-01T00:00:00Z"}`, key), 422},
		"no time":               {super, fmt.Sprintf(`{"name":"x","publicKey":%q,"all":true,"expiresAt":"soon"}`, key), 422},
	} {
		got := s.Call(t, "POST", "/sys/nats/users", test.who, test.body)
		require.Equal(t, test.status, got.StatusCode, "%s: %s", name, got.Body)
	}
	first := s.Must(t, "POST", "/sys/nats/users", super, good)
	require.Equal(t, false, first["listening"], "NATS_LISTEN is not set")
	again := s.Must(t, "POST", "/sys/nats/users", super, good)
	require.Equal(t, first["id"], again["id"])
	require.Equal(t, 409, s.Call(t, "POST", "/sys/nats/users", super, strings.Replace(good, `"x"`, `"y"`, 1)).StatusCode)
	require.Equal(t, 403, s.Get(t, "/sys/nats/users", ada).StatusCode)
	require.Equal(t, 403, s.Call(t, "DELETE", "/sys/nats/users/"+first["id"].(string), ada, "").StatusCode)
	require.False(t, bytes.Contains(s.Get(t, "/sys/nats/users", super).Body, []byte("issuer")))
}
