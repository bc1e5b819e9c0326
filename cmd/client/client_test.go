package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/client"
	"svc/domain"
	"svc/domain/operation"
)

// script is a service that answers with one handler after another, and keeps what
// it was asked. The last one goes on answering.
type script struct {
	*httptest.Server
	mu       sync.Mutex
	asked    []*http.Request
	handlers []http.HandlerFunc
}

func newScript(t *testing.T, handlers ...http.HandlerFunc) (*script, *client.Client) {
	t.Helper()
	s := &script{handlers: handlers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		next := s.handlers[min(len(s.asked), len(s.handlers)-1)]
		s.asked = append(s.asked, r)
		s.mu.Unlock()
		next(w, r)
	}))
	t.Cleanup(s.Close)
	return s, &client.Client{URL: s.URL, Token: "at:secret", Pause: time.Millisecond}
}

func (s *script) requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request{}, s.asked...)
}

func answers(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// abortConnection drops the connection without an answer.
func abortConnection(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const busy = `{"error":"service_unavailable","message":"not now","details":{"reason":"read_model_behind"},"requestId":"r1"}`

func TestACallThatWasLostIsSentAgainUnderTheSameKey(t *testing.T) {
	s, c := newScript(t, abortConnection, answers(503, busy, "Retry-After", "0"), answers(201, `{"name":"v1"}`, "X-Svc-Operation-Id", "op_1"))
	var version struct{ Name string }
	got, err := c.Call(t.Context(), "POST", "/workspaces/w/versions", map[string]string{"name": "v1"}, &version)
	require.NoError(t, err)
	require.Equal(t, "v1", version.Name)
	require.Equal(t, "op_1", got.Operation)
	asked := s.requests()
	require.Len(t, asked, 3)
	for _, r := range asked {
		require.Equal(t, asked[0].Header.Get("Idempotency-Key"), r.Header.Get("Idempotency-Key"))
		require.NotEmpty(t, r.Header.Get("Idempotency-Key"))
		require.Equal(t, "Bearer at:secret", r.Header.Get("Authorization"))
		require.Equal(t, "/v2/workspaces/w/versions", r.URL.Path)
	}
}

func TestWhatIsNotSentAgain(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		calls   int
		want    string
	}{
		"always lost":             {abortConnection, 4, "does not answer"},
		"always busy":             {answers(503, busy, "Retry-After", "0"), 4, "not now"},
		"busy for long":           {answers(429, busy, "Retry-After", "60"), 1, "not now"},
		"an operation failed":     {answers(503, busy, "Retry-After", "0", "X-Svc-Operation-Id", "op_1"), 1, "not now"},
		"refused":                 {answers(422, `{"error":"validation_failed","message":"no"}`), 1, "no"},
		"another program":         {answers(404, "<html>"), 1, "answered 404 Not Found: is this the address of the service?"},
		"sent elsewhere":          {answers(302, "", "Location", "https://example.org/x"), 1, "sends to https://example.org/x: use the address of the service itself"},
		"an answer of other kind": {answers(200, "<html>"), 1, "something else than expected"},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newScript(t, test.handler)
			err := c.Get(t.Context(), "/me", &struct{}{})
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "at:secret")
			require.Len(t, s.requests(), test.calls)
		})
	}
}

func TestARefusalHasItsDetails(t *testing.T) {
	_, c := newScript(t, answers(423, `{"error":"resource_locked","message":"locked","details":{"reason":"manual","operation":{"id":"op_1"}},"requestId":"r1"}`))
	err := c.Get(t.Context(), "/me", &struct{}{})
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, domain.CodeLocked, refused.Code)
	require.Equal(t, "manual", refused.Reason())
	require.Equal(t, "r1", refused.RequestID)
	var op struct{ ID string }
	require.True(t, refused.Detail("operation", &op))
	require.Equal(t, "op_1", op.ID)
	require.False(t, refused.Detail("operation", new(int)))
	require.False(t, refused.Detail("none", &op))
}

func frame(id, kind, data string) string {
	return fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", id, kind, data)
}

