package versioning_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What was integrated, what the remote has and what is here are compared like any
// two moments.
func TestDiffWithTheBaseAndTheRemote(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	details := p.ok(404, "GET", "/diff?from=base:origin", "")["details"].(map[string]any)
	require.Equal(t, "no_base", details["reason"])
	p.push("v1")
	clone := p.repo.Clone()
	clone.Write("automations/charge.yml", file("charge", "theirs"), "automations/refund.yml", file("refund", "refunded"))
	clone.Commit("theirs")
	clone.Push("main")
	p.automation("charge", "ours")
	changes := func(points string) map[string]string {
		t.Helper()
		all := map[string]string{}
		for _, c := range p.ok(200, "GET", "/diff?"+points, "")["changes"].([]any) {
			change := c.(map[string]any)
			all[change["path"].(string)+" "+change["change"].(string)] = change["patch"].(string)
		}
		return all
	}
	remote := changes("from=base:origin&to=remote:origin")
	require.Len(t, remote, 2)
	require.Contains(t, remote["automations/charge.yml modified"], "+      event: theirs")
	require.Contains(t, remote["automations/refund.yml added"], "+      event: refunded")
	local := changes("from=base:origin")
	require.Len(t, local, 1)
	require.Contains(t, local["automations/charge.yml modified"], "+      event: ours")
	require.Empty(t, changes("from=v1&to=base:origin"), "what was pushed is what both have in common")
	require.Len(t, changes("from=remote:origin&to=current&object=automations/refund"), 1)
	require.Equal(t, []any{"origin"}, p.ok(404, "GET", "/diff?from=remote:nowhere", "")["details"].(map[string]any)["availableRepositories"])
}
