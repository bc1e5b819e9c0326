package nodetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/api/apitest"
)

// DryRun returns the answer to a dry run. The released API document has none for a workspace and its
// security, so the answer is not validated.
func (p Workspace) DryRun(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	got := p.Service.SendAs(t, method, path+"?dryRun=true", "application/json", p.Auth, body)
	require.Equal(t, 200, got.StatusCode, "%s", got.Body)
	return got.JSON(t)
}

// Workspace is a workspace with the credentials of a caller.
type Workspace struct {
	Service *Service
	Path    string // /v2/workspaces/{id}
	ID      string
	Auth    http.Header // credentials of the caller
}

// NewOwnedWorkspace signs up an owner, and creates a workspace.
func NewOwnedWorkspace(t *testing.T, s *Service) Workspace {
	t.Helper()
	me := s.NewUser(t, "owner")
	id := s.Must(t, "POST", "/v2/workspaces", me, `{"name":"Shop","slug":"shop"}`)["id"].(string)
	return Workspace{s, "/v2/workspaces/" + id, id, me}
}

// NewUser signs a user up and in, and returns the credentials.
func (s *Service) NewUser(t *testing.T, name string) http.Header {
	t.Helper()
	s.SignUp(t, name+"@example.org")
	return Bearer(s.Login(t, name+"@example.org", "long enough")["token"].(string))
}

// Send sends a request, with headers in pairs, and validates the answer if the API document has the
// operation.
func (p Workspace) Send(t *testing.T, method, path, body string, headers ...string) Answer {
	t.Helper()
	h := p.Auth.Clone()
	if h == nil {
		h = http.Header{}
	}
	media := "application/json"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Content-Type" {
			media = headers[i+1]
			continue
		}
		h.Set(headers[i], headers[i+1])
	}
	got := p.Service.SendAs(t, method, path, media, h, body)
	if err := apitest.Check(got.Response, got.Body); err != nil && !strings.Contains(err.Error(), "does not know this operation") {
		t.Errorf("%s %s answered %d against the document: %v\n%.500s", method, path, got.StatusCode, err, got.Body)
	}
	return got
}

// SendAs sends a body of any type.
func (s *Service) SendAs(t *testing.T, method, path, media string, h http.Header, body string) Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.Base+path, strings.NewReader(body))
	require.NoError(t, err)
	for name, values := range h {
		req.Header[name] = values
	}
	if body != "" {
		req.Header.Set("Content-Type", media)
	}
	res, err := s.Client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return Answer{res, got}
}

// Do is Send with the expected status.
func (p Workspace) Do(t *testing.T, status int, method, path, body string, headers ...string) Answer {
	t.Helper()
	got := p.Send(t, method, path, body, headers...)
	require.Equal(t, status, got.StatusCode, "%s %s: %s", method, path, got.Body)
	return got
}

// RequireRefusal is Send with the expected status and code of a refusal, and returns its details.
func (p Workspace) RequireRefusal(t *testing.T, status int, code, method, path, body string, headers ...string) map[string]any {
	t.Helper()
	got := p.Do(t, status, method, path, body, headers...)
	require.Equal(t, code, got.Code(t), "%s", got.Body)
	details, _ := got.JSON(t)["details"].(map[string]any)
	return details
}

// Faults are the errors in the details of a refusal, as JSON.
func Faults(details map[string]any) string {
	body, _ := json.Marshal(details["errors"])
	return string(body)
}

// YAMLType is the media type of YAML.
const YAMLType = "application/yaml"

// UndoBody is the body of a request that undoes a change.
func UndoBody(seq string) string { return fmt.Sprintf(`{"seq":%q}`, seq) }

// Fields is one member of every entry.
func Fields(entries []map[string]any, key string) (values []any) {
	for _, e := range entries {
		values = append(values, e[key])
	}
	return values
}

// WithHeader returns a header with one more value.
func WithHeader(h http.Header, name, value string) http.Header {
	h = h.Clone()
	h.Set(name, value)
	return h
}

// As is the same workspace with the credentials of another caller.
func (p Workspace) As(h http.Header) Workspace {
	p.Auth = h
	return p
}

// UserID returns the id of the caller.
func (p Workspace) UserID(t *testing.T) string {
	t.Helper()
	return p.Do(t, 200, "GET", "/v2/me", "").JSON(t)["id"].(string)
}
