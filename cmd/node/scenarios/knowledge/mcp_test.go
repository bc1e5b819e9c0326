package knowledge_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/signing"
)

// withHeaders sends headers with each request.
type withHeaders http.Header

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for key, values := range h {
		r.Header[key] = values
	}
	return http.DefaultTransport.RoundTrip(r)
}

// mcpClient is the client of the official SDK.
type mcpClient struct {
	*sdk.ClientSession
	t *testing.T
}

// connectMCP connects the client of the official SDK to the server of a workspace, with the credential of p.
func connectMCP(t *testing.T, p nodetest.Workspace, version string) mcpClient {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: p.Service.Base + p.Path + "/mcp", HTTPClient: &http.Client{Transport: withHeaders(p.Auth)}, MaxRetries: -1,
	}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return mcpClient{session, t}
}

// names returns the names of the tools that are listed.
func (c mcpClient) names() (names []string) {
	c.t.Helper()
	list, err := c.ListTools(c.t.Context(), nil)
	require.NoError(c.t, err)
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// call calls a tool, and returns its text.
func (c mcpClient) call(name string, arguments map[string]any) (text string, failed bool) {
	c.t.Helper()
	result, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(c.t, err)
	require.Len(c.t, result.Content, 1)
	text = result.Content[0].(*sdk.TextContent).Text
	if result.StructuredContent != nil {
		structured, err := json.Marshal(result.StructuredContent)
		require.NoError(c.t, err)
		require.JSONEq(c.t, text, string(structured))
	}
	return text, result.IsError
}

// An MCP client uses a workspace: automations, agents and documents, each as far as its credential allows.
func TestMCPServer(t *testing.T) {
	t.Parallel()
	_, env := startModels(t)
	s := nodetest.NewServiceWithAccounts(t, append(env, "RATE_LIMIT_ASK_MODELS=1000")...).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	at := p.Path + "/mcp"
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"PIN":{"value":"canary-4711-secret"}}`)
	p.AddAutomations(t, `
refund: {name: Refund, description: Pays money back., labels: [mcp], arguments: {id: {type: number, required: true}, pin: {type: string, secret: true}}, do: [], output: {paid: '{{id}}', by: '{{run.trigger.type}} {{run.trigger.value}}', pin: '{{secret.PIN}}'}}
fails: {labels: [mcp], do: [{refund: {id: '{{secret.PIN}}'}}]}
says: {labels: [mcp], do: [], output: hello}
'shop/order': {labels: [mcp], do: [], output: 1}
shop_order: {labels: [mcp], do: [], output: 2}
read_document: {labels: [mcp], do: [], output: mine}
hidden: {labels: [mcp], private: true, do: []}
off: {labels: [mcp], disabled: true, do: []}
unlabelled: {do: []}
guarded: {labels: [mcp], authorizations: {action: sell}, do: []}`)
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`)
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"Other","slug":"other"}`)
	document := func(base, body string) string {
		return p.Do(t, 201, "POST", p.Path+"/knowledgeBases/"+base+"/documents?wait=30", body).JSON(t)["id"].(string)
	}
	refunds := document("faq", `{"text":"Refunds take thirty dáys. The word is canary-4711-secret.","name":"refunds","tags":["open"]}`)
	document("faq", `{"text":"Refunds of salaries.","name":"salaries","tags":["hr"]}`)
	other := document("other", `{"text":"Refunds elsewhere.","name":"elsewhere"}`)
	agent := func(slug, more string) {
		p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","slug":"`+slug+`","instructions":"You help."`+more+`}`)
	}
	agent("helper", `,"labels":["mcp"],"description":"Answers customers."`)
	agent("draft", `,"labels":["mcp"]`)
	agent("quiet", ``)
	p.Do(t, 200, "POST", p.Path+"/agents/helper/publish", "")
	p.Do(t, 200, "POST", p.Path+"/agents/quiet/publish", "")
	p.Do(t, 200, "PATCH", p.Path+"/agents/helper", `{"labels":[]}`) // what is published has it

	everything := []string{"search_knowledge", "ask_knowledge", "read_document", "fails", "guarded", "refund", "says", "shop_order", "agent_helper"}
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run("tools are listed in version "+version, func(t *testing.T) {
			client := connectMCP(t, p, version)
			require.Equal(t, []string{version, "svc"}, []string{client.InitializeResult().ProtocolVersion, client.InitializeResult().ServerInfo.Name})
			require.ElementsMatch(t, everything, client.names())
			text, failed := client.call("says", nil)
			require.Equal(t, []any{"hello", false}, []any{text, failed})
			if version < "2026-07-28" {
				require.NoError(t, client.Ping(t.Context(), nil))
			}
		})
	}
	owner := connectMCP(t, p, "")
	t.Run("a tool is described", func(t *testing.T) {
		list, err := owner.ListTools(t.Context(), nil)
		require.NoError(t, err)
		described := map[string]*sdk.Tool{}
		for _, tool := range list.Tools {
			described[tool.Name] = tool
		}
		require.Equal(t, "Pays money back.", described["refund"].Description)
		schema, err := json.Marshal(described["refund"].InputSchema)
		require.NoError(t, err)
		require.JSONEq(t, `{"type":"object","properties":{"id":{"type":"number"}},"required":["id"]}`, string(schema))
		require.Equal(t, []any{"Helper", "Answers customers."}, []any{described["agent_helper"].Title, described["agent_helper"].Description})
		require.True(t, described["search_knowledge"].Annotations.ReadOnlyHint)
	})
	t.Run("automations are called", func(t *testing.T) {
		text, failed := owner.call("refund", map[string]any{"id": 7})
		require.False(t, failed)
		require.Contains(t, text, `"paid":7`)
		require.Contains(t, text, `"by":"mcp refund"`)
		require.NotContains(t, text, "canary")
		text, failed = owner.call("refund", map[string]any{"id": "x"})
		require.True(t, failed)
		require.Contains(t, text, "InvalidArguments")
		text, failed = owner.call("fails", nil)
		require.True(t, failed)
		require.Contains(t, text, "InvalidArguments")
		require.NotContains(t, text, "canary")
		text, _ = owner.call("shop_order", nil)
		require.Equal(t, "2", text, "the name is its slug")
		started := p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=refund&payload.trigger.type=mcp")[0]
		require.Equal(t, []string{`"mcp"`, `"refund"`}, []string{started.At("trigger", "type"), started.At("trigger", "value")})
	})
	t.Run("documents are searched, asked and read", func(t *testing.T) {
		text, failed := owner.call("search_knowledge", map[string]any{"query": "refunds", "limit": 1, "filters": map[string]any{"tags": "open"}})
		require.False(t, failed, text)
		require.Contains(t, text, refunds)
		require.NotContains(t, text, "salaries")
		require.NotContains(t, text, "canary")
		text, failed = owner.call("ask_knowledge", map[string]any{"question": "How long do refunds take, in days?", "knowledgeBases": []string{"faq"}})
		require.False(t, failed, text)
		require.Contains(t, text, `"grounded":true`)
		text, failed = owner.call("read_document", map[string]any{"id": refunds, "from": 8, "length": 16})
		require.False(t, failed, text)
		require.Contains(t, text, `"text":"take thirty dáys"`)
		require.Contains(t, text, `"next":24`)
		text, _ = owner.call("read_document", map[string]any{"id": refunds})
		require.NotContains(t, text, "canary")
		require.NotContains(t, text, `"next"`)
		for name, arguments := range map[string]map[string]any{
			"search_knowledge": {"query": ""}, "ask_knowledge": {"question": "x", "nope": 1}, "read_document": {"id": "doc_none"},
		} {
			text, failed = owner.call(name, arguments)
			require.True(t, failed, name)
			require.Contains(t, text, `"error":"`, name)
		}
		text, failed = owner.call("read_document", map[string]any{"id": refunds, "from": -1, "length": 100001})
		require.True(t, failed)
		require.Contains(t, text, "validation_failed")
	})
	t.Run("agents are called", func(t *testing.T) {
		text, failed := owner.call("agent_helper", map[string]any{"message": "say:Good morning"})
		require.False(t, failed, text)
		var said struct{ Text, ConversationID, Status string }
		require.NoError(t, json.Unmarshal([]byte(text), &said))
		require.Equal(t, []string{"Good morning", "completed"}, []string{said.Text, said.Status})
		text, _ = owner.call("agent_helper", map[string]any{"message": "say:Again", "conversationId": said.ConversationID})
		require.Contains(t, text, said.ConversationID)
		text, failed = owner.call("agent_helper", map[string]any{"message": " "})
		require.True(t, failed)
		require.Contains(t, text, "validation_failed")
		p.AwaitEvents(t, 2, "agents.messages.completed", "")
	})
	t.Run("what is not there is refused", func(t *testing.T) {
		for _, name := range []string{"nope", "hidden", "off", "unlabelled", "agent_draft", "agent_quiet", "agent_"} {
			_, err := owner.CallTool(t.Context(), &sdk.CallToolParams{Name: name})
			require.ErrorContains(t, err, "there is no tool", name)
		}
	})
	key := func(rules string) nodetest.Workspace {
		made := p.Do(t, 201, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":`+rules+`}`).JSON(t)
		return p.As(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}})
	}
	t.Run("a key has what its rules allow", func(t *testing.T) {
		limited := connectMCP(t, key(`[{"action":"read","subject":"documents","conditions":{"knowledgeBase":"faq","tags":"open"}},{"action":"execute","subject":"automations","conditions":{"slug":"guarded"}}]`), "")
		names := limited.names()
		require.Subset(t, names, []string{"search_knowledge", "ask_knowledge", "read_document", "guarded"})
		require.NotContains(t, names, "agent_helper")
		text, failed := limited.call("search_knowledge", map[string]any{"query": "refunds"})
		require.False(t, failed, text)
		require.Contains(t, text, `"total":1`)
		require.Contains(t, text, refunds)
		for name, arguments := range map[string]map[string]any{
			"search_knowledge": {"query": "refunds", "knowledgeBases": []string{"other"}},
			"ask_knowledge":    {"question": "refunds", "knowledgeBases": []string{"other"}},
			"read_document":    {"id": other},
		} {
			text, failed = limited.call(name, arguments)
			require.True(t, failed, name)
			require.Contains(t, text, `"permission_denied"`, name)
			require.NotContains(t, text, "elsewhere")
		}
		require.NotContains(t, connectMCP(t, key(`[{"action":"read","subject":"documents"}]`), "").names(), "guarded")
	})
	t.Run("a token has what its scopes allow", func(t *testing.T) {
		me := p.Do(t, 200, "GET", "/v2/me", "").JSON(t)
		for scope, want := range map[string]func(name string) bool{
			"webhooks": func(name string) bool {
				return !strings.HasPrefix(name, "agent_") && !strings.HasSuffix(name, "_knowledge") && name != "read_document"
			},
			"agents":          func(name string) bool { return name == "agent_helper" },
			"knowledge:read":  func(name string) bool { return strings.HasSuffix(name, "_knowledge") || name == "read_document" },
			"workspaces:read": func(string) bool { return false },
		} {
			token, err := s.Node.Keys().Sign(t.Context(), signing.Claims{
				Subject: me["id"].(string), SessionID: me["sessionId"].(string), IssuedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour), Scope: scope,
			})
			require.NoError(t, err)
			client := connectMCP(t, p.As(nodetest.Bearer(token)), "")
			wanted := slices.DeleteFunc(slices.Clone(everything), func(name string) bool { return !want(name) })
			require.ElementsMatch(t, wanted, client.names(), scope)
			for _, name := range everything {
				if !want(name) {
					_, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: name})
					require.ErrorContains(t, err, "there is no tool", "%s %s", scope, name)
				}
			}
		}
	})
	post := func(status int, body string, headers ...string) nodetest.Answer {
		t.Helper()
		return p.Do(t, status, "POST", at, body, headers...)
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	t.Run("credentials are headers", func(t *testing.T) {
		nobody, stranger := p.As(nil), p.As(s.NewUser(t, "stranger"))
		token := strings.TrimPrefix(p.Auth.Get("Authorization"), "Bearer ")
		nobody.RequireRefusal(t, 401, "missing_token", "POST", p.Path+"x/mcp", list)
		require.Equal(t, nobody.Send(t, "POST", at, list).Body, nobody.Send(t, "POST", at, list, "Cookie", "access-token="+token).Body)
		require.NotContains(t, string(nobody.Send(t, "POST", at, list).Body), "search_knowledge")
		require.NotContains(t, string(stranger.Send(t, "POST", at, list).Body), "search_knowledge")
		p.RequireRefusal(t, 401, "invalid_token", "POST", at, list, "Authorization", "Bearer nope")
		require.Equal(t, "foreign_origin", p.RequireRefusal(t, 403, "permission_denied", "POST", at, list, "Origin", "https://evil.example")["reason"])
		p.RequireRefusal(t, 403, "permission_denied", "POST", at, list, "Origin", "null")
		post(200, list, "Origin", s.Base)
		for _, method := range []string{"GET", "DELETE", "PUT"} {
			got := p.Do(t, 405, method, at, "")
			require.Equal(t, "POST, OPTIONS", got.Header.Get("Allow"))
		}
	})
	t.Run("bad messages are refused", func(t *testing.T) {
		for _, tc := range []struct {
			status int
			body   string
			code   float64
		}{
			{400, `{"jsonrpc":`, -32700},
			{400, ``, -32700},
			{400, `[` + list + `]`, -32600},
			{400, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
			{400, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
			{400, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600},
			{400, `{"jsonrpc":"2.0","id":1}`, -32600},
			{400, `{"jsonrpc":"2.0","id":1,"method":7}`, -32600},
			{200, `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, -32601},
			{200, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, -32602},
			{200, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, -32602},
			{200, `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":7}}`, -32602},
			{200, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"says","arguments":[]}}`, -32602},
			{200, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, -32602},
		} {
			got := post(tc.status, tc.body).JSON(t)
			require.Equal(t, tc.code, got["error"].(map[string]any)["code"], tc.body)
			require.Equal(t, "2.0", got["jsonrpc"])
			require.NotContains(t, got, "result")
		}
		require.Equal(t, "a", post(200, `{"jsonrpc":"2.0","id":"a","method":"nope"}`).JSON(t)["id"])
		require.Equal(t, "unsupported_media_type", p.RequireRefusal(t, 415, "invalid_request", "POST", at, list, "Content-Type", "text/plain")["reason"])
		require.Empty(t, post(202, `{"jsonrpc":"2.0","method":"notifications/initialized"}`).Body)
		require.Empty(t, post(202, `{"jsonrpc":"2.0","id":4,"result":{}}`).Body)
		unspoken := post(400, list, "Mcp-Protocol-Version", "1999-01-01").JSON(t)["error"].(map[string]any)
		require.Equal(t, -32022.0, unspoken["code"])
		require.Equal(t, []any{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"}, unspoken["data"].(map[string]any)["supported"])
		for _, headers := range [][]string{{}, {"Mcp-Method", "tools/call"}} {
			mismatch := post(400, list, append(headers, "Mcp-Protocol-Version", "2026-07-28")...).JSON(t)
			require.Equal(t, -32020.0, mismatch["error"].(map[string]any)["code"])
		}
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"says"}}`
		post(400, call, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "refund")
		post(200, `{"jsonrpc":"2.0","id":1,"method":"nope"}`, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "nope")
	})
	t.Run("an answer is JSON or a stream, as the client likes", func(t *testing.T) {
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"says"}}`
		want := `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"hello"}]}}`
		require.JSONEq(t, want, string(post(200, call, "Accept", "application/json").Body))
		require.JSONEq(t, want, string(post(200, call).Body))
		stream := func(body, accept string) nodetest.Answer {
			return s.SendAs(t, "POST", at, "application/json", nodetest.WithHeader(p.Auth, "Accept", accept), body)
		}
		got := stream(call, "application/json, text/event-stream")
		require.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
		require.Equal(t, "event: message\ndata: "+want+"\n\n", string(got.Body))
		require.Contains(t, string(stream(list, "text/event-stream").Body), `event: message`)
		require.Contains(t, string(stream(`{"jsonrpc":"2.0","id":1,"method":"nope"}`, "text/event-stream").Body), `-32601`)
	})
	t.Run("events tell of it, without secrets", func(t *testing.T) {
		types := s.ActivityTypes(t, p.ID)
		for _, wanted := range []string{"runtime.interactions.triggered", nodetest.Executed, "agents.messages.started", "agents.messages.completed", "knowledge.queried"} {
			require.Contains(t, types, wanted)
		}
		for _, ev := range s.Activity(t, p.ID) {
			nodetest.RequireNoSecretIn(t, ev.Data.EventType(), string(ev.Body), "canary-4711-secret")
			require.NotContains(t, string(ev.Body), "Good morning")
		}
		nodetest.RequireNoSecretIn(t, "the log", s.Log.String(), "canary-4711-secret")
	})
}

// Calls of MCP clients have the limit of questions.
func TestMCPIsLimited(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "DISABLE_RATE_LIMIT=no", "RATE_LIMIT_ASK_MODELS=3").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	require.NotContains(t, string(p.Do(t, 200, "POST", p.Path+"/mcp", list).Body), "ask_knowledge", "there is no model")
	require.Eventually(t, func() bool { return p.Send(t, "POST", p.Path+"/mcp", list).StatusCode == http.StatusTooManyRequests }, time.Minute, time.Millisecond)
}
