package node_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The lists of API keys and of versions say how many there are, and have pages; who asks
// for none gets them all, as before there were any.
func TestKeysAndVersionsHavePages(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	for i := range 22 {
		p.does(t, 201, "POST", p.path+"/security/apikeys", fmt.Sprintf(`{"name":"k%d","rules":[{"action":"read","subject":"events"}]}`, i))
	}
	for i := range 4 {
		p.does(t, 201, "POST", p.path+"/versions", fmt.Sprintf(`{"name":"v%d"}`, i))
	}
	p.does(t, 200, "DELETE", p.path+"/versions/v1", "")
	names := func(path string) (names []string, total, link string) {
		got := p.does(t, 200, "GET", path, "")
		var items []struct{ Name string }
		require.NoError(t, json.Unmarshal(got.body, &items))
		for _, item := range items {
			names = append(names, item.Name)
		}
		return names, got.Header.Get("X-Total-Count"), got.Header.Get("Link")
	}
	for _, base := range []string{"/v2", ""} {
		path := base + "/workspaces/" + p.id + "/versions"
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
	keys := p.path + "/security/apikeys"
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
	for _, path := range []string{keys, p.path + "/versions"} {
		for _, query := range []string{"limit=0", "limit=101", "page=-1", "page=x"} {
			p.refuses(t, 400, "invalid_parameter", "GET", path+"?"+query, "")
		}
	}
}
