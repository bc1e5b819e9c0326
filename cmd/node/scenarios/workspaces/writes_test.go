package workspaces_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/workspace"
)

func TestAWriteIsSeenByTheNextRead(t *testing.T) {
	t.Parallel()
	s := nodetest.NewService(t).Start(t)
	id, made := s.CreateWorkspace(t, "one")
	require.Equal(t, "/v2/workspaces/"+id, made.Header.Get("Location"))
	token := made.Header.Get("X-Svc-Seq")
	_, err := domain.ParsePosition(token)
	require.NoError(t, err)
	require.Equal(t, "session-root", made.Header.Get("X-Svc-Session-Id"))

	read := s.Get(t, "/v2/workspaces/"+id, nodetest.As("root"))
	require.Equal(t, http.StatusOK, read.StatusCode)
	require.Equal(t, made.Header.Get("ETag"), read.Header.Get("ETag"))
	require.JSONEq(t, string(made.Body), string(read.Body))
	require.Equal(t, http.StatusOK, s.Get(t, "/v2/workspaces/"+id, nodetest.As("root", "X-Svc-Min-Seq", token)).StatusCode)
	require.Equal(t, http.StatusNotModified, s.Get(t, "/v2/workspaces/"+id, nodetest.As("root", "If-None-Match", read.Header.Get("ETag"))).StatusCode)

	publish(t, s, id)
	for _, description := range []string{"a", "b", "c", "d", "e"} {
		changed := s.Call(t, http.MethodPatch, "/v2/workspaces/"+id, nodetest.As("root"), `{"description":"`+description+`"}`)
		require.Equal(t, http.StatusOK, changed.StatusCode, "%s", changed.Body)
		require.NotEqual(t, token, changed.Header.Get("X-Svc-Seq"))
		require.Equal(t, description, s.Get(t, "/v2/workspaces/"+id, nodetest.As("member")).JSON(t)["description"], "without any header")
	}

	future := domain.Position{State: 1 << 40}.Token()
	behind := s.Get(t, "/v2/workspaces/"+id, nodetest.As("root", "X-Svc-Min-Seq", future))
	require.Equal(t, http.StatusServiceUnavailable, behind.StatusCode)
	require.Equal(t, "read_model_behind", behind.JSON(t)["details"].(map[string]any)["reason"])
	require.Equal(t, http.StatusBadRequest, s.Get(t, "/v2/workspaces/"+id, nodetest.As("root", "X-Svc-Min-Seq", "not-a-position")).StatusCode)
}

func TestARepeatedWriteIsAnsweredAsBefore(t *testing.T) {
	t.Parallel()
	s := nodetest.NewService(t).Start(t)
	key := nodetest.As("root", "Idempotency-Key", "once")
	first := s.Call(t, http.MethodPost, "/v2/workspaces", key, `{"name":"one"}`)
	require.Equal(t, http.StatusCreated, first.StatusCode)
	s.Stop(t)
	s.Start(t)
	again := s.Call(t, http.MethodPost, "/v2/workspaces", key, `{"name":"one"}`)
	require.Equal(t, http.StatusCreated, again.StatusCode)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"), "answers are kept over a restart")
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, http.StatusConflict, s.Call(t, http.MethodPost, "/v2/workspaces", key, `{"name":"two"}`).StatusCode)
}

