package secrets_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// What an automation gives a name or a place of its choice is bounded, wherever it is told.
func TestTextsOfAnAutomationsChoiceAreBounded(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
t: [{conditions: {
  '{{do}} == "session"': [{set: {name: session.id, value: '{{big}}'}}],
  '{{do}} == "user"': [{set: {name: user.id, value: '{{big}}'}}],
  '{{do}} == "topic"': [{emit: {event: e, target: {userTopic: '{{big}}'}}}],
  '{{do}} == "whom"': [{emit: {event: e, target: {userId: '{{big}}'}, options: {async: true}}}],
  '{{do}} == "wait"': [{wait: {oneOf: [{event: e, filters: {payload.x: '{{big}}'}}], timeout: 1}}]}}]`)
	for do, c := range map[string]struct {
		length int
		want   string
	}{
		"session": {257, "InvalidInstructionError"}, "user": {257, "InvalidInstructionError"}, "topic": {257, "InvalidEventError"}, "whom": {257, "InvalidEventError"},
		"wait": {100_000, "InvalidInstructionError"},
	} {
		payload := func(length int) string { return fmt.Sprintf(`{"do":%q,"big":%q}`, do, strings.Repeat("x", length)) }
		got := p.RunTest(t, 500, payload(c.length))
		require.Equal(t, c.want, got.JSON(t)["details"].(map[string]any)["name"], do)
		p.RunTest(t, 200, payload(250))
	}
	many := strings.Repeat(`"0 0 1 1 *",`, 100) + `"0 0 2 1 *"`
	p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/automations", `{"name":"many","when":{"schedules":[`+many+`]},"do":[]}`)
}

// A secret that a run learned stays one for whatever the run starts, also by way of the
// platform.
func TestSecretsOfARunStaySecretsBehindEventsOfThePlatform(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
t: [{auth: {output: a}}, {set run.t: '{{a.jwt}}'}, {set config.n: '{{n}}'}]
hears: {when: {events: [workspaces.configured]}, do: [{wait: {timeout: 0.1}}, {emit: {event: heard, payload: {t: '{{run.t}}'}}}]}`)
	heard := p.RunTest(t, 200, `{"n":1}`).AwaitEvents(t, 1, "heard")[0]
	require.Equal(t, "REDACTED", heard.Payload["t"])
}

// Instances of apps with instances multiply. What people install has to fit; what comes
// another way, such as a newer version of an app, is left out, and the operator is told.
func TestAWorkspaceHasRoomForSoManyInstances(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "RATE_LIMIT_DISABLED=yes")
	w.NewWorkspace(t).AddAutomations(t, `{show: {when: {endpoint: true}, do: [], output: shown}}`).PublishApp(t, "x0")
	var apps []nodetest.Workspace
	for level := range 3 { // 13, 157 and 1885 places
		app := w.NewWorkspace(t)
		for i := range 12 {
			app.InstallApp(t, fmt.Sprintf("x%d", level), fmt.Sprintf("i%02d", i), "")
		}
		app.PublishApp(t, fmt.Sprintf("x%d", level+1))
		apps = append(apps, app)
	}
	p := w.NewWorkspace(t).AddAutomations(t, `t: [{T: here}]`).InstallApp(t, "x3", "a", "").InstallApp(t, "x1", "b", "").InstallApp(t, "x2", "off", `,"disabled":true`)
	tooMuch := func(method, path, body string) {
		t.Helper()
		details := p.RequireRefusal(t, http.StatusUnprocessableEntity, "validation_failed", method, p.Path+path, body)
		require.Contains(t, fmt.Sprint(details["errors"]), "appSlug")
		require.Contains(t, fmt.Sprint(details["errors"]), "more than 2000 app instances or 50000 automations")
	}
	tooMuch("POST", "/apps", `{"appSlug":"x2","slug":"c"}`)
	tooMuch("PATCH", "/apps/b", `{"appSlug":"x2"}`)
	tooMuch("PATCH", "/apps/off", `{"disabled":false}`)
	require.Len(t, p.DryRun(t, "POST", p.Path+"/apps", `{"appSlug":"x2","slug":"c"}`)["errors"], 1)
	p.Do(t, 200, "PATCH", p.Path+"/apps/a", `{"appSlug":"x2"}`)
	p.Do(t, 200, "PATCH", p.Path+"/apps/a", `{"appSlug":"x3","slug":"d"}`)
	const shown, warning = "d.i00.i00.i00.show", "more app instances or automations than can run"
	require.Equal(t, "shown", string(p.CallEndpoint(t, 200, "GET", shown, "").Body))
	require.NotContains(t, w.Log.String(), warning)

	apps[0].InstallApp(t, "x0", "i12", "").Do(t, 200, "POST", "/v2/apps", fmt.Sprintf(`{"workspaceId":%q}`, apps[0].ID))
	require.Eventually(t, func() bool {
		got, err := w.Request(t.Context(), "GET", p.Path+"/webhooks/"+shown, p.Auth, "")
		return err == nil && string(got.Body) == "shown" && strings.Contains(w.Log.String(), warning)
	}, time.Minute, 10*time.Millisecond)
	p.CallEndpoint(t, 404, "GET", "d.i11.i11.i12.show", "")
	require.Equal(t, `"here"`, p.RunTest(t, 200, `{}`).Result(t))
	p.Do(t, 200, "PATCH", p.Path+"/apps/b/config", `{"k":1}`)
	tooMuch("POST", "/apps", `{"appSlug":"x0","slug":"c"}`)
	p.Do(t, 200, "DELETE", p.Path+"/apps/d", "")
	p.InstallApp(t, "x2", "c", "")
}
