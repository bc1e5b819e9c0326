package versioning_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

// unzipped returns the text of a file of an export.
func unzipped(t *testing.T, archived []byte, path string) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archived), int64(len(archived)))
	require.NoError(t, err)
	text, err := fs.ReadFile(z, path)
	require.NoError(t, err)
	return string(text)
}

func TestPush20Native(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	got := p.do(t, 201, "POST", p.path+"/versions", `{"name":"v1","description":"First"}`)
	version := got.json(t)
	require.Equal(t, "v1", version["name"])
	require.Equal(t, "First", version["description"])
	require.Nil(t, version["repository"])
	require.Nil(t, version["commit"])
	require.Equal(t, p.workspace()["contentRevision"], version["contentRevision"])
	op := p.succeeded(got.Header.Get("X-Svc-Operation-Id"))
	require.Equal(t, []string{"write started", "write done"}, p.progress(op["id"].(string)))
	require.True(t, p.isDirty(), "it says nothing about the outside")
	require.Nil(t, p.workspace()["lastPush"])
	require.Empty(t, p.repo.Git("for-each-ref"))
	var list []map[string]any
	require.NoError(t, json.Unmarshal(p.do(t, 200, "GET", p.path+"/versions", "").body, &list))
	require.Len(t, list, 1)
	require.Equal(t, "v1", list[0]["name"])
	require.Len(t, p.history("workspaces.versions.published"), 1)
	changes := version["changes"].(map[string]any)
	require.Equal(t, []any{"automations/charge.yml", "index.yml", "security.yml"}, changes["files"], "the first version has everything")
	require.Equal(t, changes["files"], changes["created"])
	require.Equal(t, changes, list[0]["changes"])

	p.push("g1")
	p.automation("charge", "charged twice")
	p.automation("refund", "refunded")
	second := p.ok(201, "POST", "/versions", `{"name":"v2"}`)["changes"].(map[string]any)
	require.Equal(t, []any{"automations/charge.yml", "automations/refund.yml"}, second["files"], "since the version before it")
	require.Equal(t, []any{"automations/refund.yml"}, second["created"])
	require.Equal(t, map[string]any{"changes": 2.0, "insertions": 7.0, "deletions": 2.0}, second["summary"])
	empty := p.ok(201, "POST", "/versions", `{"name":"v3"}`)["changes"].(map[string]any)
	require.Equal(t, []any{}, empty["files"])
	p.push("g2")
	require.False(t, p.isDirty(), "nor does it change what is known")
	require.Equal(t, "g2", p.workspace()["lastPush"].(map[string]any)["version"])
}

// After a native pull the status tells what differs: from the repository that the workspace was last
// pushed to or pulled from; without one, from the version.
func TestStatusAfterANativePull(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "first")
	p.ok(201, "POST", "/versions", `{"name":"v1"}`)
	p.ok(200, "POST", "/pull", `{}`)
	require.Equal(t, []any{}, p.ok(200, "GET", "/status", "")["changes"])
	p.automation("refund", "refunded")
	changes := func() (list []string) {
		for _, c := range p.ok(200, "GET", "/status", "")["changes"].([]any) {
			one := c.(map[string]any)
			list = append(list, one["change"].(string)+" "+one["type"].(string)+"/"+one["slug"].(string)+" "+one["side"].(string))
		}
		return list
	}
	require.Equal(t, []string{"added automations/refund local"}, changes())

	p.automation("charge", "second")
	p.push("g1")
	pushFromOther(p.repo.Clone(), "more", "more")
	p.pull()
	p.ok(200, "POST", "/versions/v1/pull", `{}`)
	status := p.ok(200, "GET", "/status", "")
	require.Equal(t, "local_dirty", status["state"])
	require.Equal(t, "v1", status["version"].(map[string]any)["name"])
	require.Equal(t, []string{"modified automations/charge local", "deleted automations/more local", "deleted automations/refund local"}, changes())
	require.Equal(t, status["changes"], p.ok(200, "GET", "/status?repository=origin", "")["changes"])
}

func TestPush20NativeVersionsAreKept(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "first")
	p.ok(201, "POST", "/versions", `{"name":"v1"}`)
	p.automation("charge", "second")
	p.automation("refund", "refunded")
	p.ok(201, "POST", "/versions", `{"name":"v2"}`)
	p.automation("charge", "third")

	past := p.ok(200, "GET", "/automations/charge?version=v1", "")
	require.Contains(t, past["do"].([]any)[0].(map[string]any)["emit"].(map[string]any)["event"], "first")
	p.ok(404, "GET", "/automations/refund?version=v1", "")
	require.NotNil(t, p.ok(200, "GET", "?version=v1", "")["automations"].(map[string]any)["charge"])
	p.ok(404, "GET", "/automations/charge?version=v9", "")

	diff := p.ok(200, "GET", "/diff?from=v1&to=v2", "")
	require.Equal(t, map[string]any{"added": 1.0, "modified": 1.0, "deleted": 0.0}, diff["summary"])
	for _, how := range [][2]string{{"POST", "/versions/v1/export"}, {"GET", "/versions/v1/export"}} {
		zipped := p.do(t, 200, how[0], p.path+how[1], "")
		require.Contains(t, unzipped(t, zipped.body, "current/automations/charge.yml"), "event: first")
		require.Contains(t, zipped.Header.Get("Content-Disposition"), p.id+"-v1.zip")
	}
	p.ok(404, "POST", "/versions/v9/export", "")
	copied := p.ok(201, "POST", "/versions/v1/duplicate", `{"name":"Copy"}`)
	text := p.do(t, 200, "GET", "/v2/workspaces/"+copied["id"].(string)+"/automations/charge", "")
	require.Contains(t, string(text.body), "first")

	got := p.do(t, 200, "POST", p.path+"/versions/v1/pull", `{}`)
	require.Equal(t, []any{"automations/charge"}, got.json(t)["imported"])
	require.Equal(t, []any{"automations/refund"}, got.json(t)["deleted"])
	require.Equal(t, []any{}, got.json(t)["errors"])
	require.Equal(t, "first", p.emittedEvent("charge"))
	require.Equal(t, "v1", p.workspace()["lastPull"].(map[string]any)["version"])
	op := p.succeeded(got.Header.Get("X-Svc-Operation-Id"))
	require.Equal(t, []string{"import started", "import done"}, p.progress(op["id"].(string)))
	require.True(t, p.isDirty())

	p.ok(200, "POST", "/pull", `{}`)
	require.Equal(t, "second", p.emittedEvent("charge"), "latest is the newest native version")
	require.Equal(t, "refunded", p.emittedEvent("refund"))
	p.ok(200, "POST", "/restore", `{"version":"v1"}`)
	require.Equal(t, "first", p.emittedEvent("charge"))
	require.Equal(t, "invalid_parameter", p.ok(400, "POST", "/versions/current/pull", `{}`)["error"])
	p.ok(404, "POST", "/versions/v9/pull", `{}`)

	p.ok(200, "DELETE", "/versions/v2", "")
	p.ok(404, "POST", "/versions/v2/pull", `{}`)
	p.ok(404, "GET", "/automations/charge?version=v2", "")
	p.ok(200, "POST", "/pull", `{"version":"v1"}`)
	p.ok(201, "POST", "/versions", `{"name":"v2"}`)
	require.Nil(t, p.workspace()["writeLock"])
	require.Equal(t, "resource_not_found", newGitWorkspace(t, p.fixture).ok(404, "POST", "/pull", `{}`)["error"], "there is none yet")
}
