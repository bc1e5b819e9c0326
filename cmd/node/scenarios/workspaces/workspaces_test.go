package workspaces_test

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

	"svc/cmd/node/nodetest"
	"svc/domain"
)

func TestAWorkspaceFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "DISABLE_RATE_LIMIT=yes").Start(t)
	who, _ := s.NewUsers(t, "ada", "bob")
	ada, bob, admin := who["ada"], who["bob"], nodetest.Bearer(s.SignInAdmin(t))

	made := s.Call(t, "POST", "/v2/workspaces", ada, `{"name":"Shop","slug":"shop/eu","description":{"en":"Sells","fr":"Vend"},"labels":["b1","a1","b1"],"config":{"schema":{"z":{"type":"string"},"a":{"type":"number"}},"value":{"z":"1"}}}`)
	require.Equal(t, 201, made.StatusCode, "%s", made.Body)
	id := made.JSON(t)["id"].(string)
	path := "/v2/workspaces/" + id
	require.Equal(t, []any{"a1", "b1"}, made.JSON(t)["labels"], "a set")
	require.Contains(t, string(made.Body), `{"z":{"type":"string"},"a":{"type":"number"}}`, "in the order it was written")
	require.Equal(t, id, s.Must(t, "GET", "/v2/workspaces/slug:shop%2Feu", ada, "")["id"])
	require.Equal(t, "workspace_access_denied", s.Get(t, "/v2/workspaces/slug:shop%2Feu", bob).Code(t))
	require.Equal(t, "workspace_access_denied", s.Get(t, "/v2/workspaces/slug:nobodys", bob).Code(t))
	require.Equal(t, "resource_not_found", s.Get(t, "/v2/workspaces/slug:nobodys", admin).Code(t))

	t.Run("slugs", func(t *testing.T) {
		taken := s.Call(t, "POST", "/v2/workspaces", bob, `{"name":"Other","slug":"shop/eu"}`)
		require.Equal(t, 409, taken.StatusCode)
		require.Equal(t, map[string]any{"field": "slug", "value": "shop/eu"}, taken.JSON(t)["details"])
		for _, bad := range []string{"platform", "Shop", "shop//eu", "-\\u0000", "shор", strings.Repeat("a", 61), "import"} {
			got := s.Call(t, "POST", "/v2/workspaces", bob, fmt.Sprintf(`{"name":"Other","slug":"%s"}`, bad))
			require.Equal(t, "validation_failed", got.Code(t), bad)
		}

		// A dry run tells the same, at its field, and records nothing.
		before := len(s.Get(t, "/v2/workspaces", admin).List(t))
		faults := func(method, path string, h http.Header, body string) string {
			t.Helper()
			judged := s.SendAs(t, method, path+"?dryRun=true", "application/json", h, body)
			require.Equal(t, 200, judged.StatusCode, "%s", judged.Body)
			return fmt.Sprint(judged.JSON(t)["errors"])
		}
		require.Equal(t, "[map[field:slug message:this slug is used already]]", faults("POST", "/v2/workspaces", bob, `{"name":"Other","slug":"shop/eu"}`))
		require.Contains(t, faults("POST", "/v2/workspaces", bob, `{"name":"Other","slug":"platform"}`), "field:slug")
		require.Equal(t, "[]", faults("POST", "/v2/workspaces", bob, `{"name":"Other","slug":"free"}`))
		require.Equal(t, "[]", faults("POST", "/v2/workspaces", bob, `{"name":"Other"}`))
		yaml := s.SendAs(t, "POST", "/v2/workspaces?dryRun=true", "application/yaml", bob, "name: Other\nslug: shop/eu\n")
		require.Contains(t, string(yaml.Body), `"line":2`)
		require.Len(t, s.Get(t, "/v2/workspaces", admin).List(t), before)
		require.Equal(t, 201, s.Call(t, "POST", "/v2/workspaces", ada, `{"name":"Third","slug":"free"}`).StatusCode, "a dry run holds no slug")
		s.Must(t, "DELETE", "/v2/workspaces/slug:free", ada, "")

		other := s.Must(t, "POST", "/v2/workspaces", bob, `{"name":"Other"}`)
		require.Equal(t, "[map[field:slug message:this slug is used already]]", faults("PATCH", "/v2/workspaces/"+other["id"].(string), bob, `{"slug":"shop/eu"}`))
		require.Equal(t, "[]", faults("PATCH", path, ada, `{"slug":"shop/eu"}`), "one's own slug")
		require.Contains(t, faults("PATCH", path, ada, `{"slug":"import"}`), "field:slug")
		require.Regexp(t, `^[a-z]+-[a-z]+-\d+$`, other["slug"])
		require.Equal(t, 409, s.Call(t, "PATCH", "/v2/workspaces/"+other["id"].(string), bob, `{"slug":"shop/eu"}`).StatusCode)
		renamed := s.Must(t, "PATCH", path, ada, `{"slug":"shop"}`)
		require.Equal(t, "shop", renamed["slug"])
		require.Equal(t, "shop/eu", s.Must(t, "PATCH", "/v2/workspaces/"+other["id"].(string), bob, `{"slug":"shop/eu"}`)["slug"], "it is free")
	})
	t.Run("lists", func(t *testing.T) {
		names := func(query string, h http.Header) (found []string) {
			for _, w := range s.Get(t, "/v2/workspaces?sort=name&"+query, h).List(t) {
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
		require.Equal(t, []any{"a1", "b1"}, anyList(t, s.Get(t, "/v2/workspaces/labels", ada)))
	})
	t.Run("the lock", func(t *testing.T) {
		require.Equal(t, "workspace_access_denied", s.Call(t, "POST", path+"/writeLock", bob, `{}`).Code(t))
		lock := s.Must(t, "POST", path+"/writeLock", ada, `{"reason":"release"}`)["writeLock"].(map[string]any)
		require.Equal(t, "release", lock["reason"])
		require.EqualValues(t, 1, lock["epoch"])
		refused := s.Call(t, "PATCH", path, ada, `{"name":"Store"}`)
		require.Equal(t, 423, refused.StatusCode)
		require.Equal(t, "release", refused.Reason(t))
		require.EqualValues(t, 2, s.Must(t, "POST", "/workspaces/"+id+"/writeLock", ada, "")["writeLock"].(map[string]any)["epoch"], "without /v2, renewed")
		require.Contains(t, s.Must(t, "GET", path, ada, ""), "writeLock")
		require.Equal(t, id, s.Must(t, "DELETE", path+"/writeLock", ada, "")["id"])
		require.NotContains(t, s.Must(t, "GET", path, ada, ""), "writeLock")
		s.Must(t, "PATCH", path, ada, `{"name":"Store"}`)
		require.Equal(t, "validation_failed", s.Call(t, "POST", path+"/writeLock", ada, fmt.Sprintf(`{"reason":%q}`, strings.Repeat("r", 201))).Code(t))
	})
	t.Run("domains", func(t *testing.T) {
		s.Must(t, "PATCH", path, ada, `{"customDomains":["shop.example.com"]}`)
		theirs := s.Must(t, "POST", "/v2/workspaces", bob, `{"name":"Thief"}`)["id"].(string)
		require.Equal(t, "resource_already_exists", s.Call(t, "PATCH", "/v2/workspaces/"+theirs, bob, `{"customDomains":["shop.example.com"]}`).Code(t))
		require.Equal(t, "validation_failed", s.Call(t, "PATCH", path, ada, `{"customDomains":["SHOP.example.com"]}`).Code(t))
	})
	t.Run("deletion", func(t *testing.T) {
		require.Equal(t, "protected", s.Call(t, "DELETE", "/v2/workspaces/platform", admin, "").Reason(t))
		require.Equal(t, "workspace_access_denied", s.Call(t, "DELETE", path, bob, "").Code(t))
		before := s.Must(t, "GET", path, ada, "")
		require.Equal(t, id, s.Must(t, "DELETE", path, ada, "")["id"])
		gone := s.Get(t, path, ada)
		require.Equal(t, "resource_not_found", gone.Code(t), "to who owned it")
		require.Contains(t, gone.JSON(t)["details"], "restorableUntil")
		require.Equal(t, "workspace_access_denied", s.Get(t, path, bob).Code(t))
		require.Empty(t, s.Get(t, "/v2/workspaces", ada).List(t))
		require.Equal(t, id, s.Get(t, "/v2/workspaces?deleted=true", ada).List(t)[0]["id"])
		require.Empty(t, s.Get(t, "/v2/workspaces?deleted=true", bob).List(t))
		require.Equal(t, "workspace_access_denied", s.Call(t, "POST", path+"/undelete", bob, "").Code(t))

		s.Must(t, "POST", "/v2/workspaces", bob, `{"name":"New shop","slug":"shop"}`)
		require.Equal(t, "resource_already_exists", s.Call(t, "POST", path+"/undelete", ada, "").Code(t))
		back := s.Must(t, "POST", path+"/undelete", ada, `{"slug":"shop-again"}`)
		require.Equal(t, "shop-again", back["slug"])
		require.Equal(t, before["config"], back["config"])
		require.Equal(t, "shop-again", s.Must(t, "GET", path, ada, "")["slug"])
		require.Equal(t, 409, s.Call(t, "POST", path+"/undelete", ada, "").StatusCode, "it is there")
	})
	require.Equal(t, []string{
		"workspaces.created", "workspaces.updated", "workspaces.locked", "workspaces.locked", "workspaces.unlocked", "workspaces.updated",
		"workspaces.updated", "workspaces.deleted", "workspaces.undeleted",
	}, s.EventTypes(t, id))
}

func anyList(t *testing.T, a nodetest.Answer) (items []any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.Body, &items))
	return items
}

