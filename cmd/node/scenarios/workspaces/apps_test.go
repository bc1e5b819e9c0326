package workspaces_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/app"
)

// appsScenario is a service with people who publish and install.
type appsScenario struct {
	*nodetest.Service
	t             *testing.T
	ada, bob, eve http.Header // ada publishes, bob installs, eve is in none of their workspaces
	admin         http.Header
}

func newAppsScenario(t *testing.T) *appsScenario {
	t.Helper()
	m := &appsScenario{Service: nodetest.NewServiceWithAccounts(t), t: t}
	m.Start(t)
	person := func(name string) http.Header {
		email := name + "@example.org"
		m.Must(t, "POST", "/v2/signup", nil, fmt.Sprintf(`{"email":%q,"password":"long enough","firstName":"F","lastName":"L"}`, email))
		return nodetest.Bearer(m.Login(t, email, "long enough")["token"].(string))
	}
	m.ada, m.bob, m.eve = person("ada"), person("bob"), person("eve")
	m.admin = nodetest.Bearer(m.Service.SignInAdmin(t))
	return m
}

// workspace makes one and returns its id.
func (m *appsScenario) workspace(who http.Header, body string) string {
	m.t.Helper()
	return m.Must(m.t, "POST", "/v2/workspaces", who, body)["id"].(string)
}

// automation saves one.
func (m *appsScenario) automation(who http.Header, id, body string) {
	m.t.Helper()
	got, err := m.Request(m.t.Context(), "POST", "/v2/workspaces/"+id+"/automations", who, body)
	require.NoError(m.t, err)
	require.Equal(m.t, http.StatusCreated, got.StatusCode, "%s", got.Body)
}

// mailer makes a workspace that can be published and has something of everything.
func (m *appsScenario) mailer() string {
	m.t.Helper()
	id := m.workspace(m.ada, `{"name":"Mailer","slug":"mailer","description":"Sends mails","photo":"/mailer.png","labels":["core"],
		"config":{"schema":{"sender":{"type":"string"},"token":{"type":"string","secret":true},"additionalProperties":true},"block":"form","value":{"sender":"hidden@example.org"}},
		"blocks":{"Inbox":{"name":"Inbox","url":"https://example.org/inbox.js"}}}`)
	m.automation(m.ada, id, `{"slug":"send","name":"Send","arguments":{"to":{"type":"string"}},"when":{"events":["wanted","workspaces.apps.installed"]},
		"do":[{"emit":{"event":"sent","autocomplete":{"to":"x"}}},{"emit":{"event":"inner","private":true}}]}`)
	m.automation(m.ada, id, `{"slug":"helper","name":"Helper","private":true,"do":[{"emit":{"event":"failed"}}]}`)
	m.automation(m.ada, id, `{"slug":"old","name":"Old","disabled":true,"do":[{"emit":{"event":"forgotten"}}]}`)
	return id
}

func (m *appsScenario) publish(who http.Header, id, slug string) map[string]any {
	m.t.Helper()
	return m.Must(m.t, "POST", "/v2/apps", who, fmt.Sprintf(`{"workspaceId":%q,"slug":%q}`, id, slug))
}

// requireRefusal sends a request and expects a refusal.
func (m *appsScenario) requireRefusal(status int, code, method, path string, who http.Header, body string) map[string]any {
	m.t.Helper()
	got := m.Call(m.t, method, path, who, body)
	require.Equal(m.t, status, got.StatusCode, "%s %s: %s", method, path, got.Body)
	require.Equal(m.t, code, got.Code(m.t), "%s", got.Body)
	details, _ := got.JSON(m.t)["details"].(map[string]any)
	return details
}

func (m *appsScenario) list(path string, who http.Header) (items []map[string]any) {
	m.t.Helper()
	got := m.Get(m.t, path, who)
	require.Equal(m.t, http.StatusOK, got.StatusCode, "%s", got.Body)
	require.NoError(m.t, json.Unmarshal(got.Body, &items))
	return items
}

// events are the types and payloads that were recorded of some events, in order.
func (m *appsScenario) events(types ...string) (found []string) {
	m.t.Helper()
	m.Stop(m.t)
	for _, ev := range nodetest.StoredEvents(m.t, m.Dir, domain.State) {
		for _, wanted := range types {
			if ev.Data.EventType() == wanted {
				payload, err := json.Marshal(shownPayload(ev.Data))
				require.NoError(m.t, err)
				found = append(found, wanted+" "+string(payload))
			}
		}
	}
	return found
}

func shownPayload(ev domain.Event) any {
	if s, ok := ev.(domain.PayloadEvent); ok {
		return s.Payload()
	}
	return ev
}

