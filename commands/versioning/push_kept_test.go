package versioning_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPush43BrokenFileAtTheRemote(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	p.push("v1")
	const broken = "slug: charge\ndo: [\n"
	clone := p.repo.Clone()
	clone.Write("automations/charge.yml", broken, "automations/new.yml", "}", "automations/refund.yml", file("refund", "refunded"))
	clone.Commit("broken")
	clone.Push("main")

	got := p.pull()
	require.Equal(t, []any{"automations/refund"}, got["imported"], "the others are")
	require.Len(t, got["errors"], 2)
	item := got["errors"].([]any)[0].(map[string]any)
	require.Equal(t, "automations/charge.yml", item["filepath"])
	require.Equal(t, p.id, item["workspaceId"])
	require.NotEmpty(t, item["msg"])
	require.NotEmpty(t, item["err"])
	require.Equal(t, "charged", p.emittedEvent("charge"), "the old one stays")
	require.Nil(t, p.workspace()["lastPull"], "not all of it could be brought")

	p.automation("refund", "refunded twice")
	version := p.push("v2")
	require.Equal(t, []any{"automations/refund.yml"}, version["changes"].(map[string]any)["files"])
	require.Equal(t, broken, p.repo.Git("show", "main:automations/charge.yml")+"\n", "nobody reverts a broken file in silence")
	require.Equal(t, "}", p.repo.Git("show", "main:automations/new.yml"))
	require.False(t, p.isDirty())
	p.push("v3")
	require.Equal(t, broken, p.repo.Git("show", "main:automations/charge.yml")+"\n", "nor later")

	p.automation("charge", "mended")
	p.push("v4")
	require.Contains(t, p.repo.Git("show", "main:automations/charge.yml"), "event: mended", "until it is edited")
	require.Equal(t, "}", p.repo.Git("show", "main:automations/new.yml"))
}

func TestPush44Comments(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	p.automation("refund", "refunded")
	p.push("v1")
	const commented = "# kept as it is\nname:   charge # here too\nslug: \"charge\"\ndo: [{emit: {event: commented}}]\n"
	clone := p.repo.Clone()
	clone.Write("automations/charge.yml", commented)
	clone.Git("mv", "automations/refund.yml", "automations/refund.json")
	clone.Write("automations/refund.json", `{"slug":"refund","name":"refund","do":[{"emit":{"event":"refunded"}}]}`)
	clone.Commit("comments")
	clone.Push("main")
	p.pull()
	require.Equal(t, "commented", p.emittedEvent("charge"))

	p.automation("ship", "shipped")
	version := p.push("v2")
	require.Equal(t, []any{"automations/ship.yml"}, version["changes"].(map[string]any)["files"])
	require.Equal(t, commented, p.repo.Git("show", "main:automations/charge.yml")+"\n")
	require.Contains(t, p.repo.Git("show", "main:automations/refund.json"), `{"slug"`)

	p.automation("refund", "refunded twice")
	version = p.push("v3")
	changes := version["changes"].(map[string]any)
	require.Equal(t, []any{"automations/refund.yml"}, changes["created"], "what is changed becomes yml")
	require.Equal(t, []any{"automations/refund.json"}, changes["deleted"], "in the same commit")
	require.NotContains(t, p.repo.Git("ls-tree", "-r", "--name-only", "main"), "refund.json")
}

func TestPush50SlugInUse(t *testing.T) {
	t.Parallel()
	h := shared(t)
	first := newGitWorkspace(t, h)
	p := newGitWorkspace(t, h)
	clone := p.repo.Clone()
	clone.Write("index.yml", "# ours\nname: Shop\nslug: "+first.slug+"\n", "automations/charge.yml", file("charge", "charged"))
	clone.Commit("as it is elsewhere")
	clone.Push("main")

	got := p.pull()
	require.Equal(t, p.slug, p.workspace()["slug"], "the own slug stays")
	warning := got["warnings"].([]any)[0].(map[string]any)
	require.Equal(t, "slug_in_use", warning["err"], "%v", got)
	require.False(t, p.isDirty())
	require.Equal(t, "clean", p.ok(200, "GET", "/status?refresh=true", "")["state"])

	p.automation("refund", "refunded")
	version := p.push("v1")
	require.NotContains(t, version["changes"].(map[string]any)["files"], "index.yml")
	p.do(t, 200, "PATCH", p.path, `{"description":"Sells things"}`)
	p.push("v2")
	index := p.repo.Git("show", "main:index.yml")
	require.Contains(t, index, "slug: "+first.slug+"\n", "the foreign slug is written back")
	require.Contains(t, index, "Sells things")
	require.Equal(t, "Version v2 of "+p.slug, p.repo.Git("log", "-1", "--format=%s", "main"))
	require.NotEmpty(t, p.repo.ID("refs/heads/"+p.own()), "the branch bears the own slug")
}
