package node_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// What code said is told of a run that was recorded, whether it failed or not.
func TestConsoleLinesAreToldOfRecordedRuns(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t)
	p.does(t, http.StatusOK, "PATCH", p.path+"/security/secrets", `{"KEY":{"value":"s3cret-value"}}`)
	p.has(t, `t: [{run: {module: code, function: run, parameters: {code: 'console.log("it is", key, {a: 1}); if (fails) throw 1; return 2', arguments: {key: '{{secret.KEY}}', fails: '{{fails}}'}}, output: r}}]`)
	for payload, status := range map[string]int{`{"fails":false}`: http.StatusOK, `{"fails":true}`: http.StatusBadRequest} {
		r := p.records(t, status, payload)
		var shown struct {
			Tree []struct{ Effects []struct{ Logs []string } }
		}
		require.NoError(t, json.Unmarshal(p.does(t, http.StatusOK, "GET", p.path+"/runs/"+r.correlation(), "").body, &shown))
		require.Equal(t, []string{`it is REDACTED {"a":1}`}, shown.Tree[0].Effects[0].Logs)
		require.Equal(t, "identical", r.replays(t, `{}`).Status)
	}
	requireHidden(t, p, "s3cret-value")
}
