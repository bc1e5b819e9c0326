package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"svc/domain"
)

// inbox is a receiver that answers as it is told.
type inbox struct {
	*httptest.Server
	mu     sync.Mutex
	all    []parcel
	status int
}

// parcel is a delivery as a receiver sees it.
type parcel struct {
	header http.Header
	body   []byte
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{status: http.StatusOK}
	in.Server = httptest.NewServer(in)
	t.Cleanup(in.Close)
	return in
}

// ServeHTTP implements http.Handler.
func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.all = append(in.all, parcel{r.Header.Clone(), body})
	w.WriteHeader(in.status)
	_, _ = io.WriteString(w, "thank you")
}

func (in *inbox) answer(status int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.status = status
}

func (in *inbox) seen() []parcel {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]parcel(nil), in.all...)
}

// await waits until so many deliveries came.
func (in *inbox) await(t *testing.T, n int) []parcel {
	t.Helper()
	require.Eventually(t, func() bool { return len(in.seen()) >= n }, 20*time.Second, 5*time.Millisecond)
	return in.seen()
}

func signedWith(t *testing.T, p parcel, secret string) bool {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	return hook.Verify(p.body, p.header) == nil
}

// delivery is what the API shows of one.
type delivery struct {
	ID, Status, EventID, EventType, NextAttemptAt string
	Replay                                        bool
	Attempts                                      []struct {
		Status       int
		Error        string
		ResponseBody string
	}
}

func (p place) deliveries(t *testing.T, sub, query string) (list []delivery, total string) {
	t.Helper()
	got := p.does(t, 200, "GET", sub+"/deliveries?"+query, "")
	require.NoError(t, json.Unmarshal(got.body, &list), "%s", got.body)
	return list, got.Header.Get("X-Total-Count")
}

