package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/settings"
)

func TestANodeCanReachItselfByDefault(t *testing.T) {
	for addr, want := range map[string]string{
		"":          "http://localhost:3001/v2",
		"0.0.0.0":   "http://localhost:3001/v2",
		"::":        "http://localhost:3001/v2",
		"127.0.0.1": "http://localhost:3001/v2",
		"127.0.0.2": "http://127.0.0.2:3001/v2",
		"::1":       "http://[::1]:3001/v2",
	} {
		loaded, err := settings.Load(settings.Source{Environ: []string{"ADDR=" + addr, "CONFIG_FILE=/dev/null"}})
		require.NoError(t, err, addr)
		require.Equal(t, want, loaded.Config.HTTP.InternalAPIURL, addr)
	}
}

func TestAMissingKeyIsToldAsMissing(t *testing.T) {
	_, err := settings.Load(settings.Source{Environ: []string{"NATS_URL=nats://127.0.0.1:4222", "CONFIG_FILE=/dev/null"}})
	require.ErrorContains(t, err, "INTERNAL_API_KEY: not set; expected a value")
	require.NotContains(t, err.Error(), "generated (1.1)")
}
