package versioning_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A repository of another platform: what is corrected on import means the same as the file in Git,
// so that the status is clean, nothing is lost, and a push leaves those files as they are.
func TestPullCorrectsWhatItReads(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	clone := p.repo.Clone()
	const page = "slug: home\nname: Home # the first\nfavicon: icon.png\nblocks:\n  - name: Header\n    config:\n      title: T\n"
	const data = `["Paris", "Rome"]`
	clone.Write(
		"index.yml", "name: Shop\nphoto: data:image/png;base64,AA\n", "pages/home.yml", page, "pages/cities.json", data, "pages/home.json", `{"translations": {}}`,
		"automations/charge.yml", file("charge", "charged"), "automations/Refund.YML", file("refund", "refunded"), "README.md", "# Shop\n", ".github/workflows/ci.yml", "on: push\n",
	)
	clone.Commit("by hand")
	clone.Push("main")

	got := p.pull()
	require.Equal(t, []any{}, got["errors"])
	require.Equal(t, []any{"automations/charge", "pages/home"}, got["imported"])
	require.ElementsMatch(t, []string{"address_dropped", "address_dropped", "old_block_form", "not_a_page", "not_a_page", "not_imported"}, codes(got["warnings"]))
	require.Contains(t, p.exported("pages/home.yml"), "  - slug: Header\n    title: T\n")
	require.Empty(t, p.exported("pages/cities.yml"))
	require.False(t, p.isDirty())
	require.Equal(t, p.slug, p.workspace()["slug"])

	status := p.ok(200, "GET", "/status?refresh=true", "")
	require.Equal(t, "clean", status["state"], "%v", status)
	require.Equal(t, []any{}, status["changes"])
	again := p.pull()
	require.Equal(t, []any{}, again["imported"])

	p.automation("charge", "charged twice")
	status = p.ok(200, "GET", "/status", "")
	require.Equal(t, "local_dirty", status["state"])
	require.Len(t, status["changes"], 1)
	version := p.push("v1")
	require.Equal(t, []any{"automations/charge.yml"}, version["changes"].(map[string]any)["files"])
	show := func(path string) string { return p.repo.Git("show", "main:"+path) }
	require.Equal(t, page, show("pages/home.yml")+"\n")
	require.Equal(t, data, show("pages/cities.json"))
	require.Contains(t, show("pages/home.json"), "translations")
	require.NotContains(t, show("index.yml"), "slug")
	require.Equal(t, "clean", p.ok(200, "GET", "/status?refresh=true", "")["state"])

	p.ok(200, "PATCH", "", `{"description":"A shop"}`)
	p.push("v2")
	require.Equal(t, "name: Shop\ndescription: A shop", show("index.yml"), "the repository is for workspaces of any slug")
	require.Equal(t, "clean", p.ok(200, "GET", "/status?refresh=true", "")["state"])

	p.rename(p.slug + "-renamed")
	require.Equal(t, "clean", p.ok(200, "GET", "/status?refresh=true", "")["state"])
}

// A workspace that was rolled back after a push differs from the repository by that alone: a pull
// merges, and keeps what was rolled back. It says so.
func TestPullSaysThatItKeepsRolledBackContent(t *testing.T) {
	t.Parallel()
	h := shared(t)
	rollBack := map[string]func(p *gitWorkspace){
		"restored":        func(p *gitWorkspace) { p.ok(200, "POST", "/restore", `{"version":"v1"}`) },
		"a named version": func(p *gitWorkspace) { p.ok(200, "POST", "/versions/v1/pull", toOrigin) },
		"an archive of before": func(p *gitWorkspace) {
			p.importArchive("?prune=true", zipOf(t, "index.yml", "name: Shop\nslug: "+p.slug+"\n", "automations/charge.yml", file("charge", "first")))
		},
	}
	for name, roll := range rollBack {
		p := newGitWorkspace(t, h)
		p.automation("charge", "first")
		p.push("v1")
		p.automation("charge", "second")
		p.automation("refund", "refunded")
		p.ok(200, "PATCH", "", `{"description":"A shop"}`)
		p.push("v2")
		roll(p)
		require.Equal(t, "first", p.emittedEvent("charge"), name)
		plan := p.ok(200, "POST", "/pull?dryRun=true", toOrigin)
		got := p.pull()
		require.Equal(t, "first", p.emittedEvent("charge"), name)
		require.Equal(t, []any{}, got["imported"], name)
		require.Equal(t, []string{"rolled_back_content_kept"}, codes(got["warnings"]), "%s: %v", name, got)
		require.Equal(t, codes(got["warnings"]), codes(plan["warnings"]), name)
		warning := got["warnings"].([]any)[0].(map[string]any)
		require.Equal(t, []any{"automations/charge", "automations/refund", "index"}, warning["details"].(map[string]any)["files"], name)
		require.Contains(t, warning["msg"], "discardLocalChanges", name)
		require.Equal(t, got["warnings"], p.lastImport()["warnings"], "the event says so too")

		p.ok(200, "POST", "/pull", `{"repository":"origin","discardLocalChanges":true}`)
		require.Equal(t, "second", p.emittedEvent("charge"), name)
		p.automation("charge", "third")
		require.Equal(t, []any{}, p.pull()["warnings"], "%s: what was edited by hand is nothing to warn of", name)
	}
}

// lastImport is the payload of the newest workspaces.imported.
func (p *gitWorkspace) lastImport() map[string]any {
	p.t.Helper()
	events := p.ok(200, "GET", "/events?type=workspaces.imported&limit=1", "")["result"].(map[string]any)["events"].([]any)
	require.NotEmpty(p.t, events)
	return events[0].(map[string]any)["payload"].(map[string]any)
}
