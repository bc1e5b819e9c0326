//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// aimBulk is how much faster bulk runs with four workspaces at once are than with
// one after another.
const aimBulk = 1.7

// The size of a bulk run: so many workspaces, of so many automations each.
const (
	bulkWorkspaces  = 200
	bulkAutomations = 8
)

// bulkFiles are those of all workspaces in some generation, by path.
func bulkFiles(generation int) (list []string) {
	for w := range bulkWorkspaces {
		dir := fmt.Sprintf("w-%03d/", w)
		list = append(list, dir+"index.yml", fmt.Sprintf("name: Workspace %d\nslug: w-%03d\nlabels:\n  - core\n", w, w))
		for i := range bulkAutomations {
			list = append(list, fmt.Sprintf("%sautomations/a%d.yml", dir, i),
				fmt.Sprintf("slug: a%d\nname: A%d\ndo:\n  - emit:\n      event: generation-%d-%d\n", i, i, generation, w))
		}
	}
	return list
}

// bulkScenario is a service with the workspaces, and the repository that they are pushed to.
type bulkScenario struct {
	*server
	repo       *gittest.Repo
	generation int
}

func newBulkScenario(t *testing.T, git *gittest.Server, concurrency int) *bulkScenario {
	t.Helper()
	dir, port := t.TempDir(), freePort(t)
	f := &bulkScenario{repo: emptied(git, fmt.Sprintf("fleet-%d", concurrency))}
	ca := filepath.Join(dir, "ca.pem")
	require.NoError(t, os.WriteFile(ca, []byte(git.CA), 0o600))
	files := bulkFiles(0)
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, "seed", files[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(files[i+1]), 0o644))
	}
	const prefix = "WORKSPACES_STORAGE_GIT_PLATFORM_"
	f.server = launch(t, command(t, "serve", append(settingsOf(filepath.Join(dir, "data"), port), "EGRESS_ALLOW_PRIVATE=yes",
		fmt.Sprintf("BULK_CONCURRENCY=%d", concurrency), "WORKSPACE_GROUPS=all=core", "GATEWAY_REQUEST_TIMEOUT_SECONDS=300",
		prefix+"main_URL="+f.repo.URL, prefix+"main_CA_FILE="+ca, prefix+"main_AUTH_USER="+gittest.User, prefix+"main_AUTH_PASSWORD="+gittest.Password,
		prefix+"seed_TYPE=filesystem", prefix+"seed_DIRPATH="+filepath.Join(dir, "seed"))...), port)
	f.awaitReady(t, "/readyz")
	f.run(t, "/platform/versions/latest/pull", `{"repository":"seed"}`, "created")
	return f
}

// run does a bulk run, of which all workspaces must have got somewhere.
func (f *bulkScenario) run(t *testing.T, path, body, counted string) sample {
	t.Helper()
	return timed(func() {
		var done map[string]any
		require.NoError(t, json.Unmarshal(ask(t, f.server, 200, "POST", path+"?timeout=280", asJSON, []byte(body)), &done))
		require.EqualValues(t, bulkWorkspaces, done[counted], "%v", done["errors"])
	})
}

// push pushes all of them.
func (f *bulkScenario) push(t *testing.T) sample {
	f.generation++
	return f.run(t, "/platform/versions", fmt.Sprintf(`{"repository":"main","groups":["all"],"force":true,"name":"v%d"}`, f.generation), "pushed")
}

// importAll imports all of them, after somebody else has changed every file.
func (f *bulkScenario) importAll(t *testing.T) sample {
	clone := f.repo.Clone()
	clone.Write(bulkFiles(f.generation)...)
	clone.Commit("all of them")
	clone.Push("main")
	return f.run(t, "/platform/versions/latest/pull", `{"repository":"main","forceReimport":true}`, "updated")
}

// benchBulk pushes and imports 200 workspaces, four at once beside one after another.
func benchBulk(t *testing.T, _ *history) {
	others := watchOthers(t)
	git := gittest.New(t)
	four, one := newBulkScenario(t, git, 4), newBulkScenario(t, git, 1)
	var sides [2][2]series // four and one, of push and import
	for range runs {
		for i, do := range []func(*bulkScenario, *testing.T) sample{(*bulkScenario).push, (*bulkScenario).importAll} {
			sides[i][0], sides[i][1] = append(sides[i][0], do(four, t)), append(sides[i][1], do(one, t))
		}
	}
	out := line{
		"runs": runs, "others_cores": others(), "workspaces": bulkWorkspaces, "files": bulkWorkspaces * (bulkAutomations + 1), "aim": aimBulk, "ok": true,
		"durability": "group", "peak_mb": float64(procField(t, four.Process.Pid, "status", "VmHWM")) / 1024,
	}
	took := func(s sample) float64 { return milliseconds(s.took) }
	var both [2]series // push and import together
	for i, name := range []string{"push", "import"} {
		out["ms_"+name], out["ms_"+name+"_one"] = sides[i][0].of(took), sides[i][1].of(took)
		out["ratio_"+name], out["ratios_"+name] = sides[i][0].ratio(sides[i][1]), sides[i][0].ratios(sides[i][1])
	}
	for side := range both {
		for run := range runs {
			both[side] = append(both[side], sides[0][side][run].plus(sides[1][side][run]))
		}
	}
	out["ratio"], out["ratios"] = both[0].ratio(both[1]), both[0].ratios(both[1])
	out["ok"] = both[0].ratio(both[1]) >= aimBulk
	four.stop(t)
	one.stop(t)
	all := bulkWorkspaces * runs * 4
	out["sent"], out["stored"], out["answered"] = all, all, all
	out.print(t, "bulk")
}
