package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
	"svc/commands/llm"
	"svc/commands/llm/fakemodel"
	"svc/domain"
)

// newModels returns Models of one provider called default, at an address.
func newModels(t *testing.T, address string, change ...func(*llm.Options)) *llm.Models {
	t.Helper()
	e, err := egress.New(egress.Options{})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	o := llm.Options{
		Platform:       llm.SingleProvider(address, fakemodel.Key, fakemodel.ChatModel, fakemodel.EmbeddingModel),
		PlatformClient: e.OperatorClient(), WorkspaceClient: e.Client(0), Timeout: time.Minute, Concurrency: 8, Pauses: []time.Duration{0, 0},
	}
	for _, c := range change {
		c(&o)
	}
	m, err := llm.New(o)
	require.NoError(t, err)
	return m
}

func startFake(t *testing.T) (*fakemodel.Server, string) {
	t.Helper()
	fake := fakemodel.New()
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, server.URL + "/v1"
}

func user(text string) llm.ChatRequest {
	return llm.ChatRequest{Messages: []llm.Message{{Role: "user", Content: text}}}
}

// collect gathers the pieces of an answer.
func collect(into *strings.Builder) func(llm.Delta) error {
	return func(d llm.Delta) error {
		into.WriteString(d.Text)
		return nil
	}
}

func refusalOf(t *testing.T, err error) (code domain.Code, reason string, details map[string]any) {
	t.Helper()
	refusal, ok := errors.AsType[*domain.Error](err)
	require.True(t, ok, "%v", err)
	reason, _ = refusal.Details["reason"].(string)
	return refusal.Code, reason, refusal.Details
}

func TestChat(t *testing.T) {
	t.Parallel()
	fake, address := startFake(t)
	m := newModels(t, address)
	var pieces strings.Builder
	reply, err := m.Chat(t.Context(), user("say:Paris is the capital"), collect(&pieces))
	require.NoError(t, err)
	require.Equal(t, llm.ChatReply{
		Text: "Paris is the capital", Usage: llm.Usage{PromptTokens: 5, CompletionTokens: 4}, FinishReason: "stop", Model: "default/fake-chat",
	}, reply)
	require.Equal(t, reply.Text, pieces.String())

	in := user("call:refund {\"id\":\"é1\"}\ncall:refund {\"id\":2}\ncall:other {}")
	in.Tools = []llm.Tool{{Name: "refund", Parameters: json.RawMessage(`{"type":"object"}`)}}
	reply, err = m.Chat(t.Context(), in, nil)
	require.NoError(t, err)
	require.Equal(t, []llm.ToolCall{{"call_1", "refund", `{"id":"é1"}`}, {"call_2", "refund", `{"id":2}`}}, reply.ToolCalls)
	require.Equal(t, "tool_calls", reply.FinishReason)

	in.Messages = append(in.Messages, llm.Message{Role: "assistant", ToolCalls: reply.ToolCalls}, llm.Message{Role: "tool", ToolCallID: "call_1", Content: "done"})
	reply, err = m.Chat(t.Context(), in, nil)
	require.NoError(t, err)
	require.Equal(t, "tool said: done", reply.Text)
	require.Contains(t, string(fake.Calls()[2].Body), `"tool_call_id":"call_1"`)

	for text, finish := range map[string]string{"length": "length", "filter": "content_filter", "nousage": "stop"} {
		reply, err = m.Chat(t.Context(), user(text), nil)
		require.NoError(t, err)
		require.Equal(t, finish, reply.FinishReason)
		require.Equal(t, text == "nousage", reply.Usage.Estimated)
		require.Positive(t, reply.Usage.PromptTokens)
	}
}

