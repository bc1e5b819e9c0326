package workspaces_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/gitsync/gittest"
	"svc/domain"
)

// repository is a body with one repository, origin.
func repository(config string, args ...any) string {
	return fmt.Sprintf(`{"repositories":{"origin":{"name":"Origin","config":{`+config+`}}}}`, args...)
}

// origin returns what a workspace shows of its repository.
func origin(t *testing.T, got nodetest.Answer) map[string]any {
	t.Helper()
	return got.JSON(t)["repositories"].(map[string]any)["origin"].(map[string]any)["config"].(map[string]any)
}

// sentBack is a body with the repositories of an answer, as they are.
func sentBack(t *testing.T, got nodetest.Answer) string {
	t.Helper()
	var shown struct {
		Repositories json.RawMessage `json:"repositories"`
	}
	require.NoError(t, json.Unmarshal(got.Body, &shown))
	return `{"repositories":` + string(shown.Repositories) + `}`
}

// A repository is saved, read and tried out; its credentials are nowhere in
// clear: not in an event, an answer, a log line or a file.
func TestRepositories(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	ssh := gittest.NewSSH(t, server.Dir)
	repo := server.Repo("shop.git")
	clone := repo.Clone()
	clone.Commit("first")
	clone.Push("main")
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	var shown strings.Builder
	does := func(status int, method, path, body string) nodetest.Answer {
		t.Helper()
		got := p.Do(t, status, method, path, body)
		shown.Write(got.Body)
		return got
	}
	saves := func(config string, args ...any) map[string]any {
		t.Helper()
		return origin(t, does(200, "PATCH", p.Path, repository(config, args...)))
	}
	tests := func() (all, failure map[string]any) {
		t.Helper()
		all = does(200, "POST", p.Path+"/repositories/origin/test", "").JSON(t)
		failure, _ = all["error"].(map[string]any)
		return all, failure
	}
	reason := func(failure map[string]any) any { return failure["details"].(map[string]any)["reason"] }
	const over = `"url":%q,"caBundle":%q,"auth":{"user":"alice","password":%q}`
	before := p.Do(t, 200, "GET", p.Path, "").JSON(t)

	t.Run("saved and read back", func(t *testing.T) {
		require.Equal(t, map[string]any{"user": "alice", "password": "********"}, saves(over, repo.URL, server.CA, gittest.Password)["auth"])
		got := does(200, "GET", p.Path, "")
		require.Equal(t, "main", origin(t, got)["branch"])
		require.Equal(t, before["contentRevision"], got.JSON(t)["contentRevision"], "it is no content")
		require.Equal(t, before["dirty"], got.JSON(t)["dirty"])
		require.NotContains(t, string(got.Body), "credentials")
		all, _ := tests()
		require.Equal(t, map[string]any{
			"reachable": true, "empty": false, "branches": []any{"main"}, "targetBranchExists": true, "finalUrl": repo.URL,
		}, all)
		require.JSONEq(t, string(does(200, "POST", "/workspaces/"+p.ID+"/repositories/origin/test", "").Body), string(does(200, "POST", p.Path+"/repositories/origin/test", "").Body))

		does(200, "PATCH", p.Path, strings.Replace(sentBack(t, got), `"name":"Origin"`, `"name":"Renamed"`, 1))
		all, _ = tests()
		require.Equal(t, true, all["reachable"], "the mask keeps")
	})
	t.Run("credentials in the address are moved", func(t *testing.T) {
		saves(`"url":"https://example.com/r.git"`)
		config := saves(`"url":%q,"caBundle":%q`, strings.Replace(repo.URL, "https://", "https://alice:"+gittest.Password+"@", 1), server.CA)
		require.Equal(t, repo.URL, config["url"])
		require.Equal(t, map[string]any{"user": "alice", "password": "********"}, config["auth"])
		all, _ := tests()
		require.Equal(t, true, all["reachable"])
	})
	t.Run("a secret", func(t *testing.T) {
		config := saves(over, repo.URL, server.CA, "{{secret.TOKEN}}")
		require.Equal(t, "{{secret.TOKEN}}", config["auth"].(map[string]any)["password"])
		missing := p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/repositories/origin/test", "")
		require.Equal(t, map[string]any{"reason": "secret_missing", "names": []any{"TOKEN"}}, missing)
		p.Do(t, 200, "PATCH", p.Path+"/security/secrets", fmt.Sprintf(`{"TOKEN":{"value":%q}}`, gittest.Password))
		all, _ := tests()
		require.Equal(t, true, all["reachable"])
	})
	t.Run("what goes wrong at the remote is told", func(t *testing.T) {
		saves(over, repo.URL, server.CA, "wrong-S3CRET")
		all, failure := tests()
		require.Equal(t, "permission_denied", failure["code"])
		require.Equal(t, "remote_auth_failed", reason(failure))
		require.Equal(t, false, all["reachable"])
		saves(`"url":%q,"auth":{"user":"alice","password":"{{secret.TOKEN}}"}`, repo.URL)
		_, failure = tests()
		require.Equal(t, "remote_certificate_untrusted", reason(failure))
		require.Contains(t, failure["message"], "caBundle")
		require.Contains(t, failure["message"], "EXTRA_CA_CERTS_FILE")
		saves(`"url":"https://nobody.invalid/r.git"`)
		_, failure = tests()
		require.Equal(t, "remote_unreachable", reason(failure))
	})
	t.Run("over SSH", func(t *testing.T) {
		saves(`"url":%q,"auth":{"sshkey":%q}`, ssh.URL(repo), ssh.Key)
		all, failure := tests()
		require.Equal(t, "remote_host_key_unknown", reason(failure))
		key := all["hostKey"].(map[string]any)
		require.Equal(t, ssh.Fingerprint(), key["fingerprint"])
		require.Equal(t, map[string]any{"sshkey": "********"}, saves(`"url":%q,"auth":{"sshkey":"********"},"knownHosts":%q`, ssh.URL(repo), key["line"])["auth"])
		all, _ = tests()
		require.Equal(t, true, all["reachable"])
		ssh.Wait()
	})
	t.Run("what is refused", func(t *testing.T) {
		for body, want := range map[string]int{
			repository(`"url":"https://example.com/r","uri":"x"`): 400, repository(`"url":5`): 400, repository(`"branch":"x"`): 400,
			`{"repositories":{"origin":{"name":"O","colour":"red","config":{"url":"https://example.com/r"}}}}`: 400,
			`{"repositories":{"-x":{"name":"O","config":{"url":"https://example.com/r"}}}}`:                    422,
			`{"repositories":{"origin":{"name":"O","type":"filesystem"}}}`:                                     422,
			`{"repositories":{"origin":{"name":"O","mode":"rw","config":{"url":"https://example.com/r"}}}}`:    422,
			repository(`"url":"ssh://git@example.com/r","auth":{"password":"S3CRET-x"}`):                       422,
			repository(`"url":"https://example.com/r","auth":{"sshkey":"S3CRET-x"}`):                           422,
			repository(`"url":"http://example.com/r"`):                                                         422, repository(`"url":"https://example.com/r","branch":"svc/a"`): 422, repository(`"url":"https://example.com/r","dirpath":"../x"`): 422,
		} {
			does(want, "PATCH", p.Path, body)
			dry := s.SendAs(t, "PATCH", p.Path+"?dryRun=true", "application/json", p.Auth, body)
			shown.Write(dry.Body)
			require.NotContains(t, string(dry.Body), `"errors":[]`, body)
		}
		unknown := p.RequireRefusal(t, 404, "resource_not_found", "POST", p.Path+"/repositories/other/test", "")
		require.Equal(t, map[string]any{"repositoryId": "other", "availableRepositories": []any{"origin"}}, unknown)
		dry := s.SendAs(t, "PATCH", p.Path+"?dryRun=true", "application/json", p.Auth, repository(`"url":"https://example.com/r"`))
		require.JSONEq(t, `{"errors":[],"warnings":[]}`, string(dry.Body))
		require.Equal(t, ssh.URL(repo), origin(t, does(200, "GET", p.Path, ""))["url"], "a dry run changes nothing")
	})
	t.Run("who may", func(t *testing.T) {
		editor, stranger := p.As(s.NewUser(t, "editor")), p.As(s.NewUser(t, "stranger"))
		p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
		editor.RequireRefusal(t, 403, "permission_denied", "PATCH", p.Path, repository(`"url":"https://example.com/r"`))
		editor.RequireRefusal(t, 403, "permission_denied", "PATCH", p.Path, `{"repositories":null}`)
		editor.RequireRefusal(t, 403, "permission_denied", "POST", p.Path+"/repositories/origin/test", "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", p.Path+"/repositories/origin/test", "")
		same := strings.Replace(sentBack(t, editor.Do(t, 200, "GET", p.Path, "")), `{`, `{"name":"Store",`, 1)
		require.Equal(t, "Store", editor.Do(t, 200, "PATCH", p.Path, same).JSON(t)["name"], "what is sent back unchanged takes no more than update")
	})
	for _, path := range []string{"/history", "/diff?from=1", "/export"} {
		got := p.Send(t, "GET", p.Path+path, "")
		shown.Write(got.Body)
	}
	shown.Write(s.SendAs(t, "GET", p.Path, "", http.Header{"Authorization": p.Auth["Authorization"], "Accept": {nodetest.YAMLType}}, "").Body)
	s.Stop(t)

	var events strings.Builder
	for _, log := range domain.Logs() {
		for _, ev := range nodetest.StoredEvents(t, s.Dir, log) {
			whole, err := json.Marshal(ev)
			require.NoError(t, err)
			events.Write(whole)
			if told, ok := ev.Data.(domain.PayloadEvent); ok {
				payload, err := json.Marshal(told.Payload())
				require.NoError(t, err)
				require.NotContains(t, string(payload), `"credentials"`)
			}
		}
	}
	for _, text := range []string{gittest.Password, "S3CRET", "PRIVATE KEY"} {
		require.NotContains(t, shown.String(), text)
		require.NotContains(t, events.String(), text)
		require.NotContains(t, s.Log.String(), text)
		nodetest.RequireNoSecret(t, s.Dir, text)
	}
}

