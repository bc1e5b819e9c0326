package workspace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
)

var (
	origin = workspace.Location{URL: "https://git.example.com/x.git", Branch: "main"}
	pull1  = &workspace.Operation{ID: "op_1", Kind: "pull"}
)

func lockedAt(epoch uint64, op *workspace.Operation, reason string) workspace.Locked {
	until := noon.Add(30 * time.Minute)
	return workspace.Locked{Reason: reason, Epoch: epoch, LockedBy: "u1", LockedAt: noon, Operation: op, ExpiresAt: &until}
}

func conflicted() *workspace.Conflicted {
	return &workspace.Conflicted{RepositoryID: "origin", OperationID: "op_1", Location: origin, By: "u1", At: noon, Branch: "svc/w/main", Files: []workspace.ConflictFile{{Path: "index.yml", Kind: "modify/modify"}}}
}

func conflictLock(epoch uint64) workspace.Locked {
	return workspace.Locked{Reason: workspace.MergeConflict, Epoch: epoch, LockedBy: "u1", LockedAt: noon, Conflict: conflicted()}
}

func TestAConflictHoldsTheLockUntilItIsDecided(t *testing.T) {
	t.Parallel()
	conflict := []domain.Event{created, lockedAt(1, pull1, workspace.PullInProgress), conflictLock(2)}
	again := &workspace.Operation{ID: "op_2", Kind: "pull"}
	goesOn := append(append([]domain.Event{}, conflict...), lockedAt(3, again, workspace.PullInProgress))
	for name, sc := range map[string]scenario{
		"a pull that cannot merge": {
			Given: conflict[:2], When: workspace.Conflict{Epoch: 1, Conflicted: *conflicted()}, Then: []domain.Event{conflictLock(2)},
		},
		"one whose lock was taken away": {
			Given: conflict, When: workspace.Conflict{Epoch: 1, Conflicted: *conflicted()}, Refuse: domain.CodeConflict,
		},
		"a pull of another repository": {
			Given: conflict, When: workspace.AcquireLock{Reason: workspace.PullInProgress, Now: noon, Timeout: time.Minute, Operation: again, Over: "other"}, Refuse: domain.CodeLocked,
		},
		"a push": {
			Given: conflict, When: workspace.AcquireLock{Reason: workspace.PushInProgress, Now: noon, Timeout: time.Minute, Operation: again}, Refuse: domain.CodeLocked,
		},
		"a pull of the same goes on": {
			Given: conflict, When: workspace.AcquireLock{Reason: workspace.PullInProgress, By: "u1", Now: noon, Timeout: 30 * time.Minute, Operation: again, Over: "origin"},
			Then: []domain.Event{lockedAt(3, again, workspace.PullInProgress)},
		},
		"which fails": {
			Given: goesOn, When: workspace.Release{Epoch: 3, Cause: "failed"}, Then: []domain.Event{conflictLock(4)},
		},
		"which runs out of time": {
			Given: goesOn, When: workspace.Expire{Now: noon.Add(time.Hour)}, Then: []domain.Event{conflictLock(4)},
		},
		"which runs out of time before a push asks": {
			Given: goesOn, When: workspace.AcquireLock{Reason: workspace.PushInProgress, Now: noon.Add(time.Hour), Operation: again}, Refuse: domain.CodeLocked,
		},
		"which brings what was resolved": {
			Given: goesOn, When: workspace.Replace{Epoch: 3, Import: &workspace.Import{OperationID: "op_2"}},
			Then: []domain.Event{workspace.Imported{Import: workspace.Import{OperationID: "op_2"}}, workspace.Unlocked{Reason: workspace.PullInProgress, Epoch: 3, Cause: "resolved"}},
		},
		"somebody clears the lock": {
			Given: conflict, When: workspace.Clear{}, Then: []domain.Event{workspace.Unlocked{Reason: workspace.MergeConflict, Epoch: 2, Cause: "cleared"}},
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); sc.Check(t, workspace.Decider) })
	}
	cleared := workspace.Decider.Fold(workspace.State{}, append(conflict, workspace.Unlocked{Cause: "cleared"})...)
	require.Nil(t, cleared.Conflict)
	require.Nil(t, cleared.Lock)
}

func TestWhoTakesOverFencesWhoWasThere(t *testing.T) {
	t.Parallel()
	given := []domain.Event{created, lockedAt(1, pull1, workspace.PullInProgress)}
	taken := lockedAt(2, pull1, workspace.PullInProgress)
	scenario{Given: given, When: workspace.TakeOver{OperationID: "op_1", Now: noon, Timeout: 30 * time.Minute}, Then: []domain.Event{taken}}.Check(t, workspace.Decider)
	scenario{Given: given, When: workspace.TakeOver{OperationID: "op_2", Now: noon}, Refuse: domain.CodeConflict}.Check(t, workspace.Decider)
	after := append(append([]domain.Event{}, given...), taken)
	for _, late := range []workspace.Command{
		workspace.Release{Epoch: 1}, workspace.Mark{Epoch: 1}, workspace.Intend{Epoch: 1},
		workspace.Replace{Epoch: 1, Import: &workspace.Import{}}, workspace.Push{Epoch: 1, Version: workspace.Version{Name: "native"}},
	} {
		scenario{Given: after, When: late, Refuse: domain.CodeConflict}.Check(t, workspace.Decider)
	}
}

