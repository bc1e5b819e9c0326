package workspaces_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// The lists of API keys and of versions say how many there are, and have pages; who asks
// for none gets them all, as before there were any.
func TestKeysAndVersionsHavePages(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	for i := range 22 {
		p.Do(t, 201, "POST", p.Path+"/security/apikeys", fmt.Sprintf(`{"name":"k%d","rules":[{"action":"read","subject":"events"}]}`, i))
	}
	for i := range 4 {
		p.Do(t, 201, "POST", p.Path+"/versions", fmt.Sprintf(`{"name":"v%d"}`, i))
	}
	p.Do(t, 200, "DELETE", p.Path+"/versions/v1", "")
	names := func(path string) (names []string, total, link string) {
		got := p.Do(t, 200, "GET", path, "")
		var items []struct{ Name string }
		require.NoError(t, json.Unmarshal(got.Body, &items))
		for _, item := range items {
			names = append(names, item.Name)
		}
		return names, got.Header.Get("X-Total-Count"), got.Header.Get("Link")
	}
	for _, base := range []string{"/v2", ""} {
		path := base + "/workspaces/" + p.ID + "/versions"
		all, total, link := names(path)
		require.Equal(t, []string{"v3", "v2", "v0"}, all, "the newest first")
		require.Equal(t, "3", total)
		require.Empty(t, link)
		first, total, link := names(path + "?limit=2")
		require.Equal(t, []string{"v3", "v2"}, first)
		require.Equal(t, "3", total)
		require.Equal(t, `<`+path+`?limit=2&page=1>; rel="next"`, link)
		second, total, link := names(path + "?limit=2&page=1")
		require.Equal(t, []string{"v0"}, second)
		require.Equal(t, "3", total)
		require.Empty(t, link)
		beyond, total, _ := names(path + "?page=7")
		require.Empty(t, beyond)
		require.Equal(t, "3", total)
	}
	keys := p.Path + "/security/apikeys"
	all, total, link := names(keys)
	require.Len(t, all, 22)
	require.Equal(t, "22", total)
	require.Empty(t, link)
	first, total, link := names(keys + "?page=0")
	require.Equal(t, all[:20], first)
	require.Equal(t, "22", total)
	require.Equal(t, `<`+keys+`?page=1>; rel="next"`, link)
	rest, _, link := names(keys + "?page=1")
	require.Equal(t, all[20:], rest)
	require.Empty(t, link)
	for _, path := range []string{keys, p.Path + "/versions"} {
		for _, query := range []string{"limit=0", "limit=101", "page=-1", "page=x"} {
			p.RequireRefusal(t, 400, "invalid_parameter", "GET", path+"?"+query, "")
		}
	}
}

// All other lists do so, too.
func TestEveryListSaysHowManyThereAre(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	m.publish(m.ada, m.mailer(), "mail")
	shop := m.shop(`{}`)
	for _, slug := range []string{"a", "z"} {
		m.Must(t, "POST", shop+"/apps", m.bob, fmt.Sprintf(`{"appSlug":"mail","slug":%q}`, slug))
		m.Must(t, "POST", "/v2/user/accessTokens", m.bob, fmt.Sprintf(`{"name":%q,"expiresAt":"2999-01-01T00:00:00Z"}`, slug))
	}
	m.Must(t, "PATCH", shop, m.bob, `{"labels":["aa","bb","cc"]}`)
	bob := m.Must(t, "GET", "/v2/me", m.bob, "")["id"].(string)
	for path, who := range map[string]http.Header{
		shop + "/apps": m.bob, shop + "/security/roles": m.bob, "/v2/workspaces/labels": m.bob,
		"/v2/user/accessTokens": m.bob, "/v2/user/sessions": m.bob, "/v2/users/" + bob + "/sessions": m.admin,
		"/sys/jwks": m.admin, "/sys/nats/users": m.admin,
	} {
		read := func(query string, want int) []json.RawMessage {
			got := m.Get(t, path+query, who)
			require.Equal(t, 200, got.StatusCode, "%s: %s", path, got.Body)
			var items []json.RawMessage
			require.NoError(t, json.Unmarshal(got.Body, &items))
			if want < 0 {
				want = len(items)
			}
			require.Equal(t, strconv.Itoa(want), got.Header.Get("X-Total-Count"), path+query)
			return items
		}
		all := read("", -1)
		for i := range all {
			require.Len(t, read(fmt.Sprintf("?limit=1&page=%d", i), len(all)), 1, path)
		}
		linked := strings.Contains(m.Get(t, path+"?limit=1", who).Header.Get("Link"), path+`?limit=1&page=1>; rel="next"`)
		require.Equal(t, len(all) > 1, linked, path)
		require.Equal(t, all[:min(1, len(all))], read("?limit=1", len(all)), path)
		require.Empty(t, read("?page=7", len(all)), path)
		require.Equal(t, 400, m.Get(t, path+"?page=x", who).StatusCode, path)
	}
	require.Equal(t, "3", m.Get(t, shop+"/apps", m.bob).Header.Get("X-Total-Count"))
	require.Equal(t, "2", m.Get(t, "/v2/user/accessTokens", m.bob).Header.Get("X-Total-Count"))
	require.Equal(t, "z", m.list(shop+"/apps?limit=2&page=1", m.bob)[0]["slug"])
}
