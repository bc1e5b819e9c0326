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

// back sends a restoration or an undoing that is carried out.
func (p *historyScenario) back(path, body string) map[string]any {
	p.t.Helper()
	got := p.Call(p.t, "POST", p.path+path, p.owner, body)
	require.Equal(p.t, http.StatusOK, got.StatusCode, "%s", got.Body)
	return got.JSON(p.t)
}

// requireRefusal sends a request that is refused, and returns the details.
func (p *historyScenario) requireRefusal(path, body string, h http.Header, status int, code string) map[string]any {
	p.t.Helper()
	got := p.Call(p.t, "POST", p.path+path, h, body)
	require.Equal(p.t, status, got.StatusCode, "%s", got.Body)
	require.Equal(p.t, code, got.Code(p.t), "%s", got.Body)
	details, _ := got.JSON(p.t)["details"].(map[string]any)
	return details
}

func (p *historyScenario) getObject(path string) map[string]any {
	p.t.Helper()
	got, err := p.Request(p.t.Context(), "GET", p.path+path, p.owner, "")
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, got.StatusCode, "%s", got.Body)
	return got.JSON(p.t)
}

func TestAWorkspaceIsRestored(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t)
	p.write("POST", "/automations", automation("charge", "charged"))
	p.write("POST", "/automations", automation("refund", "refunded"))
	p.write("POST", "/pages", `{"slug":"home","name":"Home","blocks":[]}`)
	pageID := p.getObject("/pages/home")["id"].(string)
	p.write("PATCH", "", `{"description":"As it was","labels":["web","old"]}`)
	then := p.write("PATCH", "/automations/charge", automation("charge", "billed"))
	before := p.getObject("?atSeq=" + then)

	p.write("PATCH", "/pages/home", `{"slug":"start","name":"Start","blocks":[]}`)
	p.write("DELETE", "/automations/refund", "")
	p.write("POST", "/automations", automation("newer", "news"))
	p.write("PATCH", "", `{"name":"Other","slug":"other-shop","labels":["new"],"description":null,"allowUnsecurePages":true}`)
	p.write("PUT", "/security", `{"authorizations":{"roles":{"editor":{}},"rules":[{"role":"editor","action":["read","update"],"subject":"workspaces"}]}}`)
	body := fmt.Sprintf(`{"seq":%q}`, then)

	t.Run("first as a dry run", func(t *testing.T) {
		dry := p.back("/restore", fmt.Sprintf(`{"seq":%q,"dryRun":true}`, then))
		require.Equal(t, []any{"automations/refund", "index", "pages/home", "security"}, dry["imported"])
		require.Equal(t, []any{"automations/newer", "pages/start"}, dry["deleted"])
		require.Equal(t, dry, p.back("/restore?dryRun=true", body))
		require.Equal(t, "Other", p.getObject("")["name"])
	})
	t.Run("not while it is locked", func(t *testing.T) {
		p.write("POST", "/writeLock", `{"reason":"audit"}`)
		require.Equal(t, "audit", p.requireRefusal("/restore", body, p.owner, http.StatusLocked, "resource_locked")["reason"])
		p.requireRefusal("/undo", nodetest.UndoBody(then), p.owner, http.StatusLocked, "resource_locked")
		p.write("DELETE", "/writeLock", "")
	})
	t.Run("without security by those who do not manage it", func(t *testing.T) {
		got := p.Call(t, "POST", p.path+"/restore", p.editor, fmt.Sprintf(`{"seq":%q,"dryRun":true}`, then)).JSON(t)
		require.NotContains(t, got["imported"], "security")
		require.Contains(t, string(mustJSON(t, got["warnings"])), "security_excluded")
		require.Contains(t, string(mustJSON(t, got["warnings"])), "allowUnsecurePages")
	})
	t.Run("in one step", func(t *testing.T) {
		done := p.back("/restore", body)
		require.Equal(t, []any{"automations/newer", "pages/start"}, done["deleted"])
		require.Empty(t, done["errors"])
		require.Contains(t, string(mustJSON(t, done["warnings"])), "slug_kept")
		now := done["workspace"].(map[string]any)
		require.Equal(t, p.getObject(""), now)
		require.Equal(t, now["contentRevision"], done["contentRevision"])
		require.Equal(t, "other-shop", now["slug"], "where it runs stays")
		require.Equal(t, "Shop", now["name"])
		require.Equal(t, "As it was", now["description"])
		require.Equal(t, []any{"old", "web"}, now["labels"])
		require.NotContains(t, now, "allowUnsecurePages")
		require.Len(t, now["automations"], 2)
		require.Equal(t, before["automations"].(map[string]any)["charge"].(map[string]any)["checksum"], p.getObject("/automations/charge")["checksum"])
		require.Equal(t, pageID, p.getObject("/pages/home")["id"], "the page moved back")
		diff := p.Get(t, p.path+"/diff?from=seq:"+then, p.owner).JSON(t)
		require.Len(t, diff["changes"], 1, "the slug: %v", diff["changes"])
	})
	t.Run("which changes nothing twice", func(t *testing.T) {
		before := p.history("")
		again := p.back("/restore", body)
		require.Empty(t, again["imported"])
		require.Empty(t, again["deleted"])
		require.Equal(t, p.getObject("")["contentRevision"], again["contentRevision"])
		require.Len(t, p.history(""), len(before))
	})
	t.Run("and can be undone as a whole", func(t *testing.T) {
		last := p.history("types=workspaces.restored")[0]
		require.Equal(t, "Restored: 4 changed, 2 deleted", last["summary"])
		require.Equal(t, true, last["undoable"])
		undone := p.back("/undo", nodetest.UndoBody(last["seq"].(string)))
		require.Equal(t, "Other", undone["workspace"].(map[string]any)["name"])
		require.Equal(t, pageID, p.getObject("/pages/start")["id"])
		require.Len(t, p.getObject("/security")["authorizations"].(map[string]any)["rules"], 1)
	})
	t.Run("to a time", func(t *testing.T) {
		at := p.history("types=workspaces.pages.created")[0]["at"].(string)
		done := p.back("/restore", fmt.Sprintf(`{"at":%q}`, at))
		require.Equal(t, pageID, p.getObject("/pages/home")["id"])
		require.NotContains(t, done["workspace"], "description")
	})
	t.Run("not from what is no moment", func(t *testing.T) {
		p.requireRefusal("/restore", `{}`, p.owner, 400, "missing_parameter")
		p.requireRefusal("/restore", fmt.Sprintf(`{"seq":%q,"at":"2026-01-01T00:00:00Z"}`, then), p.owner, 400, "invalid_request")
		p.requireRefusal("/restore", `{"seq":true}`, p.owner, 400, "invalid_request")
		p.requireRefusal("/restore", `{"seq":"1","more":1}`, p.owner, 400, "invalid_request")
		p.requireRefusal("/restore", `{"seq":"nonsense"}`, p.owner, 422, "validation_failed")
		p.requireRefusal("/restore", `{"at":"yesterday"}`, p.owner, 422, "validation_failed")
		p.requireRefusal("/restore", `{"at":"2020-01-01T00:00:00Z"}`, p.owner, 404, "resource_not_found")
		p.requireRefusal("/restore", `{"seq":1}`, p.owner, 404, "resource_not_found")
		p.requireRefusal("/restore", `{"version":"v1"}`, p.owner, 404, "resource_not_found")
	})
	p.Stop(t)
	var restored []workspace.Restored
	for _, ev := range nodetest.StoredEvents(t, p.Dir, domain.State) {
		if e, ok := ev.Data.(workspace.Restored); ok {
			restored = append(restored, e)
			for _, entry := range e.Switch.Entries {
				require.Empty(t, entry.Body, "bodies are in the content store already")
			}
		}
	}
	require.Len(t, restored, 3)
	require.Equal(t, workspace.From{Seq: then}, restored[0].Restore.From)
	require.NotEmpty(t, restored[1].Restore.From.Undo)
	require.NotEmpty(t, restored[2].Restore.From.At)
}

