package repositories_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/commands/gitsync"
	"svc/commands/repositories"
	"svc/commands/seal"
	"svc/commands/secrets"
	"svc/commands/vault"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

// repositoryFixture is a workspace over a real log with a real vault.
type repositoryFixture struct {
	*repositories.Repositories
	t       *testing.T
	id      string
	log     *jetstream.Store
	secrets secretValues
	git     gitsync.Options
}

// secretValues holds the secrets of the workspace by name.
type secretValues map[string]string

// All implements secrets.Values.
func (s secretValues) All(context.Context, string) (map[string]string, error) { return s, nil }

func open(t *testing.T) *repositoryFixture {
	t.Helper()
	h := &repositoryFixture{t: t, log: livetest.Store(t, jetstream.Options{}), secrets: secretValues{}}
	h.git.Dial = func(ctx context.Context, _, address string, _ bool) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	bucket, err := h.log.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "VAULT"})
	require.NoError(t, err)
	box, err := seal.New([]seal.MasterKey{{KID: "k1", Key: bytes.Repeat([]byte("k"), 32), Active: true}})
	require.NoError(t, err)
	v := vault.New(box, bucket)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: h.log.Log})
	require.NoError(t, err)
	h.Repositories = &repositories.Repositories{
		Workspaces: commands.Workspaces{Engine: engine}, Vault: v, Secrets: secrets.Secrets{Values: h.secrets},
		Git: func() gitsync.Options { return h.git },
	}
	made, err := h.Workspaces.Create(t.Context(), workspace.Settings{Name: "Shop"})
	require.NoError(t, err)
	h.id = made.State.ID
	return h
}

// setSecret makes a secret of the workspace.
func (h *repositoryFixture) setSecret(name, value string) { h.secrets[name] = value }

func patch(t *testing.T, text string) *document.Map {
	t.Helper()
	doc := document.MapOf()
	require.NoError(t, doc.UnmarshalJSON([]byte(`{"repositories":`+text+`}`)))
	return doc
}

// save sets the repositories and returns how they are stored.
func (h *repositoryFixture) save(text string) string {
	h.t.Helper()
	done, err := h.Update(h.t.Context(), h.id, patch(h.t, text), "")
	require.NoError(h.t, err)
	return h.written(done.State)
}

func (h *repositoryFixture) written(state workspace.State) string {
	h.t.Helper()
	body, err := document.JSON(state.Settings.Repositories)
	require.NoError(h.t, err)
	return string(body)
}

// firstFault returns the field of the first fault.
func (h *repositoryFixture) firstFault(code domain.Code, text string) domain.FieldError {
	h.t.Helper()
	_, err := h.Update(h.t.Context(), h.id, patch(h.t, text), "")
	require.Equal(h.t, code, domain.CodeOf(err), "%s: %v", text, err)
	require.NotContains(h.t, err.Error(), "S3CRET")
	dry := h.Check(h.t.Context(), h.id, patch(h.t, text))
	require.EqualError(h.t, dry, err.Error(), "a dry run says the same")
	var refusal *domain.Error
	require.ErrorAs(h.t, err, &refusal)
	return refusal.Details["errors"].([]domain.FieldError)[0]
}

func (h *repositoryFixture) state() workspace.State {
	h.t.Helper()
	now, err := h.Workspaces.Get(h.t.Context(), h.id)
	require.NoError(h.t, err)
	return now.State
}

func (h *repositoryFixture) find(id string) repositories.Repository {
	h.t.Helper()
	found, err := h.Find(h.t.Context(), h.state(), id)
	require.NoError(h.t, err)
	return found
}

// requireNotRecorded checks that no event has a text.
func (h *repositoryFixture) requireNotRecorded(text string) {
	h.t.Helper()
	events, err := h.log.Log.Load(h.t.Context(), workspace.Stream(h.id), 0)
	require.NoError(h.t, err)
	for _, ev := range events {
		whole, err := json.Marshal(ev)
		require.NoError(h.t, err)
		require.NotContains(h.t, string(whole), text)
		if shown, ok := ev.Data.(domain.PayloadEvent); ok {
			payload, err := json.Marshal(shown.Payload())
			require.NoError(h.t, err)
			require.NotContains(h.t, string(payload), text)
			require.NotContains(h.t, string(payload), "credentials", "not even sealed")
		}
	}
}
