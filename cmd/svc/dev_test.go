package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/projections/livetest"
)

// devOutput is what `svc dev --json` printed, and how much of it a test has looked at.
type devOutput struct {
	lines *livetest.Lines
	seen  int
}

// await waits for a line of this sort after those that were seen, and returns it.
func (o *devOutput) await(t *testing.T, event string, match ...func(devLine) bool) (found devLine) {
	t.Helper()
	require.Eventually(t, func() bool {
		all := strings.SplitAfter(o.lines.String(), "\n")
		for i, text := range all[:len(all)-1] {
			var line devLine
			require.NoError(t, json.Unmarshal([]byte(text), &line), "%s", text)
			if i >= o.seen && line.Event == event && (len(match) == 0 || match[0](line)) {
				found, o.seen = line, i+1
				return true
			}
		}
		return false
	}, time.Minute, 5*time.Millisecond, "there must be %s in what is left of\n%s", event, o.lines)
	return found
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	temp := filepath.Join(filepath.Dir(path), ".writing") // as most editors do: nobody reads half a file
	require.NoError(t, os.WriteFile(temp, []byte(text), 0o600))
	require.NoError(t, os.Rename(temp, path))
}

// ask calls an endpoint without any credential.
func ask(t *testing.T, address, body string) string {
	t.Helper()
	resp, err := plainHTTP.Post(address, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", text)
	return string(text)
}

// One command in an empty directory is a service, a workspace and an endpoint, and Ctrl-C leaves no process.
func TestDevInAnEmptyDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "My shop")
	start := func(args ...string) (*childProcess, *devOutput) {
		pr := newCLIEnv(t).program(append([]string{"dev", dir, "--json"}, args...)...)
		pr.cmd.SysProcAttr.Setpgid = true
		require.NoError(t, pr.cmd.Start())
		t.Cleanup(func() { _ = pr.cmd.Process.Kill() })
		return pr, &devOutput{lines: pr.out}
	}
	pr, out := start("--watch-runs", "hello", "--input", `{"body":{"name":"Ada"}}`)
	require.Equal(t, []string{"automations/hello.yml", "index.yml"}, out.await(t, "created").Files)
	ready := out.await(t, "ready")
	require.Equal(t, "my-shop", ready.Workspace)
	require.JSONEq(t, `{"message":"Hello world!"}`, ask(t, ready.Endpoint, ""))
	require.JSONEq(t, `{"message":"Hello Lin!"}`, ask(t, ready.Endpoint, `{"name":"Lin"}`))
	runs := *out // what ran and what was answered is printed in either order
	runs.await(t, "run", func(l devLine) bool { return l.Trigger == "endpoint" && l.Status == "succeeded" })
	first := out.await(t, "output")
	require.Contains(t, first.Output, "Hello Ada!")
	require.Nil(t, first.Difference)

	hello := readFile(t, filepath.Join(dir, "automations/hello.yml"))
	require.Contains(t, hello, "# yaml-language-server: $schema="+ready.URL+"/v2/schemas/automation")
	writeFile(t, dir, "automations/hello.yml", strings.Replace(hello, "Hello", "Bonjour", 2))
	saved := out.await(t, "saved")
	require.Equal(t, []string{"automations/hello.yml"}, saved.Files)
	answered := out.await(t, "output")
	require.Contains(t, *answered.Difference, "-  \"message\": \"Hello Ada!\"\n+  \"message\": \"Bonjour Ada!\"\n")
	t.Logf("from the file to the workspace: %d ms, to the answer: %d ms", saved.Milliseconds, answered.Milliseconds)

	t.Log("what is wrong is named with its line and the nearest name, and is not saved")
	writeFile(t, dir, "automations/hello.yml", strings.Replace(hello, "description:", "desciption:", 1))
	wrong := out.await(t, "invalid")
	require.Equal(t, []any{"automations/hello.yml", 4}, []any{wrong.File, wrong.Line})
	require.Contains(t, wrong.Message, `"description"`)
	writeFile(t, dir, "automations/other.yml", "name: [\n")
	require.Equal(t, "automations/other.yml", out.await(t, "invalid").File)
	require.JSONEq(t, `{"message":"Bonjour world!"}`, ask(t, ready.Endpoint, ""))
	require.NoError(t, os.Remove(filepath.Join(dir, "automations/other.yml")))
	writeFile(t, dir, "automations/hello.yml", hello)
	out.await(t, "saved")

	require.Zero(t, pr.signal(t, syscall.SIGINT), "%s", pr.log)
	require.Empty(t, pr.log.String())
	require.ErrorIs(t, syscall.Kill(-pr.cmd.Process.Pid, 0), syscall.ESRCH, "no process of its group is left")

	t.Log("the next time everything is as it was, and what changed meanwhile is saved")
	writeFile(t, dir, "automations/hello.yml", strings.Replace(hello, "Hello {{", "Again {{", 1))
	pr, out = start()
	require.Equal(t, []string{"automations/hello.yml"}, out.await(t, "saved").Files)
	ready = out.await(t, "ready")
	require.Equal(t, "my-shop", ready.Workspace)
	require.JSONEq(t, `{"message":"Again world!"}`, ask(t, ready.Endpoint, ""))
	second, _ := start()
	require.Error(t, second.cmd.Wait())
	require.Contains(t, second.log.String(), "another `svc dev` runs in ")
	require.Zero(t, pr.signal(t, syscall.SIGTERM), "%s", pr.log)
}

