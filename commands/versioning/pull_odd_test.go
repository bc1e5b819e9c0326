package versioning_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A repository of another platform: what is corrected on import means the same as the file in Git,
// so that the status is clean, nothing is lost, and a push leaves those files as they are.
func TestPullCorrectsWhatItReads(t *testing.T) {
	t.Parallel()
	p := newPlace(t, shared(t))
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
	require.False(t, p.dirty())
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
