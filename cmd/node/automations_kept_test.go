package node_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain/activity"
	"svc/domain/value"
)

// What was used of a limit stays used.
func TestLimitsHoldAfterARestart(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `t: [{rateLimit: {name: mails, limit: 3, window: 31622400, consume: '{{n}}', consumer: '{{who}}', output: r}}, {set r: ['{{r.ok}}', '{{r.remaining}}']}]`)
	use := func(payload, want string) {
		t.Helper()
		require.JSONEq(t, want, p.RunTest(t, http.StatusOK, payload).Result(t))
	}
	use(`{"n":1,"who":"a"}`, `[true,2]`)
	use(`{"n":2,"who":"a"}`, `[true,0]`)
	use(`{"n":2,"who":"b"}`, `[true,1]`)
	w.Stop(t)
	w.Start(t)
	use(`{"n":1,"who":"a"}`, `[false,0]`)
	use(`{"n":2,"who":"b"}`, `[false,1]`)
	use(`{"n":1,"who":"b"}`, `[true,0]`)
	use(`{"n":3,"who":"c"}`, `[true,0]`)
}

func TestRecordingsAreErasedWhenTheyExpire(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "RUN_RECORDING=all", "RUN_RECORDING_DAYS=3")
	const automation = `t: [{set r: '{{text}}'}]`
	p, other := w.NewWorkspace(t).AddAutomations(t, automation), w.NewWorkspace(t).AddAutomations(t, automation)
	small, large := p.RunTest(t, http.StatusOK, `{"text":"small"}`), p.RunTest(t, http.StatusOK, `{"text":"`+strings.Repeat("large", 100_000)+`"}`)
	elsewhere := other.RunTest(t, http.StatusOK, `{"text":"small"}`)
	for _, r := range []nodetest.Run{small, large, elsewhere} {
		r.AwaitEnd(t)
		require.Equal(t, "identical", r.Replay(t, `{}`).Status)
	}
	cleans := func(query, body string) (done activity.Cleaned) {
		t.Helper()
		got := p.As(nodetest.AsInternal).Do(t, http.StatusOK, "POST", "/sys/cleanup/executions"+query, body)
		require.NoError(t, json.Unmarshal(got.Body, &done))
		require.Empty(t, done.Errors)
		require.Zero(t, done.Count, "payloads stay: they are not old")
		return done
	}
	require.Zero(t, cleans("", "").FreedBytes, "nothing has expired")
	w.Node.SetRecordsClock(func() time.Time { return time.Now().Add(3 * 24 * time.Hour) })
	all := cleans("?dryRun=true", "").FreedBytes
	some := cleans("?dryRun=true", `{"workspaceIds":["`+p.ID+`"],"automationExecutedExpiration":-1}`).FreedBytes
	require.Greater(t, some, uint64(500_000))
	require.Greater(t, all, some)
	require.Equal(t, "identical", large.Replay(t, `{}`).Status, "a dry run erases nothing")

	require.Equal(t, some, cleans("", `{"workspaceIds":["`+p.ID+`"],"automationExecutedExpiration":-1}`).FreedBytes)
	for _, r := range []nodetest.Run{small, large} { // for which they are not old: they are gone
		details := p.RequireRefusal(t, http.StatusConflict, "resource_conflict", "POST", p.Path+"/runs/"+r.Correlation()+"/replay", `{}`)
		require.Equal(t, "expired", details["reason"])
		p.Do(t, http.StatusOK, "GET", p.Path+"/runs/"+r.Correlation(), "")
	}
	require.Equal(t, "identical", elsewhere.Replay(t, `{}`).Status)
	require.Equal(t, all-some, cleans("", "").FreedBytes)
	require.Zero(t, cleans("", "").FreedBytes)
}

// A clock or a chance that was not recorded is missed as any other effect is.
func TestAReplayMissesWhatWasNotRecorded(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `t: [{set r: ['{{run.date}}', '{% rand() %}', '{% elapsed("2020-01-01", "day", 1) %}']}]`)
	r := p.RunRecorded(t, http.StatusOK, `{}`)
	for expression, kind := range map[string]string{
		`{{run.date}}{{run.date}}`: "clock", `{% rand() + rand() %}`: "random", `{% elapsed("2020-01-01", "day", 1) && elapsed("2020-01-01", "day", 2) %}`: "clock",
	} {
		doc := value.NewObject("name", "t", "do", []any{value.NewObject("set", value.NewObject("name", "r", "value", expression))})
		p.Do(t, http.StatusOK, "PATCH", p.Path+"/automations/t", value.JSON(doc, ""))
		got := r.Replay(t, `{"document":"current"}`)
		require.Equal(t, "different", got.Status)
		require.Equal(t, "effect_missing", got.Differences[0].Kind, expression)
		require.Contains(t, string(got.Differences[0].Actual), `"kind":"`+kind+`"`)
		raised := got.Differences[len(got.Differences)-1]
		require.Equal(t, "error", raised.Kind, expression)
		require.Contains(t, string(raised.Actual), "ReplayMissError")
	}
	require.Equal(t, "identical", r.Replay(t, `{}`).Status)
}
