package versioning_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// source is the text of the files of a workspace in a platform repository, by path.
func source(slug, importFile string) []string {
	files := []string{
		slug + "/index.yml", "name: " + slug + "\nslug: " + slug + "\ndescription: A workspace\nphoto: /p.png\n",
		slug + "/automations/charge.yml", file("charge", "charged by "+slug),
	}
	if importFile != "" {
		files = append(files, slug+"/.import.yml", importFile)
	}
	return files
}

// writeFiles puts files into the directory by hand.
func (e *platformFixture) writeFiles(files ...string) {
	e.t.Helper()
	for pair := range slices.Chunk(files, 2) {
		e.put(pair[0], pair[1])
	}
}

// planned returns the slugs of a run, in their order.
func planned(result map[string]any) (slugs []string) {
	for _, one := range result["workspaces"].([]any) {
		slugs = append(slugs, one.(map[string]any)["slug"].(string))
	}
	return slugs
}

// codes returns those of errors or warnings.
func codes(items any) (all []string) {
	for _, one := range items.([]any) {
		all = append(all, one.(map[string]any)["err"].(string))
	}
	return all
}

const allOfDisk = `{"repository":"disk"}`

// Rows 59 and 60 of the conformance list.
func TestAnImportOfManyGoesByDependencies(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	e.writeFiles(source("billing", "dependsOn:\n  - app/mailer\n")...)
	e.writeFiles(source("mail", "app:\n  slug: mailer\n  name: Mailer\n")...)
	e.writeFiles(source("lone", "dependsOn:\n  - app/nowhere\n")...)
	e.writeFiles(source("ying", "app:\n  slug: ying\ndependsOn:\n  - app/yang\n")...)
	e.writeFiles(source("yang", "app:\n  slug: yang\ndependsOn:\n  - app/ying\n")...)
	e.writeFiles("README.md", "not ours", ".hidden/index.yml", "name: x\n", "Not A Slug/index.yml", "name: x\n")
	got := e.importAll(200, allOfDisk)
	require.Equal(t, []string{"lone", "mail", "billing", "yang", "ying"}, planned(got))
	require.Equal(t, []any{5.0, 0.0, 0.0, 0.0}, []any{got["created"], got["updated"], got["skipped"], got["errorsCount"]}, "%v", got["errors"])
	require.Equal(t, []string{"invalid_directory", "dependency_cycle", "dependency_missing"}, codes(got["warnings"]))
	require.Equal(t, "mailer", got["workspaces"].([]any)[1].(map[string]any)["app"])
	require.Equal(t, "mailer", e.do(t, 200, "GET", "/v2/apps/mailer", "").json(t)["slug"])
	billing := e.found("billing")
	require.Equal(t, "charged by billing", billing.emittedEvent("charge"))
	require.False(t, billing.isDirty())
}

// found is the workspace that has a slug.
func (e *platformFixture) found(slug string) *gitWorkspace {
	e.t.Helper()
	got := e.do(e.t, 200, "GET", "/v2/workspaces?slug="+slug, "")
	id := got.list(e.t)[0]["id"].(string)
	return &gitWorkspace{fixture: e.fixture, t: e.t, id: id, slug: slug, repo: e.main, path: "/v2/workspaces/" + id}
}

