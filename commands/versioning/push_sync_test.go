package versioning_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// inDirectory lets the workspace live in a directory of its repository.
func (p *gitWorkspace) inDirectory() *gitWorkspace {
	p.t.Helper()
	p.do(p.t, 200, "PATCH", p.path, p.repositoryWith(`"dirpath":"shop",`))
	return p
}

func TestPush05RemoteHasMore(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	p.push("v1")
	clone := p.repo.Clone()
	clone.Write("automations/refund.yml", file("refund", "refunded"))
	clone.Commit("refunds")
	clone.Write("automations/refund.yml", file("refund", "refunded twice"))
	clone.Commit("twice")
	clone.Push("main")
	p.automation("charge", "charged twice")
	before := p.repo.Git("for-each-ref")

	got := p.ok(409, "POST", "/versions", versionTo("v2", "origin"))
	require.Equal(t, "resource_conflict", got["error"])
	require.Equal(t, "Remote has changes that are not in this workspace. Pull first.", got["message"])
	require.Equal(t, map[string]any{
		"reason": "not_up_to_date", "ahead": 1.0, "behind": 2.0, "rewritten": false, "repositoryId": "origin", "targetBranch": "main",
	}, got["details"])
	require.Equal(t, before, p.repo.Git("for-each-ref"), "the remote is as it was")
	require.True(t, p.isDirty())
	require.Equal(t, "v1", p.workspace()["lastPush"].(map[string]any)["version"])
	p.requirePushFailure("not_up_to_date", "pull")
	require.Equal(t, []string{"workspaces.versions.published"}, p.history("workspaces.versions.published"))

	p.pull()
	p.push("v2")
	require.False(t, p.isDirty())
}

func TestPush05ReadmeOfTheOwnDirectoryIsAChangeToo(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.push("v1")
	clone := p.repo.Clone()
	clone.Write("README.md", "hello\n")
	clone.Commit("readme")
	clone.Push("main")
	details := p.requireRefusal(409, "not_up_to_date", "POST", "/push", toOrigin)
	require.EqualValues(t, 1, details["behind"])
	require.EqualValues(t, 0, details["ahead"])
	p.pull()
	p.push("v2")
	require.Equal(t, "hello", p.repo.Git("show", "main:README.md"))
}

func TestPush05BothMadeTheSameChange(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.push("v1")
	p.automation("charge", "charged")
	clone := p.repo.Clone()
	clone.Write("automations/charge.yml", "# by hand\n"+file("charge", "charged")+"validateArguments: true\n")
	theirs := clone.Commit("the same")
	clone.Push("main")
	version := p.push("v2")
	require.Equal(t, theirs, version["commit"], "there was nothing to commit")
	require.Contains(t, p.repo.Git("show", "main:automations/charge.yml"), "# by hand")
	require.False(t, p.isDirty())
}

func TestPush06OtherDirectory(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t)).inDirectory()
	p.push("v1")
	clone := p.repo.Clone()
	clone.Write("other/index.yml", "name: Other\n")
	theirs := clone.Commit("elsewhere")
	clone.Push("main")
	p.automation("charge", "charged")
	version := p.push("v2")
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/main"))
	require.Equal(t, theirs, p.repo.Git("rev-parse", "main^"), "that commit was kept")
	require.Equal(t, "name: Other", p.repo.Git("show", "main:other/index.yml"))
	require.False(t, p.isDirty())
}

func TestPush07RewrittenElsewhere(t *testing.T) {
	t.Parallel()
	for name, rewrite := range map[string]func(p *gitWorkspace) (removed string){
		"another commit in its place": func(p *gitWorkspace) string {
			clone := p.repo.Clone()
			removed := clone.Head()
			clone.Git("commit", "-q", "--amend", "-m", "rewritten")
			clone.Push("main", "-f")
			return removed
		},
		"taken back": func(p *gitWorkspace) string {
			p.automation("charge", "charged")
			p.push("v2")
			p.do(p.t, 200, "DELETE", p.path+"/automations/charge", "")
			p.push("v3")
			clone := p.repo.Clone()
			removed := clone.Head()
			clone.Git("reset", "-q", "--hard", "HEAD~2")
			clone.Push("main", "-f")
			return removed
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newGitWorkspace(t, shared(t))
			p.push("v1")
			removed := rewrite(p)
			start := p.repo.ID("refs/heads/main")
			p.automation("refund", "refunded")
			version := p.push("last")
			require.Equal(t, start, p.repo.Git("rev-parse", "main^"))
			require.Equal(t, version["commit"], p.repo.ID("refs/heads/main"))
			require.Equal(t, version["commit"], p.repo.ID("refs/heads/"+p.own()))
			require.NotContains(t, p.repo.Git("rev-list", "main"), removed, "what was removed does not come back")
			require.False(t, p.isDirty())
		})
	}
}

