package versioning_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPull40SomebodyElseWorksOnTheBranch(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	clone.Write("automations/foreign.yml", file("foreign", "elsewhere"))
	foreign := clone.Commit("of another environment")
	clone.Push(p.own())
	clone.Git("reset", "-q", "--hard", "origin/main")
	pushFromOther(clone, "refund", "refunded")
	p.automation("charge", "charged twice")

	details := p.requirePullFailure(409, "intermediate_branch_in_use", "write", "/pull", toOrigin)
	require.Equal(t, []any{p.own(), foreign, "Other"}, []any{details["branch"], details["head"], details["author"]})
	require.NotEmpty(t, details["date"])
	require.Equal(t, foreign, p.onOwn())

	p.repo.Git("update-ref", "-d", "refs/heads/"+p.own())
	require.Equal(t, []any{"automations/refund"}, p.pull()["imported"])
	require.Equal(t, "charged twice", p.emittedEvent("charge"))
}

func TestPull41AnotherEnvironmentLeftTheBranchAhead(t *testing.T) {
	t.Parallel()
	for name, forbids := range map[string]bool{"a host that lets branches move back": false, "a host that does not": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, clone := newPushed(t, shared(t))
			base := p.onMain()
			pushFromOther(clone, "charge", "charged elsewhere")
			head := pushFromOther(clone, "refund", "refunded")
			clone.Push(p.own())
			if forbids {
				p.repo.Git("config", "receive.denyNonFastForwards", "true")
			}
			p.automation("extra", "only here")

			got := p.pull()
			require.Equal(t, []any{"automations/charge", "automations/refund"}, got["imported"])
			require.Equal(t, "charged elsewhere", p.emittedEvent("charge"), "merged, not taken for undone")
			require.Equal(t, "refunded", p.emittedEvent("refund"))
			require.Equal(t, "only here", p.emittedEvent("extra"))
			merge := p.onOwn()
			require.Equal(t, head, p.parents(merge)[1])
			require.Equal(t, []string{base}, p.parents(p.parents(merge)[0]))
			p.push("v2")
			require.Equal(t, merge, p.onMain())
		})
	}
}

func TestPull42AForcePushDroppedACommit(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	pushFromOther(clone, "dropped", "soon gone")
	pushFromOther(clone, "kept", "stays")
	p.pull()
	require.Equal(t, "soon gone", p.emittedEvent("dropped"))
	clone.Git("rebase", "-q", "--onto", "HEAD~2", "HEAD~1")
	clone.Push("main", "-f")
	head := clone.Head()
	p.automation("charge", "charged here")

	got := p.pull()
	require.Equal(t, []any{"automations/dropped"}, got["deleted"])
	require.Empty(t, p.emittedEvent("dropped"))
	require.Equal(t, "stays", p.emittedEvent("kept"))
	require.Equal(t, "charged here", p.emittedEvent("charge"))
	require.True(t, p.isDirty())
	require.Equal(t, []string{head}, p.parents(p.onOwn()), "what was dropped does not come back by the history")
	p.push("v2")
	require.NotContains(t, p.repo.Git("log", "--format=%s", "main"), "dropped soon gone")
	require.False(t, p.isDirty())
}

// A force-push is followed when nothing was changed here.
func TestPull42AForcePushWithoutLocalChanges(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	clone.Git("checkout", "-q", "--orphan", "anew")
	clone.Write("automations/charge.yml", file("charge", "from the beginning"))
	clone.Commit("anew")
	clone.Push("main", "-f")
	require.Equal(t, []any{"automations/charge"}, p.pull()["imported"])
	require.Equal(t, "from the beginning", p.emittedEvent("charge"))
	require.False(t, p.isDirty())
}

func TestPull48AnExcludedPageNeverConflicts(t *testing.T) {
	t.Parallel()
	page := func(title string) string { return "slug: home\nname: " + title + "\nblocks: []\n" }
	p := newGitWorkspace(t, shared(t))
	p.ok(201, "POST", "/pages", `{"slug":"home","name":"Start","blocks":[]}`)
	p.automation("charge", "charged")
	p.push("v1")
	p.configure(`,"pull":{"exclude":[{"path":"pages/home"},{"path":"imports/*"}]}`)
	clone := p.repo.Clone()
	clone.Write("pages/home.yml", page("Theirs"))
	pushFromOther(clone, "charge", "theirs")
	home := p.ok(200, "GET", "/pages/home", "")
	p.ok(200, "PATCH", "/pages/home", `{"name":"Ours"}`)

	got := p.pull()
	require.Equal(t, []any{"automations/charge"}, got["imported"])
	require.Equal(t, "Ours", p.ok(200, "GET", "/pages/home", "")["name"])
	require.Equal(t, home["id"], p.ok(200, "GET", "/pages/home", "")["id"])
	require.Empty(t, p.locked())

	clone.Git("rm", "-q", "pages/home.yml")
	pushFromOther(clone, "charge", "theirs again")
	got = p.ok(200, "POST", "/pull", `{"repository":"origin","discardLocalChanges":true}`)
	require.Equal(t, []any{}, got["deleted"], "nor is it deleted")
	require.Equal(t, "Ours", p.ok(200, "GET", "/pages/home", "")["name"])
}

// A host that lets nobody write the intermediate branch says no, and what to do.
func TestPullRefusedByAHook(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	own := p.onOwn()
	pushFromOther(clone, "refund", "refunded")
	p.automation("charge", "charged twice")
	p.repo.Hook("update", `case "$1" in refs/heads/svc/*) echo "no robots here" >&2; exit 1;; esac`)
	details := p.requirePullFailure(403, "remote_refused", "write", "/pull", toOrigin)
	require.Contains(t, details["remote"], "no robots here")
	require.Contains(t, p.last()["error"].(map[string]any)["message"], "read-only")
	require.Equal(t, own, p.onOwn())

	p.configure(`,"mode":"read-only"`)
	require.Equal(t, []any{"automations/refund"}, p.pull()["imported"], "the hint helps")
	require.Equal(t, "charged twice", p.emittedEvent("charge"))
}

func TestPullFromARepositoryThatIsOnlyWritten(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	pushFromOther(clone, "refund", "refunded")
	p.configure(`,"mode":"write-only"`)
	operations := len(p.operations())
	p.requireRefusal(403, "repository_write_only", "POST", "/pull", toOrigin)
	p.requireRefusal(403, "repository_write_only", "POST", "/pull?dryRun=true", toOrigin)
	details := p.ok(404, "POST", "/pull", `{"repository":{"id":"nowhere"}}`)["details"].(map[string]any)
	require.Equal(t, "nowhere", details["repositoryId"])
	require.Equal(t, []any{"origin"}, details["availableRepositories"])
	require.Len(t, p.operations(), operations)
}

func TestPullStrictly(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	clone.Write("automations/broken.yml", "slug: [\n")
	pushFromOther(clone, "refund", "refunded")
	before := p.content()
	p.ok(422, "POST", "/pull", `{"repository":"origin","strict":true}`)
	require.Equal(t, before, p.content())
	require.Empty(t, p.locked())
	steps, last := p.steps()
	require.Equal(t, "error failed", steps[len(steps)-1])
	require.Equal(t, "import", last["failedStep"])

	got := p.pull()
	require.Equal(t, []any{"automations/refund"}, got["imported"])
	require.Len(t, got["errors"], 1, fmt.Sprint(got))
	require.Nil(t, p.workspace()["lastPull"], "not all of it could be brought")
}
