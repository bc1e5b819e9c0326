package settings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFamilies(t *testing.T) {
	c := mustLoad(t,
		"ADDITIONAL_GLOBAL_VARS_region=eu", "WORKSPACE_CONFIG_my-ws_API_URL=https://x", "WORKSPACE_CONFIG_my-ws_b=2",
		"APP_CONFIG_chat_model=small", "WORKSPACE_SECRET_my-ws_API_KEY=s3cret",
		`WORKSPACE_GROUPS={"base":["core","shared"]}`, "WORKSPACES_GROUP_base_LABELS=shared, extra", "WORKSPACES_GROUP_my_group_LABELS=one",
	).Config
	require.Equal(t, map[string]string{"region": "eu"}, c.Runtime.GlobalVars)
	require.Equal(t, map[string]map[string]string{"my-ws": {"API_URL": "https://x", "b": "2"}}, c.Runtime.WorkspaceConfig)
	require.Equal(t, map[string]map[string]string{"chat": {"model": "small"}}, c.Runtime.AppConfig)
	require.Equal(t, map[string]map[string]Secret{"my-ws": {"API_KEY": "s3cret"}}, c.Runtime.WorkspaceSecrets)
	require.Equal(t, map[string][]string{"base": {"core", "shared", "extra"}, "my_group": {"one"}}, c.Bulk.Groups)

	require.Equal(t, map[string][]string{"base": {"core", "shared"}, "extra": {"addon"}},
		mustLoad(t, "WORKSPACE_GROUPS=base=core+shared, extra = addon").Config.Bulk.Groups)
}

func TestPlatformRepositories(t *testing.T) {
	dir := t.TempDir()
	password := writeFile(t, dir, "pw", "hush\n")
	const p = "WORKSPACES_STORAGE_GIT_PLATFORM_"
	loaded := mustLoad(t,
		p+"main_URL=https://tom:tok3n@git.example.com/r.git",
		p+"my_repo_URL=git@git.example.com:r.git", p+"my_repo_NAME=Ours", p+"my_repo_BRANCH=dev", p+"my_repo_MODE=read-only",
		p+"my_repo_AUTH_SSHKEY="+private, p+"my_repo_KNOWN_HOSTS_FILE=/hosts", p+"my_repo_REDIRECT_HOSTS=a.org, b.org", p+"my_repo_DIRPATH=envs/a",
		p+"third_URL=https://git.example.com/r.git", p+"third_AUTH_PASSWORD_FILE="+password, p+"third_CA_FILE=/ca",
	)
	repos := loaded.Config.Bulk.Repositories
	require.Equal(t, PlatformRepository{
		ID: "main", Name: "main", Type: "git", URL: "https://git.example.com/r.git", Branch: "main", Mode: "read-write",
		Auth: PlatformAuth{User: "tom", Password: "tok3n"},
	}, repos["main"])
	require.Equal(t, PlatformRepository{
		ID: "my_repo", Name: "Ours", Type: "git", URL: "git@git.example.com:r.git", Branch: "dev", Mode: "read-only", Dirpath: "envs/a",
		Auth:           PlatformAuth{SSHKey: "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----"},
		KnownHostsFile: "/hosts", RedirectHosts: []string{"a.org", "b.org"},
	}, repos["my_repo"])
	require.EqualValues(t, "hush", repos["third"].Auth.Password)
	require.Equal(t, "/ca", repos["third"].CAFile)

	require.Equal(t, "https://********@git.example.com/r.git", entryOf(t, loaded, p+"main_URL").Value)
	require.Equal(t, mask, entryOf(t, loaded, p+"my_repo_AUTH_SSHKEY").Value)
	third := entryOf(t, loaded, p+"third_AUTH_PASSWORD")
	require.Equal(t, Entry{p + "third_AUTH_PASSWORD", mask, OriginFile, PartBulk, false, true}, third)
}

func TestDocuments(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "idp.json", `{"providers":{"g":{"config":{"client_id":"a&b","client_secret":"${G_SECRET}","n":12345678901234567890}}}}`)
	writeFile(t, dir, ".env", "G_SECRET='q\"uote'\n")
	const want = `{"providers":{"g":{"config":{"client_id":"a&b","client_secret":"q\"uote","n":12345678901234567890}}}}`

	byPath, err := Load(source(dir, "AUTH_PROVIDERS_CONFIG=idp.json"))
	require.NoError(t, err)
	require.Equal(t, want, byPath.Config.Auth.Providers.Reveal())
	require.Equal(t, "idp.json", entryOf(t, byPath, "AUTH_PROVIDERS_CONFIG").Value)

	inline, err := Load(source(dir, `AUTH_PROVIDERS_CONFIG={"a":["${G_SECRET}"]}`))
	require.NoError(t, err)
	require.Equal(t, `{"a":["q\"uote"]}`, inline.Config.Auth.Providers.Reveal())
	require.Equal(t, mask, entryOf(t, inline, "AUTH_PROVIDERS_CONFIG").Value)
}

func TestLookalikes(t *testing.T) {
	tests := []struct{ variable, want string }{
		{"RATE_LIMIT_LOGINS", "did you mean RATE_LIMIT_LOGIN?"},
		{"RATE_LIMIT_EVERYTHING_AT_ALL", "RATE_LIMIT_EVERYTHING_AT_ALL is not a setting"},
		{"JWKS_ALGO", "did you mean JWKS_ALG?"},
		{"NATS_SERVER", "NATS_SERVER is not a setting"},
		{"WORKSPACE_CONFIG_nothing", "is not a setting"},
		{"WORKSPACE_GROUP", "did you mean WORKSPACE_GROUPS?"},
		{"LOG_LEVL", "did you mean LOG_LEVEL?"},
		{"XPORT", "did you mean PORT?"},
		{"LOG_LEVL_FILE", ""},
		{"PATH", ""}, {"HOME", ""}, {"GIT_DIR", ""}, {"NODE_ENV", ""}, {"OTEL_SDK_DISABLED", ""}, {"HTTP_HOST", ""},
	}
	for _, tt := range tests {
		t.Run(tt.variable, func(t *testing.T) {
			warnings := mustLoad(t, tt.variable+"=x").Warnings
			if tt.want == "" {
				require.Empty(t, warnings)
				return
			}
			require.Len(t, warnings, 1)
			require.Contains(t, warnings[0], tt.want)
		})
	}
	t.Run("a variable that a document uses is no mistake", func(t *testing.T) {
		require.Empty(t, mustLoad(t, "LLM_OTHER_KEY=x", `MODELS_CONFIG={"k":"${LLM_OTHER_KEY}"}`).Warnings)
	})
	t.Run("CONFIG_FILE inside the config file", func(t *testing.T) {
		dir := t.TempDir()
		writeFile(t, dir, ".env", "CONFIG_FILE=other\nRATE_LIMIT_X=1\n")
		loaded, err := Load(source(dir))
		require.NoError(t, err)
		require.Len(t, loaded.Warnings, 2)
	})
}