// Somebody works in the console on what another has in a directory.
func TestDevBesideTheConsole(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t).signIn(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	writeFile(t, dir, "index.yml", "name: Shop\nslug: shop\n")
	greet := "# my notes\nslug: greet\nname: Greet\ndescription: One\nwhen:\n  endpoint: true\ndo: []\noutput: hello\n"
	writeFile(t, dir, "automations/greet.yml", greet)
	writeFile(t, dir, "automations/old.yml", "name: Old\ndo: []\n")
	start := func(args ...string) (*devOutput, func() error) {
		ctx, cancel := context.WithCancel(t.Context())
		out, ended := &devOutput{lines: new(livetest.Lines)}, make(chan error, 1)
		go func() {
			ended <- run(ctx, append([]string{"dev", dir, "--json"}, args...), d.world(nil, out.lines, io.Discard))
		}()
		stop := func() error {
			cancel()
			err := <-ended
			ended <- err
			return err
		}
		t.Cleanup(func() { _ = stop() })
		return out, stop
	}
	out, stop := start()
	require.Equal(t, d.url(), out.await(t, "ready").URL)
	require.NoDirExists(t, file(".svc/data"), "the service of the profile answers")
	require.Equal(t, "hello\n", d.must(t, "run", "shop", "greet"))

	t.Log("a change in the console comes into the directory, comments at the top stay")
	workspace := d.call(t, "GET", "/workspaces/slug:shop", d.tok, "")["id"].(string)
	edit := func(slug, body string) {
		d.call(t, "PATCH", "/workspaces/"+workspace+"/automations/"+slug, d.tok, body)
	}
	edit("greet", `{"description":"Two"}`)
	require.Equal(t, []string{"automations/greet.yml"}, out.await(t, "received").Files)
	require.True(t, strings.HasPrefix(readFile(t, file("automations/greet.yml")), "# my notes\nslug: greet\n"))
	require.Contains(t, readFile(t, file("automations/greet.yml")), "description: Two\n")
	d.call(t, "DELETE", "/workspaces/"+workspace+"/automations/old", d.tok, "")
	require.Equal(t, []string{"automations/old.yml"}, out.await(t, "received").Removed)
	require.NoFileExists(t, file("automations/old.yml"))

	t.Log("both sides change other parts while nobody watches: they are merged")
	require.NoError(t, stop())
	edit("greet", `{"description":"Three"}`)
	now := readFile(t, file("automations/greet.yml"))
	writeFile(t, dir, "automations/greet.yml", strings.Replace(now, "output: hello", "output: goodbye", 1))
	out, stop = start()
	out.await(t, "saved")
	out.await(t, "ready")
	require.Equal(t, "goodbye\n", d.must(t, "run", "shop", "greet"))
	now = readFile(t, file("automations/greet.yml"))
	require.Contains(t, now, "description: Three\n")
	require.Contains(t, now, "output: goodbye\n")

	t.Log("both sides change the same: nothing is lost, and the file counts once the one beside it is gone")
	require.NoError(t, stop())
	edit("greet", `{"output":"theirs"}`)
	writeFile(t, dir, "automations/greet.yml", strings.Replace(now, "output: goodbye", "output: mine", 1))
	out, stop = start()
	conflict := out.await(t, "conflict")
	require.Equal(t, "automations/greet.yml", conflict.File)
	require.Contains(t, conflict.Message, "automations/greet.yml.conflict")
	out.await(t, "ready")
	require.Contains(t, readFile(t, file("automations/greet.yml")), "output: mine\n")
	beside := readFile(t, file("automations/greet.yml.conflict"))
	require.Contains(t, beside, "output: mine\n")
	require.Contains(t, beside, "output: theirs\n")
	require.Equal(t, "theirs\n", d.must(t, "run", "shop", "greet"))
	writeFile(t, dir, "automations/more.yml", "name: More\ndo: []\noutput: more\n")
	require.Equal(t, []string{"automations/more.yml"}, out.await(t, "saved").Files, "what is not in conflict goes on")
	require.Equal(t, "theirs\n", d.must(t, "run", "shop", "greet"))
	require.NoError(t, os.Remove(file("automations/greet.yml.conflict")))
	require.Equal(t, []string{"automations/greet.yml"}, out.await(t, "saved").Files)
	require.Equal(t, "mine\n", d.must(t, "run", "shop", "greet"))

	t.Log("one side deletes what the other changes")
	require.NoError(t, stop())
	edit("more", `{"output":"even more"}`)
	require.NoError(t, os.Remove(file("automations/more.yml")))
	out, _ = start()
	require.Equal(t, "automations/more.yml", out.await(t, "conflict").File)
	require.Contains(t, readFile(t, file("automations/more.yml.conflict")), "even more")
	require.NoError(t, os.Remove(file("automations/more.yml.conflict")))
	require.Equal(t, []string{"automations/more.yml"}, out.await(t, "saved").Removed)
	require.NotContains(t, d.must(t, "automation", "list", "shop"), "more")
	require.NoError(t, os.Remove(file("index.yml")))
	require.Contains(t, out.await(t, "received").Files, "index.yml", "it cannot be deleted")

	t.Log("a workspace that exists comes into an empty directory")
	copied := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	second, ended := &devOutput{lines: new(livetest.Lines)}, make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"dev", copied, "--json", "--workspace", "shop"}, d.world(nil, second.lines, io.Discard))
	}()
	require.Contains(t, second.await(t, "received").Files, "automations/greet.yml")
	second.await(t, "ready")
	cancel()
	require.NoError(t, <-ended)
}

