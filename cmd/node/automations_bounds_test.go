package node_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What an automation gives a name or a place of its choice is bounded, wherever it is told.
func TestTextsOfAnAutomationsChoiceAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `
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
		got := p.tries(t, 400, payload(c.length))
		require.Equal(t, c.want, got.json(t)["details"].(map[string]any)["name"], do)
		p.tries(t, 200, payload(250))
	}
	many := strings.Repeat(`"0 0 1 1 *",`, 100) + `"0 0 2 1 *"`
	p.refuses(t, 422, "validation_failed", "POST", p.path+"/automations", `{"name":"many","when":{"schedules":[`+many+`]},"do":[]}`)
}

// A secret that a run learned stays one for whatever the run starts, also by way of the
// platform.
func TestSecretsOfARunStaySecretsBehindEventsOfThePlatform(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `
t: [{auth: {output: a}}, {set run.t: '{{a.jwt}}'}, {set config.n: '{{n}}'}]
hears: {when: {events: [workspaces.configured]}, do: [{wait: {timeout: 0.1}}, {emit: {event: heard, payload: {t: '{{run.t}}'}}}]}`)
	heard := p.tries(t, 200, `{"n":1}`).awaits(t, 1, "heard")[0]
	require.Equal(t, "REDACTED", heard.Payload["t"])
}

// Apps in apps multiply: what is beyond a bound is not there, and everything else is.
func TestAHouseIsOnlySoLarge(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.place(t).has(t, `a: {when: {endpoint: true}, do: [], output: '{{run.appInstanceFullSlug}}'}`).publishes(t, "one")
	many := w.place(t)
	for i := range 50 {
		many.installs(t, "one", fmt.Sprintf("i%d", i), "")
	}
	many.publishes(t, "many")
	p := w.place(t).has(t, `t: [{T: here}]`)
	for i := range 50 {
		p.installs(t, "many", fmt.Sprintf("m%d", i), "")
	}
	require.Equal(t, `"here"`, p.tries(t, 200, `{}`).r(t))
	found := 0
	for i := range 50 {
		if got := p.ask(t, "GET", p.path+fmt.Sprintf("/webhooks/m%d.i49.a", i), ""); got.StatusCode == 200 {
			found++
		}
	}
	require.Less(t, found, 50, "2550 places are too many")
	require.Greater(t, found, 30)
}
