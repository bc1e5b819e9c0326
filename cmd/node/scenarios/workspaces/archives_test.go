package workspaces_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestArchives(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	who, ids := s.NewUsers(t, "root", "ed", "rita", "carl", "stranger")
	id := s.Must(t, http.MethodPost, "/v2/workspaces", who["root"], `{"name":"Shop"}`)["id"].(string)
	path := "/v2/workspaces/" + id
	share := func(user, permissions string) {
		got := s.Call(t, http.MethodPost, path+"/permissions", who["root"], `{"target":{"id":"`+ids[user]+`"},"permissions":`+permissions+`}`)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
	}
	share("ed", `{"role":"editor"}`)
	share("rita", `{"policies":{"read":true}}`)
	data := nodetest.ZipOf(t, map[string]string{
		"index.yml": "name: Shop\nlabels: [aa]\n", "pages/home.yml": "name: Home\n",
		"security.yml": "authorizations:\n  roles: {editor: {}, chef: {}}\n  rules:\n    - {role: editor, action: [read, update], subject: workspaces}\n",
	})

	t.Run("an export has a name and the same bytes each time, under every address", func(t *testing.T) {
		first := s.Get(t, path+"/export", who["rita"])
		require.Equal(t, http.StatusOK, first.StatusCode, "%s", first.Body)
		require.Equal(t, "application/zip", first.Header.Get("Content-Type"))
		require.Equal(t, "attachment; filename="+id+"-current.zip", first.Header.Get("Content-Disposition"))
		for _, at := range []string{path + "/export", path[3:] + "/export", path + "/versions/current/export", path[3:] + "/versions/current/export", "/v2/workspaces/slug:" + s.Must(t, http.MethodGet, path, who["root"], "")["slug"].(string) + "/export"} {
			got := s.Get(t, at, who["rita"])
			require.Equal(t, first.Body, got.Body, at)
		}
		require.Equal(t, first.Body, s.Call(t, http.MethodPost, path+"/versions/current/export", who["rita"], "").Body)
		unknown := s.Get(t, path+"/versions/v1/export", who["rita"])
		require.Equal(t, http.StatusNotFound, unknown.StatusCode)
		require.Equal(t, "workspace_access_denied", s.Get(t, path+"/export", who["stranger"]).Code(t))
		require.Equal(t, "workspace_access_denied", s.Get(t, "/v2/workspaces/nowhere/export", who["stranger"]).Code(t))
	})

	t.Run("who may", func(t *testing.T) {
		require.Equal(t, "permission_denied", s.Upload(t, path+"/import", who["rita"], data, false).Code(t))
		require.Equal(t, "workspace_access_denied", s.Upload(t, path+"/import", who["stranger"], data, false).Code(t))
		got := s.Upload(t, path+"/import", who["ed"], data, true)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
		result := got.JSON(t)
		require.Equal(t, []any{"index", "pages/home"}, result["imported"])
		require.Equal(t, "security_excluded", result["warnings"].([]any)[0].(map[string]any)["err"])
		got = s.Upload(t, path[3:]+"/import?timeout=30s", who["root"], data, false)
		require.Equal(t, []any{"security"}, got.JSON(t)["imported"], "%s", got.Body)
		lost := nodetest.ZipOf(t, map[string]string{"index.yml": "name: Shop\n", "security.yml": "authorizations: {roles: {}, rules: []}\n"})
		share("carl", `{"role":"chef"}`)
		got = s.Upload(t, path+"/import", who["root"], lost, false)
		require.Equal(t, http.StatusOK, got.StatusCode)
		require.Equal(t, "security.yml", got.JSON(t)["errors"].([]any)[0].(map[string]any)["filepath"], "a role that is assigned stays")
	})

	t.Run("a lock keeps imports out, and nobody from exporting", func(t *testing.T) {
		require.Equal(t, http.StatusOK, s.Call(t, http.MethodPost, path+"/writeLock", who["root"], `{"reason":"by hand"}`).StatusCode)
		got := s.Upload(t, path+"/import", who["root"], data, false)
		require.Equal(t, http.StatusLocked, got.StatusCode)
		require.Equal(t, "by hand", got.JSON(t)["details"].(map[string]any)["reason"])
		require.Equal(t, http.StatusOK, s.Get(t, path+"/export", who["rita"]).StatusCode)
		require.Equal(t, http.StatusOK, s.Call(t, http.MethodDelete, path+"/writeLock", who["root"], "").StatusCode)
	})

	t.Run("many", func(t *testing.T) {
		bulk := s.Call(t, http.MethodPost, "/v2/workspaces/export", who["rita"], `{}`)
		require.Equal(t, http.StatusOK, bulk.StatusCode, "%s", bulk.Body)
		got := s.Upload(t, "/workspaces/import", who["rita"], string(bulk.Body), false)
		require.Equal(t, http.StatusCreated, got.StatusCode)
		require.Equal(t, "permission_denied", got.JSON(t)["errors"].([]any)[0].(map[string]any)["err"], "%s", got.Body)
		got = s.Upload(t, "/v2/workspaces/import", who["stranger"], string(bulk.Body), false)
		require.Equal(t, "workspace_access_denied", got.JSON(t)["errors"].([]any)[0].(map[string]any)["err"], "%s", got.Body)
		got = s.Upload(t, "/v2/workspaces/import", who["stranger"], data, false)
		require.Equal(t, http.StatusCreated, got.StatusCode, "%s", got.Body)
		made := got.JSON(t)["workspace"].(map[string]any)
		require.Equal(t, "/v2/workspaces/"+made["id"].(string), got.Header.Get("Location"))
		require.Equal(t, "owner", s.Get(t, "/v2/workspaces?ids="+made["id"].(string), who["stranger"]).List(t)[0]["role"])
		require.Equal(t, []string{"workspaces.created", "workspaces.imported"}, s.EventTypes(t, made["id"].(string)))
		require.Equal(t, http.StatusUnauthorized, s.Call(t, http.MethodPost, "/v2/workspaces/export", nil, `{}`).StatusCode)
	})

	switched := []string{"workspaces.locked", "workspaces.imported", "workspaces.unlocked"}
	want := append([]string{"workspaces.created", "workspaces.permissions.shared", "workspaces.permissions.shared"}, switched...)
	want = append(append(want, switched...), "workspaces.permissions.shared")
	want = append(append(want, switched...), "workspaces.locked", "workspaces.unlocked")
	require.Equal(t, want, s.EventTypes(t, id))
}
