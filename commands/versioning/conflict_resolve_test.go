package versioning_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// resolution is the body that decides files: path, what becomes of it, path, what.
func resolution(pathsAndWhat ...string) string {
	var parts []string
	for i := 0; i < len(pathsAndWhat); i += 2 {
		parts = append(parts, fmt.Sprintf("%q:%s", pathsAndWhat[i], pathsAndWhat[i+1]))
	}
	return `{"files":{` + strings.Join(parts, ",") + `}}`
}

const (
	charge    = "automations/charge.yml"
	refund    = "automations/refund.yml"
	useOurs   = `{"use":"ours"}`
	useTheirs = `{"use":"theirs"}`
)

// newDoubleConflict is a workspace with two files in conflict: charge was changed
// on both sides, refund here while they deleted it.
func newDoubleConflict(t *testing.T) (*gitWorkspace, *gittest.Clone) {
	t.Helper()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	p.automation("refund", "refunded")
	p.push("v1")
	clone := p.repo.Clone()
	clone.Git("rm", "-q", refund)
	pushFromOther(clone, "charge", "theirs")
	p.automation("charge", "ours")
	p.automation("refund", "ours too")
	p.automation("extra", "only here")
	details := p.requireRefusal(409, "merge_conflict", "POST", "/pull", toOrigin)
	require.Equal(t, []any{charge, refund}, details["files"])
	return p, clone
}

func TestConflict35AllAsTheyHaveIt(t *testing.T) {
	t.Parallel()
	p, _ := newDoubleConflict(t)
	saved, head := p.onOwn(), p.onMain()
	found := p.ok(200, "GET", "/conflicts", "")["files"].([]any)[1].(map[string]any)
	require.Equal(t, "modify/delete", found["kind"])
	require.Nil(t, found["theirs"])

	got := p.ok(200, "POST", "/conflicts/resolve", resolution(charge, useTheirs, refund, useTheirs))
	require.Equal(t, []any{"automations/charge"}, got["imported"])
	require.Equal(t, []any{"automations/refund"}, got["deleted"])
	require.Empty(t, got["errors"])
	require.Equal(t, "theirs", p.emittedEvent("charge"))
	require.Empty(t, p.emittedEvent("refund"))
	require.Equal(t, "only here", p.emittedEvent("extra"))
	require.Equal(t, []string{saved, head}, p.parents(p.onOwn()))
	require.NotContains(t, p.repo.Git("ls-tree", "-r", "--name-only", p.onOwn()), refund)
	require.Equal(t, head, p.onMain())
	require.Empty(t, p.locked())
	require.True(t, p.isDirty(), "extra is not on the target branch")
	require.Equal(t, "resolve", p.last()["kind"])
	require.Equal(t, "succeeded", p.last()["status"])
	p.requireRefusal(409, "no_conflict", "POST", "/conflicts/resolve", resolution(charge, useOurs))
	p.push("v2")
	require.Equal(t, p.onOwn(), p.onMain())
}

func TestConflict35AllAsTheyHaveItIsClean(t *testing.T) {
	t.Parallel()
	p, _ := newConflict(t, shared(t))
	p.ok(200, "POST", "/conflicts/resolve", resolution(charge, useTheirs))
	require.False(t, p.isDirty(), "nothing is here that is not there")
	require.Empty(t, p.locked())
}

func TestConflictResolvedByContentAndByDeletion(t *testing.T) {
	t.Parallel()
	p, _ := newDoubleConflict(t)
	got := p.ok(200, "POST", "/conflicts/resolve", resolution(charge, fmt.Sprintf(`{"content":%q}`, file("charge", "decided")), refund, `{"content":null}`))
	require.Equal(t, []any{"automations/charge"}, got["imported"])
	require.Equal(t, []any{"automations/refund"}, got["deleted"])
	require.Equal(t, "decided", p.emittedEvent("charge"))
	require.Equal(t, file("charge", "decided"), p.repo.Git("show", p.onOwn()+":"+charge)+"\n")

	p, _ = newDoubleConflict(t)
	got = p.ok(200, "POST", "/conflicts/resolve", resolution(charge, useOurs, refund, useOurs))
	require.Equal(t, []any{}, got["imported"])
	require.Equal(t, "ours", p.emittedEvent("charge"))
	require.Equal(t, "ours too", p.emittedEvent("refund"))
	require.Contains(t, p.repo.Git("show", p.onOwn()+":"+refund), "ours too")
	require.True(t, p.isDirty())
}

