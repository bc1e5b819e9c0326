package repositories_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
	"svc/domain"
	"svc/domain/workspace"
)

func TestARepositoryIsStoredWhole(t *testing.T) {
	t.Parallel()
	h := open(t)
	require.Equal(t,
		`{"origin":{"name":"Origin","type":"git","mode":"read-write","config":{"url":"https://example.com/r.git","branch":"main"}},`+
			`"files":{"name":"Files","type":"archive","mode":"read-write","pull":{"exclude":[{"path":"index"}]}}}`,
		h.save(`{"origin":{"id":"x","groups":["g"],"config":{"auth":{"user":null},"dirpath":"","url":"https://example.com/r.git"},"name":"Origin"},
			"files":{"name":"Files","type":"archive","pull":{"exclude":[{"path":"index"}]}}}`))
	before := h.state().Revision
	h.save(`{"origin":{"name":"Origin","config":{"url":"https://example.com/r.git"}},"files":{"name":"Files","type":"archive","pull":{"exclude":[{"path":"index"}]}}}`)
	require.Equal(t, before, h.state().Revision, "the same is no change")
	h.save(`null`)
	require.Nil(t, h.state().Settings.Repositories)
}

// A credential is sealed; what is stored, told and answered has the mask.
func TestCredentials(t *testing.T) {
	t.Parallel()
	h := open(t)
	const anywhere = `{"origin":{"name":"Origin","config":{"url":"%s","auth":{%s}}}}`
	save := func(url, auth string) string { return h.save(fmt.Sprintf(anywhere, url, auth)) }
	const masked = `"auth":{"user":"me","password":"********"}`

	require.Contains(t, save("https://example.com/r.git", `"user":"me","password":"S3CRET-1"`), masked)
	require.Equal(t, "S3CRET-1", h.find("origin").Remote.Password)
	first := h.state()

	save("https://example.com/r.git", `"user":"me","password":"S3CRET-1"`)
	require.Equal(t, first.Revision, h.state().Revision, "the same again is no change")
	require.Contains(t, save("https://example.com/other.git", `"user":"you","password":"********"`), `"password":"********"`)
	require.Equal(t, "S3CRET-1", h.find("origin").Remote.Password, "the mask keeps")
	require.Equal(t, "you", h.find("origin").Remote.User)

	t.Run("a mask does not follow to another server", func(t *testing.T) {
		for _, url := range []string{"https://evil.example.com/r.git", "https://example.com:8443/r.git", "{{secret.URL}}"} {
			fault := h.firstFault(domain.CodeValidation, fmt.Sprintf(anywhere, url, `"user":"you","password":"********"`))
			require.Equal(t, "repositories.origin.config.auth.password", fault.Field)
			require.Contains(t, fault.Message, "another server")
		}
	})
	t.Run("a mask of nothing", func(t *testing.T) {
		for _, text := range []string{
			`{"other":{"name":"O","config":{"url":"https://example.com/r.git","auth":{"password":"********"}}}}`,
			fmt.Sprintf(anywhere, "ssh://example.com/r.git", `"sshkey":"********"`), fmt.Sprintf(anywhere, "https://example.com/r.git", `"user":"********"`),
		} {
			require.Contains(t, h.firstFault(domain.CodeValidation, text).Message, "none is kept")
		}
	})
	t.Run("those of the address move", func(t *testing.T) {
		require.Contains(t, save("https://me:S3CRET%2F2@example.com/r.git", ``), `"url":"https://example.com/r.git","branch":"main",`+masked)
		require.Equal(t, "S3CRET/2", h.find("origin").Remote.Password)
		require.Contains(t, save("https://she:S3CRET-3@example.com/r.git", `"user":"me","password":"S3CRET-4"`), masked)
		require.Equal(t, "S3CRET-4", h.find("origin").Remote.Password, "what is said explicitly wins")
		require.Contains(t, save("https://she:S3CRET-5@example.com/r.git", `"user":"me","password":"********"`), masked)
		require.Equal(t, "S3CRET-4", h.find("origin").Remote.Password, "so does the mask")
		require.Contains(t, save("https://{{secret.USER}}:{{secret.TOKEN}}@example.com/r.git", ``), `"auth":{"user":"{{secret.USER}}","password":"{{secret.TOKEN}}"}`)
		require.Contains(t, save("https://me:S3CRET-6@{{secret.HOST}}/r.git", ``), `"url":"https://{{secret.HOST}}/r.git"`)
		require.Contains(t, save("ssh://git@example.com/r.git", ``), `"url":"ssh://git@example.com/r.git"`, "a user of SSH is none")
		require.Equal(t, "repositories.origin.config.auth.password", h.firstFault(domain.CodeValidation, fmt.Sprintf(anywhere, "ssh://git:S3CRET@example.com/r.git", ``)).Field)
	})
	t.Run("a user alone may be a token", func(t *testing.T) {
		require.Contains(t, save("https://S3CRET-7@example.com/r.git", ``), `"auth":{"user":"********"}`)
		require.Equal(t, "S3CRET-7", h.find("origin").Remote.User)
		require.Contains(t, save("https://example.com/r.git", `"user":"********","password":"S3CRET-8"`), `"auth":{"user":"********","password":"********"}`)
		require.Equal(t, "S3CRET-7", h.find("origin").Remote.User)
	})
	t.Run("what is gone is forgotten", func(t *testing.T) {
		save("https://example.com/r.git", ``)
		require.Empty(t, h.state().Settings.Credentials)
		h.firstFault(domain.CodeValidation, fmt.Sprintf(anywhere, "https://example.com/r.git", `"password":"********"`))
	})
	t.Run("half a reference is sealed", func(t *testing.T) {
		h.setSecret("TAIL", "-tail")
		require.Contains(t, save("https://example.com/r.git", `"password":"S3CRET{{secret.TAIL}}"`), `"password":"********"`)
		require.Equal(t, "S3CRET-tail", h.find("origin").Remote.Password)
	})
	require.NotContains(t, h.written(h.state()), "S3CRET")
	h.requireNotRecorded("S3CRET")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	h := open(t)
	server := gittest.New(t)
	ssh := gittest.NewSSH(t, server.Dir)
	escaped := func(key string) string { return strings.ReplaceAll(key, "\n", `\\n`) }
	keyed := func(url, auth string) string {
		return fmt.Sprintf(`{"origin":{"name":"O","config":{"url":%q,"auth":{%s}}}}`, url, auth)
	}
	require.Contains(t, h.save(keyed("git@example.com:r.git", fmt.Sprintf(`"sshkey":"%s","passphrase":"%s"`, escaped(ssh.LockedKey()), gittest.Passphrase))),
		`"auth":{"sshkey":"********","passphrase":"********"}`)
	require.Equal(t, gittest.Passphrase, h.find("origin").Remote.Passphrase)
	require.Contains(t, h.find("origin").Remote.SSHKey, "PRIVATE KEY")
	h.requireNotRecorded("PRIVATE KEY")
	h.requireNotRecorded(gittest.Passphrase)
	h.save(keyed("ssh://git@other.example.com/r.git", `"sshkey":"********","passphrase":"********"`)) // a key is not shown to the server

	for _, auth := range []string{
		`"sshkey":"S3CRET"`, fmt.Sprintf(`"sshkey":"%s"`, escaped(ssh.LockedKey())),
		fmt.Sprintf(`"sshkey":"%s","passphrase":"S3CRET"`, escaped(ssh.LockedKey())),
	} {
		require.Equal(t, "repositories.origin.config.auth.sshkey", h.firstFault(domain.CodeValidation, keyed("git@example.com:r.git", auth)).Field)
	}
	for _, key := range []string{"********", "{{secret.KEY}}", escaped(ssh.Key)} {
		fault := h.firstFault(domain.CodeValidation, keyed("https://example.com/r.git", fmt.Sprintf(`"sshkey":"%s"`, key)))
		require.Equal(t, domain.FieldError{Field: "repositories.origin.config.auth.sshkey", Message: "needs an SSH URL"}, fault)
	}
	for _, password := range []string{"S3CRET", "{{secret.TOKEN}}"} {
		fault := h.firstFault(domain.CodeValidation, keyed("git@example.com:r.git", fmt.Sprintf(`"password":"%s"`, password)))
		require.Equal(t, domain.FieldError{Field: "repositories.origin.config.auth.password", Message: "needs an https URL"}, fault)
	}
}

