package versioning_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConflict25TheSameKeyOnBothSides(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	base := p.onMain()
	head := pushFromOther(clone, "charge", "theirs")
	p.automation("charge", "ours")
	content := p.content()

	details := p.requireRefusal(409, "merge_conflict", "POST", "/pull", toOrigin)
	require.Equal(t, []any{"automations/charge.yml"}, details["files"])
	require.Equal(t, p.own(), details["branch"])
	require.Equal(t, "main", details["targetBranch"])
	require.NotContains(t, details, "unrelated")
	p.failedIn("merge", "merge_conflict")
	require.Equal(t, content, p.content())
	lock := p.workspace()["writeLock"].(map[string]any)
	require.Equal(t, "merge_conflict", lock["reason"])
	require.Nil(t, lock["expiresAt"])
	require.True(t, p.isDirty())
	saved := p.onOwn()
	require.Equal(t, []string{base}, p.parents(saved))
	require.Contains(t, p.repo.Git("show", saved+":automations/charge.yml"), "event: ours")
	require.Equal(t, head, p.onMain())

	found := p.ok(200, "GET", "/conflicts", "")
	require.Equal(t, []any{"origin", p.own(), "main"}, []any{found["repositoryId"], found["branch"], found["targetBranch"]})
	require.Equal(t, []any{base, saved, head}, []any{found["base"], found["ours"], found["theirs"]})
	require.Equal(t, p.last()["id"], found["operationId"])
	one := found["files"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"automations/charge.yml", "modify/modify", []any{"do"}}, []any{one["path"], one["kind"], one["keys"]})
	for side, event := range map[string]string{"base": "charged", "ours": "ours", "theirs": "theirs"} {
		require.Contains(t, one[side].(map[string]any)["content"], "event: "+event)
	}
	require.Contains(t, one["merged"], "<<<<<<<")
}

func TestConflict26NothingElseGoesOn(t *testing.T) {
	t.Parallel()
	p, _ := newConflict(t, shared(t))
	own, main := p.onOwn(), p.onMain()
	for _, path := range []string{"/push", "/versions"} {
		details := p.requireRefusal(423, "merge_conflict", "POST", path, toOrigin)
		require.NotContains(t, details, "expiresAt")
	}
	p.requireRefusal(423, "merge_conflict", "PUT", "/automations/charge", `{"slug":"charge","name":"charge","do":[]}`)
	p.requireRefusal(423, "merge_conflict", "POST", "/versions/v1/pull", toOrigin)
	require.Equal(t, []string{own, main}, []string{p.onOwn(), p.onMain()})
	require.Equal(t, "ours", p.emittedEvent("charge"))

	p.ok(200, "PATCH", "", `{"repositories":{"other":{"name":"Other","config":{"url":"https://127.0.0.1:1/x.git"}}}}`)
	p.requireRefusal(423, "merge_conflict", "POST", "/pull", `{"repository":"other"}`)
	require.Equal(t, "merge_conflict", p.locked())
}

func TestConflict27NothingWasDone(t *testing.T) {
	t.Parallel()
	p, _ := newConflict(t, shared(t))
	own := p.onOwn()
	details := p.requirePullFailure(409, "merge_conflict", "merge", "/pull", toOrigin)
	require.Equal(t, false, details["resolved"])
	require.NotEmpty(t, details["hint"])
	require.Equal(t, []any{"automations/charge.yml"}, details["files"])
	p.requirePullFailure(409, "merge_conflict", "merge", "/pull", `{"repository":"origin","discardLocalChanges":true}`)
	require.Equal(t, own, p.onOwn())
	require.Len(t, p.ok(200, "GET", "/conflicts", "")["files"], 1)
}

func TestConflict28ResolvedInGit(t *testing.T) {
	t.Parallel()
	p, clone := newConflict(t, shared(t))
	clone.Git("checkout", "-q", "-b", "work", "origin/"+p.own())
	clone.Git("merge", "-q", "-X", "ours", "--no-commit", "origin/main")
	clone.Write("automations/charge.yml", file("charge", "resolved"))
	resolution := clone.Commit("resolved")
	clone.Push(p.own())

	got := p.pull()
	require.Equal(t, []any{"automations/charge"}, got["imported"])
	require.Equal(t, "resolved", p.emittedEvent("charge"))
	require.Equal(t, resolution, p.onOwn(), "nothing is saved before")
	require.Empty(t, p.locked())
	require.True(t, p.isDirty())
	require.Empty(t, p.ok(200, "GET", "/conflicts", "")["files"])
	p.push("v2")
	require.Equal(t, resolution, p.onMain())
	require.False(t, p.isDirty())
}

func TestConflict29MergedIntoTheTarget(t *testing.T) {
	t.Parallel()
	p, clone := newConflict(t, shared(t))
	clone.Git("merge", "-q", "--no-ff", "-X", "theirs", "-m", "merged", "origin/"+p.own())
	clone.Write("automations/refund.yml", file("refund", "refunded"))
	clone.Commit("and more")
	clone.Push("main")

	got := p.pull()
	require.Equal(t, []any{"automations/refund"}, got["imported"])
	require.Equal(t, "ours", p.emittedEvent("charge"))
	require.Equal(t, "refunded", p.emittedEvent("refund"))
	require.False(t, p.isDirty())
	require.Empty(t, p.locked())
}