func TestConflict36AResolutionDecidesExactlyTheFiles(t *testing.T) {
	t.Parallel()
	p, _ := newDoubleConflict(t)
	content, own, operations := p.content(), p.onOwn(), len(p.operations())
	for name, tt := range map[string]struct {
		body   string
		fields []string
	}{
		"one is missing":   {resolution(charge, useOurs), []string{refund}},
		"both are":         {resolution(), []string{charge, refund}},
		"one too many":     {resolution(charge, useOurs, refund, useOurs, "automations/extra.yml", useOurs), []string{"automations/extra.yml"}},
		"another path":     {resolution(charge, useOurs, refund, useOurs, "../x", useOurs), []string{"../x"}},
		"neither":          {resolution(charge, `{}`, refund, useOurs), []string{charge}},
		"both ways":        {resolution(charge, `{"use":"ours","content":"a: b\n"}`, refund, useOurs), []string{charge}},
		"a side of nobody": {resolution(charge, `{"use":"mine"}`, refund, useOurs), []string{charge}},
		"no YAML":          {resolution(charge, `{"content":"a: [b\n"}`, refund, useOurs), []string{charge}},
		"a list":           {resolution(charge, `{"content":"- a\n"}`, refund, useOurs), []string{charge}},
		"twice the key":    {resolution(charge, `{"content":"slug: charge\nslug: charge\n"}`, refund, useOurs), []string{charge}},
		"markers":          {resolution(charge, `{"content":"<<<<<<< a\nslug: charge\n=======\n>>>>>>> b\n"}`, refund, useOurs), []string{charge}},
	} {
		got := p.ok(422, "POST", "/conflicts/resolve", tt.body)
		var fields []string
		for _, fault := range got["details"].(map[string]any)["errors"].([]any) {
			fields = append(fields, fault.(map[string]any)["field"].(string))
		}
		require.Equal(t, tt.fields, fields, name)
	}
	p.ok(400, "POST", "/conflicts/resolve", `{"files":{"automations/charge.yml":{"usw":"ours"}}}`)
	p.ok(400, "POST", "/conflicts/resolve", `{"files":{"automations/charge.yml":"ours"}}`)
	require.Equal(t, "merge_conflict", p.locked())
	require.Equal(t, content, p.content())
	require.Equal(t, own, p.onOwn())
	require.Len(t, p.operations(), operations, "none of them became an operation")
}

func TestConflict37OnARepositoryThatIsOnlyRead(t *testing.T) {
	t.Parallel()
	p, clone := newPushed(t, shared(t))
	p.configure(`,"mode":"read-only"`)
	p.repo.Git("update-ref", "-d", "refs/heads/"+p.own())
	head := pushFromOther(clone, "charge", "theirs")
	p.automation("charge", "ours")
	p.repo.Hook("update", `test "$1" = refs/heads/main`)
	p.requireRefusal(403, "repository_read_only", "POST", "/push", toOrigin)

	p.requireRefusal(409, "merge_conflict", "POST", "/pull", toOrigin)
	details := p.requirePullFailure(409, "merge_conflict", "merge", "/pull", toOrigin)
	require.Equal(t, false, details["resolved"])
	require.Empty(t, p.onOwn())
	got := p.ok(200, "POST", "/conflicts/resolve", resolution(charge, fmt.Sprintf(`{"content":%q}`, file("charge", "decided"))))
	require.Equal(t, []any{"automations/charge"}, got["imported"])
	require.Equal(t, "decided", p.emittedEvent("charge"))
	require.Empty(t, p.locked())
	require.True(t, p.isDirty())
	require.Empty(t, p.onOwn())
	require.Equal(t, head, p.onMain())

	pushFromOther(clone, "other", "more")
	require.Equal(t, []any{"automations/other"}, p.pull()["imported"], "and it goes on from there")
	require.Equal(t, "decided", p.emittedEvent("charge"))
	require.Empty(t, p.onOwn())
}

