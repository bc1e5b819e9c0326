package automations_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// What code said is told of a run that was recorded, whether it failed or not.
func TestConsoleLinesAreToldOfRecordedRuns(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t)
	p.Do(t, http.StatusOK, "PATCH", p.Path+"/security/secrets", `{"KEY":{"value":"s3cret-value"}}`)
	p.AddAutomations(t, `t: [{run: {module: code, function: run, parameters: {code: 'console.log("it is", key, {a: 1}); if (fails) throw 1; return 2', arguments: {key: '{{secret.KEY}}', fails: '{{fails}}'}}, output: r}}]`)
	for payload, status := range map[string]int{`{"fails":false}`: http.StatusOK, `{"fails":true}`: http.StatusInternalServerError} {
		r := p.RunRecorded(t, status, payload)
		var shown struct {
			Tree []struct{ Effects []struct{ Logs []string } }
		}
		require.NoError(t, json.Unmarshal(p.Do(t, http.StatusOK, "GET", p.Path+"/runs/"+r.Correlation(), "").Body, &shown))
		require.Equal(t, []string{`it is REDACTED {"a":1}`}, shown.Tree[0].Effects[0].Logs)
		require.Equal(t, "identical", r.Replay(t, `{}`).Status)
	}
	nodetest.RequireSecretsHidden(t, p, "s3cret-value")
}