// moveTargetOn makes a conflict that is resolved on the branch of the workspace, and then pushes an
// automation of the other developer to main.
func moveTargetOn(t *testing.T, slug, event string) (p *gitWorkspace, resolution, head string) {
	t.Helper()
	p, clone := newConflict(t, shared(t))
	clone.Git("checkout", "-q", "-b", "work", "origin/"+p.own())
	clone.Git("merge", "-q", "-X", "ours", "-m", "resolved", "origin/main")
	resolution = clone.Head()
	clone.Push(p.own())
	clone.Git("checkout", "-q", "main")
	return p, resolution, pushFromOther(clone, slug, event)
}

func TestConflict30TheTargetMovedOn(t *testing.T) {
	t.Parallel()
	p, resolution, head := moveTargetOn(t, "refund", "refunded")

	got := p.pull()
	require.Equal(t, []any{"automations/refund"}, got["imported"])
	require.Equal(t, "ours", p.emittedEvent("charge"))
	require.Equal(t, []string{resolution, head}, p.parents(p.onOwn()))
	require.Empty(t, p.locked())
	require.True(t, p.isDirty())
	p.push("v2")
	require.Equal(t, p.onOwn(), p.onMain())
}

// When the target moved on and clashes with the resolution, the conflict is that
// of the two.
func TestConflict30TheTargetMovedOnAndClashes(t *testing.T) {
	t.Parallel()
	p, resolution, head := moveTargetOn(t, "charge", "theirs again")

	details := p.requirePullFailure(409, "merge_conflict", "merge", "/pull", toOrigin)
	require.NotContains(t, details, "resolved")
	found := p.ok(200, "GET", "/conflicts", "")
	require.Equal(t, []any{resolution, head}, []any{found["ours"], found["theirs"]})
	one := found["files"].([]any)[0].(map[string]any)
	require.Contains(t, one["base"].(map[string]any)["content"], "event: theirs\n")
	require.Contains(t, one["theirs"].(map[string]any)["content"], "theirs again")
	p.requirePullFailure(409, "merge_conflict", "merge", "/pull", toOrigin)
	require.Equal(t, resolution, p.onOwn())

	p.ok(200, "POST", "/conflicts/resolve", `{"files":{"automations/charge.yml":{"use":"theirs"}}}`)
	require.Equal(t, "theirs again", p.emittedEvent("charge"))
	require.Equal(t, []string{resolution, head}, p.parents(p.onOwn()))
	require.Empty(t, p.locked())
}

func TestConflict31MarkersAreLeft(t *testing.T) {
	t.Parallel()
	p, clone := newConflict(t, shared(t))
	clone.Git("checkout", "-q", "-b", "work", "origin/"+p.own())
	clone.Git("merge", "-q", "-X", "ours", "--no-commit", "origin/main")
	clone.Write("automations/charge.yml", "slug: charge\n<<<<<<< HEAD\nname: a\n=======\nname: b\n>>>>>>> main\ndo: []\n")
	clone.Commit("oops")
	clone.Push(p.own())
	details := p.requirePullFailure(409, "merge_conflict", "merge", "/pull", toOrigin)
	require.Equal(t, false, details["resolved"])
	require.Contains(t, p.last()["error"].(map[string]any)["message"], "automations/charge.yml still has conflict markers")
	require.Equal(t, "ours", p.emittedEvent("charge"))
}

func TestConflict32TheBranchIsPutBack(t *testing.T) {
	t.Parallel()
	p, _ := newConflict(t, shared(t))
	saved := p.onOwn()
	p.repo.Git("update-ref", "-d", "refs/heads/"+p.own())
	p.repo.Git("reflog", "expire", "--expire=now", "--all")
	p.repo.Git("gc", "-q", "--prune=now")
	details := p.requirePullFailure(409, "merge_conflict", "merge", "/pull", toOrigin)
	require.Equal(t, false, details["resolved"])
	require.Equal(t, saved, p.onOwn())
}

func TestConflict33TheBranchBecameTheTarget(t *testing.T) {
	t.Parallel()
	p, _ := newConflict(t, shared(t))
	p.repo.Git("update-ref", "refs/heads/"+p.own(), p.onMain())
	details := p.requirePullFailure(409, "merge_conflict", "merge", "/pull", toOrigin)
	require.Equal(t, false, details["resolved"])
	require.Equal(t, "ours", p.emittedEvent("charge"))
	p.requireRefusal(409, "intermediate_moved", "POST", "/conflicts/resolve", `{"files":{"automations/charge.yml":{"use":"ours"}}}`)
	p.failedIn("pull", "intermediate_moved")
	require.Equal(t, "merge_conflict", p.locked())
}

func TestConflict34TheLockIsClearedAndTheRemoteTaken(t *testing.T) {
	t.Parallel()
	p, _ := newConflict(t, shared(t))
	own := p.onOwn()
	p.ok(200, "DELETE", "/writeLock", "")
	require.Empty(t, p.locked())
	require.Empty(t, p.ok(200, "GET", "/conflicts", "")["files"])
	require.Equal(t, "ours", p.emittedEvent("charge"), "content stays")

	p.requireRefusal(409, "merge_conflict", "POST", "/pull", toOrigin)
	require.Equal(t, own, p.onOwn(), "an ordinary pull: what is saved already is not saved twice")
	p.ok(200, "DELETE", "/writeLock", "")
	p.ok(200, "POST", "/pull", `{"repository":"origin","discardLocalChanges":true}`)
	require.Equal(t, "theirs", p.emittedEvent("charge"))
	require.Equal(t, own, p.onOwn())
	require.False(t, p.isDirty())
	require.Empty(t, p.locked())
}
