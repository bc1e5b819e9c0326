//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// startPlatform starts a service whose platform has a Git repository, main, a directory, seed, and the group base of the
// workspaces with the label core.
func startPlatform(t *testing.T, env ...string) (s *service, server *gittest.Server, repo *gittest.Repo, seed string) {
	t.Helper()
	server, seed = gitServer(t), t.TempDir()
	repo = server.Repo("envs.git")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, []byte(server.CA), 0o600))
	const prefix = "WORKSPACES_STORAGE_GIT_PLATFORM_"
	return startService(t, append([]string{
		"WORKSPACE_GROUPS=base=core", prefix + "main_URL=" + repo.URL, prefix + "main_NAME=Main", prefix + "main_CA_FILE=" + ca,
		prefix + "main_AUTH_USER=" + gittest.User, prefix + "main_AUTH_PASSWORD=" + gittest.Password,
		prefix + "seed_TYPE=filesystem", prefix + "seed_NAME=Seed", prefix + "seed_DIRPATH=" + seed,
	}, env...)...), server, repo, seed
}

// bulkEvents are the payloads of the events of bulk runs of a type, the newest first.
func (p *person) bulkEvents(t *testing.T, kind string) (payloads []map[string]any) {
	t.Helper()
	found := p.do(t, http.StatusOK, "GET", "/v2/workspaces/platform/events?limit=1000&types=workspaces."+kind, nil)
	for _, event := range found["result"].(map[string]any)["events"].([]any) {
		payloads = append(payloads, event.(map[string]any)["payload"].(map[string]any))
	}
	return payloads
}

// awaitTabs waits until the tabs of a screen are these, with their counts: "All 4".
func (b *tab) awaitTabs(tabs ...string) {
	b.t.Helper()
	wanted, _ := json.Marshal(strings.Join(tabs, "|"))
	b.await(`[...document.querySelectorAll('[role=tab]')].map((one) => one.innerText.replace(/\s+/g, ' ').trim()).join('|') === `+string(wanted), "tabs "+strings.Join(tabs, ", "))
}

