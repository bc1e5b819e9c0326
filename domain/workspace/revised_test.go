package workspace_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
)

func TestImportsAndRestorationsTellTheContentRevision(t *testing.T) {
	t.Parallel()
	for _, ev := range []domain.Event{
		workspace.Imported{Import: workspace.Import{Files: []string{"index"}, OperationID: "op1"}},
		workspace.Restored{Restore: workspace.Restore{Files: []string{"index"}, From: workspace.From{Seq: "s1"}}},
	} {
		body, err := json.Marshal(ev.(domain.Revised).PayloadAt(48213))
		require.NoError(t, err)
		var shown, stored map[string]any
		require.NoError(t, json.Unmarshal(body, &shown))
		require.EqualValues(t, 48213, shown["contentRevision"])
		body, err = json.Marshal(ev.(domain.PayloadEvent).Payload())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(body, &stored))
		delete(shown, "contentRevision")
		require.Equal(t, stored, shown, "the rest is what is stored")
	}
}
