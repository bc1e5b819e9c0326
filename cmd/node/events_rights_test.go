package node_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhoMayEmit(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	nobody, stranger := p.as(nil), p.as(s.person(t, "stranger"))
	key := func(rules string) place {
		made := p.does(t, 201, "POST", p.path+"/security/apikeys", `{"name":"k","rules":[`+rules+`]}`).json(t)
		return p.as(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}})
	}
	reader := key(`{"action":["read"],"subject":"workspaces"}`)
	orders := key(`{"action":["create"],"subject":"events","conditions":{"type":{"$regex":"^order\\."}}}`)

	// The rule of a new workspace lets everybody, with or without a credential.
	made, _ := nobody.emits(t, `{"type":"clicked"}`)
	require.NotContains(t, made[0].Source, "userId")
	require.NotContains(t, made[0].Source, "sessionId")
	made, _ = stranger.emits(t, `{"type":"clicked"}`)
	require.Equal(t, stranger.userID(t), made[0].Source["userId"])
	made, _ = reader.emits(t, `{"type":"clicked"}`)
	require.Contains(t, made[0].Source["userId"], "key:key_")
	require.Equal(t, "missing_token", s.call(t, "POST", "/v2/workspaces/unknown/events", nil, `{"events":[{"type":"a"}]}`).code(t))
	require.Equal(t, "workspace_access_denied", s.call(t, "POST", "/v2/workspaces/platform/events", stranger.me, `{"events":[{"type":"a"}]}`).code(t))
	require.Equal(t, "invalid_token", s.call(t, "POST", p.path+"/events", bearer("nope"), `{"events":[{"type":"a"}]}`).code(t), "a bad credential is not no credential")

	// Rules decide about each event, with what it says and whom it is for.
	before := len(s.emitted(t, p.id))
	p.does(t, 200, "PUT", p.path+"/security", `{"authorizations":{"roles":{"editor":{}},"rules":[
		{"action":"create","subject":"events","conditions":{"payload.kind":"public"}},
		{"action":"create","subject":"events","inverted":true,"conditions":{"target.userTopic":"staff"}}]}}`)
	open, staff, other := `{"type":"a","payload":{"kind":"public"}}`, `{"type":"a","payload":{"kind":"public"},"target":{"userTopic":"staff"}}`, `{"type":"a"}`
	post := func(who place, events ...string) answer {
		return who.ask(t, "POST", p.path+"/events", `{"events":[`+strings.Join(events, ",")+`]}`)
	}
	require.Equal(t, 201, post(nobody, open).StatusCode)
	require.Equal(t, "missing_token", post(nobody, open, other).code(t))
	require.Equal(t, "missing_token", post(nobody, staff).code(t))
	require.Equal(t, "workspace_access_denied", post(stranger, other).code(t))
	require.Equal(t, 201, post(orders, `{"type":"order.paid"}`).StatusCode)
	for _, refused := range []answer{post(orders, `{"type":"order.paid"}`, other), post(reader, other)} {
		require.Equal(t, 403, refused.StatusCode, "%s", refused.body)
		require.Equal(t, "permission_denied", refused.code(t))
		require.Equal(t, map[string]any{"action": "create", "subject": "events"}, refused.json(t)["details"])
	}
	require.Equal(t, 201, post(p, staff, other).StatusCode, "no rule binds the owner")
	require.Equal(t, []string{"a", "order.paid", "a", "a"}, s.emitted(t, p.id)[before:])
}
