package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
)

// as is the same workspace, seen by somebody else.
func (p place) as(h http.Header) place {
	p.me = h
	return p
}

// userID is who somebody is.
func (p place) userID(t *testing.T) string {
	t.Helper()
	return p.does(t, 200, "GET", "/v2/me", "").json(t)["id"].(string)
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	nobody, stranger, friend := p.as(nil), p.as(s.person(t, "stranger")), p.as(s.person(t, "friend"))
	admin := p.as(bearer(s.admin(t)))
	all := p.path + "/pages"
	p.does(t, 201, "PUT", p.path+"/blocks/Hero", `{"name":"Hero","config":{"size":"big"}}`)
	made := p.does(t, 201, "POST", all, `{"name":"Home","slug":"home","blocks":[{"slug":"Hero","title":"Hi","onInit":"hero.shown"}],"styles":"a{}","public":true,"onInit":"opened"}`)
	page := made.json(t)
	id := page["id"].(string)
	one, visit, shares := all+"/home", "/v2/pages/shop/home", "/v2/pages/"+id+"/permissions"

	t.Run("one shows what rendering takes", func(t *testing.T) {
		require.Len(t, id, 7)
		require.Equal(t, false, page["public"], "only sharing makes a page public")
		require.Equal(t, p.id, page["workspaceId"])
		require.Equal(t, "shop", page["workspaceSlug"])
		require.Equal(t, "workspace-"+p.id, page["clientId"])
		kits := page["appInstances"].([]any)
		require.Len(t, kits, 1)
		require.Equal(t, map[string]any{"slug": "", "blocks": map[string]any{"Hero": map[string]any{"name": "Hero", "config": map[string]any{"size": "big"}}}}, kits[0])
		require.Equal(t, []any{"opened", "hero.shown"}, page["events"].(map[string]any)["emit"])
		got := p.does(t, 200, "GET", one, "")
		require.JSONEq(t, string(made.body), string(got.body))
		p.does(t, 304, "GET", one, "", "If-None-Match", got.Header.Get("ETag"))
		text := p.does(t, 200, "GET", one, "", "Accept", yamlType)
		require.Equal(t, got.Header.Get("ETag"), text.Header.Get("ETag"))
		require.NotContains(t, string(text.body), "workspaceId")
		p.does(t, 200, "PUT", p.path+"/blocks/Hero", `{"name":"Hero 2"}`)
		other := p.does(t, 200, "GET", one, "", "If-None-Match", got.Header.Get("ETag"))
		require.NotEqual(t, got.Header.Get("ETag"), other.Header.Get("ETag"), "its blocks are part of the answer")
		back := p.does(t, 200, "PATCH", one, string(other.body), "If-Match", got.Header.Get("ETag"))
		require.Equal(t, other.Header.Get("ETag"), back.Header.Get("ETag"), "what was read can be written back, and its own revision is what counts")
	})
	t.Run("lists leave settings of blocks out", func(t *testing.T) {
		var list []map[string]any
		require.NoError(t, json.Unmarshal(p.does(t, 200, "GET", all+"?search=home", "").body, &list))
		require.Len(t, list, 1)
		require.Equal(t, []any{map[string]any{"slug": "Hero"}}, list[0]["blocks"])
		require.NotContains(t, list[0], "styles")
		require.NotContains(t, list[0], "onInit")
	})
	t.Run("faults", func(t *testing.T) {
		p.refuses(t, 422, "validation_failed", "POST", all, `{"name":"x","slug":"_svc/x"}`)
		p.refuses(t, 400, "missing_parameter", "POST", all, `{"slug":"x"}`)
		p.refuses(t, 400, "invalid_request", "POST", all, `{"name":"x","nope":1}`)
		require.Contains(t, faults(p.refuses(t, 422, "validation_failed", "POST", all, "name: x\ncolorScheme: pink\n", "Content-Type", yamlType)), `"line":2`)
		p.refuses(t, 409, "resource_already_exists", "POST", all, `{"name":"x","slug":"HOME"}`)
		dry := p.does(t, 200, "POST", all+"?dryRun=true", `{"name":"x","slug":"_svc/x","colorScheme":"pink"}`).json(t)
		require.Len(t, dry["errors"], 2)
	})
	t.Run("is not for everybody", func(t *testing.T) {
		nobody.refuses(t, 401, "missing_token", "GET", visit, "")
		stranger.refuses(t, 403, "workspace_access_denied", "GET", visit, "")
		nobody.refuses(t, 404, "resource_not_found", "GET", "/v2/pages/shop/nope", "")
		nobody.refuses(t, 404, "resource_not_found", "GET", "/v2/pages/nowhere/home", "")
		stranger.refuses(t, 403, "workspace_access_denied", "GET", one, "")
		stranger.refuses(t, 403, "workspace_access_denied", "GET", all+"/nope", "")
		stranger.refuses(t, 403, "workspace_access_denied", "GET", all, "")
		stranger.refuses(t, 403, "workspace_access_denied", "PATCH", one, `{"name":"x"}`)
		stranger.refuses(t, 403, "workspace_access_denied", "DELETE", one, "")
		stranger.refuses(t, 403, "workspace_access_denied", "POST", all, `{"name":"x"}`)
		nobody.refuses(t, 401, "missing_token", "GET", shares, "")
		stranger.refuses(t, 403, "workspace_access_denied", "GET", shares, "")
		stranger.refuses(t, 403, "workspace_access_denied", "GET", "/v2/pages/unknown/permissions", "")
		require.Equal(t, "page", admin.refuses(t, 404, "resource_not_found", "GET", "/v2/pages/unknown/permissions", "")["resource"])
		seen := p.does(t, 200, "GET", visit, "")
		require.Equal(t, "workspace-"+p.id, seen.Header.Get("X-Svc-Client-Id"))
		require.NotEmpty(t, seen.Header.Get("X-Svc-Csrf-Token"))
	})
	t.Run("is shared with one person", func(t *testing.T) {
		user := friend.userID(t)
		before := p.does(t, 200, "GET", p.path, "").json(t)["contentRevision"]
		entry := p.does(t, 200, "POST", shares, `{"target":{"email":"friend@example.org"},"permissions":{"policies":{"read":true,"update":true}}}`).json(t)
		require.Equal(t, "F L", entry["target"].(map[string]any)["displayName"])
		require.Equal(t, before, p.does(t, 200, "GET", p.path, "").json(t)["contentRevision"], "such a share is no content")
		require.Len(t, p.does(t, 200, "GET", shares, "").json(t)["result"], 1)
		require.Len(t, p.does(t, 200, "GET", one, "").json(t)["permissions"], 1)
		shown := friend.does(t, 200, "GET", one, "").json(t)
		require.NotContains(t, shown, "permissions")
		friend.does(t, 200, "GET", visit, "")
		require.Equal(t, "1", friend.does(t, 200, "GET", all, "").Header.Get("X-Total-Count"))
		friend.does(t, 200, "PATCH", one, `{"name":"By a friend","blocks":[{"slug":"Hero"}]}`)
		friend.refuses(t, 403, "permission_denied", "DELETE", one, "")
		friend.refuses(t, 403, "permission_denied", "GET", shares, "")
		friend.refuses(t, 403, "workspace_access_denied", "GET", p.path, "")

		p.does(t, 200, "POST", shares, `{"target":{"id":"`+user+`"},"permissions":{"policies":{"read":true,"manage_permissions":true}}}`)
		require.Equal(t, "update", friend.refuses(t, 403, "permission_denied", "POST", shares, `{"target":{"email":"stranger@example.org"},"permissions":{"policies":{"update":true}}}`)["action"], "nobody shares what they do not hold")
		friend.does(t, 200, "POST", shares, `{"target":{"email":"stranger@example.org"},"permissions":{"policies":{"read":true}}}`)
		stranger.does(t, 200, "GET", visit, "")
		require.JSONEq(t, `{"id":"`+user+`"}`, string(p.does(t, 200, "DELETE", shares+"/"+user, "").body))
		p.does(t, 200, "DELETE", shares+"/"+stranger.userID(t), "")
		friend.refuses(t, 403, "workspace_access_denied", "GET", one, "")
		p.refuses(t, 404, "resource_not_found", "DELETE", shares+"/"+user, "")
		p.refuses(t, 404, "resource_not_found", "POST", shares, `{"target":{"email":"who@example.org"},"permissions":{"policies":{"read":true}}}`)
		p.refuses(t, 422, "validation_failed", "POST", shares, `{"target":{"role":"nope"},"permissions":{"policies":{"read":true}}}`)
		p.refuses(t, 400, "missing_parameter", "POST", shares, `{"target":{"public":true}}`)
	})
	t.Run("is shared with everyone", func(t *testing.T) {
		before := p.does(t, 200, "GET", p.path, "").json(t)["contentRevision"]
		p.refuses(t, 422, "validation_failed", "POST", shares, `{"target":{"public":true},"permissions":{"policies":{"read":true,"update":true}}}`)
		p.does(t, 200, "POST", shares, `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
		require.NotEqual(t, before, p.does(t, 200, "GET", p.path, "").json(t)["contentRevision"], "such a share is content")
		p.does(t, 200, "POST", shares, `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
		require.Contains(t, string(p.does(t, 200, "GET", one, "", "Accept", yamlType).body), "public: true\n")
		seen := nobody.does(t, 200, "GET", visit, "")
		require.Equal(t, true, seen.json(t)["public"])
		require.NotContains(t, seen.json(t), "permissions")
		require.Empty(t, seen.Header.Get("X-Svc-Csrf-Token"))
		stranger.does(t, 200, "GET", visit, "")
		nobody.does(t, 200, "GET", visit, "", "Accept", yamlType)
		changed := p.does(t, 200, "PATCH", one, `{"name":"Still public","public":false,"slug":"start"}`)
		require.Equal(t, true, changed.json(t)["public"])
		require.Equal(t, id, changed.json(t)["id"])
		nobody.does(t, 200, "GET", "/v2/pages/shop/start", "")
		p.does(t, 200, "DELETE", shares+"/*", "")
		nobody.refuses(t, 401, "missing_token", "GET", "/v2/pages/shop/start", "")
		require.Equal(t, false, p.does(t, 200, "GET", all+"/start", "").json(t)["public"])
		p.refuses(t, 404, "resource_not_found", "DELETE", shares+"/*", "")
	})
	t.Run("may use the blocks of apps", func(t *testing.T) {
		app := s.must(t, "POST", "/v2/workspaces", p.me, `{"name":"CRM","description":"People","photo":"/crm.png","blocks":{"Contacts":{"name":"Contacts"}}}`)["id"].(string)
		p.does(t, 201, "POST", "/v2/apps", `{"workspaceId":"`+app+`","slug":"crm"}`)
		p.does(t, 201, "POST", p.path+"/apps", `{"appSlug":"crm","slug":"mine"}`)
		s.must(t, "PATCH", "/v2/workspaces/"+app, p.me, `{"blocks":{"Unpublished":{"name":"No"}}}`)
		kits := p.does(t, 200, "GET", all+"/start", "").json(t)["appInstances"].([]any)
		require.Len(t, kits, 2)
		require.Equal(t, map[string]any{"slug": "mine", "blocks": map[string]any{"Contacts": map[string]any{"name": "Contacts"}}}, kits[1])
		p.does(t, 200, "PATCH", p.path+"/apps/mine", `{"appSlug":"crm","slug":"mine","disabled":true}`)
		require.Len(t, p.does(t, 200, "GET", all+"/start", "").json(t)["appInstances"], 1)
	})
	t.Run("an API key may share it", func(t *testing.T) {
		key := s.must(t, "POST", p.path+"/security/apikeys", p.me, `{"name":"k","rules":[{"action":["read","manage_permissions"],"subject":"pages"}]}`)["apiKey"].(string)
		byKey := p.as(http.Header{"X-Svc-Api-Key": {key}})
		require.Empty(t, byKey.does(t, 200, "GET", shares, "").json(t)["result"])
		byKey.does(t, 200, "GET", "/v2/pages/shop/start", "")
	})
	t.Run("has a host of its own", func(t *testing.T) {
		p.does(t, 200, "PATCH", p.path, `{"customDomains":["shop.example.com"]}`)
		require.Equal(t, []any{"shop.example.com"}, p.does(t, 200, "GET", "/v2/pages/Shop.Example.com/start", "").json(t)["customDomains"])
		nobody.refuses(t, 404, "resource_not_found", "GET", "/v2/pages/other.example.com/start", "")
	})
	t.Run("is deleted", func(t *testing.T) {
		require.JSONEq(t, `{"id":"`+id+`"}`, string(p.does(t, 200, "DELETE", all+"/start", "").body))
		p.refuses(t, 404, "resource_not_found", "GET", all+"/start", "")
		admin.refuses(t, 404, "resource_not_found", "GET", shares, "")
		require.Equal(t, id, p.does(t, 200, "GET", one+"?atSeq="+made.Header.Get("X-Svc-Seq"), "").json(t)["id"])
	})
	s.stop(t)
	var types []string
	for _, ev := range stored(t, s.dir, domain.State) {
		if name, ok := strings.CutPrefix(ev.Data.EventType(), "workspaces.pages."); ok {
			types = append(types, name)
		}
		if shared, ok := ev.Data.(workspace.PageShared); ok {
			require.Equal(t, shared.Target.Public, shared.Entry != nil)
		}
	}
	require.Equal(t, []string{
		"created", "permissions.shared", "updated", "permissions.shared", "permissions.shared", "permissions.deleted", "permissions.deleted",
		"permissions.shared", "updated", "permissions.deleted", "deleted",
	}, types)
}

// A rule that speaks of some documents is kept in reads, lists and changes.
func TestRulesSpeakOfDocuments(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	writer := p.as(s.person(t, "writer"))
	p.does(t, 200, "PUT", p.path+"/security", `{"authorizations":{"roles":{"writer":{}},"rules":[
		{"role":"writer","action":["read","create","update"],"subject":["pages","automations"],"conditions":{"labels":"draft"}},
		{"role":"writer","action":"update","subject":"automations","conditions":{"slug":"switch"},"fields":["disabled"]},
		{"role":"writer","action":"read","subject":"automations","conditions":{"slug":"switch"}}]}}`)
	p.does(t, 200, "POST", p.path+"/permissions", fmt.Sprintf(`{"target":{"id":%q},"permissions":{"role":"writer"}}`, writer.userID(t)))
	p.does(t, 200, "PUT", p.path+"/security", string(p.does(t, 200, "GET", p.path+"/security", "").body))
	for _, kind := range []string{"pages", "automations"} {
		p.does(t, 201, "POST", p.path+"/"+kind, `{"name":"Draft","slug":"draft","labels":["draft"]`+body(kind)+`}`)
		p.does(t, 201, "POST", p.path+"/"+kind, `{"name":"Live","slug":"live"`+body(kind)+`}`)
	}
	p.does(t, 201, "POST", p.path+"/automations", `{"name":"Switch","slug":"switch","do":[]}`)

	for _, kind := range []string{"pages", "automations"} {
		all := p.path + "/" + kind
		writer.does(t, 200, "GET", all+"/draft", "")
		writer.does(t, 200, "PATCH", all+"/draft", `{"name":"Draft 2","labels":["draft"]`+body(kind)+`}`)
		writer.refuses(t, 403, "permission_denied", "PATCH", all+"/live", `{"name":"Mine","labels":["draft"]`+body(kind)+`}`)
		writer.refuses(t, 403, "permission_denied", "PATCH", all+"/draft", `{"name":"Live","labels":null`+body(kind)+`}`)
		writer.refuses(t, 403, "permission_denied", "DELETE", all+"/live", "")
		writer.does(t, 201, "POST", all, `{"name":"Mine","labels":["draft"]`+body(kind)+`}`)
	}
	sw := p.path + "/automations/switch"
	now := writer.does(t, 200, "GET", sw, "").json(t)
	now["disabled"] = true
	off, err := json.Marshal(now)
	require.NoError(t, err)
	writer.does(t, 200, "PATCH", sw, string(off))
	now["name"] = "Mine"
	off, err = json.Marshal(now)
	require.NoError(t, err)
	writer.refuses(t, 403, "permission_denied", "PATCH", sw, string(off))
}

// body is what a document of a folder needs besides.
func body(kind string) string {
	if kind == "automations" {
		return `,"do":[]`
	}
	return ""
}
