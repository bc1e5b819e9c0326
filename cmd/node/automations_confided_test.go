package node_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Everybody may call an endpoint, and choose what is secret in it: that is looked for in
// all that the run tells, and kept.
func TestSecretsThatAnybodyChoosesAreBounded(t *testing.T) {
	t.Parallel()
	p := newWorkshop(t).place(t).has(t, `
login: {when: {endpoint: 'login/:token'}, arguments: {pathParams: {type: object, properties: {token: {type: string, secret: true}}}, body: {type: object, properties: {password: {type: string, secret: true}}}}, do: [{emit: {event: tried, payload: {p: 'x{{body.password}}', x: '{{body.x}}'}}}], output: ok}`)
	anyone := place{p.s, p.path, p.id, http.Header{}}
	long := strings.Repeat("a", 65_000)

	refused := anyone.ask(t, "POST", p.path+"/webhooks/login/CANARY-1", `{"password":"`+long+long+`"}`)
	require.Equal(t, http.StatusBadRequest, refused.StatusCode)
	details := refused.json(t)["details"].(map[string]any)
	require.Equal(t, "InvalidArgumentsError", details["name"])
	require.Equal(t, "body.password", details["errors"].([]any)[0].(map[string]any)["field"])
	require.NotContains(t, string(refused.body), "aaaa")
	require.NotContains(t, p.awaits(t, 1, "error", "")[0].at(), "aaaa")

	got := anyone.ask(t, "POST", p.path+"/webhooks/login/CANARY-1", `{"password":"`+long+`~!*/ b","x":"`+long+`"}`)
	require.Equal(t, http.StatusOK, got.StatusCode, string(got.body))
	require.Equal(t, `"xREDACTED"`, p.awaits(t, 1, "tried", "")[0].at("p"))
	requireHidden(t, p, "CANARY-1")
}
