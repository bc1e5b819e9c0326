package gateway_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/gateway"
)

// noted is a body with a tag.
type noted struct {
	Text string `json:"text"`
}

// ETag implements gateway.Tagged.
func (n noted) ETag() string { return n.Text }

func TestWhatIsAtHandIsAnswered(t *testing.T) {
	var known atomic.Bool
	h := gateway.Prompt{
		HandlerFunc: returns(noted{"made"}, nil),
		Cached: func(r *http.Request) (any, bool) {
			if r.URL.RawQuery == "panic" {
				panic("at hand")
			}
			return noted{"kept"}, known.Load()
		},
	}
	w := serve(t,
		gateway.Route{Method: "GET", Path: "/a", Permission: gateway.Public, Handler: h},
		gateway.Route{Method: "POST", Path: "/a", Permission: gateway.Public, Handler: h},
		gateway.Route{Method: "GET", Path: "/odd", Permission: gateway.Public, Handler: gateway.Prompt{
			HandlerFunc: returns(noted{"made"}, nil), Cached: func(*http.Request) (any, bool) { return func() {}, true },
		}})
	require.JSONEq(t, `{"text":"made"}`, w.do("GET", "/a", "").body)
	known.Store(true)
	got := w.do("GET", "/a", "")
	require.JSONEq(t, `{"text":"kept"}`, got.body)
	require.Equal(t, `"kept"`, got.header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, w.do("GET", "/a", "", "If-None-Match", `"kept"`).status)
	require.Empty(t, w.do("HEAD", "/a", "").body)
	require.JSONEq(t, `{"text":"made"}`, w.do("POST", "/a", "").body, "a write is never at hand")
	require.JSONEq(t, `{"text":"made"}`, w.do("GET", "/odd", "").body, "what cannot be told is not")
	require.Equal(t, http.StatusInternalServerError, w.do("GET", "/a?panic", "").status)
}

func TestAPathIsFoundWhateverItsLength(t *testing.T) {
	w := serve(t, table(gateway.Versioned, "GET", "/", "/a", "/a/{slug:.*}", "/a/{slug:.+}/end", "/a/b/c", "/{workspaceId}")...)
	for path, row := range map[string]string{
		"/v2": "/", "/v2/": "/", "/v2/a": "/a", "/v2/z": "/{workspaceId}", "/v2/a/b": "/a/{slug:.*}", "/v2/a/b/c": "/a/b/c",
		"/v2/a/b/c/d/e/f/g": "/a/{slug:.*}", "/v2/a/b/end": "/a/{slug:.+}/end", "/v2/a/b/c/d/e/f/end": "/a/{slug:.+}/end",
	} {
		require.Contains(t, w.do("GET", path, "").body, `"row":"`+row+`"`, path)
	}
	for _, path := range []string{"/v2/z/z", "/v2/z/z/z/z/z/z/z"} {
		require.Equal(t, http.StatusNotFound, w.do("GET", path, "").status, path)
	}
	require.Equal(t, http.StatusMethodNotAllowed, w.do("POST", "/v2/a/b/c/d/e/f/g", "").status)
}
