package events_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestTheFeedIsListed(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	made, _ := p.Emit(t, `{"type":"order.paid","payload":{"id":7,"customer":{"name":"Zoë Smith"}}},{"type":"order.late","payload":{"id":8}}`)
	p.Do(t, http.StatusOK, "PATCH", p.Path, `{"description":"of orders"}`)

	page := p.ListEvents(t, "")
	require.Equal(t, []string{"workspaces.updated", "order.late", "order.paid", "workspaces.created"}, nodetest.TypesOf(page.Result.Events))
	require.Empty(t, page.Result.Cursor)
	require.Equal(t, made[0].Seq, page.Result.Events[2].Seq, "an event has one seq, in every answer")
	require.Equal(t, made[0].ID, page.Result.Events[2].ID)
	require.Positive(t, page.Result.Events[0].Size)

	for query, want := range map[string][]string{
		"types=order.*":                 {"order.late", "order.paid"},
		"types=order.paid,workspaces.*": {"workspaces.updated", "order.paid", "workspaces.created"},
		"payload.id=7":                  {"order.paid"},
		"payload.customer.name=Zo*":     {"order.paid"},
		"text=SMITH zoë":                {"order.paid"},
		"text=smit":                     nil,
		"source.correlationId=" + made[0].Source["correlationId"].(string): {"order.late", "order.paid"},
		"payload.id=7&payload.id=8":                                        {"order.late", "order.paid"},
		"types=order.*&payload.customer=":                                  {"order.late"},
		"sort=asc&limit=2":                                                 {"workspaces.created", "order.paid"},
		"fromSeq=" + made[1].Seq:                                           {"workspaces.updated"},
		"toSeq=" + made[0].Seq:                                             {"order.paid", "workspaces.created"},
		"beforeId=" + made[1].ID:                                           {"order.paid", "workspaces.created"},
		"afterDate=2999-01-01T00:00:00Z":                                   nil,
		"beforeDate=2999-01-01T00:00:00%2B02:00&types=order.*":             {"order.late", "order.paid"},
		"source.userId=" + p.UserID(t) + "&types=order.paid":               {"order.paid"},
		"page=1&limit=3":                                                   {"workspaces.created"},
	} {
		require.Equal(t, want, nodetest.TypesOf(p.ListEvents(t, strings.ReplaceAll(query, " ", "%20")).Result.Events), query)
	}
	one := p.Do(t, http.StatusOK, "GET", p.Path+"/events/"+made[1].ID, "")
	require.Contains(t, string(one.Body), `"order.late"`)
	p.RequireRefusal(t, http.StatusNotFound, "resource_not_found", "GET", p.Path+"/events/01ARZ3NDEKTSV4RRFFQ69G5FAV", "")
}

func TestPagesOfEventsAreFullAndCursorsStand(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	ids := p.EmitMany(t, "tick", 130)
	slices.Reverse(ids)
	var seen []string
	cursor := ""
	for {
		page := p.ListEvents(t, "types=tick&limit=40"+cursor)
		for _, e := range page.Result.Events {
			seen = append(seen, e.ID)
		}
		if page.Result.Cursor == "" {
			break
		}
		require.Len(t, page.Result.Events, 40)
		p.Emit(t, `{"type":"tick"}`) // what is new does not move the pages
		cursor = "&cursor=" + page.Result.Cursor
	}
	require.Equal(t, ids, seen)

	// Upwards, too, and on to what comes later.
	var up []string
	cursor = ""
	for {
		page := p.ListEvents(t, "types=tick&sort=asc&limit=50"+cursor)
		for _, e := range page.Result.Events {
			up = append(up, e.ID)
		}
		if page.Result.Cursor == "" {
			break
		}
		cursor = "&cursor=" + page.Result.Cursor
	}
	require.Len(t, up, 133)
	slices.Reverse(ids)
	require.Equal(t, ids, up[:130])
}

