//go:build fault

package versioning_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// What must hold whatever happened to a push or a pull on its way.

// edit saves the automation charge so that it emits an event, with enough text
// that does not compress for cuts to fall into it.
func (p *gitWorkspace) edit(rng *rand.Rand, event string) {
	p.t.Helper()
	body := fmt.Sprintf(`{"slug":"charge","name":"charge","do":[{"emit":{"event":%q,"payload":{"noise":%q}}}]}`, event, noise(rng))
	got, err := p.ask("PUT", p.path+"/automations/charge", body)
	require.NoError(p.t, err)
	if got.StatusCode == http.StatusNotFound {
		p.ok(201, "POST", "/automations", body)
		return
	}
	require.Equal(p.t, 200, got.StatusCode, "%s", got.body)
}

func noise(rng *rand.Rand) string {
	var b strings.Builder
	for b.Len() < 6000 {
		fmt.Fprintf(&b, "%x", rng.Uint64())
	}
	return b.String()
}

// onTarget reports whether the target branch has the event in charge.
func (p *gitWorkspace) onTarget(event string) bool {
	p.t.Helper()
	return p.repo.ID("refs/heads/main") != "" && strings.Contains(p.repo.Git("show", "main:automations/charge.yml")+"\n", "event: "+event+"\n")
}

// other is a developer who changes another automation on the target branch.
func other(c *gittest.Clone, event string) {
	c.Git("fetch", "-q", "origin", "main")
	c.Git("reset", "-q", "--hard", "FETCH_HEAD")
	c.Write("automations/refund.yml", file("refund", event))
	c.Commit(event)
	c.Push("main")
}

// consistent asserts what holds at any time: dirty is false only when the target
// branch has what was edited last, the edit is not lost, and no push has made two
// commits there.
func (p *gitWorkspace) consistent(event string) {
	p.t.Helper()
	if !p.isDirty() {
		require.True(p.t, p.onTarget(event), "dirty is false and %s is not on main", event)
	}
	require.Equal(p.t, event, p.emittedEvent("charge"), "what was edited is lost")
	p.oneCommitEach()
}

// oneCommitEach asserts that no push has two commits on the target branch. A pull
// may have two: what it saved, and the merge.
func (p *gitWorkspace) oneCommitEach() {
	p.t.Helper()
	if p.repo.ID("refs/heads/main") == "" {
		return
	}
	const format = "--format=%(trailers:key=Svc-Version,valueonly,separator=%x20) %(trailers:key=Svc-Operation,valueonly,separator=%x20)"
	seen := map[string]bool{}
	for line := range strings.Lines(p.repo.Git("log", format, "main")) {
		if fields := strings.Fields(line); len(fields) == 2 {
			require.False(p.t, seen[fields[1]], "operation %s has two commits on main", fields[1])
			seen[fields[1]] = true
		}
	}
}

// requireVersionsPushed asserts that every version that was recorded is at the remote,
// and once.
func (p *gitWorkspace) requireVersionsPushed() (count int) {
	p.t.Helper()
	var versions []struct{ Name, Commit string }
	require.NoError(p.t, json.Unmarshal(p.do(p.t, 200, "GET", p.path+"/versions", "").body, &versions))
	onMain, seen := strings.Fields(p.repo.Git("rev-list", "main")), map[string]bool{}
	for _, v := range versions {
		require.Contains(p.t, onMain, v.Commit, "version %s", v.Name)
		require.False(p.t, seen[v.Name], "version %s is there twice", v.Name)
		seen[v.Name] = true
	}
	return len(versions)
}

// ran is an operation as the API shows it.
type ran struct {
	ID, Kind, Status string
	Error            *struct {
		Error   string
		Details map[string]any
	}
}

func (o ran) ended() bool { return o.Status != "running" && o.Status != "queued" }

// reason is why it failed; "" when it did not.
func (o ran) reason() string {
	if o.Error == nil {
		return ""
	}
	reason, _ := o.Error.Details["reason"].(string)
	return reason
}

// runs lists those of the workspace.
func (p *gitWorkspace) runs() (list []ran) {
	p.t.Helper()
	body := p.do(p.t, 200, "GET", p.path+"/operations", "").body
	require.NoError(p.t, json.Unmarshal(body, &list), "%s", body)
	return list
}

// awaitIdle waits until no operation of the workspace runs, and its lock is gone.
func (p *gitWorkspace) awaitIdle(within time.Duration) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		for _, o := range p.runs() {
			if !o.ended() {
				return false
			}
		}
		return p.workspace()["writeLock"] == nil
	}, within, 100*time.Millisecond, "the workspace is not settled")
}

// attempt asks for a push or a pull and waits until it has ended, well or not.
func (p *gitWorkspace) attempt(path, body string) int {
	p.t.Helper()
	got, err := p.ask("POST", p.path+path, body)
	require.NoError(p.t, err)
	if got.StatusCode == http.StatusAccepted {
		p.awaitIdle(time.Minute)
	}
	return got.StatusCode
}

func toVersion(name string) string {
	return fmt.Sprintf(`{"name":%q,"repository":{"id":"origin"}}`, name)
}
