package versioning_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// refusingHook is a hook that refuses to move the refs that match a shell pattern.
func refusingHook(pattern string) string {
	return `case "$1" in ` + pattern + `) echo "keep out of $1" >&2; exit 1;; esac`
}

func TestPush16Protected(t *testing.T) {
	t.Parallel()
	for name, atomic := range map[string]string{"all or nothing": "true", "one by one": "false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newGitWorkspace(t, shared(t))
			p.repo.Git("config", "receive.advertiseAtomic", atomic)
			p.push("v1")
			head := p.repo.ID("refs/heads/main")
			p.repo.Hook("update", refusingHook("refs/heads/main"))
			p.automation("charge", "charged")
			details := p.requireRefusal(403, "remote_refused", "POST", "/versions", versionTo("v2", "origin"))
			require.Contains(t, details["remote"], "keep out of refs/heads/main")
			require.Equal(t, "main", details["branch"])
			require.Equal(t, head, p.repo.ID("refs/heads/main"))
			require.True(t, p.isDirty())
			require.Equal(t, "v1", p.workspace()["lastPush"].(map[string]any)["version"])
			p.requirePushFailure("remote_refused", "push")

			p.repo.Hook("update", "exit 0")
			p.automation("charge", "charged twice")
			version := p.push("v3")
			require.Equal(t, version["commit"], p.repo.ID("refs/heads/main"), "what was left on the own branch is ours")
		})
	}
}

func TestPush16RefusalsBesideTheTarget(t *testing.T) {
	t.Parallel()
	for pattern, warning := range map[string]string{"refs/heads/svc/*": "intermediate_not_written", "refs/tags/*": "tag_not_written"} {
		t.Run(warning, func(t *testing.T) {
			t.Parallel()
			p := newGitWorkspace(t, shared(t))
			p.repo.Hook("update", refusingHook(pattern))
			version := p.push("v1")
			warnings := version["warnings"].([]any)
			require.Len(t, warnings, 1)
			require.Equal(t, warning, warnings[0].(map[string]any)["err"])
			require.Equal(t, version["commit"], p.repo.ID("refs/heads/main"))
			require.Equal(t, warning == "tag_not_written", p.repo.ID("refs/heads/"+p.own()) != "")
			require.False(t, p.isDirty())
		})
	}
}

func TestPush16HostThatForbidsToMoveBack(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.push("v1")
	clone := p.repo.Clone()
	clone.Git("commit", "-q", "--amend", "-m", "rewritten")
	clone.Push("main", "-f")
	p.repo.Git("config", "receive.denyNonFastForwards", "true")
	p.automation("charge", "charged")
	version := p.push("v2")
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/"+p.own()), "the own branch was made anew")
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/main"))
	require.Nil(t, version["warnings"])
}

func TestPush17EditMeanwhile(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	d := p.useProxy()
	p.automation("charge", "charged")
	h := newHold(t)
	d.once(isReceivePack, h.watch)
	id := p.started("v1")
	h.wait(t)
	p.automation("charge", "charged twice")
	lock := p.workspace()["writeLock"].(map[string]any)
	require.Equal(t, "push_in_progress", lock["reason"])
	h.free()
	op := p.succeeded(id)
	require.True(t, p.isDirty(), "the edit is not there yet")
	require.Contains(t, p.repo.Git("show", "main:automations/charge.yml"), "event: charged")
	require.NotContains(t, p.repo.Git("show", "main:automations/charge.yml"), "twice")
	require.Less(t, op["result"].(map[string]any)["contentRevision"], p.workspace()["contentRevision"])

	p.push("v2")
	require.Contains(t, p.repo.Git("show", "main:automations/charge.yml"), "twice")
	require.False(t, p.isDirty())
}

func TestPush18Modes(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.configure(`,"mode":"read-only"`)
	p.requireRefusal(403, "repository_read_only", "POST", "/push", toOrigin)
	require.Empty(t, p.repo.Git("for-each-ref"))
	p.configure(`,"mode":"write-only"`)
	p.requireRefusal(403, "repository_write_only", "POST", "/pull", toOrigin)
	p.push("v1")
	require.Nil(t, p.workspace()["writeLock"])
	got := p.do(t, 200, "GET", p.path+"/operations", "")
	require.Equal(t, 1, strings.Count(string(got.body), `"kind"`), "what is refused at once is no operation")
}