// Row 61 of the conformance list.
func TestAnImportOfManySkipsWhatIsThere(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	made := e.workspace("billing", "core")
	made.automation("charge", "charged")
	e.pushAll(200, `{"groups":["base"],"name":"v1","repository":"main"}`)
	require.Equal(t, map[string]string{"billing": "imported"}, statuses(e.importAll(200, `{"repository":"main"}`)), "it was pushed, never pulled")
	made.automation("charge", "edited here")
	again := e.importAll(200, `{"repository":"main"}`)
	require.Equal(t, map[string]string{"billing": "skipped"}, statuses(again), "local edits play no part")
	require.Empty(t, again["warnings"])
	require.Equal(t, []any{made.id}, again["skippedWorkspaceIds"])

	clone := e.main.Clone()
	clone.Write("envs/billing/automations/charge.yml", file("charge", "theirs"))
	clone.Commit("theirs")
	clone.Push("main")
	differs := e.importAll(200, `{"repository":"main"}`)
	require.Equal(t, map[string]string{"billing": "skipped"}, statuses(differs))
	require.Equal(t, []string{"content_differs"}, codes(differs["warnings"]))
	require.Equal(t, "edited here", made.emittedEvent("charge"))

	plan := e.importAll(200, `{"repository":"main","forceReimport":true,"dryRun":true}`)
	would := plan["workspaces"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"updated", true, []any{"automations/charge"}, []any{}}, []any{would["wouldImport"], would["localChangesLost"], would["files"], would["deleted"]})
	require.Equal(t, "edited here", made.emittedEvent("charge"), "nothing was changed")

	e.do(t, 200, "POST", "/v2/workspaces/"+made.id+"/writeLock", `{"reason":"stock taking"}`)
	plan = e.importAll(200, `{"repository":"main","forceReimport":true,"dryRun":true}`)
	would = plan["workspaces"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"error", false}, []any{would["wouldImport"], would["localChangesLost"]})
	require.Equal(t, []string{"resource_locked"}, codes(would["errors"]), "as in the run itself")
	require.Equal(t, []string{"resource_locked"}, codes(e.importAll(200, `{"repository":"main","forceReimport":true}`)["errors"]))
	e.do(t, 200, "DELETE", "/v2/workspaces/"+made.id+"/writeLock", "")
	forced := e.importAll(200, `{"repository":"main","forceReimport":true}`)
	require.Equal(t, map[string]string{"billing": "imported"}, statuses(forced))
	require.Equal(t, []string{"checksum_mismatch"}, codes(forced["warnings"]), "forced, that is a warning")
	require.Equal(t, "theirs", made.emittedEvent("charge"))
}

// Rows 62, 63 and 64 of the conformance list.
func TestAnImportOfManyGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	e.writeFiles(source("good", "version:\n  name: v1\ngroups:\n  - x\n")...)
	e.writeFiles(source("other", "version:\n  name: v1\ngroups:\n  - y\n")...)
	e.writeFiles(source("none", "")...)
	e.writeFiles(source("forged", "version:\n  name: v1\ngroups:\n  - x\nchecksums:\n  automations:\n    charge: sha256:00\n")...)
	e.writeFiles("empty/automations/charge.yml", file("charge", "x"), "empty/.import.yml", "groups:\n  - x\n")
	e.writeFiles("bad/index.yml", "name: [", "bad/.import.yml", "groups:\n  - x\n")
	e.writeFiles("broken/index.yml", "name: B\n", "broken/.import.yml", "groups: 7\n")
	got := e.importAll(200, `{"repository":"disk","groups":["x"]}`)
	require.Equal(t, map[string]string{"good": "imported", "forged": "error", "empty": "error", "bad": "error"}, statuses(got))
	require.Equal(t, []string{"invalid_import_file"}, codes(got["warnings"]))
	require.Equal(t, 3.0, got["errorsCount"])
	require.ElementsMatch(t, []string{"invalid_index", "missing_index", "checksum_mismatch"}, codes(got["errors"]))
	forged := e.found("forged")
	require.Nil(t, forged.workspace()["lastPull"], "the next run tries again")
	require.Empty(t, forged.emittedEvent("charge"))

	again := e.importAll(200, `{"repository":"disk","groups":["x"],"forceReimport":true}`)
	require.Equal(t, "imported", statuses(again)["forged"])
	require.Equal(t, "charged by forged", forged.emittedEvent("charge"))
	all := e.importAll(200, allOfDisk)
	require.Equal(t, map[string]string{"good": "skipped", "forged": "skipped", "other": "imported", "none": "imported", "empty": "error", "bad": "error", "broken": "error"}, statuses(all))
	none := e.importAll(200, `{"repository":"disk","groups":["nosuch"]}`)
	require.Equal(t, []string{"invalid_import_file", "no_match"}, codes(none["warnings"]))
	require.Empty(t, none["workspaces"])
}

