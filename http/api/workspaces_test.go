package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/http/api"
	"svc/http/api/handler"
)

// shop creates a workspace and returns its id and the answer.
func (h *testService) shop() (id string, made answer) {
	h.t.Helper()
	made = h.do("POST", "/v2/workspaces", as("alice"), body(
		`{"name":"Shop","description":"Orders","photo":"https://example.com/a.png","labels":["sales","team:web"]}`))
	require.Equal(h.t, http.StatusCreated, made.status, made.body)
	id, _ = made.fields(h.t)["id"].(string)
	return id, made
}

func TestAWorkspaceIsCreatedReadAndChanged(t *testing.T) {
	h := open(t)
	id, made := h.shop()
	require.Len(t, id, 7)
	require.Equal(t, "/v2/workspaces/"+id, made.header.Get("Location"))
	require.NotEmpty(t, made.header.Get("X-Svc-Seq"))
	require.Equal(t, "60", made.header.Get("X-RateLimit-Limit"))
	require.Equal(t, "no-store", made.header.Get("Cache-Control"))
	fields := made.fields(t)
	require.Equal(t, "Shop", fields["name"])
	require.Equal(t, "alice", fields["createdBy"])
	require.Equal(t, fields["createdAt"], fields["updatedAt"])

	events := h.facts(id)
	require.Len(t, events, 1)
	created := events[0].Data.(workspace.Created)
	slug, _ := fields["slug"].(string)
	require.Regexp(t, `^[a-z]+-[a-z]+-\d+$`, slug, "one that was made up")
	require.Equal(t, workspace.Snapshot{ID: id, Settings: workspace.Settings{
		Name: "Shop", Slug: slug, Description: document.InEveryLanguage("Orders"), Photo: "https://example.com/a.png", Labels: []string{"sales", "team:web"},
	}}, created.Workspace)
	require.Equal(t, []access.Share{access.OwnedBy("alice")}, created.Shares)
	require.Equal(t, "alice", events[0].Meta.UserID)
	require.Equal(t, made.header.Get("X-Correlation-Id"), events[0].Meta.CorrelationID)
	require.Equal(t, &domain.HTTPCause{Method: "POST", Path: "/v2/workspaces", Hostname: "127.0.0.1"}, events[0].Meta.HTTP)

	read := h.do("GET", "/v2/workspaces/"+id, as("alice"), with("x-svc-min-seq", made.header.Get("X-Svc-Seq")))
	require.Equal(t, http.StatusOK, read.status)
	require.Equal(t, made.body, read.body, "a write answers what a read shows")
	require.Equal(t, made.header.Get("ETag"), read.header.Get("ETag"))

	changed := h.do("PATCH", "/v2/workspaces/"+id, as("alice"), with("If-Match", read.header.Get("ETag")),
		body(`{"name":"Store","description":null,"logo":"https://example.com/b.png","labels":[]}`))
	require.Equal(t, http.StatusOK, changed.status, changed.body)
	require.NotEqual(t, made.header.Get("ETag"), changed.header.Get("ETag"))
	fields = changed.fields(t)
	require.Equal(t, "Store", fields["name"])
	require.Equal(t, "https://example.com/b.png", fields["photo"])
	require.NotContains(t, fields, "description")
	require.Empty(t, fields["labels"])
	require.Len(t, h.facts(id), 2)
	require.Equal(t, workspace.Updated{Workspace: workspace.Snapshot{ID: id, Settings: workspace.Settings{
		Name: "Store", Slug: slug, Photo: "https://example.com/b.png",
	}}}, h.facts(id)[1].Data)
}

func TestAReadShowsWhatIsThereAndWhatTheCallerMayDo(t *testing.T) {
	h := open(t)
	id, _ := h.shop()
	mine := h.do("GET", "/v2/workspaces/"+id, as("alice")).fields(t)
	require.Equal(t, true, mine["dirty"], "nothing of it is anywhere else")
	require.Equal(t, map[string]any{}, mine["automations"])
	require.Contains(t, mine["can"].(map[string]any)["workspaces"], "delete")
	theirs := h.do("GET", "/v2/workspaces/"+id+"/", as("bob")).fields(t)
	require.NotContains(t, theirs["can"].(map[string]any)["workspaces"], "update")
	require.Empty(t, h.do("HEAD", "/v2/workspaces/"+id, as("alice")).body)
}

func TestAKnownTagIsNotSentAgain(t *testing.T) {
	h := open(t)
	id, made := h.shop()
	tag := made.header.Get("ETag")
	same := h.do("GET", "/v2/workspaces/"+id, as("alice"), with("If-None-Match", `"other", W/`+tag))
	require.Equal(t, http.StatusNotModified, same.status)
	require.Equal(t, tag, same.header.Get("ETag"))
	require.Empty(t, same.body)
	require.Equal(t, http.StatusOK, h.do("GET", "/v2/workspaces/"+id, as("alice"), with("If-None-Match", `"other"`)).status)
}

