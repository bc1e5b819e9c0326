package secrets_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// Everybody may call an endpoint, and choose what is secret in it: that is looked for in
// all that the run tells, and kept.
func TestSecretsThatAnybodyChoosesAreBounded(t *testing.T) {
	t.Parallel()
	p := nodetest.NewOwnedService(t).NewWorkspace(t).AddAutomations(t, `
login: {when: {endpoint: 'login/:token'}, arguments: {pathParams: {type: object, properties: {token: {type: string, secret: true}}}, body: {type: object, properties: {password: {type: string, secret: true}}}}, do: [{emit: {event: tried, payload: {p: 'x{{body.password}}', x: '{{body.x}}'}}}], output: ok}`)
	anyone := nodetest.Workspace{Service: p.Service, Path: p.Path, ID: p.ID, Auth: http.Header{}}
	long := strings.Repeat("a", 65_000)

	refused := anyone.Send(t, "POST", p.Path+"/webhooks/login/CANARY-1", `{"password":"`+long+long+`"}`)
	require.Equal(t, http.StatusBadRequest, refused.StatusCode)
	details := refused.JSON(t)["details"].(map[string]any)
	require.Equal(t, "InvalidArgumentsError", details["name"])
	require.Equal(t, "body.password", details["errors"].([]any)[0].(map[string]any)["field"])
	require.NotContains(t, string(refused.Body), "aaaa")
	require.NotContains(t, p.AwaitEvents(t, 1, "error", "")[0].At(), "aaaa")

	got := anyone.Send(t, "POST", p.Path+"/webhooks/login/CANARY-1", `{"password":"`+long+`~!*/ b","x":"`+long+`"}`)
	require.Equal(t, http.StatusOK, got.StatusCode, string(got.Body))
	require.Equal(t, `"xREDACTED"`, p.AwaitEvents(t, 1, "tried", "")[0].At("p"))
	nodetest.RequireSecretsHidden(t, p, "CANARY-1")
}
