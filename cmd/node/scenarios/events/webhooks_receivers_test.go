package events_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

// Whatever a receiver does wrong is in the delivery log, with a reason, and holds up
// nobody else.
func TestReceiversThatMisbehave(t *testing.T) {
	t.Parallel()
	inside := nodetest.NewReceiver(t)
	release := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hang.Close)
	t.Cleanup(func() { close(release) })
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	redirect := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirect.Close)
	broken := nodetest.NewReceiver(t)
	broken.SetStatus(http.StatusInternalServerError)
	well := nodetest.NewReceiver(t)
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes", "WEBHOOK_TIMEOUT_SECONDS=1", "WEBHOOK_RETRY_SCHEDULE=1h").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	want := map[string]string{
		hang.URL: "no answer within 1s", untrusted.URL: "certificate", redirect.URL: "answered 307: redirects are not followed", broken.URL: "answered 500",
	}
	paths := map[string]string{}
	for url := range want {
		paths[url] = p.Subscribe(t, url+"/?token=CANARY", "")
	}
	good := p.Subscribe(t, well.URL, "")
	p.Emit(t, `{"type":"orders.paid","payload":{"n":1}}`)
	well.AwaitDeliveries(t, 1)
	require.Equal(t, "succeeded", p.AwaitDelivery(t, good, "succeeded").Status)
	for url, reason := range want {
		d := p.AwaitDelivery(t, paths[url], "failed")
		require.Contains(t, d.Attempts[0].Error, reason)
		require.NotContains(t, d.Attempts[0].Error, "CANARY")
		require.NotEmpty(t, d.NextAttemptAt)
		require.NotEmpty(t, p.Do(t, 200, "GET", paths[url], "").JSON(t)["failingSince"])
	}
	require.Empty(t, inside.Received(), "a redirect is not followed")
	s.Stop(t)
	for _, log := range []domain.Log{domain.Activity, domain.State} {
		for _, ev := range nodetest.StoredEvents(t, s.Dir, log) {
			nodetest.RequireNoSecretIn(t, "an event, of what may be a secret of the receiver", string(ev.Body), "CANARY")
		}
	}
	nodetest.RequireNoSecretIn(t, "the log", s.Log.String(), "CANARY")
}

// Where requests must not go is refused when it is told, and again when it is dialled.
func TestAddressesInsideGetNoDelivery(t *testing.T) {
	t.Parallel()
	in := nodetest.NewReceiver(t)
	named := strings.Replace(in.URL, "127.0.0.1", "localhost", 1)
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_HOSTS="+strings.TrimPrefix(named, "http://"), "WEBHOOK_RETRY_SCHEDULE=1h").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	for _, url := range []string{
		in.URL, "http://10.0.0.1/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/latest", "http://0.0.0.0:80/",
		"http://localhost/", "http://2130706433/", "http://127.1/", "https://[fe80::1%25eth0]/",
	} {
		got := p.Send(t, "POST", p.Path+"/subscriptions", fmt.Sprintf(`{"url":%q,"types":["*"]}`, url))
		if got.StatusCode == 201 { // a name that is not found is looked up when it is dialled
			require.NotContains(t, url, "://127.0.0.1", "%s", got.Body)
			path := p.Path + "/subscriptions/" + got.JSON(t)["id"].(string)
			tested := p.Do(t, 200, "POST", path+"/test", "").JSON(t)
			require.Equal(t, "failed", tested["status"], url)
			continue
		}
		require.Equal(t, 422, got.StatusCode, "%s: %s", url, got.Body)
		require.Contains(t, string(got.Body), `"url"`)
	}
	path := p.Subscribe(t, named, "")
	p.Emit(t, `{"type":"orders.paid"}`)
	p.AwaitDelivery(t, path, "succeeded")
	s.Reload(t, "EGRESS_ALLOW_HOSTS=elsewhere.example")
	s.Node.Apply()
	before := len(in.Received())
	p.Emit(t, `{"type":"orders.paid"}`)
	d := p.AwaitDelivery(t, path, "failed")
	require.Contains(t, d.Attempts[0].Error, "its address is not public")
	require.Len(t, in.Received(), before)
}

func TestTheBreakerIsShownAndClosedByHand(t *testing.T) {
	t.Parallel()
	in := nodetest.NewReceiver(t)
	in.SetStatus(http.StatusBadGateway)
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes", "WEBHOOK_RETRY_SCHEDULE=1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms,1ms").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	path := p.Subscribe(t, in.URL, "")
	p.Emit(t, `{"type":"orders.paid"}`)
	require.Eventually(t, func() bool {
		return p.Do(t, 200, "GET", path, "").JSON(t)["breaker"] == "open"
	}, time.Minute, 10*time.Millisecond)
	require.Len(t, in.Received(), 10, "the next is a minute away")
	in.SetStatus(http.StatusOK)
	shown := p.Do(t, 200, "PATCH", path, `{"disabled":false}`).JSON(t)
	require.Equal(t, "closed", shown["breaker"])
	require.Len(t, p.AwaitDelivery(t, path, "succeeded").Attempts, 11)
}