func TestAChangeIsUndone(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t)
	p.write("POST", "/automations", automation("charge", "charged"))
	text := func() string { return string(mustJSON(t, p.getObject("/automations/charge")["do"])) }

	t.Run("and the undoing too", func(t *testing.T) {
		seq := p.write("PATCH", "/automations/charge", automation("charge", "billed"))
		done := p.back("/undo", nodetest.UndoBody(seq))
		require.Equal(t, []any{"automations/charge"}, done["imported"])
		require.Contains(t, text(), "charged")
		details := p.requireRefusal("/undo", nodetest.UndoBody(seq), p.owner, 409, "resource_conflict")
		redo := p.history("")[0]["seq"].(string)
		require.Equal(t, map[string]any{"reason": "superseded", "by": []any{redo}}, details)
		p.back("/undo", nodetest.UndoBody(redo))
		require.Contains(t, text(), "billed")
	})
	t.Run("a deletion", func(t *testing.T) {
		p.back("/undo", nodetest.UndoBody(p.write("DELETE", "/automations/charge", "")))
		require.Contains(t, text(), "billed")
		made := p.write("POST", "/automations", automation("extra", "x"))
		done := p.back("/undo", nodetest.UndoBody(made))
		require.Equal(t, []any{"automations/extra"}, done["deleted"])
	})
	t.Run("a renaming", func(t *testing.T) {
		p.write("POST", "/pages", `{"slug":"home","name":"Home","blocks":[]}`)
		id := p.getObject("/pages/home")["id"].(string)
		p.write("PATCH", "/automations/charge", automation("collect", "billed"))
		seq := p.write("PATCH", "/pages/home", `{"slug":"start","name":"Home","blocks":[]}`)
		done := p.back("/undo", nodetest.UndoBody(seq))
		require.Equal(t, []any{[]any{"pages/home"}, []any{"pages/start"}}, []any{done["imported"], done["deleted"]})
		require.Equal(t, id, p.getObject("/pages/home")["id"])
		created := p.getObject("/automations/collect")["createdAt"]
		p.back("/undo", nodetest.UndoBody(p.history("object=automations/collect")[0]["seq"].(string)))
		require.Equal(t, created, p.getObject("/automations/charge")["createdAt"], "it is the same automation")
	})
	t.Run("fields of the index one by one", func(t *testing.T) {
		named := p.write("PATCH", "", `{"name":"Second"}`)
		p.write("PATCH", "", `{"description":"Later"}`)
		done := p.back("/undo", nodetest.UndoBody(named))["workspace"].(map[string]any)
		require.Equal(t, []any{"Shop", "Later"}, []any{done["name"], done["description"]})
		p.write("PUT", "/blocks/hero", `{"name":"Hero"}`)
		block := p.write("PUT", "/blocks/hero", `{"name":"Heroine"}`)
		p.write("PUT", "/blocks/foot", `{"name":"Foot"}`)
		p.back("/undo", nodetest.UndoBody(block))
		require.Equal(t, map[string]any{"hero": map[string]any{"name": "Hero"}, "foot": map[string]any{"name": "Foot"}}, p.getObject("")["blocks"])
	})
	t.Run("the slug, unless it is taken meanwhile", func(t *testing.T) {
		seq := p.write("PATCH", "", `{"slug":"better"}`)
		p.Must(t, "POST", "/v2/workspaces", p.owner, `{"name":"Quick","slug":"shop"}`)
		details := p.requireRefusal("/undo", nodetest.UndoBody(seq), p.owner, 409, "resource_already_exists")
		require.Equal(t, map[string]any{"field": "slug", "value": "shop"}, details)
		again := p.write("PATCH", "", `{"slug":"best"}`)
		p.back("/undo", nodetest.UndoBody(again))
		require.Equal(t, "better", p.getObject("")["slug"], "the token of a write names the change in it")
	})
	t.Run("of security by those who manage it", func(t *testing.T) {
		seq := p.write("PUT", "/security", `{"authorizations":{"roles":{"editor":{}},"rules":[{"role":"editor","action":["read","update"],"subject":"workspaces"}]}}`)
		got := p.Call(t, "POST", p.path+"/undo", p.editor, nodetest.UndoBody(seq)).JSON(t)
		require.Empty(t, got["imported"])
		require.Contains(t, string(mustJSON(t, got["warnings"])), "security_excluded")
		require.Equal(t, []any{"security"}, p.back("/undo", nodetest.UndoBody(seq))["imported"])
	})
	t.Run("unless there is nothing to undo", func(t *testing.T) {
		all := p.history("limit=1000")
		created := all[len(all)-1]
		require.Equal(t, "workspaces.created", created["type"])
		p.requireRefusal("/undo", nodetest.UndoBody(created["seq"].(string)), p.owner, 422, "validation_failed")
		p.requireRefusal("/undo", fmt.Sprintf(`{"seq":%.0f}`, created["contentRevision"]), p.owner, 422, "validation_failed")
		p.requireRefusal("/undo", nodetest.UndoBody(all[len(all)-2]["seq"].(string)), p.owner, 422, "validation_failed")
		p.requireRefusal("/undo", `{"seq":999999}`, p.owner, 404, "resource_not_found")
		p.requireRefusal("/undo", `{"seq":0}`, p.owner, 404, "resource_not_found")
		p.requireRefusal("/undo", nodetest.UndoBody(domain.At(domain.State, 1).Token()), p.owner, 404, "resource_not_found")
		p.requireRefusal("/undo", `{"seq":"nonsense"}`, p.owner, 422, "validation_failed")
		p.requireRefusal("/undo", `{}`, p.owner, 400, "missing_parameter")
	})
}

