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

// Verdict is the answer to a dry run. The released document tells of none for a
// workspace and its security, so that it is not held to it.
func (p Place) Verdict(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	got := p.Service.SendAs(t, method, path+"?dryRun=true", "application/json", p.Me, body)
	require.Equal(t, 200, got.StatusCode, "%s", got.Body)
	return got.JSON(t)
}

// Place is a workspace as one of its people sees it.
type Place struct {
	Service *Service
	Path    string // /v2/workspaces/{id}
	ID      string
	Me      http.Header
}

// OwnedPlace signs up an owner, who makes a workspace.
func OwnedPlace(t *testing.T, s *Service) Place {
	t.Helper()
	me := s.Person(t, "owner")
	id := s.Must(t, "POST", "/v2/workspaces", me, `{"name":"Shop","slug":"shop"}`)["id"].(string)
	return Place{s, "/v2/workspaces/" + id, id, me}
}

// Person signs somebody up and in.
func (s *Service) Person(t *testing.T, name string) http.Header {
	t.Helper()
	s.SignUp(t, name+"@example.org")
	return Bearer(s.Login(t, name+"@example.org", "long enough")["token"].(string))
}

// Ask sends a request, with headers in pairs, and holds the answer to the
// document once that knows the operation.
func (p Place) Ask(t *testing.T, method, path, body string, headers ...string) Answer {
	t.Helper()
	h := p.Me.Clone()
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

// Does is Ask with the status that is expected.
func (p Place) Does(t *testing.T, status int, method, path, body string, headers ...string) Answer {
	t.Helper()
	got := p.Ask(t, method, path, body, headers...)
	require.Equal(t, status, got.StatusCode, "%s %s: %s", method, path, got.Body)
	return got
}

// Refuses is Ask with a refusal: its status, code and reason.
func (p Place) Refuses(t *testing.T, status int, code, method, path, body string, headers ...string) map[string]any {
	t.Helper()
	got := p.Does(t, status, method, path, body, headers...)
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

// Undo is the body of a request that undoes a change.
func Undo(seq string) string { return fmt.Sprintf(`{"seq":%q}`, seq) }

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

// As is the same workspace, seen by somebody else.
func (p Place) As(h http.Header) Place {
	p.Me = h
	return p
}

// UserID is who somebody is.
func (p Place) UserID(t *testing.T) string {
	t.Helper()
	return p.Does(t, 200, "GET", "/v2/me", "").JSON(t)["id"].(string)
}
