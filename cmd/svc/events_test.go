package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fields are the words of a line.
func fields(line string) []string { return strings.Fields(line) }

// printed is an event as `svc events tail --json` prints it.
type printed struct {
	ID, Type, Seq string
	Source        struct{ WorkspaceID string }
	Payload       map[string]any
}

// events decodes what was printed.
func events(t *testing.T, text string) (all []printed) {
	t.Helper()
	for _, line := range lines(text) {
		var one printed
		require.NoError(t, json.Unmarshal([]byte(line), &one), "%s", line)
		all = append(all, one)
	}
	return all
}

// describe changes the description of a workspace, which is an event.
func (d *remoteUser) describe(t *testing.T, id string, n int) {
	t.Helper()
	d.call(t, "PATCH", "/workspaces/"+id, d.tok, fmt.Sprintf(`{"description":"edition %d"}`, n))
}

func TestEventsAreTailed(t *testing.T) {
	d := newRemoteUser(t).signIn(t)
	shop, mail := d.workspace(t, "shop"), d.workspace(t, "mail")
	d.describe(t, shop, 1)
	d.describe(t, mail, 1)
	d.describe(t, shop, 2)

	past := d.must(t, "events", "tail", "--workspace", "shop", "--from", "1h", "--limit", "3")
	require.Len(t, lines(past), 3)
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\S+Z  workspaces.created  by \S+  \{.*"slug":"shop"`, lines(past)[0])
	require.NotContains(t, past, mail)
	all := events(t, d.must(t, "events", "tail", "--workspace", shop, "--from", "2020-01-01T00:00:00Z", "--limit", "3", "--json"))
	require.Equal(t, []string{"workspaces.created", "workspaces.updated", "workspaces.updated"}, []string{all[0].Type, all[1].Type, all[2].Type})
	after := events(t, d.must(t, "events", "tail", "--workspace", "shop", "--from", all[1].Seq, "--limit", "1", "--json"))
	require.Equal(t, all[2], after[0])
	some := events(t, d.must(t, "events", "tail", "--workspace", "shop", "--type", "workspaces.upd*", "--from", "1h", "--limit", "1", "--json"))
	require.Equal(t, all[1], some[0])
	some = events(t, d.must(t, "events", "tail", "--workspace", "shop", "--filter", "payload.workspace.description=*2", "--from", "1h", "--limit", "1", "--json"))
	require.Equal(t, all[2], some[0])
	some = events(t, d.must(t, "events", "tail", "--type", "workspaces.updated", "--from", "1h", "--limit", "3", "--json"))
	require.Equal(t, []string{shop, mail, shop}, []string{some[0].Source.WorkspaceID, some[1].Source.WorkspaceID, some[2].Source.WorkspaceID})
	require.Contains(t, d.must(t, "events", "tail", "--type", "workspaces.updated", "--from", "1h", "--limit", "1"), "Z  "+shop+"  workspaces.updated  by ")
}

// tailing starts a command as a process of its own, with the token of the desk.
func (d *remoteUser) tailing(t *testing.T, args ...string) *childProcess {
	t.Helper()
	pr := d.cliEnv.program(append([]string{"events", "tail"}, args...)...)
	pr.cmd.Env = append(pr.cmd.Env, "SVC_URL="+d.url(), "SVC_TOKEN="+d.profiles(t)["default"].Token)
	require.NoError(t, pr.cmd.Start())
	t.Cleanup(func() { _ = pr.cmd.Process.Kill() })
	return pr
}

// awaitLines waits until a process has printed so many lines.
func (pr *childProcess) awaitLines(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Count(pr.out.String(), "\n") >= n }, time.Minute, 5*time.Millisecond, "%d lines must be printed: %s%s", n, pr.out, pr.log)
}

// The service is killed twice meanwhile: nothing is missing, nothing is there twice.
func TestATailSurvivesTheService(t *testing.T) {
	d := newRemoteUser(t).signIn(t)
	service := d.running
	shop := d.workspace(t, "shop")
	d.describe(t, shop, 0)
	one := d.tailing(t, "--workspace", "shop", "--type", "workspaces.updated", "--from", "1h", "--json")
	all := d.tailing(t, "--type", "workspaces.updated", "--from", "1h", "--json")
	one.awaitLines(t, 1)
	all.awaitLines(t, 1)
	for n := 1; n <= 30; n++ {
		d.describe(t, shop, n)
		if n%10 == 5 {
			require.Equal(t, -1, service.signal(t, syscall.SIGKILL))
			service = d.serve(t)
		}
	}
	for _, pr := range []*childProcess{one, all} {
		pr.awaitLines(t, 31)
		require.Zero(t, pr.signal(t, syscall.SIGINT), "Ctrl-C is how it ends: %s", pr.log)
		require.Empty(t, pr.log.String())
		var told []string
		for _, ev := range events(t, pr.out.String()) {
			told = append(told, ev.Payload["workspace"].(map[string]any)["description"].(string))
		}
		require.Len(t, told, 31)
		for n, text := range told {
			require.Equal(t, fmt.Sprintf("edition %d", n), text)
		}
	}
}

// What happens from now on: the first line is of what came after the command.
func TestATailBeginsNow(t *testing.T) {
	d := newRemoteUser(t).signIn(t)
	shop := d.workspace(t, "shop")
	d.describe(t, shop, 0)
	for _, args := range [][]string{{"--workspace", "shop"}, {"--type", "workspaces.*"}} {
		pr := d.tailing(t, append(args, "--json", "--limit", "1")...)
		n := 1
		require.Eventually(t, func() bool {
			d.describe(t, shop, n)
			n++
			return strings.Contains(pr.out.String(), "\n")
		}, time.Minute, 10*time.Millisecond)
		require.NoError(t, pr.cmd.Wait())
		for _, ev := range events(t, pr.out.String()) {
			require.NotEqual(t, "edition 0", ev.Payload["workspace"].(map[string]any)["description"])
			require.Equal(t, "workspaces.updated", ev.Type)
		}
		d.describe(t, shop, 0)
	}
}

func TestBadCommandLinesOfTail(t *testing.T) {
	d := newRemoteUser(t).signIn(t)
	for line, want := range map[string]string{
		"shop":             "takes no arguments",
		"--from yesterday": "--from is now, a time ago",
		"--filter type":    "--filter is a dotted path",
		"--filter limit=3": "--filter is a dotted path",
		"--limit -1":       "--limit is a number of events",
	} {
		got := d.run(t, append([]string{"events", "tail"}, fields(line)...)...)
		require.Equal(t, 2, got.code, "%s: %s", line, got.err)
		require.Contains(t, got.err, want, line)
	}
	require.Contains(t, d.requireFailure(t, 1, "events", "tail", "--workspace", "nowhere"), "(resource_not_found)")
	require.Contains(t, d.requireFailure(t, 1, "events", "tail", "--workspace", "platform", "--filter", "text="+strings.Repeat("x", 9000)), "(")
	help := d.must(t, "--help")
	for _, name := range []string{"events", "nats"} {
		require.Regexp(t, `(?m)^  `+name+` +[A-Z]`, help)
	}
}
