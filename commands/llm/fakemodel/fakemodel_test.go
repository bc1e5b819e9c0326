package fakemodel_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/llm/fakemodel"
)

// post sends a request and returns the status and the body of the answer.
func post(t *testing.T, address, key, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(text)
}

func TestTheProtocol(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(fakemodel.New())
	t.Cleanup(server.Close)
	chat := server.URL + "/v1/chat/completions"

	status, _ := post(t, chat, "other", `{}`)
	require.Equal(t, http.StatusUnauthorized, status)
	_, text := post(t, chat, fakemodel.Key, `{"model":"fake-chat","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"<source n=\"1\" name=\"a\">Paris is the capital of France.</source>\nWhat?"}]}`)
	require.True(t, strings.HasPrefix(text, `data: {"choices":[{"delta":{"content":"Paris ","role":"assistant"},"index":0}],"id":"c1","object":"chat.completion.chunk"}`+"\n\n"), text)
	require.Contains(t, text, `"content":"[1]"`)
	require.True(t, strings.HasSuffix(text, `"usage":{"completion_tokens":6,"prompt_tokens":13,"total_tokens":19}}`+"\n\ndata: [DONE]\n\n"), text)

	_, text = post(t, chat, fakemodel.Key, `{"model":"fake-chat","messages":[{"role":"user","content":"What?"}]}`)
	require.Contains(t, text, `"content":"no source"`)
	status, _ = post(t, chat, fakemodel.Key, `{"model":"other","messages":[]}`)
	require.Equal(t, http.StatusNotFound, status)

	_, _ = post(t, server.URL+"/_script", "", `["scripted", 503, {"text":"x","finish":"length"}]`)
	embeddings := server.URL + "/v1/embeddings"
	status, text = post(t, embeddings, fakemodel.Key, `{"model":"fake-embed","input":"a","dimensions":1}`)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, `"embedding":[`)
	_, text = post(t, chat, fakemodel.Key, `{"model":"fake-chat"}`)
	require.Contains(t, text, "scripted", "vectors leave the replies of conversations in the script")
	status, _ = post(t, chat, fakemodel.Key, `{"model":"fake-chat"}`)
	require.Equal(t, http.StatusServiceUnavailable, status)
	_, text = post(t, chat, fakemodel.Key, `{"model":"fake-chat"}`)
	require.Contains(t, text, `"finish_reason":"length"`)
}

func TestEmbeddingsAreDirections(t *testing.T) {
	t.Parallel()
	cosine := func(a, b string) (sum float64) {
		other := fakemodel.Embedding(b, 0)
		for i, x := range fakemodel.Embedding(a, 0) {
			sum += x * other[i]
		}
		return sum
	}
	require.InDelta(t, 1, cosine("A cat sat", "a CAT, sat!"), 1e-9)
	require.Greater(t, cosine("a cat sat", "the cat sat"), cosine("a cat sat", "blue invoices arrive"))
	require.Len(t, fakemodel.Embedding("", 7), 7)
}
