package workspaces_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// Row 51 of the versioning contract's conformance list: whoever pulls without the
// right to manage security leaves it as it is, and is told.
func TestPull51SecurityStaysWithoutTheRightToManageIt(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t, "EGRESS_ALLOW_PRIVATE=yes")
	server := gittest.New(t)
	repo := server.Repo("shop.git")
	p.write("PATCH", "", repository(`"url":%q,"caBundle":%q,"auth":{"user":%q,"password":%q}`, repo.URL, server.CA, gittest.User, gittest.Password))
	p.secure(editing)
	p.write("POST", "/versions", `{"name":"v1","repository":"origin"}`)
	clone := repo.Clone()
	clone.Write("security.yml", "authorizations:\n  roles:\n    editor: {}\n    thief: {}\n  rules:\n    - role: editor\n      action: manage\n      subject: all\n",
		"automations/charge.yml", anyAutomation)
	clone.Commit("more rights")
	clone.Push("main")
	before := p.getObject("/security")

	const pull = `{"repository":"origin"}`
	for _, query := range []string{"?dryRun=true", ""} {
		got := p.Call(t, "POST", p.path+"/pull"+query, p.editor, pull)
		require.Equal(t, 200, got.StatusCode, "%s", got.Body)
		warnings := got.JSON(t)["warnings"].([]any)
		require.Len(t, warnings, 1)
		require.Equal(t, "security_excluded", warnings[0].(map[string]any)["err"])
		require.Equal(t, before, p.getObject("/security"))
	}
	require.Equal(t, []any{"automations/charge"}, p.Call(t, "POST", p.path+"/versions/v1/pull", p.editor, pull).JSON(t)["deleted"])

	t.Log("nor is it brought by a resolution")
	p.write("POST", "/automations", automation("charge", "ours"))
	clone.Write("automations/charge.yml", "name: Other\ndo: []\n")
	clone.Commit("another charge")
	clone.Push("main")
	p.requireRefusal("/pull", pull, p.editor, 409, "resource_conflict")
	for _, who := range []http.Header{p.owner, p.editor} { // both may read automations, and neither is an administrator
		file := p.Call(t, "GET", p.path+"/conflicts", who, "").JSON(t)["files"].([]any)[0].(map[string]any)
		require.Contains(t, file["theirs"].(map[string]any)["content"], "Other")
		require.Contains(t, fmt.Sprint(p.Call(t, "GET", p.path+"/diff?from=current&to=remote:origin", who, "").JSON(t)["changes"]), "automations/charge.yml")
	}
	got := p.Call(t, "POST", p.path+"/conflicts/resolve", p.editor, `{"files":{"automations/charge.yml":{"use":"theirs"}}}`)
	require.Equal(t, 200, got.StatusCode, "%s", got.Body)
	require.Equal(t, before, p.getObject("/security"))

	t.Log("nor is what Git has put back to what is here by a push")
	require.Equal(t, true, p.getObject("")["dirty"], "not all of what is there is here")
	got = p.Call(t, "POST", p.path+"/push", p.editor, pull)
	require.Equal(t, 201, got.StatusCode, "%s", got.Body)
	require.Contains(t, repo.Git("show", "main:security.yml"), "thief")

	t.Log("the owner may")
	require.Contains(t, p.back("/pull", `{"repository":"origin","discardLocalChanges":true}`)["imported"], "security")
	require.Contains(t, fmt.Sprint(p.getObject("/security")), "thief")
}
