package versioning

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/projections/livetest"
)

func TestAPayloadTellsTheRevisionThatTheContentHad(t *testing.T) {
	t.Parallel()
	store, models := livetest.Open(t)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: store.Log, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ws := commands.Workspaces{Engine: engine}
	made, err := ws.Create(t.Context(), workspace.Settings{Name: "Shop"})
	require.NoError(t, err)
	id := made.State.ID
	bring := func(change workspace.Switch) {
		t.Helper()
		_, err := ws.Write(t.Context(), id, workspace.Replace{Switch: change, Import: &workspace.Import{OperationID: "op"}})
		require.NoError(t, err)
	}
	settings := made.State.Settings
	settings.Name = "Store"
	bring(workspace.Switch{})
	bring(workspace.Switch{Settings: &settings})
	_, err = ws.Update(t.Context(), id, document.MapOf(document.Pair{Key: "name", Value: "Later"}), "")
	require.NoError(t, err)

	events, err := store.Log.Load(t.Context(), workspace.Stream(id), 0)
	require.NoError(t, err)
	require.Len(t, events, 4)
	told := func(ev domain.Recorded) uint64 {
		t.Helper()
		shown, err := domain.PayloadOf(ev, (&Handlers{ReadModel: models}).revisionAt(t.Context()))
		require.NoError(t, err)
		body, err := json.Marshal(shown)
		require.NoError(t, err)
		var fields struct{ ContentRevision uint64 }
		require.NoError(t, json.Unmarshal(body, &fields))
		return fields.ContentRevision
	}
	require.Equal(t, events[0].Seq, told(events[1]), "it found nothing to change")
	require.Equal(t, events[2].Seq, told(events[2]), "it changed the content; what came later does not count")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&Handlers{ReadModel: models}).revisionAt(ended)(id, events[3].Seq+100)
	require.ErrorIs(t, err, context.Canceled)
}
