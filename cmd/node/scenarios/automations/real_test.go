package automations_test

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"svc/cmd/node/nodetest"
)

// realWorkspace is what runs.yml of a workspace below testdata/real says: how it is prepared
// after its import, and what its automations answer.
type realWorkspace struct {
	Publish  string            // the app that it becomes
	Config   map[string]any    // replaces the value of its config
	Secrets  map[string]string // by name
	Warnings []string          // each is part of a warning of the import
	Problems []string          // each is part of what GET problems lists
	Runs     []realRun
}

// realRun is one call of an automation, by the test route or by its endpoint.
type realRun struct {
	Test      string         // slug
	Endpoint  string         // path and query
	Method    string         // of the endpoint; POST when empty
	Anonymous bool           // without a credential
	Payload   any            // of a test
	Body      map[string]any // of an endpoint
	Form      map[string]string
	Sign      string // the key of x-hub-signature
	// Before is done as soon as an event of a type is recorded, while the run waits.
	Before *struct {
		When, Emit, Call string
		Payload          any
	}

	Status   int               // 200 when 0
	Output   any               // the answer as JSON
	Text     string            // the answer as text
	Contains string            // part of the answer
	Name     string            // details.name of an error
	Headers  map[string]string // of the answer; an empty one is absent
	Awaits   []string          // types that the run records
	Absent   string            // is in no event of the run
}

// The corpus is written the way people write workspaces: each is imported as an archive, and
// its automations are run over HTTP.
func TestRealWorkspaces(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	// What the automation of an endpoint redirects to is not followed.
	w.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	outside := httptest.NewServer(http.HandlerFunc(serveUpstream))
	t.Cleanup(outside.Close)
	dirs, err := filepath.Glob("testdata/real/*")
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	count := 0
	for _, dir := range dirs { // in order: later ones install the apps of earlier ones
		t.Run(filepath.Base(dir), func(t *testing.T) {
			files, runs := readRealWorkspace(t, dir, outside.URL)
			for name := range files {
				if strings.HasPrefix(name, "automations/") {
					count++
				}
			}
			p := importReal(t, w, files, runs)
			for i, r := range runs.Runs {
				t.Run(fmt.Sprintf("%d %s%s", i, r.Test, r.Endpoint), func(t *testing.T) { r.check(t, p) })
			}
		})
	}
	require.GreaterOrEqual(t, count, 60)
}

// readRealWorkspace reads the files of one workspace, and its runs with the address of the
// outside in them.
func readRealWorkspace(t *testing.T, dir, upstream string) (files map[string]string, runs realWorkspace) {
	t.Helper()
	files = map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if filepath.Base(path) == "runs.yml" {
			return yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "$UPSTREAM", upstream)), &runs)
		}
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	require.NoError(t, err)
	return files, runs
}

// importReal imports a workspace, and prepares it.
func importReal(t *testing.T, w *nodetest.OwnedService, files map[string]string, runs realWorkspace) nodetest.Workspace {
	t.Helper()
	got := w.Upload(t, "/v2/workspaces/import", w.Owner, nodetest.ZipOf(t, files), false)
	require.Equal(t, http.StatusCreated, got.StatusCode, "%s", got.Body)
	result := got.JSON(t)
	require.Empty(t, result["errors"], "%v", result["errors"])
	warnings, _ := json.Marshal(result["warnings"])
	for _, part := range runs.Warnings {
		require.Contains(t, string(warnings), part)
	}
	if len(runs.Warnings) == 0 {
		require.Contains(t, []string{"[]", "null"}, string(warnings))
	}
	id := result["workspace"].(map[string]any)["id"].(string)
	p := w.Track(nodetest.Workspace{Service: w.Service, Path: "/v2/workspaces/" + id, ID: id, Auth: w.Owner})
	if runs.Config != nil {
		p.Do(t, 200, "PATCH", p.Path+"/config", asJSON(map[string]any{"value": runs.Config}))
	}
	if runs.Secrets != nil {
		values := map[string]any{}
		for name, text := range runs.Secrets {
			values[name] = map[string]string{"value": text}
		}
		p.Do(t, 200, "PATCH", p.Path+"/security/secrets", asJSON(values))
	}
	if runs.Publish != "" {
		p.Do(t, http.StatusCreated, "POST", "/v2/apps", fmt.Sprintf(`{"workspaceId":%q,"slug":%q}`, p.ID, runs.Publish))
	}
	problems := p.Do(t, 200, "GET", p.Path+"/problems?limit=100", "")
	for _, part := range runs.Problems {
		require.Contains(t, string(problems.Body), part)
	}
	return p
}

// check runs an automation and compares what comes back.
func (r realRun) check(t *testing.T, p nodetest.Workspace) {
	if r.Before != nil {
		answered := make(chan error, 1)
		earlier := len(eventsOfType(t, p, r.Before.When))
		go func() { answered <- r.answer(t, p, earlier) }()
		defer func() { require.NoError(t, <-answered) }()
	}
	if r.Anonymous {
		p = p.As(http.Header{})
	}
	got := nodetest.Run{Answer: r.send(t, p), Workspace: p}
	require.Equal(t, cmp.Or(r.Status, http.StatusOK), got.StatusCode, "%s", got.Body)
	for name, text := range r.Headers {
		require.Equal(t, text, got.Header.Get(name), name)
	}
	if r.Output != nil {
		require.JSONEq(t, asJSON(r.Output), string(got.Body))
	}
	if r.Text != "" {
		require.Equal(t, r.Text, string(got.Body))
	}
	require.Contains(t, string(got.Body), r.Contains)
	if r.Name != "" {
		require.Equal(t, r.Name, got.JSON(t)["details"].(map[string]any)["name"], "%s", got.Body)
	}
	for _, kind := range r.Awaits {
		require.Eventually(t, func() bool {
			found, err := p.FindEvents(t.Context(), "types="+kind+"&source.correlationId="+got.Correlation())
			return err == nil && len(found) > 0
		}, time.Minute, 20*time.Millisecond, kind)
	}
	if r.Absent != "" {
		events, err := p.FindEvents(t.Context(), "source.correlationId="+got.Correlation())
		require.NoError(t, err)
		require.NotContains(t, asJSON(events), r.Absent)
	}
}

