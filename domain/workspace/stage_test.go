package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
)

// Two imports that are put down in turns: neither is taken for whole.
func TestWhatIsPutDownIsWholeOrLost(t *testing.T) {
	t.Parallel()
	var s workspace.State
	down := func(name string, more bool) error {
		events, err := workspace.Decider.Decide(s, workspace.Stage{Name: name, More: more, Entries: []workspace.Entry{{Path: "pages/" + name}}})
		s = workspace.Decider.Fold(s, events...)
		return err
	}
	superseded := func(err error) {
		t.Helper()
		require.Equal(t, domain.CodeConflict, domain.CodeOf(err))
	}
	require.NoError(t, down("a", false))
	require.NoError(t, down("a", true))
	require.Len(t, s.Staged, 2)
	require.NoError(t, down("b", false))
	superseded(down("a", true))
	require.NoError(t, down("b", true))
	require.Len(t, s.Staged, 2, "of b alone")

	_, err := workspace.Decider.Decide(s, workspace.Create{ID: "w", Settings: workspace.Settings{Name: "W"}, Stage: "a"})
	superseded(err)
	s.ID = "w"
	_, err = workspace.Decider.Decide(s, workspace.Replace{Switch: workspace.Switch{Stage: "a"}, Import: &workspace.Import{}})
	superseded(err)
}