func TestAWorkspaceIsPublishedAndTakenBack(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	id := m.workspace(m.ada, `{"name":"Mailer","slug":"mailer"}`)
	body := func(more string) string { return fmt.Sprintf(`{"workspaceId":%q%s}`, id, more) }

	m.requireRefusal(400, "missing_parameter", "POST", "/v2/apps", m.ada, `{}`)
	m.requireRefusal(400, "missing_parameter", "POST", "/v2/apps", m.ada, body(""))
	m.requireRefusal(400, "invalid_request", "POST", "/v2/apps", m.ada, body(`,"nonsense":1`))
	m.requireRefusal(400, "invalid_request", "POST", "/v2/apps", m.ada, body(`,"description":7`))
	m.requireRefusal(404, "resource_not_found", "POST", "/v2/apps", m.ada, body(`,"slug":"mail","workspaceVersion":"v1"`))
	m.requireRefusal(403, "workspace_access_denied", "POST", "/v2/apps", m.eve, body(`,"slug":"mail"`))
	m.requireRefusal(403, "workspace_access_denied", "POST", "/v2/apps", m.eve, `{"workspaceId":"nowhere","slug":"mail"}`)
	m.requireRefusal(404, "resource_not_found", "POST", "/v2/apps", m.admin, `{"workspaceId":"nowhere","slug":"mail"}`)
	m.requireRefusal(401, "missing_token", "POST", "/v2/apps", nil, body(`,"slug":"mail"`))
	missing := m.requireRefusal(422, "validation_failed", "POST", "/v2/apps", m.ada, body(`,"slug":"mail"`))
	require.Contains(t, fmt.Sprint(missing), "description")
	require.Contains(t, fmt.Sprint(missing), "photo")

	m.Must(t, "PATCH", "/v2/workspaces/"+id, m.ada, `{"description":{"en":"Sends mails","fr":"Envoie"},"photo":"/mailer.png","labels":["core"]}`)
	m.requireRefusal(422, "validation_failed", "POST", "/v2/apps", m.ada, body(`,"slug":"no/slash"`))
	first := m.Call(t, "POST", "/v2/apps", m.ada, body(`,"slug":"mail er"`))
	require.Equal(t, http.StatusCreated, first.StatusCode, "%s", first.Body)
	require.Equal(t, "/v2/apps/mail%20er", first.Header.Get("Location"))
	again := m.Call(t, "POST", "/v2/apps", m.ada, body(`,"workspaceVersion":"current"`))
	require.Equal(t, http.StatusOK, again.StatusCode, "%s", again.Body)
	require.JSONEq(t, string(first.Body), string(again.Body), "nothing new was published")
	m.requireRefusal(422, "validation_failed", "POST", "/v2/apps", m.ada, body(`,"slug":"another"`))

	m.automation(m.ada, id, `{"slug":"send","name":"Send","do":[]}`)
	next := m.Must(t, "POST", "/v2/apps", m.ada, `{"workspaceId":"slug:mailer","name":"Mailer 2","description":"Sends more"}`)
	require.Len(t, next["versions"], 2)
	require.Equal(t, "Mailer 2", next["name"])

	other := m.workspace(m.bob, `{"name":"Other","description":"d","photo":"/p.png"}`)
	clash := m.requireRefusal(409, "resource_already_exists", "POST", "/v2/apps", m.bob, fmt.Sprintf(`{"workspaceId":%q,"slug":"mail er"}`, other))
	require.Equal(t, "slug", clash["field"])
	clash = m.requireRefusal(409, "resource_already_exists", "POST", "/v2/apps", m.bob, fmt.Sprintf(`{"workspaceId":%q,"slug":"MAIL ER"}`, other))
	require.Equal(t, map[string]any{"field": "slug", "value": "MAIL ER"}, clash)

	m.requireRefusal(403, "workspace_access_denied", "DELETE", "/v2/apps/mail%20er", m.eve, "")
	m.requireRefusal(404, "resource_not_found", "DELETE", "/v2/apps/nothing", m.eve, "")
	gone := m.Must(t, "DELETE", "/v2/apps/mail%20er", m.ada, "")
	require.Equal(t, map[string]any{"id": "mail er", "slug": "mail er"}, gone)
	m.requireRefusal(404, "resource_not_found", "GET", "/v2/apps/mail%20er", m.ada, "")
	m.requireRefusal(404, "resource_not_found", "DELETE", "/v2/apps/mail%20er", m.ada, "")
	m.publish(m.bob, other, "mail er")
	require.Equal(t, http.StatusCreated, m.Call(t, "POST", "/v2/apps", m.ada, body(`,"slug":"mail"`)).StatusCode, "a slug is chosen anew")

	recorded := m.events(app.Published{}.EventType(), app.Deleted{}.EventType())
	require.Len(t, recorded, 5)
	require.Contains(t, recorded[0], `"slug":"mail er"`)
	require.Contains(t, recorded[1], `"name":"Mailer 2"`)
	require.Equal(t, `apps.deleted {"appSlug":"mail er"}`, recorded[2])
}