// send calls the automation.
func (r realRun) send(t *testing.T, p nodetest.Workspace) nodetest.Answer {
	t.Helper()
	if r.Test != "" {
		return p.Send(t, "POST", p.Path+"/test/"+strings.ReplaceAll(r.Test, " ", "%20"), asJSON(map[string]any{"payload": orEmpty(r.Payload)}))
	}
	body, media, headers := "", "application/json", p.Auth.Clone()
	if r.Body != nil {
		body = asJSON(r.Body)
	}
	if r.Form != nil {
		body = form(filePart(`; name="document"`, r.Form["document"], "hello"), field("note", r.Form["note"]))
		media = formType
	}
	if r.Sign != "" {
		mac := hmac.New(sha256.New, []byte(r.Sign))
		_, _ = io.WriteString(mac, body)
		headers.Set("X-Hub-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	return p.Service.SendAs(t, cmp.Or(r.Method, http.MethodPost), p.Path+"/webhooks/"+r.Endpoint, media, headers, body)
}

// answer waits for one more event of the type than there was, and does what the run waits for.
func (r realRun) answer(t *testing.T, p nodetest.Workspace, earlier int) error {
	for {
		found, err := p.FindEvents(t.Context(), "types="+r.Before.When)
		if err != nil {
			return err
		}
		if len(found) <= earlier {
			select {
			case <-t.Context().Done():
				return t.Context().Err()
			case <-time.After(20 * time.Millisecond):
			}
			continue
		}
		if r.Before.Call != "" {
			id, _ := found[len(found)-1].Payload["id"].(string)
			_, err = p.Service.Request(t.Context(), "GET", p.Path+"/webhooks/"+strings.ReplaceAll(r.Before.Call, "{{payload.id}}", id), p.Auth, "")
			return err
		}
		_, err = p.Service.Request(t.Context(), "POST", p.Path+"/events", p.Auth, asJSON(map[string]any{
			"events": []any{map[string]any{"type": r.Before.Emit, "payload": r.Before.Payload}},
		}))
		return err
	}
}

// eventsOfType are the events of a type so far.
func eventsOfType(t *testing.T, p nodetest.Workspace, kind string) []nodetest.Event {
	t.Helper()
	found, err := p.FindEvents(t.Context(), "types="+kind)
	require.NoError(t, err)
	return found
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of a test
	}
	return string(text)
}

func orEmpty(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

// serveUpstream is the outside of the corpus: a carrier, a language model, an identity
// provider and a catalogue.
func serveUpstream(w http.ResponseWriter, r *http.Request) {
	reply := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, asJSON(v))
	}
	var body map[string]any
	switch r.URL.Path {
	case "/labels":
		_ = json.NewDecoder(r.Body).Decode(&body)
		if strings.Contains(r.Header.Get("X-Key"), "{{") {
			reply(500, map[string]any{"problem": "a template was sent"})
			return
		}
		reply(201, map[string]any{"tracking": fmt.Sprint("T-", body["to"]), "query": r.URL.Query().Get("format")})
	case "/complete":
		_ = json.NewDecoder(r.Body).Decode(&body)
		messages, _ := body["messages"].([]any)
		words := []string{"one", " two"}
		if len(messages) > 0 {
			words = []string{fmt.Sprint(body["system"]), " ", messages[len(messages)-1].(map[string]any)["content"].(string)}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, word := range words {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", asJSON(map[string]string{"delta": word}))
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	case "/token":
		_ = r.ParseForm()
		if r.Form.Get("client_secret") != "cs-secret-1" || r.Form.Get("code") != "good" {
			reply(401, map[string]any{"error": "invalid_grant"})
			return
		}
		reply(200, map[string]any{"access_token": "at-for-ada-1"})
	case "/me":
		if r.Header.Get("Authorization") != "Bearer at-for-ada-1" {
			reply(401, map[string]any{"error": "unknown token"})
			return
		}
		reply(200, map[string]any{"name": "Ada"})
	case "/products":
		if r.URL.Query().Get("page") == "1" {
			reply(200, map[string]any{"items": []any{map[string]any{"ref": "p1"}, map[string]any{"ref": "p2"}}, "more": true})
			return
		}
		reply(200, map[string]any{"items": []any{map[string]any{"ref": "p3"}}, "more": false})
	case "/broken":
		reply(500, map[string]any{"problem": "bad gateway"})
	case "/picture":
		w.Header().Set("Content-Type", "image/png")
		picture, _ := base64.StdEncoding.DecodeString("UE5H")
		_, _ = w.Write(picture)
	case "/upload":
		file, header, err := r.FormFile("file")
		if err != nil {
			reply(400, map[string]any{"problem": err.Error()})
			return
		}
		text, _ := io.ReadAll(file)
		reply(200, map[string]any{"file": string(text), "note": r.FormValue("note"), "type": header.Header.Get("Content-Type")})
	default:
		http.NotFound(w, r)
	}
}
