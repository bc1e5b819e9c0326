package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
)

// Who is refused because of a lock is told what to do about it.
func TestALockSaysWhatToDo(t *testing.T) {
	t.Parallel()
	pull := &workspace.Operation{ID: "op_1", Kind: "pull"}
	for want, lock := range map[string]workspace.Lock{
		"the workspace is locked because a pull ended in a merge conflict: resolve it first. GET {w}/conflicts lists the files, POST {w}/conflicts/resolve chooses a side or gives the content of each": {Reason: workspace.MergeConflict, Operation: pull},
		"the workspace is locked while a pull is running (pull_in_progress): try again when it has ended":                                                                                               {Reason: workspace.PullInProgress, Operation: pull},
		"the workspace is locked while an import is running (import_in_progress): try again when it has ended":                                                                                          {Reason: workspace.ImportInProgress, Operation: &workspace.Operation{Kind: "import"}},
		"the workspace is locked (stock taking): wait until it is unlocked, or unlock it with DELETE {w}/writeLock (needs manage_security)":                                                             {Reason: "stock taking"},
	} {
		err := lock.Refusal()
		require.EqualError(t, err, string(domain.CodeLocked)+": "+want)
	}
}
