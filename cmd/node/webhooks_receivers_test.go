package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

// subscribes makes a subscription and returns its path.
func (p place) subscribes(t *testing.T, url, more string) (path string) {
	t.Helper()
	made := p.does(t, 201, "POST", p.path+"/subscriptions", fmt.Sprintf(`{"url":%q,"types":["orders.*"]%s}`, url, more)).json(t)
	return p.path + "/subscriptions/" + made["id"].(string)
}

// Whatever a receiver does wrong is in the delivery log, with a reason, and holds up
// nobody else.
func TestReceiversThatMisbehave(t *testing.T) {
	t.Parallel()
	inside := newInbox(t)
	release := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hang.Close)
	t.Cleanup(func() { close(release) })
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	redirect := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirect.Close)
	broken := newInbox(t)
	broken.answer(http.StatusInternalServerError)
	well := newInbox(t)
	s := identified(t, "EGRESS_ALLOW_PRIVATE=yes", "WEBHOOK_TIMEOUT_SECONDS=1", "WEBHOOK_RETRY_SCHEDULE=1h").start(t)
	p := ownedPlace(t, s)
	want := map[string]string{
		hang.URL: "no answer within 1s", untrusted.URL: "certificate", redirect.URL: "answered 307: redirects are not followed", broken.URL: "answered 500",
	}
	paths := map[string]string{}
	for url := range want {
		paths[url] = p.subscribes(t, url+"/?token=CANARY", "")
	}
	good := p.subscribes(t, well.URL, "")
	p.emits(t, `{"type":"orders.paid","payload":{"n":1}}`)
	well.await(t, 1)
	require.Equal(t, "succeeded", p.awaitDelivery(t, good, "succeeded").Status)
	for url, reason := range want {
		d := p.awaitDelivery(t, paths[url], "failed")
		require.Contains(t, d.Attempts[0].Error, reason)
		require.NotContains(t, d.Attempts[0].Error, "CANARY")
		require.NotEmpty(t, d.NextAttemptAt)
		require.NotEmpty(t, p.does(t, 200, "GET", paths[url], "").json(t)["failingSince"])
	}
	require.Empty(t, inside.seen(), "a redirect is not followed")
	s.stop(t)
	for _, log := range []domain.Log{domain.Activity, domain.State} {
		for _, ev := range stored(t, s.dir, log) {
			requireUntold(t, "an event, of what may be a secret of the receiver", string(ev.Body), "CANARY")
		}
	}
	requireUntold(t, "the log", s.log.String(), "CANARY")
}

// Where requests must not go is refused when it is told, and again when it is dialled.
func TestAddressesInsideGetNoDelivery(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	named := strings.Replace(in.URL, "127.0.0.1", "localhost", 1)
	s := identified(t, "EGRESS_ALLOW_HOSTS="+strings.TrimPrefix(named, "http://"), "WEBHOOK_RETRY_SCHEDULE=1h").start(t)
	p := ownedPlace(t, s)
	for _, url := range []string{
		in.URL, "http://10.0.0.1/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest", "http://0.0.0.0:80/",
		"http://localhost/", "http://2130706433/", "http://127.1/", "https://[fe80::1%25eth0]/",
	} {
		got := p.ask(t, "POST", p.path+"/subscriptions", fmt.Sprintf(`{"url":%q,"types":["*"]}`, url))
		if got.StatusCode == 201 { // a name that is not found is looked up when it is dialled
			require.NotContains(t, url, "://127.0.0.1", "%s", got.body)
			path := p.path + "/subscriptions/" + got.json(t)["id"].(string)
			tested := p.does(t, 200, "POST", path+"/test", "").json(t)
			require.Equal(t, "failed", tested["status"], url)
			continue
		}
		require.Equal(t, 422, got.StatusCode, "%s: %s", url, got.body)
		require.Contains(t, string(got.body), `"url"`)
	}
	path := p.subscribes(t, named, "")
	p.emits(t, `{"type":"orders.paid"}`)
	p.awaitDelivery(t, path, "succeeded")
	s.reload(t, "EGRESS_ALLOW_HOSTS=elsewhere.example")
	s.node.Apply()
	before := len(in.seen())
	p.emits(t, `{"type":"orders.paid"}`)
	d := p.awaitDelivery(t, path, "failed")
	require.Contains(t, d.Attempts[0].Error, "its address is not public")
	require.Len(t, in.seen(), before)
}

func TestTheBreakerIsShownAndClosedByHand(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	in.answer(http.StatusBadGateway)
	s := identified(t, "EGRESS_ALLOW_PRIVATE=yes", "WEBHOOK_RETRY_SCHEDULE=1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms").start(t)
	p := ownedPlace(t, s)
	path := p.subscribes(t, in.URL, "")
	p.emits(t, `{"type":"orders.paid"}`)
	require.Eventually(t, func() bool {
		return p.does(t, 200, "GET", path, "").json(t)["breaker"] == "open"
	}, 20*time.Second, 10*time.Millisecond)
	require.Len(t, in.seen(), 10, "the next is a minute away")
	in.answer(http.StatusOK)
	shown := p.does(t, 200, "PATCH", path, `{"disabled":false}`).json(t)
	require.Equal(t, "closed", shown["breaker"])
	require.Len(t, p.awaitDelivery(t, path, "succeeded").Attempts, 11)
}

