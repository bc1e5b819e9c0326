package node_test

import (
	"archive/zip"
	"bytes"
	"mime/multipart"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/http/api/apitest"
)

// zipOf makes an archive of texts by path.
func zipOf(t *testing.T, texts map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range texts {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.String()
}

// upload sends an archive, raw or as a form.
func (s *service) upload(t *testing.T, path string, caller http.Header, data string, form bool) answer {
	t.Helper()
	media, body := "application/zip", []byte(data)
	if form {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, err := w.CreateFormFile("archive", "a.zip")
		require.NoError(t, err)
		_, err = part.Write(body)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		media, body = w.FormDataContentType(), b.Bytes()
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header = caller.Clone()
	req.Header.Set("Content-Type", media)
	res, err := s.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	var got bytes.Buffer
	_, err = got.ReadFrom(res.Body)
	require.NoError(t, err)
	apitest.Validate(t, res, got.Bytes())
	return answer{res, got.Bytes()}
}

func TestArchives(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	who, ids := s.members(t, "root", "ed", "rita", "carl", "stranger")
	id := s.must(t, http.MethodPost, "/v2/workspaces", who["root"], `{"name":"Shop"}`)["id"].(string)
	path := "/v2/workspaces/" + id
	share := func(user, permissions string) {
		got := s.call(t, http.MethodPost, path+"/permissions", who["root"], `{"target":{"id":"`+ids[user]+`"},"permissions":`+permissions+`}`)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
	}
	share("ed", `{"role":"editor"}`)
	share("rita", `{"policies":{"read":true}}`)
	data := zipOf(t, map[string]string{
		"index.yml": "name: Shop\nlabels: [aa]\n", "pages/home.yml": "name: Home\n",
		"security.yml": "authorizations:\n  roles: {editor: {}, chef: {}}\n  rules:\n    - {role: editor, action: [read, update], subject: workspaces}\n",
	})

	t.Run("an export has a name and the same bytes each time, under every address", func(t *testing.T) {
		first := s.get(t, path+"/export", who["rita"])
		require.Equal(t, http.StatusOK, first.StatusCode, "%s", first.body)
		require.Equal(t, "application/zip", first.Header.Get("Content-Type"))
		require.Equal(t, "attachment; filename="+id+"-current.zip", first.Header.Get("Content-Disposition"))
		for _, at := range []string{path + "/export", path[3:] + "/export", path + "/versions/current/export", path[3:] + "/versions/current/export", "/v2/workspaces/slug:" + s.must(t, http.MethodGet, path, who["root"], "")["slug"].(string) + "/export"} {
			got := s.get(t, at, who["rita"])
			require.Equal(t, first.body, got.body, at)
		}
		require.Equal(t, first.body, s.call(t, http.MethodPost, path+"/versions/current/export", who["rita"], "").body)
		unknown := s.get(t, path+"/versions/v1/export", who["rita"])
		require.Equal(t, http.StatusNotFound, unknown.StatusCode)
		require.Equal(t, "workspace_access_denied", s.get(t, path+"/export", who["stranger"]).code(t))
		require.Equal(t, "workspace_access_denied", s.get(t, "/v2/workspaces/nowhere/export", who["stranger"]).code(t))
	})

	t.Run("who may", func(t *testing.T) {
		require.Equal(t, "permission_denied", s.upload(t, path+"/import", who["rita"], data, false).code(t))
		require.Equal(t, "workspace_access_denied", s.upload(t, path+"/import", who["stranger"], data, false).code(t))
		got := s.upload(t, path+"/import", who["ed"], data, true)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
		result := got.json(t)
		require.Equal(t, []any{"index", "pages/home"}, result["imported"])
		require.Equal(t, "security_excluded", result["warnings"].([]any)[0].(map[string]any)["err"])
		got = s.upload(t, path[3:]+"/import?timeout=30s", who["root"], data, false)
		require.Equal(t, []any{"security"}, got.json(t)["imported"], "%s", got.body)
		lost := zipOf(t, map[string]string{"index.yml": "name: Shop\n", "security.yml": "authorizations: {roles: {}, rules: []}\n"})
		share("carl", `{"role":"chef"}`)
		got = s.upload(t, path+"/import", who["root"], lost, false)
		require.Equal(t, http.StatusOK, got.StatusCode)
		require.Equal(t, "security.yml", got.json(t)["errors"].([]any)[0].(map[string]any)["filepath"], "a role that is assigned stays")
	})

	t.Run("a lock keeps imports out, and nobody from exporting", func(t *testing.T) {
		require.Equal(t, http.StatusOK, s.call(t, http.MethodPost, path+"/writeLock", who["root"], `{"reason":"by hand"}`).StatusCode)
		got := s.upload(t, path+"/import", who["root"], data, false)
		require.Equal(t, http.StatusLocked, got.StatusCode)
		require.Equal(t, "by hand", got.json(t)["details"].(map[string]any)["reason"])
		require.Equal(t, http.StatusOK, s.get(t, path+"/export", who["rita"]).StatusCode)
		require.Equal(t, http.StatusOK, s.call(t, http.MethodDelete, path+"/writeLock", who["root"], "").StatusCode)
	})

	t.Run("many", func(t *testing.T) {
		bulk := s.call(t, http.MethodPost, "/v2/workspaces/export", who["rita"], `{}`)
		require.Equal(t, http.StatusOK, bulk.StatusCode, "%s", bulk.body)
		got := s.upload(t, "/workspaces/import", who["rita"], string(bulk.body), false)
		require.Equal(t, http.StatusCreated, got.StatusCode)
		require.Equal(t, "permission_denied", got.json(t)["errors"].([]any)[0].(map[string]any)["err"], "%s", got.body)
		got = s.upload(t, "/v2/workspaces/import", who["stranger"], string(bulk.body), false)
		require.Equal(t, "workspace_access_denied", got.json(t)["errors"].([]any)[0].(map[string]any)["err"], "%s", got.body)
		got = s.upload(t, "/v2/workspaces/import", who["stranger"], data, false)
		require.Equal(t, http.StatusCreated, got.StatusCode, "%s", got.body)
		made := got.json(t)["workspace"].(map[string]any)
		require.Equal(t, "/v2/workspaces/"+made["id"].(string), got.Header.Get("Location"))
		require.Equal(t, "owner", s.get(t, "/v2/workspaces?ids="+made["id"].(string), who["stranger"]).list(t)[0]["role"])
		require.Equal(t, []string{"workspaces.created", "workspaces.imported"}, s.facts(t, made["id"].(string)))
		require.Equal(t, http.StatusUnauthorized, s.call(t, http.MethodPost, "/v2/workspaces/export", nil, `{}`).StatusCode)
	})

	switched := []string{"workspaces.locked", "workspaces.imported", "workspaces.unlocked"}
	want := append([]string{"workspaces.created", "workspaces.permissions.shared", "workspaces.permissions.shared"}, switched...)
	want = append(append(want, switched...), "workspaces.permissions.shared")
	want = append(append(want, switched...), "workspaces.locked", "workspaces.unlocked")
	require.Equal(t, want, s.facts(t, id))
}