// serve answers every request with a text, a few bytes at a time.
func serve(t *testing.T, text string, seen *atomic.Pointer[string]) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := r.URL.Path + " " + r.Header.Get("X-Api-Key") + " " + string(body)
		if seen != nil {
			seen.Store(&request)
		}
		for at := 0; at < len(text); at += 7 {
			_, _ = io.WriteString(w, text[at:min(len(text), at+7)])
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestStreamsOfOtherServers(t *testing.T) {
	t.Parallel()
	m := newModels(t, serve(t, ": hello\r\n\r\n"+
		"data: {\"choices\":[{\"delta\":{\"content\":\"é\"}}]}\r\n\r\n"+
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"a\",\"arguments\":\"{\\\"x\"}}]}}]}\n\n"+
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b1\",\"function\":{\"name\":\"b\"}}]}}]}\n\n"+
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\":1}\"}}]}}]}\n\n"+
		"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}", nil))
	reply, err := m.Chat(t.Context(), user("x"), nil)
	require.NoError(t, err)
	require.Equal(t, "é", reply.Text)
	require.Equal(t, []llm.ToolCall{{"call_1", "a", `{"x":1}`}, {"b1", "b", "{}"}}, reply.ToolCalls)
	require.Equal(t, "tool_calls", reply.FinishReason)
	require.True(t, reply.Usage.Estimated)

	m = newModels(t, serve(t, "data: {\"error\":{\"message\":\"overloaded\"}}\n\n", nil))
	_, err = m.Chat(t.Context(), user("x"), nil)
	_, reason, _ := refusalOf(t, err)
	require.Equal(t, "model_unavailable", reason)
	require.ErrorContains(t, err, "overloaded")

	m = newModels(t, serve(t, "<html>", nil))
	_, err = m.Chat(t.Context(), user("x"), nil)
	_, reason, _ = refusalOf(t, err)
	require.Equal(t, "model_unavailable", reason)
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script []fakemodel.Reply
		text   string
		code   domain.Code
		reason string
		calls  int
		retry  any
	}{
		"credentials":          {text: "fail:401", code: domain.CodeUnavailable, reason: "model_auth_failed", calls: 1},
		"forbidden":            {text: "fail:403", code: domain.CodeUnavailable, reason: "model_auth_failed", calls: 1},
		"rate":                 {text: "fail:429", code: domain.CodeUnavailable, reason: "model_rate_limited", calls: 3},
		"rate, and a long one": {script: []fakemodel.Reply{{Status: 429, RetryAfter: "60"}}, code: domain.CodeUnavailable, reason: "model_rate_limited", calls: 1, retry: 60},
		"broken":               {text: "fail:500", code: domain.CodeUnavailable, reason: "model_unavailable", calls: 1},
		"overloaded":           {text: "fail:503", code: domain.CodeUnavailable, reason: "model_unavailable", calls: 3},
		"back again":           {script: []fakemodel.Reply{{Status: 503}, {Status: 503}, {Text: "answer"}}, calls: 3},
		"too long":             {text: "fail:413", code: domain.CodeValidation, reason: "context_too_long", calls: 1},
		"something else":       {text: "fail:400", code: domain.CodeUpstream, reason: "model_rejected", calls: 1},
		"cut":                  {script: []fakemodel.Reply{{Text: "one two three", Cut: true}}, code: domain.CodeUnavailable, reason: "model_unavailable", calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake, address := startFake(t)
			fake.Script(tt.script...)
			var pieces strings.Builder
			reply, err := newModels(t, address).Chat(t.Context(), user(tt.text), collect(&pieces))
			require.Len(t, fake.Calls(), tt.calls)
			if tt.reason == "" {
				require.NoError(t, err)
				require.Equal(t, "answer", reply.Text)
				return
			}
			code, reason, details := refusalOf(t, err)
			require.Equal(t, tt.code, code)
			require.Equal(t, tt.reason, reason)
			require.Equal(t, tt.retry, details["retryAfter"])
			require.Equal(t, "default", details["provider"])
			if name == "cut" {
				require.Equal(t, "one two ", reply.Text)
				require.Equal(t, reply.Text, pieces.String())
				require.Positive(t, reply.Usage.CompletionTokens, "what was used is counted")
			}
		})
	}
}

