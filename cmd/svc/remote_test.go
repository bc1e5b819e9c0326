package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"svc/cmd/client"
	"svc/cmd/settings"
)

const adminPassword = "correct horse battery staple"

// remoteUser is somebody at a terminal, and the service that they call.
type remoteUser struct {
	*cliEnv
	home string
	env  []string
	tok  string // of a session of the super admin, for what there is no command

	running *childProcess // the service
}

// newRemoteUser starts a service and sits somebody down who is not signed in yet.
func newRemoteUser(t *testing.T, env ...string) *remoteUser {
	t.Helper()
	p := newCLIEnv(t, append([]string{"ADMIN_PASSWORD=" + adminPassword, "ACCOUNT_VALIDATION_METHOD=auto", "DISABLE_RATE_LIMIT=yes", "JWKS_ALG=ES256", "JWKS_KTY=EC", "EGRESS_ALLOW_PRIVATE=yes"}, env...)...)
	d := &remoteUser{cliEnv: p, home: t.TempDir(), running: p.serve(t)}
	d.tok = d.call(t, "POST", "/login", "", `{"email":"admin@localhost","password":"`+adminPassword+`"}`)["token"].(string)
	return d
}

func (d *remoteUser) url() string { return fmt.Sprintf("http://127.0.0.1:%d", d.port) }

func (d *remoteUser) file() string { return filepath.Join(d.home, "svc", "profiles.json") }

// call sends a request that succeeds.
func (d *remoteUser) call(t *testing.T, method, path, token, body string) (got map[string]any) {
	t.Helper()
	text := d.send(t, method, path, token, body)
	require.NoError(t, json.Unmarshal(text, &got), "%s", text)
	return got
}

// send is call for answers that are no object.
func (d *remoteUser) send(t *testing.T, method, path, token, body string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, d.url()+"/v2"+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := plainHTTP.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Less(t, resp.StatusCode, 300, "%s %s: %s", method, path, text)
	return text
}

// world is the world of a command at this desk.
func (d *remoteUser) world(in io.Reader, out, log io.Writer) environment {
	environ := append([]string{"XDG_CONFIG_HOME=" + d.home}, d.env...)
	return environment{source: settings.Source{Environ: environ, Hostname: "desk"}, in: in, out: out, log: log}
}

// types runs a command with something on its standard input.
func (d *remoteUser) types(t *testing.T, in string, args ...string) outcome {
	t.Helper()
	var out, log bytes.Buffer
	err := run(t.Context(), args, d.world(strings.NewReader(in), &out, &log))
	return d.ended(t, err, &out, &log)
}

// ended is what a command left behind. No secret is in it.
func (d *remoteUser) ended(t *testing.T, err error, out, log *bytes.Buffer) outcome {
	t.Helper()
	got := outcome{out: out.String()}
	if err != nil {
		printError(log, err)
		got.code = exitCode(err)
	}
	got.err = log.String()
	got.isClean(t)
	for _, text := range []string{got.out, got.err} {
		require.NotContains(t, text, adminPassword)
		require.NotContains(t, text, "at:", "no token is shown")
		require.NotContains(t, text, "\x1b", "no colours but on a terminal")
	}
	return got
}

func (d *remoteUser) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return d.types(t, "", args...)
}

// must runs a command that succeeds, and returns what it printed.
func (d *remoteUser) must(t *testing.T, args ...string) string {
	t.Helper()
	got := d.run(t, args...)
	require.Zero(t, got.code, "%v: %s", args, got.err)
	return got.out
}

// requireFailure runs a command that fails with a code, and returns what it said.
func (d *remoteUser) requireFailure(t *testing.T, code int, args ...string) string {
	t.Helper()
	got := d.run(t, args...)
	require.Equal(t, code, got.code, "%v: %s%s", args, got.out, got.err)
	return got.err
}