func TestWhatCannotBeSaved(t *testing.T) {
	t.Parallel()
	h := open(t)
	for config, field := range map[string]string{
		`"url":"http://example.com/r.git"`: "url", `"url":"file:///etc"`: "url", `"url":"ext::sh -c x"`: "url", `"url":"git://example.com/r"`: "url",
		`"url":"/srv/r.git"`: "url", `"url":"https://example.com"`: "url", `"url":"https://S3CRET:%zz@exa mple.com/r"`: "url",
		`"url":"https://example.com/r","branch":"svc/shop/main"`: "branch", `"url":"https://example.com/r","branch":"-f"`: "branch",
		`"url":"https://example.com/r","branch":"a..b"`: "branch", `"url":"https://example.com/r","dirpath":"/abs"`: "dirpath",
		`"url":"https://example.com/r","dirpath":"a/../b"`: "dirpath", `"url":"https://example.com/r","dirpath":"a//b"`: "dirpath",
		`"url":"https://example.com/r","dirpath":".GIT"`: "dirpath", `"url":"https://example.com/r","dirpath":"a/"`: "dirpath",
		`"url":"https://example.com/r","caBundle":"none"`: "caBundle", `"url":"git@example.com:r","knownHosts":"what is this"`: "knownHosts",
		`"url":"{{secret.URL}}","branch":"-f"`:                    "branch",
		`"url":"https://example.com/r","branch":"b-{{secret.B}}"`: "branch", `"url":"https://example.com/r","dirpath":"d/{{secret.D}}"`: "dirpath",
	} {
		fault := h.firstFault(domain.CodeValidation, `{"origin":{"name":"O","config":{`+config+`}}}`)
		require.Equal(t, "repositories.origin.config."+field, fault.Field, config)
	}
	require.Equal(t, "repositories.origin.config.url", h.firstFault(domain.CodeMissingParameter, `{"origin":{"name":"O"}}`).Field)
	require.Equal(t, "repositories.a.config", h.firstFault(domain.CodeValidation, `{"a":{"name":"A","type":"archive","config":{"url":"https://example.com/r"}}}`).Field)
	_, err := h.Update(t.Context(), h.id, patch(t, `{"o":{"name":"O","config":{"url":"https://example.com/r","auth":{"password":"`+strings.Repeat("S3CRET", 4000)+`"}}}}`), "")
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	require.Nil(t, h.state().Settings.Repositories)

	h.git.AllowHTTP = true
	require.Contains(t, h.save(`{"origin":{"name":"O","config":{"url":"http://example.com/r.git"}}}`), "http://example.com/r.git")
	require.Contains(t, h.save(`{"origin":{"name":"O","config":{"url":"{{secret.URL}}","caBundle":"{{secret.CA}}"}}}`), "{{secret.CA}}")

	// Even where http is allowed, no credential is sent in clear.
	for config, field := range map[string]string{
		`"url":"http://example.com/r.git","auth":{"user":"me","password":"S3CRET"}`: "auth.password", `"url":"http://me:S3CRET@example.com/r.git"`: "auth.password",
		`"url":"http://example.com/r.git","auth":{"password":"{{secret.TOKEN}}"}`: "auth.password", `"url":"HTTP://S3CRET@example.com/r.git"`: "auth.user",
		`"url":"http://example.com/r.git","auth":{"user":"{{secret.TOKEN}}"}`: "auth.user",
	} {
		fault := h.firstFault(domain.CodeValidation, `{"origin":{"name":"O","config":{`+config+`}}}`)
		require.Equal(t, "repositories.origin.config."+field, fault.Field, config)
		require.Contains(t, fault.Message, "https", config)
		require.NotContains(t, fault.Message, "S3CRET")
	}
	h.setSecret("URL", "http://example.com/r.git")
	h.save(`{"origin":{"name":"O","config":{"url":"{{secret.URL}}","auth":{"password":"S3CRET"}}}}`)
	report, err := h.Test(t.Context(), h.state(), "origin")
	require.NoError(t, err)
	require.False(t, report.Reachable)
	require.Contains(t, fmt.Sprint(report.Error), "https", "what a reference turns out to be is refused when it is used")
}