func TestNoKeyIsShown(t *testing.T) {
	t.Parallel()
	_, address := startFake(t)
	var log bytes.Buffer
	m := newModels(t, address, func(o *llm.Options) {
		o.Platform = llm.SingleProvider(address, "sk-wrong-key-1234", fakemodel.ChatModel, "")
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	_, err := m.Chat(t.Context(), user("x"), nil)
	_, reason, _ := refusalOf(t, err)
	require.Equal(t, "model_auth_failed", reason)
	require.ErrorContains(t, err, "REDACTED")
	require.NotContains(t, err.Error()+log.String(), "sk-wrong")
	require.NotEmpty(t, log.String())
}

func TestASilentProviderIsGivenUp(t *testing.T) {
	t.Parallel()
	fake, address := startFake(t)
	fake.Script(fakemodel.Reply{Text: "never", SlowMS: 600_000})
	m := newModels(t, address, func(o *llm.Options) { o.Timeout = 100 * time.Millisecond })
	_, err := m.Chat(t.Context(), user("x"), nil)
	code, reason, _ := refusalOf(t, err)
	require.Equal(t, domain.CodeGatewayTimeout, code)
	require.Equal(t, "model_timeout", reason)
}

func TestACallEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	fake, address := startFake(t)
	fake.Script(fakemodel.Reply{Text: "one two three", SlowMS: 100}, fakemodel.Reply{Text: "one two three", SlowMS: 100})
	m := newModels(t, address)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client is gone")
	reply, err := m.Chat(ctx, user("x"), func(llm.Delta) error {
		cancel(gone)
		return nil
	})
	require.ErrorIs(t, err, gone)
	require.NotEmpty(t, reply.Text)
	require.True(t, reply.Usage.Estimated)
	_, err = m.Chat(t.Context(), user("x"), func(llm.Delta) error { return gone })
	require.Same(t, gone, err)
	require.Eventually(t, func() bool { return fake.Calls()[0].Ended && fake.Calls()[1].Ended }, time.Minute, time.Millisecond)
}

func TestAProviderThatFailsIsLeftAlone(t *testing.T) {
	t.Parallel()
	fake, address := startFake(t)
	now := time.Now()
	m := newModels(t, address, func(o *llm.Options) { o.Now = func() time.Time { return now } })
	for range 5 {
		_, err := m.Chat(t.Context(), user("fail:500"), nil)
		require.Error(t, err)
	}
	_, err := m.Chat(t.Context(), user("say:hi"), nil)
	_, reason, details := refusalOf(t, err)
	require.Equal(t, "model_unavailable", reason)
	require.Equal(t, 30, details["retryAfter"])
	require.Len(t, fake.Calls(), 5)

	now = now.Add(31 * time.Second)
	_, err = m.Chat(t.Context(), user("fail:500"), nil)
	require.Error(t, err)
	_, err = m.Chat(t.Context(), user("say:hi"), nil)
	require.Error(t, err, "the first call after the pause failed")
	require.Len(t, fake.Calls(), 6)

	now = now.Add(31 * time.Second)
	for range 2 {
		_, err = m.Chat(t.Context(), user("say:hi"), nil)
		require.NoError(t, err)
	}
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	fake, address := startFake(t)
	m := newModels(t, address)
	texts := make([]string, 130)
	for i := range texts {
		texts[i] = strings.Repeat("word ", i%3+1)
	}
	made, err := m.Embed(t.Context(), llm.EmbedRequest{Texts: texts, Dimensions: 16})
	require.NoError(t, err)
	require.Len(t, made.Vectors, 130)
	require.Len(t, made.Vectors[129], 16)
	require.Equal(t, "default/fake-embed", made.Model)
	require.Equal(t, 3, fake.Count("/v1/embeddings"))
	require.False(t, made.Estimated)
	require.Equal(t, 130+129, made.Tokens)

	_, err = newModels(t, address).Embed(t.Context(), llm.EmbedRequest{Texts: []string{strings.Repeat("word ", 10_000), "b"}})
	require.NoError(t, err)
	require.Equal(t, 5, fake.Count("/v1/embeddings"), "a long text goes alone")

	declared := func(o *llm.Options) {
		p := o.Platform.Providers["default"]
		p.Models = []llm.Declaration{{ID: fakemodel.EmbeddingModel, Kind: llm.EmbeddingKind, Dimensions: 8}}
		o.Platform.Providers["default"] = p
	}
	_, err = newModels(t, address, declared).Embed(t.Context(), llm.EmbedRequest{Texts: texts[:1]})
	_, reason, _ := refusalOf(t, err)
	require.Equal(t, llm.WrongDimensions, reason)
}

func TestWhichModelIsMeant(t *testing.T) {
	t.Parallel()
	_, address := startFake(t)
	no := false
	own := llm.Config{
		Providers: map[string]llm.ProviderConfig{
			"mine": {BaseURL: address, APIKey: "{{secret.KEY}}", Models: []llm.Declaration{{ID: "own", Tools: &no, Context: 1000}, {ID: "embed-1"}}},
		},
		Defaults: llm.Defaults{Chat: "mine/own"},
	}
	m := newModels(t, address, func(o *llm.Options) {
		o.Workspace = func(_ context.Context, id string) (llm.Config, error) {
			return map[string]llm.Config{
				"w1": own,
				"w2": {Providers: own.Providers, Defaults: llm.Defaults{Chat: "default/other", Embedding: "embed-1"}},
				"w3": {Defaults: llm.Defaults{Chat: "fake-chat", Embedding: "nope"}},
			}[id], nil
		}
		o.Resolve = func(_ context.Context, _, text string) (string, error) {
			return strings.ReplaceAll(text, "{{secret.KEY}}", "sk-1"), nil
		}
	})
	for _, tt := range []struct {
		workspace, name string
		kind            llm.Kind
		want            string // or the reason of the refusal, or its code
	}{
		{"w0", "", llm.ChatKind, "default/fake-chat"},
		{"w1", "", llm.ChatKind, "mine/own"},
		{"w1", "", llm.EmbeddingKind, "default/fake-embed"},
		{"w1", "own", llm.ChatKind, "mine/own"},
		{"w1", "fake-chat", llm.ChatKind, "default/fake-chat"},
		{"w1", "default/fake-chat", llm.ChatKind, "default/fake-chat"},
		{"w1", "embed-1", llm.EmbeddingKind, "mine/embed-1"},
		{"w1", "embed-1", llm.ChatKind, "validation_failed"},
		{"w1", "mine/nope", llm.ChatKind, "validation_failed"},
		{"w0", "mine/own", llm.ChatKind, "validation_failed"},
		{"w0", "default/nope", llm.ChatKind, "validation_failed"},
		{"w0", "nope", llm.ChatKind, "validation_failed"},
		{"w2", "", llm.EmbeddingKind, "mine/embed-1"},
		{"w3", "", llm.ChatKind, "default/fake-chat"},
		{"w3", "", llm.EmbeddingKind, "validation_failed"},
	} {
		found, err := m.Resolve(t.Context(), tt.workspace, tt.name, tt.kind)
		if err != nil {
			require.Equal(t, tt.want, string(domain.CodeOf(err)), "%+v", tt)
			continue
		}
		require.Equal(t, tt.want, found.Name(), "%+v", tt)
	}
	all, err := m.List(t.Context(), "w1")
	require.NoError(t, err)
	require.Equal(t, []llm.Model{
		{ID: "own", Provider: "mine", Kind: llm.ChatKind, Context: 1000, Origin: llm.OfWorkspace, Default: true},
		{ID: "embed-1", Provider: "mine", Kind: llm.EmbeddingKind, Origin: llm.OfWorkspace},
		{ID: "fake-chat", Provider: "default", Kind: llm.ChatKind, Tools: true, Origin: llm.OfPlatform},
		{ID: "fake-embed", Provider: "default", Kind: llm.EmbeddingKind, Origin: llm.OfPlatform, Default: true},
	}, all, "the default of the workspace counts, and that of the platform for what it has none for")
	for workspace, want := range map[string][]string{
		"w0": {"default/fake-chat", "default/fake-embed"}, "w2": {"mine/embed-1", "default/other"}, "w3": {"default/fake-chat"},
	} {
		all, err := m.List(t.Context(), workspace)
		require.NoError(t, err)
		var names []string
		for _, found := range all {
			if found.Default {
				names = append(names, found.Name())
			}
		}
		require.Equal(t, want, names, workspace)
	}
	_, err = m.Chat(t.Context(), llm.ChatRequest{WorkspaceID: "w1", Messages: user("x").Messages, Tools: []llm.Tool{{Name: "f"}}}, nil)
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err), "it cannot call functions")
	_, err = m.Chat(t.Context(), llm.ChatRequest{WorkspaceID: "w1", Messages: user("x").Messages}, nil)
	_, reason, _ := refusalOf(t, err)
	require.Equal(t, "model_unavailable", reason, "the addresses of workspaces are checked: this one is local")

	none := newModels(t, address, func(o *llm.Options) { o.Platform = llm.Config{} })
	_, err = none.Resolve(t.Context(), "w1", "", llm.ChatKind)
	code, reason, _ := refusalOf(t, err)
	require.Equal(t, domain.CodeConflict, code)
	require.Equal(t, "no_model", reason)
	require.ErrorContains(t, err, "LLM_BASE_URL")
	all, err = none.List(t.Context(), "w1")
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestAnthropic(t *testing.T) {
	t.Parallel()
	var seen atomic.Pointer[string]
	address := serve(t, `event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":12,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"see."}}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"refund","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"id\""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

`, &seen)
	m := newModels(t, address, func(o *llm.Options) {
		o.Platform = llm.Config{Providers: map[string]llm.ProviderConfig{"claude": {Type: "anthropic", BaseURL: address, APIKey: "sk-ant"}}, Defaults: llm.Defaults{Chat: "claude/m"}}
	})
	var pieces strings.Builder
	reply, err := m.Chat(t.Context(), llm.ChatRequest{
		Messages: []llm.Message{
			{Role: "system", Content: "be brief"}, {Role: "user", Content: "refund 1"}, {Role: "assistant", ToolCalls: []llm.ToolCall{{"t0", "refund", `{"broken`}}},
			{Role: "tool", ToolCallID: "t0", Content: "bad"}, {Role: "user", Content: "again"},
		},
		Tools: []llm.Tool{{Name: "refund"}},
	}, collect(&pieces))
	require.NoError(t, err)
	require.Equal(t, llm.ChatReply{
		Text: "Let me see.", ToolCalls: []llm.ToolCall{{"toolu_1", "refund", `{"id":1}`}}, Usage: llm.Usage{PromptTokens: 12, CompletionTokens: 9},
		FinishReason: "tool_calls", Model: "claude/m",
	}, reply)
	require.Equal(t, reply.Text, pieces.String())
	path, body, _ := strings.Cut(*seen.Load(), " sk-ant ")
	require.Equal(t, "/messages", path)
	require.JSONEq(t, `{"model":"m","system":"be brief","max_tokens":4096,"stream":true,"tools":[{"name":"refund","input_schema":{"type":"object"}}],"messages":[
		{"role":"user","content":[{"type":"text","text":"refund 1"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"t0","name":"refund","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t0","content":"bad"},{"type":"text","text":"again"}]}]}`, body)
	_, err = m.Embed(t.Context(), llm.EmbedRequest{Model: "claude/x", Texts: []string{"a"}})
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
}