func TestThatARemoteTookAPushIsRecordedWhateverHappens(t *testing.T) {
	t.Parallel()
	push := &workspace.Operation{ID: "op_1", Kind: "push"}
	version := workspace.Version{Name: "v1", Repository: &workspace.RepositoryRef{ID: "origin"}, Commit: "c1", OperationID: "op_1"}
	intent := workspace.Intent{OperationID: "op_1", Commit: "c1", Version: version, Synced: 7, Base: workspace.Base{Commit: "c1", Files: "f"}}
	given := []domain.Event{created, lockedAt(1, push, workspace.PushInProgress), workspace.Intended{RepositoryID: "origin", Location: origin, Intent: intent}}
	record := workspace.Push{Epoch: 1, Intent: &intent, RepositoryID: "origin", Location: origin}
	moved := workspace.Published{Version: version, Synced: 7, Base: &intent.Base, Location: origin}
	unmoved := moved
	unmoved.Base = nil
	scenario{Given: given, When: record, Then: []domain.Event{moved, workspace.Unlocked{Reason: workspace.PushInProgress, Epoch: 1, Cause: "completed"}}}.Check(t, workspace.Decider)

	cleared := append(append([]domain.Event{}, given...), workspace.Unlocked{Cause: "cleared"})
	scenario{Given: cleared, When: record, Then: []domain.Event{moved}}.Check(t, workspace.Decider)

	pulled := workspace.Imported{Sync: &workspace.Integration{RepositoryID: "origin", Location: origin, Base: &workspace.Base{Commit: "c2"}}}
	scenario{Given: append(append([]domain.Event{}, cleared...), pulled), When: record, Then: []domain.Event{unmoved}}.Check(t, workspace.Decider)

	done := append(append([]domain.Event{}, given...), moved)
	scenario{Given: done, When: record}.Check(t, workspace.Decider)
	s := workspace.Decider.Fold(workspace.State{}, done...)
	sync := s.SyncWith("origin", origin)
	require.Nil(t, sync.Intent)
	require.Equal(t, "c1", sync.Base.Commit)
	require.True(t, sync.Recorded("c1"))
	require.Nil(t, s.SyncWith("origin", workspace.Location{URL: origin.URL, Branch: "other"}).Base, "another branch has another base")
	require.Error(t, s.CheckVersion("v1", ""))
	require.NoError(t, s.CheckVersion("v2", ""))

	scenario{Given: done, When: workspace.DeleteVersion{Name: "v1"}, Then: []domain.Event{workspace.VersionDeleted{Version: version}}}.Check(t, workspace.Decider)
	scenario{Given: done, When: workspace.DeleteVersion{Name: "v2"}, Refuse: domain.CodeNotFound}.Check(t, workspace.Decider)
}

func TestNamesOfVersions(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"v1", "2.5.0", "a_b-c", "Z"} {
		require.NoError(t, workspace.CheckVersionName(good), good)
	}
	for _, bad := range []string{"", "current", "latest", ".a", "a.", "a..b", "a.lock", "a/b", "a b", "é", string(make([]byte, 64))} {
		require.Equal(t, domain.CodeValidation, domain.CodeOf(workspace.CheckVersionName(bad)), bad)
	}
}

// A workspace that was renamed has a directory beside its new one, until a push has
// taken it away.
func TestARenamedWorkspaceHasLeftADirectory(t *testing.T) {
	t.Parallel()
	at := func(root string) workspace.Location {
		return workspace.Location{URL: origin.URL, Branch: "main", Root: root}
	}
	left := &workspace.Left{Root: "envs/old", Files: "f"}
	base := workspace.Sync{Location: at("envs/old"), Base: &workspace.Base{Commit: "c", Files: "f"}}
	about := workspace.Sync{Location: at("envs/new"), Intent: &workspace.Intent{Left: left}}
	for name, tt := range map[string]struct {
		known workspace.Sync
		at    workspace.Location
		left  *workspace.Left
	}{
		"it was renamed":                {base, at("envs/new"), left},
		"it is where it was":            {base, at("envs/old"), nil},
		"nothing was ever there":        {workspace.Sync{Location: at("envs/old")}, at("envs/new"), nil},
		"the administrator moved all":   {base, at("other/new"), nil},
		"it is another repository":      {base, workspace.Location{URL: "https://other", Branch: "main", Root: "envs/new"}, nil},
		"it is another branch":          {base, workspace.Location{URL: origin.URL, Branch: "next", Root: "envs/new"}, nil},
		"a push was about to":           {about, at("envs/new"), left},
		"and it was renamed again":      {about, at("envs/newer"), left},
		"and then back to where it was": {about, at("envs/old"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := workspace.State{Sync: map[string]workspace.Sync{"main": tt.known}}
			require.Equal(t, tt.left, s.LeftIn("main", tt.at))
			require.Nil(t, s.LeftIn("unknown", tt.at))
		})
	}
}

// Everything that a state needs of the blob store is listed: what is not is deleted in time.
func TestAStateListsItsBlobs(t *testing.T) {
	base := func(files string) *workspace.Base { return &workspace.Base{Files: files} }
	s := workspace.State{
		Sync: map[string]workspace.Sync{
			"none": {},
			"one":  {Base: base("a"), Intent: &workspace.Intent{Base: *base("b"), Left: &workspace.Left{Files: "c"}}},
			"two":  {Base: base("d")},
		},
		Conflict: &workspace.Conflicted{Base: base("e"), Ours: workspace.SavedState{Files: "f"}, Theirs: *base("g")},
		Staged:   []workspace.Entry{{Hash: "h", Apart: true}, {Hash: "inline"}},
	}
	require.ElementsMatch(t, []string{"a", "b", "c", "d", "e", "f", "g", "h"}, s.Blobs())
	require.Empty(t, workspace.State{}.Blobs())
}
