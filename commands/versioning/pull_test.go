package versioning_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPull21ANewWorkspaceTakesWhatTheRepositoryHas(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	require.True(t, p.isDirty())
	p.fill("automations/charge.yml", file("charge", "charged"), "README.md", "hello\n")

	got := p.pull()
	require.Contains(t, got["imported"], "automations/charge")
	require.Empty(t, got["errors"])
	require.Equal(t, []any{}, got["deleted"])
	require.Equal(t, "charged", p.emittedEvent("charge"))
	require.False(t, p.isDirty())
	require.Empty(t, p.locked())
	require.Empty(t, p.onOwn())
	pulled := p.workspace()["lastPull"].(map[string]any)
	require.Equal(t, p.onMain()[:12], pulled["version"])
	require.Equal(t, "origin", pulled["repositoryId"])
	steps, _ := p.steps()
	require.Equal(t, []string{"checkout started", "checkout done", "pull started", "pull done", "import started", "import done"}, steps)
}

func TestPull22WhatTheRemoteHasMoreIsBrought(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	own := p.onOwn()
	pushFromOther(clone, "refund", "refunded")
	clone.Git("rm", "-q", "automations/charge.yml")
	clone.Commit("no more charges")
	clone.Push("main")

	got := p.pull()
	require.Equal(t, []any{"automations/refund"}, got["imported"])
	require.Equal(t, []any{"automations/charge"}, got["deleted"])
	require.Equal(t, own, p.onOwn(), "nothing is written to the intermediate branch")
	require.False(t, p.isDirty())
	require.Empty(t, p.emittedEvent("charge"))

	revision := p.pull()["contentRevision"]
	got = p.pull()
	require.Equal(t, []any{}, got["imported"], "nothing new")
	require.Equal(t, revision, got["contentRevision"])
	require.False(t, p.isDirty())
}

func TestPull23And24EditsOnBothSidesAreMergedAndPushed(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	base := p.onMain()
	head := pushFromOther(clone, "refund", "refunded")
	p.automation("charge", "charged twice")

	got := p.pull()
	require.Equal(t, []any{"automations/refund"}, got["imported"])
	require.Equal(t, "refunded", p.emittedEvent("refund"))
	require.Equal(t, "charged twice", p.emittedEvent("charge"))
	require.True(t, p.isDirty())
	require.Empty(t, p.locked())
	merge := p.onOwn()
	require.Len(t, p.parents(merge), 2)
	saved := p.parents(merge)[0]
	require.Equal(t, head, p.parents(merge)[1])
	require.Equal(t, []string{base}, p.parents(saved))
	require.Equal(t, "Save "+p.slug+" before merge", p.subject(saved))
	require.Equal(t, "Merge main into "+p.own(), p.subject(merge))
	require.Equal(t, head, p.onMain(), "the target branch is not written by a pull")
	require.Contains(t, p.repo.Git("show", saved+":automations/charge.yml"), "charged twice")
	require.Contains(t, p.repo.Git("show", merge+":automations/refund.yml"), "refunded")
	steps, _ := p.steps()
	require.Equal(t, []string{
		"checkout started", "checkout done", "pull started", "pull done", "write started", "write done",
		"merge started", "merge done", "import started", "import done",
	}, steps)

	version := p.push("v2")
	require.Equal(t, merge, version["commit"])
	require.Equal(t, merge, p.onMain(), "no commit besides the merge")
	require.Equal(t, merge, p.onOwn())
	require.False(t, p.isDirty())
}

// A pull of local changes when the remote has none saves them, and imports nothing.
func TestNothingIsMergedWhenTheRemoteHasNothingNew(t *testing.T) {
	t.Parallel()
	p, _ := newPushed(t, shared(t))
	main := p.onMain()
	p.automation("charge", "charged twice")
	got := p.pull()
	require.Equal(t, []any{}, got["imported"])
	require.Equal(t, "charged twice", p.emittedEvent("charge"))
	require.True(t, p.isDirty())
	require.Equal(t, []string{main}, p.parents(p.onOwn()))
	saved := p.onOwn()
	p.pull()
	require.Equal(t, saved, p.onOwn(), "what is there already is not saved twice")
	p.push("v2")
	require.Equal(t, saved, p.onMain())
}

func TestPull38LocalChangesAreDiscarded(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	own := p.onOwn()
	pushFromOther(clone, "charge", "theirs")
	p.automation("charge", "ours")
	p.automation("extra", "more")

	got := p.ok(200, "POST", "/pull", `{"repository":{"id":"origin"},"discardLocalChanges":true}`)
	require.Equal(t, []any{"automations/charge"}, got["imported"])
	require.Equal(t, []any{"automations/extra"}, got["deleted"])
	require.Equal(t, "theirs", p.emittedEvent("charge"))
	require.Equal(t, own, p.onOwn())
	require.False(t, p.isDirty())
}

func TestPull39WhatIsNotThereCannotBePulled(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	p.requirePullFailure(404, "remote_empty", "checkout", "/pull", toOrigin)

	clone := p.repo.Clone()
	clone.Write("README.md", "hello\n")
	clone.Commit("readme")
	clone.Push("trunk")
	details := p.requirePullFailure(404, "branch_not_found", "checkout", "/pull", toOrigin)
	require.Equal(t, "main", details["branch"])
	require.Equal(t, []any{"trunk"}, details["availableBranches"])

	clone.Push("main")
	p.requirePullFailure(422, "missing_index", "pull", "/pull", toOrigin)
	p.requirePullFailure(422, "missing_index", "pull", "/pull", `{"repository":"origin","discardLocalChanges":true}`)
}

// A branch that was deleted is told with those that are there.
func TestADeletedBranchIsNotFound(t *testing.T) {
	t.Parallel()
	p, _ := newPushed(t, shared(t))
	p.repo.Git("update-ref", "-d", "refs/heads/main")
	details := p.requirePullFailure(404, "branch_not_found", "checkout", "/pull", toOrigin)
	require.Equal(t, []any{p.own()}, details["availableBranches"])
}

// A repository without a security document stays without one, and that is no
// change of the workspace's, until somebody edits it here or adds one there.
func TestPull22ARepositoryWithoutSecurity(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	clone := p.fill("automations/charge.yml", file("charge", "charged"))
	p.pull()
	pushFromOther(clone, "refund", "refunded")
	p.pull()
	require.Empty(t, p.onOwn(), "nothing was changed here")
	require.Equal(t, "clean", p.ok(200, "GET", "/status?refresh=true", "")["state"])

	p.automation("charge", "charged twice")
	p.push("v1")
	require.NotContains(t, p.repo.Git("ls-tree", "--name-only", "main"), "security.yml")
	p.ok(200, "PUT", "/security", `{"authorizations":{"roles":{"editor":{}},"rules":[]}}`)
	p.push("v2")
	require.Contains(t, p.repo.Git("show", "main:security.yml"), "editor")
}
