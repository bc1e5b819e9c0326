//go:build bench

package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/commands/gitsync/gittest"
)

// aimGit is how much longer a push, or a pull, may take than the same steps with
// the git command line.
const aimGit = 1.3

// gitFiles is how many files are pushed and pulled.
const gitFiles = 500

// written are the files of a workspace in some generation: what they say differs
// in every file of every generation.
func written(slug string, generation int) archive.Tree {
	tree := archive.Tree{"index.yml": fmt.Appendf(nil, "name: Generation %d\nslug: %s\n", generation, slug), "security.yml": fmt.Appendf(nil,
		"authorizations:\n  roles:\n    editor%d: {}\n", generation)}
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range gitFiles - len(tree) {
		text := fmt.Sprintf("slug: a%03d\nname: Automation %d\ndo:\n", i, i)
		for range 10 {
			text += fmt.Sprintf("  - emit:\n      event: e%x\n      payload:\n        text: t%x%x\n", rng.Uint64(), rng.Uint64(), rng.Uint64())
		}
		text += fmt.Sprintf("  - emit:\n      event: generation-%d\n", generation)
		tree[fmt.Sprintf("automations/a%03d.yml", i)] = []byte(text)
	}
	return tree
}

// pathsAndTexts is a tree as gittest writes it.
func pathsAndTexts(tree archive.Tree) (list []string) {
	for path, text := range tree {
		list = append(list, path, string(text))
	}
	return list
}

// ask sends a request as the user tester and returns the answer, which must be
// the expected one.
func ask(t *testing.T, s *server, want int, method, path, kind string, body []byte) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://127.0.0.1:%d/v2/workspaces%s", s.port, path), bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer tester")
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, want, resp.StatusCode, "%s %s: %.500s", method, path, got)
	return got
}

const asJSON = "application/json"

// newFilledWorkspace makes a workspace with the files, whose repository has a README.
func newFilledWorkspace(t *testing.T, s *server, git *gittest.Server, slug string) (path string, repo *gittest.Repo) {
	t.Helper()
	repo = emptied(git, slug)
	var made struct{ ID string }
	require.NoError(t, json.Unmarshal(ask(t, s, 201, "POST", "", asJSON, fmt.Appendf(nil, `{"name":"Bench","slug":%q}`, slug)), &made))
	ask(t, s, 200, "PATCH", "/"+made.ID, asJSON, fmt.Appendf(nil,
		`{"repositories":{"origin":{"name":"Origin","config":{"url":%q,"caBundle":%q,"auth":{"user":%q,"password":%q}}}}}`,
		repo.URL, git.CA, gittest.User, gittest.Password))
	var zipped bytes.Buffer
	require.NoError(t, written(slug, 0).WriteZip(&zipped))
	ask(t, s, 200, "POST", "/"+made.ID+"/import?timeout=60", "application/zip", zipped.Bytes())
	return "/" + made.ID, repo
}

func emptied(git *gittest.Server, name string) *gittest.Repo {
	repo := git.Repo(name + ".git")
	clone := repo.Clone()
	clone.Write("README.md", "hello\n")
	clone.Commit("first")
	clone.Push("main")
	return repo
}

// otherwise lets another developer change every file.
func otherwise(repo *gittest.Repo, slug string) {
	clone := repo.Clone()
	clone.Write(pathsAndTexts(written(slug, 1))...)
	clone.Commit("all of them")
	clone.Push("main")
}

// timed is how long something takes for all files.
func timed(do func()) sample {
	collectGarbage()
	start := time.Now()
	do()
	return sample{count: gitFiles, took: time.Since(start)}
}

// measureService pushes and pulls with the service.
func measureService(t *testing.T, s *server, git *gittest.Server, slug string) (push, pull sample) {
	t.Helper()
	path, repo := newFilledWorkspace(t, s, git, slug)
	push = timed(func() {
		ask(t, s, 201, "POST", path+"/versions?timeout=60", asJSON, []byte(`{"name":"v1","repository":{"id":"origin"}}`))
	})
	require.Len(t, strings.Fields(repo.Git("ls-tree", "-r", "--name-only", "main")), gitFiles+1)
	otherwise(repo, slug)
	var brought struct{ Imported []string }
	pull = timed(func() {
		got := ask(t, s, 200, "POST", path+"/pull?timeout=60", asJSON, []byte(`{"repository":{"id":"origin"}}`))
		require.NoError(t, json.Unmarshal(got, &brought))
	})
	require.Len(t, brought.Imported, gitFiles)
	return push, pull
}

// measureGit does the same steps with the git command line.
func measureGit(t *testing.T, git *gittest.Server, slug string) (push, pull sample) {
	t.Helper()
	repo, own := emptied(git, slug), "svc/"+slug+"/main"
	files := pathsAndTexts(written(slug, 0))
	var clone *gittest.Clone
	push = timed(func() {
		clone = repo.CloneAfar()
		clone.Git("checkout", "-q", "-b", own)
		clone.Write(files...)
		clone.Commit("v1")
		clone.Git("checkout", "-q", "main")
		clone.Git("merge", "-q", "--ff-only", own)
		clone.Git("tag", "-a", "-m", "v1", "v1")
		clone.Git("push", "-q", "--atomic", "origin", own, "main", "v1")
	})
	require.Len(t, strings.Fields(repo.Git("ls-tree", "-r", "--name-only", "main")), gitFiles+1)
	otherwise(repo, slug)
	pull = timed(func() {
		clone.Git("fetch", "-q", "origin")
		clone.Git("merge", "-q", "--ff-only", "origin/main")
	})
	require.Equal(t, repo.ID("refs/heads/main"), clone.Head())
	return push, pull
}

// benchGit pushes and pulls 500 files over HTTPS, beside the same steps with the
// git command line at the same server.
func benchGit(t *testing.T, _ *history) {
	others := watchOthers(t)
	git, port, dir := gittest.New(t), freePort(t), filepath.Join(t.TempDir(), "data")
	service := launch(t, command(t, "serve", append(settingsOf(dir, port), "EGRESS_ALLOW_PRIVATE=yes")...), port)
	service.awaitReady(t, "/readyz")
	measureService(t, service, git, "warm")
	var sides [2][2]series // ours and theirs, of push and pull
	for run := range runs {
		a, b := measureService(t, service, git, fmt.Sprintf("ours-%d", run))
		c, d := measureGit(t, git, fmt.Sprintf("theirs-%d", run))
		for i, one := range [2][2]sample{{a, c}, {b, d}} {
			sides[i][0], sides[i][1] = append(sides[i][0], one[0]), append(sides[i][1], one[1])
		}
	}
	service.stop(t)
	took := func(s sample) float64 { return milliseconds(s.took) }
	out := line{"runs": runs, "others_cores": others(), "files": gitFiles, "aim": aimGit, "ok": true, "durability": "group; git syncs packs only"}
	for i, name := range []string{"push", "pull"} {
		service, git := sides[i][0], sides[i][1]
		out["ms_"+name], out["ms_"+name+"_git"] = service.of(took), git.of(took)
		out["ratio_"+name], out["ratios_"+name] = git.ratio(service), git.ratios(service)
		out["ok_"+name] = git.ratio(service) <= aimGit
		out["ok"] = out["ok"].(bool) && git.ratio(service) <= aimGit
	}
	out["sent"], out["stored"], out["answered"] = gitFiles*runs*2, gitFiles*runs*2, gitFiles*runs*2
	out.print(t, "git")
}
