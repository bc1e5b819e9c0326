package workspaces_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// Whoever meets the lock of a conflict is told how to end it, at every door, and can.
func TestALockOfAConflictSaysHowToEndIt(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t, "EGRESS_ALLOW_PRIVATE=yes")
	server := gittest.New(t)
	repo := server.Repo("shop.git")
	p.write("PATCH", "", repository(`"url":%q,"caBundle":%q,"auth":{"user":%q,"password":%q}`, repo.URL, server.CA, gittest.User, gittest.Password))
	p.write("POST", "/automations", automation("charge", "base"))
	p.write("POST", "/versions", `{"name":"v1","repository":"origin"}`)
	clone := repo.Clone()
	clone.Write("automations/charge.yml", "name: Theirs\ndo: []\n")
	clone.Commit("theirs")
	clone.Push("main")
	p.write("PUT", "/automations/charge", automation("charge", "ours"))
	p.requireRefusal("/pull", `{"repository":"origin"}`, p.owner, 409, "resource_conflict")

	const says = "the workspace is locked because a pull ended in a merge conflict: resolve it first. " +
		"GET {w}/conflicts lists the files, POST {w}/conflicts/resolve chooses a side or gives the content of each"
	for _, door := range [][3]string{
		{"PUT", "/automations/charge", automation("charge", "again")},
		{"PATCH", "/automations/charge", `{"name":"again"}`},
		{"DELETE", "/automations/charge", ""},
		{"POST", "/pages", `{"name":"P"}`},
		{"PATCH", "", `{"description":"again"}`},
		{"POST", "/push", `{"repository":"origin"}`},
		{"POST", "/versions/v1/pull", `{"repository":"origin"}`},
		{"POST", "/writeLock", `{}`},
	} {
		got := p.Call(t, door[0], p.path+door[1], p.owner, door[2])
		require.Equal(t, 423, got.StatusCode, "%v: %s", door, got.Body)
		told := got.JSON(t)
		require.Equal(t, "resource_locked", told["error"])
		require.Equal(t, says, told["message"], "%v", door)
		details := told["details"].(map[string]any)
		require.Equal(t, "merge_conflict", details["reason"])
		require.NotEmpty(t, details["lockedBy"])
		require.NotContains(t, details, "expiresAt", "it stays until somebody decides")
	}

	files := p.getObject("/conflicts")["files"].([]any)
	require.Equal(t, "automations/charge.yml", files[0].(map[string]any)["path"])
	got := p.Call(t, "POST", p.path+"/conflicts/resolve", p.owner, `{"files":{"automations/charge.yml":{"use":"ours"}}}`)
	require.Equal(t, 200, got.StatusCode, "%s", got.Body)
	p.write("PUT", "/automations/charge", automation("charge", "after"))
	p.write("POST", "/push", `{"name":"v2","repository":"origin"}`)
}
