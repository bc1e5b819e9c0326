package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listed is a page of events.
type listed struct {
	Result struct {
		Events []shownEvent `json:"events"`
		Cursor string       `json:"cursor"`
	} `json:"result"`
}

// lists asks for a page of events.
func (p place) lists(t *testing.T, query string) (page listed) {
	t.Helper()
	got := p.does(t, http.StatusOK, "GET", p.path+"/events?"+query, "")
	require.NoError(t, json.Unmarshal(got.body, &page), "%s", got.body)
	return page
}

func typesOf(events []shownEvent) (all []string) {
	for _, e := range events {
		all = append(all, e.Type)
	}
	return all
}

// emitsMany emits n events of a type, with their number in the payload.
func (p place) emitsMany(t *testing.T, name string, n int) (ids []string) {
	t.Helper()
	for from := 0; from < n; from += 100 {
		var batch []string
		for i := from; i < min(n, from+100); i++ {
			batch = append(batch, fmt.Sprintf(`{"type":%q,"payload":{"n":%d}}`, name, i))
		}
		made, _ := p.emits(t, strings.Join(batch, ","))
		for _, e := range made {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func TestTheFeedIsListed(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	made, _ := p.emits(t, `{"type":"order.paid","payload":{"id":7,"customer":{"name":"Zoë Smith"}}},{"type":"order.late","payload":{"id":8}}`)
	p.does(t, http.StatusOK, "PATCH", p.path, `{"description":"of orders"}`)

	page := p.lists(t, "")
	require.Equal(t, []string{"workspaces.updated", "order.late", "order.paid", "workspaces.created"}, typesOf(page.Result.Events))
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
		"source.userId=" + p.userID(t) + "&types=order.paid":               {"order.paid"},
		"page=1&limit=3":                                                   {"workspaces.created"},
	} {
		require.Equal(t, want, typesOf(p.lists(t, strings.ReplaceAll(query, " ", "%20")).Result.Events), query)
	}
	one := p.does(t, http.StatusOK, "GET", p.path+"/events/"+made[1].ID, "")
	require.Contains(t, string(one.body), `"order.late"`)
	p.refuses(t, http.StatusNotFound, "resource_not_found", "GET", p.path+"/events/01ARZ3NDEKTSV4RRFFQ69G5FAV", "")
}

func TestPagesOfEventsAreFullAndCursorsStand(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	ids := p.emitsMany(t, "tick", 130)
	slices.Reverse(ids)
	var seen []string
	cursor := ""
	for {
		page := p.lists(t, "types=tick&limit=40"+cursor)
		for _, e := range page.Result.Events {
			seen = append(seen, e.ID)
		}
		if page.Result.Cursor == "" {
			break
		}
		require.Len(t, page.Result.Events, 40)
		p.emits(t, `{"type":"tick"}`) // what is new does not move the pages
		cursor = "&cursor=" + page.Result.Cursor
	}
	require.Equal(t, ids, seen)

	// Upwards, too, and on to what comes later.
	var up []string
	cursor = ""
	for {
		page := p.lists(t, "types=tick&sort=asc&limit=50"+cursor)
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
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	for query, field := range map[string]string{
		"cursor=nonsense": "cursor", "cursor=d": "cursor", "cursor=x": "cursor", "fromSeq=nonsense": "fromSeq", "toSeq=!": "toSeq", "beforeId=nothing": "beforeId",
		"afterDate=yesterday": "afterDate", "beforeDate=2026-13-01T00:00:00Z": "beforeDate", "sort=up": "sort", "limit=0": "limit", "limit=1001": "limit",
		"page=-1": "page", "types=a/b": "types", "appInstanceDepth=x": "appInstanceDepth", "nonsense=1": "nonsense", "payload..x=1": "payload..x",
		"page=999999": "page", "text=" + strings.Repeat("x", 1001): "text", "types=" + strings.Repeat("x", 201): "types",
	} {
		details := p.refuses(t, http.StatusBadRequest, "invalid_parameter", "GET", p.path+"/events?"+query, "")
		require.Equal(t, field, details["parameter"], query)
	}
}

func TestEventsAreReadByThoseWhoMay(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	p.does(t, http.StatusCreated, "POST", p.path+"/security/apikeys", `{"name":"k","rules":[{"action":"read","subject":"events"}]}`)
	p.emits(t, `{"type":"mine"}`)
	require.Contains(t, typesOf(p.lists(t, "").Result.Events), "apikeys.created")

	visitor := p.as(bearer(s.must(t, "POST", "/v2/login/anonymous", nil, "")["token"].(string)))
	visitor.emits(t, `{"type":"theirs"}`)
	require.Equal(t, []string{"theirs"}, typesOf(visitor.lists(t, "").Result.Events), "a visitor reads what they emitted")
	require.Equal(t, []string{"theirs"}, typesOf(visitor.lists(t, "limit=1").Result.Events))
	first := p.lists(t, "types=mine").Result.Events[0]
	visitor.refuses(t, http.StatusNotFound, "resource_not_found", "GET", p.path+"/events/"+first.ID, "")

	editor := s.person(t, "eve")
	p.does(t, http.StatusOK, "POST", p.path+"/permissions", `{"target":{"id":"`+p.as(editor).userID(t)+`"},"permissions":{"role":"editor"}}`)
	seen := typesOf(p.as(editor).lists(t, "").Result.Events)
	require.Contains(t, seen, "mine")
	require.NotContains(t, seen, "apikeys.created", "the rules of a new workspace keep API keys from editors")

	stranger := s.person(t, "mallory")
	require.Empty(t, p.as(stranger).lists(t, "").Result.Events)
}

func TestOtherFormsOfEvents(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	p.emitsMany(t, "tick", 150)

	got := p.does(t, http.StatusOK, "GET", p.path+"/events?types=tick&limit=2", "", "Accept", "application/cloudevents-batch+json")
	require.Equal(t, "application/cloudevents-batch+json; charset=utf-8", got.Header.Get("Content-Type"))
	var cloud []map[string]any
	require.NoError(t, json.Unmarshal(got.body, &cloud))
	require.Len(t, cloud, 2)
	require.Equal(t, "1.0", cloud[0]["specversion"])
	require.Equal(t, "/v2/workspaces/"+p.id, cloud[0]["source"])
	require.Equal(t, map[string]any{"n": 149.0}, cloud[0]["data"])
	require.Contains(t, got.Header.Get("Link"), `rel="next"`)

	got = p.does(t, http.StatusOK, "GET", p.path+"/events?types=tick&sort=asc", "", "Accept", "application/x-ndjson")
	lines := strings.Split(strings.TrimSpace(string(got.body)), "\n")
	require.Len(t, lines, 150, "all matches, not a page")
	var e shownEvent
	require.NoError(t, json.Unmarshal([]byte(lines[149]), &e))
	require.InDelta(t, 149, e.Payload["n"], 0)
}

// follow opens a stream of events.
func (p place) follow(t *testing.T, path string, headers ...string) io.ReadCloser {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.s.base+path, nil)
	require.NoError(t, err)
	req.Header = p.me.Clone()
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := p.s.client.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	return res.Body
}

func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	before, _ := p.emits(t, `{"type":"tick","payload":{"n":1}}`)
	stream := p.follow(t, p.path+"/events?types=tick,tock", "Accept", "text/event-stream")
	made, _ := p.emits(t, `{"type":"tick","payload":{"n":2}},{"type":"other"},{"type":"tock","options":{"persist":false}},{"type":"tick","payload":{"n":3}}`)
	frames, text := listen(stream, 3)
	require.True(t, strings.HasPrefix(text, "retry: 2000\n"), text)
	var seen []shownEvent
	for _, f := range frames {
		var e shownEvent
		require.NoError(t, json.Unmarshal([]byte(f.data), &e))
		require.Equal(t, f.id, e.Seq)
		require.Empty(t, f.event)
		seen = append(seen, e)
	}
	slices.SortFunc(seen, func(a, b shownEvent) int { return strings.Compare(a.Type, b.Type) })
	require.Equal(t, []string{made[0].ID, made[3].ID, made[2].ID}, []string{seen[0].ID, seen[1].ID, seen[2].ID})
	require.Equal(t, made[0].Seq, seen[0].Seq, "as it was answered")

	// Who comes back gets what is missing, and no more.
	stream = p.follow(t, p.path+"/events/stream?types=tick", "Last-Event-ID", before[0].Seq)
	frames, _ = listen(stream, 2)
	require.Equal(t, []string{made[0].Seq, made[3].Seq}, []string{frames[0].id, frames[1].id})
	stream = p.follow(t, p.path+"/events/stream?types=tick&fromSeq="+url.QueryEscape(made[0].Seq))
	frames, _ = listen(stream, 1)
	require.Equal(t, made[3].Seq, frames[0].id)
	p.refuses(t, http.StatusBadRequest, "invalid_parameter", "GET", p.path+"/events/stream?fromSeq=x", "")
	p.refuses(t, http.StatusBadRequest, "invalid_parameter", "GET", p.path+"/events/stream?limit=3", "")
}

func TestAllWorkspacesAreFollowed(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	one := ownedPlace(t, s)
	id := s.must(t, "POST", "/v2/workspaces", one.me, `{"name":"Second"}`)["id"].(string)
	two := place{s, "/v2/workspaces/" + id, id, one.me}
	other := one.as(s.person(t, "mallory"))
	theirs := other.does(t, http.StatusCreated, "POST", "/v2/workspaces", `{"name":"theirs"}`)
	var w struct{ ID string }
	require.NoError(t, json.Unmarshal(theirs.body, &w))
	mine := one.follow(t, "/v2/events/stream?types=tick")
	notMine := other.follow(t, "/v2/events/stream?types=tick")
	one.emits(t, `{"type":"tick","payload":{"n":1}}`)
	other.does(t, http.StatusCreated, "POST", "/v2/workspaces/"+w.ID+"/events", `{"events":[{"type":"tick","payload":{"n":2}}]}`)
	two.emits(t, `{"type":"tick","payload":{"n":3}}`)
	frames, _ := listen(mine, 1)
	require.Contains(t, frames[0].data, `"n":1`)
	again, _ := listen(one.follow(t, "/v2/events/stream?types=tick", "Last-Event-ID", frames[0].id), 1)
	require.Contains(t, again[0].data, `"n":3`)
	frames, _ = listen(notMine, 1)
	require.Contains(t, frames[0].data, `"n":2`)
}

func TestAStreamOfEventsEndsWithTheRight(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	editor := s.person(t, "eve")
	id := p.as(editor).userID(t)
	p.does(t, http.StatusOK, "POST", p.path+"/permissions", `{"target":{"id":"`+id+`"},"permissions":{"role":"editor"}}`)
	stream := p.as(editor).follow(t, p.path+"/events/stream")
	begun := time.Now()
	s.must(t, "POST", "/v2/logout", editor, "")
	frames, _ := listen(stream, 0)
	require.Empty(t, frames)
	require.Less(t, time.Since(begun), 6*time.Second)
}
