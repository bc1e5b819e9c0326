package versioning_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const platformPath = "/v2/workspaces/platform"

// bulk asks for a push or an import of many workspaces.
func (e *platformFixture) bulk(status int, path, body string) map[string]any {
	e.t.Helper()
	return e.do(e.t, status, "POST", platformPath+path, body).json(e.t)
}

func (e *platformFixture) pushAll(status int, body string) map[string]any {
	e.t.Helper()
	return e.bulk(status, "/versions?timeout=50s", body)
}

func (e *platformFixture) importAll(status int, body string) map[string]any {
	e.t.Helper()
	return e.bulk(status, "/versions/latest/pull?timeout=50s", body)
}

// statuses returns what became of each workspace, by slug.
func statuses(result map[string]any) map[string]string {
	all := map[string]string{}
	for _, one := range result["workspaces"].([]any) {
		w := one.(map[string]any)
		all[w["slug"].(string)], _ = w["status"].(string)
	}
	return all
}

func types(frames []frame) (names []string) {
	for _, f := range frames {
		names = append(names, f.event[strings.LastIndex(f.event, ".")+1:])
	}
	return names
}

// Row 68 and 69 of the conformance list.
func TestAPushOfManySortsWorkspaces(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	clean, dirty, locked, conflicted := e.workspace("clean", "core"), e.workspace("dirty", "shared"), e.workspace("locked", "core"), e.workspace("torn", "core", "addon")
	e.workspace("other", "unrelated")
	clean.pushTo("main", "v0")
	conflict(conflicted)
	locked.ok(200, "POST", "/writeLock", `{"reason":"mine"}`)
	head := e.main.ID("refs/heads/main")

	plan := e.pushAll(200, `{"groups":["base"],"name":"v1","dryRun":true,"repository":"main"}`)
	require.Equal(t, map[string]string{"clean": "alreadyPushed", "dirty": "candidate", "locked": "inProgress", "torn": "mergeConflict"}, statuses(plan))
	require.Equal(t, []any{true, "main", "v1", []any{"base"}}, []any{plan["dryRun"], plan["repositoryId"], plan["name"], plan["groups"]})
	require.Equal(t, head, e.main.ID("refs/heads/main"))
	require.Equal(t, dirty.id, plan["workspaces"].([]any)[1].(map[string]any)["workspaceId"])
	require.Equal(t, "[]", strings.TrimSpace(string(e.do(t, 200, "GET", platformPath+"/operations", "").body)), "nothing was begun")

	require.Equal(t, "disk", e.pushAll(200, `{"groups":["base"],"dryRun":true}`)["repositoryId"], "the first that can be pushed to")
	got := e.pushAll(200, `{"groups":["base"],"name":"v1","repository":"main"}`)
	require.Equal(t, map[string]string{"clean": "alreadyPushed", "dirty": "pushed", "locked": "inProgress", "torn": "mergeConflict"}, statuses(got))
	require.Equal(t, []any{1.0, 1.0, 1.0, 1.0, 0.0}, []any{got["pushed"], got["alreadyPushed"], got["inProgress"], got["mergeConflicts"], got["errorsCount"]})
	require.Equal(t, []any{dirty.id}, got["pushedWorkspaceIds"])
	require.False(t, dirty.isDirty())
	require.NotEmpty(t, e.main.ID("refs/tags/envs/dirty/v1"))

	forced := e.pushAll(200, `{"groups":["base"],"name":"v2","force":true,"repository":{"id":"main"}}`)
	require.Equal(t, map[string]string{"clean": "pushed", "dirty": "pushed", "locked": "inProgress", "torn": "mergeConflict"}, statuses(forced))
	named := e.pushAll(200, `{"groups":["base"],"force":true}`)
	require.Regexp(t, `^\d{8}-\d{6}-[0-9A-Za-z_-]{6}$`, named["name"])
	require.Nil(t, e.do(t, 200, "GET", platformPath, "").json(t)["writeLock"], "it was given back")
}

// A workspace is a candidate while its content is not in that repository, whatever other repository
// it was pushed to.
func TestAPushOfManyGoesByItsOwnRepository(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	elsewhere, both, pulled := e.workspace("elsewhere", "core"), e.workspace("both", "core"), e.workspace("pulled", "core")
	for _, p := range []*gitWorkspace{elsewhere, both, pulled} {
		p.automation("charge", "charged")
		p.pushTo("disk", "v0")
		require.False(t, p.isDirty())
	}
	both.pushTo("main", "v1")
	pulled.pushTo("main", "v1")
	pulled.automation("charge", "changed")
	pulled.ok(200, "POST", "/pull", `{"repository":"main","discardLocalChanges":true}`)
	require.False(t, pulled.isDirty())

	plan := e.pushAll(200, `{"groups":["base"],"dryRun":true,"repository":"main"}`)
	require.Equal(t, map[string]string{"elsewhere": "candidate", "both": "alreadyPushed", "pulled": "alreadyPushed"}, statuses(plan))
	got := e.pushAll(200, `{"groups":["base"],"name":"v2","repository":"main"}`)
	require.Equal(t, map[string]string{"elsewhere": "pushed", "both": "alreadyPushed", "pulled": "alreadyPushed"}, statuses(got))
	require.Contains(t, e.readFileOnMain("envs/elsewhere/automations/charge.yml"), "charged")
	again := e.pushAll(200, `{"groups":["base"],"name":"v3","repository":"main"}`)
	require.Equal(t, map[string]string{"elsewhere": "alreadyPushed", "both": "alreadyPushed", "pulled": "alreadyPushed"}, statuses(again))
	plan = e.pushAll(200, `{"groups":["base"],"dryRun":true,"repository":"disk"}`)
	require.Equal(t, map[string]string{"elsewhere": "alreadyPushed", "both": "alreadyPushed", "pulled": "candidate"}, statuses(plan), "the pull changed what it had pushed there")

	both.rename("renamed")
	require.Equal(t, "candidate", statuses(e.pushAll(200, `{"groups":["base"],"dryRun":true,"repository":"main"}`))["renamed"])
}

