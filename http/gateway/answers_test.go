package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

type tagged struct {
	Name string `json:"name"`
}

func (t tagged) ETag() string { return t.Name }

func TestAnswers(t *testing.T) {
	closed := make(chan struct{})
	tests := map[string]struct {
		value  any
		status int
		body   string
		header map[string]string
	}{
		"a value":   {map[string]int{"a": 1}, 200, `{"a":1}`, map[string]string{"Content-Type": "application/json; charset=utf-8"}},
		"HTML":      {"<b>", 200, `"\u003cb\u003e"`, map[string]string{"X-Content-Type-Options": "nosniff"}},
		"created":   {gateway.Created(1, "/v2/x"), 201, `1`, map[string]string{"Location": "/v2/x"}},
		"accepted":  {gateway.Accepted(1).With("x-svc-operation-id", "op_1"), 202, `1`, map[string]string{"X-Svc-Operation-Id": "op_1"}},
		"a status":  {gateway.Status(400, "report"), 400, `"report"`, nil},
		"redirect":  {gateway.Redirect("https://a.test/"), 302, ``, map[string]string{"Location": "https://a.test/"}},
		"nothing":   {gateway.Status(204, nil), 204, ``, map[string]string{"Content-Type": ""}},
		"a cookie":  {gateway.OK(1).WithCookie(&http.Cookie{Name: "a", Value: "b"}), 200, `1`, map[string]string{"Set-Cookie": "a=b", "Cache-Control": "no-store"}},
		"bytes":     {gateway.Content{Type: "text/plain", Body: []byte("hi")}, 200, `hi`, map[string]string{"Content-Type": "text/plain", "Content-Length": "2"}},
		"a reader":  {gateway.Content{Type: "text/csv", Reader: notify{strings.NewReader("a,b"), closed}, Header: http.Header{"Content-Disposition": {"attachment"}}}, 200, `a,b`, map[string]string{"Content-Disposition": "attachment"}},
		"a tag":     {tagged{"t1"}, 200, `{"name":"t1"}`, map[string]string{"ETag": `"t1"`}},
		"no result": {nil, 200, ``, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := serve(t, get("/x", tt.value)).do("GET", "/x", "")
			require.Equal(t, tt.status, a.status)
			require.Equal(t, tt.body, a.body)
			for key, value := range tt.header {
				require.Equal(t, value, a.header.Get(key), key)
			}
		})
	}
	<-closed
}

// notify tells when it is closed.
type notify struct {
	io.Reader
	closed chan struct{}
}

// Close implements io.Closer.
func (n notify) Close() error { close(n.closed); return nil }

// stored is JSON that need not be looked at again.
type stored string

// Encoded implements gateway.Encoded.
func (s stored) Encoded() []byte { return []byte(s) }

// MarshalJSON must not be asked.
func (stored) MarshalJSON() ([]byte, error) { return nil, errors.New("encoded twice") }

func TestStoredJSONIsSentAsItIs(t *testing.T) {
	a := serve(t, get("/x", stored(`{"a": "<&>"}`))).do("GET", "/x", "")
	require.Equal(t, 200, a.status)
	require.Equal(t, `{"a": "<&>"}`, a.body)
	require.Equal(t, "application/json; charset=utf-8", a.header.Get("Content-Type"))
}

func TestConditionalRequests(t *testing.T) {
	w := serve(t, get("/x", tagged{"t1"}), post("/x", func(r *http.Request) (any, error) {
		return tagged{"t2"}, gateway.IfMatch(r, "t1")
	}))
	for header, status := range map[string]int{`"t1"`: 304, `W/"t1"`: 304, `"t0", "t1"`: 304, `*`: 304, `"t0"`: 200, `t1`: 200, ``: 200} {
		require.Equal(t, status, w.do("GET", "/x", "", "If-None-Match", header).status, header)
	}
	require.Equal(t, `"t1"`, w.do("GET", "/x", "", "If-None-Match", "*").header.Get("ETag"))
	require.Equal(t, 200, w.do("POST", "/x", "", "If-Match", `"t1"`, "If-None-Match", `"t2"`).status)
	f := w.do("POST", "/x", "", "If-Match", `"t0"`).requireFailure(t, 409, domain.CodeConflict)
	require.Equal(t, map[string]any{"reason": "stale", "etag": `"t1"`}, f.Details)
}

func TestRanges(t *testing.T) {
	file := gateway.Route{Method: "GET", Path: "/f", Permission: gateway.Public, Handler: gateway.HandlerFunc(func(*http.Request) (any, error) {
		return gateway.Content{Type: "text/plain", Reader: bytes.NewReader([]byte("0123456789")), Header: http.Header{"Etag": {`"f"`}}}, nil
	})}
	w := serve(t, file)
	part := w.do("GET", "/f", "", "Range", "bytes=2-4")
	require.Equal(t, 206, part.status)
	require.Equal(t, "234", part.body)
	require.Equal(t, 304, w.do("GET", "/f", "", "If-None-Match", `"f"`).status)
	require.Equal(t, 416, w.do("GET", "/f", "", "Range", "bytes=50-").status)
	head := w.do("HEAD", "/f", "")
	require.Equal(t, "10", head.header.Get("Content-Length"))
}

