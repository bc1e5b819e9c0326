package repositories_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/commands/gitsync/gittest"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/workspace"
)

func TestFinding(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.save(`{"zeta":{"name":"Z","mode":"write-only","config":{"url":"https://{{secret.HOST}}/r.git","branch":"dev","dirpath":"a/b",
		"auth":{"user":"me","password":"{{ secret.TOKEN }}"},"caBundle":"{{secret.CA}}","redirectHosts":["{{secret.HOST}}:8443"]},"pull":{"exclude":[{"path":"index"},{"path":"pages/*"}]}},
		"alpha":{"name":"A","type":"archive"}}`)
	require.Equal(t, []repositories.Listed{
		{ID: "alpha", Name: "A", Type: "archive", Mode: "read-write"}, {ID: "zeta", Name: "Z", Type: "git", Mode: "write-only", Branch: "dev"},
	}, h.List(h.state()))

	_, err := h.Find(t.Context(), h.state(), "zeta")
	requireRefusal(t, err, domain.CodeValidation, map[string]any{"reason": "secret_missing", "names": []string{"CA", "HOST", "TOKEN"}})
	for name, value := range map[string]string{"HOST": "git.example.com", "TOKEN": "t0k3n", "CA": "pem"} {
		h.setSecret(name, value)
	}
	found := h.find("zeta")
	require.Equal(t, archive.Excludes{"index", "pages/*"}, found.Excludes)
	require.Equal(t, []string{"git.example.com:8443"}, found.Remote.RedirectHosts)
	found.Excludes, found.Remote.RedirectHosts = nil, nil
	want := repositories.Repository{ID: "zeta", Name: "Z", Type: "git", Mode: "write-only", Address: "https://{{secret.HOST}}/r.git", Branch: "dev", Root: "a/b"}
	want.Remote.URL, want.Remote.User, want.Remote.Password, want.Remote.CABundle = "https://git.example.com/r.git", "me", "t0k3n", "pem"
	require.Equal(t, want, found)

	_, err = h.Find(t.Context(), h.state(), "beta")
	requireRefusal(t, err, domain.CodeNotFound, map[string]any{"repositoryId": "beta", "availableRepositories": []string{"alpha", "zeta"}})
	_, err = h.Find(t.Context(), h.state(), "alpha")
	requireRefusal(t, err, domain.CodeValidation, map[string]any{"reason": "archive_repository", "repositoryId": "alpha"})
	_, err = h.Find(t.Context(), workspace.State{}, "x")
	requireRefusal(t, err, domain.CodeNotFound, map[string]any{"repositoryId": "x", "availableRepositories": []string{}})
}

func requireRefusal(t *testing.T, err error, code domain.Code, details map[string]any) {
	t.Helper()
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, code, refusal.Code)
	require.Equal(t, details, refusal.Details)
}

func TestModes(t *testing.T) {
	t.Parallel()
	for mode, may := range map[string][2]string{
		repositories.ReadWrite: {"", ""}, repositories.ReadOnly: {"repository_read_only", ""}, repositories.WriteOnly: {"", "repository_write_only"},
	} {
		r := repositories.Repository{ID: "origin", Mode: mode}
		for i, err := range []error{r.CanPush(), r.CanPull()} {
			if may[i] == "" {
				require.NoError(t, err)
				continue
			}
			requireRefusal(t, err, domain.CodePermissionDenied, map[string]any{"reason": may[i], "repositoryId": "origin"})
		}
	}
}

