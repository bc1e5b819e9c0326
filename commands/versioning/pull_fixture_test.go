package versioning_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// content is what the workspace holds, byte by byte.
func (p *gitWorkspace) content() string {
	p.t.Helper()
	return string(p.do(p.t, 200, "GET", p.path+"/export", "").body)
}

// exported is the text of a file of the workspace; "" when there is none.
func (p *gitWorkspace) exported(path string) string {
	p.t.Helper()
	body := []byte(p.content())
	r, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	require.NoError(p.t, err)
	f, err := r.Open("current/" + path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it is only read
	text, err := io.ReadAll(f)
	require.NoError(p.t, err)
	return string(text)
}

// locked is the reason of the lock; "" when there is none.
func (p *gitWorkspace) locked() string {
	p.t.Helper()
	lock, _ := p.workspace()["writeLock"].(map[string]any)
	reason, _ := lock["reason"].(string)
	return reason
}

// last is the newest operation.
func (p *gitWorkspace) last() map[string]any {
	p.t.Helper()
	var list []map[string]any
	require.NoError(p.t, json.Unmarshal(p.do(p.t, 200, "GET", p.path+"/operations", "").body, &list))
	require.NotEmpty(p.t, list)
	return list[0]
}

// steps are what was told of the newest operation: "pull done", and its last word.
func (p *gitWorkspace) steps() (steps []string, last map[string]any) {
	p.t.Helper()
	text := string(p.do(p.t, 200, "GET", p.path+"/operations/"+p.last()["id"].(string)+"/events", "").body)
	require.NotContains(p.t, text, gittest.Password)
	for frame := range strings.SplitSeq(text, "\n\n") {
		_, data, ok := strings.Cut(frame, "event: workspaces.versions.progress\ndata: ")
		if !ok {
			continue
		}
		last = map[string]any{}
		require.NoError(p.t, json.Unmarshal([]byte(data), &last))
		steps = append(steps, fmt.Sprint(last["step"], " ", last["state"]))
	}
	return steps, last
}

// recorded counts what was recorded of the workspace, operations included.
func (p *gitWorkspace) recorded() int {
	p.t.Helper()
	var history []any
	require.NoError(p.t, json.Unmarshal(p.do(p.t, 200, "GET", p.path+"/history?limit=1000", "").body, &history))
	return len(history) + len(p.operations())
}

func (p *gitWorkspace) operations() (list []any) {
	p.t.Helper()
	require.NoError(p.t, json.Unmarshal(p.do(p.t, 200, "GET", p.path+"/operations?limit=100", "").body, &list))
	return list
}

// requirePullFailure asks for a pull or a resolution that fails in a step. The workspace and
// what it knows of the repository stay as they were, the lock is free or that of
// the conflict it was before, the failure is told, and no secret with it.
func (p *gitWorkspace) requirePullFailure(status int, reason, step, path, body string) map[string]any {
	p.t.Helper()
	content, lock, before := p.content(), p.locked(), p.workspace()
	details := p.requireRefusal(status, reason, "POST", path, body)
	p.failedIn(step, reason)
	require.Equal(p.t, content, p.content())
	require.Equal(p.t, lock, p.locked())
	after := p.workspace()
	for _, field := range []string{"dirty", "lastPull", "lastPush", "contentRevision"} {
		require.Equal(p.t, before[field], after[field], field)
	}
	return details
}

// failedIn checks how the newest operation ended.
func (p *gitWorkspace) failedIn(step, reason string) {
	p.t.Helper()
	op := p.last()
	status := "failed"
	if reason == "merge_conflict" {
		status = "conflict"
	}
	require.Equal(p.t, status, op["status"])
	require.Equal(p.t, reason, op["error"].(map[string]any)["details"].(map[string]any)["reason"])
	require.NotContains(p.t, fmt.Sprint(op), gittest.Password)
	steps, last := p.steps()
	require.Equal(p.t, "error failed", steps[len(steps)-1])
	require.Equal(p.t, step, last["failedStep"], "%v", steps)
	require.Equal(p.t, reason, last["error"].(map[string]any)["details"].(map[string]any)["reason"])
	require.Equal(p.t, step+" failed", steps[len(steps)-2])
}

// newPushed is a workspace with the automation charge, pushed, and a clone of it.
func newPushed(t *testing.T, h *fixture) (*gitWorkspace, *gittest.Clone) {
	t.Helper()
	p := newGitWorkspace(t, h)
	p.automation("charge", "charged")
	p.push("v1")
	return p, p.repo.Clone()
}

// pushFromOther lets the other developer push an automation to main.
func pushFromOther(c *gittest.Clone, slug, event string) string {
	c.Write("automations/"+slug+".yml", file(slug, event))
	id := c.Commit(slug + " " + event)
	c.Push("main")
	return id
}

// newConflict is a workspace whose automation charge says ours here and theirs on
// main, after the pull that found out.
func newConflict(t *testing.T, h *fixture) (*gitWorkspace, *gittest.Clone) {
	t.Helper()
	p, clone := newPushed(t, h)
	pushFromOther(clone, "charge", "theirs")
	p.automation("charge", "ours")
	p.requireRefusal(409, "merge_conflict", "POST", "/pull", toOrigin)
	clone.Git("fetch", "-q", "origin")
	return p, clone
}

// Where the branches are.
func (p *gitWorkspace) onMain() string { p.t.Helper(); return p.repo.ID("refs/heads/main") }
func (p *gitWorkspace) onOwn() string  { p.t.Helper(); return p.repo.ID("refs/heads/" + p.own()) }

// parents are those of a commit.
func (p *gitWorkspace) parents(commit string) []string {
	p.t.Helper()
	return strings.Fields(p.repo.Git("show", "-s", "--format=%P", commit))
}

// subject is the first line of a commit's message.
func (p *gitWorkspace) subject(commit string) string {
	p.t.Helper()
	return p.repo.Git("show", "-s", "--format=%s", commit)
}

// fill commits a workspace to a repository as the other developer, before anybody
// pushed.
func (p *gitWorkspace) fill(pathsAndTexts ...string) *gittest.Clone {
	p.t.Helper()
	clone := p.repo.Clone()
	clone.Write(append([]string{"index.yml", "name: Shop\nslug: " + p.slug + "\n"}, pathsAndTexts...)...)
	clone.Commit("by hand")
	clone.Push("main")
	return clone
}