func TestWhatTakesMoreThanUpdate(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "DISABLE_RATE_LIMIT=yes").Start(t)
	who, ids := s.NewUsers(t, "ada", "eve")
	path := "/v2/workspaces/" + s.Must(t, "POST", "/v2/workspaces", who["ada"], `{"name":"Shop"}`)["id"].(string)
	s.Must(t, "POST", path+"/permissions", who["ada"], fmt.Sprintf(`{"target":{"id":%q},"permissions":{"role":"editor"}}`, ids["eve"]))
	s.Must(t, "PATCH", path, who["eve"], `{"name":"Store"}`)
	for _, patch := range []string{`{"customDomains":["a.example.com"]}`, `{"allowUnsecurePages":true}`, `{"repositories":{"main":{"name":"M","config":{"url":"https://example.com/r.git"}}}}`} {
		got := s.Call(t, "PATCH", path, who["eve"], patch)
		require.Equal(t, "permission_denied", got.Code(t), patch)
	}
	whole := s.Get(t, path, who["eve"]).Body
	require.Equal(t, 200, s.Call(t, "PATCH", path, who["eve"], string(whole)).StatusCode, "what was read may be sent back")
}

func TestALockThatRanOutIsReleased(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "DISABLE_RATE_LIMIT=yes", "WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES=3s", "VERSIONING_OPERATION_TIMEOUT_MINUTES=2s").Start(t)
	admin := nodetest.Bearer(s.SignInAdmin(t))
	id := s.Must(t, "POST", "/v2/workspaces", admin, `{"name":"Shop"}`)["id"].(string)
	s.Must(t, "POST", "/v2/workspaces/"+id+"/writeLock", admin, "")
	require.Equal(t, 423, s.Call(t, "PATCH", "/v2/workspaces/"+id, admin, `{"name":"x"}`).StatusCode)
	require.Eventually(t, func() bool { return slices.Contains(s.EventTypes(t, id), "workspaces.unlocked") }, time.Minute, 50*time.Millisecond)
	s.Must(t, "PATCH", "/v2/workspaces/"+id, admin, `{"name":"x"}`)
}

