package events_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/projections/livetest"
)

// watched prepares a service that programs of others can subscribe at.
func watched(t *testing.T, env ...string) (s *nodetest.Service, address string) {
	t.Helper()
	address = fmt.Sprintf("127.0.0.1:%d", livetest.Ports(1)[0])
	return nodetest.NewServiceWithAccounts(t, append([]string{"NATS_LISTEN=" + address}, env...)...), address
}

// watcher is a program that has credentials.
type watcher struct {
	id, file string
}

// admitWatcher lets a program in; terms are those of the body but for its key.
func admitWatcher(t *testing.T, s *nodetest.Service, h http.Header, terms string) watcher {
	t.Helper()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := pair.PublicKey()
	require.NoError(t, err)
	made := s.Must(t, "POST", "/sys/nats/users", h, fmt.Sprintf(`{"name":"board","publicKey":%q,%s}`, key, terms))
	require.Equal(t, true, made["listening"])
	seed, err := pair.Seed()
	require.NoError(t, err)
	creds, err := jwt.FormatUserConfig(made["jwt"].(string), seed)
	require.NoError(t, err)
	w := watcher{made["id"].(string), filepath.Join(t.TempDir(), "board.creds")}
	require.NoError(t, os.WriteFile(w.file, creds, 0o600))
	return w
}

// watch is a client of the outside that hears a subject.
func (w watcher) watch(t *testing.T, address, subject string, options ...nats.Option) (nc *nats.Conn, heard <-chan *nats.Msg, complaints <-chan error) {
	t.Helper()
	said := make(chan error, 100)
	nc, err := nats.Connect("nats://"+address, append(options, nats.UserCredentials(w.file), nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { said <- err }))...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	messages := make(chan *nats.Msg, 1000)
	_, err = nc.ChanSubscribe(subject, messages)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	return nc, messages, said
}

// nextMessage is what is heard next, decoded.
func nextMessage(t *testing.T, from <-chan *nats.Msg) (m *nats.Msg, event map[string]any) {
	t.Helper()
	select {
	case m = <-from:
	case <-time.After(time.Minute):
		require.FailNow(t, "nothing was heard")
	}
	require.NoError(t, json.Unmarshal(m.Data, &event), "%s", m.Data)
	require.Equal(t, m.Header.Get(nats.MsgIdHdr), event["id"])
	require.Equal(t, m.Header.Get("Svc-Seq"), event["seq"])
	return m, event
}

// emitEvent emits an event in a workspace, which those who watch it hear.
func emitEvent(t *testing.T, s *nodetest.Service, who http.Header, workspaceID, eventType string) {
	t.Helper()
	got := s.Call(t, "POST", "/v2/workspaces/"+workspaceID+"/events", who, fmt.Sprintf(`{"events":[{"type":%q}]}`, eventType))
	require.Equal(t, http.StatusCreated, got.StatusCode, "%s", got.Body)
}

// A program of the outside with restricted credentials follows a bulk run, and reads
// nothing of any workspace.
func TestABulkRunIsWatchedFromOutside(t *testing.T) {
	s, address := watched(t, "WORKSPACES_STORAGE_GIT_PLATFORM_disk_TYPE=filesystem", "WORKSPACES_STORAGE_GIT_PLATFORM_disk_DIRPATH="+t.TempDir(), "WORKSPACE_GROUPS=base=web")
	s.Start(t)
	super := nodetest.Bearer(s.SignInAdmin(t))
	shop := s.Must(t, "POST", "/v2/workspaces", super, `{"name":"Shop","slug":"shop","labels":["web"]}`)["id"].(string)
	s.Must(t, "POST", "/v2/workspaces", super, `{"name":"Mail","slug":"mail","labels":["web"]}`)

	board := admitWatcher(t, s, super, `"workspaces":["platform"],"types":["workspaces.bulkPush.*"]`)
	_, heard, complaints := board.watch(t, address, "svc.activity.platform.workspaces.bulkPush.>")
	_, shopHeard, _ := admitWatcher(t, s, nodetest.AsInternal, `"workspaces":["slug:shop"]`).watch(t, address, "svc.activity."+shop+".>")
	curious, other, refused := admitWatcher(t, s, nodetest.AsInternal, `"workspaces":["mail"]`).watch(t, address, "svc.activity."+shop+".>")
	require.ErrorIs(t, receive(t, refused), nats.ErrPermissionViolation)

	done := s.Must(t, "POST", "/v2/workspaces/platform/versions", super, `{"groups":["base"],"name":"v1"}`)
	require.Equal(t, 2.0, done["pushed"])
	var types []string
	for range 4 {
		m, event := nextMessage(t, heard)
		require.Equal(t, "svc.activity.platform."+event["type"].(string), m.Subject)
		require.Equal(t, "platform", event["source"].(map[string]any)["workspaceId"])
		types = append(types, strings.TrimPrefix(event["type"].(string), "workspaces.bulkPush."))
		shown := s.Get(t, "/v2/workspaces/platform/events/"+event["id"].(string), super)
		require.JSONEq(t, string(shown.Body), string(m.Data), "what the API shows of it")
	}
	require.Equal(t, []string{"started", "progress", "progress", "completed"}, types)
	require.Empty(t, heard)
	require.Empty(t, complaints)

	t.Log("of a workspace one hears how far it is and what happens, not what it holds")
	s.Must(t, "PATCH", "/v2/workspaces/"+shop, super, `{"description":"state"}`)
	emitEvent(t, s, super, shop, "order.paid")
	for {
		_, event := nextMessage(t, shopHeard)
		if event["type"] == "order.paid" {
			break
		}
		require.Equal(t, "workspaces.versions.progress", event["type"])
	}
	require.NoError(t, curious.Flush())
	require.Empty(t, other)
}

