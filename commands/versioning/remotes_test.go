package versioning_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// at sets the repository to another configuration.
func (p *gitWorkspace) at(config string, args ...any) {
	p.t.Helper()
	p.do(p.t, 200, "PATCH", p.path, fmt.Sprintf(`{"repositories":{"origin":{"name":"Origin","config":{`+config+`}}}}`, args...))
}

func TestRemotes77ACertificateOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.fill("automations/charge.yml", file("charge", "charged"))
	p.at(`"url":%q,"auth":{"user":%q,"password":%q}`, p.repo.URL, gittest.User, gittest.Password)
	details := p.requirePullFailure(422, "remote_certificate_untrusted", "checkout", "/pull", toOrigin)
	require.NotEmpty(t, details["subject"])
	require.NotEmpty(t, details["issuer"])
	require.NotEmpty(t, details["sha256"])
	require.Contains(t, p.last()["error"].(map[string]any)["message"], "caBundle", "it names the setting")
	p.configure("")
	require.Contains(t, p.pull()["imported"], "automations/charge")
}

func TestRemotes78TheHostKey(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	clone := p.fill("automations/charge.yml", file("charge", "charged"))
	server := gittest.NewSSH(t, strings.TrimSuffix(p.repo.Path, "/shop.git"))
	p.at(`"url":%q,"auth":{"sshkey":%q}`, server.URL(p.repo), server.Key)
	details := p.requirePullFailure(422, "remote_host_key_unknown", "checkout", "/pull", toOrigin)
	require.Equal(t, server.Fingerprint(), details["fingerprint"])
	require.Equal(t, server.KnownHosts(), details["line"])

	p.at(`"url":%q,"auth":{"sshkey":%q},"knownHosts":%q`, server.URL(p.repo), server.Key, server.KnownHosts())
	require.Contains(t, p.pull()["imported"], "automations/charge")
	pushFromOther(clone, "refund", "refunded")
	p.automation("charge", "charged twice")
	require.Equal(t, []any{"automations/refund"}, p.pull()["imported"])
	p.push("v1")
	require.Equal(t, p.onOwn(), p.onMain())

	server.NewHostKey()
	details = p.requirePullFailure(422, "remote_host_key_mismatch", "checkout", "/pull", toOrigin)
	require.NotContains(t, details, "line", "a changed key is not trusted in passing")
	steps, _ := p.steps()
	require.NotContains(t, fmt.Sprint(steps, p.last()), "PRIVATE KEY")
}

// startCredentialServer is a server that notes the credentials that come to it.
func startCredentialServer(t *testing.T, to func() string) (server *httptest.Server, bundle string, seen func() []string) {
	var mu sync.Mutex
	var all []string
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, r.Header.Get("Authorization"))
		http.Redirect(w, r, to()+r.URL.String(), http.StatusFound)
	}))
	t.Cleanup(server.Close)
	bundle = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return server, bundle, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, all...)
	}
}

func TestRemotes79ARedirectToAForeignHost(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.fill("automations/charge.yml", file("charge", "charged"))
	var to string
	foreign, certificate, visitors := startCredentialServer(t, func() string { return "https://example.com" })
	hop, ours, _ := startCredentialServer(t, func() string { return to })
	at := func(more string) {
		p.at(`"url":%q,"caBundle":%q,"auth":{"user":%q,"password":%q}`+more, hop.URL+"/shop.git", p.ca+ours+certificate, gittest.User, gittest.Password)
	}
	to = foreign.URL
	at("")
	details := p.requirePullFailure(422, "remote_redirected", "checkout", "/pull", toOrigin)
	require.Equal(t, strings.TrimPrefix(foreign.URL, "https://"), details["host"])
	for _, credential := range visitors() {
		require.Empty(t, credential)
	}
	to = "http://" + strings.TrimPrefix(p.repo.URL, "https://")
	p.requirePullFailure(422, "remote_redirected", "checkout", "/pull", toOrigin)

	to = strings.TrimSuffix(p.repo.URL, "/shop.git")
	at(fmt.Sprintf(`,"redirectHosts":[%q]`, strings.TrimPrefix(to, "https://")))
	require.Contains(t, p.pull()["imported"], "automations/charge", "an allowed host is followed")
}

