package events_test

import (
	"bufio"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// observedAnswer is what somebody learns from an answer.
type observedAnswer struct {
	status      int
	media, rest string
	body        string
}

// observeAnswer asks a question about the workspace that a path names, and leaves out of the
// answer what is different each time.
func observeAnswer(t *testing.T, p nodetest.Workspace, path string, q eventsRequest) observedAnswer {
	t.Helper()
	got := p.Send(t, q.method, path+q.path, q.body, "Accept", q.accept)
	body := string(got.Body)
	if got.StatusCode >= 400 && body != "" {
		fields := got.JSON(t)
		delete(fields, "requestId")
		body = fmt.Sprint(fields)
	}
	return observedAnswer{got.StatusCode, got.Header.Get("Content-Type"), got.Header.Get("X-Total-Count") + got.Header.Get("Link"), body}
}

// eventsRequest is something that is asked about the events of a workspace.
type eventsRequest struct{ method, path, body, accept string }

var questions = []eventsRequest{
	{"GET", "/events", "", ""},
	{"HEAD", "/events", "", ""},
	{"GET", "/events?types=a&limit=1&sort=asc", "", "application/cloudevents-batch+json"},
	{"GET", "/events", "", "application/x-ndjson"},
	{"GET", "/events?beforeId=01JZZZZZZZZZZZZZZZZZZZZZZZ", "", ""},
	{"GET", "/events/01JZZZZZZZZZZZZZZZZZZZZZZZ", "", ""},
	{"GET", "/events/stream?fromSeq=nowhere", "", ""},
	{"HEAD", "/events/stream", "", ""},
	{"GET", "/events/ws", "", ""},
	{"GET", "/runs", "", ""},
	{"GET", "/runs/5e0c1a8e-0000-4000-8000-000000000000", "", ""},
	{"POST", "/search", `{"query":{"match_all":{}}}`, ""},
	{"POST", "/search", `{"query":{"match_all":{}},"aggs":{"a":{"terms":{"field":"type"}}}}`, ""},
	{"GET", "", "", ""},
}

// Everybody may ask any workspace for events that are theirs. So may a stranger where no
// workspace is, and cannot tell: whether there is none, was one, or is one that keeps
// its events from everybody.
func TestAStrangerCannotTellWhichWorkspacesThereAre(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Emit(t, `{"type":"a"}`)
	another := func(name string) nodetest.Workspace {
		id := s.Must(t, "POST", "/v2/workspaces", p.Auth, `{"name":"`+name+`","slug":"`+name+`"}`)["id"].(string)
		return nodetest.Workspace{Service: s, Path: "/v2/workspaces/" + id, ID: id, Auth: p.Auth}
	}
	closed, gone := another("closed"), another("gone")
	closed.SetSecurity(t, `{"roles":{"editor":{}},"rules":[{"action":"read","subject":"events","inverted":true}]}`)
	former := gone.As(s.NewUser(t, "former"))
	gone.Do(t, 200, "POST", gone.Path+"/permissions", `{"target":{"id":"`+former.UserID(t)+`"},"permissions":{"role":"editor"}}`)
	former.Emit(t, `{"type":"a"}`)
	require.Equal(t, []string{"a"}, nodetest.TypesOf(former.ListEvents(t, "types=a").Result.Events))
	gone.Do(t, 200, "DELETE", gone.Path, "")

	key := p.Do(t, 201, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":[{"action":"read","subject":"events"}]}`).JSON(t)["apiKey"].(string)
	strangers := map[string]nodetest.Workspace{
		"nobody": p.As(nil), "stranger": p.As(s.NewUser(t, "stranger")), "former": former,
		"visitor": p.As(nodetest.Bearer(s.Must(t, "POST", "/v2/login/anonymous", nil, "")["token"].(string))),
		"key":     p.As(http.Header{"X-Svc-Api-Key": {key}}),
	}
	for name, who := range strangers {
		for _, q := range questions {
			never := observeAnswer(t, who, "/v2/workspaces/nowhere", q)
			for _, path := range []string{closed.Path, gone.Path, "/v2/workspaces/slug:closed", "/v2/workspaces/slug:gone", "/v2/workspaces/slug:nobodys"} {
				require.Equal(t, never, observeAnswer(t, who, path, q), "%s: %s %s%s", name, q.method, path, q.path)
			}
			if name != "key" {
				require.Equal(t, never, observeAnswer(t, who, p.Path, q), "%s: %s %s", name, q.method, q.path)
			}
		}
	}
	stranger := strangers["stranger"]
	require.Equal(t, observedAnswer{200, "application/json; charset=utf-8", "", `{"result":{"events":[]}}`}, observeAnswer(t, stranger, "/v2/workspaces/nowhere", questions[0]))
	stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", "/v2/workspaces/nowhere", "")

	// Others are told as before.
	require.Contains(t, p.RequireRefusal(t, 404, "resource_not_found", "GET", gone.Path+"/events", ""), "restorableUntil")
	p.As(nodetest.Bearer(s.SignInAdmin(t))).RequireRefusal(t, 404, "resource_not_found", "GET", "/v2/workspaces/nowhere/events", "")
	require.Equal(t, []string{"a"}, nodetest.TypesOf(p.ListEvents(t, "types=a").Result.Events))

	// Nothing can be done where nothing is.
	for _, path := range []string{closed.Path, "/v2/workspaces/nowhere", gone.Path} {
		wire := nodetest.Workspace{Service: s, Path: path}.OpenWebSocket(t, "", stranger.Auth)
		require.NotEmpty(t, nodetest.ObjectAt(wire.Receive(), "ready")["socketId"])
		wire.Send(`{"emit":{"type":"tick"}}`)
		require.Equal(t, "workspace_access_denied", nodetest.ObjectAt(wire.Receive(), "error")["code"])
	}
}

// A stream that was opened by the slug of a workspace is of that workspace: who is given
// the slug later does not read with the rights in their own.
func TestAStreamDoesNotChangeItsWorkspaceWithASlug(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	mallory := p.As(s.NewUser(t, "mallory"))
	lines := bufio.NewScanner(mallory.Follow(t, "/v2/workspaces/slug:shop/events/stream"))
	for _, first := range []string{"retry: 2000", "id: ", ""} {
		require.True(t, lines.Scan())
		require.Contains(t, lines.Text(), first)
	}
	p.Do(t, 200, "PATCH", p.Path, `{"slug":"moved"}`)
	mallory.Do(t, 201, "POST", "/v2/workspaces", `{"name":"Mine","slug":"shop"}`)
	ended := make(chan string, 1)
	go func() {
		var text string
		for lines.Scan() {
			text += lines.Text()
		}
		ended <- text
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); ; {
		select {
		case text := <-ended:
			require.Empty(t, text)
			return
		case <-tick.C:
			require.Less(t, time.Since(begun), time.Minute, "the stream goes on")
			p.Emit(t, `{"type":"secret"}`)
		}
	}
}