func TestTheOldSlugOfThePlatformStays(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	admin := nodetest.Bearer(s.SignInAdmin(t))
	require.Equal(t, "platform", s.Must(t, "GET", "/v2/workspaces/slug:platform", admin, "")["id"])
	require.Equal(t, "protected", s.Call(t, "PATCH", "/v2/workspaces/platform", admin, `{"slug":"other"}`).Reason(t))
	require.Equal(t, "Head office", s.Must(t, "PATCH", "/v2/workspaces/platform", admin, `{"name":"Head office"}`)["name"])
}

// Whoever comes first has the slug; of a thousand who want one of a hundred, a
// hundred get theirs.
func TestAThousandCreatesWithCollidingSlugs(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "DISABLE_RATE_LIMIT=yes", "MAX_CONCURRENT_REQUESTS=2000").Start(t)
	admin := nodetest.Bearer(s.SignInAdmin(t))
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
			got, err := s.Request(context.WithoutCancel(t.Context()), "POST", "/v2/workspaces", admin, fmt.Sprintf(`{"name":"w","slug":%q}`, slug))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && got.StatusCode == 201:
				won[slug] = append(won[slug], got.JSON(t)["id"].(string))
			case err != nil || got.StatusCode != 409:
				strange = append(strange, fmt.Sprint(err, string(got.Body)))
			}
		})
	}
	running.Wait()
	require.Empty(t, strange)
	require.Len(t, won, wanted)
	for slug, ids := range won {
		require.Len(t, ids, 1, slug)
		require.Equal(t, ids[0], s.Must(t, "GET", "/v2/workspaces/slug:"+slug, admin, "")["id"])
	}
	require.Equal(t, domain.Platform, s.Must(t, "GET", "/v2/workspaces/platform", admin, "")["id"])
}