// A resolution is merged with what the target got since.
func TestConflictResolvedWhileTheTargetMoves(t *testing.T) {
	t.Parallel()
	p, clone := newConflict(t, shared(t))
	saved := p.onOwn()
	head := pushFromOther(clone, "refund", "refunded")
	got := p.ok(200, "POST", "/conflicts/resolve", resolution(charge, useOurs))
	require.Equal(t, []any{"automations/refund"}, got["imported"])
	require.Equal(t, []string{saved, head}, p.parents(p.onOwn()))

	p, clone = newConflict(t, shared(t))
	saved = p.onOwn()
	pushFromOther(clone, "charge", "theirs again")
	details := p.requirePullFailure(409, "merge_conflict", "merge", "/conflicts/resolve", resolution(charge, fmt.Sprintf(`{"content":%q}`, file("charge", "decided"))))
	require.Equal(t, []any{charge}, details["files"])
	one := p.ok(200, "GET", "/conflicts", "")["files"].([]any)[0].(map[string]any)
	require.Contains(t, one["ours"].(map[string]any)["content"], "decided", "what was decided is not lost")
	require.Contains(t, one["theirs"].(map[string]any)["content"], "theirs again")
	require.Equal(t, saved, p.onOwn())
	p.requirePullFailure(409, "merge_conflict", "merge", "/pull", toOrigin)
	p.ok(200, "POST", "/conflicts/resolve", resolution(charge, useOurs))
	require.Equal(t, "decided", p.emittedEvent("charge"))
	require.Empty(t, p.locked())
}

// Somebody deletes the branch and the remote forgets what was saved; so does the
// node. What was saved is made again from what the platform kept.
func TestConflict32EverybodyForgot(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	p, clone := newPushed(t, h)
	p.automation("charge", "ours")
	p.pull() // saved: the next is built on it
	pushFromOther(clone, "charge", "theirs")
	p.automation("charge", "ours twice")
	p.requireRefusal(409, "merge_conflict", "POST", "/pull", toOrigin)
	saved := p.onOwn()
	require.Len(t, p.parents(p.parents(saved)[0]), 1, "a save on a save on the base")
	forget := func() {
		p.repo.Git("update-ref", "-d", "refs/heads/"+p.own())
		p.repo.Git("reflog", "expire", "--expire=now", "--all")
		p.repo.Git("gc", "-q", "--prune=now")
		require.NoError(t, os.RemoveAll(filepath.Join(h.dir, "data", "git")))
	}
	forget()
	p.requirePullFailure(409, "merge_conflict", "merge", "/pull", toOrigin)
	again := p.onOwn()
	require.NotEqual(t, saved, again, "its parent is gone")
	require.Contains(t, p.repo.Git("show", again+":"+charge), "ours twice")
	require.Equal(t, again, p.ok(200, "GET", "/conflicts", "")["ours"])
	p.requirePullFailure(409, "merge_conflict", "merge", "/pull", toOrigin)

	forget()
	p.ok(200, "POST", "/conflicts/resolve", resolution(charge, useOurs))
	require.Equal(t, "ours twice", p.emittedEvent("charge"))
	require.Len(t, p.parents(p.onOwn()), 2)
	require.Empty(t, p.locked())
}

// A resolution that the host does not take leaves the conflict as it was.
func TestConflictResolutionRefusedByTheHost(t *testing.T) {
	t.Parallel()
	p, _ := newConflict(t, shared(t))
	own := p.onOwn()
	p.repo.Hook("update", `echo "no robots here" >&2; exit 1`)
	details := p.requirePullFailure(403, "remote_refused", "merge", "/conflicts/resolve", resolution(charge, useTheirs))
	require.Contains(t, details["remote"], "no robots here")
	require.Equal(t, "merge_conflict", p.locked())
	require.Equal(t, own, p.onOwn())
	require.Len(t, p.ok(200, "GET", "/conflicts", "")["files"], 1)

	p.repo.Hook("update", "exit 0")
	p.ok(200, "POST", "/conflicts/resolve", resolution(charge, useTheirs))
	require.Empty(t, p.locked())
}
