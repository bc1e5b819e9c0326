package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
	"svc/domain"
)

// repository is a body with one repository, origin.
func repository(config string, args ...any) string {
	return fmt.Sprintf(`{"repositories":{"origin":{"name":"Origin","config":{`+config+`}}}}`, args...)
}

// origin returns what a workspace shows of its repository.
func origin(t *testing.T, got answer) map[string]any {
	t.Helper()
	return got.json(t)["repositories"].(map[string]any)["origin"].(map[string]any)["config"].(map[string]any)
}

// sentBack is a body with the repositories of an answer, as they are.
func sentBack(t *testing.T, got answer) string {
	t.Helper()
	var shown struct {
		Repositories json.RawMessage `json:"repositories"`
	}
	require.NoError(t, json.Unmarshal(got.body, &shown))
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
	s := identified(t, "EGRESS_ALLOW_PRIVATE=yes").start(t)
	p := ownedPlace(t, s)
	var shown strings.Builder
	does := func(status int, method, path, body string) answer {
		t.Helper()
		got := p.does(t, status, method, path, body)
		shown.Write(got.body)
		return got
	}
	saves := func(config string, args ...any) map[string]any {
		t.Helper()
		return origin(t, does(200, "PATCH", p.path, repository(config, args...)))
	}
	tests := func() (all, failure map[string]any) {
		t.Helper()
		all = does(200, "POST", p.path+"/repositories/origin/test", "").json(t)
		failure, _ = all["error"].(map[string]any)
		return all, failure
	}
	reason := func(failure map[string]any) any { return failure["details"].(map[string]any)["reason"] }
	const over = `"url":%q,"caBundle":%q,"auth":{"user":"alice","password":%q}`
	before := p.does(t, 200, "GET", p.path, "").json(t)

	t.Run("saved and read back", func(t *testing.T) {
		require.Equal(t, map[string]any{"user": "alice", "password": "********"}, saves(over, repo.URL, server.CA, gittest.Password)["auth"])
		got := does(200, "GET", p.path, "")
		require.Equal(t, "main", origin(t, got)["branch"])
		require.Equal(t, before["contentRevision"], got.json(t)["contentRevision"], "it is no content")
		require.Equal(t, before["dirty"], got.json(t)["dirty"])
		require.NotContains(t, string(got.body), "credentials")
		all, _ := tests()
		require.Equal(t, map[string]any{
			"reachable": true, "empty": false, "branches": []any{"main"}, "targetBranchExists": true, "finalUrl": repo.URL,
		}, all)
		require.JSONEq(t, string(does(200, "POST", "/workspaces/"+p.id+"/repositories/origin/test", "").body), string(does(200, "POST", p.path+"/repositories/origin/test", "").body))

		does(200, "PATCH", p.path, strings.Replace(sentBack(t, got), `"name":"Origin"`, `"name":"Renamed"`, 1))
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
		missing := p.refuses(t, 422, "validation_failed", "POST", p.path+"/repositories/origin/test", "")
		require.Equal(t, map[string]any{"reason": "secret_missing", "names": []any{"TOKEN"}}, missing)
		p.does(t, 200, "PATCH", p.path+"/security/secrets", fmt.Sprintf(`{"TOKEN":{"value":%q}}`, gittest.Password))
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
			does(want, "PATCH", p.path, body)
			dry := s.sendAs(t, "PATCH", p.path+"?dryRun=true", "application/json", p.me, body)
			shown.Write(dry.body)
			require.NotContains(t, string(dry.body), `"errors":[]`, body)
		}
		unknown := p.refuses(t, 404, "resource_not_found", "POST", p.path+"/repositories/other/test", "")
		require.Equal(t, map[string]any{"repositoryId": "other", "availableRepositories": []any{"origin"}}, unknown)
		dry := s.sendAs(t, "PATCH", p.path+"?dryRun=true", "application/json", p.me, repository(`"url":"https://example.com/r"`))
		require.JSONEq(t, `{"errors":[],"warnings":[]}`, string(dry.body))
		require.Equal(t, ssh.URL(repo), origin(t, does(200, "GET", p.path, ""))["url"], "a dry run changes nothing")
	})
	t.Run("who may", func(t *testing.T) {
		editor, stranger := p.as(s.person(t, "editor")), p.as(s.person(t, "stranger"))
		p.does(t, 200, "POST", p.path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
		editor.refuses(t, 403, "permission_denied", "PATCH", p.path, repository(`"url":"https://example.com/r"`))
		editor.refuses(t, 403, "permission_denied", "PATCH", p.path, `{"repositories":null}`)
		editor.refuses(t, 403, "permission_denied", "POST", p.path+"/repositories/origin/test", "")
		stranger.refuses(t, 403, "workspace_access_denied", "POST", p.path+"/repositories/origin/test", "")
		same := strings.Replace(sentBack(t, editor.does(t, 200, "GET", p.path, "")), `{`, `{"name":"Store",`, 1)
		require.Equal(t, "Store", editor.does(t, 200, "PATCH", p.path, same).json(t)["name"], "what is sent back unchanged takes no more than update")
	})
	for _, path := range []string{"/history", "/diff?from=1", "/export"} {
		got := p.ask(t, "GET", p.path+path, "")
		shown.Write(got.body)
	}
	shown.Write(s.sendAs(t, "GET", p.path, "", http.Header{"Authorization": p.me["Authorization"], "Accept": {yamlType}}, "").body)
	s.stop(t)

	var events strings.Builder
	for _, log := range domain.Logs() {
		for _, ev := range stored(t, s.dir, log) {
			whole, err := json.Marshal(ev)
			require.NoError(t, err)
			events.Write(whole)
			if told, ok := ev.Data.(domain.Shown); ok {
				payload, err := json.Marshal(told.Payload())
				require.NoError(t, err)
				require.NotContains(t, string(payload), `"credentials"`)
			}
		}
	}
	for _, text := range []string{gittest.Password, "S3CRET", "PRIVATE KEY"} {
		require.NotContains(t, shown.String(), text)
		require.NotContains(t, events.String(), text)
		require.NotContains(t, s.log.String(), text)
		requireNoSecret(t, s.dir, text)
	}
}