// Whatever lets somebody read a workspace lets them find it in the list, and nothing else does.
func TestTheListHasWhatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "DISABLE_RATE_LIMIT=yes").Start(t)
	who, users := s.NewUsers(t, "ada", "bob", "cleo")
	ada, bob, cleo, admin := who["ada"], who["bob"], who["cleo"], nodetest.Bearer(s.SignInAdmin(t))
	var ids []string
	for _, name := range []string{"Named", "Public", "By rule", "By role", "Closed"} {
		ids = append(ids, s.Must(t, "POST", "/v2/workspaces", ada, fmt.Sprintf(`{"name":%q}`, name))["id"].(string))
	}
	path := func(at int) string { return "/v2/workspaces/" + ids[at] }
	key := s.Must(t, "POST", path(4)+"/security/apikeys", ada, `{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`)["apiKey"].(string)
	keyed := http.Header{"X-Svc-Api-Key": {key}}

	list := func(query string, h http.Header) (found []string) {
		t.Helper()
		for _, w := range s.Get(t, "/v2/workspaces?limit=100&"+query, h).List(t) {
			if w["id"] != domain.Platform {
				found = append(found, w["id"].(string))
			}
		}
		return found
	}
	agree := func(h http.Header, readable ...int) {
		t.Helper()
		var want []string
		for at, id := range ids {
			may := slices.Contains(readable, at)
			require.Equal(t, may, s.Get(t, "/v2/workspaces/"+id, h).StatusCode == 200, "reading %d", at)
			if may {
				want = append(want, id)
			}
		}
		require.ElementsMatch(t, want, list("", h))
		require.ElementsMatch(t, want, list("ids="+strings.Join(ids, ","), h), "named by ids")
		page := s.Get(t, "/v2/workspaces?limit=1", h)
		require.Equal(t, fmt.Sprint(len(want)), page.Header.Get("X-Total-Count"), "the count is of all pages")
	}
	agree(ada, 0, 1, 2, 3, 4)
	agree(bob)
	agree(keyed, 4)

	share := fmt.Sprintf(`{"target":{"id":%q},"permissions":{"policies":{"read":true}}}`, users["bob"])
	s.Must(t, "POST", path(0)+"/permissions", ada, share)
	s.Must(t, "POST", path(1)+"/permissions", ada, `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
	s.Must(t, "PUT", path(2)+"/security", ada, `{"authorizations":{"rules":[{"action":"read","subject":"workspaces"}]}}`)
	s.Must(t, "PUT", path(3)+"/security", ada, `{"authorizations":{"roles":{"staff":{"auth":{"svc":{"conditions":{"authData.email":{"$regex":"^bob"}}}}}},"rules":[{"action":"read","subject":"workspaces","role":"staff"}]}}`)
	agree(bob, 0, 1, 2, 3)
	agree(cleo, 1, 2)
	agree(keyed, 1, 2, 4)
	require.Equal(t, []string{ids[0]}, list("email=bob@example.org", ada), "named in a share")
	require.Equal(t, []string{ids[0]}, list("email=bob@example.org&ids="+ids[0]+","+ids[4], ada))
	require.Empty(t, list("owned=true", bob))
	require.ElementsMatch(t, ids, list("owned=true", ada))
	require.Empty(t, list("owned=true", admin))

	// The newest change comes first, for those who may read all as well.
	s.Must(t, "PATCH", path(2), ada, `{"name":"By a rule"}`)
	require.Equal(t, ids[2], list("", admin)[0])
	require.Equal(t, ids[2], list("", bob)[0])
	require.Equal(t, list("", admin), list("dirty=true", admin), "a filter does not change the order")

	// And what ends the right ends the entry.
	s.Must(t, "DELETE", path(0)+"/permissions/"+users["bob"], ada, "")
	s.Must(t, "DELETE", path(1)+"/permissions/*", ada, "")
	s.Must(t, "PUT", path(2)+"/security", ada, `{"authorizations":{}}`)
	s.Must(t, "DELETE", path(3), ada, "")
	ids = slices.Delete(ids, 3, 4)
	agree(bob)
	agree(ada, 0, 1, 2, 3)
}