func TestRemotesWrongCredentials(t *testing.T) {
	t.Parallel()
	p, _ := newPushed(t, shared(t))
	p.at(`"url":%q,"caBundle":%q,"auth":{"user":"alice","password":"hunter2-swordfish-not"}`, p.repo.URL, p.ca)
	details := p.requirePullFailure(403, "remote_auth_failed", "checkout", "/pull", toOrigin)
	require.NotContains(t, fmt.Sprint(details, p.last()), "swordfish")
	p.at(`"url":%q,"caBundle":%q,"auth":{"user":%q,"password":%q}`, strings.Replace(p.repo.URL, "shop", "none", 1), p.ca, gittest.User, gittest.Password)
	p.requirePullFailure(404, "remote_not_found", "checkout", "/pull", toOrigin)
	p.at(`"url":"https://127.0.0.1:1/shop.git"`)
	p.requirePullFailure(503, "remote_unreachable", "checkout", "/pull", toOrigin)
	p.at(`"url":%q,"auth":{"user":"a","password":"{{secret.nowhere}}"}`, p.repo.URL)
	require.Contains(t, fmt.Sprint(p.requireRefusal(422, "secret_missing", "POST", "/pull", toOrigin)), "nowhere")
	require.Empty(t, p.locked())
}

func TestRemotes82ARemoteThatStaysSilent(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "GIT_REMOTE_TIMEOUT_SECONDS=5")
	p := newGitWorkspace(t, h)
	p.automation("charge", "charged")
	silent := gittest.Silent(t)
	for _, config := range []string{
		fmt.Sprintf(`"url":"https://%s/shop.git"`, silent), fmt.Sprintf(`"url":"ssh://git@%s/shop.git","auth":{"sshkey":%q}`, silent, gittest.NewSSH(t, t.TempDir()).Key),
	} {
		p.at("%s", config)
		p.requirePullFailure(504, "remote_timeout", "checkout", "/pull", toOrigin)
	}

	p.configure("")
	p.push("v1")
	clone := p.repo.Clone()
	pushFromOther(clone, "refund", "refunded")
	p.automation("charge", "charged twice")
	p.repo.Hook("pre-receive", "sleep 15; exit 1")
	got, err := p.ask("POST", p.path+"/pull?timeout=60", toOrigin)
	require.NoError(t, err)
	require.GreaterOrEqual(t, got.StatusCode, 500, "%s", got.body)
	require.Empty(t, p.locked())
	require.Equal(t, "charged twice", p.emittedEvent("charge"))
	require.Empty(t, p.emittedEvent("refund"))
	_, last := p.steps()
	require.Equal(t, "write", last["failedStep"], "%v", last)
	h.kill()
	require.NotContains(t, h.log.String(), gittest.Password)
	require.NotContains(t, h.log.String(), "PRIVATE KEY")
}

func TestRemotesInsideAreNotReached(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "EGRESS_ALLOW_PRIVATE=no")
	p := newGitWorkspace(t, h)
	p.fill("automations/charge.yml", file("charge", "charged"))
	p.requirePullFailure(422, "remote_address_forbidden", "checkout", "/pull", toOrigin)
	server := gittest.NewSSH(t, t.TempDir())
	for _, config := range []string{
		fmt.Sprintf(`"url":%q,"auth":{"sshkey":%q}`, server.URL(p.repo), server.Key), `"url":"https://169.254.169.254/x.git"`, `"url":"https://[::1]/x.git"`,
		`"url":"https://localhost/x.git"`, `"url":"https://10.0.0.1/x.git"`,
	} {
		p.at("%s", config)
		p.requirePullFailure(422, "remote_address_forbidden", "checkout", "/pull", toOrigin)
	}
	p.requireRefusal(422, "remote_address_forbidden", "POST", "/pull?dryRun=true", toOrigin)
}
