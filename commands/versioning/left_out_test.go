package versioning_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a pull leaves out is not the workspace's to delete: a push keeps it as the
// remote has it.
func TestWhatAPullLeavesOutStaysAtTheRemote(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	p.push("v1")
	clone := p.repo.Clone()
	endpoint := func(slug string) string {
		return "slug: " + slug + "\nname: " + slug + "\nwhen:\n  endpoint: pay\ndo: []\n"
	}
	unknown := "slug: helper\nname: Helper\n"
	clone.Write("automations/one.yml", endpoint("one"), "automations/two.yml", endpoint("two"), "flows/helper.yml", unknown)
	clone.Commit("two automations that want one endpoint, and what this version does not know")
	clone.Push("main")

	got := p.pull()
	require.Len(t, got["errors"], 1)
	require.Equal(t, "endpoint_in_use", got["errors"].([]any)[0].(map[string]any)["err"])
	require.Equal(t, "clean", p.ok(200, "GET", "/status?refresh=true", "")["state"], "nothing was changed here")

	p.automation("charge", "charged twice")
	p.push("v2")
	require.Equal(t, endpoint("two"), p.repo.Git("show", "main:automations/two.yml")+"\n")
	require.Equal(t, unknown, p.repo.Git("show", "main:flows/helper.yml")+"\n")
}

// Names and texts of versions have their bounds.
func TestBoundsOfVersions(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	p.push("v1")
	p.ok(409, "POST", "/versions", `{"name":"v1"}`)
	p.ok(422, "POST", "/versions", `{"name":"v2","description":"`+longText(10_001)+`"}`)
	p.ok(404, "POST", "/versions/"+longText(300)+"/pull", toOrigin)
}

func longText(n int) string { return strings.Repeat("x", n) }
