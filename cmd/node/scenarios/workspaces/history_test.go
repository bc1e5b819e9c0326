package workspaces_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

// historyScenario is a workspace with a history, and the people who come to it.
type historyScenario struct {
	*nodetest.Service
	t                    *testing.T
	owner, editor, super http.Header
	id, path             string
}

func newHistoryScenario(t *testing.T, env ...string) *historyScenario {
	t.Helper()
	s := nodetest.NewServiceWithAccounts(t, env...)
	s.Start(t)
	p := &historyScenario{Service: s, t: t, super: nodetest.Bearer(s.SignInAdmin(t))}
	for name, h := range map[string]*http.Header{"owner": &p.owner, "editor": &p.editor} {
		s.SignUp(t, name+"@example.org")
		*h = nodetest.Bearer(s.Login(t, name+"@example.org", "long enough")["token"].(string))
	}
	p.id = s.Must(t, "POST", "/v2/workspaces", p.owner, `{"name":"Shop","slug":"shop","labels":["web"]}`)["id"].(string)
	p.path = "/v2/workspaces/" + p.id
	s.Must(t, "POST", p.path+"/permissions", p.owner, `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
	return p
}

// write sends a change that succeeds and returns the token of it.
func (p *historyScenario) write(method, path, body string) string {
	p.t.Helper()
	got, err := p.Request(p.t.Context(), method, p.path+path, p.owner, body)
	require.NoError(p.t, err)
	require.Less(p.t, got.StatusCode, 300, "%s %s: %s", method, path, got.Body)
	require.NotEmpty(p.t, got.Header.Get("X-Svc-Seq"))
	return got.Header.Get("X-Svc-Seq")
}

// list reads a list that is there. On a busy machine the read model may be behind for longer than a request waits.
func (p *historyScenario) list(path string, h http.Header) (entries []map[string]any, got nodetest.Answer) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		var err error
		got, err = p.Request(p.t.Context(), http.MethodGet, path, h, "")
		return err == nil && got.StatusCode != http.StatusServiceUnavailable
	}, time.Minute, 100*time.Millisecond)
	require.Equal(p.t, http.StatusOK, got.StatusCode, "%s", got.Body)
	require.NoError(p.t, json.Unmarshal(got.Body, &entries))
	return entries, got
}

// history reads the history of the workspace.
func (p *historyScenario) history(query string) []map[string]any {
	p.t.Helper()
	entries, _ := p.list(p.path+"/history?"+query, p.owner)
	return entries
}

func automation(slug, event string) string {
	return fmt.Sprintf(`{"slug":%q,"name":%q,"do":[{"emit":{"event":%q}}]}`, slug, slug, event)
}

func TestTheHistoryOfAWorkspace(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t)
	made := p.write("POST", "/automations", automation("charge", "charged"))
	p.write("PATCH", "/automations/charge", automation("charge", "billed"))
	p.write("PATCH", "", `{"name":"Web shop"}`)
	p.write("POST", "/security/apikeys", `{"name":"k","rules":[{"action":"read","subject":"workspaces"}]}`)

	t.Run("is listed newest first", func(t *testing.T) {
		all := p.history("")
		require.Equal(t, []any{
			"apikeys.created", "workspaces.updated", "workspaces.automations.updated", "workspaces.automations.created",
			"workspaces.permissions.shared", "workspaces.created",
		}, nodetest.Fields(all, "type"))
		require.Equal(t, []any{false, true, true, false, false, false}, nodetest.Fields(all, "undoable"), "the last change of each part; never the creation")
		require.Equal(t, made, all[3]["seq"])
		require.Equal(t, "Automation charge created", all[3]["summary"])
		require.Equal(t, "An API key of a workspace was created.", all[0]["summary"], "what has no sentence of its own has that of the catalogue")
		require.Equal(t, []any{"index"}, all[1]["objects"])
		require.Equal(t, []any{"automations/charge"}, all[3]["objects"])
		require.NotContains(t, all[0], "objects", "it touches no document")
		require.NotContains(t, all[0], "contentRevision")
		require.NotContains(t, all[0], "workspaceId")
		now := p.Get(t, p.path, p.owner).JSON(t)
		require.Equal(t, now["contentRevision"], all[1]["contentRevision"])
		require.NotEmpty(t, all[0]["correlationId"])
		require.NotEmpty(t, all[0]["by"])
	})
	t.Run("is filtered", func(t *testing.T) {
		require.Len(t, p.history("types=workspaces.automations.*"), 2)
		require.Len(t, p.history("types=apikeys.created,workspaces.created"), 2)
		require.Empty(t, p.history("types=workspaces"))
		require.Equal(t, []any{"workspaces.automations.updated", "workspaces.automations.created"}, nodetest.Fields(p.history("object=automations/charge"), "type"))
		require.Equal(t, []any{"workspaces.updated", "workspaces.created"}, nodetest.Fields(p.history("object=index"), "type"))
		require.Empty(t, p.history("by=nobody"))
		first := p.history("types=workspaces.created")[0]
		require.Len(t, p.history("by="+first["by"].(string)), 6)
		at := url.QueryEscape(first["at"].(string))
		require.Empty(t, p.history("types=workspaces.created&afterDate="+at), "exclusive")
		require.Empty(t, p.history("types=workspaces.created&beforeDate="+at))
		require.Len(t, p.history("types=workspaces.created&afterDate=2020-01-01&beforeDate=2100-01-01"), 1)
	})
	t.Run("tells of keys to those who manage them", func(t *testing.T) {
		entries, _ := p.list(p.path+"/history", p.editor)
		require.Len(t, entries, 5)
		require.NotContains(t, nodetest.Fields(entries, "type"), "apikeys.created")
	})
	t.Run("comes in pages", func(t *testing.T) {
		entries, got := p.list(p.path+"/history?limit=4", p.owner)
		require.Len(t, entries, 4)
		require.Equal(t, "6", got.Header.Get("X-Total-Count"))
		next := nextOf(t, got)
		require.Contains(t, next, "cursor=")
		p.write("PATCH", "", `{"name":"Meanwhile"}`)
		rest, got := p.list(next, p.owner)
		require.Equal(t, []any{"workspaces.permissions.shared", "workspaces.created"}, nodetest.Fields(rest, "type"), "unmoved by new entries")
		require.Empty(t, got.Header.Get("Link"))
		require.Empty(t, got.Header.Get("X-Total-Count"))
		_, got = p.list(p.path+"/history?limit=4&page=0", p.owner)
		require.Contains(t, nextOf(t, got), "page=1")
		rest, _ = p.list(nextOf(t, got), p.owner)
		require.Len(t, rest, 3)
	})
	t.Run("refuses what it cannot read", func(t *testing.T) {
		for _, query := range []string{"limit=1001", "limit=0", "page=-1", "cursor=x", "cursor=AAAA", "afterDate=yesterday", "page=1&cursor=" + made} {
			got := p.Get(t, p.path+"/history?"+query, p.owner)
			require.Equal(t, "invalid_parameter", got.Code(t), "%s", query)
			require.Equal(t, http.StatusBadRequest, got.StatusCode)
		}
		require.Equal(t, "missing_token", p.Get(t, p.path+"/history", nil).Code(t))
	})
	t.Run("of everything is for super admins", func(t *testing.T) {
		require.Equal(t, "permission_denied", p.Get(t, "/v2/history", p.owner).Code(t))
		all, _ := p.list("/v2/history?limit=1000", p.super)
		require.Contains(t, nodetest.Fields(all, "type"), "gateway.signup.succeeded")
		require.Contains(t, nodetest.Fields(all, "type"), "apikeys.created")
		require.NotContains(t, string(mustJSON(t, all)), `"names.`)
		for _, e := range all {
			require.NotEmpty(t, e["workspaceId"])
			require.NotEmpty(t, e["summary"], "%v", e)
		}
		own, _ := p.list("/v2/history?workspaceId="+p.id, p.super)
		require.Len(t, own, 7)
		some, got := p.list("/v2/history?limit=2&types=workspaces.automations.*", p.super)
		require.Equal(t, []any{p.id, p.id}, nodetest.Fields(some, "workspaceId"))
		require.Empty(t, got.Header.Get("Link"))
	})
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