// cut sends part of a stream and drops the connection.
func cut(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		fmt.Fprint(w, text)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func streams(text string) http.HandlerFunc {
	return answers(200, text, "Content-Type", "text/event-stream")
}

const running = `{"id":"op_1","kind":"push","status":"running"}`

// The stream of a bulk run breaks in the middle of a frame, the service is away for
// a while, and the run is heard to its end: each frame once.
func TestAStreamGoesOnWhereItBroke(t *testing.T) {
	ended := frame("c", operation.Ended{}.EventType(), `{}`)
	s, c := newScript(t,
		cut("retry: 2000\n\n: hello\n\n"+frame("a", "one", `{"operationId":"op_1"}`)+"id: b\nevent: two\nda"),
		abortConnection,
		answers(503, busy),
		streams("retry: 2000\n\n"+frame("b", "two", "{\ndata: }")), // closed early, in good order
		answers(200, running),
		streams(ended),
		answers(200, running), // the read model comes after the log
		answers(200, `{"id":"op_1","kind":"push","status":"succeeded","result":{"name":"v1"}}`),
	)
	var heard []client.Frame
	op, err := c.Start(t.Context(), "slug:a/b", "/workspaces/platform/versions?sse=true", struct{}{}, func(f client.Frame) { heard = append(heard, f) })
	require.NoError(t, err)
	require.NoError(t, op.Err())
	require.JSONEq(t, `{"name":"v1"}`, string(op.Result))
	require.Equal(t, []client.Frame{
		{ID: "a", Type: "one", Data: []byte(`{"operationId":"op_1"}`)},
		{ID: "b", Type: "two", Data: []byte("{\n}")},
		{ID: "c", Type: "workspaces.operations.ended", Data: []byte("{}")},
	}, heard)
	asked := s.requests()
	require.Len(t, asked, 8)
	require.Equal(t, "/v2/workspaces/slug:a%2Fb/operations/op_1/events", asked[1].URL.EscapedPath())
	require.Equal(t, "a", asked[3].Header.Get("Last-Event-ID"))
	require.Equal(t, "b", asked[5].Header.Get("Last-Event-ID"))
	require.Equal(t, "/v2/workspaces/slug:a%2Fb/operations/op_1", asked[7].URL.EscapedPath())
}

func TestAnOperationThatIsNotFollowedToItsEnd(t *testing.T) {
	denied := `{"error":"workspace_access_denied","message":"no"}`
	for name, test := range map[string]struct {
		handlers []http.HandlerFunc
		want     string
		id       string
	}{
		"the right to read it is gone":   {[]http.HandlerFunc{answers(202, "{}", "X-Svc-Operation-Id", "op_1"), answers(403, denied)}, "no", "op_1"},
		"the service stays away":         {[]http.HandlerFunc{answers(202, "{}", "X-Svc-Operation-Id", "op_1"), abortConnection}, "does not answer", "op_1"},
		"nobody knows which one it is":   {[]http.HandlerFunc{cut("retry: 2000\n\n")}, "before it named the operation", ""},
		"it was refused":                 {[]http.HandlerFunc{answers(403, denied)}, "no", ""},
		"it failed within the same call": {[]http.HandlerFunc{answers(403, denied, "X-Svc-Operation-Id", "op_1")}, "no", "op_1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, c := newScript(t, test.handlers...)
			op, err := c.Start(t.Context(), "w", "/workspaces/w/versions?timeout=0", nil, func(client.Frame) {})
			require.ErrorContains(t, err, test.want)
			require.Equal(t, test.id, op.ID)
		})
	}
}

func TestHowAnOperationEnded(t *testing.T) {
	require.NoError(t, client.Operation{Status: operation.Succeeded}.Err())
	require.ErrorContains(t, client.Operation{ID: "op_1", Status: operation.Cancelled}.Err(), "cancelled")
	require.NoError(t, client.Operation{Status: operation.Cancelled, Result: []byte(`{"cancelled":true}`)}.Err(), "a run tells it itself")
	err := client.Operation{ID: "op_1", Status: operation.Conflict, Failure: &operation.Failure{Code: domain.CodeConflict, Message: "conflict"}}.Err()
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "op_1", refused.Operation)
}

func TestServiceURL(t *testing.T) {
	for text, want := range map[string]string{
		"http://localhost:3001":         "http://localhost:3001",
		" https://API.example.org/v2/ ": "https://api.example.org",
		"https://example.org/svc/v2":    "https://example.org/svc",
		"https://example.org/":          "https://example.org",
		"localhost:3001":                "",
		"ftp://example.org":             "",
		"https://":                      "",
		"https://u:p@example.org":       "",
		"https://example.org?x=1":       "",
		"https://exa mple.org":          "",
	} {
		got, err := client.ServiceURL(text)
		require.Equal(t, want, got, text)
		require.Equal(t, want == "", err != nil, text)
	}
	for address, exposed := range map[string]bool{
		"http://localhost:3001": false, "http://127.0.0.1": false, "http://[::1]:1": false, "https://example.org": false,
		"http://example.org": true, "http://10.0.0.1": true,
	} {
		require.Equal(t, exposed, client.Exposed(address), address)
	}
}

func TestProfilesAreKeptForTheirOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "profiles.json")
	all, err := client.ReadProfiles(path)
	require.NoError(t, err)
	require.Empty(t, all)
	all["default"] = client.Profile{URL: "http://x", UserID: "u1", Token: "at:secret", ExpiresAt: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	require.NoError(t, all.Write(path))
	require.NoError(t, all.Write(path), "over itself")
	again, err := client.ReadProfiles(path)
	require.NoError(t, err)
	require.Equal(t, all, again)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing else is left behind")

	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	all, err = client.ReadProfiles(path)
	require.NoError(t, err)
	require.NotNil(t, all)
	require.NoError(t, os.WriteFile(path, []byte(`at:secret`), 0o600))
	_, err = client.ReadProfiles(path)
	require.ErrorContains(t, err, "cannot be read as profiles")
	require.NotContains(t, err.Error(), "secret")
	require.NoError(t, os.Chmod(path, 0o640))
	_, err = client.ReadProfiles(path)
	require.ErrorContains(t, err, "chmod 0600")
}

func TestWorkspacesAreNamedByIDOrSlug(t *testing.T) {
	s, c := newScript(t, answers(200, `[{"id":"k3Jx9Qa"}]`), answers(200, `[]`))
	for _, test := range []struct{ name, want string }{
		{"k3Jx9Qa", "k3Jx9Qa"}, {"billing", "slug:billing"}, {"platform", "platform"}, {"slug:billing", "slug:billing"}, {"a/b", "slug:a/b"}, {"web-shop", "slug:web-shop"},
	} {
		got, err := c.Workspace(t.Context(), test.name)
		require.NoError(t, err)
		require.Equal(t, test.want, got)
	}
	require.Len(t, s.requests(), 2, "only what could be an id is asked for")
}