// Without the operator's word the platform connects to nothing inside.
func TestARepositoryInsideIsNotReached(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	repo := server.Repo("shop.git")
	p := ownedPlace(t, identified(t).start(t))
	p.does(t, 200, "PATCH", p.path, repository(`"url":%q,"caBundle":%q`, repo.URL, server.CA))
	failure := p.does(t, 200, "POST", p.path+"/repositories/origin/test", "").json(t)["error"].(map[string]any)
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
	s := identified(t, "EGRESS_ALLOW_PRIVATE=yes", prefix+"TOKEN="+gittest.Password, prefix+"svc_TOKEN="+gittest.Password).start(t)
	p := ownedPlace(t, s)
	saves := func(p place, secret string) {
		t.Helper()
		p.does(t, 200, "PATCH", p.path, repository(`"url":%q,"caBundle":%q,"auth":{"user":"alice","password":%q}`, repo.URL, server.CA, "{{secret."+secret+"}}"))
	}
	tests := func() map[string]any {
		t.Helper()
		return p.does(t, 200, "POST", p.path+"/repositories/origin/test", "").json(t)
	}
	missing := func(p place, name string) {
		t.Helper()
		saves(p, name)
		details := p.refuses(t, 422, "validation_failed", "POST", p.path+"/repositories/origin/test", "")
		require.Equal(t, map[string]any{"reason": "secret_missing", "names": []any{name}}, details)
	}

	saves(p, "TOKEN")
	require.Equal(t, true, tests()["reachable"])
	p.does(t, 201, "POST", p.path+"/push", `{"name":"v1","repository":"origin"}`)

	p.does(t, 200, "PATCH", p.path+"/security/secrets", `{"TOKEN":{"value":"wrong-one"}}`)
	require.Equal(t, "remote_auth_failed", tests()["error"].(map[string]any)["details"].(map[string]any)["reason"], "what is stored wins")
	p.does(t, 200, "DELETE", p.path+"/security/secrets/TOKEN", "")
	require.Equal(t, true, tests()["reachable"], "and the settings are back without it")

	missing(p, "svc_TOKEN")
	id := s.must(t, "POST", "/v2/workspaces", p.me, `{"name":"Other","slug":"other"}`)["id"].(string)
	missing(place{s, "/v2/workspaces/" + id, id, p.me}, "TOKEN")
	s.stop(t)
	require.NotContains(t, s.log.String(), gittest.Password)
	requireNoSecret(t, s.dir, gittest.Password)
}
