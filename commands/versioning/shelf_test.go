package versioning_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const fromDisk = `{"repository":"disk"}`

func TestPushAndPullADirectory(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	p := e.workspace("billing", "core")
	p.automation("charge", "charged")
	p.automation("a/b", "nested")
	version := p.pushTo("disk", "v1")
	require.Equal(t, map[string]any{"id": "disk"}, version["repository"])
	require.Nil(t, version["commit"])
	require.Contains(t, version["changes"].(map[string]any)["created"], "automations/charge.yml")
	written := e.onDisk("billing/automations/charge.yml")
	require.Contains(t, written, "event: charged")
	require.NotEmpty(t, e.onDisk("billing/automations/a/b.yml"))
	require.Equal(t, []string{"base"}, parseImportFile(t, e.onDisk("billing/.import.yml"), func(name string) string { return e.onDisk("billing/" + name) }).Groups)
	require.False(t, p.isDirty())
	require.Equal(t, []any{"disk", "v1"}, both(p.workspace()["lastPush"], "repositoryId", "version"))
	require.Equal(t, []string{"checkout started", "checkout done", "pull started", "pull done", "write started", "write done"}, p.progress(p.lastOperation()["id"].(string)))
	require.Equal(t, []string{"workspaces.versions.published"}, p.history("workspaces.versions.published"))
	require.Equal(t, "clean", p.ok(200, "GET", "/status", "")["state"])

	e.put("billing/README.md", "read me")
	e.put("billing/automations/charge.yml", "# by hand\n"+written)
	p.requireRefusal(409, "not_up_to_date", "POST", "/push", `{"repository":"disk","name":"no"}`)
	e.put("billing/automations/charge.yml", written)
	p.automation("charge", "charged twice")
	p.pushTo("disk", "v2")
	require.Equal(t, "read me", e.onDisk("billing/README.md"), "what is not managed stays")
	require.Equal(t, []string{"billing"}, e.inDisk())

	other := e.workspace("other")
	require.NoError(t, os.Rename(e.disk+"/billing", e.disk+"/other"))
	got := other.ok(200, "POST", "/pull", fromDisk)
	require.Empty(t, got["errors"])
	require.Equal(t, "charged twice", other.emittedEvent("charge"))
	require.Equal(t, "nested", other.emittedEvent("a%2Fb"))
	require.Equal(t, []any{"disk", "v2"}, both(other.workspace()["lastPull"], "repositoryId", "version"), "as its import file says")
	require.Equal(t, "other", other.workspace()["slug"])
	require.False(t, other.isDirty())
	require.Equal(t, []string{"checkout started", "checkout done", "pull started", "pull done", "import started", "import done"}, other.progress(other.lastOperation()["id"].(string)))
	other.ok(404, "POST", "/versions/v1/pull", fromDisk)
	other.ok(200, "POST", "/versions/v2/pull", fromDisk)
}

// both returns two fields of a map.
func both(m any, a, b string) []any {
	fields, _ := m.(map[string]any)
	return []any{fields[a], fields[b]}
}

