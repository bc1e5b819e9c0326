package node_test

import (
	"bufio"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// told is what somebody learns from an answer.
type told struct {
	status      int
	media, rest string
	body        string
}

// learns asks a question about the workspace that a path names, and leaves out of the
// answer what is different each time.
func (p place) learns(t *testing.T, path string, q question) told {
	t.Helper()
	got := p.ask(t, q.method, path+q.path, q.body, "Accept", q.accept)
	body := string(got.body)
	if got.StatusCode >= 400 && body != "" {
		fields := got.json(t)
		delete(fields, "requestId")
		body = fmt.Sprint(fields)
	}
	return told{got.StatusCode, got.Header.Get("Content-Type"), got.Header.Get("X-Total-Count") + got.Header.Get("Link"), body}
}

// question is something that is asked about the events of a workspace.
type question struct{ method, path, body, accept string }

var questions = []question{
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
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	p.emits(t, `{"type":"a"}`)
	another := func(name string) place {
		id := s.must(t, "POST", "/v2/workspaces", p.me, `{"name":"`+name+`","slug":"`+name+`"}`)["id"].(string)
		return place{s, "/v2/workspaces/" + id, id, p.me}
	}
	closed, gone := another("closed"), another("gone")
	closed.secure(t, `{"roles":{"editor":{}},"rules":[{"action":"read","subject":"events","inverted":true}]}`)
	former := gone.as(s.person(t, "former"))
	gone.does(t, 200, "POST", gone.path+"/permissions", `{"target":{"id":"`+former.userID(t)+`"},"permissions":{"role":"editor"}}`)
	former.emits(t, `{"type":"a"}`)
	require.Equal(t, []string{"a"}, typesOf(former.lists(t, "types=a").Result.Events))
	gone.does(t, 200, "DELETE", gone.path, "")

	key := p.does(t, 201, "POST", p.path+"/security/apikeys", `{"name":"k","rules":[{"action":"read","subject":"events"}]}`).json(t)["apiKey"].(string)
	strangers := map[string]place{
		"nobody": p.as(nil), "stranger": p.as(s.person(t, "stranger")), "former": former,
		"visitor": p.as(bearer(s.must(t, "POST", "/v2/login/anonymous", nil, "")["token"].(string))),
		"key":     p.as(http.Header{"X-Svc-Api-Key": {key}}),
	}
	for name, who := range strangers {
		for _, q := range questions {
			never := who.learns(t, "/v2/workspaces/nowhere", q)
			for _, path := range []string{closed.path, gone.path, "/v2/workspaces/slug:closed", "/v2/workspaces/slug:gone", "/v2/workspaces/slug:nobodys"} {
				require.Equal(t, never, who.learns(t, path, q), "%s: %s %s%s", name, q.method, path, q.path)
			}
			if name != "key" {
				require.Equal(t, never, who.learns(t, p.path, q), "%s: %s %s", name, q.method, q.path)
			}
		}
	}
	stranger := strangers["stranger"]
	require.Equal(t, told{200, "application/json; charset=utf-8", "", `{"result":{"events":[]}}`}, stranger.learns(t, "/v2/workspaces/nowhere", questions[0]))
	stranger.refuses(t, 403, "workspace_access_denied", "GET", "/v2/workspaces/nowhere", "")

	// Others are told as before.
	require.Contains(t, p.refuses(t, 404, "resource_not_found", "GET", gone.path+"/events", ""), "restorableUntil")
	p.as(bearer(s.admin(t))).refuses(t, 404, "resource_not_found", "GET", "/v2/workspaces/nowhere/events", "")
	require.Equal(t, []string{"a"}, typesOf(p.lists(t, "types=a").Result.Events))

	// Nothing can be done where nothing is.
	for _, path := range []string{closed.path, "/v2/workspaces/nowhere", gone.path} {
		wire := place{s: s, path: path}.plug(t, "", stranger.me)
		require.NotEmpty(t, inner(wire.hears(), "ready")["socketId"])
		wire.says(`{"emit":{"type":"tick"}}`)
		require.Equal(t, "workspace_access_denied", inner(wire.hears(), "error")["code"])
	}
}

// A stream that was opened by the slug of a workspace is of that workspace: who is given
// the slug later does not read with the rights in their own.
func TestAStreamDoesNotChangeItsWorkspaceWithASlug(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	mallory := p.as(s.person(t, "mallory"))
	lines := bufio.NewScanner(mallory.follow(t, "/v2/workspaces/slug:shop/events/stream"))
	require.True(t, lines.Scan())
	require.Equal(t, "retry: 2000", lines.Text())
	p.does(t, 200, "PATCH", p.path, `{"slug":"moved"}`)
	mallory.does(t, 201, "POST", "/v2/workspaces", `{"name":"Mine","slug":"shop"}`)
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
			require.Less(t, time.Since(begun), 30*time.Second, "the stream goes on")
			p.emits(t, `{"type":"secret"}`)
		}
	}
}
