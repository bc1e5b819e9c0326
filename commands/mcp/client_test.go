package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"svc/commands/egress"
	"svc/commands/mcp"
	"svc/domain"
	"svc/domain/agent"
)

// startServer starts a server of the official SDK with a tool that greets.
func startServer(t *testing.T, o *sdk.StreamableHTTPOptions, guard func(http.Handler) http.Handler) (*sdk.Server, string) {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)
	server.AddTool(&sdk.Tool{Name: "greet", Description: "Says hello.", InputSchema: schema}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello " + string(r.Params.Arguments)}}}, nil
	})
	var handler http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, o)
	if guard != nil {
		handler = guard(handler)
	}
	on := httptest.NewServer(handler)
	t.Cleanup(on.Close)
	return server, on.URL
}

func newClient(t *testing.T, rules egress.Rules, o mcp.Options) *mcp.Client {
	t.Helper()
	out, err := egress.New(egress.Options{Rules: rules})
	require.NoError(t, err)
	t.Cleanup(out.Close)
	o.HTTP = out.Client(0)
	o.Resolve = func(_ context.Context, workspaceID, text string) (string, error) {
		if strings.Contains(text, "missing") {
			return "", domain.Refuse(domain.CodeValidation, "the workspace has no secret missing")
		}
		return strings.ReplaceAll(text, "{{secret.token}}", "token of "+workspaceID), nil
	}
	c, err := mcp.New(o)
	require.NoError(t, err)
	return c
}

var local = egress.Rules{AllowHosts: []string{"127.0.0.1"}}

func TestToolsOfServersAreCalled(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*sdk.StreamableHTTPOptions{
		"with sessions, as a stream": {}, "with sessions, as JSON": {JSONResponse: true}, "without sessions": {Stateless: true}, "without sessions, as JSON": {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var headers atomic.Value
			server, address := startServer(t, o, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					headers.Store(r.Header.Get("X-Token"))
					next.ServeHTTP(w, r)
				})
			})
			c := newClient(t, local, mcp.Options{})
			s, err := c.Connect(t.Context(), "w1", agent.Server{URL: address, Headers: map[string]string{"x-token": "{{secret.token}}"}})
			require.NoError(t, err)
			require.Equal(t, "token of w1", headers.Load())
			tools, err := s.Tools(t.Context())
			require.NoError(t, err)
			require.Len(t, tools, 1)
			require.Equal(t, []string{"greet", "Says hello."}, []string{tools[0].Name, tools[0].Description})
			require.JSONEq(t, `{"type":"object","properties":{"name":{"type":"string"}}}`, string(tools[0].InputSchema))
			got, err := s.Call(t.Context(), "greet", json.RawMessage(`{"name":"Ann"}`))
			require.NoError(t, err)
			require.Equal(t, `hello {"name":"Ann"}`, got.Content[0].Text)
			_, err = s.Call(t.Context(), "nope", json.RawMessage(`{}`))
			require.ErrorContains(t, err, "server_refused")

			server.RemoveTools("greet")
			_, err = s.Call(t.Context(), "greet", json.RawMessage(`{}`))
			require.ErrorContains(t, err, "server_refused", "its tools have changed")
			s.Close(t.Context())
		})
	}
}

func TestAForgottenSessionIsBegunAgain(t *testing.T) {
	t.Parallel()
	var forgets atomic.Bool
	_, address := startServer(t, nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Session-Id") != "" && forgets.CompareAndSwap(true, false) {
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s, err := newClient(t, local, mcp.Options{}).Connect(t.Context(), "w1", agent.Server{URL: address})
	require.NoError(t, err)
	forgets.Store(true)
	got, err := s.Call(t.Context(), "greet", json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, "hello {}", got.Content[0].Text)
}

func TestFaultsOfServers(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(nil)
	down.Close()
	released := make(chan struct{})
	serve := func(h http.HandlerFunc) string {
		on := httptest.NewServer(h)
		t.Cleanup(on.Close)
		return on.URL
	}
	slow := serve(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(released) })
	var reached atomic.Int64
	inside := serve(func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	says := func(kind, text string) string {
		return serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, text)
		})
	}
	for name, tc := range map[string]struct {
		server agent.Server
		rules  egress.Rules
		want   string
	}{
		"down":    {agent.Server{URL: down.URL}, local, "server_unavailable: the MCP server could not be reached"},
		"slow":    {agent.Server{URL: slow}, local, "server_timeout"},
		"private": {agent.Server{URL: inside}, egress.Rules{}, "server_unavailable: the address of the MCP server may not be reached"},
		"a redirect": {agent.Server{URL: serve(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside, http.StatusTemporaryRedirect)
		})}, local, "status 307"},
		"an error":          {agent.Server{URL: serve(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 500) })}, local, "status 500"},
		"no JSON":           {agent.Server{URL: says("application/json", "<html>")}, local, "no answer that can be read"},
		"no result":         {agent.Server{URL: says("application/json", `{"jsonrpc":"2.0","id":1,"result":7}`)}, local, "no result of initialize"},
		"another answer":    {agent.Server{URL: says("application/json", `{"jsonrpc":"2.0","id":9,"result":{}}`)}, local, "no answer that can be read"},
		"an empty stream":   {agent.Server{URL: says("text/event-stream", ": nothing\n\n")}, local, "no answer that can be read"},
		"garbage in it":     {agent.Server{URL: says("text/event-stream", "data: {{{\n\n")}, local, "no answer that can be read"},
		"another version":   {agent.Server{URL: says("application/json", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01"}}`)}, local, "1999-01-01"},
		"endless":           {agent.Server{URL: says("application/json", strings.Repeat("[", 5<<20))}, local, "no answer that can be read"},
		"no secret":         {agent.Server{URL: inside, Headers: map[string]string{"x-key": "{{secret.missing}}"}}, local, "no secret missing"},
		"no address":        {agent.Server{URL: "ftp://example.com"}, local, "must be http or https"},
		"credentials in it": {agent.Server{URL: "http://a:b@127.0.0.1/"}, local, "without credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := mcp.Options{}
			if name == "slow" {
				o.ListTimeout = 50 * time.Millisecond
			}
			_, err := newClient(t, tc.rules, o).Connect(t.Context(), "w1", tc.server)
			require.ErrorContains(t, err, tc.want)
		})
	}
	t.Cleanup(func() { require.Zero(t, reached.Load(), "no request arrives") })
}

func TestACancelledCallEnds(t *testing.T) {
	t.Parallel()
	server, address := startServer(t, nil, nil)
	began, released := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(released) })
	server.AddTool(&sdk.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		close(began)
		<-released
		return &sdk.CallToolResult{}, nil
	})
	s, err := newClient(t, local, mcp.Options{}).Connect(t.Context(), "w1", agent.Server{URL: address})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	_, err = s.Call(ctx, "wait", json.RawMessage(`{}`))
	require.ErrorIs(t, err, context.Canceled)
}
