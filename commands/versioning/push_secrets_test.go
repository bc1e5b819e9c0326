package versioning_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// requireNotOnDisk checks that no file of a service that has ended, nor its log, has one of
// the texts. What everybody may know is there, so that they would be found.
func (h *fixture) requireNotOnDisk(t *testing.T, known string, texts ...string) {
	t.Helper()
	found := false
	for _, text := range texts {
		require.NotContains(t, h.log.String(), text)
	}
	require.NoError(t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		found = found || strings.Contains(string(body), known)
		for _, text := range texts {
			require.NotContains(t, string(body), text, path)
		}
		return err
	}))
	require.True(t, found)
}

func TestPush80Credentials(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, newFixture(t))
	address := strings.Replace(p.repo.URL, "https://", "https://"+gittest.User+":"+gittest.Password+"@", 1)
	got := p.do(t, 200, "PATCH", p.path, fmt.Sprintf(`{"repositories":{"origin":{"name":"Origin","config":{"url":%q,"caBundle":%q}}}}`, address, p.ca))
	require.NotContains(t, string(got.body), gittest.Password)
	config := p.workspace()["repositories"].(map[string]any)["origin"].(map[string]any)["config"].(map[string]any)
	require.Equal(t, p.repo.URL, config["url"], "the stored address has none")
	require.Equal(t, map[string]any{"user": gittest.User, "password": "********"}, config["auth"])
	p.push("v1")

	p.do(t, 200, "PATCH", p.path, fmt.Sprintf(
		`{"repositories":{"origin":{"name":"Renamed","config":{"url":%q,"caBundle":%q,"auth":{"user":%q,"password":"********"}}}}}`, p.repo.URL, p.ca, gittest.User))
	p.automation("charge", "charged")
	p.push("v2")

	reference := fmt.Sprintf(`{"repositories":{"origin":{"name":"Origin","config":{"url":%q,"caBundle":%q,"auth":{"user":%q,"password":"{{secret.gitToken}}"}}}}}`, p.repo.URL, p.ca, gittest.User)
	p.do(t, 200, "PATCH", p.path, reference)
	missing := p.requireRefusal(422, "secret_missing", "POST", "/push", toOrigin)
	require.Contains(t, fmt.Sprint(missing), "gitToken")
	p.do(t, 200, "PATCH", p.path+"/security/secrets", fmt.Sprintf(`{"gitToken":{"value":%q}}`, gittest.Password))
	p.automation("charge", "charged again")
	p.push("v3")
	config = p.workspace()["repositories"].(map[string]any)["origin"].(map[string]any)["config"].(map[string]any)
	require.Equal(t, "{{secret.gitToken}}", config["auth"].(map[string]any)["password"], "as it was written")

	p.do(t, 200, "PATCH", p.path+"/security/secrets", `{"gitToken":{"value":"wrong-but-secret"}}`)
	refusal := p.do(t, 403, "POST", p.path+"/push", toOrigin)
	require.Contains(t, string(refusal.body), "remote_auth_failed")
	require.NotContains(t, string(refusal.body), "wrong-but-secret")
	p.requirePushFailure("remote_auth_failed", "checkout")
	require.NotContains(t, string(p.do(t, 200, "GET", p.path+"/export", "").body), gittest.Password)
	for _, version := range []string{"v1", "v2", "v3"} {
		require.NotContains(t, p.repo.Git("log", "-p", version), gittest.Password)
	}
	p.requirePasswordHidden()
	p.kill()
	p.requireNotOnDisk(t, p.slug, gittest.Password, "wrong-but-secret", base64.StdEncoding.EncodeToString([]byte(gittest.User+":"+gittest.Password)))
}

func TestPushOverSSH(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, newFixture(t))
	server := gittest.NewSSH(t, filepath.Dir(p.repo.Path))
	p.do(t, 200, "PATCH", p.path, fmt.Sprintf(`{"repositories":{"origin":{"name":"Origin","config":{"url":%q,"knownHosts":%q,"auth":{"sshkey":%q}}}}}`,
		server.URL(p.repo), server.KnownHosts(), server.Key))
	config := p.workspace()["repositories"].(map[string]any)["origin"].(map[string]any)["config"].(map[string]any)
	require.Equal(t, "********", config["auth"].(map[string]any)["sshkey"])
	p.automation("charge", "charged")
	version := p.push("v1")
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/main"))
	require.False(t, p.isDirty())
	clone := p.repo.Clone()
	clone.Write("automations/refund.yml", file("refund", "refunded"))
	clone.Commit("refunds")
	clone.Push("main")
	p.pull()
	require.Equal(t, "refunded", p.emittedEvent("refund"))

	server.NewHostKey()
	p.automation("charge", "charged twice")
	p.requireRefusal(422, "remote_host_key_mismatch", "POST", "/push", toOrigin)
	p.requirePushFailure("remote_host_key_mismatch", "checkout")
	require.True(t, p.isDirty())
	p.kill()
	secret := strings.Split(server.Key, "\n")
	p.requireNotOnDisk(t, p.slug, secret[1], secret[2])
}