func TestOllama(t *testing.T) {
	t.Parallel()
	var seen atomic.Pointer[string]
	address := serve(t, `{"message":{"role":"assistant","content":"Hel"},"done":false}
{"message":{"role":"assistant","content":"lo"},"done":false}
{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"refund","arguments":{"id":1}}}]},"done":false}
{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":26,"eval_count":7}
`, &seen)
	ollamaAt := func(address string) func(*llm.Options) {
		return func(o *llm.Options) {
			o.Platform = llm.Config{
				Providers: map[string]llm.ProviderConfig{"local": {Type: "ollama", BaseURL: address}}, Defaults: llm.Defaults{Chat: "local/llama", Embedding: "local/nomic"},
			}
		}
	}
	reply, err := newModels(t, address, ollamaAt(address)).Chat(t.Context(), user("hi"), nil)
	require.NoError(t, err)
	require.Equal(t, llm.ChatReply{
		Text: "Hello", ToolCalls: []llm.ToolCall{{"call_1", "refund", `{"id":1}`}}, Usage: llm.Usage{PromptTokens: 26, CompletionTokens: 7},
		FinishReason: "tool_calls", Model: "local/llama",
	}, reply)
	require.Contains(t, *seen.Load(), "/api/chat ")

	address = serve(t, `{"embeddings":[[1,0],[0,1]],"prompt_eval_count":8}`, &seen)
	made, err := newModels(t, address, ollamaAt(address)).Embed(t.Context(), llm.EmbedRequest{Texts: []string{"a", "b"}})
	require.NoError(t, err)
	require.Equal(t, llm.Embeddings{Vectors: [][]float32{{1, 0}, {0, 1}}, Model: "local/nomic", Tokens: 8}, made)

	address = serve(t, `{"error":"model requires more system memory"}`, nil)
	_, err = newModels(t, address, ollamaAt(address)).Chat(t.Context(), user("hi"), nil)
	require.ErrorContains(t, err, "more system memory")
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	c, err := llm.ParseConfig(`{"providers":{"a":{"baseUrl":"https://m/v1","apiKey":"k","models":[{"id":"x","kind":"chat","tools":false}]}},"defaults":{"chat":"a/x"}}`)
	require.NoError(t, err)
	require.Equal(t, "k", c.Providers["a"].APIKey)
	c, err = llm.ParseConfig(`{"providers":{"a":{"baseUrl":"https://m/v1","models":[{"id":"x"}]}},"defaults":{"chat":"x"}}`)
	require.NoError(t, err)
	found, err := newModels(t, "", func(o *llm.Options) { o.Platform = c }).Resolve(t.Context(), "", "", llm.ChatKind)
	require.NoError(t, err)
	require.Equal(t, "a/x", found.Name())
	for name, text := range map[string]string{
		"no address":          `{"providers":{"a":{"apiKey":"sk-1"}}}`,
		"credentials":         `{"providers":{"a":{"baseUrl":"https://u:sk-1@m/v1"}}}`,
		"another type":        `{"providers":{"a":{"baseUrl":"https://m/v1","type":"sk-1"}}}`,
		"an unknown field":    `{"providers":{"a":{"baseUrl":"https://m/v1","key":"sk-1"}}}`,
		"a number":            `{"providers":{"a":{"baseUrl":"https://m/v1","apiKey":1}}}`,
		"a default of nobody": `{"providers":{"a":{"baseUrl":"https://m/v1"}},"defaults":{"chat":"b/x"}}`,
		"a model without id":  `{"providers":{"a":{"baseUrl":"https://m/v1","models":[{}]}}}`,
		"no JSON":             `{"providers":"sk-1`,
	} {
		_, err := llm.ParseConfig(text)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "sk-1", name)
	}
}
