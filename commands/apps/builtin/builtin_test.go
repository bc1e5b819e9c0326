package builtin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/apps/builtin"
	"svc/domain/app"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/workspace"
)

// Built-in apps are workspaces without any fault.
func TestBuiltInAppsAreSound(t *testing.T) {
	all, err := builtin.Read()
	require.NoError(t, err)
	for _, b := range app.BuiltIns() {
		refs, err := all.At(t.Context(), b.WorkspaceID, app.BuiltInRevision)
		require.NoError(t, err)
		require.Contains(t, refs, "index")
		for path, ref := range refs {
			doc, err := all.Document(t.Context(), b.WorkspaceID, ref)
			require.NoError(t, err)
			if folder, _ := workspace.Folder(path); folder == "automations" {
				parsed, faults := automation.Parse(doc, automation.Rules{})
				require.Empty(t, faults, "%s %s", b.Slug, path)
				require.Empty(t, input.Faults(parsed, nil), path)
				continue
			}
			require.Empty(t, shape.Check(document.Index, doc), path)
		}
	}
}
