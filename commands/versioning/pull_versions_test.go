package versioning_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPullOfAVersionGoesBack(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	first := p.onMain()
	p.automation("charge", "charged twice")
	p.automation("refund", "refunded")
	p.push("v2")
	second := p.onMain()
	base := p.ok(200, "GET", "/status?refresh=true", "")["repositories"].([]any)[0].(map[string]any)["base"]
	clone.Git("tag", "handmade", first)
	clone.Git("push", "-q", "origin", "handmade")

	for name, version := range map[string]string{"v1": "v1", "handmade": "handmade", first[:7]: first[:12], first: first[:12]} {
		own := p.onOwn()
		got := p.ok(200, "POST", "/versions/"+name+"/pull", toOrigin)
		require.Equal(t, []any{"automations/charge"}, got["imported"], name)
		require.Equal(t, []any{"automations/refund"}, got["deleted"], name)
		require.Equal(t, version, got["version"].(map[string]any)["name"])
		require.Equal(t, "charged", p.emittedEvent("charge"))
		require.True(t, p.isDirty(), "it is not what the target branch has")
		require.Equal(t, version, p.workspace()["lastPull"].(map[string]any)["version"])
		require.Equal(t, own, p.onOwn())
		require.Equal(t, base, p.ok(200, "GET", "/status?refresh=true", "")["repositories"].([]any)[0].(map[string]any)["base"], "the base stays")

		got = p.ok(200, "POST", "/pull", `{"version":"v2","repository":"origin"}`)
		require.Equal(t, []any{"automations/charge", "automations/refund"}, got["imported"])
		require.False(t, p.isDirty(), "it equals the base")
	}
	p.ok(200, "POST", "/versions/"+second[:7]+"/pull", toOrigin)
	require.False(t, p.isDirty())

	p.ok(200, "POST", "/versions/v1/pull", toOrigin)
	p.push("v3")
	require.Equal(t, []string{second}, p.parents(p.onMain()), "a rollback is pushed like any change")
	require.False(t, p.isDirty())
}

func TestPullOfAVersionThatIsNot(t *testing.T) {
	t.Parallel()
	p, _ := newPushed(t, shared(t))
	p.ok(201, "POST", "/versions", `{"name":"inside"}`)
	before := p.content()
	for _, version := range []string{"v9", "inside", strings.Repeat("ab", 20), "abcdef1", "main"} {
		got := p.ok(404, "POST", "/versions/"+version+"/pull", toOrigin)
		require.Equal(t, "resource_not_found", got["error"], version)
		_, last := p.steps()
		require.Equal(t, "pull", last["failedStep"])
		require.Empty(t, p.locked())
	}
	operations := len(p.operations())
	for _, body := range []string{toOrigin, `{}`} {
		require.Equal(t, "invalid_parameter", p.ok(400, "POST", "/versions/current/pull", body)["error"])
		require.Equal(t, "invalid_parameter", p.ok(400, "POST", "/versions/current/pull?dryRun=true", body)["error"])
	}
	p.ok(404, "POST", "/versions/v1/pull", `{}`) // of a repository, not of the platform's own store
	p.ok(400, "POST", "/versions/v1/pull", `{"version":"v2","repository":"origin"}`)
	require.Len(t, p.operations(), operations)
	require.Equal(t, before, p.content())
}

func TestPullOfTheNativeRepository(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	p.ok(201, "POST", "/versions", `{"name":"one"}`)
	p.automation("charge", "charged twice")
	p.ok(201, "POST", "/versions", `{"name":"two"}`)
	p.automation("charge", "charged thrice")
	got := p.ok(200, "POST", "/pull", `{}`)
	require.Equal(t, "two", got["version"].(map[string]any)["name"])
	require.Equal(t, "charged twice", p.emittedEvent("charge"))
	p.ok(200, "POST", "/versions/one/pull", `{}`)
	require.Equal(t, "charged", p.emittedEvent("charge"))
	require.True(t, p.isDirty())
	steps, _ := p.steps()
	require.Equal(t, []string{"import started", "import done"}, steps)
}

// A dry run tells what a pull would do, and nobody notices it.
func TestPullDryRun(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	dry := func(path, body string) map[string]any {
		t.Helper()
		content, events, own := p.content(), p.recorded(), p.onOwn()
		plan := p.ok(200, "POST", path+"?dryRun=true", body)
		require.Equal(t, content, p.content())
		require.Equal(t, events, p.recorded())
		require.Equal(t, own, p.onOwn())
		require.Empty(t, p.locked())
		return plan
	}
	clone := p.fill("automations/charge.yml", file("charge", "charged"))
	plan := dry("/pull", toOrigin)
	require.Equal(t, "new", plan["path"])
	require.Contains(t, plan["wouldImport"], "automations/charge")
	p.pull()

	pushFromOther(clone, "refund", "refunded")
	require.Equal(t, map[string]any{
		"path": "remote", "wouldImport": []any{"automations/refund"}, "wouldDelete": []any{}, "conflicts": []any{}, "warnings": []any{}, "errors": []any{},
	}, dry("/versions/latest/pull", toOrigin))
	p.automation("extra", "only here")
	plan = dry("/pull", toOrigin)
	require.Equal(t, "merge", plan["path"])
	require.Equal(t, []any{"automations/refund"}, plan["wouldImport"])
	require.Equal(t, []any{}, plan["wouldDelete"])
	plan = dry("/pull", `{"repository":"origin","discardLocalChanges":true}`)
	require.Equal(t, "discard", plan["path"])
	require.Equal(t, []any{"automations/extra"}, plan["wouldDelete"])
	plan = dry("/versions/"+clone.Head()[:8]+"/pull", toOrigin)
	require.Equal(t, "version", plan["path"])

	p.automation("charge", "ours")
	pushFromOther(clone, "charge", "theirs")
	plan = dry("/pull", toOrigin)
	require.Equal(t, []any{map[string]any{"path": "automations/charge.yml", "kind": "modify/modify", "keys": []any{"do"}}}, plan["conflicts"])
	require.Equal(t, []any{"automations/refund"}, plan["wouldImport"])
	require.Equal(t, []any{}, plan["wouldDelete"], "what waits to be decided is not deleted")

	p.repo.Git("update-ref", "-d", "refs/heads/main")
	events := p.recorded()
	p.requireRefusal(404, "remote_empty", "POST", "/pull?dryRun=true", toOrigin)
	require.Equal(t, events, p.recorded(), "a dry run that is refused is none of the workspace's business")
	require.Empty(t, p.onOwn())
}
