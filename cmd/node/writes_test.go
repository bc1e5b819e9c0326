package node_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/workspace"
)

func TestAWriteIsSeenByTheNextRead(t *testing.T) {
	t.Parallel()
	s := newService(t).start(t)
	id, made := s.create(t, "one")
	require.Equal(t, "/v2/workspaces/"+id, made.Header.Get("Location"))
	token := made.Header.Get("X-Svc-Seq")
	_, err := domain.ParsePosition(token)
	require.NoError(t, err)
	require.Equal(t, "session-root", made.Header.Get("X-Svc-Session-Id"))

	read := s.get(t, "/v2/workspaces/"+id, as("root"))
	require.Equal(t, http.StatusOK, read.StatusCode)
	require.Equal(t, made.Header.Get("ETag"), read.Header.Get("ETag"))
	require.JSONEq(t, string(made.body), string(read.body))
	require.Equal(t, http.StatusOK, s.get(t, "/v2/workspaces/"+id, as("root", "X-Svc-Min-Seq", token)).StatusCode)
	require.Equal(t, http.StatusNotModified, s.get(t, "/v2/workspaces/"+id, as("root", "If-None-Match", read.Header.Get("ETag"))).StatusCode)

	s.publish(t, id)
	for _, description := range []string{"a", "b", "c", "d", "e"} {
		changed := s.call(t, http.MethodPatch, "/v2/workspaces/"+id, as("root"), `{"description":"`+description+`"}`)
		require.Equal(t, http.StatusOK, changed.StatusCode, "%s", changed.body)
		require.NotEqual(t, token, changed.Header.Get("X-Svc-Seq"))
		require.Equal(t, description, s.get(t, "/v2/workspaces/"+id, as("member")).json(t)["description"], "without any header")
	}

	future := domain.Position{State: 1 << 40}.Token()
	behind := s.get(t, "/v2/workspaces/"+id, as("root", "X-Svc-Min-Seq", future))
	require.Equal(t, http.StatusServiceUnavailable, behind.StatusCode)
	require.Equal(t, "read_model_behind", behind.json(t)["details"].(map[string]any)["reason"])
	require.Equal(t, http.StatusBadRequest, s.get(t, "/v2/workspaces/"+id, as("root", "X-Svc-Min-Seq", "not-a-position")).StatusCode)
}

func TestARepeatedWriteIsAnsweredAsBefore(t *testing.T) {
	t.Parallel()
	s := newService(t).start(t)
	key := as("root", "Idempotency-Key", "once")
	first := s.call(t, http.MethodPost, "/v2/workspaces", key, `{"name":"one"}`)
	require.Equal(t, http.StatusCreated, first.StatusCode)
	s.stop(t)
	s.start(t)
	again := s.call(t, http.MethodPost, "/v2/workspaces", key, `{"name":"one"}`)
	require.Equal(t, http.StatusCreated, again.StatusCode)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"), "answers are kept over a restart")
	require.Equal(t, first.body, again.body)
	require.Equal(t, http.StatusConflict, s.call(t, http.MethodPost, "/v2/workspaces", key, `{"name":"two"}`).StatusCode)
}

// Errors of callers with a right in a workspace are recorded there; what tells
// nothing about the workspace is not.
func TestErrorsAreRecordedInTheirWorkspace(t *testing.T) {
	t.Parallel()
	s := newService(t, "RATE_LIMIT_REQUESTS=40").start(t)
	id, made := s.create(t, "one")
	s.publish(t, id)
	path := "/v2/workspaces/" + id
	const secret = "Sup3rS3cretQuery"
	type failure struct {
		answer
		code domain.Code
		user string
	}
	var recorded []failure
	fail := func(user string, code domain.Code, status int, h http.Header, body string) {
		t.Helper()
		got := s.call(t, http.MethodPatch, path+"?token="+secret, h, body)
		require.Equal(t, status, got.StatusCode, "%s", got.body)
		require.Equal(t, string(code), got.code(t))
		recorded = append(recorded, failure{got, code, user})
	}
	fail("member", domain.CodePermissionDenied, http.StatusForbidden, as("member"), `{"name":"x"}`)
	fail("root", domain.CodeInvalidRequest, http.StatusBadRequest, as("root"), `{"name":`)
	fail("root", domain.CodeInvalidRequest, http.StatusBadRequest, as("root"), `{"nmae":"x"}`)
	fail("root", domain.CodeConflict, http.StatusConflict, as("root", "If-Match", `"zzz"`), `{"name":"x"}`)

	patch := func(path string, h http.Header) answer { return s.call(t, http.MethodPatch, path, h, `{"name":"x"}`) }
	require.Equal(t, http.StatusUnauthorized, patch(path, nil).StatusCode)
	require.Equal(t, http.StatusUnauthorized, patch(path, http.Header{"Authorization": {"Bearer nobody"}}).StatusCode)
	private, _ := s.create(t, "two")
	require.Equal(t, http.StatusForbidden, patch("/v2/workspaces/"+private, as("stranger")).StatusCode, "who has no right there")
	require.Equal(t, http.StatusNotFound, patch("/v2/workspaces/nowhere", as("root")).StatusCode)
	require.Equal(t, http.StatusTooManyRequests, exhaust(t, s, path).StatusCode)

	s.stop(t) // records what is queued
	events := stored(t, s.dir, domain.Activity)
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
		require.Equal(t, f.json(t)["message"], ev.Data.(activity.Failure).Message)
		require.Equal(t, f.user, ev.Meta.UserID)
		require.Equal(t, "session-"+f.user, ev.Meta.SessionID)
		require.Equal(t, path, ev.Meta.HTTP.Path)
		require.Equal(t, domain.Host{Service: "gateway", Replica: "n1"}, ev.Meta.Host)
	}

	state := stored(t, s.dir, domain.State)
	created := state[slices.IndexFunc(state, func(ev domain.Recorded) bool { return ev.Stream == workspace.Stream(id) })]
	require.IsType(t, workspace.Created{}, created.Data)
	require.Equal(t, made.Header.Get("X-Correlation-Id"), created.Meta.CorrelationID)
	require.Equal(t, "root", created.Meta.UserID)
	secrets := []string{secret, internalKey, tokenOf("root"), tokenOf("member"), "Bearer nobody"}
	requireNoSecret(t, s.dir, secrets...)
	for _, word := range secrets {
		require.NotContains(t, s.log.String(), word)
	}
}

// exhaust sends requests as one user until the limit is met.
func exhaust(t *testing.T, s *service, path string) (last answer) {
	t.Helper()
	for range 200 { // more than 40 of them are in one minute
		if last = s.get(t, path, as("busy")); last.StatusCode == http.StatusTooManyRequests {
			break
		}
	}
	require.NotEmpty(t, last.Header.Get("Retry-After"))
	return last
}