func TestTestingOverHTTPS(t *testing.T) {
	t.Parallel()
	h, server := open(t), gittest.New(t)
	repo := server.Repo("shop.git")
	h.setSecret("TOKEN", gittest.Password)
	test := func(config string, args ...any) repositories.Report {
		t.Helper()
		h.save(fmt.Sprintf(`{"origin":{"name":"O","config":{`+config+`}}}`, args...))
		report, err := h.Test(t.Context(), h.state(), "origin")
		require.NoError(t, err)
		if report.Error != nil {
			require.False(t, report.Reachable)
			require.NotContains(t, fmt.Sprint(report.Error.Message, report.Error.Details), gittest.Password)
		}
		return report
	}
	const good = `"url":%q,"caBundle":%q,"auth":{"user":"alice","password":"{{secret.TOKEN}}"}`

	require.Equal(t, repositories.Report{Reachable: true, Empty: true, Branches: []string{}, FinalURL: repo.URL}, test(good, repo.URL, server.CA))
	clone := repo.Clone()
	clone.Commit("first")
	clone.Push("main")
	clone.Push("dev")
	filled := repositories.Report{Reachable: true, Branches: []string{"dev", "main"}, TargetExists: true, FinalURL: repo.URL}
	require.Equal(t, filled, test(good, repo.URL, server.CA))
	inside := strings.Replace(repo.URL, "https://", "https://alice:"+gittest.Password+"@", 1)
	require.Equal(t, filled, test(`"url":%q,"caBundle":%q`, inside, server.CA), "credentials in the address are moved")
	filled.TargetExists = false
	require.Equal(t, filled, test(good+`,"branch":"none"`, repo.URL, server.CA))

	connect := h.git.Timeouts.Connect
	h.git.Timeouts.Connect = 200 * time.Millisecond
	late := test(good, "https://"+gittest.Silent(t)+"/r.git", server.CA)
	h.git.Timeouts.Connect = connect
	for reason, c := range map[string]struct {
		report repositories.Report
		code   domain.Code
		says   []string
	}{
		"remote_auth_failed": {
			test(`"url":%q,"caBundle":%q,"auth":{"user":"alice","password":"wrong"}`, repo.URL, server.CA),
			domain.CodePermissionDenied, []string{"password, access token or key"},
		},
		"remote_certificate_untrusted": {
			test(`"url":%q,"auth":{"user":"alice","password":"{{secret.TOKEN}}"}`, repo.URL), domain.CodeValidation, []string{"caBundle", "EXTRA_CA_CERTS_FILE"},
		},
		"remote_not_found": {test(good, server.URL+"/none.git", server.CA), domain.CodeNotFound, []string{"path in url"}},
		"remote_timeout":   {late, domain.CodeGatewayTimeout, []string{"firewall"}},
		"remote_unreachable": {
			test(`"url":"https://nobody.invalid/r.git"`), domain.CodeUnavailable, []string{"host and the port"},
		},
	} {
		require.NotNil(t, c.report.Error, reason)
		require.Equal(t, reason, c.report.Error.Details["reason"], c.report.Error.Message)
		require.Equal(t, c.code, c.report.Error.Code)
		for _, text := range c.says {
			require.Contains(t, c.report.Error.Message, text)
		}
	}
	h.setSecret("KEY", "no key at all")
	bad := test(`"url":"git@example.com:r.git","auth":{"sshkey":"{{secret.KEY}}"}`)
	require.Contains(t, bad.Error.Message, "config.auth.sshkey")
	delete(h.secrets, "TOKEN")
	h.save(fmt.Sprintf(`{"origin":{"name":"O","config":{`+good+`}}}`, repo.URL, server.CA))
	_, err := h.Test(t.Context(), h.state(), "origin")
	requireRefusal(t, err, domain.CodeValidation, map[string]any{"reason": "secret_missing", "names": []string{"TOKEN"}})
}

func TestTestingOverSSH(t *testing.T) {
	t.Parallel()
	h, server := open(t), gittest.New(t)
	ssh := gittest.NewSSH(t, server.Dir)
	repo := server.Repo("shop.git")
	h.setSecret("KEY", ssh.Key)
	test := func(more string) repositories.Report {
		t.Helper()
		h.save(fmt.Sprintf(`{"origin":{"name":"O","config":{"url":%q,"auth":{"sshkey":"{{secret.KEY}}"}%s}}}`, ssh.URL(repo), more))
		report, err := h.Test(t.Context(), h.state(), "origin")
		require.NoError(t, err)
		require.Equal(t, ssh.Fingerprint(), report.HostKey.Fingerprint)
		return report
	}
	unknown := test("")
	require.Equal(t, "remote_host_key_unknown", unknown.Error.Details["reason"])
	require.Contains(t, unknown.Error.Message, "knownHosts")
	require.Contains(t, unknown.Error.Message, ssh.KnownHosts(), "the line to add")
	require.Equal(t, ssh.KnownHosts(), unknown.HostKey.Line)

	known := fmt.Sprintf(`,"knownHosts":%q`, unknown.HostKey.Line)
	require.Nil(t, test(known).Error)
	require.True(t, test(known).Empty)
	ssh.NewHostKey()
	require.Equal(t, "remote_host_key_mismatch", test(known).Error.Details["reason"])
	ssh.Wait()
}