func TestPush55TwoAtOnce(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	d := p.useProxy()
	h := newHold(t)
	d.once(fetchesRefs, h.watch)
	id := p.started("v1")
	h.wait(t)
	for _, body := range []string{versionTo("v2", "origin"), `{"name":"v2"}`} {
		got := p.ok(423, "POST", "/versions", body)
		require.Equal(t, "resource_locked", got["error"])
		details := got["details"].(map[string]any)
		require.Equal(t, "push_in_progress", details["reason"])
		require.Equal(t, "u1", details["lockedBy"])
		require.NotEmpty(t, details["lockedAt"])
		require.NotEmpty(t, details["expiresAt"])
		require.Equal(t, map[string]any{"id": id, "kind": "push"}, details["operation"])
	}
	p.requireRefusal(423, "push_in_progress", "POST", "/pull", toOrigin)
	h.free()
	p.succeeded(id)
	require.Len(t, p.history("workspaces.versions.published"), 1)
}

func fetchesRefs(r *http.Request) bool { return listsToFetch(r) || fetches(r) }

func TestPush56LongerThanTheCallerWaits(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	d := p.useProxy()
	h := newHold(t)
	d.once(isReceivePack, h.watch)
	id := p.started("v1")
	h.wait(t)
	running := p.ok(200, "GET", "/operations/"+id, "")
	require.Equal(t, "running", running["status"])
	require.Nil(t, running["endedAt"])
	require.Nil(t, running["result"])
	require.Equal(t, "origin", running["repositoryId"])
	h.free()
	op := p.succeeded(id)
	require.Equal(t, "v1", op["result"].(map[string]any)["name"])
	require.Equal(t, wholePush, p.progress(id))
	frames := p.stream(id)
	require.Equal(t, "workspaces.operations.started", frames[0].event)
	require.Equal(t, "workspaces.operations.ended", frames[len(frames)-1].event)
	require.Equal(t, "succeeded", frames[len(frames)-1].data["status"])
	for i, f := range frames {
		require.NotEmpty(t, f.id)
		if f.event == "workspaces.versions.progress" {
			require.Equal(t, "push", f.data["operation"])
			require.Equal(t, "origin", f.data["repositoryId"])
			require.Equal(t, "main", f.data["branch"])
			require.NotEmpty(t, f.data["startedAt"])
			require.Equal(t, f.data["state"] == "done", f.data["stepDuration"] != nil, "%d", i)
		}
	}
}

// cancelAt starts a push and cancels it while a request is held.
func cancelAt(t *testing.T, request func(*http.Request) bool) (p *gitWorkspace, h *hold, id string) {
	t.Helper()
	p, h = newGitWorkspace(t, shared(t)), newHold(t)
	p.useProxy().once(request, h.watch)
	id = p.started("v1")
	h.wait(t)
	require.Equal(t, true, p.ok(200, "POST", "/operations/"+id+"/cancel", "")["cancelRequested"])
	return p, h, id
}

func TestPush57Cancel(t *testing.T) {
	t.Parallel()
	t.Run("before sending", func(t *testing.T) {
		t.Parallel()
		p, h, id := cancelAt(t, fetchesRefs)
		op := p.ended(id)
		require.Equal(t, "cancelled", op["status"])
		require.Empty(t, p.repo.Git("for-each-ref"))
		require.True(t, p.isDirty())
		p.requirePushFailure("cancelled", "checkout")
		p.requireRefusal(409, "already_ended", "POST", "/operations/"+id+"/cancel", "")
		h.free()
		p.push("v1")
	})
	t.Run("after sending", func(t *testing.T) {
		t.Parallel()
		p, h, id := cancelAt(t, isReceivePack)
		h.free()
		op := p.succeeded(id)
		require.Equal(t, op["result"].(map[string]any)["commit"], p.repo.ID("refs/heads/main"))
		require.False(t, p.isDirty())
	})
}