// Errors of callers with a right in a workspace are recorded there; what tells
// nothing about the workspace is not.
func TestErrorsAreRecordedInTheirWorkspace(t *testing.T) {
	t.Parallel()
	s := nodetest.NewService(t, "RATE_LIMIT_REQUESTS=40").Start(t)
	id, made := s.CreateWorkspace(t, "one")
	publish(t, s, id)
	path := "/v2/workspaces/" + id
	const secret = "Sup3rS3cretQuery"
	type failure struct {
		nodetest.Answer
		code domain.Code
		user string
	}
	var recorded []failure
	fail := func(user string, code domain.Code, status int, h http.Header, body string) {
		t.Helper()
		got := s.Call(t, http.MethodPatch, path+"?token="+secret, h, body)
		require.Equal(t, status, got.StatusCode, "%s", got.Body)
		require.Equal(t, string(code), got.Code(t))
		recorded = append(recorded, failure{got, code, user})
	}
	fail("member", domain.CodePermissionDenied, http.StatusForbidden, nodetest.As("member"), `{"name":"x"}`)
	fail("root", domain.CodeInvalidRequest, http.StatusBadRequest, nodetest.As("root"), `{"name":`)
	fail("root", domain.CodeInvalidRequest, http.StatusBadRequest, nodetest.As("root"), `{"nmae":"x"}`)
	fail("root", domain.CodeConflict, http.StatusConflict, nodetest.As("root", "If-Match", `"zzz"`), `{"name":"x"}`)

	patch := func(path string, h http.Header) nodetest.Answer {
		return s.Call(t, http.MethodPatch, path, h, `{"name":"x"}`)
	}
	require.Equal(t, http.StatusUnauthorized, patch(path, nil).StatusCode)
	require.Equal(t, http.StatusUnauthorized, patch(path, http.Header{"Authorization": {"Bearer nobody"}}).StatusCode)
	private, _ := s.CreateWorkspace(t, "two")
	require.Equal(t, http.StatusForbidden, patch("/v2/workspaces/"+private, nodetest.As("stranger")).StatusCode, "who has no right there")
	require.Equal(t, http.StatusNotFound, patch("/v2/workspaces/nowhere", nodetest.As("root")).StatusCode)
	require.Equal(t, http.StatusTooManyRequests, exhaust(t, s, path).StatusCode)

	s.Stop(t) // records what is queued
	events := nodetest.StoredEvents(t, s.Dir, domain.Activity)
	require.Len(t, events, len(recorded))
	byCorrelation := map[string]domain.Recorded{}
	for _, ev := range events {
		byCorrelation[ev.Meta.CorrelationID] = ev
	}
	for _, f := range recorded {
		ev, ok := byCorrelation[f.Header.Get("X-Correlation-Id")]
		require.True(t, ok, "%s is not recorded", f.code)
		require.Equal(t, domain.StreamID{Scope: id}, ev.Stream)
		require.Equal(t, string(f.code), ev.Data.(activity.Failure).Error)
		require.Equal(t, f.JSON(t)["message"], ev.Data.(activity.Failure).Message)
		require.Equal(t, f.user, ev.Meta.UserID)
		require.Equal(t, "session-"+f.user, ev.Meta.SessionID)
		require.Equal(t, path, ev.Meta.HTTP.Path)
		require.Equal(t, domain.Host{Service: "gateway", Replica: "n1"}, ev.Meta.Host)
	}

	state := nodetest.StoredEvents(t, s.Dir, domain.State)
	created := state[slices.IndexFunc(state, func(ev domain.Recorded) bool { return ev.Stream == workspace.Stream(id) })]
	require.IsType(t, workspace.Created{}, created.Data)
	require.Equal(t, made.Header.Get("X-Correlation-Id"), created.Meta.CorrelationID)
	require.Equal(t, "root", created.Meta.UserID)
	secrets := []string{secret, nodetest.InternalKey, nodetest.TokenOf("root"), nodetest.TokenOf("member"), "Bearer nobody"}
	nodetest.RequireNoSecret(t, s.Dir, secrets...)
	for _, word := range secrets {
		require.NotContains(t, s.Log.String(), word)
	}
}

// exhaust sends requests as one user until the limit is met.
func exhaust(t *testing.T, s *nodetest.Service, path string) (last nodetest.Answer) {
	t.Helper()
	for range 200 { // more than 40 of them are in one minute
		if last = s.Get(t, path, nodetest.As("busy")); last.StatusCode == http.StatusTooManyRequests {
			break
		}
	}
	require.NotEmpty(t, last.Header.Get("Retry-After"))
	return last
}