func TestAnUnchangedUpdateRecordsNothing(t *testing.T) {
	h := open(t)
	id, made := h.shop()
	for name, text := range map[string]string{
		"the same values":        `{"name":"Shop","labels":["sales","team:web"]}`,
		"nothing":                `{}`,
		"what the service sets":  `{"id":"other","createdAt":"2001-01-01","createdBy":"eve","updatedAt":1,"updatedBy":null}`,
		"photo under both names": `{"photo":"https://example.com/a.png","logo":"https://example.com/a.png"}`,
	} {
		got := h.do("PATCH", "/v2/workspaces/"+id, as("alice"), body(text))
		require.Equal(t, http.StatusOK, got.status, name)
		require.Equal(t, made.body, got.body, name)
		require.Equal(t, made.header.Get("ETag"), got.header.Get("ETag"), name)
		require.Equal(t, made.header.Get("X-Svc-Seq"), got.header.Get("X-Svc-Seq"), name)
	}
	require.Equal(t, made.body, h.do("PATCH", "/v2/workspaces/"+id, as("alice")).body, "no body at all")
	require.Len(t, h.facts(id), 1)
}

// What is read may be sent back as it is.
func TestAWorkspaceSentBackChangesNothing(t *testing.T) {
	h := open(t)
	id, made := h.shop()
	require.Equal(t, made.fields(t)["photo"], made.fields(t)["logo"])
	require.Equal(t, made.body, h.do("PATCH", "/v2/workspaces/"+id, as("alice"), body(made.body)).body)
	require.Len(t, h.facts(id), 1)
}

func TestAStaleTagIsRefused(t *testing.T) {
	h := open(t)
	id, made := h.shop()
	now := h.do("PATCH", "/v2/workspaces/"+id, as("alice"), body(`{"name":"Store"}`))
	got := h.do("PATCH", "/v2/workspaces/"+id, as("alice"), with("If-Match", made.header.Get("ETag")), body(`{"name":"Late"}`))
	require.Equal(t, http.StatusConflict, got.status)
	fields := got.fields(t)
	require.Equal(t, "resource_conflict", fields["error"])
	revision, _, _ := strings.Cut(now.header.Get("ETag"), ".")
	require.Equal(t, map[string]any{"reason": "stale", "etag": revision + `"`}, fields["details"])
	require.Len(t, h.facts(id), 2)
	star := h.do("PATCH", "/v2/workspaces/"+id, as("alice"), with("If-Match", "*"), body(`{"name":"Late"}`))
	require.Equal(t, http.StatusOK, star.status)
}

func TestARepeatedRequestIsAnsweredAgain(t *testing.T) {
	h := open(t)
	once := func(text string) answer {
		return h.do("POST", "/v2/workspaces", as("alice"), with("Idempotency-Key", "k-1"), body(text))
	}
	first, second := once(`{"name":"Shop"}`), once(`{"name":"Shop"}`)
	require.Equal(t, http.StatusCreated, second.status)
	require.Equal(t, first.body, second.body)
	require.Empty(t, first.header.Get("Idempotency-Replayed"))
	require.Equal(t, "true", second.header.Get("Idempotency-Replayed"))
	for _, name := range []string{"Location", "ETag", "X-Svc-Seq"} {
		require.Equal(t, first.header.Get(name), second.header.Get(name), name)
	}
	info, err := h.log.Log.Info(t.Context(), domain.State)
	require.NoError(t, err)
	require.EqualValues(t, 2, info.Last, "one workspace was made, and its slug taken")

	other := once(`{"name":"Other"}`)
	require.Equal(t, http.StatusConflict, other.status)
	require.Equal(t, "idempotency_key_reused", other.fields(t)["details"].(map[string]any)["reason"])
}

// lagging is a read model that never catches up.
type lagging struct{ handler.ReadModel }

func (lagging) Reach(context.Context, domain.Position) error { return context.DeadlineExceeded }

func TestAWriteIsAnsweredEvenWhenTheReadModelIsBehind(t *testing.T) {
	h := open(t, func(d *api.Handlers) { d.Workspaces.ReadModel = lagging{d.Workspaces.ReadModel} })
	id, made := h.shop()
	fields := made.fields(t)
	require.Equal(t, id, fields["id"])
	require.Equal(t, "https://example.com/a.png", fields["logo"])
	require.Equal(t, []any{"sales", "team:web"}, fields["labels"])
	require.Len(t, h.facts(id), 1)
	changed := h.do("PATCH", "/v2/workspaces/"+id, as("alice"), with("If-Match", made.header.Get("ETag")), body(`{"name":"Store"}`))
	require.Equal(t, "Store", changed.fields(t)["name"])
}

func TestTheAnswerOfV3LivesInV3(t *testing.T) {
	h := open(t)
	made := h.do("POST", "/v3/workspaces/", as("alice"), body(`{"name":"Shop","logo":null,"labels":null}`))
	require.Equal(t, http.StatusCreated, made.status)
	var got struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(made.body), &got))
	require.Equal(t, "/v3/workspaces/"+got.ID, made.header.Get("Location"))
}
