package secrets_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/seal"
	"svc/commands/secrets"
	"svc/commands/vault"
	"svc/domain"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

// shelf holds sealed secrets by name.
type shelf map[string][]byte

// Secrets implements secrets.Finder.
func (s shelf) Secrets(context.Context, string, []string) (map[string][]byte, error) { return s, nil }

// filled returns secrets of a workspace in a real vault.
func filled(t *testing.T, values map[string]string) secrets.Secrets {
	t.Helper()
	bucket, err := livetest.Store(t, jetstream.Options{}).Bucket(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte{7, 0x5a}, 16), Active: true}})
	require.NoError(t, err)
	v := vault.New(box, bucket)
	sealed := shelf{}
	for name, value := range values {
		sealed[name], err = v.Seal(t.Context(), "w1", []byte(value), secrets.Purpose(name))
		require.NoError(t, err)
	}
	return secrets.Secrets{Finder: sealed, Vault: v}
}

func TestReferencesBecomeValues(t *testing.T) {
	t.Parallel()
	s := filled(t, map[string]string{"user": "ada", "pass.word-1": "p@ss{{secret.user}}$1", "svc_limit": "9", "damaged": "x"})
	s.Finder.(shelf)["damaged"] = []byte("not sealed here")
	for text, want := range map[string]string{
		"plain":           "plain",
		"":                "",
		"{{secret.user}}": "ada",
		"https://{{secret.user}}:{{ secret.pass.word-1 }}@host": "https://ada:p@ss{{secret.user}}$1@host",
		"{{config.user}} {{secret}} {secret.user}":              "{{config.user}} {{secret}} {secret.user}",
	} {
		got, err := s.Resolve(t.Context(), "w1", text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := s.Resolve(t.Context(), "w1", "{{secret.user}} {{secret.nope}} {{secret.svc_limit}} {{secret.nope}}")
	require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	refusal := err.(*domain.Error) //nolint:errorlint // returned as it is
	require.Equal(t, "secret_missing", refusal.Details["reason"])
	require.Equal(t, []string{"nope", "svc_limit"}, refusal.Details["names"])
	require.NotContains(t, err.Error(), "ada")

	_, err = s.Resolve(t.Context(), "w1", "{{secret.damaged}}")
	require.ErrorIs(t, err, vault.ErrDamaged)
	_, err = s.Resolve(t.Context(), "w2", "{{secret.user}}")
	require.ErrorIs(t, err, vault.ErrNoKey, "a value opens in its own workspace only")
}