func TestAWorkspaceThatIsNotThere(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, err := h.Update(t.Context(), "nowhere", patch(t, `{"origin":{"name":"O","config":{"url":"https://me:S3CRET@example.com/r.git"}}}`), "")
	require.Equal(t, domain.CodeNotFound, domain.CodeOf(err))
	_, err = h.Vault.Open(t.Context(), "nowhere", []byte("x"), "x")
	require.ErrorContains(t, err, "no data key")
	_, err = h.Update(t.Context(), h.id, patch(t, `{}`), `"stale"`)
	require.Equal(t, domain.CodeConflict, domain.CodeOf(err), "the tag of something else")
}

// Whoever keeps by the mask keeps what was sealed last.
func TestManySaveAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.save(`{"origin":{"name":"O","config":{"url":"https://example.com/r","auth":{"password":"S3CRET-0"}}}}`)
	var all sync.WaitGroup
	errs := make([]error, 8) // each loses a race to the seven others at most
	for i := range errs {
		password := workspace.Mask
		if i == 0 {
			password = "S3CRET-new"
		}
		change := patch(t, fmt.Sprintf(`{"origin":{"name":"O%d","config":{"url":"https://example.com/r","auth":{"password":"%s"}}}}`, i, password))
		all.Go(func() { _, errs[i] = h.Update(t.Context(), h.id, change, "") })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, "S3CRET-new", h.find("origin").Remote.Password)
}
