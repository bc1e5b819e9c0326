package settings

import (
	"crypto/rand"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReload(t *testing.T) {
	live := NewLive(mustLoad(t, "RATE_LIMIT_LOGIN=5", "PORT=3001", "LOG_LEVEL=info"))

	changed, restart, err := live.Reload(source(t.TempDir(), "RATE_LIMIT_LOGIN=9", "PORT=4000", "LOG_LEVEL=info", "ADDITIONAL_GLOBAL_VARS_x=1"))
	require.NoError(t, err)
	require.Equal(t, []string{"RATE_LIMIT_LOGIN"}, changed)
	require.Equal(t, []string{"ADDITIONAL_GLOBAL_VARS_x", "API_URL", "CONSOLE_URL", "CRAWLER_USER_AGENT", "INTERNAL_API_URL", "PORT"}, restart)
	now := live.Get().Config
	require.Equal(t, 9, now.Auth.RateLogin)
	require.Equal(t, 3001, now.HTTP.Port)
	require.Equal(t, "http://localhost:3001/v2", now.HTTP.APIURL)
	require.Empty(t, now.Runtime.GlobalVars)
}

func TestReloadIsAllOrNothing(t *testing.T) {
	live := NewLive(mustLoad(t, "RATE_LIMIT_LOGIN=5"))
	before := live.Get()
	_, _, err := live.Reload(source(t.TempDir(), "RATE_LIMIT_LOGIN=9", "LOG_LEVEL=loud"))
	require.ErrorContains(t, err, "LOG_LEVEL")
	require.Same(t, before, live.Get())
}

func TestReloadComparesMeanings(t *testing.T) {
	live := NewLive(mustLoad(t, "GATEWAY_REQUEST_TIMEOUT_SECONDS=120", "PUBLISH_TIMEOUT_MS=2000"))
	changed, restart, err := live.Reload(source(t.TempDir(), "GATEWAY_REQUEST_TIMEOUT_SECONDS=2m"))
	require.NoError(t, err)
	require.Empty(t, changed)
	require.Empty(t, restart)
}

func TestReloadBackToTheDefault(t *testing.T) {
	live := NewLive(mustLoad(t, "RATE_LIMIT_LOGIN=50"))
	changed, _, err := live.Reload(source(t.TempDir()))
	require.NoError(t, err)
	require.Equal(t, []string{"RATE_LIMIT_LOGIN"}, changed)
	require.Equal(t, 5, live.Get().Config.Auth.RateLogin)
	require.Equal(t, OriginDefault, entryOf(t, live.Get(), "RATE_LIMIT_LOGIN").Source)
}

func TestReloadKeepsGeneratedKeys(t *testing.T) {
	dir := t.TempDir()
	loaded := mustLoad(t, "DATA_DIR="+dir)
	_, err := EnsureKeys(loaded, rand.Reader)
	require.NoError(t, err)
	live := NewLive(loaded)
	_, restart, err := live.Reload(source(t.TempDir(), "DATA_DIR="+dir, "LOG_LEVEL=debug"))
	require.NoError(t, err)
	require.Empty(t, restart)
	require.Equal(t, loaded.Config.Core.MasterKeys, live.Get().Config.Core.MasterKeys)
	require.Equal(t, OriginGenerated, entryOf(t, live.Get(), "INTERNAL_API_KEY").Source)
}

func TestReadersAndReloadsMayMeet(t *testing.T) {
	live := NewLive(mustLoad(t))
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			_ = live.Get().Config.Auth.RateLogin
			_, _, err := live.Reload(source(t.TempDir(), []string{"RATE_LIMIT_LOGIN=6", "RATE_LIMIT_LOGIN=7"}[i%2]))
			require.NoError(t, err)
		})
	}
	group.Wait()
	require.Contains(t, []int{6, 7}, live.Get().Config.Auth.RateLogin)
}

func TestDigest(t *testing.T) {
	digest := func(environ ...string) string { return mustLoad(t, environ...).Digest() }
	base := digest()
	require.Len(t, base, 64)
	for _, same := range [][]string{
		{"PORT=3001"}, {"DATA_DIR=/elsewhere"}, {"NODE_NAME=b"}, {"LOG_LEVEL=debug"}, {"ROLES=bulk"}, {"REQUEST_MAX_SIZE=1024kb"},
		{"PUBLISH_TIMEOUT_MS=2s"}, {"ADDR=127.0.0.1"},
	} {
		require.Equal(t, base, digest(same...), same)
	}
	seen := map[string][]string{base: nil}
	for _, other := range [][]string{
		{"API_URL=https://x/v2"}, {"RATE_LIMIT_LOGIN=6"}, {"ADMIN_PASSWORD=password1"}, {"ADMIN_PASSWORD=password2"},
		{"WORKSPACE_SECRET_a_b=c"}, {"WORKSPACE_SECRET_a_b=d"}, {"WORKSPACE_CONFIG_a_b=c"}, {`AUTH_PROVIDERS_CONFIG={"a":1}`}, keysGiven(),
	} {
		got := digest(other...)
		require.NotContains(t, seen, got, other)
		seen[got] = other
	}
}