// #57: a push of many workspaces: its plan has four groups, its rows are live, the counts are those of its last event,
// also after a reload. #58: an import over local changes lists them, and starts after their number was typed.
func TestBulkRuns(t *testing.T) {
	t.Parallel()
	s, server, repo, _ := startPlatform(t)
	admin, ben := s.admin(t), s.person(t, "Ben")
	const automation = "slug: charge\nname: Charge\ndo: []\n"
	ids := map[string]string{}
	for _, name := range []string{"Billing", "Clean", "Conflicted", "Locked"} {
		ids[name] = admin.workspace(t, name, automation)
		admin.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+ids[name], map[string]any{"slug": strings.ToLower(name), "labels": []string{"core"}})
	}
	admin.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+ids["Clean"]+"/versions", map[string]any{"name": "v0", "repository": "main"})
	own := server.Repo("own.git")
	admin.connect(t, ids["Conflicted"], server, own)
	admin.pushTo(t, ids["Conflicted"], "v0")
	editRemote(own, "automations/charge.yml", "name: Charge", "name: Charge there")
	admin.rename(t, ids["Conflicted"], "charge", "Charge here")
	require.Equal(t, http.StatusConflict, admin.ask(t, "POST", "/v2/workspaces/"+ids["Conflicted"]+"/pull", map[string]any{"repository": "origin"}).StatusCode)
	admin.do(t, http.StatusOK, "POST", "/v2/workspaces/"+ids["Locked"]+"/writeLock", map[string]any{"reason": "Release freeze"})

	sh := newSheet(t, "bulk")
	b := admin.open(t)
	b.visit("workspaces")
	b.click("link", "Platform")
	b.awaitAt("platform")
	b.seeText("No bulk run yet.")
	b.click("button", "Show the plan")
	b.seeText("Choose at least one group.")
	b.click("checkbox", "base")
	b.fill("Version", "v1.0.0")
	sh.capture(b, "choose")
	b.click("button", "Show the plan")
	b.awaitTabs("All 4", "Has conflicts 1", "Locked 1", "To push 1", "Nothing to push 1")
	require.Empty(t, admin.list(t, "/v2/workspaces/platform/operations"), "a plan does nothing")
	sh.capture(b, "plan")
	b.click("button", "Push 1 workspace")
	b.see("heading", "Bulk push: Done")
	want := []string{"All 4", "Has conflicts 1", "Locked 1", "Pushed 1", "Nothing to push 1"}
	b.awaitTabs(want...)
	at := b.where()
	sh.capture(b, "result")
	b.do(chromedp.Reload())
	b.awaitTabs(want...)
	require.Equal(t, at, b.where())
	completed := admin.bulkEvents(t, "bulkPush.completed")
	require.Len(t, completed, 1, "a reload starts nothing")
	for count, n := range map[string]int{"pushed": 1, "mergeConflicts": 1, "inProgress": 1, "alreadyPushed": 1, "errorsCount": 0} {
		require.EqualValues(t, n, completed[0][count], count)
	}
	require.Contains(t, repo.Git("show", "main:billing/automations/charge.yml"), "name: Charge")
	b.click("link", "Trace Billing")
	b.seeText("workspaces.versions.progress")
	b.visit(strings.TrimPrefix(at, "/console/"))
	b.keepFiles()
	b.click("button", "Export")
	require.Contains(t, b.savedFile(), "billing,"+ids["Billing"]+",Billing,,pushed,")

	// An import: one workspace has local changes, another one is locked; one is new, one cannot be read.
	admin.rename(t, ids["Billing"], "charge", "Charge here")
	clone := repo.Clone()
	clone.Write("fresh/index.yml", "name: Fresh\nslug: fresh\n", "broken/index.yml", "name: [\n", "locked/index.yml", "name: Locked\nslug: locked\n")
	clone.Commit("More workspaces")
	clone.Push("main")
	b.visit("platform/bulk?kind=import&repository=main")
	sh.capture(b, "choose import")
	b.click("button", "Show the plan")
	b.seeText("1 workspace has changes that were never pushed.")
	b.await(rowsWith("Local changes are lost") + ` === 1`)
	b.await(rowsWith("Has errors") + ` === 2`)
	b.click("cell", "Is created")
	b.see("complementary", "fresh")
	sh.capture(b, "import plan")
	b.press("Escape")
	b.click("button", "Import 5 workspaces")
	b.see("dialog", "Replace the changes of 1 workspace?")
	b.press("Control+Enter")
	require.NotEmpty(t, b.reasonOf("Import 5 workspaces"))
	require.Empty(t, admin.bulkEvents(t, "bulkImport.started"))
	sh.capture(b, "local changes")
	b.fill("Type 1 to confirm", "1")
	b.press("Control+Enter")
	b.see("heading", "Bulk import: Done")
	imported := admin.bulkEvents(t, "bulkImport.completed")
	require.Len(t, imported, 1)
	n := func(field string) int { return int(imported[0][field].(float64)) }
	require.Equal(t, []int{1, 2, 2}, []int{n("created"), n("updated"), n("errorsCount")}, imported[0])
	b.awaitTabs("All 5", "Failed 2", "Created 1", "Updated 2")
	require.True(t, eval[bool](b, `['broken', 'locked'].every((slug, i) => document.querySelector('[role=row][data-index="' + i + '"]').dataset.key === slug)`), "errors first")
	b.click("cell", "broken")
	b.seeText("index.yml")
	sh.capture(b, "import result")
	require.Equal(t, "Charge", admin.do(t, http.StatusOK, "GET", "/v2/workspaces/"+ids["Billing"]+"/automations/charge", nil)["name"])

	// Run again: what has its version is skipped, and loses nothing.
	b.click("link", "Run again")
	b.await(rowsWith("Has this version") + ` === 2`)
	b.await(rowsWith("Local changes are lost") + ` === 0`)
	b.visit("platform/bulk")
	b.see("link", "Bulk import")
	sh.capture(b, "runs")

	// Who may change the platform does this too, and nothing else here.
	admin.share(t, "platform", ben, map[string]any{"policies": map[string]bool{"read": true, "update": true}})
	p := ben.open(t)
	p.visit("w/platform")
	p.await(`document.querySelector('nav a[href="/console/platform"]')`, "the entry of the menu")
	p.visit("platform")
	p.see("button", "Show the plan")
	require.False(t, p.has("link", "Users"))
	p.visit("platform/users")
	p.see("heading", "Only for super admins")

	// A run that is refused as a whole says why.
	b.visit("platform/bulk?plan&kind=push&repository=main&groups=nonsense")
	b.seeText("Some values are not acceptable.")
	sh.capture(b, "refused")
}

