package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestADirectoryIsCompared(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t).signIn(t)
	dir := t.TempDir()
	require.Contains(t, d.requireFailure(t, 2, "diff", dir), "has no index.yml with a slug")
	require.Contains(t, d.requireFailure(t, 1, "diff", filepath.Join(dir, "none")), "no such file")
	writeFile(t, dir, "index.yml", "name: Shop\nslug: shop\n")
	writeFile(t, dir, "automations/greet.yml", "slug: greet\nname: Greet\ndo: []\noutput: hello\n")
	require.Contains(t, d.requireFailure(t, 1, "diff", dir), "workspace")
	d.must(t, "apply", dir)
	require.Empty(t, d.must(t, "diff", dir))
	writeFile(t, dir, "automations/greet.yml", "# a comment is no difference\noutput: hello\nname: Greet\nslug: greet\ndo: []\n")
	require.Empty(t, d.must(t, "diff", dir, "--workspace", "shop"))

	writeFile(t, dir, "automations/greet.yml", "slug: greet\nname: Greet\ndo: []\noutput: goodbye\n")
	writeFile(t, dir, "automations/more.yml", "name: More\ndo: []\n")
	d.must(t, "automation", "put", "shop", "old", filepath.Join(dir, "automations/more.yml"))
	got := d.run(t, "diff", dir)
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "svc: 3 files different")
	require.Contains(t, got.out, "--- a/automations/greet.yml\n+++ b/automations/greet.yml\n")
	require.Contains(t, got.out, "-output: hello\n+output: goodbye\n")
	require.Contains(t, got.out, "--- /dev/null\n+++ b/automations/more.yml\n")
	require.Contains(t, got.out, "--- a/automations/old.yml\n+++ /dev/null\n")
	var found struct{ Files []fileDifference }
	got = d.run(t, "diff", dir, "--json")
	require.Equal(t, 1, got.code)
	require.NoError(t, json.Unmarshal([]byte(got.out), &found))
	require.Equal(t, []string{"changed", "added", "deleted"}, []string{found.Files[0].Status, found.Files[1].Status, found.Files[2].Status})

	id := d.call(t, "GET", "/workspaces/slug:shop", d.tok, "")["id"].(string)
	require.Equal(t, d.url()+"/console/w/"+id+"\n", d.must(t, "open", "shop"))
	require.Equal(t, d.url()+"/console/w/"+id+"/automations/greet\n", d.must(t, "open", "shop", "automations/greet.yml"))
	require.Contains(t, d.must(t, "open", "shop", "--json"), `"url": "`+d.url()+`/console/w/`+id+`"`)
	require.Contains(t, d.requireFailure(t, 2, "open", "shop", "kitchen"), "there is no screen")
}

func TestLogsAreFollowed(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t).signIn(t)
	d.workspace(t, "shop")
	dir := t.TempDir()
	writeFile(t, dir, "greet.yml", "name: Greet\narguments:\n  row: {type: string, default: no row}\ndo:\n  - run: {module: collections, function: create, parameters: {collection: people, data: '{{row}}'}, onError: emit}\n")
	writeFile(t, dir, "fail.yml", "name: Fail\ndo:\n  - missing: {}\n")
	d.must(t, "automation", "put", "shop", "fail", filepath.Join(dir, "fail.yml"))
	require.Equal(t, 1, d.run(t, "run", "shop", "fail").code)
	require.Eventually(t, func() bool { return strings.Contains(d.must(t, "logs", "shop"), "fail  test  failed") }, time.Minute, 20*time.Millisecond)
	require.Regexp(t, `^\d{4}-\S+Z  run        fail  test  failed  .*missing`, d.must(t, "logs", "shop", "--automation", "fail"))
	require.Empty(t, d.must(t, "logs", "shop", "--automation", "greet"))
	require.Contains(t, d.requireFailure(t, 2, "logs", "shop", "--limit", "101"), "--limit is a number")

	pr := d.cliEnv.program("logs", "shop", "-f", "--json")
	pr.cmd.Env = append(pr.cmd.Env, "SVC_URL="+d.url(), "SVC_TOKEN="+d.profiles(t)["default"].Token)
	require.NoError(t, pr.cmd.Start())
	t.Cleanup(func() { _ = pr.cmd.Process.Kill() })
	out := &devOutput{lines: pr.out}
	require.Equal(t, "failed", out.await(t, "run").Status)
	d.must(t, "automation", "put", "shop", "greet", filepath.Join(dir, "greet.yml"))
	d.must(t, "run", "shop", "greet")
	run := out.await(t, "run", func(l devLine) bool { return l.Automation == "greet" })
	require.Len(t, run.Logs, 1)
	require.Contains(t, run.Logs[0], "Error")
	require.Contains(t, d.must(t, "logs", "shop", "--automation", "greet"), "Error")
	require.Zero(t, pr.signal(t, syscall.SIGINT), "%s", pr.log)
}

func TestAppsArePublishedAndInstalled(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t).signIn(t)
	dir := t.TempDir()
	writeFile(t, dir, "index.yml", "name: Greeter\nslug: greeter\ndescription: Greets\nphoto: https://example.org/g.png\nconfig:\n  schema:\n    word:\n      type: string\n")
	writeFile(t, dir, "automations/hi.yml", "slug: hi\nname: Hi\nwhen:\n  endpoint: true\ndo: []\noutput: '{{config.word}}'\n")
	d.must(t, "apply", dir)
	d.workspace(t, "shop")
	require.Equal(t, "published app greeter\n", d.must(t, "app", "publish", "greeter", "greeter", "--name", "Greeter"))
	require.Regexp(t, `(?m)^greeter\s+Greeter\s`, d.must(t, "app", "list", "--search", "greeter"))
	require.Equal(t, "installed greeter as g\n", d.must(t, "app", "install", "shop", "greeter", "--slug", "g", "--config", `{"word":"Bonjour"}`))
	require.Contains(t, d.must(t, "app", "config", "shop", "g"), "Bonjour")
	require.Contains(t, d.must(t, "app", "config", "shop", "g", "--set", `{"word":"Hallo"}`), "Hallo")
	require.Equal(t, "Hallo", ask(t, d.url()+"/v2/workspaces/slug:shop/webhooks/g.hi", ""))
	require.Contains(t, d.requireFailure(t, 1, "app", "install", "shop", "nothing"), "nothing")
	require.Contains(t, d.requireFailure(t, 2, "app", "config", "shop", "g", "--set", "{"), "--set is no JSON")
}
