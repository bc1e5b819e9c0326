package events_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

func signedWith(t *testing.T, p nodetest.ReceivedDelivery, secret string) bool {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	return hook.Verify(p.Body, p.Header) == nil
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	in := nodetest.NewReceiver(t)
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes", "WEBHOOK_RETRY_SCHEDULE=50ms,50ms").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	all := p.Path + "/subscriptions"
	require.JSONEq(t, `[]`, string(p.Do(t, 200, "GET", all, "").Body))
	made := p.Do(t, 201, "POST", all, `{"url":"`+in.URL+`/hook","types":["orders.*"],"description":"for the shop"}`, "Idempotency-Key", "once")
	sub := made.JSON(t)
	secret := sub["secret"].(string)
	require.True(t, strings.HasPrefix(secret, "whsec_"))
	require.Equal(t, secret[len(secret)-4:], sub["secretLast4"])
	require.Equal(t, "closed", sub["breaker"])
	require.Equal(t, "source.correlationId", sub["orderKey"])
	require.Equal(t, p.UserID(t), sub["createdBy"])
	one := all + "/" + sub["id"].(string)
	require.Equal(t, one, made.Header.Get("Location"))
	again := p.Do(t, 201, "POST", all, `{"url":"`+in.URL+`/hook","types":["orders.*"],"description":"for the shop"}`, "Idempotency-Key", "once")
	require.Equal(t, sub["id"], again.JSON(t)["id"])
	require.NotContains(t, again.JSON(t), "secret", "it is shown once")
	for _, path := range []string{all, one} {
		require.NotContains(t, string(p.Do(t, 200, "GET", path, "").Body), secret[6:])
	}
	require.Equal(t, "1", p.Do(t, 200, "GET", all+"?limit=1", "").Header.Get("X-Total-Count"))
	require.JSONEq(t, `[]`, string(p.Do(t, 200, "GET", all+"?page=1", "").Body))
	p.RequireRefusal(t, 400, "invalid_parameter", "GET", all+"?limit=0", "")

	t.Run("who may", func(t *testing.T) {
		editor, stranger := p.As(s.NewUser(t, "editor")), p.As(s.NewUser(t, "stranger"))
		p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
		editor.RequireRefusal(t, 403, "permission_denied", "GET", all, "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", one+"/test", "")
		p.RequireRefusal(t, 404, "resource_not_found", "GET", all+"/sub_nowhere", "")
	})
	t.Run("what is wrong is named", func(t *testing.T) {
		p.RequireRefusal(t, 400, "missing_parameter", "POST", all, `{"url":"https://x.example"}`)
		p.RequireRefusal(t, 400, "invalid_request", "POST", all, `{"url":"https://x.example","types":["a"],"colour":"red"}`)
		for body, field := range map[string]string{
			`{"url":"ftp://x.example","types":["a"]}`:                            "url",
			`{"url":"https://me:pw@x.example","types":["a"]}`:                    "url",
			`{"url":"http://169.254.169.254/","types":["a"]}`:                    "url",
			`{"url":"https://x.example","types":["a/b"]}`:                        "types.0",
			`{"url":"https://x.example","types":["a"],"filters":{"limit":1}}`:    "filters.limit",
			`{"url":"https://x.example","types":["a"],"secret":"whsec_dG9vc2g"}`: "secret",
		} {
			require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", all, body)), `"`+field+`"`)
		}
	})
	t.Run("deliveries", func(t *testing.T) {
		event, _ := p.Emit(t, `{"type":"orders.paid","payload":{"n":1}}`)
		got := in.AwaitDeliveries(t, 1)[0]
		require.True(t, signedWith(t, got, secret))
		require.Equal(t, event[0].ID, got.Header.Get("webhook-id"))
		done := p.AwaitDelivery(t, one, "succeeded")
		require.Equal(t, "thank you", done.Attempts[0].ResponseBody)
		in.SetStatus(http.StatusInternalServerError)
		p.Emit(t, `{"type":"orders.lost","payload":{"n":2}}`)
		dead := p.AwaitDelivery(t, one, "dead")
		require.Len(t, dead.Attempts, 3)
		list, total := p.Deliveries(t, one, "status=dead")
		require.Len(t, list, 1)
		require.Equal(t, "1", total)
		list, total = p.Deliveries(t, one, "eventType=orders.paid,nothing*")
		require.Len(t, list, 1)
		require.Equal(t, "1", total)
		list, total = p.Deliveries(t, one, "limit=1&page=1")
		require.Equal(t, "orders.paid", list[0].EventType, "the newest first")
		require.Equal(t, "2", total)
		list, _ = p.Deliveries(t, one, "beforeDate=2020-01-01T00:00:00Z")
		require.Empty(t, list)
		p.RequireRefusal(t, 400, "invalid_parameter", "GET", one+"/deliveries?status=lost", "")
		require.NotEmpty(t, p.Do(t, 200, "GET", one, "").JSON(t)["failingSince"])

		in.SetStatus(http.StatusOK)
		asked := p.Do(t, 202, "POST", one+"/deliveries/"+dead.ID+"/redeliver", "").JSON(t)
		require.Equal(t, "pending", asked["status"])
		require.Len(t, p.AwaitDelivery(t, one, "succeeded").Attempts, 4)
		p.RequireRefusal(t, 404, "resource_not_found", "POST", one+"/deliveries/dlv_nothing/redeliver", "")
		require.NotContains(t, p.Do(t, 200, "GET", one, "").JSON(t), "failingSince")
	})
	t.Run("rotation", func(t *testing.T) {
		rotated := p.Do(t, 200, "POST", one+"/rotateSecret", `{"overlap":3600}`).JSON(t)
		before := len(in.Received())
		p.Emit(t, `{"type":"orders.paid","payload":{"n":3}}`)
		got := in.AwaitDeliveries(t, before+1)[before]
		require.True(t, signedWith(t, got, secret) && signedWith(t, got, rotated["secret"].(string)))
		p.RequireRefusal(t, 422, "validation_failed", "POST", one+"/rotateSecret", `{"overlap":-1}`)
	})
	t.Run("a test", func(t *testing.T) {
		tested := p.Do(t, 200, "POST", one+"/test", "").JSON(t)
		require.Equal(t, "webhooks.test", tested["eventType"])
		require.Equal(t, "succeeded", tested["status"])
	})
	t.Run("a replay", func(t *testing.T) {
		p.AwaitDelivery(t, one, "succeeded")
		before := len(in.Received())
		p.RequireRefusal(t, 400, "missing_parameter", "POST", one+"/replay", `{}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", one+"/replay", `{"fromSeq":"nonsense"}`)
		p.RequireRefusal(t, 400, "invalid_request", "POST", one+"/replay", `{"fromSeq":true}`)
		p.Do(t, 202, "POST", one+"/replay", `{"fromSeq":1,"toSeq":"1"}`) // content revisions
		started := p.Do(t, 202, "POST", one+"/replay", `{"afterDate":"2020-01-01T00:00:00Z"}`).JSON(t)
		require.Equal(t, true, started["processing"])
		operation := p.Path + "/operations/" + started["operationId"].(string)
		require.Eventually(t, func() bool {
			return p.Do(t, 200, "GET", operation, "").JSON(t)["status"] == "succeeded"
		}, time.Minute, 10*time.Millisecond)
		op := p.Do(t, 200, "GET", operation, "").JSON(t)
		require.Equal(t, "replay", op["kind"])
		require.Equal(t, map[string]any{"current": 3.0, "total": 3.0, "percentage": 100.0}, op["progress"])
		in.AwaitDeliveries(t, before+3)
		require.True(t, p.AwaitDelivery(t, one, "succeeded").Replay)
		told, err := s.Request(t.Context(), "GET", operation+"/events", p.Auth, "")
		require.NoError(t, err)
		require.Contains(t, string(told.Body), "event: workspaces.operations.advanced")
	})
	t.Run("changed, and deleted", func(t *testing.T) {
		changed := p.Do(t, 200, "PATCH", one, `{"description":null,"types":["*"],"filters":{"payload.n":[7]}}`).JSON(t)
		require.Empty(t, changed["description"])
		require.Equal(t, map[string]any{"payload.n": []any{7.0}}, changed["filters"])
		p.RequireRefusal(t, 422, "validation_failed", "PATCH", one, `{"types":[]}`)
		require.Equal(t, true, p.Do(t, 200, "PATCH", one, `{"disabled":true}`).JSON(t)["disabled"])
		require.Equal(t, false, p.Do(t, 200, "PATCH", one, `{"disabled":false}`).JSON(t)["disabled"])
		require.JSONEq(t, fmt.Sprintf(`{"id":%q}`, sub["id"]), string(p.Do(t, 200, "DELETE", one, "").Body))
		p.RequireRefusal(t, 404, "resource_not_found", "GET", one, "")
		p.RequireRefusal(t, 404, "resource_not_found", "GET", one+"/deliveries", "")
	})
	require.NotContains(t, s.Log.String(), secret[6:])
	s.Stop(t)
	nodetest.RequireNoSecret(t, s.Dir, secret[6:])
	var told []string
	for _, ev := range nodetest.StoredEvents(t, s.Dir, domain.State) {
		if strings.HasPrefix(ev.Data.EventType(), "workspaces.subscriptions.") {
			told = append(told, strings.TrimPrefix(ev.Data.EventType(), "workspaces.subscriptions."))
			require.NotContains(t, string(ev.Body), "sealed")
		}
	}
	require.Equal(t, []string{"created", "updated", "updated", "updated", "updated", "deleted"}, told)
}

// A node without the role serves the API and delivers nothing.
func TestANodeWithoutTheRoleDeliversNothing(t *testing.T) {
	t.Parallel()
	in := nodetest.NewReceiver(t)
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes", "ROLES=runtime").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	made := p.Do(t, 201, "POST", p.Path+"/subscriptions", `{"url":"`+in.URL+`","types":["*"]}`).JSON(t)
	one := p.Path + "/subscriptions/" + made["id"].(string)
	p.Emit(t, `{"type":"orders.paid"}`)
	require.Equal(t, "succeeded", p.Do(t, 200, "POST", one+"/test", "").JSON(t)["status"], "a test is made by who is asked")
	require.Len(t, in.Received(), 1)
	s.Stop(t)

	s.Env = append(s.Env, "ROLES=webhooks")
	s.Start(t)
	in.AwaitDeliveries(t, 2)
	require.Contains(t, string(in.Received()[1].Body), `"orders.paid"`)
}
