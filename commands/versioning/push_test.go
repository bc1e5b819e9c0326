package versioning_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPushAndPull(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	require.True(t, p.isDirty())

	version := p.push("v1")
	require.Equal(t, "v1", version["name"])
	require.Equal(t, p.repo.ID("refs/heads/main"), version["commit"])
	require.Equal(t, p.repo.ID("refs/heads/main"), p.repo.ID("refs/heads/"+p.own()))
	require.NotEmpty(t, p.repo.ID("refs/tags/v1"))
	require.False(t, p.isDirty())
	require.Equal(t, "v1", p.workspace()["lastPush"].(map[string]any)["version"])

	clone := p.repo.Clone()
	clone.Write("automations/refund.yml", file("refund", "refunded"), "README.md", "hello\n")
	clone.Commit("refunds")
	clone.Push("main")
	details := p.requireRefusal(409, "not_up_to_date", "POST", "/push", toOrigin)
	require.EqualValues(t, 1, details["behind"])

	got := p.pull()
	require.Equal(t, []any{"automations/refund"}, got["imported"])
	require.Equal(t, "refunded", p.emittedEvent("refund"))
	require.False(t, p.isDirty())

	clone.Write("automations/refund.yml", file("refund", "refunded twice"))
	clone.Commit("twice")
	clone.Push("main")
	p.automation("charge", "charged twice")
	got = p.pull()
	require.Equal(t, []any{"automations/refund"}, got["imported"])
	require.Equal(t, "refunded twice", p.emittedEvent("refund"))
	require.Equal(t, "charged twice", p.emittedEvent("charge"))
	require.True(t, p.isDirty())

	p.push("v2")
	require.Equal(t, p.repo.ID("refs/heads/"+p.own()), p.repo.ID("refs/heads/main"))
	require.False(t, p.isDirty())

	clone.Git("pull", "-q", "origin", "main")
	clone.Write("automations/charge.yml", file("charge", "theirs"))
	clone.Commit("theirs")
	clone.Push("main")
	p.automation("charge", "ours")
	details = p.requireRefusal(409, "merge_conflict", "POST", "/pull", toOrigin)
	require.Equal(t, []any{"automations/charge.yml"}, details["files"])
	p.requireRefusal(423, "merge_conflict", "POST", "/push", toOrigin)
	conflicts := p.ok(200, "GET", "/conflicts", "")
	require.Len(t, conflicts["files"], 1)
	require.Equal(t, "conflicted", p.ok(200, "GET", "/status", "")["state"])
	got = p.ok(200, "POST", "/conflicts/resolve", `{"files":{"automations/charge.yml":{"use":"theirs"}}}`)
	require.Equal(t, []any{"automations/charge"}, got["imported"])
	require.Equal(t, "theirs", p.emittedEvent("charge"))
	require.Nil(t, p.workspace()["writeLock"])
}
