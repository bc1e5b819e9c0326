package workspaces_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/workspace"
)

func TestPages(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	nobody, stranger, friend := p.As(nil), p.As(s.NewUser(t, "stranger")), p.As(s.NewUser(t, "friend"))
	admin := p.As(nodetest.Bearer(s.SignInAdmin(t)))
	all := p.Path + "/pages"
	p.Do(t, 201, "PUT", p.Path+"/blocks/Hero", `{"name":"Hero","config":{"size":"big"}}`)
	made := p.Do(t, 201, "POST", all, `{"name":"Home","slug":"home","blocks":[{"slug":"Hero","title":"Hi","onInit":"hero.shown"}],"styles":"a{}","public":true,"onInit":"opened"}`)
	page := made.JSON(t)
	id := page["id"].(string)
	one, visit, shares := all+"/home", "/v2/pages/shop/home", "/v2/pages/"+id+"/permissions"

	t.Run("one shows what rendering takes", func(t *testing.T) {
		require.Len(t, id, 7)
		require.Equal(t, false, page["public"], "only sharing makes a page public")
		require.Equal(t, p.ID, page["workspaceId"])
		require.Equal(t, "shop", page["workspaceSlug"])
		require.Equal(t, "workspace-"+p.ID, page["clientId"])
		kits := page["appInstances"].([]any)
		require.Len(t, kits, 1)
		require.Equal(t, map[string]any{"slug": "", "blocks": map[string]any{"Hero": map[string]any{"name": "Hero", "config": map[string]any{"size": "big"}}}}, kits[0])
		require.Equal(t, []any{"opened", "hero.shown"}, page["events"].(map[string]any)["emit"])
		got := p.Do(t, 200, "GET", one, "")
		require.JSONEq(t, string(made.Body), string(got.Body))
		p.Do(t, 304, "GET", one, "", "If-None-Match", got.Header.Get("ETag"))
		text := p.Do(t, 200, "GET", one, "", "Accept", nodetest.YAMLType)
		require.Equal(t, got.Header.Get("ETag"), text.Header.Get("ETag"))
		require.NotContains(t, string(text.Body), "workspaceId")
		p.Do(t, 200, "PUT", p.Path+"/blocks/Hero", `{"name":"Hero 2"}`)
		other := p.Do(t, 200, "GET", one, "", "If-None-Match", got.Header.Get("ETag"))
		require.NotEqual(t, got.Header.Get("ETag"), other.Header.Get("ETag"), "its blocks are part of the answer")
		back := p.Do(t, 200, "PATCH", one, string(other.Body), "If-Match", got.Header.Get("ETag"))
		require.Equal(t, other.Header.Get("ETag"), back.Header.Get("ETag"), "what was read can be written back, and its own revision is what counts")
	})
	t.Run("lists leave settings of blocks out", func(t *testing.T) {
		var list []map[string]any
		require.NoError(t, json.Unmarshal(p.Do(t, 200, "GET", all+"?search=home", "").Body, &list))
		require.Len(t, list, 1)
		require.Equal(t, []any{map[string]any{"slug": "Hero"}}, list[0]["blocks"])
		require.NotContains(t, list[0], "styles")
		require.NotContains(t, list[0], "onInit")
	})
	t.Run("faults", func(t *testing.T) {
		p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"name":"x","slug":"_svc/x"}`)
		p.RequireRefusal(t, 400, "missing_parameter", "POST", all, `{"slug":"x"}`)
		p.RequireRefusal(t, 400, "invalid_request", "POST", all, `{"name":"x","nope":1}`)
		require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", all, "name: x\ncolorScheme: pink\n", "Content-Type", nodetest.YAMLType)), `"line":2`)
		p.RequireRefusal(t, 409, "resource_already_exists", "POST", all, `{"name":"x","slug":"HOME"}`)
		dry := p.Do(t, 200, "POST", all+"?dryRun=true", `{"name":"x","slug":"_svc/x","colorScheme":"pink"}`).JSON(t)
		require.Len(t, dry["errors"], 2)
	})
	t.Run("is not for everybody", func(t *testing.T) {
		nobody.RequireRefusal(t, 401, "missing_token", "GET", visit, "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", visit, "")
		nobody.RequireRefusal(t, 404, "resource_not_found", "GET", "/v2/pages/shop/nope", "")
		nobody.RequireRefusal(t, 404, "resource_not_found", "GET", "/v2/pages/nowhere/home", "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", one, "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", all+"/nope", "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", all, "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "PATCH", one, `{"name":"x"}`)
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "DELETE", one, "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", all, `{"name":"x"}`)
		nobody.RequireRefusal(t, 401, "missing_token", "GET", shares, "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", shares, "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", "/v2/pages/unknown/permissions", "")
		require.Equal(t, "page", admin.RequireRefusal(t, 404, "resource_not_found", "GET", "/v2/pages/unknown/permissions", "")["resource"])
		seen := p.Do(t, 200, "GET", visit, "")
		require.Equal(t, "workspace-"+p.ID, seen.Header.Get("X-Svc-Client-Id"))
		require.NotEmpty(t, seen.Header.Get("X-Svc-Csrf-Token"))
	})
	t.Run("is shared with one person", func(t *testing.T) {
		user := friend.UserID(t)
		before := p.Do(t, 200, "GET", p.Path, "").JSON(t)["contentRevision"]
		entry := p.Do(t, 200, "POST", shares, `{"target":{"email":"friend@example.org"},"permissions":{"policies":{"read":true,"update":true}}}`).JSON(t)
		require.Equal(t, "F L", entry["target"].(map[string]any)["displayName"])
		require.Equal(t, before, p.Do(t, 200, "GET", p.Path, "").JSON(t)["contentRevision"], "such a share is no content")
		require.Len(t, p.Do(t, 200, "GET", shares, "").JSON(t)["result"], 1)
		require.Len(t, p.Do(t, 200, "GET", one, "").JSON(t)["permissions"], 1)
		shown := friend.Do(t, 200, "GET", one, "").JSON(t)
		require.NotContains(t, shown, "permissions")
		friend.Do(t, 200, "GET", visit, "")
		require.Equal(t, "1", friend.Do(t, 200, "GET", all, "").Header.Get("X-Total-Count"))
		friend.Do(t, 200, "PATCH", one, `{"name":"By a friend","blocks":[{"slug":"Hero"}]}`)
		friend.RequireRefusal(t, 403, "permission_denied", "DELETE", one, "")
		friend.RequireRefusal(t, 403, "permission_denied", "GET", shares, "")
		friend.RequireRefusal(t, 403, "workspace_access_denied", "GET", p.Path, "")

		p.Do(t, 200, "POST", shares, `{"target":{"id":"`+user+`"},"permissions":{"policies":{"read":true,"manage_permissions":true}}}`)
		require.Equal(t, "update", friend.RequireRefusal(t, 403, "permission_denied", "POST", shares, `{"target":{"email":"stranger@example.org"},"permissions":{"policies":{"update":true}}}`)["action"], "nobody shares what they do not hold")
		friend.Do(t, 200, "POST", shares, `{"target":{"email":"stranger@example.org"},"permissions":{"policies":{"read":true}}}`)
		stranger.Do(t, 200, "GET", visit, "")
		require.JSONEq(t, `{"id":"`+user+`"}`, string(p.Do(t, 200, "DELETE", shares+"/"+user, "").Body))
		p.Do(t, 200, "DELETE", shares+"/"+stranger.UserID(t), "")
		friend.RequireRefusal(t, 403, "workspace_access_denied", "GET", one, "")
		p.RequireRefusal(t, 404, "resource_not_found", "DELETE", shares+"/"+user, "")
		p.RequireRefusal(t, 404, "resource_not_found", "POST", shares, `{"target":{"email":"who@example.org"},"permissions":{"policies":{"read":true}}}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", shares, `{"target":{"role":"nope"},"permissions":{"policies":{"read":true}}}`)
		p.RequireRefusal(t, 400, "missing_parameter", "POST", shares, `{"target":{"public":true}}`)
	})
	t.Run("is shared with everyone", func(t *testing.T) {
		before := p.Do(t, 200, "GET", p.Path, "").JSON(t)["contentRevision"]
		p.RequireRefusal(t, 422, "validation_failed", "POST", shares, `{"target":{"public":true},"permissions":{"policies":{"read":true,"update":true}}}`)
		p.Do(t, 200, "POST", shares, `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
		require.NotEqual(t, before, p.Do(t, 200, "GET", p.Path, "").JSON(t)["contentRevision"], "such a share is content")
		p.Do(t, 200, "POST", shares, `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
		require.Contains(t, string(p.Do(t, 200, "GET", one, "", "Accept", nodetest.YAMLType).Body), "public: true\n")
		seen := nobody.Do(t, 200, "GET", visit, "")
		require.Equal(t, true, seen.JSON(t)["public"])
		require.NotContains(t, seen.JSON(t), "permissions")
		require.Empty(t, seen.Header.Get("X-Svc-Csrf-Token"))
		stranger.Do(t, 200, "GET", visit, "")
		nobody.Do(t, 200, "GET", visit, "", "Accept", nodetest.YAMLType)
		changed := p.Do(t, 200, "PATCH", one, `{"name":"Still public","public":false,"slug":"start"}`)
		require.Equal(t, true, changed.JSON(t)["public"])
		require.Equal(t, id, changed.JSON(t)["id"])
		nobody.Do(t, 200, "GET", "/v2/pages/shop/start", "")
		p.Do(t, 200, "DELETE", shares+"/*", "")
		nobody.RequireRefusal(t, 401, "missing_token", "GET", "/v2/pages/shop/start", "")
		require.Equal(t, false, p.Do(t, 200, "GET", all+"/start", "").JSON(t)["public"])
		p.RequireRefusal(t, 404, "resource_not_found", "DELETE", shares+"/*", "")
	})
	t.Run("may use the blocks of apps", func(t *testing.T) {
		app := s.Must(t, "POST", "/v2/workspaces", p.Auth, `{"name":"CRM","description":"People","photo":"/crm.png","blocks":{"Contacts":{"name":"Contacts"}}}`)["id"].(string)
		p.Do(t, 201, "POST", "/v2/apps", `{"workspaceId":"`+app+`","slug":"crm"}`)
		p.Do(t, 201, "POST", p.Path+"/apps", `{"appSlug":"crm","slug":"mine"}`)
		s.Must(t, "PATCH", "/v2/workspaces/"+app, p.Auth, `{"blocks":{"Unpublished":{"name":"No"}}}`)
		kits := p.Do(t, 200, "GET", all+"/start", "").JSON(t)["appInstances"].([]any)
		require.Len(t, kits, 2)
		require.Equal(t, map[string]any{"slug": "mine", "blocks": map[string]any{"Contacts": map[string]any{"name": "Contacts"}}}, kits[1])
		p.Do(t, 200, "DELETE", "/v2/apps/crm", "")
		require.Equal(t, kits, p.Do(t, 200, "GET", all+"/start", "").JSON(t)["appInstances"], "an instance keeps the blocks of an app that is published no more")
		p.Do(t, 200, "PATCH", p.Path+"/apps/mine", `{"appSlug":"crm","slug":"mine","disabled":true}`)
		require.Len(t, p.Do(t, 200, "GET", all+"/start", "").JSON(t)["appInstances"], 1)
	})
	t.Run("an API key may share it", func(t *testing.T) {
		key := s.Must(t, "POST", p.Path+"/security/apikeys", p.Auth, `{"name":"k","rules":[{"action":["read","manage_permissions"],"subject":"pages"}]}`)["apiKey"].(string)
		byKey := p.As(http.Header{"X-Svc-Api-Key": {key}})
		require.Empty(t, byKey.Do(t, 200, "GET", shares, "").JSON(t)["result"])
		byKey.Do(t, 200, "GET", "/v2/pages/shop/start", "")
	})
	t.Run("has a host of its own", func(t *testing.T) {
		p.Do(t, 200, "PATCH", p.Path, `{"customDomains":["shop.example.com"]}`)
		require.Equal(t, []any{"shop.example.com"}, p.Do(t, 200, "GET", "/v2/pages/Shop.Example.com/start", "").JSON(t)["customDomains"])
		nobody.RequireRefusal(t, 404, "resource_not_found", "GET", "/v2/pages/other.example.com/start", "")
	})
	t.Run("is deleted", func(t *testing.T) {
		require.JSONEq(t, `{"id":"`+id+`"}`, string(p.Do(t, 200, "DELETE", all+"/start", "").Body))
		p.RequireRefusal(t, 404, "resource_not_found", "GET", all+"/start", "")
		admin.RequireRefusal(t, 404, "resource_not_found", "GET", shares, "")
		require.Equal(t, id, p.Do(t, 200, "GET", one+"?atSeq="+made.Header.Get("X-Svc-Seq"), "").JSON(t)["id"])
	})
	s.Stop(t)
	var types []string
	for _, ev := range nodetest.StoredEvents(t, s.Dir, domain.State) {
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
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	writer := p.As(s.NewUser(t, "writer"))
	p.Do(t, 200, "PUT", p.Path+"/security", `{"authorizations":{"roles":{"writer":{}},"rules":[
		{"role":"writer","action":["read","create","update"],"subject":["pages","automations"],"conditions":{"labels":"draft"}},
		{"role":"writer","action":"update","subject":"automations","conditions":{"slug":"switch"},"fields":["disabled"]},
		{"role":"writer","action":"read","subject":"automations","conditions":{"slug":"switch"}}]}}`)
	p.Do(t, 200, "POST", p.Path+"/permissions", fmt.Sprintf(`{"target":{"id":%q},"permissions":{"role":"writer"}}`, writer.UserID(t)))
	p.Do(t, 200, "PUT", p.Path+"/security", string(p.Do(t, 200, "GET", p.Path+"/security", "").Body))
	for _, kind := range []string{"pages", "automations"} {
		p.Do(t, 201, "POST", p.Path+"/"+kind, `{"name":"Draft","slug":"draft","labels":["draft"]`+body(kind)+`}`)
		p.Do(t, 201, "POST", p.Path+"/"+kind, `{"name":"Live","slug":"live"`+body(kind)+`}`)
	}
	p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"Switch","slug":"switch","do":[]}`)

	for _, kind := range []string{"pages", "automations"} {
		all := p.Path + "/" + kind
		writer.Do(t, 200, "GET", all+"/draft", "")
		writer.Do(t, 200, "PATCH", all+"/draft", `{"name":"Draft 2","labels":["draft"]`+body(kind)+`}`)
		writer.RequireRefusal(t, 403, "permission_denied", "PATCH", all+"/live", `{"name":"Mine","labels":["draft"]`+body(kind)+`}`)
		writer.RequireRefusal(t, 403, "permission_denied", "PATCH", all+"/draft", `{"name":"Live","labels":null`+body(kind)+`}`)
		writer.RequireRefusal(t, 403, "permission_denied", "DELETE", all+"/live", "")
		writer.Do(t, 201, "POST", all, `{"name":"Mine","labels":["draft"]`+body(kind)+`}`)
	}
	sw := p.Path + "/automations/switch"
	now := writer.Do(t, 200, "GET", sw, "").JSON(t)
	now["disabled"] = true
	off, err := json.Marshal(now)
	require.NoError(t, err)
	writer.Do(t, 200, "PATCH", sw, string(off))
	now["name"] = "Mine"
	off, err = json.Marshal(now)
	require.NoError(t, err)
	writer.RequireRefusal(t, 403, "permission_denied", "PATCH", sw, string(off))
}

// body is what a document of a folder needs besides.
func body(kind string) string {
	if kind == "automations" {
		return `,"do":[]`
	}
	return ""
}