// A push of 200 workspaces that is watched, reloaded, cancelled and run again: the counts on the screen are those of the
// events at every step.
func TestBulkPushOfManyWorkspaces(t *testing.T) {
	t.Parallel()
	const many = 200
	s, _, repo, seed := startPlatform(t, "BULK_CONCURRENCY=8")
	admin := s.admin(t)
	for i := range many {
		dir := filepath.Join(seed, fmt.Sprintf("w-%03d", i))
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "index.yml"), fmt.Appendf(nil, "name: Workspace %d\nslug: w-%03d\nlabels:\n  - core\n", i, i), 0o644))
	}
	require.EqualValues(t, many, admin.do(t, http.StatusOK, "POST", "/v2/workspaces/platform/versions/latest/pull?timeout=60", map[string]any{"repository": "seed"})["created"])
	// The Git server does not answer to one of them until it may, or a minute has passed.
	gate := filepath.Join(t.TempDir(), "closed")
	require.NoError(t, os.WriteFile(gate, nil, 0o644))
	t.Cleanup(func() { _ = os.Remove(gate) }) // a test that failed leaves nobody waiting
	repo.Hook("pre-receive", "while read -r old new ref; do case \"$ref\" in */w-050/*) n=0; while [ -e "+gate+" ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done;; esac; done\n")

	sh := newSheet(t, "bulk-many")
	b := admin.open(t)
	b.visit("platform/bulk?plan&kind=push&repository=main&groups=base&name=v1.0.0")
	b.awaitTabs("All 200", "To push 200")
	b.click("button", "Push 200 workspaces")
	b.see("heading", "Bulk push: Running")
	at := b.where()
	progress := func() int { return len(admin.bulkEvents(t, "bulkPush.progress")) }
	const shown = `document.querySelector('progress[aria-label]')?.value ?? -1`
	b.await(`(` + shown + `) >= 30`)
	// Those that were begun beside the one that waits come to their end; then nothing moves.
	sh.capture(b, "running")
	b.do(chromedp.Reload())
	b.see("heading", "Bulk push: Running")
	require.Equal(t, at, b.where())
	b.await(fmt.Sprintf(`(%s) === %d`, shown, progress()))
	require.Len(t, admin.bulkEvents(t, "bulkPush.started"), 1, "a reload starts nothing")

	b.click("button", "Cancel the run")
	b.seeText("What has begun is finished, nothing new begins.")
	require.NoError(t, os.Remove(gate))
	b.see("heading", "Bulk push: Cancelled")
	completed := admin.bulkEvents(t, "bulkPush.completed")[0]
	pushed, failed := int(completed["pushed"].(float64)), int(completed["errorsCount"].(float64))
	require.Equal(t, true, completed["cancelled"])
	require.Equal(t, many, pushed+failed)
	require.Equal(t, many, progress())
	b.awaitTabs("All 200", fmt.Sprintf("Failed %d", failed), fmt.Sprintf("Pushed %d", pushed))
	sh.capture(b, "cancelled")

	b.click("link", "Run again")
	b.awaitTabs("All 200", fmt.Sprintf("To push %d", failed), fmt.Sprintf("Nothing to push %d", pushed))
	b.click("button", fmt.Sprintf("Push %d workspaces", failed))
	b.await(`/Bulk push: (Running|Done)/.test(document.body.innerText)`)
	for part := range 4 { // on a busy machine all of them take longer than one wait
		b.await(fmt.Sprintf(`!document.body.innerText.includes('Bulk push: Running') || (%s) >= %d`, shown, pushed+failed*part/4))
	}
	b.see("heading", "Bulk push: Done")
	completed = admin.bulkEvents(t, "bulkPush.completed")[0]
	require.EqualValues(t, failed, completed["pushed"])
	require.EqualValues(t, pushed, completed["alreadyPushed"])
	require.Equal(t, many+failed, progress())
	b.awaitTabs("All 200", fmt.Sprintf("Pushed %d", failed), fmt.Sprintf("Nothing to push %d", pushed))
	sh.capture(b, "run again")
	require.Len(t, strings.Fields(repo.Git("tag")), many, "every workspace has the version")
}
