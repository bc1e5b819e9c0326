package settings

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite docs/config.md")

const hush = "hunter2-hunter2-hunter2-hunter2!"

func TestSecretsNeverPrint(t *testing.T) {
	type holder struct {
		Password Secret
		Address  URL
		Map      map[string]Secret
	}
	h := holder{hush, URL("nats://u:" + hush + "@n:4222"), map[string]Secret{"k": hush}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		require.NotContains(t, fmt.Sprintf(verb, h), "hunter2", verb)
		require.NotContains(t, fmt.Sprintf(verb, h.Password), fmt.Sprintf("%x", "hunter2"), verb)
		require.NotContains(t, fmt.Sprintf(verb, h.Address), fmt.Sprintf("%x", "hunter2"), verb)
	}
	encoded, err := json.Marshal(h)
	require.NoError(t, err)
	require.JSONEq(t, `{"Password":"********","Address":"nats://********@n:4222","Map":{"k":"********"}}`, string(encoded))

	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", h.Password, "url", h.Address, "all", h)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", h.Password, "url", h.Address, "all", h)
	require.NotContains(t, log.String(), "hunter2")

	require.Equal(t, hush, h.Password.Reveal())
	require.Equal(t, mask, h.Password.String())
	require.Empty(t, Secret("").String())
	text, err := h.Password.MarshalText()
	require.NoError(t, err)
	require.Equal(t, mask, string(text))
}

func TestRedactURLs(t *testing.T) {
	for given, want := range map[string]string{
		"https://x/y":                    "https://x/y",
		"nats://u:p@a,nats://b":          "nats://********@a,nats://b",
		"http://u:p/w@host":              "http://********@host",
		"nats://u:p,w@host":              "nats://********@host",
		"http://u:p%zz@host":             "http://********@host",
		"https://t@x/a@b":                "https://********@b",
		"plain":                          "plain",
		"nats://a:1, nats://user:pw@b:2": "nats://a:1, nats://********@b:2",
	} {
		require.Equal(t, want, redactURLs(given), given)
	}
}

// secretSettings is a set with hush in every place a secret can be.
func secretSettings(t *testing.T) *Loaded {
	t.Helper()
	return mustLoad(t,
		`SECRETS_MASTER_KEYS=[{"kid":"k1","key":"`+goodKey+`","active":true}]`, "INTERNAL_API_KEY="+goodAPI, "ADMIN_PASSWORD="+hush,
		"NATS_URL=nats://u:"+hush+"@n", "NATS_CREDS=/"+hush, "SMTP_USER=u", "SMTP_PASS="+hush, "OTEL_EXPORTER_OTLP_HEADERS=a="+hush,
		"WORKSPACE_SECRET_ws_key="+hush, repo+"URL=https://u:"+hush+"@g/r", repo+"AUTH_PASSWORD="+hush, "HTTP_PROXY=http://u:"+hush+"@p",
		`MODELS_CONFIG={"k":"`+hush+`"}`, `AUTH_PROVIDERS_CONFIG={"k":"`+hush+`"}`)
}

func TestNothingShowsASecret(t *testing.T) {
	loaded := secretSettings(t)
	var out bytes.Buffer
	require.NoError(t, WriteText(&out, loaded.Entries()))
	require.NoError(t, loaded.WriteJSON(&out, loaded.Entries()))
	fmt.Fprintf(&out, "%v %+v %#v %s %+v %#v %+v", loaded, *loaded, *loaded, loaded, loaded.Config, loaded.Config, loaded.Config.Core.MasterKeys)
	encoded, err := json.Marshal(loaded)
	require.NoError(t, err)
	out.Write(encoded)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "config", loaded.Config, "loaded", loaded)
	raw := loaded.Config.Core.MasterKeys[0].Bytes()
	for _, leak := range []string{"hunter2", goodKey, goodAPI, string(raw), fmt.Sprintf("%x", raw)} {
		require.NotContains(t, out.String(), leak)
	}
	require.Equal(t, mask+goodAPI[len(goodAPI)-4:], entryOf(t, loaded, "INTERNAL_API_KEY").Value)
	require.Equal(t, mask, entryOf(t, loaded, "SECRETS_MASTER_KEYS").Value)
}

func TestAShortAPIKeyIsMaskedWhole(t *testing.T) {
	loaded := mustLoad(t, "LLM_BASE_URL=https://m/v1", "LLM_API_KEY=sk-short")
	require.Equal(t, mask, entryOf(t, loaded, "LLM_API_KEY").Value)
}

func TestText(t *testing.T) {
	loaded := mustLoad(t, "PORT=80", "ADDITIONAL_GLOBAL_VARS_x=a\tb", "LOG_LEVEL=warn")
	var out bytes.Buffer
	require.NoError(t, WriteText(&out, loaded.Changed()))
	require.Equal(t, ""+
		"NAME                      VALUE   SOURCE  PART\n"+
		"PORT                      80      env     http\n"+
		"ADDITIONAL_GLOBAL_VARS_x  \"a\\tb\"  env     runtime\n"+
		"LOG_LEVEL                 warn    env     obs\n", out.String())
}

func TestJSON(t *testing.T) {
	loaded := mustLoad(t, "RATE_LIMIT_LOGIN=7", "RATE_LIMIT_X=1")
	var out bytes.Buffer
	require.NoError(t, loaded.WriteJSON(&out, loaded.Changed()))
	var got Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, []Entry{{"RATE_LIMIT_LOGIN", "7", OriginEnv, PartAuth, true, false}}, got.Settings)
	require.Len(t, got.Warnings, 1)
	require.Equal(t, loaded.Digest(), got.Digest)

	out.Reset()
	require.NoError(t, mustLoad(t).WriteJSON(&out, nil))
	require.Contains(t, out.String(), `"settings": []`)
}

func TestEntriesShowWhatIsInForce(t *testing.T) {
	loaded := mustLoad(t)
	for name, want := range map[string]string{
		"API_URL": "http://localhost:3001/v2", "NODE_NAME": "node-a", "STREAM_REPLICAS": "1", "NATS_EMBEDDED": "yes",
		"JETSTREAM_MAX_STORE": "80 % of the disk", "SECRETS_MASTER_KEYS": "generated (1.1)", "SMTP_HOST": "", "CONFIG_FILE": ".env when present",
	} {
		require.Equal(t, want, entryOf(t, loaded, name).Value, name)
	}
}
