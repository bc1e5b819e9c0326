package node_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// Profiles are apart from the API, on this machine only, and for the holder of the internal
// key.
func TestProfilesAreForTheHolderOfTheInternalKey(t *testing.T) {
	s := nodetest.NewServiceWithAccounts(t, "PPROF_ADDR=127.0.0.1:0").Start(t)
	base := "http://" + s.Node.Profiles().String()
	get := func(path string, header ...string) (status int, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, base+path, nil)
		require.NoError(t, err)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		all, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(all)
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace", "/"} {
		status, body := get(path)
		require.Equal(t, 401, status, path)
		require.JSONEq(t, `{"error":"missing_token","message":"send the internal API key (INTERNAL_API_KEY) in the x-svc-api-key header"}`, body)
		status, body = get(path, "x-svc-api-key", "wrong")
		require.Equal(t, 401, status, path)
		require.JSONEq(t, `{"error":"invalid_credentials","message":"this is not the internal API key"}`, body)
		status, _ = get(path, "Authorization", "Bearer "+s.SignInAdmin(t))
		require.Equal(t, 401, status, "a super admin is not enough")
	}
	status, body := get("/debug/pprof/", "x-svc-api-key", nodetest.InternalKey)
	require.Equal(t, 200, status)
	require.Contains(t, body, "goroutine")
	status, body = get("/debug/pprof/goroutine?debug=1", "Authorization", "Bearer "+nodetest.InternalKey)
	require.Equal(t, 200, status)
	require.Contains(t, body, "goroutine profile: total")
	require.NotContains(t, body, nodetest.InternalKey)
	status, _ = get("/debug/pprof/profile?seconds=1", "x-svc-api-key", nodetest.InternalKey)
	require.Equal(t, 200, status)
	status, _ = get("/v2/me", "x-svc-api-key", nodetest.InternalKey)
	require.Equal(t, 404, status, "the API is not there")

	require.Equal(t, "404 Not Found", s.Get(t, "/debug/pprof/", nodetest.AsInternal).Status, "and profiles are not where the API is")
	s.Stop(t)
	_, err := http.Get(base + "/debug/pprof/") //nolint:noctx // nobody is there
	require.Error(t, err)
}

func TestByDefaultThereAreNoProfiles(t *testing.T) {
	s := nodetest.NewService(t).Start(t)
	require.Nil(t, s.Node.Profiles())
}