// What is asked wrongly is said with what to do, and changes nothing.
func TestDevSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := newRemoteUser(t).signIn(t)
	dir := t.TempDir()
	require.Contains(t, d.requireFailure(t, 2, "dev", dir, "more"), "it is svc dev [DIR]")
	require.Contains(t, d.requireFailure(t, 2, "dev", dir, "--input", "{}"), "--input is for --watch-runs")
	require.Contains(t, d.requireFailure(t, 2, "dev", dir, "--watch-runs", "x", "--input", "{x"), "--input is neither JSON nor a file")
	require.Contains(t, d.requireFailure(t, 1, "dev", dir, "--workspace", "nowhere"), "workspace")
	writeFile(t, dir, "automations/a.yml", "name: A\ndo: []\n")
	require.Contains(t, d.requireFailure(t, 1, "dev", dir), "has no index.yml")
	writeFile(t, dir, ".svc/state.json", "{")
	require.Contains(t, d.requireFailure(t, 1, "dev", dir), "delete it to begin anew")
	writeFile(t, dir, ".svc/state.json", `{"url":"https://elsewhere.example.org","workspaceId":"abcdefg"}`)
	require.Contains(t, d.requireFailure(t, 1, "dev", dir), "is linked with workspace abcdefg of https://elsewhere.example.org")
	require.Equal(t, "name: A\ndo: []\n", readFile(t, filepath.Join(dir, "automations/a.yml")))
}

// A port that is in use is not taken.
func TestAFreePortIsFound(t *testing.T) {
	taken, err := listenOnFreePort(0)
	require.NoError(t, err)
	defer taken.Close()
	got, err := listenOnFreePort(portOf(taken))
	require.NoError(t, err)
	defer got.Close()
	require.NotEqual(t, portOf(taken), portOf(got))
	if usual, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(usualPort)); err == nil {
		defer usual.Close()
	}
	other, err := listenOnFreePort(0)
	require.NoError(t, err)
	defer other.Close()
	require.NotEqual(t, usualPort, portOf(other))
}