func TestBadQueriesOfEvents(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	for query, field := range map[string]string{
		"cursor=nonsense": "cursor", "cursor=d": "cursor", "cursor=x": "cursor", "fromSeq=nonsense": "fromSeq", "toSeq=!": "toSeq", "beforeId=nothing": "beforeId",
		"afterDate=yesterday": "afterDate", "beforeDate=2026-13-01T00:00:00Z": "beforeDate", "sort=up": "sort", "limit=0": "limit", "limit=1001": "limit",
		"page=-1": "page", "types=a/b": "types", "appInstanceDepth=x": "appInstanceDepth", "nonsense=1": "nonsense", "payload..x=1": "payload..x",
		"page=999999": "page", "text=" + strings.Repeat("x", 1001): "text", "types=" + strings.Repeat("x", 201): "types",
	} {
		details := p.RequireRefusal(t, http.StatusBadRequest, "invalid_parameter", "GET", p.Path+"/events?"+query, "")
		require.Equal(t, field, details["parameter"], query)
	}
}

func TestEventsAreReadByThoseWhoMay(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, http.StatusCreated, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":[{"action":"read","subject":"events"}]}`)
	p.Emit(t, `{"type":"mine"}`)
	require.Contains(t, nodetest.TypesOf(p.ListEvents(t, "").Result.Events), "apikeys.created")

	visitor := p.As(nodetest.Bearer(s.Must(t, "POST", "/v2/login/anonymous", nil, "")["token"].(string)))
	visitor.Emit(t, `{"type":"theirs"}`)
	require.Equal(t, []string{"theirs"}, nodetest.TypesOf(visitor.ListEvents(t, "").Result.Events), "a visitor reads what they emitted")
	require.Equal(t, []string{"theirs"}, nodetest.TypesOf(visitor.ListEvents(t, "limit=1").Result.Events))
	first := p.ListEvents(t, "types=mine").Result.Events[0]
	visitor.RequireRefusal(t, http.StatusNotFound, "resource_not_found", "GET", p.Path+"/events/"+first.ID, "")

	editor := s.NewUser(t, "eve")
	p.Do(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"id":"`+p.As(editor).UserID(t)+`"},"permissions":{"role":"editor"}}`)
	seen := nodetest.TypesOf(p.As(editor).ListEvents(t, "").Result.Events)
	require.Contains(t, seen, "mine")
	require.NotContains(t, seen, "apikeys.created", "the rules of a new workspace keep API keys from editors")

	stranger := s.NewUser(t, "mallory")
	require.Empty(t, p.As(stranger).ListEvents(t, "").Result.Events)
}

func TestOtherFormsOfEvents(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.EmitMany(t, "tick", 150)

	got := p.Do(t, http.StatusOK, "GET", p.Path+"/events?types=tick&limit=2", "", "Accept", "application/cloudevents-batch+json")
	require.Equal(t, "application/cloudevents-batch+json; charset=utf-8", got.Header.Get("Content-Type"))
	var cloud []map[string]any
	require.NoError(t, json.Unmarshal(got.Body, &cloud))
	require.Len(t, cloud, 2)
	require.Equal(t, "1.0", cloud[0]["specversion"])
	require.Equal(t, "/v2/workspaces/"+p.ID, cloud[0]["source"])
	require.Equal(t, map[string]any{"n": 149.0}, cloud[0]["data"])
	require.Contains(t, got.Header.Get("Link"), `rel="next"`)

	got = p.Do(t, http.StatusOK, "GET", p.Path+"/events?types=tick&sort=asc", "", "Accept", "application/x-ndjson")
	lines := strings.Split(strings.TrimSpace(string(got.Body)), "\n")
	require.Len(t, lines, 150, "all matches, not a page")
	var e nodetest.Event
	require.NoError(t, json.Unmarshal([]byte(lines[149]), &e))
	require.InDelta(t, 149, e.Payload["n"], 0)
}

func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	before, _ := p.Emit(t, `{"type":"tick","payload":{"n":1}}`)
	stream := p.Follow(t, p.Path+"/events?types=tick,tock", "Accept", "text/event-stream")
	made, _ := p.Emit(t, `{"type":"tick","payload":{"n":2}},{"type":"other"},{"type":"tock","options":{"persist":false}},{"type":"tick","payload":{"n":3}}`)
	frames, text := nodetest.ReadFrames(stream, 3)
	require.True(t, strings.HasPrefix(text, "retry: 2000\n"), text)
	var seen []nodetest.Event
	for _, f := range frames {
		var e nodetest.Event
		require.NoError(t, json.Unmarshal([]byte(f.Data), &e))
		require.Equal(t, f.ID, e.Seq)
		require.Empty(t, f.Event)
		seen = append(seen, e)
	}
	slices.SortFunc(seen, func(a, b nodetest.Event) int { return strings.Compare(a.Type, b.Type) })
	require.Equal(t, []string{made[0].ID, made[3].ID, made[2].ID}, []string{seen[0].ID, seen[1].ID, seen[2].ID})
	require.Equal(t, made[0].Seq, seen[0].Seq, "as it was answered")

	// Who comes back gets what is missing, and no more.
	stream = p.Follow(t, p.Path+"/events/stream?types=tick", "Last-Event-ID", before[0].Seq)
	frames, _ = nodetest.ReadFrames(stream, 2)
	require.Equal(t, []string{made[0].Seq, made[3].Seq}, []string{frames[0].ID, frames[1].ID})
	stream = p.Follow(t, p.Path+"/events/stream?types=tick&fromSeq="+url.QueryEscape(made[0].Seq))
	frames, _ = nodetest.ReadFrames(stream, 1)
	require.Equal(t, made[3].Seq, frames[0].ID)
	p.RequireRefusal(t, http.StatusBadRequest, "invalid_parameter", "GET", p.Path+"/events/stream?fromSeq=x", "")
	p.RequireRefusal(t, http.StatusBadRequest, "invalid_parameter", "GET", p.Path+"/events/stream?limit=3", "")
}

func TestAllWorkspacesAreFollowed(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	one := nodetest.NewOwnedWorkspace(t, s)
	id := s.Must(t, "POST", "/v2/workspaces", one.Auth, `{"name":"Second"}`)["id"].(string)
	two := nodetest.Workspace{Service: s, Path: "/v2/workspaces/" + id, ID: id, Auth: one.Auth}
	other := one.As(s.NewUser(t, "mallory"))
	theirs := other.Do(t, http.StatusCreated, "POST", "/v2/workspaces", `{"name":"theirs"}`)
	var w struct{ ID string }
	require.NoError(t, json.Unmarshal(theirs.Body, &w))
	mine := one.Follow(t, "/v2/events/stream?types=tick")
	notMine := other.Follow(t, "/v2/events/stream?types=tick")
	one.Emit(t, `{"type":"tick","payload":{"n":1}}`)
	other.Do(t, http.StatusCreated, "POST", "/v2/workspaces/"+w.ID+"/events", `{"events":[{"type":"tick","payload":{"n":2}}]}`)
	two.Emit(t, `{"type":"tick","payload":{"n":3}}`)
	frames, _ := nodetest.ReadFrames(mine, 1)
	require.Contains(t, frames[0].Data, `"n":1`)
	again, _ := nodetest.ReadFrames(one.Follow(t, "/v2/events/stream?types=tick", "Last-Event-ID", frames[0].ID), 1)
	require.Contains(t, again[0].Data, `"n":3`)
	frames, _ = nodetest.ReadFrames(notMine, 1)
	require.Contains(t, frames[0].Data, `"n":2`)
}

func TestAStreamOfEventsEndsWithTheRight(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	editor := s.NewUser(t, "eve")
	id := p.As(editor).UserID(t)
	p.Do(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"id":"`+id+`"},"permissions":{"role":"editor"}}`)
	stream := p.As(editor).Follow(t, p.Path+"/events/stream")
	s.Must(t, "POST", "/v2/logout", editor, "")
	text, err := io.ReadAll(stream)
	require.NoError(t, err, "the service ends it")
	require.NotContains(t, string(text), "data:")
}
