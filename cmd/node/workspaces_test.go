package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
)

// members signs up people and returns their headers and ids.
func (s *service) members(t *testing.T, names ...string) (headers map[string]http.Header, ids map[string]string) {
	t.Helper()
	headers, ids = map[string]http.Header{}, map[string]string{}
	for _, name := range names {
		email := name + "@example.org"
		s.must(t, "POST", "/v2/signup", nil, fmt.Sprintf(`{"email":%q,"password":"long enough","firstName":"F","lastName":"L"}`, email))
		in := s.login(t, email, "long enough")
		headers[name], ids[name] = bearer(in["token"].(string)), in["userId"].(string)
	}
	return headers, ids
}

// facts returns the types of what was recorded of a workspace.
func (s *service) facts(t *testing.T, id string) (types []string) {
	t.Helper()
	events, err := s.node.Store().Load(t.Context(), workspace.Stream(id), 0)
	require.NoError(t, err)
	for _, ev := range events {
		types = append(types, ev.Data.EventType())
	}
	return types
}

// reason is the stable sub-code of a refusal.
func (a answer) reason(t *testing.T) string {
	t.Helper()
	details, _ := a.json(t)["details"].(map[string]any)
	reason, _ := details["reason"].(string)
	return reason
}

// list returns the items of a list.
func (a answer) list(t *testing.T) (items []map[string]any) {
	t.Helper()
	require.Equal(t, http.StatusOK, a.StatusCode, "%s", a.body)
	require.NoError(t, json.Unmarshal(a.body, &items), "%s", a.body)
	return items
}

func TestAWorkspaceFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	s := identified(t, "DISABLE_RATE_LIMIT=yes").start(t)
	who, _ := s.members(t, "ada", "bob")
	ada, bob, admin := who["ada"], who["bob"], bearer(s.admin(t))

	made := s.call(t, "POST", "/v2/workspaces", ada, `{"name":"Shop","slug":"shop/eu","description":{"en":"Sells","fr":"Vend"},"labels":["b1","a1","b1"],"config":{"schema":{"z":{"type":"string"},"a":{"type":"number"}},"value":{"z":"1"}}}`)
	require.Equal(t, 201, made.StatusCode, "%s", made.body)
	id := made.json(t)["id"].(string)
	path := "/v2/workspaces/" + id
	require.Equal(t, []any{"a1", "b1"}, made.json(t)["labels"], "a set")
	require.Contains(t, string(made.body), `{"z":{"type":"string"},"a":{"type":"number"}}`, "in the order it was written")
	require.Equal(t, id, s.must(t, "GET", "/v2/workspaces/slug:shop%2Feu", ada, "")["id"])
	require.Equal(t, "workspace_access_denied", s.get(t, "/v2/workspaces/slug:shop%2Feu", bob).code(t))
	require.Equal(t, "workspace_access_denied", s.get(t, "/v2/workspaces/slug:nobodys", bob).code(t))
	require.Equal(t, "resource_not_found", s.get(t, "/v2/workspaces/slug:nobodys", admin).code(t))

	t.Run("slugs", func(t *testing.T) {
		taken := s.call(t, "POST", "/v2/workspaces", bob, `{"name":"Other","slug":"shop/eu"}`)
		require.Equal(t, 409, taken.StatusCode)
		require.Equal(t, map[string]any{"field": "slug", "value": "shop/eu"}, taken.json(t)["details"])
		for _, bad := range []string{"platform", "Shop", "shop//eu", "-\\u0000", "shор", strings.Repeat("a", 61), "import"} {
			got := s.call(t, "POST", "/v2/workspaces", bob, fmt.Sprintf(`{"name":"Other","slug":"%s"}`, bad))
			require.Equal(t, "validation_failed", got.code(t), bad)
		}
		other := s.must(t, "POST", "/v2/workspaces", bob, `{"name":"Other"}`)
		require.Regexp(t, `^[a-z]+-[a-z]+-\d+$`, other["slug"])
		require.Equal(t, 409, s.call(t, "PATCH", "/v2/workspaces/"+other["id"].(string), bob, `{"slug":"shop/eu"}`).StatusCode)
		renamed := s.must(t, "PATCH", path, ada, `{"slug":"shop"}`)
		require.Equal(t, "shop", renamed["slug"])
		require.Equal(t, "shop/eu", s.must(t, "PATCH", "/v2/workspaces/"+other["id"].(string), bob, `{"slug":"shop/eu"}`)["slug"], "it is free")
	})
	t.Run("lists", func(t *testing.T) {
		names := func(query string, h http.Header) (found []string) {
			for _, w := range s.get(t, "/v2/workspaces?sort=name&"+query, h).list(t) {
				found = append(found, w["name"].(string))
			}
			return found
		}
		require.Equal(t, []string{"Shop"}, names("", ada))
		require.Equal(t, []string{"Shop"}, names("slug=shop,none", ada))
		require.Equal(t, []string{"Shop"}, names("dirty=true", ada))
		require.Empty(t, names("dirty=false", ada))
		require.Equal(t, []string{"Shop"}, names("search=vend", ada))
		require.Equal(t, []string{"Other", "Platform", "Shop"}, names("", admin))
		require.Equal(t, []any{"a1", "b1"}, anyList(t, s.get(t, "/v2/workspaces/labels", ada)))
	})
	t.Run("the lock", func(t *testing.T) {
		require.Equal(t, "workspace_access_denied", s.call(t, "POST", path+"/writeLock", bob, `{}`).code(t))
		lock := s.must(t, "POST", path+"/writeLock", ada, `{"reason":"release"}`)["writeLock"].(map[string]any)
		require.Equal(t, "release", lock["reason"])
		require.EqualValues(t, 1, lock["epoch"])
		refused := s.call(t, "PATCH", path, ada, `{"name":"Store"}`)
		require.Equal(t, 423, refused.StatusCode)
		require.Equal(t, "release", refused.reason(t))
		require.EqualValues(t, 2, s.must(t, "POST", "/workspaces/"+id+"/writeLock", ada, "")["writeLock"].(map[string]any)["epoch"], "without /v2, renewed")
		require.Contains(t, s.must(t, "GET", path, ada, ""), "writeLock")
		require.Equal(t, id, s.must(t, "DELETE", path+"/writeLock", ada, "")["id"])
		require.NotContains(t, s.must(t, "GET", path, ada, ""), "writeLock")
		s.must(t, "PATCH", path, ada, `{"name":"Store"}`)
		require.Equal(t, "validation_failed", s.call(t, "POST", path+"/writeLock", ada, fmt.Sprintf(`{"reason":%q}`, strings.Repeat("r", 201))).code(t))
	})
	t.Run("domains", func(t *testing.T) {
		s.must(t, "PATCH", path, ada, `{"customDomains":["shop.example.com"]}`)
		theirs := s.must(t, "POST", "/v2/workspaces", bob, `{"name":"Thief"}`)["id"].(string)
		require.Equal(t, "resource_already_exists", s.call(t, "PATCH", "/v2/workspaces/"+theirs, bob, `{"customDomains":["shop.example.com"]}`).code(t))
		require.Equal(t, "validation_failed", s.call(t, "PATCH", path, ada, `{"customDomains":["SHOP.example.com"]}`).code(t))
	})
	t.Run("deletion", func(t *testing.T) {
		require.Equal(t, "protected", s.call(t, "DELETE", "/v2/workspaces/platform", admin, "").reason(t))
		require.Equal(t, "workspace_access_denied", s.call(t, "DELETE", path, bob, "").code(t))
		before := s.must(t, "GET", path, ada, "")
		require.Equal(t, id, s.must(t, "DELETE", path, ada, "")["id"])
		gone := s.get(t, path, ada)
		require.Equal(t, "resource_not_found", gone.code(t), "to who owned it")
		require.Contains(t, gone.json(t)["details"], "restorableUntil")
		require.Equal(t, "workspace_access_denied", s.get(t, path, bob).code(t))
		require.Empty(t, s.get(t, "/v2/workspaces", ada).list(t))
		require.Equal(t, id, s.get(t, "/v2/workspaces?deleted=true", ada).list(t)[0]["id"])
		require.Empty(t, s.get(t, "/v2/workspaces?deleted=true", bob).list(t))
		require.Equal(t, "workspace_access_denied", s.call(t, "POST", path+"/undelete", bob, "").code(t))

		s.must(t, "POST", "/v2/workspaces", bob, `{"name":"New shop","slug":"shop"}`)
		require.Equal(t, "resource_already_exists", s.call(t, "POST", path+"/undelete", ada, "").code(t))
		back := s.must(t, "POST", path+"/undelete", ada, `{"slug":"shop-again"}`)
		require.Equal(t, "shop-again", back["slug"])
		require.Equal(t, before["config"], back["config"])
		require.Equal(t, "shop-again", s.must(t, "GET", path, ada, "")["slug"])
		require.Equal(t, 409, s.call(t, "POST", path+"/undelete", ada, "").StatusCode, "it is there")
	})
	require.Equal(t, []string{
		"workspaces.created", "workspaces.updated", "workspaces.locked", "workspaces.locked", "workspaces.unlocked", "workspaces.updated",
		"workspaces.updated", "workspaces.deleted", "workspaces.undeleted",
	}, s.facts(t, id))
}