// awaitDelivery waits until the newest delivery has a status.
func (p place) awaitDelivery(t *testing.T, sub, status string) delivery {
	t.Helper()
	var list []delivery
	require.Eventually(t, func() bool {
		list, _ = p.deliveries(t, sub, "limit=1")
		return len(list) > 0 && list[0].Status == status
	}, 20*time.Second, 10*time.Millisecond, "the newest delivery must be %s", status)
	return list[0]
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	s := identified(t, "EGRESS_ALLOW_PRIVATE=yes", "WEBHOOK_RETRY_SCHEDULE=50ms,50ms").start(t)
	p := ownedPlace(t, s)
	all := p.path + "/subscriptions"
	require.JSONEq(t, `[]`, string(p.does(t, 200, "GET", all, "").body))
	made := p.does(t, 201, "POST", all, `{"url":"`+in.URL+`/hook","types":["orders.*"],"description":"for the shop"}`, "Idempotency-Key", "once")
	sub := made.json(t)
	secret := sub["secret"].(string)
	require.True(t, strings.HasPrefix(secret, "whsec_"))
	require.Equal(t, secret[len(secret)-4:], sub["secretLast4"])
	require.Equal(t, "closed", sub["breaker"])
	require.Equal(t, "source.correlationId", sub["orderKey"])
	require.Equal(t, p.userID(t), sub["createdBy"])
	one := all + "/" + sub["id"].(string)
	require.Equal(t, one, made.Header.Get("Location"))
	again := p.does(t, 201, "POST", all, `{"url":"`+in.URL+`/hook","types":["orders.*"],"description":"for the shop"}`, "Idempotency-Key", "once")
	require.Equal(t, sub["id"], again.json(t)["id"])
	require.NotContains(t, again.json(t), "secret", "it is shown once")
	for _, path := range []string{all, one} {
		require.NotContains(t, string(p.does(t, 200, "GET", path, "").body), secret[6:])
	}
	require.Equal(t, "1", p.does(t, 200, "GET", all+"?limit=1", "").Header.Get("X-Total-Count"))
	require.JSONEq(t, `[]`, string(p.does(t, 200, "GET", all+"?page=1", "").body))
	p.refuses(t, 400, "invalid_parameter", "GET", all+"?limit=0", "")

	t.Run("who may", func(t *testing.T) {
		editor, stranger := p.as(s.person(t, "editor")), p.as(s.person(t, "stranger"))
		p.does(t, 200, "POST", p.path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
		editor.refuses(t, 403, "permission_denied", "GET", all, "")
		stranger.refuses(t, 403, "workspace_access_denied", "POST", one+"/test", "")
		p.refuses(t, 404, "resource_not_found", "GET", all+"/sub_nowhere", "")
	})
	t.Run("what is wrong is named", func(t *testing.T) {
		p.refuses(t, 400, "missing_parameter", "POST", all, `{"url":"https://x.example"}`)
		p.refuses(t, 400, "invalid_request", "POST", all, `{"url":"https://x.example","types":["a"],"colour":"red"}`)
		for body, field := range map[string]string{
			`{"url":"ftp://x.example","types":["a"]}`:                            "url",
			`{"url":"https://me:pw@x.example","types":["a"]}`:                    "url",
			`{"url":"http://169.254.169.254/","types":["a"]}`:                    "url",
			`{"url":"https://x.example","types":["a/b"]}`:                        "types.0",
			`{"url":"https://x.example","types":["a"],"filters":{"limit":1}}`:    "filters.limit",
			`{"url":"https://x.example","types":["a"],"secret":"whsec_dG9vc2g"}`: "secret",
		} {
			require.Contains(t, faults(p.refuses(t, 422, "validation_failed", "POST", all, body)), `"`+field+`"`)
		}
	})
	t.Run("deliveries", func(t *testing.T) {
		event, _ := p.emits(t, `{"type":"orders.paid","payload":{"n":1}}`)
		got := in.await(t, 1)[0]
		require.True(t, signedWith(t, got, secret))
		require.Equal(t, event[0].ID, got.header.Get("webhook-id"))
		done := p.awaitDelivery(t, one, "succeeded")
		require.Equal(t, "thank you", done.Attempts[0].ResponseBody)
		in.answer(http.StatusInternalServerError)
		p.emits(t, `{"type":"orders.lost","payload":{"n":2}}`)
		dead := p.awaitDelivery(t, one, "dead")
		require.Len(t, dead.Attempts, 3)
		list, total := p.deliveries(t, one, "status=dead")
		require.Len(t, list, 1)
		require.Equal(t, "1", total)
		list, total = p.deliveries(t, one, "eventType=orders.paid,nothing*")
		require.Len(t, list, 1)
		require.Equal(t, "1", total)
		list, total = p.deliveries(t, one, "limit=1&page=1")
		require.Equal(t, "orders.paid", list[0].EventType, "the newest first")
		require.Equal(t, "2", total)
		list, _ = p.deliveries(t, one, "beforeDate=2020-01-01T00:00:00Z")
		require.Empty(t, list)
		p.refuses(t, 400, "invalid_parameter", "GET", one+"/deliveries?status=lost", "")
		require.NotEmpty(t, p.does(t, 200, "GET", one, "").json(t)["failingSince"])

		in.answer(http.StatusOK)
		asked := p.does(t, 202, "POST", one+"/deliveries/"+dead.ID+"/redeliver", "").json(t)
		require.Equal(t, "pending", asked["status"])
		require.Len(t, p.awaitDelivery(t, one, "succeeded").Attempts, 4)
		p.refuses(t, 404, "resource_not_found", "POST", one+"/deliveries/dlv_nothing/redeliver", "")
		require.NotContains(t, p.does(t, 200, "GET", one, "").json(t), "failingSince")
	})
	t.Run("rotation", func(t *testing.T) {
		rotated := p.does(t, 200, "POST", one+"/rotateSecret", `{"overlap":3600}`).json(t)
		before := len(in.seen())
		p.emits(t, `{"type":"orders.paid","payload":{"n":3}}`)
		got := in.await(t, before+1)[before]
		require.True(t, signedWith(t, got, secret) && signedWith(t, got, rotated["secret"].(string)))
		p.refuses(t, 422, "validation_failed", "POST", one+"/rotateSecret", `{"overlap":-1}`)
	})
	t.Run("a test", func(t *testing.T) {
		tested := p.does(t, 200, "POST", one+"/test", "").json(t)
		require.Equal(t, "webhooks.test", tested["eventType"])
		require.Equal(t, "succeeded", tested["status"])
	})
	t.Run("a replay", func(t *testing.T) {
		p.awaitDelivery(t, one, "succeeded")
		before := len(in.seen())
		p.refuses(t, 400, "missing_parameter", "POST", one+"/replay", `{}`)
		p.refuses(t, 422, "validation_failed", "POST", one+"/replay", `{"fromSeq":"nonsense"}`)
		p.refuses(t, 400, "invalid_request", "POST", one+"/replay", `{"fromSeq":true}`)
		p.does(t, 202, "POST", one+"/replay", `{"fromSeq":1,"toSeq":"1"}`) // content revisions
		started := p.does(t, 202, "POST", one+"/replay", `{"afterDate":"2020-01-01T00:00:00Z"}`).json(t)
		require.Equal(t, true, started["processing"])
		operation := p.path + "/operations/" + started["operationId"].(string)
		require.Eventually(t, func() bool {
			return p.does(t, 200, "GET", operation, "").json(t)["status"] == "succeeded"
		}, 20*time.Second, 10*time.Millisecond)
		op := p.does(t, 200, "GET", operation, "").json(t)
		require.Equal(t, "replay", op["kind"])
		require.Equal(t, map[string]any{"current": 3.0, "total": 3.0, "percentage": 100.0}, op["progress"])
		in.await(t, before+3)
		require.True(t, p.awaitDelivery(t, one, "succeeded").Replay)
		told, err := s.request(t.Context(), "GET", operation+"/events", p.me, "")
		require.NoError(t, err)
		require.Contains(t, string(told.body), "event: workspaces.operations.advanced")
	})
	t.Run("changed, and deleted", func(t *testing.T) {
		changed := p.does(t, 200, "PATCH", one, `{"description":null,"types":["*"],"filters":{"payload.n":[7]}}`).json(t)
		require.Empty(t, changed["description"])
		require.Equal(t, map[string]any{"payload.n": []any{7.0}}, changed["filters"])
		p.refuses(t, 422, "validation_failed", "PATCH", one, `{"types":[]}`)
		require.Equal(t, true, p.does(t, 200, "PATCH", one, `{"disabled":true}`).json(t)["disabled"])
		require.Equal(t, false, p.does(t, 200, "PATCH", one, `{"disabled":false}`).json(t)["disabled"])
		require.JSONEq(t, fmt.Sprintf(`{"id":%q}`, sub["id"]), string(p.does(t, 200, "DELETE", one, "").body))
		p.refuses(t, 404, "resource_not_found", "GET", one, "")
		p.refuses(t, 404, "resource_not_found", "GET", one+"/deliveries", "")
	})
	require.NotContains(t, s.log.String(), secret[6:])
	s.stop(t)
	requireNoSecret(t, s.dir, secret[6:])
	var told []string
	for _, ev := range stored(t, s.dir, domain.State) {
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
	in := newInbox(t)
	s := identified(t, "EGRESS_ALLOW_PRIVATE=yes", "ROLES=runtime").start(t)
	p := ownedPlace(t, s)
	made := p.does(t, 201, "POST", p.path+"/subscriptions", `{"url":"`+in.URL+`","types":["*"]}`).json(t)
	one := p.path + "/subscriptions/" + made["id"].(string)
	p.emits(t, `{"type":"orders.paid"}`)
	require.Equal(t, "succeeded", p.does(t, 200, "POST", one+"/test", "").json(t)["status"], "a test is made by who is asked")
	require.Len(t, in.seen(), 1)
	s.stop(t)

	s.env = append(s.env, "ROLES=webhooks")
	s.start(t)
	in.await(t, 2)
	require.Contains(t, string(in.seen()[1].body), `"orders.paid"`)
}