// conflict leaves a workspace in conflict.
func conflict(p *gitWorkspace) {
	p.t.Helper()
	p.automation("charge", "charged")
	p.pushTo("main", "v0")
	clone := p.repo.Clone()
	clone.Write("envs/"+p.slug+"/automations/charge.yml", file("charge", "theirs"))
	clone.Commit("theirs")
	clone.Push("main")
	p.automation("charge", "ours")
	p.requireRefusal(409, "merge_conflict", "POST", "/pull", `{"repository":"main"}`)
}

// Rows 67, 71 and 72 of the conformance list.
func TestAPushOfManyIsRefused(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	e.workspace("billing", "core")
	refused := e.pushAll(422, `{"groups":["base","nosuch"]}`)
	require.Contains(t, refused["message"], "nosuch")
	require.Equal(t, []any{"base", "extra"}, refused["details"].(map[string]any)["availableGroups"])
	require.Equal(t, "missing_parameter", e.pushAll(400, `{"repository":"main"}`)["error"])
	require.Equal(t, "resource_not_found", e.pushAll(404, `{"repository":"nowhere","groups":["base"]}`)["error"])
	require.Equal(t, "permission_denied", e.pushAll(403, `{"repository":"archive","groups":["base"]}`)["error"])
	require.Equal(t, "validation_failed", e.pushAll(422, `{"groups":["not a group"]}`)["error"])
	require.Equal(t, "validation_failed", e.pushAll(422, `{"groups":["base"],"name":"latest"}`)["error"])
	require.Equal(t, "invalid_request", e.pushAll(400, `{"groups":["base"],"nosuch":1}`)["error"])
	require.Equal(t, "invalid_request", e.pushAll(400, `{"dryRun":true}`)["error"])
	require.Equal(t, "v1", e.pushAll(201, `{"name":"v1"}`)["name"], "an ordinary push of the platform workspace")
	for _, lock := range []string{"versions", "versions/latest/pull"} {
		e.do(t, 200, "POST", platformPath+"/writeLock", `{"reason":"mine"}`)
		held := e.bulk(423, "/"+lock, `{"groups":["base"]}`)
		require.Equal(t, "mine", held["details"].(map[string]any)["reason"])
		e.do(t, 200, "DELETE", platformPath+"/writeLock", "")
	}
}

// Row 70 of the conformance list.
func TestAPushOfManyIsFollowed(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	for i := range 3 {
		e.workspace(fmt.Sprintf("w%d", i), "core")
	}
	all := e.streamed(t, "POST", platformPath+"/versions?sse=true", `{"groups":["base"],"name":"v1"}`, "")
	require.Equal(t, []string{"started", "progress", "progress", "progress", "completed"}, types(all))
	require.Equal(t, "workspaces.bulkPush.started", all[0].event)
	for i, f := range all[1:4] {
		require.Equal(t, []any{float64(i + 1), 3.0, float64(100 * (i + 1) / 3), "pushed"}, []any{f.data["current"], f.data["total"], f.data["percentage"], f.data["status"]})
	}
	id := all[4].data["operationId"].(string)
	op := e.do(t, 200, "GET", platformPath+"/operations/"+id, "").json(t)
	result, err := json.Marshal(op["result"])
	require.NoError(t, err)
	last, err := json.Marshal(all[4].data)
	require.NoError(t, err)
	require.JSONEq(t, string(last), string(result))
	require.Equal(t, map[string]any{"current": 3.0, "total": 3.0, "percentage": 100.0}, op["progress"])
	events := platformPath + "/operations/" + id + "/events"
	require.Equal(t, all, e.streamed(t, "GET", events, "", ""), "the same again")
	for i, f := range all[:4] {
		require.Equal(t, all[i+1:], e.streamed(t, "GET", events, "", f.id), "no gap and no duplicate after a cut")
	}
	bad, err := e.ask("POST", platformPath+"/versions?sse=true", `{"groups":["nosuch"]}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnprocessableEntity, bad.StatusCode, "what is refused is no stream")
}