func nextOf(t *testing.T, got nodetest.Answer) string {
	t.Helper()
	link := got.Header.Get("Link")
	require.Contains(t, link, `rel="next"`)
	path, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	return path
}

func TestAnyMomentCanBeReadAndCompared(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t)
	empty := p.history("types=workspaces.created")[0]
	first := p.write("POST", "/automations", automation("charge", "charged"))
	p.write("POST", "/pages", `{"slug":"home","name":"Home","blocks":[]}`)
	changed := p.write("PATCH", "/automations/charge", automation("charge", "billed"))
	p.write("DELETE", "/pages/home", "")
	p.write("PATCH", "", `{"name":"Web shop"}`)

	t.Run("a workspace at a sequence", func(t *testing.T) {
		then := p.Get(t, p.path+"?atSeq="+first, p.owner).JSON(t)
		require.Equal(t, "Shop", then["name"])
		require.Len(t, then["automations"], 1)
		require.Empty(t, then["pages"])
		require.Equal(t, p.history("object=automations/charge")[1]["contentRevision"], then["contentRevision"])
		numbered := p.Get(t, fmt.Sprintf("%s?atSeq=%.0f", p.path, then["contentRevision"]), p.owner).JSON(t)
		require.Equal(t, then, numbered, "a content revision names the same moment")
		yaml, err := p.Request(t.Context(), "GET", p.path+"?atSeq="+first, http.Header{"Authorization": p.owner["Authorization"], "Accept": {"application/yaml"}}, "")
		require.NoError(t, err)
		require.Contains(t, string(yaml.Body), "name: Shop\n")
	})
	t.Run("a workspace at a time", func(t *testing.T) {
		at := p.history("object=automations/charge")[0]["at"].(string)
		then := p.Get(t, p.path+"?at="+url.QueryEscape(at), p.owner).JSON(t)
		require.Equal(t, "Shop", then["name"])
		require.Equal(t, "resource_not_found", p.Get(t, p.path+"?at=2020-01-01T00:00:00Z", p.owner).Code(t), "before it was created")
		require.Equal(t, "resource_not_found", p.Get(t, p.path+"?atSeq=1", p.owner).Code(t))
		for _, query := range []string{"atSeq=x", "at=soon", "at=2020-01-01T00:00:00Z&atSeq=" + first} {
			require.Equal(t, "invalid_parameter", p.Get(t, p.path+"?"+query, p.owner).Code(t), "%s", query)
		}
	})
	t.Run("what differs", func(t *testing.T) {
		diff := p.Get(t, p.path+"/diff?from=seq:"+empty["seq"].(string), p.editor).JSON(t)
		require.Equal(t, "current", diff["to"])
		require.Equal(t, map[string]any{"added": 1.0, "modified": 1.0, "deleted": 0.0}, diff["summary"])
		changes := diff["changes"].([]any)
		require.Equal(t, "automations/charge.yml", changes[0].(map[string]any)["path"])
		require.Contains(t, changes[0].(map[string]any)["patch"], "--- /dev/null\n+++ b/automations/charge.yml\n")
		require.Contains(t, changes[1].(map[string]any)["patch"], "-name: Shop\n+name: Web shop\n")

		back := p.Get(t, p.path+"/diff?from=current&to=seq:"+changed, p.owner).JSON(t)
		require.Equal(t, map[string]any{"added": 1.0, "modified": 1.0, "deleted": 0.0}, back["summary"], "the page was there")
		one := p.Get(t, p.path+"/diff?from=seq:"+first+"&to=seq:"+changed+"&object=automations/charge", p.owner).JSON(t)
		require.Len(t, one["changes"], 1)
		require.Contains(t, one["changes"].([]any)[0].(map[string]any)["patch"], "-      event: charged\n+      event: billed\n")
		require.Empty(t, p.Get(t, p.path+"/diff?from=current", p.owner).JSON(t)["changes"])
		revision := p.Get(t, p.path, p.owner).JSON(t)["contentRevision"].(float64)
		require.Empty(t, p.Get(t, fmt.Sprintf("%s/diff?from=seq:%.0f", p.path, revision), p.owner).JSON(t)["changes"])
	})
	t.Run("points that are none", func(t *testing.T) {
		for query, code := range map[string]string{
			"": "missing_parameter", "from=seq:x": "invalid_parameter", "from=at:x": "invalid_parameter", "from=base:x": "resource_not_found", "from=remote:x": "resource_not_found",
			"from=current&to=remote:x": "resource_not_found", "from=v1": "resource_not_found", "from=at:2020-01-01T00:00:00Z": "resource_not_found",
			"from=seq:" + domain.At(domain.State, 1).Token(): "resource_not_found",
		} {
			require.Equal(t, code, p.Get(t, p.path+"/diff?"+query, p.owner).Code(t), "%s", query)
		}
	})
	t.Run("what may not be read is not compared", func(t *testing.T) {
		p.write("PUT", "/security", `{"authorizations":{"roles":{"editor":{}},"rules":[{"role":"editor","action":"read","subject":"workspaces"},{"role":"editor","action":"read","subject":"automations","inverted":true}]}}`)
		diff := p.Get(t, p.path+"/diff?from=seq:"+empty["seq"].(string), p.editor).JSON(t)
		require.NotContains(t, fmt.Sprint(diff["changes"]), "charge")
		require.Contains(t, fmt.Sprint(diff["changes"]), "security.yml")
	})
}