func anyList(t *testing.T, a answer) (items []any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.body, &items))
	return items
}

func TestWhatTakesMoreThanUpdate(t *testing.T) {
	t.Parallel()
	s := identified(t, "DISABLE_RATE_LIMIT=yes").start(t)
	who, ids := s.members(t, "ada", "eve")
	path := "/v2/workspaces/" + s.must(t, "POST", "/v2/workspaces", who["ada"], `{"name":"Shop"}`)["id"].(string)
	s.must(t, "POST", path+"/permissions", who["ada"], fmt.Sprintf(`{"target":{"id":%q},"permissions":{"role":"editor"}}`, ids["eve"]))
	s.must(t, "PATCH", path, who["eve"], `{"name":"Store"}`)
	for _, patch := range []string{`{"customDomains":["a.example.com"]}`, `{"allowUnsecurePages":true}`, `{"repositories":{"main":{"name":"M","config":{"url":"https://example.com/r.git"}}}}`} {
		got := s.call(t, "PATCH", path, who["eve"], patch)
		require.Equal(t, "permission_denied", got.code(t), patch)
	}
	whole := s.get(t, path, who["eve"]).body
	require.Equal(t, 200, s.call(t, "PATCH", path, who["eve"], string(whole)).StatusCode, "what was read may be sent back")
}

func TestALockThatRanOutIsReleased(t *testing.T) {
	t.Parallel()
	s := identified(t, "DISABLE_RATE_LIMIT=yes", "WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES=3s", "VERSIONING_OPERATION_TIMEOUT_MINUTES=2s").start(t)
	admin := bearer(s.admin(t))
	id := s.must(t, "POST", "/v2/workspaces", admin, `{"name":"Shop"}`)["id"].(string)
	s.must(t, "POST", "/v2/workspaces/"+id+"/writeLock", admin, "")
	require.Equal(t, 423, s.call(t, "PATCH", "/v2/workspaces/"+id, admin, `{"name":"x"}`).StatusCode)
	require.Eventually(t, func() bool { return slices.Contains(s.facts(t, id), "workspaces.unlocked") }, 20*time.Second, 50*time.Millisecond)
	s.must(t, "PATCH", "/v2/workspaces/"+id, admin, `{"name":"x"}`)
}

func TestTheOldSlugOfThePlatformStays(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	admin := bearer(s.admin(t))
	require.Equal(t, "platform", s.must(t, "GET", "/v2/workspaces/slug:platform", admin, "")["id"])
	require.Equal(t, "protected", s.call(t, "PATCH", "/v2/workspaces/platform", admin, `{"slug":"other"}`).reason(t))
	require.Equal(t, "Head office", s.must(t, "PATCH", "/v2/workspaces/platform", admin, `{"name":"Head office"}`)["name"])
}

// Whoever comes first has the slug; of a thousand who want one of a hundred, a
// hundred get theirs.
func TestAThousandCreatesWithCollidingSlugs(t *testing.T) {
	t.Parallel()
	s := identified(t, "DISABLE_RATE_LIMIT=yes", "MAX_CONCURRENT_REQUESTS=2000").start(t)
	admin := bearer(s.admin(t))
	const wanted, each = 100, 10
	won, mu := map[string][]string{}, sync.Mutex{}
	var running sync.WaitGroup
	var strange []string
	slots := make(chan struct{}, 64)
	for i := range wanted * each {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			slug := fmt.Sprintf("slug-%d", i%wanted)
			got, err := s.request(context.WithoutCancel(t.Context()), "POST", "/v2/workspaces", admin, fmt.Sprintf(`{"name":"w","slug":%q}`, slug))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && got.StatusCode == 201:
				won[slug] = append(won[slug], got.json(t)["id"].(string))
			case err != nil || got.StatusCode != 409:
				strange = append(strange, fmt.Sprint(err, string(got.body)))
			}
		})
	}
	running.Wait()
	require.Empty(t, strange)
	require.Len(t, won, wanted)
	for slug, ids := range won {
		require.Len(t, ids, 1, slug)
		require.Equal(t, ids[0], s.must(t, "GET", "/v2/workspaces/slug:"+slug, admin, "")["id"])
	}
	require.Equal(t, domain.Platform, s.must(t, "GET", "/v2/workspaces/platform", admin, "")["id"])
}
