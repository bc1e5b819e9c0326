package knowledge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// Agents call functions of MCP servers: those that are allowed, with secrets that nobody sees, after an approval.
func TestAgentsCallMCPServers(t *testing.T) {
	t.Parallel()
	var shown atomic.Value
	remote := sdk.NewServer(&sdk.Implementation{Name: "remote", Version: "1"}, nil)
	add := func(name string, perform func(r *sdk.CallToolRequest) *sdk.CallToolResult) {
		remote.AddTool(&sdk.Tool{Name: name, Description: "Does " + name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return perform(r), nil })
	}
	say := func(text string, failed bool) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: failed}
	}
	add("weather", func(r *sdk.CallToolRequest) *sdk.CallToolResult {
		return say("rain for "+string(r.Params.Arguments)+" with "+fmt.Sprint(shown.Load()), false)
	})
	add("refund", func(*sdk.CallToolRequest) *sdk.CallToolResult { return say("remote refund", false) })
	add("breaks", func(*sdk.CallToolRequest) *sdk.CallToolResult { return say("it broke", true) })
	add("large", func(*sdk.CallToolRequest) *sdk.CallToolResult { return say(strings.Repeat("x", 30_000), false) })
	add("unwanted", func(*sdk.CallToolRequest) *sdk.CallToolResult { return say("never", false) })
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return remote }, nil)
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown.Store(r.Header.Get("Authorization"))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(at.Close)
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	down := httptest.NewServer(nil)
	down.Close()

	fake, env := startModels(t)
	s := nodetest.NewServiceWithAccounts(t, append(env, "EGRESS_ALLOW_HOSTS="+strings.TrimPrefix(at.URL, "http://")+","+strings.TrimPrefix(down.URL, "http://"), "RATE_LIMIT_ASK_MODELS=1000")...).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"TOKEN":{"value":"Bearer canary-4711-secret"}}`)
	p.AddAutomations(t, `refund: {do: [], output: own refund}`)
	made := p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","instructions":"You help.","tools":[{"automation":"refund"},`+
		`{"mcp":{"url":"`+at.URL+`","headers":{"authorization":"{{secret.TOKEN}}"},"tools":["weather","refund","breaks","large"]}},`+
		`{"mcp":{"url":"`+down.URL+`"}},{"mcp":{"url":"`+inside.URL+`"}},{"mcp":{"url":"`+s.Base+p.Path+`/mcp"}},{"mcp":{"url":"`+at.URL+`","headers":{"authorization":"{{secret.GONE}}"}}}]}`).JSON(t)
	require.NotContains(t, fmt.Sprint(made["warnings"]), "not called")
	one := p.Path + "/agents/helper"
	send := func(words string) map[string]any {
		t.Helper()
		body, err := json.Marshal(map[string]string{"text": words})
		require.NoError(t, err)
		return p.Do(t, 200, "POST", one+"/messages", string(body)).JSON(t)
	}
	call := func(m map[string]any) map[string]any { return m["toolCalls"].([]any)[0].(map[string]any) }

	got := send(`call:weather {"city":"Paris"}`)
	require.Contains(t, got["text"], `rain for {"city":"Paris"} with`)
	require.NotContains(t, fmt.Sprint(got), "canary")
	require.Equal(t, "Bearer canary-4711-secret", shown.Load())
	var offered struct {
		Tools []struct{ Function struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal(fake.Calls()[0].Body, &offered))
	names := []string{}
	for _, tool := range offered.Tools {
		names = append(names, tool.Function.Name)
	}
	twin := strings.NewReplacer(".", "_", ":", "_").Replace(strings.TrimPrefix(at.URL, "http://")) + "_refund"
	require.ElementsMatch(t, []string{"refund", "weather", twin, "breaks", "large"}, names)
	require.Contains(t, send(`call:refund {}`)["text"], "own refund")
	require.Contains(t, send(`call:` + twin + ` {}`)["text"], "remote refund")
	require.Equal(t, "tool_failed", call(send(`call:breaks {}`))["error"])
	require.Len(t, call(send(`call:large {}`))["output"], 20_000)
	require.Zero(t, reached.Load(), "a private address gets no request")

	remote.RemoveTools("breaks") // the next message has it no more
	require.Empty(t, send(`call:breaks {}`)["toolCalls"])

	p.Do(t, 200, "PATCH", one, `{"tools":[{"mcp":{"url":"`+at.URL+`","headers":{"authorization":"{{secret.TOKEN}}"}},"approval":"always"}]}`)
	waiting := send(`call:weather {}`)
	require.Equal(t, "waiting_approval", waiting["status"])
	approve := func(m map[string]any, approved string) map[string]any {
		return p.Do(t, 200, "POST", one+"/messages/"+m["id"].(string)+"/approve", `{"callId":"call_1_1","approved":`+approved+`}`).JSON(t)
	}
	require.Contains(t, approve(waiting, "true")["text"], "rain for {}")
	require.Equal(t, "refused", call(approve(send(`call:weather {}`), "false"))["error"])

	called := p.AwaitEvents(t, 1, "agents.tools.called", "payload.name=breaks")[0]
	require.Equal(t, `"tool_failed"`, called.At("error"))
	for _, ev := range s.Activity(t, p.ID) {
		nodetest.RequireNoSecretIn(t, ev.Data.EventType(), string(ev.Body), "canary-4711-secret")
	}
	nodetest.RequireNoSecretIn(t, "the log", s.Log.String(), "canary-4711-secret")
}