// signIn signs the super admin in.
func (d *remoteUser) signIn(t *testing.T) *remoteUser {
	t.Helper()
	got := d.types(t, adminPassword+"\n", "login", "--url", d.url(), "--email", "admin@localhost")
	require.Zero(t, got.code, got.err)
	return d
}

// workspace makes one and returns its id.
func (d *remoteUser) workspace(t *testing.T, slug string, more ...string) string {
	t.Helper()
	return d.call(t, "POST", "/workspaces", d.tok, fmt.Sprintf(`{"name":%q,"slug":%q%s}`, slug, slug, strings.Join(more, "")))["id"].(string)
}

func (d *remoteUser) profiles(t *testing.T) client.Profiles {
	t.Helper()
	all, err := client.ReadProfiles(d.file())
	require.NoError(t, err)
	return all
}

func TestSigningInAndOut(t *testing.T) {
	d := newRemoteUser(t)
	require.Contains(t, d.requireFailure(t, 1, "status", "shop"), "svc: there is no profile default: sign in with `svc login`, or set SVC_URL and SVC_TOKEN")
	require.Equal(t, "there are no profiles: sign in with `svc login`\n", d.must(t, "login", "--list"))

	wrong := d.types(t, "not it\n", "login", "--url", d.url(), "--email", "admin@localhost")
	require.Equal(t, 1, wrong.code)
	require.Contains(t, wrong.err, "invalid_credentials")
	require.NoFileExists(t, d.file())
	require.Contains(t, d.requireFailure(t, 1, "login", "--url", d.url(), "--email", "a@b.c"), "password of a@b.c: nothing was given")

	got := d.types(t, "admin@localhost\n"+adminPassword+"\n", "login", "--url", d.url()+"/v2/")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^signed in to `+d.url()+` as admin@localhost: profile default is good until \d{4}-\S+Z\n$`, got.out)
	require.Empty(t, got.err, "nobody is asked who is not at a terminal")
	info, err := os.Stat(d.file())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	first := d.profiles(t)["default"]
	require.True(t, strings.HasPrefix(first.Token, "at:"))
	require.WithinDuration(t, time.Now().AddDate(0, 0, 90), first.ExpiresAt, time.Hour)
	require.Equal(t, []string{"session"}, d.sessions(t), "but for the session of this test there is none left")

	t.Log("again: the token before is revoked")
	d.signIn(t)
	second := d.profiles(t)["default"]
	require.NotEqual(t, first.Token, second.Token)
	require.Len(t, d.tokens(t), 1)

	t.Log("a token that somebody has, under another name")
	got = d.types(t, first.Token+"\n", "login", "--profile", "ci", "--url", d.url(), "--token", "-")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "(invalid_token)")
	require.Contains(t, got.err, "svc login --profile ci")
	got = d.types(t, second.Token+"\n", "login", "--profile", "ci", "--url", d.url(), "--token", "-", "--json")
	require.Zero(t, got.code, got.err)
	require.JSONEq(t, fmt.Sprintf(`{"name":"ci","url":%q,"email":"admin@localhost","userId":%q,"expiresAt":%q}`,
		d.url(), second.UserID, second.ExpiresAt.UTC().Format("2006-01-02T15:04:05.000Z")), got.out)
	list := lines(d.must(t, "login", "--list"))
	require.Len(t, list, 3)
	require.Regexp(t, `^PROFILE +URL +ACCOUNT +UNTIL$`, list[0])
	require.Regexp(t, `^ci +`+d.url()+` +admin@localhost +\d`, list[1])
	require.NotContains(t, d.must(t, "login", "--list", "--json"), second.Token)

	require.Regexp(t, `^profile ci is forgotten; its token is valid until .+, unless somebody revokes it\n$`, d.must(t, "logout", "--profile", "ci"))
	require.Contains(t, d.requireFailure(t, 1, "logout", "--profile", "ci"), "there is no profile ci: sign in with `svc login --profile ci`")
	require.Contains(t, d.requireFailure(t, 1, "logout", "--profile", "ci"), "there are: default")
	got = d.types(t, adminPassword, "logout", "--revoke")
	require.Zero(t, got.code, got.err)
	require.Equal(t, "profile default is forgotten; its token is revoked\n", got.out)
	require.Empty(t, d.tokens(t))
	require.Empty(t, d.profiles(t))
	require.Equal(t, []string{"session"}, d.sessions(t))
}

// tokens are the ids of the access tokens of the super admin.
func (d *remoteUser) tokens(t *testing.T) []string { return d.ids(t, "/user/accessTokens") }

// sessions lists a word for each session of the super admin.
func (d *remoteUser) sessions(t *testing.T) (all []string) {
	for range d.ids(t, "/user/sessions") {
		all = append(all, "session")
	}
	return all
}

func (d *remoteUser) ids(t *testing.T, path string) (ids []string) {
	t.Helper()
	c := &client.Client{URL: d.url(), Token: d.tok}
	var all []struct{ ID string }
	require.NoError(t, c.Get(t.Context(), path, &all))
	for _, one := range all {
		ids = append(ids, one.ID)
	}
	return ids
}

func TestSigningInWithASecondFactor(t *testing.T) {
	d := newRemoteUser(t)
	d.call(t, "POST", "/signup", "", `{"email":"ada@example.org","password":"long enough","firstName":"Ada","lastName":"L"}`)
	token := d.call(t, "POST", "/login", "", `{"email":"ada@example.org","password":"long enough"}`)["token"].(string)
	secret := d.call(t, "POST", "/user/mfa", token, `{"method":"totp","currentPassword":"long enough"}`)["secret"].(string)
	code := func(at time.Time) string {
		text, err := totp.GenerateCode(secret, at)
		require.NoError(t, err)
		return text
	}
	now := time.Now()
	d.call(t, "POST", "/user/mfa", token, `{"totp":"`+code(now)+`"}`)
	args := []string{"login", "--url", d.url(), "--email", "ada@example.org"}
	require.Contains(t, d.types(t, "long enough\n000000\n", args...).err, "invalid_credentials")
	got := d.types(t, "long enough\n"+code(now.Add(30*time.Second))+"\n", args...) // each code is good once
	require.Zero(t, got.code, got.err)
	require.Equal(t, "ada@example.org", d.profiles(t)["default"].Email)
}

func TestWhatTheEnvironmentSaysGoesFirst(t *testing.T) {
	d := newRemoteUser(t).signIn(t)
	d.workspace(t, "shop")
	p := d.profiles(t)["default"]
	for _, test := range []struct {
		env  []string
		code int
		want string
	}{
		{[]string{"SVC_PROFILE=ci"}, 1, "there is no profile ci"},
		{[]string{"SVC_URL=http://127.0.0.1:1"}, 1, "SVC_URL is not the service of profile default, and its token goes nowhere else: set SVC_TOKEN too"},
		{[]string{"SVC_URL=ftp://x"}, 2, "usage: SVC_URL: the address of a service begins with"},
		{[]string{"SVC_URL=https://user:pass@example.org"}, 2, "has no user, password"},
		{[]string{"SVC_URL=" + d.url(), "SVC_PROFILE=ci", "SVC_TOKEN=" + p.Token}, 0, ""},
		{[]string{"SVC_URL=" + d.url()}, 0, ""},
		{[]string{"SVC_TOKEN=nonsense"}, 1, "(invalid_token)"},
		{[]string{"SVC_TOKEN=nonsense", "SVC_PROFILE=ci"}, 1, "there is no profile ci"},
		{[]string{"SVC_URL=http://127.0.0.1:1", "SVC_TOKEN=x"}, 1, "svc: the service at http://127.0.0.1:1 does not answer: dial tcp"},
		{[]string{"XDG_CONFIG_HOME="}, 1, "set one of them"},
	} {
		d.env = test.env
		got := d.run(t, "status", "shop")
		require.Equal(t, test.code, got.code, "%v: %s", test.env, got.err)
		require.Contains(t, got.err, test.want, "%v", test.env)
	}
	d.env = nil
	require.NoError(t, os.Chmod(d.file(), 0o644))
	require.Contains(t, d.requireFailure(t, 1, "status", "shop"), "chmod 0600 "+d.file())
	require.NoError(t, os.WriteFile(d.file(), []byte(`{"profiles":{"default":{"token":at:x}}`), 0o600))
	require.NoError(t, os.Chmod(d.file(), 0o600))
	require.Contains(t, d.requireFailure(t, 1, "status", "shop"), "cannot be read as profiles")
	require.Contains(t, d.requireFailure(t, 1, "login", "--list"), "cannot be read as profiles")
}

func TestATokenThatIsNoLongerGood(t *testing.T) {
	d := newRemoteUser(t).signIn(t)
	made, err := (&client.Client{URL: d.url(), Token: d.tok}).MakeToken(t.Context(), "short", time.Now().Add(2*time.Second))
	require.NoError(t, err)
	d.env = []string{"SVC_URL=" + d.url(), "SVC_TOKEN=" + made.Token}
	var got outcome
	require.Eventually(t, func() bool {
		got = d.run(t, "versions", "platform")
		return got.code == 1
	}, time.Minute, 50*time.Millisecond)
	require.Contains(t, got.err, "(token_expired)")
	require.Contains(t, got.err, "svc: next: `svc login` again")

	d.env = nil
	d.call(t, "DELETE", "/user/accessTokens/"+d.profiles(t)["default"].TokenID, d.tok, "")
	require.Contains(t, d.requireFailure(t, 1, "versions", "platform"), "(invalid_token)")
}

func TestBadCommandLinesOfTheClient(t *testing.T) {
	d := &remoteUser{cliEnv: newCLIEnv(t), home: t.TempDir()}
	for line, want := range map[string]string{
		"push":                       "svc push takes a workspace, by its id or slug",
		"push a b":                   "svc push takes a workspace",
		"pull shop --versoin v1":     "--versoin",
		"status --refresh=perhaps x": "perhaps",
		"follow shop":                "svc follow takes a workspace, by its id or slug and an operation",
		"cancel":                     "svc cancel takes",
		"lock":                       "svc lock takes",
		"bulk push":                  "svc bulk push needs --group",
		"bulk push --group a b":      "takes no arguments",
		"bulk import":                "svc bulk import needs --group or --repository",
		"bulk pull":                  "svc bulk",
		"login now":                  "takes no arguments",
		"login --days 0":             "--days",
		"login --profile ../x":       "a profile is named with",
		"login --url nowhere":        "the address of a service begins with",
		"logout now":                 "takes no arguments",
	} {
		got := d.run(t, strings.Fields(line)...)
		require.Equal(t, 2, got.code, "%s: %s", line, got.err)
		require.Len(t, lines(got.err), 1, "%s: %s", line, got.err)
		require.Contains(t, got.err, "svc: usage: ", line)
		require.Contains(t, got.err, want, line)
	}
	require.NoFileExists(t, d.file())
	help := d.must(t, "--help")
	for _, name := range []string{"login", "logout", "push", "pull", "status", "versions", "lock", "unlock", "follow", "cancel", "bulk"} {
		require.Regexp(t, `(?m)^  `+name+` +[A-Z]`, help)
	}
	require.Contains(t, d.must(t, "bulk"), "svc bulk [command]")
}

func TestAServiceThatIsNone(t *testing.T) {
	d := &remoteUser{cliEnv: newCLIEnv(t), home: t.TempDir()}
	require.Contains(t, d.requireFailure(t, 1, "login", "--url", d.url(), "--email", "a@b.c", "--token", "t"), "svc: the service at "+d.url()+" does not answer: dial tcp")
	require.NoFileExists(t, d.file())
}
