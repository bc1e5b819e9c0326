package secrets_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/secrets"
	"svc/domain"
)

// workspaces are those with secrets, by id.
type workspaces map[string]map[string]string

var errBroken = errors.New("the secrets do not open")

// All implements secrets.Values.
func (w workspaces) All(_ context.Context, workspaceID string) (map[string]string, error) {
	if workspaceID == "broken" {
		return nil, errBroken
	}
	return w[workspaceID], nil
}

func TestReferencesBecomeValues(t *testing.T) {
	t.Parallel()
	s := secrets.Secrets{Values: workspaces{"w1": {"user": "ada", "pass.word-1": "p@ss{{secret.user}}$1", "svc_limit": "9", "empty": ""}}}
	for text, want := range map[string]string{
		"plain":              "plain",
		"":                   "",
		"{{secret.user}}":    "ada",
		"<{{secret.empty}}>": "<>",
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

	_, err = s.Resolve(t.Context(), "broken", "{{secret.user}}")
	require.ErrorIs(t, err, errBroken)
	text, err := s.Resolve(t.Context(), "broken", "plain")
	require.NoError(t, err, "what refers to nothing asks nobody")
	require.Equal(t, "plain", text)
}
