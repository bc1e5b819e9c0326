package events_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestWhoMayEmit(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	nobody, stranger := p.As(nil), p.As(s.NewUser(t, "stranger"))
	key := func(rules string) nodetest.Workspace {
		made := p.Do(t, 201, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":[`+rules+`]}`).JSON(t)
		return p.As(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}})
	}
	reader := key(`{"action":["read"],"subject":"workspaces"}`)
	orders := key(`{"action":["create"],"subject":"events","conditions":{"type":{"$regex":"^order\\."}}}`)

	// The rule of a new workspace lets everybody, with or without a credential.
	made, _ := nobody.Emit(t, `{"type":"clicked"}`)
	require.NotContains(t, made[0].Source, "userId")
	require.NotContains(t, made[0].Source, "sessionId")
	made, _ = stranger.Emit(t, `{"type":"clicked"}`)
	require.Equal(t, stranger.UserID(t), made[0].Source["userId"])
	made, _ = reader.Emit(t, `{"type":"clicked"}`)
	require.Contains(t, made[0].Source["userId"], "key:key_")
	require.Equal(t, "missing_token", s.Call(t, "POST", "/v2/workspaces/unknown/events", nil, `{"events":[{"type":"a"}]}`).Code(t))
	require.Equal(t, "workspace_access_denied", s.Call(t, "POST", "/v2/workspaces/platform/events", stranger.Auth, `{"events":[{"type":"a"}]}`).Code(t))
	require.Equal(t, "invalid_token", s.Call(t, "POST", p.Path+"/events", nodetest.Bearer("nope"), `{"events":[{"type":"a"}]}`).Code(t), "a bad credential is not no credential")

	// Rules decide about each event, with what it says and whom it is for.
	before := len(s.EmittedTypes(t, p.ID))
	p.Do(t, 200, "PUT", p.Path+"/security", `{"authorizations":{"roles":{"editor":{}},"rules":[
		{"action":"create","subject":"events","conditions":{"payload.kind":"public"}},
		{"action":"create","subject":"events","inverted":true,"conditions":{"target.userTopic":"staff"}}]}}`)
	open, staff, other := `{"type":"a","payload":{"kind":"public"}}`, `{"type":"a","payload":{"kind":"public"},"target":{"userTopic":"staff"}}`, `{"type":"a"}`
	post := func(who nodetest.Workspace, events ...string) nodetest.Answer {
		return who.Send(t, "POST", p.Path+"/events", `{"events":[`+strings.Join(events, ",")+`]}`)
	}
	require.Equal(t, 201, post(nobody, open).StatusCode)
	require.Equal(t, "missing_token", post(nobody, open, other).Code(t))
	require.Equal(t, "missing_token", post(nobody, staff).Code(t))
	require.Equal(t, "workspace_access_denied", post(stranger, other).Code(t))
	require.Equal(t, 201, post(orders, `{"type":"order.paid"}`).StatusCode)
	for _, refused := range []nodetest.Answer{post(orders, `{"type":"order.paid"}`, other), post(reader, other)} {
		require.Equal(t, 403, refused.StatusCode, "%s", refused.Body)
		require.Equal(t, "permission_denied", refused.Code(t))
		require.Equal(t, map[string]any{"action": "create", "subject": "events"}, refused.JSON(t)["details"])
	}
	require.Equal(t, 201, post(p, staff, other).StatusCode, "no rule binds the owner")
	require.Equal(t, []string{"a", "order.paid", "a", "a"}, s.EmittedTypes(t, p.ID)[before:])
}