// Nothing is sent of a workspace that is deleted; when it is back, what was missed is.
func TestADeletedWorkspaceDeliversNothing(t *testing.T) {
	t.Parallel()
	in, other := newInbox(t), newInbox(t)
	s := identified(t, "EGRESS_ALLOW_PRIVATE=yes").start(t)
	p := ownedPlace(t, s)
	all := `,"types":["*"]`
	p.does(t, 201, "POST", p.path+"/subscriptions", fmt.Sprintf(`{"url":%q%s}`, in.URL, all))
	p.emits(t, `{"type":"orders.paid"}`)
	in.await(t, 1)
	second := s.must(t, "POST", "/v2/workspaces", p.me, `{"name":"Other"}`)["id"].(string)
	q := place{s, "/v2/workspaces/" + second, second, p.me}
	q.subscribes(t, other.URL, "")
	p.does(t, 200, "DELETE", p.path, "")
	q.emits(t, `{"type":"orders.paid"}`)
	other.await(t, 1)
	for _, got := range in.seen() {
		require.NotContains(t, string(got.body), `"workspaces.deleted"`)
	}
	before := len(in.seen())
	p.does(t, 200, "POST", p.path+"/undelete", "")
	in.await(t, before+1)
	types := map[string]int{}
	require.Eventually(t, func() bool {
		clear(types)
		for _, got := range in.seen() {
			var e struct{ Type string }
			require.NoError(t, json.Unmarshal(got.body, &e))
			types[e.Type]++
		}
		return types["workspaces.undeleted"] == 1 && types["workspaces.deleted"] == 1
	}, 20*time.Second, 10*time.Millisecond)
	require.NotContains(t, types, "webhooks.deliveries.attempted", "how deliveries are remembered is shown to nobody")
}

// waitingReplay starts a replay of more than is put in line at once, to a receiver that
// is not served.
func waitingReplay(t *testing.T, p place, in *inbox) (sub, operation string) {
	t.Helper()
	p.emitsMany(t, "orders.paid", 5_300)
	sub = p.subscribes(t, in.URL, `,"disabled":true`)
	id := p.does(t, 202, "POST", sub+"/replay", `{"afterDate":"2020-01-01T00:00:00Z"}`).json(t)["operationId"].(string)
	require.Eventually(t, func() bool {
		_, total := p.deliveries(t, sub, "limit=1&status=pending")
		return total == "5000"
	}, 30*time.Second, 20*time.Millisecond, "the rest waits for the receiver")
	return sub, p.path + "/operations/" + id
}

// awaitEnd waits until an operation has a status.
func (p place) awaitEnd(t *testing.T, operation, status string) (shown map[string]any) {
	t.Helper()
	require.Eventually(t, func() bool {
		shown = p.does(t, 200, "GET", operation, "").json(t)
		return shown["status"] == status
	}, 30*time.Second, 10*time.Millisecond)
	return shown
}

func TestAReplayIsCancelled(t *testing.T) {
	t.Parallel()
	p := ownedPlace(t, identified(t, "EGRESS_ALLOW_PRIVATE=yes").start(t))
	sub, operation := waitingReplay(t, p, newInbox(t))
	progress := p.does(t, 200, "GET", operation, "").json(t)["progress"].(map[string]any)
	require.InDelta(t, 5300, progress["total"], 0)
	p.does(t, 200, "POST", operation+"/cancel", "")
	p.awaitEnd(t, operation, "cancelled")
	_, total := p.deliveries(t, sub, "limit=1")
	require.Equal(t, "5000", total)
}

func TestAReplayGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	p := ownedPlace(t, identified(t, "EGRESS_ALLOW_PRIVATE=yes").start(t))
	sub, operation := waitingReplay(t, p, in)
	p.s.stop(t)
	p.s.start(t)
	p.does(t, 200, "PATCH", sub, `{"disabled":false}`)
	shown := p.awaitEnd(t, operation, "succeeded")
	require.InDelta(t, 1, shown["resumed"], 0)
	require.Equal(t, map[string]any{"deliveries": 5300.0}, shown["result"])
	_, total := p.deliveries(t, sub, "limit=1")
	require.Equal(t, "5300", total, "each is in line once")
	in.await(t, 300)
}

// Two nodes share the work, and one goes on alone.
func TestNodesShareDeliveries(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	one, other := couple(t, "EGRESS_ALLOW_PRIVATE=yes")
	p := ownedPlace(t, one)
	for range 10 { // of several partitions
		p.subscribes(t, in.URL, "")
	}
	events, _ := p.emits(t, `{"type":"orders.paid"},{"type":"orders.paid"}`)
	in.await(t, 20)
	one.stop(t)
	p.s = other
	more, _ := p.emits(t, `{"type":"orders.paid"}`)
	in.await(t, 30)
	times := map[string]int{}
	for _, got := range in.seen() {
		times[got.header.Get("webhook-id")]++
	}
	require.Equal(t, map[string]int{events[0].ID: 10, events[1].ID: 10, more[0].ID: 10}, times, "each once for each subscription")
}
