package automations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// A schema that a run would refuse is refused when it is saved, with the field; an
// import keeps it and warns, and the run refuses it.
func TestSchemasThatARunWouldRefuse(t *testing.T) {
	t.Parallel()
	large := `{"pattern":"` + strings.Repeat("a{1000}", 60) + `"}`
	tests := []struct{ name, fields, field string }{
		{"multiples of nothing", `"arguments":{"n":{"type":"number","multipleOf":0}}`, "arguments.n.multipleOf"},
		{"multiples of less than nothing", `"arguments":{"l":{"type":"array","items":{"multipleOf":-2}}}`, "arguments.l.items.multipleOf"},
		{"dependentRequired that is no object", `"arguments":{"o":{"dependentRequired":["a"]}}`, "arguments.o.dependentRequired"},
		{"dependentRequired of what is no list", `"arguments":{"o":{"dependentRequired":{"a":"b"}}}`, "arguments.o.dependentRequired.a"},
		{"a reference to nothing", `"schemas":[{"payload":{"$ref":"#/$defs/a"}}]`, "schemas[0].payload.$ref"},
		{"an anchor that is nowhere", `"schemas":[{"payload":{"properties":{"a":{"$ref":"#b"}}}}]`, "schemas[0].payload.properties.a.$ref"},
		{"a reference to what is no schema", `"schemas":[{"payload":{"title":"t","$ref":"#/title"}}]`, "schemas[0].payload.title"},
		{"a circle of references", `"schemas":[{},{"payload":{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#"}]}}}}]`, "schemas[1].payload"},
		{"a fault that only a reference leads to", `"schemas":[{"payload":{"$ref":"#/x","x":{"maxLength":-1}}}]`, "schemas[0].payload.x.maxLength"},
		{"patterns that are too large together", `"schemas":[{"payload":` + large + `},{"payload":` + large + `}]`, "schemas[1].payload.pattern"},
		{"a pattern of members", `"arguments":{"o":{"patternProperties":{"(":{}}}}`, `arguments.o.patternProperties["("]`},
	}
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t)
	files := map[string]string{"index.yml": "name: Workshop\n"}
	for i, test := range tests {
		doc := fmt.Sprintf(`{"slug":"a%d","name":"a","do":[],"validateArguments":true,%s}`, i, test.fields)
		files[fmt.Sprintf("automations/a%d.yml", i)] = doc
		told := p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/automations", doc)["errors"].([]any)
		require.Len(t, told, 1, test.name)
		require.Equal(t, test.field, told[0].(map[string]any)["field"], test.name)
		p.RequireRefusal(t, 404, "resource_not_found", "GET", fmt.Sprintf("%s/automations/a%d", p.Path, i), "")
	}
	p.Do(t, 201, "POST", p.Path+"/automations", `{"slug":"a0","name":"a","do":[]}`)
	p.RequireRefusal(t, 422, "validation_failed", "PATCH", p.Path+"/automations/a0", files["automations/a0.yml"])

	got := w.Upload(t, p.Path+"/import", p.Auth, nodetest.ZipOf(t, files), false)
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
	var result struct {
		Errors   []any
		Warnings []struct{ Err, Filepath, Msg string }
	}
	require.NoError(t, json.Unmarshal(got.Body, &result))
	require.Empty(t, result.Errors)
	require.Len(t, result.Warnings, len(tests))
	for i, test := range tests {
		path := fmt.Sprintf("automations/a%d.yml", i)
		for _, warning := range result.Warnings {
			if warning.Filepath == path {
				require.Equal(t, "invalid_automation", warning.Err, test.name)
				require.True(t, strings.HasPrefix(warning.Msg, test.field+": "), "%s: %s", test.name, warning.Msg)
				path = ""
			}
		}
		require.Empty(t, path, test.name)
		ran := p.Do(t, 500, "POST", fmt.Sprintf("%s/test/a%d", p.Path, i), `{"payload":{}}`).JSON(t)["details"].(map[string]any)
		require.Equal(t, "InvalidInstructionError", ran["name"], test.name)
		require.Equal(t, test.field, ran["field"], test.name)
	}
}

func TestReferencesInPercentAreFollowed(t *testing.T) {
	t.Parallel()
	p := nodetest.SharedService(t).NewWorkspace(t).AddAutomations(t, `t: {validateArguments: true, schemas: [{payload: {properties: {v: {$ref: '#/$defs/a%20b'}}, $defs: {'a b': {type: string}}}}], do: [{T: on}]}`)
	require.Equal(t, `"on"`, p.RunTest(t, 200, `{"v":"x"}`).Result(t))
	require.Equal(t, "invalid_request", p.RunTest(t, 400, `{"v":1}`).Code(t))
}

// An address may be a secret, or made of one: it is let through until it is sent.
func TestAnAddressMayBeASecret(t *testing.T) {
	t.Parallel()
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(r.URL.Path))
	}))
	t.Cleanup(far.Close)
	p := nodetest.NewOwnedService(t).NewWorkspace(t).AddAutomations(t, `
t: [{run: {module: secrets, function: set, parameters: {name: u, value: '{{u}}'}}}, {run: {module: secrets, function: get, parameters: {name: u}, output: s}}, {fetch: {url: '{{s}}{{more}}', output: r}}]
fixed: {when: {endpoint: true}, do: [{fetch: {url: '$secret:eyJzIjoid29ya3NwYWNlIiwibiI6ImsifQ.AAAAAAAAAAAAAAAAAAAAAA'}}]}`)
	require.Equal(t, `"/hidden/place"`, p.RunTest(t, 200, `{"u":"`+far.URL+`/hidden","more":"/place"}`).Result(t))
	for _, address := range []string{"nowhere", "ftp://example.com"} {
		bad := p.RunTest(t, 500, `{"u":"`+address+`"}`)
		require.Equal(t, "InvalidInstructionError", bad.JSON(t)["details"].(map[string]any)["name"])
		require.NotContains(t, string(bad.Body), address, "what is wrong is told without the secret")
	}
	require.Equal(t, "InvalidInstructionError", p.CallEndpoint(t, 500, "POST", "fixed", "").JSON(t)["details"].(map[string]any)["name"], "one that nobody made here stays text")
	p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/automations", `{"name":"bad","do":[{"fetch":{"url":"secret:k"}}]}`)
	nodetest.RequireSecretsHidden(t, p, far.URL+"/hidden")
}

// A circle through the service ends under whatever name of it: the depth goes with the
// request.
func TestCirclesThroughOtherNamesOfTheServiceEnd(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t)
	by := w.Base // which is not how API_URL has it
	p.AddAutomations(t, `
deep: {when: {endpoint: true}, do: [], output: '{{run.depth}}'}
t: [{fetch: {url: '`+by+p.Path+`/webhooks/deep', output: r}}]
loop: {when: {endpoint: true}, do: [{fetch: {url: '`+by+p.Path+`/webhooks/loop', output: r}}]}`)
	require.Equal(t, "2", p.RunTest(t, 200, `{}`).Result(t))
	p.CallEndpoint(t, 200, "GET", "loop", "")
	p.AwaitEvents(t, 1, "error", "payload.error=TooManyCallError")
}