func TestAnAnswerCutShortDoesNotLookWhole(t *testing.T) {
	w := serve(t, get("/x", gateway.Content{Reader: io.MultiReader(strings.NewReader(strings.Repeat("a", 100_000)), iotest.ErrReader(errors.New("disk")))}))
	resp, err := w.server.Client().Do(w.request("GET", "/x", ""))
	if err == nil {
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
	}
	require.Error(t, err)
}

func TestCredentialedDocumentsAreNotStored(t *testing.T) {
	w := serve(t, get("/x", 1), get("/cached", gateway.OK(1).With("Cache-Control", "max-age=300")), get("/text", gateway.Content{Type: "text/plain", Body: []byte("x")}),
		get("/yaml", gateway.Content{Type: "application/yaml; charset=utf-8", Body: []byte("x: 1")}))
	me := []string{"Authorization", "Bearer ann"}
	require.Equal(t, "no-store", w.do("GET", "/x", "", me...).header.Get("Cache-Control"))
	require.Equal(t, "no-store", w.do("GET", "/yaml", "", me...).header.Get("Cache-Control"))
	require.Empty(t, w.do("GET", "/x", "").header.Get("Cache-Control"))
	require.Equal(t, "max-age=300", w.do("GET", "/cached", "", me...).header.Get("Cache-Control"))
	require.Empty(t, w.do("GET", "/text", "", me...).header.Get("Cache-Control"))
}

func TestCompression(t *testing.T) {
	long := strings.Repeat("compress me ", 1000)
	sse := func(w http.ResponseWriter, _ *http.Request) (any, error) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, err := io.WriteString(w, "data: "+long+"\n\n")
		return nil, err
	}
	raw := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = sse(w, r) })
	w := serve(t, get("/json", long), get("/short", 1), get("/sse", gateway.Stream{Serve: sse}),
		get("/zip", gateway.Content{Type: "application/zip", Body: []byte(long)}),
		get("/encoded", gateway.Content{Type: "text/plain", Body: []byte(long), Header: http.Header{"Content-Encoding": {"br"}}}),
		gateway.Route{Method: "GET", Path: "/raw", Permission: gateway.Public, Streaming: true, Handler: raw})
	for path, want := range map[string]string{"/json": "gzip", "/short": "", "/sse": "", "/zip": "", "/encoded": "br", "/raw": ""} {
		a := w.do("GET", path, "", "Accept-Encoding", "gzip")
		require.Equal(t, want, a.header.Get("Content-Encoding"), path)
		require.Empty(t, a.header.Get("No-Gzip-Compression"))
	}
	require.Empty(t, w.do("GET", "/json", "", "Accept-Encoding", "identity").header.Get("Content-Encoding"))
}

func TestAFrameArrivesAtOnce(t *testing.T) {
	next := make(chan struct{})
	w := serve(t, get("/sse", gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			return nil, err
		}
		<-next
		_, _ = io.WriteString(w, "data: 2\n\n")
		return nil, nil
	}}))
	resp, err := w.server.Client().Do(w.request("GET", "/sse", "", "Accept-Encoding", "gzip"))
	require.NoError(t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	require.True(t, lines.Scan())
	require.Equal(t, "data: 1", lines.Text())
	close(next)
	_, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
}

func TestAStreamThatFailsBeforeItBegins(t *testing.T) {
	w := serve(t, get("/sse", gateway.Stream{Serve: func(w http.ResponseWriter, _ *http.Request) (any, error) {
		w.Header().Set("Content-Type", "text/event-stream")
		return nil, gateway.RefuseStatus(410, "start again without it")
	}}))
	require.Contains(t, w.do("GET", "/sse", "").header.Get("Content-Type"), "application/json")
	w.do("GET", "/sse", "").requireFailure(t, 410, domain.CodeInvalidRequest)
}

func TestWebSocketsCanTakeTheConnection(t *testing.T) {
	w := serve(t, gateway.Route{Method: "GET", Path: "/ws", Permission: gateway.Public, Streaming: true,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
				_ = conn.Close()
			}
		})})
	require.Equal(t, 101, w.raw("GET /ws HTTP/1.1\r\nHost: x\r\n\r\n").status)
}

func TestHandlersWithoutAGateway(t *testing.T) {
	h := gateway.HandlerFunc(func(r *http.Request) (any, error) {
		if gateway.Var(r, "id") == "" {
			return nil, domain.Refuse(domain.CodeNotFound, "none")
		}
		return gateway.CallerFrom(r.Context()).UserID + gateway.Var(r, "id"), gateway.Limit(r.Context(), gateway.RateLogin, "a")
	})
	ctx := gateway.WithCaller(context.Background(), people["ann"])
	r := gateway.WithVars(httptest.NewRequestWithContext(ctx, "GET", "/", nil), map[string]string{"id": "7"})
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	require.Equal(t, `"u17"`, rec.Body.String())
	rec = httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, 404, rec.Code)
}