func receive(t *testing.T, from <-chan error) error {
	t.Helper()
	select {
	case err := <-from:
		return err
	case <-time.After(time.Minute):
		require.FailNow(t, "nobody complained")
		return nil
	}
}

func TestWhoIsShutOutIsCutOffAtOnce(t *testing.T) {
	s, address := watched(t)
	s.Start(t)
	super := nodetest.Bearer(s.SignInAdmin(t))
	gone, stays := admitWatcher(t, s, super, `"all":true`), admitWatcher(t, s, super, `"all":true,"types":["order.paid"]`)
	leaving, _, _ := gone.watch(t, address, "svc.activity.>")
	_, heard, _ := stays.watch(t, address, "svc.activity.*.order.paid")
	entries := s.Get(t, "/sys/nats/users", nodetest.AsInternal).List(t)
	require.Len(t, entries, 2)
	for _, u := range entries {
		require.NotContains(t, u, "jwt")
		require.NotEmpty(t, u["createdBy"])
	}

	s.Must(t, "DELETE", "/sys/nats/users/"+gone.id, super, "")
	require.Eventually(t, leaving.IsClosed, time.Minute, time.Millisecond)
	_, err := nats.Connect("nats://"+address, nats.UserCredentials(gone.file))
	require.ErrorIs(t, err, nats.ErrAuthorization)
	require.Equal(t, 404, s.Call(t, "DELETE", "/sys/nats/users/"+gone.id, super, "").StatusCode)

	t.Log("the other one goes on")
	id := s.Must(t, "POST", "/v2/workspaces", super, `{"name":"Shop"}`)["id"].(string)
	emitEvent(t, s, super, id, "order.lost")
	emitEvent(t, s, super, id, "order.paid")
	m, _ := nextMessage(t, heard)
	require.Equal(t, "svc.activity."+id+".order.paid", m.Subject)
	passing := s.Call(t, "POST", "/v2/workspaces/"+id+"/events", super, `{"events":[{"type":"order.paid","options":{"persist":false}}]}`)
	require.Equal(t, http.StatusCreated, passing.StatusCode, "%s", passing.Body)
	_, event := nextMessage(t, heard)
	require.Equal(t, map[string]any{"persist": false}, event["options"], "who listens now hears what is not kept")
	recorded := s.Get(t, "/v2/workspaces/platform/events?types=nats.users.*", super)
	var page nodetest.EventPage
	require.NoError(t, json.Unmarshal(recorded.Body, &page), "%s", recorded.Body)
	require.Equal(t, []string{"nats.users.deleted", "nats.users.created", "nats.users.created"}, nodetest.TypesOf(page.Result.Events))
	require.NotContains(t, string(recorded.Body), "jwt")
	s.Stop(t)
	seed, err := os.ReadFile(stays.file)
	require.NoError(t, err)
	for line := range strings.Lines(string(seed)) {
		if strings.HasPrefix(line, "SU") {
			nodetest.RequireNoSecret(t, s.Dir, strings.TrimSpace(line))
		}
	}
}

// In a cluster any node can be watched, and each tells everything once.
func TestEveryNodeOfAClusterIsWatched(t *testing.T) {
	var addresses []string
	for _, port := range livetest.Ports(3) {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port))
	}
	nodes := nodetest.StartCluster(t, func(i int) []string { return []string{"NATS_LISTEN=" + addresses[i]} })
	id, _ := nodes[0].CreateWorkspace(t, "shop")
	require.Eventually(t, func() bool {
		got, err := nodes[2].Request(t.Context(), "GET", "/v2/workspaces/"+id, nodetest.As("root"), "")
		return err == nil && got.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "the other node knows of it")
	who := admitWatcher(t, nodes[2], nodetest.As("root"), `"workspaces":["`+id+`"]`)
	var connections []*nats.Conn
	var heard []<-chan *nats.Msg
	for _, address := range addresses {
		nc, messages, _ := who.watch(t, address, "svc.activity."+id+".>")
		connections, heard = append(connections, nc), append(heard, messages)
	}
	var want []string
	for i := range 12 {
		emitEvent(t, nodes[i%3], nodetest.As("root"), id, fmt.Sprintf("order.n%d", i))
		want = append(want, fmt.Sprintf("svc.activity.%s.order.n%d", id, i))
	}
	for _, from := range heard {
		var got []string
		for range want {
			m, _ := nextMessage(t, from)
			got = append(got, m.Subject)
		}
		require.Equal(t, want, got)
	}
	nodes[0].Must(t, "DELETE", "/sys/nats/users/"+who.id, nodetest.As("root"), "")
	for i, nc := range connections {
		require.Eventually(t, nc.IsClosed, time.Minute, time.Millisecond)
		require.Empty(t, heard[i], "nothing is told twice")
	}
}
