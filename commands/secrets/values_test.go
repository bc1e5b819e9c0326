package secrets_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/secrets"
	"svc/domain"
)

// storedSecrets is the stored secrets of one workspace.
type storedSecrets struct {
	seq     uint64
	sealed  map[string][]byte
	deleted bool
}

func (s *storedSecrets) Position() domain.Position { return domain.Position{State: s.seq} }

func (s *storedSecrets) SealedSecrets(string) (sealed map[string][]byte, slug string, deleted bool, err error) {
	return maps.Clone(s.sealed), "shop", s.deleted, nil
}

// change stores a secret, at the next position.
func (s *storedSecrets) change(name, text string) {
	s.seq++
	s.sealed[name] = []byte(text)
}

// opener opens what is sealed with a prefix, and counts.
type opener struct {
	commands.Vault
	opened int
}

func (o *opener) Open(_ context.Context, workspaceID string, sealed []byte, purpose string) ([]byte, error) {
	o.opened++
	if string(sealed) == "damaged" {
		return nil, errors.New("does not open")
	}
	return []byte(workspaceID + " " + purpose + " " + string(sealed)), nil
}

func openSecrets() (*secrets.Opener, *storedSecrets, *opener) {
	stored, vault := &storedSecrets{seq: 1, sealed: map[string][]byte{}}, &opener{}
	defaults := map[string]map[string]string{"shop": {"token": "default", "svc_ratelimit_emits": "7"}, "other": {"theirs": "x"}}
	return secrets.NewOpener(stored, vault, func() map[string]map[string]string { return defaults }), stored, vault
}

func TestStoredSecretsAreAboveThoseOfTheSettings(t *testing.T) {
	t.Parallel()
	o, stored, _ := openSecrets()
	all, err := o.All(t.Context(), "w1")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"token": "default"}, all)
	stored.change("token", "mine")
	all, err = o.All(t.Context(), "w1")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"token": "w1 secret/token mine"}, all)
	redactor, err := o.Redactor(t.Context(), "w1")
	require.NoError(t, err)
	require.Contains(t, redactor.Secrets(), "w1 secret/token mine")
	both, same, err := o.Open(t.Context(), "w1")
	require.NoError(t, err)
	require.Equal(t, all, both)
	require.Same(t, redactor, same)
}

func TestSecretsOfThePlatformAreApart(t *testing.T) {
	t.Parallel()
	o, stored, _ := openSecrets()
	stored.change("svc_ratelimit_fetchs", "9")
	platform, err := o.Platform(t.Context(), "w1")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"svc_ratelimit_emits": "7", "svc_ratelimit_fetchs": "w1 secret/svc_ratelimit_fetchs 9"}, platform)
	all, err := o.All(t.Context(), "w1")
	require.NoError(t, err)
	require.NotContains(t, all, "svc_ratelimit_fetchs")
}

func TestASecretIsOpenedOnceAsLongAsItIsTheSame(t *testing.T) {
	t.Parallel()
	o, stored, vault := openSecrets()
	stored.change("a", "1")
	stored.change("b", "2")
	for range 3 {
		stored.seq++ // something else was stored
		_, err := o.All(t.Context(), "w1")
		require.NoError(t, err)
	}
	require.Equal(t, 2, vault.opened)
	stored.change("b", "3")
	all, err := o.All(t.Context(), "w1")
	require.NoError(t, err)
	require.Equal(t, "w1 secret/b 3", all["b"])
	require.Equal(t, 3, vault.opened)
}

func TestSecretsOfADeletedWorkspaceAreNotCached(t *testing.T) {
	t.Parallel()
	o, stored, vault := openSecrets()
	stored.change("a", "1")
	stored.deleted = true
	for range 2 {
		all, err := o.All(t.Context(), "w1")
		require.NoError(t, err)
		require.Equal(t, "w1 secret/a 1", all["a"])
	}
	require.Equal(t, 2, vault.opened)
}

func TestASecretThatDoesNotOpenIsNamed(t *testing.T) {
	t.Parallel()
	o, stored, _ := openSecrets()
	stored.change("a", "damaged")
	_, err := o.All(t.Context(), "w1")
	require.ErrorContains(t, err, "open secret a of workspace w1")
}