func TestAWorkspaceIsDuplicated(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t)
	p.write("POST", "/automations", automation("charge", "charged"))
	p.write("POST", "/pages", `{"slug":"home","name":"Home","blocks":[]}`)
	p.write("POST", "/automations", fmt.Sprintf(`{"slug":"large","name":"large","do":[{"comment":%q}]}`, strings.Repeat("x", 300_000)))
	p.write("PATCH", "", `{"labels":["web","suggestions","production:eu"],"customDomains":["shop.example.org"],"config":{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"{{secret.pay}}","plain":1}}}`)
	p.write("PATCH", "/security/secrets", `{"pay":{"value":"s3cr3t-value-9f2"}}`)
	p.write("PUT", "/security", `{"authorizations":{"roles":{"editor":{}},"rules":[{"role":"editor","action":["read"],"subject":"workspaces"},{"role":"editor","action":"update","subject":"workspaces","reason":"REMOVE_ON_DUPLICATE"},{"role":"editor","action":"read","subject":"automations","conditions":{"slug":"large"},"inverted":true}]}}`)
	copied := func(h http.Header, body string) (map[string]any, nodetest.Answer) {
		got := p.Call(t, "POST", p.path+"/versions/current/duplicate", h, body)
		require.Equal(t, http.StatusCreated, got.StatusCode, "%s", got.Body)
		return got.JSON(t), got
	}
	made, got := copied(p.owner, "")
	require.Equal(t, "/v2/workspaces/"+made["id"].(string), got.Header.Get("Location"))
	require.Equal(t, "Shop copy", made["name"])
	require.Equal(t, []any{"web"}, made["labels"])
	require.NotContains(t, made, "customDomains")
	require.Len(t, made["automations"], 2)
	require.Contains(t, made["can"].(map[string]any)["workspaces"], "manage_security", "the caller owns it")
	path := "/v2/workspaces/" + made["id"].(string)
	entries, _ := p.list(path+"/history", p.owner)
	require.Equal(t, []any{"workspaces.duplicated", "workspaces.created"}, nodetest.Fields(entries, "type"))
	security, err := p.Request(t.Context(), "GET", path+"/security", p.owner, "")
	require.NoError(t, err)
	require.NotContains(t, string(security.Body), "REMOVE_ON_DUPLICATE")
	require.Contains(t, string(security.Body), `"clientId":"workspace-`+made["id"].(string))
	page, err := p.Request(t.Context(), "GET", path+"/pages/home", p.owner, "")
	require.NoError(t, err)
	require.NotEqual(t, p.getObject("/pages/home")["id"], page.JSON(t)["id"])
	large, err := p.Request(t.Context(), "GET", path+"/automations/large", p.owner, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, large.StatusCode)
	require.Greater(t, len(large.Body), 300_000)

	theirs, _ := copied(p.editor, `{"name":"Mine","slug":"mine"}`)
	require.Equal(t, []any{"Mine", "mine"}, []any{theirs["name"], theirs["slug"]})
	require.NotContains(t, theirs["automations"], "large", "what one may not read one does not get")
	require.Contains(t, theirs["automations"], "charge")

	for body, want := range map[string]int{`{"slug":"mine"}`: 409, `{"slug":"Not A Slug"}`: 422, `{"name":""}`: 422, `{"slug":""}`: 422, `{"name":"` + strings.Repeat("x", 61) + `"}`: 422, `{"labels":[]}`: 400} {
		require.Equal(t, want, p.Call(t, "POST", p.path+"/versions/current/duplicate", p.owner, body).StatusCode, body)
	}
	p.requireRefusal("/versions/v1/duplicate", "", p.owner, 404, "resource_not_found")
	key := p.Must(t, "POST", p.path+"/security/apikeys", p.owner, `{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`)["apiKey"].(string)
	asKey := http.Header{"X-Svc-Api-Key": {key}}
	ofKey, _ := copied(asKey, `{"name":"By key"}`)
	require.Equal(t, "By key", ofKey["name"])
	copyPath := "/v2/workspaces/" + ofKey["id"].(string)
	shown, err := p.Request(t.Context(), "GET", copyPath, p.owner, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, shown.StatusCode, "%s", shown.Body)
	require.Contains(t, shown.JSON(t)["can"].(map[string]any)["workspaces"], "manage_security", "the owners of the original own it")
	require.Regexp(t, "^key:", shown.JSON(t)["createdBy"])
	require.Contains(t, shown.JSON(t)["automations"], "charge")
	require.NotContains(t, string(shown.Body), "s3cr3t-value-9f2")
	require.Equal(t, "workspace_access_denied", p.Call(t, "GET", copyPath, asKey, "").Code(t), "the rights of a key end at its workspace")
	require.Equal(t, "workspace_access_denied", p.Call(t, "GET", copyPath, p.editor, "").Code(t))
	entries, _ = p.list(copyPath+"/history", p.owner)
	require.Equal(t, []any{"workspaces.duplicated", "workspaces.created"}, nodetest.Fields(entries, "type"))
	listed, _ := p.list("/v2/workspaces", asKey)
	require.Equal(t, []any{"Shop"}, nodetest.Fields(listed, "name"), "a key lists its workspace")
	blind := p.Must(t, "POST", p.path+"/security/apikeys", p.owner, `{"name":"blind","rules":[{"action":"create","subject":"files"}]}`)["apiKey"].(string)
	listed, _ = p.list("/v2/workspaces", http.Header{"X-Svc-Api-Key": {blind}})
	require.Empty(t, listed)
	p.requireRefusal("/versions/current/duplicate", "", http.Header{"X-Svc-Api-Key": {blind}}, 403, "permission_denied")
	plain, err := p.Request(t.Context(), "POST", strings.TrimPrefix(p.path, "/v2")+"/versions/current/duplicate", p.owner, `{"name":"Plain"}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, plain.StatusCode, "%s", plain.Body)
	p.Stop(t)
	nodetest.RequireNoSecret(t, p.Dir, "s3cr3t-value-9f2")
	for _, ev := range nodetest.StoredEvents(t, p.Dir, domain.State) {
		if e, ok := ev.Data.(workspace.Duplicated); ok {
			require.Equal(t, p.id, e.From.ID)
			body, err := json.Marshal(e.Payload())
			require.NoError(t, err)
			require.Contains(t, string(body), `"fromWorkspace":{"id":"`+p.id)
		}
	}
}