func TestAnImportOfManyKeepsIDs(t *testing.T) {
	t.Parallel()
	e, far := newPlatformFixture(t), newPlatformFixture(t)
	made := e.workspace("billing", "core")
	made.automation("charge", "charged")
	e.pushAll(200, `{"groups":["base"],"name":"v1","repository":"disk"}`)
	for _, name := range []string{"index.yml", "security.yml", ".import.yml", "automations/charge.yml"} {
		far.put("billing/"+name, e.onDisk("billing/"+name))
	}
	far.writeFiles(source("taken", fmt.Sprintf("workspaceId: %s\n", made.id))...)
	got := far.importAll(200, allOfDisk)
	require.Equal(t, map[string]string{"billing": "imported", "taken": "imported"}, statuses(got))
	there := far.found("billing")
	require.Equal(t, made.id, there.id)
	require.NotEqual(t, made.id, far.found("taken").id, "an id is given once")
	require.Equal(t, []any{"v1", "disk"}, []any{there.workspace()["lastPull"].(map[string]any)["version"], there.workspace()["lastPull"].(map[string]any)["repositoryId"]})
	require.False(t, there.isDirty())
	require.Equal(t, []string{"workspaces.created", "workspaces.imported"}, there.history("workspaces.created,workspaces.imported"))
	there.automation("charge", "edited there")
	far.do(t, 200, "POST", there.path+"/writeLock", `{}`)
	held := far.importAll(200, `{"repository":"disk","forceReimport":true}`)
	require.Equal(t, []string{"resource_locked"}, codes(held["errors"]))
	require.Equal(t, map[string]string{"billing": "error", "taken": "imported"}, statuses(held))
}

// The platform workspace is one of those that are imported, under the lock of the
// run.
func TestThePlatformIsImportedToo(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	e.writeFiles(source("billing", "")...)
	e.writeFiles("platform/index.yml", "name: The platform\nslug: platform\n", "platform/automations/watch.yml", file("watch", "watched"))
	require.Equal(t, map[string]string{"billing": "imported", "platform": "imported"}, statuses(e.importAll(200, allOfDisk)))
	platform := &gitWorkspace{fixture: e.fixture, t: t, id: "platform", slug: "platform", repo: e.main, path: platformPath}
	require.Equal(t, "watched", platform.emittedEvent("watch"))
	require.Nil(t, platform.workspace()["writeLock"])
	platform.ok(200, "PATCH", "", `{"labels":["core"]}`)
	require.Equal(t, map[string]string{"platform": "pushed"}, statuses(e.pushAll(200, `{"groups":["base"],"name":"v1","repository":"main"}`)))
	require.Contains(t, e.readFileOnMain("envs/platform/automations/watch.yml"), "watched")
	require.Nil(t, platform.workspace()["writeLock"])
	locks := platform.history("workspaces.locked,workspaces.unlocked")
	require.Equal(t, []string{"workspaces.locked", "workspaces.unlocked", "workspaces.locked", "workspaces.unlocked"}, locks)
}

// An app that could not be published is tried again by the next run, although the
// workspace has the version already.
func TestAnImportOfManyTriesAnAppAgain(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	holder := e.workspace("holder")
	e.do(t, 201, "POST", "/v2/apps", fmt.Sprintf(`{"workspaceId":%q,"slug":"mailer"}`, holder.id))
	e.writeFiles(source("mail", "version:\n  name: v1\napp:\n  slug: mailer\n  name: Mailer\n")...)
	for range 2 {
		require.Equal(t, []string{"app_publish_failed"}, codes(e.importAll(200, allOfDisk)["errors"]))
	}
	e.do(t, 200, "DELETE", "/v2/apps/mailer", "")
	done := e.importAll(200, allOfDisk)
	require.Equal(t, "mailer", done["workspaces"].([]any)[0].(map[string]any)["app"], "%v", done)
	require.Equal(t, map[string]string{"mail": "skipped"}, statuses(e.importAll(200, allOfDisk)))
}

// A directory that nobody may read like that keeps nobody else out.
func TestAnImportOfManyLeavesUnsafeOnesOut(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	e.writeFiles(source("good", "")...)
	e.writeFiles(source("linked", "")...)
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(e.disk, "linked", "automations", "x.yml")))
	got := e.importAll(200, allOfDisk)
	require.Equal(t, map[string]string{"good": "imported", "linked": "error"}, statuses(got))
	require.Equal(t, []string{"unsafe_tree"}, codes(got["errors"]))
	require.Regexp(t, `^[0-9a-f]{12}$`, e.found("good").workspace()["lastPull"].(map[string]any)["version"], "the content names it")
}