func TestAppsAreListedAndRead(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	id := m.mailer()
	m.publish(m.ada, id, "mail")
	for i := range 3 {
		m.publish(m.bob, m.workspace(m.bob, fmt.Sprintf(`{"name":"Tool %d","description":"d","photo":"/p.png","labels":["tools"]}`, i)), fmt.Sprintf("tool%d", i))
	}
	slugs := func(query string, who http.Header) (found []string) {
		for _, a := range m.list("/v2/apps"+query, who) {
			found = append(found, a["slug"].(string))
		}
		return found
	}
	require.Equal(t, []string{"tool2", "tool1", "tool0", "mail", "Collection", "Custom Code"}, slugs("", m.eve), "the last published first and built-in ones last, for everyone")
	require.Equal(t, []string{"tool0"}, slugs("?labels=tools&text=tool&limit=2&page=1", m.eve))
	require.Equal(t, []string{"mail"}, slugs("?text=sends%20MAILER", m.eve))
	require.Equal(t, []string{"mail"}, slugs("?workspaceId="+id, m.eve))
	require.Equal(t, []string{"mail"}, slugs("?workspaceId=slug:mailer&labels=core,x", m.eve))
	require.Empty(t, slugs("?workspaceId=slug:nobody", m.eve))
	page := m.Get(t, "/v2/apps?labels=tools&limit=2", m.eve)
	require.Equal(t, "3", page.Header.Get("X-Total-Count"))
	require.Contains(t, page.Header.Get("Link"), "page=1")
	m.requireRefusal(400, "invalid_parameter", "GET", "/v2/apps?limit=1000", m.eve, "")
	m.requireRefusal(401, "missing_token", "GET", "/v2/apps", nil, "")

	got := m.Must(t, "GET", "/v2/apps/mail", m.eve, "")
	require.Equal(t, id, got["workspaceId"])
	require.Equal(t, map[string]any{"schema": map[string]any{"sender": map[string]any{"type": "string"}, "additionalProperties": true, "token": map[string]any{"type": "string", "secret": true}}, "block": "form"}, got["config"])
	require.Equal(t, []any{map[string]any{"slug": "send", "name": "Send", "arguments": map[string]any{"to": map[string]any{"type": "string"}}}}, got["automations"])
	require.Equal(t, []any{map[string]any{"slug": "Inbox", "name": "Inbox", "url": "https://example.org/inbox.js"}}, got["blocks"])
	events := got["events"].(map[string]any)
	require.Equal(t, []any{"failed", "sent"}, events["emit"])
	require.Equal(t, []any{"wanted"}, events["listen"], "what only the platform can send is left out")
	version := got["versions"].([]any)[0].(map[string]any)["name"].(string)
	require.Equal(t, got, m.Must(t, "GET", "/v2/apps/mail?version="+version, m.eve, ""))
	m.requireRefusal(404, "resource_not_found", "GET", "/v2/apps/mail?version=v9", m.eve, "")

	key := m.Must(t, "POST", "/v2/workspaces/"+id+"/security/apikeys", m.ada, `{"name":"k","rules":[{"action":["create","delete"],"subject":"apps"}]}`)
	byKey := http.Header{"X-Svc-Api-Key": {key["apiKey"].(string)}}
	require.Len(t, slugs("", byKey), 6)
	m.Must(t, "POST", "/v2/apps", byKey, fmt.Sprintf(`{"workspaceId":%q}`, id))
	m.requireRefusal(403, "workspace_access_denied", "DELETE", "/v2/apps/tool0", byKey, "")
	m.Must(t, "DELETE", "/v2/apps/mail", byKey, "")
	m.publish(m.ada, id, "mail")

	security := `{"authorizations":{"roles":{"editor":{}},"rules":[{"action":"read","subject":"apps","inverted":true}]}}`
	m.Must(t, "PUT", "/v2/workspaces/"+id+"/security", m.ada, security)
	require.Len(t, slugs("", m.eve), 5, "a workspace may keep its app to itself")
	require.Len(t, slugs("", m.ada), 6)
	m.requireRefusal(404, "resource_not_found", "GET", "/v2/apps/mail", m.eve, "")
}

// Whoever comes first has the slug; there is never more than one app of it, and
// never more than one of a workspace.
func TestOneOfManyPublishesTheSlug(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	var ids []string
	for i := range 8 {
		ids = append(ids, m.workspace(m.ada, fmt.Sprintf(`{"name":"W%d","description":"d","photo":"/p.png"}`, i)))
	}
	statuses := make([]int, 2*len(ids))
	var asking sync.WaitGroup
	for i := range statuses {
		asking.Go(func() {
			slug := []string{"Contested", "contested"}[i/8] // each workspace asks for both
			got, err := m.Request(t.Context(), "POST", "/v2/apps", m.ada, fmt.Sprintf(`{"workspaceId":%q,"slug":%q}`, ids[i%8], slug))
			if err == nil {
				statuses[i] = got.StatusCode
			}
		})
	}
	asking.Wait()
	created := 0
	for _, status := range statuses {
		if status == http.StatusCreated {
			created++
			continue
		}
		require.Contains(t, []int{409, 422}, status)
	}
	require.Equal(t, 1, created)
	require.Len(t, m.list("/v2/apps?text=contested", m.ada), 1)
	require.Len(t, m.events(app.Published{}.EventType()), 1)
}