// Without the operator's word the platform connects to nothing inside.
func TestARepositoryInsideIsNotReached(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	repo := server.Repo("shop.git")
	p := nodetest.NewOwnedWorkspace(t, nodetest.NewServiceWithAccounts(t).Start(t))
	p.Do(t, 200, "PATCH", p.Path, repository(`"url":%q,"caBundle":%q`, repo.URL, server.CA))
	failure := p.Do(t, 200, "POST", p.Path+"/repositories/origin/test", "").JSON(t)["error"].(map[string]any)
	require.Equal(t, "validation_failed", failure["code"])
	require.Equal(t, "remote_address_forbidden", failure["details"].(map[string]any)["reason"])
	require.Contains(t, failure["message"], "EGRESS_ALLOW_HOSTS")
	require.Empty(t, server.Requests())
}

// What the operator gives as secrets is there for repositories as for automations: below what
// is stored, only for the workspace with that slug, and without what is the platform's.
func TestSettingsGiveSecretsToRepositories(t *testing.T) {
	t.Parallel()
	const prefix = "WORKSPACE_SECRET_shop_"
	server := gittest.New(t)
	repo := server.Repo("shop.git")
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes", prefix+"TOKEN="+gittest.Password, prefix+"svc_TOKEN="+gittest.Password).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	saves := func(p nodetest.Workspace, secret string) {
		t.Helper()
		p.Do(t, 200, "PATCH", p.Path, repository(`"url":%q,"caBundle":%q,"auth":{"user":"alice","password":%q}`, repo.URL, server.CA, "{{secret."+secret+"}}"))
	}
	tests := func() map[string]any {
		t.Helper()
		return p.Do(t, 200, "POST", p.Path+"/repositories/origin/test", "").JSON(t)
	}
	missing := func(p nodetest.Workspace, name string) {
		t.Helper()
		saves(p, name)
		details := p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/repositories/origin/test", "")
		require.Equal(t, map[string]any{"reason": "secret_missing", "names": []any{name}}, details)
	}

	saves(p, "TOKEN")
	require.Equal(t, true, tests()["reachable"])
	p.Do(t, 201, "POST", p.Path+"/push", `{"name":"v1","repository":"origin"}`)

	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"TOKEN":{"value":"wrong-one"}}`)
	require.Equal(t, "remote_auth_failed", tests()["error"].(map[string]any)["details"].(map[string]any)["reason"], "what is stored wins")
	p.Do(t, 200, "DELETE", p.Path+"/security/secrets/TOKEN", "")
	require.Equal(t, true, tests()["reachable"], "and the settings are back without it")

	missing(p, "svc_TOKEN")
	id := s.Must(t, "POST", "/v2/workspaces", p.Auth, `{"name":"Other","slug":"other"}`)["id"].(string)
	missing(nodetest.Workspace{Service: s, Path: "/v2/workspaces/" + id, ID: id, Auth: p.Auth}, "TOKEN")
	s.Stop(t)
	require.NotContains(t, s.Log.String(), gittest.Password)
	nodetest.RequireNoSecret(t, s.Dir, gittest.Password)
}
