package versioning_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPush11MovedElsewhere(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]func(*http.Request) bool{"before the refs are listed to send": listsToSend, "while it is sent": isReceivePack} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newGitWorkspace(t, shared(t))
			d := p.useProxy()
			p.inDirectory().push("v1")
			clone := p.repo.Clone()
			clone.Write("other/README.md", "hello\n")
			theirs := clone.Commit("elsewhere")
			d.once(when, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
				clone.Push("main")
				pass.ServeHTTP(w, r)
			})
			p.automation("charge", "charged")
			got := p.do(t, 201, "POST", p.path+"/versions", versionTo("v2", "origin"))
			require.Equal(t, p.repo.ID("refs/heads/main"), got.json(t)["commit"])
			require.Equal(t, theirs, p.repo.Git("rev-parse", "main^"))
			require.Equal(t, got.json(t)["commit"], commitOf(p.repo, "refs/tags/shop/v2"))
			require.Equal(t, got.json(t)["commit"], p.repo.ID("refs/heads/"+p.own()))
			require.False(t, p.isDirty())
			op := p.succeeded(got.Header.Get("X-Svc-Operation-Id"))
			require.Equal(t, append(append([]string{}, wholePush...), wholePush...), p.progress(op["id"].(string)), "it began anew")
			require.Len(t, p.history("workspaces.versions.published"), 2)
		})
	}
}

func TestPush12MovedHere(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	d := p.useProxy()
	p.push("v1")
	clone := p.repo.Clone()
	clone.Write("automations/refund.yml", file("refund", "refunded"))
	theirs := clone.Commit("ours")
	d.once(isReceivePack, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		clone.Push("main")
		pass.ServeHTTP(w, r)
	})
	p.automation("charge", "charged")
	details := p.requireRefusal(409, "not_up_to_date", "POST", "/versions", versionTo("v2", "origin"))
	require.EqualValues(t, 1, details["behind"])
	require.Equal(t, theirs, p.repo.ID("refs/heads/main"))
	require.Empty(t, p.repo.ID("refs/tags/v2"))
	require.True(t, p.isDirty())
	p.requirePushFailure("not_up_to_date", "pull")
}

func TestPush12NeverEnds(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	d := p.useProxy()
	p.inDirectory().push("v1")
	clone := p.repo.Clone()
	d.set(func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if listsToSend(r) {
			clone.Commit("again")
			clone.Push("main")
		}
		pass.ServeHTTP(w, r)
	})
	p.automation("charge", "charged")
	p.requireRefusal(409, "remote_busy", "POST", "/versions", versionTo("v2", "origin"))
	require.True(t, p.isDirty())
	require.Nil(t, p.workspace()["writeLock"])
}

func TestPushOfATagThatSomebodyTakesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]bool{"with a commit": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newGitWorkspace(t, shared(t))
			d := p.useProxy()
			p.push("v1")
			d.once(isReceivePack, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
				p.repo.Git("tag", "v2", "main")
				pass.ServeHTTP(w, r)
			})
			if change {
				p.automation("charge", "charged")
			}
			head := p.repo.ID("refs/heads/main")
			got := p.ok(409, "POST", "/versions", versionTo("v2", "origin"))
			require.Equal(t, "resource_already_exists", got["error"], "%v", got)
			require.Equal(t, head, p.repo.ID("refs/heads/main"))
			require.Equal(t, change, p.isDirty())
			p.requirePushFailure("", "checkout")
		})
	}
}

func TestPush14CutBeforeItArrived(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]func(*http.Request) bool{"while the refs are listed": listsToSend, "while it is sent": isReceivePack} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newGitWorkspace(t, shared(t))
			d := p.useProxy()
			p.automation("charge", "charged")
			d.once(when, dropRequest)
			got := p.do(t, 201, "POST", p.path+"/versions", versionTo("v1", "origin"))
			require.Equal(t, got.json(t)["commit"], p.repo.ID("refs/heads/main"))
			require.Equal(t, "1", count(p.repo, "main"))
			require.False(t, p.isDirty())
			op := p.succeeded(got.Header.Get("X-Svc-Operation-Id"))
			require.Equal(t, wholePush, p.progress(op["id"].(string)), "the same commit was sent again")
		})
	}
}

func TestPush14AnswerLost(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	d := p.useProxy()
	p.push("v1")
	p.automation("charge", "charged")
	d.once(isReceivePack, loseAnswer)
	version := p.push("v2")
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/main"))
	require.Equal(t, "2", count(p.repo, "main"))
	require.Equal(t, []any{"automations/charge.yml"}, version["changes"].(map[string]any)["files"])
	require.False(t, p.isDirty())
	require.Len(t, p.history("workspaces.versions.published"), 2)

	d.once(isReceivePack, loseAnswer)
	version = p.push("v3")
	require.Equal(t, p.repo.ID("refs/heads/main"), version["commit"], "a tag alone")
	require.NotEmpty(t, p.repo.ID("refs/tags/v3"))
}

func TestPush15Unreachable(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	d := p.useProxy()
	p.automation("charge", "charged")
	d.set(func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if isReceivePack(r) {
			d.set(dropRequest)
			loseAnswer(w, r, pass)
		}
		pass.ServeHTTP(w, r)
	})
	details := p.requireRefusal(503, "outcome_unknown", "POST", "/versions?timeout=50", versionTo("v1", "origin"))
	require.Equal(t, "origin", details["repositoryId"])
	require.True(t, p.isDirty(), "nobody has seen it there")
	require.Nil(t, p.workspace()["lastPush"])
	p.requirePushFailure("outcome_unknown", "push")
	head := p.repo.ID("refs/heads/main")
	require.NotEmpty(t, head)

	status := p.ok(200, "GET", "/status?refresh=true", "")
	one := status["repositories"].([]any)[0].(map[string]any)
	require.Equal(t, true, one["stale"])
	require.NotNil(t, one["error"])
	require.True(t, p.isDirty())

	d.set(nil)
	status = p.ok(200, "GET", "/status?refresh=true", "")
	require.Equal(t, "clean", status["state"])
	require.Equal(t, "v1", status["version"].(map[string]any)["name"])
	require.False(t, p.isDirty())
	require.Equal(t, "v1", p.workspace()["lastPush"].(map[string]any)["version"])
	require.Len(t, p.history("workspaces.versions.published"), 1)
	require.Equal(t, head, p.repo.ID("refs/heads/main"))
	p.push("v2")
}