func TestPush08RewrittenHere(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	p.push("v1")
	p.automation("charge", "charged twice")
	p.push("v2")
	clone := p.repo.Clone()
	clone.Git("reset", "-q", "--hard", "HEAD~1")
	clone.Push("main", "-f")
	p.automation("refund", "refunded")
	before := p.repo.Git("for-each-ref")
	details := p.requireRefusal(409, "not_up_to_date", "POST", "/versions", versionTo("v3", "origin"))
	require.Equal(t, true, details["rewritten"])
	require.EqualValues(t, 1, details["behind"])
	require.Equal(t, before, p.repo.Git("for-each-ref"))
	require.True(t, p.isDirty())
	p.requirePushFailure("not_up_to_date", "pull")
}

func TestPushWhileSomebodyElseIsOnTheBranch(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.push("v1")
	clone := p.repo.Clone()
	clone.Write("automations/refund.yml", file("refund", "refunded"))
	theirs := clone.Commit("unmerged")
	clone.Push(p.own())
	p.automation("charge", "charged")
	details := p.requireRefusal(409, "intermediate_branch_in_use", "POST", "/versions", versionTo("v2", "origin"))
	require.Equal(t, p.own(), details["branch"])
	require.Equal(t, theirs, details["head"])
	require.Equal(t, "Other", details["author"])
	require.NotEmpty(t, details["date"])
	p.requirePushFailure("intermediate_branch_in_use", "pull")
	require.Equal(t, theirs, p.repo.ID("refs/heads/"+p.own()))
}

func TestPush58Diverged(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	p.automation("refund", "refunded")
	p.automation("ship", "shipped")
	require.Equal(t, "local_dirty", p.ok(200, "GET", "/status", "")["state"])
	version := p.push("v1")
	clean := p.ok(200, "GET", "/status?refresh=true", "")
	require.Equal(t, "clean", clean["state"])
	require.Equal(t, clean["contentRevision"], clean["syncedRevision"])
	require.Equal(t, "v1", clean["version"].(map[string]any)["name"])
	require.Equal(t, []any{}, clean["changes"])
	require.Equal(t, []any{}, clean["errors"])

	clone := p.repo.Clone()
	clone.Write("automations/charge.yml", file("charge", "theirs"), "automations/ship.yml", file("ship", "theirs"))
	clone.Commit("theirs")
	clone.Write("README.md", "hello\n")
	head := clone.Commit("readme")
	clone.Push("main")
	require.Equal(t, "remote_ahead", p.ok(200, "GET", "/status?refresh=true", "")["state"])
	p.automation("charge", "ours")
	p.automation("new", "made")
	p.do(t, 200, "DELETE", p.path+"/automations/refund", "")

	got := p.ok(200, "GET", "/status?refresh=true", "")
	require.Equal(t, "diverged", got["state"])
	require.Equal(t, true, got["dirty"])
	require.Nil(t, got["writeLock"])
	require.Greater(t, got["contentRevision"], got["syncedRevision"])
	one := got["repositories"].([]any)[0].(map[string]any)
	require.NotEmpty(t, one["checkedAt"])
	delete(one, "checkedAt")
	require.Equal(t, map[string]any{
		"id": "origin", "type": "git", "mode": "read-write", "branch": "main", "state": "diverged", "ahead": 1.0, "behind": 2.0,
		"rewritten": false, "base": version["commit"], "remote": head, "stale": false, "error": nil,
	}, one)
	var changes []string
	for _, c := range got["changes"].([]any) {
		c := c.(map[string]any)
		changes = append(changes, c["type"].(string)+" "+c["slug"].(string)+" "+c["change"].(string)+" "+c["side"].(string))
		if c["slug"] == "charge" {
			require.NotEqual(t, c["currentChecksum"], c["expectedChecksum"])
			require.Regexp(t, "^sha256:", c["currentChecksum"])
			require.Equal(t, "u1", c["updatedBy"])
			require.NotEmpty(t, c["updatedAt"])
		}
	}
	require.Equal(t, []string{
		"automations charge modified both", "automations new added local", "automations refund deleted local", "automations ship modified remote",
	}, changes)
	p.requirePasswordHidden()
}

func TestPush58AheadCountsCommitsAndWhatIsInNone(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.push("v1")
	p.automation("charge", "charged")
	clone := p.repo.Clone()
	clone.Write("automations/refund.yml", file("refund", "refunded"))
	clone.Commit("refunds")
	clone.Push("main")
	p.pull() // which saves and merges: two commits on the own branch
	standing := func() map[string]any {
		return p.ok(200, "GET", "/status?refresh=true", "")["repositories"].([]any)[0].(map[string]any)
	}
	require.EqualValues(t, 2, standing()["ahead"])
	p.automation("charge", "charged twice")
	require.EqualValues(t, 3, standing()["ahead"])
	clone.Write("automations/refund.yml", file("refund", "refunded twice"))
	clone.Commit("twice")
	clone.Push("main")
	details := p.requireRefusal(409, "not_up_to_date", "POST", "/push", toOrigin)
	require.EqualValues(t, 3, details["ahead"])
	require.EqualValues(t, 1, details["behind"])
}

func TestPush58TheLastOfPushAndPull(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.push("v1")
	for _, name := range []string{"v2", "v3"} {
		p.pull()
		p.push(name)
		require.Equal(t, name, p.ok(200, "GET", "/status", "")["version"].(map[string]any)["name"])
	}
}