// Nothing is sent of a workspace that is deleted; when it is back, what was missed is.
func TestADeletedWorkspaceDeliversNothing(t *testing.T) {
	t.Parallel()
	in, other := nodetest.NewReceiver(t), nodetest.NewReceiver(t)
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	all := `,"types":["*"]`
	p.Do(t, 201, "POST", p.Path+"/subscriptions", fmt.Sprintf(`{"url":%q%s}`, in.URL, all))
	p.Emit(t, `{"type":"orders.paid"}`)
	in.AwaitDeliveries(t, 1)
	second := s.Must(t, "POST", "/v2/workspaces", p.Auth, `{"name":"Other"}`)["id"].(string)
	q := nodetest.Workspace{Service: s, Path: "/v2/workspaces/" + second, ID: second, Auth: p.Auth}
	q.Subscribe(t, other.URL, "")
	p.Do(t, 200, "DELETE", p.Path, "")
	q.Emit(t, `{"type":"orders.paid"}`)
	other.AwaitDeliveries(t, 1)
	for _, got := range in.Received() {
		require.NotContains(t, string(got.Body), `"workspaces.deleted"`)
	}
	before := len(in.Received())
	p.Do(t, 200, "POST", p.Path+"/undelete", "")
	in.AwaitDeliveries(t, before+1)
	types := map[string]int{}
	require.Eventually(t, func() bool {
		clear(types)
		for _, got := range in.Received() {
			var e struct{ Type string }
			require.NoError(t, json.Unmarshal(got.Body, &e))
			types[e.Type]++
		}
		return types["workspaces.undeleted"] == 1 && types["workspaces.deleted"] == 1
	}, time.Minute, 10*time.Millisecond)
	require.NotContains(t, types, "webhooks.deliveries.attempted", "how deliveries are remembered is shown to nobody")
}

// waitingReplay starts a replay of more than is put in line at once, to a receiver that
// is not served.
func waitingReplay(t *testing.T, p nodetest.Workspace, in *nodetest.Receiver) (sub, operation string) {
	t.Helper()
	p.EmitMany(t, "orders.paid", 5_300)
	sub = p.Subscribe(t, in.URL, `,"disabled":true`)
	id := p.Do(t, 202, "POST", sub+"/replay", `{"afterDate":"2020-01-01T00:00:00Z"}`).JSON(t)["operationId"].(string)
	require.Eventually(t, func() bool {
		_, total := p.Deliveries(t, sub, "limit=1&status=pending")
		return total == "5000"
	}, time.Minute, 20*time.Millisecond, "the rest waits for the receiver")
	return sub, p.Path + "/operations/" + id
}

func TestAReplayIsCancelled(t *testing.T) {
	t.Parallel()
	p := nodetest.NewOwnedWorkspace(t, nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes").Start(t))
	sub, operation := waitingReplay(t, p, nodetest.NewReceiver(t))
	progress := p.Do(t, 200, "GET", operation, "").JSON(t)["progress"].(map[string]any)
	require.InDelta(t, 5300, progress["total"], 0)
	p.Do(t, 200, "POST", operation+"/cancel", "")
	p.AwaitOperation(t, operation, "cancelled")
	_, total := p.Deliveries(t, sub, "limit=1")
	require.Equal(t, "5000", total)
}

func TestAReplayGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	in := nodetest.NewReceiver(t)
	p := nodetest.NewOwnedWorkspace(t, nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes").Start(t))
	sub, operation := waitingReplay(t, p, in)
	p.Service.Stop(t)
	p.Service.Start(t)
	p.Do(t, 200, "PATCH", sub, `{"disabled":false}`)
	shown := p.AwaitOperation(t, operation, "succeeded")
	require.InDelta(t, 1, shown["resumed"], 0)
	require.Equal(t, map[string]any{"deliveries": 5300.0}, shown["result"])
	_, total := p.Deliveries(t, sub, "limit=1")
	require.Equal(t, "5300", total, "each is in line once")
	in.AwaitDeliveries(t, 300)
}

// Two nodes share the work, and one goes on alone.
func TestNodesShareDeliveries(t *testing.T) {
	t.Parallel()
	in := nodetest.NewReceiver(t)
	one, other := nodetest.StartPair(t, "EGRESS_ALLOW_PRIVATE=yes")
	p := nodetest.NewOwnedWorkspace(t, one)
	for range 10 { // of several partitions
		p.Subscribe(t, in.URL, "")
	}
	events, _ := p.Emit(t, `{"type":"orders.paid"},{"type":"orders.paid"}`)
	in.AwaitDeliveries(t, 20)
	one.Stop(t)
	p.Service = other
	more, _ := p.Emit(t, `{"type":"orders.paid"}`)
	in.AwaitDeliveries(t, 30)
	times := map[string]int{}
	for _, got := range in.Received() {
		times[got.Header.Get("webhook-id")]++
	}
	require.Equal(t, map[string]int{events[0].ID: 10, events[1].ID: 10, more[0].ID: 10}, times, "each once for each subscription")
}