func TestADirectoryThatWasChangedByHand(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	p := e.workspace("billing")
	p.automation("charge", "charged")
	p.automation("refund", "refunded")
	p.pushTo("disk", "v1")
	e.put("billing/automations/charge.yml", file("charge", "by hand"))
	e.put("billing/pages/home.yml", "slug: home\nname: Home\n")
	p.automation("refund", "refunded twice")
	details := p.requireRefusal(409, "not_up_to_date", "POST", "/push", fromDisk)
	require.Equal(t, []any{1.0, 2.0}, both(details, "ahead", "behind"), "files are counted")
	require.NotContains(t, details, "targetBranch")
	p.requirePushFailure("not_up_to_date", "pull")
	status := p.ok(200, "GET", "/status?refresh=true&repository=disk", "")
	require.Equal(t, "diverged", status["state"])
	for _, one := range status["repositories"].([]any) {
		if fields := one.(map[string]any); fields["id"] == "disk" {
			require.Equal(t, []any{"filesystem", "diverged", 1.0, 2.0}, append(both(fields, "type", "state"), both(fields, "ahead", "behind")...))
		}
	}

	plan := p.ok(200, "POST", "/pull?dryRun=true", fromDisk)
	require.Equal(t, "discard", plan["path"])
	require.Equal(t, []string{"checksum_mismatch"}, errs(plan))
	got := p.ok(200, "POST", "/pull", fromDisk)
	require.Equal(t, []string{"checksum_mismatch"}, errs(got), "the file is not the one that was pushed")
	require.ElementsMatch(t, []any{"automations/refund", "pages/home"}, got["imported"])
	require.Equal(t, []any{"charged", "refunded"}, []any{p.emittedEvent("charge"), p.emittedEvent("refund")}, "what was changed here goes")
	require.Nil(t, p.workspace()["lastPull"], "not all of it was brought")
	p.pushTo("disk", "v2")
	require.Equal(t, file("charge", "by hand"), e.onDisk("billing/automations/charge.yml"), "what could not be brought stays")

	require.NoError(t, os.Remove(e.disk+"/billing/.import.yml"))
	got = p.ok(200, "POST", "/pull", fromDisk)
	require.Empty(t, got["errors"], "nothing tells what the files should be")
	require.Equal(t, "by hand", p.emittedEvent("charge"))
	require.Len(t, p.workspace()["lastPull"].(map[string]any)["version"], 12)

	require.NoError(t, os.Symlink("/etc/passwd", e.disk+"/billing/security.yaml"))
	p.requireRefusal(422, "unsafe_tree", "POST", "/pull", fromDisk)
	p.requireRefusal(422, "unsafe_tree", "POST", "/push", fromDisk)
	require.NoError(t, os.Remove(e.disk+"/billing/security.yaml"))
	require.NoError(t, os.Remove(e.disk+"/billing/index.yml"))
	p.requireRefusal(422, "missing_index", "POST", "/pull", fromDisk)
	require.Nil(t, p.workspace()["writeLock"])
}

// errs lists the codes of the errors of a result.
func errs(result map[string]any) (codes []string) {
	body, _ := json.Marshal(result["errors"])
	var items []struct{ Err string }
	_ = json.Unmarshal(body, &items)
	for _, item := range items {
		codes = append(codes, item.Err)
	}
	return codes
}

func TestADirectoryCanBeCompared(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	p := e.workspace("billing")
	p.automation("charge", "charged")
	p.pushTo("disk", "v1")
	e.put("billing/automations/charge.yml", file("charge", "by hand"))
	for _, path := range []string{"/diff?from=base:disk&to=remote:disk", "/diff?from=current&to=remote:disk"} {
		require.Contains(t, string(p.do(t, 200, "GET", p.path+path, "").body), "by hand", path)
	}
	require.NoError(t, os.RemoveAll(e.disk+"/billing"))
	p.requireRefusal(404, "remote_empty", "GET", "/diff?from=current&to=remote:disk", "")

	require.NoError(t, os.Chmod(e.disk, 0o500))
	t.Cleanup(func() { _ = os.Chmod(e.disk, 0o755) })
	fresh := e.workspace("fresh")
	if os.Getuid() != 0 { // who is root is let in everywhere
		fresh.requireRefusal(403, "remote_refused", "POST", "/push", fromDisk)
	}
	require.NoError(t, os.Chmod(e.disk, 0o755))
	require.NoError(t, os.Rename(e.disk, e.disk+"-gone"))
	fresh.requireRefusal(503, "remote_unreachable", "POST", "/push", fromDisk)
	body := string(p.do(t, 200, "GET", p.path+"/status?refresh=true&repository=disk", "").body)
	require.Contains(t, body, "remote_unreachable")
	require.NotContains(t, body, e.disk+"-gone")
}
